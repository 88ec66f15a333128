/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that are forwarded to the command, and their state at the start. Only
 * SIGCHLD's disposition is ever changed here. Signals are blocked and read from
 * a descriptor. So a signal that the user ignored (nohup) stays ignored in the
 * command, and a signal between two system calls is not lost.
 *
 *     cli_signals_block(&signals);                  before the first fork
 *     fd = signalfd(-1, &signals.relayed, …);       read them there
 *     … in the command's process, after the fork:
 *     cli_signals_restore(&signals); execvp(…);
 *     … at the end, if signal N ended the command:
 *     cli_signals_die(getpid(), n);                 the shell sees that */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "out.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct cli_signals {
    sigset_t relayed;   /* signals that are forwarded to the command */
    sigset_t before;    /* the signal mask at the start */
    bool ignored_child; /* SIGCHLD was ignored: wait() would find no child */
    bool ignored_read;  /* SIGTTIN was: reads in the background fail with EIO */
};

/* Block the relayed signals, SIGCHLD and SIGTTOU. */
void cli_signals_block(struct cli_signals *signals);

/* A write to a pipe without a reader fails with EPIPE, where SIGPIPE would end
 * this process before its line on stderr. */
void cli_signals_block_pipe(void);

/* In the command's process: restore mask and dispositions. */
void cli_signals_restore(const struct cli_signals *signals);

/* Stop `pid` (a process, or 0: our group) with a signal that is blocked, as it
 * would have done unblocked. @return true after we were stopped and continued;
 * false if the kernel did not stop us: it does not stop a group whose parents
 * are all in another session, since no shell could continue it. SIGCONT must be
 * blocked, too. */
bool cli_signals_stop(pid_t pid, int number);

/* Send a blocked signal to `pid` (our process, or 0: our group) and die of it,
 * without a core. Returns only if the signal was ignored when we started, or
 * cannot end us: the first process of a container. */
void cli_signals_die(pid_t pid, int number);

/* True if the default action of the signal ends a program. */
bool cli_signals_ends(int number);

/* "SIGTERM". */
void cli_signals_name(struct cli_out *out, int number);

#endif
