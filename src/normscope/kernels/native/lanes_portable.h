/* The vector operations that rows.h is written in, as loops: eight lanes of float, four of double. */
#define ISA
#define OP static inline

enum { LANES_float = 8, LANES_double = 4, TAKES_TURNS = 0 };

#define W float
#define FMA fmaf
#include "lanes_portable_of.h"

#define W double
#define FMA fma
#include "lanes_portable_of.h"

#define TEMPLATE "lanes_portable_stored.h"
#include "each_storage.h"

OP void stream_line(void *to, const void *from) { memcpy(to, from, 64); }

/* Adds a block's lanes to eight float64 sums, halves first. */
OP void flush_float(double to[8], const V_float a[4])
{
    V_float all = add_float(add_float(a[0], a[2]), add_float(a[1], a[3]));
    for (int k = 0; k < 8; k++)
        to[k] += all.at[k];
}

OP void flush_double(double to[8], const V_double a[4])
{
    V_double even = add_double(a[0], a[2]), odd = add_double(a[1], a[3]);
    for (int k = 0; k < 4; k++) {
        to[k] += even.at[k];
        to[k + 4] += odd.at[k];
    }
}

OP void fence(void) {}
