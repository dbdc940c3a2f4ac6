/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while it is written, the sums of the next one are taken, so that memory is read and
 * written at the same time. Sums are of x - K, for a K near the mean; the mean is never rounded to W, but held as K
 * and a rest. Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
 */
#define FN(name) PASTE(name, KIND)
#define OF(name) PASTE(name, W)
#define V OF(V)
#define BLOCK OF(BLOCK)
#define VECTORS (BLOCK / OF(LANES))
#define EACH(k) (int k = 0; k < VECTORS; k++)

typedef struct {
    const T *x, *residual;
    T *y, *sum;
} FN(Row);

typedef struct {
    W pivot;
    double sums[8], squares[8]; /* of x - pivot */
} FN(Sums);

typedef struct {
    W mean, r, rest; /* y = ((x - mean) r + rest) gamma + beta */
} FN(Scale);

static inline FN(Row) FN(row_at)(const Norm *norm, ptrdiff_t i)
{
    return (FN(Row)){
        (const T *)(norm->x.at + i * norm->x.stride),
        norm->residual.at ? (const T *)(norm->residual.at + i * norm->residual.stride) : NULL,
        (T *)(norm->y.at + i * norm->y.stride),
        norm->sum.at ? (T *)(norm->sum.at + i * norm->sum.stride) : NULL,
    };
}

/* A cell of the row that is normalized: of x, or of the stored sum. */
static inline W FN(cell)(const FN(Row) *row, ptrdiff_t j)
{
    W x = FN(widen)(row->x[j]);
    return row->residual ? FN(widen)(FN(narrow)(x + FN(widen)(row->residual[j]))) : x;
}

OP void FN(read_block)(V to[VECTORS], const FN(Row) *row, ptrdiff_t j)
{
    for EACH(k)
        to[k] = FN(load)(row->x + j + k * OF(LANES));
    if (row->residual)
        for EACH(k)
            to[k] = FN(round)(OF(add)(to[k], FN(load)(row->residual + j + k * OF(LANES))));
}

/* The last cells, or the first ones before an aligned place, and a value for the lanes that are left. */
static inline ISA void FN(read_part)(V to[VECTORS], const FN(Row) *row, ptrdiff_t j, ptrdiff_t n, W otherwise)
{
    W cells[BLOCK];
    for (ptrdiff_t k = 0; k < BLOCK; k++)
        cells[k] = k < n ? FN(cell)(row, j + k) : otherwise;
    for EACH(k)
        to[k] = OF(get)(cells + k * OF(LANES));
}

OP void FN(sum_block)(V sums[VECTORS], V squares[VECTORS], const V x[VECTORS], V pivot)
{
    for EACH(k) {
        V c = OF(sub)(x[k], pivot);
        sums[k] = OF(add)(sums[k], c);
        squares[k] = OF(fma)(c, c, squares[k]);
    }
}

OP void FN(scale_block)(V x[VECTORS], const W *gamma, const W *beta, V mean, V r, V rest)
{
    for EACH(k)
        x[k] = OF(fma)(OF(sub)(x[k], mean), r, rest);
    if (gamma && beta)
        for EACH(k)
            x[k] = OF(fma)(x[k], OF(get)(gamma + k * OF(LANES)), OF(get)(beta + k * OF(LANES)));
    else if (gamma)
        for EACH(k)
            x[k] = OF(mul)(x[k], OF(get)(gamma + k * OF(LANES)));
    else if (beta)
        for EACH(k)
            x[k] = OF(add)(x[k], OF(get)(beta + k * OF(LANES)));
}

OP void FN(write_block)(T *to, const V a[VECTORS], int stream)
{
    if (stream)
        for EACH(k)
            FN(stream)(to + k * OF(LANES), a[k]);
    else
        for EACH(k)
            FN(store)(to + k * OF(LANES), a[k]);
}

static inline ISA void FN(write_part)(T *to, const V a[VECTORS], ptrdiff_t n)
{
    T cells[BLOCK];
    FN(write_block)(cells, a, 0);
    memcpy(to, cells, (size_t)n * sizeof(T));
}

static inline ISA void FN(copy_part)(W to[BLOCK], const W *from, ptrdiff_t n)
{
    memset(to, 0, BLOCK * sizeof(W));
    memcpy(to, from, (size_t)n * sizeof(W));
}

/* Normalizes n < BLOCK cells from j on. */
static ISA void FN(finish_part)(const Norm *norm, const FN(Row) *row, const FN(Scale) *scale, ptrdiff_t j, ptrdiff_t n)
{
    const W *gamma = norm->gamma, *beta = norm->beta;
    W part_of_gamma[BLOCK], part_of_beta[BLOCK];
    V x[VECTORS];
    if (gamma)
        FN(copy_part)(part_of_gamma, gamma + j, n);
    if (beta)
        FN(copy_part)(part_of_beta, beta + j, n);
    FN(read_part)(x, row, j, n, 0);
    if (row->sum)
        FN(write_part)(row->sum + j, x, n);
    FN(scale_block)(x, gamma ? part_of_gamma : NULL, beta ? part_of_beta : NULL, OF(set)(scale->mean),
                    OF(set)(scale->r), OF(set)(scale->rest));
    FN(write_part)(row->y + j, x, n);
}

/* How many cells stand before the first line of the cache that y has to itself. */
static inline ptrdiff_t FN(before_line)(const Norm *norm, const T *y)
{
    ptrdiff_t cells = norm->stream ? (ptrdiff_t)(-(uintptr_t)y % 64 / sizeof(T)) : 0;
    return cells < norm->d ? cells : norm->d;
}

/* Writes a row and takes the sums of the next one; `writes` and `sums` are constants. */
OP void FN(walk)(const Norm *norm, const FN(Row) *row, const FN(Scale) *scale, const FN(Row) *next, FN(Sums) *sums,
                 const int writes, const int takes)
{
    const W *gamma = norm->gamma, *beta = norm->beta;
    const ptrdiff_t d = norm->d;
    const V pivot = OF(set)(takes ? sums->pivot : 0), zero = OF(set)(0);
    const V mean = OF(set)(writes ? scale->mean : 0), r = OF(set)(writes ? scale->r : 0);
    const V rest = OF(set)(writes ? scale->rest : 0);
    V x[VECTORS], plain[VECTORS], squares[VECTORS];
    ptrdiff_t at = 0, j = 0;

    if (writes && (at = FN(before_line)(norm, row->y)))
        FN(finish_part)(norm, row, scale, 0, at);
    while (j < d) {
        const ptrdiff_t pause = d - j < 8 * BLOCK ? d : j + 8 * BLOCK; /* short sums of W lose little */
        for EACH(k)
            plain[k] = squares[k] = zero;
        for (; j + BLOCK <= pause; j += BLOCK) {
            if (takes) {
                FN(read_block)(x, next, j);
                FN(sum_block)(plain, squares, x, pivot);
            }
            if (writes && at + BLOCK <= d) {
                FN(read_block)(x, row, at);
                if (row->sum)
                    FN(write_block)(row->sum + at, x, 0);
                FN(scale_block)(x, gamma ? gamma + at : NULL, beta ? beta + at : NULL, mean, r, rest);
                FN(write_block)(row->y + at, x, norm->stream);
                at += BLOCK;
            }
        }
        if (j < pause) {
            if (takes) {
                FN(read_part)(x, next, j, d - j, sums->pivot);
                FN(sum_block)(plain, squares, x, pivot);
            }
            j = d;
        }
        if (takes) {
            OF(flush)(sums->sums, plain);
            OF(flush)(sums->squares, squares);
        }
    }
    if (writes && at < d)
        FN(finish_part)(norm, row, scale, at, d - at);
}

/* K: the mean of the first eight cells, as stored; exactly x where x is constant. */
static ISA W FN(pivot)(const Norm *norm, const FN(Row) *row)
{
    W first = FN(cell)(row, 0), more[8];
    if (!norm->center)
        return 0;
    for (ptrdiff_t k = 0; k < 8; k++)
        more[k] = k < norm->d ? (FN(cell)(row, k) - first) / 8 : 0;
    for (int half = 4; half; half /= 2)
        for (int k = 0; k < half; k++)
            more[k] += more[k + half];
    return FN(widen)(FN(narrow)(first + more[0]));
}

static inline void FN(begin)(FN(Sums) *sums, W pivot)
{
    *sums = (FN(Sums)){.pivot = pivot};
}

/* Mean and 1/std from the sums. 0 where K is too far from the mean, or W too narrow: `far` says which. */
static int FN(solve)(const Norm *norm, const FN(Sums) *sums, FN(Scale) *scale, double *far)
{
    double delta = norm->center ? total(sums->sums) / (double)norm->d : 0;
    double around = total(sums->squares) / (double)norm->d, variance = around - delta * delta;
    double mean = sums->pivot + delta, v = variance + norm->eps, r = 1 / sqrt(v);

    *far = delta * delta <= 4 * variance ? 0 : delta;
    scale->mean = (W)mean;
    scale->r = (W)r;
    scale->rest = (W)((scale->mean - sums->pivot - delta) * r);
    return *far == 0 && around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST);
}

static ISA int FN(settle)(const Norm *norm, const FN(Row) *row, FN(Sums) *sums, FN(Scale) *scale)
{
    double far;
    if (FN(solve)(norm, sums, scale, &far))
        return 1;
    if (far == 0)
        return 0;
    FN(begin)(sums, (W)(sums->pivot + far));
    FN(walk)(norm, NULL, NULL, row, sums, 0, 1);
    return FN(solve)(norm, sums, scale, &far);
}

/* A row whose squares overflow or vanish in W, or that holds a NaN: in float64, scaled by a power of two. */
static void FN(write_wide)(const Norm *norm, const FN(Row) *row)
{
    const W *gamma = norm->gamma, *beta = norm->beta;
    const double first = norm->center ? FN(cell)(row, 0) : 0;
    double largest = sqrt(norm->eps), sum = 0, squares = 0;
    for (ptrdiff_t j = 0; j < norm->d; j++)
        largest = fmax(largest, fabs((double)FN(cell)(row, j)));
    const double scale = power_below(1 / largest);
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
        double y = (x * scale - first * scale - mean) * r * (gamma ? gamma[j] : 1) + (beta ? beta[j] : 0);
        if (row->sum)
            row->sum[j] = FN(narrow)(x);
        row->y[j] = FN(narrow)((W)y);
    }
}

static ISA void FN(rows)(const Norm *norm, ptrdiff_t first, ptrdiff_t last)
{
    FN(Row) row = FN(row_at)(norm, first), next;
    FN(Sums) sums, next_sums;
    FN(Scale) scale;

    FN(begin)(&sums, FN(pivot)(norm, &row));
    FN(walk)(norm, NULL, NULL, &row, &sums, 0, 1);
    for (ptrdiff_t i = first; i < last; i++, row = next, sums = next_sums) {
        int fits = FN(settle)(norm, &row, &sums, &scale), more = i + 1 < last;
        if (more) {
            next = FN(row_at)(norm, i + 1);
            FN(begin)(&next_sums, FN(pivot)(norm, &next));
        }
        if (!fits)
            FN(write_wide)(norm, &row);
        if (fits && more)
            FN(walk)(norm, &row, &scale, &next, &next_sums, 1, 1);
        else if (fits)
            FN(walk)(norm, &row, &scale, NULL, NULL, 1, 0);
        else if (more)
            FN(walk)(norm, NULL, NULL, &next, &next_sums, 0, 1);
    }
    if (norm->stream)
        fence();
}

#undef FN
#undef OF
#undef V
#undef BLOCK
#undef VECTORS
#undef EACH
#undef KIND
#undef T
#undef W
