/* SPDX-License-Identifier: Apache-2.0 */
#include "world_node.h"

#include <string.h>

/* ---- Places ------------------------------------------------------------ */

static void forget(struct node *node, uint32_t owner)
{
    for (unsigned i = 0; i < node->n_waiters; i++) {
        if (node->waiters[i].owner == owner) {
            node->n_waiters--;
            memmove(&node->waiters[i], &node->waiters[i + 1],
                    (node->n_waiters - i) * sizeof(node->waiters[0]));
            return;
        }
    }
}

static const struct node_waiter *find_waiter(const struct node *node,
                                             uint32_t owner)
{
    for (unsigned i = 0; i < node->n_waiters; i++) {
        if (node->waiters[i].owner == owner) {
            return &node->waiters[i];
        }
    }
    return NULL;
}

static bool is_before(uint64_t ticket, uint32_t owner,
                      const struct node_waiter *other)
{
    return ticket < other->ticket ||
           (ticket == other->ticket && owner < other->owner);
}

static const struct node_waiter *head(struct node *node)
{
    while (node->n_waiters > 0 &&
           !hf_instant_before(node->now, node->waiters[0].end)) {
        forget(node, node->waiters[0].owner);
    }
    return node->n_waiters > 0 ? &node->waiters[0] : NULL;
}

/* Who is queued keeps its ticket. */
static void enqueue(struct node *node, const struct node_ask *ask)
{
    const struct node_waiter *old = find_waiter(node, ask->owner);
    struct node_waiter waiter = {
        .owner = ask->owner,
        .is_shared = ask->is_shared,
        .ticket = old != NULL        ? old->ticket
                  : ask->ticket != 0 ? ask->ticket
                                     : node->time_us,
        .queue = ask->queue,
        .end = hf_instant_add(node->now, ask->queue),
    };
    forget(node, ask->owner);
    if (node->n_waiters == NODE_PLACES_MAX) {
        return;
    }
    unsigned at = node->n_waiters++;
    while (at > 0 &&
           is_before(waiter.ticket, waiter.owner, &node->waiters[at - 1])) {
        node->waiters[at] = node->waiters[at - 1];
        at--;
    }
    node->waiters[at] = waiter;
}

/* ---- Holding ----------------------------------------------------------- */

static struct node_sharer *find_sharer(struct node *node, uint32_t owner)
{
    for (unsigned i = 0; i < node->n_sharers; i++) {
        if (node->sharers[i].owner == owner) {
            return &node->sharers[i];
        }
    }
    return NULL;
}

static void part(struct node *node, struct node_sharer *sharer)
{
    *sharer = node->sharers[--node->n_sharers];
}

void node_expire(struct node *node)
{
    if (!hf_instant_before(node->now, node->expiry)) {
        node->owner = 0;
    }
    for (unsigned i = node->n_sharers; i-- > 0;) {
        if (!hf_instant_before(node->now, node->sharers[i].end)) {
            part(node, &node->sharers[i]);
        }
    }
}

static bool admits(const struct node *node, bool is_shared)
{
    return node->owner == 0 && (is_shared || node->n_sharers == 0);
}

/* Every grant moves c, a sharer's too. */
static void grant(struct node *node, uint32_t owner, bool is_shared,
                  uint64_t counter, struct hf_span ttl)
{
    struct hf_instant end = hf_instant_add(node->now, ttl);
    forget(node, owner);
    node->counter = counter;
    if (is_shared) {
        node->last = 0;
        node->sharers[node->n_sharers++] =
            (struct node_sharer){owner, counter, end};
    } else {
        node->owner = node->last = owner;
        node->expiry = end;
    }
}

static uint64_t next_counter(const struct node *node, uint64_t hint)
{
    return node->counter + 1 > hint ? node->counter + 1 : hint;
}

static void serve(struct node *node, const struct node_ask *asker)
{
    const struct node_waiter *first = head(node);
    while (first != NULL && admits(node, first->is_shared)) {
        struct node_waiter waiter = *first;
        bool is_asker = asker != NULL && waiter.owner == asker->owner;
        uint64_t counter = next_counter(node, is_asker ? asker->counter : 0);
        forget(node, waiter.owner);
        if (is_asker) {
            grant(node, waiter.owner, waiter.is_shared, counter, asker->ttl);
        } else if (node->push(node->user, waiter.owner, counter)) {
            grant(node, waiter.owner, waiter.is_shared, counter, waiter.queue);
        }
        first = head(node);
    }
}

/* ---- The scripts ------------------------------------------------------- */

static bool is_mine(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    struct node_sharer *sharer = find_sharer(node, ask->owner);
    struct hf_instant end = hf_instant_add(node->now, ask->ttl);
    const struct node_waiter *first = head(node);
    if (sharer != NULL) {
        sharer->end = hf_instant_max(sharer->end, end);
        answer->counter = sharer->counter;
    } else if (node->owner == ask->owner) {
        node->expiry = hf_instant_max(node->expiry, end);
        answer->counter = node->counter;
    } else {
        return false;
    }
    answer->verdict = HF_VERDICT_OK;
    answer->ahead = ask->ticket != 0 && first != NULL &&
                    !is_before(ask->ticket, ask->owner, first);
    return true;
}

static void refuse(struct node *node, const struct node_ask *ask,
                   struct hf_event *answer)
{
    const struct node_waiter *mine = find_waiter(node, ask->owner);
    answer->verdict = mine != NULL && ask->queue.ns > 0 ? HF_VERDICT_QUEUED
                                                        : HF_VERDICT_REFUSED;
    answer->ticket = mine != NULL ? mine->ticket : node->time_us;
    answer->ahead = mine != NULL ? (uint32_t)(mine - node->waiters) : 0;
    answer->counter = node->counter;
    answer->rival = node->owner != 0      ? node->owner
                    : node->n_sharers > 0 ? UINT32_MAX
                                          : 1;
    answer->left = node->owner != 0 ? hf_instant_until(node->now, node->expiry)
                                    : hf_span_ms(100);
}

static void acquire(struct node *node, const struct node_ask *ask,
                    uint64_t hint, struct hf_event *answer)
{
    struct node_ask asker = *ask;
    asker.counter = hint;
    if (is_mine(node, ask, answer)) {
        return;
    }
    if (head(node) == NULL && admits(node, ask->is_shared)) {
        grant(node, ask->owner, ask->is_shared, next_counter(node, hint),
              ask->ttl);
    } else if (ask->queue.ns > 0) {
        enqueue(node, ask);
    }
    serve(node, &asker);
    if (!is_mine(node, ask, answer)) {
        refuse(node, ask, answer);
    }
}

static void confirm(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    uint64_t fence = ask->counter;
    struct node_sharer *sharer = find_sharer(node, ask->owner);
    bool is_last = node->counter == fence && node->last == ask->owner;
    bool may_take = ask->holder && admits(node, ask->is_shared) &&
                    (node->counter < fence || (is_last && !ask->is_shared));
    if (sharer != NULL) {
        sharer->counter = sharer->counter < fence ? fence : sharer->counter;
        node->counter = node->counter < fence ? fence : node->counter;
    } else if (node->owner == ask->owner) {
        node->counter = node->counter < fence ? fence : node->counter;
    } else if (may_take) {
        grant(node, ask->owner, ask->is_shared, fence, ask->ttl);
    }
    if (!is_mine(node, ask, answer)) {
        refuse(node, ask, answer);
        answer->verdict = HF_VERDICT_REFUSED;
    }
}

static bool give_back(struct node *node, uint32_t owner)
{
    struct node_sharer *sharer = find_sharer(node, owner);
    if (sharer != NULL) {
        part(node, sharer);
        return true;
    }
    if (node->owner == owner) {
        node->owner = node->last = 0;
        return true;
    }
    return false;
}

static void release(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    forget(node, ask->owner);
    bool was_mine = give_back(node, ask->owner);
    if ((was_mine || admits(node, true)) && node->counter < ask->counter) {
        node->counter = ask->counter;
        node->last = 0;
    }
    serve(node, NULL);
    refuse(node, ask, answer);
    answer->verdict = was_mine ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
}

static void yield(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer)
{
    const struct node_sharer *sharer = find_sharer(node, ask->owner);
    bool is_that = sharer != NULL ? sharer->counter == ask->counter
                                  : node->owner == ask->owner &&
                                        node->counter == ask->counter;
    if (is_that) {
        give_back(node, ask->owner);
        enqueue(node, ask);
        serve(node, NULL);
    }
    acquire(node, ask, 0, answer);
}

void node_execute(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer)
{
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        acquire(node, ask, ask->counter, answer);
        break;
    case HF_VERB_CONFIRM:
        confirm(node, ask, answer);
        break;
    case HF_VERB_YIELD:
        yield(node, ask, answer);
        break;
    case HF_VERB_RELEASE:
    case HF_VERB_BREAK:
    case HF_VERB_INSPECT:
    case HF_VERB_ROSTER:
    case HF_VERB_MARK:
    case HF_VERB_SCAN:
    default:
        release(node, ask, answer);
        break;
    }
}
