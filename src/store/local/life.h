/* SPDX-License-Identifier: Apache-2.0 */
/* The processes whose end frees a name, and whether they have ended.
 *
 * A process is told from a later one with its number by its start time, and
 * numbers mean something only within one pid namespace: a record from another
 * one (a container) is judged by its lease alone. "Ended" is said only of what
 * was seen to have ended; whatever cannot be seen is taken to live. */
#ifndef HF_STORE_LOCAL_LIFE_H
#define HF_STORE_LOCAL_LIFE_H

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_process {
    int64_t pid;    /* negative: a process group, as in kill(2) */
    uint64_t start; /* clock ticks since boot; 0: not known */
};

struct hf_processes {
    uint32_t count;     /* 0: nothing but the lease */
    uint64_t pid_space; /* inode of the pid namespace */
    struct hf_process of[HF_LIFE_PROCESSES_MAX];
};

/* What this process knows of itself and of /proc; one per store. */
struct hf_proc_view {
    bool is_ready;
    bool can_see; /* /proc is that of our own pid namespace */
    uint64_t pid_space;
    int64_t own_pid;
    uint64_t own_start;
};

/* Look up what tells the processes of @p set from later ones. Where /proc
 * cannot say, the result is empty: the lease alone. */
void hf_processes_note(struct hf_proc_view *view, const struct hf_life_set *set,
                       struct hf_processes *out);

/* All of them have ended, for certain. False if @p life is empty. */
bool hf_processes_are_over(struct hf_proc_view *view,
                           const struct hf_processes *life);

/* Seen to be stopped (kill -STOP, Ctrl-Z, a debugger). Our namespace's. */
bool hf_process_is_stopped(int64_t pid);

/* The inode of our pid namespace; 0 if /proc does not say. */
uint64_t hf_pid_space(struct hf_proc_view *view);

#endif
