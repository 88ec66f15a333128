/* SPDX-License-Identifier: Apache-2.0 */
#include "core/validity.h"

#include "base/assert.h"
#include "core/limits.h"

/* Longest lease of a place in a queue, in milliseconds. Its heartbeats, every
 * third of it, must cost a waiter next to nothing; a waiter that died must not
 * delay the others for long. */
#define QUEUE_LEASE_MS_MAX 6000

/* The same where a place lasts for the ttl: a heartbeat every 10 s is enough to
 * find what an event that was lost did not report. With 500 waiters a place of
 * 6 s would make 250 requests a second. */
#define STAYING_LEASE_MS_MAX 30000

/* Of any span: a mark that is over has a negative one left. */
struct hf_span hf_drift(struct hf_span ttl)
{
    return hf_span_add(hf_span_div(ttl, 100), hf_span_ms(2));
}

struct hf_span hf_validity(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_sub(ttl, hf_drift(ttl));
}

struct hf_span hf_validity_min(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_div(ttl, 3);
}

struct hf_span hf_renewal_period(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_div(ttl, 3);
}

struct hf_span hf_risk_after(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_div(ttl, 2);
}

struct hf_span hf_renewal_retry(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_max(hf_span_ms(1), hf_span_div(ttl, 30));
}

struct hf_span hf_queue_lease(struct hf_span ttl, bool place_stays)
{
    HF_ASSERT(ttl.ns > 0);
    return hf_span_min(ttl, hf_span_ms(place_stays ? STAYING_LEASE_MS_MAX
                                                   : QUEUE_LEASE_MS_MAX));
}

struct hf_span hf_claim_period(struct hf_span left)
{
    HF_ASSERT(left.ns > 0);
    return hf_span_div(left, 8);
}

struct hf_span hf_renewal_slack(struct hf_span ttl)
{
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    return hf_span_div(ttl, 100);
}
