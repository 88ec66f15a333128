/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of one attempt to hold a lock, from the first ACQUIRE until
 * no node stores its owner.
 *
 * A lease is one attempt with one fresh owner. It sends requests to the nodes,
 * counts their votes, is held or fails, renews, and is done only when no node
 * can store its owner any more. core/retry.h decides whether a failed attempt
 * is retried; a retry is another lease.
 *
 *     hf_lease_init(&lease, n_nodes, ttl, jitter);
 *     hf_lease_step(&lease, &nodes, &(struct hf_event){HF_EV_ACQUIRE, now},
 *                   &effects);
 *     for each effects.sends: send it; the reply is an HF_EV_ANSWER
 *     at hf_lease_wake():     HF_EV_TIMER
 *     if effects.outcome:     report it to the waiting caller
 *     if effects.done:        free the lease
 *
 * It performs no I/O, reads no clock and allocates nothing. The caller keeps
 * the name and the owner, which never change. */
#ifndef HF_CORE_LEASE_H
#define HF_CORE_LEASE_H

#include "base/assert.h"
#include "base/time.h"
#include "core/nodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request to a node about a name. The scripts in store/redis/ and the
 * transactions in store/local/ define the exact effect of each. */
enum hf_verb {
    HF_VERB_ACQUIRE, /* acquire it if free; counter: hint */
    HF_VERB_CONFIRM, /* if ours: raise to counter, refresh the expiry */
    HF_VERB_RELEASE, /* free it if ours; align a free counter; leave the
                        queue; grant it to the first waiter */
    HF_VERB_YIELD,   /* return the grant `counter`, and wait again at our
                        place: an earlier ticket waits there */
    HF_VERB_BREAK,   /* take it from its holder (no lease sends it) */
    HF_VERB_INSPECT, /* read the holder (no lease sends it) */
    HF_VERB_QUEUE,   /* read holders and waiters (no lease sends it) */
    HF_VERB_MARK,    /* merge a mark of --once with the one that the node has
                        (no lease sends it) */
    HF_VERB_GET,     /* read a value (no lease sends it) */
    HF_VERB_PUT,     /* write a value if its version is as expected (no lease
                        sends it) */
    HF_VERB_SCAN     /* list the names that are held (no lease sends it) */
};

/* The result of a request. A missing reply means unknown, never refused. */
enum hf_verdict {
    HF_VERDICT_OK,      /* ACQUIRE, CONFIRM: yours, at `counter`; RELEASE: it
                           was yours and is free now */
    HF_VERDICT_REFUSED, /* not yours; `counter` is the name's; ACQUIRE: rival,
                           left, ticket (the node's time) */
    HF_VERDICT_QUEUED,  /* ACQUIRE, YIELD that queue: as REFUSED, and we have a
                           place there: ticket, ahead */
    HF_VERDICT_UNSENT,  /* never sent: the node is not reachable */
    HF_VERDICT_UNKNOWN, /* sent, then the connection broke: it may be yours */
    HF_VERDICT_ERROR    /* the node refused to execute; nothing changed */
};

enum hf_event_kind {
    HF_EV_ACQUIRE,         /* begin: ask all nodes; counter: hint or 0 */
    HF_EV_ADOPT,           /* begin: confirm a detached lock; counter: fence */
    HF_EV_RELEASE_FOREIGN, /* begin: release a detached lock; counter: fence */
    HF_EV_ANSWER,          /* the result of a request */
    HF_EV_GRANT,      /* pushed: `node` granted the name to us, at `counter` */
    HF_EV_DOUBT,      /* pushed: at `node` our lock may have ended */
    HF_EV_LISTEN,     /* `node` can, or can no longer, push grants to us, as
                         struct hf_nodes says */
    HF_EV_TIMER,      /* hf_lease_wake() has come */
    HF_EV_NODE,       /* the status of `node` in struct hf_nodes changed */
    HF_EV_NODE_RESET, /* `node` is another server than before, or lost its data:
                     its earlier votes are void */
    HF_EV_EXTEND,     /* renew now; ttl: new lease, or 0 for the present one */
    HF_EV_RELEASE,    /* cancel or release; ends in effects.done */
    HF_EV_DETACH      /* detached: stop at once, and release nothing */
};

struct hf_event {
    enum hf_event_kind kind;
    struct hf_instant now; /* never earlier than in the step before */
    uint8_t node; /* ANSWER, GRANT, DOUBT, LISTEN, NODE, NODE_RESET; else 0 */
    enum hf_verb verb; /* ANSWER: of the request */
    enum hf_verdict verdict;
    struct hf_instant sent; /* ANSWER: when the request was sent, or before */
    uint64_t counter;       /* ACQUIRE, ADOPT, RELEASE_FOREIGN, GRANT: see the
                               kind; ANSWER: see the verdict */
    uint64_t floor;      /* ANSWER to CONFIRM: the smallest counter to which the
                            node raises the name, if it refused to raise; or 0
                            */
    uint64_t bound;      /* ANSWER to CONFIRM: the greatest counter to which the
                            node raises the name, if it refused to raise beyond
                            it; or 0 */
    uint32_t rival;      /* ANSWER: digest of the holder's owner; 0: the reply
                            names none */
    struct hf_span left; /* ANSWER: the rival's remaining lease, or
                            HF_SPAN_MAX */
    struct hf_span ttl;  /* EXTEND */
    uint16_t spared;  /* RELEASE_FOREIGN: nodes to which no RELEASE is sent */
    bool queues;      /* ACQUIRE: wait in the nodes' queues until it is ours
                         or HF_EV_RELEASE */
    bool place_stays; /* ACQUIRE: a place there lasts for the whole ttl */
    uint16_t poll_ms_max; /* ANSWER: the end of the rival's lease may not be
                         pushed, so the first waiter polls with at most this
                         interval; 0: it need not */
    uint32_t ahead;       /* ANSWER: number of earlier tickets in the queue */
    uint64_t ticket;      /* ANSWER: QUEUED: our place; REFUSED: the node's time
                             in microseconds, or 0 */
};

/* The result of an operation on the lease; at most one in each step. */
enum hf_outcome {
    HF_OUT_NONE,
    HF_OUT_HELD,       /* ACQUIRE, ADOPT: fence and deadline are valid */
    HF_OUT_QUEUED,     /* ACQUIRE: a majority replied; it waits now */
    HF_OUT_TAKEN,      /* ACQUIRE: one rival has a majority */
    HF_OUT_SPLIT,      /* ACQUIRE: several owners have votes, none a majority */
    HF_OUT_UNREACHED,  /* a majority did not reply, or cannot agree on a
                          counter, since a node's clock is far off */
    HF_OUT_TOO_SLOW,   /* ACQUIRE: granted, but too little of the lease is left
                        */
    HF_OUT_EXTENDED,   /* EXTEND: a majority confirmed it */
    HF_OUT_UNEXTENDED, /* EXTEND: not confirmed in time; the lease continues */
    HF_OUT_LOST,       /* no longer ours: while held, on ADOPT or on release */
    HF_OUT_RELEASED,   /* RELEASE, RELEASE_FOREIGN: a majority freed it */
    HF_OUT_UNKNOWN     /* RELEASE, RELEASE_FOREIGN: not confirmed in time; the
                          lease continues to release in the background */
};

struct hf_send {
    uint8_t node;
    enum hf_verb verb;
    bool reacquires;    /* CONFIRM: acquires the name again if it is free */
    uint64_t counter;   /* ACQUIRE: hint; CONFIRM: fence; RELEASE: largest seen;
                           YIELD: the grant that is returned */
    struct hf_span ttl; /* ACQUIRE, CONFIRM, YIELD: requested lease */
    struct hf_span queue; /* ACQUIRE, YIELD: lease of our place; 0: no place */
    uint64_t ticket;      /* ACQUIRE, YIELD: our place; 0: the node's time */
};

struct hf_effects {
    struct hf_send sends[2 * HF_NODES_MAX];
    unsigned n_sends;
    enum hf_outcome outcome;
    bool state_changed; /* hf_lease_state() differs from before the step */
    bool done;          /* no node stores this owner; no more steps */
    uint16_t missed;    /* nodes whose request timed out in this step */
};

enum hf_phase {
    HF_PHASE_IDLE,      /* initialised */
    HF_PHASE_ASKING,    /* counting grants */
    HF_PHASE_WAITING,   /* in the queues; counting grants */
    HF_PHASE_ADOPTING,  /* counting confirmations of a detached lock's owner */
    HF_PHASE_HOLDING,   /* held, at risk, or lost but not yet released */
    HF_PHASE_RELEASING, /* until each node has released it */
    HF_PHASE_DONE
};

/* The phases in which the deadline is stored, a bit each. */
#define HF_PHASES_OF_DEADLINE                                                  \
    ((1U << HF_PHASE_HOLDING) | (1U << HF_PHASE_RELEASING))

/* A remaining lease in milliseconds: of a key without expiry. */
#define HF_LEFT_MS_ENDLESS UINT32_MAX

/* One node's replies to this owner. Private to core. Unions named
 * a_or_b, here and in the lease, are read only through core/lease_overlay.h,
 * which asserts that the member was written last (INV-6). */
struct hf_vote {
    uint64_t counter; /* largest in a reply "yours"; 0: none that counts */
    uint64_t refused; /* largest in a reply "not yours": replies with a counter
                         up to this are stale */
    struct hf_instant until; /* the vote expires: sending of the request that
                                proved it, + ttl - drift. Queued: the expiry of
                                a grant that is pushed from now on */
    union {
        struct hf_instant due; /* pending: the timeout of the request; WAITING,
                                  not pending: when to ask again */
        uint64_t node_time_us; /* ASKING, refused, not pending: the node's time
                                  in its reply; 0: none */
    } due_or_node_time_us;
    union {
        struct {
            uint32_t rival;   /* not ours: digest of the holder's owner; 0: none
                               */
            uint32_t left_ms; /* the rival's remaining lease, or
                                 HF_LEFT_MS_ENDLESS */
        };
        struct { /* ours: known limits of raises, in buckets of the clock
                    floor; 0: unknown */
            uint32_t floor_bucket; /* the node raises to this bucket or above */
            uint32_t bound_bucket; /* ... and only below this bucket */
        };
    } rival_or_raise;
    uint8_t said;    /* enum hf_said */
    uint8_t pending; /* requests without a reply yet, a bit per verb */
    uint16_t flags;  /* enum hf_vote_flags */
    uint8_t polls;   /* WAITING: requests since the last change */
    uint8_t ahead;   /* QUEUED: earlier tickets in the last reply, 255 at most
                      */
};

/* Compact, since a client may hold 100,000: 64 bytes, and 48 for every node
 * (the votes). All but its size is private to core; use the functions below. */
struct hf_lease {
    uint8_t phase;
    uint8_t state; /* enum hf_state */
    uint8_t n_nodes;
    uint8_t flags;  /* enum hf_lease_flags */
    uint8_t jitter; /* 0..255: how much earlier than a third to renew */
    uint8_t raises; /* CONFIRMs sent to bring counters together */
    struct hf_span ttl;
    uint64_t fence; /* T; while ASKING or WAITING: it is not below */
    union {
        struct hf_instant deadline; /* HOLDING; RELEASING: by then every lease
                                       of this owner has expired */
        uint64_t raised; /* ASKING, WAITING: the greatest counter in a CONFIRM
                            that was sent to raise a node */
    } deadline_or_raised;
    union {
        struct hf_instant confirmed; /* HOLDING: sending of the last confirmed
                                        request; of a claim: its beginning */
        uint64_t ticket;             /* WAITING */
    } confirmed_or_ticket;
    struct hf_instant round_at; /* start of the present phase or renewal */
    struct hf_instant next;     /* next renewal or retry; ASKING, ADOPTING: end
                                   of waiting for connections */
    struct hf_instant wake;
    struct hf_vote votes[];
};

/* Bytes of a lease with its votes. */
static inline size_t hf_lease_size(unsigned n_nodes)
{
    return sizeof(struct hf_lease) + n_nodes * sizeof(struct hf_vote);
}

/* `jitter` is any random byte: it spreads the renewals of many leases. */
void hf_lease_init(struct hf_lease *lease, unsigned n_nodes, struct hf_span ttl,
                   uint8_t jitter);

/* Process one event; `out` is overwritten. */
void hf_lease_step(struct hf_lease *lease, const struct hf_nodes *nodes,
                   const struct hf_event *event, struct hf_effects *out);

/* The instant at which HF_EV_TIMER is due; HF_NEVER if no timer is needed. The
 * event may come late, or earlier by up to hf_renewal_slack(). */
static inline struct hf_instant hf_lease_wake(const struct hf_lease *lease)
{
    return lease->wake;
}

/* A byte in the struct; of this type a switch without a phase is a warning. */
static inline enum hf_phase hf_lease_phase(const struct hf_lease *lease)
{
    return (enum hf_phase)lease->phase;
}

/* What the caller of the library may rely on: HELD, AT_RISK, LOST or released.
 */
static inline enum hf_state hf_lease_state(const struct hf_lease *lease)
{
    return (enum hf_state)lease->state;
}

/* As last requested: of the attempt, or of its last extension. */
static inline struct hf_span hf_lease_ttl(const struct hf_lease *lease)
{
    return lease->ttl;
}

/* The start of the present phase, or of the present renewal. */
static inline struct hf_instant hf_lease_round_at(const struct hf_lease *lease)
{
    return lease->round_at;
}

/* T; 0: no attempt has succeeded yet. */
static inline uint64_t hf_lease_fence(const struct hf_lease *lease)
{
    return lease->fence;
}

/* The end of the lease on our clock, for HELD and AT_RISK. While RELEASING: by
 * then every lease of this owner has expired at its node. */
static inline struct hf_instant hf_lease_deadline(const struct hf_lease *lease)
{
    HF_ASSERT(((1U << lease->phase) & HF_PHASES_OF_DEADLINE) != 0);
    return lease->deadline_or_raised.deadline;
}

/* HOLDING: the sending of the last request that a majority confirmed; of a
 * claim: its beginning. */
static inline struct hf_instant hf_lease_confirmed(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    return lease->confirmed_or_ticket.confirmed;
}

/* HOLDING: every node has replied, or its request has timed out. False while a
 * node that was not asked yet is still connecting. */
bool hf_lease_is_spread(const struct hf_lease *lease,
                        const struct hf_nodes *nodes);

/* The largest counter in any node's reply that a majority has passed, or can
 * surely be raised to; if fewer nodes replied, all of them instead of a
 * majority. So a minority of wrong clocks has no influence. The hint for the
 * next attempt is one more. */
uint64_t hf_lease_seen(const struct hf_lease *lease);

/* In the step that reports an ACQUIRE's outcome: the counter at which `node`
 * granted; 0 if it did not. Nodes whose counters differ by more than
 * HF_FENCE_AHEAD_MAX cannot agree. */
uint64_t hf_lease_granted(const struct hf_lease *lease, unsigned node);

/* In the step that reports TAKEN: the shortest time after which a majority can
 * be free, computed from the rivals' remaining leases; HF_SPAN_MAX if these
 * have no expiry. */
struct hf_span hf_lease_rival_left(const struct hf_lease *lease);

#endif
