/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the holders and the waiters of a name, in order. One transaction reads
 * them all, so that no owner is listed twice or left out: some 100 us at
 * most. */
#include "store/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit for holders, and again for waiters. */
#define SEATS_MAX 1000

struct seat {
    struct hf_seat seat; /* answer() sets its owner */
    uint64_t counter;    /* sharer: at which it joined, for the order */
    char owner[HF_RECORD_OWNER_MAX];
};

struct roster {
    struct hf_local *local;
    int64_t boot_ns;
    struct seat *seats;
    struct hf_processes life; /* of an exclusive holder */
    size_t count, capacity;
    size_t of_kind;
};

/** @return NULL: out of memory. Sets the owner and the time left; all else is
 * zero. */
static struct seat *add(struct roster *roster, const char *owner,
                        size_t owner_len, int64_t until_ns)
{
    if (roster->count == roster->capacity) {
        size_t capacity = roster->capacity * 2 + 16;
        struct seat *seats = realloc(roster->seats, capacity * sizeof(*seats));
        if (seats == NULL) {
            return NULL;
        }
        roster->seats = seats;
        roster->capacity = capacity;
    }
    struct seat *one = &roster->seats[roster->count++];
    struct hf_span left = {until_ns - roster->boot_ns};
    memset(&one->seat, 0, sizeof(one->seat));
    memcpy(one->owner, owner, owner_len);
    one->seat.owner_len = owner_len;
    one->seat.left_ms = hf_span_ms_ceil(left);
    one->counter = 0;
    return one;
}

struct gathering {
    struct roster *roster;
    struct hf_txn *txn;
};

static enum hf_scan_step add_entry(void *user, const struct hf_entry *one)
{
    struct gathering *gathering = user;
    struct roster *roster = gathering->roster;
    if (one->until_ns <= roster->boot_ns) {
        return HF_SCAN_ON;
    }
    if (roster->of_kind == SEATS_MAX) {
        return HF_SCAN_STOP;
    }
    struct seat *seat = add(roster, one->owner, one->owner_len, one->until_ns);
    if (seat == NULL) {
        gathering->txn->number = ENOMEM;
        return HF_SCAN_STOP;
    }
    roster->of_kind++;
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
    struct roster *roster = gathering->roster;
    hf_entries_each(gathering->txn, HF_ENTRY_SHARER, add_entry, gathering);
    if (roster->count > 1) { /* stored by owner, listed in order of joining */
        qsort(roster->seats, roster->count, sizeof(*roster->seats), compare);
    }
}

/* A free name with a mark gets a seat with the owner "ended:…". */
static void add_mark(struct roster *roster, struct hf_txn *txn)
{
    char owner[HF_RECORD_OWNER_MAX];
    size_t len = hf_txn_emit_ended(txn, owner);
    if (len > 0 && add(roster, owner, len, txn->record.mark.until_ns) == NULL) {
        txn->number = ENOMEM;
    }
}

static void gather(struct hf_txn *txn, void *user)
{
    struct roster *roster = user;
    struct gathering gathering = {roster, txn};
    const struct hf_record *record = &txn->record;
    roster->boot_ns = txn->now->boot_ns;
    roster->count = 0;
    roster->of_kind = 0;
    roster->life.count = 0;
    hf_txn_inspect(txn);
    if (hf_txn_is_group(txn)) {
        gather_sharers(&gathering);
    } else if (hf_txn_is_taken(txn)) {
        roster->life = record->life;
        if (add(roster, record->owner, record->owner_len, record->until_ns) ==
            NULL) {
            txn->number = ENOMEM;
        }
    } else {
        add_mark(roster, txn);
    }
    roster->of_kind = 0;
    hf_entries_each(txn, HF_ENTRY_WAITER, add_entry, &gathering);
}

/* 1: leave out an exclusive holder whose processes have ended. */
static size_t first_seat(struct roster *roster)
{
    return hf_processes_are_over(&roster->local->view, &roster->life) ? 1 : 0;
}

static void answer(struct roster *roster, const struct hf_ask *ask,
                   const struct hf_txn *txn, struct hf_instant now)
{
    struct hf_local *local = roster->local;
    size_t first = first_seat(roster);
    size_t n_seats = roster->count - first;
    struct hf_seat *seats = malloc((n_seats + 1) * sizeof(*seats));
    if (seats == NULL) {
        hf_local_answer_fault(local, ask, now, HF_NO_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; i < n_seats; i++) {
        seats[i] = roster->seats[first + i].seat;
        seats[i].owner = roster->seats[first + i].owner;
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

void hf_local_roster(struct hf_local *local, const struct hf_ask *ask,
                     struct hf_instant now)
{
    struct roster roster = {.local = local};
    struct hf_transaction t;
    hf_transaction_init(&t, local, ask);
    if (hf_local_transact(&t, gather, &roster)) {
        answer(&roster, ask, &t.txn, now);
    } else {
        hf_local_answer_fault(local, ask, now, t.fault, t.reason);
    }
    free(roster.seats);
}
