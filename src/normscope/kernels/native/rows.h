/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while one is written the sums of another are taken, so that memory is read and written
 * at the same time. A few rows go together, a stretch of each at a time, so that gamma and beta stay in the first cache.
 * Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
 */
#include "blocks.h"

#define PAIR (2 * BLOCK)

#include "row.h"

/* Writes cells first to last - 1 of one row and takes the sums of those of another, either NULL. What is const is known
 * when this is compiled.
 */
OP void FN(walk)(const Norm *norm, FN(Row) *out, FN(Row) *in, ptrdiff_t first, ptrdiff_t last, Edge *edge,
                 const int adds, const int streams)
{
    const Norm all = *norm; /* copies, which no store can change */
    const FN(Row) to = out ? *out : *in, from = in ? *in : *out;
    const FN(Scale) by = FN(scale_of)(&to);
    ptrdiff_t j = first, at = to.at;

    if (in) {
        double sums[8], squares[8];
        memcpy(sums, from.sums, sizeof sums);
        memcpy(squares, from.squares, sizeof squares);
        for (; out && j + PAIR <= last && at + PAIR <= all.d; j += PAIR, at += PAIR) {
            FN(sum)(sums, squares, &from, j, j - first, all.fetch, adds);
            FN(write)(&all, &to, at, by, adds, streams);
            FN(write)(&all, &to, at + BLOCK, by, adds, streams);
        }
        for (; j + PAIR <= last; j += PAIR)
            FN(sum)(sums, squares, &from, j, j - first, all.fetch, adds);
        memcpy(in->sums, sums, sizeof sums);
        memcpy(in->squares, squares, sizeof squares);
        if (j < last)
            FN(sum_rest)(in, j, last - j);
    }
    if (out) {
        for (; at < last + to.head && at + BLOCK <= all.d; at += BLOCK)
            FN(write)(&all, &to, at, by, adds, streams);
        out->at = at;
        if (last == all.d && to.head) /* both ends now: the next row's are written next, and lie beside them */
            FN(write_end)(norm, out, 0, to.head, edge);
        if (last == all.d && at < all.d)
            FN(write_end)(norm, out, at, all.d - at, edge);
    }
}

/* Mean and 1/std from the sums. The answer is how far K is from the mean, where that is too far, else 0. */
static inline double FN(solve)(const Norm *norm, FN(Row) *row)
{
    const double share = 1 / (double)norm->d;
    const double delta = norm->center ? total(row->sums) * share : 0, around = total(row->squares) * share;
    const double variance = around - delta * delta, v = variance + norm->eps, r = 1 / sqrt(v);

    row->mean = (W)(row->pivot + delta);
    row->r = (W)r;
    row->more = (W)(r - row->r);
    row->rest = (W)(((double)row->mean - row->pivot - delta) * r);
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST);
    return 2 * delta * delta <= variance ? 0 : delta; /* else the rounding of the squares grows with it */
}

/* Sums again from another K, in the same stretches, for the same bits. */
static ISA __attribute__((noinline)) void FN(sum_again)(const Norm *norm, FN(Row) *row)
{
    const ptrdiff_t d = norm->d, step = stretch(d, sizeof(W));
    memset(row->sums, 0, sizeof row->sums);
    memset(row->squares, 0, sizeof row->squares);
    row->next = row->x;
    row->next_residual = row->residual;
    for (ptrdiff_t j = 0; j < d; j += step)
        if (row->residual)
            FN(walk)(norm, NULL, row, j, least(j + step, d), NULL, 1, 0);
        else
            FN(walk)(norm, NULL, row, j, least(j + step, d), NULL, 0, 0);
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

/* What to ask for beside a stretch that ends at `end`: the row's next one, or the first of a row to come. */
OP void FN(look_ahead)(const Norm *norm, FN(Row) *row, ptrdiff_t end, ptrdiff_t rows)
{
    const ptrdiff_t cells = end < norm->d ? end : 0, more = end < norm->d ? 0 : rows;
    row->next = (const T *)((const char *)row->x + more * norm->x.stride) + cells;
    if (row->residual)
        row->next_residual = (const T *)((const char *)row->residual + more * norm->residual.stride) + cells;
}

typedef struct {
    ptrdiff_t count;
    FN(Row) rows[TOGETHER];
} FN(Group);

static ISA void FN(begin_group)(const Norm *norm, FN(Group) *group, ptrdiff_t first, ptrdiff_t count)
{
    group->count = count;
    for (ptrdiff_t k = 0; k < count; k++)
        FN(begin)(norm, &group->rows[k], first + k);
}

/* Writes one group and sums another, stretch by stretch. A row is settled a row later, when its sums have come. */
OP void FN(turn)(const Norm *norm, FN(Group) *out_group, FN(Group) *in_group, ptrdiff_t ahead, Edge *edge,
                 const int adds, const int streams)
{
    const ptrdiff_t d = norm->d, step = stretch(d, sizeof(W));
    for (ptrdiff_t k = 0; k < out_group->count; k++)
        if (!out_group->rows[k].fits)
            FN(write_wide)(norm, &out_group->rows[k]);
    for (ptrdiff_t j = 0; j < d; j += step) {
        const ptrdiff_t end = least(j + step, d);
        for (ptrdiff_t k = 0; k < in_group->count || k < out_group->count; k++) {
            FN(Row) *in = k < in_group->count ? &in_group->rows[k] : NULL;
            FN(Row) *out = k < out_group->count && out_group->rows[k].fits ? &out_group->rows[k] : NULL;
            if (in)
                FN(look_ahead)(norm, in, end, ahead);
            if (in && out)
                FN(walk)(norm, out, in, j, end, edge, adds, streams);
            else if (in)
                FN(walk)(norm, NULL, in, j, end, edge, adds, streams);
            else if (out)
                FN(walk)(norm, out, NULL, j, end, edge, adds, streams);
            if (in && k && end == d)
                FN(settle)(norm, in - 1);
        }
    }
    if (in_group->count)
        FN(settle)(norm, &in_group->rows[in_group->count - 1]);
}

/* Each turn one group of rows is written, the next summed, the one after begun: so no step waits for the one before. */
OP void FN(turns)(const Norm *norm, ptrdiff_t first, ptrdiff_t last, const int adds, const int streams)
{
    const ptrdiff_t bytes = norm->d * (ptrdiff_t)sizeof(T), most = rows_together(bytes), ahead = rows_ahead(bytes, most);
    FN(Group) groups[3], *out = &groups[0], *in = &groups[1], *after = &groups[2];
    Edge collected = {0}, *edge = streams ? &collected : NULL;
    out->count = in->count = 0;
    do {
        FN(turn)(norm, out, in, ahead, edge, adds, streams);
        FN(begin_group)(norm, after, first, least(most, last - first));
        first += after->count;
        FN(Group) *const free = out;
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
