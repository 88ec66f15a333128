/* SPDX-License-Identifier: Apache-2.0 */
/* Every bound and default of the algorithm, each with its unit and reason. */
#ifndef HF_CORE_LIMITS_H
#define HF_CORE_LIMITS_H

#include <holdfast/holdfast.h>
#include <stdint.h>

/* Bytes of kernel entropy in an owner: 128 bits, so that two never meet. */
#define HF_OWNER_ID_LEN 16

/* Longest owner on the wire, without its fence (core/owner.h). */
#define HF_OWNER_MAX 448

/* Shortest lease. Below it drift and a round trip leave nothing to rely on. */
#define HF_TTL_MS_MIN 10

/* Default lease, if `max_ttl` allows it: long enough to outlast the restart of
 * a server, short enough that a dead holder is not waited for much longer. */
#define HF_TTL_MS_DEFAULT 30000

/* Default of `max_ttl`: how long a quarantine lasts. */
#define HF_MAX_TTL_MS_DEFAULT 60000

/* No `max_ttl` above a day: a lease is renewed, it need not be long, and an
 * hour of quarantine is already more than anybody will wait for. */
#define HF_MAX_TTL_MS_MAX 86400000

/* Default of `fence_keep`: how long an idle name's counter is kept. */
#define HF_FENCE_KEEP_MS_DEFAULT 3600000

/* A counter that runs out is replaced by the clock floor, which steps by 4.2 s
 * and stands below the counter until then; clocks of one site differ, too. */
#define HF_FENCE_KEEP_MS_MIN 10000

/* Default of `node_timeout`: on an open connection in one site a reply takes
 * about 1 ms, and 50 ms is still a small part of any sensible lease. */
#define HF_NODE_TIMEOUT_MS_DEFAULT 50

/* Default of `connect_timeout`. */
#define HF_CONNECT_TIMEOUT_MS_DEFAULT 1000

/* Greatest fence: 53 bits survive Lua numbers and JSON. */
#define HF_FENCE_MAX ((UINT64_C(1) << 53) - 1)

/* Low bits of a node's time in microseconds that the clock floor leaves
 * out: 4.2 s, in which counters of several nodes stay equal though their clocks
 * differ. */
#define HF_FLOOR_BITS 22

/* A node raises a counter, or takes a hint, no further than this above what the
 * name has there or above its own clock in microseconds: 71 minutes. Without a
 * bound one wrong client, or one wrong clock, could use up a name's fences. */
#define HF_FENCE_AHEAD_MAX (UINT64_C(1) << 32)

/* A quarantine lasts at least this long: more than a bucket of the clock floor
 * (4.2 s) and what clocks of one site differ. */
#define HF_QUARANTINE_MS_MIN 10000

/* A node that missed its timeout this often in a row decides nothing until it
 * answers again. Three: one slow reply is a hiccup, three are a fault. */
#define HF_NODE_MISSES_MAX 3

#endif
