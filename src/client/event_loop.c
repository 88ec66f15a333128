/* SPDX-License-Identifier: Apache-2.0 */
/* For event loops: one descriptor, and one function to call when it is
 * readable.
 *
 *     hf_client_fd() = epoll of { the sockets' epoll, the timer, an eventfd }
 *
 * It is a separate epoll because a blocking call in another thread consumes the
 * events of the sockets' epoll: the eventfd stays readable until
 * hf_client_process() has run the queued callbacks. The timer is in this set
 * only if there is no library's thread; otherwise that thread polls it.
 *
 * Callbacks run only in hf_client_process(), and at the end in
 * hf_client_close(). They run without the mutex, so they may call any function.
 * Requests that they start are written together at the end, unless a callback
 * waits for a reply.
 *
 * Cost: hf_client_process() makes one epoll_pwait2(), one eventfd_read() if
 * callbacks were queued, and one timerfd_settime() after the timer has expired;
 * the reads and writes of the sockets come with them. The queued callbacks are
 * counted first, one by one. A callback costs no system call of ours. */
#include "base/assert.h"
#include "client/callback.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/events.h"
#include "client/fork.h"
#include "client/lock_end.h"
#include "client/lock_group.h"
#include "client/mutex.h"
#include "client/op.h"
#include "client/op_async.h"
#include "client/timer.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- The descriptor ---------------------------------------------------- */

static bool add_fd(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool has_debts(const struct hf_client *client)
{
    return client->finished.first != NULL ||
           client->calls_first != HF_NOWHERE ||
           client->events_first != HF_NOWHERE;
}

static void open_fd(struct hf_client *client)
{
    int epoll_fd = hf_standard_fds_avoid(epoll_create1(EPOLL_CLOEXEC));
    int done_fd = hf_standard_fds_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    bool needs_timer = client->options.thread == HF_THREAD_NONE;
    bool ok = epoll_fd >= 0 && done_fd >= 0 && add_fd(epoll_fd, done_fd) &&
              add_fd(epoll_fd, hf_loop_fd(client->loop)) &&
              (!needs_timer || (hf_alarm_open(&client->alarm) &&
                                add_fd(epoll_fd, client->alarm.fd)));
    if (!ok) {
        int error = errno;
        if (epoll_fd >= 0) {
            close(epoll_fd);
        }
        if (done_fd >= 0) {
            close(done_fd);
        }
        errno = error;
        return;
    }
    client->loop_fd = epoll_fd;
    client->done_fd = done_fd;
    if (has_debts(client)) {
        hf_client_schedule_callback(client);
    }
}

int hf_client_fd(struct hf_client *client)
{
    if (hf_client_enter(client, NULL) != HF_OK) {
        return -1;
    }
    if (client->loop_fd < 0) {
        open_fd(client);
    }
    int fd = client->loop_fd;
    int error = errno;
    hf_client_leave(client);
    errno = error;
    return fd;
}

/* ---- Callbacks --------------------------------------------------------- */

/** @return true: call back. In op->report() the user may cancel the operation,
 * or close the client, which then runs the callback. */
static bool report(struct hf_client *client, struct hf_op *op)
{
    if (op->status != HF_OK || op->report == NULL) {
        return true;
    }
    op->is_reporting = true;
    bool is_over = op->report(op);
    op->is_reporting = false;
    if (is_over && op->is_dropped) {
        hf_op_free(op);
        return false;
    }
    if (is_over && client->is_closing) {
        hf_ops_append(&client->finished, op);
        return false;
    }
    return is_over;
}

/** The callback gets the lock. @return 0; or the cookie of a lock whose state
 * has changed since it was won: on_state is called for it after the callback,
 * which would else get a lock that on_state has released. */
static uint64_t hand_out(struct hf_op *op)
{
    bool has_lock = op->status == HF_OK && op->lock != NULL;
    return has_lock && hf_lock_hand_out(op->lock)
               ? hf_item_table_cookie(&op->client->items, &op->lock->item)
               : 0;
}

static void tell_news(struct hf_client *client, uint64_t cookie)
{
    struct hf_item *item = hf_item_table_find(&client->items, cookie);
    if (item != NULL && item->kind == HF_ITEM_LOCK &&
        (hf_lock_of(item)->flags & HF_LOCK_OURS) != 0) {
        hf_client_notify(client, hf_lock_of(item));
    }
}

static void call_op(struct hf_client *client, struct hf_op *op)
{
    HF_ASSERT(op->is_done && op->call != NULL);
    hf_ops_remove(&client->finished, op);
    if (!report(client, op)) {
        return;
    }
    uint64_t news = hand_out(op);
    struct hf_caller self;
    hf_client_let_out(client, &self);
    op->call(op);
    hf_op_free(op);
    hf_client_take_in(client, &self);
    tell_news(client, news);
}

static void call_lock(struct hf_client *client, struct hf_lock *lock)
{
    void *user = NULL;
    enum hf_status status = (enum hf_status)lock->outcome;
    hf_op_fn *done = hf_lock_take_done(lock, &user);
    struct hf_error error;
    error.status = status;
    error.node = -1;
    snprintf(error.text, sizeof(error.text), "%s",
             status == HF_OK ? "" : hf_status_text(status));
    struct hf_caller self;
    hf_client_let_out(client, &self);
    done(user, NULL, status, &error);
    hf_client_take_in(client, &self);
}

static unsigned count_ops(const struct hf_client *client)
{
    unsigned n = 0;
    for (struct hf_op *op = client->finished.first; op != NULL; op = op->next) {
        n++;
    }
    return n;
}

static unsigned count_calls(const struct hf_client *client)
{
    unsigned n = 0;
    for (uint32_t idx = client->calls_first; idx != HF_NOWHERE; n++) {
        idx = hf_lock_of(hf_item_table_at(&client->items, idx))->queue_next;
    }
    return n;
}

/* Run the callbacks that are queued now. A callback that is queued while these
 * run waits for the next call: with a store that replies at once, the loop
 * might never end. */
static void call_back(struct hf_client *client)
{
    unsigned n_ops = count_ops(client);
    unsigned n_calls = count_calls(client);
    for (; n_ops > 0 && client->finished.first != NULL && !client->is_closing;
         n_ops--) {
        call_op(client, client->finished.first);
    }
    for (; n_calls > 0 && client->calls_first != HF_NOWHERE &&
           !client->is_closing;
         n_calls--) {
        call_lock(client, hf_lock_of(hf_item_table_at(&client->items,
                                                      client->calls_first)));
    }
}

static void process(struct hf_client *client)
{
    HF_ASSERT(!client->is_processing);
    client->is_processing = true;
    client->processor = pthread_self();
    if (client->is_done_signalled) {
        eventfd_t count;
        eventfd_read(client->done_fd, &count);
        client->is_done_signalled = false;
    }
    hf_client_poll(client);
    call_back(client);
    hf_client_tick(client);
    client->is_processing = false;
    hf_client_settle(client);
    bool owes =
        client->finished.first != NULL || client->calls_first != HF_NOWHERE;
    if (owes) {
        hf_client_schedule_callback(client);
    }
}

/* An expired alarm stays readable until it is set again. */
static void rearm(struct hf_client *client)
{
    if (client->options.thread == HF_THREAD_NONE && client->alarm.fd >= 0 &&
        !hf_client_is_forked(client) &&
        !hf_instant_before(client->now, client->alarm.at)) {
        hf_alarm_set(&client->alarm, hf_client_due(client));
    }
}

void hf_client_process(struct hf_client *client)
{
    if (client == NULL || hf_client_is_forked(client)) {
        return;
    }
    hf_client_lock(client);
    if (client->is_closing || client->is_ending) {
        hf_client_unlock(client);
        return;
    }
    hf_client_tick(client);
    if (!client->is_processing) {
        process(client);
        rearm(client);
    }
    hf_client_leave(client);
}

/* ---- Changed states, and the end of operations -------------------------- */

struct hf_lock *hf_client_next_event(struct hf_client *client,
                                     enum hf_state *state)
{
    if (hf_client_enter(client, NULL) != HF_OK) {
        return NULL;
    }
    hf_client_settle(client);
    struct hf_lock *lock = hf_client_take_event(client);
    if (lock != NULL && state != NULL) {
        *state = hf_lock_group_state(lock);
    }
    hf_client_leave(client);
    return lock;
}

/* In op->report() it is only marked: the caller of that frees it. */
static void drop(struct hf_op *op)
{
    if (op->is_reporting) {
        op->is_dropped = true;
        return;
    }
    if (!op->is_done) {
        hf_op_abandon(op);
    } else {
        hf_ops_remove(&op->client->finished, op);
        hf_op_forget_result(op);
    }
    hf_op_free(op);
}

void hf_op_cancel(struct hf_op *op)
{
    if (op == NULL || hf_client_is_forked(op->client)) {
        return;
    }
    struct hf_client *client = op->client;
    hf_client_lock(client);
    hf_client_tick(client);
    drop(op);
    if (client->is_ending) { /* called by a callback */
        hf_client_unlock(client);
    } else {
        hf_client_leave(client);
    }
}
