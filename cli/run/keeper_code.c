/* SPDX-License-Identifier: Apache-2.0 */
/* The exit code of a run, and the line on stderr with its reason. */
#include "run/keeper.h"

#include "base/assert.h"
#include "exit_code.h"
#include "message.h"
#include "run/kill_tree.h"
#include "store.h"
#include "timefmt.h"

#include <errno.h>
#include <string.h>

static int say_survivor(const struct cli_keeper *keeper, const char *state,
                        int code)
{
    struct cli_out out;
    HF_ASSERT(keeper->survivor != 0);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    cli_out_text(&out, state);
    cli_kill_tree_put_survivor(&out, keeper->survivor);
    return cli_message_end(&out, code);
}

static int say_max_hold(const struct cli_keeper *keeper)
{
    struct cli_out out;
    char text[CLI_DURATION_TEXT];
    HF_ASSERT(keeper->args->max_hold_ms != CLI_UNSET);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    cli_out_text(&out, ": the command was ended after ");
    cli_out_text(&out, cli_duration_text(keeper->args->max_hold_ms, text));
    cli_out_text(&out, " (--max-hold)");
    return cli_message_end(&out, CLI_EXIT_MAX_HOLD);
}

static int say_lost(const struct cli_keeper *keeper)
{
    struct cli_out out;
    HF_ASSERT(keeper->is_lost || !hf_instant_is_never(keeper->deadline));
    cli_message_begin(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    if (keeper->is_lost_by_reply) {
        cli_out_text(&out, ": ");
        cli_lost_put(&out, &keeper->lost);
    } else if (keeper->was_asleep) {
        cli_out_text(&out, ": the lock is lost: it could not be renewed while "
                           "this process or machine was stopped");
    } else {
        cli_out_text(&out, ": the lock could not be kept");
        cli_store_put_nodes(&out, keeper->client);
    }
    cli_out_text(&out, "; the command was ended");
    return cli_message_end(&out, CLI_EXIT_LOST);
}

/* A survivor comes first: it goes on without the lock. */
static int ended_code(const struct cli_keeper *keeper)
{
    HF_ASSERT(keeper->why != CLI_WHY_NONE);
    if (keeper->survivor != 0 && keeper->why != CLI_WHY_WRAPPER) {
        return say_survivor(keeper, ": lost", CLI_EXIT_LOST);
    }
    switch (keeper->why) {
    case CLI_WHY_LOST:
        return say_lost(keeper);
    case CLI_WHY_MAX_HOLD:
        return say_max_hold(keeper);
    case CLI_WHY_NONE:
    case CLI_WHY_WRAPPER:
        break;
    }
    return CLI_EXIT_INTERNAL; /* the wrapper has ended */
}

static int say_denied(const struct cli_keeper *keeper)
{
    return cli_message(CLI_EXIT_DENIED, keeper->args->name,
                       "the lock could not be released, since the servers do "
                       "not permit it: it ends with its lease (holdfast "
                       "doctor names the missing right)");
}

/* The command's own code goes before one of ours about its lock, which would
 * hide it. */
static int own_code(const struct cli_keeper *keeper, bool was_ours)
{
    int error = atomic_load(&keeper->run->link.shared->exec_errno);
    int code = cli_child_code(&keeper->child);
    if (keeper->survivor != 0) {
        (void)say_survivor(keeper, ": released", code);
    }
    if (error == ENOENT && strchr(keeper->args->command[0], '/') == NULL) {
        return cli_message(code, keeper->args->command[0], "command not found");
    }
    if (error != 0) {
        return cli_message_errno(code, keeper->args->command[0], error);
    }
    if (code != 0) {
        return code;
    }
    if (keeper->is_lost) {
        return CLI_EXIT_LOST; /* --on-lost warn has printed a line already */
    }
    if (!was_ours) {
        return cli_message(CLI_EXIT_LOST, keeper->args->name,
                           "the lock was no longer ours when the command "
                           "ended");
    }
    if (keeper->is_denied) {
        return say_denied(keeper);
    }
    return 0;
}

int cli_keeper_code(const struct cli_keeper *keeper, bool was_ours)
{
    HF_ASSERT(keeper->lock == NULL); /* it is released before the report */
    if (atomic_load(&keeper->run->link.shared->exec_errno) == ETIME) {
        return cli_message(CLI_EXIT_LOST, keeper->args->name,
                           "the lease was over before the command could be "
                           "started");
    }
    return keeper->why != CLI_WHY_NONE ? ended_code(keeper)
                                       : own_code(keeper, was_ours);
}
