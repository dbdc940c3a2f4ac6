/* The way back of one row, block by block: a part of backward_rows.h, and a template like it. */
typedef struct {
    const T *x, *dy, *next_x, *next_dy; /* next: to be asked of memory */
    T *dx;
    W pivot;
    double c[8], squares[8], g[8], products[8]; /* sums of c = x - pivot, c^2, g = dy gamma and g c */
    W mean, r, rest, level, along; /* xhat = (x - mean) r + rest;  dx = (g - level - xhat along) r */
    int fits;
} FN(Back);

typedef struct {
    V mean, r, rest, level, against;
} FN(BackScale);

typedef struct {
    V c[VECTORS], squares[VECTORS], g[VECTORS], products[VECTORS]; /* SUMS of each; the others are 0 */
} FN(BackLanes);

static ISA void FN(back_clear)(FN(Back) *row)
{
    memset(row->c, 0, sizeof row->c);
    memset(row->squares, 0, sizeof row->squares);
    memset(row->g, 0, sizeof row->g);
    memset(row->products, 0, sizeof row->products);
}

/* Row i, beside which the one that comes `ahead` rows later is asked for. */
static ISA void FN(back_begin)(const Backward *back, FN(Back) *row, ptrdiff_t i, ptrdiff_t ahead)
{
    row->x = (const T *)(back->x.at + i * back->x.stride);
    row->dy = (const T *)(back->dy.at + i * back->dy.stride);
    row->dx = (T *)(back->dx.at + i * back->dx.stride);
    row->next_x = (const T *)((const char *)row->x + ahead * back->x.stride);
    row->next_dy = (const T *)((const char *)row->dy + ahead * back->dy.stride);
    row->pivot = back->center ? FN(guess_of)(row->x, back->d) : 0;
    FN(back_clear)(row);
}

OP void FN(back_sum)(FN(BackLanes) *to, const V x[VECTORS], const V dy[VECTORS], const W *gamma, V pivot)
{
    for EACH(k) {
        const int lane = k % SUMS;
        V c = OF(sub)(x[k], pivot), g = OF(mul)(dy[k], OF(get)(gamma + k * OF(LANES)));
        to->c[lane] = OF(add)(to->c[lane], c);
        to->squares[lane] = OF(fma)(c, c, to->squares[lane]);
        to->g[lane] = OF(add)(to->g[lane], g);
        to->products[lane] = OF(fma)(g, c, to->products[lane]);
    }
}

/* dx in place of dy; xhat dy and dy go to the sums for dgamma and dbeta. */
OP void FN(back_scale)(V dy[VECTORS], const V x[VECTORS], const W *gamma, W *dgamma, W *dbeta, FN(BackScale) by)
{
    for EACH(k) {
        V xhat = OF(fma)(OF(sub)(x[k], by.mean), by.r, by.rest);
        V g = OF(mul)(dy[k], OF(get)(gamma + k * OF(LANES)));
        OF(put)(dgamma + k * OF(LANES), OF(fma)(dy[k], xhat, OF(get)(dgamma + k * OF(LANES))));
        OF(put)(dbeta + k * OF(LANES), OF(add)(dy[k], OF(get)(dbeta + k * OF(LANES))));
        dy[k] = OF(mul)(OF(fma)(xhat, by.against, OF(sub)(g, by.level)), by.r);
    }
}

OP FN(BackScale) FN(back_scale_of)(const FN(Back) *row)
{
    return (FN(BackScale)){OF(set)(row->mean), OF(set)(row->r), OF(set)(row->rest), OF(set)(row->level),
                           OF(set)(-row->along)};
}

OP void FN(back_flush)(FN(Back) *row, const FN(BackLanes) *lanes)
{
    OF(flush)(row->c, lanes->c);
    OF(flush)(row->squares, lanes->squares);
    OF(flush)(row->g, lanes->g);
    OF(flush)(row->products, lanes->products);
}

OP void FN(back_zero)(FN(BackLanes) *lanes)
{
    for EACH(k)
        lanes->c[k] = lanes->squares[k] = lanes->g[k] = lanes->products[k] = OF(set)(0);
}

/* n < BLOCK cells, and zeros. */
static inline ISA void FN(back_part)(void *to, const void *from, ptrdiff_t n, size_t size)
{
    memset(to, 0, BLOCK * size);
    memcpy(to, from, (size_t)n * size);
}

/* The last n < BLOCK cells of a row. The lanes beyond it hold the pivot and a dy of 0, which add nothing. */
static ISA __attribute__((noinline)) void FN(back_sum_end)(const Backward *back, FN(Back) *row, ptrdiff_t j)
{
    const ptrdiff_t n = back->d - j;
    W gamma[BLOCK], cells[BLOCK];
    T stored[BLOCK];
    V x[VECTORS], dy[VECTORS];
    FN(BackLanes) lanes;
    for (ptrdiff_t k = 0; k < BLOCK; k++)
        cells[k] = k < n ? FN(widen)(row->x[j + k]) : row->pivot;
    for EACH(k)
        x[k] = OF(get)(cells + k * OF(LANES));
    FN(back_part)(stored, row->dy + j, n, sizeof(T));
    FN(load_block)(dy, stored);
    FN(back_part)(gamma, (const W *)back->gamma + j, n, sizeof(W));
    FN(back_zero)(&lanes);
    FN(back_sum)(&lanes, x, dy, gamma, OF(set)(row->pivot));
    FN(back_flush)(row, &lanes);
}

/* The same of dx. */
static ISA __attribute__((noinline)) void FN(back_write_end)(const Backward *back, const FN(Back) *row, W *sums,
                                                             ptrdiff_t j)
{
    const ptrdiff_t n = back->d - j, lines = backward_lines(back->d);
    W gamma[BLOCK], dgamma[BLOCK], dbeta[BLOCK];
    T stored[BLOCK];
    V x[VECTORS], dy[VECTORS];
    FN(back_part)(stored, row->x + j, n, sizeof(T));
    FN(load_block)(x, stored);
    FN(back_part)(stored, row->dy + j, n, sizeof(T));
    FN(load_block)(dy, stored);
    FN(back_part)(gamma, (const W *)back->gamma + j, n, sizeof(W));
    FN(back_part)(dgamma, sums + j, n, sizeof(W));
    FN(back_part)(dbeta, sums + lines + j, n, sizeof(W));
    FN(back_scale)(dy, x, gamma, dgamma, dbeta, FN(back_scale_of)(row));
    FN(write_block)(stored, dy, 0);
    memcpy(row->dx + j, stored, (size_t)n * sizeof(T));
    memcpy(sums + j, dgamma, (size_t)n * sizeof(W));
    memcpy(sums + lines + j, dbeta, (size_t)n * sizeof(W));
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
