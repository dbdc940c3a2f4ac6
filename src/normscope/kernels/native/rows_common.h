/* What rows.h needs once, whatever the type. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "norm.h"
#include "storage.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

enum { BLOCK_float = 32, BLOCK_double = 16 }; /* cells: two lines of the cache, whatever a vector holds */

enum {
    AHEAD = 8 << 10, /* bytes that are asked of memory before they are read, at least */
    SOON = 1 << 10,  /* and of the second cache */
    LONG = 4 << 10,  /* of a row that may take turns with another */
};

static inline ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* How many rows later the row is that a row asks for: two are summed before it. */
static inline ptrdiff_t rows_ahead(ptrdiff_t bytes)
{
    const ptrdiff_t enough = AHEAD / bytes + 1;
    return enough > 2 ? enough : 2;
}

/* Squares and variances between which nothing that matters overflows or vanishes. */
static const double LARGEST_float = 1e37, SMALLEST_float = 1e-24;
static const double LARGEST_double = 1e300, SMALLEST_double = 1e-280;

static inline float widen_float32(float a) { return a; }
static inline float narrow_float32(float a) { return a; }
static inline double widen_float64(double a) { return a; }
static inline double narrow_float64(double a) { return a; }
static inline float widen_float16(uint16_t a) { return from_float16(a); }
static inline uint16_t narrow_float16(float a) { return to_float16(a); }
static inline float widen_bfloat16(uint16_t a) { return from_bfloat16(a); }
static inline uint16_t narrow_bfloat16(float a) { return to_bfloat16(a); }

/* Halves first, as everywhere. */
static inline float sum_of_float(const float a[8])
{
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}
static inline double sum_of_double(const double a[8])
{
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* What brings the largest of some numbers near 1: a power of two, so that it rounds nothing; 1 for an infinity or NaN. */
static inline double scale_for(double largest)
{
    int exponent;
    if (!(largest <= DBL_MAX))
        return 1;
    frexp(fmin(1 / largest, DBL_MAX), &exponent); /* of a subnormal number, 1 / largest is infinite */
    return ldexp(1, exponent - 1);
}

/* An eps that would shrink to 0 is still there: it alone keeps a constant row from 0 / 0. */
static inline double scaled_eps(double eps, double scale)
{
    return eps > 0 ? fmax(eps * scale * scale, DBL_MIN) : 0;
}
