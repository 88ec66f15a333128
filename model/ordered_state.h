/* SPDX-License-Identifier: Apache-2.0 */
/* ORDERED ENTRIES: BOUNDS, FAULTS, RULES, AND A STATE
 *
 * Of ordered.c, which has the claims and the steps. Each value is set by -D in
 * model/configurations. */
#ifndef MODEL_ORDERED_STATE_H
#define MODEL_ORDERED_STATE_H

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef READERS
#define READERS 0 /* a bit for each client that shares */
#endif
#ifndef SESSIONS
#define SESSIONS 1 /* of a client, one after another */
#endif
#ifndef REQUEUERS
#define REQUEUERS 1 /* a bit for each client that may begin another one */
#endif
#ifndef CREATES
#define CREATES 1 /* requests to create that a client may send in each */
#endif
#ifndef TTL
#define TTL 2 /* ticks; 0: no time, and no session ends */
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* a bit for each client that may give up */
#endif
/* Faults: how many of each. */
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef BREAKS
#define BREAKS 0 /* a holder's entry is replaced in place */
#endif
#ifndef REMOVALS
#define REMOVALS 0 /* an entry is deleted by hand; its session lives */
#endif
#ifndef REVOKES
#define REVOKES 0 /* a session is ended by hand before its time */
#endif
#ifndef LOST_WATCHES
#define LOST_WATCHES 0
#endif
/* The store. */
#ifndef DUPLICATES
#define DUPLICATES 0 /* 1: a repeated create may make a second entry */
#endif
#ifndef WEAK_READS
#define WEAK_READS 0 /* 1: a read is only as new as the last renewal */
#endif
/* The rules; 1 is the product, 0 a mutant. */
/* A renewal counts once a later read has our entry. 2: for a holder only; a
 * waiter's counts at once. */
#ifndef PROVES
#define PROVES 1
#endif
#ifndef COMPARES_OWNER
#define COMPARES_OWNER 1 /* … with our owner, not only our number */
#endif
#ifndef COMPARES_SESSION
#define COMPARES_SESSION 1 /* an entry of our session before is not ours */
#endif
#ifndef FROM_SENDING
#define FROM_SENDING 1 /* the deadline counts from sending */
#endif
#ifndef NEEDS_OWN
#define NEEDS_OWN 1 /* a list without our entry proves nothing */
#endif
#ifndef READS_AGAIN
#define READS_AGAIN 1 /* the end of the watched entry is not a grant */
#endif
#ifndef WATCHES_LATEST
#define WATCHES_LATEST 1 /* 0: the first entry is watched */
#endif
#ifndef POLLS
#define POLLS 1 /* a waiter lists from time to time besides */
#endif
#ifndef CLEANS
#define CLEANS 1 /* 0: an attempt that ended looks for no late entry */
#endif
#ifndef STRANGER_BY_OWNER
#define STRANGER_BY_OWNER                                                      \
    1 /* an entry of an attempt in progress is not one                         \
       */
#endif

#include <stdint.h>

#define NUMBERS (CLIENTS * CREATES * SESSIONS)
#define BREAKER (CLIENTS * SESSIONS + 1)

enum phase {
    IDLE,
    OPENING,
    CREATING,
    WAITING,
    HOLDING,
    LEAVING,
    DONE,
    CRASHED
};

/* The renewal, or opening, of a session that is under way. */
enum stage { NONE, SENT, RENEWED, REFUSED, READING, FOUND, MISSING };

struct client {
    uint8_t phase;
    uint8_t session;
    uint8_t number; /* its entry's; 0: not known */
    uint8_t good;   /* ticks to its deadline */
    uint8_t creates_sent;
    uint8_t creates[SESSIONS]; /* of them still to be executed */
    uint8_t stage;
    uint8_t age;       /* ticks since the renewal was sent */
    uint8_t was_there; /* … and whether the entry was, when it was executed */
    uint8_t has_list;  /* executed, and not received yet */
    uint8_t own;       /* our entry there; 0: the list lacks it */
    uint8_t behind;    /* the entry to watch; 0: none */
    uint8_t watch;
    uint8_t is_woken;
    uint8_t is_evicted;    /* its entry was removed by hand */
    uint8_t proof_is_late; /* … before the proof under way was asked for */
};

struct state {
    uint8_t entries[NUMBERS + 1]; /* 0: none; else whose: see code_of() */
    uint8_t next;                 /* greatest number so far */
    uint8_t is_alive[CLIENTS][SESSIONS];
    uint8_t left[CLIENTS][SESSIONS]; /* ticks in which it surely lives */
    uint8_t breaker_left;
    uint8_t completed[2]; /* greatest number: of writers, of all */
    uint8_t crashes;
    uint8_t breaks;
    uint8_t removals;
    uint8_t revokes;
    uint8_t lost_watches;
    struct client clients[CLIENTS];
};

#define HAS_GOAL
#include "checker.h"

enum kind {
    OPENS,
    OPENED,
    CREATES_ENTRY,
    CREATED,
    CREATED_SILENTLY,
    LISTED,
    HEARD_LIST,
    TOOK_EVENT,
    RENEWS,
    RENEWAL_EXECUTED,
    HEARD_RENEWAL,
    READ_EXECUTED,
    HEARD_READ,
    DROPPED,
    STOPPED,
    GAVE_UP,
    DELETED,
    ENDED,
    CLEANED,
    REQUEUED,
    CRASHED_NOW,
    TICK,
    EXPIRED,
    BREAKER_EXPIRED,
    BROKEN_BY,
    REMOVED,
    REVOKED,
    WATCH_LOST,
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "opens a session",
        "hears that its session is open, sends CREATE",
        "sends CREATE again",
        "its CREATE is executed, it hears the number",
        "its CREATE is executed, the answer is lost",
        "its LIST is executed",
        "hears the list",
        "hears that the watched entry ended",
        "renews its session",
        "its renewal is executed",
        "hears of its renewal",
        "its READ is executed",
        "hears what it read",
        "waits no more for its renewal",
        "stops believing, releases",
        "gives up",
        "its DELETE is executed",
        "hears that its entry is gone: done",
        "deletes a stranger on its session",
        "begins another session",
        "crashes",
        "a tick passes",
        "its session expires",
        "the breaker's entry expires",
        "its entry is replaced by a breaker",
        "its entry is deleted by hand",
        "its session is revoked by hand",
        "the event of its watch is lost",
    };
    if (step.kind != TICK && step.kind != BREAKER_EXPIRED) {
        printf("client %u: ", step.who + 1u);
    }
    printf("%s", text[step.kind]);
    if (step.value != 0) {
        printf(" [%u]", (unsigned)step.value);
    }
}

static void client_print(const struct client *client, int k)
{
    static const char *const phases[] = {"idle",  "opens",  "creates",
                                         "waits", "HOLDS",  "leaves",
                                         "done",  "crashed"};
    static const char *const stages[] = {
        "",         " renewal sent", " renewed",      " refused",
        " reading", " entry found",  " entry missing"};
    printf("; %d %s", k + 1, phases[client->phase]);
    if (client->number != 0) {
        printf(" #%d", client->number);
    }
    printf(" good %d%s", client->good, stages[client->stage]);
    if (client->stage != NONE) {
        printf(" (sent %d ago)", client->age);
    }
    if (client->has_list) {
        printf(" list: own %d behind %d", client->own, client->behind);
    }
    if (client->watch != 0) {
        printf(" watches %d%s", client->watch,
               client->is_woken ? ", ended" : "");
    }
}

static void state_print(const struct state *state)
{
    printf("entries:");
    for (int n = 1; n <= NUMBERS; n++) {
        uint8_t code = state->entries[n];
        if (code == BREAKER) {
            printf(" %d=breaker", n);
        } else if (code != 0) {
            printf(" %d=%d/s%d", n, (code - 1) / SESSIONS + 1,
                   (code - 1) % SESSIONS + 1);
        }
    }
    printf("; sessions:");
    for (int k = 0; k < CLIENTS; k++) {
        for (int s = 0; s < SESSIONS; s++) {
            if (state->is_alive[k][s]) {
                printf(" %d/s%d %d left", k + 1, s + 1, state->left[k][s]);
            }
        }
    }
    for (int k = 0; k < CLIENTS; k++) {
        client_print(&state->clients[k], k);
    }
}

#endif
