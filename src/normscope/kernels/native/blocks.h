/* Blocks of cells between memory and vectors: for the templates rows.h and backward_rows.h. */
#define FN(name) PASTE(name, KIND)
#define OF(name) PASTE(name, W)
#define V OF(V)
#define BLOCK OF(BLOCK)
#define VECTORS (BLOCK / OF(LANES))
#define EACH(k) (int k = 0; k < VECTORS; k++)

OP void FN(load_block)(V to[VECTORS], const T *from)
{
    for EACH(k)
        to[k] = FN(load)(from + k * OF(LANES));
}

OP void FN(load_wide)(V to[VECTORS], const W *from)
{
    for EACH(k)
        to[k] = OF(get)(from + k * OF(LANES));
}

OP void FN(write_block)(T *to, const V a[VECTORS], const int streams)
{
    for (int k = 0; k < VECTORS; k += 2)
        if (streams)
            FN(stream2)(to + k * OF(LANES), a[k], a[k + 1]);
        else
            FN(store2)(to + k * OF(LANES), a[k], a[k + 1]);
}

OP void FN(fetch_block)(const T *at, const int cache)
{
    __builtin_prefetch(at, 0, cache);
    if (BLOCK * sizeof(T) > 64)
        __builtin_prefetch((const char *)at + 64, 0, cache);
}

/* Beside a block of one row: asks memory for one of a row to come, and the second cache for one a little ahead, so that
 * a load that crosses lines finds both in the first. */
OP void FN(fetch_beside)(const T *now, const T *next)
{
    FN(fetch_block)(next, 2);
    FN(fetch_block)(now + SOON / sizeof(T), 3);
}

/* A guess of the mean, from how far the first eight cells are from the first of them; exactly that one where all are the
 * same. 0 where the guess is within the eight's spread: to take a mean away that is so near is not worth it.
 */
static ISA W FN(guess_of)(const T *x, ptrdiff_t d)
{
    const W first = FN(widen)(x[0]);
    W beyond[8] = {0}, squares[8];
    if (d >= 8) /* the ordinary case, for the compiler to see */
        for (ptrdiff_t k = 0; k < 8; k++)
            beyond[k] = FN(widen)(x[k]) - first;
    else
        for (ptrdiff_t k = 0; k < d; k++)
            beyond[k] = FN(widen)(x[k]) - first;
    for (int k = 0; k < 8; k++)
        squares[k] = beyond[k] * beyond[k];
    const W mean = OF(sum_of)(beyond) / 8, square = OF(sum_of)(squares) / 8, guess = FN(widen)(FN(narrow)(first + mean));
    return guess * guess + mean * mean < square ? 0 : guess; /* not where both vanish or overflow */
}
