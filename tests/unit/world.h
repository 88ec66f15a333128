/* SPDX-License-Identifier: Apache-2.0 */
/* A small world of nodes and clients in virtual time, out of one seed: every
 * client runs the shipped lease machine; nodes are the algorithm's
 * scripts in C (world_node.h); connections keep order, delay, and break, with
 * their requests lost or executed later; clients pause for longer than a
 * lease. After every event it checks:
 *
 *   C1  no two completed acquisitions have the same fence
 *   C2  one that completed before another began has the smaller fence
 *   E1  no renewal succeeds after a greater fence completed
 *   C4  two clients never believe at once that they hold, unless they share
 *       (right clocks only)
 *
 * and at the end, when the faults are over, that every waiter is served.
 *
 * Here any lease may end on a node at any moment, which no real clock does; for
 * clocks, networks and servers that are like real ones see sim/. */
#ifndef HF_TESTS_WORLD_H
#define HF_TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct world_plan {
    uint64_t seed;
    unsigned n_nodes;
    unsigned n_clients;
    bool wrong_clocks; /* any lease may end on a node at any time */
    bool breaks;       /* connections close */
    bool pauses;       /* clients pause for up to two leases */
    bool queues;       /* most attempts queue; pushes may be lost */
    bool shares;       /* most attempts are shared */
    unsigned ttl_ms;
    unsigned events; /* how long the run is */
};

struct world_report {
    const char *violation; /* NULL: none */
    uint64_t grants;
    uint64_t second_rounds; /* CONFIRMs sent while asking */
    uint64_t renewals;
    uint64_t waits;    /* attempts that queued */
    uint64_t pushes;   /* pushed grants that arrived */
    uint64_t yields;   /* grants given back to an earlier ticket */
    uint64_t together; /* instants with several sharers */
    uint64_t overlaps; /* instants with two holders; a violation with right
                          clocks */
};

void world_run(const struct world_plan *plan, struct world_report *report);

#endif
