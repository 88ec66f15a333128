/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals are handed on to the command, and how they were found. No
 * disposition is ever changed but SIGCHLD's: signals are blocked and read from
 * a descriptor, so that what the user ignored (nohup) stays ignored in the
 * command, and what arrives between two steps is not lost. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "out.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct cli_signals {
    sigset_t relayed;   /* what the command would get if it were us */
    sigset_t before;    /* the mask that we were started with */
    bool ignored_child; /* SIGCHLD was ignored: wait() would find no child */
};

/* Block what is relayed, SIGCHLD and SIGTTOU. */
void cli_signals_block(struct cli_signals *signals);

/* In the command's process: as it was. */
void cli_signals_restore(const struct cli_signals *signals);

/* Stop `pid` (a process, or 0: our group) with a signal that is held back, as
 * it would have if it were not. @return whether we were continued: if not,
 * no process is there to do so, since the kernel does not stop a group whose
 * parents are all in another session. SIGCONT must be held back, too, to know.
 */
bool cli_signals_stop(pid_t pid, int number);

/* Does it end a program that has not asked for it? */
bool cli_signals_ends(int number);

/* "SIGTERM". */
void cli_signals_name(struct cli_out *out, int number);

#endif
