/* SPDX-License-Identifier: Apache-2.0 */
/* ONCE A PERIOD
 *
 *   read     the mark at all nodes; if it is live, write it back where it is
 *            missing, and do not run. Otherwise:
 *   acquire  the lock
 *   read     again, while the lock is held: another holder may have marked the
 *            name, run and released since the first read
 *   mark     all nodes; a majority must have the mark before the command starts
 *
 * A mark has the fence of its run, an end, and the owner. Nodes keep the mark
 * with the greater fence and never move an end, so every write may be repeated,
 * be late, or race with another (store/redis/mark.lua).
 *
 * Why no second command starts: two runs hold the lock one after the other. The
 * earlier run had its mark at a majority of the voting nodes while it held the
 * lock. The later run reads a majority of the voting nodes while it holds the
 * lock. Some node is in both majorities, and has the mark unless it lost its
 * data in between. One node with the mark is enough, and each read waits for
 * all reachable nodes, and each try writes the mark back. So a mark is lost
 * only if, between two tries, every node that had it loses its data or does not
 * reply to the next try.
 *
 * Withdrawing a mark writes a tombstone: the same fence, no owner, and an end
 * later than that of every copy of the mark. It replaces marks with its fence
 * or a lesser one, so a copy that is written late has no effect.
 *
 * Cost in round trips: one if the name is marked, and a second one to repair;
 * to run, three more than an acquisition: two reads and the mark. */
#include "client/mark.h"

#include "client/broadcast.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/lock_group.h"
#include "client/name.h"
#include "client/notify.h"
#include "client/request.h"
#include "client/step.h"
#include "client/wait.h"

#include "base/fail.h"
#include "core/validity.h"

#include <string.h>

static bool is_live(const struct hf_mark *mark, struct hf_instant now)
{
    return mark->fence != 0 && mark->owner_len > 0 &&
           hf_instant_before(now, mark->latest);
}

static void read_mark(const struct hf_answer *answer, struct hf_instant now,
                      struct hf_mark *out)
{
    struct hf_span left = hf_span_ms(answer->left_ms);
    out->fence = answer->counter;
    out->end = hf_instant_add(answer->sent, left);
    out->latest = hf_instant_add(now, left);
    out->owner_len = answer->owner == NULL ? 0 : answer->owner_len;
    if (out->owner_len > sizeof(out->owner)) {
        out->owner_len = sizeof(out->owner);
    }
    if (out->owner_len > 0) {
        memcpy(out->owner, answer->owner, out->owner_len);
    }
}

static bool is_same(const struct hf_mark *a, const struct hf_mark *b)
{
    return a->fence == b->fence && (a->owner_len == 0) == (b->owner_len == 0);
}

static bool is_newer(const struct hf_mark *a, const struct hf_mark *b)
{
    return a->fence != b->fence ? a->fence > b->fence : a->owner_len == 0;
}

/* Of copies of one mark, the last end counts. */
static void keep_newest(struct hf_mark *newest, const struct hf_mark *mark)
{
    if (is_same(mark, newest)) {
        newest->end = hf_instant_max(newest->end, mark->end);
        newest->latest = hf_instant_max(newest->latest, mark->latest);
    } else if (is_newer(mark, newest)) {
        *newest = *mark;
    }
}

static bool on_answer(struct hf_broadcast *query,
                      const struct hf_answer *answer)
{
    struct hf_marks *marks = query->user;
    struct hf_mark mark;
    read_mark(answer, query->op.client->now, &mark);
    marks->answered |= (uint16_t)(1U << answer->node);
    marks->fence[answer->node] = mark.fence;
    marks->is_tombstone[answer->node] = mark.owner_len == 0;
    keep_newest(&marks->newest, &mark);
    return false;
}

/* A MARK whose fence is 0 only reads. So does one whose end has passed, as the
 * nodes would keep it for no time. */
static void init(struct hf_mark_look *ask, struct hf_client *client,
                 const void *name, size_t name_len)
{
    struct hf_broadcast *query = &ask->query;
    memset(&ask->marks, 0, sizeof(ask->marks));
    ask->marks.newest.end = HF_LONG_AGO;
    ask->marks.newest.latest = HF_LONG_AGO;
    hf_broadcast_init(query, client, HF_VERB_MARK, name, name_len);
    int64_t left_ms =
        hf_span_ms_floor(hf_instant_until(client->now, ask->mark.end));
    query->op.order.ttl_ms = left_ms > 0 ? left_ms : 0;
    query->fence = left_ms > 0 ? ask->mark.fence : 0;
    query->owner = ask->mark.owner;
    query->owner_len = ask->mark.owner_len;
    query->on_reply = on_answer;
    query->user = &ask->marks;
}

/* Merge `mark` into the nodes' marks, and wait for the replies. is_cleanup: no
 * cancel token ends it, for withdrawing. */
static enum hf_status merge(struct hf_client *client,
                            const struct hf_name *name,
                            const struct hf_mark *mark, bool is_cleanup,
                            struct hf_marks *out, struct hf_error *error)
{
    struct hf_mark_look ask;
    ask.mark = *mark;
    init(&ask, client, name->name, name->name_len);
    ask.query.op.is_cleanup = is_cleanup;
    enum hf_status status = hf_broadcast_begin(&ask.query)
                                ? hf_op_await(&ask.query.op, error)
                                : hf_fail_memory(error);
    *out = ask.marks;
    return status;
}

static enum hf_status look_at(struct hf_client *client,
                              const struct hf_name *name, bool is_cleanup,
                              struct hf_marks *out, struct hf_error *error)
{
    struct hf_mark nothing = {.fence = 0, .end = client->now};
    return merge(client, name, &nothing, is_cleanup, out, error);
}

/* A tombstone has the fence of the mark that it withdraws, so the fence alone
 * does not tell them apart. */
static uint16_t having(const struct hf_marks *marks, const struct hf_mark *mark)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        if ((marks->answered & (1U << i)) != 0 &&
            marks->fence[i] == mark->fence &&
            marks->is_tombstone[i] == (mark->owner_len == 0)) {
            mask |= (uint16_t)(1U << i);
        }
    }
    return mask;
}

static bool is_majority(const struct hf_client *client, uint16_t mask)
{
    return __builtin_popcount(mask & client->nodes.voting) >=
           client->nodes.quorum;
}

/* Write the newest mark back where it is missing, for later tries. The result
 * does not matter to this one. */
static void repair(struct hf_client *client, const struct hf_name *name,
                   const struct hf_marks *marks)
{
    struct hf_marks now;
    if (marks->newest.fence != 0 &&
        having(marks, &marks->newest) != marks->answered) {
        (void)merge(client, name, &marks->newest, false, &now, NULL);
    }
}

/* A mark that some nodes lack is written back on reading: a later read may
 * reach only those. */
static enum hf_status find(struct hf_client *client, const struct hf_name *name,
                           struct hf_marks *out, struct hf_error *error)
{
    enum hf_status status = look_at(client, name, false, out, error);
    if (status == HF_OK) {
        repair(client, name, out);
    }
    return status;
}

static const char no_marks[] =
    "nothing of a run is kept when its lock ends (--once, --min-hold)";

enum hf_status hf_client_marked(struct hf_client *client, const void *name,
                                size_t name_len, int64_t *left_ms,
                                struct hf_error *error)
{
    struct hf_marks marks;
    if (left_ms == NULL) {
        return hf_fail(error, HF_INVALID, "no place for what is found");
    }
    *left_ms = 0;
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_client_need_records(client, no_marks, error);
    if (status == HF_OK) {
        status = hf_name_check(client, name, name_len, error);
    }
    if (status == HF_OK) {
        struct hf_name one = {.name = name, .name_len = name_len};
        hf_client_begin_write(client); /* find() writes the mark where it lacks
                                        */
        status = find(client, &one, &marks, error);
    }
    if (status == HF_OK && is_live(&marks.newest, client->now)) {
        *left_ms =
            hf_span_ms_ceil(hf_instant_until(client->now, marks.newest.latest));
    }
    hf_client_leave(client);
    return status;
}

/* ---- Withdrawing ------------------------------------------------------- */

/* The tombstone of `mark`. Its end is later than that of every copy, also of
 * one that is written late or expires by a slower clock. */
static struct hf_mark tombstone_of(const struct hf_client *client,
                                   const struct hf_mark *mark)
{
    struct hf_span left = hf_instant_until(client->now, mark->latest);
    struct hf_mark tombstone = {.fence = mark->fence, .owner_len = 0};
    tombstone.end = hf_instant_add(mark->latest, hf_drift(left));
    tombstone.end =
        hf_instant_add(tombstone.end, hf_span_ms(client->url->max_ttl_ms));
    return tombstone;
}

static enum hf_status
check_withdrawn(const struct hf_client *client, const struct hf_marks *marks,
                const struct hf_mark *tombstone, struct hf_error *error)
{
    if (marks->newest.fence == tombstone->fence &&
        !is_majority(client, having(marks, tombstone))) {
        return hf_fail(error, HF_UNAVAILABLE,
                       "no majority of the voting nodes has withdrawn the "
                       "mark: until its period is over it may come back");
    }
    return HF_OK;
}

/** @return HF_OK: a majority has the tombstone, or a newer mark replaced it. */
static enum hf_status
withdraw(struct hf_client *client, const struct hf_name *name,
         const struct hf_mark *mark, struct hf_error *error)
{
    struct hf_marks marks;
    struct hf_mark tombstone = tombstone_of(client, mark);
    enum hf_status status =
        merge(client, name, &tombstone, true, &marks, error);
    return status == HF_OK ? check_withdrawn(client, &marks, &tombstone, error)
                           : status;
}

/* ---- As one step of a break -------------------------------------------- */

static bool begin(struct hf_mark_look *ask, struct hf_op *parent,
                  const void *name, size_t name_len)
{
    init(ask, parent->client, name, name_len);
    ask->query.op.is_cleanup = true; /* cancelled only with its parent */
    ask->query.op.parent = parent;
    parent->n_children++;
    if (!hf_broadcast_begin(&ask->query)) {
        parent->n_children--;
        return false;
    }
    return true;
}

bool hf_mark_find_begin(struct hf_mark_look *ask, struct hf_op *parent,
                        const void *name, size_t name_len)
{
    ask->mark = (struct hf_mark){.fence = 0, .end = parent->client->now};
    return begin(ask, parent, name, name_len);
}

void hf_mark_found(const struct hf_mark_look *ask, struct hf_mark *out)
{
    *out = (struct hf_mark){.fence = 0};
    if (is_live(&ask->marks.newest, ask->query.op.client->now)) {
        *out = ask->marks.newest;
    }
}

bool hf_mark_withdraw_begin(struct hf_mark_look *ask, struct hf_op *parent,
                            const void *name, size_t name_len,
                            const struct hf_mark *mark)
{
    ask->mark = tombstone_of(parent->client, mark);
    return begin(ask, parent, name, name_len);
}

enum hf_status hf_mark_withdrawn(const struct hf_mark_look *ask,
                                 struct hf_error *error)
{
    const struct hf_op *op = &ask->query.op;
    if (op->status != HF_OK) {
        *error = op->error;
        return op->status;
    }
    return check_withdrawn(op->client, &ask->marks, &ask->mark, error);
}

/* ---- The locks of a handle --------------------------------------------- */

/* A handle may be released in on_state while its call waits. Its memory is kept
 * until the end of the call (notify.h), and these links with it. */
static struct hf_lock *next_of(const struct hf_lock *lock)
{
    return (struct hf_lock *)(uintptr_t)hf_lock_follows(lock);
}

/** @return `status`; HF_CANCELLED if it is HF_OK, and the lock was released. */
static enum hf_status check_ours(const struct hf_lock *lock,
                                 enum hf_status status, struct hf_error *error)
{
    if (status != HF_OK || (lock->flags & HF_LOCK_OURS) != 0) {
        return status;
    }
    return hf_fail(error, HF_CANCELLED,
                   "the lock was released while it was being marked");
}

static struct hf_name name_of(const struct hf_lock *lock)
{
    return (struct hf_name){.name = hf_lock_name_bytes(lock),
                            .name_len = lock->name_len};
}

/* A newest mark with another fence is of another run, and stays. One that is
 * over by now is withdrawn too: at a node that did not reply it may last
 * longer.
 */
static enum hf_status unmark(struct hf_lock *lock, struct hf_error *error)
{
    struct hf_marks marks;
    struct hf_client *client = lock->client;
    struct hf_name name = name_of(lock);
    uint64_t fence = hf_lease_fence(hf_lock_lease(lock));
    enum hf_status status = look_at(client, &name, true, &marks, error);
    if (status != HF_OK || marks.newest.owner_len == 0 ||
        marks.newest.fence != fence) {
        return status;
    }
    return withdraw(client, &name, &marks.newest, error);
}

enum hf_status hf_lock_unmark(struct hf_lock *lock, struct hf_error *error)
{
    if (lock == NULL) {
        return hf_fail(error, HF_INVALID, "no lock");
    }
    struct hf_client *client = lock->client;
    enum hf_status worst = hf_client_enter(client, error);
    if (worst != HF_OK) {
        return worst;
    }
    struct hf_reader reader;
    hf_notify_read(client, &reader, lock);
    worst = hf_client_need_records(client, no_marks, error);
    for (struct hf_lock *one = worst == HF_OK ? lock : NULL; one != NULL;
         one = next_of(one)) {
        enum hf_status status = unmark(one, error);
        worst = worst == HF_OK ? status : worst;
    }
    hf_notify_read_end(client, &reader);
    hf_client_leave(client);
    return worst;
}

/* ---- Marking ----------------------------------------------------------- */

/** @return HF_OK: a majority of the voting nodes replied, none with a live
 * mark; HF_BUSY: the newest mark is live. */
static enum hf_status check_unmarked(struct hf_lock *lock,
                                     struct hf_error *error)
{
    struct hf_marks marks;
    struct hf_client *client = lock->client;
    struct hf_name name = name_of(lock);
    enum hf_status status =
        check_ours(lock, find(client, &name, &marks, error), error);
    if (status != HF_OK) {
        return status;
    }
    if (is_live(&marks.newest, client->now)) {
        return hf_fail(error, HF_BUSY, "a command was started in this period");
    }
    if (marks.newest.fence == hf_lease_fence(hf_lock_lease(lock)) &&
        marks.newest.owner_len == 0) {
        return hf_fail(error, HF_INVALID,
                       "this lock's mark was withdrawn: acquire it anew");
    }
    if (!is_majority(client, marks.answered)) {
        return hf_fail(error, HF_UNAVAILABLE,
                       "no majority of the voting nodes says whether a command "
                       "was started in this period");
    }
    return HF_OK;
}

static enum hf_status mark_one(struct hf_lock *lock, int64_t period_ms,
                               struct hf_error *error)
{
    struct hf_marks marks;
    struct hf_client *client = lock->client;
    struct hf_name name = name_of(lock);
    struct hf_mark mark = {
        .fence = hf_lease_fence(hf_lock_lease(lock)),
        .end = hf_instant_add(client->now, hf_span_ms(period_ms)),
    };
    mark.latest = mark.end;
    mark.owner_len = hf_lock_emit_owner(lock, mark.owner);
    enum hf_status status = check_ours(
        lock, merge(client, &name, &mark, false, &marks, error), error);
    if (status == HF_OK && !is_majority(client, having(&marks, &mark))) {
        status = hf_fail(error, HF_UNAVAILABLE,
                         "no majority of the voting nodes has taken the mark "
                         "of the period");
    }
    if (status != HF_OK) {
        (void)withdraw(client, &name, &mark, NULL);
    }
    return status;
}

/* By the clock: the timer that reports a loss may not have run yet. */
static enum hf_status check_held(struct hf_lock *lock, struct hf_error *error)
{
    enum hf_status status = HF_OK;
    for (; status == HF_OK && lock != NULL; lock = hf_lock_group_next(lock)) {
        if (hf_lock_state_now(lock) == HF_STATE_LOST) {
            status = hf_fail(error, HF_LOST, "%s", hf_status_text(HF_LOST));
        }
    }
    return status;
}

/* Mark all names or none; none if the lock has been lost by then. The mark of a
 * lost lock would refuse that of the next holder until it is withdrawn, so the
 * lock is looked at before each request, too. */
static enum hf_status mark_all(struct hf_lock *lock, int64_t period_ms,
                               struct hf_error *error)
{
    enum hf_status status = check_held(lock, error);
    struct hf_lock *one = lock;
    for (; status == HF_OK && one != NULL; one = next_of(one)) {
        status = check_unmarked(one, error);
    }
    if (status != HF_OK) {
        return status;
    }
    for (one = lock; status == HF_OK && one != NULL; one = next_of(one)) {
        status = check_held(lock, error);
        status = status == HF_OK ? mark_one(one, period_ms, error) : status;
    }
    status = status == HF_OK ? check_held(lock, error) : status;
    for (struct hf_lock *done = lock; status != HF_OK && done != one;
         done = next_of(done)) {
        (void)unmark(done, NULL);
    }
    return status;
}

static enum hf_status check_mark(struct hf_lock *lock, int64_t period_ms,
                                 struct hf_error *error)
{
    if (period_ms <= 0 || period_ms > HF_PERIOD_MS_MAX) {
        return hf_fail(error, HF_INVALID, "a period of %lld ms",
                       (long long)period_ms);
    }
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        if (lock->is_shared) {
            return hf_fail(error, HF_INVALID,
                           "a shared lock is not marked: other sharers "
                           "would run beside the one that is");
        }
    }
    return HF_OK;
}

enum hf_status hf_lock_mark(struct hf_lock *lock, int64_t period_ms,
                            struct hf_error *error)
{
    if (lock == NULL) {
        return hf_fail(error, HF_INVALID, "no lock");
    }
    struct hf_client *client = lock->client;
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_client_need_records(client, no_marks, error);
    if (status == HF_OK) {
        status = check_mark(lock, period_ms, error);
    }
    if (status == HF_OK) {
        struct hf_reader reader;
        hf_notify_read(client, &reader, lock);
        status = mark_all(lock, period_ms, error);
        hf_notify_read_end(client, &reader);
    }
    hf_client_leave(client);
    return status;
}
