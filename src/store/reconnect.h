/* SPDX-License-Identifier: Apache-2.0 */
/* Reconnecting: when a connection that has ended is made again. Each connection
 * of a store has one of these, and its owner calls
 *
 *     hf_reconnect_served()   the handshake has succeeded
 *     hf_reconnect_plan()     the connection has failed: sets `retry_at`
 *     hf_reconnect_closed()   it is closed, for whatever reason
 *
 * These functions are pure: the time and the seed are arguments. The owner may
 * set `retry_at` itself: HF_NEVER while it needs no connection. */
#ifndef HF_STORE_RECONNECT_H
#define HF_STORE_RECONNECT_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_reconnect {
    struct hf_instant retry_at;  /* while closed: when to reconnect */
    struct hf_instant served_at; /* if `has_served` */
    struct hf_instant quick_at;  /* last retry without back-off */
    unsigned failures;           /* for the back-off */
    bool has_served;             /* since it was made */
};

/* No retry is planned: `retry_at` is HF_NEVER. */
void hf_reconnect_init(struct hf_reconnect *reconnect);

/* The login and the handshake have succeeded. */
void hf_reconnect_served(struct hf_reconnect *reconnect, struct hf_instant now);

/** Set `retry_at`, before the connection is closed.
 * @param seed  Of the jitter; changed by each draw.
 * @return true: reconnect at once; only if this connection served, and once per
 * second. */
bool hf_reconnect_plan(struct hf_reconnect *reconnect, uint64_t *seed,
                       struct hf_instant now);

/* The connection is closed: the next one has not served. */
void hf_reconnect_closed(struct hf_reconnect *reconnect);

#endif
