/* SPDX-License-Identifier: Apache-2.0 */
/* The timer for work that is due while no call is in the library: a descriptor
 * on CLOCK_BOOTTIME, since a lease continues while the machine is suspended. It
 * wakes the library's thread; without that, it makes hf_client_fd() readable.
 *
 * hf_client_arm() only sets it to an earlier time and never disarms it. So a
 * program that acquires and releases locks all the time sets it once in a third
 * of a lease; it then expires without effect. */
#include "client/timer.h"

#include "base/assert.h"
#include "io/clock.h"
#include "io/standard_fds.h"

#include <sys/timerfd.h>

void hf_client_tick(struct hf_client *client)
{
    client->now = hf_instant_max(client->now, hf_clock_now());
}

bool hf_client_has_steps(const struct hf_client *client)
{
    return client->store->ops->is_serial && client->n_pending > 0 &&
           client->ops.first == NULL;
}

struct hf_instant hf_client_due(const struct hf_client *client)
{
    if (client->heap.count == 0 && client->ops.first == NULL &&
        !hf_client_has_steps(client)) {
        return HF_NEVER; /* idle: no reconnects either */
    }
    return hf_instant_min(hf_timer_heap_next(&client->heap),
                          hf_loop_next_timer(client->loop));
}

bool hf_client_open_timer(struct hf_client *client)
{
    if (client->timer_fd < 0) {
        client->timer_fd = hf_standard_fds_avoid(
            timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
        client->armed = HF_NEVER;
    }
    return client->timer_fd >= 0;
}

void hf_client_set_timer(struct hf_client *client, struct hf_instant at)
{
    struct itimerspec when = {0};
    if (!hf_instant_is_never(at)) {
        int64_t ns = at.ns > 0 ? at.ns : 1; /* 0 would disarm it */
        when.it_value.tv_sec = (time_t)(ns / 1000000000);
        when.it_value.tv_nsec = (long)(ns % 1000000000);
    }
    int failed =
        timerfd_settime(client->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    HF_ASSERT(failed == 0);
    client->armed = at;
}

void hf_client_arm(struct hf_client *client)
{
    if (client->timer_fd < 0 || client->waiters != NULL) {
        return; /* the waiting call runs the timers */
    }
    struct hf_instant due = hf_client_due(client);
    if (hf_instant_before(due, client->armed)) {
        hf_client_set_timer(client, due);
    }
}
