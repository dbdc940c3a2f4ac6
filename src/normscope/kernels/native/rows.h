/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while two are written the sums of two others are taken, so that memory is read and
 * written at the same time, and gamma and beta are read once for both.
 * Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
 */
#include "blocks.h"

#define PAIR (2 * BLOCK)
#define LEAD PAIR /* cells that are summed before any are written: more than stand before a whole line */

#include "row.h"

/* Sums a pair of blocks of one row or two and writes one of as many others. */
OP void FN(step)(const Norm *norm, FN(Sums) *sums, const FN(Row) *from, const FN(Row) *to, const FN(Scale) *by,
                 const int count, ptrdiff_t j, ptrdiff_t at, int fetches, const int near, const int adds,
                 const int streams)
{
    for (int i = 0; i < count; i++)
        FN(sum)(&sums[i], &from[i], j, fetches, near, adds);
    FN(write)(norm, to, by, count, at, near, adds, streams);
    FN(write)(norm, to, by, count, at + BLOCK, near, adds, streams);
}

/* Writes `count` rows, one or two, and sums as many others; `outs` or `ins` may be NULL. Two are `together` in a step, or
 * take turns. What is const is known when this is compiled. The sums lead, and are solved before the last cells are
 * written: so neither waits for what a row is scaled by.
 */
OP void FN(walk)(const Norm *norm, FN(Row) *outs, FN(Row) *ins, const int count, const int together, Edge *edge,
                 const int near, const int adds, const int streams)
{
    const Norm all = *norm; /* copies, which no store can change */
    const ptrdiff_t d = all.d, whole = d / PAIR * PAIR, lead = outs ? least(LEAD, whole) : whole;
    const int fetches = streams || all.fetch;
    const int overlap = !streams && !adds && !all.in_place && d >= BLOCK; /* no cell is read after it was written */
    ptrdiff_t j = 0, at = outs ? outs->head : 0;
    FN(Row) to[2];
    FN(Scale) by[2];
    for (int i = 0; outs && i < count; i++) {
        to[i] = outs[i];
        by[i] = FN(scale_of)(&to[i]);
    }
    if (ins) {
        FN(Row) from[2];
        FN(Sums) sums[2] = {0};
        for (int i = 0; i < count; i++)
            from[i] = ins[i];
        for (; j < lead; j += PAIR)
            for (int i = 0; i < count; i++)
                FN(sum)(&sums[i], &from[i], j, fetches, near, adds);
        for (; j < whole; j += PAIR, at += PAIR)
            for (int i = 0; i < count; i += together)
                FN(step)(&all, &sums[i], &from[i], &to[i], &by[i], together, j, at, fetches, near, adds, streams);
        for (int i = 0; i < count; i++)
            FN(settle)(norm, &ins[i], sums[i]);
    }
    if (outs) {
        for (; at + BLOCK <= d; at += BLOCK)
            FN(write)(&all, to, by, count, at, near, adds, streams);
        if (overlap && to->head) /* the ends are whole blocks too, over cells of their neighbours */
            FN(write)(&all, to, by, count, 0, near, adds, streams);
        if (overlap && at < d)
            FN(write)(&all, to, by, count, d - BLOCK, near, adds, streams);
        for (int i = 0; i < count && !overlap; i++) {
            if (to[i].head) /* both ends now: the next row's are written next, and lie beside them */
                FN(write_end)(norm, &outs[i], 0, to[i].head, edge);
            if (at < d)
                FN(write_end)(norm, &outs[i], at, d - at, edge);
        }
    }
}

/* A row whose squares overflow or vanish in W, or that holds a NaN: in float64, scaled by a power of two. */
static void FN(write_wide)(const Norm *norm, const FN(Row) *row)
{
    const W *gamma = norm->gamma, *beta = norm->beta;
    const double first = norm->center ? FN(cell)(row, 0) : 0;
    double largest = sqrt(norm->eps), sum = 0, squares = 0;
    for (ptrdiff_t j = 0; j < norm->d; j++)
        largest = fmax(largest, fabs((double)FN(cell)(row, j)));
    const double scale = scale_for(largest);
    for (ptrdiff_t j = 0; j < norm->d; j++)
        sum += FN(cell)(row, j) * scale - first * scale;
    const double mean = norm->center ? sum / (double)norm->d : 0;
    for (ptrdiff_t j = 0; j < norm->d; j++) {
        double c = FN(cell)(row, j) * scale - first * scale - mean;
        squares += c * c;
    }
    const double r = 1 / sqrt(squares / (double)norm->d + scaled_eps(norm->eps, scale));
    for (ptrdiff_t j = 0; j < norm->d; j++) {
        W x = FN(cell)(row, j);
        if (row->sum)
            row->sum[j] = FN(narrow)(x);
        row->y[j] = FN(narrow)((W)((x * scale - first * scale - mean) * r * gamma[j] + beta[j]));
    }
}

typedef struct {
    ptrdiff_t count;
    FN(Row) rows[2];
} FN(Couple);

static ISA void FN(begin_couple)(const Norm *norm, FN(Couple) *couple, ptrdiff_t first, ptrdiff_t last,
                                 ptrdiff_t ahead)
{
    couple->count = least(2, last - first);
    for (ptrdiff_t i = first; i < first + couple->count; i++)
        FN(begin)(norm, &couple->rows[i - first], i, i + ahead < last ? ahead : 0);
}

/* Whether nothing is to be taken away from the cells, as in most rows of a network and in every row of RMSNorm. */
static inline int FN(near)(const FN(Couple) *outs, const FN(Couple) *ins)
{
    return outs->rows[0].mean == 0 && outs->rows[1].mean == 0 && ins->rows[0].pivot == 0 && ins->rows[1].pivot == 0;
}

/* Whether two rows can be written at once. */
static inline int FN(alike)(const FN(Couple) *outs)
{
    return outs->count == 2 && outs->rows[0].fits && outs->rows[1].fits && outs->rows[0].head == outs->rows[1].head;
}

/* Writes two rows and sums two others, or as many as there are. */
OP void FN(turn)(const Norm *norm, FN(Couple) *outs, FN(Couple) *ins, Edge *edge, const int adds, const int streams)
{
    if (ins->count == 2 && FN(alike)(outs)) {
        if (!FN(near)(outs, ins))
            FN(walk)(norm, outs->rows, ins->rows, 2, 2, edge, 0, adds, streams);
        else if (!TAKES_TURNS || !streams || adds || norm->d * (ptrdiff_t)sizeof(T) < LONG)
            FN(walk)(norm, outs->rows, ins->rows, 2, 2, edge, 1, adds, streams);
        else
            FN(walk)(norm, outs->rows, ins->rows, 2, 1, edge, 1, adds, streams);
        return;
    }
    for (ptrdiff_t k = 0; k < ins->count || k < outs->count; k++) {
        FN(Row) *in = k < ins->count ? &ins->rows[k] : NULL, *out = k < outs->count ? &outs->rows[k] : NULL;
        if (out && !out->fits) {
            FN(write_wide)(norm, out);
            out = NULL;
        }
        if (in && out)
            FN(walk)(norm, out, in, 1, 1, edge, 0, adds, streams);
        else if (in)
            FN(walk)(norm, NULL, in, 1, 1, edge, 0, adds, streams);
        else if (out)
            FN(walk)(norm, out, NULL, 1, 1, edge, 0, adds, streams);
    }
}

/* Each turn two rows are written, the next two summed, the two after begun: so no step waits for the one before. */
OP void FN(turns)(const Norm *norm, ptrdiff_t first, ptrdiff_t last, const int adds, const int streams)
{
    FN(Couple) couples[3], *out = &couples[0], *in = &couples[1], *after = &couples[2];
    Edge collected = {0}, *edge = streams ? &collected : NULL;
    const ptrdiff_t ahead = rows_ahead(norm->d * (ptrdiff_t)sizeof(T));
    out->count = in->count = 0;
    do {
        FN(turn)(norm, out, in, edge, adds, streams);
        FN(begin_couple)(norm, after, first, last, ahead);
        first += after->count;
        FN(Couple) *const free = out;
        out = in, in = after, after = free;
    } while (out->count || in->count);
    if (collected.bytes)
        spill(&collected);
}

static ISA void FN(rows)(const Norm *norm, ptrdiff_t first, ptrdiff_t last)
{
    if (norm->residual.at)
        norm->stream ? FN(turns)(norm, first, last, 1, 1) : FN(turns)(norm, first, last, 1, 0);
    else
        norm->stream ? FN(turns)(norm, first, last, 0, 1) : FN(turns)(norm, first, last, 0, 0);
    if (norm->stream)
        fence();
}

#undef PAIR
#undef LEAD
#include "blocks_end.h"
