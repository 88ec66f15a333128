/* SPDX-License-Identifier: Apache-2.0 */
/* Breaking a lock: taking a name from its holder.
 *
 *   read the mark that --once left
 *   BREAK to all nodes: the breaker replaces the holder; the expiry stays
 *   wait until the last of the leases that were found has expired
 *   withdraw the mark: it would keep --once from running
 *   RELEASE to the nodes that replied: raises the counter and frees the name
 *
 * From BREAK on the holder cannot renew. Its own deadline is before the expiry
 * at the nodes, so no client gets the name before the holder has stopped. With
 * `frees_now` the name is freed at once, and two clients may run until that
 * deadline; the fence increases in both cases. A name that is only reserved
 * after a release is freed at once, too.
 *
 * If the break is cancelled, the nodes that replied give the name back. The
 * holder is owner at the same counter again and can renew, unless a majority
 * has refused a renewal in between. Shared holds are not restored.
 *
 * No client holds for longer than max_ttl from now, on which all clients of a
 * store agree. A longer remaining time comes from a clock that was set back:
 * the node cuts it.
 *
 * A node in quarantine may have lost a lease. If no majority of voting nodes
 * replied, the break waits for max_ttl.
 *
 * A node that did not reply in time may execute BREAK later, and take the name
 * from a later holder. A RELEASE after that would free the name
 * while it is held. So none is sent there: the breaker's entry expires with the
 * lease that it replaced.
 *
 * Only the mark that was read before BREAK is withdrawn: if the name was free,
 * another run may have begun since.
 *
 * Each step has one child: a query or a release. When it ends, the break is
 * done, and is listed again for the next step, by the waiting call or by
 * hf_client_process(). So `may_wait` is called there, too.
 *
 * Cost: a round trip each for the mark, BREAK and RELEASE, one more each to
 * withdraw a mark and to free a lock of another library; and the wait. */
#include "client/break.h"

#include "client/adopt.h"
#include "client/callback.h"
#include "client/cancel.h"
#include "client/holder_hint.h"

#include "base/assert.h"
#include "base/fail.h"
#include "core/validity.h"

#include <string.h>

/* The first error is the result. */
static void note(struct hf_break *brk, const struct hf_error *error)
{
    if (brk->why.status == HF_OK && error->status != HF_OK) {
        brk->why = *error;
    }
}

static void note_cancelled(struct hf_break *brk)
{
    struct hf_error error;
    hf_fail(&error, HF_CANCELLED, "%s",
            brk->op.client->is_closing ? "the client was closed"
                                       : hf_status_text(HF_CANCELLED));
    note(brk, &error);
}

/* ---- Waiting for the lease --------------------------------------------- */

/* The remaining lease plus drift: by then it has expired on every clock that is
 * within drift of ours. */
static struct hf_span span_of(const struct hf_seizure *found)
{
    struct hf_span left = hf_span_ms(found->left_ms);
    return hf_span_add(left, hf_drift(left));
}

/* may_wait() may call any function, so it runs without the mutex. */
static void ask_whether(struct hf_break *brk)
{
    struct hf_client *client = brk->op.client;
    const struct hf_holder_hint *rival = &brk->seizure->rival;
    char text[HF_HOLDER_HINT_TEXT_MAX];
    struct hf_error error = {.status = HF_OK};
    struct hf_holder holder;
    struct hf_caller self;
    hf_holder_hint_holder(rival, client->now, &holder);
    int64_t left_ms = hf_span_ms_ceil(span_of(brk->seizure));
    hf_client_let_out(client, &self);
    bool may = brk->may_wait(brk->op.user, &holder, left_ms);
    hf_client_take_in(client, &self);
    if (client->is_closing || brk->op.is_dropped) {
        note_cancelled(brk);
    } else if (!may && !rival->is_known) {
        hf_fail(&error, HF_BUSY,
                "a server in quarantine may have lost its lease");
    } else if (!may) {
        hf_holder_hint_write(rival, client->now, text, sizeof(text));
        hf_fail(&error, HF_BUSY, "%s", text);
    }
    note(brk, &error);
}

/* ---- Which step comes next --------------------------------------------- */

static enum hf_break_step free_it(struct hf_break *brk)
{
    if (brk->frees_now) {
        return HF_BREAK_OVER;
    }
    return brk->seizure->has_long ? HF_BREAK_FREE_LONG : HF_BREAK_FREE;
}

/* The lease has expired: the breaker holds the name and may free it. */
static enum hf_break_step end_lease(struct hf_break *brk)
{
    brk->seizure->stage = HF_SEIZURE_OVER;
    brk->held_until_ms = brk->frees_now ? brk->held_until_ms : 0;
    bool is_marked = brk->mark.fence != 0 &&
                     hf_instant_before(brk->op.client->now, brk->mark.end);
    return is_marked ? HF_BREAK_WITHDRAW_MARK : free_it(brk);
}

static enum hf_break_step wait_for_lease(struct hf_break *brk)
{
    struct hf_error error;
    const struct hf_seizure *found = brk->seizure;
    if (found->is_refused) {
        hf_fail(&error, HF_BUSY, "held by another kind of client, %s: %s",
                found->is_endless ? "without expiry"
                                  : "in a form that cannot be written again",
                "only with --now");
        note(brk, &error);
        return HF_BREAK_GIVE_BACK;
    }
    if (found->left_ms <= 0) {
        return end_lease(brk);
    }
    brk->end = hf_instant_add(brk->op.client->now, span_of(found));
    if (brk->may_wait != NULL) {
        ask_whether(brk);
    }
    if (brk->op.is_dropped || brk->op.client->is_closing) {
        return HF_BREAK_OVER; /* hf_seizure_close() gives it back */
    }
    return brk->why.status == HF_OK ? HF_BREAK_WAIT : HF_BREAK_GIVE_BACK;
}

/* The step after one that is done, or that could not begin: no memory. */
static enum hf_break_step next_step(struct hf_break *brk)
{
    bool is_well = brk->why.status == HF_OK;
    switch (brk->step) {
    case HF_BREAK_FIND_MARK:
        return is_well ? HF_BREAK_TAKE : HF_BREAK_OVER;
    case HF_BREAK_TAKE:
        if (brk->frees_now || brk->seizure->stage == HF_SEIZURE_IDLE) {
            return is_well ? end_lease(brk) : HF_BREAK_OVER;
        }
        return is_well ? wait_for_lease(brk) : HF_BREAK_GIVE_BACK;
    case HF_BREAK_WAIT:
        return is_well ? end_lease(brk) : HF_BREAK_GIVE_BACK;
    case HF_BREAK_WITHDRAW_MARK:
        return free_it(brk);
    case HF_BREAK_FREE_LONG:
        return HF_BREAK_FREE;
    case HF_BREAK_FREE:
    case HF_BREAK_GIVE_BACK:
    case HF_BREAK_OVER:
        break;
    }
    return HF_BREAK_OVER;
}

/* ---- The steps --------------------------------------------------------- */

static void init_release(struct hf_break *brk)
{
    struct hf_op *op = &brk->release;
    const struct hf_seizure *seizure = brk->seizure;
    size_t more = brk->step == HF_BREAK_FREE_LONG ? HF_LONG_MARK_LEN : 0;
    hf_op_init(op, brk->op.client, &hf_release_foreign_handlers);
    op->counter = seizure->counter;
    op->spared = (uint16_t)~seizure->replied;
    op->order = (struct hf_order){
        .name = seizure->name,
        .name_len = seizure->name_len,
        .text = seizure->owner,
        .text_len = seizure->owner_len + more,
        .is_owner = true,
        .is_lasting = true,
        .ttl_ms = brk->op.client->url->max_ttl_ms,
    };
}

/* Cannot fail: out of memory, the release itself ends with HF_NO_MEMORY. */
static void begin_release(struct hf_break *brk)
{
    init_release(brk);
    brk->release.parent = &brk->op;
    brk->op.n_children++;
    hf_release_foreign_begin(&brk->release);
}

/** @return false: no memory for a request. A release needs none: it is a part
 * of the break. */
static bool begin_child(struct hf_break *brk)
{
    struct hf_seizure *seizure = brk->seizure;
    switch (brk->step) {
    case HF_BREAK_FIND_MARK:
        return hf_mark_find_begin(&brk->ask, &brk->op, seizure->name,
                                  seizure->name_len);
    case HF_BREAK_TAKE:
        return hf_seizure_begin(seizure, brk->frees_now, &brk->op);
    case HF_BREAK_WAIT:
        hf_timer_heap_set(&brk->op.client->heap, &brk->op.item, brk->end);
        return true;
    case HF_BREAK_WITHDRAW_MARK:
        return hf_mark_withdraw_begin(&brk->ask, &brk->op, seizure->name,
                                      seizure->name_len, &brk->mark);
    case HF_BREAK_FREE_LONG:
    case HF_BREAK_FREE:
        begin_release(brk);
        return true;
    case HF_BREAK_GIVE_BACK:
        hf_seizure_give_back(seizure, &brk->op);
        return true;
    case HF_BREAK_OVER:
        break;
    }
    HF_ASSERT(false);
    return false;
}

/* brk->op is listed. n_children is 1 too high until the child has begun, so
 * that a child that ends at once does not end the break; for WAIT, the timer is
 * the child. */
static bool begin_listed(struct hf_break *brk)
{
    struct hf_op *op = &brk->op;
    op->is_cleanup = brk->step > HF_BREAK_WAIT;
    if (op->is_cleanup) {
        op->interrupts = atomic_load(&op->client->interrupts);
    }
    op->n_children = 1;
    if (!begin_child(brk)) {
        return false;
    }
    if (brk->step != HF_BREAK_WAIT) {
        hf_op_end_child(op);
    }
    return true;
}

bool hf_break_begin(struct hf_break *brk)
{
    struct hf_error error;
    brk->op.is_done = false;
    if (hf_op_list(&brk->op) && begin_listed(brk)) {
        return true;
    }
    hf_op_unlist(&brk->op);
    brk->op.is_done = true;
    hf_fail_memory(&error);
    note(brk, &error);
    return false;
}

/* Without a majority of voting nodes, a lease may be unknown: assume max_ttl.
 */
static void judge_taken(struct hf_break *brk)
{
    const struct hf_client *client = brk->op.client;
    struct hf_seizure *found = brk->seizure;
    int64_t most_ms = client->url->max_ttl_ms;
    if (__builtin_popcount(found->voting) < client->nodes.quorum &&
        found->left_ms < most_ms) {
        found->left_ms = most_ms;
    }
    brk->held_until_ms = found->is_endless ? -1 : found->left_ms;
    note(brk, &found->take.op.error);
}

static void judge(struct hf_break *brk)
{
    struct hf_error error = {.status = HF_OK};
    switch (brk->step) {
    case HF_BREAK_FIND_MARK:
        note(brk, &brk->ask.query.op.error);
        hf_mark_found(&brk->ask, &brk->mark);
        break;
    case HF_BREAK_TAKE:
        judge_taken(brk);
        break;
    case HF_BREAK_WITHDRAW_MARK:
        (void)hf_mark_withdrawn(&brk->ask, &error);
        note(brk, &error);
        break;
    case HF_BREAK_FREE_LONG:
    case HF_BREAK_FREE:
        if (brk->release.status != HF_LOST) {
            note(brk, &brk->release.error);
        }
        break;
    case HF_BREAK_WAIT:
    case HF_BREAK_GIVE_BACK:
    case HF_BREAK_OVER:
        break;
    }
}

bool hf_break_go_on(struct hf_op *op)
{
    struct hf_break *brk = hf_break_of(op);
    judge(brk);
    if (brk->step < HF_BREAK_WAIT && hf_op_is_cancelled(op)) {
        note_cancelled(brk);
    }
    do {
        brk->step = next_step(brk);
    } while (brk->step != HF_BREAK_OVER && !hf_break_begin(brk));
    if (brk->step != HF_BREAK_OVER) {
        return false;
    }
    hf_seizure_close(brk->seizure);
    brk->seizure = NULL;
    op->status = brk->why.status;
    op->error = brk->why;
    return true;
}

/* ---- Cancelling -------------------------------------------------------- */

static void release_behind(struct hf_break *brk, enum hf_break_step step)
{
    brk->step = step;
    init_release(brk);
    hf_release_foreign_begin(&brk->release);
    if (!brk->release.is_done) {
        hf_op_abandon(&brk->release);
    }
}

/* A break that is given up must not keep the name: it is given back in the
 * background, or freed there if its lease has expired. */
static void abandon(struct hf_op *op)
{
    struct hf_break *brk = hf_break_of(op);
    if (brk->seizure == NULL) {
        return; /* over */
    }
    if (!brk->ask.query.op.is_done) {
        hf_op_abandon(&brk->ask.query.op);
    }
    if (!brk->release.is_done) {
        hf_op_abandon(&brk->release);
    }
    bool is_ours = !brk->frees_now && brk->seizure->stage == HF_SEIZURE_OVER &&
                   brk->step != HF_BREAK_GIVE_BACK;
    if (is_ours && brk->step == HF_BREAK_WITHDRAW_MARK &&
        brk->seizure->has_long) {
        release_behind(brk, HF_BREAK_FREE_LONG);
    }
    if (is_ours && brk->step != HF_BREAK_FREE) {
        release_behind(brk, HF_BREAK_FREE);
    }
    hf_seizure_close(brk->seizure);
    brk->seizure = NULL;
}

/* Only WAIT sets the timer: the holder's lease has expired. */
static void on_due(struct hf_op *op)
{
    hf_op_finish(op, HF_OK);
}

const struct hf_op_handlers hf_break_handlers = {
    .kind = HF_OP_BREAK,
    .due = on_due,
    .abandon = abandon,
    .discard = abandon, /* it is between two steps */
};

bool hf_break_interrupt(struct hf_break *brk)
{
    struct hf_op *op = &brk->op;
    bool is_taken = brk->step == HF_BREAK_TAKE || brk->step == HF_BREAK_WAIT;
    note_cancelled(brk);
    if (!is_taken || brk->frees_now || op->client->is_closing) {
        hf_op_abandon(op);
        return true;
    }
    hf_timer_heap_set(&op->client->heap, &op->item, HF_NEVER);
    brk->step = HF_BREAK_GIVE_BACK;
    return !begin_listed(brk);
}
