/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers: errors, and the rows that store/sql/answer.c reads. */
#include "store/postgres/node.h"

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
    hf_sql_answer_none(&node->base, &answer, verdict, fault, reason);
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

/* The server has become read-only, or the schema (3F000), a function (42883) or
 * a table (42P01) of it is gone. */
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
    char why[HF_TEXT_SENTENCE];
    enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
    if (is_identity(reply)) {
        hf_pg_reidentify(node, why, now);
    }
    bool is_undone = !reply->is_unsure && hf_pg_fault_is(reply->error, "55P03");
    enum hf_verdict verdict = hf_sql_answer_verdict(
        (enum hf_verb)pending->kind, is_undone, is_unknown(reply));
    hf_pg_answer_none(node, pending, verdict,
                      verdict == HF_VERDICT_ERROR ? fault : HF_UNAVAILABLE,
                      verdict == HF_VERDICT_UNSENT
                          ? "another session keeps its row locked (55P03)"
                          : why);
}

static void answer_changed(struct hf_pg_node *node,
                           const struct hf_pg_pending *pending,
                           struct hf_instant now)
{
    hf_pg_reidentify(node, HF_SQL_CHANGED, now);
    hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                      HF_SQL_CHANGED);
}

/* ---- Rows --------------------------------------------------------------- */

static void answer_verb(struct hf_pg_node *node, struct hf_answer *answer,
                        const struct hf_sql_row *row, struct hf_instant now)
{
    if (hf_sql_answer_read(&node->base, answer, row)) {
        if (answer->verdict == HF_VERDICT_QUEUED) {
            hf_pg_listen_want(node, now); /* only waiters need pushes */
        }
        hf_sql_answer_with(&node->base, answer);
    }
}

void hf_pg_answer_row(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending,
                      const struct pg_result *rows, int n,
                      struct hf_instant now)
{
    struct hf_sql_row row;
    struct hf_answer answer = answer_to(pending);
    hf_pg_row(rows, n, &row);
    answer_verb(node, &answer, &row, now);
}

/* `row` is the first of them. */
static void answer_queue(struct hf_pg_node *node, struct hf_answer *answer,
                         const struct pg_result *rows, struct hf_sql_row *row)
{
    int n = hf_pg_rows(rows);
    if (hf_sql_seats_begin(&node->base, answer, row, (size_t)n)) {
        hf_sql_seats_add(&node->base, answer, row);
        for (int i = 1; i < n; i++) {
            hf_pg_row(rows, i, row);
            hf_sql_seats_add(&node->base, answer, row);
        }
        hf_sql_answer_with(&node->base, answer);
    }
}

static void answer_scan(struct hf_pg_node *node, struct hf_answer *answer,
                        const struct pg_result *rows)
{
    struct hf_sql_row row;
    int n = hf_pg_rows(rows);
    if (hf_sql_names_begin(&node->base, answer, (size_t)n)) {
        for (int i = 0; i < n; i++) {
            hf_pg_row(rows, i, &row);
            hf_sql_names_add(&node->base, answer, &row, i == n - 1);
        }
        hf_sql_answer_with(&node->base, answer);
    }
}

void hf_pg_answer(struct hf_pg_node *node, const struct hf_pg_pending *pending,
                  const struct hf_pg_reply *reply, struct hf_instant now)
{
    struct hf_sql_row row;
    struct hf_answer answer = answer_to(pending);
    int n = hf_pg_rows(reply->rows);
    bool is_value =
        pending->kind == HF_VERB_GET || pending->kind == HF_VERB_PUT;
    hf_pg_row(reply->rows, 0, &row);
    if (reply->error != NULL) {
        answer_error(node, pending, reply, now);
    } else if (reply->is_unsure) {
        hf_pg_answer_none(node, pending, HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                          "the server warned at the commit");
    } else if (pending->kind == HF_VERB_SCAN) {
        answer_scan(node, &answer, reply->rows);
    } else if (is_value && n == 1) {
        hf_sql_value_answer(&node->base, &answer, &row);
    } else if (is_value || !hf_sql_answer_is_row(&row)) {
        hf_sql_answer_nonsense(&node->base, &answer);
    } else if (hf_sql_answer_is_changed(&row)) {
        answer_changed(node, pending, now);
    } else if (pending->kind == HF_VERB_QUEUE) {
        answer_queue(node, &answer, reply->rows, &row);
    } else {
        answer_verb(node, &answer, &row, now);
    }
}
