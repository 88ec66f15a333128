/* SPDX-License-Identifier: Apache-2.0 */
/* The limits and defaults of the algorithm that more than one file needs, each
 * with its unit and reason. One that only one file needs is defined there.
 */
#ifndef HF_CORE_LIMITS_H
#define HF_CORE_LIMITS_H

#include <holdfast/holdfast.h>
#include <stdint.h>

/* Bytes of kernel entropy in an owner: 128 bits, so that owners are unique. */
#define HF_OWNER_ID_LEN 16

/* Longest owner on the wire in bytes, without its fence: 32 digits, 64 of host,
 * 240 of label, two numbers of 20, 4 separators, and 68 to spare for owners of
 * later versions (core/owner.h). */
#define HF_OWNER_MAX 448

/* Shortest lease. Below it drift and a round trip use up the whole lease. */
#define HF_TTL_MS_MIN 10

/* Default lease, if `max_ttl` allows it: long enough to survive the restart of
 * a server, short enough for a take-over soon after a holder died. */
#define HF_TTL_MS_DEFAULT 30000

/* Default of `max_ttl`, which is also how long a quarantine lasts: twice the
 * default lease. A longer one would make each restart without persistence a
 * longer outage. */
#define HF_MAX_TTL_MS_DEFAULT 60000

/* Greatest `max_ttl`: a day. Leases are renewed and need not be long, and a
 * quarantine of an hour is already an outage. */
#define HF_MAX_TTL_MS_MAX 86400000

/* Default of `fence_keep`: how long an idle name's counter is kept. An hour: a
 * clock that is set back by less does not make a fence smaller, and names that
 * are used once, as one per order, do not fill a server. */
#define HF_FENCE_KEEP_MS_DEFAULT 3600000

/* Least `fence_keep`. The clock floor replaces a counter that expired. It moves
 * in steps of 4.2 s, and clocks of one site differ: before it has passed the
 * counter, the counter must not expire. */
#define HF_FENCE_KEEP_MS_MIN 10000

/* Default of `node_timeout`: on an open connection in one site a reply takes
 * about 1 ms, and 50 ms is still a small part of any sensible lease. */
#define HF_NODE_TIMEOUT_MS_DEFAULT 50

/* Default of `connect_timeout`: name, TLS and handshake take a small part of a
 * second, also from afar, and the kernel repeats a lost first packet only after
 * that time. It delays no decision that a majority can make. */
#define HF_CONNECT_TIMEOUT_MS_DEFAULT 1000

/* Greatest fence: 53 bits survive Lua numbers and JSON. */
#define HF_FENCE_MAX ((UINT64_C(1) << 53) - 1)

/* Greatest `fence_base`: half of the fences. The clock floor is below the other
 * half until the year 2112. */
#define HF_FENCE_BASE_MAX (UINT64_C(1) << 52)

/* Low bits of a node's time in microseconds that the clock floor clears: 4.2 s.
 * Within such a step the floors of several nodes are equal though their clocks
 * differ. */
#define HF_FLOOR_BITS 22

/* A node raises a counter, or accepts a hint, by at most this above the name's
 * counter there or above its own clock in microseconds: 71 minutes. Without a
 * bound one wrong client, or one wrong clock, could use up a name's fences. */
#define HF_FENCE_AHEAD_MAX (UINT64_C(1) << 32)

/* Shortest quarantine: more than a step of the clock floor (4.2 s) plus the
 * difference of clocks within a site. */
#define HF_QUARANTINE_MS_MIN 10000

/* After this many timeouts in a row a node is slow: requests do not wait for it
 * until it replies again. Three: one slow reply is no fault yet. */
#define HF_NODE_MISSES_MAX 3

#endif
