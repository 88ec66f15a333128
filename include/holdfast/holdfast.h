/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Holdfast: distributed locks that hold.
 *
 * A lock is a name that one owner at a time holds for a bounded time, its
 * lease. The library renews the lease until you release the lock, and reports
 * when a lock is at risk or lost. Each acquisition has a fence: a strictly
 * increasing number, by which the resource that the lock protects rejects
 * writes of earlier holders.
 *
 *     hf_client_open("redis://a,b,c", NULL, &client, &error);
 *     hf_request_init(&request, "invoice-42");
 *     if (hf_lock_acquire(client, &request, &lock, &error) == HF_OK) {
 *         write_with_fence(hf_lock_fence(lock));
 *         hf_lock_release(lock);
 *     }
 *     hf_client_close(client);
 *
 * Rules that hold for every function:
 * - Structs that the caller fills begin with `size` and are initialised by
 *   their init function. It is inline, so `size` is the size with which the
 *   program was compiled. A later library may have more members; it treats
 *   members that the caller's struct lacks as zero.
 * - Structs that the library fills are opaque and are read with functions:
 *   hf_holder_host(holder). Strings and structs that these functions return
 *   belong to the struct that was passed. If that is NULL, they return the
 *   value of an empty struct.
 * - A plain return value is borrowed. A `**out` is owned by the caller, except
 *   a struct hf_op, which is always the library's. On failure ownership does
 *   not change and `*out` is NULL. `error` may be NULL.
 * - A handle is not bound to a thread. Many threads may use one client at once;
 *   no call is a cancellation point (pthread_cancel). A lock must be used by
 *   one thread at a time, except that any may call hf_lock_valid_for(),
 *   hf_lock_state(), hf_lock_remaining_ms() and hf_lock_fence() until released.
 * - In a forked child, calls on a client or lock of the parent return
 *   HF_INVALID, and hf_client_close() sends nothing. It frees the memory unless
 *   a thread of the parent was changing it.
 * - `@return` lists every status that a function returns. In addition,
 *   HF_INVALID is returned if the client or lock is missing, in a forked child,
 *   and while the client is being closed; HF_CANCELLED after a cancel token,
 *   hf_client_interrupt() or a callback that closes the client; HF_NO_MEMORY
 *   if an allocation fails.
 * - The name of a time ends in its unit: _ms, _us, _s. Times are measured on
 *   CLOCK_BOOTTIME, which includes the time while the machine is suspended.
 *   Lengths are in bytes.
 *
 * Each docstring has these fields:
 * - Owner: of the returned pointer, or of the one written to a `**`.
 * - Threads: which threads may call it. "the lock's": one at a time, as above.
 * - Blocks: the longest wait for nodes. node_timeout is 50 ms on Redis, and 500
 *   ms on other servers, unless the URL sets another. A cancel token ends the
 *   wait, except in functions that release something.
 *   "briefly": only for the client's mutex, which is never held while a thread
 *   waits for a node. On the embedded store also for a transaction: some
 *   microseconds, or once one node_timeout (frozen: ten) if a process in the
 *   store is stopped. The duration of a callback in the call is added.
 *   "never": not even for a mutex.
 */
#ifndef HF_HOLDFAST_H
#define HF_HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header, as numbers and as text. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 2
#define HF_VERSION_PATCH 0
#define HF_VERSION_TEXT "0.2.0"

/** For `#if`: 0.2.0 is 200, 1.2.3 is 10203. */
#define HF_VERSION_NUMBER                                                      \
    (HF_VERSION_MAJOR * 10000 + HF_VERSION_MINOR * 100 + HF_VERSION_PATCH)

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#define HF_NODISCARD __attribute__((warn_unused_result))
#else
#define HF_API
#define HF_NODISCARD
#endif

/* ---- Outcomes ---------------------------------------------------------- */

/** The class of a status, by the action that a caller can take. */
enum hf_class {
    HF_CLASS_OUTCOME, /**< no error: a regular result of the operation */
    HF_CLASS_RETRY,   /**< the same call may succeed later, unchanged */
    HF_CLASS_CONFIG,  /**< it fails until URL, rights or server are changed */
    HF_CLASS_CALLER,  /**< error in the calling program; nothing was done */
    HF_CLASS_FATAL    /**< this process cannot continue as it is */
};

/** Every status: symbol, class, text. The order is ABI: append only. */
#define HF_STATUS_MAP(X) X(HF_OK, HF_CLASS_OUTCOME, "ok") HF_FAILURE_MAP(X)

/** All statuses except HF_OK. */
#define HF_FAILURE_MAP(X)                                                      \
    X(HF_BUSY, HF_CLASS_OUTCOME, "held by another owner")                      \
    X(HF_LOST, HF_CLASS_OUTCOME, "no longer ours")                             \
    X(HF_UNKNOWN, HF_CLASS_RETRY, "sent, but not confirmed")                   \
    X(HF_UNAVAILABLE, HF_CLASS_RETRY,                                          \
      "no majority of the store can be reached")                               \
    X(HF_QUARANTINED, HF_CLASS_RETRY,                                          \
      "too many servers may have forgotten locks")                             \
    X(HF_DENIED, HF_CLASS_CONFIG, "not permitted")                             \
    X(HF_INVALID, HF_CLASS_CALLER, "invalid argument or use")                  \
    X(HF_CONFIG, HF_CLASS_CONFIG, "unusable configuration")                    \
    X(HF_UNSUPPORTED, HF_CLASS_CONFIG, "not supported by this store")          \
    X(HF_CANCELLED, HF_CLASS_OUTCOME, "cancelled")                             \
    X(HF_NO_MEMORY, HF_CLASS_FATAL, "out of memory")                           \
    X(HF_INTERNAL, HF_CLASS_FATAL, "internal error")

/** The result of a call. HF_OK is 0. */
enum hf_status {
#define HF_STATUS_ENUM(symbol, class_of, text) , symbol
    HF_OK HF_FAILURE_MAP(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
};

/** The reason of a failure. Owned by the caller, never allocated. Its layout is
 * final: it never grows. */
struct hf_error {
    enum hf_status status;
    int node;        /**< index of the node concerned, or -1 */
    char text[1000]; /**< one line, lower case, no newline at its end */
};

/** The symbol of a status, e.g. "HF_BUSY"; "HF_?" if unknown.
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_status_name(enum hf_status status);

/** A short text for a status.
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_status_text(enum hf_status status);

/** The class of a status; HF_CLASS_FATAL if unknown. After HF_UNKNOWN the
 * operation may have been executed: HF_CLASS_RETRY means only that another call
 * is allowed, not that the first one had no effect.
 * Threads: any. Blocks: never. */
HF_API enum hf_class hf_status_class(enum hf_status status);

/** The library's version, e.g. "0.2.0".
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_version(void);

/** Whether rediss:// works here. Loads the TLS module, if it is installed.
 * Threads: any. Blocks: on the disk, at the first call. */
HF_API bool hf_has_tls(void);

/** Store capabilities beyond a lock with a deadline; "holdfast help stores"
 * prints it. Without QUEUE waiters poll, in no order; without LIVENESS a dead
 * holder's lock ends with its lease or connection. A call that needs another
 * one that is missing fails with HF_UNSUPPORTED. */
enum hf_capability {
    HF_CAP_LIVENESS = 1 << 0, /* notices the end of the holder's process */
    HF_CAP_QUEUE = 1 << 1,    /* serves waiters in FIFO order */
    HF_CAP_SHARED = 1 << 2,   /* HF_SHARED */
    HF_CAP_VALUES = 1 << 3,   /* hf_value_get(), put and update */
    HF_CAP_RECORDS = 1 << 4,  /* a lock is a record of Holdfast's own: permits,
                                 marks, break, list, detach */
    HF_CAP_FENCES = 1 << 5    /* hf_lock_fence() */
};

/** The capabilities of the store of a URL, from its code: no server is asked.
 *
 * @param url    As for hf_client_open().
 * @param out    Its bits, of enum hf_capability; 0 after a failure.
 * @param error  The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_NO_MEMORY - as
 *         hf_client_open().
 * Owner: the caller. Threads: any. Blocks: on the disk, to load a module. */
HF_API HF_NODISCARD enum hf_status
hf_store_capabilities(const char *url, unsigned *out, struct hf_error *error);

/* ---- Client ------------------------------------------------------------ */

/** Longest lock name in bytes. Names are any bytes, at least one. A path or a
 * URL fits, and a copy of a name fits on the stack. */
#define HF_NAME_MAX 1024

/** Most nodes a store may have. Nine tolerate four failures; more nodes make
 * each request slower and add little safety. */
#define HF_NODES_MAX 9

/** Room for an owner with its fence as text ("OWNER@FENCE"), with the NUL: 448
 * bytes of owner, 16 digits of fence, and the ttl that hf_lock_detach() adds.
 */
#define HF_OWNER_TEXT_MAX 512

/** Most names in one request. While a request waits for one name, it holds the
 * names that sort before it, so requests for many names delay each other. */
#define HF_NAMES_MAX 64

/** Most permits of a semaphore. Each permit is a separate lock, and a waiter is
 * queued at all of them: beyond some hundreds the requests are expensive. */
#define HF_PERMITS_MAX 256

struct hf_client;
struct hf_lock;
struct hf_op;
struct hf_cancel;

/** Which thread runs the client between your calls. */
enum hf_thread_mode {
    HF_THREAD_AUTO, /**< the library starts a thread when there is something
                         to renew; it blocks all signals */
    HF_THREAD_NONE  /**< no work is done outside your calls: run the client
                         with hf_client_fd() and hf_client_process() */
};

/** The state of a lock, as known to its owner. LOST and RELEASED are final. */
enum hf_state {
    HF_STATE_HELD,    /**< confirmed recently */
    HF_STATE_AT_RISK, /**< not confirmed recently; the deadline is ahead */
    HF_STATE_LOST,    /**< the deadline has passed, or a majority refused */
    HF_STATE_RELEASED
};

/** Severity of a log line. */
enum hf_log_level {
    HF_LOG_ERROR, /**< a lock is lost, with the reason */
    HF_LOG_WARN,  /**< a lock is at risk, a connection failed, a node is in
                       quarantine, an operation was not confirmed */
    HF_LOG_INFO,  /**< the events of each lock: requested, waiting for which
                       owner, retried, held, renewed late, released; nodes that
                       connect, or vote again */
    HF_LOG_DEBUG  /**< each request to a node, and each reply; retries for a
                       reason logged as HF_LOG_INFO in the last 10 s */
};

/**
 * The log callback. Each line begins with the name of a lock or the address of
 * a node. Must not call the library.
 *
 * @param user   `log_user` of the options.
 * @param level  Severity.
 * @param text   One line without newline, borrowed for the call.
 *
 * Threads: any; never two at once for one client. Blocks: must not; the
 * client's mutex is held.
 */
typedef void hf_log_fn(void *user, enum hf_log_level level, const char *text);

/**
 * The callback for each change of a held lock's state, one call at a time. If
 * the state changes twice before the callback can run, only the latest state is
 * reported. It may call any function, hf_lock_release() too. It must be quick:
 * while it runs nothing is renewed, unless another thread waits in a call. No
 * callback for a lock begins after the lock was released or detached. Releasing
 * does not wait for a callback that has begun: it may end later, and until then
 * it may read name and user of the lock.
 *
 * @param user   `state_user` of the options.
 * @param lock   The lock, borrowed for the call.
 * @param state  Its new state: HELD (again), AT_RISK or LOST.
 *
 * Threads: the library's thread; with HF_THREAD_NONE a thread inside a call on
 * the client. No mutex of the library is held. Blocks: may; be quick.
 */
typedef void hf_state_fn(void *user, struct hf_lock *lock, enum hf_state state);

/** Credentials that a connection is waiting for; see hf_login_fn. */
struct hf_login;

/** The index of the node.
 * Threads: the callback's. Blocks: never. */
HF_API int hf_login_node(const struct hf_login *login);

/** The address of the node, without password.
 * Owner: @p login. Threads: the callback's. Blocks: never. */
HF_API const char *hf_login_address(const struct hf_login *login);

/**
 * Set the credentials, from inside a hf_login_fn.
 *
 * @param login     The callback's.
 * @param user      An ACL user, or NULL: the user in the URL of this node, else
 *                  the server's default user.
 * @param password  Its password or token. The library copies both and wipes its
 *                  copies after the server's reply. NULL: none.
 *
 * Threads: the callback's. Blocks: never.
 */
HF_API void hf_login_set(struct hf_login *login, const char *user,
                         const char *password);

/**
 * The callback that supplies credentials. It is called at each login to a
 * server: for every connection (two for each node while a caller waits for a
 * lock), and again if the server requires it. So a rotated password is used
 * from the next connection on. It calls hf_login_set(). If it does not, the
 * connection fails: the node is down with HF_DENIED. Within 2 s the client
 * connects again and calls the callback again.
 *
 * @param user   `login_user` of the options.
 * @param login  Borrowed for the call.
 *
 * Threads: a thread in a call on the client, or the library's; never two at
 * once for one client. It must not call any function but hf_login_*().
 * Blocks: must not. While it runs nothing is renewed, other calls on the client
 * wait, and connect_timeout (1 s) runs. Use credentials in memory, and fetch
 * new ones in another thread.
 */
typedef void hf_login_fn(void *user, struct hf_login *login);

/** How to open a client. Set up by hf_client_options_init(). */
struct hf_client_options {
    size_t size;
    enum hf_thread_mode thread; /**< HF_THREAD_AUTO */
    const char *password;       /**< instead of one in the URL, or NULL */
    hf_log_fn *log;             /**< NULL: silent */
    void *log_user;
    hf_state_fn *on_state; /**< NULL: call hf_lock_state() or
                                hf_client_next_event() */
    void *state_user;
    bool is_for_setup; /**< open also an embedded store that is not set up, or
                            has wrong files, so that hf_client_diagnose()
                            and hf_client_init_nodes() work; other calls fail */

    /** Supplies the credentials for servers, instead of any password here and
     * in the URL. NULL: those. The embedded store needs none. */
    hf_login_fn *login;
    void *login_user;
    struct hf_cancel *cancel; /**< ends every call on the client; or NULL.
                                   Borrowed until hf_client_close() */
};

/** Fill the first @p size bytes of @p options with the defaults: for other
 * languages. @p size is the size of the struct in the caller's version.
 * Threads: any. Blocks: never. */
HF_API void hf_client_options_init_sized(struct hf_client_options *options,
                                         size_t size);

/** Fill @p options with the defaults.
 * Threads: any. Blocks: never. */
static inline void hf_client_options_init(struct hf_client_options *options)
{
    hf_client_options_init_sized(options, sizeof(*options));
}

/**
 * Open a store. Returns at once: connections are made during the first calls.
 *
 *     local:                                this user, on this machine
 *     local:///dir                          this machine, in that folder
 *     redis://[user:password@]host[:port][/db]
 *     rediss://...                          with TLS; valkey, valkeys alike
 *     redis+unix:///path
 *     redis://a,b,c                         a majority of 1, 3, 5, 7 or 9; or
 *     redis://a redis://b redis://c         whole URLs, separated by blanks
 *     postgres:// mysql:// etcd:// consul:// zookeeper://   if installed
 *
 * Parameters follow after ?, separated by &. max_ttl (60s) is the longest
 * lease, and the length of the quarantine of a server that may have lost locks;
 * all clients of a store must set the same. Others: node_timeout,
 * connect_timeout (1s), prefix (lock:), fence_keep (1h), fence_base, quarantine
 * (strict, off), tls_ca, tls_cert, tls_key. holdfast(1), STORES, lists all.
 *
 * @param url      NULL means "local:".
 * @param options  NULL for the defaults. Borrowed for the call.
 * @param out      The client; yours until hf_client_close().
 * @param error    The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_INVALID - malformed URL or unknown parameter;
 *         HF_CONFIG - a store that cannot work, e.g. an even number of nodes;
 *         HF_UNSUPPORTED - the store has no module, or it is incomplete or of
 *         another version; an option of a later version;
 *         HF_DENIED, HF_UNAVAILABLE - files of an embedded store that cannot be
 *         opened; HF_CANCELLED - the token of the options was triggered;
 *         HF_NO_MEMORY - also if descriptors run out.
 *
 * Owner: the caller. Threads: any.
 * Blocks: not on the network. The embedded store: 20 s while another process
 * sets its files up.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_open(const char *url, const struct hf_client_options *options,
               struct hf_client **out, struct hf_error *error);

/**
 * Release all locks that are held, and free the client with all its locks.
 * First each pending callback of hf_op_*() is called with HF_CANCELLED,
 * whatever the result of its operation; from then on all calls on the client
 * but hf_op_cancel() fail. Waits for the end of a callback in the library's
 * thread. In a callback it takes effect when that returns: until then all calls
 * fail. The call in which the callback runs ends with HF_CANCELLED or, if it
 * had come to its end, with its own status; then all is freed.
 *
 * @param client  NULL is fine. No other call on it may be in progress.
 *
 * Threads: any.
 * Blocks: until all releases are confirmed, at most 5 s, and no longer than
 * node_timeout without any reply; 2.5 s on a cluster, such as etcd. Releases
 * are pipelined. */
HF_API void hf_client_close(struct hf_client *client);

/**
 * End every blocking call on the client with HF_CANCELLED. These calls leave no
 * lock and no place in a queue. Safe in a signal handler and from any thread. A
 * call that begins later is not affected; a call that has begun is, even if it
 * does not block yet. To end a program, use a cancel token.
 *
 * Threads: any. Blocks: never.
 * Source: signal-safety(7).
 */
HF_API void hf_client_interrupt(struct hf_client *client);

/* ---- Cancel tokens ----------------------------------------------------- */

/**
 * Make a cancel token. A triggered token stays triggered: a call with it ends
 * with HF_CANCELLED, and a later call returns HF_CANCELLED at once, without a
 * request to any node. So a trigger right before a call is not lost. Locks that
 * were acquired by then are released in the background.
 *
 * As `cancel` of a request it ends that acquisition or adoption. As `cancel` of
 * the client's options it ends every call on the client and every operation
 * that was started. Functions that release ignore it: hf_lock_release() and its
 * other forms, hf_owner_release(), hf_lock_unmark(), hf_client_close(). So do
 * functions that do not block. One token may be used for any number of calls
 * and clients.
 *
 * @param out    The token; yours until hf_cancel_free().
 * @param error  The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_INVALID - @p out is NULL; HF_NO_MEMORY - also if
 *         descriptors run out: a token uses one.
 *
 * Owner: the caller. Threads: any, for all functions of a token. Blocks: never.
 */
HF_API HF_NODISCARD enum hf_status hf_cancel_new(struct hf_cancel **out,
                                                 struct hf_error *error);

/** Trigger it; a second trigger has no effect. NULL is fine. Safe in a signal
 * handler: an atomic flag and one write(2). Preserves errno.
 * Threads: any. Blocks: never.
 * Source: signal-safety(7). */
HF_API void hf_cancel_trigger(struct hf_cancel *cancel);

/** Whether it was triggered; false for NULL. Safe in a signal handler.
 * Threads: any. Blocks: never. */
HF_API bool hf_cancel_is_triggered(const struct hf_cancel *cancel);

/** Free it; NULL is fine. No call, operation or client may use it any more, and
 * no signal handler may trigger it.
 * Threads: any, after all other use. Blocks: never. */
HF_API void hf_cancel_free(struct hf_cancel *cancel);

/* ---- Acquire ----------------------------------------------------------- */

/** A wait_ms without limit: until the lock is held, or the wait is cancelled.
 */
#define HF_WAIT_FOREVER INT64_C(-1)

/** The event that frees a lock before its lease ends. Only the embedded store
 * watches processes; on other stores only the end of the lease frees it. */
enum hf_liveness {
    HF_LIVENESS_PROCESS, /**< the end of this process, and of every process
                          added with hf_lock_add_process() */
    HF_LIVENESS_LEASE    /**< only the end of the lease */
};

/** Whether other holders may hold the name at the same time. */
enum hf_mode {
    HF_EXCLUSIVE, /**< alone */
    HF_SHARED     /**< with other HF_SHARED requests: a read lock */
};

/** One more name of a request. */
struct hf_name {
    const void *name; /**< borrowed for the call */
    size_t name_len;
    enum hf_mode mode;
};

/**
 * The arguments of an acquisition. Initialised by hf_request_init().
 *
 * A held lock is renewed about every third of its ttl, so that two renewals may
 * fail. Measured from the sending of the last confirmed renewal, it is AT_RISK
 * after half of the ttl, and LOST after the ttl less 1% and 2 ms, the allowance
 * for clock drift.
 */
struct hf_request {
    size_t size;
    const void *name; /**< borrowed for the call */
    size_t name_len;
    int64_t ttl_ms;    /**< lease, at most the store's max_ttl; 0: 30,000, or
                            max_ttl if that is less */
    int64_t wait_ms;   /**< 0: try; HF_WAIT_FOREVER; else at most that long */
    const char *label; /**< shown to other clients with host and pid, or NULL */
    enum hf_liveness liveness;
    void *user;        /**< hf_lock_user() returns it */
    enum hf_mode mode; /**< HF_EXCLUSIVE */
    uint32_t permits;  /**< 0; else a semaphore: the number of concurrent
                            holders. All clients must set the same. */
    bool unfair;       /**< take it if it is free, even if others wait */
    const struct hf_name *more; /**< further names, taken all or none; borrowed
                                     for the call. Not with permits. */
    size_t n_more;
    size_t more_size; /**< bytes of one of `more`: sizeof(struct hf_name) */
    struct hf_cancel *cancel; /**< ends this acquisition or adoption; or NULL.
                                   Borrowed for the call; of one that is
                                   started, until `done` or hf_op_cancel() */
};

/** Fill the first @p size bytes of @p request like hf_request_init(): for
 * other languages. @p size and @p more_size are the sizes of struct hf_request
 * and struct hf_name in the caller's version.
 * Threads: any. Blocks: never. */
HF_API void hf_request_init_sized(struct hf_request *request, size_t size,
                                  size_t more_size, const char *name);

/** Fill @p request: @p name (a C string; set name and name_len yourself for
 * other bytes), the default ttl, does not wait.
 * Threads: any. Blocks: never. */
static inline void hf_request_init(struct hf_request *request, const char *name)
{
    hf_request_init_sized(request, sizeof(*request), sizeof(struct hf_name),
                          name);
}

/**
 * Acquire a lock.
 *
 * @param client   The client.
 * @param request  Names, lease and wait. Borrowed.
 * @param out      The lock; yours until hf_lock_release() or hf_lock_detach().
 * @param error    The reason of a failure: for HF_BUSY the holder, for
 *                 HF_UNAVAILABLE each node with its reason. Or NULL.
 *
 * Waiters are granted the lock in FIFO order. The server itself hands the lock
 * over. A try never overtakes a waiter.
 *
 * The lock is not reentrant: two handles exclude each other, also in one
 * client. A thread that waits with HF_WAIT_FOREVER for a lock that it holds
 * itself waits until hf_client_interrupt().
 *
 * Several names are acquired all or none, within one wait, in any order of the
 * request. While the request waits for one name, it may hold names that sort
 * before it. The names have one handle, which is LOST when one of them is lost;
 * the others are renewed until it is released. A try that gets some of its
 * names, or finds all permits taken, waits 100 ms for a release of the others.
 *
 * @return HF_OK; HF_BUSY - held by another owner until the end of the wait;
 *         HF_UNAVAILABLE - no majority: within 1 s for a try, else at the end
 *         of the wait; without one (HF_WAIT_FOREVER) see Blocks;
 *         HF_QUARANTINED - no majority, since servers are new, or may have
 *         lost locks that are still held;
 *         HF_DENIED; HF_CONFIG; HF_INVALID - also a semaphore that other
 *         clients use with another number of permits; HF_UNSUPPORTED;
 *         HF_CANCELLED; HF_NO_MEMORY. After a failure no lock and no place in
 *         a queue remains.
 *
 * Owner: the caller.
 * Threads: any number at once. I/O happens in the calling thread.
 * Blocks: for wait_ms; a try 1 s, of which a refusal takes one round trip; with
 * HF_WAIT_FOREVER without limit, but 5 s if this client has never reached a
 * majority.
 * Source: redis.io, "Distributed Locks with Redis" (a majority of independent
 * servers); docs/guarantees.md lists the additions.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_acquire(struct hf_client *client, const struct hf_request *request,
                struct hf_lock **out, struct hf_error *error);

/**
 * Release a lock. Always consumes the handle; NULL is fine (HF_OK). From then
 * on no callback begins for the lock; see hf_state_fn.
 *
 * @return HF_OK - a majority freed it; HF_LOST - the lock had been lost;
 *         HF_UNKNOWN - not confirmed within node_timeout: retried in the
 *         background, and freed by the end of the lease at the latest; or it
 *         is free, and the reply that tells HF_OK from HF_LOST was lost;
 *         HF_DENIED - the servers do not permit it: the end of the lease frees
 *         it; HF_INVALID - in a forked child, where nothing changes, or while
 *         the client is closed.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API enum hf_status hf_lock_release(struct hf_lock *lock);

/** Longest reservation: 31 days, the longest month. The reserved name has no
 * holder whose end could free it. */
#define HF_RESERVE_MS_MAX INT64_C(2678400000)

/**
 * Release a lock but keep its name reserved, marked as ended, until @p
 * reserve_ms after this call: the name cannot be acquired before. In all other
 * respects like hf_lock_release().
 *
 * @return As hf_lock_release(); HF_INVALID - @p reserve_ms is below 0 or above
 *         HF_RESERVE_MS_MAX, or a read lock, HF_UNSUPPORTED - the store ends it
 *         with its connection: nothing was done, and the lock is still yours.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API enum hf_status hf_lock_release_reserved(struct hf_lock *lock,
                                               int64_t reserve_ms);

/* ---- Once a period ----------------------------------------------------- */

/** Longest period of a mark: ten years, longer than a job's period. Bounded so
 * that sums with the clock cannot overflow. */
#define HF_PERIOD_MS_MAX INT64_C(315360000000)

/**
 * Whether work was started under @p name less than its period ago. Call it
 * before acquiring, so that a host without work does not acquire the lock. A
 * mark that is missing at some nodes is written to them, never with a later
 * end.
 *
 * @param client    The client.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param left_ms   Set to the rest of the period in milliseconds, up to
 *                  HF_PERIOD_MS_MAX; 0: no node that replied has a live mark.
 *                  Only hf_lock_mark() makes certain that there is none.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK, also without a mark; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         majority replied; HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any number at once. Blocks: 0.9 s, or 1.8 s if it writes missing
 * marks.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_marked(struct hf_client *client, const void *name, size_t name_len,
                 int64_t *left_ms, struct hf_error *error);

/**
 * Mark the names of a lock that is held: work starts now, and for @p period_ms
 * no other hf_lock_mark() of these names succeeds, even if this process, its
 * machine or a minority of the servers fails. Call it after acquiring, and
 * start the work only if it returns HF_OK; release the lock otherwise.
 * Acquisitions ignore marks.
 *
 * @param lock       Held, exclusive; it stays yours, whatever the status is.
 * @param period_ms  Milliseconds from now, 1 to HF_PERIOD_MS_MAX.
 * @param error      The reason of a failure, or NULL.
 *
 * @return HF_OK - the mark is at a majority of the nodes that vote, and the
 *         lock is still held; HF_BUSY - work was started in this period;
 *         HF_LOST - the lock is lost, and not marked; HF_UNAVAILABLE,
 *         HF_QUARANTINED - no majority has the mark: it was withdrawn at the
 *         nodes that could be reached, the others may still have it;
 *         HF_DENIED; HF_CONFIG; HF_INVALID - also a shared lock or a permit,
 *         or a lock whose mark was withdrawn; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: the lock's. Blocks: for some rounds of 0.9 s for each name.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_mark(struct hf_lock *lock, int64_t period_ms, struct hf_error *error);

/**
 * Withdraw the mark of hf_lock_mark(): the work failed, and other clients may
 * start it within the period. The lock may be LOST, and stays yours.
 *
 * @param lock   The lock that was marked, not yet released.
 * @param error  The reason of a failure, or NULL.
 *
 * @return HF_OK - withdrawn at a majority of the nodes that vote, or the mark
 *         is of another owner or has expired; HF_UNAVAILABLE - the mark may
 *         still be in force; HF_QUARANTINED; HF_DENIED; HF_CONFIG; HF_INVALID;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: the lock's. Blocks: for two rounds of 0.9 s for each name.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_unmark(struct hf_lock *lock,
                                                  struct hf_error *error);

/* ---- While holding ----------------------------------------------------- */

/** The fence: greater than that of every acquisition of this name that
 * completed before this one began. 0 only if the store has no fences.
 * Threads: any. Blocks: never.
 * Source: M. Kleppmann, "How to do distributed locking" (2016). */
HF_API uint64_t hf_lock_fence(const struct hf_lock *lock);

/**
 * Whether the lock is certain to be held for the next @p ms milliseconds. Cheap
 * enough to call before every write: one clock read, no mutex, no system call.
 *
 * Threads: any. Blocks: never.
 * Source: C. Gray, D. Cheriton, "Leases" (SOSP 1989).
 */
HF_API bool hf_lock_valid_for(const struct hf_lock *lock, int64_t ms);

/** The state now, which also depends on the local clock.
 * Threads: any. Blocks: never before the deadline, then briefly. */
HF_API enum hf_state hf_lock_state(const struct hf_lock *lock);

/** Milliseconds until the deadline; 0 if LOST or RELEASED. A lock that was
 * handed over by another holder's release has at first a lease of at most 6 s
 * (etcd, Consul, ZooKeeper: 30 s); the first renewal, within an eighth of that,
 * extends it. hf_lock_extend() renews it now, and waits for the confirmation.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_lock_remaining_ms(const struct hf_lock *lock);

/** `user` of the request.
 * Owner: the caller. Threads: the lock's. Blocks: never. */
HF_API void *hf_lock_user(const struct hf_lock *lock);

/** The name, borrowed until release; its length in @p name_len unless NULL. A
 * NUL follows it.
 * Owner: the lock. Threads: the lock's. Blocks: never. */
HF_API const void *hf_lock_name(const struct hf_lock *lock, size_t *name_len);

/** How many names the request had: 1, or more.
 * Threads: the lock's. Blocks: never. */
HF_API size_t hf_lock_count(const struct hf_lock *lock);

/** The name at @p idx, in the order of the request: 0 is hf_lock_name(). NULL
 * beyond the last.
 * Owner: the lock. Threads: the lock's. Blocks: never. */
HF_API const void *hf_lock_name_at(const struct hf_lock *lock, size_t idx,
                                   size_t *name_len);

/** The fence of the name at @p idx: 0 is hf_lock_fence(). 0 beyond the last.
 * Threads: the lock's. Blocks: never. */
HF_API uint64_t hf_lock_fence_at(const struct hf_lock *lock, size_t idx);

/** The number of the permit of a semaphore: 0 .. permits - 1; -1 if it is none.
 * Each permit has fences of its own: guard writes under the name and this
 * number ("name#3").
 * Threads: the lock's. Blocks: never. */
HF_API int hf_lock_slot(const struct hf_lock *lock);

/** "OWNER@FENCE", for logs and for other processes; see hf_lock_detach(). For a
 * semaphore it is the owner of the shared hold of its name, as
 * hf_client_queue() reports it.
 * Threads: the lock's. Blocks: never. */
HF_API void hf_lock_owner(const struct hf_lock *lock,
                          char text[HF_OWNER_TEXT_MAX]);

/** The same for the name at @p idx; empty if there is none.
 * Threads: the lock's. Blocks: never. */
HF_API void hf_lock_owner_at(const struct hf_lock *lock, size_t idx,
                             char text[HF_OWNER_TEXT_MAX]);

/**
 * Renew now, and set the length of the lease.
 *
 * @param lock    A lock that is not LOST.
 * @param ttl_ms  The new lease, of later renewals too; 0 keeps the present one.
 * @param error   The reason of a failure, or NULL.
 *
 * @return HF_OK - a majority confirmed; HF_LOST; HF_UNAVAILABLE, HF_DENIED,
 *         HF_NO_MEMORY, HF_CANCELLED - not confirmed: the deadline stays, and
 *         a later renewal sets the ttl; HF_INVALID - also a ttl out of bounds.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_extend(struct hf_lock *lock, int64_t ttl_ms, struct hf_error *error);

/**
 * Add a process on which the lock depends: the embedded store frees the lock
 * only after this process, and all that were added, have ended. No effect with
 * HF_LIVENESS_LEASE, and on stores that do not watch processes.
 *
 * @param lock  The lock.
 * @param pid   A process, or the negative of a process group, as in kill(2).
 *
 * @return HF_OK; HF_LOST; HF_INVALID - no such process, or more than three;
 *         HF_UNAVAILABLE, HF_DENIED, HF_NO_MEMORY, HF_CANCELLED - the store
 *         did not confirm it, and may not have added the process.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 * Source: kill(2), for @p pid.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_add_process(struct hf_lock *lock,
                                                       int64_t pid);

/**
 * Detach a lock from this process, and write it as "OWNER@FENCE/TTL", where TTL
 * is the length of its lease in milliseconds. The text suffices to adopt,
 * extend and release the lock, and represents one holder: pass it to one
 * process only. Consumes the handle without releasing the lock. From this call
 * on this client does not renew the lock; only the end of its lease frees it.
 * Waits for nodes that have not replied yet, at most about node_timeout, so
 * that every node that is up has the lock, not only a bare majority.
 *
 * @return HF_OK; HF_LOST. With any other status the handle is still yours:
 *         HF_INVALID - @p text is NULL, or a forked child;
 *         HF_UNSUPPORTED - of several names or a semaphore; HF_UNAVAILABLE,
 *         HF_DENIED, HF_NO_MEMORY, HF_CANCELLED - a store that watches
 *         processes (the embedded one) did not confirm that the lock no longer
 *         depends on this process.
 *         @p text is empty unless HF_OK.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_detach(struct hf_lock *lock,
                                                  char text[HF_OWNER_TEXT_MAX]);

/**
 * Make a lock of the text of hf_lock_detach(). Adopt each text once: two
 * clients that adopt the same text are one holder to the store. Both are HELD,
 * with one fence. If one of them releases, a third client may acquire the lock
 * while the other is still HELD, at most until its next renewal. Adopting never
 * restores a lost lock. The text stays valid, and refers to the adopted lock.
 *
 * @param client    The client.
 * @param request   Name, liveness, user, the mode that the lock has (which is
 *                  not checked), and ttl_ms: 0 keeps the TTL of the text.
 * @param owner     "OWNER@FENCE/TTL" as hf_lock_detach() wrote it. The TTL may
 *                  be missing, as in texts of version 0.1.0.
 * @param out       The lock.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK - a majority confirmed that it is still held; HF_LOST;
 *         HF_UNAVAILABLE, HF_QUARANTINED - no majority replied; HF_DENIED;
 *         HF_CONFIG; HF_INVALID - malformed owner or request; HF_UNSUPPORTED -
 *         several names or a semaphore, or a request of a later version;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_adopt(struct hf_client *client, const struct hf_request *request,
              const char *owner, struct hf_lock **out, struct hf_error *error);

/**
 * Release a detached lock without adopting it first.
 *
 * @return HF_OK; HF_LOST - that owner had lost it; HF_UNKNOWN - not confirmed:
 *         the end of the lease frees it at the latest; HF_UNAVAILABLE,
 *         HF_QUARANTINED - no node replied; HF_DENIED; HF_CONFIG; HF_INVALID -
 *         also a malformed owner; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_owner_release(struct hf_client *client, const void *name, size_t name_len,
                 const char *owner, struct hf_error *error);

/* ---- Events and event loops -------------------------------------------- */

/**
 * The next change of a lock's state that was not fetched yet. If a lock changed
 * twice since then, it is reported once, with its latest state.
 *
 * @param client  The client.
 * @param state   Set to the new state, unless NULL or there is no change.
 *
 * @return The lock; NULL if nothing has changed.
 *
 * Owner: unchanged, the caller that acquired it. Threads: any. Blocks: briefly.
 */
HF_API struct hf_lock *hf_client_next_event(struct hf_client *client,
                                            enum hf_state *state);

/**
 * One descriptor for any event loop: readable when hf_client_process() has work
 * to do, timers included. Owned by the client. The first call creates it, and
 * fails if the process cannot open three more descriptors.
 *
 * @return The descriptor; -1 with errno (EMFILE), and nothing has changed.
 *
 * Threads: any. Blocks: briefly. The descriptor is one of epoll(7).
 */
HF_API int hf_client_fd(struct hf_client *client);

/**
 * Process all pending events: read replies, renew leases, call callbacks. Does
 * nothing in a callback of hf_op_*(), and while another thread is in it.
 *
 * Threads: any. Callbacks of hf_op_*() run only in this function and in
 * hf_client_close(). Blocks: briefly, unless a callback does.
 */
HF_API void hf_client_process(struct hf_client *client);

/**
 * The callback at the end of an operation. It may call any function, also one
 * that blocks, and start and cancel other operations.
 *
 * @param user    As passed at the start.
 * @param lock    The lock, yours, if @p status is HF_OK and it was an
 *                acquisition; else NULL.
 * @param status  As hf_lock_acquire() or hf_lock_release() would return;
 *                HF_CANCELLED from hf_client_close().
 * @param error   Details, borrowed for the call; never NULL.
 *
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may.
 */
typedef void hf_op_fn(void *user, struct hf_lock *lock, enum hf_status status,
                      const struct hf_error *error);

/**
 * Start an acquisition; @p done is called exactly once, from
 * hf_client_process() or hf_client_close(), unless hf_op_cancel() came first.
 *
 * @param client   The client.
 * @param request  Copied, name and label too.
 * @param done     Called with the result.
 * @param user     Passed to @p done.
 * @param out      The operation, for hf_op_cancel() until @p done was called.
 *                 May be NULL.
 * @param error    The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_UNSUPPORTED - shared, in a store
 *         without it, or a request of a later version; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_acquire(struct hf_client *client, const struct hf_request *request,
                    hf_op_fn *done, void *user, struct hf_op **out,
                    struct hf_error *error);

/**
 * Start a release. Consumes @p lock at once.
 *
 * @param lock  The lock.
 * @param done  Called with the result in hf_client_process(), or NULL. It gets
 *              HF_UNKNOWN where hf_lock_release() returns HF_DENIED.
 * @param user  Passed to @p done.
 *
 * Threads: the lock's. Blocks: briefly.
 */
HF_API void hf_op_start_release(struct hf_lock *lock, hf_op_fn *done,
                                void *user);

/**
 * Start hf_lock_release_reserved(). Consumes @p lock at once if it returns
 * HF_OK; with any other status the lock is still yours.
 *
 * @return HF_OK; HF_INVALID - @p reserve_ms out of its bounds, a read lock, no
 *         lock or callback, a forked child or a client that is being closed;
 *         HF_UNSUPPORTED - as above; HF_NO_MEMORY.
 *
 * Threads: the lock's. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_release_reserved(struct hf_lock *lock, int64_t reserve_ms,
                             hf_op_fn *done, void *user);

/**
 * Start hf_lock_adopt(); @p done gets the lock. Request and @p owner are
 * copied.
 *
 * @return HF_OK - started; HF_INVALID - also a malformed owner; HF_UNSUPPORTED
 *         - several names or a semaphore, or a request of a later version;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_adopt(struct hf_client *client, const struct hf_request *request,
                  const char *owner, hf_op_fn *done, void *user,
                  struct hf_op **out, struct hf_error *error);

/**
 * Start hf_lock_extend(); @p done gets its status, and no lock: the lock stays
 * yours.
 *
 * While this operation, or hf_op_start_detach(), is in progress on a lock,
 * another one on it, hf_lock_extend(), hf_lock_detach() and
 * hf_lock_add_process() return HF_INVALID. Releasing the lock ends the
 * operation with HF_CANCELLED.
 *
 * @return HF_OK - started; HF_LOST; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: the lock's. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_extend(struct hf_lock *lock, int64_t ttl_ms, hf_op_fn *done,
                   void *user, struct hf_op **out, struct hf_error *error);

/**
 * The callback at the end of hf_op_start_detach(). @p text is as
 * hf_lock_detach() writes it, borrowed for the call; NULL unless @p status is
 * HF_OK. HF_OK, HF_LOST: the lock is consumed; else it is still yours, unless
 * you released it or the client is being closed.
 *
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may.
 */
typedef void hf_text_fn(void *user, const char *text, enum hf_status status,
                        const struct hf_error *error);

/**
 * Start hf_lock_detach(). The lock is yours, and renewed, until right before
 * @p done is called; see hf_op_start_extend().
 *
 * @return HF_OK - started; HF_UNSUPPORTED - of several names or a semaphore;
 *         HF_INVALID; HF_CANCELLED; HF_NO_MEMORY. The lock is still yours.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: the lock's. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_detach(struct hf_lock *lock, hf_text_fn *done, void *user,
                   struct hf_op **out, struct hf_error *error);

/** Cancel an operation: none of its callbacks is called any more. An
 * acquisition is undone, and leaves its queue at once; a lock that is extended
 * or detached stays yours; a break returns the name in the background; a
 * release continues. Any callback may call this, also one that gets the results
 * of the operation, but not the `done` of this operation. NULL is fine.
 * Threads: any, but not concurrently with the `done` of this operation.
 * Blocks: briefly.
 */
HF_API void hf_op_cancel(struct hf_op *op);

struct hf_waiting;

/** The progress of an acquisition, according to the last replies; sends no
 * request. Free @p out with hf_waiting_free(). @return false: it does not wait
 * in a queue, or out of memory.
 * Owner: the caller. Threads: any, but not concurrently with the `done` of this
 * operation. Blocks: briefly. */
HF_API HF_NODISCARD bool hf_op_waiting(struct hf_op *op,
                                       struct hf_waiting **out);

/* ---- Values ------------------------------------------------------------ */

/** Longest value in bytes: 256 KiB. A value is any bytes, or empty. Renewals
 * share the connection, and wait while a value is being sent. */
#define HF_VALUE_MAX 262144

/** For hf_value_put(): write whatever the present version is, or if none. */
#define HF_VERSION_ANY UINT64_MAX

/** A value and its version, as hf_value_get() read it. */
struct hf_value;

/** Its version; 0: there is no value.
 * Threads: any. Blocks: never. */
HF_API uint64_t hf_value_version(const struct hf_value *value);

/** Its bytes; a NUL follows them. NULL if there is no value.
 * Owner: @p value. Threads: any. Blocks: never. */
HF_API const void *hf_value_data(const struct hf_value *value, size_t *len);

/** Free it. NULL is fine.
 * Threads: any, once. Blocks: never. */
HF_API void hf_value_free(struct hf_value *value);

/**
 * Read the value of @p name. A name may have a value, a lock, or both: neither
 * affects the other.
 *
 * @param client    The client, of a store with one node.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param out       The value; with version 0 if there is none.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK - also if there is none; HF_UNAVAILABLE - no reply, or the
 *         server's error; HF_DENIED; HF_CONFIG; HF_INVALID; HF_UNSUPPORTED -
 *         this store keeps no values, e.g. since it has several servers;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_get(struct hf_client *client, const void *name, size_t name_len,
             struct hf_value **out, struct hf_error *error);

/**
 * Write the value of @p name if it has the expected version: compare-and-set.
 * Each write gets a version that is greater than all earlier versions of the
 * name, also if the value was deleted in between.
 *
 * If a reply is lost, the request is sent again with the same random id, so the
 * node executes it once. If another write has replaced the value by then, the
 * client cannot determine whether this write was executed before it, and
 * returns HF_UNKNOWN. With version 0 or HF_VERSION_ANY the request is not sent
 * again: the client only reads the value, and after HF_UNKNOWN the node may
 * still execute the write.
 *
 * @param client      The client, of a store with one node.
 * @param name        Borrowed for the call, as @p data.
 * @param name_len    In bytes.
 * @param data        The new value. NULL: delete it.
 * @param len         In bytes, at most HF_VALUE_MAX.
 * @param if_version  The version that the value must have; 0: there must be no
 *                    value; or HF_VERSION_ANY.
 * @param version     Set to the new version, 0 after a deletion; on HF_BUSY to
 *                    the present version, else to 0. Or NULL.
 * @param error       The reason of a failure, or NULL.
 *
 * @return HF_OK - written; HF_BUSY - it has another version: nothing was
 *         written; HF_UNKNOWN - it may have been written, or still be;
 *         HF_UNAVAILABLE, HF_DENIED, HF_CONFIG - nothing was written;
 *         HF_INVALID; HF_UNSUPPORTED - no values here; HF_CANCELLED,
 *         HF_NO_MEMORY - it may have been written.
 *
 * Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_put(struct hf_client *client, const void *name, size_t name_len,
             const void *data, size_t len, uint64_t if_version,
             uint64_t *version, struct hf_error *error);

/**
 * The callback of hf_value_update(), which computes a new value from the
 * present one. It is called again if another client has written the value in
 * between, so it must have no other effect.
 *
 * @param user   As passed.
 * @param value  The present value. Borrowed for the call.
 * @param data   Set it to the new value; NULL, as it is at first: delete it.
 *               Borrowed until the next call, or the end of hf_value_update().
 * @param len    Set it to the length of the new value.
 *
 * @return HF_OK to write it; any other status ends hf_value_update() with it,
 *         and nothing is written.
 *
 * Threads: the caller's of hf_value_update(), without a mutex of the library.
 * Blocks: may.
 * Owner: the callee, of @p data.
 */
typedef enum hf_status hf_value_change_fn(void *user,
                                          const struct hf_value *value,
                                          const void **data, size_t *len);

/**
 * Read a value, change it, and write it if no other client has written it in
 * between; else retry, after a random pause that grows with each retry. So no
 * update is lost, without a lock.
 *
 * @param client    The client, of a store with one node.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param wait_ms   No retry begins after this time; 0: no retry;
 *                  HF_WAIT_FOREVER.
 * @param change    Computes the new value.
 * @param user      Passed to it.
 * @param version   Set to the new version, 0 after a deletion or a failure. Or
 *                  NULL.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_BUSY - other clients wrote it during each try; HF_UNKNOWN -
 *         it may have been written, and is not retried; HF_UNAVAILABLE,
 *         HF_DENIED; HF_CONFIG; HF_INVALID;
 *         HF_UNSUPPORTED - this store keeps no values;
 *         HF_CANCELLED, HF_NO_MEMORY - it may have been written; or the status
 *         that @p change returned.
 *
 * Threads: any number at once. Blocks: 10 s for each try, and as long as
 * @p change does; no new try begins after wait_ms.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_update(struct hf_client *client, const void *name, size_t name_len,
                int64_t wait_ms, hf_value_change_fn *change, void *user,
                uint64_t *version, struct hf_error *error);

/* ---- Inspecting, breaking, administration ------------------------------- */

/** The kind of a name's holder. Later versions may add kinds. */
enum hf_kind {
    HF_HOLDER_NONE,
    HF_HOLDER_HOLDFAST, /**< a Holdfast client */
    HF_HOLDER_ENDED,    /**< released, but reserved (`--min-hold`); or free,
                             with a mark of hf_lock_mark() (`--once`) */
    HF_HOLDER_FOREIGN,  /**< a plain key of another library */
    HF_HOLDER_TYPE,     /**< a key of a foreign type, e.g. Redisson's hash */
    HF_HOLDER_SHARED    /**< several Holdfast clients together */
};

/** One holder, as a node or a majority reports it. */
struct hf_holder;

/** The kind of the holder.
 * Threads: any. Blocks: never. */
HF_API enum hf_kind hf_holder_kind(const struct hf_holder *holder);

/** The owner as stored, printable; cut to HF_OWNER_TEXT_MAX.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_owner(const struct hf_holder *holder);

/** Its host; empty for foreign holders.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_host(const struct hf_holder *holder);

/** Its process; 0 for foreign holders.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_pid(const struct hf_holder *holder);

/** Unix time of the grant, up to 4.2 s early; for a waiter or a sharer, of its
 * attempt; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_since_s(const struct hf_holder *holder);

/** Its label; empty if it has none.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_label(const struct hf_holder *holder);

/** The rest of its lease; -1: a key without expiry.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_remaining_ms(const struct hf_holder *holder);

/** Its fence; of sharers, that of one; of a free name, the last; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API uint64_t hf_holder_fence(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: the number of holders; else 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_sharers(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: the size of the semaphore; 0: readers.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_permits(const struct hf_holder *holder);

/** The state of one waiter; see hf_op_waiting(). */
struct hf_waiting;

/** The present holder; its kind is HF_HOLDER_NONE if no node reported one.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_waiting_holder(const struct hf_waiting *waiting);

/** The number of waiters before it. On etcd, Consul and ZooKeeper it and the
 * holder are up to 10 s old; on etcd and Consul up to 40 s behind 500.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_waiting_ahead(const struct hf_waiting *waiting);

/** The name for which it waits; its length in @p name_len unless NULL. A NUL
 * follows it.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const void *hf_waiting_name(const struct hf_waiting *waiting,
                                   size_t *name_len);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_waiting_free(struct hf_waiting *waiting);

/** The state of a name at each node, and at the majority. */
struct hf_info;

/** The holder at a majority; its kind is HF_HOLDER_NONE if free or split.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_holder(const struct hf_info *info);

/** Whether it is held, but no holder has a majority.
 * Threads: any. Blocks: never. */
HF_API bool hf_info_is_split(const struct hf_info *info);

/** The largest number of waiters at one node.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_waiting(const struct hf_info *info);

/** Number of nodes of the store.
 * Threads: any. Blocks: never. */
HF_API int hf_info_nodes(const struct hf_info *info);

/** Whether node @p idx replied.
 * Threads: any. Blocks: never. */
HF_API bool hf_info_node_answered(const struct hf_info *info, int idx);

/** The holder at node @p idx.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_node_holder(const struct hf_info *info,
                                                   int idx);

/** The number of waiters at node @p idx.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_node_waiting(const struct hf_info *info, int idx);

/** Free the result of hf_client_inspect(). NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_info_free(struct hf_info *info);

/** Read the holder of @p name. Free @p out with hf_info_free().
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the caller. Threads: any. Blocks: 0.9 s. */
HF_API HF_NODISCARD enum hf_status
hf_client_inspect(struct hf_client *client, const void *name, size_t name_len,
                  struct hf_info **out, struct hf_error *error);

/** The callback at the end of hf_op_start_inspect(). @p info is yours, for
 * hf_info_free(), if @p status is HF_OK; else NULL. @p error is borrowed for
 * the call.
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may. */
typedef void hf_info_fn(void *user, struct hf_info *info, enum hf_status status,
                        const struct hf_error *error);

/** Start hf_client_inspect(). @p name is copied. @return HF_OK - started;
 * HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_op_start_inspect(struct hf_client *client, const void *name, size_t name_len,
                    hf_info_fn *done, void *user, struct hf_op **out,
                    struct hf_error *error);

/** A holder of a name, or a waiter for it, at one node. */
struct hf_queue_entry;

/** The index of the node.
 * Threads: any. Blocks: never. */
HF_API int hf_queue_entry_node(const struct hf_queue_entry *entry);

/** true: a waiter; false: a holder.
 * Threads: any. Blocks: never. */
HF_API bool hf_queue_entry_is_waiting(const struct hf_queue_entry *entry);

/** The mode that it requests, or holds.
 * Threads: any. Blocks: never. */
HF_API enum hf_mode hf_queue_entry_mode(const struct hf_queue_entry *entry);

/** Size of the semaphore, or 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_queue_entry_permits(const struct hf_queue_entry *entry);

/** The client. hf_holder_remaining_ms() is the rest of the lease; of a waiter,
 * the rest of its place in the queue, which each heartbeat renews.
 * Owner: @p entry. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_queue_entry_holder(const struct hf_queue_entry *entry);

/** For a waiter: the Unix time of its ticket in milliseconds; else 0.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_queue_entry_since_ms(const struct hf_queue_entry *entry);

/**
 * The callback for one entry of hf_client_queue().
 *
 * @param user   As passed.
 * @param entry  Borrowed for the call.
 *
 * @return false to stop.
 *
 * Threads: the caller's of hf_client_queue(); of hf_op_start_queue(), one in
 * hf_client_process(). Without a mutex of the library. Blocks: may.
 */
typedef bool hf_queue_fn(void *user, const struct hf_queue_entry *entry);

/**
 * List the holders and the waiters of @p name, in order: node by node, holders
 * first. At most 1,000 of each at each node.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_queue(struct hf_client *client, const void *name, size_t name_len,
                hf_queue_fn *each, void *user, struct hf_error *error);

/** Start hf_client_queue(): hf_client_process() calls @p each for the entries,
 * and then @p done, without a lock. Both get @p user. @p name is copied.
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_op_start_queue(struct hf_client *client, const void *name, size_t name_len,
                  hf_queue_fn *each, hf_op_fn *done, void *user,
                  struct hf_op **out, struct hf_error *error);

/**
 * The callback for one name that is held.
 *
 * @param user      As passed.
 * @param name      Borrowed for the call.
 * @param name_len  Bytes.
 * @param info      Borrowed for the call.
 *
 * @return false to stop the listing.
 *
 * Threads: the caller's of hf_client_list(); of hf_op_start_list(), one in
 * hf_client_process(). Without a mutex of the library. Blocks: may.
 */
typedef bool hf_list_fn(void *user, const void *name, size_t name_len,
                        const struct hf_info *info);

/**
 * List the names that are held, sorted by bytes.
 *
 * @param client   The client.
 * @param pattern  Glob (`*`, `?`, `[a-z]`, `\` escapes) up to 2 KiB; NULL: all.
 * @param each     Called for each name.
 * @param user     Passed to @p each.
 * @param error    The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s for each page of names without a reply.
 * Source: redis.io, SCAN, for @p pattern.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_list(struct hf_client *client, const char *pattern, hf_list_fn *each,
               void *user, struct hf_error *error);

/** Start hf_client_list(): hf_client_process() calls @p each for the names, up
 * to 32 in each call, and at the end @p done, without a lock. Both get @p user.
 * @p pattern is copied. @return HF_OK - started; HF_INVALID;
 * HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_op_start_list(struct hf_client *client, const char *pattern,
                 hf_list_fn *each, hf_op_fn *done, void *user,
                 struct hf_op **out, struct hf_error *error);

/**
 * Take a name from its holder. Its fence increases, so that a guarded store
 * rejects the old holder; the holder detects the break at its next renewal. A
 * name that was released and is only reserved is freed at once, and a mark of
 * hf_lock_mark() is withdrawn.
 *
 * A call that fails since it was interrupted, or since there is no majority,
 * returns the name to its holder at the nodes that replied: to an exclusive
 * holder, not to sharers. A holder whose renewal was refused in between has
 * lost the lock.
 *
 * @param client    The client.
 * @param name      The name. Borrowed for the call.
 * @param name_len  Bytes.
 * @param now       false: the name stays taken until the holder's lease must
 *                  have expired, and the call waits for that: at most max_ttl,
 *                  or for the expiry of a foreign key. true: free at once.
 * @param held_until_ms  NULL, or set to the milliseconds from the return for
 *                  which the old holder may be HELD; 0: none; -1: unknown.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK - free now; HF_BUSY - @p now is false and the holder is a
 *         foreign key without expiry; HF_UNKNOWN - the name becomes free, but
 *         no majority confirmed it; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         majority replied; HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s; without @p now also until
 * the holder's lease has expired.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break(struct hf_client *client, const void *name, size_t name_len,
                bool now, int64_t *held_until_ms, struct hf_error *error);

/**
 * The callback before a break waits for the end of a lease; called once.
 *
 * @param user     As passed.
 * @param holder   The holder with the longest lease; borrowed for the call. Its
 *                 kind is HF_HOLDER_NONE if a server in quarantine may have
 *                 lost it.
 * @param wait_ms  The longest time until the name is free.
 *
 * @return false to cancel: the name is returned to its holder, and the break
 *         returns HF_BUSY.
 *
 * Threads: that of hf_client_break_wait(), or one in hf_client_process().
 * Without a mutex of the library. Blocks: may.
 */
typedef bool hf_break_fn(void *user, const struct hf_holder *holder,
                         int64_t wait_ms);

/**
 * hf_client_break() with @p now false, and a callback before the wait. @p
 * may_wait is called in this thread, without a mutex of the library. It may
 * call any function; hf_client_close() takes effect when it has returned.
 *
 * @return As hf_client_break(); HF_BUSY - also if @p may_wait returned false.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s, and until the holder's
 * lease has expired.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break_wait(struct hf_client *client, const void *name,
                     size_t name_len, hf_break_fn *may_wait, void *user,
                     struct hf_error *error);

/** The callback at the end of hf_op_start_break(). @p held_until_ms and @p
 * status are as in hf_client_break(). @p error is borrowed for the call.
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may. */
typedef void hf_broken_fn(void *user, int64_t held_until_ms,
                          enum hf_status status, const struct hf_error *error);

/**
 * Start hf_client_break(), or hf_client_break_wait(). It continues in
 * hf_client_process(), which also calls @p may_wait; that may call any
 * function. The name is freed, or returned, before @p done is called. If the
 * operation was cancelled, or the client is being closed, the name is returned
 * in the background, or freed if the lease has expired.
 *
 * @param client    The client.
 * @param name      The name. Copied.
 * @param name_len  Bytes.
 * @param now       true: free it at once, without calling @p may_wait.
 * @param may_wait  As in hf_client_break_wait(). NULL: wait.
 * @param done      Called with the result.
 * @param user      Passed to both.
 * @param out       For hf_op_cancel(), or NULL.
 * @param error     The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_break(struct hf_client *client, const void *name, size_t name_len,
                  bool now, hf_break_fn *may_wait, hf_broken_fn *done,
                  void *user, struct hf_op **out, struct hf_error *error);

/** The longest lease that the store allows: `max_ttl` of its URL, or 60,000.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_client_max_ttl_ms(const struct hf_client *client);

/** Number of nodes of the store; 1 for the embedded one.
 * Threads: any. Blocks: never. */
HF_API int hf_client_nodes(const struct hf_client *client);

/** Whether a node can vote now. */
enum hf_health {
    HF_NODE_CONNECTING,
    HF_NODE_UP,
    HF_NODE_QUARANTINED, /**< connected, but may have lost locks */
    HF_NODE_DOWN
};

/** One node of a store. */
struct hf_node;

/** Its address, without password.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_address(const struct hf_node *node);

/** Whether it can vote.
 * Threads: any. Blocks: never. */
HF_API enum hf_health hf_node_health(const struct hf_node *node);

/** Why it is not HF_NODE_UP, or why its last request failed; else empty.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_reason(const struct hf_node *node);

/** The rest of its quarantine; 0 if it is not in quarantine.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_quarantine_left_ms(const struct hf_node *node);

/** Smoothed round trip in microseconds; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_rtt_us(const struct hf_node *node);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_node_free(struct hf_node *node);

/** The present state of node @p idx; sends no request. Free @p out with
 * hf_node_free().
 * @return HF_OK; HF_INVALID - no such node;
 * HF_NO_MEMORY.
 * Owner: the caller. Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_client_node(struct hf_client *client, int idx, struct hf_node **out);

/** The severity of a finding. */
enum hf_severity { HF_FINDING_OK, HF_FINDING_WARNING, HF_FINDING_ERROR };

/** One finding about a store. */
struct hf_finding;

/** Its severity.
 * Threads: any. Blocks: never. */
HF_API enum hf_severity hf_finding_severity(const struct hf_finding *finding);

/** The index of the node concerned, or -1.
 * Threads: any. Blocks: never. */
HF_API int hf_finding_node(const struct hf_finding *finding);

/** The finding, and its remedy.
 * Owner: @p finding. Threads: any. Blocks: never. */
HF_API const char *hf_finding_text(const struct hf_finding *finding);

/**
 * The callback for one finding of hf_client_diagnose(), hf_client_init_nodes()
 * or hf_client_quarantine_node().
 *
 * @param user     As passed.
 * @param finding  Borrowed for the call.
 *
 * Threads: the caller's, without a mutex of the library. Blocks: may.
 */
typedef void hf_finding_fn(void *user, const struct hf_finding *finding);

/**
 * Check whether this deployment is fit for locks. Reports every finding with
 * its remedy. The last one is about all nodes: "2 of 3 servers count, 2 are
 * needed". It is an error if no lock could be acquired; then a node that cannot
 * be reached is an error, too.
 *
 * @return HF_OK - see the findings; HF_INVALID - also without a callback;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 5 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_diagnose(struct hf_client *client, hf_finding_fn *each, void *user,
                   struct hf_error *error);

/** For hf_client_init_nodes(): declare the nodes despite findings. */
enum { HF_INIT_FORCE = 1 };

/**
 * Declare that the servers hold no locks that matter (new servers, or all
 * clients are stopped): ends their quarantine, and makes this client's
 * max_ttl, fence_keep, number of nodes and, if it is larger, fence_base the
 * store's. A node that votes already does not change.
 *
 * First all nodes are examined. Nothing is declared if any of them has a holder
 * or a waiter, of any client that uses the same server and database, or belongs
 * to a store with other settings, or cannot be examined. A holder whose lock
 * all nodes have lost is visible only after its next renewal, so this check is
 * no proof: the caller is responsible for the declaration. If it is wrong, the
 * lock of a live holder may be granted twice.
 *
 * @param client  The client.
 * @param flags   0, or HF_INIT_FORCE: report the findings, and declare the
 *                nodes that can be reached.
 * @param each    Called for each finding and each declaration; or NULL.
 * @param user    Passed to @p each.
 * @param error   The reason of a failure, node by node, or NULL.
 *
 * @return HF_OK - every node votes. Without HF_INIT_FORCE nothing was
 *         declared after: HF_BUSY - a holder or a waiter; HF_CONFIG - a store
 *         with other settings; HF_UNAVAILABLE, HF_DENIED - a node cannot be
 *         examined. With it HF_UNAVAILABLE names the nodes not declared.
 *         HF_INVALID - also unknown flags; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 25 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_init_nodes(struct hf_client *client, uint32_t flags,
                     hf_finding_fn *each, void *user, struct hf_error *error);

/**
 * Declare that node @p idx has lost data undetected: it was restored from a
 * backup or a snapshot, or its clock ran far ahead. It has no vote until a
 * host has watched it for max_ttl. In a store of several nodes, counters that
 * its clock has raised beyond the bound of the others are set back, if a
 * majority of the nodes shows that no fence is greater.
 *
 * All clients detect it at their next request. Earlier votes of the node are
 * void.
 *
 * @param client  The client.
 * @param idx     The node.
 * @param each    Called for each change; or NULL.
 * @param user    Passed to @p each.
 * @param error   The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_CONFIG - quarantine=off in the URL, or the kind of the
 * node; HF_UNSUPPORTED - the embedded store; HF_UNAVAILABLE, HF_DENIED - the
 *         node cannot be changed; HF_INVALID - also no such node; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 75 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_quarantine_node(struct hf_client *client, int idx,
                          hf_finding_fn *each, void *user,
                          struct hf_error *error);

/** The URL of the store without its password, as the client understood it:
 * for messages.
 * Owner: the client. Threads: any. Blocks: never. */
HF_API const char *hf_client_url(const struct hf_client *client);

#ifdef __cplusplus
}
#endif
#endif
