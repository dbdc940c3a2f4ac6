/* The way back: dx of every row, and the sums over the rows that dgamma and dbeta are. */
#ifndef NORMSCOPE_BACKWARD_H
#define NORMSCOPE_BACKWARD_H

#include "norm.h"

typedef struct {
    ptrdiff_t count, d;
    Rows x, dy, dx;
    const void *gamma; /* float32, for FLOAT64 float64 */
    double eps;
    int center; /* LayerNorm; without, RMSNorm */
    int stream; /* write dx past the cache */
    int fetch;  /* ask memory early for x and dy */
    double *sums; /* (blocks, 2, d): what each block of rows brings to dgamma and dbeta */
    void *scratch; /* (blocks, 2, lines): the same of a few rows, in what is computed in; begins at a line of the cache */
} Backward;

/* A block is a fixed share of the rows and the sums are added in the blocks' order: so a thread more changes no bit.
 */
enum { MOST_BLOCKS = 32, LEAST_ROWS = 32, ROWS_TOGETHER = 16 };

static inline ptrdiff_t backward_blocks(ptrdiff_t count)
{
    ptrdiff_t blocks = (count + LEAST_ROWS - 1) / LEAST_ROWS;
    return blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
}

/* Cells for d of them, up to the end of a line of the cache. */
static inline ptrdiff_t backward_lines(ptrdiff_t d)
{
    return (d + 15) / 16 * 16;
}

/* One block; one function for each instruction set and storage, whose bits are the same. */
typedef void BackwardBlock(const Backward *back, ptrdiff_t block);

extern BackwardBlock *const portable_backward[4];
#ifdef __x86_64__
extern BackwardBlock *const avx2_backward[4], *const avx512_backward[4];
#endif

/* Adds the blocks' sums to the first block's, in order: dgamma (d) and then dbeta (d). */
void backward_combine(const Backward *back);

#endif
