/* The way back of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed).
 *
 * As on the way there, one row is written while the sums of another are taken, and a cell's lane depends on its place in
 * the row alone. Rows go whole: stretches of several, or two at once, make more ways through memory than it likes.
 */
#include "blocks.h"

#define SUMS (VECTORS / 2)   /* vectors of a sum: with whole blocks there would be too few registers */
#define PERIOD (16 * BLOCK)  /* cells that are added in W: short sums lose little */

#include "backward_row.h"

/* Writes one row's dx and takes the sums of another, either NULL. `sums` is dgamma and, some lines later, dbeta. What is
 * const is known when this is compiled.
 */
OP void FN(back_walk)(const Backward *back, const FN(Back) *out, FN(Back) *in, W *const sums, const int stream)
{
    const FN(Back) to = out ? *out : *in;
    FN(Back) from = in ? *in : *out;
    const FN(BackScale) by = FN(back_scale_of)(&to);
    const V pivot = OF(set)(from.pivot);
    const W *const gamma = back->gamma;
    const ptrdiff_t d = back->d;
    W *const dbeta = out ? sums + backward_lines(d) : NULL;
    const int fetches = back->fetch;
    ptrdiff_t j = 0;
    while (j + BLOCK <= d) {
        const ptrdiff_t pause = least(j + PERIOD, d);
        FN(BackLanes) lanes;
        FN(back_zero)(&lanes);
        for (; j + BLOCK <= pause; j += BLOCK) {
            V x[VECTORS], dy[VECTORS];
            if (in) {
                if (fetches) {
                    FN(fetch_beside)(from.x + j, from.next_x + j);
                    FN(fetch_beside)(from.dy + j, from.next_dy + j);
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
        *in = from;
        if (j < d)
            FN(back_sum_end)(back, in, j);
    }
    if (out && j < d)
        FN(back_write_end)(back, out, sums, j);
}

/* What the row is scaled by, from its sums. The answer is how far the pivot is from the mean, where that is too far. */
static inline double FN(back_solve)(const Backward *back, FN(Back) *row)
{
    const double d = (double)back->d, delta = back->center ? sum_of_double(row->c) / d : 0;
    const double around = sum_of_double(row->squares) / d, variance = around - delta * delta;
    const double v = variance + back->eps, r = 1 / sqrt(v), g = sum_of_double(row->g) / d;
    const double along = (sum_of_double(row->products) / d - delta * g) * r;

    row->mean = (W)(row->pivot + delta);
    row->r = (W)r;
    row->rest = (W)((row->mean - row->pivot - delta) * r);
    row->level = back->center ? (W)g : 0;
    row->along = (W)along;
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST) && fabs(g) <= OF(LARGEST) &&
                fabs(along) <= OF(LARGEST);
    return delta * delta <= variance ? 0 : delta;
}

/* Sums again from another pivot. */
static ISA __attribute__((noinline)) void FN(back_sum_again)(const Backward *back, FN(Back) *row)
{
    FN(back_clear)(row);
    FN(back_walk)(back, NULL, row, NULL, 0);
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
        FN(back_begin)(back, &row, i, 0);
        FN(back_wide)(back, &row, kept);
    }
    memset(sums, 0, 2 * (size_t)lines * sizeof *sums);
}

/* Each turn, one row begins, the next older one is summed, the next settled, the oldest written: so no step waits for
 * the one before it. */
OP void FN(back_turns)(const Backward *back, ptrdiff_t first, ptrdiff_t last, W *sums, double *kept, const int stream)
{
    const ptrdiff_t ahead = rows_ahead(2 * back->d * (ptrdiff_t)sizeof(T));
    FN(Back) rows[4];
    int all = 1;
    for (ptrdiff_t i = first - 3, since = first; i < last; i++) {
        FN(Back) *out = i >= first ? &rows[i & 3] : NULL;
        FN(Back) *in = i + 2 >= first && i + 2 < last ? &rows[(i + 2) & 3] : NULL;
        if (i + 3 < last)
            FN(back_begin)(back, &rows[(i + 3) & 3], i + 3, i + 3 + ahead < last ? ahead : 0);
        if (i + 1 >= first && i + 1 < last)
            FN(back_settle)(back, &rows[(i + 1) & 3]);
        if (out && !out->fits) {
            FN(back_wide)(back, out, NULL);
            out = NULL;
            all = 0;
        }
        if (in && out)
            FN(back_walk)(back, out, in, sums, stream);
        else if (in)
            FN(back_walk)(back, NULL, in, sums, stream);
        else if (out)
            FN(back_walk)(back, out, NULL, sums, stream);
        if (i + 1 - since == ROWS_TOGETHER || (i + 1 == last && since < last)) {
            FN(back_keep)(back, sums, kept, since, i + 1, all);
            since = i + 1;
            all = 1;
        }
    }
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
