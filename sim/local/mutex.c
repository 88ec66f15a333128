/* SPDX-License-Identifier: Apache-2.0 */
/* THE GATE'S MUTEX, AND CLOCKS. The state of a robust mutex between processes
 * is in the store's own page: the process that holds it, and its incarnation.
 * If that incarnation has ended, the next process gets the mutex with
 * EOWNERDEAD. Mutexes of other kinds are local to a client. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>
#include <time.h>

struct mutex {
    uint64_t magic;
    uint32_t owner; /* index of the process, from 1; 0: free */
    uint32_t life;
};

/* Marks a mutex of ours: random, so that no real mutex contains it. */
#define MAGIC UINT64_C(0x5349edbf8c21a7d3)

_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "it fits");

/* @return NULL: it is no simulated mutex. */
static struct mutex *ours(pthread_mutex_t *mutex)
{
    struct mutex *found = (struct mutex *)(void *)mutex;
    return found->magic == MAGIC ? found : NULL;
}

int __real_pthread_mutex_init(pthread_mutex_t *mutex,
                              const pthread_mutexattr_t *kind);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex,
                              const pthread_mutexattr_t *kind);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex,
                              const pthread_mutexattr_t *kind)
{
    int robust = PTHREAD_MUTEX_STALLED;
    struct sim_task *task = sim_task_running();
    if (kind != NULL) {
        pthread_mutexattr_getrobust(kind, &robust);
    }
    if (task == NULL || robust != PTHREAD_MUTEX_ROBUST) {
        return __real_pthread_mutex_init(mutex, kind);
    }
    if (!sim_task_call(task)) {
        return EINVAL;
    }
    *(struct mutex *)(void *)mutex = (struct mutex){.magic = MAGIC};
    return 0;
}

static bool is_dead(const struct sim_machine *machine,
                    const struct mutex *mutex)
{
    const struct sim_task *task = &machine->tasks[mutex->owner - 1];
    return !task->process->is_alive || task->is_disowned ||
           task->process->n_starts != mutex->life;
}

static int lock(struct sim_task *task, struct mutex *mutex)
{
    bool was_left = mutex->owner != 0;
    if (was_left && !is_dead(task->machine, mutex)) {
        return EBUSY;
    }
    mutex->owner = (uint32_t)task->process->index + 1;
    mutex->life = task->process->n_starts;
    return was_left ? EOWNERDEAD : 0;
}

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    struct mutex *found = ours(mutex);
    struct sim_task *task = sim_task_running();
    if (found == NULL || task == NULL) {
        return __real_pthread_mutex_trylock(mutex);
    }
    if (!sim_task_call(task)) {
        return EINVAL;
    }
    int number = lock(task, found);
    if (number == EBUSY) { /* its holder is stopped; the store may not wait */
        const struct sim_world *world = task->process->world;
        sim_oracle_held_up(world->oracle, task->process->index, world->now_ns);
    }
    return number;
}

int __real_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until);
int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until);
int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until)
{
    struct mutex *found = ours(mutex);
    struct sim_task *task = sim_task_running();
    if (found == NULL || task == NULL) {
        return __real_pthread_mutex_clocklock(mutex, clock, until);
    }
    struct sim_process *process = task->process;
    struct hf_instant end = {until->tv_sec * INT64_C(1000000000) +
                             until->tv_nsec};
    int64_t since_ns = process->world->now_ns;
    bool goes_on = sim_task_call(task);
    while (goes_on) {
        int number = lock(task, found);
        int64_t now_ns = process->world->now_ns;
        if (number == EBUSY &&
            sim_process_clock(process, now_ns).ns >= end.ns) {
            number = ETIMEDOUT;
        }
        sim_oracle_held_up(process->world->oracle, process->index, since_ns);
        if (number != EBUSY) {
            return number;
        }
        task->waits = true;
        sim_process_sleep(process, sim_process_when(process, end), false);
        task->waits = false;
        goes_on = !task->is_disowned;
    }
    return EINVAL;
}

void sim_mutex_wake(struct sim_machine *machine)
{
    for (unsigned i = 0; i < machine->world->story->n_processes; i++) {
        if (machine->tasks[i].waits) {
            sim_process_go_on(machine->tasks[i].process);
        }
    }
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct mutex *found = ours(mutex);
    struct sim_task *task = sim_task_running();
    if (found == NULL || task == NULL) {
        return __real_pthread_mutex_unlock(mutex);
    }
    if (!sim_task_call(task)) {
        return 0; /* it is the next one's */
    }
    if (found->owner != (uint32_t)task->process->index + 1 ||
        found->life != task->process->n_starts) {
        return EPERM;
    }
    found->owner = 0;
    sim_mutex_wake(task->machine);
    return 0;
}

int __real_pthread_mutex_consistent(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_consistent(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    return ours(mutex) != NULL && sim_task_running() != NULL
               ? 0
               : __real_pthread_mutex_consistent(mutex);
}

/* ---- Clocks ------------------------------------------------------------ */

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000,
                             .tv_nsec = ns % 1000000000};
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_clock_gettime(clock, out);
    }
    struct sim_world *world = task->machine->world;
    (void)sim_task_call(task);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        *out = time_of(SIM_WALL_S * SIM_S +
                       sim_node_wall(&world->nodes[0], world->now_ns));
    } else {
        *out = time_of(sim_process_clock(task->process, world->now_ns).ns);
    }
    return 0;
}

int __real_nanosleep(const struct timespec *span, struct timespec *left);
int __wrap_nanosleep(const struct timespec *span, struct timespec *left);
int __wrap_nanosleep(const struct timespec *span, struct timespec *left)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_nanosleep(span, left);
    }
    if (!sim_task_call(task)) {
        errno = EINTR;
        return -1;
    }
    int64_t span_ns = span->tv_sec * INT64_C(1000000000) + span->tv_nsec;
    sim_process_sleep(task->process, task->machine->world->now_ns + span_ns,
                      false);
    return 0;
}
