/* SPDX-License-Identifier: Apache-2.0 */
/* WAITING AT THE GATE, BUT NOT FOR EVER
 *
 *     trylock ── free ──▶ inside: count the entry, note our pid
 *        └ busy: wait node_timeout ── entered ──▶ inside
 *                   ▲        └ no process entered meanwhile, and the one inside
 *                   │          is stopped (/proc) ──▶ fail
 *                   └── else, up to ten times ──▶ fail: overloaded
 *
 * If the page is mixed (gate.c), the same with the lock of a byte in place of
 * the mutex. A process that finds the mark only inside the mutex, or makes it
 * there, leaves the mutex first:
 *
 *     mixed ── yes ──▶ byte ──▶ inside
 *        └ no: mutex ── not mixed, and our namespace's ──▶ inside
 *                 └ mark it as mixed, unlock, byte ──▶ inside
 *
 * A busy gate is told from a stuck one by the count of entries: each process
 * that enters raises it. A client that has waited in vain remembers the count,
 * and does not wait again for the same process: it may have 100,000 locks to
 * release.
 *
 * Why a dead process does no harm: the kernel gives its mutex to the next one
 * with EOWNERDEAD, and its byte is unlocked with its descriptor. Of the locks'
 * file nothing needs repair (gate.c). Of the values' file, a commit may not be
 * on the disk yet, so the next process syncs it (values_file.c): it finds
 * is_occupied set, which a process that leaves clears.
 *
 * Cost: no system call if the gate is free. A waiter sleeps in the kernel. In a
 * mixed folder two system calls, and a waiter wakes each millisecond. */
#include "store/local/gate.h"

#include "base/assert.h"
#include "base/fail.h"
#include "store/local/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef HF_SANITIZED_THREADS
#include <sanitizer/tsan_interface.h>
#endif

/* How many times node_timeout to wait for a gate that is only busy. A
 * transaction takes a microsecond, but a process that is preempted inside the
 * gate runs again only after some 10 ms for each process that is ready to run
 * on its CPU. */
#define PATIENCES 10

/* Least time in ms to wait for the values' file, in place of node_timeout: a
 * write is synced to disk, and several processes may be before us. */
#define VALUES_PATIENCE_MS 200

/* Between two looks at a byte that is locked: 1 ms, a thousand transactions. */
#define STEP_NS 1000000

/* Tries to unlock it, a second in all. */
#define UNLOCKS_MAX 1000

/* The bytes of locks.gate that replace the mutexes. A lock has no effect on
 * what the byte holds. */
enum { LOCKS_BYTE, VALUES_BYTE };

enum hf_status hf_gate_mutex_init(pthread_mutex_t *mutex,
                                  struct hf_error *error)
{
    pthread_mutexattr_t attr;
    int number = pthread_mutexattr_init(&attr);
    if (number == 0) {
        number = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    }
    if (number == 0) {
        number = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    }
    if (number == 0) {
        number = pthread_mutex_init(mutex, &attr);
    }
    pthread_mutexattr_destroy(&attr);
    return number == 0 ? HF_OK
                       : hf_fail(error, HF_UNSUPPORTED,
                                 "this system has no robust mutexes between "
                                 "processes (errno %d)",
                                 number);
}

/* ---- Entering and leaving ---------------------------------------------- */

/* One of the two: a mutex, or the byte that replaces it. */
struct door {
    const struct hf_gate *gate;
    const char *file; /* that it protects */
    off_t byte;
    pthread_mutex_t *mutex;
    struct hf_gate_door *page; /* its part of the page */
    uint64_t *n_entries;
    int64_t *holder_pid;
    uint64_t *holder_space;
    struct hf_span patience;
    uint64_t *stuck_at;       /* of hf_gate */
    enum hf_gate_way *inside; /* of hf_gate */
};

static struct door door_of_locks(struct hf_gate *gate)
{
    struct hf_gate_page *page = gate->page;
    return (struct door){
        .gate = gate,
        .file = "locks.gate",
        .byte = LOCKS_BYTE,
        .mutex = &page->mutex,
        .page = &page->locks_door,
        .n_entries = &page->n_entries,
        .holder_pid = &page->holder_pid,
        .holder_space = &page->holder_space,
        .patience = gate->patience,
        .stuck_at = &gate->stuck_at,
        .inside = &gate->inside,
    };
}

static struct door door_of_values(struct hf_gate *gate)
{
    struct hf_gate_values *values = &gate->page->values;
    return (struct door){
        .gate = gate,
        .file = "values.mdb",
        .byte = VALUES_BYTE,
        .mutex = &values->mutex,
        .page = &gate->page->values_door,
        .n_entries = &values->n_entries,
        .holder_pid = &values->holder_pid,
        .holder_space = &values->holder_space,
        .patience = hf_span_max(gate->patience, hf_span_ms(VALUES_PATIENCE_MS)),
        .stuck_at = &gate->values_stuck_at,
        .inside = &gate->values_inside,
    };
}

/* The thread ids of our pid namespace are those of the mutexes. */
static bool is_home(const struct hf_gate *gate)
{
    return gate->pid_space != 0 && gate->pid_space == gate->page->pid_space;
}

static bool is_mixed(const struct door *door)
{
    return __atomic_load_n(&door->page->is_mixed, __ATOMIC_ACQUIRE) != 0;
}

/* The process inside is known to be stopped, by a signal or a debugger. */
static bool is_stopped(const struct door *door)
{
    return *door->holder_space == door->gate->pid_space &&
           hf_process_is_stopped(*door->holder_pid);
}

static struct timespec from_now(struct hf_span span)
{
    const int64_t span_ns = span.ns;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + span_ns % 1000000000;
    at.tv_sec += (time_t)(span_ns / 1000000000 + ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

/* TSan does not see pthread_mutex_clocklock(). Without a report of it, the
 * mutex would look unlocked when this thread unlocks it. */
#ifdef HF_SANITIZED_THREADS
static void report_locked(pthread_mutex_t *mutex)
{
    __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
    __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0);
}
#else
static void report_locked(const pthread_mutex_t *mutex)
{
    (void)mutex;
}
#endif

/** Lock or unlock the byte. The lock is the descriptor's: no other process, and
 * no other client of this one, has it. @return 0, or an errno; EBUSY. */
static int set_byte(const struct door *door, short kind)
{
    struct flock lock = {.l_type = kind,
                         .l_whence = SEEK_SET,
                         .l_start = door->byte,
                         .l_len = 1};
    if (fcntl(door->gate->fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EAGAIN || errno == EACCES ? EBUSY : errno;
}

static int try_once(const struct door *door, enum hf_gate_way way)
{
    return way == HF_GATE_BY_MUTEX ? pthread_mutex_trylock(door->mutex)
                                   : set_byte(door, F_WRLCK);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
                                  : a->tv_nsec < b->tv_nsec;
}

/* A process of another namespace does not wait in the mutex: its death would
 * end the lock of an owner with the same thread id. */
static int poll_way(const struct door *door, enum hf_gate_way way,
                    const struct timespec *until)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    struct timespec now;
    int number;
    do {
        nanosleep(&step, NULL);
        number = try_once(door, way);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (number == EBUSY && is_before(&now, until));
    return number == EBUSY ? ETIMEDOUT : number;
}

static int wait_once(const struct door *door, enum hf_gate_way way)
{
    struct timespec until = from_now(door->patience);
    if (way == HF_GATE_BY_FILE || !is_home(door->gate)) {
        return poll_way(door, way, &until);
    }
    int number = pthread_mutex_clocklock(door->mutex, CLOCK_MONOTONIC, &until);
    if (number == 0 || number == EOWNERDEAD) {
        report_locked(door->mutex);
    }
    return number;
}

/* Wait node_timeout, and again, at most PATIENCES times. Stop after one in
 * which no process entered, if the process inside is known to be stopped;
 * otherwise it may only wait for a CPU. */
static int await(const struct door *door, enum hf_gate_way way)
{
    int number = EBUSY;
    for (unsigned i = 0; number == EBUSY && i < PATIENCES; i++) {
        uint64_t n_entries = *door->n_entries;
        number = wait_once(door, way);
        if (number == ETIMEDOUT &&
            (*door->n_entries != n_entries || !is_stopped(door))) {
            number = EBUSY;
        }
    }
    return number;
}

/* This client has waited in vain for the process that is still inside. Its next
 * requests do not wait again: a client that closes has one for each lock. */
static bool is_known_stuck(const struct door *door)
{
    return *door->stuck_at == *door->n_entries + 1;
}

static int lock_in_time(const struct door *door, enum hf_gate_way way)
{
    int number = try_once(door, way);
    if (number == EBUSY && is_known_stuck(door)) {
        return is_stopped(door) ? ETIMEDOUT : EBUSY;
    }
    if (number == EBUSY) {
        number = await(door, way);
        bool is_stuck = number == EBUSY || number == ETIMEDOUT;
        *door->stuck_at = is_stuck ? *door->n_entries + 1 : 0;
    }
    return number;
}

/** Lock the mutex. @return 0; also if the page turned out to be mixed, or we
 * have marked it: then the mutex is unlocked again. */
static int take_mutex(const struct door *door)
{
    int number = lock_in_time(door, HF_GATE_BY_MUTEX);
    if (number == EOWNERDEAD) {
        number = pthread_mutex_consistent(door->mutex);
    }
    if (number != 0) {
        return number;
    }
    if (!is_home(door->gate)) {
        __atomic_store_n(&door->page->is_mixed, 1, __ATOMIC_RELEASE);
    }
    if (is_mixed(door)) {
        return pthread_mutex_unlock(door->mutex);
    }
    *door->inside = HF_GATE_BY_MUTEX;
    return 0;
}

/* The mark is set inside the mutex and never cleared: so no process is inside
 * by the mutex while another is by the byte. */
static int take(const struct door *door)
{
    int number = is_mixed(door) ? 0 : take_mutex(door);
    if (number != 0 || *door->inside == HF_GATE_BY_MUTEX) {
        return number;
    }
    number = lock_in_time(door, HF_GATE_BY_FILE);
    if (number == 0) {
        *door->inside = HF_GATE_BY_FILE;
    }
    return number;
}

static enum hf_status fail_stuck(const struct door *door, int number,
                                 char *text, size_t size)
{
    bool is_near = *door->holder_space == door->gate->pid_space;
    snprintf(
        text, size, "%s is held by process %" PRId64 "%s, which %s", door->file,
        *door->holder_pid, is_near ? "" : " of another pid namespace",
        number == ETIMEDOUT ? "is stopped: continue or kill it"
                            : "does not get on: is this machine overloaded?");
    return HF_UNAVAILABLE;
}

static enum hf_status fail_lock(const struct door *door, int number, char *text,
                                size_t size)
{
    if (is_mixed(door)) {
        snprintf(text, size,
                 "locks.gate cannot be locked, as it must be where processes "
                 "of several pid namespaces use it: %s",
                 strerrordesc_np(number));
        return HF_UNAVAILABLE;
    }
    snprintf(text, size,
             "locks.gate is damaged (mutex: %s): stop all users of the folder, "
             "then remove it",
             strerrordesc_np(number));
    return HF_CONFIG;
}

/** @param was_left  the last process inside has died there. */
static enum hf_status enter(const struct door *door, bool *was_left, char *text,
                            size_t size)
{
    HF_ASSERT(*door->inside == HF_GATE_OUTSIDE); /* one thread at a time */
    int number = take(door);
    if (number == ETIMEDOUT || number == EBUSY) {
        return fail_stuck(door, number, text, size);
    }
    if (number != 0) {
        return fail_lock(door, number, text, size);
    }
    *was_left = door->page->is_occupied != 0;
    door->page->is_occupied = 1;
    ++*door->n_entries;
    *door->holder_pid = door->gate->pid;
    *door->holder_space = door->gate->pid_space;
    return HF_OK;
}

/* The kernel allocates memory for that, too (ENOLCK). While it has none, all
 * others wait for us. */
static int unlock_byte(const struct door *door)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    int failed = set_byte(door, F_UNLCK);
    for (unsigned i = 0; failed != 0 && i < UNLOCKS_MAX; i++) {
        nanosleep(&step, NULL);
        failed = set_byte(door, F_UNLCK);
    }
    return failed;
}

static void leave(const struct door *door)
{
    enum hf_gate_way way = *door->inside;
    HF_ASSERT(way != HF_GATE_OUTSIDE);
    *door->inside = HF_GATE_OUTSIDE;
    door->page->is_occupied = 0;
    int failed = way == HF_GATE_BY_MUTEX ? pthread_mutex_unlock(door->mutex)
                                         : unlock_byte(door);
    HF_ASSERT(failed == 0); /* the end of the process unlocks it */
}

enum hf_status hf_gate_enter(struct hf_gate *gate, char *text, size_t size)
{
    struct door door = door_of_locks(gate);
    bool was_left;
    return enter(&door, &was_left, text, size);
}

void hf_gate_leave(struct hf_gate *gate)
{
    struct door door = door_of_locks(gate);
    leave(&door);
}

/* Inside the first mutex, so that one process alone makes the second. That of
 * another boot is made anew: its owner may have ended in it. */
static enum hf_status make_values(struct hf_gate *gate, char *text, size_t size)
{
    struct hf_gate_values *values = &gate->page->values;
    struct hf_error error = {.text = ""};
    enum hf_status status = hf_gate_enter(gate, text, size);
    if (status != HF_OK) {
        return status;
    }
    if (memcmp(values->boot, gate->page->boot, HF_GATE_BOOT_MAX) != 0) {
        memset(values, 0, sizeof(*values));
        status = hf_gate_mutex_init(&values->mutex, &error);
    }
    if (status == HF_OK) {
        memcpy(values->boot, gate->page->boot, HF_GATE_BOOT_MAX);
        gate->has_values = true;
    } else {
        snprintf(text, size, "%s", error.text);
    }
    hf_gate_leave(gate);
    return status;
}

enum hf_status hf_gate_enter_values(struct hf_gate *gate, char *text,
                                    size_t size)
{
    struct door door = door_of_values(gate);
    bool was_left = false;
    enum hf_status status =
        gate->has_values ? HF_OK : make_values(gate, text, size);
    if (status == HF_OK) {
        status = enter(&door, &was_left, text, size);
    }
    if (was_left && status == HF_OK) {
        gate->page->values.is_unsynced = 1; /* it was killed inside */
    }
    return status;
}

void hf_gate_leave_values(struct hf_gate *gate)
{
    struct door door = door_of_values(gate);
    leave(&door);
}
