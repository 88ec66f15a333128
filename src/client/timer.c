/* SPDX-License-Identifier: Apache-2.0 */
/* The timer for work that is due while no call is in the library: a descriptor
 * on CLOCK_BOOTTIME, since a lease continues while the machine is suspended. It
 * wakes the library's thread; without that, it makes hf_client_fd() readable.
 *
 * hf_client_arm() only sets it to an earlier time and never disarms it. So a
 * program that acquires and releases locks all the time sets it once in a third
 * of a lease; it then expires without effect. */
#include "client/timer.h"

#include "io/clock.h"

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

void hf_client_arm(struct hf_client *client)
{
    if (client->alarm.fd < 0 || client->waiters != NULL) {
        return; /* the waiting call runs the timers */
    }
    hf_alarm_set_earlier(&client->alarm, hf_client_due(client));
}
