/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the holders and the waiters of a name, in order. One transaction reads
 * them all, so that no owner is listed twice or left out: some 100 us at
 * most. */
#include "store/local/local.h"

#include "base/array.h"
#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit for holders, and again for waiters: as of the other stores. */
#define SEATS_MAX 1000

struct seat {
    struct hf_seat seat; /* answer() sets its owner */
    uint64_t counter;    /* sharer: at which it joined, for the order */
    char owner[HF_RECORD_OWNER_MAX];
};

struct gathered_seats {
    struct hf_local *local;
    struct hf_instant now;
    struct seat *seats;
    struct hf_processes life; /* of an exclusive holder */
    size_t count, capacity;
    size_t n_walked; /* in the present walk: sharers, or waiters */
};

/** @return NULL: out of memory. Sets the owner and the time left; all else is
 * zero. */
static struct seat *add(struct gathered_seats *entries, const char *owner,
                        size_t owner_len, struct hf_instant until)
{
    struct seat *seats = hf_array_reserve(entries->seats, &entries->capacity,
                                          entries->count + 1, sizeof(*seats));
    if (seats == NULL) {
        return NULL;
    }
    entries->seats = seats;
    HF_ASSERT(owner_len <= sizeof(entries->seats->owner));
    struct seat *one = &entries->seats[entries->count++];
    struct hf_span left = hf_instant_until(entries->now, until);
    memset(&one->seat, 0, sizeof(one->seat));
    memcpy(one->owner, owner, owner_len);
    one->seat.owner_len = owner_len;
    one->seat.left_ms = hf_span_ms_ceil(left);
    one->counter = 0;
    return one;
}

struct gathering {
    struct gathered_seats *entries;
    struct hf_txn *txn;
};

static enum hf_scan_step add_entry(void *user, const struct hf_local_entry *one)
{
    struct gathering *gathering = user;
    struct gathered_seats *entries = gathering->entries;
    if (!hf_instant_before(entries->now, one->until)) {
        return HF_SCAN_ON;
    }
    if (entries->n_walked == SEATS_MAX) {
        return HF_SCAN_STOP;
    }
    struct seat *seat = add(entries, one->owner, one->owner_len, one->until);
    if (seat == NULL) {
        gathering->txn->number = ENOMEM;
        return HF_SCAN_STOP;
    }
    entries->n_walked++;
    seat->counter = one->counter;
    seat->seat.waits = one->ticket != 0;
    seat->seat.ticket = one->ticket;
    seat->seat.is_shared = one->is_shared;
    seat->seat.permits = one->permits;
    return HF_SCAN_ON;
}

static int compare(const void *a, const void *b)
{
    const struct seat *one = a;
    const struct seat *other = b;
    if (one->counter != other->counter) {
        return one->counter < other->counter ? -1 : 1;
    }
    size_t len = one->seat.owner_len < other->seat.owner_len
                     ? one->seat.owner_len
                     : other->seat.owner_len;
    return memcmp(one->owner, other->owner, len);
}

static void gather_sharers(struct gathering *gathering)
{
    struct gathered_seats *entries = gathering->entries;
    hf_entries_each(gathering->txn, HF_ENTRY_SHARER, add_entry, gathering);
    if (entries->count > 1) { /* stored by owner, listed in order of joining */
        qsort(entries->seats, entries->count, sizeof(*entries->seats), compare);
    }
}

/* A free name with a mark gets a seat with the owner "ended:…". */
static void add_mark(struct gathered_seats *entries, struct hf_txn *txn)
{
    char owner[HF_RECORD_OWNER_MAX];
    size_t len = hf_txn_emit_ended(txn, owner);
    if (len > 0 && add(entries, owner, len, txn->record.mark.until) == NULL) {
        txn->number = ENOMEM;
    }
}

static void gather(struct hf_txn *txn, void *user)
{
    struct gathered_seats *entries = user;
    struct gathering gathering = {entries, txn};
    const struct hf_record *record = &txn->record;
    entries->now = txn->now->instant;
    entries->count = 0;
    entries->n_walked = 0;
    entries->life.count = 0;
    hf_txn_inspect(txn);
    if (hf_txn_is_group(txn)) {
        gather_sharers(&gathering);
    } else if (hf_txn_is_taken(txn)) {
        entries->life = record->life;
        if (add(entries, record->owner, record->owner_len, record->until) ==
            NULL) {
            txn->number = ENOMEM;
        }
    } else {
        add_mark(entries, txn);
    }
    entries->n_walked = 0;
    hf_entries_each(txn, HF_ENTRY_WAITER, add_entry, &gathering);
}

/* 1: leave out an exclusive holder if its processes have ended. */
static size_t first_seat(struct gathered_seats *entries)
{
    return hf_processes_are_over(&entries->local->view, &entries->life) ? 1 : 0;
}

static void answer(struct gathered_seats *entries, const struct hf_ask *ask,
                   const struct hf_txn *txn, struct hf_instant now)
{
    struct hf_local *local = entries->local;
    size_t first = first_seat(entries);
    HF_ASSERT(first <= entries->count); /* the holder has a seat */
    size_t n_seats = entries->count - first;
    struct hf_seat *seats = malloc((n_seats + 1) * sizeof(*seats));
    if (seats == NULL) {
        hf_local_answer_fault(local, ask, now, HF_NO_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; i < n_seats; i++) {
        seats[i] = entries->seats[first + i].seat;
        seats[i].owner = entries->seats[first + i].owner;
    }
    struct hf_answer answer = {
        .cookie = ask->cookie,
        .verb = ask->verb,
        .node = ask->node,
        .verdict = HF_VERDICT_OK,
        .sent = now,
        .counter = txn->record.counter,
        .seats = seats,
        .n_seats = n_seats,
    };
    local->env.answer(local->env.client, &answer);
    free(seats);
}

void hf_local_queue_entries(struct hf_local *local, const struct hf_ask *ask,
                            struct hf_instant now)
{
    struct gathered_seats entries = {.local = local};
    struct hf_transaction t;
    hf_transaction_init(&t, local, ask);
    if (hf_local_transact(&t, gather, &entries)) {
        answer(&entries, ask, &t.txn, now);
    } else {
        hf_local_answer_fault(local, ask, now, t.fault, t.reason);
    }
    free(entries.seats);
}
