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
 * This header has parts. A program includes this one alone: a later version may
 * divide it otherwise. In the order in which a reader meets them:
 * - outcomes.h: the version, statuses, errors, capabilities of stores
 * - clients.h: opening and closing a client, its callbacks, cancel tokens
 * - locks.h: requests; acquiring, releasing, holding, detaching a lock
 * - operations.h: events, and the calls for event loops
 * - values.h: values with a version
 * - holders.h: inspecting names: holders, waiters, lists
 * - admin.h: breaking a lock, nodes, findings about a store
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
 *   if an allocation fails, or HF_UNAVAILABLE where a store could not ask its
 *   server for want of memory; HF_UNSUPPORTED if the store lacks what the call
 *   needs (enum hf_capability).
 * - The name of a time ends in its unit: _ms, _us, _s. Times are measured on
 *   CLOCK_BOOTTIME, which includes the time while the machine is suspended.
 *   Lengths are in bytes.
 *
 * Each docstring has these fields:
 * - @param: each parameter, if there are three or more. It says so if a pointer
 *   may be NULL; `user`, which the library only passes on, always may.
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

#include <holdfast/admin.h>
#include <holdfast/clients.h>
#include <holdfast/holders.h>
#include <holdfast/locks.h>
#include <holdfast/operations.h>
#include <holdfast/outcomes.h>
#include <holdfast/values.h>

#endif
