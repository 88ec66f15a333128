/* SPDX-License-Identifier: Apache-2.0 */
/* The processes whose end frees a name, and whether they have ended.
 *
 * The start time distinguishes a process from a later one with the same pid.
 * Pids are valid within one pid namespace only: an owner of another namespace
 * (a container) keeps the name until its lease ends. "Ended" is certain; a
 * process that cannot be examined counts as alive. */
#ifndef HF_STORE_LOCAL_LIVENESS_H
#define HF_STORE_LOCAL_LIVENESS_H

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_process {
    int64_t pid;          /* negative: a process group, as in kill(2) */
    uint64_t start_ticks; /* clock ticks since boot; 0: unknown */
};

struct hf_processes {
    uint32_t count;     /* 0: only the lease ends it */
    uint64_t pid_space; /* inode of the pid namespace */
    struct hf_process of[HF_LIFE_PROCESSES_MAX];
};

/* This process according to /proc, and whether /proc is usable; one per store.
 */
struct hf_proc_view {
    bool is_ready;
    bool can_see; /* /proc is that of our own pid namespace */
    uint64_t pid_space;
    int64_t own_pid;
    uint64_t own_start_ticks;
};

/* Read the start times of the processes of @p set. If /proc is not that of our
 * pid namespace, the result is empty: only the lease counts. */
void hf_processes_note(struct hf_proc_view *view, const struct hf_life_set *set,
                       struct hf_processes *out);

/** @return true: all of them have certainly ended. False if @p life is empty.
 */
bool hf_processes_are_over(struct hf_proc_view *view,
                           const struct hf_processes *life);

/* @p pid of our namespace is known to be stopped (kill -STOP, Ctrl-Z, a
 * debugger). */
bool hf_process_is_stopped(int64_t pid);

/* The inode of our pid namespace; 0: unknown. */
uint64_t hf_pid_space(struct hf_proc_view *view);

#endif
