/* SPDX-License-Identifier: Apache-2.0 */
/* A run, as its wrapper begins it and its keeper inherits it.
 *
 *     struct cli_run run = {.args = args};            all else is zero
 *     code = cli_config_find(&run.config, args);      config.h
 *     if (code == 0) {
 *         code = cli_wrapper(&run);                   wrapper.h
 *     }
 *
 * cli_wrapper() opens the other parts, in this order: `kill_tree`, `link`, then
 * `signals`, which blocks them. Then it forks, and the child calls cli_keeper()
 * (keeper.h). From then on wrapper and keeper have a copy each: only
 * `link.shared` and the last timer are one object (ipc.h). The passwords in
 * `config` are the keeper's alone.
 *
 * Owner: the caller of cli_wrapper(); `args` must stay until it returns. The
 * process exits with its code, so nothing is closed. */
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
