/* SPDX-License-Identifier: Apache-2.0 */
/* Killing the command before the lease ends.
 *
 *     taken                 renewed …            not renewed any more
 *       |--------ttl-----------|------------------------------------|
 *                                         ^ SIGTERM      ^ SIGKILL  deadline
 *                                         |--- grace ----|- margin -|
 *
 * The deadline is the end of the lease's validity as the library reports it,
 * minus drift, on a clock that counts suspend. At `deadline - grace` the
 * command gets SIGTERM. At `deadline - margin` all its descendants are killed,
 * and they are reaped before the deadline: the margin is the time for that, and
 * for a call into a store that blocks for its node_timeout (5% of the ttl). A
 * keeper that wakes up later (it was stopped, or the machine suspended) kills
 * first and checks the lock afterwards.
 *
 * Two calls wait for a store: hf_lock_add_process() after a renewal, which the
 * margin is for, and a look at the next holder, which ends before (lost_to.c).
 *
 * Cost: the clock is read after each event. A renewal costs one system call:
 * the last timer of the wrapper is set again. */
#include "clocks.h"
#include "run/keeper.h"

#include "base/assert.h"
#include "message.h"
#include "run/kill_tree.h"

#include <signal.h>
#include <string.h>

/* SIGKILL this long before the end. Dying takes about 1 ms; a loaded machine
 * may need a hundred to let us run. A short lease cannot spare that much. */
#define MARGIN_MS 250

/* Default grace: a quarter of the lease, and never more than: */
#define GRACE_MS_MAX 10000

/* After a late kill: how long to wait for the last process to end before it is
 * reported as a survivor. */
#define KILL_MS 5000

/* Two readings of the same deadline differ by the rounding to milliseconds. */
#define SAME_NS (3 * CLI_NS_PER_MS)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_margins(struct cli_keeper *keeper, int64_t ttl_ms)
{
    int64_t grace_ms = keeper->args->kill_grace_ms;
    HF_ASSERT(ttl_ms > 0);
    if (grace_ms == CLI_UNSET) {
        grace_ms = least(ttl_ms / 4, GRACE_MS_MAX);
    }
    HF_ASSERT(grace_ms >= 0 && grace_ms <= ttl_ms / 2);
    keeper->grace_ns = grace_ms * CLI_NS_PER_MS;
    keeper->margin_ns = least(MARGIN_MS, ttl_ms / 8) * CLI_NS_PER_MS;
}

static bool is_enforced(const struct cli_keeper *keeper)
{
    return keeper->lock != NULL && keeper->args->on_lost == CLI_LOST_KILL;
}

static void warn_lost(const struct cli_keeper *keeper)
{
    struct cli_out out;
    cli_message_begin_brief(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    cli_out_text(&out, ": the lock is lost; the command goes on "
                       "(--on-lost warn)");
    (void)cli_message_end(&out, 0);
}

/* Noted before it is written: a keeper that dies in between writes none, and
 * none is written twice. */
void cli_keeper_say_end(struct cli_keeper *keeper, const char *event)
{
    atomic_store(&keeper->run->link.shared->is_kept, false);
    cli_status_say(keeper->status, event);
}

static void set_lost(struct cli_keeper *keeper)
{
    if (keeper->is_lost) {
        return;
    }
    HF_ASSERT(keeper->lock != NULL); /* there is one to lose */
    keeper->is_lost = true;
    cli_keeper_say_end(keeper, "lost");
    if (keeper->args->on_lost == CLI_LOST_WARN) {
        warn_lost(keeper);
    }
}

static void set_deadline(struct cli_keeper *keeper, int64_t deadline_ns)
{
    HF_ASSERT(deadline_ns > keeper->margin_ns);
    keeper->deadline_ns = deadline_ns;
    if (is_enforced(keeper)) {
        cli_ipc_set_last_timer(&keeper->run->link,
                               deadline_ns - keeper->margin_ns / 2);
    }
}

void cli_keeper_begin(struct cli_keeper *keeper, int64_t ttl_ms)
{
    HF_ASSERT(keeper->why == CLI_WHY_NONE && !keeper->is_lost);
    set_margins(keeper, ttl_ms);
    keeper->started_ns = cli_time_now_ns();
    keeper->deadline_ns = INT64_MAX;
    if (keeper->lock == NULL) {
        return;
    }
    keeper->state = HF_STATE_HELD;
    set_deadline(keeper,
                 keeper->started_ns +
                     hf_lock_remaining_ms(keeper->lock) * CLI_NS_PER_MS);
    atomic_store(&keeper->run->link.shared->is_kept, true);
    cli_status_lock(keeper->status, "acquired", keeper->lock);
}

void cli_keeper_cover(struct cli_keeper *keeper)
{
    HF_ASSERT(keeper->child.pid > 1);
    if (keeper->lock != NULL && !keeper->is_covered) {
        keeper->is_covered =
            hf_lock_add_process(keeper->lock, -(int64_t)keeper->child.pid) ==
            HF_OK;
    }
}

void cli_keeper_look(struct cli_keeper *keeper)
{
    if (keeper->lock == NULL || keeper->is_lost) {
        return;
    }
    enum hf_state before = keeper->state;
    int64_t now_ns = cli_time_now_ns();
    keeper->state = hf_lock_state(keeper->lock);
    if (keeper->state == HF_STATE_LOST) {
        keeper->is_lost_by_reply = now_ns < keeper->deadline_ns;
        set_lost(keeper);
        if (is_enforced(keeper)) {
            cli_keeper_end(keeper, CLI_WHY_LOST);
        }
        cli_lost_look(&keeper->lost, keeper->client, keeper->lock, keeper->args,
                      (keeper->deadline_ns - now_ns) / CLI_NS_PER_MS);
        return;
    }
    /* The clock was read first, so the deadline can only be early. */
    int64_t deadline_ns =
        now_ns + hf_lock_remaining_ms(keeper->lock) * CLI_NS_PER_MS;
    if (deadline_ns > keeper->deadline_ns + SAME_NS) {
        set_deadline(keeper, deadline_ns);
        cli_status_lock(keeper->status, "renewed", keeper->lock);
        cli_keeper_cover(keeper);
    }
    if (keeper->state == HF_STATE_AT_RISK && before == HF_STATE_HELD) {
        cli_status_lock(keeper->status, "at-risk", keeper->lock);
    }
}

void cli_keeper_end(struct cli_keeper *keeper, enum cli_why why)
{
    HF_ASSERT(why != CLI_WHY_NONE);
    if (keeper->why != CLI_WHY_NONE) {
        /* A loss comes before other reasons: with their exit codes a caller
         * would take the work for protected to its end. */
        keeper->why = why == CLI_WHY_LOST ? why : keeper->why;
        return;
    }
    keeper->why = why;
    keeper->ending_ns = cli_time_now_ns();
    cli_keeper_signal(keeper, SIGTERM);
    /* SIGCONT: a stopped command cannot handle SIGTERM. */
    cli_keeper_signal(keeper, SIGCONT);
}

void cli_keeper_kill(struct cli_keeper *keeper)
{
    int64_t now_ns = cli_time_now_ns();
    int64_t until_ns = now_ns + KILL_MS * CLI_NS_PER_MS;
    if (keeper->drain_ns != 0 &&
        now_ns < keeper->deadline_ns - keeper->margin_ns) {
        /* Nothing is renewed meanwhile, and the release needs time, too. */
        until_ns = least(until_ns, now_ns + (keeper->deadline_ns - now_ns) / 2);
    }
    pid_t group = keeper->child.is_over ? 0 : keeper->child.pid;
    HF_ASSERT(keeper->child.pid > 1);
    if (keeper->child.is_over) {
        cli_keeper_signal(keeper, SIGKILL); /* what is left of its group */
    }
    keeper->survivor =
        cli_kill_tree_end(&keeper->run->kill_tree, group, 0, until_ns);
    if (keeper->survivor == 0) {
        /* Not before: the keeper may be stopped while it kills. */
        cli_ipc_set_last_timer(&keeper->run->link, CLI_LINK_NEVER);
    }
    keeper->child.is_over = true;
    atomic_store(&keeper->run->link.shared->group, 0);
}

static int64_t kill_at(const struct cli_keeper *keeper)
{
    int64_t end_ns = is_enforced(keeper)
                         ? keeper->deadline_ns - keeper->margin_ns
                         : INT64_MAX;
    if (keeper->drain_ns != 0) {
        end_ns = least(end_ns, keeper->drain_ns);
    }
    return keeper->why == CLI_WHY_NONE
               ? end_ns
               : least(end_ns, keeper->ending_ns + keeper->grace_ns);
}

static int64_t term_at(const struct cli_keeper *keeper)
{
    return is_enforced(keeper) ? keeper->deadline_ns - keeper->grace_ns
                               : INT64_MAX;
}

static int64_t max_hold_at(const struct cli_keeper *keeper)
{
    int64_t ms = keeper->args->max_hold_ms;
    /* A command that has ended is within its limit. */
    return ms == CLI_UNSET || keeper->drain_ns != 0
               ? INT64_MAX
               : keeper->started_ns + ms * CLI_NS_PER_MS;
}

int64_t cli_keeper_next(const struct cli_keeper *keeper)
{
    int64_t next_ns = kill_at(keeper);
    next_ns = least(next_ns, cli_keeper_signals_next(keeper));
    if (keeper->why == CLI_WHY_NONE) {
        next_ns = least(next_ns, least(term_at(keeper), max_hold_at(keeper)));
    }
    if (keeper->lock != NULL && !keeper->is_lost) {
        next_ns = least(next_ns, keeper->deadline_ns);
    }
    HF_ASSERT(!is_enforced(keeper) ||
              next_ns <= keeper->deadline_ns - keeper->margin_ns);
    return next_ns;
}

bool cli_keeper_enforce(struct cli_keeper *keeper)
{
    int64_t now_ns = cli_time_now_ns();
    bool is_late = is_enforced(keeper) &&
                   now_ns >= keeper->deadline_ns - keeper->margin_ns;
    if (now_ns >= kill_at(keeper)) {
        keeper->was_asleep =
            keeper->why == CLI_WHY_NONE && (keeper->drain_ns == 0 || is_late);
        cli_keeper_kill(keeper);
        if (is_late) {
            keeper->why = CLI_WHY_LOST;
            set_lost(keeper);
        }
        return true;
    }
    if (keeper->lock != NULL && now_ns >= keeper->deadline_ns) {
        set_lost(keeper);
    }
    if (now_ns >= max_hold_at(keeper)) {
        cli_keeper_end(keeper, CLI_WHY_MAX_HOLD);
    }
    if (keeper->why == CLI_WHY_NONE && now_ns >= term_at(keeper)) {
        /* A renewal may have succeeded in this moment. */
        hf_client_process(keeper->client);
        cli_keeper_look(keeper);
        if (now_ns >= term_at(keeper)) {
            cli_keeper_end(keeper, CLI_WHY_LOST);
        }
    }
    return false;
}
