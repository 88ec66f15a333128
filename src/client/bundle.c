/* SPDX-License-Identifier: Apache-2.0 */
/* SEVERAL LOCKS, ALL OR NONE
 *
 * A bundle is "all of these parts, in order", and a part is "any one of these
 * locks":
 *
 *     a, b, c            all of  a, b, c             sorted by bytes
 *     3 permits of n     all of  n (shared, on terms of 3),
 *                                any of n#0, n#1, n#2
 *
 * SWEEP: one lock of each part is tried at once, without a place in any queue:
 *   where one node has them all and they are free, that is one round trip.
 * WAIT: else what was got up to the first part that is missing is kept, and
 *   renewed; the rest is given back; that part is waited for, in all its queues
 *   at once. Then the rest is swept again.
 *
 * Nobody deadlocks: whoever waits holds only what sorts before. What is held
 * and sorts behind was got in a sweep, and is given back without waiting.
 *
 * Never more than N hold a semaphore: there are N locks, and each is sound over
 * any majority by itself. The shared hold of its name keeps others away who
 * mean another N, or the name for themselves. Which permit is tried first is
 * drawn, so that those who come at once do not meet.
 *
 * A try waits a little, too, once it has some of its parts: who has the others
 * may be sweeping itself, and about to stand back. Two tries that met would
 * both fail otherwise.
 *
 * Each member is an acquisition like any other (acquire.c). It is told apart by
 * `bundle`: what it comes to hold stays its own, until the bundle has all. */
#include "client/bundle.h"

#include "base/assert.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a try waits for those who may be about to stand back: some round
 * trips, and not long for a person. */
#define PATIENCE_MS 100

/* Like a single name's wait without end: over in 5 s if no majority was ever
 * reached, and 200 ms are left for saying so. */
#define FIRST_REACH_MS 4800

/* Pauses between two attempts of a try are some milliseconds long. */
#define DUE_AGAIN_MS 10

struct member {
    struct hf_op op;
    bool is_begun;
};

struct part {
    struct member *members; /* any one of these */
    unsigned count;
    unsigned start;      /* which is tried first */
    struct hf_lock *got; /* NULL: missing */
};

enum stage { STAGE_SWEEP, STAGE_WAIT };

struct hf_bundle {
    struct hf_op op;
    struct hf_bundle *next; /* in client->bundles */
    bool has_news;          /* it is in there */
    bool is_patient;        /* a try that waits a little */
    bool is_probing;        /* waits for a majority to be reached at all */
    enum stage stage;
    struct hf_instant began;
    struct hf_instant until; /* HF_NEVER: waits for ever */
    unsigned at;             /* parts before it are there */
    unsigned n_parts;
    struct part *parts;
    unsigned n_members;
    struct member *members;
    uint8_t place[HF_NAMES_MAX]; /* of each part among the user's names */
};

static struct hf_bundle *bundle_of(struct hf_op *op)
{
    HF_ASSERT(op->kind == HF_OP_BUNDLE);
    return (struct hf_bundle *)(void *)op;
}

static bool is_semaphore(const struct hf_bundle *bundle)
{
    return bundle->op.order.n_slots > 0;
}

/* ---- Making ------------------------------------------------------------ */

/* Names in the order in which they are waited for, by insertion: few. */
static void sort(const struct hf_order *order, struct hf_name names[],
                 uint8_t place[])
{
    struct hf_name first = {order->name, order->name_len,
                            order->is_shared ? HF_SHARED : HF_EXCLUSIVE};
    for (unsigned i = 0; i <= order->n_more; i++) {
        struct hf_name name = i == 0 ? first : order->more[i - 1];
        unsigned at = i;
        for (; at > 0 && hf_name_compare(&name, &names[at - 1]) < 0; at--) {
            names[at] = names[at - 1];
            place[at] = place[at - 1];
        }
        names[at] = name;
        place[at] = (uint8_t)i;
    }
}

/* Bytes behind the structs: the names, those of the slots, the label. */
static size_t text_size(const struct hf_order *order)
{
    size_t size = order->text_len + order->name_len;
    for (unsigned i = 0; i < order->n_more; i++) {
        size += order->more[i].name_len;
    }
    /* and a NUL that snprintf() writes */
    return size + order->n_slots * (order->name_len + HF_SLOT_TEXT_MAX) + 1;
}

/* A member's order: the user's but for its name. @return behind the name. */
static char *order_member(struct hf_bundle *bundle, struct member *member,
                          const struct hf_name *name, char *text)
{
    hf_op_init(&member->op, bundle->op.client, HF_OP_ACQUIRE);
    member->is_begun = false;
    member->op.bundle = &bundle->op;
    struct hf_order *order = &member->op.order;
    *order = bundle->op.order;
    order->name = text;
    order->name_len = name->name_len;
    order->is_shared = name->mode == HF_SHARED;
    order->is_linked = true;
    order->n_slots = 0;
    order->n_more = 0;
    memcpy(text, name->name, name->name_len);
    return text + name->name_len;
}

static struct part *add_part(struct hf_bundle *bundle, unsigned count,
                             unsigned start)
{
    struct part *part = &bundle->parts[bundle->n_parts++];
    *part = (struct part){.members = bundle->members + bundle->n_members,
                          .count = count,
                          .start = start};
    bundle->n_members += count;
    return part;
}

static char *plan_names(struct hf_bundle *bundle, const struct hf_order *order,
                        char *text)
{
    struct hf_name names[HF_NAMES_MAX];
    sort(order, names, bundle->place);
    for (unsigned i = 0; i <= order->n_more; i++) {
        struct part *part = add_part(bundle, 1, 0);
        text = order_member(bundle, part->members, &names[i], text);
    }
    return text;
}

static char *plan_semaphore(struct hf_bundle *bundle,
                            const struct hf_order *order, char *text)
{
    struct hf_name name = {order->name, order->name_len, HF_SHARED};
    struct part *shared = add_part(bundle, 1, 0);
    text = order_member(bundle, shared->members, &name, text);
    shared->members->op.order.permits = order->n_slots;
    unsigned start =
        (unsigned)(hf_client_random(bundle->op.client) % order->n_slots);
    struct part *slots = add_part(bundle, order->n_slots, start);
    name.mode = HF_EXCLUSIVE;
    for (unsigned i = 0; i < order->n_slots; i++) {
        struct hf_op *op = &slots->members[i].op;
        text = order_member(bundle, &slots->members[i], &name, text);
        int len = snprintf(text, HF_SLOT_TEXT_MAX + 1, "#%u", i);
        text += len;
        op->order.name_len += (size_t)len;
    }
    return text;
}

struct hf_op *hf_bundle_new(struct hf_client *client,
                            const struct hf_order *order)
{
    unsigned n_parts = order->n_slots > 0 ? 2 : 1U + order->n_more;
    unsigned n_members = order->n_slots > 0 ? 1U + order->n_slots : n_parts;
    struct hf_bundle *bundle =
        malloc(sizeof(*bundle) + n_members * sizeof(struct member) +
               n_parts * sizeof(struct part) + text_size(order));
    if (bundle == NULL) {
        return NULL;
    }
    memset((char *)bundle + sizeof(bundle->op), 0,
           sizeof(*bundle) - sizeof(bundle->op));
    hf_op_init(&bundle->op, client, HF_OP_BUNDLE);
    bundle->members = (struct member *)(bundle + 1);
    bundle->parts = (struct part *)(void *)(bundle->members + n_members);
    char *text = (char *)(bundle->parts + n_parts);
    bundle->op.order = *order;
    bundle->op.order.text = text;
    memcpy(text, order->text_len > 0 ? order->text : "", order->text_len);
    text += order->text_len;
    bundle->op.order.name = text; /* of the semaphore; or the one sorted first,
                                     which is not used */
    if (order->n_slots > 0) {
        plan_semaphore(bundle, order, text);
    } else {
        plan_names(bundle, order, text);
    }
    bundle->op.order.more = NULL; /* it was borrowed */
    return &bundle->op;
}

/* ---- Members ----------------------------------------------------------- */

static bool is_asking(const struct member *member)
{
    return member->is_begun && !member->op.is_done;
}

static bool has_failed(const struct member *member)
{
    return member->is_begun && member->op.is_done && member->op.status != HF_OK;
}

static bool is_held(const struct member *member)
{
    return member->is_begun && member->op.is_done && member->op.status == HF_OK;
}

/* What it learned before of counters and of who holds the name is kept. */
static void begin(struct member *member, int64_t wait_ms)
{
    struct hf_op *op = &member->op;
    struct hf_order order = op->order;
    struct hf_op *bundle = op->bundle;
    uint64_t counter = op->counter;
    bool is_known = op->rival.is_known;
    HF_ASSERT(!is_asking(member) && op->lock == NULL);
    hf_op_init(op, op->client, HF_OP_ACQUIRE);
    op->order = order;
    op->order.wait_ms = wait_ms;
    op->bundle = bundle;
    op->counter = counter;
    op->rival.is_known = is_known;
    member->is_begun = true;
    if (hf_op_list(op)) {
        hf_acquire_begin(op);
    } else {
        hf_fail_memory(&op->error);
        hf_op_finish(op, HF_NO_MEMORY);
    }
}

/* Cancelled, or given back. */
static void drop(struct member *member)
{
    struct hf_op *op = &member->op;
    struct hf_lock *lock = op->lock;
    if (is_asking(member)) {
        hf_op_abandon(op);
    } else if (lock != NULL) {
        hf_op_part(op);
        hf_release_start(lock, NULL);
    }
    member->is_begun = false;
}

static void drop_part(struct part *part, const struct member *but)
{
    for (unsigned i = 0; i < part->count; i++) {
        if (&part->members[i] != but) {
            drop(&part->members[i]);
        }
    }
    part->got = but == NULL ? NULL : but->op.lock;
}

static void drop_from(struct hf_bundle *bundle, unsigned at)
{
    for (; at < bundle->n_parts; at++) {
        drop_part(&bundle->parts[at], NULL);
    }
}

/* ---- News -------------------------------------------------------------- */

void hf_bundle_heard(struct hf_op *member)
{
    struct hf_bundle *bundle = bundle_of(member->bundle);
    struct hf_lock *lock = member->lock;
    if (lock != NULL) { /* held: nobody's handle yet */
        lock->op = member;
        lock->flags &= (uint8_t)~HF_LOCK_OURS;
    }
    if (!bundle->has_news) {
        bundle->has_news = true;
        bundle->next = bundle->op.client->bundles;
        bundle->op.client->bundles = bundle;
    }
}

static void forget_news(struct hf_bundle *bundle)
{
    struct hf_bundle **at = &bundle->op.client->bundles;
    if (!bundle->has_news) {
        return;
    }
    while (*at != bundle) {
        at = &(*at)->next;
    }
    *at = bundle->next;
    bundle->has_news = false;
}

/* ---- The end ----------------------------------------------------------- */

void hf_bundle_abandon(struct hf_op *op)
{
    struct hf_bundle *bundle = bundle_of(op);
    drop_from(bundle, 0);
    forget_news(bundle);
}

static void fail(struct hf_bundle *bundle, enum hf_status status)
{
    hf_bundle_abandon(&bundle->op);
    hf_op_finish(&bundle->op, status);
}

/* In a member's words; which name they are about is added. */
static void explain(struct hf_bundle *bundle, const struct hf_op *op)
{
    struct hf_error *error = &bundle->op.error;
    char name[HF_NAME_SHOWN_MAX];
    bool is_slot = is_semaphore(bundle) && op->order.permits == 0;
    error->node = op->error.node;
    if (op->status == HF_INVALID && op->rival_permits != 0) {
        hf_name_show(op->order.name, op->order.name_len, name);
        snprintf(error->text, sizeof(error->text),
                 "%s is a semaphore of %u permits, not of %u", name,
                 (unsigned)op->rival_permits, (unsigned)op->order.permits);
    } else if (op->status == HF_BUSY && is_slot) {
        snprintf(error->text, sizeof(error->text),
                 "all %u permits are taken; one is %.900s",
                 (unsigned)bundle->op.order.n_slots, op->error.text);
    } else if (op->status == HF_BUSY && !is_semaphore(bundle)) {
        hf_name_show(op->order.name, op->order.name_len, name);
        snprintf(error->text, sizeof(error->text), "%s is %.900s", name,
                 op->error.text);
    } else {
        snprintf(error->text, sizeof(error->text), "%s", op->error.text);
    }
}

static void fail_like(struct hf_bundle *bundle, const struct member *member)
{
    explain(bundle, &member->op);
    fail(bundle, member->op.status);
}

/* Which of the user's names comes to which lock; the first is the handle. */
static struct hf_lock *link_names(struct hf_bundle *bundle)
{
    struct hf_lock *locks[HF_NAMES_MAX];
    for (unsigned i = 0; i < bundle->n_parts; i++) {
        locks[bundle->place[i]] = bundle->parts[i].got;
    }
    for (unsigned i = 1; i < bundle->n_parts; i++) {
        hf_link_join(locks[i - 1], locks[i]);
    }
    return locks[0];
}

static struct hf_lock *link_semaphore(struct hf_bundle *bundle)
{
    struct part *slots = &bundle->parts[1];
    struct hf_lock *lock = slots->got;
    hf_link_join(lock, bundle->parts[0].got);
    for (unsigned i = 0; i < slots->count; i++) {
        if (is_held(&slots->members[i])) {
            hf_lock_link(lock)->permit = (int16_t)i;
        }
    }
    return lock;
}

/* From now on it is the user's. */
static void hand_out(struct hf_bundle *bundle)
{
    struct hf_lock *first =
        is_semaphore(bundle) ? link_semaphore(bundle) : link_names(bundle);
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct member *member = &bundle->members[i];
        if (is_held(member)) {
            member->op.lock->op = NULL;
            member->op.lock->flags |= HF_LOCK_OURS;
            member->op.lock = NULL;
        }
        member->is_begun = false;
    }
    hf_lock_link(first)->told = (uint8_t)hf_link_state(first);
    bundle->op.lock = first;
    forget_news(bundle);
    hf_op_finish(&bundle->op, HF_OK);
}

/* ---- Going on ---------------------------------------------------------- */

/* How long there still is: 0: not at all; negative: for ever. */
static int64_t left_ms(const struct hf_bundle *bundle)
{
    if (bundle->until.ns == HF_NEVER.ns) {
        return HF_WAIT_FOREVER;
    }
    int64_t ms = hf_span_ms_ceil(
        hf_instant_until(bundle->op.client->now, bundle->until));
    return ms > 0 ? ms : 0;
}

/* One of each part that is missing, at once. */
static void sweep(struct hf_bundle *bundle)
{
    bundle->stage = STAGE_SWEEP;
    for (unsigned i = bundle->at; i < bundle->n_parts; i++) {
        struct part *part = &bundle->parts[i];
        begin(&part->members[part->start], 0);
    }
}

/* For any one of a part. */
static void wait_for(struct hf_bundle *bundle, struct part *part)
{
    struct hf_client *client = bundle->op.client;
    int64_t wait_ms = left_ms(bundle);
    bundle->stage = STAGE_WAIT;
    bundle->is_probing = wait_ms < 0 && !client->has_reached;
    if (bundle->is_probing) {
        wait_ms =
            FIRST_REACH_MS -
            hf_span_ms_floor(hf_instant_until(bundle->began, client->now));
        wait_ms = wait_ms > 0 ? wait_ms : 1;
    }
    for (unsigned i = 0; i < part->count; i++) {
        struct member *member = &part->members[(part->start + i) % part->count];
        drop(member);
        begin(member, wait_ms);
    }
}

/* Nothing of `part` can be had as it was asked for. */
static void on_missing(struct hf_bundle *bundle, struct part *part)
{
    struct member *member = &part->members[part->start];
    bool is_try = bundle->op.order.wait_ms == 0;
    drop_from(bundle, bundle->at + 1);
    if (is_try && bundle->at > 0 && !bundle->is_patient) {
        bundle->is_patient = true;
        bundle->until =
            hf_instant_add(bundle->op.client->now, hf_span_ms(PATIENCE_MS));
        hf_heap_set(&bundle->op.client->heap, &bundle->op.item, bundle->until);
    }
    bool may_wait = bundle->stage == STAGE_SWEEP ||
                    (bundle->is_probing && bundle->op.client->has_reached);
    if (may_wait && left_ms(bundle) != 0) {
        wait_for(bundle, part);
    } else {
        fail_like(bundle, member);
    }
}

/* What was held while the others were waited for is gone. */
static void start_over(struct hf_bundle *bundle)
{
    drop_from(bundle, 0);
    bundle->at = 0;
    if (left_ms(bundle) != 0) {
        sweep(bundle);
        return;
    }
    snprintf(bundle->op.error.text, sizeof(bundle->op.error.text),
             "what was held was lost again while the rest was waited for");
    fail(bundle, HF_BUSY);
}

/* Another one of the same part, or another time, will not help. */
static bool is_final(enum hf_status status)
{
    return status != HF_BUSY && status != HF_UNAVAILABLE &&
           status != HF_QUARANTINED;
}

static const struct member *find_final(const struct hf_bundle *bundle)
{
    for (unsigned i = 0; i < bundle->n_members; i++) {
        const struct member *member = &bundle->members[i];
        if (has_failed(member) && is_final(member->op.status)) {
            return member;
        }
    }
    return NULL;
}

/* LOST by what was heard, or by the clock. */
static bool has_lost(struct hf_bundle *bundle)
{
    bool is_lost = false;
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct member *member = &bundle->members[i];
        is_lost |= is_held(member) &&
                   hf_lock_state_now(member->op.lock) == HF_STATE_LOST;
    }
    return is_lost;
}

/* The first of a part that is held is kept. @return false: there is none. */
static bool choose(struct part *part)
{
    for (unsigned i = 0; i < part->count; i++) {
        const struct member *member =
            &part->members[(part->start + i) % part->count];
        if (is_held(member)) {
            drop_part(part, member);
            return true;
        }
    }
    return false;
}

static bool is_any(const struct part *part,
                   bool (*is_so)(const struct member *member))
{
    for (unsigned i = 0; i < part->count; i++) {
        if (is_so(&part->members[i])) {
            return true;
        }
    }
    return false;
}

static void advance(struct hf_bundle *bundle)
{
    if (has_lost(bundle)) {
        start_over(bundle);
        return;
    }
    const struct member *final = find_final(bundle);
    if (final != NULL) {
        fail_like(bundle, final);
        return;
    }
    while (bundle->at < bundle->n_parts && choose(&bundle->parts[bundle->at])) {
        bundle->at++;
    }
    if (bundle->at == bundle->n_parts) {
        hand_out(bundle);
        return;
    }
    struct part *part = &bundle->parts[bundle->at];
    if (is_any(part, is_asking)) {
        return;
    }
    if (is_any(part, has_failed)) {
        on_missing(bundle, part);
    } else {
        sweep(bundle);
    }
}

void hf_bundle_begin(struct hf_op *op)
{
    struct hf_bundle *bundle = bundle_of(op);
    bundle->began = op->client->now;
    bundle->until =
        op->order.wait_ms < 0
            ? HF_NEVER
            : hf_instant_add(bundle->began, hf_span_ms(op->order.wait_ms));
    if (op->order.wait_ms > 0) {
        hf_heap_set(&op->client->heap, &op->item, bundle->until);
    }
    sweep(bundle);
}

/* The wait is over, and a sweep under way does not outlast it. A member in the
 * pause between two attempts is looked at again. */
void hf_bundle_due(struct hf_op *op)
{
    struct hf_bundle *bundle = bundle_of(op);
    struct part *part = &bundle->parts[bundle->at];
    for (unsigned i = 0; i < part->count; i++) {
        struct member *member = &part->members[i];
        if (is_asking(member) && member->op.lock != NULL) {
            hf_acquire_due(&member->op);
        }
    }
    hf_heap_set(&op->client->heap, &op->item,
                hf_instant_add(op->client->now, hf_span_ms(DUE_AGAIN_MS)));
}

void hf_bundles_pump(struct hf_client *client)
{
    while (client->bundles != NULL) {
        struct hf_bundle *bundle = client->bundles;
        forget_news(bundle);
        advance(bundle);
    }
}

/* Of permits the one that is nearest. */
struct hf_op *hf_bundle_waiting(struct hf_op *op)
{
    struct hf_bundle *bundle = bundle_of(op);
    struct hf_op *best = NULL;
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct hf_op *one = &bundle->members[i].op;
        if (is_asking(&bundle->members[i]) && one->is_queued &&
            (best == NULL || one->ahead < best->ahead)) {
            best = one;
        }
    }
    return best;
}
