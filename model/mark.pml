/* SPDX-License-Identifier: Apache-2.0 */
/* ONCE A PERIOD: THE MARK
 *
 * Several hosts try to run one command, `--once`. A try looks at all nodes for
 * the mark of a run, writes the newest back where it is missing, acquires the
 * lock, looks again, marks at all nodes, and starts its command if a majority
 * has taken the mark and the lock is still held. A command that fails may
 * withdraw its mark: then a tombstone takes its place.
 *
 * All of this is within one period: marks do not end here. Locks are not
 * modelled one by one: one try holds the lock at a time, until it releases it
 * or its lease ends, which it may at any moment; each has a greater fence than
 * the one before. What a node keeps is a number, twice the fence of the run and
 * 1 more for its tombstone, and it keeps the greater: so says mark.lua.
 *
 * A request gets a reply or none. In both cases it may be executed once more,
 * or for the first time, at any later time. A try may crash after each step:
 * its messages are still delivered, and its lock is free when the lease ends. A
 * node may lose its data; then it still gets reads and writes, but has no vote
 * until its quarantine is over.
 *
 * Claims. A run counts from the start of its command until it is withdrawn.
 *   ONE  While a run counts, another command starts only if all nodes that had
 *        the mark lost it between two tries, or those that still have it do not
 *        answer the try that starts; and only if a majority of the nodes failed
 *        it so. A completed try that began after the start leaves the mark at
 *        each node that answered it and lost nothing meanwhile.
 *   VOTE … and only if a node that lost its data, and votes again, said that
 *        there is no mark: silence alone is not enough
 *   GONE What was withdrawn at a majority is not found again, as long as no node
 *        loses its data
 *
 * Bounds: three nodes, 2 hosts that try again and again, FENCES acquisitions,
 * LEASES that end before a release, LOSSES of data, SILENCES (requests without
 * an answer), LATES (requests that are executed later, or once more), CRASHES,
 * WITHDRAWS. A rule is left out by its name (RULES.md). */
#ifndef FENCES
#define FENCES 2
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef LEASES
#define LEASES 0
#endif
#ifndef SILENCES
#define SILENCES 0
#endif
#ifndef LATES
#define LATES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef WITHDRAWS
#define WITHDRAWS 0
#endif
/* The rules; 1 is the mutant. */
#ifndef STARTS_BEFORE_MAJORITY
#define STARTS_BEFORE_MAJORITY 0
#endif
#ifndef NO_LOOK_WHILE_HELD
#define NO_LOOK_WHILE_HELD 0
#endif
#ifndef UNMARKED_BY_FEW
#define UNMARKED_BY_FEW 0
#endif
#ifndef LOST_NODE_VOTES
#define LOST_NODE_VOTES 0
#endif
#ifndef MAJORITY_DECIDES
#define MAJORITY_DECIDES 0
#endif
#ifndef NO_WRITE_BACK
#define NO_WRITE_BACK 0
#endif
#ifndef LATER_WRITE_WINS
#define LATER_WRITE_WINS 0
#endif
#ifndef TOMBSTONE_REPLACED
#define TOMBSTONE_REPLACED 0
#endif

#define NODES 3
#define HOSTS 2
#define ALL 7
#define BIT(n) (1 << (n))
#define COUNT(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1))
#define IS_MAJORITY(set) (COUNT(set) >= 2)
#define MARK(fence) (2 * (fence))
#define TOMBSTONE(fence) (2 * (fence) + 1)
#define IS_LIVE(value) ((value) > 0 && (value) % 2 == 0)

/* ---- The world ----------------------------------------------------------- */

byte kept[NODES];     /* the record of each node; 0: none */
byte late[NODES];     /* a write that will arrive, perhaps a second time; 0:
                         none */
byte voting = ALL;
byte lock; /* fence of the holder; 0: free */
byte last_fence;
byte leases;
byte losses;
byte silences;
byte lates;
byte crashes;
byte withdraws;

/* For the claims. */
byte ran;             /* fence of the run that counts; 0: none */
byte had;             /* nodes that have its mark, or must have it */
byte failed;          /* nodes that lost their data since the mark was
                         written */
bool is_excused;      /* all nodes that had the mark lost it */
byte gone;            /* fence of a withdrawn mark */
bool tries[HOSTS];    /* a try is in progress */
byte lost[HOSTS];     /* nodes that lost their data during this try */
bool counts[HOSTS];   /* this try began while the run counted */
bool looked[HOSTS];   /* its first read began before that run */

/* mark.lua: the greater record stays. */
inline merge_at(n, value) {
    if
    :: value > kept[n] || LATER_WRITE_WINS && value > 0 ||
       TOMBSTONE_REPLACED && value > 0 && value / 2 == kept[n] / 2 ->
        kept[n] = value
    :: else
    fi
}

/* ---- A try --------------------------------------------------------------- */

/* A node executes a request and replies, or there is no reply. In both cases a
 * write may arrive later. */
inline exchange(n, value) {
    if
    :: true ->
        merge_at(n, value);
        answered = answered | BIT(n);
        votes = votes + (LOST_NODE_VOTES || voting & BIT(n));
        again = again || voting & failed & BIT(n);
        knew = knew || had & BIT(n);
        if
        :: kept[n] > newest ->
            newest = kept[n];
            having = BIT(n)
        :: kept[n] == newest -> having = having | BIT(n)
        :: else
        fi
    :: silences < SILENCES ->
        silences++;
        silent = silent | BIT(n)
    fi;
    if
    :: value > 0 && lates < LATES && late[n] == 0 ->
        lates++;
        late[n] = value
    :: true
    fi
}

inline drop_answers() {
    answered = 0;
    votes = 0;
    again = false;
    knew = false;
    newest = 0;
    having = 0
}

/* A try may crash while it writes or holds the lock. */
inline pause(value) {
    if
    :: (value > 0 || fence > 0) && crashes < CRASHES ->
        crashes++;
        goto crash
    :: true
    fi
}

inline judge() {
    /* GONE */
    assert(gone == 0 || looked[who] || COUNT(answered) < 2 ||
           newest != MARK(gone));
    found = newest;
    is_marked = IS_LIVE(found) && (!MAJORITY_DECIDES || IS_MAJORITY(having));
    is_unmarked = !is_marked && IS_MAJORITY(answered) &&
                  (fence == 0 || votes >= 2) ||
                  !is_marked && fence > 0 && UNMARKED_BY_FEW;
    is_failed = ran > 0 && (is_excused || !knew) &&
                IS_MAJORITY(failed | silent) && /* ONE */
                again                           /* VOTE */
}

/* A try that completes leaves the mark at each node that replied to it. */
inline look_end() {
    if
    :: ran > 0 && counts[who] && is_marked && found == MARK(ran) ->
        had = had | (ALL & ~silent & ~lost[who])
    :: else
    fi;
    drop_answers();
    silent = 0;
    found = 0;
    looked[who] = false
}

inline start() {
    printf("host %d: STARTS its command, fence %d\n", who + 1, fence);
    assert(ran == 0 || is_failed); /* ONE, VOTE */
    ran = fence;
    failed = lost[who];
    had = having & ~lost[who];
    is_excused = had == 0;
    counts[0] = false;
    counts[1] = false
}

/* If it still has the lock, only the end of the lease frees it. */
inline reset() {
    drop_answers();
    silent = 0;
    fence = 0;
    found = 0;
    is_marked = false;
    is_unmarked = false;
    is_failed = false;
    tries[who] = false;
    counts[who] = false;
    looked[who] = false;
    lost[who] = 0
}

inline acquire() {
    last_fence++;
    fence = last_fence;
    lock = fence
}

#define HAS_MARKED (newest == MARK(fence) && \
                    (IS_MAJORITY(having & voting) || STARTS_BEFORE_MAJORITY))

/* Requests go to all nodes, and are executed one after another. The decision
 * after the last reply involves no other party, so it is one step with that
 * reply.
 *
 * A first read decides nothing that the second one does not; if there is a
 * second one, it is modelled as a separate try. */
proctype Host(byte who)
{
    byte answered, votes, newest, having, silent, fence, found;
    bool again, knew, is_marked, is_unmarked, is_failed;

begin:
    atomic { /* it reads, with the lock or without it */
        if
        :: true
        :: !NO_LOOK_WHILE_HELD && lock == 0 && last_fence < FENCES ->
            acquire()
        fi;
        tries[who] = true;
        counts[who] = ran > 0;
        exchange(0, 0)
    };
    atomic { pause(0); exchange(1, 0) };
    atomic {
        pause(0);
        exchange(2, 0);
        judge();
        if
        :: found > 0 && having != answered && !NO_WRITE_BACK
        :: else -> goto found_out
        fi
    };
    atomic { pause(found); drop_answers(); exchange(0, found) };
    atomic { pause(found); exchange(1, found) };
    atomic { pause(found); exchange(2, found) };
found_out:
    atomic {
        look_end();
        if
        :: fence > 0 && is_unmarked -> goto mark
        :: NO_LOOK_WHILE_HELD && is_unmarked
        :: else -> goto over
        fi
    };
    atomic {
        if
        :: lock == 0 && last_fence < FENCES -> acquire()
        :: lock > 0 || last_fence == FENCES -> goto over
        fi
    };
mark:
    atomic { pause(MARK(fence)); lost[who] = 0; exchange(0, MARK(fence)) };
    atomic { pause(MARK(fence)); exchange(1, MARK(fence)) };
    atomic {
        pause(MARK(fence));
        exchange(2, MARK(fence));
        if
        :: HAS_MARKED && lock == fence -> start()
        :: else -> goto withdraw
        fi
    };
    atomic { /* the command fails: its mark is withdrawn if it was written */
        drop_answers();
        if
        :: withdraws < WITHDRAWS ->
            withdraws++;
            printf("host %d: its command fails\n", who + 1)
        :: true -> goto over
        fi;
        exchange(0, 0)
    };
    atomic { pause(0); exchange(1, 0) };
    atomic {
        pause(0);
        exchange(2, 0);
        if
        :: IS_MAJORITY(answered) && newest == MARK(fence) ->
            ran = (ran == fence -> 0 : ran)
        :: else -> goto over
        fi
    };
withdraw:
    atomic {
        pause(fence);
        drop_answers();
        exchange(0, TOMBSTONE(fence))
    };
    atomic { pause(fence); exchange(1, TOMBSTONE(fence)) };
    atomic {
        pause(fence);
        exchange(2, TOMBSTONE(fence));
        if
        :: WITHDRAWS > 0 && newest == TOMBSTONE(fence) &&
           COUNT(having) >= 2 && lost[who] == 0 ->
            gone = fence;
            looked[0] = true;
            looked[1] = true
        :: else
        fi
    };
over:
    atomic {
        lock = (lock == fence -> 0 : lock);
        reset();
        goto begin
    };
crash:
    atomic {
        reset();
        goto begin
    }
}

/* ---- Faults -------------------------------------------------------------- */

inline arrive(n) {
    merge_at(n, late[n]);
    late[n] = 0;
    printf("node %d: a late request, it keeps %d now\n", n + 1, kept[n])
}

inline lose(n) {
    losses++;
    kept[n] = 0;
    voting = voting & ~BIT(n);
    had = had & ~BIT(n);
    failed = (ran > 0 -> failed | BIT(n) : 0);
    lost[0] = (tries[0] -> lost[0] | BIT(n) : 0);
    lost[1] = (tries[1] -> lost[1] | BIT(n) : 0);
    is_excused = is_excused || had == 0;
    gone = 0;
    printf("node %d: loses its data\n", n + 1)
}

proctype Node(byte n)
{
    do
    :: d_step { late[n] > 0 -> arrive(n) }
    :: d_step { losses < LOSSES -> lose(n) }
    :: d_step { !(voting & BIT(n)) -> voting = voting | BIT(n) }
    od
}

proctype Lease()
{
    do
    :: d_step {
        lock > 0 && leases < LEASES ->
        leases++;
        lock = 0;
        printf("a lease ends\n")
    }
    od
}

init
{
    atomic {
        run Node(0);
        run Node(1);
        run Node(2);
        run Lease();
        run Host(0);
        run Host(1)
    }
}
