/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of src/store/local that can be broken. A function that one file calls
 * from another is wrapped by the linker: a link line of the program names each.
 */
#ifndef HF_TESTS_LOCAL_PLANTED_H
#define HF_TESTS_LOCAL_PLANTED_H

#include "store/local/txn.h"

#include <string.h>

static const char *broken_rule = ""; /* at most one */

static inline bool is_broken(const char *rule)
{
    return strcmp(broken_rule, rule) == 0;
}

#define WRAP(type, name, ...)                                                  \
    type __real_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__)

/* ---- Counters ------------------------------------------------------------ */

#define RISES "every grant moves the counter"
#define BOUNDED "no raise beyond the bound"
#define OWN_COUNTER "a sharer has its own counter"

WRAP(void, hf_txn_install, struct hf_txn *txn, const void *owner,
     size_t owner_len, uint64_t counter, struct hf_instant until,
     const struct hf_processes *life)
{
    __real_hf_txn_install(txn, owner, owner_len,
                          is_broken(RISES) ? txn->record.counter : counter,
                          until, life);
}

WRAP(uint64_t, hf_txn_bound, const struct hf_txn *txn)
{
    return is_broken(BOUNDED) ? HF_FENCE_MAX : __real_hf_txn_bound(txn);
}

WRAP(void, hf_txn_keep_sharer, struct hf_txn *txn, struct hf_local_entry *entry,
     struct hf_instant until)
{
    if (is_broken(OWN_COUNTER)) {
        entry->counter = txn->record.counter;
    }
    __real_hf_txn_keep_sharer(txn, entry, until);
}

/* ---- Leases -------------------------------------------------------------- */

#define NO_SHORTER "nothing makes a lease shorter"
#define LAST_SHARER "a group ends with its last live sharer"
#define APART "sharers keep others out"

WRAP(void, hf_txn_prolong, struct hf_txn *txn, struct hf_instant until)
{
    if (is_broken(NO_SHORTER)) {
        txn->record.until = until;
    }
    __real_hf_txn_prolong(txn, until);
}

WRAP(void, hf_txn_leave, struct hf_txn *txn, const struct hf_local_entry *entry)
{
    if (is_broken(LAST_SHARER)) {
        hf_entries_drop_sharer(txn, entry);
    } else {
        __real_hf_txn_leave(txn, entry);
    }
}

WRAP(bool, hf_txn_admits, const struct hf_txn *txn, bool is_shared,
     uint16_t permits)
{
    bool is_group = txn->record.is_shared && txn->record.permits == permits;
    return (is_broken(APART) && is_group) ||
           __real_hf_txn_admits(txn, is_shared, permits);
}

/* ---- The queue ----------------------------------------------------------- */

#define FIFO "a try does not overtake waiters"
#define HANDS_OVER "a release hands over"
#define LEAVES "a release leaves the queue"
#define TICKET "a place keeps its ticket"
#define EARLIER "an answer to a holder shows an earlier ticket"
#define AHEAD_OF "a waiter is told how many are before it"

WRAP(bool, hf_entries_head, struct hf_txn *txn, struct hf_local_entry *out)
{
    bool is_try = txn->ask != NULL && txn->ask->verb == HF_VERB_ACQUIRE &&
                  txn->ask->queue_ms == 0;
    return !(is_broken(FIFO) && is_try) && __real_hf_entries_head(txn, out);
}

WRAP(bool, hf_txn_serve, struct hf_txn *txn)
{
    bool is_release = txn->ask != NULL && txn->ask->verb == HF_VERB_RELEASE;
    return !(is_broken(HANDS_OVER) && is_release) && __real_hf_txn_serve(txn);
}

WRAP(void, hf_txn_dequeue, struct hf_txn *txn, const void *owner,
     size_t owner_len)
{
    if (!is_broken(LEAVES) || txn->ask->verb != HF_VERB_RELEASE) {
        __real_hf_txn_dequeue(txn, owner, owner_len);
    }
}

WRAP(void, hf_txn_enqueue, struct hf_txn *txn)
{
    if (is_broken(TICKET)) {
        hf_txn_dequeue(txn, txn->ask->owner, txn->ask->owner_len);
    }
    __real_hf_txn_enqueue(txn);
}

WRAP(bool, hf_txn_find_earlier, struct hf_txn *txn)
{
    return !is_broken(EARLIER) && __real_hf_txn_find_earlier(txn);
}

WRAP(uint32_t, hf_entries_ahead, struct hf_txn *txn,
     const struct hf_local_entry *one)
{
    return is_broken(AHEAD_OF) ? 0 : __real_hf_entries_ahead(txn, one);
}

/* ---- The verbs ----------------------------------------------------------- */

#define FORGETS "a release forgets the last owner"
#define NO_FLOOR "no grant below the floor"
#define NO_RAISE "no raise below the floor"
#define NO_TAKE "an attempt's CONFIRM takes nothing"
#define NAMES_GRANT "YIELD names the grant that it gives back"
#define KEEPS "a break keeps the counter for a return"
#define OLDER "an older mark changes nothing"

/* Run a verb by a clock without a floor. */
static inline void without_floor(struct hf_txn *txn, bool is_so,
                                 void (*verb)(struct hf_txn *txn))
{
    const struct hf_clock_sample *now = txn->now;
    struct hf_clock_sample other = *now;
    other.floor = is_so ? 0 : now->floor;
    txn->now = &other;
    verb(txn);
    txn->now = now;
}

WRAP(void, hf_txn_vacate, struct hf_txn *txn)
{
    char owner[HF_RECORD_OWNER_MAX];
    uint16_t len = txn->record.owner_len;
    bool is_kept = is_broken(FORGETS) && txn->record.has_last;
    memcpy(owner, txn->record.owner, len);
    __real_hf_txn_vacate(txn);
    if (is_kept) {
        txn->record.has_last = true;
        txn->record.owner_len = len;
        memcpy(txn->record.owner, owner, len);
    }
}

WRAP(void, hf_txn_acquire, struct hf_txn *txn)
{
    without_floor(txn, is_broken(NO_FLOOR), __real_hf_txn_acquire);
}

WRAP(void, hf_txn_confirm, struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    struct hf_ask other = *ask;
    other.reacquires = ask->reacquires || is_broken(NO_TAKE);
    txn->ask = &other;
    without_floor(txn, is_broken(NO_RAISE), __real_hf_txn_confirm);
    txn->ask = ask;
}

WRAP(void, hf_txn_yield, struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    struct hf_ask other = *ask;
    other.counter = is_broken(NAMES_GRANT) ? txn->record.counter : ask->counter;
    txn->ask = &other;
    __real_hf_txn_yield(txn);
    txn->ask = ask;
}

WRAP(void, hf_txn_break, struct hf_txn *txn)
{
    __real_hf_txn_break(txn);
    if (is_broken(KEEPS) && txn->is_changed) {
        txn->record.counter =
            hf_txn_max_u64(txn->record.counter, txn->result.counter);
    }
}

WRAP(void, hf_txn_mark, struct hf_txn *txn)
{
    struct hf_local_mark *mark = &txn->record.mark;
    if (is_broken(OLDER) && txn->ask->counter < mark->fence &&
        txn->ask->counter > 0) {
        mark->fence = 1;
    }
    __real_hf_txn_mark(txn);
}

/* ---- Values -------------------------------------------------------------- */

#define COMPARED "a write compares the version"
#define ONCE "a repeated write is executed once"

struct hf_local;
WRAP(void, hf_local_value, struct hf_local *local, const struct hf_ask *ask,
     struct hf_instant now)
{
    struct hf_ask other = *ask;
    char id[HF_WRITE_ID_LEN];
    if (ask->verb == HF_VERB_PUT && is_broken(COMPARED)) {
        other.counter = HF_VERSION_ANY;
    } else if (ask->verb == HF_VERB_PUT && is_broken(ONCE)) {
        static uint64_t writes;
        memcpy(id, ask->owner, sizeof(id));
        writes++;
        memcpy(id, &writes, sizeof(writes));
        other.owner = id;
    }
    __real_hf_local_value(local, &other, now);
}

#endif
