/* SPDX-License-Identifier: Apache-2.0 */
/* Processes in the simulated kernel: their numbers, start times, and the calls
 * in which they stop or end. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The clock tick of /proc/PID/stat: 10 ms, as Linux has 100 in a second
 * (USER_HZ). */
#define TICK_NS INT64_C(10000000)

enum { STREAM_BOXES = 0xa000 };

/* ---- Life -------------------------------------------------------------- */

struct sim_machine *sim_machine_new(struct sim_world *world)
{
    struct sim_machine *machine = calloc(1, sizeof(*machine));
    HF_ASSERT(machine != NULL);
    machine->world = world;
    for (int i = 0; i < SIM_FILES; i++) {
        machine->files[i] = -1;
    }
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        struct sim_task *task = &machine->tasks[i];
        task->machine = machine;
        task->process = &world->processes[i];
        task->box.fd = -1;
        task->random = sim_random_of(world->story->seed, STREAM_BOXES + i);
    }
    return machine;
}

void sim_machine_free(struct sim_machine *machine)
{
    if (machine == NULL) {
        return;
    }
    for (int i = 0; i < SIM_FILES; i++) {
        if (machine->files[i] >= 0) {
            close(machine->files[i]);
        }
    }
    free(machine);
}

struct sim_task *sim_task_of(const struct sim_process *process)
{
    struct sim_machine *machine = process->world->machine;
    return machine == NULL ? NULL : &machine->tasks[process->index];
}

struct sim_task *sim_task_running(void)
{
    const struct sim_process *process = sim_process_running();
    return process == NULL ? NULL : sim_task_of(process);
}

/* ---- Numbers ----------------------------------------------------------- */

struct sim_task *sim_task_find(struct sim_machine *machine, int64_t pid)
{
    for (unsigned i = 0; i < machine->world->story->n_processes; i++) {
        struct sim_task *task = &machine->tasks[i];
        bool is_there =
            task->is_zombie || (task->process->is_alive && !task->is_disowned);
        if (is_there && task->pid == pid) {
            return task;
        }
    }
    return NULL;
}

/* The next free number that was not used within the same tick: two processes
 * with equal numbers and start times could not be distinguished. */
static int new_pid(struct sim_machine *machine, uint64_t start)
{
    int n = (int)machine->world->story->n_processes + 2;
    for (int i = 0; i < SIM_PIDS_MAX; i++) {
        int idx = (machine->pid_last + 1) % n;
        machine->pid_last = idx;
        if (sim_task_find(machine, SIM_PID_FIRST + idx) == NULL &&
            machine->starts_ticks[idx] != start + 1) {
            machine->starts_ticks[idx] = start + 1;
            return SIM_PID_FIRST + idx;
        }
    }
    return SIM_PID_FIRST + SIM_PIDS_MAX + machine->n_bursts++; /* a rare one */
}

void sim_machine_started(struct sim_process *process)
{
    struct sim_task *task = sim_task_of(process);
    if (task == NULL) {
        return;
    }
    struct hf_instant now = sim_process_clock(process, process->world->now_ns);
    task->is_zombie = false;
    task->pid = 0;
    task->start_ticks = (uint64_t)(now.ns / TICK_NS);
    task->pid = new_pid(task->machine, task->start_ticks);
    task->is_disowned = false;
    task->waits = false;
    task->n_calls = 0;
    task->txn = NULL;
    task->verb_txn = NULL;
    task->only_reads = false;
}

void sim_machine_ended(struct sim_process *process)
{
    struct sim_task *task = sim_task_of(process);
    if (task == NULL) {
        return;
    }
    for (int i = 0; i < SIM_FDS_MAX; i++) {
        if (task->fds[i] > 0) {
            close(task->fds[i]);
            task->fds[i] = 0;
        }
    }
    sim_box_close(task, task->box.fd);
    /* Half of the processes stay zombies until they start again, since their
     * parents do not wait for them: drawn from process and incarnation. */
    task->is_zombie =
        (sim_mix((uint64_t)process->index << 32 | process->n_starts) & 1) != 0;
    task->n_calls = 0;
    task->waits = false;
    sim_mutex_wake(task->machine);
}

int sim_machine_pid(const struct sim_process *process)
{
    return sim_task_of(process)->pid;
}

/* ---- Ends between two calls -------------------------------------------- */

void sim_machine_disown(struct sim_process *process)
{
    struct sim_task *task = sim_task_of(process);
    task->is_disowned = true;
    task->n_calls = 0;
    task->waits = false;
    process->pauses_midway = false; /* it runs to the end of the call, or its
                                       maps would keep the locks of files */
}

bool sim_machine_has_disowned(const struct sim_process *process)
{
    const struct sim_task *task = sim_task_of(process);
    return task != NULL && task->is_disowned;
}

static void arm(struct sim_process *process, int64_t calls, int64_t span_ns,
                bool dies)
{
    struct sim_task *task = sim_task_of(process);
    if (task != NULL && process->is_alive) {
        task->n_calls = calls;
        task->span_ns = span_ns;
        task->dies = dies;
    }
}

void sim_machine_stop_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns)
{
    arm(process, calls, span_ns, false);
}

void sim_machine_kill_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns)
{
    arm(process, calls, span_ns, true);
}

static void on_kill(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_process *process = object;
    struct sim_task *task = sim_task_of(process);
    if (process->is_alive && process->n_starts == arg) {
        sim_process_crash(process);
        sim_process_revive_later(process, world->now_ns + task->span_ns);
    }
}

bool sim_task_call(struct sim_task *task)
{
    struct sim_process *process = task->process;
    struct sim_world *world = process->world;
    if (task->is_disowned) {
        return false;
    }
    if (task->n_calls == 0 || --task->n_calls > 0) {
        return true;
    }
    if (task->dies) {
        sim_world_at(world, world->now_ns, on_kill, process, process->n_starts);
        sim_process_sleep(process, SIM_NEVER, false);
    } else {
        sim_process_pause(process, world->now_ns + task->span_ns);
        sim_process_sleep(process, world->now_ns, false);
    }
    return !task->is_disowned;
}
