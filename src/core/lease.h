/* SPDX-License-Identifier: Apache-2.0 */
/* One owner's life: from the first ACQUIRE to the last trace gone.
 *
 * A lease is one attempt under one fresh owner. It asks the nodes, counts
 * their votes, is held or gives up, renews, and ends only when no node can
 * have its owner any more. Whether a failed attempt is followed by another is
 * not its business (core/retry.h): another attempt is another lease.
 *
 *     hf_lease_init(&lease, n_nodes, ttl);
 *     hf_lease_step(&lease, &nodes, &(struct hf_event){HF_EV_ACQUIRE, now},
 *                   &effects);
 *     for each effects.sends: ask the node; its answer is an HF_EV_ANSWER
 *     at hf_lease_wake():     HF_EV_TIMER
 *     when effects.outcome:   tell the caller that waits
 *     when effects.done:      the memory may go
 *
 * It performs no I/O, reads no clock, allocates nothing, and does not know its
 * own name or owner: those are the caller's, and never change. */
#ifndef HF_CORE_LEASE_H
#define HF_CORE_LEASE_H

#include "base/assert.h"
#include "base/time.h"
#include "core/nodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a node is asked to do with a name. The scripts in store/redis/ and the
 * transactions in store/local/ say exactly what each does. */
enum hf_verb {
    HF_VERB_ACQUIRE, /* take it if free; counter: hint */
    HF_VERB_CONFIRM, /* still ours? raise to counter, refresh the expiry */
    HF_VERB_RELEASE, /* free it if ours; align a free counter; leave the
                        queue; give it to the first waiter */
    HF_VERB_YIELD,   /* give back the grant `counter`, and wait again in our
                        place: an earlier ticket waits there */
    HF_VERB_BREAK,   /* take it from its holder (not a lease's) */
    HF_VERB_INSPECT, /* who has it? (not a lease's) */
    HF_VERB_ROSTER,  /* who has it, and who waits? (not a lease's) */
    HF_VERB_MARK,    /* merge a mark of --once with what is there (not a
                        lease's) */
    HF_VERB_SCAN     /* which names are taken? (not a lease's) */
};

/* A node's answer. No answer is unknown, never a refusal. */
enum hf_verdict {
    HF_VERDICT_OK,      /* ACQUIRE, CONFIRM: yours, at `counter`; RELEASE: it
                           was yours and is free now */
    HF_VERDICT_REFUSED, /* not yours; `counter` is the name's; ACQUIRE: rival,
                           left, ticket (the node's time) */
    HF_VERDICT_QUEUED,  /* ACQUIRE, YIELD that queue: as REFUSED, and we have a
                           place there: ticket, ahead */
    HF_VERDICT_UNSENT,  /* never left this machine: the node is not reachable */
    HF_VERDICT_UNKNOWN, /* sent, and the connection broke: it may be yours */
    HF_VERDICT_ERROR    /* the node refused to execute; nothing changed */
};

enum hf_event_kind {
    HF_EV_ACQUIRE, /* begin: ask all nodes; counter: hint or 0 */
    HF_EV_ADOPT,   /* begin: confirm a lock handed to us; counter: fence */
    HF_EV_DISOWN,  /* begin: release a lock handed to us; counter: fence */
    HF_EV_ANSWER,
    HF_EV_GRANT,   /* pushed: `node` gave the name to us, at `counter` */
    HF_EV_LISTEN,  /* `node` can, or can no longer, push grants to us */
    HF_EV_TIMER,   /* hf_lease_wake() has come */
    HF_EV_NODE,    /* `node` changed its standing in struct hf_nodes */
    HF_EV_FORGOT,  /* `node` turned out to be another server, or to have lost
                      its memory: votes from before are void */
    HF_EV_EXTEND,  /* renew now; ttl: new lease, or 0 for the present one */
    HF_EV_RELEASE, /* give up or give back; ends in effects.done */
    HF_EV_FORSAKE  /* handed on: stop, and take nothing back */
};

struct hf_event {
    enum hf_event_kind kind;
    struct hf_instant now; /* never earlier than in the step before */
    uint8_t node;          /* ANSWER, NODE, FORGOT */
    enum hf_verb verb;     /* ANSWER: to what */
    enum hf_verdict verdict;
    struct hf_instant sent; /* ANSWER: when the request was sent, or before */
    uint64_t counter;
    uint64_t floor;      /* ANSWER to CONFIRM: least counter the node lets a
                            name be raised to, if it refused to raise; or 0 */
    uint64_t bound;      /* ANSWER to CONFIRM: greatest counter that the node
                            lets the name be raised to, if it refused to raise
                            beyond it; or 0 */
    uint32_t rival;      /* ANSWER: digest of the refusing owner, not 0 */
    struct hf_span left; /* ANSWER: the rival's remaining lease; negative:
                            it has no expiry */
    struct hf_span ttl;  /* EXTEND */
    uint16_t spared;     /* DISOWN: nodes that are not asked */
    bool queues;         /* ACQUIRE: wait in the nodes' queues until it is ours
                            or RELEASE comes */
    uint16_t look_ms;    /* ANSWER: the end of the rival may not be pushed:
                            the first in the queue looks again, at least so
                            often; 0: that is not needed */
    uint32_t ahead;      /* ANSWER: how many earlier tickets wait there */
    uint64_t ticket;     /* ANSWER: QUEUED: our place; REFUSED: the node's time
                            in microseconds, or 0 */
};

/* What came of the lease as a whole; reported once each, in effects. */
enum hf_outcome {
    HF_OUT_NONE,
    HF_OUT_HELD,       /* ACQUIRE, ADOPT: fence and deadline are valid */
    HF_OUT_QUEUED,     /* ACQUIRE: a majority answered; it waits now */
    HF_OUT_TAKEN,      /* ACQUIRE: a rival has, or may reach, a majority */
    HF_OUT_SPLIT,      /* ACQUIRE: votes went to several, none has enough */
    HF_OUT_UNREACHED,  /* a majority did not answer, or cannot agree on a
                          counter, since a node's clock is far off */
    HF_OUT_TOO_SLOW,   /* ACQUIRE: granted, but the lease was used up */
    HF_OUT_EXTENDED,   /* EXTEND */
    HF_OUT_UNEXTENDED, /* EXTEND: not confirmed in time; the lease goes on */
    HF_OUT_LOST,       /* no longer ours: while held, on ADOPT or on release */
    HF_OUT_RELEASED,   /* RELEASE, DISOWN: a majority freed it */
    HF_OUT_UNKNOWN     /* RELEASE, DISOWN: not confirmed in time; goes on */
};

struct hf_send {
    uint8_t node;
    enum hf_verb verb;
    bool holder;        /* CONFIRM: may take the name back if it is free */
    uint64_t counter;   /* ACQUIRE: hint; CONFIRM: fence; RELEASE: largest seen;
                           YIELD: the grant that is given back */
    struct hf_span ttl; /* ACQUIRE, CONFIRM, YIELD: lease asked for */
    struct hf_span queue; /* ACQUIRE, YIELD: lease of our place; 0: no place */
    uint64_t ticket;      /* ACQUIRE, YIELD: our place; 0: the node's time */
};

struct hf_effects {
    struct hf_send sends[2 * HF_NODES_MAX];
    unsigned n_sends;
    enum hf_outcome outcome;
    bool state_changed; /* hf_lease_state() differs from before the step */
    bool done;          /* nothing of this owner is left; no more steps */
    uint16_t missed;    /* nodes that just let their timeout pass */
};

enum hf_phase {
    HF_PHASE_IDLE,      /* initialised */
    HF_PHASE_ASKING,    /* counting grants */
    HF_PHASE_WAITING,   /* in the queues; counting grants */
    HF_PHASE_ADOPTING,  /* counting confirmations of a handed-on owner */
    HF_PHASE_HOLDING,   /* held, at risk, or lost but not yet given back */
    HF_PHASE_RELEASING, /* giving back, to the last node */
    HF_PHASE_DONE
};
#define HF_PHASES_OF_DEADLINE                                                  \
    ((1U << HF_PHASE_HOLDING) | (1U << HF_PHASE_RELEASING))

/* What one node said to this owner. Private to core. Unions named a_or_b, here
 * and in the lease, are read through core/lease_overlay.h alone, which asserts
 * that the member asked for is the one that is there (INV-6). */
struct hf_vote {
    uint64_t counter; /* e: largest heard as "yours"; 0: none that counts */
    uint64_t refused; /* f: largest heard as "not yours": votes up to it
                         are stale */
    struct hf_instant until; /* d: sending of the request that proved it, + ttl
                                - drift. Queued: what is pushed later would be
                                good until then */
    union {
        struct hf_instant due; /* pending: late from then on; WAITING, not
                                  pending: to be asked again then */
        uint64_t node_time;    /* ASKING, refused, not pending: what the node
                                  said; 0: nothing */
    } due_or_node_time;
    union {
        struct {
            uint32_t rival;   /* not ours: digest of the owner that it named;
                                 0: none */
            uint32_t left_ms; /* that owner's remaining lease; UINT32_MAX:
                                 none */
        };
        struct { /* ours: what it has said of raises, in buckets of the clock
                    floor; 0: nothing */
            uint32_t raise_least; /* it can be raised to that, or further */
            uint32_t raise_most;  /* … but no further than that */
        };
    } rival_or_raise;
    uint8_t said;    /* enum hf_said */
    uint8_t pending; /* requests without answer yet, a bit per verb */
    uint16_t flags;  /* enum hf_vote_flags */
    uint8_t polls;   /* WAITING: how often asked without a change */
};

/* Compact, since a client may hold 100,000: 72 bytes, and 48 for every node
 * (the votes). Private to core but for its size; ask with the functions
 * below. */
struct hf_lease {
    uint8_t phase;
    uint8_t state; /* enum hf_state */
    uint8_t n_nodes;
    uint8_t flags;  /* enum hf_lease_flags */
    uint8_t jitter; /* 0..255: how much earlier than a third to renew */
    uint8_t raises; /* CONFIRMs sent to bring counters together */
    struct hf_span ttl;
    uint64_t fence; /* T; while ASKING or WAITING: at least that */
    union {
        struct hf_instant deadline; /* HOLDING; RELEASING: nothing is left
                                       after it */
        uint64_t raised; /* ASKING, WAITING: the greatest counter that a node
                            was asked to be raised to */
    } deadline_or_raised;
    union {
        struct hf_instant confirmed; /* HOLDING: sending of what was last
                                        confirmed */
        uint64_t ticket;             /* WAITING */
    } confirmed_or_ticket;
    struct hf_instant round_at; /* start of the present phase or renewal */
    struct hf_instant next;     /* next renewal or try; ASKING: end of waiting
                                   for connections */
    struct hf_instant wake;
    struct hf_vote votes[];
};

static inline size_t hf_lease_size(unsigned n_nodes)
{
    return sizeof(struct hf_lease) + n_nodes * sizeof(struct hf_vote);
}

/* `jitter` is any random byte: it spreads the renewals of many leases. */
void hf_lease_init(struct hf_lease *lease, unsigned n_nodes, struct hf_span ttl,
                   uint8_t jitter);

/* Feed one event; `out` is overwritten. */
void hf_lease_step(struct hf_lease *lease, const struct hf_nodes *nodes,
                   const struct hf_event *event, struct hf_effects *out);

/* When HF_EV_TIMER is due; HF_NEVER if not at all. It may come late; it may
 * come earlier by up to hf_renewal_slack(). */
static inline struct hf_instant hf_lease_wake(const struct hf_lease *lease)
{
    return lease->wake;
}

static inline enum hf_state hf_lease_state(const struct hf_lease *lease)
{
    return (enum hf_state)lease->state;
}

static inline uint64_t hf_lease_fence(const struct hf_lease *lease)
{
    return lease->fence;
}

/* Last instant at which the holder may act; meaningful in HELD and AT_RISK.
 * While RELEASING: nothing is left after it. */
static inline struct hf_instant hf_lease_deadline(const struct hf_lease *lease)
{
    HF_ASSERT(((1U << lease->phase) & HF_PHASES_OF_DEADLINE) != 0);
    return lease->deadline_or_raised.deadline;
}

/* HOLDING: the sending of what a majority last confirmed. */
static inline struct hf_instant hf_lease_confirmed(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    return lease->confirmed_or_ticket.confirmed;
}

/* HOLDING: no node is still about to give it to us. What is late is not waited
 * for. */
bool hf_lease_is_spread(const struct hf_lease *lease,
                        const struct hf_nodes *nodes);

/* The largest counter that any node has named, and that a majority, or all that
 * named one if they are fewer, has passed or can surely be raised to: wrong
 * clocks of a minority do not count. The hint for a next attempt is one more.
 */
uint64_t hf_lease_seen(const struct hf_lease *lease);

/* In the step of an ACQUIRE's outcome: the counter at which `node` granted; 0:
 * it did not. Counters further apart than HF_FENCE_AHEAD_MAX cannot agree. */
uint64_t hf_lease_granted(const struct hf_lease *lease, unsigned node);

/* In the step of TAKEN: the shortest time in which a majority can be free
 * again, as the rivals' leases say; HF_NEVER-like span (INT64_MAX) if they have
 * no expiry. */
struct hf_span hf_lease_rival_left(const struct hf_lease *lease);

#endif
