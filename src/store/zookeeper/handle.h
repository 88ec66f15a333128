/* SPDX-License-Identifier: Apache-2.0 */
/* A handle of the client library on the loop: one connection, and one session
 * of ZooKeeper.
 *
 *     CONNECTING ◀──▶ CONNECTED          with the next server each time
 *         └──────────────┴──▶ EXPIRED    for good: the owner frees it
 *
 * The library does no I/O by itself. Its callbacks come from inside
 * hf_zk_handle_step(), in which the handle must not be freed; the owner deals
 * with a changed life from the timer (hf_zk_node_changed()). */
#ifndef HF_ZOOKEEPER_HANDLE_H
#define HF_ZOOKEEPER_HANDLE_H

#include "io/loop.h"
#include "store/ordered/wire.h"
#include "store/zookeeper/contacts.h"
#include "store/zookeeper/zookeeper.h"

#include <sys/types.h>
#include <zookeeper/zookeeper.h>

struct hf_zk_op;
struct hf_zk_record;

enum hf_zk_life {
    HF_ZK_CONNECTING,
    HF_ZK_CONNECTED,
    HF_ZK_EXPIRED /* its session has ended; or its login was refused */
};

/* A power of two: 10,000 entries of a session are found fast. */
#define HF_ZK_BUCKETS 4096

struct hf_zk_handle {
    struct hf_watch watch;
    struct hf_timer timer;
    struct hf_zk *zk;
    struct hf_zk_handle *next;
    zhandle_t *library; /* NULL: closed */
    bool is_main;
    bool is_watched; /* its descriptor is in the loop */
    bool wants_output;
    bool has_failed;   /* an attempt, or a connection: to be reported */
    bool ends_session; /* when the store is closed */
    bool begins_round; /* the next attempt begins with the newest list */
    bool is_over;      /* to be closed by its timer */
    ino_t socket;      /* of the descriptor: numbers are used again */
    enum hf_zk_life life;
    enum hf_zk_life told;      /* as the owner has dealt with it */
    unsigned failed;           /* attempts to connect since it was connected */
    struct hf_instant give_up; /* CONNECTING: when this attempt ends */
    struct hf_instant pause_until; /* each server has failed */
    struct hf_instant opened_at;   /* this attempt, or connection */
    struct hf_instant contact_at;  /* of the one that is not answered; else
                                      HF_NEVER */
    struct hf_instant touched;     /* the last contact */
    struct hf_zk_contacts contacts;
    struct hf_instant used; /* sessions: the last renewal, or OPEN */
    struct hf_span timeout; /* as negotiated */
    struct hf_zk_op *first_op, *last_op; /* under way */
    struct hf_zk_record *records[HF_ZK_BUCKETS];
    int64_t id;               /* of the session */
    char *node;               /* sessions: its own node */
    struct hf_zk_op *opening; /* sessions: OPEN */
    int64_t promised_ms;      /* sessions: so much of it counts, as OPEN said */
    struct hf_span wanted;    /* the timeout that was asked for */
    char why[HF_TEXT_SENTENCE];
};

/** Begin to connect. @return NULL: no memory, or too many. */
struct hf_zk_handle *hf_zk_handle_new(struct hf_zk *zk, struct hf_span timeout,
                                      bool is_main, struct hf_instant now);

/** Close the library's handle: not from inside a callback of it. Its calls are
 * done, as LOST. @param ends_session  else only the descriptor is closed. */
void hf_zk_handle_free(struct hf_zk_handle *handle, bool ends_session);

/* The same in a forked child, which shares the loop with its parent. */
void hf_zk_handle_free_forked(struct hf_zk_handle *handle);

/* Requests were made: the loop writes the rest of them. */
static inline void hf_zk_handle_wake(struct hf_zk_handle *handle)
{
    hf_timer_set(&handle->timer, HF_LONG_AGO);
}

/* Read, write, connect, as is due. */
void hf_zk_handle_step(struct hf_zk_handle *handle, struct hf_instant now);

/* Its connection is of no use: the library takes the next server. */
void hf_zk_handle_break(struct hf_zk_handle *handle, const char *why);

/* Would a renewal count that is sent now? */
bool hf_zk_handle_may_renew(const struct hf_zk_handle *handle,
                            struct hf_instant now);

/* Did the server shorten the timeout? */
static inline bool hf_zk_handle_is_capped(const struct hf_zk_handle *handle)
{
    return handle->timeout.ns < handle->wanted.ns;
}

/** The handle of a session. @return NULL: it has ended. */
struct hf_zk_handle *hf_zk_handle_of(struct hf_zk *zk,
                                     const uint8_t session[HF_SESSION_ID_LEN]);

/* The main handle is connected, and usable for calls. */
static inline bool hf_zk_is_ready(const struct hf_zk *zk)
{
    return zk->phase == HF_ZK_READY && zk->main != NULL &&
           zk->main->life == HF_ZK_CONNECTED;
}

#endif
