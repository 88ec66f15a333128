/* SPDX-License-Identifier: Apache-2.0 */
/* RECONNECTING
 *
 * A connection that served is made again at once, but at most once a second
 * without back-off: a proxy that cuts each of its connections is not met with
 * a storm of them. Every other one is made again after a back-off that doubles
 * from 50 ms to 2 s, of which the upper half is drawn at random, so that a
 * fleet does not return to a restarted server in one instant. The back-off
 * begins anew after a connection that served for a second. */
#include "store/reconnect.h"

#include "base/assert.h"

/* Back-off between connections that come to nothing, in milliseconds, doubled
 * each time: a server that restarts is found soon, and one that is down for
 * hours costs a connection every two seconds. */
#define RETRY_FIRST_MS 50
#define RETRY_MOST_MS 2000

/* Between retries without back-off, in milliseconds: soon enough for the next
 * call, and no load for a proxy that closes each connection. */
#define RETRY_QUICK_MS 1000

void hf_reconnect_init(struct hf_reconnect *reconnect)
{
    *reconnect =
        (struct hf_reconnect){.retry_at = HF_NEVER, .quick_at = HF_LONG_AGO};
}

void hf_reconnect_served(struct hf_reconnect *reconnect, struct hf_instant now)
{
    reconnect->has_served = true;
    reconnect->served_at = now;
}

void hf_reconnect_closed(struct hf_reconnect *reconnect)
{
    reconnect->has_served = false;
}

/* The upper half is random, so that a fleet does not reconnect at once. */
static struct hf_span back_off(unsigned failures, uint64_t *seed)
{
    int64_t ms = RETRY_FIRST_MS;
    for (unsigned i = 1; i < failures && ms < RETRY_MOST_MS; i++) {
        ms *= 2;
    }
    ms = ms > RETRY_MOST_MS ? RETRY_MOST_MS : ms;
    *seed =
        *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return hf_span_ms(ms / 2 + (int64_t)((*seed >> 33) % (uint64_t)(ms / 2)));
}

/* Reconnect without back-off? Only if this connection served, and once per
 * RETRY_QUICK_MS: a proxy may close each connection that is made. */
static bool may_be_quick(struct hf_reconnect *reconnect, struct hf_instant now)
{
    struct hf_span least = hf_span_ms(RETRY_QUICK_MS);
    if (!reconnect->has_served) {
        return false;
    }
    if (!hf_instant_before(now, hf_instant_add(reconnect->served_at, least))) {
        reconnect->failures = 0;
    }
    if (hf_instant_before(now, hf_instant_add(reconnect->quick_at, least))) {
        return false;
    }
    reconnect->quick_at = now;
    return true;
}

bool hf_reconnect_plan(struct hf_reconnect *reconnect, uint64_t *seed,
                       struct hf_instant now)
{
    bool is_quick = may_be_quick(reconnect, now);
    reconnect->retry_at = now;
    if (!is_quick) {
        reconnect->failures++;
        reconnect->retry_at =
            hf_instant_add(now, back_off(reconnect->failures, seed));
        HF_ASSERT(hf_instant_before(now, reconnect->retry_at));
    }
    return is_quick;
}
