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
