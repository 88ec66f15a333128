/* SPDX-License-Identifier: Apache-2.0 */
/* Values: the rows of value_get() and value_put() as answers. The marker is not
 * compared: values have no quarantine. */
#include "store/sql/sql.h"

enum { C_VERDICT, C_VERSION, C_DATA, C_ID, C_END };

/* A row that the schema does not return was written by hand. */
static bool makes_sense(enum hf_verb verb, const struct hf_sql_row *row)
{
    int64_t verdict = row->cells[C_VERDICT].number;
    int64_t version = row->cells[C_VERSION].number;
    if (row->n <= C_VERSION || version < 0 ||
        (uint64_t)version > HF_FENCE_MAX) {
        return false;
    }
    return verb == HF_VERB_GET
               ? row->n == C_END && row->cells[C_DATA].is_there == (version > 0)
               : row->n == C_DATA &&
                     (verdict == 0 || (verdict == 1 && version > 0));
}

void hf_sql_value_answer(const struct hf_sql_node *node,
                         struct hf_answer *answer, const struct hf_sql_row *row)
{
    if (!makes_sense(answer->verb, row)) {
        hf_sql_answer_nonsense(node, answer);
        return;
    }
    answer->verdict =
        row->cells[C_VERDICT].number == 1 ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
    answer->counter = (uint64_t)row->cells[C_VERSION].number;
    if (row->cells[C_ID].is_there) {
        answer->owner = row->cells[C_ID].bytes.data;
        answer->owner_len = row->cells[C_ID].bytes.len;
    }
    if (row->cells[C_DATA].is_there) {
        answer->value = row->cells[C_DATA].bytes;
    }
    hf_sql_answer_with(node, answer);
}
