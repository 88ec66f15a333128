/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Events of locks, and operations for event loops: calls that do not block.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_OPERATIONS_H
#define HF_HOLDFAST_OPERATIONS_H

#include <holdfast/locks.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * @param done  Called with the result in hf_client_process(), or NULL. The lock
 *              keeps no reason: HF_UNKNOWN also stands for the HF_DENIED of
 *              hf_lock_release(), after which only the end of the lease frees
 *              the name.
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
 * @param lock        The lock.
 * @param reserve_ms  Milliseconds from this call, 0 to HF_RESERVE_MS_MAX.
 * @param done        Called with the result, as for hf_op_start_release(); not
 *                    NULL.
 * @param user        Passed to @p done.
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
 * Start hf_lock_adopt(); @p done gets the lock.
 *
 * @param client   The client.
 * @param request  As for hf_lock_adopt(). Copied, with the name.
 * @param owner    As for hf_lock_adopt(). Copied.
 * @param done     Called with the result.
 * @param user     Passed to @p done.
 * @param out      For hf_op_cancel(), or NULL.
 * @param error    The reason of a failure to start, or NULL.
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
 * @param lock    The lock.
 * @param ttl_ms  As for hf_lock_extend(): the new lease; 0: the present one.
 * @param done    Called with the result.
 * @param user    Passed to @p done.
 * @param out     For hf_op_cancel(), or NULL.
 * @param error   The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_LOST; HF_INVALID; HF_UNSUPPORTED - a
 *         longer ttl, on ZooKeeper; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: the lock's. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_extend(struct hf_lock *lock, int64_t ttl_ms, hf_op_fn *done,
                   void *user, struct hf_op **out, struct hf_error *error);

/**
 * The callback at the end of hf_op_start_detach().
 *
 * @param user    As passed at the start.
 * @param text    As hf_lock_detach() writes it, borrowed for the call; NULL
 *                unless @p status is HF_OK.
 * @param status  HF_OK, HF_LOST: the lock is consumed; else it is still yours,
 *                unless you released it or the client is being closed.
 * @param error   Details, borrowed for the call; never NULL.
 *
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may.
 */
typedef void hf_text_fn(void *user, const char *text, enum hf_status status,
                        const struct hf_error *error);

/**
 * Start hf_lock_detach(). The lock is yours, and renewed, until right before
 * @p done is called; see hf_op_start_extend().
 *
 * @param lock   The lock.
 * @param done   Called with the text.
 * @param user   Passed to @p done.
 * @param out    For hf_op_cancel(), or NULL.
 * @param error  The reason of a failure to start, or NULL.
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

#ifdef __cplusplus
}
#endif

#endif
