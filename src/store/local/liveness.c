/* SPDX-License-Identifier: Apache-2.0 */
/* Have the processes that keep a lock alive ended?
 *
 * A lock is freed before its lease ends only if the answer is a certain yes,
 * since a wrong yes means two holders. The cases that need care:
 *
 *   pid reused           the start time differs: the old process has ended
 *   zombie               ended, unless threads of it still run: after
 *                        pthread_exit() of the main thread, the process is a
 *                        zombie with a thread count above 1
 *   group, leader ended  the group is alive while any member is; members are
 *                        found by a walk of /proc. While the group exists its
 *                        number is not reused as a pid, so a leader with
 *                        another start time means that the group has ended
 *   other pid namespace  its pids are not valid here: alive
 *   /proc hides others   (hidepid) kill(2) tells whether the pid is in use; if
 *                        it is, alive, since the start time is unknown
 *   /proc not ours       (a namespace without its own /proc, or after chroot())
 *                        unknown: alive, unless kill(2) finds the pid unused
 *
 * Cost: kill(2) and one small read for each process, some 10 us, and as much
 * again before a process counts as ended; a walk of /proc only for a group
 * without its leader. It runs outside of transactions, and only if a request
 * meets a name that is held. */
#include "store/local/liveness.h"

#include "base/assert.h"
#include "io/namespace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest line of /proc/PID/stat: 52 numbers and a name of 64 bytes. */
#define STAT_MAX 1200

struct stat_line {
    char state;
    int64_t group;
    int64_t n_threads;
    uint64_t start_ticks;
};

/* Fields 3 (state), 5 (pgrp), 20 (num_threads) and 22 (starttime) of proc(5).
 * The name in field 2 may hold anything: parse from its last ')'. */
static bool parse_stat(const char *text, struct stat_line *out)
{
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == '\0') {
        return false;
    }
    at += 2;
    out->state = *at;
    for (int field = 3; field <= 22; field++) {
        if (field == 5) {
            out->group = strtoll(at, NULL, 10);
        } else if (field == 20) {
            out->n_threads = strtoll(at, NULL, 10);
        } else if (field == 22) {
            out->start_ticks = strtoull(at, NULL, 10);
            return true;
        }
        at = strchr(at, ' ');
        if (at == NULL) {
            return false;
        }
        at++;
    }
    return false;
}

static bool read_stat(int64_t pid, struct stat_line *out)
{
    char path[HF_TEXT_WORD], text[STAT_MAX];
    int all = snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    HF_ASSERT(all > 0 && (size_t)all < sizeof(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) {
        return false;
    }
    text[len] = '\0';
    return parse_stat(text, out);
}

/* Only the main thread has ended if the kernel still counts others. */
static bool is_zombie(const struct stat_line *line)
{
    return (line->state == 'Z' || line->state == 'X') && line->n_threads <= 1;
}

/* EPERM: it is in use by another user. Negative: a group. */
static bool is_unused(int64_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* ---- Ourselves --------------------------------------------------------- */

/** @return true: /proc is of our own pid namespace; `own_stat` is our line. */
static bool sees_itself(const struct hf_proc_view *view,
                        struct stat_line *own_stat)
{
    char self[HF_TEXT_NUMBER], own[HF_TEXT_NUMBER];
    ssize_t len = readlink("/proc/self", self, sizeof(self) - 1);
    snprintf(own, sizeof(own), "%lld", (long long)view->own_pid);
    if (len <= 0) {
        return false;
    }
    self[len] = '\0';
    return strcmp(self, own) == 0 && read_stat(view->own_pid, own_stat);
}

/* chroot() or another mount namespace may have led to another /proc since, in
 * which our numbers mean other processes. */
static bool still_sees(const struct hf_proc_view *view)
{
    struct stat_line line;
    return view->can_see && sees_itself(view, &line) &&
           line.start_ticks == view->own_start_ticks;
}

static void look(struct hf_proc_view *view)
{
    struct stat space;
    struct stat_line line;
    if (view->is_ready) {
        return;
    }
    view->is_ready = true;
    view->own_pid = getpid();
    if (hf_namespace_stat("pid", &space) != 0) {
        return;
    }
    view->pid_space = space.st_ino;
    view->can_see = sees_itself(view, &line);
    view->own_start_ticks = view->can_see ? line.start_ticks : 0;
}

uint64_t hf_pid_space(struct hf_proc_view *view)
{
    look(view);
    return view->pid_space;
}

static void forget_others(const struct hf_proc_view *view,
                          const struct hf_life_set *set,
                          struct hf_processes *out)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->pids[i] != view->own_pid) {
            out->of[i].start_ticks = 0;
        }
    }
}

void hf_processes_note(struct hf_proc_view *view, const struct hf_life_set *set,
                       struct hf_processes *out)
{
    struct stat_line line;
    bool has_others = false;
    HF_ASSERT(set->count <= HF_LIFE_PROCESSES_MAX);
    look(view);
    out->count = 0;
    out->pid_space = view->pid_space;
    if (!view->can_see) {
        return;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        int64_t pid = set->pids[i];
        int64_t leader = pid < 0 ? -pid : pid;
        out->of[i].pid = pid;
        if (pid == view->own_pid) {
            out->of[i].start_ticks = view->own_start_ticks;
            continue;
        }
        has_others = true;
        out->of[i].start_ticks =
            read_stat(leader, &line) ? line.start_ticks : 0;
    }
    if (has_others && !still_sees(view)) {
        forget_others(view, set, out);
    }
    out->count = set->count;
}

/* ---- Others ------------------------------------------------------------ */

/** @return true: a member is alive, or members may be hidden from us. They are
 * if process 1, which belongs to another user, is hidden. */
static bool group_has_member(int64_t group)
{
    struct stat_line line;
    bool found = false;
    DIR *proc = read_stat(1, &line) ? opendir("/proc") : NULL;
    if (proc == NULL) {
        return true;
    }
    struct dirent *entry;
    /* cppcheck-suppress readdirCalled; no other thread has the stream */
    while (!found && (entry = readdir(proc)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            int64_t pid = strtoll(entry->d_name, NULL, 10);
            found = read_stat(pid, &line)
                        ? line.group == group && !is_zombie(&line)
                        : !is_unused(pid);
        }
    }
    closedir(proc);
    return found;
}

/* What /proc shows of a group that is there. */
static bool group_has_ended(const struct hf_process *process)
{
    struct stat_line line;
    int64_t leader = -process->pid;
    if (read_stat(leader, &line)) {
        if (process->start_ticks != 0 &&
            line.start_ticks != process->start_ticks) {
            return true;
        }
        if (line.group == leader && !is_zombie(&line)) {
            return false;
        }
    } else if (!is_unused(leader)) {
        return false; /* it is hidden, and members may be hidden too */
    }
    /* Twice: a member may fork and end so that one walk misses both it and its
     * child. */
    bool has_member = group_has_member(leader);
    return !has_member && !group_has_member(leader);
}

/* What /proc shows of a process that is there. */
static bool process_has_ended(const struct hf_process *process)
{
    struct stat_line line;
    if (!read_stat(process->pid, &line)) {
        return is_unused(process->pid); /* it has just ended, or is hidden */
    }
    return is_zombie(&line) || (process->start_ticks != 0 &&
                                line.start_ticks != process->start_ticks);
}

static bool is_over(const struct hf_proc_view *view,
                    const struct hf_process *process)
{
    if (is_unused(process->pid)) {
        return true;
    }
    bool has_ended = process->pid < 0 ? group_has_ended(process)
                                      : process_has_ended(process);
    return has_ended && still_sees(view);
}

bool hf_processes_are_over(struct hf_proc_view *view,
                           const struct hf_processes *life)
{
    look(view);
    if (life->count == 0 || !view->can_see ||
        life->pid_space != view->pid_space) {
        return false;
    }
    for (uint32_t i = 0; i < life->count; i++) {
        if (!is_over(view, &life->of[i])) {
            return false;
        }
    }
    return true;
}

bool hf_process_is_stopped(int64_t pid)
{
    struct stat_line line;
    return read_stat(pid, &line) && (line.state == 'T' || line.state == 't');
}
