/* SPDX-License-Identifier: Apache-2.0 */
/* A NODE THAT LOSES ITS DATA: MARKER, QUARANTINE, CLOCK FLOOR
 *
 * One node restarts, empty or with the data on its disk, or is flushed. It has
 * lost the holder and the counter. Three rules replace them. The marker: a
 * request names the identity that the client expects, and if the node has
 * another one, the client must read the marker again. The quarantine: the
 * replies of the node count only for a client that knows from the marker that
 * every lease which the node may have lost has ended. The clock floor: no grant
 * and no raise is below the node's clock, which is above all earlier counters.
 *
 * A client knows only what it has read, each client by itself. The marker names
 * the life for which it was written, whether it is whole, and for each host
 * when a client there first saw it. A marker of the present life counts if it
 * is whole, or if the client or its host has known it for QUARANTINE ticks;
 * that client then sets "whole", which others see when they read again. Any
 * other marker is replaced by a new one that is not whole. Scripts of the
 * marker take no time here: marker.pml has those that are late.
 *
 * Discrete time; all clocks are right. A request takes any time or is lost, and
 * is executed at most once. Requests to a node that restarts are lost with
 * their connections. Replies are received at once, and decisions are made at
 * any time. The name was in use before. In one tick a node can make a few
 * grants: counters are microseconds, and a bucket of the floor has millions.
 *
 * Claims
 *   C1  two that completed have different fences
 *   C2  completed before another began: smaller fence
 *   E1  no renewal succeeds that began after a greater fence completed
 *   C4  two never believe at once that they hold
 *
 * Bounds: NODES (3 or 1), 2 clients, TTL and TIME_MAX ticks. A rule is left out
 * by its name; RULES.md has them all. */
#ifndef NODES
#define NODES 3
#endif
#ifndef TTL
#define TTL 2
#endif
#ifndef TIME_MAX
#define TIME_MAX 4
#endif
#ifndef QUARANTINE
#define QUARANTINE TTL /* ticks of watching; 0: no quarantine */
#endif
#ifndef DOWN
#define DOWN 0 /* ticks that a restart takes */
#endif
#ifndef RENEWALS
#define RENEWALS 0 /* 1: a holder renews, once */
#endif
/* Faults of the first node. */
#ifndef DISK
#define DISK 0 /* 1: it comes back with the data of some earlier time */
#endif
#ifndef FLUSH
#define FLUSH 0 /* 1: it is flushed, and connections stay open */
#endif
#ifndef NEWCOMER
#define NEWCOMER 0 /* 1: the second client has never been connected to the
                      node */
#endif
#ifndef ONE_HOST
#define ONE_HOST 0 /* 1: both clients are on one host */
#endif
#ifndef ORDER_ALONE
#define ORDER_ALONE 0 /* 1: neither E1 nor C4 is claimed: no quarantine */
#endif
/* The rules; 1 is the mutant. */
#ifndef NO_FLOOR
#define NO_FLOOR 0
#endif
#ifndef FLOOR_AT_CREATION_ONLY
#define FLOOR_AT_CREATION_ONLY 0
#endif
#ifndef FORGOT_VOTES_KEPT
#define FORGOT_VOTES_KEPT 0 /* votes from before the data loss still count */
#endif
#ifndef MARKER_NOT_COMPARED
#define MARKER_NOT_COMPARED 0
#endif
#ifndef NEWCOMER_TRUSTS_UNMARKED
#define NEWCOMER_TRUSTS_UNMARKED 0 /* without a marker, the node is new */
#endif
#ifndef UPTIME_VOUCHES
#define UPTIME_VOUCHES 0 /* and the second life has a long uptime */
#endif
#ifndef WATCH_OTHER_IDENTITY
#define WATCH_OTHER_IDENTITY 0 /* a marker of another life still counts */
#endif
#ifndef WHOLE_WITHOUT_WATCH
#define WHOLE_WITHOUT_WATCH 0 /* a client sets "whole" at its first read */
#endif
#ifndef ENTRY_SURVIVES_RESTART
#define ENTRY_SURVIVES_RESTART 0 /* a new marker keeps the entries */
#endif
#ifndef WATCH_OF_OTHER_VALUE
#define WATCH_OF_OTHER_VALUE 0 /* a new marker is watched since the old one */
#endif

#define CLIENTS 2
#define MAJORITY (NODES / 2 + 1)
#define NO_OWNER 0
#define PER_TICK 5
#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) & BIT(n)) != 0)
#define AT(who, node) ((who) * NODES + (node))
#define ME (who + 1)
#define OTHER (1 - who)
#define HOST (ONE_HOST -> 0 : who)
#define FLOOR (NO_FLOOR -> 0 : now * PER_TICK)

/* Phases of a client. */
#define IDLE 0
#define ASKING 1
#define HOLDING 2
#define OVER 3

/* Values of the marker: at the first node, and as a client knows it. */
#define GONE 0
#define FIRST 1 /* of its first life */
#define SECOND 2 /* written by a client that noticed the data loss */

byte now;
/* State of a node. */
byte owner[NODES];
byte last[NODES]; /* the owner that was granted the counter */
byte counter[NODES];
byte left[NODES]; /* ticks of the lease */
/* State of the first node only. */
byte marker = FIRST;
byte names = 1; /* the life that the marker names */
bool whole = true;
byte entry[CLIENTS] = 1; /* when its host first saw it, plus 1; 0: never */
byte life = 1; /* its run id */
byte down; /* ticks until it is back */
bool is_saved;
byte disk_owner;
byte disk_last;
byte disk_counter;
byte disk_left;
/* Messages in the network. */
bool asks[CLIENTS * NODES];
byte confirms[CLIENTS * NODES]; /* the T that it names; 0: none */
bool is_renewal[CLIENTS]; /* the CONFIRMs in flight are a holder's */
/* State of a client. */
byte phase[CLIENTS];
byte known[CLIENTS]; /* value of the marker of the first node */
bool must_look[CLIENTS];
bool trusts[CLIENTS]; /* the first node has a vote */
byte since[CLIENTS];  /* otherwise: when it first saw the value, plus 1 */
byte met[CLIENTS];   /* its life; if another is present, the connection is
                        closed */
byte vote[CLIENTS * NODES];
byte fence[CLIENTS]; /* 0: it never completed */
byte least[CLIENTS];
byte good[CLIENTS]; /* ticks for which its votes, or its lease, are valid */
byte round[CLIENTS]; /* the same for the renewal in progress */
byte answered[CLIENTS]; /* confirmations of it: a bit for each node */
bool has_renewed[CLIENTS];
/* Of all clients. */
byte greatest;
bool has_forgotten;

#define MAY_VOTE(node) (node > 0 || (!must_look[who] && trusts[who]))
#define IS_LINKED(node) \
    (node > 0 || (down == 0 && !must_look[who] && met[who] == life))
#define IS_KEPT (marker != GONE && (names == life || WATCH_OTHER_IDENTITY))
#define FIRST_SEEN \
    (entry[HOST] > 0 && entry[HOST] < since[who] -> entry[HOST] : since[who])
#define IS_WATCHED (now + 1 >= FIRST_SEEN + QUARANTINE || WHOLE_WITHOUT_WATCH)
#define BELIEVES(who) (phase[who] == HOLDING && good[who] > 0)

/* ---- At a node --------------------------------------------------------- */

inline install(v) {
    owner[node] = ME;
    last[node] = ME;
    counter[node] = v;
    left[node] = TTL
}

inline refresh() {
    left[node] = TTL /* never shorter: all request the same ttl */
}

/* The marker has another value: earlier votes are void, and the client sends no
 * request before it has read the marker. */
inline changed() {
    must_look[who] = true;
    printf("client %d: finds another marker\n", who + 1)
}

#define IS_OTHERS_MARKER \
    (node == 0 && marker != known[who] && !MARKER_NOT_COMPARED)

inline execute_acquire() {
    asks[AT(who, node)] = false;
    if
    :: IS_OTHERS_MARKER -> changed()
    :: !IS_OTHERS_MARKER && owner[node] == NO_OWNER ->
        v = counter[node] + 1;
        if
        :: v < FLOOR && !(FLOOR_AT_CREATION_ONLY && counter[node] > 0) ->
            v = FLOOR
        :: else
        fi;
        if
        :: v < (now + 1) * PER_TICK ->
            install(v);
            printf("client %d: ACQUIRE executed at node %d [%d]\n", who + 1,
                   node + 1, v);
            if
            :: phase[who] == ASKING -> vote[AT(who, node)] = v
            :: else
            fi
        :: else
        fi
    :: else
    fi;
    v = 0
}

/* The reply has the actual counter: a vote for that value, or for the round. */
inline answer() {
    printf("client %d: CONFIRM executed at node %d [%d]\n", who + 1, node + 1,
           counter[node]);
    if
    :: phase[who] == ASKING && !is_renewal[who] ->
        vote[AT(who, node)] = counter[node]
    :: phase[who] == HOLDING && is_renewal[who] &&
       counter[node] == fence[who] &&
       (MAY_VOTE(node) || NODES == 1) ->
        answered[who] = answered[who] | BIT(node)
    :: else
    fi
}

inline execute_confirm() {
    v = confirms[AT(who, node)];
    confirms[AT(who, node)] = 0;
    if
    :: IS_OTHERS_MARKER -> changed()
    :: !IS_OTHERS_MARKER && owner[node] == ME ->
        if
        :: counter[node] < v && v >= FLOOR ->
            counter[node] = v
        :: else
        fi;
        refresh();
        answer()
    :: !IS_OTHERS_MARKER && owner[node] == NO_OWNER && is_renewal[who] &&
       ((counter[node] == v && last[node] == ME) ||
        (counter[node] < v && v >= FLOOR)) -> /* taken back */
        install(v);
        answer()
    :: else
    fi;
    v = 0
}

/* All steps between one client and one node. */
proctype Link(byte who; byte node)
{
    byte v = 0;
    do
    :: d_step {
        asks[AT(who, node)] && IS_LINKED(node) ->
        execute_acquire()
    }
    :: d_step {
        confirms[AT(who, node)] > 0 && IS_LINKED(node) ->
        execute_confirm()
    }
    :: d_step { /* RELEASE, after the requests that it cancels */
        phase[who] == OVER && IS_LINKED(node) && !asks[AT(who, node)] &&
        confirms[AT(who, node)] == 0 && owner[node] == ME ->
        owner[node] = NO_OWNER;
        last[node] = NO_OWNER;
        left[node] = 0;
        printf("client %d: RELEASE executed at node %d\n", who + 1, node + 1)
    }
    od
}

/* ---- At a client ------------------------------------------------------- */

inline drop_votes() {
    if
    :: !FORGOT_VOTES_KEPT ->
        vote[AT(who, 0)] = 0;
        answered[who] = answered[who] & ~BIT(0)
    :: else
    fi
}

inline clear_entries() {
    if
    :: !ENTRY_SURVIVES_RESTART ->
        entry[0] = 0;
        entry[1] = 0
    :: else
    fi
}

/* A marker of another life shows a restart or a promoted replica. Without a
 * marker the node is new, restarted or flushed; a client that was never
 * connected to it cannot tell which. The mutants trust the new marker at
 * once. */
inline replace() {
    trusts[who] = (NEWCOMER_TRUSTS_UNMARKED && marker == GONE && life == 1 &&
                   met[who] == 0) || (UPTIME_VOUCHES && life == 2) ||
                  QUARANTINE == 0;
    marker = SECOND;
    names = life;
    whole = trusts[who];
    clear_entries();
    since[who] =
        (WATCH_OF_OTHER_VALUE && since[who] > 0 -> since[who] : now + 1)
}

/* For a marker that stays. */
inline learn() {
    since[who] = ((known[who] == marker || WATCH_OF_OTHER_VALUE) &&
                  since[who] > 0 -> since[who] : now + 1);
    trusts[who] = whole || IS_WATCHED;
    whole = trusts[who];
    entry[HOST] = (entry[HOST] == 0 && !whole -> since[who] : entry[HOST])
}

/* Identity and marker are read at once; the marker is written if it must
 * change. */
inline look() {
    if
    :: IS_KEPT -> learn()
    :: else -> replace()
    fi;
    drop_votes();
    known[who] = marker;
    met[who] = life;
    must_look[who] = false;
    since[who] = (trusts[who] && !WATCH_OF_OTHER_VALUE -> 0 : since[who]);
    printf("client %d: looks: marker %d of life %d, whole %d, trusts %d\n",
           who + 1, marker, names, whole, trusts[who])
}

/* ACQUIRE to all nodes that may vote. */
inline begin() {
    phase[who] = ASKING;
    good[who] = TTL;
    least[who] = greatest;
    do
    :: node < NODES ->
        asks[AT(who, node)] = MAY_VOTE(node);
        node++
    :: else -> break
    od;
    node = 0;
    printf("client %d: begins, %d is the greatest fence\n", who + 1, greatest)
}

inline count_votes() {
    do
    :: node < NODES ->
        if
        :: vote[AT(who, node)] > 0 && MAY_VOTE(node) ->
            n_granted++;
            if
            :: vote[AT(who, node)] > top -> top = vote[AT(who, node)]
            :: else
            fi
        :: else
        fi;
        node++
    :: else -> break
    od;
    node = 0;
    do /* how many nodes agree on the greatest */
    :: node < NODES ->
        if
        :: vote[AT(who, node)] == top && top > 0 && MAY_VOTE(node) ->
            n_agreed++
        :: else
        fi;
        node++
    :: else -> break
    od;
    node = 0
}

inline believe() {
    if
    :: !ORDER_ALONE -> assert(!BELIEVES(OTHER)) /* C4 */
    :: else
    fi
}

inline complete() {
    printf("client %d: COMPLETES with fence %d\n", who + 1, top);
    assert(fence[OTHER] != top); /* C1 */
    assert(top > least[who]);    /* C2 */
    believe();
    phase[who] = HOLDING;
    fence[who] = top;
    least[who] = 0;
    do
    :: node < NODES ->
        vote[AT(who, node)] = 0;
        node++
    :: else -> break
    od;
    node = 0;
    if
    :: top > greatest -> greatest = top
    :: else
    fi
}

/* CONFIRM(T) to the nodes below T. T is the greatest counter, or the floor if a
 * reply names a floor above that. */
inline raise_to(T) {
    do
    :: node < NODES ->
        if
        :: vote[AT(who, node)] > 0 && vote[AT(who, node)] < T &&
           MAY_VOTE(node) && confirms[AT(who, node)] == 0 ->
            confirms[AT(who, node)] = T;
            printf("client %d: sends CONFIRM(%d) to node %d\n", who + 1, T,
                   node + 1)
        :: else
        fi;
        node++
    :: else -> break
    od;
    node = 0
}

inline decide() {
    count_votes();
    if
    :: n_agreed >= MAJORITY -> complete()
    :: n_agreed < MAJORITY && n_granted >= MAJORITY -> raise_to(top)
    :: else
    fi;
    n_granted = 0;
    n_agreed = 0;
    top = 0
}

inline renew() {
    has_renewed[who] = true;
    is_renewal[who] = true;
    round[who] = TTL;
    least[who] = greatest;
    do
    :: node < NODES ->
        if
        :: node > 0 || !must_look[who] ->
            confirms[AT(who, node)] = fence[who]
        :: else
        fi;
        node++
    :: else -> break
    od;
    node = 0;
    printf("client %d: begins to renew\n", who + 1)
}

#define ANSWERS (HAS(answered[who], 0) + HAS(answered[who], 1) + \
                 HAS(answered[who], 2))

inline renewed() {
    printf("client %d: renewal SUCCEEDS\n", who + 1);
    assert(least[who] <= fence[who] || ORDER_ALONE); /* E1 */
    good[who] = round[who];
    round[who] = 0;
    answered[who] = 0;
    believe()
}

inline end() {
    phase[who] = OVER;
    good[who] = 0;
    round[who] = 0;
    answered[who] = 0;
    least[who] = 0;
    do
    :: node < NODES ->
        vote[AT(who, node)] = 0;
        node++
    :: else -> break
    od;
    node = 0
}

proctype Client(byte who)
{
    byte node = 0;
    byte n_granted = 0;
    byte n_agreed = 0;
    byte top = 0;
    do
    :: d_step {
        phase[who] == IDLE && (who == 0 || NEWCOMER || phase[0] != IDLE) ->
        begin()
    }
    :: d_step {
        phase[who] == ASKING && good[who] > 0 ->
        decide()
    }
#if RENEWALS
    :: d_step {
        BELIEVES(who) && !has_renewed[who] ->
        renew()
    }
    :: d_step {
        BELIEVES(who) && round[who] > 0 && ANSWERS >= MAJORITY ->
        renewed()
    }
#endif
    :: d_step { /* gives up, releases, or its lease ends */
        phase[who] == ASKING || phase[who] == HOLDING ->
        end();
        printf("client %d: ends\n", who + 1)
    }
    :: d_step { /* its connection to the first node closes */
        !must_look[who] && met[who] != life && down == 0 ->
        must_look[who] = true;
        printf("client %d: is cut off\n", who + 1)
    }
    :: d_step {
        must_look[who] && down == 0 && phase[who] != OVER ->
        look()
    }
    :: d_step { /* again, if there is something to learn */
        !must_look[who] && !trusts[who] && down == 0 && met[who] == life &&
        (known[who] != marker || whole || IS_WATCHED) && phase[who] != OVER ->
        look()
    }
    od
}

/* ---- The world --------------------------------------------------------- */

#define RUN_DOWN(ticks) ticks = (ticks > 0 -> ticks - 1 : 0)

inline tick() {
    now++;
    RUN_DOWN(down);
    RUN_DOWN(disk_left);
    disk_owner = (disk_left == 0 -> NO_OWNER : disk_owner);
    do
    :: node < NODES ->
        RUN_DOWN(left[node]);
        owner[node] = (left[node] == 0 -> NO_OWNER : owner[node]);
        node++
    :: else -> break
    od;
    node = 0;
    do
    :: who < CLIENTS ->
        RUN_DOWN(good[who]);
        RUN_DOWN(round[who]);
        if
        :: good[who] == 0 && (phase[who] == ASKING || phase[who] == HOLDING) ->
            end()
        :: else
        fi;
        who++
    :: else -> break
    od;
    who = 0;
    printf("a tick: %d\n", now)
}

/* Messages to the node are lost with their connections. */
inline forget() {
    has_forgotten = true;
    owner[0] = disk_owner;
    last[0] = disk_last;
    counter[0] = disk_counter;
    left[0] = disk_left;
    if
    :: !is_saved ->
        marker = GONE;
        names = 0;
        whole = false;
        entry[0] = 0;
        entry[1] = 0
    :: else
    fi;
    is_saved = false;
    disk_owner = NO_OWNER;
    disk_last = NO_OWNER;
    disk_counter = 0;
    disk_left = 0;
    if
    :: !FLUSH ->
        life = 2;
        down = DOWN;
        do
        :: who < CLIENTS ->
            asks[AT(who, 0)] = false;
            confirms[AT(who, 0)] = 0;
            who++
        :: else -> break
        od;
        who = 0
    :: else
    fi;
    printf("node 1: FORGETS, is of %d, c = %d\n", owner[0], counter[0])
}

proctype World()
{
    byte who = 0;
    byte node = 0;
    do
    :: d_step {
        now < TIME_MAX ->
        tick()
    }
    :: d_step {
        !has_forgotten ->
        forget()
    }
#if DISK
    :: d_step {
        !has_forgotten && !is_saved ->
        is_saved = true;
        disk_owner = owner[0];
        disk_last = last[0];
        disk_counter = counter[0];
        disk_left = left[0];
        printf("node 1: the disk has it as it is\n")
    }
#endif
    od
}

init
{
    byte who = 0;
    byte node = 0;
    atomic {
        known[0] = FIRST;
        met[0] = 1;
        trusts[0] = true;
        known[1] = (NEWCOMER -> GONE : FIRST);
        met[1] = (NEWCOMER -> 0 : 1);
        since[0] = WATCH_OF_OTHER_VALUE;
        must_look[1] = NEWCOMER;
        trusts[1] = !NEWCOMER;
        do
        :: node < NODES ->
            counter[node] = 1;
            node++
        :: else -> break
        od;
        run World();
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
