/* The pool: jobs stand in a list, helpers join them, and whoever brought a job works on it too. So a job ends even
 * where no helper comes, and several threads may bring jobs at once. The lock is for the list; parts are taken without. */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

/* Where a job was brought: the processors that its thread may use, and the one on which it was. */
typedef struct {
#ifdef __linux__
    cpu_set_t allowed;
#endif
    int processor;
} Place;

typedef struct Job {
    Part *part;
    void *work;
    atomic_ptrdiff_t next;
    ptrdiff_t parts;
    int wanted;         /* helpers that may still join */
    atomic_int helping; /* those at work: the job must stay until they are done */
    Place place;
    struct Job *older;
} Job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, helper_left = PTHREAD_COND_INITIALIZER;
static Job *jobs;
static atomic_uint brought; /* how many jobs there were */
static atomic_int waiting;  /* how many threads sleep until a helper leaves */
static int helpers;
static _Thread_local unsigned asked; /* calls of pool_run, in some of which the system is asked for the processors */

enum {
    GLANCES = 400,    /* some microseconds: what is likely to come at once is not worth a sleep */
    ASKED_AGAIN = 64, /* calls after which the system is asked anew which processors may be used: it takes a while */
};

static void pause_a_moment(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* A thread that sleeps for a lock takes longer to wake than this one is held, but where a helper is started. */
static void take_lock(void)
{
    for (int i = 0; i < GLANCES; i++) {
        if (pthread_mutex_trylock(&lock) == 0)
            return;
        pause_a_moment();
    }
    pthread_mutex_lock(&lock);
}

static void give_lock(void) { pthread_mutex_unlock(&lock); }

static Place place_of_this(void)
{
    Place place = {.processor = -1};
#ifdef __linux__
    static _Thread_local cpu_set_t allowed;
    if (asked++ % ASKED_AGAIN == 0 && sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        CPU_ZERO(&allowed);
    place.allowed = allowed;
    if (CPU_COUNT(&allowed) > 1)
        place.processor = sched_getcpu();
#endif
    return place;
}

/* A helper stays away from the processor whose thread it helps. The system would wake it there when the others sleep,
 * to wait until that thread is done. */
static void keep_apart(const Place *place)
{
#ifdef __linux__
    static _Thread_local cpu_set_t known;
    cpu_set_t others = place->allowed;
    if (place->processor >= 0)
        CPU_CLR(place->processor, &others);
    if (CPU_COUNT(&others) == 0 || CPU_EQUAL(&others, &known))
        return;
    sched_setaffinity(0, sizeof others, &others);
    known = others;
#else
    (void)place;
#endif
}

static void work_on(Job *job)
{
    for (ptrdiff_t part = job->next++; part < job->parts; part = job->next++)
        job->part(job->work, part);
}

static Job *job_to_join(void)
{
    Job *job = jobs;
    while (job && !(job->wanted && job->next < job->parts))
        job = job->older;
    return job;
}

/* Comes with the lock, and leaves with it. */
static void wait_for_work(void)
{
    unsigned seen = brought;
    give_lock();
    for (int i = 0; i < GLANCES && brought == seen; i++)
        pause_a_moment();
    take_lock();
    while (brought == seen)
        pthread_cond_wait(&work_came, &lock);
}

static void wait_for_helpers(Job *job)
{
    for (int i = 0; i < GLANCES && job->helping; i++)
        pause_a_moment();
    if (!job->helping)
        return;
    take_lock();
    waiting++;
    while (job->helping)
        pthread_cond_wait(&helper_left, &lock);
    waiting--;
    give_lock();
}

/* After the last helper has left, the job may be gone. A helper first leaves and then looks for who sleeps; who sleeps
 * first counts itself and then looks for helpers: so one of the two sees the other.
 */
static void leave(Job *job)
{
    job->helping--;
    if (waiting) {
        take_lock();
        pthread_cond_broadcast(&helper_left);
        give_lock();
    }
}

static void *help(void *unused)
{
    take_lock();
    for (;;) {
        Job *job = job_to_join();
        if (job) {
            job->wanted--;
            job->helping++;
            give_lock();
            keep_apart(&job->place);
            work_on(job);
            leave(job);
            take_lock();
        } else
            wait_for_work();
    }
    return unused;
}

/* A forked child has the forking thread alone: no helper, and nobody who waits for a job. */
static void before_fork(void) { take_lock(); }
static void in_parent(void) { give_lock(); }
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&work_came, NULL);
    pthread_cond_init(&helper_left, NULL);
    jobs = NULL;
    helpers = 0;
    waiting = 0;
    asked = 0;
}

static void start_helper(void)
{
    static int watches_forks;
    pthread_t thread;
    sigset_t all, before;
    if (!watches_forks)
        watches_forks = pthread_atfork(before_fork, in_parent, in_child) == 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    if (watches_forks && pthread_create(&thread, NULL, help, NULL) == 0) {
        pthread_detach(thread);
        helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void withdraw(Job *job)
{
    Job **at = &jobs;
    while (*at != job)
        at = &(*at)->older;
    *at = job->older;
}

void pool_run(Part *part, void *work, ptrdiff_t parts, int threads)
{
    if (threads < 2 || parts < 2) {
        for (ptrdiff_t i = 0; i < parts; i++)
            part(work, i);
        return;
    }
    Job job = {.part = part, .work = work, .parts = parts, .wanted = threads - 1, .place = place_of_this()};
    take_lock();
    for (int missing = threads - 1 - helpers; missing > 0; missing--)
        start_helper();
    job.older = jobs;
    jobs = &job;
    brought++;
    for (int i = 1; i < threads; i++)
        pthread_cond_signal(&work_came);
    give_lock();
    work_on(&job);
    take_lock();
    withdraw(&job);
    give_lock();
    wait_for_helpers(&job);
}

int pool_cores(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
