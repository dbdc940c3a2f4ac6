/* Reading and writing KIND, which is stored as T, as lanes of W. */
#define FN(name) PASTE(name, KIND)
#define V PASTE(V, W)
#define EACH (int k = 0; k < PASTE(LANES, W); k++)

OP V FN(load)(const T *a)
{
    V to;
    for EACH
        to.at[k] = FN(widen)(a[k]);
    return to;
}

OP void FN(store)(T *to, V a)
{
    for EACH
        to[k] = FN(narrow)(a.at[k]);
}

OP void FN(store2)(T *to, V a, V b)
{
    FN(store)(to, a);
    FN(store)(to + PASTE(LANES, W), b);
}

OP void FN(stream2)(T *to, V a, V b)
{
    FN(store2)(to, a, b);
}

OP V FN(round)(V a)
{
    for EACH
        a.at[k] = FN(widen)(FN(narrow)(a.at[k]));
    return a;
}

#undef FN
#undef V
#undef EACH
#undef KIND
#undef T
#undef W
