/* SPDX-License-Identifier: Apache-2.0 */
/* Lease arithmetic: how long what the nodes said may be relied on.
 *
 *   sent       we send the request                     (our clock)
 *   sent+ttl   earliest instant a granting node may drop the key
 *   deadline   sent + ttl - drift: last instant at which we may act
 *
 * A node starts its ttl when the request arrives, never before it was sent, so
 * counting from sending can only end our hold early. Drift pays for a node
 * clock that runs faster than ours, not for one that jumps. */
#ifndef HF_CORE_VALIDITY_H
#define HF_CORE_VALIDITY_H

#include "base/time.h"

/* Allowance for clock rates: ttl * 1% + 2 ms (the Redlock paper's figures: 1%
 * is far above what oscillators do, 2 ms is the expiry's own precision). */
struct hf_span hf_drift(struct hf_span ttl);

/* How long a node's "yours" may be relied on, from the sending of the request
 * that it answered: ttl - drift. */
struct hf_span hf_validity(struct hf_span ttl);

/* Least validity that is worth being told "held": a third of the lease, which
 * is when its first renewal is due. */
struct hf_span hf_validity_min(struct hf_span ttl);

/* From the start of one renewal to the next: a third, so that two may fail. */
struct hf_span hf_renewal_period(struct hf_span ttl);

/* From the start of the last confirmed renewal to AT_RISK: the period, and
 * half of it as margin for a retry to succeed unnoticed. */
struct hf_span hf_risk_after(struct hf_span ttl);

/* Between tries of one unconfirmed renewal. */
struct hf_span hf_renewal_retry(struct hf_span ttl);

/* How long a place in a queue lasts unless it is asked for again, and how long
 * what was granted to it may stay unconfirmed: Q = min(ttl, 6 s). A dead waiter
 * costs the others that much, at most once. */
struct hf_span hf_queue_lease(struct hf_span ttl);

/* From a claim that is `left` long to its confirmation: an eighth, so that it
 * has time for several tries. */
struct hf_span hf_claim_period(struct hf_span left);

/* How early a renewal may be sent to share a write with others that are due:
 * 1% of the lease, at most 20 ms. */
struct hf_span hf_renewal_slack(struct hf_span ttl);

#endif
