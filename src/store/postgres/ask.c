/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a call of a function: its arguments in the order of schema/. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/postgres/node.h"

#include <stdio.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. Check
 * it before sending: the request is then UNSENT instead of UNKNOWN. */
#define IDLE_MS 1000

/* Most holders, and most waiters, in a QUEUE. */
#define QUEUE_MAX 1000

/* Names of one page of a SCAN. */
#define SCAN_PAGE 1000

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

struct call {
    struct hf_pg_params params;
    char mode[8];
    char key[HF_PG_NAME_MAX];
    size_t key_len;
};

static void add_mode(struct call *call, const struct hf_ask *ask)
{
    if (ask->is_shared) {
        (void)snprintf(call->mode, sizeof(call->mode), "s%u",
                       (unsigned)ask->permits);
    } else {
        (void)snprintf(call->mode, sizeof(call->mode), "x");
    }
    hf_pg_params_text(&call->params, call->mode);
}

static void add_unsigned(struct hf_pg_params *params, uint64_t number)
{
    hf_pg_params_number(params,
                        number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static void acquire(struct call *call, const struct hf_pg_node *node,
                    const struct hf_ask *ask)
{
    struct hf_pg_params *params = &call->params;
    const struct hf_pg *store = node->store;
    bool is_yield = ask->verb == HF_VERB_YIELD;
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    hf_pg_params_number(params, ask->ttl_ms);
    add_unsigned(params, is_yield ? 0 : ask->counter);
    hf_pg_params_text(params, node->base.admission.known.value);
    hf_pg_params_number(params, store->base.fence_keep_ms);
    add_mode(call, ask);
    hf_pg_params_flag(params, ask->is_unfair);
    hf_pg_params_number(params, ask->queue_ms);
    add_unsigned(params, ask->ticket);
    /* Until the session listens, the waiter polls: else a granter would take
     * it for gone. */
    hf_pg_params_text(params,
                      node->listening == HF_PG_LISTEN_ON ? store->channel : "");
    add_unsigned(params, ask->cookie);
    add_unsigned(params, is_yield ? ask->counter : 0);
}

static void confirm(struct call *call, const struct hf_pg_node *node,
                    const struct hf_ask *ask)
{
    struct hf_pg_params *params = &call->params;
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    hf_pg_params_number(params, ask->ttl_ms);
    add_unsigned(params, ask->counter);
    hf_pg_params_text(params, node->base.admission.known.value);
    hf_pg_params_number(params, node->store->base.fence_keep_ms);
    hf_pg_params_flag(params, ask->holder);
    add_mode(call, ask);
}

/* A node without a vote must not grant the name to a waiter: release() grants
 * only if the marker is that of the argument, and none is empty. */
static void release(struct call *call, const struct hf_pg_node *node,
                    const struct hf_ask *ask)
{
    struct hf_pg_params *params = &call->params;
    bool may_serve = node->base.standing.status == HF_NODE_STATUS_VOTING;
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    add_unsigned(params, ask->counter);
    hf_pg_params_number(params, ask->ttl_ms);
    hf_pg_params_number(params, node->store->base.fence_keep_ms);
    hf_pg_params_text(params,
                      may_serve ? node->base.admission.known.value : "");
}

static void break_it(struct call *call, const struct hf_pg_node *node,
                     const struct hf_ask *ask)
{
    struct hf_pg_params *params = &call->params;
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    hf_pg_params_flag(params, ask->frees_now);
    hf_pg_params_text(params, node->base.admission.known.value);
    hf_pg_params_number(params, node->store->base.fence_keep_ms);
    hf_pg_params_number(params, ask->ttl_ms);
    hf_pg_params_bytes(params, ask->back, ask->back_len);
}

static void mark(struct call *call, const struct hf_pg_node *node,
                 const struct hf_ask *ask)
{
    struct hf_pg_params *params = &call->params;
    hf_pg_params_text(params, node->base.admission.known.value);
    add_unsigned(params, ask->counter);
    hf_pg_params_number(params, ask->ttl_ms);
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
}

/* ---- Names -------------------------------------------------------------- */

/* Does a glob pattern have a meaning for it? */
static bool is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/** The key of a name. Of a SCAN: the bytes before the first special character
 * of its pattern. @return false: too long. */
static bool make_key(struct call *call, const struct hf_pg *store,
                     const struct hf_ask *ask)
{
    size_t len = 0;
    const char *name = ask->name;
    bool is_scan = ask->verb == HF_VERB_SCAN;
    while (len < ask->name_len && !(is_scan && is_special(name[len]))) {
        len++;
    }
    if (store->base.prefix_len + len > sizeof(call->key)) {
        return false;
    }
    memcpy(call->key, store->base.prefix, store->base.prefix_len);
    if (len > 0) {
        memcpy(call->key + store->base.prefix_len, name, len);
    }
    call->key_len = store->base.prefix_len + len;
    hf_pg_params_bytes(&call->params, call->key, call->key_len);
    return true;
}

/** @return false: the cursor is gone. */
static bool scan(struct call *call, const struct hf_pg_node *node,
                 const struct hf_ask *ask)
{
    struct hf_bytes after;
    if (!hf_cursors_find(&node->store->base.cursors, ask->counter, &after)) {
        return false;
    }
    hf_pg_params_bytes(&call->params, after.data, after.len);
    hf_pg_params_number(&call->params, SCAN_PAGE);
    return true;
}

/* ---- Asking ------------------------------------------------------------- */

/** @return NULL; or why the request cannot be made. */
static const char *make_call(struct call *call, const struct hf_pg_node *node,
                             const struct hf_ask *ask)
{
    hf_pg_params_init(&call->params);
    if (!make_key(call, node->store, ask)) {
        return "the name is too long";
    }
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
    case HF_VERB_YIELD:
        acquire(call, node, ask);
        break;
    case HF_VERB_CONFIRM:
        confirm(call, node, ask);
        break;
    case HF_VERB_RELEASE:
        release(call, node, ask);
        break;
    case HF_VERB_BREAK:
        break_it(call, node, ask);
        break;
    case HF_VERB_INSPECT:
        break;
    case HF_VERB_QUEUE:
        hf_pg_params_number(&call->params, QUEUE_MAX);
        break;
    case HF_VERB_MARK:
        mark(call, node, ask);
        break;
    case HF_VERB_SCAN:
        return scan(call, node, ask) ? NULL
                                     : "too many lists at once: begin anew";
    case HF_VERB_GET:
        break;
    case HF_VERB_PUT:
        hf_pg_value_params(&call->params, node, ask);
        break;
    }
    return NULL;
}

bool hf_pg_ask_refuse(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending)
{
    const char *reason;
    if (hf_sql_node_is_ready(&node->base)) {
        return false;
    }
    enum hf_status fault = hf_standing_cause(&node->base.standing, &reason);
    hf_pg_answer_none(node, pending, HF_VERDICT_UNSENT, fault, reason);
    return true;
}

/* Is this connection of a server that has closed it unnoticed? */
static void check_idle(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_connection *connection = &node->connection;
    bool is_idle = hf_instant_until(connection->link.heard_at, now).ns >=
                   IDLE_MS * INT64_C(1000000);
    if (hf_sql_node_is_ready(&node->base) && is_idle &&
        connection->count == 0 && hf_pg_connection_is_dead(connection)) {
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
    if (hf_pg_ask_refuse(node, &pending)) {
        return;
    }
    if (asks && node->base.standing.status != HF_NODE_STATUS_VOTING) {
        hf_pg_answer_none(node, &pending, HF_VERDICT_UNSENT, HF_QUARANTINED,
                          node->base.standing.reason);
        return;
    }
    if (hf_pg_renew_gather(node, ask, now)) {
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
    struct call call;
    const char *why = make_call(&call, node, ask);
    bool was_empty = connection->count == 0;
    if (why != NULL) {
        hf_pg_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
        return false;
    }
    if (send_call(node, ask->verb, pending, &call.params)) {
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
