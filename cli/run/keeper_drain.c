/* SPDX-License-Identifier: Apache-2.0 */
/* A command that ends by itself may leave processes running. One that a signal
 * ended has not decided that: its descendants may be in the middle of what the
 * lock protects. So the keeper goes on renewing until all of them have ended.
 * After a grace, as with --max-hold, it kills those that are left.
 *
 *     SIGTERM       command dies     last descendant ends, or is killed
 *     |-------------|----------------|
 *                    grace at most    release
 *
 * The terminal is given back when the command dies. So Ctrl-C reaches the
 * wrapper from then on, which hands it on to what is left of the group. */
#include "run/keeper.h"

#include "clocks.h"
#include "exit_code.h"
#include "run/kill_tree.h"

#include <signal.h>
#include <sys/wait.h>

/* Signals that ask a program to end. Others, such as SIGUSR1, count only if the
 * command died of them. */
static bool was_asked(const struct cli_keeper *keeper)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigismember(&keeper->handed, numbers[i]) == 1) {
            return true;
        }
    }
    return false;
}

/* Ctrl-C went to the command's whole group. A shell exits with 130 then. */
static bool was_typed(const struct cli_keeper *keeper)
{
    int signal = cli_child_code(&keeper->child) - CLI_EXIT_SIGNAL;
    return (signal == SIGINT || signal == SIGQUIT) &&
           cli_term_group(&keeper->term) == keeper->child.pid;
}

/* Without the lock there is nothing to protect. */
static bool has_lock(const struct cli_keeper *keeper)
{
    return keeper->lock != NULL &&
           !(keeper->is_lost && keeper->args->on_lost == CLI_LOST_WARN);
}

static bool begin(struct cli_keeper *keeper)
{
    /* A signal to the whole service may be in the link still. */
    (void)cli_keeper_hear(keeper);
    bool is_known = was_asked(keeper) || was_typed(keeper);
    if (!is_known && !WIFSIGNALED(keeper->child.status)) {
        return false;
    }
    keeper->drain_ns = cli_time_now_ns() + keeper->grace_ns;
    cli_keeper_give_terminal(keeper);
    if (!is_known) { /* the signal was for the command alone */
        cli_keeper_signal(keeper, SIGTERM);
    }
    cli_keeper_signal(keeper, SIGCONT);
    return true;
}

bool cli_keeper_drains(struct cli_keeper *keeper)
{
    if (keeper->is_alone || !has_lock(keeper)) {
        return false;
    }
    if (keeper->drain_ns != 0) {
        return true;
    }
    /* What the keeper ends has had its grace. */
    return keeper->why == CLI_WHY_NONE && begin(keeper);
}

void cli_keeper_signal(const struct cli_keeper *keeper, int number)
{
    if (!keeper->child.is_over) {
        cli_child_signal(&keeper->child, number);
    } else if (keeper->drain_ns != 0) {
        cli_kill_tree_signal(&keeper->run->kill_tree, keeper->child.pid,
                             number);
    }
}
