/* SPDX-License-Identifier: Apache-2.0 */
/* Lease arithmetic: how long a node's reply is valid.
 *
 *   sent       we send the request                     (our clock)
 *   sent+ttl   earliest instant at which a node's lease can expire
 *   deadline   sent + ttl - drift: last instant at which the holder may act
 *
 * A node starts its ttl when the request arrives, never before it was sent, so
 * a deadline counted from sending can only be early. Drift allows for a node
 * clock that runs faster than ours, not for one that jumps. */
#ifndef HF_CORE_VALIDITY_H
#define HF_CORE_VALIDITY_H

#include "base/time.h"

#include <stdbool.h>

/* Allowance for clock rates: ttl * 1% + 2 ms (the Redlock paper's figures: 1%
 * is far above the error of oscillators, 2 ms is the expiry's own precision).
 */
struct hf_span hf_drift(struct hf_span ttl);

/* How long a node's reply "yours" is valid, from the sending of its request:
 * ttl - drift. */
struct hf_span hf_validity(struct hf_span ttl);

/* Least validity of a lock that is reported as held: a third of the lease,
 * which is when its first renewal is due. */
struct hf_span hf_validity_min(struct hf_span ttl);

/* From the start of one renewal to the next: a third, so that two may fail. */
struct hf_span hf_renewal_period(struct hf_span ttl);

/* From the start of the last confirmed renewal to AT_RISK: one and a half
 * periods, so that retries of one renewal can succeed before. */
struct hf_span hf_risk_after(struct hf_span ttl);

/* Interval between retries of one unconfirmed renewal: a thirtieth of the
 * lease, so that five fit between the renewal and AT_RISK, and at least 1 ms,
 * so that the shortest lease has no busy loop. */
struct hf_span hf_renewal_retry(struct hf_span ttl);

/* Q = min(ttl, 6 s): the lease of a place in a queue, and of a grant to a
 * waiter until it is confirmed. A dead waiter delays the others by Q, at most
 * once. If it stays, the node keeps the place for the whole ttl, and a short Q
 * would free nothing earlier: then Q = min(ttl, 30 s). */
struct hf_span hf_queue_lease(struct hf_span ttl, bool place_stays);

/* From a claim of length `left` to its confirmation: an eighth, which leaves
 * time for several retries. */
struct hf_span hf_claim_period(struct hf_span left);

/* How early a renewal may be sent, to be joined with others: 1% of the lease.
 */
struct hf_span hf_renewal_slack(struct hf_span ttl);

#endif
