/* SPDX-License-Identifier: Apache-2.0 */
/* WHO READS FOR WHOM
 *
 * A blocking call does its I/O in its own thread: no hop through a thread of
 * the library. When several wait, one of them, the leader, sleeps in epoll
 * without the mutex and reads for all; the others sleep on a condition each.
 * Whose operation ends is woken, and the leader, when its own ends, hands the
 * role to one that still waits. So an uncontended call costs a write, an
 * epoll_wait and a read, and a contended one a wake-up more.
 *
 * A follower whose timer is due before the leader wakes sleeps no longer than
 * that and runs it itself: timers need the mutex, not the role. Only a timer
 * of the store needs the leader, who is poked then. */
#include "client/op.h"

#include "base/assert.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
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

/* Somebody else has to read from now on. */
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
    client->is_polling = true;
    client->poll_until = hf_client_due(client);
    pthread_mutex_unlock(&client->mutex);
    hf_loop_wait(client->loop, client->poll_until);
    pthread_mutex_lock(&client->mutex);
    client->is_polling = false;
    hf_client_tick(client);
    hf_loop_dispatch(client->loop, client->now);
    hf_client_settle(client);
}

/* pthread conditions know CLOCK_MONOTONIC; the difference of the two clocks
 * matters only across a suspend, and then the leader wakes. */
static struct timespec monotonic_after(struct hf_span span)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + (span.ns > 0 ? span.ns : 0);
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

static void follow(struct hf_client *client, struct hf_waiter *self)
{
    struct hf_instant due = hf_heap_next(&client->heap);
    if (hf_instant_before(hf_loop_next_timer(client->loop),
                          client->poll_until)) {
        eventfd_write(client->poke.fd, 1);
    }
    if (hf_instant_before(due, client->poll_until)) {
        struct timespec at =
            monotonic_after(hf_instant_until(client->now, due));
        pthread_cond_clockwait(&self->cond, &client->mutex, CLOCK_MONOTONIC,
                               &at);
    } else {
        pthread_cond_wait(&self->cond, &client->mutex);
    }
    hf_client_tick(client);
    hf_client_settle(client);
}

static bool is_interrupted(const struct hf_client *client,
                           const struct hf_op *op)
{
    return atomic_load(&client->interrupts) != op->interrupts;
}

bool hf_client_wait(struct hf_client *client, struct hf_op *op)
{
    struct hf_waiter self = {.cond = PTHREAD_COND_INITIALIZER, .op = op};
    hf_client_settle(client);
    if (op->is_done) {
        return true;
    }
    op->waiter = &self;
    enlist(client, &self);
    while (!op->is_done && !is_interrupted(client, op)) {
        if (client->is_polling) {
            follow(client, &self);
        } else {
            lead(client);
        }
    }
    delist(client, &self);
    op->waiter = NULL;
    hand_over(client);
    pthread_cond_destroy(&self.cond);
    return op->is_done;
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

/* Edge-triggered, so that it need not be read. Whoever was interrupted finds
 * that out by itself; the others go back to sleep. */
void hf_client_on_poke(struct hf_watch *watch, uint32_t events,
                       struct hf_instant now)
{
    struct hf_client *client =
        (struct hf_client *)(void *)((char *)watch -
                                     offsetof(struct hf_client, poke));
    (void)events;
    (void)now;
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
    (void)written; /* it is full: somebody will look anyway */
    errno = saved;
}
