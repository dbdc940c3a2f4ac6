/* The way back of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed).
 *
 * Twice through a row: the sums of x - K, its square, g = dy gamma and g (x - K); then, from the cache, dx and what
 * the row adds to dgamma and dbeta. As on the way there, a cell's lane depends on its place in the row alone.
 */
#define FN(name) PASTE(name, KIND)
#define OF(name) PASTE(name, W)
#define V OF(V)
#define WIDTH (2 * OF(LANES)) /* cells taken together: four sums of two vectors each fill half the registers */
#define LINE ((int)(64 / sizeof(T))) /* cells of a line of the cache */
#define EACH(k) (int k = 0; k < 2; k++)

typedef struct {
    const T *x, *dy;
    T *dx;
} FN(Back);

typedef struct {
    W pivot;
    double c[8], squares[8], g[8], products[8]; /* c is x - pivot */
} FN(BackSums);

/* xhat = (x - mean) r + rest;  dx = (g - level - xhat along) r */
typedef struct {
    W mean, r, rest, level, along;
} FN(BackScale);

static inline FN(Back) FN(back_at)(const Backward *back, ptrdiff_t i)
{
    return (FN(Back)){
        (const T *)(back->x.at + i * back->x.stride),
        (const T *)(back->dy.at + i * back->dy.stride),
        (T *)(back->dx.at + i * back->dx.stride),
    };
}

static inline double FN(gradient)(const Backward *back, const FN(Back) *row, ptrdiff_t j)
{
    const W *gamma = back->gamma;
    return (double)FN(widen)(row->dy[j]) * (gamma ? gamma[j] : 1);
}

typedef struct {
    V c[4], squares[4], g[4], products[4]; /* the last two of each stay 0: flush adds four */
} FN(BackLanes);

/* Adds WIDTH cells of x, dy and gamma (NULL: 1) to the sums. */
OP void FN(back_sum)(FN(BackLanes) *to, const V x[2], const V dy[2], const W *gamma, V pivot)
{
    for EACH(k) {
        V c = OF(sub)(x[k], pivot);
        V g = gamma ? OF(mul)(dy[k], OF(get)(gamma + k * OF(LANES))) : dy[k];
        to->c[k] = OF(add)(to->c[k], c);
        to->squares[k] = OF(fma)(c, c, to->squares[k]);
        to->g[k] = OF(add)(to->g[k], g);
        to->products[k] = OF(fma)(g, c, to->products[k]);
    }
}

/* dx in place of dy; xhat dy and dy go to the sums for dgamma and dbeta. */
OP void FN(back_scale)(V dy[2], const V x[2], const W *gamma, W *dgamma, W *dbeta, const FN(BackScale) *scale)
{
    const V mean = OF(set)(scale->mean), r = OF(set)(scale->r), rest = OF(set)(scale->rest);
    const V level = OF(set)(scale->level), against = OF(set)(-scale->along);
    for EACH(k) {
        V xhat = OF(fma)(OF(sub)(x[k], mean), r, rest);
        V g = gamma ? OF(mul)(dy[k], OF(get)(gamma + k * OF(LANES))) : dy[k];
        OF(keep)(dgamma + k * OF(LANES), OF(fma)(dy[k], xhat, OF(get)(dgamma + k * OF(LANES))));
        OF(keep)(dbeta + k * OF(LANES), OF(add)(dy[k], OF(get)(dbeta + k * OF(LANES))));
        dy[k] = OF(mul)(OF(fma)(xhat, against, OF(sub)(g, level)), r);
    }
}

OP void FN(back_read)(V to[2], const T *from)
{
    for EACH(k)
        to[k] = FN(load)(from + k * OF(LANES));
}

/* n < WIDTH cells, and zeros. */
static inline ISA void FN(back_part)(T to[WIDTH], const T *from, ptrdiff_t n)
{
    memset(to, 0, WIDTH * sizeof(T));
    memcpy(to, from, (size_t)n * sizeof(T));
}

static inline ISA const W *FN(back_gamma)(W to[WIDTH], const W *gamma, ptrdiff_t n)
{
    if (!gamma)
        return NULL;
    memset(to, 0, WIDTH * sizeof(W));
    memcpy(to, gamma, (size_t)n * sizeof(W));
    return to;
}

/* The lanes beyond the row hold the pivot and a dy of 0, which add nothing. */
static ISA void FN(back_sum_part)(FN(BackLanes) *to, const Backward *back, const FN(Back) *row, ptrdiff_t j, W pivot)
{
    const ptrdiff_t n = back->d - j;
    W gamma[WIDTH], cells[WIDTH];
    T stored[WIDTH];
    V x[2], dy[2];
    for (ptrdiff_t k = 0; k < WIDTH; k++)
        cells[k] = k < n ? FN(widen)(row->x[j + k]) : pivot;
    for EACH(k)
        x[k] = OF(get)(cells + k * OF(LANES));
    FN(back_part)(stored, row->dy + j, n);
    FN(back_read)(dy, stored);
    const W *given = back->gamma ? (const W *)back->gamma + j : NULL;
    FN(back_sum)(to, x, dy, FN(back_gamma)(gamma, given, n), OF(set)(pivot));
}

static ISA void FN(back_sums)(const Backward *back, const FN(Back) *row, FN(BackSums) *sums)
{
    const ptrdiff_t d = back->d;
    const W *gamma = back->gamma;
    const V pivot = OF(set)(sums->pivot), zero = OF(set)(0);
    for (ptrdiff_t j = 0; j < d;) {
        const ptrdiff_t pause = d - j < 16 * WIDTH ? d : j + 16 * WIDTH; /* short sums of W lose little */
        FN(BackLanes) lanes;
        for (int k = 0; k < 4; k++)
            lanes.c[k] = lanes.squares[k] = lanes.g[k] = lanes.products[k] = zero;
        for (; j + WIDTH <= pause; j += WIDTH) {
            V x[2], dy[2];
            FN(back_read)(x, row->x + j);
            FN(back_read)(dy, row->dy + j);
            FN(back_sum)(&lanes, x, dy, gamma ? gamma + j : NULL, pivot);
        }
        if (j < pause)
            FN(back_sum_part)(&lanes, back, row, j, sums->pivot);
        j = pause;
        OF(flush)(sums->c, lanes.c);
        OF(flush)(sums->squares, lanes.squares);
        OF(flush)(sums->g, lanes.g);
        OF(flush)(sums->products, lanes.products);
    }
}

/* n < WIDTH cells from j on. */
static ISA void FN(back_write_part)(const Backward *back, const FN(Back) *row, const FN(BackScale) *scale, W *dgamma,
                                    W *dbeta, ptrdiff_t j, ptrdiff_t n)
{
    W gamma[WIDTH], sums[2][WIDTH];
    T stored[WIDTH];
    V x[2], dy[2];
    FN(back_part)(stored, row->x + j, n);
    FN(back_read)(x, stored);
    FN(back_part)(stored, row->dy + j, n);
    FN(back_read)(dy, stored);
    (void)FN(back_gamma)(sums[0], dgamma + j, n);
    (void)FN(back_gamma)(sums[1], dbeta + j, n);
    const W *given = back->gamma ? (const W *)back->gamma + j : NULL;
    FN(back_scale)(dy, x, FN(back_gamma)(gamma, given, n), sums[0], sums[1], scale);
    for EACH(k)
        FN(store)(stored + k * OF(LANES), dy[k]);
    memcpy(row->dx + j, stored, (size_t)n * sizeof(T));
    memcpy(dgamma + j, sums[0], (size_t)n * sizeof(W));
    memcpy(dbeta + j, sums[1], (size_t)n * sizeof(W));
}

/* WIDTH cells of dx from j on, not yet stored. */
OP void FN(back_make)(V dx[2], const Backward *back, const FN(Back) *row, const FN(BackScale) *scale, W *dgamma,
                      W *dbeta, ptrdiff_t j)
{
    const W *gamma = back->gamma;
    V x[2];
    FN(back_read)(x, row->x + j);
    FN(back_read)(dx, row->dy + j);
    FN(back_scale)(dx, x, gamma ? gamma + j : NULL, dgamma + j, dbeta + j, scale);
}

/* A whole line of dx at once: a line that is written past the cache bit by bit is a slow one. */
OP void FN(back_line)(T *to, const V *dx, const int stream)
{
    for (int k = 0; k < LINE / OF(LANES); k++)
        if (stream)
            FN(stream)(to + k * OF(LANES), dx[k]);
        else
            FN(store)(to + k * OF(LANES), dx[k]);
}

/* Writes a row, and asks for the one that follows, of which the last has none. */
OP void FN(back_write)(const Backward *back, const FN(Back) *row, const FN(BackScale) *scale, W *dgamma, W *dbeta,
                       const int is_last, const int stream)
{
    const ptrdiff_t d = back->d, x_ahead = is_last ? 0 : back->x.stride, dy_ahead = is_last ? 0 : back->dy.stride;
    ptrdiff_t j = 0, before = stream ? (ptrdiff_t)(-(uintptr_t)row->dx % 64 / sizeof(T)) : 0, n;
    for (before = before < d ? before : d; j < before; j += n) {
        n = before - j < WIDTH ? before - j : WIDTH - 1;
        FN(back_write_part)(back, row, scale, dgamma, dbeta, j, n);
    }
    for (; j + LINE <= d; j += LINE) {
        V dx[LINE / OF(LANES)];
        __builtin_prefetch((const char *)(row->x + j) + x_ahead, 0, 2);
        __builtin_prefetch((const char *)(row->dy + j) + dy_ahead, 0, 2);
        for (int k = 0; k < LINE / WIDTH; k++)
            FN(back_make)(dx + 2 * k, back, row, scale, dgamma, dbeta, j + k * WIDTH);
        FN(back_line)(row->dx + j, dx, stream);
    }
    for (; j < d; j += n) {
        n = d - j < WIDTH ? d - j : WIDTH - 1;
        FN(back_write_part)(back, row, scale, dgamma, dbeta, j, n);
    }
}

/* A guess of the mean: that of the first eight cells, exactly x where x is constant. */
static ISA W FN(back_pivot)(const Backward *back, const FN(Back) *row)
{
    W first = FN(widen)(row->x[0]), more = 0;
    if (!back->center)
        return 0;
    for (ptrdiff_t k = 1; k < 8 && k < back->d; k++)
        more += (FN(widen)(row->x[k]) - first) / 8;
    return first + more;
}

/* Whether the sums are in W's range and K near the mean; `far` is how far where it is not. */
static int FN(back_solve)(const Backward *back, const FN(BackSums) *sums, FN(BackScale) *scale, double *far)
{
    const double d = (double)back->d, delta = back->center ? total(sums->c) / d : 0;
    const double around = total(sums->squares) / d, variance = around - delta * delta;
    const double v = variance + back->eps, r = 1 / sqrt(v), g = total(sums->g) / d;
    const double along = (total(sums->products) / d - delta * g) * r;

    *far = delta * delta <= variance ? 0 : delta;
    scale->mean = (W)(sums->pivot + delta);
    scale->r = (W)r;
    scale->rest = (W)((scale->mean - sums->pivot - delta) * r);
    scale->level = back->center ? (W)g : 0;
    scale->along = (W)along;
    return *far == 0 && around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST) && fabs(g) <= OF(LARGEST) &&
           fabs(along) <= OF(LARGEST);
}

static ISA int FN(back_settle)(const Backward *back, const FN(Back) *row, FN(BackScale) *scale)
{
    FN(BackSums) sums = {.pivot = FN(back_pivot)(back, row)};
    double far;
    FN(back_sums)(back, row, &sums);
    if (FN(back_solve)(back, &sums, scale, &far))
        return 1;
    if (far == 0)
        return 0;
    sums = (FN(BackSums)){.pivot = (W)(sums.pivot + far)};
    FN(back_sums)(back, row, &sums);
    return FN(back_solve)(back, &sums, scale, &far);
}

/* A row whose sums overflow or vanish in W, or that holds a NaN: in float64, x scaled by a power of two. */
static void FN(back_wide)(const Backward *back, const FN(Back) *row, W *dgamma, W *dbeta)
{
    const ptrdiff_t d = back->d;
    const double first = back->center ? FN(widen)(row->x[0]) : 0;
    double largest = sqrt(back->eps), sum = 0, squares = 0, level = 0, along = 0;
    for (ptrdiff_t j = 0; j < d; j++)
        largest = fmax(largest, fabs((double)FN(widen)(row->x[j])));
    const double scale = power_below(1 / largest);
    for (ptrdiff_t j = 0; j < d; j++)
        sum += FN(widen)(row->x[j]) * scale - first * scale;
    const double mean = back->center ? sum / (double)d : 0;
    for (ptrdiff_t j = 0; j < d; j++) {
        double c = FN(widen)(row->x[j]) * scale - first * scale - mean, g = FN(gradient)(back, row, j);
        squares += c * c;
        level += g / (double)d;
        along += g / (double)d * c;
    }
    const double r = 1 / sqrt(squares / (double)d + scaled_eps(back->eps, scale));
    for (ptrdiff_t j = 0; j < d; j++) {
        double xhat = (FN(widen)(row->x[j]) * scale - first * scale - mean) * r;
        double g = FN(gradient)(back, row, j) - (back->center ? level : 0);
        dgamma[j] += (W)(FN(widen)(row->dy[j]) * xhat);
        dbeta[j] += FN(widen)(row->dy[j]);
        row->dx[j] = FN(narrow)((W)((g - xhat * (along * r)) * r * scale));
    }
}

/* Adds what some rows brought to the block's sums, and forgets it. */
static ISA void FN(back_keep)(const Backward *back, W *sums, double *kept)
{
    for (ptrdiff_t j = 0; j < 2 * back->d; j++) {
        kept[j] += sums[j];
        sums[j] = 0;
    }
}

static ISA void FN(backward)(const Backward *back, ptrdiff_t block)
{
    const ptrdiff_t d = back->d, blocks = backward_blocks(back->count);
    const ptrdiff_t first = back->count / blocks * block + back->count % blocks * block / blocks;
    const ptrdiff_t last = back->count / blocks * (block + 1) + back->count % blocks * (block + 1) / blocks;
    double *kept = back->sums + 2 * d * block;
    W *sums = (W *)back->scratch + 2 * d * block;

    memset(kept, 0, 2 * (size_t)d * sizeof(double));
    memset(sums, 0, 2 * (size_t)d * sizeof(W));
    for (ptrdiff_t i = first; i < last; i++) {
        FN(Back) row = FN(back_at)(back, i);
        FN(BackScale) scale;
        if (!FN(back_settle)(back, &row, &scale))
            FN(back_wide)(back, &row, sums, sums + d);
        else if (back->stream)
            FN(back_write)(back, &row, &scale, sums, sums + d, i == last - 1, 1);
        else
            FN(back_write)(back, &row, &scale, sums, sums + d, i == last - 1, 0);
        if ((i - first) % ROWS_TOGETHER == ROWS_TOGETHER - 1 || i == last - 1)
            FN(back_keep)(back, sums, kept);
    }
    if (back->stream)
        fence();
}

#undef FN
#undef OF
#undef V
#undef WIDTH
#undef LINE
#undef EACH
#undef KIND
#undef T
#undef W
