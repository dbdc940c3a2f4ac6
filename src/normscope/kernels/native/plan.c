/* Which instructions, how many threads, which stores, and why. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "pool.h"

/* Below this, another thread takes longer to wake than it saves. */
static const size_t WORTH_A_THREAD = 200 << 10;

/* Up to here what a thread reads and writes may be in its processor's own cache: to ask for it early costs more. */
static const size_t FITS_A_CORE = 1 << 20;

static const size_t MOST_CACHED = 16 << 20; /* a larger cache is many processors' */

enum { MOST_A_CORE = 8 }; /* threads that can be asked for; more would only wait for each other */

static const char *forced_instructions, *forced_stores;

static int portable_works(void) { return 1; }

#ifdef __x86_64__
static int avx2_works(void)
{
    unsigned a, b, c = 0, d;
    int f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int avx512_works(void)
{
    return avx2_works() && __builtin_cpu_supports("avx512f");
}
#endif

/* The best first. */
static const struct {
    const char *name, *reason;
    int (*works)(void);
    NormRows *const *rows;
    BackwardBlock *const *backward;
    int streams;
} SETS[] = {
#ifdef __x86_64__
    {"avx512", "the processor has AVX-512", avx512_works, avx512_rows, avx512_backward, 1},
    {"avx2", "the processor has AVX2, FMA and F16C", avx2_works, avx2_rows, avx2_backward, 1},
#endif
    {"portable", "no faster instructions are known for this processor", portable_works, portable_rows, portable_backward, 0},
};
enum { COUNT = sizeof SETS / sizeof *SETS };

/* A processor is asked once: a virtual machine takes microseconds to answer. */
static int set_works(int set)
{
    static signed char known[COUNT];
    if (!known[set])
        known[set] = SETS[set].works() ? 1 : -1;
    return known[set] > 0;
}

static int set_named(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(SETS[i].name, name))
            return set_works(i) ? i : -1;
    return -1;
}

static int best_set(void)
{
    int i = 0;
    while (!set_works(i))
        i++;
    return i;
}

/* Bytes of the last cache that this processor reaches, as Linux says; 0 where it does not. */
static size_t cache_of_system(void)
{
    size_t bytes = 0;
    for (int index = 0; index < 8; index++) {
        char name[64], text[32] = "", *end;
        snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(name, "r");
        if (!file)
            break;
        if (fgets(text, sizeof text, file)) {
            bytes = strtoul(text, &end, 10);
            bytes <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
        }
        fclose(file);
    }
    return bytes;
}

/* Output of so many bytes is likely read from the cache: a quarter of the last one, of which others have a part.
 * sysconf counts the whole package, of which a processor may reach a tenth. */
static size_t likely_cached(void)
{
    static size_t known;
    if (!known) {
        const size_t bytes = cache_of_system(), quarter = (bytes ? bytes : 8 << 20) / 4;
        known = quarter < MOST_CACHED ? quarter : MOST_CACHED;
    }
    return known;
}

static void plan_threads(Plan *plan, const Norm *norm, int threads, size_t moved)
{
    if (threads)
        plan->why_threads = "as asked";
    else if (moved < WORTH_A_THREAD) {
        threads = 1;
        plan->why_threads = "under 200 KB read and written: another thread would take longer to wake";
    } else {
        threads = pool_cores();
        plan->why_threads = "one for each processor that the process may use";
    }
    if (threads > MOST_A_CORE && threads > MOST_A_CORE * pool_cores()) { /* to count them takes a system call */
        threads = MOST_A_CORE * pool_cores();
        plan->why_threads = "eight for each processor, at most";
    }
    if (threads > norm->count) {
        threads = norm->count ? (int)norm->count : 1;
        plan->why_threads = "one for each row: a row is one thread's";
    }
    plan->threads = threads;
}

static void plan_stores(Plan *plan, Norm *norm, int streams, size_t written)
{
    const Rows *y = &norm->y;
    norm->stream = 0;
    norm->in_place = y->at && (y->at == norm->x.at || y->at == norm->residual.at);
    if (!streams)
        plan->why_stores = "these instructions have no other";
    else if (forced_stores) {
        norm->stream = !strcmp(forced_stores, "streaming");
        plan->why_stores = "forced";
    } else if (norm->in_place)
        plan->why_stores = "in place: what is written is in the cache already";
    else if (written < likely_cached())
        plan->why_stores = "the output is smaller than a quarter of the last cache (16 MB at most), and is likely read from there";
    else {
        norm->stream = 1;
        plan->why_stores = "the output is a quarter of the last cache (16 MB at most) or more: it is written past it";
    }
    plan->stores = norm->stream ? "streaming" : "plain";
    const int long_enough = norm->d * (ptrdiff_t)bytes_of(norm->storage) >= 2 * LINE;
    norm->lines = norm->stream || (!norm->in_place && !norm->residual.at && long_enough && y->stride % LINE == 0);
}

Plan plan_norm(Norm *norm, int threads)
{
    size_t bytes = (size_t)norm->count * (size_t)norm->d * bytes_of(norm->storage);
    size_t arrays = norm->residual.at ? 2 : 1;
    int set = forced_instructions ? set_named(forced_instructions) : best_set();
    Plan plan = {
        .instructions = SETS[set].name,
        .why_instructions = forced_instructions ? "forced" : SETS[set].reason,
        .rows = SETS[set].rows[norm->storage],
        .backward = SETS[set].backward[norm->storage],
    };
    plan_threads(&plan, norm, threads, 2 * arrays * bytes);
    norm->fetch = 2 * arrays * bytes > FITS_A_CORE * (size_t)plan.threads;
    plan_stores(&plan, norm, SETS[set].streams, arrays * bytes);
    return plan;
}

int plan_supports(const char *instructions)
{
    return set_named(instructions) >= 0;
}

int plan_force(const char *instructions, const char *stores)
{
    static const char *const STORES[] = {"plain", "streaming"};
    const char *known = NULL;
    for (int i = 0; stores && i < 2; i++)
        if (!strcmp(stores, STORES[i]))
            known = STORES[i];
    if ((instructions && !plan_supports(instructions)) || (stores && !known))
        return 0;
    forced_instructions = instructions ? SETS[set_named(instructions)].name : NULL;
    forced_stores = known;
    return 1;
}
