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

#include "io/clock.h"
#include "io/loop.h"
#include "store/admission.h"
#include "store/jobs.h"
#include "store/records.h"
#include "store/redis/connection.h"
#include "store/redis/keys.h"
#include "store/redis/listener.h"
#include "store/standing.h"

struct hf_redis_command; /* command.h */

/* While a node is in quarantine, how often to read its marker: `doctor --init`
 * by another client ends the quarantine at once. */
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
    HF_REDIS_PEEK,      /* another client may have ended the quarantine */
    HF_REDIS_MAXMEMORY, /* from here on: of an examination */
    HF_REDIS_POLICY,
    HF_REDIS_MIN_REPLICAS,
    HF_REDIS_MAX_LAG,
    HF_REDIS_RIGHT_PLAIN,
    HF_REDIS_RIGHT_LOCK,
    HF_REDIS_RIGHT_SIDE,
    HF_REDIS_RIGHT_SCRIPT,
    HF_REDIS_PROBE_TAKE,
    HF_REDIS_PROBE_GIVE,  /* the last of an examination */
    HF_REDIS_SURVEY_SCAN, /* from here on: of a survey */
    HF_REDIS_SURVEY_PAGE
};

/* Names that a survey has found: their number, and the first ones as text. */
struct hf_redis_found {
    uint64_t n;
    unsigned named;
    char names[HF_TEXT_ADVICE];
};

struct hf_redis;

struct hf_redis_node {
    struct hf_redis_connection connection; /* first: its handlers cast to the
                                              node */
    struct hf_redis *store;
    const struct hf_endpoint *endpoint;
    unsigned index;
    char address[HF_TEXT_ADDRESS];

    enum hf_redis_phase phase;
    struct hf_span rtt; /* smoothed; 0: not measured */

    /* The server's replies in the last handshake; text is cut to fit. */
    bool is_aof;
    bool is_fsync_always;
    bool is_rewrite_synced; /* no-appendfsync-on-rewrite no */
    int64_t uptime_ms;      /* only displayed; it proves nothing */
    int64_t time_ms;        /* its wall clock */
    bool is_cluster;
    bool is_sentinel;
    char primary[HF_TEXT_CLAUSE]; /* of which it is a replica; empty: of none */
    char version[HF_TEXT_WORD];
    int64_t replicas;
    struct hf_instant clock_at; /* when time_ms was read, to within a round
                                   trip */
    enum hf_status greet_fault; /* first error of the handshake, or HF_OK */
    char greet_reason[HF_TEXT_REASON];

    struct hf_admission admission; /* also of these replies */
    struct hf_standing standing;

    struct hf_instant peek_at; /* REPAIRING: next read of the marker */
    struct hf_jobs jobs;
    struct hf_redis_examination {
        bool is_under_way;
        bool knows_config;
        int64_t maxmemory;
        int64_t min_replicas;
        int64_t max_lag; /* s */
        char policy[HF_TEXT_WORD];
        bool awaits_push; /* only the reply to SUBSCRIBE is missing */
        char push_fault[HF_TEXT_CLAUSE]; /* of the second connection, for
                                            another reason than a right */
        char lacking[HF_TEXT_LIST];   /* missing rights, separated by blanks */
        char unknown[HF_TEXT_LIST];   /* commands that the server does not have,
                                as rights */
        char fault[HF_TEXT_SENTENCE]; /* error of acquiring and releasing a
                                         lock; empty */
    } examination;

    struct hf_redis_survey {
        bool is_under_way;
        bool is_cut;    /* it timed out: some keys were not read */
        bool is_hidden; /* keys of another prefix, which the user may not
                           read */
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
    char fence_keep[HF_TEXT_NUMBER]; /* ms, as the scripts take it */
    struct hf_shape shape;
    char host[HF_CLOCK_NAME_MAX + 3]; /* "at:" and the name of our clock: a
                                         field of the marker; empty: no name */
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    bool strict;
    bool may_write; /* a call that writes has begun: a server without a marker
                        gets one */
    struct hf_endpoint *endpoints;
    struct hf_tls *tls;
    char channel[HF_TEXT_WORD]; /* channel on which grants are pushed (listen.c)
                                 */
    struct hf_redis_listen_pace listen_pace;
    uint64_t seed;             /* of the back-off's jitter */
    struct hf_redis_keys keys; /* of the name that was asked about last */
    struct hf_name_list names; /* of the reply to a SCAN */
    struct hf_seat_list seats; /* of the reply to a QUEUE */
    struct hf_redis_node nodes[];
};

/* ---- node.c: the connection -------------------------------------------- */

/* Make both connections, and arm the timer: the node connects from the loop.
 * Its endpoint and store are set by then. */
void hf_redis_node_open(struct hf_redis_node *node, struct hf_instant now);

/** Free both connections, after a last flush; pending requests are not
 * answered. Also of a node that was never opened. @param is_forked  true in a
 * forked child: send nothing to the server. */
void hf_redis_node_close(struct hf_redis_node *node, bool is_forked);

/* If a timer was due and could not run (the program did not poll), do its work
 * now: connect, or give up an attempt that timed out. */
void hf_redis_node_resume(struct hf_redis_node *node, struct hf_instant now);

/* Whether requests about locks may be sent now. */
static inline bool hf_redis_is_ready(const struct hf_redis_node *node)
{
    return node->phase == HF_REDIS_READY && !node->connection.is_broken;
}

/* The earliest event that is due in this phase: a retry, a timeout, the next
 * read of the marker. */
struct hf_instant hf_redis_node_due(const struct hf_redis_node *node);

/* Set the timer to that. */
void hf_redis_node_arm(struct hf_redis_node *node);

/* ---- node_check.c -------------------------------------------------------- */

/* Assert RN-1 to RN-11, which hold between two events of the loop. */
void hf_redis_node_check(const struct hf_redis_node *node);

/* ---- handshake.c: the handshake ------------------------------------------ */

/* Begin a handshake on an open connection. `is_fresh`: authenticate first. */
void hf_redis_handshake(struct hf_redis_node *node, bool is_fresh,
                        struct hf_instant now);

/** login.c: queue AUTH, with `verb` as its pending verb, if the URL or the
 * program has credentials. @return false: the program supplied none; the
 * connection is broken. */
bool hf_redis_log_in(struct hf_redis_node *node,
                     struct hf_redis_connection *connection, uint8_t verb,
                     struct hf_instant now);

/* The server's identity is in doubt: stop sending requests, authenticate again
 * and repeat the handshake. */
void hf_redis_reidentify(struct hf_redis_node *node, const char *why,
                         struct hf_instant now);

/* Read the marker, with the next flush: in quarantine, to see whether another
 * client ended it (doctor --init); before locks are only read, to see whether
 * the server was emptied. */
void hf_redis_peek(struct hf_redis_node *node, struct hf_instant now);

/* Handle a reply to the handshake, to the marker script or to a peek. */
void hf_redis_handshake_reply(struct hf_redis_node *node,
                              const struct hf_pending *pending,
                              struct hf_instant now);

/* ---- admission.c: has the server lost data? ------------------------------ */

/* The handshake is complete: decide whether the server is admitted, and whether
 * its replies count as votes. */
void hf_redis_judge(struct hf_redis_node *node);

/* A call that writes has begun: a server that was opened without a marker gets
 * one now. */
void hf_redis_begin_write(struct hf_redis_node *node, struct hf_instant now);

/* Whether the server has no marker yet, and we have written none. */
static inline bool hf_redis_is_unmarked(const struct hf_redis_node *node)
{
    return hf_redis_is_ready(node) && node->admission.known.value[0] == '\0';
}

/* Whether each write is on the server's disk before its reply. */
bool hf_redis_is_synced(const struct hf_redis_node *node);

/* Handle the reply to the marker script. */
void hf_redis_marked(struct hf_redis_node *node, struct hf_instant now);

/* Write why a quarantined node has no vote, to follow its address in a
 * message. */
void hf_redis_quarantine_text(const struct hf_redis_node *node, char *out,
                              size_t size);

/* ---- ask.c: requests to commands, replies to answers -------------------- */

/* Send a request of the client, or answer it at once if the node is not READY.
 * Its answer comes once, also if the connection breaks. */
void hf_redis_ask(struct hf_redis_node *node, const struct hf_ask *ask,
                  struct hf_instant now);

/* Answer the request of the client to which connection.reply is the reply. */
void hf_redis_answer(struct hf_redis_node *node,
                     const struct hf_pending *pending, struct hf_instant now);

/* Report a request that was not executed, or may not have been: UNSENT if no
 * byte of it was written, UNKNOWN if no reply arrived, ERROR after an error
 * reply. */
void hf_redis_answer_none(struct hf_redis_node *node,
                          const struct hf_pending *pending,
                          enum hf_verdict verdict, enum hf_status fault,
                          const char *reason);

/* ---- listen.c: the second connection ------------------------------------ */

/* Without a connection until a lock waits. The node calls both, when it is
 * opened and closed. */
void hf_redis_listen_open(struct hf_redis_node *node);
void hf_redis_listen_close(struct hf_redis_node *node, bool is_forked);

/* A lock of the client waits at this node: subscribe, or stay subscribed. Makes
 * no callback: may be called from inside ask(). */
void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now);

/* The node's first connection is lost: close this one, whose pushes may be of
 * another server. Only from hf_loop_dispatch(). */
void hf_redis_listen_cut(struct hf_redis_node *node);

/* When the timer of the second connection must fire, at the latest. */
struct hf_instant hf_redis_listen_due(const struct hf_redis_listener *listener);

/* The node is READY (again): subscribe if it had a waiter within `idle`. */
void hf_redis_listen_resume(struct hf_redis_node *node, struct hf_instant now);

/* ---- examine.c: jobs ----------------------------------------------------- */

/* The handshake is complete and the node is READY: begin the pending jobs. */
void hf_redis_examine(struct hf_redis_node *node, struct hf_instant now);

/* The reply to a request of the examination, in connection.reply. After the
 * last one the findings are reported, and the jobs end. */
void hf_redis_examined(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now);

/* Whether a server of this version refuses scripts, too, if it has too few
 * replicas (min-replicas-to-write). */
bool hf_redis_examine_guards_scripts(const char *version);

/* Send one request of the examination. */
void hf_redis_examine_ask(struct hf_redis_node *node, uint8_t request,
                          const struct hf_redis_command *command,
                          struct hf_instant now);

/* The second connection has subscribed (`words` is empty), or its subscription
 * failed with the error `words`. */
void hf_redis_examine_push(struct hf_redis_node *node, const char *words);

/* ---- rights.c: has this user all rights? -------------------------------- */

/* Use each right once, on a lock of a random name. */
void hf_redis_rights_push(struct hf_redis_node *node,
                          const struct hf_redis_keys *keys,
                          struct hf_instant now);

/* The reply to one of these requests, in connection.reply: note the right that
 * a refusal demands. */
void hf_redis_rights_take(struct hf_redis_node *node, uint8_t request);

/** Note the right, or the command, that a refusal in these words demands.
 * @return false: they name none. */
bool hf_redis_rights_lack(struct hf_redis_node *node, const char *words);

/* All have been answered: report the rights that are lacking. */
void hf_redis_rights_find(struct hf_redis_node *node);

/* ---- survey.c: which keys are there? ------------------------------------ */

/* The handshake is complete and `job` is pending: LOOK, COUNT or LOWER. */
void hf_redis_survey(struct hf_redis_node *node, enum hf_job job,
                     struct hf_instant now);

/* The reply to a request of the survey, in connection.reply: send the next one,
 * or end the job. Ignored if no survey is under way. */
void hf_redis_surveyed(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now);

#endif
