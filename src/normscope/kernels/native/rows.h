/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while two are written the sums of two others are taken, so that memory is read and
 * written at the same time, and gamma and beta are read once for both.
 * Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
 */
#include "blocks.h"

#define PAIR (2 * BLOCK)

#include "row.h"

/* Writes one row and takes the sums of another, of which `summed` cells are added already; either NULL. What is const is
 * known when this is compiled.
 */
OP void FN(walk)(const Norm *norm, FN(Row) *out, FN(Row) *in, ptrdiff_t summed, Edge *edge, const int adds,
                 const int streams)
{
    const Norm all = *norm; /* copies, which no store can change */
    const FN(Row) to = out ? *out : *in, from = in ? *in : *out;
    const FN(Scale) by = FN(scale_of)(&to);
    const ptrdiff_t d = all.d;
    ptrdiff_t j = summed, at = to.at;

    if (in) {
        double sums[8], squares[8];
        memcpy(sums, from.sums, sizeof sums);
        memcpy(squares, from.squares, sizeof squares);
        for (; out && j + PAIR <= d && at + PAIR <= d; j += PAIR, at += PAIR) {
            FN(sum)(sums, squares, &from, j, all.fetch, adds);
            FN(write)(&all, &to, 1, at, &by, adds, streams);
            FN(write)(&all, &to, 1, at + BLOCK, &by, adds, streams);
        }
        for (; j + PAIR <= d; j += PAIR)
            FN(sum)(sums, squares, &from, j, all.fetch, adds);
        memcpy(in->sums, sums, sizeof sums);
        memcpy(in->squares, squares, sizeof squares);
        if (j < d)
            FN(sum_rest)(in, j, d - j);
    }
    if (out) {
        for (; at + BLOCK <= d; at += BLOCK)
            FN(write)(&all, &to, 1, at, &by, adds, streams);
        if (to.head) /* both ends now: the next row's are written next, and lie beside them */
            FN(write_end)(norm, out, 0, to.head, edge);
        if (at < d)
            FN(write_end)(norm, out, at, d - at, edge);
    }
}

/* The same of two rows and two others, as far as whole pairs of blocks go. The answer is how many cells are summed. */
OP ptrdiff_t FN(walk_two)(const Norm *norm, FN(Row) out[2], FN(Row) in[2], const int adds, const int streams)
{
    const Norm all = *norm;
    const FN(Row) to[2] = {out[0], out[1]}, from[2] = {in[0], in[1]};
    const FN(Scale) by[2] = {FN(scale_of)(&to[0]), FN(scale_of)(&to[1])};
    double sums[2][8], squares[2][8];
    ptrdiff_t j = 0, at = to[0].at;
    for (int i = 0; i < 2; i++) {
        memcpy(sums[i], from[i].sums, sizeof sums[i]);
        memcpy(squares[i], from[i].squares, sizeof squares[i]);
    }
    for (; j + PAIR <= all.d && at + PAIR <= all.d; j += PAIR, at += PAIR) {
        for (int i = 0; i < 2; i++)
            FN(sum)(sums[i], squares[i], &from[i], j, all.fetch, adds);
        FN(write)(&all, to, 2, at, by, adds, streams);
        FN(write)(&all, to, 2, at + BLOCK, by, adds, streams);
    }
    for (int i = 0; i < 2; i++) {
        memcpy(in[i].sums, sums[i], sizeof sums[i]);
        memcpy(in[i].squares, squares[i], sizeof squares[i]);
        out[i].at = at;
    }
    return j;
}

/* Mean and 1/std from the sums. The answer is how far K is from the mean, where that is too far, else 0. */
static inline double FN(solve)(const Norm *norm, FN(Row) *row)
{
    const double share = 1 / (double)norm->d;
    const double delta = norm->center ? sum_of_double(row->sums) * share : 0, around = sum_of_double(row->squares) * share;
    const double variance = around - delta * delta, v = variance + norm->eps, r = 1 / sqrt(v);

    row->mean = (W)(row->pivot + delta);
    row->r = (W)r;
    row->more = (W)(r - row->r);
    row->rest = (W)(((double)row->mean - row->pivot - delta) * r);
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST);
    return 2 * delta * delta <= variance ? 0 : delta; /* else the rounding of the squares grows with it */
}

/* Sums again from another K. */
static ISA __attribute__((noinline)) void FN(sum_again)(const Norm *norm, FN(Row) *row)
{
    FN(clear)(row);
    if (row->residual)
        FN(walk)(norm, NULL, row, 0, NULL, 1, 0);
    else
        FN(walk)(norm, NULL, row, 0, NULL, 0, 0);
}

static ISA void FN(settle)(const Norm *norm, FN(Row) *row)
{
    double far = FN(solve)(norm, row);
    if (far != 0) {
        row->pivot = (W)(row->pivot + far);
        FN(sum_again)(norm, row);
        row->fits = FN(solve)(norm, row) == 0 && row->fits;
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

static ISA void FN(begin_couple)(const Norm *norm, FN(Couple) *couple, ptrdiff_t first, ptrdiff_t last)
{
    const ptrdiff_t ahead = rows_ahead(norm->d * (ptrdiff_t)sizeof(T));
    couple->count = least(2, last - first);
    for (ptrdiff_t i = first; i < first + couple->count; i++)
        FN(begin)(norm, &couple->rows[i - first], i, i + ahead < last ? ahead : 0);
}

/* Writes two rows and sums two others, or as many as there are. A row is settled a row later, when its sums have come. */
OP void FN(turn)(const Norm *norm, FN(Couple) *outs, FN(Couple) *ins, Edge *edge, const int adds, const int streams)
{
    ptrdiff_t summed = 0;
    int fit = 0;
    for (ptrdiff_t k = 0; k < outs->count; k++) {
        fit += outs->rows[k].fits;
        if (!outs->rows[k].fits)
            FN(write_wide)(norm, &outs->rows[k]);
    }
    if (fit == 2 && ins->count == 2 && outs->rows[0].at == outs->rows[1].at)
        summed = FN(walk_two)(norm, outs->rows, ins->rows, adds, streams);
    for (ptrdiff_t k = 0; k < ins->count || k < outs->count; k++) {
        FN(Row) *in = k < ins->count ? &ins->rows[k] : NULL;
        FN(Row) *out = k < outs->count && outs->rows[k].fits ? &outs->rows[k] : NULL;
        if (in && out)
            FN(walk)(norm, out, in, summed, edge, adds, streams);
        else if (in)
            FN(walk)(norm, NULL, in, summed, edge, adds, streams);
        else if (out)
            FN(walk)(norm, out, NULL, summed, edge, adds, streams);
        if (in && k)
            FN(settle)(norm, in - 1);
    }
    if (ins->count)
        FN(settle)(norm, &ins->rows[ins->count - 1]);
}

/* Each turn two rows are written, the next two summed, the two after begun: so no step waits for the one before. */
OP void FN(turns)(const Norm *norm, ptrdiff_t first, ptrdiff_t last, const int adds, const int streams)
{
    FN(Couple) couples[3], *out = &couples[0], *in = &couples[1], *after = &couples[2];
    Edge collected = {0}, *edge = streams ? &collected : NULL;
    out->count = in->count = 0;
    do {
        FN(turn)(norm, out, in, edge, adds, streams);
        FN(begin_couple)(norm, after, first, last);
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
#include "blocks_end.h"
