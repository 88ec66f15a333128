/* SPDX-License-Identifier: Apache-2.0 */
/* Closing a client. The callbacks of all pending operations run, with
 * HF_CANCELLED. All locks are released in one pipeline. That ends when
 * all are, when no reply arrives for one timeout, or after 5 s; the remaining
 * leases expire. A store of several servers has the time to ask another one. A
 * forked child sends nothing. If a callback closes the client, the closing
 * starts when the callback has returned.
 *
 * Cost: one round trip for up to IN_FLIGHT_MAX requests of release; of more,
 * the next ones follow as replies come. */
#include "client/close.h"

#include "client/callback.h"
#include "client/deferred.h"
#include "client/fork.h"
#include "client/lock_end.h"
#include "client/lock_group.h"
#include "client/mutex.h"
#include "client/op.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/seize.h"
#include "client/step.h"
#include "client/timer.h"

#include "base/assert.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Requests without a reply at a time: enough to keep a server busy, few enough
 * for its input buffers. */
#define IN_FLIGHT_MAX 1024

/* The limit for releasing all locks, however many there are: as of any call
 * that finds no majority. */
#define CLOSE_MS_MAX 5000

/* For a lock that is being released already: send RELEASE again to each node
 * that has not confirmed it. */
static void nudge(struct hf_client *client, struct hf_lock *lock)
{
    uint64_t cookie = hf_item_table_cookie(&client->items, &lock->item);
    HF_ASSERT((lock->flags & (HF_LOCK_OURS | HF_LOCK_OVER)) == 0);
    for (unsigned i = 0; i < client->nodes.count; i++) {
        struct hf_event event = {
            .kind = HF_EV_NODE, .now = client->now, .node = (uint8_t)i};
        if (hf_item_table_find(&client->items, cookie) != NULL &&
            (lock->flags & HF_LOCK_OVER) == 0) {
            hf_client_step(client, lock, &event);
        }
    }
}

static void give_back(struct hf_client *client, uint32_t idx)
{
    struct hf_item *item = hf_item_table_at(&client->items, idx);
    HF_ASSERT(client->n_pending < IN_FLIGHT_MAX);
    if (item == NULL || item->kind != HF_ITEM_LOCK) {
        return;
    }
    struct hf_lock *lock = hf_lock_of(item);
    if ((lock->flags & HF_LOCK_OURS) != 0) {
        hf_release_whole(hf_lock_group_first(lock), NULL);
    } else if ((lock->flags & HF_LOCK_OVER) == 0) {
        nudge(client, lock);
    }
}

/* Timeouts: a server is silent for two before another one is asked; its own. */
#define TIMEOUTS 3

static struct hf_instant wait_end(const struct hf_client *client)
{
    struct hf_span longest = hf_span_ms(client->url->max_ttl_ms);
    struct hf_span one = hf_nodes_patience(&client->nodes, longest);
    struct hf_span failover = client->store->ops->failover;
    if (failover.ns > 0) {
        one = hf_span_max(failover, hf_span_scale(one, TIMEOUTS));
    }
    HF_ASSERT(one.ns > 0); /* else no reply would be waited for */
    return hf_instant_add(client->now, one);
}

static void wait_for_answers(struct hf_client *client, struct hf_instant until)
{
    hf_loop_wait(client->loop, hf_instant_min(until, hf_client_due(client)));
    hf_client_dispatch(client);
}

static void release_all(struct hf_client *client)
{
    struct hf_instant end =
        hf_instant_add(client->now, hf_span_ms(CLOSE_MS_MAX));
    struct hf_instant until = wait_end(client);
    uint32_t idx = 0;
    uint64_t n_seen = client->n_answers;
    HF_ASSERT(client->finished.first == NULL); /* each callback has run */
    for (;;) {
        while (idx < hf_item_table_limit(&client->items) &&
               client->n_pending < IN_FLIGHT_MAX) {
            give_back(client, idx++);
        }
        hf_client_settle(client);
        bool is_all = idx == hf_item_table_limit(&client->items);
        if (client->n_answers != n_seen) {
            n_seen = client->n_answers;
            until = wait_end(client);
        }
        if (client->items.n_used == 0 || !hf_instant_before(client->now, end) ||
            (is_all && client->n_pending == 0 &&
             client->nodes.connecting == 0) ||
            !hf_instant_before(client->now, until)) {
            return;
        }
        if (is_all || client->n_pending > 0) {
            wait_for_answers(client, until);
        }
    }
}

/* ---- Pending callbacks ------------------------------------------------- */

static void write_error(struct hf_error *error)
{
    error->status = HF_CANCELLED;
    error->node = -1;
    snprintf(error->text, sizeof(error->text), "the client was closed");
}

static void call(struct hf_client *client, hf_op_fn *done, void *user)
{
    struct hf_error error;
    HF_ASSERT(client->is_ending); /* the callback can begin nothing more */
    write_error(&error);
    pthread_mutex_unlock(&client->mutex);
    done(user, NULL, HF_CANCELLED, &error);
    pthread_mutex_lock(&client->mutex);
}

/** @return an asynchronous operation, or NULL. The other operations in the list
 * are parts of those, or clean up after a break. */
static struct hf_op *find_started(struct hf_client *client)
{
    struct hf_op *op = client->ops.first;
    while (op != NULL && op->call == NULL) {
        op = op->next;
    }
    return op;
}

/* All operations are stopped before the first callback runs: a callback may
 * cancel other operations. */
static void cancel_ops(struct hf_client *client)
{
    struct hf_op *started = NULL;
    while ((started = find_started(client)) != NULL) {
        hf_op_abandon(started);
        hf_ops_append(&client->finished, started);
    }
    for (struct hf_op *op = client->finished.first; op != NULL; op = op->next) {
        hf_op_forget_result(op);
        op->status = HF_CANCELLED;
        write_error(&op->error);
    }
    while (client->finished.first != NULL && !hf_client_is_forked(client)) {
        struct hf_op *op = client->finished.first;
        hf_ops_remove(&client->finished, op);
        HF_ASSERT(client->is_ending && op->is_done);
        pthread_mutex_unlock(&client->mutex);
        op->call(op);
        hf_op_free(op);
        pthread_mutex_lock(&client->mutex);
    }
}

/* The last lock of a handle has the callback. */
static void cancel_call(struct hf_client *client, struct hf_lock *lock)
{
    void *user = NULL;
    bool is_last = hf_lock_group_next(lock) == NULL;
    hf_op_fn *done = hf_lock_take_done(lock, &user);
    if (is_last) {
        call(client, done, user);
    }
}

static void cancel_all(struct hf_client *client)
{
    cancel_ops(client);
    for (uint32_t i = 0; i < hf_item_table_limit(&client->items) &&
                         !hf_client_is_forked(client);
         i++) {
        struct hf_item *item = hf_item_table_at(&client->items, i);
        if (item != NULL && item->kind == HF_ITEM_LOCK &&
            (hf_lock_of(item)->flags & HF_LOCK_CALLING) != 0) {
            cancel_call(client, hf_lock_of(item));
        }
    }
    hf_client_tick(client);
}

/* ---- Freeing ----------------------------------------------------------- */

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* In a forked child, blocking calls have left operations on stacks of the
 * parent's threads, which are not freed. A bundle is always on the heap; its
 * members are part of it and follow it in the list. */
static void free_ops(struct hf_client *client)
{
    struct hf_op *op = client->ops.last;
    while (op != NULL) {
        struct hf_op *prev = op->prev;
        if (op->call != NULL) {
            hf_op_free(op);
        } else if (op->kind == HF_OP_BUNDLE) {
            free(op);
        }
        op = prev;
    }
}

static void free_items(struct hf_client *client)
{
    for (uint32_t i = 0; i < hf_item_table_limit(&client->items); i++) {
        struct hf_item *item = hf_item_table_at(&client->items, i);
        if (item != NULL && item->kind == HF_ITEM_LOCK) {
            free(hf_lock_of(item));
        }
    }
    for (struct hf_op *op = client->finished.first; op != NULL;) {
        struct hf_op *next = op->next;
        hf_op_free(op);
        op = next;
    }
    free_ops(client);
    hf_seizures_free(client);
}

void hf_client_free(struct hf_client *client)
{
    bool is_forked = client->page != NULL && hf_client_is_forked(client);
    HF_ASSERT(is_forked || !client->has_thread);
    if (client->store != NULL) {
        client->store->ops->close(client->store, is_forked);
    }
    free_items(client);
    hf_timer_heap_fini(&client->heap);
    hf_item_table_fini(&client->items);
    free(client->inbox);
    hf_url_free(client->url);
    close_fd(client->loop_fd);
    close_fd(client->done_fd);
    hf_alarm_close(&client->alarm);
    close_fd(client->poke.fd);
    hf_loop_free(client->loop);
    hf_page_close(client);
    if (!is_forked) {
        pthread_mutex_destroy(&client->mutex);
    }
    free(client);
}

/* ---- Closing ----------------------------------------------------------- */

bool hf_client_is_to_shut_down(const struct hf_client *client)
{
    return client->is_closing && !hf_client_is_in_callback(client) &&
           pthread_equal(client->closer, pthread_self());
}

/* Called without the mutex, which the thread needs for its end, and by another
 * thread. The alarm, set to the past, wakes it. */
static void stop_thread(struct hf_client *client)
{
    if (!client->has_thread) {
        return;
    }
    HF_ASSERT(!pthread_equal(client->thread, pthread_self()));
    pthread_mutex_lock(&client->mutex);
    client->is_stopping = true;
    hf_alarm_set(&client->alarm, (struct hf_instant){1});
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->thread, NULL);
    client->has_thread = false;
}

/* If a thread of the parent had the mutex, it may have been in the middle of a
 * change, also in the store: a pointer may be that of a buffer which was freed.
 * That thread is not in the child, so the memory is given up. */
static void free_forked(struct hf_client *client)
{
    HF_ASSERT(hf_client_is_forked(client));
    if (!client->is_torn && pthread_mutex_trylock(&client->mutex) == 0) {
        pthread_mutex_unlock(&client->mutex);
        hf_client_free(client);
    }
}

/* A callback that runs here may fork, and return in the child. */
void hf_client_shut_down(struct hf_client *client)
{
    if (hf_client_is_forked(client)) {
        free_forked(client);
        return;
    }
    stop_thread(client);
    pthread_mutex_lock(&client->mutex);
    client->is_ending = true;
    hf_client_tick(client);
    cancel_all(client);
    if (!hf_client_is_forked(client)) {
        release_all(client);
    }
    pthread_mutex_unlock(&client->mutex);
    hf_client_free(client);
}

/** @return true: end it now; false: it ends when this callback returns, or is
 * ending already. */
static bool may_end(struct hf_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool may = !hf_client_is_in_callback(client) && !client->is_ending;
    if (!may && !client->is_ending) {
        client->is_closing = true;
        client->closer = pthread_self();
    }
    pthread_mutex_unlock(&client->mutex);
    return may;
}

/* In a callback that has forked, the call in which it runs frees the client. */
static void close_forked(struct hf_client *client)
{
    HF_ASSERT(hf_client_is_forked(client));
    if (client->is_ending) {
        return; /* a callback of hf_client_shut_down(), which frees it */
    }
    if (hf_client_is_in_callback(client)) {
        client->is_closing = true;
        client->closer = pthread_self();
    } else {
        free_forked(client);
    }
}

void hf_client_close(struct hf_client *client)
{
    if (client == NULL) {
        return;
    }
    int before = hf_cancel_state_hold();
    if (hf_client_is_forked(client)) {
        close_forked(client);
    } else if (may_end(client)) {
        hf_client_shut_down(client);
    }
    hf_cancel_state_restore(before);
}
