/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle. It observes the results that users see, and reports the first
 * broken guarantee at once. Which guarantees are promised depends on the faults
 * (docs/guarantees.md). A breach that is not promised against is only counted:
 * the counts of runs just outside a promise show that its check can fail.
 *
 *   C1      no two completed acquisitions of a name have the same fence
 *   C2      an acquisition that completed before another began has the smaller
 *           fence
 *   C3      fence order is the order at every node: a node's counter never
 *           decreases, and a value of it belongs to one owner
 *   E1      no renewal that began after a greater fence completed succeeds
 *   C4      no two clients believe at the same time that they hold a name,
 *           unless they share it
 *   GUARD   the guarded register accepts no older fence after a newer one, and
 *           loses no update that it acknowledged
 *   PERMITS a semaphore never has more holders than permits
 *   FIFO    of two waiters, the earlier ticket is served first (one node, or
 *           several with equal clocks, without faults)
 *   LIVE    after the last fault every waiter is served in time; without any
 *           fault no holder loses its lock, if its lease is longer than six
 *           round trips
 *   RESIDUE at the end no lock, queue or holder is left at any node; nor is the
 *           owner of a released lock, once RELEASE could arrive at the node
 *   ONCE    every call is answered exactly once
 *   ANSWER  every answer to a call is true (answer.c)
 *   PERIOD  no command starts in the period of another (once.c)
 *   RESERVE no client is granted a name that was reserved with its release
 *   BREAK   a broken holder believes no longer than the time that the break
 *           returned
 *   READ    a call that only reads changes nothing, and names only clients
 *           that asked
 *   FOREIGN plain locks of other libraries and those of Holdfast exclude each
 *           other, and no script deletes a plain lock before its expiry (one
 *           majority; nodes keep their data)
 *   PROMPT  while no fault is left, a free name reaches a waiter within round
 *           trips and back-off (prompt.h)
 *   SPREAD  a lock held through two renewals is at every node that could have
 *           been asked for it
 *   RISK    LOST is reported when the deadline passes, AT_RISK when half of
 *           the ttl has passed without a successful renewal round
 */
#ifndef HF_SIM_ORACLE_H
#define HF_SIM_ORACLE_H

#include "world/observer.h"

/* "C1", "LIVE": as above. Static. */
const char *sim_rule_name(enum sim_rule rule);

/* At some time, at least: a rule may be promised only from a moment on, when
 * what was lost is of no effect any more (rules.c). */
bool sim_rule_is_promised(enum sim_rule rule, enum sim_regime regime);

/* LIVE, as a time: a client that waits when the last fault is over, or begins
 * to wait later, is served or refused within
 *
 *     F + B + 3 ttl + 5 s + W (H + K (Q + 100 ms + 8 R))
 *
 *   F    twice the quarantine, max(max_ttl, 10 s), if a node may be in one: for
 *        clients that see it at once, and for those that see it late; else 0
 *   B    the sum by which nodes' clocks were set back, which makes leases
 *        longer, and the time for which processes' clocks stand still
 *   ttl  the longest lease: dead clients leave leases, and these must expire
 *   W    turns that may be served first: two for each lane
 *   H    the time for which a turn works after the last fault: 50 ms
 *   K    the most names and permits that one turn wants
 *   Q    the lease of a place in a queue, min(ttl, 6 s)
 *   R    node_timeout + delay + 8 jitter */
int64_t sim_oracle_bound_ns(const struct sim_story *story);

#endif
