/* Rows of one storage type in one instruction set: a template over KIND, T (as stored), W (as computed), lanes_*.h.
 *
 * A row comes from memory once: while one is written the sums of another are taken, so that memory is read and written
 * at the same time. Sums are of x - K, for a K near the mean. Neither the mean nor r is rounded to W: both have a rest,
 * so that an outlier of many standard deviations is as near as a small number.
 * Which lane a cell goes to depends on its place in the row alone: every way through gives the same bits.
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
    W pivot;             /* K, a guess of the mean */
    double sum_of_c, squares; /* of c = x - K */
    W mean, r, rest, more; /* y = (c r + (c more + rest)) gamma + beta, with c = x - mean */
    int fits;            /* whether W is wide enough for that */
} FN(Row);

/* A cell of the row that is normalized: of x, or of the stored sum. */
static inline W FN(cell)(const FN(Row) *row, ptrdiff_t j)
{
    W x = FN(widen)(row->x[j]);
    return row->residual ? FN(widen)(FN(narrow)(x + FN(widen)(row->residual[j]))) : x;
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

static ISA void FN(begin)(const Norm *norm, FN(Row) *row, ptrdiff_t i)
{
    row->x = (const T *)(norm->x.at + i * norm->x.stride);
    row->residual = norm->residual.at ? (const T *)(norm->residual.at + i * norm->residual.stride) : NULL;
    row->y = (T *)(norm->y.at + i * norm->y.stride);
    row->sum = norm->sum.at ? (T *)(norm->sum.at + i * norm->sum.stride) : NULL;
    row->pivot = FN(pivot)(norm, row);
}

OP void FN(read_block)(V to[VECTORS], const FN(Row) *row, ptrdiff_t j, const int adds)
{
    for EACH(k)
        to[k] = FN(load)(row->x + j + k * OF(LANES));
    if (adds)
        for EACH(k)
            to[k] = FN(round)(OF(add)(to[k], FN(load)(row->residual + j + k * OF(LANES))));
}

/* Asks early for what comes AHEAD bytes later, in this row or the next: a load that crosses lines then finds both. */
OP void FN(fetch)(const FN(Row) *row, ptrdiff_t j, const int adds)
{
    __builtin_prefetch((const char *)(row->x + j) + AHEAD);
    __builtin_prefetch((const char *)(row->x + j) + AHEAD + 64);
    if (adds) {
        __builtin_prefetch((const char *)(row->residual + j) + AHEAD);
        __builtin_prefetch((const char *)(row->residual + j) + AHEAD + 64);
    }
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

OP void FN(sum_block)(V sums[VECTORS], V squares[VECTORS], const V x[VECTORS], V pivot)
{
    for EACH(k) {
        V c = OF(sub)(x[k], pivot);
        sums[k] = OF(add)(sums[k], c);
        squares[k] = OF(fma)(c, c, squares[k]);
    }
}

OP void FN(scale_block)(V x[VECTORS], const W *gamma, const W *beta, V mean, V r, V rest, V more)
{
    for EACH(k) {
        V c = OF(sub)(x[k], mean), xhat = OF(fma)(c, r, OF(fma)(c, more, rest));
        x[k] = OF(fma)(xhat, OF(get)(gamma + k * OF(LANES)), OF(get)(beta + k * OF(LANES)));
    }
}

OP void FN(write_block)(T *to, const V a[VECTORS], const int streams)
{
    for (int k = 0; k < VECTORS; k += 2)
        if (streams)
            FN(stream2)(to + k * OF(LANES), a[k], a[k + 1]);
        else
            FN(store2)(to + k * OF(LANES), a[k], a[k + 1]);
}

/* Normalizes n < BLOCK cells from j on, at an end of the row: as part of the first or the last whole block. */
static ISA void FN(write_end)(const Norm *norm, const FN(Row) *row, ptrdiff_t j, ptrdiff_t n, Edge *edge)
{
    const ptrdiff_t d = norm->d, start = d < BLOCK || j + BLOCK <= d ? j : d - BLOCK;
    const size_t bytes = (size_t)n * sizeof(T), room = (size_t)n * sizeof(W);
    const W *gamma = (const W *)norm->gamma + start, *beta = (const W *)norm->beta + start;
    W few_gamma[BLOCK] = {0}, few_beta[BLOCK] = {0};
    T cells[BLOCK];
    V x[VECTORS];
    if (d < BLOCK) {
        gamma = memcpy(few_gamma, gamma, room);
        beta = memcpy(few_beta, beta, room);
        FN(read_part)(x, row, j, n, 0);
    } else
        FN(read_block)(x, row, start, row->residual != NULL);
    if (row->sum) {
        FN(write_block)(cells, x, 0);
        memcpy(row->sum + j, cells + (j - start), bytes);
    }
    FN(scale_block)(x, gamma, beta, OF(set)(row->mean), OF(set)(row->r), OF(set)(row->rest),
                    OF(set)(row->more));
    FN(write_block)(cells, x, 0);
    if (edge)
        collect(edge, row->y + j, cells + (j - start), bytes);
    else
        memcpy(row->y + j, cells + (j - start), bytes);
}

/* How many cells stand before the first line of the cache that y has to itself. */
static inline ptrdiff_t FN(before_line)(const T *y, ptrdiff_t d)
{
    ptrdiff_t cells = (ptrdiff_t)(-(uintptr_t)y % 64 / sizeof(T));
    return cells < d ? cells : d;
}

/* Writes one row and takes the sums of another, either NULL. What is const is known when this is compiled. */
OP void FN(walk)(const Norm *norm, const FN(Row) *out, FN(Row) *in, Edge *edge, const int adds, const int streams)
{
    const FN(Row) to = out ? *out : *in, from = in ? *in : *out; /* copies, which no store can change */
    const W *const gamma = norm->gamma, *const beta = norm->beta;
    const ptrdiff_t d = norm->d, whole = d - d % BLOCK;
    const V pivot = OF(set)(from.pivot), mean = OF(set)(to.mean), r = OF(set)(to.r), rest = OF(set)(to.rest);
    const V more = OF(set)(to.more);
    double sums[8] = {0}, squares[8] = {0};
    V x[VECTORS], few[VECTORS], few_squares[VECTORS];
    ptrdiff_t at = out && streams ? FN(before_line)(to.y, d) : 0;

    if (at)
        FN(write_end)(norm, out, 0, at, edge);
    for (ptrdiff_t j = 0; j < d;) {
        const ptrdiff_t pause = j + 2 * BLOCK < whole ? j + 2 * BLOCK : whole; /* beside an outlier sums of W lose */
        for EACH(k)
            few[k] = few_squares[k] = OF(set)(0);
        for (; j < pause; j += BLOCK) {
            if (in) {
                FN(fetch)(&from, j, adds);
                FN(read_block)(x, &from, j, adds);
                FN(sum_block)(few, few_squares, x, pivot);
            }
            if (out && at + BLOCK <= d) {
                FN(read_block)(x, &to, at, adds);
                if (adds)
                    FN(write_block)(to.sum + at, x, 0);
                FN(scale_block)(x, gamma + at, beta + at, mean, r, rest, more);
                FN(write_block)(to.y + at, x, streams);
                at += BLOCK;
            }
        }
        if (j == whole && j < d) {
            V last[VECTORS]; /* not x, which is to stay in registers */
            if (in) {
                FN(read_part)(last, in, j, d - j, from.pivot);
                FN(sum_block)(few, few_squares, last, pivot);
            }
            j = d;
        }
        if (in) {
            OF(flush)(sums, few);
            OF(flush)(squares, few_squares);
        }
    }
    if (in) {
        in->sum_of_c = total(sums);
        in->squares = total(squares);
    }
    if (out && at < d)
        FN(write_end)(norm, out, at, d - at, edge);
}

/* Mean and 1/std from the sums. The answer is how far K is from the mean, where that is too far, else 0. */
static inline double FN(solve)(const Norm *norm, FN(Row) *row)
{
    const double share = 1 / (double)norm->d;
    const double delta = norm->center ? row->sum_of_c * share : 0, around = row->squares * share;
    const double variance = around - delta * delta, v = variance + norm->eps, r = 1 / sqrt(v);

    row->mean = (W)(row->pivot + delta);
    row->r = (W)r;
    row->more = (W)(r - row->r);
    row->rest = (W)(((double)row->mean - row->pivot - delta) * r);
    row->fits = around <= OF(LARGEST) && v >= OF(SMALLEST) && v <= OF(LARGEST);
    return 2 * delta * delta <= variance ? 0 : delta; /* else the rounding of the squares grows with it */
}

static ISA void FN(settle)(const Norm *norm, FN(Row) *row, const int adds)
{
    double far = FN(solve)(norm, row);
    if (far != 0) {
        row->pivot = (W)(row->pivot + far);
        FN(walk)(norm, NULL, row, NULL, adds, 0);
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
        if (row->sum)
            row->sum[j] = FN(narrow)(x);
        row->y[j] = FN(narrow)((W)((x * scale - first * scale - mean) * r * gamma[j] + beta[j]));
    }
}

/* Each turn, one row begins, the next older one is summed, the next settled, the oldest written: so no step waits for
 * the one before it. */
OP void FN(turns)(const Norm *norm, ptrdiff_t first, ptrdiff_t last, const int adds, const int streams)
{
    FN(Row) rows[4];
    Edge collected = {0}, *edge = streams ? &collected : NULL;
    for (ptrdiff_t i = first - 3; i < last; i++) {
        FN(Row) *out = i >= first ? &rows[i & 3] : NULL;
        FN(Row) *in = i + 2 >= first && i + 2 < last ? &rows[(i + 2) & 3] : NULL;
        if (i + 3 < last)
            FN(begin)(norm, &rows[(i + 3) & 3], i + 3);
        if (i + 1 >= first && i + 1 < last)
            FN(settle)(norm, &rows[(i + 1) & 3], adds);
        if (out && !out->fits) {
            FN(write_wide)(norm, out);
            out = NULL;
        }
        if (in && out)
            FN(walk)(norm, out, in, edge, adds, streams);
        else if (in)
            FN(walk)(norm, NULL, in, edge, adds, streams);
        else if (out)
            FN(walk)(norm, out, NULL, edge, adds, streams);
    }
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

#undef FN
#undef OF
#undef V
#undef BLOCK
#undef VECTORS
#undef EACH
#undef KIND
#undef T
#undef W
