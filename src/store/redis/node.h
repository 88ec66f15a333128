/* SPDX-License-Identifier: Apache-2.0 */
/* One Redis server as this client knows it: a connection that reconnects, and
 * the identity that the server reported.
 *
 *     WAITING ──▶ CONNECTING ──▶ GREETING ──▶ MARKING ──▶ READY
 *        ▲            │             │  ▲          │         │
 *        └────────────┴─────────────┴──┼──────────┴─────────┤ lost
 *                                      └────────────────────┘ marker changed
 *
 * GREETING is the handshake: it reads the server's identity and its marker in
 * one round trip, and core/quarantine.h decides whether the server votes.
 * MARKING writes the marker if needed. Only a READY node gets requests about
 * locks. Its connection is closed only at the end of an event, so that no reply
 * is delivered inside the callback of another. */
#ifndef HF_REDIS_NODE_H
#define HF_REDIS_NODE_H

#include "core/quarantine.h"
#include "io/clock.h"
#include "io/loop.h"
#include "store/redis/connection.h"
#include "store/redis/keys.h"
#include "store/redis/listen.h"
#include "store/store.h"

struct hf_redis_command; /* command.h */

/* In quarantine, how often to see whether the server was declared new. */
#define HF_REDIS_PEEK_MS 500

enum hf_redis_phase {
    HF_REDIS_WAITING,
    HF_REDIS_CONNECTING,
    HF_REDIS_GREETING,
    HF_REDIS_MARKING,
    HF_REDIS_SURVEYING, /* after a handshake, for a job: survey.c */
    HF_REDIS_READY
};

/* Kinds of pending requests, in addition to enum hf_verb. */
enum hf_redis_request {
    HF_REDIS_AUTH = 32,
    HF_REDIS_SELECT,
    HF_REDIS_INFO_SERVER,
    HF_REDIS_INFO_REPLICATION,
    HF_REDIS_TIME,
    HF_REDIS_APPENDONLY,
    HF_REDIS_APPENDFSYNC,
    HF_REDIS_REWRITE,
    HF_REDIS_MARKER, /* the last of a handshake */
    HF_REDIS_MARK,
    HF_REDIS_PEEK,      /* in quarantine: has another client ended it? */
    HF_REDIS_MAXMEMORY, /* from here on: an examination's */
    HF_REDIS_POLICY,
    HF_REDIS_MIN_REPLICAS,
    HF_REDIS_RIGHT_PLAIN,
    HF_REDIS_RIGHT_LOCK,
    HF_REDIS_RIGHT_SIDE,
    HF_REDIS_RIGHT_SCRIPT,
    HF_REDIS_PROBE_TAKE,
    HF_REDIS_PROBE_GIVE,  /* its last */
    HF_REDIS_SURVEY_SCAN, /* from here on: a survey's */
    HF_REDIS_SURVEY_PAGE
};

/* Names that a survey has found: their number, and the first ones as text. */
struct hf_redis_found {
    uint64_t n;
    unsigned named;
    char names[280];
};

struct hf_redis;

struct hf_redis_node {
    struct hf_redis_connection connection; /* first: its events find the node */
    struct hf_redis *store;
    const struct hf_endpoint *endpoint;
    unsigned index;
    char address[128];

    enum hf_redis_phase phase;
    struct hf_span rtt; /* smoothed; 0: not measured */

    /* The server's replies in the last handshake. */
    struct hf_identity identity;
    struct hf_marker marker;
    bool is_aof;
    bool is_fsync_always;
    bool is_rewrite_synced; /* no-appendfsync-on-rewrite no */
    int64_t uptime_ms;      /* only displayed; it proves nothing */
    int64_t time_ms;        /* its wall clock */
    bool is_cluster;
    bool is_sentinel;
    char primary[96]; /* of which it is a replica; empty: of none */
    char version[40];
    int64_t replicas;
    struct hf_instant clock_at; /* when time_ms was read, about */
    enum hf_status greet_fault; /* first error of the handshake, or HF_OK */
    char greet_reason[200];

    /* Our decision on it. */
    struct hf_acquaintance known;
    struct hf_judgement judgement;
    enum hf_suspicion suspicion;         /* why it is in quarantine */
    struct hf_instant quarantined_until; /* HF_LONG_AGO */
    enum hf_standing standing;
    enum hf_status fault;
    char reason[200];

    struct hf_instant peek_at;        /* REPAIRING: next read of the marker */
    bool is_declared;                 /* INIT or QUARANTINE has been done */
    bool has_declared;                /* and has written a marker */
    char looked_at[HF_SERVER_ID_MAX]; /* the marker that LOOK has seen */

    unsigned jobs; /* pending jobs, a bit per enum hf_job */
    struct hf_redis_examination {
        bool is_under_way;
        bool knows_config;
        int64_t maxmemory;
        int64_t min_replicas;
        char policy[32];
        bool awaits_push;  /* only the second connection is not done */
        char lacking[480]; /* missing rights, separated by blanks */
        char fault[160];   /* error of acquiring and releasing a lock; empty */
    } examination;

    struct hf_redis_survey {
        bool is_under_way;
        bool is_cut;    /* it timed out */
        bool is_hidden; /* keys of another prefix, which we may not read */
        unsigned stage;
        enum hf_job job;
        uint64_t ahead; /* COUNT, LOWER */
        uint64_t cursor;
        struct hf_instant until;
        struct hf_redis_found held;
        struct hf_redis_found waited;
    } survey;

    struct hf_redis_listener listener; /* the second connection */
};

struct hf_redis {
    struct hf_store base; /* first */
    struct hf_store_env env;
    char *prefix;
    size_t prefix_len;
    char fence_keep[24]; /* ms, as the scripts take it */
    struct hf_shape shape;
    char host[HF_CLOCK_NAME_MAX + 3]; /* "at:" and the name of our clock: a
                                         field of the marker; empty: no name */
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    bool strict;
    struct hf_endpoint *endpoints;
    struct hf_tls *tls;
    char channel[40]; /* where grants are pushed to (listen.h) */
    struct hf_redis_listen_pace listen_pace;
    struct hf_job_sink sink;
    bool has_sink;
    uint64_t seed;          /* of the back-off's jitter */
    struct hf_bytes *names; /* of a SCAN's answer */
    size_t names_cap;
    struct hf_seat *seats; /* of a ROSTER's */
    size_t seats_cap;
    struct hf_redis_node nodes[];
};

/* ---- node.c: the connection -------------------------------------------- */

void hf_redis_node_open(struct hf_redis_node *node, struct hf_instant now);
void hf_redis_node_close(struct hf_redis_node *node, bool forked);

/* Connect now if an attempt was due, or ran out of time, while no timer ran. */
void hf_redis_node_resume(struct hf_redis_node *node, struct hf_instant now);

/* Can it be asked? */
static inline bool hf_redis_is_ready(const struct hf_redis_node *node)
{
    return node->phase == HF_REDIS_READY && !node->connection.is_broken;
}

/* Set the timer to whatever comes first. */
void hf_redis_node_arm(struct hf_redis_node *node);

/* Tell the client where the node stands. */
void hf_redis_node_stand(struct hf_redis_node *node, enum hf_standing standing,
                         bool forgot, enum hf_status fault, const char *reason);

/* ---- greet.c: the handshake -------------------------------------------- */

/* Ask, on a connection that is open; `is_fresh`: log in first. */
void hf_redis_greet(struct hf_redis_node *node, bool is_fresh,
                    struct hf_instant now);

/* login.c: queue AUTH, whose reply is `what`, if the URL or the program has
 * credentials. @return false: the program supplied none; the connection is
 * broken. */
bool hf_redis_log_in(struct hf_redis_node *node,
                     struct hf_redis_connection *connection, uint8_t what,
                     struct hf_instant now);

/* The server may not be what it said it was: ask again, log in again. */
void hf_redis_doubt(struct hf_redis_node *node, const char *why,
                    struct hf_instant now);

/* Quarantined: has another client ended it (doctor --init)? */
void hf_redis_peek(struct hf_redis_node *node, struct hf_instant now);

/* A reply to a greeting, to marking or to a peek. */
void hf_redis_greeted(struct hf_redis_node *node,
                      const struct hf_pending *pending, struct hf_instant now);

/* ---- trust.c: does it remember? ------------------------------------------ */

/* A greeting is complete: may the node be asked about locks? */
void hf_redis_judge(struct hf_redis_node *node);

/* A reply to the marker script. */
void hf_redis_marked(struct hf_redis_node *node, struct hf_instant now);

/* Why a quarantined node does not count: behind its address. */
void hf_redis_quarantine_text(const struct hf_redis_node *node, char *out,
                              size_t size);

/* How the marker's store differs from this client's: behind its address. */
void hf_redis_mismatch_text(const struct hf_redis_node *node, char *out,
                            size_t size);

/* ---- ask.c: verbs to commands, replies to answers ----------------------- */

void hf_redis_ask(struct hf_redis_node *node, const struct hf_ask *ask,
                  struct hf_instant now);
void hf_redis_answer(struct hf_redis_node *node,
                     const struct hf_pending *pending, struct hf_instant now);

/* A request that has no reply: UNSENT or UNKNOWN. */
void hf_redis_answer_none(struct hf_redis_node *node,
                          const struct hf_pending *pending,
                          enum hf_verdict verdict, enum hf_status fault,
                          const char *reason);

/* ---- fault.c: the server's words ---------------------------------------- */

/* What an error reply means; `out` gets the server's words, shortened. */
enum hf_status hf_redis_fault(const char *text, char *out, size_t size);

/* The same of an error that a script of ours ended with: a missing right is
 * named, which not every server does. */
enum hf_status hf_redis_fault_in(const struct hf_script *script,
                                 const char *text, char *out, size_t size);

/* The right that an error asks for, "+zadd", or `key` if it is about a key;
 * empty: the error is about something else, or does not say. `script` may be
 * NULL. */
void hf_redis_right(const char *text, const struct hf_script *script,
                    const char *key, char *out, size_t size);

/* Does it mean that the server is no longer what it said it was? */
bool hf_redis_fault_is_identity(const char *text);

/* ---- examine.c: jobs ----------------------------------------------------- */

/* A greeting ended well, and the node is READY: go on with what was asked. */
void hf_redis_examine(struct hf_redis_node *node, struct hf_instant now);
void hf_redis_examined(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now);

/* Tell the sink of a job. */
void hf_redis_find(struct hf_redis_node *node, enum hf_severity severity,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool hf_redis_is_asked(const struct hf_redis_node *node,
                                     enum hf_job job)
{
    return (node->jobs & (1U << job)) != 0;
}

/* End the jobs asked of a node. */
void hf_redis_jobs_end(struct hf_redis_node *node, enum hf_status status,
                       const char *reason);

/* Ask a question of the examination's. */
void hf_redis_examine_ask(struct hf_redis_node *node, uint8_t request,
                          const struct hf_redis_command *command,
                          struct hf_instant now);

/* The second connection listens, or was refused for `words`. */
void hf_redis_examine_push(struct hf_redis_node *node, const char *words);

/* ---- rights.c: may this user do it all? ------------------------------------
 */

/* Use each right once, with a name of the examination's own. */
void hf_redis_rights_push(struct hf_redis_node *node,
                          const struct hf_redis_keys *keys,
                          struct hf_instant now);
void hf_redis_rights_take(struct hf_redis_node *node, uint8_t request);

/* Add a right to those that are missing. */
void hf_redis_rights_lack(struct hf_redis_node *node, const char *right);
void hf_redis_rights_find(struct hf_redis_node *node);

/* ---- survey.c: what keys are there? ----------------------------------------
 */

/* A greeting is complete, and `job` was asked for: LOOK, COUNT or LOWER. */
void hf_redis_survey(struct hf_redis_node *node, enum hf_job job,
                     struct hf_instant now);
void hf_redis_surveyed(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now);

#endif
