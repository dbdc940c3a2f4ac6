/* The way back of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed).
 *
 * As on the way there, one row is written while the sums of another are taken, a stretch of a few rows at a time, so
 * that gamma, dgamma and dbeta stay in the first cache; and a cell's lane depends on its place in the row alone.
 */
#include "blocks.h"

#define SUMS (VECTORS / 2)   /* vectors of a sum: with whole blocks there would be too few registers */
#define PERIOD (8 * BLOCK)   /* cells that are added in W: short sums lose little */

#include "backward_row.h"

/* Writes cells first to last - 1 of one row's dx and takes the sums of those of another, either NULL. `sums` is dgamma
 * and, some lines later, dbeta.
 */
OP void FN(back_walk)(const Backward *back, const FN(Back) *out, FN(Back) *in, ptrdiff_t first, ptrdiff_t last,
                      W *const sums, const int stream)
{
    const FN(Back) to = out ? *out : *in;
    FN(Back) from = in ? *in : *out;
    const FN(BackScale) by = FN(back_scale_of)(&to);
    const V pivot = OF(set)(from.pivot);
    const W *const gamma = back->gamma;
    W *const dbeta = sums + backward_lines(back->d);
    const int fetches = back->fetch;
    ptrdiff_t j = first;
    while (j + BLOCK <= last) {
        const ptrdiff_t pause = least(j + PERIOD, last);
        FN(BackLanes) lanes;
        FN(back_zero)(&lanes);
        for (; j + BLOCK <= pause; j += BLOCK) {
            V x[VECTORS], dy[VECTORS];
            if (in) {
                if (fetches) {
                    FN(fetch_block)(from.next_x + (j - first), 2);
                    FN(fetch_block)(from.next_dy + (j - first), 2);
                    FN(fetch_block)(from.x + j + NEAR / sizeof(T), 3);
                    FN(fetch_block)(from.dy + j + NEAR / sizeof(T), 3);
                }
                FN(load_block)(x, from.x + j);
                FN(load_block)(dy, from.dy + j);
                FN(back_sum)(&lanes, x, dy, gamma + j, pivot);
            }
            if (out) {
                FN(load_block)(x, to.x + j);
                FN(load_block)(dy, to.dy + j);
                FN(back_scale)(dy, x, gamma + j, sums + j, dbeta + j, by);
                FN(write_block)(to.dx + j, dy, stream);
            }
        }
        if (in)
            FN(back_flush)(&from, &lanes);
    }
    if (in) {
        memcpy(in->c, from.c, sizeof from.c);
        memcpy(in->squares, from.squares, sizeof from.squares);
        memcpy(in->g, from.g, sizeof from.g);
        memcpy(in->products, from.products, sizeof from.products);
        if (j < last)
            FN(back_sum_end)(back, in, j);
    }
    if (out && j < last)
        FN(back_write_end)(back, out, sums, j);
}

/* What the row is scaled by, from its sums. The answer is how far the pivot is from the mean, where that is too far. */
static inline double FN(back_solve)(const Backward *back, FN(Back) *row)
{
    const double d = (double)back->d, delta = back->center ? total(row->c) / d : 0;
    const double around = total(row->squares) / d, variance = around - delta * delta;
    const double v = variance + back->eps, r = 1 / sqrt(v), g = total(row->g) / d;
    const double along = (total(row->products) / d - delta * g) * r;

    row->mean = (W)(row->pivot + delta);
    row->r = (W)r;
    row->rest = (W)((row->mean - row->pivot - delta) * r);
    row->level = back->center ? (W)g : 0;
    row->along = (W)along;
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST) && fabs(g) <= OF(LARGEST) &&
                fabs(along) <= OF(LARGEST);
    return delta * delta <= variance ? 0 : delta;
}

/* Eight arrays are read and written at a time, twice as many as on the way there. */
static inline ptrdiff_t FN(back_stretch)(ptrdiff_t d)
{
    return stretch(d, sizeof(W));
}

/* Sums again from another pivot, in the same stretches, for the same bits. */
static ISA __attribute__((noinline)) void FN(back_sum_again)(const Backward *back, FN(Back) *row)
{
    const ptrdiff_t d = back->d, step = FN(back_stretch)(d);
    FN(back_clear)(row);
    row->next_x = row->x;
    row->next_dy = row->dy;
    for (ptrdiff_t j = 0; j < d; j += step)
        FN(back_walk)(back, NULL, row, j, least(j + step, d), NULL, 0);
}

static ISA void FN(back_settle)(const Backward *back, FN(Back) *row)
{
    double far = FN(back_solve)(back, row);
    if (far != 0) {
        row->pivot = (W)(row->pivot + far);
        FN(back_sum_again)(back, row);
        row->fits = FN(back_solve)(back, row) == 0 && row->fits;
    }
}

typedef struct {
    ptrdiff_t count;
    FN(Back) rows[TOGETHER];
} FN(BackGroup);

static ISA void FN(back_begin_group)(const Backward *back, FN(BackGroup) *group, ptrdiff_t first, ptrdiff_t count)
{
    group->count = count;
    for (ptrdiff_t k = 0; k < count; k++)
        FN(back_begin)(back, &group->rows[k], first + k);
}

/* What to ask for beside a stretch that ends at `end`: the row's next one, or the first of a row to come. */
OP void FN(back_look_ahead)(const Backward *back, FN(Back) *row, ptrdiff_t end, ptrdiff_t rows)
{
    const ptrdiff_t cells = end < back->d ? end : 0, more = end < back->d ? 0 : rows;
    row->next_x = (const T *)((const char *)row->x + more * back->x.stride) + cells;
    row->next_dy = (const T *)((const char *)row->dy + more * back->dy.stride) + cells;
}

/* Writes one group and sums another, stretch by stretch. */
OP void FN(back_turn)(const Backward *back, FN(BackGroup) *out_group, FN(BackGroup) *in_group, ptrdiff_t ahead, W *sums,
                      const int stream)
{
    const ptrdiff_t d = back->d, step = FN(back_stretch)(d);
    for (ptrdiff_t k = 0; k < out_group->count; k++)
        if (!out_group->rows[k].fits)
            FN(back_wide)(back, &out_group->rows[k], NULL);
    for (ptrdiff_t j = 0; j < d; j += step) {
        const ptrdiff_t end = least(j + step, d);
        for (ptrdiff_t k = 0; k < in_group->count || k < out_group->count; k++) {
            FN(Back) *in = k < in_group->count ? &in_group->rows[k] : NULL;
            const FN(Back) *out = k < out_group->count && out_group->rows[k].fits ? &out_group->rows[k] : NULL;
            if (in)
                FN(back_look_ahead)(back, in, end, ahead);
            if (in && out)
                FN(back_walk)(back, out, in, j, end, sums, stream);
            else if (in)
                FN(back_walk)(back, NULL, in, j, end, sums, stream);
            else if (out)
                FN(back_walk)(back, out, NULL, j, end, sums, stream);
            if (in && k && end == d)
                FN(back_settle)(back, in - 1);
        }
    }
    if (in_group->count)
        FN(back_settle)(back, &in_group->rows[in_group->count - 1]);
}

static ISA int FN(back_all_fit)(const FN(BackGroup) *group)
{
    int all = 1;
    for (ptrdiff_t k = 0; k < group->count; k++)
        all &= group->rows[k].fits;
    return all;
}

/* Adds what rows first to last - 1 brought to the block's sums, and forgets it; in float64 again, where it is too large
 * for W or not all of them were added.
 */
static ISA void FN(back_keep)(const Backward *back, W *sums, double *kept, ptrdiff_t first, ptrdiff_t last, int all)
{
    const ptrdiff_t d = back->d, lines = backward_lines(d);
    const W *dbeta = sums + lines;
    for (ptrdiff_t j = 0; j < d; j++)
        all &= fabs((double)sums[j]) <= OF(LARGEST) && fabs((double)dbeta[j]) <= OF(LARGEST);
    for (ptrdiff_t j = 0; all && j < d; j++) {
        kept[j] += sums[j];
        kept[d + j] += dbeta[j];
    }
    for (ptrdiff_t i = first; !all && i < last; i++) {
        FN(Back) row;
        FN(back_begin)(back, &row, i);
        FN(back_wide)(back, &row, kept);
    }
    memset(sums, 0, 2 * (size_t)lines * sizeof *sums);
}

OP void FN(back_turns)(const Backward *back, ptrdiff_t first, ptrdiff_t last, W *sums, double *kept, const int stream)
{
    const ptrdiff_t bytes = 2 * back->d * (ptrdiff_t)sizeof(T), most = rows_together(bytes);
    const ptrdiff_t ahead = rows_ahead(bytes, most);
    FN(BackGroup) groups[3], *out = &groups[0], *in = &groups[1], *after = &groups[2];
    ptrdiff_t written = first, since = first, begun = first;
    int all = 1;
    out->count = in->count = 0;
    do {
        FN(back_turn)(back, out, in, ahead, sums, stream);
        all &= FN(back_all_fit)(out);
        written += out->count;
        if (written - since >= ROWS_TOGETHER || written == last) {
            FN(back_keep)(back, sums, kept, since, written, all);
            since = written;
            all = 1;
        }
        FN(back_begin_group)(back, after, begun, least(most, last - begun));
        begun += after->count;
        FN(BackGroup) *const free = out;
        out = in, in = after, after = free;
    } while (out->count || in->count);
}

static ISA void FN(backward)(const Backward *back, ptrdiff_t block)
{
    const ptrdiff_t d = back->d, blocks = backward_blocks(back->count);
    const ptrdiff_t first = back->count / blocks * block + back->count % blocks * block / blocks;
    const ptrdiff_t last = back->count / blocks * (block + 1) + back->count % blocks * (block + 1) / blocks;
    double *kept = back->sums + 2 * d * block;
    W *sums = (W *)back->scratch + 2 * backward_lines(d) * block;

    memset(kept, 0, 2 * (size_t)d * sizeof *kept);
    memset(sums, 0, 2 * (size_t)backward_lines(d) * sizeof *sums);
    if (back->stream) {
        FN(back_turns)(back, first, last, sums, kept, 1);
        fence();
    } else
        FN(back_turns)(back, first, last, sums, kept, 0);
}

#undef SUMS
#undef PERIOD
#include "blocks_end.h"
