/* The way back of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed).
 *
 * As on the way there, one row is written while the sums of another are taken, and a cell's lane depends on its place in
 * the row alone. Two rows at once would be more ways through memory than it likes.
 */
#include "blocks.h"

#define SUMS (VECTORS / 2)   /* vectors of a sum: with whole blocks there would be too few registers */
#define PERIOD (16 * BLOCK)  /* cells that are added in W: short sums lose little */
#define LEAD (2 * BLOCK)     /* cells that are summed before any are written */

#include "backward_row.h"

/* Sums again from another pivot. */
static ISA __attribute__((noinline)) void FN(back_settle_from)(const Backward *back, FN(Back) *row, W pivot)
{
    const ptrdiff_t whole = back->d / BLOCK * BLOCK;
    FN(BackSums) sums = {0};
    row->pivot = pivot;
    for (ptrdiff_t j = 0; j < whole;) {
        FN(BackLanes) lanes;
        FN(back_zero)(&lanes);
        for (const ptrdiff_t pause = least(j + PERIOD, whole); j < pause; j += BLOCK)
            FN(back_sum)(&lanes, row, back->gamma, j, 0, 0);
        FN(back_flush)(&sums, &lanes);
    }
    row->fits = FN(back_solve)(back, row, &sums) == 0 && row->fits;
}

/* What the row is scaled by, from the sums of its whole blocks. */
static ISA void FN(back_settle)(const Backward *back, FN(Back) *row, FN(BackSums) sums)
{
    const double far = FN(back_solve)(back, row, &sums);
    if (far != 0)
        FN(back_settle_from)(back, row, (W)(row->pivot + far));
}

/* Writes dx of one row and sums another; either may be NULL. `dgamma` is followed by dbeta, some lines later. What is
 * const is known when this is compiled.
 */
OP void FN(back_walk)(const Backward *back, const FN(Back) *out, FN(Back) *in, W *const dgamma, const int near,
                      const int stream)
{
    const ptrdiff_t d = back->d, whole = d / BLOCK * BLOCK, lead = out ? least(LEAD, whole) : whole;
    const int fetches = stream || back->fetch;
    const W *const gamma = back->gamma; /* copies, which no store can change */
    W *const dbeta = dgamma + backward_lines(d);
    const FN(Back) to = out ? *out : *in, from = in ? *in : *out;
    const FN(BackScale) by = FN(back_scale_of)(&to);
    ptrdiff_t j = 0, at = 0;
    if (in) {
        FN(BackSums) sums = {0};
        while (j < whole) {
            const ptrdiff_t pause = least(j + PERIOD, whole), alone = least(lead, pause);
            FN(BackLanes) lanes;
            FN(back_zero)(&lanes);
            for (; j < alone; j += BLOCK)
                FN(back_sum)(&lanes, &from, gamma, j, fetches, near);
            for (; j < pause; j += BLOCK, at += BLOCK) {
                FN(back_sum)(&lanes, &from, gamma, j, fetches, near);
                FN(back_write)(&to, by, gamma, dgamma, dbeta, at, near, stream);
            }
            FN(back_flush)(&sums, &lanes);
        }
        FN(back_settle)(back, in, sums);
    }
    if (out) {
        for (; at < whole; at += BLOCK)
            FN(back_write)(&to, by, gamma, dgamma, dbeta, at, near, stream);
        if (at < d)
            FN(back_write_end)(&to, gamma, dgamma, dbeta, at, d - at);
    }
}

/* Adds what rows first to last - 1 brought to the block's sums, and forgets it; in float64 again, where it is too large
 * for W or not all of them were added.
 */
static ISA void FN(back_keep)(const Backward *back, W *sums, double *kept, ptrdiff_t first, ptrdiff_t last, int all)
{
    const ptrdiff_t d = back->d, lines = backward_lines(d);
    const W *dbeta = sums + lines, most = (W)OF(LARGEST);
    for (ptrdiff_t j = 0; j < 2 * lines; j++) /* beyond d there are zeros; and & is for the compiler to see */
        all &= (sums[j] <= most) & (sums[j] >= -most);
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

/* Each turn one row is written, the next summed, the one after begun: so no step waits for the one before. */
OP void FN(back_turns)(const Backward *back, ptrdiff_t first, ptrdiff_t last, W *sums, double *kept, const int stream)
{
    const ptrdiff_t ahead = rows_ahead(2 * back->d * (ptrdiff_t)sizeof(T));
    FN(Back) rows[3];
    int all = 1;
    for (ptrdiff_t i = first - 2, since = first; i < last; i++) {
        FN(Back) *out = i >= first ? &rows[(i - first) % 3] : NULL;
        FN(Back) *in = i + 1 >= first && i + 1 < last ? &rows[(i + 1 - first) % 3] : NULL;
        if (i + 2 < last)
            FN(back_begin)(back, &rows[(i + 2 - first) % 3], i + 2, i + 2 + ahead < last ? ahead : 0);
        if (out && !out->fits) {
            FN(back_wide)(back, out, NULL);
            out = NULL;
            all = 0;
        }
        if (in && out && in->pivot == 0 && out->mean == 0)
            FN(back_walk)(back, out, in, sums, 1, stream);
        else if (in && out)
            FN(back_walk)(back, out, in, sums, 0, stream);
        else if (in)
            FN(back_walk)(back, NULL, in, sums, 0, stream);
        else if (out)
            FN(back_walk)(back, out, NULL, sums, 0, stream);
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
#undef LEAD
#include "blocks_end.h"
