/* SPDX-License-Identifier: Apache-2.0 */
/* The library's thread: it renews leases while no call is in the library.
 *
 * It starts with the first lock or asynchronous operation, or after a failed
 * call that leaves something to finish. It blocks all signals, calls on_state
 * (notify.h), and sleeps until the timer (timer.c) expires. Then it runs the
 * due timers, unless a call waits: that call runs them. While replies are
 * missing or a node is not connected, it also polls the sockets. It does not
 * while a call waits, so that it never reads the reply of that call.
 *
 * Cost: idle, it sleeps in one poll() until the next timer. Each time that it
 * wakes it makes up to three system calls besides reads and writes:
 * epoll_pwait2(), timerfd_settime() if the next timer is another, and poll().
 * Renewals that are due together share one time that it wakes (deferred.c). */
#include "client/thread.h"

#include "client/close.h"
#include "client/deferred.h"
#include "client/fork.h"
#include "client/notify.h"
#include "client/timer.h"

#include "base/assert.h"
#include "base/fail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

/* If the timer expires within this time, replies are read then, and not before:
 * thousands of renewals need a few reads, and not one wake-up per packet. */
#define SOON_MS 25

/* Whether to poll the sockets: replies are missing, or a node is not connected
 * and may be in a handshake. */
static bool should_listen(const struct hf_client *client)
{
    const struct hf_nodes *nodes = &client->nodes;
    bool misses = (nodes->voting | nodes->repairing) != hf_nodes_all(nodes);
    struct hf_instant soon = hf_instant_add(client->now, hf_span_ms(SOON_MS));
    bool is_ours = client->loop_fd < 0 || hf_client_has_steps(client);
    return client->waiters == NULL && is_ours &&
           hf_instant_before(soon, client->alarm.at) &&
           (client->n_pending > 0 || (misses && client->items.n_used > 0));
}

/* A caller that needs the thread earlier sets the alarm, so there is no pipe to
 * wake it. */
static void sleep_until_due(struct hf_client *client)
{
    struct pollfd fds[2] = {
        {.fd = client->alarm.fd, .events = POLLIN},
        {.fd = hf_loop_fd(client->loop), .events = POLLIN},
    };
    bool listens = should_listen(client);
    pthread_mutex_unlock(&client->mutex);
    poll(fds, listens ? 2 : 1, -1);
    pthread_mutex_lock(&client->mutex);
    hf_client_tick(client);
    if (!listens) {
        client->reading_since = client->now;
    }
}

/* A child that on_state has forked, and in which it returns, is over. */
static bool goes_on(const struct hf_client *client)
{
    return !client->is_stopping && !hf_client_is_to_shut_down(client) &&
           !hf_client_is_forked(client);
}

/* While another thread waits in a call, that thread polls and fires the timers
 * (wait.c), so the alarm is off. If this thread ends the client, no other can
 * join it, so it detaches itself. */
static void *run(void *arg)
{
    struct hf_client *client = arg;
    pthread_mutex_lock(&client->mutex);
    while (goes_on(client)) {
        hf_client_poll(client);
        hf_notify_all(client);
        if (!goes_on(client)) {
            break;
        }
        struct hf_instant due =
            client->waiters != NULL ? HF_NEVER : hf_client_due(client);
        if (due.ns != client->alarm.at.ns) {
            hf_alarm_set(&client->alarm, due);
        }
        sleep_until_due(client);
    }
    bool is_to_shut_down = hf_client_is_to_shut_down(client);
    if (is_to_shut_down) {
        client->has_thread = false;
        pthread_detach(client->thread);
    }
    pthread_mutex_unlock(&client->mutex);
    if (is_to_shut_down) {
        hf_client_shut_down(client);
    }
    return NULL;
}

enum hf_status hf_client_start_thread(struct hf_client *client,
                                      struct hf_error *error)
{
    if (client->options.thread != HF_THREAD_AUTO || client->has_thread ||
        hf_client_is_forked(client)) {
        return HF_OK;
    }
    if (!hf_alarm_open(&client->alarm)) {
        return hf_fail(error, HF_NO_MEMORY, "no descriptor left: %s",
                       hf_errno_text(errno));
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&client->thread, NULL, run, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return hf_fail(error, HF_NO_MEMORY, "no thread for renewals");
    }
    client->has_thread = true;
    return HF_OK;
}
