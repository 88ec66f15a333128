/* SPDX-License-Identifier: Apache-2.0 */
/* The command: started as the shell would start it. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "base/time.h"
#include "run/ipc.h"
#include "run/term.h"
#include "signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct cli_child {
    pid_t pid; /* and process group; 0: not started */
    bool is_over;
    int status; /* of waitpid() */
};

struct cli_child_start {
    char **command;
    const struct cli_signals *signals;
    const struct cli_term *term; /* its terminal goes to the command */
    pid_t foreground;            /* if this group has it */
    bool stops_to_read;          /* SIGTTIN is not to stay ignored */
    struct cli_shared *shared;   /* exec_errno; ETIME: not in time */
    struct hf_instant until;     /* not executed after this */
};

/* Fork and execute. If exec fails, the process ends, and cli_child_code() has
 * the error. @return false with errno if fork failed. */
bool cli_child_start(struct cli_child *child,
                     const struct cli_child_start *how);

/* Signal the command and its process group; stopped ones wake up. */
void cli_child_signal(const struct cli_child *child, int number);

/* The exit code as a shell computes it: its code, or 128+N for signal N. */
int cli_child_code(const struct cli_child *child);

#endif
