/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers. Missing is not refused: an error of the statement itself
 * has changed nothing (ERROR), and an error or a warning at its commit, or a
 * lock that was not granted in time, leaves the outcome open (UNKNOWN). */
#include "base/assert.h"
#include "core/owner.h"
#include "store/postgres/node.h"

/* The columns of holdfast.answer and holdfast.seat. */
enum {
    C_VERDICT,
    C_COUNTER,
    C_LEFT,
    C_OWNER,
    C_FLOOR,
    C_BOUND,
    C_TICKET,
    C_AHEAD,
    C_NODE_US,
    C_TERMS,
    C_SHARERS,
    C_WAITERS,
    C_END,
    C_SEAT_OWNER = C_END,
    C_SEAT_LEFT,
    C_SEAT_TICKET,
    C_SEAT_MODE,
    C_SEAT_END
};

static void give(struct hf_pg_node *node, const struct hf_answer *answer)
{
    node->store->base.env.answer(node->store->base.env.client, answer);
}

static struct hf_answer answer_to(const struct hf_pg_pending *pending)
{
    return (struct hf_answer){
        .cookie = pending->cookie,
        .verb = (enum hf_verb)pending->kind,
        .node = 0,
        .sent = pending->sent,
    };
}

void hf_pg_answer_none(struct hf_pg_node *node,
                       const struct hf_pg_pending *pending,
                       enum hf_verdict verdict, enum hf_status fault,
                       const char *reason)
{
    struct hf_answer answer = answer_to(pending);
    HF_ASSERT(fault != HF_OK && reason != NULL);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    give(node, &answer);
}

/* ---- Errors ------------------------------------------------------------- */

/* The statement may have been executed, or may be repeated with success. */
static bool is_unknown(const struct hf_pg_reply *reply)
{
    static const char *const states[] = {
        "55P03", /* lock_not_available */
        "57014", /* query_canceled: a timeout of the role's */
        "40003", /* statement_completion_unknown */
        "08",    /* connection_exception */
        "57P",   /* operator_intervention */
    };
    if (reply->is_unsure) {
        return true;
    }
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (hf_pg_fault_is(reply->error, states[i])) {
            return true;
        }
    }
    return false;
}

/* The schema is gone, or the server has become read-only. */
static bool is_identity(const struct hf_pg_reply *reply)
{
    static const char *const states[] = {"25006", "3F000", "42883", "42P01"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (hf_pg_fault_is(reply->error, states[i])) {
            return true;
        }
    }
    return false;
}

static void answer_error(struct hf_pg_node *node,
                         const struct hf_pg_pending *pending,
                         const struct hf_pg_reply *reply, struct hf_instant now)
{
    char why[160];
    enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
    if (is_identity(reply)) {
        hf_pg_reidentify(node, why, now);
    }
    /* The row was locked: the transaction was rolled back. So an attempt has
     * nothing to release, which would wait for the same row. A PUT is to be
     * sent again, as if it had not been sent. */
    bool is_undone = !reply->is_unsure && hf_pg_fault_is(reply->error, "55P03");
    if (is_undone && pending->kind == HF_VERB_PUT) {
        hf_pg_answer_none(node, pending, HF_VERDICT_UNSENT, HF_UNAVAILABLE,
                          "another session keeps its row locked (55P03)");
    } else if (is_unknown(reply) &&
               !(is_undone && pending->kind == HF_VERB_ACQUIRE)) {
        hf_pg_answer_none(node, pending, HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                          why);
    } else {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, fault, why);
    }
}

static void answer_changed(struct hf_pg_node *node,
                           const struct hf_pg_pending *pending,
                           struct hf_instant now)
{
    static const char why[] =
        "its marker has changed: restored, promoted, or declared new";
    hf_pg_reidentify(node, why, now);
    hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
}

static void answer_nonsense(struct hf_pg_node *node,
                            const struct hf_pg_pending *pending)
{
    hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                      "an answer that makes no sense");
}

/* ---- The row of a verb -------------------------------------------------- */

static void read_owner(const struct pg_result *rows, int row,
                       struct hf_answer *answer)
{
    struct hf_bytes owner = hf_pg_bytes(rows, row, C_OWNER);
    if (answer->left_ms == -2) {
        answer->left_ms = 0;
        answer->kind = HF_HOLDER_NONE;
        return;
    }
    answer->kind = answer->sharers > 0 ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
    answer->owner = owner.data;
    answer->owner_len = owner.len;
}

static struct hf_answer read_row(const struct hf_pg_pending *pending,
                                 const struct pg_result *rows, int row)
{
    struct hf_answer answer = answer_to(pending);
    uint64_t node_us = (uint64_t)hf_pg_integer(rows, row, C_NODE_US);
    answer.verdict = hf_answer_verdict(hf_pg_integer(rows, row, C_VERDICT));
    answer.counter = (uint64_t)hf_pg_integer(rows, row, C_COUNTER);
    answer.left_ms = hf_pg_integer(rows, row, C_LEFT);
    answer.floor = (uint64_t)hf_pg_integer(rows, row, C_FLOOR);
    answer.bound = (uint64_t)hf_pg_integer(rows, row, C_BOUND);
    answer.ticket = (uint64_t)hf_pg_integer(rows, row, C_TICKET);
    answer.ahead = (uint32_t)hf_pg_integer(rows, row, C_AHEAD);
    answer.permits = (uint16_t)hf_pg_integer(rows, row, C_TERMS);
    answer.sharers = (uint32_t)hf_pg_integer(rows, row, C_SHARERS);
    answer.waiting = (uint32_t)hf_pg_integer(rows, row, C_WAITERS);
    if (answer.verdict == HF_VERDICT_OK) {
        answer.node_time_us = node_us;
        answer.ticket = 0;
    } else if (answer.verdict == HF_VERDICT_REFUSED) {
        answer.ticket = node_us;
    }
    read_owner(rows, row, &answer);
    return answer;
}

/* ---- Holders and waiters ------------------------------------------------ */

static struct hf_seat read_seat(const struct pg_result *rows, int row)
{
    char mode[12];
    struct hf_bytes owner = hf_pg_bytes(rows, row, C_SEAT_OWNER);
    uint64_t ticket = (uint64_t)hf_pg_integer(rows, row, C_SEAT_TICKET);
    hf_pg_text(rows, row, C_SEAT_MODE, mode, sizeof(mode));
    struct hf_seat seat = {
        .waits = ticket != 0,
        .owner = owner.data,
        .owner_len = owner.len,
        .left_ms = hf_pg_integer(rows, row, C_SEAT_LEFT),
        .ticket = ticket,
    };
    hf_seat_set_mode(&seat, mode);
    return seat;
}

/* Each row begins with the holder, as of INSPECT. The sharers and the waiters
 * are one in each row. */
static void answer_queue(struct hf_pg_node *node,
                         const struct hf_pg_pending *pending,
                         const struct pg_result *rows)
{
    struct hf_pg *store = node->store;
    struct hf_answer answer = read_row(pending, rows, 0);
    int n = hf_pg_rows(rows);
    if (!hf_seat_list_reserve(&store->base.seats, (size_t)n + 1)) {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_NO_MEMORY,
                          "out of memory");
        return;
    }
    hf_seat_list_begin(&store->base.seats, &answer);
    for (int i = 0; i < n; i++) {
        if (!hf_pg_is_null(rows, i, C_SEAT_OWNER)) {
            store->base.seats.items[answer.n_seats++] = read_seat(rows, i);
        }
    }
    give(node, &answer);
}

/* ---- Which names are there ---------------------------------------------- */

static void answer_scan(struct hf_pg_node *node,
                        const struct hf_pg_pending *pending,
                        const struct pg_result *rows)
{
    struct hf_pg *store = node->store;
    struct hf_answer answer = answer_to(pending);
    int n = hf_pg_rows(rows);
    if (!hf_name_list_reserve(&store->base.names, (size_t)n)) {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_NO_MEMORY,
                          "out of memory");
        return;
    }
    answer.verdict = HF_VERDICT_OK;
    for (int i = 0; i < n; i++) {
        struct hf_bytes name = hf_pg_bytes(rows, i, 0);
        if (name.len > HF_PG_NAME_MAX || name.len <= store->base.prefix_len) {
            continue;
        }
        if (i == n - 1) {
            answer.counter = hf_cursors_keep(&store->base.cursors, name);
        }
        store->base.names.items[answer.n_names++] =
            (struct hf_bytes){(const char *)name.data + store->base.prefix_len,
                              name.len - store->base.prefix_len};
    }
    answer.names = store->base.names.items;
    give(node, &answer);
}

/* ---- All ---------------------------------------------------------------- */

void hf_pg_answer_row(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending,
                      const struct pg_result *rows, int row,
                      struct hf_instant now)
{
    struct hf_answer answer = read_row(pending, rows, row);
    if (!hf_answer_is_sound(&answer)) {
        answer_nonsense(node, pending);
        return;
    }
    if (answer.verdict == HF_VERDICT_QUEUED) {
        hf_pg_listen_want(node, now); /* only waiters need pushes */
    }
    give(node, &answer);
}

void hf_pg_answer(struct hf_pg_node *node, const struct hf_pg_pending *pending,
                  const struct hf_pg_reply *reply, struct hf_instant now)
{
    const struct pg_result *rows = reply->rows;
    bool is_row = hf_pg_rows(rows) >= 1 && hf_pg_columns(rows) >= C_END;
    if (reply->error != NULL) {
        answer_error(node, pending, reply, now);
    } else if (reply->is_unsure) {
        hf_pg_answer_none(node, pending, HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                          "the server warned at the commit");
    } else if (pending->kind == HF_VERB_SCAN) {
        answer_scan(node, pending, rows);
    } else if (pending->kind == HF_VERB_GET || pending->kind == HF_VERB_PUT) {
        hf_pg_value_answer(node, pending, rows);
    } else if (!is_row) {
        answer_nonsense(node, pending);
    } else if (hf_pg_integer(rows, 0, C_VERDICT) < 0) {
        answer_changed(node, pending, now);
    } else if (pending->kind == HF_VERB_QUEUE) {
        answer_queue(node, pending, rows);
    } else {
        hf_pg_answer_row(node, pending, rows, 0, now);
    }
}
