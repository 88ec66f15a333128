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

#include "base/assert.h"
#include "clocks.h"
#include "exit_code.h"
#include "run/kill_tree.h"

#include <signal.h>
#include <sys/wait.h>

static bool was_handed(const struct cli_keeper *keeper, int number)
{
    return sigismember(&keeper->handed, number) == 1;
}

/* Another signal that was handed on (SIGHUP to reload, say) counts only if the
 * command died of it. The terminal sends Ctrl-C to the command's group only, so
 * it is detected by the command's exit code. */
bool cli_keeper_was_asked(const struct cli_keeper *keeper)
{
    int signal = cli_child_code(&keeper->child) - CLI_EXIT_SIGNAL;
    bool is_from_terminal =
        (signal == SIGINT || signal == SIGQUIT) &&
        (keeper->had_terminal ||
         cli_term_group(&keeper->term) == keeper->child.pid);
    return was_handed(keeper, SIGINT) || was_handed(keeper, SIGTERM) ||
           was_handed(keeper, SIGQUIT) || is_from_terminal ||
           (signal > 0 && signal < NSIG && was_handed(keeper, signal));
}

/* Without the lock there is nothing to protect. */
static bool has_lock(const struct cli_keeper *keeper)
{
    return keeper->lock != NULL &&
           !(keeper->is_lost && keeper->args->on_lost == CLI_LOST_WARN);
}

/* A signal to the whole service reaches the command too, which may have ended
 * before the wrapper could hand it on. It may be in the link, and the keeper
 * has one of its own. */
static void receive_all(struct cli_keeper *keeper)
{
    (void)cli_keeper_receive(keeper);
    cli_keeper_signals_end(keeper);
}

static bool begin(struct cli_keeper *keeper)
{
    HF_ASSERT(keeper->child.is_over && !cli_keeper_is_draining(keeper));
    bool was_signalled =
        cli_keeper_was_asked(keeper); /* the command, in time */
    receive_all(keeper);
    if (!cli_keeper_was_asked(keeper) && !WIFSIGNALED(keeper->child.status)) {
        return false;
    }
    keeper->drain_end = hf_instant_add(cli_time_now(), keeper->grace);
    cli_keeper_give_terminal(keeper);
    if (!was_signalled) { /* the signal was for the command alone, or came late
                           */
        cli_keeper_signal(keeper, SIGTERM);
    }
    cli_keeper_signal(keeper, SIGCONT);
    return true;
}

bool cli_keeper_drains(struct cli_keeper *keeper)
{
    HF_ASSERT(keeper->child.is_over);
    if (keeper->is_alone || !has_lock(keeper)) {
        return false;
    }
    if (cli_keeper_is_draining(keeper)) {
        return true;
    }
    /* What the keeper ends has had its grace. */
    return keeper->why == CLI_WHY_NONE && begin(keeper);
}

void cli_keeper_signal(const struct cli_keeper *keeper, int number)
{
    if (!keeper->child.is_over) {
        cli_child_signal(&keeper->child, number);
    } else if (cli_keeper_is_draining(keeper)) {
        cli_kill_tree_signal(&keeper->run->kill_tree, keeper->child.pid,
                             number);
    }
}
