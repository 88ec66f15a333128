/* SPDX-License-Identifier: Apache-2.0 */
/* SEVERAL LOCKS, ALL OR NONE
 *
 * A bundle is "all of these parts, in order", and a part is "any one of these
 * locks":
 *
 *     a, b, c              three parts of one lock each, sorted by bytes
 *
 *     a permit of n,       two parts: n, shared, which has the size; then any
 *     a semaphore of 3     one of n#0, n#1, n#2 (semaphore.c)
 *
 * A lock is taken if another owner has it, held if this bundle has it, and
 * split if no owner has a majority.
 *
 * SWEEP: ask for one lock of each part, all at the same time, without queueing.
 *   If all are free, that is one round trip where there is one server. Of a
 * part with many locks, ask for more while those before are taken or split; one
 *   that is split is asked for again all the while.
 * WAIT: otherwise keep and renew the locks of the parts before the first
 *   missing part, release the later ones, and wait for the missing part, in
 *   the queues of all its locks at the same time. Then sweep the rest again.
 *
 * There is no deadlock: a bundle that waits holds only locks that sort before
 * the one that it waits for. Later locks come from a sweep, and are released
 * before the wait begins. While an earlier lock is split they are held, at the
 * longest until the leases of its minorities have ended.
 *
 * A try is a request with wait_ms 0. One that has its first parts waits
 * PATIENCE_MS for the next, within its 0.9 s: the owner may be another sweep
 * that is about to release it. Without this wait, two tries in conflict could
 * both fail.
 *
 * Each member is an ordinary acquisition (acquire.c) with `bundle` set: it
 * keeps the lock that it acquires until the bundle has all its parts.
 *
 * Cost: one round trip if all parts are free; else one sweep more for each
 * part that was waited for. While it waits, one renewal for each lock held. */
#include "client/multi_name.h"

#include "client/acquire.h"
#include "client/multi_name_parts.h"
#include "client/release.h"
#include "client/step.h"
#include "client/unavailable.h"

#include <stdio.h>

/* How long a try waits for a release by another sweep: some round trips, and
 * short for an interactive user. */
#define PATIENCE_MS 100

/* The end of a sweep that asks for more locks of a part, in milliseconds from
 * the begin of a try, or from the end of a wait: a call may return a second
 * late. */
#define SWEEP_MS_MAX 900

/* A wait without end fails within 5 s if no majority was ever reached, as for a
 * single name; 200 ms of that are left for the error. */
#define FIRST_REACH_MS 4800

/* The interval, in milliseconds, at which a sweep is looked at if nothing but
 * time changes it: after the end of the wait, and for nodes that have become
 * silent. As short as a round trip. */
#define DUE_AGAIN_MS 10

/* ---- Finished members -------------------------------------------------- */

/* Only queues the bundle: hf_bundles_pump() continues it when no step is on the
 * stack. */
static void on_member(struct hf_op *op, struct hf_op *member)
{
    struct hf_bundle *bundle = hf_bundle_of(op);
    struct hf_lock *lock = member->lock;
    HF_ASSERT(member->bundle == op);
    if (lock != NULL) { /* held: no handle yet */
        lock->op = member;
    }
    if (!bundle->has_news) {
        bundle->has_news = true;
        bundle->next = bundle->op.client->bundles;
        bundle->op.client->bundles = bundle;
    }
}

/* ---- Steps ------------------------------------------------------------- */

static bool is_try(const struct hf_bundle *bundle)
{
    return bundle->op.order.wait_ms == 0;
}

static void look_after(struct hf_bundle *bundle, int64_t ms)
{
    struct hf_client *client = bundle->op.client;
    hf_timer_heap_set(&client->heap, &bundle->op.item,
                      hf_instant_add(client->now, hf_span_ms(ms)));
}

/* The rest of the wait; 0: it is over; negative: without end. */
static int64_t left_ms(const struct hf_bundle *bundle)
{
    if (hf_instant_is_never(bundle->until)) {
        return HF_WAIT_FOREVER;
    }
    int64_t ms = hf_span_ms_ceil(
        hf_instant_until(bundle->op.client->now, bundle->until));
    return ms > 0 ? ms : 0;
}

/* For a sweep of more locks than the first. */
static bool has_time(const struct hf_bundle *bundle)
{
    struct hf_span most = hf_span_ms(SWEEP_MS_MAX);
    struct hf_instant end = bundle->op.order.wait_ms > 0
                                ? hf_instant_add(bundle->until, most)
                                : hf_instant_add(bundle->began, most);
    return hf_instant_before(bundle->op.client->now, end);
}

static void try_more(struct hf_part *part, unsigned count)
{
    HF_ASSERT(part->tried + count <= part->count);
    for (; count > 0; count--, part->tried++) {
        hf_member_begin(
            &part->members[(part->start + part->tried) % part->count], 0);
    }
}

/* One lock of each part first, all at once: what is free costs one round trip,
 * and a semaphore is not asked for more permits than it needs. */
static void sweep(struct hf_bundle *bundle)
{
    HF_ASSERT(bundle->at < bundle->n_parts);
    bundle->stage = HF_STAGE_SWEEP;
    bundle->swept_at = bundle->op.client->now;
    for (unsigned i = bundle->at; i < bundle->n_parts; i++) {
        bundle->parts[i].tried = 0;
        try_more(&bundle->parts[i], 1);
    }
}

/* Only a node that has long been silent could grant it. */
static bool is_stuck(const struct hf_member *member)
{
    return hf_member_is_asking(member) && hf_acquire_is_stuck(&member->op);
}

/* A majority has answered its last attempt, and no owner has one. It is being
 * tried again, unless it is stuck. */
static bool is_split(const struct hf_member *member)
{
    return hf_member_is_asking(member) &&
           (member->op.is_split || is_stuck(member));
}

static bool is_refused(const struct hf_member *member)
{
    return (hf_member_has_failed(member) && member->op.status == HF_BUSY) ||
           is_split(member);
}

/** The latest lock that the sweep has asked for is taken, or split: ask for as
 * many more as before. If a wait follows, only up to a quarter of all, since
 * the wait asks for all of them. A try asks for all, as it may report "all are
 * taken" only then; for the rest at once when its patience is over, or when a
 * silent node has used up HF_ACQUIRE_SILENT_MS of its time. So does a wait at
 * its end.
 * @return false: the sweep is over. */
static bool widen(struct hf_bundle *bundle, struct hf_part *part)
{
    const struct hf_member *last =
        &part->members[(part->start + part->tried - 1) % part->count];
    unsigned rest = part->count - part->tried;
    bool is_late = left_ms(bundle) == 0;
    bool must_try_all = is_late || is_try(bundle);
    if (bundle->stage != HF_STAGE_SWEEP || rest == 0 ||
        (is_late && !has_time(bundle)) ||
        (!must_try_all && part->tried * 2 > part->count / 4) ||
        !is_refused(last)) {
        return false;
    }
    bool is_last_wave =
        is_late || rest < part->tried || (is_try(bundle) && is_stuck(last));
    try_more(part, is_last_wave ? rest : part->tried);
    return true;
}

/* Wait in the queues of all locks of the part at once, since any one of them is
 * enough. An endless wait is limited until a majority was reached once: it must
 * fail if the servers cannot be reached at all. */
static void wait_for(struct hf_bundle *bundle, struct hf_part *part)
{
    struct hf_client *client = bundle->op.client;
    int64_t wait_ms = left_ms(bundle);
    bundle->stage = HF_STAGE_WAIT;
    bundle->is_probing = wait_ms < 0 && !client->has_reached;
    if (bundle->is_probing) {
        wait_ms =
            FIRST_REACH_MS -
            hf_span_ms_floor(hf_instant_until(bundle->began, client->now));
        wait_ms = wait_ms > 0 ? wait_ms : 1;
    }
    for (unsigned i = 0; i < part->count; i++) {
        struct hf_member *member =
            &part->members[(part->start + i) % part->count];
        hf_member_drop(member);
        hf_member_begin(member, wait_ms);
    }
}

static struct hf_member *find_member(struct hf_part *part,
                                     bool (*is_so)(const struct hf_member *))
{
    for (unsigned i = 0; i < part->count; i++) {
        if (is_so(&part->members[i])) {
            return &part->members[i];
        }
    }
    return NULL;
}

static bool is_unreached(const struct hf_member *member)
{
    return hf_member_has_failed(member) && member->op.status != HF_BUSY;
}

static bool is_unanswered(const struct hf_member *member)
{
    return hf_member_is_asking(member) && !is_split(member);
}

/** The member whose status is that of the whole part: one without an answer
 * before one that is taken. @return NULL: all that were tried are taken, others
 * were not tried. */
static struct hf_member *find_worst(struct hf_part *part, unsigned refused)
{
    struct hf_member *member = find_member(part, is_unreached);
    struct hf_member *asking = find_member(part, is_unanswered);
    struct hf_member *first = &part->members[part->start];
    if (member != NULL) {
        return member;
    }
    if (asking != NULL) {
        asking->op.status = hf_unavailable_write(&asking->op);
        return asking;
    }
    if (refused < part->count) {
        return NULL;
    }
    if (is_split(first)) {
        first->op.status = hf_acquire_write_busy(&first->op);
    }
    return first;
}

/* `part` is missing, and there is no time left. It is busy only if each of its
 * locks was refused: one that was not tried, or has not answered, may be free.
 */
static void fail_missing(struct hf_bundle *bundle, struct hf_part *part)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < part->count; i++) {
        refused += is_refused(&part->members[i]);
    }
    const struct hf_member *member = find_worst(part, refused);
    if (member != NULL) {
        hf_bundle_fail_like(bundle, member);
        return;
    }
    snprintf(bundle->op.error.text, sizeof(bundle->op.error.text),
             "%u of %u permits are taken; the answers came too late to try the "
             "rest within %d ms",
             refused, part->count, SWEEP_MS_MAX);
    hf_bundle_fail(bundle, HF_UNAVAILABLE);
}

/* A try waits for the parts that it has not. */
static void begin_patience(struct hf_bundle *bundle)
{
    bundle->is_patient = true;
    bundle->until = hf_instant_min(
        hf_instant_add(bundle->op.client->now, hf_span_ms(PATIENCE_MS)),
        hf_instant_add(bundle->began, hf_span_ms(SWEEP_MS_MAX)));
    hf_timer_heap_set(&bundle->op.client->heap, &bundle->op.item,
                      bundle->until);
}

static bool may_begin_patience(const struct hf_bundle *bundle)
{
    return is_try(bundle) && bundle->at > 0 && !bundle->is_patient;
}

/* Locks of `part` have not been decided. If those are split they may be so for
 * long: as long as the lease of an owner that has a minority, or as a node is
 * silent. So others are tried beside them. */
static void pass_splits(struct hf_bundle *bundle, struct hf_part *part)
{
    if (part->tried == part->count || bundle->stage != HF_STAGE_SWEEP ||
        find_member(part, is_unanswered) != NULL) {
        return;
    }
    if (may_begin_patience(bundle)) {
        begin_patience(bundle);
    }
    widen(bundle, part);
}

/* All attempts for `part` have failed. After a sweep: try more of its locks, or
 * wait for it. After a wait: fail, unless that wait was a probe
 * (FIRST_REACH_MS) and a majority has been reached since. */
static void on_missing(struct hf_bundle *bundle, struct hf_part *part)
{
    struct hf_member *member = &part->members[part->start];
    hf_bundle_drop_from(bundle, bundle->at + 1);
    if (may_begin_patience(bundle)) {
        begin_patience(bundle);
    }
    if (widen(bundle, part)) {
        return;
    }
    bool may_wait = bundle->stage == HF_STAGE_SWEEP ||
                    (bundle->is_probing && bundle->op.client->has_reached);
    if (may_wait && left_ms(bundle) != 0) {
        wait_for(bundle, part);
    } else {
        /* A wait without end never fails as BUSY: FIRST_REACH_MS ended it. */
        if (bundle->is_probing && member->op.status == HF_BUSY) {
            member->op.status = hf_unavailable_write(&member->op);
        }
        fail_missing(bundle, part);
    }
}

/* A held lock was lost during the wait for another part: release all, and sweep
 * again if there is time left. */
static void start_over(struct hf_bundle *bundle)
{
    hf_bundle_drop_from(bundle, 0);
    bundle->at = 0;
    if (left_ms(bundle) != 0) {
        sweep(bundle);
        return;
    }
    snprintf(bundle->op.error.text, sizeof(bundle->op.error.text),
             "a lock of this request was lost while it waited for another");
    hf_bundle_fail(bundle, HF_BUSY);
}

/* A retry, or another lock of the same part, cannot help. */
static bool is_final(enum hf_status status)
{
    return status != HF_BUSY && status != HF_UNAVAILABLE &&
           status != HF_QUARANTINED;
}

static const struct hf_member *find_final(const struct hf_bundle *bundle)
{
    for (unsigned i = 0; i < bundle->n_members; i++) {
        const struct hf_member *member = &bundle->members[i];
        if (hf_member_has_failed(member) && is_final(member->op.status)) {
            return member;
        }
    }
    return NULL;
}

/* Looks at each deadline, too: its timer may not have run yet. */
static bool check_lost(struct hf_bundle *bundle)
{
    bool is_lost = false;
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct hf_member *member = &bundle->members[i];
        is_lost |= hf_member_is_held(member) &&
                   hf_lock_state_now(member->op.lock) == HF_STATE_LOST;
    }
    return is_lost;
}

/** Keep the first held lock of the part, and drop the others. @return false:
 * none is held. */
static bool choose(struct hf_part *part)
{
    for (unsigned i = 0; i < part->count; i++) {
        const struct hf_member *member =
            &part->members[(part->start + i) % part->count];
        if (hf_member_is_held(member)) {
            hf_part_keep(part, member);
            return true;
        }
    }
    return false;
}

static void advance(struct hf_bundle *bundle)
{
    if (check_lost(bundle)) {
        start_over(bundle);
        return;
    }
    const struct hf_member *final = find_final(bundle);
    if (final != NULL) {
        hf_bundle_fail_like(bundle, final);
        return;
    }
    while (bundle->at < bundle->n_parts && choose(&bundle->parts[bundle->at])) {
        bundle->at++;
    }
    if (bundle->at == bundle->n_parts) {
        hf_bundle_hand_out(bundle);
        return;
    }
    struct hf_part *part = &bundle->parts[bundle->at];
    if (find_member(part, hf_member_is_asking) != NULL) {
        pass_splits(bundle, part);
        return;
    }
    if (find_member(part, hf_member_has_failed) != NULL) {
        on_missing(bundle, part);
    } else {
        sweep(bundle);
    }
}

void hf_bundle_begin(struct hf_op *op)
{
    struct hf_bundle *bundle = hf_bundle_of(op);
    bundle->began = op->client->now;
    bundle->until =
        op->order.wait_ms < 0
            ? HF_NEVER
            : hf_instant_add(bundle->began, hf_span_ms(op->order.wait_ms));
    if (op->order.wait_ms > 0) {
        hf_timer_heap_set(&op->client->heap, &op->item, bundle->until);
    } else if (is_try(bundle) && hf_bundle_is_semaphore(bundle)) {
        look_after(bundle, HF_ACQUIRE_SILENT_MS);
    }
    sweep(bundle);
}

/* The end of a sweep of one lock of each part. One that began just before the
 * end of the wait goes on for the time of an answer, at most as long as the
 * wait was: else a name that is free would be reported as unreachable. */
static struct hf_instant sweep_end(const struct hf_bundle *bundle)
{
    struct hf_span patience = hf_nodes_patience(
        &bundle->op.client->nodes, hf_span_ms(bundle->op.order.ttl_ms));
    struct hf_span wait = bundle->is_patient
                              ? hf_span_ms(PATIENCE_MS)
                              : hf_span_ms(bundle->op.order.wait_ms);
    return hf_instant_max(
        bundle->until,
        hf_instant_add(bundle->swept_at, hf_span_min(patience, wait)));
}

/* A try passes permits that only a silent node could grant. Or a wait is over:
 * end the attempts of the part that is missing, those of a sweep perhaps a
 * little later. A sweep that tries more has its own limit. */
static void on_due(struct hf_op *op)
{
    struct hf_bundle *bundle = hf_bundle_of(op);
    HF_ASSERT(bundle->at < bundle->n_parts); /* else it is handed out */
    struct hf_part *part = &bundle->parts[bundle->at];
    if (is_try(bundle)) {
        pass_splits(bundle, part); /* may begin patience */
        if (!bundle->is_patient) {
            look_after(bundle, DUE_AGAIN_MS);
            return;
        }
    }
    bool is_sweep = bundle->stage == HF_STAGE_SWEEP;
    bool is_wide = is_sweep && part->tried > 1;
    bool must_end =
        !is_wide && !hf_instant_before(op->client->now, bundle->until) &&
        (!is_sweep || !hf_instant_before(op->client->now, sweep_end(bundle)));
    if (is_wide && !has_time(bundle)) {
        fail_missing(bundle, part);
        return;
    }
    for (unsigned i = 0; must_end && i < part->count; i++) {
        if (hf_member_is_asking(&part->members[i])) {
            hf_acquire_end(&part->members[i].op);
        }
    }
    look_after(bundle, DUE_AGAIN_MS);
}

/* The result of a bundle that is done is not wanted: its locks are linked to
 * one handle then. */
static void discard(struct hf_op *op)
{
    hf_release_whole(op->lock, NULL);
    op->lock = NULL;
}

const struct hf_op_handlers hf_bundle_handlers = {
    .kind = HF_OP_BUNDLE,
    .due = on_due,
    .member = on_member,
    .abandon = hf_bundle_abandon,
    .discard = discard,
};

void hf_bundles_pump(struct hf_client *client)
{
    while (client->bundles != NULL) {
        struct hf_bundle *bundle = client->bundles;
        hf_bundle_forget_news(bundle);
        advance(bundle);
    }
}

/* For a semaphore, the place in the queue that is reported to the user is that
 * of the permit which is likely to be granted first. */
struct hf_op *hf_bundle_waiting(struct hf_op *op)
{
    struct hf_bundle *bundle = hf_bundle_of(op);
    struct hf_op *best = NULL;
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct hf_op *one = &bundle->members[i].op;
        if (hf_member_is_asking(&bundle->members[i]) && one->is_queued &&
            (best == NULL || one->ahead < best->ahead)) {
            best = one;
        }
    }
    return best;
}
