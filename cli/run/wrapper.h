/* SPDX-License-Identifier: Apache-2.0 */
/* The process that the shell started. It forks the keeper at once, forwards
 * signals, stops and continues with the command, and exits with its code. */
#ifndef CLI_WRAPPER_H
#define CLI_WRAPPER_H

#include "args.h"
#include "config.h"
#include "run/ipc.h"
#include "run/kill_tree.h"
#include "signals.h"

struct cli_run {
    const struct cli_args *args;
    struct cli_config config;
    struct cli_signals signals;
    struct cli_ipc link;
    struct cli_kill_tree kill_tree; /* wrapper and keeper have a copy each */
};

/* Run the command of run->args. @return the exit code. */
int cli_wrapper(struct cli_run *run);

#endif
