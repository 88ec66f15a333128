/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a statement: a CALL with the arguments of store/sql/call.c. */
#include "store/mysql/node.h"

#include <string.h>

/* YIELD has that of ACQUIRE. */
static const char *const procedures[] = {
    [HF_VERB_ACQUIRE] = "acquire",  [HF_VERB_YIELD] = "acquire",
    [HF_VERB_CONFIRM] = "confirm",  [HF_VERB_RELEASE] = "release",
    [HF_VERB_BREAK] = "break_lock", [HF_VERB_INSPECT] = "inspect",
    [HF_VERB_QUEUE] = "list",       [HF_VERB_MARK] = "mark",
    [HF_VERB_GET] = "value_get",    [HF_VERB_PUT] = "value_put",
    [HF_VERB_SCAN] = "scan",
};

/* ---- Arguments ---------------------------------------------------------- */

void hf_mysql_text_call(struct hf_mysql_text *text, const char *procedure,
                        const struct hf_sql_call *call)
{
    hf_mysql_text_reset(text);
    hf_mysql_call(text, procedure);
    for (size_t i = 0; i < call->n; i++) {
        const struct hf_sql_argument *at = &call->arguments[i];
        switch (at->type) {
        case HF_SQL_NULL:
            hf_mysql_null(text);
            break;
        case HF_SQL_BYTES:
        case HF_SQL_TEXT:
            hf_mysql_bytes(text, at->bytes.data, at->bytes.len);
            break;
        case HF_SQL_NUMBER:
        case HF_SQL_FLAG:
            hf_mysql_number(text, at->number);
            break;
        }
    }
    hf_mysql_end(text);
}

/* ---- Asking ------------------------------------------------------------- */

/* Is this connection of a server that has closed it unnoticed? */
static void check_idle(struct hf_mysql_node *node, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &node->connection;
    if (hf_sql_node_is_idle(&node->base, now) &&
        hf_mysql_connection_is_dead(connection)) {
        hf_mysql_connection_break(connection, HF_UNAVAILABLE,
                                  "the server closed the idle connection");
    }
}

const char *hf_mysql_ask_verb(struct hf_mysql_node *node,
                              const struct hf_ask *ask, uint8_t kind)
{
    struct hf_mysql_request like = {.cookie = ask->cookie, .kind = kind};
    struct hf_sql_call call;
    const char *why = hf_sql_call_make(&call, &node->base, ask, NULL);
    if (why != NULL) {
        return why;
    }
    hf_mysql_text_call(&node->call, procedures[ask->verb], &call);
    return !node->call.has_failed &&
                   hf_mysql_push(node, &like, node->call.data, node->call.len)
               ? NULL
               : "out of memory";
}

void hf_mysql_ask(struct hf_mysql_node *node, const struct hf_ask *ask,
                  struct hf_instant now)
{
    const char *reason;
    struct hf_mysql_request request = {
        .cookie = ask->cookie, .sent = now, .kind = (uint8_t)ask->verb};
    bool asks = ask->verb == HF_VERB_ACQUIRE || ask->verb == HF_VERB_YIELD;
    check_idle(node, now);
    enum hf_status fault = hf_sql_node_cause(&node->base, asks, &reason);
    if (fault != HF_OK) {
        hf_mysql_answer_none(node, &request, HF_VERDICT_UNSENT, fault, reason);
        return;
    }
    reason = hf_mysql_ask_verb(node, ask, request.kind);
    if (reason != NULL) {
        bool is_memory = strcmp(reason, "out of memory") == 0;
        hf_mysql_answer_none(node, &request,
                             is_memory ? HF_VERDICT_UNSENT : HF_VERDICT_ERROR,
                             is_memory ? HF_NO_MEMORY : HF_UNAVAILABLE, reason);
    }
}
