/* Arithmetic over lanes of W, and their sums. */
#define OF(name) PASTE(name, W)
#define V OF(V)
#define EACH (int k = 0; k < OF(LANES); k++)

typedef struct {
    W at[OF(LANES)];
} V;

OP V OF(set)(W a)
{
    V to;
    for EACH
        to.at[k] = a;
    return to;
}

OP V OF(get)(const W *a)
{
    V to;
    memcpy(&to, a, sizeof to);
    return to;
}

OP void OF(put)(W *to, V a)
{
    memcpy(to, &a, sizeof a);
}

OP V OF(add)(V a, V b)
{
    for EACH
        a.at[k] += b.at[k];
    return a;
}

OP V OF(sub)(V a, V b)
{
    for EACH
        a.at[k] -= b.at[k];
    return a;
}

OP V OF(mul)(V a, V b)
{
    for EACH
        a.at[k] *= b.at[k];
    return a;
}

OP V OF(fma)(V a, V b, V c)
{
    for EACH
        a.at[k] = FMA(a.at[k], b.at[k], c.at[k]);
    return a;
}

#undef OF
#undef V
#undef EACH
#undef W
#undef FMA
