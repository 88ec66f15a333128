/* SPDX-License-Identifier: Apache-2.0 */
/* A run, as its wrapper begins it and its keeper inherits it. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

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

#endif
