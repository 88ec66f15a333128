/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Holdfast: distributed locks that hold.
 *
 * A lock is a name that one owner at a time holds for a bounded time, its
 * lease. The library renews the lease until you release it, tells you when it
 * can no longer be kept, and gives every acquisition a fence: a number that
 * only ever rises, for the store that you protect to refuse stale writers.
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
 * - Structs that you fill begin with `size` and are set up by their init
 *   function, which is inline so that `size` is the one that your program was
 *   compiled with. A later library may know more members; it takes those that
 *   your struct lacks for zero.
 * - Structs that the library fills are opaque and are read with functions:
 *   hf_holder_host(holder). Texts and structs that these return belong to the
 *   struct that was asked. They take NULL, and answer as for one without
 *   content.
 * - A plain return is borrowed, a `**out` is yours; on failure nothing changes
 *   hands and `*out` is NULL. `error` may be NULL.
 * - A handle is not bound to a thread. One client may be
 *   used from many threads at once; one lock by one thread at a time, but for
 *   hf_lock_valid_for(), hf_lock_state(), hf_lock_remaining_ms() and
 *   hf_lock_fence(), which any thread may call until the lock is released.
 * - After fork() the child's use of a client or lock is HF_INVALID, and its
 *   hf_client_close() frees memory without touching the wire.
 * - `@return` lists every status that a function returns. HF_INVALID is also
 *   that of a missing client or lock, of a forked child and of a client that
 *   is being closed; HF_CANCELLED comes from a cancel token, from
 *   hf_client_interrupt() and from a callback that closes the client;
 *   HF_NO_MEMORY from a failed allocation.
 * - A time's unit ends its name: _ms, _us, _s. Times are measured on
 *   CLOCK_BOOTTIME, which counts the time in which the machine was suspended.
 *   Lengths are bytes.
 *
 * Each function says:
 * - Owner: of what it returns, or writes to a `**`.
 * - Threads: which may call it. "the lock's": one at a time, as above.
 * - Blocks: how long it may wait for nodes, where node_timeout is 50 ms unless
 *   the URL names another; a cancel token ends that, but of what gives back.
 *   "briefly": for the client's mutex, which is never held while a node is
 *   waited for. On the embedded store also for a transaction: some
 *   microseconds, or one node_timeout if a stopped process is in the store. A
 *   callback that runs in the call takes its own time.
 *   "never": for nothing, not even a mutex.
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

/** What a caller can do about a status. */
enum hf_class {
    HF_CLASS_OUTCOME, /**< no error: the operation has ended like this */
    HF_CLASS_RETRY,   /**< the same call may succeed later, unchanged */
    HF_CLASS_CONFIG,  /**< it fails until URL, rights or server are changed */
    HF_CLASS_CALLER,  /**< the calling program is wrong; nothing was done */
    HF_CLASS_FATAL    /**< this process cannot go on as it is */
};

/** Every status: symbol, class, text. The order is ABI: append only. */
#define HF_STATUS_MAP(X) X(HF_OK, HF_CLASS_OUTCOME, "ok") HF_FAILURE_MAP(X)

/** Those that are not HF_OK. */
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

/** What came of a call. HF_OK is 0. */
enum hf_status {
#define HF_STATUS_ENUM(symbol, class_of, text) , symbol
    HF_OK HF_FAILURE_MAP(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
};

/** Why a call did not succeed. Caller-owned, never allocated. Its layout is
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
 * operation may have been done, so that HF_CLASS_RETRY promises only that
 * another call is allowed, not that the first one did nothing.
 * Threads: any. Blocks: never. */
HF_API enum hf_class hf_status_class(enum hf_status status);

/** The library's version, e.g. "0.2.0".
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_version(void);

/** Would rediss:// work here? Loads the TLS module, which may not be installed.
 * Threads: any. Blocks: on the disk, at the first call. */
HF_API bool hf_has_tls(void);

/* ---- Client ------------------------------------------------------------ */

/** Longest lock name in bytes. Names are any bytes, at least one. A path or a
 * URL fits, and a copy of a name fits on the stack. */
#define HF_NAME_MAX 1024

/** Most nodes a store may have. Nine outlive four failures; past that the
 * slowest reply, not safety, decides. */
#define HF_NODES_MAX 9

/** Room for an owner with its fence as text ("OWNER@FENCE"), with the NUL: 448
 * bytes of owner, 16 digits of fence, and the ttl that hf_lock_detach() adds.
 */
#define HF_OWNER_TEXT_MAX 512

/** Most names in one request. While it waits for one name it holds those that
 * sort before, so requests for many names mostly delay each other. */
#define HF_NAMES_MAX 64

/** Most permits of a semaphore. Each is a lock of its own, and a
 * waiter waits for all of them: past some hundreds that is no longer cheap. */
#define HF_PERMITS_MAX 256

struct hf_client;
struct hf_lock;
struct hf_op;
struct hf_cancel;

/** Which thread runs the client between your calls. */
enum hf_thread_mode {
    HF_THREAD_AUTO, /**< the library starts a thread when there is something
                         to renew; it blocks all signals */
    HF_THREAD_NONE  /**< nothing happens outside your calls: run the client
                         with hf_client_fd() and hf_client_process() */
};

/** State of a lock as its owner sees it. LOST and RELEASED are final. */
enum hf_state {
    HF_STATE_HELD,    /**< confirmed lately */
    HF_STATE_AT_RISK, /**< not confirmed lately, deadline still ahead */
    HF_STATE_LOST,    /**< deadline passed, or a majority said so */
    HF_STATE_RELEASED
};

/** Severity of a log line. */
enum hf_log_level {
    HF_LOG_ERROR, /**< a lock is lost, with the reason */
    HF_LOG_WARN,  /**< a lock is at risk, a node was lost or is in quarantine,
                       something could not be confirmed */
    HF_LOG_INFO,  /**< the story of each lock: asked for, waiting for which
                       owner, tried again, held, renewed late, released; nodes
                       that connect, or count again */
    HF_LOG_DEBUG  /**< each request to a node, and each answer; retries for the
                       reason that HF_LOG_INFO had in the last 10 s */
};

/**
 * Told what goes on inside, in lines that begin with the name of a lock or the
 * address of a node. Must not call back into the library.
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
 * Told of each change of a held lock's state, one after another; of two changes
 * that come before it can be told, only the latter. It may call anything,
 * hf_lock_release() too, but while it runs nothing is renewed, unless a call
 * waits: be quick. None begins once the lock was given back, or handed on. That
 * does not wait for one that has begun: it may end later, and until then it may
 * ask for name and user of the lock.
 *
 * @param user   `state_user` of the options.
 * @param lock   The lock, borrowed for the call.
 * @param state  Its new state: HELD (again), AT_RISK or LOST.
 *
 * Threads: the library's thread; with HF_THREAD_NONE one that is inside a call
 * on the client. Without any mutex of the library. Blocks: may; be quick.
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
 * Log in with these, from inside a hf_login_fn.
 *
 * @param login     The callback's.
 * @param user      An ACL user, or NULL: the user that the URL names for this
 *                  node, else the server's default user.
 * @param password  Its password or token. The library copies both and wipes its
 *                  copies once the server has answered. NULL: none.
 *
 * Threads: the callback's. Blocks: never.
 */
HF_API void hf_login_set(struct hf_login *login, const char *user,
                         const char *password);

/**
 * Asked for credentials each time that the client logs in to a server: at every
 * connection (two for each node while something waits for a lock), and again if
 * the server asks for it. So a password that rotates is needed no earlier than
 * the next connection. It calls hf_login_set(). If it does not, the connection
 * fails: the node is down with HF_DENIED, and is tried again, and the callback
 * called again, within 2 s.
 *
 * @param user   `login_user` of the options.
 * @param login  Borrowed for the call.
 *
 * Threads: any that is in a call on the client, or the library's; never two at
 * once for one client. It must not call the library but for hf_login_*().
 * Blocks: must not. While it runs nothing is renewed, other calls on the client
 * wait, and connect_timeout (1 s) runs. Return what is in memory, and fetch new
 * credentials in a thread of your own.
 */
typedef void hf_login_fn(void *user, struct hf_login *login);

/** How to open a client. Set up by hf_client_options_init(). */
struct hf_client_options {
    size_t size;
    enum hf_thread_mode thread; /**< HF_THREAD_AUTO */
    const char *password;       /**< instead of one in the URL, or NULL */
    hf_log_fn *log;             /**< NULL: silent */
    void *log_user;
    hf_state_fn *on_state; /**< NULL: ask, or use hf_client_next_event() */
    void *state_user;
    bool is_for_setup; /**< open also an embedded store that is not set up, or
                            whose files are wrong, so that hf_client_diagnose()
                            and hf_client_init_nodes() work; other calls fail */

    /** Supplies the credentials for servers, instead of any password here and
     * in the URL. NULL: those. The embedded store needs none. */
    hf_login_fn *login;
    void *login_user;
    struct hf_cancel *cancel; /**< ends every call on the client; or NULL.
                                   Borrowed until hf_client_close() */
};

/** Fill the first @p size bytes of @p options with the defaults: for other
 * languages. @p size is what the caller knows as the size of the struct.
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
 * Open a store. Returns at once: connecting goes on during the first calls.
 *
 *     local:                                this user, on this machine
 *     local:///dir                          this machine, in that folder
 *     redis://[user:password@]host[:port][/db]
 *     rediss://...                          with TLS; valkey, valkeys alike
 *     redis+unix:///path
 *     redis://a,b,c                         a majority of 1, 3, 5, 7 or 9; or
 *     redis://a redis://b redis://c         whole URLs, separated by blanks
 *
 * Parameters follow behind ?, separated by &: max_ttl (60s) is the longest
 * lease, and how long a server that may have lost locks is watched before it
 * counts again: the same for all clients of a store; node_timeout (50ms),
 * connect_timeout (1s), prefix (lock:), fence_keep (1h), quarantine (strict or
 * off), tls_ca, tls_cert, tls_key. holdfast(1), STORES, has all.
 *
 * @param url      NULL means "local:".
 * @param options  NULL for the defaults. Borrowed for the call.
 * @param out      The client; yours until hf_client_close().
 * @param error    Why not, or NULL.
 *
 * @return HF_OK; HF_INVALID - malformed URL or unknown parameter;
 *         HF_CONFIG - a store that cannot work, e.g. an even number of nodes;
 *         HF_UNSUPPORTED - a store of which there is no module, or none that
 *         is whole and of this version; an option of a later version;
 *         HF_DENIED, HF_UNAVAILABLE - files of an embedded store that cannot be
 *         opened; HF_CANCELLED - the token of the options was triggered;
 *         HF_NO_MEMORY - of descriptors, too.
 *
 * Owner: the caller. Threads: any.
 * Blocks: not on the network. The embedded store: 20 s while another process
 * sets its files up.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_open(const char *url, const struct hf_client_options *options,
               struct hf_client **out, struct hf_error *error);

/**
 * Release what is still held and free the client with all its locks. Before,
 * each callback of hf_op_*() that is still pending is called with HF_CANCELLED,
 * whatever would have come of it; from these calls on the client refuses
 * everything but hf_op_cancel(). Waits for a callback that the library's thread
 * is in. In a callback it takes effect when that returns: until then everything
 * is refused, a call that the callback ran in ends with HF_CANCELLED, and after
 * it the client and its locks are gone.
 *
 * @param client  NULL is fine. No other call on it may be under way.
 *
 * Threads: any.
 * Blocks: until all releases are answered, at most 5 s. A store that answers
 * nothing for node_timeout (50 ms) is not waited for. Releases are pipelined.
 */
HF_API void hf_client_close(struct hf_client *client);

/**
 * End every blocking call on the client with HF_CANCELLED; nothing of theirs
 * is left behind. Safe in a signal handler and from any thread. A call that
 * is not under way yet is not affected, except one that is interrupted before
 * it ever blocked: a program that is to end uses a cancel token.
 *
 * Threads: any. Blocks: never.
 * Source: signal-safety(7).
 */
HF_API void hf_client_interrupt(struct hf_client *client);

/* ---- Cancel tokens ----------------------------------------------------- */

/**
 * Make a cancel token. Once it is triggered, it stays so: a call that it is
 * given to ends with HF_CANCELLED, and one that begins later returns that at
 * once, without a request to any node. So a trigger that comes just before a
 * call is not lost. Nothing is left behind: what was acquired is given back in
 * the background.
 *
 * As `cancel` of a request it ends that acquisition or adoption, as `cancel` of
 * the client's options every call on the client and everything that was
 * started. What gives back ignores it: hf_lock_release() and its other forms,
 * hf_owner_release(), hf_lock_unmark(), hf_client_close(). So does what does
 * not block. One token may be given to any number of calls and clients.
 *
 * @param out    The token; yours until hf_cancel_free().
 * @param error  Why not, or NULL.
 *
 * @return HF_OK; HF_INVALID - nowhere to write to; HF_NO_MEMORY - of
 *         descriptors, too: a token has one.
 *
 * Owner: the caller. Threads: any, for all functions of a token. Blocks: never.
 */
HF_API HF_NODISCARD enum hf_status hf_cancel_new(struct hf_cancel **out,
                                                 struct hf_error *error);

/** Trigger it; again changes nothing. NULL is fine. Safe in a signal handler:
 * an atomic flag and one write(2). Leaves errno as it was.
 * Threads: any. Blocks: never.
 * Source: signal-safety(7). */
HF_API void hf_cancel_trigger(struct hf_cancel *cancel);

/** Was it triggered? NULL never is. Safe in a signal handler.
 * Threads: any. Blocks: never. */
HF_API bool hf_cancel_is_triggered(const struct hf_cancel *cancel);

/** Free it; NULL is fine. No call, no operation and no client may have it any
 * more, and no signal handler may trigger it.
 * Threads: any, after all other use. Blocks: never. */
HF_API void hf_cancel_free(struct hf_cancel *cancel);

/* ---- Acquire ----------------------------------------------------------- */

/** A wait_ms without end: until the lock is held, or the wait is cancelled. */
#define HF_WAIT_FOREVER INT64_C(-1)

/** What frees a lock before its lease ends, on stores that can see it (the
 * embedded one). Elsewhere the lease alone decides. */
enum hf_liveness {
    HF_LIVENESS_PROCESS, /**< the end of this process, and of every process
                          added with hf_lock_add_process() */
    HF_LIVENESS_LEASE    /**< nothing but the lease */
};

/** Whether a name may be held together with others. */
enum hf_mode {
    HF_EXCLUSIVE, /**< alone */
    HF_SHARED     /**< with others that ask for HF_SHARED: a read lock */
};

/** One more name of a request. */
struct hf_name {
    const void *name; /**< borrowed for the call */
    size_t name_len;
    enum hf_mode mode;
};

/**
 * What to acquire. Set up by hf_request_init().
 *
 * A held lock is renewed about every third of its ttl, so that two renewals may
 * fail. Counted from the sending of the last one that was confirmed, it is
 * AT_RISK after half of the ttl, and LOST after the ttl less 1% and 2 ms, which
 * allow for clocks.
 */
struct hf_request {
    size_t size;
    const void *name; /**< borrowed for the call */
    size_t name_len;
    int64_t ttl_ms;    /**< lease, at most the store's max_ttl; 0: 30,000, or
                            max_ttl if that is less */
    int64_t wait_ms;   /**< 0: try; HF_WAIT_FOREVER; else at most that long */
    const char *label; /**< shown to others beside host and pid, or NULL */
    enum hf_liveness liveness;
    void *user;        /**< hf_lock_user() returns it */
    enum hf_mode mode; /**< HF_EXCLUSIVE */
    uint32_t permits;  /**< 0; else a semaphore: at most so many hold the name
                            at once. All its users give the same number. */
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
 * other languages. @p size and @p more_size are what the caller knows as the
 * sizes of struct hf_request and struct hf_name.
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
 * @param request  What, for how long, waiting how long. Borrowed.
 * @param out      The lock; yours until hf_lock_release() or hf_lock_detach().
 * @param error    Why not: for HF_BUSY the holder, for HF_UNAVAILABLE each
 *                 node with its reason. Or NULL.
 *
 * Waiters are served in order: first come, first served. The server itself
 * hands the lock over. A try never overtakes a waiter.
 *
 * Handles exclude each other, also two of the same client. So a thread that
 * waits for ever for what only itself would give back waits for ever, until
 * hf_client_interrupt().
 *
 * Several names are taken all or none, within one wait, whatever order they
 * are given in. While it waits for one, it may hold others that sort before.
 * They are one handle, which is LOST when one of them is; the others are
 * renewed until it is released. A try that has some of its names, or finds all
 * permits taken, waits 100 ms: the holder of the rest may be about to give it
 * back.
 *
 * @return HF_OK; HF_BUSY - held by another owner until the wait was over;
 *         HF_UNAVAILABLE - no majority: within 1 s for a try, when the wait
 *         ends otherwise, or after 5 s if a majority was never reached;
 *         HF_QUARANTINED - like it, but because servers are new, or may have
 *         lost locks that are still held;
 *         HF_DENIED; HF_CONFIG; HF_INVALID - also a semaphore that others
 *         use with another number of permits; HF_UNSUPPORTED; HF_CANCELLED;
 *         HF_NO_MEMORY. Whatever it is, nothing is left behind.
 *
 * Owner: the caller.
 * Threads: any number at once. I/O happens in the calling thread.
 * Blocks: for wait_ms; a try 1 s, of which a refusal takes one round trip; with
 * HF_WAIT_FOREVER without limit, but 5 s if this client has never reached a
 * majority.
 * Source: redis.io, "Distributed Locks with Redis" (a majority of independent
 * servers); what is added to it is in docs/guarantees.md.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_acquire(struct hf_client *client, const struct hf_request *request,
                struct hf_lock **out, struct hf_error *error);

/**
 * Give a lock back. Always consumes the handle; NULL is fine (HF_OK). From
 * then on no callback begins for the lock; see hf_state_fn.
 *
 * @return HF_OK - a majority freed it; HF_LOST - it was no longer ours;
 *         HF_UNKNOWN - not confirmed within node_timeout: being finished in
 *         the background, at the latest the lease frees it; HF_DENIED - the
 *         servers do not permit it: the lease frees it; HF_INVALID - in a
 *         forked child, where nothing changes, or while the client is closed.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API enum hf_status hf_lock_release(struct hf_lock *lock);

/** Longest reservation: 31 days, the longest month. The reserved name has no
 * holder whose end could free it. */
#define HF_RESERVE_MS_MAX INT64_C(2678400000)

/**
 * Give a lock back but keep its name taken, marked as ended, until @p
 * reserve_ms after this call: it cannot be acquired before. hf_lock_release()
 * otherwise.
 *
 * @return As hf_lock_release(); HF_INVALID - @p reserve_ms is below 0 or above
 *         HF_RESERVE_MS_MAX, HF_UNSUPPORTED - a lock of this store ends with
 *         its connection: nothing was done, and the lock is still yours.
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
 * Was work started under @p name less than its period ago? Ask before
 * acquiring, so that a host that has nothing to do does not take the lock. A
 * mark that is missing at some nodes is written back there, never with a later
 * end.
 *
 * @param client    The client.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param left_ms   Set to what is left of the period in milliseconds, up to
 *                  HF_PERIOD_MS_MAX; 0: no node that answered has a live mark,
 *                  which only hf_lock_mark() makes certain.
 * @param error     Why it failed, or NULL.
 *
 * @return HF_OK, whatever was found; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         majority answered; HF_DENIED; HF_INVALID; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any number at once. Blocks: 0.9 s, and as long again if it writes
 * back.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_marked(struct hf_client *client, const void *name, size_t name_len,
                 int64_t *left_ms, struct hf_error *error);

/**
 * Mark the names of a lock that is held: work starts now, and for @p period_ms
 * no other hf_lock_mark() of these names succeeds, whatever becomes of this
 * process, its machine or a minority of the servers. Call it after acquiring
 * and start the work only if it returns HF_OK; release the lock otherwise.
 * Acquisitions do not look at marks.
 *
 * @param lock       Held, exclusive; it stays yours whatever is returned.
 * @param period_ms  Milliseconds from now, 1 to HF_PERIOD_MS_MAX.
 * @param error      Why it failed, or NULL.
 *
 * @return HF_OK - the mark is at a majority of the nodes that vote, and the
 *         lock is still held; HF_BUSY - work was started in this period;
 *         HF_LOST - the lock was lost meanwhile; HF_UNAVAILABLE,
 *         HF_QUARANTINED - no majority has taken the mark: it was withdrawn
 *         where that could be done, a node out of reach may have it still;
 *         HF_DENIED; HF_INVALID - also a shared lock or a permit;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: the lock's. Blocks: for some rounds of 0.9 s for each name.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_mark(struct hf_lock *lock, int64_t period_ms, struct hf_error *error);

/**
 * Withdraw what hf_lock_mark() has marked with this lock: the work failed, and
 * others may start it within the period. The lock may be LOST, and stays yours.
 *
 * @param lock   As it was marked, not yet released.
 * @param error  Why it failed, or NULL.
 *
 * @return HF_OK - withdrawn at a majority of the nodes that vote, or the mark
 *         was another's or is over; HF_UNAVAILABLE - the period may stand;
 *         HF_QUARANTINED; HF_DENIED; HF_INVALID; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: the lock's. Blocks: for two rounds of 0.9 s for each name.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_unmark(struct hf_lock *lock,
                                                  struct hf_error *error);

/* ---- While holding ----------------------------------------------------- */

/** The fence: greater than that of every acquisition of this name that
 * completed before this one began. 0 only where the store has none.
 * Threads: any. Blocks: never.
 * Source: M. Kleppmann, "How to do distributed locking" (2016). */
HF_API uint64_t hf_lock_fence(const struct hf_lock *lock);

/**
 * Is the lock safe to rely on for the next @p ms milliseconds? Cheap enough
 * to ask before every write: one clock read, no lock, no system call.
 *
 * Threads: any. Blocks: never.
 * Source: C. Gray, D. Cheriton, "Leases" (SOSP 1989).
 */
HF_API bool hf_lock_valid_for(const struct hf_lock *lock, int64_t ms);

/** The state now, judged on the local clock too.
 * Threads: any. Blocks: never before the deadline, then briefly. */
HF_API enum hf_state hf_lock_state(const struct hf_lock *lock);

/** Milliseconds until the deadline; 0 if LOST or RELEASED. A lock that was
 * handed over by another holder's release is ours for at most 6 s at first;
 * its first renewal, within a second, makes that the whole ttl.
 * hf_lock_extend() does it now, and waits for it.
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

/** Which permit of a semaphore it is: 0 .. permits - 1; -1 if it is none. The
 * fence rises for each permit by itself: guard writes under the name and this
 * number ("name#3").
 * Threads: the lock's. Blocks: never. */
HF_API int hf_lock_slot(const struct hf_lock *lock);

/** "OWNER@FENCE", for logs and for other processes; see hf_lock_detach(). Of a
 * semaphore it is that of the shared hold of its name, as hf_client_queue()
 * tells it.
 * Threads: the lock's. Blocks: never. */
HF_API void hf_lock_owner(const struct hf_lock *lock,
                          char text[HF_OWNER_TEXT_MAX]);

/** The same of one of several names; empty if there is none.
 * Threads: the lock's. Blocks: never. */
HF_API void hf_lock_owner_at(const struct hf_lock *lock, size_t idx,
                             char text[HF_OWNER_TEXT_MAX]);

/**
 * Renew now, with another lease length from here on.
 *
 * @param lock    A lock that is not LOST.
 * @param ttl_ms  The new lease; 0 keeps the present one.
 * @param error   Why not, or NULL.
 *
 * @return HF_OK - a majority confirmed; HF_LOST; HF_UNAVAILABLE, HF_DENIED,
 *         HF_NO_MEMORY, HF_CANCELLED - not confirmed, the lock stays what it
 *         was; HF_INVALID - also a ttl beyond the bounds.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_extend(struct hf_lock *lock, int64_t ttl_ms, struct hf_error *error);

/**
 * Have another process keep the lock alive: the embedded store frees it only
 * when this process, and all that were added, are gone. No effect on stores
 * that know only leases.
 *
 * @param lock  The lock.
 * @param pid   A process, or the negative of a process group, as in kill(2).
 *
 * @return HF_OK; HF_LOST; HF_INVALID - no such process, or more than three;
 *         HF_UNAVAILABLE, HF_DENIED, HF_NO_MEMORY, HF_CANCELLED - the store
 *         did not confirm it, and may not know of the process.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 * Source: kill(2), for @p pid.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_add_process(struct hf_lock *lock,
                                                       int64_t pid);

/**
 * Turn a lock into a text: "OWNER@FENCE/TTL", where TTL is the length of its
 * lease in milliseconds. From then on the text is the lock:
 * it suffices to adopt, extend and release the lock, and it stands for one
 * holder. Pass it to one place. Consumes the handle without releasing. From
 * this call on the lock is not ours; its lease runs on, and only the lease
 * frees it. Waits for nodes that
 * have been asked and have not answered yet, about node_timeout (50 ms) at
 * most: it goes over with every node that is up, not with a bare majority.
 *
 * @return HF_OK; HF_LOST. With anything else the handle is still yours:
 *         HF_INVALID - nowhere to write to, or a forked child;
 *         HF_UNSUPPORTED - of several names or a semaphore; HF_UNAVAILABLE,
 *         HF_DENIED, HF_NO_MEMORY, HF_CANCELLED - a store that sees processes
 *         end (the embedded one) did not confirm that the lock outlives this
 *         process.
 *         @p text is empty unless HF_OK.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API HF_NODISCARD enum hf_status hf_lock_detach(struct hf_lock *lock,
                                                  char text[HF_OWNER_TEXT_MAX]);

/**
 * Turn a text back into a lock: the text is the lock, so adopt it once. Two
 * clients that adopt the same text are one holder to the store: both are HELD,
 * with one fence, and when one of them releases, a third client may acquire the
 * lock while the other still believes to hold it, at most until its next
 * renewal. Adopting never brings back a lost lock. The text stays valid: what
 * it can extend or release is the adopted lock.
 *
 * @param client    The client.
 * @param request   Name, ttl, label, liveness and user; wait_ms is not used. A
 *                  ttl_ms of 0 keeps the TTL that the text names.
 * @param owner     "OWNER@FENCE/TTL" as hf_lock_detach() wrote it. The TTL may
 *                  be missing, as in texts of version 0.1.0.
 * @param out       The lock.
 * @param error     Why not, or NULL.
 *
 * @return HF_OK - a majority confirmed that it is still held; HF_LOST;
 *         HF_UNAVAILABLE, HF_QUARANTINED - no majority answered; HF_DENIED;
 *         HF_INVALID - malformed owner or request; HF_UNSUPPORTED - several
 *         names or a semaphore, or a request of a later version; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_adopt(struct hf_client *client, const struct hf_request *request,
              const char *owner, struct hf_lock **out, struct hf_error *error);

/**
 * Release a lock that was handed on, without adopting it first.
 *
 * @return HF_OK; HF_LOST - it was no longer theirs; HF_UNKNOWN - not confirmed:
 *         at the latest the lease frees it; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         node answered; HF_DENIED; HF_INVALID - also a malformed owner;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_owner_release(struct hf_client *client, const void *name, size_t name_len,
                 const char *owner, struct hf_error *error);

/* ---- Events and event loops -------------------------------------------- */

/**
 * The next change of a lock's state that was not fetched yet. A lock that
 * changed twice in between is reported once, with its latest state.
 *
 * @param client  The client.
 * @param state   Set to the new state, unless NULL or there is no change.
 *
 * @return The lock; NULL if nothing has changed.
 *
 * Owner: the holder of the lock, as before. Threads: any. Blocks: briefly.
 */
HF_API struct hf_lock *hf_client_next_event(struct hf_client *client,
                                            enum hf_state *state);

/**
 * One descriptor for any event loop: readable when hf_client_process() has
 * something to do, timers included. Owned by the client. Made by the first
 * call, which fails if the process may not open three more.
 *
 * @return The descriptor; -1 with errno (EMFILE), and nothing has changed.
 *
 * Threads: any. Blocks: briefly. The descriptor is one of epoll(7).
 */
HF_API int hf_client_fd(struct hf_client *client);

/**
 * Do what is due: read, count votes, renew, call back. Does nothing in a
 * callback of hf_op_*(), and while another thread is in it.
 *
 * Threads: any. Callbacks of hf_op_*() run in here, and in hf_client_close(),
 * and nowhere else. Blocks: briefly, unless a callback does.
 */
HF_API void hf_client_process(struct hf_client *client);

/**
 * The end of an hf_op_start_*() call. May call anything, also what blocks, and
 * start and cancel other operations.
 *
 * @param user    As given at the start.
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
 * @param done     Told the outcome.
 * @param user     Handed to @p done.
 * @param out      The operation, for hf_op_cancel() until @p done was called.
 *                 May be NULL.
 * @param error    Why it did not start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_UNSUPPORTED - shared, in a store
 *         that cannot, or a request of a later version; HF_CANCELLED;
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
 * @param done  Told the outcome from hf_client_process(); NULL if it
 *              does not matter. HF_UNKNOWN where hf_lock_release() says
 *              HF_DENIED.
 * @param user  Handed to @p done.
 *
 * Threads: the lock's. Blocks: briefly.
 */
HF_API void hf_op_start_release(struct hf_lock *lock, hf_op_fn *done,
                                void *user);

/**
 * Start hf_lock_release_reserved(). Consumes @p lock at once if it returns
 * HF_OK; with anything else the lock is still yours.
 *
 * @return HF_OK; HF_INVALID - @p reserve_ms out of its bounds, no lock, no
 *         callback, a forked child or a client that is being closed;
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
 * Start hf_lock_extend(); @p done gets its status, and no lock: it is yours all
 * the time.
 *
 * While this, or hf_op_start_detach(), is under way on a lock, another such
 * call on it, hf_lock_extend(), hf_lock_detach() and hf_lock_add_process() are
 * HF_INVALID. Releasing the lock ends it with HF_CANCELLED.
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
 * The end of hf_op_start_detach(). @p text is what hf_lock_detach() writes,
 * borrowed for the call; NULL unless @p status is HF_OK. HF_OK, HF_LOST: the
 * lock is consumed; else it is still yours, unless you released it or the
 * client is being closed.
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

/** Give up what was started: its callback is not called, nor is it told more
 * results. An acquisition leaves nothing behind, its place in the queue is
 * given up at once; a lock that is extended or detached stays yours; a break
 * gives the name back in the background; a release goes on. Any callback may do
 * it, also for the operation whose results it is told, but `done` for its own.
 * NULL is fine.
 * Threads: any, but not beside the `done` of this operation. Blocks: briefly.
 */
HF_API void hf_op_cancel(struct hf_op *op);

struct hf_waiting;

/** How an acquisition that is under way stands, as the nodes last said; sends
 * no request. @p out is set to what hf_waiting_free() frees. @return false: it
 * does not wait in a queue, or out of memory.
 * Owner: the caller. Threads: any, but not beside the `done` of this
 * operation. Blocks: briefly. */
HF_API HF_NODISCARD bool hf_op_waiting(struct hf_op *op,
                                       struct hf_waiting **out);

/* ---- Values ------------------------------------------------------------ */

/** Longest value in bytes: 256 KiB. Values are any bytes, also none. Renewals
 * share the connection, and are sent behind a value that is being written. */
#define HF_VALUE_MAX 262144

/** The expected version of hf_value_put() that fits any value, and none. */
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
 * @param out       The value. One with version 0 if there is none.
 * @param error     Why it failed, or NULL.
 *
 * @return HF_OK - also if there is none; HF_UNAVAILABLE - no answer, or the
 *         server's error; HF_DENIED; HF_INVALID; HF_UNSUPPORTED -
 *         this store keeps no values, as one of several servers;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_get(struct hf_client *client, const void *name, size_t name_len,
             struct hf_value **out, struct hf_error *error);

/**
 * Write the value of @p name if it has the expected version: compare-and-set.
 * Each write gets a version that is greater than all before it of the same
 * name, also if the value was deleted in between.
 *
 * A request whose reply was lost is sent again, with the same random id, by
 * which the node recognises it: so it is executed once. If another write has
 * replaced the value by then, it cannot be known whether this one came before:
 * that is HF_UNKNOWN. With version 0 or HF_VERSION_ANY the request is not sent
 * again, only the value is read, and after HF_UNKNOWN it may still be executed.
 *
 * @param client      The client, of a store with one node.
 * @param name        Borrowed for the call, as @p data.
 * @param name_len    In bytes.
 * @param data        The new value. NULL: delete it.
 * @param len         In bytes, at most HF_VALUE_MAX.
 * @param if_version  The version that the value must have; 0: there must be no
 *                    value; or HF_VERSION_ANY.
 * @param version     Set to the new version, 0 after a deletion; on HF_BUSY to
 *                    the one that was found, else to 0. Or NULL.
 * @param error       Why it failed, or NULL.
 *
 * @return HF_OK - written; HF_BUSY - it has another version: nothing was
 *         written; HF_UNKNOWN - it may have been written, or still be;
 *         HF_UNAVAILABLE, HF_DENIED - nothing was written; HF_INVALID;
 *         HF_UNSUPPORTED - this store keeps no values; HF_CANCELLED,
 *         HF_NO_MEMORY - it may have been written.
 *
 * Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_put(struct hf_client *client, const void *name, size_t name_len,
             const void *data, size_t len, uint64_t if_version,
             uint64_t *version, struct hf_error *error);

/**
 * Make a new value of the present one, for hf_value_update(). It is called
 * again if another client has written meanwhile, so it must have no other
 * effect.
 *
 * @param user   As given.
 * @param value  What there is now. Borrowed for the call.
 * @param data   Set it to the new value; NULL, as it is at first: delete it.
 *               Borrowed until the next call, or the end of hf_value_update().
 * @param len    Set it to the length of the new value.
 *
 * @return HF_OK to write it; any other status ends hf_value_update() with it,
 *         and nothing is written.
 *
 * Threads: the caller's of hf_value_update(), without locks of the library.
 * Blocks: may.
 * Owner: the callee, of @p data.
 */
typedef enum hf_status hf_value_change_fn(void *user,
                                          const struct hf_value *value,
                                          const void **data, size_t *len);

/**
 * Read a value, change it, and write it if no other client has written it
 * meanwhile; else begin again, after a random pause that grows from one try to
 * the next. So no update is lost, without a lock.
 *
 * @param client    The client, of a store with one node.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param wait_ms   For how long it tries: 0: once; HF_WAIT_FOREVER.
 * @param change    Makes the new value.
 * @param user      Handed to it.
 * @param version   Set to the new version, 0 after a deletion or a failure. Or
 *                  NULL.
 * @param error     Why it failed, or NULL.
 *
 * @return HF_OK; HF_BUSY - others have written at each try; HF_UNKNOWN - it may
 *         have been written: it is not tried again; HF_UNAVAILABLE, HF_DENIED;
 *         HF_INVALID; HF_UNSUPPORTED - this store keeps no values;
 *         HF_CANCELLED, HF_NO_MEMORY - it may have been written; or what
 *         @p change has returned.
 *
 * Threads: any number at once. Blocks: 10 s for each try, and as long as
 * @p change does; no new try begins after wait_ms.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_update(struct hf_client *client, const void *name, size_t name_len,
                int64_t wait_ms, hf_value_change_fn *change, void *user,
                uint64_t *version, struct hf_error *error);

/* ---- Looking, breaking, setting up ------------------------------------- */

/** What kind of holder a name has. Later versions may know more. */
enum hf_kind {
    HF_HOLDER_NONE,
    HF_HOLDER_HOLDFAST, /**< a Holdfast client */
    HF_HOLDER_ENDED,    /**< released, but kept taken (`--min-hold`); or free
                             but for hf_lock_mark() (`--once`) */
    HF_HOLDER_FOREIGN,  /**< a plain key of another library */
    HF_HOLDER_TYPE,     /**< a key of a foreign type, e.g. Redisson's hash */
    HF_HOLDER_SHARED    /**< several Holdfast clients together */
};

/** One holder, as a node or a majority reports it. */
struct hf_holder;

/** What kind of holder it is.
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

/** Unix time of the grant, up to 4.2 s early; of waiters and of those who
 * share, of the attempt; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_since_s(const struct hf_holder *holder);

/** Empty if it has none.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_label(const struct hf_holder *holder);

/** What is left of its lease; -1: a key without expiry.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_remaining_ms(const struct hf_holder *holder);

/** The counter; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API uint64_t hf_holder_fence(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: how many hold it; else 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_sharers(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: the size of the semaphore; 0: readers.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_permits(const struct hf_holder *holder);

/** How one waiter stands; see hf_op_waiting(). */
struct hf_waiting;

/** The present holder; its kind is HF_HOLDER_NONE if no node named one.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_waiting_holder(const struct hf_waiting *waiting);

/** How many wait before it.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_waiting_ahead(const struct hf_waiting *waiting);

/** For which name, of several; its length in @p name_len unless NULL. A NUL
 * follows it.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const void *hf_waiting_name(const struct hf_waiting *waiting,
                                   size_t *name_len);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_waiting_free(struct hf_waiting *waiting);

/** A name as each node, and the majority, sees it. */
struct hf_info;

/** The holder at a majority; its kind is HF_HOLDER_NONE if free or split.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_holder(const struct hf_info *info);

/** Held, but by no holder at a majority.
 * Threads: any. Blocks: never. */
HF_API bool hf_info_is_split(const struct hf_info *info);

/** The most that wait at one node.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_waiting(const struct hf_info *info);

/** Number of nodes of the store.
 * Threads: any. Blocks: never. */
HF_API int hf_info_nodes(const struct hf_info *info);

/** Has node @p idx answered?
 * Threads: any. Blocks: never. */
HF_API bool hf_info_node_answered(const struct hf_info *info, int idx);

/** The holder that node @p idx names.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_node_holder(const struct hf_info *info,
                                                   int idx);

/** How many wait at node @p idx.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_node_waiting(const struct hf_info *info, int idx);

/** Free what hf_client_inspect() returned. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_info_free(struct hf_info *info);

/** Who holds @p name? @p out is set to what hf_info_free() frees.
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority answered;
 *         HF_DENIED; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the caller. Threads: any. Blocks: 0.9 s. */
HF_API HF_NODISCARD enum hf_status
hf_client_inspect(struct hf_client *client, const void *name, size_t name_len,
                  struct hf_info **out, struct hf_error *error);

/** The end of hf_op_start_inspect(). @p info is yours, for hf_info_free(), if
 * @p status is HF_OK; else NULL. @p error is borrowed for the call.
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

/** A holder of a name, or a waiter for it, as one node sees it. */
struct hf_queue_entry;

/** The index of the node.
 * Threads: any. Blocks: never. */
HF_API int hf_queue_entry_node(const struct hf_queue_entry *entry);

/** Does it wait, or hold?
 * Threads: any. Blocks: never. */
HF_API bool hf_queue_entry_is_waiting(const struct hf_queue_entry *entry);

/** What it asks for, or holds.
 * Threads: any. Blocks: never. */
HF_API enum hf_mode hf_queue_entry_mode(const struct hf_queue_entry *entry);

/** Size of the semaphore, or 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_queue_entry_permits(const struct hf_queue_entry *entry);

/** The client. hf_holder_remaining_ms() tells what is left of the lease; of a
 * waiter, of its place, unless it asks again.
 * Owner: @p entry. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_queue_entry_holder(const struct hf_queue_entry *entry);

/** Of a waiter: the Unix time of its ticket in milliseconds; else 0.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_queue_entry_since_ms(const struct hf_queue_entry *entry);

/**
 * Told of one place of hf_client_queue().
 *
 * @param user   As given.
 * @param entry  Borrowed for the call.
 *
 * @return false to stop.
 *
 * Threads: the caller's of hf_client_queue(); of what is started, one in
 * hf_client_process(). Without locks of the library. Blocks: may.
 */
typedef bool hf_queue_fn(void *user, const struct hf_queue_entry *entry);

/**
 * The holders of @p name and its waiters, in order: node by node, holders
 * first. At most 1,000 of each and node.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority answered;
 *         HF_DENIED; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_queue(struct hf_client *client, const void *name, size_t name_len,
                hf_queue_fn *each, void *user, struct hf_error *error);

/** Start hf_client_queue(): @p each is told the entries in hf_client_process(),
 * and then @p done is called, without a lock. Both get @p user. @p name is
 * copied. @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_op_start_queue(struct hf_client *client, const void *name, size_t name_len,
                  hf_queue_fn *each, hf_op_fn *done, void *user,
                  struct hf_op **out, struct hf_error *error);

/**
 * Told of one taken name.
 *
 * @param user      As given.
 * @param name      Borrowed for the call.
 * @param name_len  Bytes.
 * @param info      Borrowed for the call.
 *
 * @return false to stop the listing.
 *
 * Threads: the caller's of hf_client_list(); of what is started, one in
 * hf_client_process(). Without locks of the library. Blocks: may.
 */
typedef bool hf_list_fn(void *user, const void *name, size_t name_len,
                        const struct hf_info *info);

/**
 * List taken names, sorted by bytes.
 *
 * @param client   The client.
 * @param pattern  Glob on names (`*`, `?`, `[a-z]`, `\` escapes); NULL: all.
 * @param each     Told of each name.
 * @param user     Handed to @p each.
 * @param error    Why not, or NULL.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority answered;
 *         HF_DENIED; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s for each page of names without an answer.
 * Source: redis.io, SCAN, for @p pattern.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_list(struct hf_client *client, const char *pattern, hf_list_fn *each,
               void *user, struct hf_error *error);

/** Start hf_client_list(): @p each is told the names in hf_client_process(), up
 * to 32 in each call of it, and at last @p done is called, without a lock. Both
 * get @p user. @p pattern is copied. @return HF_OK - started; HF_INVALID;
 * HF_CANCELLED; HF_NO_MEMORY.
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_op_start_list(struct hf_client *client, const char *pattern,
                 hf_list_fn *each, hf_op_fn *done, void *user,
                 struct hf_op **out, struct hf_error *error);

/**
 * Take a name from its holder. Its fence moves on, so that a guarded store
 * refuses the old holder; the holder learns of it at its next renewal. What was
 * released and is only kept taken is freed at once, and a hf_lock_mark() is
 * withdrawn.
 *
 * A call that fails after it was interrupted, or for want of a majority, gives
 * the name back to its holder where a node has answered: to one holder, not to
 * those who share. A holder that was refused a renewal meanwhile has lost it.
 *
 * @param client    The client.
 * @param name      What.
 * @param name_len  Bytes.
 * @param now       false: the name stays taken until the holder's lease must
 *                  be over, and the call waits for that: at most max_ttl, or
 *                  for the expiry of a foreign key. true: free at once.
 * @param held_until_ms  How long from now on the old holder may still believe
 *                  to hold (0 if it was free; -1 if it cannot be known). Or
 *                  NULL.
 * @param error     Why not, or NULL.
 *
 * @return HF_OK - free now; HF_BUSY - @p now is false and the holder is a
 *         foreign key without expiry; HF_UNKNOWN - the name becomes free, but
 *         no majority confirmed it; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         majority answered; HF_DENIED; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s; without @p now also until
 * the holder's lease is over.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break(struct hf_client *client, const void *name, size_t name_len,
                bool now, int64_t *held_until_ms, struct hf_error *error);

/**
 * Asked once, when a break has to wait for a lease.
 *
 * @param user     As given.
 * @param holder   Whose lease is the longest; borrowed for the call. Its kind
 *                 is HF_HOLDER_NONE if a server in quarantine may have lost it.
 * @param wait_ms  Until the name is free, at most.
 *
 * @return false to give up: the name is given back, and the break returns
 *         HF_BUSY.
 *
 * Threads: that of hf_client_break_wait(), or one in hf_client_process().
 * Without locks of the library. Blocks: may.
 */
typedef bool hf_break_fn(void *user, const struct hf_holder *holder,
                         int64_t wait_ms);

/**
 * hf_client_break() that does not free the name at once, and asks before it
 * waits. @p may_wait is called in this thread, without locks of the library; it
 * may call anything, and hf_client_close() takes effect when it has returned.
 *
 * @return As hf_client_break(); HF_BUSY - also if @p may_wait returned false.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s, and until the holder's
 * lease is over.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break_wait(struct hf_client *client, const void *name,
                     size_t name_len, hf_break_fn *may_wait, void *user,
                     struct hf_error *error);

/** The end of hf_op_start_break(). @p held_until_ms and @p status are what
 * hf_client_break() says and returns. @p error is borrowed for the call.
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may. */
typedef void hf_broken_fn(void *user, int64_t held_until_ms,
                          enum hf_status status, const struct hf_error *error);

/**
 * Start hf_client_break(), or hf_client_break_wait(). It goes on in
 * hf_client_process(), which also calls @p may_wait; that may call anything.
 * The name is freed, or given back, before @p done is called. Unless it was
 * cancelled, or the client is being closed: then it is given back in the
 * background, or freed if the lease was over.
 *
 * @param client    The client.
 * @param name      What. Copied.
 * @param name_len  Bytes.
 * @param now       true: free it at once; @p may_wait is not asked.
 * @param may_wait  As in hf_client_break_wait(). NULL: it may.
 * @param done      Told how it ended.
 * @param user      Handed to both.
 * @param out       For hf_op_cancel(), or NULL.
 * @param error     Why not, or NULL.
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

/** The longest lease that the store allows, `max_ttl` of its URL: 60,000 if it
 * names none.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_client_max_ttl_ms(const struct hf_client *client);

/** Number of nodes of the store; 1 for the embedded one.
 * Threads: any. Blocks: never. */
HF_API int hf_client_nodes(const struct hf_client *client);

/** What a node is good for now. */
enum hf_health {
    HF_NODE_CONNECTING,
    HF_NODE_UP,
    HF_NODE_QUARANTINED, /**< reached, but may have lost locks */
    HF_NODE_DOWN
};

/** One node of a store. */
struct hf_node;

/** Its address, without password.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_address(const struct hf_node *node);

/** What it is good for.
 * Threads: any. Blocks: never. */
HF_API enum hf_health hf_node_health(const struct hf_node *node);

/** Why it is not HF_NODE_UP; empty otherwise.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_reason(const struct hf_node *node);

/** 0 unless quarantined.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_quarantine_left_ms(const struct hf_node *node);

/** Smoothed round trip in microseconds; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_rtt_us(const struct hf_node *node);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_node_free(struct hf_node *node);

/** What is known of node @p idx now, without asking it. @p out is set to what
 * hf_node_free() frees. @return HF_OK; HF_INVALID - no such node;
 * HF_NO_MEMORY.
 * Owner: the caller. Threads: any. Blocks: briefly. */
HF_API HF_NODISCARD enum hf_status
hf_client_node(struct hf_client *client, int idx, struct hf_node **out);

/** How bad a finding is. */
enum hf_severity { HF_FINDING_OK, HF_FINDING_WARNING, HF_FINDING_ERROR };

/** One finding about a store. */
struct hf_finding;

/** How bad it is.
 * Threads: any. Blocks: never. */
HF_API enum hf_severity hf_finding_severity(const struct hf_finding *finding);

/** The index of the node concerned, or -1.
 * Threads: any. Blocks: never. */
HF_API int hf_finding_node(const struct hf_finding *finding);

/** What was found, and the remedy.
 * Owner: @p finding. Threads: any. Blocks: never. */
HF_API const char *hf_finding_text(const struct hf_finding *finding);

/**
 * Told of one finding of hf_client_diagnose(), hf_client_init_nodes() or
 * hf_client_quarantine_node().
 *
 * @param user     As given.
 * @param finding  Borrowed for the call.
 *
 * Threads: the caller's, without locks of the library. Blocks: may.
 */
typedef void hf_finding_fn(void *user, const struct hf_finding *finding);

/**
 * Is this deployment fit for locks? Reports every finding with its remedy. The
 * last one is about all nodes: "2 of 3 servers count, 2 are needed". It is an
 * error if no lock could be acquired, and then a node that is away is one, too.
 *
 * @return HF_OK - the findings tell; HF_INVALID - also without a callback;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_diagnose(struct hf_client *client, hf_finding_fn *each, void *user,
                   struct hf_error *error);

/** For hf_client_init_nodes(): declare whatever the nodes show. */
enum { HF_INIT_FORCE = 1 };

/**
 * Declare that the servers hold no locks that matter (new servers, or all
 * clients are stopped): ends their quarantine, and makes this client's
 * max_ttl, fence_keep and number of nodes the store's. A node that counts
 * already is left as it is.
 *
 * All nodes are looked at first. Nothing is declared if any of them shows a
 * holder or a waiter, of any client that uses the same server and database, or
 * belongs to a store of another shape, or cannot be looked at. A holder whose
 * lock all nodes have lost is seen only after its next renewal, so this is no
 * proof: the declaration remains the caller's. The lock of a live holder may
 * be granted twice once it is wrong.
 *
 * @param client  The client.
 * @param flags   0, or HF_INIT_FORCE: report what is found, and declare the
 *                nodes that can be reached.
 * @param each    Told what each node shows, and what was declared; or NULL.
 * @param user    Handed to @p each.
 * @param error   Why not, node by node, or NULL.
 *
 * @return HF_OK - every node counts. Without HF_INIT_FORCE nothing was
 *         declared after: HF_BUSY - a holder or a waiter; HF_CONFIG - a store
 *         of another shape; HF_UNAVAILABLE, HF_DENIED - a node cannot be
 *         looked at. With it HF_UNAVAILABLE names the nodes not declared.
 *         HF_INVALID - also unknown flags; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 25 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_init_nodes(struct hf_client *client, uint32_t flags,
                     hf_finding_fn *each, void *user, struct hf_error *error);

/**
 * Declare that node @p idx has lost data that it does not know of: it was
 * restored from a backup or a snapshot, or its clock ran far ahead. It has no
 * vote until a host has watched it for max_ttl. Of several nodes, the counters
 * that its clock has driven beyond what the others accept are set back, if a
 * majority of the nodes shows that no fence is beyond them.
 *
 * All clients notice at their next request. The votes that the node gave
 * before are void.
 *
 * @param client  The client.
 * @param idx     The node.
 * @param each    Told what was done; or NULL.
 * @param user    Handed to @p each.
 * @param error   Why not, or NULL.
 *
 * @return HF_OK; HF_CONFIG - the URL says quarantine=off, or what the node is;
 *         HF_UNSUPPORTED - the embedded store; HF_UNAVAILABLE, HF_DENIED - the
 *         node cannot be told; HF_INVALID - also no such node; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 75 s.
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
