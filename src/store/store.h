/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is: nodes that can be asked, and that answer.
 *
 *     client ── ask(verb, node, name, owner, …) ──▶ store
 *     client ◀── answer(cookie, verdict, …) ─────── store
 *     client ◀── standing(node, …) ───────────────  store
 *
 * A store speaks one server's language and knows nothing of quorums, leases
 * and retries: those are core's, once for all stores. It answers every ask
 * exactly once, however it ends; it never retries one. Requests to one node
 * travel on one connection in the order they were asked, so that a release is
 * always behind what it cancels. Adding a store: ARCHITECTURE.md.
 *
 * Redis and the embedded store are part of the library. Any other store is a
 * module. It is written like them, with the headers of src/base, src/core,
 * src/io and src/store, and has a copy of the code behind them linked in
 * (cmake/store.cmake). So it needs no symbol of the program that loads it. That
 * works because these folders have no variables: all state is in structs such
 * as hf_loop, which the client made and which its copy of the code reads. */
#ifndef HF_STORE_STORE_H
#define HF_STORE_STORE_H

#include "base/time.h"
#include "core/lease.h"
#include "core/nodes.h"
#include "core/opaque.h"
#include "store/url.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_store;
struct hf_loop; /* io/loop.h */

/* What a store can do beyond exclusive leases with a fence. */
enum hf_capability {
    HF_CAP_LIVENESS = (1 << 0), /* sees processes end (enum hf_liveness) */
    HF_CAP_QUEUE = (1 << 1),    /* ACQUIRE can wait at the node, first come
                                   first served; grants are pushed */
    HF_CAP_SHARED = (1 << 2)    /* several may hold together */
};

/* A holder or a waiter: ROSTER. All borrowed. */
struct hf_seat {
    bool waits;       /* false: holds */
    bool is_shared;   /* HF_SHARED */
    uint16_t permits; /* shared: terms; else 0 */
    const void *owner;
    size_t owner_len;
    int64_t left_ms; /* of the lease, or of the place; negative: no expiry */
    uint64_t ticket; /* waits: microseconds of Unix time */
};

/* Processes whose end frees a name, for stores with HF_CAP_LIVENESS. */
#define HF_LIFE_PROCESSES_MAX 4
struct hf_life_set {
    uint32_t count;                      /* 0: nothing but the lease */
    int64_t pids[HF_LIFE_PROCESSES_MAX]; /* negative: a process group */
};

struct hf_bytes {
    const void *data;
    size_t len;
};

struct hf_ask {
    uint64_t cookie; /* comes back in the answer */
    enum hf_verb verb;
    uint8_t node;
    bool holder;       /* CONFIRM */
    bool now;          /* BREAK: do not keep the name taken */
    const void *name;  /* borrowed for the call, like owner and life */
    size_t name_len;   /* SCAN: a glob pattern for names, or 0 for all; names
                          that do not match may be answered, too */
    const void *owner; /* ACQUIRE, CONFIRM, RELEASE, BREAK; MARK: whose run;
                          owner_len 0: a tombstone */
    size_t owner_len;
    const void *back; /* BREAK: what this owner has taken the name from: give it
                         back. back_len 0: take it */
    size_t back_len;
    int64_t ttl_ms;   /* ACQUIRE, CONFIRM; BREAK: the longest that a client of
                         ours may hold; RELEASE: keep the name taken, marked
                         ended, for so long (0: free it); MARK: until its
                         end */
    uint64_t counter; /* ACQUIRE: hint; CONFIRM: fence; RELEASE: largest seen;
                         MARK: fence of the run, 0: only look; SCAN: cursor,
                         first 0 */
    const struct hf_life_set *life; /* ACQUIRE, CONFIRM, YIELD; NULL: leave as
                                       it is */
    bool is_shared;   /* ACQUIRE, CONFIRM, YIELD: together with others who share
                         on the same terms. The others find out by owner. */
    uint16_t permits; /* shared: the terms: 0, or a semaphore's size */
    bool is_unfair;   /* ACQUIRE: take it if free, waiters or not */
    int64_t queue_ms; /* ACQUIRE, YIELD: if it cannot be had, keep a place in
                         the queue for so long from now; 0: no place */
    uint64_t ticket;  /* ACQUIRE, YIELD: the place; 0: the node's time now, or
                         the place that this owner has already */
};

struct hf_answer {
    uint64_t cookie;
    enum hf_verb verb;
    uint8_t node;
    enum hf_verdict verdict;
    struct hf_instant sent; /* at or before the moment it was sent */
    uint64_t counter;      /* SCAN: cursor of the next page, 0 at the end; MARK:
                              fence of the mark that is kept, 0: none */
    uint64_t floor;        /* OK to CONFIRM: why it was not raised, as in */
    uint64_t bound;        /* struct hf_event; 0: that is not why */
    uint64_t node_time_us; /* OK to ACQUIRE: the node's time, if its counter is
                              far ahead of that; else 0 */
    uint64_t ticket;  /* QUEUED: the place; REFUSED to ACQUIRE: the node's time
                         in microseconds */
    uint32_t ahead;   /* QUEUED: how many wait before us; OK to an ACQUIRE or
                         YIELD with a ticket: not 0 if an earlier one waits */
    uint16_t permits; /* REFUSED, QUEUED, INSPECT: terms of those who share; 0:
                         plain sharing, or none shares */
    uint32_t sharers; /* INSPECT: how many share; 0: held alone, or free */
    uint32_t waiting; /* INSPECT: how many wait */
    const struct hf_seat *seats; /* ROSTER: holders, then waiters in order */
    size_t n_seats;
    int64_t left_ms; /* REFUSED, QUEUED, INSPECT, BREAK: of the holder; of those
                        who share: the longest; negative: no expiry */
    enum hf_kind kind; /* INSPECT: NONE: free; FOREIGN: look at owner */
    const void *owner; /* REFUSED, INSPECT, BREAK: as stored; MARK: of its run,
                          owner_len 0: a tombstone; borrowed; may be NULL where
                          the node did not say */
    size_t owner_len;
    const struct hf_bytes *names; /* SCAN: n_names names, without prefix */
    size_t n_names;
    enum hf_status fault; /* UNSENT, UNKNOWN, ERROR: HF_UNAVAILABLE, HF_DENIED,
                             HF_CONFIG (no try will help) or HF_QUARANTINED */
    const char *reason;   /* for those: one line; borrowed */
};

/* What the client offers to a store. Called from inside ask(), process() and
 * flush(), in the thread that called; the callee does not call back into the
 * store from answer() when that was called from inside ask() (it queues). */
typedef void hf_store_answer_fn(void *client, const struct hf_answer *answer);

/* A node's standing, or the reason for it, changed. May be called from inside
 * open() too: the embedded store has no connection to wait for.
 * @param forgot  votes from before are void (core/quarantine.h).
 * @param fault   DOWN: HF_UNAVAILABLE, HF_DENIED, HF_NO_MEMORY (ours) or
 *                HF_CONFIG. HF_CONFIG fails
 *                every acquisition at once, majority or not: a replica, the
 *                same server twice, another max_ttl. */
typedef void hf_store_standing_fn(void *client, unsigned node,
                                  enum hf_standing standing, bool forgot,
                                  enum hf_status fault, const char *reason);

/* A node gave the name to the waiter that asked with this cookie. From inside
 * process() or, in the embedded store, ask(). It may come before the answer to
 * the ACQUIRE, or long after the wait is over. */
typedef void hf_store_push_fn(void *client, unsigned node, uint64_t cookie,
                              uint64_t counter);

/* Whether grants of a node reach us. Until it has said so they do not. A store
 * begins to listen when an ACQUIRE was first answered QUEUED. */
typedef void hf_store_listen_fn(void *client, unsigned node, bool is_listening);

typedef void hf_store_log_fn(void *client, enum hf_log_level level,
                             const char *text);

/* Credentials that the program has set for a connection: copies, to be wiped.
 */
struct hf_login {
    unsigned node;
    const char *address;
    char *user;      /* NULL: that of the URL */
    char *password;  /* NULL: none was set */
    bool has_failed; /* no memory for the copies */
};

/* Ask the program; in every thread and place where a store may connect. */
typedef void hf_store_login_fn(void *client, struct hf_login *login);

struct hf_store_env {
    void *client;
    struct hf_loop *loop; /* where a store registers its sockets and timers */
    hf_store_answer_fn *answer;
    hf_store_standing_fn *standing;
    hf_store_push_fn *push;
    hf_store_listen_fn *listen;
    hf_store_log_fn *log;
    hf_store_login_fn *login; /* NULL: the URL has what there is */
    bool is_for_setup; /* hf_client_options: open what cannot be used yet, too,
                          for its jobs */
};

/* Open. Does not block and does not fail because a server is away.
 * @return HF_OK; HF_INVALID, HF_CONFIG, HF_NO_MEMORY, HF_UNSUPPORTED with a
 *         text in @p error. */
typedef enum hf_status
hf_store_open_fn(const struct hf_url *url, const struct hf_store_env *env,
                 struct hf_store **out, struct hf_error *error);

/* Free everything. Outstanding asks are not answered any more. @param forked
 * true: in a child process; close descriptors, but send nothing. */
typedef void hf_store_close_fn(struct hf_store *store, bool forked);

/* Queue one request. May answer before it returns. Never blocks on a network;
 * the embedded store executes at once, bounded by node_timeout. */
typedef void hf_store_ask_fn(struct hf_store *store, const struct hf_ask *ask,
                             struct hf_instant now);

/* Write what was queued. Called once after a batch of asks. May be NULL. */
typedef void hf_store_flush_fn(struct hf_store *store, struct hf_instant now);

/* An idle client, which runs no timer, has work again. A node whose next
 * attempt to connect was due meanwhile, or whose present one ran out of time
 * unread, is CONNECTING anew. May be NULL. */
typedef void hf_store_resume_fn(struct hf_store *store, struct hf_instant now);

/* Addresses, state, reason, quarantine: for people. */
typedef void hf_store_describe_fn(const struct hf_store *store, unsigned node,
                                  struct hf_instant now, struct hf_node *out);

/* Set-up jobs that talk to each node on its own and take their time. Each ends
 * in one `done` per node, from process(). The store reconnects as needed. */
enum hf_job {
    HF_JOB_INIT,       /* the node has lost nothing that is still held. A marker
                          of another shape is replaced only if LOOK saw it */
    HF_JOB_EXAMINE,    /* is it fit for locks? */
    HF_JOB_QUARANTINE, /* it has lost data: it must be watched anew */
    HF_JOB_COUNT,      /* are counters further ahead than a node accepts?
                          `done`: HF_OK, none; HF_BUSY */
    HF_JOB_LOWER,      /* set them back; only where there is no vote */
    HF_JOB_LOOK        /* what speaks against INIT? Changes nothing. `done`:
                          HF_OK, nothing; HF_BUSY, a holder or a waiter;
                          HF_CONFIG, a marker of another shape */
};
struct hf_job_sink {
    void *user;
    void (*finding)(void *user, enum hf_severity severity, int node,
                    const char *text);
    void (*done)(void *user, unsigned node, enum hf_status status,
                 const char *reason);
};
typedef void hf_store_job_fn(struct hf_store *store, unsigned node,
                             enum hf_job job, const struct hf_job_sink *sink);

/* Drop the sink of jobs that are still under way: its owner is gone. */
typedef void hf_store_job_cancel_fn(struct hf_store *store);

/* All must be there but those that may be NULL. */
struct hf_store_ops {
    const char *name;           /* "redis" */
    const char *const *schemes; /* NULL-terminated */
    uint32_t capabilities;      /* enum hf_capability */
    /* Back-off while waiting: what a poll costs this store decides. Not 0, and
     * the cap no less than the base. */
    struct hf_span retry_base;
    struct hf_span retry_cap;
    hf_store_open_fn *open;
    hf_store_close_fn *close;
    hf_store_ask_fn *ask;
    hf_store_flush_fn *flush;
    hf_store_resume_fn *resume;
    hf_store_describe_fn *describe;
    hf_store_job_fn *job;
    hf_store_job_cancel_fn *job_cancel;
};

/* Every store begins with this. */
struct hf_store {
    const struct hf_store_ops *ops;
    unsigned n_nodes;
};

extern const struct hf_store_ops hf_store_redis;
extern const struct hf_store_ops hf_store_local;

/* What the module of a store, store-SCHEME.so, exports as `hf_store_module`.
 * A module belongs to one version of the library, since both work on the same
 * structs. `version` is read first and stays the first member. */
struct hf_store_module {
    const char *version; /* HF_VERSION_TEXT */
    const struct hf_store_ops *ops;
};

/* In the module's source, once, after a declaration of it:
 *     HF_STORE_MODULE(hf_store_NAME); */
#define HF_STORE_MODULE(store)                                                 \
    extern const struct hf_store_module hf_store_module;                       \
    __attribute__((visibility("default")))                                     \
    const struct hf_store_module hf_store_module = {HF_VERSION_TEXT, &(store)}

/* The store for a URL scheme: of this build, else of a module, which is loaded
 * and stays so (io/module.h). Any thread; reads files.
 * @return HF_OK; HF_UNSUPPORTED, with a text in @p error: there is none, it
 *         cannot be loaded, is of another version, or its table lacks an
 *         operation. */
enum hf_status hf_store_find(const char *scheme,
                             const struct hf_store_ops **out,
                             struct hf_error *error);

/* The same in a table of stores, which ends with NULL. */
enum hf_status
hf_store_find_in(const struct hf_store_ops *const *table, const char *scheme,
                 const struct hf_store_ops **out, struct hf_error *error);

#endif
