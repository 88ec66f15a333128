/* SPDX-License-Identifier: Apache-2.0 */
/* Why nothing escapes. A descendant may have left the command's process group
 * and session, and its parents may be gone. But this process is a subreaper:
 * whoever loses its parent becomes our child. So the tree below us always has
 * all of them, and waitpid() says ECHILD exactly when it is empty; zombies
 * count until we reap them. One sweep kills what it sees in the tree. What was
 * forked meanwhile is in the tree for the next sweep, and a process that has
 * been killed forks no more, so that sweeps end.
 *
 * The kernel's list (/proc/PID/task/TID/children) costs two reads a process; a
 * kernel without it is asked for every process's parent instead. Out of reach
 * are descendants that run as somebody else (setuid), unless we are root. */
#include "descend.h"

#include "out.h"
#include "when.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Enough for most trees in one sweep; the rest is found by the next. */
#define TREE_MAX 1024

/* Between sweeps: dying takes the kernel a fraction of a millisecond. */
#define PAUSE_NS 500000

struct tree {
    pid_t pids[TREE_MAX];
    size_t n;
    bool has_lists; /* the kernel lists children */
};

static ssize_t read_file(const char *path, char *text, size_t room)
{
    size_t len = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    while (len < room - 1 && (n = read(fd, text + len, room - 1 - len)) > 0) {
        len += (size_t)n;
    }
    (void)close(fd);
    text[len] = '\0';
    return (ssize_t)len;
}

static void path_of(char path[64], pid_t pid, const char *rest)
{
    struct cli_out out;
    cli_out_init_text(&out, path, 64);
    cli_out_text(&out, "/proc/");
    cli_out_int(&out, pid);
    cli_out_text(&out, rest);
}

static void add(struct tree *tree, pid_t pid)
{
    if (pid > 1 && tree->n < TREE_MAX) {
        tree->pids[tree->n++] = pid;
    }
}

static void add_listed(struct tree *tree, const char *path)
{
    char text[8192];
    if (read_file(path, text, sizeof(text)) < 0) {
        return;
    }
    tree->has_lists = true;
    for (char *at = text, *end = NULL;; at = end) {
        long pid = strtol(at, &end, 10);
        /* A number at the very end may have been cut: left to the next. */
        if (end == at || *end == '\0') {
            return;
        }
        add(tree, (pid_t)pid);
    }
}

/* Children belong to the thread that forked them. */
static void add_children(struct tree *tree, pid_t pid)
{
    char path[64];
    struct dirent *entry;
    path_of(path, pid, "/task");
    DIR *threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        struct cli_out out;
        if (entry->d_name[0] == '.') {
            continue;
        }
        cli_out_init_text(&out, path, sizeof(path));
        cli_out_text(&out, "/proc/");
        cli_out_int(&out, pid);
        cli_out_text(&out, "/task/");
        cli_out_text(&out, entry->d_name);
        cli_out_text(&out, "/children");
        add_listed(tree, path);
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    path_of(path, pid, "/stat");
    if (read_file(path, text, sizeof(text)) <= 0) {
        return 0;
    }
    /* "PID (COMM) S PPID …", where COMM may have blanks and parentheses. */
    const char *end = strrchr(text, ')');
    return end != NULL && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10)
                                          : 0;
}

static bool descends(pid_t pid, pid_t root)
{
    for (int depth = 0; pid > 1 && depth < TREE_MAX; depth++) {
        pid = parent_of(pid);
        if (pid == root) {
            return true;
        }
    }
    return false;
}

static void add_by_parents(struct tree *tree, pid_t root)
{
    struct dirent *entry;
    DIR *all = opendir("/proc");
    while (all != NULL && (entry = readdir(all)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != root && descends(pid, root)) {
            add(tree, pid);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
}

/* Kill what is seen. @return a process that may not be killed, or 0. */
static pid_t sweep(struct tree *tree)
{
    pid_t denied = 0;
    tree->n = 0;
    tree->has_lists = false;
    add_children(tree, getpid());
    for (size_t i = 0; tree->has_lists && i < tree->n; i++) {
        add_children(tree, tree->pids[i]);
    }
    if (!tree->has_lists) {
        add_by_parents(tree, getpid());
    }
    for (size_t i = 0; i < tree->n; i++) {
        if (kill(tree->pids[i], SIGKILL) < 0 && errno == EPERM) {
            denied = tree->pids[i];
        }
    }
    return denied;
}

/* @return true when there are no children any more, hence no descendants. */
static bool reap(void)
{
    pid_t pid;
    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid < 0 && errno == ECHILD;
}

pid_t cli_descend_end(pid_t group, int64_t until_ns)
{
    struct tree tree;
    sigset_t child;
    pid_t denied = 0;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    if (group > 0) {
        (void)kill(-group, SIGKILL);
    }
    while (!reap()) {
        denied = sweep(&tree);
        if (cli_when_now_ns() >= until_ns) {
            return denied > 0 ? denied : tree.n > 0 ? tree.pids[0] : -1;
        }
        (void)sigtimedwait(&child, NULL, &pause);
    }
    return 0;
}
