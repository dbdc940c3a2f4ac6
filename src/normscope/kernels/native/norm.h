/* What one call is: rows of d values, each normalized on its own. */
#ifndef NORMSCOPE_NORM_H
#define NORMSCOPE_NORM_H

#include <stddef.h>

typedef enum { FLOAT32, FLOAT64, FLOAT16, BFLOAT16 } Storage;

typedef struct {
    char *at;         /* the first row; NULL where there are none */
    ptrdiff_t stride; /* bytes from a row to the next */
} Rows;

typedef struct {
    Storage storage;
    ptrdiff_t count, d;
    Rows x, residual, y, sum; /* residual and sum come together: y is the norm of the stored sum */
    const void *gamma, *beta; /* (d,) in float32, for FLOAT64 in float64 */
    double eps, share; /* share: 1 / d */
    int center;   /* LayerNorm; without, RMSNorm */
    int stream;   /* write past the cache */
    int lines;    /* write whole lines of the cache, and what stands before and after them on its own */
    int in_place; /* y is x or residual; else it is apart from them */
    int fetch;    /* ask memory early for what is read */
} Norm;

enum { LINE = 64 }; /* bytes of a line of the cache */

/* Where the first line of the cache begins, here or later. */
static inline void *next_line(void *at)
{
    return (char *)at + -(size_t)at % LINE;
}

/* Normalizes rows first to last - 1. One function for each instruction set and storage; their bits are the same. */
typedef void NormRows(const Norm *norm, ptrdiff_t first, ptrdiff_t last);

extern NormRows *const portable_rows[4];
#ifdef __x86_64__
extern NormRows *const avx2_rows[4], *const avx512_rows[4];
#endif

static inline size_t bytes_of(Storage storage)
{
    return storage == FLOAT64 ? 8 : storage == FLOAT32 ? 4 : 2;
}

/* Cells, of so many bytes, of a row of y before its first whole line, where whole lines are written; else 0. */
static inline ptrdiff_t head_of(const Norm *norm, const void *y, size_t bytes)
{
    const ptrdiff_t cells = norm->lines ? (ptrdiff_t)(-(size_t)y % LINE / bytes) : 0;
    return cells < norm->d ? cells : norm->d;
}

#endif
