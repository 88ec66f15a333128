/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH THREAD READS
 *
 * A blocking call does its I/O in its own thread: no hop through a thread of
 * the library. When several wait, one of them, the leader, sleeps in epoll
 * without the mutex and reads for all; the others sleep on a condition each.
 * When an operation ends, its thread is woken. When the leader's own operation
 * ends, it hands the role to a thread that still waits. So an uncontended call
 * costs a write, an epoll_wait and a read, and a contended one a wake-up more.
 *
 * Timers are the leader's, too; a follower whose timer is due before the
 * leader means to wake pokes it. */
#include "client/cancel.h"
#include "client/op.h"

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

void hf_waiter_wake(struct hf_waiter *waiter)
{
    pthread_cond_signal(&waiter->cond);
}

static void enlist(struct hf_client *client, struct hf_waiter *self)
{
    self->prev = NULL;
    self->next = client->waiters;
    if (self->next != NULL) {
        self->next->prev = self;
    }
    client->waiters = self;
}

static void delist(struct hf_client *client, struct hf_waiter *self)
{
    if (self->prev != NULL) {
        self->prev->next = self->next;
    } else {
        client->waiters = self->next;
    }
    if (self->next != NULL) {
        self->next->prev = self->prev;
    }
}

/* Another thread has to read from now on. */
static void hand_over(struct hf_client *client)
{
    if (client->is_polling) {
        return;
    }
    struct hf_waiter *next = client->waiters;
    while (next != NULL && next->op->is_done) {
        next = next->next;
    }
    if (next != NULL) {
        hf_waiter_wake(next);
    }
}

static void lead(struct hf_client *client)
{
    struct hf_instant until = hf_client_due(client);
    client->is_polling = true;
    client->poll_until = until; /* a follower may change it, and pokes then */
    pthread_mutex_unlock(&client->mutex);
    int n_found = hf_loop_wait(client->loop, until);
    if (n_found == 0) {
        hf_loop_wait(client->loop, HF_LONG_AGO); /* woken late: look again
                                                    before timing out */
    }
    pthread_mutex_lock(&client->mutex);
    client->is_polling = false;
    hf_client_dispatch(client);
}

/* Only the leader runs timers (settle.c). If one is due before it means to
 * wake, it is poked; that is rare, since new timers are mostly the latest. */
static void follow(struct hf_client *client, struct hf_waiter *self)
{
    struct hf_instant due = hf_client_due(client);
    if (hf_instant_before(due, client->poll_until)) {
        client->poll_until = due;
        eventfd_write(client->poke.fd, 1);
    }
    pthread_cond_wait(&self->cond, &client->mutex);
    hf_client_tick(client);
    hf_client_settle(client);
}

/* Meanwhile another call, or the library's thread, reads and runs timers. */
static void tell(struct hf_client *client, struct hf_waiter *self)
{
    if (!hf_tell_is_due(client)) {
        return;
    }
    delist(client, self);
    hand_over(client);
    hf_client_arm(client);
    hf_tell_here(client);
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
    op->waiter = &self;
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
    hand_over(client);
    pthread_cond_destroy(&self.cond);
    return op->is_done;
}

/* In a callback of hf_client_process() nothing is written until all callbacks
 * have returned; but a thread that waits for an answer must have sent its
 * request. */
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

/* Edge-triggered, so that it need not be read; cancel tokens come here, too. A
 * call that was interrupted finds that out by itself; the others go back to
 * sleep. */
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
            hf_waiter_wake(w);
        }
    }
}

/* Only what a signal handler may do: an atomic and a write. */
void hf_client_interrupt(struct hf_client *client)
{
    if (client == NULL || hf_client_is_forked(client)) {
        return;
    }
    int saved = errno;
    uint64_t one = 1;
    atomic_fetch_add(&client->interrupts, 1);
    ssize_t written = write(client->poke.fd, &one, sizeof(one));
    (void)written; /* it is full: the reader will look anyway */
    errno = saved;
}
