/* One row, block by block: a part of rows.h, and a template like it.
 *
 * Sums are of x - K, for a K near the mean. Neither the mean nor r is rounded to W: both have a rest, so that an outlier
 * of many standard deviations is as near as a small number.
 */
typedef struct {
    const T *x, *residual;
    T *y, *sum;
    const T *next, *next_residual; /* of a row to come, to be asked of memory */
    ptrdiff_t head;                /* cells before y's first whole line, where lines are written whole */
    W pivot;                       /* K, a guess of the mean, or 0 where that is near */
    W mean, r, rest, more;         /* y = (c r + (c more + rest)) gamma + beta, c = x - mean; no more for 16 bits */
    int fits;                      /* whether W is wide enough for that */
} FN(Row);

/* Of c = x - K. */
typedef struct {
    double c[8], squares[8];
} FN(Sums);

/* What a row is scaled by, in every lane. */
typedef struct {
    V mean, r, rest, more;
} FN(Scale);

/* A cell of the row that is normalized: of x, or of the stored sum. */
static inline W FN(cell)(const FN(Row) *row, ptrdiff_t j)
{
    W x = FN(widen)(row->x[j]);
    return row->residual ? FN(widen)(FN(narrow)(x + FN(widen)(row->residual[j]))) : x;
}

/* K: guessed from the cells that are normalized. */
static ISA W FN(pivot)(const Norm *norm, const FN(Row) *row)
{
    const ptrdiff_t few = least(norm->d, 8);
    T sums[8];
    if (!norm->center)
        return 0;
    if (!row->residual)
        return FN(guess_of)(row->x, norm->d);
    for (ptrdiff_t k = 0; k < few; k++)
        sums[k] = FN(narrow)(FN(cell)(row, k));
    return FN(guess_of)(sums, few);
}

/* Row i, beside which the one that comes `ahead` rows later is asked for. */
static ISA void FN(begin)(const Norm *norm, FN(Row) *row, ptrdiff_t i, ptrdiff_t ahead)
{
    row->x = (const T *)(norm->x.at + i * norm->x.stride);
    row->residual = norm->residual.at ? (const T *)(norm->residual.at + i * norm->residual.stride) : NULL;
    row->next = (const T *)((const char *)row->x + ahead * norm->x.stride);
    row->next_residual = row->residual ? (const T *)((const char *)row->residual + ahead * norm->residual.stride) : NULL;
    row->y = (T *)(norm->y.at + i * norm->y.stride);
    row->sum = norm->sum.at ? (T *)(norm->sum.at + i * norm->sum.stride) : NULL;
    row->pivot = FN(pivot)(norm, row);
    row->head = head_of(norm, row->y, sizeof(T));
}

OP void FN(read_block)(V to[VECTORS], const FN(Row) *row, ptrdiff_t j, const int adds)
{
    FN(load_block)(to, row->x + j);
    if (adds)
        for EACH(k)
            to[k] = FN(round)(OF(add)(to[k], FN(load)(row->residual + j + k * OF(LANES))));
}

OP void FN(fetch)(const FN(Row) *row, ptrdiff_t j, const int adds)
{
    FN(fetch_beside)(row->x + j, row->next + j);
    if (adds)
        FN(fetch_beside)(row->residual + j, row->next_residual + j);
}

/* n cells from j on, and a value for the lanes that are left. */
static ISA void FN(read_part)(V to[VECTORS], const FN(Row) *row, ptrdiff_t j, ptrdiff_t n, W otherwise)
{
    W cells[BLOCK];
    for (ptrdiff_t k = 0; k < BLOCK; k++)
        cells[k] = k < n ? FN(cell)(row, j + k) : otherwise;
    for EACH(k)
        to[k] = OF(get)(cells + k * OF(LANES));
}

/* Adds two blocks to the sums. Only so few cells are added in W: beside an outlier small ones would be lost. */
OP void FN(sum_pair)(FN(Sums) *sums, const V x[VECTORS], const V more[VECTORS], V pivot, const int near)
{
    V few[VECTORS], squares[VECTORS];
    for EACH(k) {
        V c = near ? x[k] : OF(sub)(x[k], pivot), e = near ? more[k] : OF(sub)(more[k], pivot);
        few[k] = OF(add)(c, e);
        squares[k] = OF(fma)(e, e, OF(mul)(c, c));
    }
    OF(flush)(sums->c, few);
    OF(flush)(sums->squares, squares);
}

OP FN(Scale) FN(scale_of)(const FN(Row) *row)
{
    return (FN(Scale)){OF(set)(row->mean), OF(set)(row->r), OF(set)(row->rest), OF(set)(row->more)};
}

OP void FN(scale_block)(V x[VECTORS], const V gamma[VECTORS], const V beta[VECTORS], FN(Scale) by, const int near)
{
    for EACH(k) {
        V c = near ? x[k] : OF(sub)(x[k], by.mean), rest = sizeof(T) > 2 ? OF(fma)(c, by.more, by.rest) : by.rest;
        x[k] = OF(fma)(OF(fma)(c, by.r, rest), gamma[k], beta[k]);
    }
}

/* Normalizes n < BLOCK cells from j on, at an end of the row: as part of the first or the last whole block. */
static ISA void FN(write_end)(const Norm *norm, const FN(Row) *row, ptrdiff_t j, ptrdiff_t n, Edge *edge)
{
    const ptrdiff_t d = norm->d, start = d < BLOCK || j + BLOCK <= d ? j : d - BLOCK;
    T cells[2 * BLOCK] = {0}; /* a whole block can be read from anywhere in the first half */
    V x[VECTORS], gamma[VECTORS], beta[VECTORS];
    if (d < BLOCK) {
        W few[2][2 * BLOCK] = {0}; /* so can one here */
        memcpy(few[0], norm->gamma, (size_t)d * sizeof(W));
        memcpy(few[1], norm->beta, (size_t)d * sizeof(W));
        FN(load_wide)(gamma, few[0] + j);
        FN(load_wide)(beta, few[1] + j);
        FN(read_part)(x, row, j, n, 0);
    } else {
        FN(load_wide)(gamma, (const W *)norm->gamma + start);
        FN(load_wide)(beta, (const W *)norm->beta + start);
        FN(read_block)(x, row, start, row->residual != NULL);
    }
    if (row->sum) {
        FN(write_block)(cells, x, 0);
        memcpy(row->sum + j, cells + (j - start), (size_t)n * sizeof(T));
    }
    FN(scale_block)(x, gamma, beta, FN(scale_of)(row), 0);
    FN(write_block)(cells, x, 0);
    if (edge)
        collect(edge, row->y + j, cells + (j - start), (size_t)n * sizeof(T), BLOCK * sizeof(T));
    else
        memcpy(row->y + j, cells + (j - start), (size_t)n * sizeof(T));
}

/* Normalizes the block at j of one row or two: gamma and beta are read once for both. */
OP void FN(write)(const Norm *norm, const FN(Row) *rows, const FN(Scale) *by, const int count, ptrdiff_t j,
                  const int near, const int adds, const int streams)
{
    V gamma[VECTORS], beta[VECTORS];
    FN(load_wide)(gamma, (const W *)norm->gamma + j);
    FN(load_wide)(beta, (const W *)norm->beta + j);
    for (int i = 0; i < count; i++) {
        V x[VECTORS];
        FN(read_block)(x, &rows[i], j, adds);
        if (adds)
            FN(write_block)(rows[i].sum + j, x, 0);
        FN(scale_block)(x, gamma, beta, by[i], near);
        FN(write_block)(rows[i].y + j, x, streams);
    }
}

/* Adds the pair of blocks at j to the sums. */
OP void FN(sum)(FN(Sums) *sums, const FN(Row) *row, ptrdiff_t j, int fetches, const int near, const int adds)
{
    V x[VECTORS], more[VECTORS];
    if (fetches) {
        FN(fetch)(row, j, adds);
        FN(fetch)(row, j + BLOCK, adds);
    }
    FN(read_block)(x, row, j, adds);
    FN(read_block)(more, row, j + BLOCK, adds);
    FN(sum_pair)(sums, x, more, OF(set)(row->pivot), near);
}

/* Adds n < PAIR cells from j on. The rest of the pair adds nothing. */
static ISA __attribute__((noinline)) void FN(sum_rest)(FN(Sums) *sums, const FN(Row) *row, ptrdiff_t j, ptrdiff_t n)
{
    V x[VECTORS], more[VECTORS];
    FN(read_part)(x, row, j, n, row->pivot);
    FN(read_part)(more, row, j + BLOCK, n - BLOCK, row->pivot);
    FN(sum_pair)(sums, x, more, OF(set)(row->pivot), 0);
}

/* Mean and 1/std from the sums of the whole pairs of blocks. The answer is how far K is from the mean, where that is too
 * far, else 0.
 */
static inline double FN(solve)(const Norm *norm, FN(Row) *row, FN(Sums) *sums)
{
    const ptrdiff_t rest = norm->d % PAIR;
    if (rest)
        FN(sum_rest)(sums, row, norm->d - rest, rest);
    const double share = norm->share, delta = norm->center ? sum_of_double(sums->c) * share : 0;
    const double around = sum_of_double(sums->squares) * share;
    const double variance = around - delta * delta, v = variance + norm->eps, r = 1 / sqrt(v);

    row->mean = row->pivot != 0 ? (W)(row->pivot + delta) : 0; /* one that is near comes off xhat alone */
    row->r = (W)r;
    row->more = (W)(r - row->r);
    row->rest = (W)(((double)row->mean - row->pivot - delta) * r);
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST);
    return delta * delta <= variance ? 0 : delta; /* else the rounding of the squares grows with it */
}

/* Sums again from another K. */
static ISA __attribute__((noinline)) void FN(settle_from)(const Norm *norm, FN(Row) *row, W pivot)
{
    const ptrdiff_t whole = norm->d / PAIR * PAIR;
    FN(Sums) sums = {0};
    row->pivot = pivot;
    for (ptrdiff_t j = 0; j < whole; j += PAIR)
        if (row->residual)
            FN(sum)(&sums, row, j, 0, 0, 1);
        else
            FN(sum)(&sums, row, j, 0, 0, 0);
    row->fits = FN(solve)(norm, row, &sums) == 0 && row->fits;
}

/* What the row is scaled by, from the sums of its whole pairs of blocks. */
static ISA void FN(settle)(const Norm *norm, FN(Row) *row, FN(Sums) sums)
{
    const double far = FN(solve)(norm, row, &sums);
    if (far != 0)
        FN(settle_from)(norm, row, (W)(row->pivot + far));
}
