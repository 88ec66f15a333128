/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a statement: the arguments of store/sql/call.c are its parameters.
 *
 * Cost: one statement and one round trip. Each is prepared when a connection
 * first uses it; through a pooler it is parsed and planned each time. After a
 * silence a poll() finds out whether the server has closed the connection. */
#include "store/postgres/node.h"

struct statement {
    const char *own;    /* prepared when it is first used */
    const char *pooled; /* through a pooler: not prepared */
};

#define STATEMENT(call)                                                        \
    {                                                                          \
        "SELECT * FROM " call, HF_PG_CALL("a.*", call)                         \
    }

/* A statement for each verb: YIELD has that of ACQUIRE. */
static const struct statement statements[] = {
    [HF_VERB_ACQUIRE] =
        STATEMENT("holdfast.acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
                  "$11, $12, $13, true)"),
    [HF_VERB_CONFIRM] =
        STATEMENT("holdfast.confirm($1, $2, $3, $4, $5, $6, $7, $8)"),
    [HF_VERB_RELEASE] =
        STATEMENT("holdfast.release($1, $2, $3, $4, $5, $6, true)"),
    [HF_VERB_BREAK] =
        STATEMENT("holdfast.break_lock($1, $2, $3, $4, $5, $6, $7)"),
    [HF_VERB_INSPECT] = STATEMENT("holdfast.inspect($1)"),
    [HF_VERB_QUEUE] = STATEMENT("holdfast.list($1, $2)"),
    [HF_VERB_MARK] = STATEMENT("holdfast.mark($1, $2, $3, $4, $5)"),
    [HF_VERB_GET] = STATEMENT("holdfast.value_get($1)"),
    [HF_VERB_PUT] = STATEMENT("holdfast.value_put($1, $2, $3, $4, $5)"),
    [HF_VERB_SCAN] = STATEMENT("holdfast.scan($1, $2, $3)"),
};

/* ---- Arguments ---------------------------------------------------------- */

void hf_pg_params_call(struct hf_pg_params *params,
                       const struct hf_sql_call *call)
{
    hf_pg_params_init(params);
    for (size_t i = 0; i < call->n; i++) {
        const struct hf_sql_argument *at = &call->arguments[i];
        switch (at->type) {
        case HF_SQL_NULL:
            hf_pg_params_null(params);
            break;
        case HF_SQL_BYTES:
            hf_pg_params_bytes(params, at->bytes.data, at->bytes.len);
            break;
        case HF_SQL_TEXT:
            hf_pg_params_text(params, at->bytes.data);
            break;
        case HF_SQL_NUMBER:
            hf_pg_params_number(params, at->number);
            break;
        case HF_SQL_FLAG:
            hf_pg_params_flag(params, at->number != 0);
            break;
        }
    }
}

/** @return NULL; or why the request cannot be made. */
static const char *make_call(struct hf_sql_call *call,
                             const struct hf_pg_node *node,
                             const struct hf_ask *ask)
{
    /* Until the session listens, the waiter polls: else a granter would take
     * it for gone. */
    bool listens = node->listening == HF_PG_LISTEN_ON;
    return hf_sql_call_make(call, &node->base, ask,
                            listens ? node->channel : "");
}

/* ---- Asking ------------------------------------------------------------- */

bool hf_pg_ask_refuse(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending, bool needs_vote)
{
    const char *reason;
    enum hf_status fault = hf_sql_node_cause(&node->base, needs_vote, &reason);
    if (fault != HF_OK) {
        hf_pg_answer_none(node, pending, HF_VERDICT_UNSENT, fault, reason);
    }
    return fault != HF_OK;
}

/* Is this connection of a server that has closed it unnoticed? */
static void check_idle(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_connection *connection = &node->connection;
    if (hf_sql_node_is_idle(&node->base, now) && connection->count == 0 &&
        hf_pg_connection_is_dead(connection)) {
        hf_pg_connection_break(connection, HF_UNAVAILABLE,
                               "the server closed the idle connection");
    }
}

void hf_pg_ask(struct hf_pg_node *node, const struct hf_ask *ask,
               struct hf_instant now)
{
    struct hf_pg_pending pending = {
        .cookie = ask->cookie, .sent = now, .kind = (uint8_t)ask->verb};
    bool asks = ask->verb == HF_VERB_ACQUIRE || ask->verb == HF_VERB_YIELD;
    check_idle(node, now);
    if (hf_pg_ask_refuse(node, &pending, asks) ||
        hf_pg_renew_gather(node, ask, now)) {
        return;
    }
    hf_pg_renew_send(node, now);
    if (hf_pg_ask_verb(node, ask, &pending) && asks) {
        hf_pg_sweep(node, now);
    }
}

static bool send_call(struct hf_pg_node *node, enum hf_verb verb,
                      const struct hf_pg_pending *pending,
                      const struct hf_pg_params *params)
{
    enum hf_verb which = verb == HF_VERB_YIELD ? HF_VERB_ACQUIRE : verb;
    const struct statement *statement = &statements[which];
    return hf_pg_connection_ask(
        &node->connection, pending,
        node->is_pooled ? HF_PG_STATEMENTS_MAX : (unsigned)which,
        node->is_pooled ? statement->pooled : statement->own, params);
}

bool hf_pg_ask_verb(struct hf_pg_node *node, const struct hf_ask *ask,
                    const struct hf_pg_pending *pending)
{
    struct hf_pg_connection *connection = &node->connection;
    struct hf_sql_call call;
    struct hf_pg_params params;
    const char *why = make_call(&call, node, ask);
    bool was_empty = connection->count == 0;
    if (why != NULL) {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
        return false;
    }
    hf_pg_params_call(&params, &call);
    if (send_call(node, ask->verb, pending, &params)) {
        if (was_empty) {
            hf_pg_node_arm(node);
        }
        return true;
    }
    /* libpq failed half-way: the server may have got all of it. */
    hf_pg_answer_none(
        node, pending,
        connection->link.is_broken ? HF_VERDICT_UNKNOWN : HF_VERDICT_UNSENT,
        connection->link.is_broken ? HF_UNAVAILABLE : HF_NO_MEMORY,
        connection->link.is_broken ? connection->link.reason : "out of memory");
    return false;
}
