/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the command is most of the cost of a short run. Without a terminal
 * the new process shares our memory until it executes, as with vfork(): a copy
 * of the page tables, and the page faults afterwards, would add a tenth to
 * `holdfast run x -- true`. The keeper does not run until then. That is safe,
 * because the wrapper's last timer kills both if it takes until the lease ends
 * (a program on a file server that hangs). On a terminal it is a plain fork:
 * there Ctrl-Z may stop the new process before it executes, and the keeper must
 * continue. */
#include "run/child.h"

#include "base/assert.h"
#include "clocks.h"
#include "exit_code.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stack of the process that shares our memory: room for execvp(), which builds
 * a path on it, and the arguments of a shell for a script without "#!". Only
 * touched pages cost memory. */
#define STACK_BYTES ((size_t)256 * 1024)

struct child_arg {
    const struct cli_child_start *how;
    pid_t keeper;
};

/* Runs in the new process. All our descriptors are closed on exec. @return the
 * exit code, if exec failed. */
static int execute(void *user)
{
    const struct child_arg *arg = user;
    const struct cli_child_start *how = arg->how;
    /* If the keeper dies, the kernel kills this process. A keeper that died
     * before this call is detected by the change of parent. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != arg->keeper) {
        return CLI_EXIT_INTERNAL;
    }
    (void)setpgid(0, 0);
    /* By us, not by the keeper, which may be late: from here on the wrapper
     * forwards SIGTSTP to the command. */
    atomic_store(&how->shared->group, getpid());
    atomic_store(&how->shared->terminal_group, getpid());
    (void)cli_term_move(how->term, how->foreground, getpid());
    cli_signals_restore(how->signals);
    if (how->stops_to_read) {
        (void)signal(SIGTTIN, SIG_DFL);
    }
    /* All processes may have been stopped since the lock was acquired. So the
     * clock is read last, with only an execve(2) between it and the command. */
    if (!hf_instant_before(cli_time_now(), how->until)) {
        atomic_store(&how->shared->exec_errno, ETIME);
        return CLI_EXIT_LOST;
    }
    (void)execvp(how->command[0], how->command);
    int error = errno;
    atomic_store(&how->shared->exec_errno, error);
    return error == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_CANNOT_RUN;
}

static size_t stack_bytes(char **command)
{
    size_t words = 0;
    while (command[words] != NULL) {
        words++;
    }
    return STACK_BYTES + words * sizeof(char *);
}

/* Stacks grow downwards wherever clone(2) takes one that we build for. */
static pid_t start_with_vfork(struct child_arg *arg)
{
    size_t bytes = stack_bytes(arg->how->command);
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       /* cppcheck-suppress invalidFunctionArg; no file */
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return -1;
    }
    pid_t pid = clone(execute, stack + (bytes & ~(size_t)63),
                      CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
    (void)munmap(stack, bytes);
    return pid;
}

static pid_t start_with_fork(struct child_arg *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(execute(arg));
    }
    return pid;
}

bool cli_child_start(struct cli_child *child, const struct cli_child_start *how)
{
    struct child_arg arg = {how, getpid()};
    HF_ASSERT(child->pid == 0 && how->command[0] != NULL);
    pid_t pid =
        how->term->fd < 0 ? start_with_vfork(&arg) : start_with_fork(&arg);
    if (pid < 0) {
        return false;
    }
    /* Here too: the group must exist before it is signalled. */
    (void)setpgid(pid, pid);
    HF_ASSERT(pid > 1); /* -1 and 0 mean more than this process to kill() */
    child->pid = pid;
    return true;
}

void cli_child_signal(const struct cli_child *child, int number)
{
    HF_ASSERT(number > 0);
    if (child->pid > 0 && !child->is_over) {
        (void)kill(-child->pid, number);
    }
}

int cli_child_code(const struct cli_child *child)
{
    HF_ASSERT(WIFEXITED(child->status) || WIFSIGNALED(child->status));
    if (WIFSIGNALED(child->status)) {
        return CLI_EXIT_SIGNAL + WTERMSIG(child->status);
    }
    return WEXITSTATUS(child->status);
}
