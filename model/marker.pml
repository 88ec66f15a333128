/* SPDX-License-Identifier: Apache-2.0 */
/* DOES A SERVER STILL HAVE ALL ITS DATA? MARKER, HOSTS, WATCHING
 *
 * One node loses its data: it restarts empty or with older data, it is flushed,
 * or a replica with older data takes its address. Commands on several hosts ask
 * it for locks. A command is short-lived and keeps no state, so it can rely
 * only on what the node shows: its identity, and the marker.
 *
 * The rule: a grant counts only if the marker names the present identity and is
 * whole, or the node is durable, or a host has watched this identity for a full
 * max_ttl by its own clock. A marker that proves nothing is replaced by one
 * with a fresh value that is not whole. The marker then lists, for each host,
 * when a command there first saw this value. A command that finds the entry of
 * its own host max_ttl old sets "whole" for all. Every script that grants or
 * writes compares the value.
 *
 * Discrete time. Hosts' clocks run at one rate and are set apart. A script that
 * writes the marker takes any time, also after its command has exited; it is
 * gone with its connection if the server restarts. Locks are not modelled one
 * by one: `held` is how long the latest lease that the node granted still runs,
 * `lost` the same of the leases that it has lost.
 *
 * Claim
 *   C4  nothing is granted while a lease that the node has lost still runs
 *
 * Bounds: one node, 2 commands at a time, on 2 hosts or on one, LOSSES of data,
 * TTL and TIME_MAX ticks. A rule is left out by its name (RULES.md). */
#ifndef TTL
#define TTL 2
#endif
#ifndef TIME_MAX
#define TIME_MAX 6
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
/* Faults of the node. */
#ifndef OLDER
#define OLDER 0 /* 1: it restarts with older data, or a replica has older
                   data */
#endif
#ifndef FLUSH
#define FLUSH 0 /* 1: it is flushed, and connections stay open */
#endif
#ifndef STEP
#define STEP 0 /* 1: its wall clock is corrected, far ahead */
#endif
#ifndef DURABLE
#define DURABLE 0 /* 1: it is durable until CONFIG SET changes that */
#endif
#ifndef RETURNS
#define RETURNS 0 /* 1: the old primary replaces a promoted one at its
                     address */
#endif
#ifndef ONE_HOST
#define ONE_HOST 0 /* 1: both commands are on one host */
#endif
/* The rules; 1 is the mutant. */
#ifndef UPTIME_VOUCHES
#define UPTIME_VOUCHES 0
#endif
#ifndef WATCH_BY_WALL_CLOCK
#define WATCH_BY_WALL_CLOCK 0
#endif
#ifndef WATCH_OTHER_IDENTITY
#define WATCH_OTHER_IDENTITY 0
#endif
#ifndef ENTRY_SURVIVES_RESTART
#define ENTRY_SURVIVES_RESTART 0
#endif
#ifndef ENTRY_OF_OTHER_HOST
#define ENTRY_OF_OTHER_HOST 0
#endif
#ifndef ENTRY_NOT_COMPARED
#define ENTRY_NOT_COMPARED 0
#endif
#ifndef WHOLE_WITHOUT_WATCH
#define WHOLE_WITHOUT_WATCH 0
#endif
#ifndef NEWCOMER_TRUSTS_UNMARKED
#define NEWCOMER_TRUSTS_UNMARKED 0
#endif
#ifndef DURABLE_NOT_ASKED
#define DURABLE_NOT_ASKED 0
#endif

#define COMMANDS 2
#define HOSTS 2
#define SPAN TTL /* ticks of watching */
#define HOST (ONE_HOST -> 0 : who)
#define STEPPED (2 * SPAN)

/* What a script in progress does. */
#define NOTHING 0
#define REPLACE 1
#define ENTER 2
#define VOUCH 3

byte now;
/* The node: identity, marker, and state that only mutants read. */
byte id = 1;
byte value = 1; /* of the marker; 0: there is none */
byte names = 1; /* the identity that the marker names */
bool whole = true;
byte entry[HOSTS]; /* first sight by the host's clock, plus 1; 0: none */
bool durable = DURABLE; /* as the marker says */
bool syncs = DURABLE;   /* as CONFIG GET says */
byte up = SPAN;         /* its uptime, up to SPAN */
byte wall = STEPPED;    /* ticks by which its wall clock is behind */
/* A copy of the node: a snapshot or a replica. c_id 0: it gets a new identity
 * when it is used. */
bool has_copy;
byte c_id;
byte c_value;
byte c_names;
bool c_whole;
byte c_entry[HOSTS];
bool c_durable;
/* Leases. */
byte held = TTL;
byte lost;
/* Commands. */
bool runs[COMMANDS];
byte known[COMMANDS]; /* value of the marker; 0: it must read it */
byte met[COMMANDS];   /* identity; if another is present, the connection is
                         closed */
byte since[COMMANDS]; /* since when it knows the value, by its clock, plus 1 */
bool trusts[COMMANDS];
/* A script in progress, one for each command. */
byte what[COMMANDS];
byte old[COMMANDS];
byte says[COMMANDS]; /* the identity, or the time of first sight */
/* Of all commands. */
byte last_id = 1;
byte last_value = 1;
byte losses;
bool has_returned;

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define IS_NAMED (value > 0 && names == id)
#define IS_DURABLE (value > 0 && durable && (syncs || DURABLE_NOT_ASKED))
#define IS_KEPT (IS_NAMED || IS_DURABLE || \
                 (WATCH_OTHER_IDENTITY && value > 0))
/* The second host's clock is ahead. */
#define CLOCK (WATCH_BY_WALL_CLOCK -> now + STEPPED - wall : \
               now + (HOST == 1 -> SPAN : 0))
#define ENTRY (ENTRY_OF_OTHER_HOST && entry[HOST] == 0 -> \
               entry[1 - HOST] : entry[HOST])
#define FIRST_SEEN (ENTRY > 0 -> MIN(ENTRY, since[who]) : since[who])
#define IS_WATCHED (CLOCK + 1 >= FIRST_SEEN + SPAN || WHOLE_WITHOUT_WATCH)

/* ---- A command ---------------------------------------------------------- */

inline send(kind, text) {
    what[who] = kind;
    old[who] = value;
    says[who] = text
}

/* Read identity and marker at once, and decide. */
inline look() {
    if
    :: known[who] == 0 || known[who] != value -> since[who] = CLOCK + 1
    :: else
    fi;
    if
    :: value > 0 && IS_KEPT && (whole && (IS_NAMED || IS_DURABLE)) ->
        trusts[who] = true
    :: value > 0 && IS_KEPT && !(whole && (IS_NAMED || IS_DURABLE)) &&
       IS_WATCHED ->
        trusts[who] = true;
        send(VOUCH, 0)
    :: value > 0 && IS_KEPT && !(whole && (IS_NAMED || IS_DURABLE)) &&
       !IS_WATCHED ->
        trusts[who] = false;
        if
        :: entry[HOST] == 0 -> send(ENTER, since[who])
        :: else
        fi
    :: !(value > 0 && IS_KEPT) &&
       (UPTIME_VOUCHES && up >= SPAN ||
        NEWCOMER_TRUSTS_UNMARKED && value == 0 && met[who] == 0) ->
        last_value++; /* at once: the mutants need no race */
        value = last_value;
        names = id;
        whole = true;
        trusts[who] = true
    :: else ->
        trusts[who] = false;
        send(REPLACE, id)
    fi;
    known[who] = value;
    met[who] = id;
    printf("command %d: looks: identity %d, marker %d names %d\n", who + 1, id,
           value, names)
}

inline clear_entries() {
    if
    :: !ENTRY_SURVIVES_RESTART ->
        entry[0] = 0;
        entry[1] = 0
    :: else
    fi
}

/* The script compares the value, and does nothing if it differs. */
inline execute() {
    if
    :: value != old[who] && !(ENTRY_NOT_COMPARED && what[who] != REPLACE) ->
        printf("command %d: its script comes too late\n", who + 1)
    :: else ->
        if
        :: what[who] == REPLACE ->
            last_value++;
            value = last_value;
            names = says[who];
            whole = false;
            durable = syncs;
            clear_entries()
        :: what[who] == ENTER ->
            entry[HOST] = says[who]
        :: what[who] == VOUCH ->
            whole = true;
            names = id
        fi;
        if
        :: value == 0 -> /* HSET creates the key if it is missing */
            last_value++;
            value = last_value;
            names = id
        :: else
        fi;
        printf("command %d: its script makes marker %d\n", who + 1, value)
    fi;
    what[who] = NOTHING;
    old[who] = 0;
    says[who] = 0
}

inline forget() {
    known[who] = 0;
    met[who] = 0;
    since[who] = 0;
    trusts[who] = false
}

proctype Command(byte who)
{
    do
    :: d_step { /* it starts, or reads again */
        last_value < LOSSES + 3 && (!runs[who] || known[who] == 0 ||
        known[who] != value || met[who] != id || !trusts[who]) ->
        runs[who] = true;
        look()
    }
    :: d_step { /* and gets a lock */
        runs[who] && trusts[who] && met[who] == id && known[who] == value ->
        printf("command %d: is GRANTED a lock\n", who + 1);
        assert(lost == 0); /* C4 */
        held = TTL
    }
    :: d_step { /* it exits; a script that it has sent still runs */
        runs[who] ->
        runs[who] = false;
        forget()
    }
    :: d_step {
        what[who] != NOTHING ->
        execute()
    }
    od
}

/* ---- The world ----------------------------------------------------------- */

#define RUN_DOWN(ticks) ticks = (ticks > 0 -> ticks - 1 : 0)

inline tick() {
    now++;
    RUN_DOWN(held);
    RUN_DOWN(lost);
    up = (up < SPAN -> up + 1 : up);
    printf("a tick: %d\n", now)
}

inline lose() {
    losses++;
    lost = MAX(lost, held)
}

inline drop_scripts() {
    what[0] = NOTHING;
    old[0] = 0;
    says[0] = 0;
    what[1] = NOTHING;
    old[1] = 0;
    says[1] = 0
}

inline restart() {
    last_id++;
    id = last_id;
    up = 0;
    drop_scripts()
}

inline wipe() {
    value = 0;
    names = 0;
    whole = false;
    durable = false;
    entry[0] = 0;
    entry[1] = 0
}

inline use_copy() {
    value = c_value;
    names = c_names;
    whole = c_whole;
    durable = c_durable;
    entry[0] = c_entry[0];
    entry[1] = c_entry[1]
}

inline make_copy() {
    has_copy = true;
    c_value = value;
    c_names = names;
    c_whole = whole;
    c_durable = durable;
    c_entry[0] = entry[0];
    c_entry[1] = entry[1]
}

proctype World()
{
    do
    :: d_step {
        now < TIME_MAX ->
        tick()
    }
    :: d_step {
        losses < LOSSES && !(DURABLE && syncs) && !RETURNS ->
        lose();
        restart();
        wipe();
        printf("the node restarts empty, as %d\n", id)
    }
#if FLUSH
    :: d_step {
        losses < LOSSES ->
        lose();
        wipe();
        printf("the node is flushed\n")
    }
#endif
#if OLDER
    :: d_step {
        !has_copy ->
        make_copy();
        printf("a copy is made\n")
    }
    :: d_step {
        has_copy && losses < LOSSES && !(DURABLE && syncs) && !RETURNS ->
        lose();
        restart();
        use_copy();
        printf("the node restarts with the copy, as %d\n", id)
    }
    :: d_step {
        has_copy && losses < LOSSES && !DURABLE && !RETURNS ->
        lose();
        restart();
        use_copy();
        up = SPAN;
        printf("a replica with the copy is promoted, as %d\n", id)
    }
#endif
#if RETURNS
    :: d_step { /* from now on the copy is the old primary */
        losses == 0 ->
        lose();
        c_id = id;
        make_copy();
        restart();
        up = SPAN;
        printf("a replica without lag is promoted, as %d\n", id)
    }
    :: d_step {
        losses > 0 && !has_returned ->
        has_returned = true;
        lose();
        drop_scripts();
        id = c_id;
        use_copy();
        printf("the old primary has its address back, as %d\n", id)
    }
#endif
#if DURABLE
    :: d_step { /* all data are there; the identity is new */
        last_id == 1 ->
        restart();
        printf("the node restarts with all data, as %d\n", id)
    }
    :: d_step {
        syncs ->
        syncs = false;
        printf("the node: CONFIG SET appendfsync everysec\n")
    }
#endif
#if STEP
    :: d_step {
        wall > 0 ->
        wall = 0;
        printf("the node: its wall clock is set right\n")
    }
#endif
    od
}

init
{
    atomic {
        run World();
        run Command(0);
        run Command(1)
    }
}
