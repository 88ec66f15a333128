/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers: errors, and the rows that store/sql/answer.c reads. */
#include "store/mysql/node.h"

static struct hf_answer answer_to(const struct hf_mysql_request *request)
{
    return (struct hf_answer){
        .cookie = request->cookie,
        .verb = (enum hf_verb)request->kind,
        .node = 0,
        .sent = request->sent,
    };
}

void hf_mysql_answer_none(struct hf_mysql_node *node,
                          const struct hf_mysql_request *request,
                          enum hf_verdict verdict, enum hf_status fault,
                          const char *reason)
{
    struct hf_answer answer = answer_to(request);
    hf_sql_answer_none(&node->base, &answer, verdict, fault, reason);
}

/* ---- Errors ------------------------------------------------------------- */

static void
answer_error(struct hf_mysql_node *node, const struct hf_mysql_request *request,
             const struct hf_mysql_reply *reply, struct hf_instant now)
{
    char why[HF_TEXT_SENTENCE];
    enum hf_status fault = hf_mysql_fault(reply, why, sizeof(why));
    if (hf_mysql_fault_is_identity(reply)) {
        hf_mysql_reidentify(node, why, now);
    }
    enum hf_verdict verdict = hf_sql_answer_verdict(
        (enum hf_verb)request->kind, hf_mysql_fault_is_undone(reply),
        !hf_mysql_fault_is_refusal(reply));
    hf_mysql_answer_none(node, request, verdict,
                         verdict == HF_VERDICT_ERROR ? fault : HF_UNAVAILABLE,
                         why);
}

static void answer_changed(struct hf_mysql_node *node,
                           const struct hf_mysql_request *request,
                           struct hf_instant now)
{
    hf_mysql_reidentify(node, HF_SQL_CHANGED, now);
    hf_mysql_answer_none(node, request, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                         HF_SQL_CHANGED);
}

/* ---- Rows --------------------------------------------------------------- */

static void answer_queue(struct hf_mysql_node *node, struct hf_answer *answer,
                         const struct hf_mysql_reply *reply,
                         struct hf_sql_row *row)
{
    if (hf_sql_seats_begin(&node->base, answer, row, hf_mysql_rows(reply))) {
        do {
            hf_sql_seats_add(&node->base, answer, row);
        } while (hf_mysql_next(reply, row));
        hf_sql_answer_with(&node->base, answer);
    }
}

static void answer_scan(struct hf_mysql_node *node, struct hf_answer *answer,
                        const struct hf_mysql_reply *reply)
{
    struct hf_sql_row row;
    size_t left = hf_mysql_rows(reply);
    if (hf_sql_names_begin(&node->base, answer, left)) {
        for (bool is_there = hf_mysql_first(reply, &row); is_there;
             is_there = hf_mysql_next(reply, &row)) {
            hf_sql_names_add(&node->base, answer, &row, --left == 0);
        }
        hf_sql_answer_with(&node->base, answer);
    }
}

void hf_mysql_answer(struct hf_mysql_node *node,
                     const struct hf_mysql_request *request,
                     const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_sql_row row;
    struct hf_answer answer = answer_to(request);
    if (reply->error != 0) {
        answer_error(node, request, reply, now);
    } else if (request->kind == HF_VERB_SCAN && reply->rows != NULL) {
        answer_scan(node, &answer, reply);
    } else if (request->kind == HF_VERB_GET || request->kind == HF_VERB_PUT) {
        (void)hf_mysql_first(reply, &row);
        hf_sql_value_answer(&node->base, &answer, &row);
    } else if (!hf_mysql_first(reply, &row) || !hf_sql_answer_is_row(&row)) {
        hf_sql_answer_nonsense(&node->base, &answer);
    } else if (hf_sql_answer_is_changed(&row)) {
        answer_changed(node, request, now);
    } else if (request->kind == HF_VERB_QUEUE) {
        answer_queue(node, &answer, reply, &row);
    } else if (hf_sql_answer_read(&node->base, &answer, &row)) {
        hf_sql_answer_with(&node->base, &answer);
    }
}
