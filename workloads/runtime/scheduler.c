/* M:N threads; see scheduler.h. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/monitor.h"
#include "monitor/processor.h"
#include "runtime/host.h"
#include "runtime/layout.h"
#include "runtime/marker.h"
#include "runtime/scheduler.h"

/* In switch_<isa>.S */
/* Stores the caller's context to *save and continues another. */
void scheduler_switch(void **save, void *context);
/* The context of a thread that starts with scheduler_begin(thread) on an empty stack. */
void *scheduler_context(void *stack_top, unsigned thread);
/* Called from there */
_Noreturn void scheduler_begin(unsigned thread);

char scheduler_stacks[LOCK_MAX_THREADS][RUNTIME_STACK_SIZE] __attribute__((aligned(LOCK_LINE)));

/* Threads may be parked for a time: by a lock, or by a workload that sleeps. */
#if defined(LOCK_READS_TIME) || defined(LOCKCROSS_SLEEPS)
#define SCHEDULER_HAS_TIMES 1
#endif

typedef struct core {
    void *waiting;     /* the carrier's context while a thread runs */
    uint64_t deadline; /* of the running thread's slice, without an engine */
    unsigned number;
#ifdef SCHEDULER_HAS_TIMES
    volatile uint64_t clock; /* written by the engine */
#endif
} __attribute__((aligned(LOCK_LINE))) core_t;

typedef struct {
    void *context;       /* while it is switched out */
    core_t *core;        /* where it runs, or ran last */
    lock_thread_t *next; /* in the run queue */
    bool parked, permit;
    volatile uint64_t clock; /* written by the engine */
#ifdef SCHEDULER_HAS_TIMES
    bool timed, expired; /* parked for a time; that time was over first */
    uint64_t end;        /* of that time */
#endif
} __attribute__((aligned(LOCK_LINE))) thread_t;

static core_t cores[LOCK_MAX_THREADS];
static thread_t threads[LOCK_MAX_THREADS];
static scheduler_settings_t settings;

/* The levels of the run queue: one for each priority, and below them one for threads that yielded,
 * which they leave at the next end of a time slice. */
enum { YIELDED = 0, LOWEST = 1, QUEUES = PROCESSOR_PRIORITIES + 1 };

/* Guarded by the latch, which is held during every switch and released by the thread that
 * continues: so no core takes up a thread whose registers are not stored yet. */
static struct {
    volatile uint32_t latch;
    volatile uint32_t levels; /* a bit for each of the queues that has threads */
    struct {
        lock_thread_t *head, *tail;
    } queues[QUEUES];
    uint32_t running;          /* threads on cores */
    volatile uint32_t stopped; /* calls of scheduler_stop so far */
    uint32_t awaited;          /* how many of them the carriers run threads for */
    bool timed;                /* in the region: slices end */
#ifdef SCHEDULER_HAS_TIMES
    volatile uint64_t next_end; /* when the first thread's time is over that is parked for one */
#endif
} run;

static thread_t *own(const lock_thread_t *thread) { return &threads[thread->tid - 1]; }

static uint32_t level_of(const lock_thread_t *thread) {
    return LOWEST + (settings.round_robin ? 0 : thread->priority);
}

/* The run queue --------------------------------------------------------------------------------*/

static void enqueue(lock_thread_t *thread, uint32_t level) {
    own(thread)->next = 0;
    if (run.levels & 1u << level)
        own(run.queues[level].tail)->next = thread;
    else
        run.queues[level].head = thread;
    run.queues[level].tail = thread;
    store_rlx_u32(&run.levels, run.levels | 1u << level);
}

/* The first thread of the highest priority, or NULL. */
static lock_thread_t *dequeue(void) {
    uint32_t levels = run.levels;
    if (levels == 0)
        return 0;
    unsigned level = 31 - (unsigned)__builtin_clz(levels);
    lock_thread_t *thread = run.queues[level].head;
    run.queues[level].head = own(thread)->next;
    if (!run.queues[level].head)
        store_rlx_u32(&run.levels, levels & ~(1u << level));
    return thread;
}

/* Moves the threads that yielded back to their own levels. */
static void requeue_yielded(void) {
    if (!(run.levels & 1u << YIELDED))
        return;
    store_rlx_u32(&run.levels, run.levels & ~(1u << YIELDED));
    for (lock_thread_t *thread = run.queues[YIELDED].head, *next; thread; thread = next) {
        next = own(thread)->next;
        enqueue(thread, level_of(thread));
    }
}

/* Time slices ----------------------------------------------------------------------------------*/

static void timer(const core_t *core, const void *word, uint64_t slice, volatile void *clock) {
    runtime_syscall(SYS_MARKER, MARKER_TIMER, core->number, (long)word, (long)slice, (long)clock);
}

#ifdef LOCKCROSS_SLEEPS
static bool ticking;

void scheduler_tick(void) { ticking = true; }

static uint64_t slice_of(core_t *core) {
    if (!ticking || settings.slice == 0)
        return settings.slice;
    if (settings.engine)
        timer(core, 0, 0, &core->clock);
    return settings.slice - (settings.engine ? core->clock : read_ticks()) % settings.slice;
}
#else
static uint64_t slice_of(core_t *core) { return (void)core, settings.slice; }
#endif

/* Begins the slice of `self`. Without an engine nothing changes the slice word at the end of a
 * slice: the word is zero all the time, and every yield point looks at the clock. With an engine
 * the timer is set first, because that of an earlier slice of this thread may clear the word until
 * then. */
static void begin_slice(lock_thread_t *self) {
    core_t *core = own(self)->core;
    if (run.timed && !settings.engine) {
        self->slice &= ~SLICE_RUNNING;
        core->deadline = read_ticks() + slice_of(core);
        return;
    }
    if (run.timed)
        timer(core, &self->slice, slice_of(core), 0);
    self->slice |= SLICE_RUNNING;
}

/* Ends the slice of `self` at its next yield point. */
static void cut_slice(lock_thread_t *self) {
    if (!run.timed)
        return;
    self->slice &= ~SLICE_RUNNING;
    own(self)->core->deadline = read_ticks();
}

uint64_t scheduler_clock(lock_thread_t *self) {
    if (!settings.engine)
        return read_ticks();
    timer(own(self)->core, 0, 0, &own(self)->clock);
    return own(self)->clock;
}

/* Parking for a time ---------------------------------------------------------------------------*/

#ifdef SCHEDULER_HAS_TIMES

#define NEVER UINT64_MAX

/* Nanoseconds where the lock reads the time, else cycles of the engine or the host's ticks. */
#ifdef LOCK_READS_TIME
static uint64_t time_of_host(void) { return clock_of_kernel(); }
static uint64_t time_of_cycles(uint64_t cycles) { return clock_of_cycles(cycles); }
#else
static uint64_t time_of_host(void) { return read_ticks(); }
static uint64_t time_of_cycles(uint64_t cycles) { return cycles; }
#endif

static bool any_sleeps(void) { return load_rlx_u64(&run.next_end) != NEVER; }

static void set_next_end(void) {
    uint64_t first = NEVER;
    for (unsigned i = 0; i < settings.threads; i++) {
        if (threads[i].timed && threads[i].end < first)
            first = threads[i].end;
    }
    store_rlx_u64(&run.next_end, first);
}

static uint64_t time_on(core_t *core) {
    if (!settings.engine)
        return time_of_host();
    timer(core, 0, 0, &core->clock);
    return time_of_cycles(core->clock);
}

static void forget_all_times(void) { set_next_end(); }

/* With the latch held: `thread`, which is parked, no longer waits for its time. */
static void forget_time(thread_t *thread) {
    if (!thread->timed)
        return;
    thread->timed = false;
    set_next_end();
}

/* With the latch held: the threads whose time is over can run. */
static void wake_expired(core_t *core) {
    if (!any_sleeps())
        return;
    uint64_t now = time_on(core);
    for (unsigned i = 0; i < settings.threads; i++) {
        if (!threads[i].timed || threads[i].end > now)
            continue;
        forget_time(&threads[i]);
        threads[i].parked = false;
        threads[i].expired = true;
        enqueue(&lock_threads[i], level_of(&lock_threads[i]));
    }
}

/* The same without the latch. It is taken only if there is such a thread: cores that all look would
 * keep it from each other. */
static void look_for_expired(core_t *core) {
    if (!any_sleeps() || time_on(core) < load_rlx_u64(&run.next_end))
        return;
    latch_acquire(&run.latch);
    wake_expired(core);
    latch_release(&run.latch);
}

#else

static bool any_sleeps(void) { return false; }
static void forget_all_times(void) {}
static void forget_time(thread_t *thread) { (void)thread; }
static void wake_expired(core_t *core) { (void)core; }
static void look_for_expired(core_t *core) { (void)core; }

#endif

/* Switching ------------------------------------------------------------------------------------*/

/* `self` was taken up, by a core or thread that still held the latch. */
static void go_on(lock_thread_t *self) {
    begin_slice(self);
    latch_release(&run.latch);
    charge(CHARGE_SWITCH);
}

/* Lets the core do something else. Called with the latch held and `self` in a place where it will
 * be found; returns without the latch when a core takes `self` up again. */
static void switch_out(lock_thread_t *self) {
    core_t *core = own(self)->core;
    wake_expired(core);
    lock_thread_t *next = dequeue();
#ifdef SCHEDULER_HAS_TIMES
    if (next == self) { /* its time was over before it was out */
        go_on(self);
        return;
    }
#endif
    if (next) {
        own(next)->core = core;
        scheduler_switch(&own(self)->context, own(next)->context);
    } else {
        if (--run.running == 0 && run.stopped != run.awaited && !any_sleeps())
            lock_fatal("every thread is parked: a wake-up was lost");
        if (run.timed && settings.engine) /* the thread may continue on another core */
            timer(core, &self->slice, 0, 0);
        scheduler_switch(&own(self)->context, core->waiting);
    }
    go_on(self);
}

/* Makes `self` SAFE, as it must be while it is switched out. Whether it was not before. */
static bool leave(lock_thread_t *self) {
    if (load_rlx_u32(&self->state) != HANDSHAKE_RUNNING)
        return false;
    handshake_enter_safe(self);
    return true;
}

static void come_back(lock_thread_t *self, bool left) {
    if (left)
        handshake_leave_safe(self);
}

void processor_end_slice(lock_thread_t *self) {
    if (!settings.engine && (int64_t)(read_ticks() - own(self)->core->deadline) < 0)
        return;
    bool left = leave(self);
    latch_acquire(&run.latch);
    wake_expired(own(self)->core);
    requeue_yielded();
    if (run.levels >> level_of(self)) {
        enqueue(self, level_of(self));
        switch_out(self);
    } else {
        begin_slice(self);
        latch_release(&run.latch);
    }
    come_back(self, left);
}

/* Behind all others, as the thread may be waiting for one of the lowest priority. */
void processor_yield(lock_thread_t *self) {
    cpu_relax();
    look_for_expired(own(self)->core);
    if (load_rlx_u32(&run.levels) == 0)
        return;
    bool left = leave(self);
    latch_acquire(&run.latch);
    if (run.levels) {
        enqueue(self, YIELDED);
        switch_out(self);
    } else {
        latch_release(&run.latch);
    }
    come_back(self, left);
}

void processor_park(lock_thread_t *self) {
    latch_acquire(&run.latch);
    if (own(self)->permit) {
        own(self)->permit = false;
        latch_release(&run.latch);
        return;
    }
    own(self)->parked = true;
    switch_out(self);
}

#ifdef LOCK_READS_TIME
bool processor_park_for(lock_thread_t *self, uint64_t nanoseconds) {
    thread_t *thread = own(self);
    latch_acquire(&run.latch);
    if (thread->permit) {
        thread->permit = false;
        latch_release(&run.latch);
        return true;
    }
    thread->parked = thread->timed = true;
    thread->expired = false;
    thread->end = time_on(thread->core) + nanoseconds;
    set_next_end();
    switch_out(self);
    return !thread->expired;
}
#endif

#ifdef LOCKCROSS_SLEEPS
/* It is not parked: a permit that comes meanwhile stays for the lock. */
void scheduler_sleep(lock_thread_t *self, uint64_t cycles) {
    thread_t *thread = own(self);
    bool left = leave(self);
    latch_acquire(&run.latch);
    thread->timed = true;
    thread->end = time_on(thread->core) + time_of_cycles(cycles);
    set_next_end();
    switch_out(self);
    come_back(self, left);
}
#endif

void processor_unpark(lock_thread_t *thread) {
    latch_acquire(&run.latch);
    if (own(thread)->parked) {
        own(thread)->parked = false;
        forget_time(own(thread));
        enqueue(thread, level_of(thread));
    } else {
        own(thread)->permit = true;
    }
    latch_release(&run.latch);
    lock_thread_t *self = scheduler_self();
    if (level_of(thread) > level_of(self))
        cut_slice(self);
}

void processor_set_priority(lock_thread_t *thread, uint32_t priority) {
    thread->priority = priority;
}

/* Carriers -------------------------------------------------------------------------------------*/

_Noreturn void scheduler_begin(unsigned thread) {
    lock_thread_t *self = &lock_threads[thread];
    go_on(self);
    runtime_scheduled_thread(self);
    lock_fatal("a thread came back from its end");
}

void scheduler_stop(lock_thread_t *self) {
    latch_acquire(&run.latch);
    run.stopped++;
    switch_out(self);
}

void scheduler_setup(const scheduler_settings_t *wanted) {
    settings = *wanted;
    for (unsigned i = 0; i < settings.cores; i++)
        cores[i].number = i;
    for (unsigned i = 0; i < settings.threads; i++) {
        threads[i].context = scheduler_context(scheduler_stacks[i] + RUNTIME_STACK_SIZE, i);
        enqueue(&lock_threads[i], level_of(&lock_threads[i]));
    }
    run.awaited = settings.threads;
    forget_all_times();
}

static void run_threads(core_t *core) {
    while (load_acq_u32(&run.stopped) != run.awaited) {
        look_for_expired(core);
        if (load_rlx_u32(&run.levels) == 0) {
            cpu_relax();
            continue;
        }
        latch_acquire(&run.latch);
        lock_thread_t *next = dequeue();
        if (next) {
            run.running++;
            own(next)->core = core;
            scheduler_switch(&core->waiting, own(next)->context);
        }
        latch_release(&run.latch);
    }
}

/* A barrier of the carriers, outside the region of interest. */
static void meet(const core_t *core) {
    static struct {
        volatile uint32_t arrived, round;
    } barrier;
    if (settings.engine) {
        runtime_syscall(SYS_MARKER, MARKER_MEET, core->number, settings.cores, 0, 0);
        return;
    }
    uint32_t round = load_rlx_u32(&barrier.round);
    if (fetch_add_acq_rel_u32(&barrier.arrived, 1) == settings.cores - 1) {
        store_rlx_u32(&barrier.arrived, 0);
        store_rel_u32(&barrier.round, round + 1);
    } else {
        while (load_acq_u32(&barrier.round) == round)
            cpu_relax();
    }
}

/* All threads continue, in their own order, whichever stopped first. */
static void ready_all(void) {
    for (unsigned i = 0; i < settings.threads; i++)
        enqueue(&lock_threads[i], level_of(&lock_threads[i]));
    run.awaited = 2 * settings.threads;
    run.timed = settings.slice != 0;
}

uint64_t scheduler_carry(unsigned number) {
    core_t *core = &cores[number];
    run_threads(core);
    meet(core);
    if (number == 0)
        ready_all();
    native_before(number);
    meet(core);
    native_enter(number);
    uint64_t start = 0;
    if (settings.engine)
        runtime_syscall(SYS_MARKER, MARKER_BEGIN, number, settings.cores, (long)__executable_start,
                        (long)_end);
    else
        start = read_ticks();
    run_threads(core);
    native_leave(number);
    uint64_t ticks = 0;
    if (settings.engine)
        runtime_syscall(SYS_MARKER, MARKER_END, number, 0, 0, 0);
    else
        ticks = read_ticks() - start;
    meet(core);
    return ticks;
}
