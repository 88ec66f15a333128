/* SPDX-License-Identifier: Apache-2.0 */
/* Values: the parameters of value_put(), and the rows of value_get() and
 * value_put() as answers. The marker is not compared: values have no
 * quarantine. */
#include "store/postgres/node.h"

enum { C_VERDICT, C_VERSION, C_DATA, C_ID, C_END };

void hf_pg_value_params(struct hf_pg_params *params,
                        const struct hf_pg_node *node, const struct hf_ask *ask)
{
    bool is_delete = ask->value.data == NULL;
    if (ask->counter == HF_VERSION_ANY) {
        hf_pg_params_null(params);
    } else {
        hf_pg_params_number(params, (int64_t)ask->counter);
    }
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    if (is_delete) {
        hf_pg_params_number(params, node->store->base.fence_keep_ms);
        hf_pg_params_null(params);
    } else {
        hf_pg_params_null(params);
        hf_pg_params_bytes(params, ask->value.data, ask->value.len);
    }
}

/* A row that our functions do not return was written by hand. */
static bool makes_sense(const struct hf_pg_pending *pending,
                        const struct pg_result *rows)
{
    int64_t verdict = hf_pg_integer(rows, 0, C_VERDICT);
    int64_t version = hf_pg_integer(rows, 0, C_VERSION);
    bool is_there = !hf_pg_is_null(rows, 0, C_DATA);
    if (hf_pg_rows(rows) != 1 || version < 0 ||
        (uint64_t)version > HF_FENCE_MAX) {
        return false;
    }
    return pending->kind == HF_VERB_GET
               ? hf_pg_columns(rows) == C_END && is_there == (version > 0)
               : verdict == 0 || (verdict == 1 && version > 0);
}

void hf_pg_value_answer(struct hf_pg_node *node,
                        const struct hf_pg_pending *pending,
                        const struct pg_result *rows)
{
    if (!makes_sense(pending, rows)) {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                          "an answer that makes no sense");
        return;
    }
    struct hf_answer answer = {
        .cookie = pending->cookie,
        .verb = (enum hf_verb)pending->kind,
        .verdict = hf_pg_integer(rows, 0, C_VERDICT) == 1 ? HF_VERDICT_OK
                                                          : HF_VERDICT_REFUSED,
        .sent = pending->sent,
        .counter = (uint64_t)hf_pg_integer(rows, 0, C_VERSION),
    };
    if (!hf_pg_is_null(rows, 0, C_ID)) {
        struct hf_bytes id = hf_pg_bytes(rows, 0, C_ID);
        answer.owner = id.data;
        answer.owner_len = id.len;
    }
    if (!hf_pg_is_null(rows, 0, C_DATA)) {
        answer.value = hf_pg_bytes(rows, 0, C_DATA);
    }
    node->store->base.env.answer(node->store->base.env.client, &answer);
}
