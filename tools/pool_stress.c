/* Threads that bring jobs of many sizes to the pool at once, now and then after a sleep, and count what was done. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "pool.h"

enum { BRINGERS = 4, JOBS = 300, MOST_PARTS = 40 };

typedef struct {
    long cells[MOST_PARTS]; /* one a part: two threads that do the same part race for it */
    int long_parts;
} Work;

static void part(void *work, ptrdiff_t index)
{
    Work *all = work;
    if (all->long_parts && index == 0)
        usleep(200); /* long enough for whoever waits to fall asleep */
    all->cells[index] += index + 1;
}

static void *bring(void *which)
{
    unsigned state = 1 + *(unsigned *)which;
    for (int job = 0; job < JOBS; job++) {
        state = state * 1103515245 + 12345;
        ptrdiff_t parts = state / 65536 % MOST_PARTS, sum = 0;
        Work work = {.long_parts = job % 16 == 0};
        if (job % 32 == 5)
            usleep(300);
        pool_run(part, &work, parts, 1 + (int)(state / 7) % 5);
        for (ptrdiff_t i = 0; i < parts; i++)
            sum += work.cells[i];
        if (sum != parts * (parts + 1) / 2)
            return "a part was left out or done twice";
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[BRINGERS];
    unsigned which[BRINGERS];
    int wrong = 0;
    for (unsigned i = 0; i < BRINGERS; i++) {
        which[i] = i;
        pthread_create(&threads[i], NULL, bring, &which[i]);
    }
    for (int i = 0; i < BRINGERS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        if (problem) {
            fprintf(stderr, "%s\n", (const char *)problem);
            wrong = 1;
        }
    }
    return wrong;
}
