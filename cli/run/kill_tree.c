/* SPDX-License-Identifier: Apache-2.0 */
/* Why no descendant escapes. It may have left the command's process group and
 * session, and its parents may have ended. But this process is a subreaper: a
 * process that loses its parent becomes our child. So all descendants are in
 * the tree below us, and waitpid() fails with ECHILD exactly when it is empty;
 * zombies count until they are reaped. One sweep kills every process that it
 * finds in the tree. Processes that were forked during a sweep are found by the
 * next one, and a killed process does not fork, so the sweeps end.
 *
 * Some zombies cannot be reaped: those traced by a debugger, and children of a
 * frozen process. They do not run, and have no children: the kernel has
 * reparented those to a subreaper. So if two sweeps in a row find only zombies,
 * no process is left. One sweep does not suffice, since a zombie's children may
 * have become ours after our children were listed.
 *
 * The kernel's list (/proc/PID/task/TID/children) costs two reads per process.
 * On a kernel without it every process's parent is read instead. /proc must
 * belong to our own pid namespace: in another one the ids mean other processes.
 * It is opened and checked once, at the start, so that a later mount over it
 * cannot hide the tree. Two descriptors are reserved, since this must work even
 * when the process has no free descriptor left.
 *
 * Descendants that run as another user (setuid) cannot be killed, unless we are
 * root. */
#include "run/kill_tree.h"

#include "base/assert.h"
#include "clocks.h"
#include "procfs.h"
#include "text_size.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Enough for most trees in one sweep; the next sweep finds the rest. */
#define TREE_MAX 1024

/* Between sweeps: dying takes the kernel a fraction of a millisecond. */
#define PAUSE_NS 500000

/* Bytes of a list of children: more than 700 pids. The next look has the rest.
 */
#define CHILDREN_MAX 8192

/* cli_kill_tree_end(): descendants may be left, but /proc does not show them.
 */
#define UNSEEN (-1)

struct tree {
    int proc; /* borrowed */
    const struct cli_kill_tree *from;
    pid_t pids[TREE_MAX];
    size_t n;
    bool has_lists; /* the kernel lists children */
};

static DIR *open_dir(int proc, const char *path)
{
    int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && dir == NULL) {
        (void)close(fd);
    }
    return dir;
}

static bool is_other(const struct cli_kill_tree *from, pid_t pid)
{
    size_t i = 0;
    while (i < from->n_others && from->others[i] != pid) {
        i++;
    }
    return i < from->n_others;
}

static void add(struct tree *tree, pid_t pid)
{
    HF_ASSERT(tree->n <= TREE_MAX);
    if (pid > 1 && tree->n < TREE_MAX && !is_other(tree->from, pid)) {
        tree->pids[tree->n++] = pid;
    }
}

static void add_listed(struct tree *tree, const char *path)
{
    char text[CHILDREN_MAX];
    if (cli_procfs_read(tree->proc, path, text, sizeof(text)) < 0) {
        return;
    }
    tree->has_lists = true;
    for (char *at = text, *end = NULL;; at = end) {
        long pid = strtol(at, &end, 10);
        /* A number at the end may be incomplete: left to the next read. */
        if (end == at || *end == '\0') {
            return;
        }
        add(tree, (pid_t)pid);
    }
}

/* Children belong to the thread that forked them. */
static void add_children(struct tree *tree, pid_t pid)
{
    char path[CLI_PROC_PATH_MAX];
    struct dirent *entry;
    cli_procfs_path(path, pid, "/task");
    DIR *threads = open_dir(tree->proc, path);
    /* cppcheck-suppress readdirCalled; no other thread has the stream */
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        struct cli_out out;
        if (entry->d_name[0] == '.') {
            continue;
        }
        cli_out_init_text(&out, path, sizeof(path));
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

/* /proc may hide a running process (hidepid): then kill(2) detects it. */
static bool is_over(int proc, pid_t pid)
{
    char text[CLI_STAT_MAX];
    char state = *cli_procfs_stat(proc, pid, text);
    bool is_gone = state == '\0' && kill(pid, 0) < 0 && errno == ESRCH;
    return is_gone || state == 'Z' || state == 'X';
}

static bool is_descendant(const struct tree *tree, pid_t pid, pid_t root)
{
    for (int depth = 0; pid > 1 && depth < TREE_MAX; depth++) {
        if (is_other(tree->from, pid)) {
            return false;
        }
        pid = cli_procfs_parent(tree->proc, pid);
        if (pid == root) {
            return true;
        }
    }
    return false;
}

static void add_by_parents(struct tree *tree, pid_t root)
{
    struct dirent *entry;
    DIR *all = open_dir(tree->proc, ".");
    /* cppcheck-suppress readdirCalled; no other thread has the stream */
    while (all != NULL && (entry = readdir(all)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != root && is_descendant(tree, pid, root)) {
            add(tree, pid);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
}

static void find_all(struct tree *tree)
{
    tree->n = 0;
    tree->has_lists = false;
    add_children(tree, getpid());
    for (size_t i = 0; tree->has_lists && i < tree->n; i++) {
        add_children(tree, tree->pids[i]);
    }
    if (!tree->has_lists) {
        add_by_parents(tree, getpid());
    }
}

/* Kill all processes that are found. @return 0 if only zombies were found; a
 * process that is left, preferably one that we may not kill; or UNSEEN. */
static pid_t sweep(struct tree *tree, pid_t killed)
{
    pid_t left = 0, denied = 0;
    if (tree->proc < 0) {
        return UNSEEN;
    }
    find_all(tree);
    for (size_t i = 0; i < tree->n; i++) {
        pid_t pid = tree->pids[i];
        HF_ASSERT(pid > 1 && pid != getpid());
        if (kill(pid, SIGKILL) < 0 && errno == EPERM) {
            denied = pid;
        } else if (pid != killed && !is_over(tree->proc, pid)) {
            left = pid;
        }
    }
    left = left == 0 && tree->n == TREE_MAX ? tree->pids[0] : left;
    return denied != 0 ? denied : left;
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

/* ---- Interface ----------------------------------------------------------- */

static bool is_own_proc(int proc)
{
    char self[HF_TEXT_NUMBER], own[HF_TEXT_NUMBER];
    struct cli_out out;
    ssize_t len = readlinkat(proc, "self", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    cli_out_init_text(&out, own, sizeof(own));
    cli_out_int(&out, getpid());
    return strcmp(self, own) == 0;
}

static void free_spare(struct cli_kill_tree *tree)
{
    for (size_t i = 0; i < 2; i++) {
        if (tree->spare[i] >= 0) {
            (void)close(tree->spare[i]);
        }
        tree->spare[i] = -1;
    }
}

static int fail(struct cli_kill_tree *tree, int error)
{
    free_spare(tree);
    if (tree->proc >= 0) {
        (void)close(tree->proc);
    }
    tree->proc = -1;
    return error;
}

static void note_others(struct cli_kill_tree *tree)
{
    struct tree found = {.proc = tree->proc, .from = tree};
    siginfo_t child;
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0) {
        return; /* no children: one call in place of four */
    }
    find_all(&found);
    for (size_t i = 0; i < found.n && tree->n_others < CLI_KILL_OTHERS_MAX;
         i++) {
        if (cli_procfs_parent(tree->proc, found.pids[i]) == getpid()) {
            tree->others[tree->n_others++] = found.pids[i];
        }
    }
}

int cli_kill_tree_open(struct cli_kill_tree *tree)
{
    *tree = (struct cli_kill_tree){.proc = -1, .spare = {-1, -1}};
    tree->proc = cli_procfs_open();
    if (tree->proc < 0) {
        return fail(tree, errno);
    }
    if (!is_own_proc(tree->proc)) {
        return fail(tree, ENOENT);
    }
    /* Any descriptor would do. This one shows that the files can be read. */
    tree->spare[0] = openat(tree->proc, "self/stat", O_RDONLY | O_CLOEXEC);
    if (tree->spare[0] < 0) {
        return fail(tree, errno);
    }
    tree->spare[1] = fcntl(tree->spare[0], F_DUPFD_CLOEXEC, 0);
    if (tree->spare[1] < 0) {
        return fail(tree, errno);
    }
    note_others(tree);
    return 0;
}

pid_t cli_kill_tree_end(struct cli_kill_tree *tree, pid_t group, pid_t killed,
                        struct hf_instant until)
{
    struct tree found;
    sigset_t child;
    pid_t left = UNSEEN, before = UNSEEN;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    HF_ASSERT(group == 0 || group > 1); /* kill(-1) ends all processes */
    found.proc = tree->proc;
    found.from = tree;
    free_spare(tree);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    do {
        if (group > 0) {
            (void)kill(-group, SIGKILL);
        }
        if (reap()) {
            return 0;
        }
        before = left;
        left = sweep(&found, killed);
        if (left == 0 && before == 0) {
            return 0;
        }
        (void)sigtimedwait(&child, NULL, &pause);
    } while (left == 0 || hf_instant_before(cli_time_now(), until));
    return left;
}

void cli_kill_tree_signal(const struct cli_kill_tree *tree, pid_t group,
                          int number)
{
    struct tree found = {.proc = tree->proc, .from = tree};
    siginfo_t child;
    HF_ASSERT(group > 1 && number > 0);
    /* An orphan is our child: the kernel finds those without /proc. */
    if (waitid(P_PGID, (id_t)group, &child, WEXITED | WNOHANG | WNOWAIT) == 0) {
        (void)kill(-group, number);
        return;
    }
    if (tree->proc < 0) {
        return;
    }
    find_all(&found);
    for (size_t i = 0; i < found.n; i++) {
        if (getpgid(found.pids[i]) == group) {
            (void)kill(-group, number);
            return;
        }
    }
}

void cli_kill_tree_put_survivor(struct cli_out *out, pid_t pid)
{
    HF_ASSERT(pid == UNSEEN || pid > 1);
    if (pid == UNSEEN) {
        cli_out_text(out, "; without /proc it is not known whether all "
                          "processes of the command were ended");
        return;
    }
    cli_out_text(out, "; process ");
    cli_out_int(out, pid);
    cli_out_text(out, " of the command could not be ended");
}
