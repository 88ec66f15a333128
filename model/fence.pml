/* SPDX-License-Identifier: Apache-2.0 */
/* FENCES: ACQUIRE, RAISE, EXTEND, RELEASE
 *
 * The model of fence.c, written a second time from the rules and for another
 * checker: both must give the same results. In fence.c a client has no memory:
 * it may have received any subset of the replies. Here it has one vote for each
 * node, as in the product: the greatest counter received from it.
 *
 * The network keeps every message that was ever sent, and may deliver it at any
 * later time, any number of times, or never. Any lease may end at any moment.
 *
 * Claims
 *   C1  two that completed have different fences
 *   C2  completed before another began: smaller fence
 *   E1  no renewal succeeds that began after a greater fence completed
 *
 * Bounds: NODES, CLIENTS (one owner each), COUNTERS up to 4. A rule is left out
 * by its name: -DNAIVE_RAISE=1; RULES.md lists all rules. */
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef COUNTERS
#define COUNTERS 3
#endif
#ifndef EXTENDS
#define EXTENDS 0 /* 1: a holder renews once, and may take back a node */
#endif
#ifndef RELEASES
#define RELEASES 0 /* 1: clients give up or release, and align counters */
#endif
/* The rules; 1 is the mutant. */
#ifndef NAIVE_RAISE
#define NAIVE_RAISE 0 /* a node replies "ok T" to CONFIRM(T) at a greater
                         counter too */
#endif
#ifndef NO_SECOND_PHASE
#define NO_SECOND_PHASE 0 /* the greatest grant of a majority is the fence */
#endif
#ifndef RAISE_TAKES_FREE
#define RAISE_TAKES_FREE 0 /* an attempt's CONFIRM takes a free node */
#endif
#ifndef OWNER_REUSE
#define OWNER_REUSE 0 /* the second client reuses the owner of the first */
#endif
#ifndef EXTEND_WITHOUT_COUNTER
#define EXTEND_WITHOUT_COUNTER 0 /* a renewal counts any "yours" */
#endif
#ifndef TAKEBACK_WITHOUT_LAST
#define TAKEBACK_WITHOUT_LAST 0 /* at c = T any owner takes it back */
#endif
#ifndef QUORUM_MINUS_ONE
#define QUORUM_MINUS_ONE 0 /* one node less than a majority is enough */
#endif

#define MAJORITY (NODES / 2 + 1 - QUORUM_MINUS_ONE)
#define NO_OWNER 0
#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) & BIT(n)) != 0)
#define COUNT(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))
#define AT(who, node) ((who) * NODES + (node))
#if OWNER_REUSE
#define ME 1
#else
#define ME (who + 1)
#endif

/* Phases of a client. */
#define IDLE 0
#define ASKING 1
#define HOLDING 2
#define OVER 3

/* State of a node. */
byte owner[NODES];
byte last[NODES]; /* the owner that was granted the counter */
byte counter[NODES];
/* Messages in the network; they stay for ever. */
byte said[CLIENTS * NODES]; /* replies "yours, c = v": a bit for each v */
byte raises[CLIENTS];       /* CONFIRM(T) of an attempt: a bit for each T */
byte renewed[CLIENTS];      /* the renewal was confirmed: a bit for each node */
/* State of a client. */
byte phase[CLIENTS];
byte vote[CLIENTS * NODES];
byte fence[CLIENTS];  /* 0: it never completed */
byte seen[CLIENTS];   /* greatest counter received: RELEASE names it */
byte least[CLIENTS];  /* greatest fence completed when it began (to renew) */
bool renews[CLIENTS];
/* Of all clients. */
byte greatest; /* fences completed so far */

inline say(v) {
    if
    :: phase[who] == ASKING ->
        said[AT(who, node)] = said[AT(who, node)] | BIT(v)
    :: else /* the client has ended */
    fi
}

inline install(v) {
    owner[node] = ME;
    last[node] = ME;
    counter[node] = v
}

/* CONFIRM(v) of an attempt. The reply has the actual counter, never v
 * itself. */
#define CONFIRM(v)                                                         \
    ::d_step                                                               \
    {                                                                      \
        HAS(raises[who], v) && owner[node] == ME &&                        \
            (counter[node] < v || (NAIVE_RAISE && counter[node] > v)) &&   \
            !(HAS(said[AT(who, node)], v) && counter[node] > v) ->         \
        if                                                                 \
        ::counter[node] < v -> counter[node] = v                           \
        ::else                                                             \
        fi;                                                                \
        say(v);                                                            \
        printf("client %d: CONFIRM(%d) executed at node %d\n", who + 1, v, \
               node + 1)                                                   \
    }                                                                      \
    ::d_step                                                               \
    {                                                                      \
        RAISE_TAKES_FREE && HAS(raises[who], v) &&                         \
            owner[node] == NO_OWNER && counter[node] <= v ->                 \
        install(v);                                                        \
        say(v);                                                            \
        printf("client %d: CONFIRM(%d) takes free node %d\n", who + 1, v,  \
               node + 1)                                                   \
    }

/* A reply is received. */
#define HEAR(v)                                                         \
    ::d_step                                                            \
    {                                                                   \
        phase[who] == ASKING && HAS(said[AT(who, node)], v) &&          \
            (vote[AT(who, node)] < v ||                                 \
             (NAIVE_RAISE && vote[AT(who, node)] > v)) ->               \
        vote[AT(who, node)] = v;                                        \
        printf("client %d: hears 'yours, c = %d' from node %d\n",       \
               who + 1, v, node + 1)                                    \
    }

#define IS_LAST (TAKEBACK_WITHOUT_LAST || last[node] == ME)

/* All steps between one client and one node. */
proctype Link(byte who; byte node)
{
    do
    :: d_step { /* ACQUIRE of a free node */
        phase[who] != IDLE && owner[node] == NO_OWNER &&
        counter[node] < COUNTERS ->
        install(counter[node] + 1);
        say(counter[node]);
        printf("client %d: ACQUIRE executed at node %d [%d]\n", who + 1,
               node + 1, counter[node])
    }
    :: d_step { /* a retry, or a late copy: the reply has the actual counter */
        phase[who] == ASKING && owner[node] == ME &&
        !HAS(said[AT(who, node)], counter[node]) ->
        say(counter[node]);
        printf("client %d: ACQUIRE again at node %d [%d]\n", who + 1,
               node + 1, counter[node])
    }
    CONFIRM(1)
    CONFIRM(2)
    CONFIRM(3)
    CONFIRM(4)
    HEAR(1)
    HEAR(2)
    HEAR(3)
    HEAR(4)
#if EXTENDS
    :: d_step { /* CONFIRM(T) of a holder */
        renews[who] && phase[who] == HOLDING && !HAS(renewed[who], node) &&
        owner[node] == ME &&
        (counter[node] <= fence[who] || EXTEND_WITHOUT_COUNTER) ->
        if
        :: counter[node] < fence[who] -> counter[node] = fence[who]
        :: else
        fi;
        renewed[who] = renewed[who] | BIT(node);
        printf("client %d: renewal executed at node %d\n", who + 1, node + 1)
    }
    :: d_step { /* which also takes back a free name */
        renews[who] && phase[who] == HOLDING && !HAS(renewed[who], node) &&
        owner[node] == NO_OWNER &&
        (counter[node] < fence[who] ||
         (counter[node] == fence[who] && IS_LAST)) ->
        install(fence[who]);
        renewed[who] = renewed[who] | BIT(node);
        printf("client %d: takes node %d back\n", who + 1, node + 1)
    }
#endif
#if RELEASES
    :: d_step { /* RELEASE(T) */
        phase[who] == OVER &&
        (owner[node] == ME ||
         (owner[node] == NO_OWNER && counter[node] < seen[who])) ->
        owner[node] = NO_OWNER;
        last[node] = NO_OWNER;
        if
        :: counter[node] < seen[who] -> counter[node] = seen[who]
        :: else
        fi;
        printf("client %d: RELEASE(%d) executed at node %d\n", who + 1,
               seen[who], node + 1)
    }
#endif
    od
}

inline count_votes() {
    n_granted = 0;
    top = 0;
    node = 0;
    do
    :: node < NODES ->
        if
        :: vote[AT(who, node)] > 0 -> n_granted++
        :: else
        fi;
        if
        :: vote[AT(who, node)] > top -> top = vote[AT(who, node)]
        :: else
        fi;
        node++
    :: else -> break
    od;
    node = 0
}

/* End of a phase: clear the messages that no rule reads any more. */
inline forget() {
    do
    :: node < NODES ->
        vote[AT(who, node)] = 0;
        said[AT(who, node)] = 0;
        node++
    :: else -> break
    od;
    node = 0
}

#define AGREE(v, node) (vote[AT(who, node)] == v)
#if NODES == 1
#define VOTES(v) AGREE(v, 0)
#else
#define VOTES(v) (AGREE(v, 0) + AGREE(v, 1) + AGREE(v, 2))
#endif

/* Held at v: a majority replied "yours, c = v". */
#define COMPLETE(v)                                                     \
    ::d_step                                                            \
    {                                                                   \
        phase[who] == ASKING && VOTES(v) >= MAJORITY ->                 \
        complete(v)                                                     \
    }

inline complete(v) {
    printf("client %d: COMPLETES with fence %d\n", who + 1, v);
    do
    :: other < CLIENTS ->
        assert(fence[other] != v); /* C1 */
        other++
    :: else -> break
    od;
    other = 0;
    assert(v > least[who]); /* C2 */
    phase[who] = HOLDING;
    fence[who] = v;
    seen[who] = v;
    least[who] = 0;
    forget();
    if
    :: v > greatest -> greatest = v
    :: else
    fi
}

proctype Client(byte who)
{
    byte node = 0;
    byte other = 0;
    byte n_granted = 0;
    byte top = 0;
    d_step {
        /* Clients are alike, so they begin in order. A client that reuses an
         * owner begins when the other one has completed. */
        who == 0 || (phase[who - 1] != IDLE && !OWNER_REUSE) ||
        phase[who - 1] >= HOLDING ->
        phase[who] = ASKING;
        least[who] = greatest;
        printf("client %d: begins, %d is the greatest fence\n", who + 1,
               greatest)
    }
    do
    COMPLETE(1)
    COMPLETE(2)
    COMPLETE(3)
    COMPLETE(4)
    :: d_step { /* a majority, at different counters: T is the greatest */
        phase[who] == ASKING ->
        count_votes();
        if
        :: n_granted >= MAJORITY && NO_SECOND_PHASE ->
            complete(top)
        :: n_granted >= MAJORITY && !NO_SECOND_PHASE &&
           !HAS(raises[who], top) ->
            raises[who] = raises[who] | BIT(top);
            printf("client %d: sends CONFIRM(%d)\n", who + 1, top)
        :: else
        fi;
        n_granted = 0;
        top = 0
    }
#if EXTENDS
    :: d_step {
        phase[who] == HOLDING && !renews[who] ->
        renews[who] = true;
        least[who] = greatest;
        printf("client %d: begins to renew\n", who + 1)
    }
    :: d_step {
        phase[who] == HOLDING && COUNT(renewed[who]) >= MAJORITY ->
        printf("client %d: renewal SUCCEEDS\n", who + 1);
        assert(least[who] <= fence[who]); /* E1 */
        phase[who] = OVER;
        renewed[who] = 0
    }
#endif
#if RELEASES
    :: d_step {
        phase[who] == ASKING || phase[who] == HOLDING ->
        count_votes();
        if
        :: top > seen[who] -> seen[who] = top
        :: else
        fi;
        n_granted = 0;
        top = 0;
        phase[who] = OVER;
        renewed[who] = 0;
        least[who] = 0;
        forget();
        printf("client %d: gives up or back\n", who + 1)
    }
#endif
    od
}

/* A lease may end at any time. */
proctype Node(byte node)
{
    do
    :: d_step {
        owner[node] != NO_OWNER ->
        owner[node] = NO_OWNER;
        printf("its lease ends at node %d\n", node + 1)
    }
    od
}

init
{
    byte who = 0;
    byte node = 0;
    atomic {
        do
        :: node < NODES ->
            run Node(node);
            node++
        :: else -> break
        od;
        do
        :: who < CLIENTS ->
            run Client(who);
            node = 0;
            do
            :: node < NODES ->
                run Link(who, node);
                node++
            :: else -> break
            od;
            who++
        :: else -> break
        od;
        who = 0;
        node = 0
    }
}
