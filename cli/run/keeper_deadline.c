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

/* Milliseconds. Default grace: a quarter of the lease, so that a lost renewal
 * can be repeated before it begins, and never more than: */
#define GRACE_MS_MAX 10000

/* After a late kill: how long to wait for the last process to end before it is
 * reported as a survivor. */
#define KILL_MS 5000

/* Two readings of the same deadline differ by the rounding to milliseconds. */
#define SAME_MS 3

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
    keeper->grace = hf_span_ms(grace_ms);
    keeper->margin = hf_span_ms(least(MARGIN_MS, ttl_ms / 8));
}

static struct hf_instant last_kill_at(const struct cli_keeper *keeper)
{
    return hf_instant_sub(keeper->deadline, keeper->margin);
}

static bool is_due(struct hf_instant now, struct hf_instant at)
{
    return !hf_instant_before(now, at);
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

static void set_deadline(struct cli_keeper *keeper, struct hf_instant deadline)
{
    HF_ASSERT(!hf_instant_is_never(deadline));
    keeper->deadline = deadline;
    if (is_enforced(keeper)) {
        cli_ipc_set_last_timer(
            &keeper->run->link,
            hf_instant_sub(deadline, hf_span_div(keeper->margin, 2)));
    }
}

void cli_keeper_begin(struct cli_keeper *keeper, int64_t ttl_ms)
{
    HF_ASSERT(keeper->why == CLI_WHY_NONE && !keeper->is_lost);
    set_margins(keeper, ttl_ms);
    keeper->started = cli_time_now();
    keeper->deadline = HF_NEVER;
    if (keeper->lock == NULL) {
        return;
    }
    keeper->state = HF_STATE_HELD;
    set_deadline(
        keeper, hf_instant_add(keeper->started,
                               hf_span_ms(hf_lock_remaining_ms(keeper->lock))));
    atomic_store(&keeper->run->link.shared->is_kept, true);
    cli_status_lock(keeper->status, "acquired", keeper->lock);
}

void cli_keeper_add_group(struct cli_keeper *keeper)
{
    HF_ASSERT(keeper->child.pid > 1);
    if (keeper->lock != NULL && !keeper->has_group) {
        keeper->has_group =
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
    struct hf_instant now = cli_time_now();
    keeper->state = hf_lock_state(keeper->lock);
    if (keeper->state == HF_STATE_LOST) {
        keeper->is_lost_by_reply = hf_instant_before(now, keeper->deadline);
        set_lost(keeper);
        if (is_enforced(keeper)) {
            cli_keeper_end(keeper, CLI_WHY_LOST);
        }
        cli_lost_look(
            &keeper->lost, keeper->client, keeper->lock, keeper->args,
            hf_span_ms_floor(hf_instant_until(now, keeper->deadline)));
        return;
    }
    /* The clock was read first, so the deadline can only be early. */
    struct hf_instant deadline =
        hf_instant_add(now, hf_span_ms(hf_lock_remaining_ms(keeper->lock)));
    struct hf_span later = hf_instant_until(keeper->deadline, deadline);
    if (later.ns > hf_span_ms(SAME_MS).ns) {
        set_deadline(keeper, deadline);
        cli_status_lock(keeper->status, "renewed", keeper->lock);
        cli_keeper_add_group(keeper);
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
    keeper->terminated = cli_time_now();
    cli_keeper_signal(keeper, SIGTERM);
    /* SIGCONT: a stopped command cannot handle SIGTERM. */
    cli_keeper_signal(keeper, SIGCONT);
}

void cli_keeper_kill(struct cli_keeper *keeper)
{
    struct hf_instant now = cli_time_now();
    struct hf_instant until = hf_instant_add(now, hf_span_ms(KILL_MS));
    if (cli_keeper_is_draining(keeper) &&
        hf_instant_before(now, last_kill_at(keeper))) {
        /* Nothing is renewed meanwhile, and the release needs time, too. */
        struct hf_span left = hf_instant_until(now, keeper->deadline);
        until =
            hf_instant_min(until, hf_instant_add(now, hf_span_div(left, 2)));
    }
    pid_t group = keeper->child.is_over ? 0 : keeper->child.pid;
    HF_ASSERT(keeper->child.pid > 1);
    if (keeper->child.is_over) {
        cli_keeper_signal(keeper, SIGKILL); /* what is left of its group */
    }
    keeper->survivor =
        cli_kill_tree_end(&keeper->run->kill_tree, group, 0, until);
    if (keeper->survivor == 0) {
        /* Not before: the keeper may be stopped while it kills. */
        cli_ipc_set_last_timer(&keeper->run->link, HF_NEVER);
    }
    keeper->child.is_over = true;
    atomic_store(&keeper->run->link.shared->group, 0);
}

static struct hf_instant kill_at(const struct cli_keeper *keeper)
{
    struct hf_instant at =
        is_enforced(keeper) ? last_kill_at(keeper) : HF_NEVER;
    at = hf_instant_min(at, keeper->drain_end);
    return hf_instant_min(at,
                          hf_instant_add(keeper->terminated, keeper->grace));
}

static struct hf_instant term_at(const struct cli_keeper *keeper)
{
    return is_enforced(keeper) ? hf_instant_sub(keeper->deadline, keeper->grace)
                               : HF_NEVER;
}

static struct hf_instant max_hold_at(const struct cli_keeper *keeper)
{
    int64_t ms = keeper->args->max_hold_ms;
    /* A command that has ended is within its limit. */
    return ms == CLI_UNSET || cli_keeper_is_draining(keeper)
               ? HF_NEVER
               : hf_instant_add(keeper->started, hf_span_ms(ms));
}

struct hf_instant cli_keeper_next(const struct cli_keeper *keeper)
{
    struct hf_instant next = kill_at(keeper);
    next = hf_instant_min(next, cli_keeper_signals_next(keeper));
    if (keeper->why == CLI_WHY_NONE) {
        next = hf_instant_min(next, term_at(keeper));
        next = hf_instant_min(next, max_hold_at(keeper));
    }
    if (keeper->lock != NULL && !keeper->is_lost) {
        next = hf_instant_min(next, keeper->deadline);
    }
    HF_ASSERT(!is_enforced(keeper) ||
              !hf_instant_before(last_kill_at(keeper), next));
    return next;
}

bool cli_keeper_enforce(struct cli_keeper *keeper)
{
    struct hf_instant now = cli_time_now();
    bool is_late = is_enforced(keeper) && is_due(now, last_kill_at(keeper));
    if (is_due(now, kill_at(keeper))) {
        keeper->was_asleep = keeper->why == CLI_WHY_NONE &&
                             (!cli_keeper_is_draining(keeper) || is_late);
        cli_keeper_kill(keeper);
        if (is_late) {
            keeper->why = CLI_WHY_LOST;
            set_lost(keeper);
        }
        return true;
    }
    if (keeper->lock != NULL && is_due(now, keeper->deadline)) {
        set_lost(keeper);
    }
    if (is_due(now, max_hold_at(keeper))) {
        cli_keeper_end(keeper, CLI_WHY_MAX_HOLD);
    }
    if (keeper->why == CLI_WHY_NONE && is_due(now, term_at(keeper))) {
        /* A renewal may have succeeded in this moment. */
        hf_client_process(keeper->client);
        cli_keeper_look(keeper);
        if (is_due(now, term_at(keeper))) {
            cli_keeper_end(keeper, CLI_WHY_LOST);
        }
    }
    return false;
}
