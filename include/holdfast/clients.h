/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Clients: how to open and close one, its callbacks, and cancel tokens.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_CLIENTS_H
#define HF_HOLDFAST_CLIENTS_H

#include <holdfast/outcomes.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
