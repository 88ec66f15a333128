/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle. It observes what users observe, and reports at once which
 * guarantee was broken. Which guarantees are promised depends on the faults
 * (docs/guarantees.md); outside of that, breaches are counted, so that a run
 * just outside shows that the check is not vacuous.
 *
 *   C1      no two completed acquisitions of a name have one fence
 *   C2      one that completed before another began has the smaller fence
 *   C3      fence order is the order at every node: a node's counter never
 *           decreases, and a value of it belongs to one owner
 *   E1      no renewal succeeds after a greater fence completed
 *   C4      two clients never believe at once that they hold, unless they share
 *   GUARD   the guarded register takes no older fence after a newer one, and
 *           loses no update that it acknowledged
 *   PERMITS never more holders of a semaphore than it has permits
 *   FIFO    of two waiters, the earlier ticket is served first (one node, or
 *           several with equal clocks, without faults)
 *   LIVE    after the last fault every waiter is served in time; without any
 *           fault no holder loses its lock, if its lease is longer than six
 *           round trips
 *   RESIDUE … and at the end no lock, queue or holder is left at any node; nor,
 *           once a lock is released and RELEASE could arrive, its owner
 *   ONCE    every call is answered exactly once
 *   ANSWER  every answer to a call is true (answer.c)
 *   PERIOD  no command starts in the period of another (once.c)
 *   RESERVE no client is granted a name that was reserved with its release
 *   BREAK   a holder that was broken believes no longer than the break returned
 *   READ    a call that only reads changes nothing, and names only clients
 *           that asked
 *   FOREIGN plain locks of other libraries exclude and are excluded, and are
 *           not taken away (one majority; nodes keep their data)
 *   PROMPT  while no fault is left, a free name reaches a waiter within round
 *           trips and back-off (sim_oracle_prompt_ns())
 *   SPREAD  a lock held through two renewals is at every node that could have
 *           been asked for it
 *   RISK    LOST is reported when the deadline passes, AT_RISK when half of
 *           the ttl has passed without a successful renewal round
 */
#ifndef HF_SIM_ORACLE_H
#define HF_SIM_ORACLE_H

#include "world/observer.h"

const char *sim_rule_name(enum sim_rule rule);

/* Is it promised in this regime? */
bool sim_rule_is_promised(enum sim_rule rule, enum sim_regime regime);

/* LIVE, as a time: a client that waits when the last fault is over, or begins
 * to wait later, is served or refused within
 *
 *     F + B + 3 ttl + 5 s + W (H + K (Q + 100 ms + 8 R))
 *
 *   F    the quarantine, max(max_ttl, 10 s), if a node may be in one, once for
 *        clients that know it and once for clients that see it late; else 0
 *   B    the sum by which nodes' clocks were set back: leases last longer by
 *        that; and the time for which processes' clocks stand still
 *   ttl  the longest lease: what dead clients have left, and as much to drain
 *   W    how many come first: what each lane has begun, and once more
 *   H    for how long a turn works after the last fault: 50 ms
 *   K    names of the turn that has most of them, or permits of a semaphore
 *   Q    the lease of a place in a queue, min(ttl, 6 s)
 *   R    node_timeout + delay + 8 jitter */
int64_t sim_oracle_bound_ns(const struct sim_story *story);

/* PROMPT, as a time: the longest for which a name may be free while a waiter
 * is connected. Figures are the oracle's own, so that a change of the library
 * does not move them (prompt.c). */
int64_t sim_oracle_prompt_ns(const struct sim_story *story);

#endif
