#include "backward.h"

void backward_combine(const Backward *back)
{
    ptrdiff_t size = 2 * back->d, blocks = backward_blocks(back->count);
    for (ptrdiff_t block = 1; block < blocks; block++)
        for (ptrdiff_t j = 0; j < size; j++)
            back->sums[j] += back->sums[block * size + j];
}
