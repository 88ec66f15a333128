/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a store: nodes that execute requests.
 *
 *     client ── ask(verb, node, name, owner, …) ──▶ store
 *     client ◀── answer(cookie, verdict, …) ─────── store
 *     client ◀── status(node, …) ───────────────  store
 *
 * A store implements the protocol of one kind of server. Quorums, leases and
 * retries are in core, for all stores. The store answers each request exactly
 * once, also a failed one, and never retries it. It sends the requests for a
 * node in order on one connection, so that a RELEASE never overtakes the
 * request that it cancels. Adding a store: ARCHITECTURE.md.
 *
 * Redis and the embedded store are part of the library. Any other store is a
 * module. It includes headers of src/base, src/core, src/io and src/store, and
 * links its own copy of their code (cmake/store.cmake), so it needs no symbol
 * of the program that loads it. These folders have no variables: all state is
 * in structs such as hf_loop, which the client made and both copies use. */
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

/* What enum hf_capability of the public header means here:
 *     QUEUE    ACQUIRE can wait at the node; the node pushes grants, or waiters
 *              poll: hf_store_listen_fn
 *     VALUES   GET and PUT, if it has one node. Without it neither is asked
 *     RECORDS  without it BREAK, MARK and SCAN are not asked, nor a RELEASE
 *              with ttl_ms; there are no permits, and no lock is detached
 *     FENCES   without it counters only order the replies to this client */

/* A holder or a waiter in the answer to QUEUE. All borrowed. */
struct hf_seat {
    bool waits;       /* true: a waiter; false: a holder */
    bool is_shared;   /* HF_SHARED */
    uint16_t permits; /* shared: terms; else 0 */
    const void *owner;
    size_t owner_len;
    int64_t left_ms; /* of the lease, or of the place; negative: no expiry */
    uint64_t ticket; /* waits: microseconds of Unix time */
};

/* Processes whose end releases the lock, for stores with HF_CAP_LIVENESS. Four:
 * the client's own, and three that hf_lock_add_process() added. Each check of a
 * holder reads /proc once for each. */
#define HF_LIFE_PROCESSES_MAX 4
struct hf_life_set {
    uint32_t count;                      /* 0: only the lease's expiry */
    int64_t pids[HF_LIFE_PROCESSES_MAX]; /* negative: a process group */
};

/* Bytes that belong to another: borrowed, and not ended by a NUL. */
struct hf_bytes {
    const void *data;
    size_t len;
};

/* VALUES. GET reads one: OK. PUT writes one, or deletes it, in one step:
 *
 * - OK: it was written; counter is its new version. Also if the last write of
 *   the name has the same id: a repeated request is executed once.
 * - REFUSED: it has another version, which is in counter. Nothing was written.
 * - ERROR: nothing was written. UNKNOWN: it may have been, or still be.
 * - UNSENT: not sent, or not executed: it may be sent again.
 *
 * A version is greater than every earlier one of its name, also if the value
 * was deleted in between: max(last + 1, the node's time in microseconds). A
 * node keeps the version of a deleted value for fence_keep after its clock has
 * passed it. Values have no lease and no quarantine: a node that lost its data
 * cannot get them back by waiting. */

/* Bytes of a write's id: 128 bits of entropy in hex, so that ids are unique. */
#define HF_WRITE_ID_LEN 32

/* What these fields mean depends on the verb. "-": unused, so any value.
 *
 * The request, struct hf_ask; each has a name, that of a SCAN is a pattern:
 *
 *   verb     counter            ttl_ms         owner        also
 *   -------  -----------------  -------------  -----------  -------------------
 *   ACQUIRE  hint: grants at    lease          asker        queue_ms, ticket,
 *            it or above; 0:                                is_shared, permits,
 *            none                                           is_unfair, life
 *   YIELD    the grant that it  lease          asker        as ACQUIRE
 *            returns
 *   CONFIRM  fence, to which    lease          asker        reacquires, life,
 *            it raises                                      detaches, permits,
 *                                                           is_shared
 *   RELEASE  largest that the   reservation;   asker        -
 *            asker has seen     0: free it
 *   BREAK    -                  longest lease  breaker      frees_now, back
 *                               of a client
 *   MARK     fence of the run;  rest of the    of the run;  -
 *            0: only read       mark           empty: a
 *                                              tombstone
 *   PUT      version to have,   -              id of the    value
 *            or HF_VERSION_ANY                 write
 *   SCAN     cursor; 0: begin   -              -            -
 *   others   -                  -              -            -
 *
 * The answer, struct hf_answer, if its verdict is OK, REFUSED or QUEUED. The
 * holder in an OK to ACQUIRE, YIELD, CONFIRM or RELEASE is unused. The counter
 * of an OK to the first three is never 0; any other field that a store does not
 * know is 0, NULL or NONE:
 *
 *   verb     counter            left_ms        owner        also
 *   -------  -----------------  -------------  -----------  -------------------
 *   ACQUIRE  OK: the asker's;   holder's       holder       holder_kind,
 *   YIELD    else the name's    lease                       permits, ticket,
 *                                                           ahead,
 *                                                           node_time_us
 *   CONFIRM  as ACQUIRE, after  holder's       holder       floor, bound
 *            a raise if it did  lease
 *   RELEASE  the name's         holder's       holder       -
 *                               lease
 *   BREAK    the next is not    former lease   former       holder_kind,
 *            below it                          holder       permits, sharers
 *   INSPECT  the name's         holder's       holder       holder_kind,
 *                               lease                       permits, sharers,
 *                                                           waiting
 *   QUEUE    the name's         -              -            seats
 *   MARK     fence of the mark  rest of the    of its run;  -
 *            now; 0: none       mark           empty: a
 *                                              tombstone
 *   GET      version; 0: no     -              id of the    value
 *            value                             last write
 *   PUT      OK: that it        -              -            -
 *            wrote; REFUSED:
 *            version now, 0:
 *            no value
 *   SCAN     next cursor; 0:    -              -            names
 *            the end
 *
 * An owner "ended:…" has released the name: it is reserved, or has a mark. A
 * store of ordered entries has no counter of a free name, so INSPECT has that
 * of its mark; of sharers it has the lease of the first. */

struct hf_ask {
    uint64_t cookie; /* copied to the answer; ACQUIRE, YIELD: to pushes, too */
    enum hf_verb verb;
    uint8_t node;
    bool reacquires;   /* acquire the name again if it is free */
    bool detaches;     /* if it is OK, the client detaches the lock. Only if the
                          store has `is_told` */
    bool frees_now;    /* free the name before the lease expires */
    const void *name;  /* borrowed for the call, like owner and life */
    size_t name_len;   /* SCAN: a glob pattern for names, or 0 for all; the
                          answer may have names that do not match, too */
    const void *owner; /* PUT: HF_WRITE_ID_LEN bytes */
    size_t owner_len;
    const void *back; /* the holder to which this owner returns the name.
                         back_len 0: take the name */
    size_t back_len;
    int64_t ttl_ms;
    uint64_t counter;
    struct hf_bytes value;          /* data NULL: delete it. Borrowed */
    const struct hf_life_set *life; /* NULL: leave it unchanged */
    bool is_shared;                 /* share with holders of the same terms */
    uint16_t permits; /* shared: the terms: 0, or a semaphore's size */
    bool is_unfair;   /* acquire a free name even if it has waiters */
    int64_t queue_ms; /* if refused, keep a place in the queue for this long
                         from now; 0: no place */
    uint64_t ticket;  /* of the place; 0: the node's time now, or the ticket
                         that this owner already has */
};

struct hf_answer {
    uint64_t cookie;
    enum hf_verb verb;
    uint8_t node;
    enum hf_verdict verdict;
    struct hf_instant sent; /* at or before the time of sending, and not after
                               this reply: core asserts it */
    uint64_t counter;
    uint64_t floor; /* not raised, since the fence is below this floor, or */
    uint64_t bound; /* above this bound, as in struct hf_event; 0: not so */
    uint64_t node_time_us; /* OK: the node's time, if its counter is far ahead
                              of that; else 0 */
    uint64_t ticket;       /* QUEUED: the place; REFUSED: the node's time in
                              microseconds, or 0 */
    uint32_t ahead;        /* QUEUED: waiters before us; OK to a request with a
                              ticket: not 0 if an earlier ticket waits */
    bool is_as_before; /* QUEUED: the holder was not asked for; `ahead` is as
                          old as the last answer */
    bool is_unwatched; /* QUEUED: our turn may come without a push */
    uint16_t permits;  /* terms of the sharers; 0: plain sharing, or no sharers
                        */
    uint32_t sharers;  /* 0: exclusive, or free */
    uint32_t waiting;  /* number of waiters */
    const struct hf_seat *seats; /* holders, then waiters in order */
    size_t n_seats;
    int64_t left_ms;          /* of sharers the longest; negative: no expiry */
    enum hf_kind holder_kind; /* NONE: free; FOREIGN: any value in `owner` */
    const void *owner; /* as stored; borrowed; NULL if the reply has none. GET:
                          of a deletion, too */
    size_t owner_len;
    struct hf_bytes value;        /* borrowed; data NULL: there is none */
    const struct hf_bytes *names; /* n_names names, without prefix */
    size_t n_names;
    enum hf_status fault; /* UNSENT, UNKNOWN, ERROR: HF_UNAVAILABLE, HF_DENIED,
                             HF_CONFIG (do not retry) or HF_QUARANTINED */
    const char *reason;   /* UNSENT, UNKNOWN, ERROR: one line; borrowed. NULL:
                             no answer came, or none is known */
};

/* ---- Callbacks of the client ------------------------------------------- */

/* A store calls them from inside its own operations and hf_loop_dispatch(), in
 * the same thread. The client may call the store from inside answer() only if
 * that comes from hf_loop_dispatch(); else it queues the answer.
 *
 * Below, "the mutex" is the client's: one thread at a time has it. While open()
 * runs, no other thread has the client, so the mutex is not needed. Callbacks
 * return nothing that can fail. */

/** The answer to a request, once for each; a failed one too.
 *
 * @param client  `client` of hf_store_env, as in the callbacks below.
 * @param answer  Borrowed for the call, with all that it points to.
 *
 * Owner: the store. Threads: any, with the mutex. Errors: none; those of the
 * request are in `verdict`, `fault` and `reason`. */
typedef void hf_store_answer_fn(void *client, const struct hf_answer *answer);

/** A node's status, or the reason for it, has changed.
 *
 * @param is_reset  Earlier votes are void (core/quarantine.h).
 * @param fault     DOWN: HF_UNAVAILABLE, HF_DENIED, HF_NO_MEMORY (ours) or
 *                  HF_CONFIG. HF_CONFIG fails each acquisition at once, even if
 *                  a majority is up: a replica, the same server twice, another
 *                  max_ttl.
 * @param reason    One line, borrowed for the call; or NULL.
 *
 * Owner: the store. Threads: any, with the mutex; also inside open(), since the
 * embedded store needs no connection. Errors: none. */
typedef void hf_store_status_fn(void *client, unsigned node,
                                enum hf_node_status status, bool is_reset,
                                enum hf_status fault, const char *reason);

/** A node has granted the name to the waiter whose ACQUIRE had this cookie. It
 * may come before the answer to the ACQUIRE, or long after the wait is over.
 *
 * @param counter  0: what it granted may have ended; a CONFIRM shows whether.
 *
 * Owner: nothing is passed. Threads: any, with the mutex, from inside
 * hf_loop_dispatch() or, in the embedded store, ask(). Errors: none. */
typedef void hf_store_push_fn(void *client, unsigned node, uint64_t cookie,
                              uint64_t counter);

/** Whether a node can push grants to the client; false until the first call. A
 * store subscribes when it first answers an ACQUIRE with QUEUED.
 *
 * Owner: nothing is passed. Threads: any, with the mutex. Errors: none; waiters
 * poll a node that cannot push. */
typedef void hf_store_listen_fn(void *client, unsigned node, bool is_listening);

/** A line for the client's log.
 *
 * @param text  One line without a newline, borrowed for the call.
 *
 * Owner: the store. Threads: any, with the mutex. Errors: none. */
typedef void hf_store_log_fn(void *client, enum hf_log_level level,
                             const char *text);

/* Credentials of the program for a connection. Copies: the store wipes them. */
struct hf_login {
    unsigned node;
    const char *address;
    char *user;      /* NULL: that of the URL */
    char *password;  /* NULL: none was set */
    bool has_failed; /* no memory for the copies */
};

/** Get the credentials from the program, for each login.
 *
 * @param login  `node` and `address` are set; the callback sets the rest.
 *
 * Owner: the store gets `user` and `password`, and wipes them. Threads: any in
 * which the store logs in, with the mutex. Errors: `has_failed`; no password:
 * the store reports HF_DENIED. */
typedef void hf_store_login_fn(void *client, struct hf_login *login);

/** Whether the client's cancel token was triggered: for a store that waits in
 * its open() or in a job.
 *
 * Owner: nothing is passed. Threads: the one that waits. Errors: none. */
typedef bool hf_store_cancelled_fn(const void *client);

struct hf_store_env {
    void *client;
    struct hf_loop *loop; /* where a store registers its sockets and timers */
    hf_store_answer_fn *answer;
    hf_store_status_fn *status;
    hf_store_push_fn *push;
    hf_store_listen_fn *listen;
    hf_store_log_fn *log;
    hf_store_login_fn *login;            /* NULL: only those of the URL */
    hf_store_cancelled_fn *is_cancelled; /* NULL: there is no token */
    bool announces_writes; /* the client calls begin_write() before it writes;
                              else the store may declare a server without a
                              marker from the beginning */
    bool is_for_setup;     /* hf_client_options: open a store that is not usable
                              yet, too, for its jobs */
};

/* ---- Operations of a store ----------------------------------------------- */

/* No operation blocks on a network. Those without a result cannot fail: a
 * server that is down shows in the status of its node, and in answers. */

/** Open a store for a URL. Does not fail because a server is down.
 *
 * @param url    Borrowed until close(), as `client` and `loop` of @p env are;
 *               the rest of @p env is copied.
 * @param out    Set: the store, if the result is HF_OK.
 * @param error  Set if the result is not HF_OK.
 * @return HF_OK; else HF_INVALID, HF_CONFIG, HF_NO_MEMORY, HF_UNSUPPORTED; of
 *         the embedded store also HF_UNAVAILABLE, HF_DENIED, HF_CANCELLED.
 *
 * Owner: the caller gets *out, and must close() it. Threads: any, before
 * another one has the client. Errors: as returned, with a text in @p error. */
typedef enum hf_status
hf_store_open_fn(const struct hf_url *url, const struct hf_store_env *env,
                 struct hf_store **out, struct hf_error *error);

/** Free everything. Pending requests are not answered.
 *
 * @param store      Void afterwards.
 * @param is_forked  True in a forked child: close descriptors, but send
 *                   nothing.
 *
 * Owner: consumes @p store. Threads: the last one that has the client; no
 * mutex. Errors: none. */
typedef void hf_store_close_fn(struct hf_store *store, bool is_forked);

/** Queue one request. May answer before it returns. The embedded store executes
 * it at once: it waits for other processes up to ten times node_timeout, and a
 * PUT for the disk.
 *
 * @param ask  Borrowed for the call, with all that it points to.
 *
 * Owner: the caller. Threads: any, with the mutex. Errors: in the answer. */
typedef void hf_store_ask_fn(struct hf_store *store, const struct hf_ask *ask,
                             struct hf_instant now);

/** Write the queued requests. Called once after a batch of ask(). May be NULL.
 *
 * Owner: nothing is passed. Threads: any, with the mutex. Errors: in the
 * answers. */
typedef void hf_store_flush_fn(struct hf_store *store, struct hf_instant now);

/** An idle client, which runs no timers, has work again. A node whose reconnect
 * came due since then, or whose attempt to connect has timed out, begins to
 * connect again. May be NULL.
 *
 * Owner: nothing is passed. Threads: any, with the mutex. Errors: in the status
 * of the node. */
typedef void hf_store_resume_fn(struct hf_store *store, struct hf_instant now);

/** Check a name. A call with a name that the store cannot lock is refused
 * before its first request. May be NULL.
 *
 * @param name  Borrowed for the call.
 * @return why this store has no lock of that name; NULL: it may have one.
 *
 * Owner: the text is static. Threads: any, with the mutex. Errors: as returned;
 * the call fails with HF_INVALID. */
typedef const char *hf_store_refuse_fn(const struct hf_store *store,
                                       const void *name, size_t name_len);

/** A call that writes begins: from now on a server without a marker may be
 * declared to be of this store. A client that only reads must not: its URL may
 * be another store's. A node may be CONNECTING again. May be NULL.
 *
 * Owner: nothing is passed. Threads: any, with the mutex. Errors: in the status
 * of the node. */
typedef void hf_store_begin_write_fn(struct hf_store *store,
                                     struct hf_instant now);

/** Fill in the address, health, reason and quarantine of a node, for display,
 * and its round trip. Until the client has a measure of its own, it waits three
 * of these for a reply, so a store should measure its handshake.
 *
 * @param out  Overwritten; borrows nothing of the store.
 *
 * Owner: the caller. Threads: any, with the mutex. Errors: none. */
typedef void hf_store_describe_fn(const struct hf_store *store, unsigned node,
                                  struct hf_instant now, struct hf_node *out);

/* ---- Jobs ------------------------------------------------------------------
 */

/* Administrative jobs, asynchronous, at one node each. A job ends with one call
 * of `done`. The store reconnects as needed. */
enum hf_job {
    HF_JOB_INIT,       /* declare that the node has lost no lock that is still
                          held. A marker of another shape is replaced only if
                          LOOK saw it */
    HF_JOB_EXAMINE,    /* diagnose the node's settings and rights */
    HF_JOB_QUARANTINE, /* declare that it has lost data: begin a quarantine */
    HF_JOB_COUNT,      /* find counters further ahead than a node accepts.
                          `done`: HF_OK, none; HF_BUSY */
    HF_JOB_LOWER,      /* set them back, only while the node has no vote */
    HF_JOB_LOOK        /* find reasons against INIT; read only. `done`: HF_OK,
                          none; HF_BUSY, a holder or a waiter; HF_CONFIG, a
                          marker of another shape */
};

/** Report one finding of a job at `node`, before the job is done. Never called
 * after hf_store_job_cancel_fn.
 *
 * @param user  `user` of hf_job_sink.
 * @param text  One line, borrowed for the call.
 *
 * Owner: the store. Threads: any, with the mutex. Errors: none. */
typedef void hf_job_finding_fn(void *user, enum hf_severity severity, int node,
                               const char *text);

/** The job at `node` has ended; called once, and last. It may be called before
 * hf_store_job_fn returns, and never after hf_store_job_cancel_fn.
 *
 * @param user    `user` of hf_job_sink.
 * @param reason  Explains a status other than HF_OK: borrowed for the call; or
 *                NULL.
 *
 * Owner: the store. Threads: any, with the mutex. Errors: none; that of the job
 * is @p status. */
typedef void hf_job_done_fn(void *user, unsigned node, enum hf_status status,
                            const char *reason);

struct hf_job_sink {
    void *user; /* passed to both */
    hf_job_finding_fn *finding;
    hf_job_done_fn *done;
};

/** Begin a job at a node: connect if there is no connection, do the job, and
 * call `done` once, also before it returns.
 *
 * @param node  Below `n_nodes`. It has no pending job.
 * @param sink  Copied; that of the jobs of all nodes. Its `user` lives until
 *              each job is done, or job_cancel() was called.
 *
 * Owner: the caller. Threads: any, with the mutex. Errors: the status passed to
 * `done`, also of a server that cannot be reached. */
typedef void hf_store_job_fn(struct hf_store *store, unsigned node,
                             enum hf_job job, const struct hf_job_sink *sink);

/** Drop the sink of pending jobs, before its owner is freed. No `finding` and
 * no `done` follow.
 *
 * Owner: the caller gets the sink's `user` back. Threads: any, with the mutex.
 * Errors: none. */
typedef void hf_store_job_cancel_fn(struct hf_store *store);

/* ---- The table of a store ---------------------------------------------------
 */

struct hf_store_ops;

/** The table for this URL, if its parameters choose between several: lock=.
 *
 * @param url  Borrowed for the call.
 * @return never NULL.
 *
 * Owner: static. Threads: any. Errors: none; open() reports a parameter that no
 * table has. */
typedef const struct hf_store_ops *
hf_store_variant_fn(const struct hf_url *url);

/* `joins` of a store that sends many renewals as one request, in milliseconds:
 * of 10,000 locks with a ttl of 30 s 300 are due in that time, which a server
 * that is behind still answers within the timeout. */
#define HF_STORE_JOINS_MS 300

/* All members must be set, except those that may be NULL. */
struct hf_store_ops {
    const char *name;             /* "redis" */
    const char *const *schemes;   /* NULL-terminated */
    uint32_t capabilities;        /* enum hf_capability */
    hf_store_variant_fn *variant; /* NULL: this table only */
    /* Back-off of polling; depends on the cost of a poll in this store. Not 0,
     * and the cap not less than the base. */
    struct hf_span retry_base;
    struct hf_span retry_cap;
    struct hf_span node_timeout; /* of URLs without node_timeout; 0:
                                    HF_NODE_TIMEOUT_MS_DEFAULT */
    /* In which another of its servers is asked, if one is silent; 0: there is
     * no other. A client that closes waits for that. */
    struct hf_span failover;
    /* Renewals that are due within this time are sent together, since many are
     * one request here; 0: within 20 ms, to share a write. */
    struct hf_span joins;
    bool is_serial;   /* a request may stay unsent, or be half done, until
                         earlier replies are read: the client reads them, also
                         when no call waits */
    bool place_stays; /* a place in a queue lasts for the ttl, whatever
                         `queue_ms` is: it ends with its client's session */
    bool is_told;     /* locks of one client have something in common: a CONFIRM
                         with `detaches` comes before one of them is detached */
    /* NULL; or why a lock ends with the session of its client: it is neither
     * handed on, nor reserved, nor extended beyond its ttl. */
    const char *ends_with_session;
    hf_store_open_fn *open;
    hf_store_close_fn *close;
    hf_store_ask_fn *ask;
    hf_store_flush_fn *flush;
    hf_store_resume_fn *resume;
    hf_store_begin_write_fn *begin_write;
    hf_store_refuse_fn *refuse;
    hf_store_describe_fn *describe;
    hf_store_job_fn *job;
    hf_store_job_cancel_fn *job_cancel;
};

/* Every store begins with this. */
struct hf_store {
    const struct hf_store_ops *ops;
    unsigned n_nodes;
};

/* The stores that are built in. */
extern const struct hf_store_ops hf_store_redis;
extern const struct hf_store_ops hf_store_local;

/* The module of a store, store-SCHEME.so, exports this as `hf_store_module`. It
 * works with one version of the library only, since both use the same structs.
 * `version` is read first and stays the first member. */
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

/** The store for a URL: of this build, else of a module, which is loaded and
 * stays loaded (io/module.h). Reads files.
 *
 * @param url  Borrowed for the call.
 * @param out  Set: its table, if the result is HF_OK.
 * @return HF_OK; HF_UNSUPPORTED: there is none, it cannot be loaded, is of
 *         another version, or its table lacks an operation.
 *
 * Owner: *out is static. Threads: any. Errors: as returned, with a text in
 * @p error. */
enum hf_status hf_store_find(const struct hf_url *url,
                             const struct hf_store_ops **out,
                             struct hf_error *error);

/** The same by scheme, in a table of stores, without modules.
 *
 * @param table  Ends with NULL. Borrowed for the call, as @p scheme is.
 *
 * Owner, threads and errors: as hf_store_find(). */
enum hf_status
hf_store_find_in(const struct hf_store_ops *const *table, const char *scheme,
                 const struct hf_store_ops **out, struct hf_error *error);

#endif
