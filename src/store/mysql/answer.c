/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers. Missing is not refused: an error that is surely of the
 * statement itself has changed nothing (ERROR); after any other the statement
 * may have been executed (UNKNOWN). */
#include "base/assert.h"
#include "store/mysql/node.h"

/* The columns of an answer, and of a seat after it. */
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
    C_SEAT_MODE
};

static void give(struct hf_my_node *node, const struct hf_answer *answer)
{
    node->store->base.env.answer(node->store->base.env.client, answer);
}

static struct hf_answer answer_to(const struct hf_my_request *request)
{
    return (struct hf_answer){
        .cookie = request->cookie,
        .verb = (enum hf_verb)request->kind,
        .node = 0,
        .sent = request->sent,
    };
}

void hf_my_answer_none(struct hf_my_node *node,
                       const struct hf_my_request *request,
                       enum hf_verdict verdict, enum hf_status fault,
                       const char *reason)
{
    struct hf_answer answer = answer_to(request);
    HF_ASSERT(fault != HF_OK && reason != NULL);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    give(node, &answer);
}

/* ---- Errors ------------------------------------------------------------- */

static void
answer_error(struct hf_my_node *node, const struct hf_my_request *request,
             const struct hf_mysql_reply *reply, struct hf_instant now)
{
    char why[160];
    enum hf_status fault = hf_my_fault(reply, why, sizeof(why));
    if (hf_my_fault_is_identity(reply)) {
        hf_my_reidentify(node, why, now);
    }
    /* The row was locked: the transaction was rolled back. So an attempt has
     * nothing to release, which would wait for the same row. A PUT is to be
     * sent again, as if it had not been sent. */
    bool is_undone = hf_my_fault_is_undone(reply);
    enum hf_verdict verdict = HF_VERDICT_UNKNOWN;
    if (is_undone && request->kind == HF_VERB_PUT) {
        verdict = HF_VERDICT_UNSENT;
    } else if (hf_my_fault_is_refusal(reply) ||
               (is_undone && request->kind == HF_VERB_ACQUIRE)) {
        verdict = HF_VERDICT_ERROR;
    }
    hf_my_answer_none(node, request, verdict,
                      verdict == HF_VERDICT_ERROR ? fault : HF_UNAVAILABLE,
                      why);
}

static void answer_changed(struct hf_my_node *node,
                           const struct hf_my_request *request,
                           struct hf_instant now)
{
    static const char why[] =
        "its marker has changed: restored, promoted, or declared new";
    hf_my_reidentify(node, why, now);
    hf_my_answer_none(node, request, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
}

static void answer_nonsense(struct hf_my_node *node,
                            const struct hf_my_request *request)
{
    hf_my_answer_none(node, request, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                      "an answer that makes no sense");
}

static void answer_starved(struct hf_my_node *node,
                           const struct hf_my_request *request)
{
    hf_my_answer_none(node, request, HF_VERDICT_ERROR, HF_NO_MEMORY,
                      "out of memory");
}

/* ---- The row of a verb -------------------------------------------------- */

static void read_owner(const struct hf_my_row *row, struct hf_answer *answer)
{
    struct hf_bytes owner = hf_my_bytes_at(row, C_OWNER);
    if (answer->left_ms == -2) {
        answer->left_ms = 0;
        answer->kind = HF_HOLDER_NONE;
        return;
    }
    answer->kind = answer->sharers > 0 ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
    answer->owner = owner.data;
    answer->owner_len = owner.len;
}

static struct hf_answer read_row(const struct hf_my_request *request,
                                 const struct hf_my_row *row)
{
    struct hf_answer answer = answer_to(request);
    uint64_t node_us = (uint64_t)hf_my_integer(row, C_NODE_US);
    answer.verdict = hf_answer_verdict(hf_my_integer(row, C_VERDICT));
    answer.counter = (uint64_t)hf_my_integer(row, C_COUNTER);
    answer.left_ms = hf_my_integer(row, C_LEFT);
    answer.floor = (uint64_t)hf_my_integer(row, C_FLOOR);
    answer.bound = (uint64_t)hf_my_integer(row, C_BOUND);
    answer.ticket = (uint64_t)hf_my_integer(row, C_TICKET);
    answer.ahead = (uint32_t)hf_my_integer(row, C_AHEAD);
    answer.permits = (uint16_t)hf_my_integer(row, C_TERMS);
    answer.sharers = (uint32_t)hf_my_integer(row, C_SHARERS);
    answer.waiting = (uint32_t)hf_my_integer(row, C_WAITERS);
    if (answer.verdict == HF_VERDICT_OK) {
        answer.node_time_us = node_us;
        answer.ticket = 0;
    } else if (answer.verdict == HF_VERDICT_REFUSED) {
        answer.ticket = node_us;
    }
    read_owner(row, &answer);
    return answer;
}

/* ---- Holders and waiters ------------------------------------------------ */

static struct hf_seat read_seat(const struct hf_my_row *row)
{
    char mode[12];
    struct hf_bytes owner = hf_my_bytes_at(row, C_SEAT_OWNER);
    uint64_t ticket = (uint64_t)hf_my_integer(row, C_SEAT_TICKET);
    hf_my_text_at(row, C_SEAT_MODE, mode, sizeof(mode));
    struct hf_seat seat = {
        .waits = ticket != 0,
        .owner = owner.data,
        .owner_len = owner.len,
        .left_ms = hf_my_integer(row, C_SEAT_LEFT),
        .ticket = ticket,
    };
    hf_seat_set_mode(&seat, mode);
    return seat;
}

/* Each row begins with the holder, as of INSPECT. The sharers and the waiters
 * are one in each row. */
static void
answer_queue(struct hf_my_node *node, const struct hf_my_request *request,
             const struct hf_mysql_reply *reply, struct hf_my_row *row)
{
    struct hf_my *store = node->store;
    struct hf_answer answer = read_row(request, row);
    if (!hf_seat_list_reserve(&store->base.seats, hf_my_rows(reply) + 1)) {
        answer_starved(node, request);
        return;
    }
    hf_seat_list_begin(&store->base.seats, &answer);
    do {
        if (!hf_my_is_null(row, C_SEAT_OWNER)) {
            store->base.seats.items[answer.n_seats++] = read_seat(row);
        }
    } while (hf_my_next(reply, row));
    give(node, &answer);
}

/* ---- Which names are there ---------------------------------------------- */

static void answer_scan(struct hf_my_node *node,
                        const struct hf_my_request *request,
                        const struct hf_mysql_reply *reply)
{
    struct hf_my *store = node->store;
    struct hf_answer answer = answer_to(request);
    struct hf_my_row row;
    size_t left = hf_my_rows(reply);
    if (!hf_name_list_reserve(&store->base.names, left)) {
        answer_starved(node, request);
        return;
    }
    answer.verdict = HF_VERDICT_OK;
    for (bool is_there = hf_my_first(reply, &row); is_there;
         is_there = hf_my_next(reply, &row)) {
        struct hf_bytes name = hf_my_bytes_at(&row, 0);
        left--;
        if (name.len > HF_MY_NAME_MAX || name.len <= store->base.prefix_len) {
            continue;
        }
        if (left == 0) {
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

static void answer_row(struct hf_my_node *node,
                       const struct hf_my_request *request,
                       const struct hf_my_row *row)
{
    struct hf_answer answer = read_row(request, row);
    if (hf_answer_is_sound(&answer)) {
        give(node, &answer);
    } else {
        answer_nonsense(node, request);
    }
}

void hf_my_answer(struct hf_my_node *node, const struct hf_my_request *request,
                  const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_my_row row;
    if (reply->error != 0) {
        answer_error(node, request, reply, now);
    } else if (request->kind == HF_VERB_SCAN && reply->rows != NULL) {
        answer_scan(node, request, reply);
    } else if (request->kind == HF_VERB_GET || request->kind == HF_VERB_PUT) {
        hf_my_value_answer(node, request, reply);
    } else if (!hf_my_first(reply, &row) || row.n < C_END) {
        answer_nonsense(node, request);
    } else if (hf_my_integer(&row, C_VERDICT) < 0) {
        answer_changed(node, request, now);
    } else if (request->kind == HF_VERB_QUEUE) {
        answer_queue(node, request, reply, &row);
    } else {
        answer_row(node, request, &row);
    }
}
