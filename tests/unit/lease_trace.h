/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of one lease in virtual time: events, and the resulting actions.
 *
 *     [time] event             | actions of the lease
 *
 * Events:   acquire [HINT]   queue [HINT]: acquire, and wait in queues
 *           stay: so, with a place that stays   adopt COUNTER   extend [TTL]
 *           release   detach   release-foreign COUNTER [SPARED]
 *           timer, in the millisecond in which it is due   overdue: later
 *           node N STATUS   reset N   listen N   unlisten N: can (not) push
 *           doubt N: our lock may have ended there
 *           N grants COUNTER: pushed
 *           N VERB VERDICT [COUNTER [FIELD VALUE]...]: an answer
 *             VERB      acquire, queue, confirm, release, yield
 *             VERDICT   ok, no, unsent, unknown, error; and queued in one of
 *                       four ways: queued, foreign, mortal, unwatched
 *             FIELD     of ok: floor, bound, and `behind` without a value: an
 *                       earlier ticket waits there; of no: rival (99), left
 *                       (20000), time (0); of queued: ahead (0), left
 * Settings: slow N   up N: become so, without a step
 * Claims:   spread   sparse: no, or some, node is about to give it to us
 *           granted N COUNTER: N granted that, or (0) did not
 * Actions:  acquire [HINT] at N...   confirm COUNTER at N...
 *           queue [TICKET] at N...: ACQUIRE with a place, under a ticket or
 *           the node's time
 *           renew COUNTER at N...: CONFIRM as holder
 *           release COUNTER at N...   yield COUNTER at N...
 *           late N: missed its timeout
 *           held COUNTER till TIME, extended till TIME, queued, taken, split,
 *           unreached, too-slow, unextended, released, unknown, lost;
 *           at-risk, safe; done
 *
 * A reply is to the last request of its verb in the trace, and has the time
 * of its sending. Times are milliseconds. node_timeout is 50 ms,
 * connect_timeout 1 s, jitter 0. */
#ifndef HF_TESTS_LEASE_TRACE_H
#define HF_TESTS_LEASE_TRACE_H

#include <stdint.h>

/* Run a trace; on the first line that differs, print both and fail the test.
 * All nodes vote from the start. */
void trace(unsigned n_nodes, int ttl_ms, const char *text);

/* The beginning of many traces: a ttl of 1 s, held at all three nodes. */
#define TRACE_HELD                                                             \
    "[0] acquire          | acquire at 0 1 2\n"                                \
    "[1] 0 acquire ok 7   | \n"                                                \
    "[2] 1 acquire ok 7   | held 7 till 988\n"                                 \
    "[3] 2 acquire ok 7   | \n"

/* The same with jitter; @return when the timer is due at its end, in
 * nanoseconds. */
int64_t trace_wake(unsigned n_nodes, int ttl_ms, uint8_t jitter,
                   const char *text);

#endif
