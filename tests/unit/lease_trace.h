/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of one lease in virtual time: events, and the resulting actions.
 *
 *     [time] event             | actions of the lease
 *
 * Events:   acquire [HINT]   adopt T   extend [TTL]   release   detach
 *           release-foreign T [SPARED]   node N STATUS   reset N
 *           timer, in the millisecond in which it is due   overdue: later
 *           slow N   up N: become so, without a step
 *           spread   sparse: no, or some, node is about to give it to us
 *           granted N C: N granted at C, or (0) did not
 *           queue [HINT]: acquire, and wait in queues
 *           N grants C: pushed   doubt N: our lock may have ended there
 *           listen N   unlisten N: can (not) push
 *           to us
 *           N VERB ok C [FLOOR | bound MOST | behind: an earlier ticket
 *           waits there]
 *           N VERB no C [RIVAL [LEFT [TIME]]]   N VERB unsent
 *           N VERB queued|foreign C [AHEAD [LEFT]]: under ticket 500
 *           N VERB unknown   N VERB error           VERB: A, Q, C, Y or R
 * Actions:  0A 1A      ACQUIRE to nodes 0 and 1 (A5: with hint 5)
 *           0Q 0Q500   ACQUIRE with a place, under the node's time or a ticket
 *           0Y7        YIELD of grant 7; queued: waits now
 *           2C7 2C7h   CONFIRM of fence 7 (h: as holder)
 *           2R7        RELEASE with largest counter 7
 *           held 7 till 94, extended till 94, taken, split, unreached,
 *           too-slow, unextended, released, unknown, lost; at-risk, safe; done;
 *           late 2     node 2 missed its timeout
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
    "[0] acquire          | 0A 1A 2A\n"                                        \
    "[1] 0 A ok 7         | \n"                                                \
    "[2] 1 A ok 7         | held 7 till 988\n"                                 \
    "[3] 2 A ok 7         | \n"

/* The same with jitter; @return when the timer is due at its end, in
 * nanoseconds. */
int64_t trace_wake(unsigned n_nodes, int ttl_ms, uint8_t jitter,
                   const char *text);

#endif
