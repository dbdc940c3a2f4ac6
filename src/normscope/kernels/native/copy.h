/* The yardstick: a copy that writes past the cache. */
#ifndef NORMSCOPE_COPY_H
#define NORMSCOPE_COPY_H

#include <stddef.h>

void copy_bytes(char *to, const char *from, size_t bytes, int threads, int stream);

#endif
