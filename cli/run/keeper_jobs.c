/* SPDX-License-Identifier: Apache-2.0 */
/* Job control and forwarded signals: messages of the wrapper, and stops of the
 * command by the terminal (wrapper.c has the overview). */
#include "run/keeper.h"

#include "base/assert.h"

#include <signal.h>
#include <sys/wait.h>

void cli_keeper_stopped(struct cli_keeper *keeper, int number)
{
    pid_t ours = keeper->run->link.wrapper_group;
    HF_ASSERT(number > 0 && number < CLI_LINK_SIGNALS);
    if (number == SIGTTIN || number == SIGTTOU) {
        /* The command wants to read the terminal, even if stdin is none: a
         * password prompt in a pipe. If the shell gave the terminal to our
         * group, give it to the command. */
        cli_term_open(&keeper->term);
        if (cli_term_move(&keeper->term, ours, keeper->child.pid)) {
            atomic_store(&keeper->run->link.shared->is_lent, false);
            cli_child_signal(&keeper->child, SIGCONT);
            return;
        }
    }
    /* The sender of a SIGSTOP will send SIGCONT to the same process. */
    if (number != SIGSTOP) {
        int resumed = atomic_load(&keeper->run->link.shared->resumed);
        (void)cli_ipc_send(keeper->link, CLI_LINK_STOPPED,
                           number + resumed * CLI_LINK_SIGNALS);
    }
}

/* fg or bg: fg has put the wrapper's group into the foreground, where it stays
 * if a process beside the wrapper wanted the terminal last. */
static void resumed(struct cli_keeper *keeper, int times)
{
    HF_ASSERT(times >= 0 && times < CLI_LINK_TIMES);
    atomic_store(&keeper->run->link.shared->resumed, times);
    if (keeper->child.pid == 0) {
        return;
    }
    if (!atomic_load(&keeper->run->link.shared->is_lent)) {
        (void)cli_term_move(&keeper->term, keeper->run->link.wrapper_group,
                            keeper->child.pid);
    }
    cli_child_signal(&keeper->child, SIGCONT);
}

/* There is no shell that would continue the wrapper, so the command is
 * continued at once. The kernel does the same to a group that becomes an
 * orphan. */
static void unstopped(struct cli_keeper *keeper, int number)
{
    HF_ASSERT(keeper->child.pid > 1); /* it was stopped, so it was started */
    if (number != SIGTSTP) {
        cli_child_signal(&keeper->child, SIGHUP);
    }
    cli_child_signal(&keeper->child, SIGCONT);
}

void cli_keeper_give_terminal(struct cli_keeper *keeper)
{
    int status = keeper->child.status;
    HF_ASSERT(keeper->child.is_over);
    keeper->had_terminal = cli_term_move(&keeper->term, keeper->child.pid,
                                         keeper->run->link.wrapper_group);
    atomic_store(&keeper->run->link.shared->terminal_group, 0);
    cli_term_close(&keeper->term);
    if (keeper->why == CLI_WHY_NONE && WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        keeper->interrupt.number = number;
        keeper->interrupt.is_for_group =
            keeper->had_terminal && sigismember(&keeper->handed, number) != 1;
    }
}

bool cli_keeper_receive(struct cli_keeper *keeper)
{
    for (;;) {
        struct cli_ipc_word word = cli_ipc_read(keeper->link);
        switch ((enum cli_ipc_kind)word.kind) {
        case CLI_LINK_NONE:
        case CLI_LINK_STOPPED:
            return true;
        case CLI_LINK_GONE:
            return false;
        case CLI_LINK_SIGNAL:
            cli_keeper_signals_sent(keeper, word.value);
            (void)sigaddset(&keeper->handed, word.value);
            cli_keeper_signal(keeper, word.value);
            break;
        case CLI_LINK_RESUMED:
            resumed(keeper, word.value);
            break;
        case CLI_LINK_UNSTOPPED:
            unstopped(keeper, word.value);
            break;
        }
    }
}

/* @return a signal that the wrapper sent, CLI_STOP_GONE, or 0. */
static int stop_by_wrapper(struct cli_keeper *keeper)
{
    for (;;) {
        struct cli_ipc_word word = cli_ipc_read(keeper->link);
        if (word.kind == CLI_LINK_NONE) {
            return 0;
        }
        if (word.kind == CLI_LINK_GONE) {
            return CLI_STOP_GONE;
        }
        if (word.kind == CLI_LINK_RESUMED) {
            atomic_store(&keeper->run->link.shared->resumed, word.value);
        }
        if (word.kind == CLI_LINK_SIGNAL && cli_signals_ends(word.value)) {
            return word.value;
        }
    }
}

/* One of our own ends a wait at once: no command would get it twice. */
int cli_keeper_stop(void *user)
{
    struct cli_keeper *keeper = user;
    int number = stop_by_wrapper(keeper);
    if (number == 0) {
        cli_keeper_signals_read(keeper);
        number = cli_keeper_signals_take(keeper, HF_NEVER);
    }
    if (number != 0 && number != CLI_STOP_GONE) {
        keeper->interrupt = (struct cli_interrupt){.number = number};
    }
    return number;
}
