/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH THREAD READS
 *
 * A blocking call does its I/O in its own thread, not in a thread of the
 * library. If several calls wait, one thread, the leader, sleeps in epoll
 * without the mutex and reads for all; each of the others, the followers,
 * sleeps on its own condition variable. When an operation ends, its thread is
 * woken. When the leader's own operation ends, it wakes a follower, which
 * becomes the leader.
 *
 * The leader also runs the timers. A follower whose timer is due before the
 * leader's epoll timeout pokes the leader.
 *
 * Cost: an uncontended call is a write, an epoll_wait and a read; a contended
 * one is one wake-up more. No allocation: a waiter is on its thread's stack. An
 * interrupt looks at every waiter. */
#include "client/wait.h"

#include "client/callback.h"
#include "client/cancel.h"
#include "client/deferred.h"
#include "client/fork.h"
#include "client/mutex.h"
#include "client/notify.h"
#include "client/timer.h"

#include "base/assert.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hf_waiter {
    pthread_cond_t cond;
    const struct hf_op *op;
    struct hf_waiter *prev, *next;
};

static void enlist(struct hf_client *client, struct hf_waiter *self)
{
    HF_ASSERT(client->waiters != self);
    self->prev = NULL;
    self->next = client->waiters;
    if (self->next != NULL) {
        self->next->prev = self;
    }
    client->waiters = self;
}

static void delist(struct hf_client *client, struct hf_waiter *self)
{
    HF_ASSERT(self->prev != NULL ? self->prev->next == self
                                 : client->waiters == self);
    if (self->prev != NULL) {
        self->prev->next = self->next;
    } else {
        client->waiters = self->next;
    }
    if (self->next != NULL) {
        self->next->prev = self->prev;
    }
}

/* If no thread polls, wake one to become the leader: otherwise no thread would
 * read the replies of the others. */
static void hand_over(struct hf_client *client)
{
    if (client->is_polling || hf_client_is_forked(client)) {
        return;
    }
    struct hf_waiter *next = client->waiters;
    while (next != NULL && next->op->is_done) {
        next = next->next;
    }
    if (next != NULL) {
        pthread_cond_signal(&next->cond);
    }
}

static void lead(struct hf_client *client)
{
    struct hf_instant until = hf_client_due(client);
    HF_ASSERT(!client->is_polling && client->in_store == 0);
    client->is_polling = true;
    client->poll_until = until; /* a follower that lowers it pokes us */
    int paused = hf_client_pause_lock(client);
    int n_found = hf_loop_wait(client->loop, until);
    if (n_found == 0) {
        hf_loop_wait(client->loop, HF_LONG_AGO); /* a reply may have arrived
                                                    since the timeout */
    }
    hf_client_resume_lock(client, paused);
    client->is_polling = false;
    hf_client_dispatch(client);
}

/* Only the leader runs timers (deferred.c), so it is poked if one is due before
 * its epoll timeout. That is rare: a new timer is usually the latest. */
static void follow(struct hf_client *client, struct hf_waiter *self)
{
    struct hf_instant due = hf_client_due(client);
    HF_ASSERT(client->is_polling && client->in_store == 0);
    if (hf_instant_before(due, client->poll_until)) {
        client->poll_until = due;
        eventfd_write(client->poke.fd, 1);
    }
    int paused = client->cancel_state; /* other threads have the mutex now */
    pthread_cond_wait(&self->cond, &client->mutex);
    hf_client_note_resumed(client, paused);
    hf_client_tick(client);
    hf_client_settle(client);
}

/* Run on_state. Until it returns, another waiting call reads and runs the
 * timers; if there is none, the timer in hf_client_fd() is set. */
static void tell(struct hf_client *client, struct hf_waiter *self)
{
    if (!hf_notify_is_due(client)) {
        return;
    }
    delist(client, self);
    hand_over(client);
    hf_client_arm(client);
    hf_notify_here(client);
    enlist(client, self);
}

static bool is_interrupted(const struct hf_client *client,
                           const struct hf_op *op)
{
    return client->is_closing || hf_op_is_cancelled(op) ||
           atomic_load(&client->interrupts) != op->interrupts;
}

static bool wait(struct hf_client *client, struct hf_op *op)
{
    struct hf_waiter self = {.cond = PTHREAD_COND_INITIALIZER, .op = op};
    HF_ASSERT(op->waiter == NULL);
    op->waiter = &self.cond;
    enlist(client, &self);
    while (!op->is_done && !is_interrupted(client, op)) {
        if (client->is_polling) {
            follow(client, &self);
        } else {
            lead(client);
        }
        tell(client, &self);
    }
    delist(client, &self);
    op->waiter = NULL;
    /* The interrupt that ended it does not end what undoes it. */
    client->interrupts_before = atomic_load(&client->interrupts);
    hand_over(client);
    pthread_cond_destroy(&self.cond);
    return op->is_done;
}

/* In a callback of hf_client_process() requests are written only after all
 * callbacks have returned. A call that waits for a reply turns that off, since
 * its request must be sent first. */
bool hf_client_wait(struct hf_client *client, struct hf_op *op)
{
    bool was_deferring = hf_client_is_deferring(client);
    client->is_blocking |= was_deferring;
    hf_client_settle(client);
    bool is_done = op->is_done || wait(client, op);
    if (was_deferring) {
        client->is_blocking = false;
    }
    return is_done;
}

enum hf_status hf_op_await(struct hf_op *op, struct hf_error *error)
{
    if (!hf_client_wait(op->client, op)) {
        hf_op_abandon(op);
    }
    if (error != NULL) {
        *error = op->error;
    }
    return op->status;
}

/* ---- The poke ---------------------------------------------------------- */

/* Called for the eventfd and for cancel tokens. Both are edge-triggered, so
 * they need not be read. Wakes the followers with an interrupted call. */
void hf_client_on_poke(struct hf_watch *watch, uint32_t events,
                       struct hf_instant now)
{
    struct hf_client *client =
        (struct hf_client *)(void *)((char *)watch -
                                     offsetof(struct hf_client, poke));
    (void)events;
    (void)now;
    hf_client_cancel_started(client);
    for (struct hf_waiter *w = client->waiters; w != NULL; w = w->next) {
        if (is_interrupted(client, w->op)) {
            pthread_cond_signal(&w->cond);
        }
    }
}

/* Async-signal-safe: an atomic operation and a write. */
void hf_client_interrupt(struct hf_client *client)
{
    if (client == NULL || hf_client_is_forked(client)) {
        return;
    }
    int saved = errno;
    int before = hf_cancel_state_hold();
    uint64_t one = 1;
    atomic_fetch_add(&client->interrupts, 1);
    ssize_t written = write(client->poke.fd, &one, sizeof(one));
    (void)written; /* full: an earlier write wakes the reader */
    hf_cancel_state_restore(before);
    errno = saved;
}
