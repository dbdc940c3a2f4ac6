/* A few threads that help with work that comes in parts. */
#ifndef NORMSCOPE_POOL_H
#define NORMSCOPE_POOL_H

#include <stddef.h>

typedef void Part(void *work, ptrdiff_t part);

/* Does parts 0 to parts - 1, on this thread and at most threads - 1 others, and returns when all are done. */
void pool_run(Part *part, void *work, ptrdiff_t parts, int threads);

/* How many processors this process may use. */
int pool_cores(void);

#endif
