/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while one is written the sums of another are taken, so that memory is read and written
 * at the same time. A few rows go together, a stretch of each at a time, so that gamma and beta stay in the first cache.
 * Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
 */
#include "blocks.h"

#define PAIR (2 * BLOCK)

#include "row.h"

/* A stretch of the rows: cells first to last - 1, and how far in its rows are summed. */
typedef struct {
    ptrdiff_t first, last, summed;
} FN(Stretch);

/* Writes a stretch of one row and takes the sums of that of another, either NULL. What is const is known when this is
 * compiled.
 */
OP void FN(walk)(const Norm *norm, FN(Row) *out, FN(Row) *in, FN(Stretch) part, Edge *edge, const int adds,
                 const int streams)
{
    const Norm all = *norm; /* copies, which no store can change */
    const FN(Row) to = out ? *out : *in, from = in ? *in : *out;
    const FN(Scale) by = FN(scale_of)(&to);
    const ptrdiff_t first = part.first, last = part.last;
    ptrdiff_t j = part.summed, at = to.at;

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

/* The same of two rows and two others, as far as whole pairs of blocks go: gamma and beta are read once for both. */
OP ptrdiff_t FN(walk_two)(const Norm *norm, FN(Row) out[2], FN(Row) in[2], ptrdiff_t first, ptrdiff_t last,
                          const int adds, const int streams)
{
    const Norm all = *norm;
    const FN(Row) to[2] = {out[0], out[1]}, from[2] = {in[0], in[1]};
    const FN(Scale) by[2] = {FN(scale_of)(&to[0]), FN(scale_of)(&to[1])};
    double sums[2][8], squares[2][8];
    ptrdiff_t j = first, at = to[0].at;
    for (int i = 0; i < 2; i++) {
        memcpy(sums[i], from[i].sums, sizeof sums[i]);
        memcpy(squares[i], from[i].squares, sizeof squares[i]);
    }
    for (; j + PAIR <= last && at + PAIR <= all.d; j += PAIR, at += PAIR) {
        for (int i = 0; i < 2; i++)
            FN(sum)(sums[i], squares[i], &from[i], j, j - first, all.fetch, adds);
        FN(write_two)(&all, to, at, by, adds, streams);
        FN(write_two)(&all, to, at + BLOCK, by, adds, streams);
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
            FN(walk)(norm, NULL, row, (FN(Stretch)){j, least(j + step, d), j}, NULL, 1, 0);
        else
            FN(walk)(norm, NULL, row, (FN(Stretch)){j, least(j + step, d), j}, NULL, 0, 0);
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

/* Whether rows k and k + 1 of both groups can go at once. */
OP int FN(is_pair)(const FN(Group) *out, const FN(Group) *in, ptrdiff_t k)
{
    const FN(Row) *a = &out->rows[k], *b = a + 1;
    return k + 1 < out->count && k + 1 < in->count && a->fits && b->fits && a->at == b->at;
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
        FN(Stretch) part = {j, least(j + step, d), j};
        for (ptrdiff_t k = 0; k < in_group->count; k++)
            FN(look_ahead)(norm, &in_group->rows[k], part.last, ahead);
        for (ptrdiff_t k = 0; k < in_group->count || k < out_group->count; k++) {
            FN(Row) *in = k < in_group->count ? &in_group->rows[k] : NULL;
            FN(Row) *out = k < out_group->count && out_group->rows[k].fits ? &out_group->rows[k] : NULL;
            if (k % 2 == 0)
                part.summed = FN(is_pair)(out_group, in_group, k) ? FN(walk_two)(norm, out, in, j, part.last, adds, streams) : j;
            if (in && out)
                FN(walk)(norm, out, in, part, edge, adds, streams);
            else if (in)
                FN(walk)(norm, NULL, in, part, edge, adds, streams);
            else if (out)
                FN(walk)(norm, out, NULL, part, edge, adds, streams);
            if (in && k && part.last == d)
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
