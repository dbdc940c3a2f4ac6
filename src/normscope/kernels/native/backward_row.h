/* The way back of one row, block by block: a part of backward_rows.h, and a template like it. */
typedef struct {
    const T *x, *dy, *next_x, *next_dy; /* next: to be asked of memory */
    T *dx;
    W pivot;                       /* a guess of the mean, or 0 where that is near */
    W mean, r, rest, level, along; /* xhat = (x - mean) r + rest;  dx = (g - level - xhat along) r */
    int fits;
} FN(Back);

/* Of c = x - pivot, c^2, g = dy gamma and g c. */
typedef struct {
    double c[8], squares[8], g[8], products[8];
} FN(BackSums);

typedef struct {
    V mean, r, rest, level, against;
} FN(BackScale);

typedef struct {
    V c[VECTORS], squares[VECTORS], g[VECTORS], products[VECTORS]; /* SUMS of each; the others are 0 */
} FN(BackLanes);

/* Row i, beside which the one that comes `ahead` rows later is asked for. */
static ISA void FN(back_begin)(const Backward *back, FN(Back) *row, ptrdiff_t i, ptrdiff_t ahead)
{
    row->x = (const T *)(back->x.at + i * back->x.stride);
    row->dy = (const T *)(back->dy.at + i * back->dy.stride);
    row->dx = (T *)(back->dx.at + i * back->dx.stride);
    row->next_x = (const T *)((const char *)row->x + ahead * back->x.stride);
    row->next_dy = (const T *)((const char *)row->dy + ahead * back->dy.stride);
    row->pivot = back->center ? FN(guess_of)(row->x, back->d) : 0;
}

OP void FN(back_zero)(FN(BackLanes) *lanes)
{
    for EACH(k)
        lanes->c[k] = lanes->squares[k] = lanes->g[k] = lanes->products[k] = OF(set)(0);
}

/* Adds a vector of cells to the sums. */
OP void FN(back_add)(FN(BackLanes) *to, const int lane, V x, V dy, V gamma, V pivot, const int near)
{
    V c = near ? x : OF(sub)(x, pivot), g = OF(mul)(dy, gamma);
    to->c[lane] = OF(add)(to->c[lane], c);
    to->squares[lane] = OF(fma)(c, c, to->squares[lane]);
    to->g[lane] = OF(add)(to->g[lane], g);
    to->products[lane] = OF(fma)(g, c, to->products[lane]);
}

OP void FN(back_flush)(FN(BackSums) *sums, const FN(BackLanes) *lanes)
{
    OF(flush)(sums->c, lanes->c);
    OF(flush)(sums->squares, lanes->squares);
    OF(flush)(sums->g, lanes->g);
    OF(flush)(sums->products, lanes->products);
}

/* Adds the block at j. */
OP void FN(back_sum)(FN(BackLanes) *lanes, const FN(Back) *row, const W *gamma, ptrdiff_t j, const int fetches,
                     const int near)
{
    if (fetches) {
        FN(fetch_beside)(row->x + j, row->next_x + j);
        FN(fetch_beside)(row->dy + j, row->next_dy + j);
    }
    for EACH(k) {
        const ptrdiff_t at = j + k * OF(LANES);
        FN(back_add)(lanes, k % SUMS, FN(load)(row->x + at), FN(load)(row->dy + at), OF(get)(gamma + at),
                     OF(set)(row->pivot), near);
    }
}

OP FN(BackScale) FN(back_scale_of)(const FN(Back) *row)
{
    return (FN(BackScale)){OF(set)(row->mean), OF(set)(row->r), OF(set)(row->rest), OF(set)(row->level),
                           OF(set)(-row->along)};
}

/* Writes dx of the block at j; xhat dy and dy go to dgamma and dbeta. */
OP void FN(back_write)(const FN(Back) *row, FN(BackScale) by, const W *gamma, W *dgamma, W *dbeta, ptrdiff_t j,
                       const int near, const int stream)
{
    V dx[VECTORS];
    for EACH(k) {
        const ptrdiff_t at = j + k * OF(LANES);
        V x = FN(load)(row->x + at), dy = FN(load)(row->dy + at), g = OF(mul)(dy, OF(get)(gamma + at));
        V xhat = OF(fma)(near ? x : OF(sub)(x, by.mean), by.r, by.rest);
        OF(put)(dgamma + at, OF(fma)(dy, xhat, OF(get)(dgamma + at)));
        OF(put)(dbeta + at, OF(add)(dy, OF(get)(dbeta + at)));
        dx[k] = OF(mul)(OF(fma)(xhat, by.against, OF(sub)(g, by.level)), by.r);
    }
    FN(write_block)(row->dx + j, dx, stream);
}

/* n < BLOCK cells, and zeros. */
static inline ISA void FN(back_part)(void *to, const void *from, ptrdiff_t n, size_t size)
{
    memset(to, 0, BLOCK * size);
    memcpy(to, from, (size_t)n * size);
}

/* Adds the last n < BLOCK cells of a row. The lanes beyond it hold the pivot and a dy of 0, which add nothing. */
static ISA __attribute__((noinline)) void FN(back_sum_end)(FN(BackSums) *sums, const FN(Back) *row, const W *all_gamma,
                                                           ptrdiff_t j, ptrdiff_t n)
{
    W gamma[BLOCK], x[BLOCK];
    T dy[BLOCK];
    FN(BackLanes) lanes;
    for (ptrdiff_t k = 0; k < BLOCK; k++)
        x[k] = k < n ? FN(widen)(row->x[j + k]) : row->pivot;
    FN(back_part)(dy, row->dy + j, n, sizeof(T));
    FN(back_part)(gamma, all_gamma + j, n, sizeof(W));
    FN(back_zero)(&lanes);
    for EACH(k) {
        const int at = k * OF(LANES);
        FN(back_add)(&lanes, k % SUMS, OF(get)(x + at), FN(load)(dy + at), OF(get)(gamma + at), OF(set)(row->pivot), 0);
    }
    FN(back_flush)(sums, &lanes);
}

/* Writes their dx. */
static ISA __attribute__((noinline)) void FN(back_write_end)(const FN(Back) *row, const W *all_gamma, W *all_dgamma,
                                                             W *all_dbeta, ptrdiff_t j, ptrdiff_t n)
{
    W gamma[BLOCK], dgamma[BLOCK], dbeta[BLOCK];
    T x[BLOCK], dy[BLOCK], dx[BLOCK];
    const FN(Back) end = {.x = x, .dy = dy, .dx = dx};
    FN(back_part)(x, row->x + j, n, sizeof(T));
    FN(back_part)(dy, row->dy + j, n, sizeof(T));
    FN(back_part)(gamma, all_gamma + j, n, sizeof(W));
    FN(back_part)(dgamma, all_dgamma + j, n, sizeof(W));
    FN(back_part)(dbeta, all_dbeta + j, n, sizeof(W));
    FN(back_write)(&end, FN(back_scale_of)(row), gamma, dgamma, dbeta, 0, 0, 0);
    memcpy(row->dx + j, dx, (size_t)n * sizeof(T));
    memcpy(all_dgamma + j, dgamma, (size_t)n * sizeof(W));
    memcpy(all_dbeta + j, dbeta, (size_t)n * sizeof(W));
}

/* What the row is scaled by, from the sums of its whole blocks. The answer is how far the pivot is from the mean, where
 * that is too far, else 0.
 */
static inline double FN(back_solve)(const Backward *back, FN(Back) *row, FN(BackSums) *sums)
{
    const ptrdiff_t rest = back->d % BLOCK;
    if (rest)
        FN(back_sum_end)(sums, row, back->gamma, back->d - rest, rest);
    const double d = (double)back->d, delta = back->center ? sum_of_double(sums->c) / d : 0;
    const double around = sum_of_double(sums->squares) / d, variance = around - delta * delta;
    const double v = variance + back->eps, r = 1 / sqrt(v), g = sum_of_double(sums->g) / d;
    const double along = (sum_of_double(sums->products) / d - delta * g) * r;

    row->mean = row->pivot != 0 ? (W)(row->pivot + delta) : 0; /* one that is near comes off xhat alone */
    row->r = (W)r;
    row->rest = (W)(((double)row->mean - row->pivot - delta) * r);
    row->level = back->center ? (W)g : 0;
    row->along = (W)along;
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST) && fabs(g) <= OF(LARGEST) &&
                fabs(along) <= OF(LARGEST);
    return delta * delta <= variance ? 0 : delta;
}

/* A row whose sums overflow or vanish in W, or that holds a NaN: in float64, x scaled by a power of two. What it adds
 * to dgamma and dbeta goes to `kept`; where that is not asked for, dx is written.
 */
static void FN(back_wide)(const Backward *back, const FN(Back) *row, double *kept)
{
    const ptrdiff_t d = back->d;
    const W *gamma = back->gamma;
    const double first = back->center ? FN(widen)(row->x[0]) : 0;
    double largest = sqrt(back->eps), sum = 0, squares = 0, level = 0, along = 0;
    for (ptrdiff_t j = 0; j < d; j++)
        largest = fmax(largest, fabs((double)FN(widen)(row->x[j])));
    const double scale = scale_for(largest);
    for (ptrdiff_t j = 0; j < d; j++)
        sum += FN(widen)(row->x[j]) * scale - first * scale;
    const double mean = back->center ? sum / (double)d : 0;
    for (ptrdiff_t j = 0; j < d; j++) {
        double c = FN(widen)(row->x[j]) * scale - first * scale - mean, g = (double)FN(widen)(row->dy[j]) * gamma[j];
        squares += c * c;
        level += g / (double)d;
        along += g / (double)d * c;
    }
    const double r = 1 / sqrt(squares / (double)d + scaled_eps(back->eps, scale));
    for (ptrdiff_t j = 0; j < d; j++) {
        double xhat = (FN(widen)(row->x[j]) * scale - first * scale - mean) * r, dy = FN(widen)(row->dy[j]);
        double g = dy * gamma[j] - (back->center ? level : 0);
        if (kept) {
            kept[j] += dy * xhat;
            kept[d + j] += dy;
        } else
            row->dx[j] = FN(narrow)((W)((g - xhat * (along * r)) * r * scale));
    }
}
