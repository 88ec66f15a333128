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

/* A waiter in the queue keeps its ticket. @return false: it had a place
 * already. */
static bool enqueue(struct node *node, const struct node_ask *ask)
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
    if (node->n_waiters == 0) {
        node->queue_end = HF_LONG_AGO;
    }
    node->queue_end = hf_instant_max(node->queue_end, waiter.end);
    forget(node, ask->owner);
    if (node->n_waiters == NODE_PLACES_MAX) {
        return true;
    }
    unsigned at = node->n_waiters++;
    while (at > 0 &&
           is_before(waiter.ticket, waiter.owner, &node->waiters[at - 1])) {
        node->waiters[at] = node->waiters[at - 1];
        at--;
    }
    node->waiters[at] = waiter;
    return old == NULL;
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

/* At the instant of its expiry a lock is still held, as in Redis; a sharer and
 * a place in the queue are not. A group ends with its last live sharer. An
 * expired place stays until a live one is first, or until all have expired. */
void node_expire(struct node *node)
{
    if (hf_instant_before(node->expiry, node->now)) {
        node->owner = 0;
    }
    if (hf_instant_before(node->queue_end, node->now)) {
        node->n_waiters = 0;
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

/* Every grant increments c, a shared one too. */
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

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t floor_of(const struct node *node)
{
    return node->time_us - node->time_us % FLOOR_STEP_US;
}

/* Above this bound a node refuses raises and ignores hints. */
static uint64_t bound_of(const struct node *node)
{
    return max_of(node->counter, node->time_us) + HF_FENCE_AHEAD_MAX;
}

static uint64_t next_counter(const struct node *node, uint64_t hint)
{
    uint64_t least = hint <= bound_of(node) ? hint : 0;
    return max_of(max_of(node->counter + 1, least), floor_of(node));
}

static void serve(struct node *node, const struct node_ask *asker)
{
    while (node->owner == 0) {
        const struct node_waiter *first = head(node);
        if (first == NULL || !admits(node, first->is_shared)) {
            return;
        }
        struct node_waiter waiter = *first;
        bool is_asker = asker != NULL && waiter.owner == asker->owner;
        uint64_t counter = next_counter(node, is_asker ? asker->counter : 0);
        forget(node, waiter.owner);
        if (is_asker) {
            grant(node, waiter.owner, waiter.is_shared, counter, asker->ttl);
        } else if (node->push(node->user, waiter.owner, counter)) {
            grant(node, waiter.owner, waiter.is_shared, counter, waiter.queue);
        }
    }
}

/* ---- The scripts ------------------------------------------------------- */

/* Also a renewal: no request makes a lease shorter. */
static bool is_mine(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    struct node_sharer *sharer = find_sharer(node, ask->owner);
    struct hf_instant end = hf_instant_add(node->now, ask->ttl);
    if (sharer != NULL) {
        sharer->end = hf_instant_max(sharer->end, end);
        answer->counter = sharer->counter;
    } else if (node->owner == ask->owner) {
        node->expiry = hf_instant_max(node->expiry, end);
        answer->counter = node->counter;
    } else {
        return false;
    }
    const struct node_waiter *first = ask->ticket != 0 ? head(node) : NULL;
    answer->verdict = HF_VERDICT_OK;
    answer->ahead = first != NULL && first->owner != ask->owner &&
                    !is_before(ask->ticket, ask->owner, first);
    return true;
}

static struct hf_span left_of(const struct node *node)
{
    struct hf_instant end = node->owner != 0 ? node->expiry : node->now;
    for (unsigned i = 0; i < node->n_sharers; i++) {
        end = hf_instant_max(end, node->sharers[i].end);
    }
    return hf_instant_until(node->now, end);
}

static void refuse(struct node *node, struct hf_event *answer)
{
    answer->verdict = HF_VERDICT_REFUSED;
    answer->ticket = 0;
    answer->ahead = 0;
    answer->counter = node->counter;
    answer->rival = node->owner != 0      ? node->owner
                    : node->n_sharers > 0 ? UINT32_MAX
                                          : 0;
    answer->left = left_of(node);
}

/* Granted if no client waits, or if the asker is first; then also to the
 * sharers next to it. */
static bool take(struct node *node, const struct node_ask *ask)
{
    if (!admits(node, ask->is_shared)) {
        return false;
    }
    const struct node_waiter *first = head(node);
    if (first != NULL && first->owner != ask->owner) {
        return false;
    }
    grant(node, ask->owner, ask->is_shared, next_counter(node, ask->counter),
          ask->ttl);
    serve(node, NULL);
    return true;
}

/* ACQUIRE takes a free name at once. A YIELD with a place enters the queue
 * first, so that an earlier ticket is granted before it. */
static bool get(struct node *node, const struct node_ask *ask, bool *is_new)
{
    struct hf_event none;
    bool waits = ask->queue.ns > 0;
    if ((ask->verb == HF_VERB_ACQUIRE || !waits) && take(node, ask)) {
        return true;
    }
    *is_new = waits && enqueue(node, ask);
    serve(node, ask);
    if (is_mine(node, ask, &none)) {
        return true;
    }
    return !waits && take(node, ask); /* the pushes to those before it had no
                                         receiver */
}

/* `ask->counter` is the hint. */
static void acquire(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    bool is_new = false;
    if (is_mine(node, ask, answer)) {
        return;
    }
    if (get(node, ask, &is_new)) {
        is_mine(node, ask, answer);
        return;
    }
    if (ask->queue.ns > 0 && !is_new) {
        head(node);
    }
    refuse(node, answer);
    answer->ticket = node->time_us;
    const struct node_waiter *mine = find_waiter(node, ask->owner);
    if (ask->queue.ns > 0 && mine != NULL) {
        answer->verdict = HF_VERDICT_QUEUED;
        answer->ticket = mine->ticket;
        answer->ahead = (uint32_t)(mine - node->waiters);
    }
}

/* Raise `counter` to the fence in the request, unless it is out of bounds. */
static bool can_raise(const struct node *node, uint64_t counter, uint64_t fence,
                      struct hf_event *answer)
{
    if (fence > bound_of(node)) {
        answer->bound = bound_of(node);
    } else if (counter < fence && fence < floor_of(node)) {
        answer->floor = floor_of(node);
    } else {
        return counter < fence;
    }
    return false;
}

static void confirm(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    uint64_t fence = ask->counter;
    struct node_sharer *sharer = find_sharer(node, ask->owner);
    answer->floor = answer->bound = 0;
    if (sharer != NULL) {
        if (can_raise(node, sharer->counter, fence, answer)) {
            sharer->counter = fence;
            node->counter = max_of(node->counter, fence);
        }
    } else if (node->owner == ask->owner) {
        if (can_raise(node, node->counter, fence, answer)) {
            node->counter = fence;
        }
    } else if (admits(node, ask->is_shared)) {
        bool is_last = node->counter == fence && node->last == ask->owner;
        bool is_raised = can_raise(node, node->counter, fence, answer);
        if (ask->reacquires && (is_last || is_raised)) {
            grant(node, ask->owner, ask->is_shared, fence, ask->ttl);
        }
        answer->bound = 0;
    }
    if (!is_mine(node, ask, answer)) {
        refuse(node, answer);
    }
    answer->ahead = 0;
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

/* The reply has the state before the next waiter is granted. */
static void release(struct node *node, const struct node_ask *ask,
                    struct hf_event *answer)
{
    forget(node, ask->owner);
    bool was_mine = give_back(node, ask->owner);
    bool is_free = node->owner == 0 && node->n_sharers == 0;
    bool is_raised = is_free && node->counter < ask->counter &&
                     ask->counter <= bound_of(node);
    if (is_raised) {
        node->counter = ask->counter;
    }
    if (is_raised || (is_free && node->last == ask->owner)) {
        node->last = 0; /* a late CONFIRM installs no owner again */
    }
    refuse(node, answer);
    answer->verdict = was_mine ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
    serve(node, NULL);
}

static void yield(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer)
{
    struct node_ask asker = *ask;
    const struct node_sharer *sharer = find_sharer(node, ask->owner);
    bool is_that = sharer != NULL ? sharer->counter == ask->counter
                                  : node->owner == ask->owner &&
                                        node->counter == ask->counter;
    if (is_that) {
        give_back(node, ask->owner);
    }
    asker.counter = 0;
    acquire(node, &asker, answer);
}

void node_execute(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer)
{
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        acquire(node, ask, answer);
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
    case HF_VERB_QUEUE:
    case HF_VERB_MARK:
    case HF_VERB_GET:
    case HF_VERB_PUT:
    case HF_VERB_SCAN:
    default:
        release(node, ask, answer);
        break;
    }
}
