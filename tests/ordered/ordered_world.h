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

#include <stdbool.h>
#include <stdint.h>

struct world_plan {
    uint64_t seed;
    unsigned n_clients;
    bool breaks;   /* connections close; requests are lost, land later, or are
                      refused; a member does not know the new leader yet */
    bool pauses;   /* clients pause, also for longer than a lease */
    bool revokes;  /* sessions are taken away by hand */
    bool hands;    /* locks go from client to client, as texts; names are
                      reserved; leases become longer */
    bool forces;   /* locks are broken */
    bool shortens; /* sessions get a shorter ttl than asked for; locks are
                      adopted with a shorter ttl than they had */
    bool deaf;   /* events of watches are lost, late or doubled; watches end */
    bool crowds; /* all want one name, so clients have several waiters */
    bool marks;  /* clients mark names; the clocks of members differ */
    bool stays;  /* a mark stays until it is removed: no session has it; and a
                    READ has no revision, as with Consul and ZooKeeper; and
                    the versions of a value begin anew when it was removed, as
                    with ZooKeeper */
    bool values; /* clients read and write values, and no locks */
    bool dies;   /* clients die, with all that is under way */
    unsigned events; /* how long the run is */
};

struct world_report {
    const char *violation; /* NULL: none */
    uint64_t violated_ms;
    uint64_t grants;
    uint64_t shared; /* of them, beside another holder */
    uint64_t renewals;
    uint64_t waits; /* answers QUEUED */
    uint64_t pushes;
    uint64_t refusals;  /* of tries */
    uint64_t expiries;  /* of sessions with an entry */
    uint64_t revokes;   /* the same */
    uint64_t losses;    /* CONFIRMs refused */
    uint64_t doubts;    /* pushes to holders */
    uint64_t errors;    /* requests refused, and not executed */
    uint64_t lost;      /* calls with a lost answer */
    uint64_t late;      /* calls executed after their connection broke */
    uint64_t ghosts;    /* of them, CREATEs of attempts that were over */
    uint64_t shortened; /* sessions whose ttl is shorter than asked for */
    uint64_t stale;     /* renewals answered for a session that had ended */
    uint64_t deposed;   /* renewals answered by a leader that was replaced */
    uint64_t unchanged; /* reads that found each entry as it was */
    uint64_t changed;   /* those that found another one */
    uint64_t too_long;  /* those of more entries than the server takes */
    uint64_t stood;     /* heartbeats that read two entries, as they were */
    uint64_t moved;     /* those that found another one, or none */
    uint64_t wakes;     /* lists for the end of an entry */
    uint64_t narrow;    /* watches of one entry alone */
    uint64_t handed;    /* locks that another client has taken over */
    uint64_t longer;    /* locks that have outgrown their session */
    uint64_t reserved;  /* names */
    uint64_t broken;    /* entries that got a note */
    uint64_t returned;  /* of them, those that lost it */
    uint64_t forced;    /* entries that were removed by a break */
    uint64_t marks;     /* answered */
    uint64_t found;     /* of them, by a later read in time */
    uint64_t unmarked;  /* names without a mark, read after one */
    uint64_t withdrawn;
    uint64_t swept; /* marks that were removed */
    uint64_t gets;
    uint64_t puts; /* answered OK */
    uint64_t deletions;
    uint64_t recreated;   /* values of names whose value was deleted */
    uint64_t conflicts;   /* puts refused for their version */
    uint64_t unsure;      /* puts whose answer is unknown for ever */
    uint64_t settled;     /* puts found by a read, after a lost answer */
    uint64_t late_writes; /* of values, without a connection */
    uint64_t deaths;
    uint64_t unheard; /* events of watches that were lost */
};

void world_run(const struct world_plan *plan, struct world_report *report);

#endif
