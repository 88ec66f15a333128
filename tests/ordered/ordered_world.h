/* SPDX-License-Identifier: Apache-2.0 */
/* A small world for src/store/ordered in virtual time, out of one seed: each
 * client runs the shipped machine on a simulated wire (store/ordered/wire.h) to
 * one store that agrees by consensus. After each event it checks:
 *
 *   EXCLUSION  until the end of its lease, counted from `sent` of its last
 *              proof, no holder has another one beside it, unless they share
 *   FENCE      of holders that exclude each other, the later one has the
 *              greater counter; no earlier entry is passed over
 *   PROOF      OK to CONFIRM: the entry existed, with its owner, after the
 *              renewal was executed
 *   KEPT       no holder is told before its time that its lock is lost, unless
 *              it was broken or taken away
 *   RESERVED   a name that was reserved has no other holder until then
 *   DEADLINE   `sent` of an OK is not before its request, and not after the
 *              sending of a renewal of its session that was executed
 *   TTL        no entry is created in, or moved to, a session with a shorter
 *              ttl than the one that its client opened
 *   MOVE       no entry without a note goes to a session with a shorter ttl
 *              than the session had that it comes from
 *   BREAK      a break waits until each holder that it took the name from has
 *              stopped
 *   ONCE       each request is answered once
 *   TRY        a refused try has left nothing
 *   HERD       after the end of one entry only clients list that have an entry
 *              which waits for it; a client with one waiter that waits for
 *              another client's entry is told of the end of no other one
 *   LIVE       without faults: a waiter holds soon after its turn has come
 *   LOSS       without faults but that: a holder that watches its name, and
 *              whose entry is taken away, stops soon
 *   MARK       a mark that was answered is found by each later read until its
 *              period is over, unless it is withdrawn or of a lesser fence; and
 *              by none two steps of the servers' clocks after that
 *   MERGE      no write replaces a live mark against the rules, or removes one
 *   CAS        a write that names a version replaces that version, and one of
 *              version 0 no value; no put is executed twice
 *   PUT        OK: it was executed, and its version is the one answered; one
 *              that is answered otherwise, but not as unknown, is never
 *              executed, and the version for which it is refused was there
 *   GET        a read finds the version, the id and the value that were there
 *              together at some moment since it was asked for
 *
 * and at the end, when the faults are over:
 *
 *   LIVE       each waiter is granted the lock
 *   COUNT      a counter has all increments that were answered OK, and of the
 *              others only such whose answer was unknown
 *   ORPHAN     no entry of an attempt that is over is kept alive by a session
 *              that is still renewed; and when no session is, none is left
 *
 * An entry that was taken away by hand, or by a break that does not wait,
 * excuses its owner from EXCLUSION and FENCE: the store has said itself that
 * the lock is free. */
#ifndef HF_TESTS_ORDERED_WORLD_H
#define HF_TESTS_ORDERED_WORLD_H

#include "world_plan.h"

void world_run(const struct world_plan *plan, struct world_report *report);

#endif
