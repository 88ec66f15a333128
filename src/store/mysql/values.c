/* SPDX-License-Identifier: Apache-2.0 */
/* Values: the arguments of value_put(), and the rows of value_get() and
 * value_put() as answers. The marker is not compared: values have no
 * quarantine. */
#include "store/mysql/node.h"

enum { C_VERDICT, C_VERSION, C_DATA, C_ID, C_END };

void hf_my_value_arguments(struct hf_my_text *call,
                           const struct hf_my_node *node,
                           const struct hf_ask *ask)
{
    if (ask->counter == HF_VERSION_ANY) {
        hf_my_null(call);
    } else {
        hf_my_number(call, (int64_t)ask->counter);
    }
    hf_my_bytes(call, ask->owner, ask->owner_len);
    if (ask->value.data == NULL) {
        hf_my_number(call, node->store->base.fence_keep_ms);
        hf_my_null(call);
    } else {
        hf_my_null(call);
        hf_my_bytes(call, ask->value.data, ask->value.len);
    }
}

/* A row that our procedures do not return was written by hand. */
static bool makes_sense(const struct hf_my_request *request,
                        const struct hf_my_row *row)
{
    int64_t verdict = hf_my_integer(row, C_VERDICT);
    int64_t version = hf_my_integer(row, C_VERSION);
    bool is_there = !hf_my_is_null(row, C_DATA);
    if (row->n <= C_VERSION || version < 0 ||
        (uint64_t)version > HF_FENCE_MAX) {
        return false;
    }
    return request->kind == HF_VERB_GET
               ? row->n == C_END && is_there == (version > 0)
               : verdict == 0 || (verdict == 1 && version > 0);
}

void hf_my_value_answer(struct hf_my_node *node,
                        const struct hf_my_request *request,
                        const struct hf_mysql_reply *reply)
{
    struct hf_my_row row;
    (void)hf_my_first(reply, &row);
    if (!makes_sense(request, &row)) {
        hf_my_answer_none(node, request, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                          "an answer that makes no sense");
        return;
    }
    struct hf_answer answer = {
        .cookie = request->cookie,
        .verb = (enum hf_verb)request->kind,
        .verdict = hf_my_integer(&row, C_VERDICT) == 1 ? HF_VERDICT_OK
                                                       : HF_VERDICT_REFUSED,
        .sent = request->sent,
        .counter = (uint64_t)hf_my_integer(&row, C_VERSION),
    };
    if (!hf_my_is_null(&row, C_ID)) {
        struct hf_bytes id = hf_my_bytes_at(&row, C_ID);
        answer.owner = id.data;
        answer.owner_len = id.len;
    }
    if (!hf_my_is_null(&row, C_DATA)) {
        answer.value = hf_my_bytes_at(&row, C_DATA);
    }
    node->store->base.env.answer(node->store->base.env.client, &answer);
}
