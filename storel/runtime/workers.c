/* Threads that wait for calls of functions, and make them without the interpreter.

   There may be more calls than threads: each thread makes those of its own share first, and then what is left
   of the others', so that none waits long for one that got more work, or is disturbed.

   A worker that has made its calls waits awake for a while, since the next one may come at once; then it sleeps.
   The calling thread makes calls itself first, and then waits for the workers in the same way. `state` alone
   says whose turn it is; the lock is for those that sleep. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#define relax() __builtin_ia32_pause()
#else
#define relax() ((void)0)
#endif

typedef struct {
    int64_t (*run)(const char *slots, int64_t *detail);
    const char *slots;
    int64_t code, detail;
    _Atomic int64_t is_taken;
} call;

typedef struct {
    call *calls;
    int64_t count;
} batch;

enum { WAITS, WORKS };

typedef struct {
    _Atomic int state, worker_sleeps, caller_sleeps;
    int64_t spinning; /* nanoseconds for which it is worth to wait awake */
    int kept_off;     /* the processor that the thread is kept off, -1 if none */
    batch task;
    int64_t first; /* the call of the batch that it makes first */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t begins, ended;
} worker;

static int64_t nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Wait until the state is the wanted one, awake for a while and then asleep, which others can see. */
static void await(worker *each, int wanted, _Atomic int *sleeps, pthread_cond_t *comes)
{
    const int64_t end = nanoseconds() + each->spinning;
    do {
        for (int trial = 0; trial < 32; ++trial) {
            if (atomic_load_explicit(&each->state, memory_order_acquire) == wanted) return;
            relax();
        }
    } while (nanoseconds() < end);
    pthread_mutex_lock(&each->lock);
    atomic_store(sleeps, 1);
    while (atomic_load(&each->state) != wanted) pthread_cond_wait(comes, &each->lock);
    atomic_store(sleeps, 0);
    pthread_mutex_unlock(&each->lock);
}

/* Change the state, and wake the thread that waits for it: either it sees the new state before it sleeps, or
   is seen to sleep here. */
static void change(worker *each, int state, _Atomic int *sleeps, pthread_cond_t *comes)
{
    atomic_store(&each->state, state);
    if (!atomic_load(sleeps)) return;
    pthread_mutex_lock(&each->lock);
    pthread_cond_signal(comes);
    pthread_mutex_unlock(&each->lock);
}

/* Make all calls that nobody has taken, in turn from the first one. */
static void make(batch task, int64_t first)
{
    for (int64_t number = first; number < first + task.count; ++number) {
        call *each = task.calls + number % task.count;
        if (atomic_exchange(&each->is_taken, 1) == 0) each->code = each->run(each->slots, &each->detail);
    }
}

static void *work(void *argument)
{
    worker *own = argument;
    for (;;) {
        await(own, WORKS, &own->worker_sleeps, &own->begins);
        make(own->task, own->first);
        change(own, WAITS, &own->caller_sleeps, &own->ended);
    }
    return NULL;
}

/* A worker that wakes for a few milliseconds must not wake on the processor of the one that woke it: the system
   would run the two in turn, and not notice for longer than the call takes. */
static void keep_off(worker *each)
{
#if defined(__linux__)
    const int processor = sched_getcpu();
    if (processor < 0 || each->kept_off == processor) return;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    CPU_CLR(processor, &allowed);
    if (CPU_COUNT(&allowed) == 0) return;
    if (pthread_setaffinity_np(each->thread, sizeof allowed, &allowed) == 0) each->kept_off = processor;
#endif
}

/* Return a new worker that spins for so many nanoseconds, NULL if the system has no thread for it. */
worker *storel_worker(int64_t spinning)
{
    worker *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->spinning = spinning;
    made->kept_off = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->begins, NULL);
    pthread_cond_init(&made->ended, NULL);
    if (pthread_create(&made->thread, NULL, work, made) != 0) {
        free(made);
        return NULL;
    }
    pthread_detach(made->thread);
    return made;
}

/* Make all calls, by the workers and the calling thread, which begins with the first one; return when all are
   made. */
void storel_call_all(worker **workers, int64_t worker_count, call *calls, int64_t call_count)
{
    const batch task = {calls, call_count};
    for (int64_t number = 0; number < worker_count; ++number) {
        worker *each = workers[number];
        keep_off(each);
        each->task = task;
        each->first = (number + 1) * call_count / (worker_count + 1);
        change(each, WORKS, &each->worker_sleeps, &each->begins);
    }
    make(task, 0);
    for (int64_t number = 0; number < worker_count; ++number) {
        worker *each = workers[number];
        await(each, WAITS, &each->caller_sleeps, &each->ended);
    }
}
