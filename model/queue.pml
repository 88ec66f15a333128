/* SPDX-License-Identifier: Apache-2.0 */
/* FAIRNESS: EVERY WAITER IS SERVED ON EVERY WEAKLY FAIR RUN
 *
 * queue.c shows that from every state all waiters can finish. This model shows
 * that all do finish, if each step that stays enabled at a node is taken at
 * last. The waiters are exclusive, each with the same ticket everywhere; waiter
 * 0 has the first. Counters, lost requests and leases are in queue.c: here a
 * vote is counted some time after its grant, and YIELD is executed at once.
 *
 *   RULE 1  an incomplete owner yields to an earlier ticket: the product
 *   RULE 0  no waiter yields: nodes that serve different waiters block them all
 *   RULE 2  a waiter that lacks a majority yields to any other, earlier or not:
 *           two can take turns for ever
 *
 * Bounds: LIVE nodes that answer, MAJORITY votes needed, CLIENTS up to 3. */
#ifndef LIVE
#define LIVE 2
#endif
#ifndef MAJORITY
#define MAJORITY 2
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef RULE
#define RULE 1
#endif

#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) & BIT(n)) != 0)
#define WITHOUT(set, n) ((set) & (255 - BIT(n)))
#define COUNT(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))
#define NO_OWNER 255

byte owner[LIVE];   /* at each node */
byte queue[LIVE];   /* a bit for each waiter; the lowest has the first ticket */
byte heard[CLIENTS]; /* a bit for each node whose grant it has received */
bool waits[CLIENTS];
bool holds[CLIENTS];
byte n_holding;
byte n_done;

/* The first in the queue becomes the owner. */
inline serve(node) {
    if
    :: owner[node] == NO_OWNER && queue[node] != 0 ->
        if
        :: HAS(queue[node], 0) -> owner[node] = 0
        :: !HAS(queue[node], 0) && HAS(queue[node], 1) -> owner[node] = 1
        :: else -> owner[node] = 2
        fi;
        queue[node] = WITHOUT(queue[node], owner[node])
    :: else
    fi
}

/* YIELD: back into the queue under the same ticket. */
inline yield(who, node) {
    heard[who] = WITHOUT(heard[who], node);
    owner[node] = NO_OWNER
}

/* All steps between one client and one node. */
proctype Link(byte who; byte node)
{
    atomic { /* ACQUIRE */
        queue[node] = queue[node] | BIT(who);
        serve(node)
    }
    do
    :: atomic { /* the grant arrives, or a reply that an earlier ticket waits */
        waits[who] && owner[node] == who && !HAS(heard[who], node) ->
        heard[who] = heard[who] | BIT(node)
    }
#if RULE == 1
    :: atomic {
        waits[who] && owner[node] == who &&
        (queue[node] & (BIT(who) - 1)) != 0 ->
        yield(who, node);
        queue[node] = queue[node] | BIT(who);
        serve(node)
    }
#endif
#if RULE == 2
    :: atomic {
        waits[who] && owner[node] == who && COUNT(heard[who]) < MAJORITY &&
        queue[node] != 0 ->
        yield(who, node);
        serve(node);
        queue[node] = queue[node] | BIT(who)
    }
#endif
    :: atomic { /* RELEASE */
        !waits[who] && !holds[who] ->
        queue[node] = WITHOUT(queue[node], who);
        if
        :: owner[node] == who -> owner[node] = NO_OWNER
        :: else
        fi;
        serve(node);
        break
    }
    od
}

proctype Client(byte who)
{
    atomic {
        waits[who] && COUNT(heard[who]) >= MAJORITY ->
        waits[who] = false;
        holds[who] = true;
        assert(n_holding == 0);
        n_holding++
    }
    atomic {
        holds[who] = false;
        n_holding--;
        n_done++
    }
}

init
{
    atomic {
        byte who = 0;
        byte node = 0;
        do
        :: node < LIVE ->
            owner[node] = NO_OWNER;
            node++
        :: else -> break
        od;
        do
        :: who < CLIENTS ->
            waits[who] = true;
            run Client(who);
            node = 0;
            do
            :: node < LIVE ->
                run Link(who, node);
                node++
            :: else -> break
            od;
            who++
        :: else -> break
        od
    }
}

ltl all_are_served { <> (n_done == CLIENTS) }
