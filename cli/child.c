/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include "exit_code.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the new process. Everything of ours is closed on exec. */
static _Noreturn void become(const struct cli_child_start *how, pid_t keeper)
{
    /* The last net: if the keeper dies, the kernel kills us. It does not look
     * back: a keeper that died before this line is seen by our new parent. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) {
        _exit(CLI_EXIT_INTERNAL);
    }
    (void)setpgid(0, 0);
    (void)cli_term_move(how->term, how->foreground, getpid());
    cli_signals_restore(how->signals);
    (void)execvp(how->command[0], how->command);
    atomic_store(&how->shared->exec_errno, errno);
    _exit(errno == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_CANNOT_RUN);
}

bool cli_child_start(struct cli_child *child, const struct cli_child_start *how)
{
    pid_t keeper = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        become(how, keeper);
    }
    /* Here too: the group must exist before anybody signals it. */
    (void)setpgid(pid, pid);
    atomic_store(&how->shared->group, pid);
    child->pid = pid;
    return true;
}

void cli_child_signal(const struct cli_child *child, int number)
{
    if (child->pid > 0 && !child->is_over) {
        (void)kill(-child->pid, number);
    }
}

int cli_child_code(const struct cli_child *child)
{
    if (WIFSIGNALED(child->status)) {
        return CLI_EXIT_SIGNAL + WTERMSIG(child->status);
    }
    return WEXITSTATUS(child->status);
}
