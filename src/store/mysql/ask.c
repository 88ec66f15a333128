/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a call of a procedure: its arguments in the order of schema/. */
#include "base/assert.h"
#include "store/mysql/node.h"

#include <stdio.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. Check
 * it before sending: the request is then UNSENT instead of UNKNOWN. */
#define IDLE_MS 1000

/* Most holders, and most waiters, in a QUEUE. */
#define QUEUE_MAX 1000

/* Names of one page of a SCAN. */
#define SCAN_PAGE 1000

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

static void add_mode(struct hf_my_text *call, const struct hf_ask *ask)
{
    char mode[8] = "x";
    if (ask->is_shared) {
        (void)snprintf(mode, sizeof(mode), "s%u", (unsigned)ask->permits);
    }
    hf_my_bytes_of(call, mode);
}

static void add_owner(struct hf_my_text *call, const struct hf_ask *ask)
{
    hf_my_bytes(call, ask->owner, ask->owner_len);
}

static void acquire(struct hf_my_text *call, const struct hf_my_node *node,
                    const struct hf_ask *ask)
{
    bool is_yield = ask->verb == HF_VERB_YIELD;
    add_owner(call, ask);
    hf_my_number(call, ask->ttl_ms);
    hf_my_unsigned(call, is_yield ? 0 : ask->counter);
    hf_my_bytes_of(call, node->base.admission.known.value);
    hf_my_number(call, node->store->base.fence_keep_ms);
    add_mode(call, ask);
    hf_my_number(call, ask->is_unfair);
    hf_my_number(call, ask->queue_ms);
    hf_my_unsigned(call, ask->ticket);
    hf_my_unsigned(call, is_yield ? ask->counter : 0);
}

static void confirm(struct hf_my_text *call, const struct hf_my_node *node,
                    const struct hf_ask *ask)
{
    add_owner(call, ask);
    hf_my_number(call, ask->ttl_ms);
    hf_my_unsigned(call, ask->counter);
    hf_my_bytes_of(call, node->base.admission.known.value);
    hf_my_number(call, node->store->base.fence_keep_ms);
    hf_my_number(call, ask->holder);
    add_mode(call, ask);
}

static void release(struct hf_my_text *call, const struct hf_my_node *node,
                    const struct hf_ask *ask)
{
    add_owner(call, ask);
    hf_my_unsigned(call, ask->counter);
    hf_my_number(call, ask->ttl_ms);
    hf_my_number(call, node->store->base.fence_keep_ms);
}

static void break_it(struct hf_my_text *call, const struct hf_my_node *node,
                     const struct hf_ask *ask)
{
    add_owner(call, ask);
    hf_my_number(call, ask->frees_now);
    hf_my_bytes_of(call, node->base.admission.known.value);
    hf_my_number(call, node->store->base.fence_keep_ms);
    hf_my_number(call, ask->ttl_ms);
    hf_my_bytes(call, ask->back, ask->back_len);
}

static void mark(struct hf_my_text *call, const struct hf_my_node *node,
                 const struct hf_ask *ask)
{
    hf_my_bytes_of(call, node->base.admission.known.value);
    hf_my_unsigned(call, ask->counter);
    hf_my_number(call, ask->ttl_ms);
    add_owner(call, ask);
}

/* ---- Names -------------------------------------------------------------- */

/* Of a SCAN: the bytes before the first special character of its pattern. */
static size_t key_len(const struct hf_ask *ask)
{
    size_t len = 0;
    const char *name = ask->name;
    if (ask->verb != HF_VERB_SCAN) {
        return ask->name_len;
    }
    while (len < ask->name_len && strchr("*?[\\", name[len]) == NULL) {
        len++;
    }
    return len;
}

/** @return false: the cursor is gone. */
static bool scan(struct hf_my_text *call, const struct hf_my_node *node,
                 const struct hf_ask *ask)
{
    struct hf_bytes after;
    if (!hf_cursors_find(&node->store->base.cursors, ask->counter, &after)) {
        return false;
    }
    hf_my_bytes(call, after.data, after.len);
    hf_my_number(call, SCAN_PAGE);
    return true;
}

/* ---- Asking ------------------------------------------------------------- */

/** @return false: the cursor of a SCAN is gone. */
static bool add_arguments(struct hf_my_text *call,
                          const struct hf_my_node *node,
                          const struct hf_ask *ask)
{
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
    case HF_VERB_GET:
        break;
    case HF_VERB_QUEUE:
        hf_my_number(call, QUEUE_MAX);
        break;
    case HF_VERB_MARK:
        mark(call, node, ask);
        break;
    case HF_VERB_SCAN:
        return scan(call, node, ask);
    case HF_VERB_PUT:
        hf_my_value_arguments(call, node, ask);
        break;
    }
    return true;
}

/** Make `node->call`. @return NULL; or why the request cannot be made. */
static const char *make_call(struct hf_my_node *node, const struct hf_ask *ask)
{
    struct hf_my_text *call = &node->call;
    const struct hf_my *store = node->store;
    size_t len = key_len(ask);
    hf_my_text_clear(call);
    if (store->base.prefix_len + len > HF_MY_NAME_MAX) {
        return "the name is too long";
    }
    hf_my_call(call, procedures[ask->verb]);
    hf_my_bytes_joined(call, store->base.prefix, store->base.prefix_len,
                       ask->name, len);
    if (!add_arguments(call, node, ask)) {
        return "too many lists at once: begin anew";
    }
    hf_my_end(call);
    return NULL;
}

/* Is this connection of a server that has closed it unnoticed? */
static void check_idle(struct hf_my_node *node, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &node->connection;
    struct hf_instant due =
        hf_instant_add(connection->link.heard_at, hf_span_ms(IDLE_MS));
    if (hf_sql_node_is_ready(&node->base) && !hf_instant_before(now, due) &&
        hf_mysql_connection_is_dead(connection)) {
        hf_mysql_connection_break(connection, HF_UNAVAILABLE,
                                  "the server closed the idle connection");
    }
}

/** @return HF_OK: a request can be sent now. */
static enum hf_status cause_of(const struct hf_my_node *node, bool needs_vote,
                               const char **reason)
{
    if (!hf_sql_node_is_ready(&node->base)) {
        return hf_standing_cause(&node->base.standing, reason);
    }
    *reason = node->base.standing.reason;
    return needs_vote && node->base.standing.status != HF_NODE_STATUS_VOTING
               ? HF_QUARANTINED
               : HF_OK;
}

const char *hf_my_ask_verb(struct hf_my_node *node, const struct hf_ask *ask,
                           uint8_t kind)
{
    struct hf_my_request like = {.cookie = ask->cookie, .kind = kind};
    const char *why = make_call(node, ask);
    if (why != NULL) {
        return why;
    }
    return !node->call.has_failed &&
                   hf_my_push(node, &like, node->call.data, node->call.len)
               ? NULL
               : "out of memory";
}

void hf_my_ask(struct hf_my_node *node, const struct hf_ask *ask,
               struct hf_instant now)
{
    const char *reason;
    struct hf_my_request request = {
        .cookie = ask->cookie, .sent = now, .kind = (uint8_t)ask->verb};
    bool asks = ask->verb == HF_VERB_ACQUIRE || ask->verb == HF_VERB_YIELD;
    check_idle(node, now);
    enum hf_status fault = cause_of(node, asks, &reason);
    if (fault != HF_OK) {
        hf_my_answer_none(node, &request, HF_VERDICT_UNSENT, fault, reason);
        return;
    }
    reason = hf_my_ask_verb(node, ask, request.kind);
    if (reason != NULL) {
        bool is_memory = strcmp(reason, "out of memory") == 0;
        hf_my_answer_none(node, &request,
                          is_memory ? HF_VERDICT_UNSENT : HF_VERDICT_ERROR,
                          is_memory ? HF_NO_MEMORY : HF_UNAVAILABLE, reason);
    }
}
