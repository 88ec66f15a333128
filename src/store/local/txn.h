/* SPDX-License-Identifier: Apache-2.0 */
/* One request for one name, inside a transaction: the record, its entries, and
 * the functions by which the verbs change them.
 *
 * Two invariants make fences sound (a proof needs no others):
 *   I1  the counter of a name never decreases;
 *   I2  each value of the counter has at most one owner, ever.
 * Four moves keep both. The comment of each verb says which of them it makes:
 *   (a) clear the owner;
 *   (b) install an owner and raise the counter; or install the last owner again
 *       at the counter that it owned;
 *   (c) raise the counter and keep the owner;
 *   (d) raise the counter while there is no owner.
 * A group of sharers is one owner. A sharer that joins makes move (c); a sharer
 * that leaves makes none, except that the last one makes (a).
 *
 * execute.c makes one transaction of each request, inside the gate:
 *
 *     hf_table_begin(table)
 *     hf_table_get(table, &key, &txn.record)     an unknown name: all zeros
 *     hf_txn_acquire(&txn)                       the verb; sets txn.result
 *       hf_txn_is_taken(), hf_txn_admits()       ... asks
 *       hf_txn_install(), hf_txn_enqueue()       ... moves; is_changed is set
 *     if txn.number != 0:  hf_table_abort()      nothing has changed
 *     if txn.is_changed:   hf_table_put(), hf_table_commit()
 *     push txn.grants       after the commit, when the gate has been left
 *
 * A verb may be run again from the start, after the table has grown or when the
 * owner turns out to be dead. It must not keep anything outside of `txn`.
 *
 * Errors: `number` keeps the first error of the table. After it, no function
 * accesses the table; the caller checks `number` at the end, and aborts.
 * Owner: the caller, of all that `txn` points to; `result` and `record` are
 * copies. Threads: one at a time, across processes: the caller is in the gate.
 * Units: milliseconds in requests and results; instants, of CLOCK_BOOTTIME, and
 * spans in the record and the entries.
 * Source: the scripts in store/redis/, which have the same rules. */
#ifndef HF_STORE_LOCAL_TXN_H
#define HF_STORE_LOCAL_TXN_H

#include "store/local/entry.h"
#include "store/local/record.h"
#include "store/local/table.h"
#include "store/store.h"

/* A grant that is to be pushed to its waiter. */
struct hf_grant {
    struct hf_wake_address address;
    struct hf_wake_note note;
    struct hf_processes life;
    uint16_t owner_len;
    char owner[HF_OWNER_MAX];
};

/* Waiters that the transaction has granted the name, to be woken after the
 * commit. */
struct hf_grants {
    struct hf_grant *of;
    size_t count;
    size_t capacity;
};

/* The result of a verb. */
struct hf_result {
    enum hf_verdict verdict; /* OK, REFUSED, QUEUED, or ERROR: nothing changed
                              */
    uint64_t counter;
    uint64_t floor;     /* CONFIRM: the floor, if it alone forbids T; or 0 */
    uint64_t bound;     /* CONFIRM: the bound, if T is above it; or 0 */
    uint64_t ticket;    /* QUEUED: of the place; REFUSED: the wall clock */
    uint32_t ahead;     /* QUEUED: waiters before it; OK: 1: an earlier ticket
                           waits */
    bool had_place;     /* QUEUED: this ACQUIRE is a heartbeat */
    int64_t left_ms;    /* of the owner's lease; 0: no owner */
    bool is_group;      /* the owner is a group of sharers */
    uint16_t permits;   /* of that group */
    uint16_t owner_len; /* 0: no owner */
    char owner[HF_RECORD_OWNER_MAX];
};

/* Owners without living processes; in owner_check.c, those to be checked. */
struct hf_dead_owners {
    bool has_holder; /* `holder` is set */
    struct hf_record holder;
    struct hf_local_entry *sharers; /* of a group */
    size_t n_sharers;
};

struct hf_txn {
    struct hf_table *table;
    const struct hf_ask *ask;        /* NULL: no request */
    const struct hf_processes *life; /* the processes of ask->life, with their
                                        start times */
    const struct hf_wake_address *address; /* where grants are pushed to the
                                              asker */
    const struct hf_dead_owners *dead; /* NULL: no owner is known to be dead */
    const struct hf_clock_sample *now;
    struct hf_grants *grants; /* out, appended */
    struct hf_record record;
    struct hf_result result;
    uint64_t hint;   /* ACQUIRE: the asker's hint; 0: it is above the bound */
    bool is_changed; /* write the record, and commit */
    int number;      /* 0, or the first error of the table */
};

/* ---- verbs.c, release.c, break.c, inspect.c: the verbs ----------------- */

/* ACQUIRE: grant the name, or refuse it, or queue the asker. */
void hf_txn_acquire(struct hf_txn *txn);

/* YIELD: return the grant of the request's counter, then ACQUIRE with its
 * ticket. */
void hf_txn_yield(struct hf_txn *txn);

/* CONFIRM: extend the lease, and raise the counter to the request's, T. */
void hf_txn_confirm(struct hf_txn *txn);

/* RELEASE: end the asker's lease, and its place in the queue; serve the next
 * waiter. */
void hf_txn_release(struct hf_txn *txn);

/* Take a grant back from an owner without a living process, and serve the next
 * waiter. */
void hf_txn_revoke(struct hf_txn *txn, const struct hf_grant *grant);

/* BREAK: the breaker takes the rest of the holder's lease, or returns it. */
void hf_txn_break(struct hf_txn *txn);

/* INSPECT: the holder, or the mark of a free name. Changes nothing. */
void hf_txn_inspect(struct hf_txn *txn);

/* ---- mark.c ------------------------------------------------------------ */

/* MARK: write, move or remove the mark of the name, or read it. */
void hf_txn_mark(struct hf_txn *txn);

/* Set the result of INSPECT for a free name: its mark, or no owner. */
void hf_txn_show_mark(struct hf_txn *txn);

/** Write "ended:" and the owner of the live mark. @return the length; 0: there
 * is no live mark. */
size_t hf_txn_emit_ended(const struct hf_txn *txn,
                         char out[HF_RECORD_OWNER_MAX]);

/* ---- ownership.c: the owner in the record; the result ------------------ */

/* The greater of both. */
static inline uint64_t hf_txn_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whether the name has an owner whose lease is live. */
bool hf_txn_is_taken(const struct hf_txn *txn);

/* Whether the record's owner, or its last one, is this one; the lease may have
 * ended. */
bool hf_txn_is_owner(const struct hf_txn *txn, const void *owner,
                     size_t owner_len);
bool hf_txn_is_mine(const struct hf_txn *txn); /* the asker owns it */

/* The greatest counter that a hint or a fence may have (HF_FENCE_AHEAD_MAX). */
uint64_t hf_txn_bound(const struct hf_txn *txn);

/* When a lease ends that begins now. */
struct hf_instant hf_txn_after(const struct hf_txn *txn, struct hf_span lease);

/* When the lease that the request asks for ends, if it begins now. */
struct hf_instant hf_txn_asked_until(const struct hf_txn *txn);

/* Set the result to REFUSED, with the owner that the name has now. */
void hf_txn_describe(struct hf_txn *txn);

/* Set the result to OK at @p counter. The record is to be written. */
void hf_txn_succeed(struct hf_txn *txn, uint64_t counter);

/* Extend the lease. No request may shorten it: an older, shorter one may arrive
 * after a longer one, and the holder relies on the longer one's reply. */
void hf_txn_prolong(struct hf_txn *txn, struct hf_instant until);

/* Move (b). @p life NULL: only the end of the lease frees the name. */
void hf_txn_install(struct hf_txn *txn, const void *owner, size_t owner_len,
                    uint64_t counter, struct hf_instant until,
                    const struct hf_processes *life);

/* Move (a). Also clears has_last, or a late CONFIRM would install the owner
 * again. */
void hf_txn_vacate(struct hf_txn *txn);

/* ---- group.c: sharers -------------------------------------------------- */

/* Whether a group of sharers owns the name, with a live lease. */
bool hf_txn_is_group(const struct hf_txn *txn);

/* Find a sharer of the group that owns the name, if its lease is live. */
bool hf_txn_find_sharer(struct hf_txn *txn, const void *owner, size_t owner_len,
                        struct hf_local_entry *out);

/* Move (b) or (c), to @p counter: found a group, or join the one that owns the
 * name. */
void hf_txn_join(struct hf_txn *txn, struct hf_local_entry *entry,
                 uint64_t counter, struct hf_instant until);

/* Write a sharer's entry; the group's lease lasts as long as the longest. */
void hf_txn_keep_sharer(struct hf_txn *txn, struct hf_local_entry *entry,
                        struct hf_instant until);

/* Remove a sharer: no move, or (a) if it was the last. */
void hf_txn_leave(struct hf_txn *txn, const struct hf_local_entry *entry);

/* Remove the sharers in `dead` that are unchanged since they were checked. */
void hf_txn_bury_sharers(struct hf_txn *txn);

/* ---- serve.c: waiters -------------------------------------------------- */

/* Is the name free, or shared with the same permits as this request? */
bool hf_txn_admits(const struct hf_txn *txn, bool is_shared, uint16_t permits);

/** Grant the name to the first waiters, as long as it admits them. Afterwards a
 * free name has no live waiter. @return true: the asker got it; the result says
 * so. */
bool hf_txn_serve(struct hf_txn *txn);

/* Give the asker a place, or refresh the one it has. */
void hf_txn_enqueue(struct hf_txn *txn);

/* Remove the owner's place, if it has one. */
void hf_txn_dequeue(struct hf_txn *txn, const void *owner, size_t owner_len);

/* Grant the name to the asker. The caller checks that the name admits it, and
 * that no waiter is before it. */
void hf_txn_grant(struct hf_txn *txn, struct hf_local_entry *entry);

/* Fill an entry from the request. */
void hf_txn_introduce(const struct hf_txn *txn, struct hf_local_entry *out);

/* Is the first live waiter before the asker's ticket? */
bool hf_txn_find_earlier(struct hf_txn *txn);

/* ---- entries.c: entries in the table ----------------------------------- */

/** Find a sharer by its owner, live or not. @return false: there is none. */
bool hf_entries_find_sharer(struct hf_txn *txn, const void *owner,
                            size_t owner_len, struct hf_local_entry *out);

/** Find a waiter by its owner, live or not. @return false: there is none. */
bool hf_entries_find_waiter(struct hf_txn *txn, const void *owner,
                            size_t owner_len, struct hf_local_entry *out);

/* Insert a sharer, or overwrite it. */
void hf_entries_put_sharer(struct hf_txn *txn,
                           const struct hf_local_entry *one);

/* The same of a waiter, at its ticket. */
void hf_entries_put_waiter(struct hf_txn *txn,
                           const struct hf_local_entry *one);

/* Remove a sharer, which must be there. */
void hf_entries_drop_sharer(struct hf_txn *txn,
                            const struct hf_local_entry *one);

/* Remove a waiter, which must be there. */
void hf_entries_drop_waiter(struct hf_txn *txn,
                            const struct hf_local_entry *one);

/* Find the first live waiter, and remove the expired ones before it. */
bool hf_entries_head(struct hf_txn *txn, struct hf_local_entry *out);

/* How many live waiters are before @p one, which must be in the queue. Exact if
 * below HF_ENTRIES_MANY; but for the last of a long queue it counts expired
 * waiters too. */
#define HF_ENTRIES_MANY 1000
uint32_t hf_entries_ahead(struct hf_txn *txn, const struct hf_local_entry *one);

/* Go on; remove this entry, and go on; or end the walk. */
enum hf_scan_step { HF_SCAN_ON, HF_SCAN_DROP, HF_SCAN_STOP };

/* Called with each entry, in order. DROP removes it (sharers only). */
typedef enum hf_scan_step hf_entries_fn(void *user,
                                        const struct hf_local_entry *one);

/* Call @p each with the entries of this kind, until it stops. */
void hf_entries_each(struct hf_txn *txn, enum hf_entry_kind kind,
                     hf_entries_fn *each, void *user);

/* Remove all sharers: the group no longer owns the name. */
void hf_entries_drop_sharers(struct hf_txn *txn);

/* Remove all entries. */
void hf_entries_drop_all(struct hf_txn *txn);

#endif
