/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Locks: to acquire, hold, hand over and release them.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_LOCKS_H
#define HF_HOLDFAST_LOCKS_H

#include <holdfast/clients.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    const char *label; /**< shown to other clients with host and pid, or NULL.
                            Cut to 240 bytes as written: letters, digits, '.',
                            '-' and '_' take one, each other byte three. So at
                            least 80 bytes are kept */
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

/**
 * Fill the first @p size bytes of @p request like hf_request_init(): for other
 * languages.
 *
 * @param request    The struct to fill. NULL is fine.
 * @param size       Bytes of struct hf_request in the caller's version.
 * @param more_size  Bytes of struct hf_name in the caller's version.
 * @param name       A C string. Borrowed as long as the request is used. NULL:
 *                   set name and name_len yourself.
 *
 * Threads: any. Blocks: never.
 */
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
 * Blocks: for wait_ms. If one of several names was granted, or a permit was
 * refused, just before its end, the answers about the others are awaited: for
 * names one node_timeout at most, and no longer than wait_ms; for permits
 * 0.9 s. A try blocks for 1 s, of which a refusal takes one round trip;
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
 * on no callback begins for the lock; see hf_state_fn. A caller that has
 * nothing to do about a lost lock may ignore the status.
 *
 * @return HF_OK - a majority freed it; HF_LOST - the lock had been lost;
 *         HF_UNKNOWN - not confirmed within node_timeout: retried in the
 *         background, and freed by the end of the lease at the latest; or it
 *         is free, and the reply that tells HF_OK from HF_LOST was lost, or
 *         came from servers in quarantine;
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
 * respects like hf_lock_release(); but the status must be read, since the lock
 * may still be held.
 *
 * @return As hf_lock_release(); HF_INVALID - @p reserve_ms is below 0 or above
 *         HF_RESERVE_MS_MAX, or a read lock, HF_UNSUPPORTED - the store ends it
 *         with its connection: nothing was done, and the lock is still yours.
 *
 * Threads: the lock's. Blocks: for about one node_timeout.
 */
HF_API HF_NODISCARD enum hf_status
hf_lock_release_reserved(struct hf_lock *lock, int64_t reserve_ms);

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

/** The state now. HF_STATE_LOST once the deadline has passed by the local
 * clock; HF_STATE_AT_RISK once the library has noticed: its thread does in
 * time, without it hf_client_process() and calls that block do. Threads: any.
 * Blocks: never before the deadline, then briefly. */
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

/**
 * The name at @p idx, in the order of the request. NULL beyond the last.
 *
 * @param lock      The lock.
 * @param idx       0 is hf_lock_name(); below hf_lock_count().
 * @param name_len  Set to its length in bytes, 0 beyond the last; or NULL.
 *
 * Owner: the lock. Threads: the lock's. Blocks: never.
 */
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

/**
 * The same for the name at @p idx.
 *
 * @param lock  The lock.
 * @param idx   0 is hf_lock_owner(); below hf_lock_count().
 * @param text  Set to the text, with a NUL; empty beyond the last.
 *
 * Threads: the lock's. Blocks: never.
 */
HF_API void hf_lock_owner_at(const struct hf_lock *lock, size_t idx,
                             char text[HF_OWNER_TEXT_MAX]);

/**
 * Renew now, and set the length of the lease.
 *
 * @param lock    A lock that is not LOST.
 * @param ttl_ms  The new lease, of later renewals too; 0 keeps the present one.
 *                A shorter one limits this holder at once; the nodes may keep
 *                the lease before to its end, unless the lock is released. So
 *                a crash of the holder may be followed only then.
 * @param error   The reason of a failure, or NULL.
 *
 * @return HF_OK - a majority confirmed; HF_LOST; HF_UNAVAILABLE, HF_DENIED,
 *         HF_NO_MEMORY, HF_CANCELLED - not confirmed: the deadline stays, and
 *         a later renewal sets the ttl; HF_INVALID - also a ttl out of bounds;
 *         HF_UNSUPPORTED - a longer ttl, on ZooKeeper.
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
 * @param client    The client.
 * @param name      The name of the lock. Borrowed for the call.
 * @param name_len  In bytes.
 * @param owner     As for hf_lock_adopt(); its TTL is not used.
 * @param error     The reason of a failure, or NULL.
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

#ifdef __cplusplus
}
#endif

#endif
