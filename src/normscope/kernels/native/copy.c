/* A copy reads once and writes once, as a norm must: its time is the limit of what a norm can reach. */
#include "copy.h"

#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "plan.h"
#include "pool.h"

typedef struct {
    char *to;
    const char *from;
    size_t bytes, step;
    int stream;
} Copy;

#ifdef __x86_64__
__attribute__((target("avx2"))) static void stream_lines(char *to, const char *from, size_t bytes)
{
    size_t head = -(uintptr_t)to % 64, at;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    for (at = head; at + 64 <= bytes; at += 64) {
        _mm256_stream_si256((__m256i *)(to + at), _mm256_loadu_si256((const __m256i *)(from + at)));
        _mm256_stream_si256((__m256i *)(to + at + 32), _mm256_loadu_si256((const __m256i *)(from + at + 32)));
    }
    memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
static void stream_lines(char *to, const char *from, size_t bytes) { memcpy(to, from, bytes); }
#endif

static void copy_part(void *work, ptrdiff_t part)
{
    const Copy *copy = work;
    size_t at = (size_t)part * copy->step, bytes = copy->bytes - at < copy->step ? copy->bytes - at : copy->step;
    if (copy->stream)
        stream_lines(copy->to + at, copy->from + at, bytes);
    else
        memcpy(copy->to + at, copy->from + at, bytes);
}

void copy_bytes(char *to, const char *from, size_t bytes, int threads, int stream)
{
    size_t parts = threads > 1 ? 4 * (size_t)threads : 1;
    Copy copy = {to, from, bytes, (bytes / parts + 64) & ~(size_t)63, stream && plan_supports("avx2")};
    pool_run(copy_part, &copy, (ptrdiff_t)((bytes + copy.step - 1) / copy.step), threads);
}
