/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a run of the small world of src/store/ordered
 * (ordered_world.h), and its report: counts, and the first breach. */
#ifndef HF_TESTS_ORDERED_WORLD_PLAN_H
#define HF_TESTS_ORDERED_WORLD_PLAN_H

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

#endif
