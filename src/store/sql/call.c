/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a call: its arguments in the order of schema/. */
#include "store/sql/sql.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. Look
 * before a request is sent: it is then UNSENT instead of UNKNOWN. A busy
 * connection does without that system call. */
#define IDLE_MS 1000

/* Most holders, and most waiters, in a QUEUE: with the longest owners the
 * reply, which server and client have in memory as a whole, is about 1 MiB. */
#define QUEUE_MAX 1000

/* Names of one page of a SCAN: with the longest names the reply is of the same
 * size, and a list of 100,000 names takes 100 round trips. */
#define SCAN_PAGE 1000

/* ---- Can it be sent? ---------------------------------------------------- */

bool hf_sql_node_is_idle(const struct hf_sql_node *node, struct hf_instant now)
{
    struct hf_instant due =
        hf_instant_add(node->link->heard_at, hf_span_ms(IDLE_MS));
    return hf_sql_node_is_ready(node) && !hf_instant_before(now, due);
}

enum hf_status hf_sql_node_cause(const struct hf_sql_node *node,
                                 bool needs_vote, const char **reason)
{
    if (!hf_sql_node_is_ready(node)) {
        return hf_standing_cause(&node->standing, reason);
    }
    *reason = node->standing.reason;
    return needs_vote && node->standing.status != HF_NODE_STATUS_VOTING
               ? HF_QUARANTINED
               : HF_OK;
}

/* ---- Arguments ---------------------------------------------------------- */

static struct hf_sql_argument *add(struct hf_sql_call *call,
                                   enum hf_sql_type type)
{
    HF_ASSERT(call->n < HF_SQL_ARGUMENTS_MAX);
    struct hf_sql_argument *argument = &call->arguments[call->n++];
    *argument = (struct hf_sql_argument){.type = type};
    return argument;
}

static void add_bytes(struct hf_sql_call *call, const void *data, size_t len)
{
    add(call, HF_SQL_BYTES)->bytes = (struct hf_bytes){data, len};
}

void hf_sql_call_text(struct hf_sql_call *call, const char *text)
{
    add(call, HF_SQL_TEXT)->bytes = (struct hf_bytes){text, strlen(text)};
}

static void add_number(struct hf_sql_call *call, int64_t number)
{
    add(call, HF_SQL_NUMBER)->number = number;
}

/* More than a BIGINT has is its most. */
static void add_unsigned(struct hf_sql_call *call, uint64_t number)
{
    add_number(call, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static void add_flag(struct hf_sql_call *call, bool flag)
{
    add(call, HF_SQL_FLAG)->number = flag;
}

static void add_owner(struct hf_sql_call *call, const struct hf_ask *ask)
{
    add_bytes(call, ask->owner, ask->owner_len);
}

static void add_mode(struct hf_sql_call *call, const struct hf_ask *ask)
{
    if (ask->is_shared) {
        (void)snprintf(call->mode, sizeof(call->mode), "s%u",
                       (unsigned)ask->permits);
    } else {
        (void)snprintf(call->mode, sizeof(call->mode), "x");
    }
    hf_sql_call_text(call, call->mode);
}

/* ---- Verbs -------------------------------------------------------------- */

static void acquire(struct hf_sql_call *call, const struct hf_sql_node *node,
                    const struct hf_ask *ask, const char *channel)
{
    bool is_yield = ask->verb == HF_VERB_YIELD;
    add_owner(call, ask);
    add_number(call, ask->ttl_ms);
    add_unsigned(call, is_yield ? 0 : ask->counter);
    hf_sql_call_text(call, node->admission.known.value);
    add_number(call, node->store->fence_keep_ms);
    add_mode(call, ask);
    add_flag(call, ask->is_unfair);
    add_number(call, ask->queue_ms);
    add_unsigned(call, ask->ticket);
    if (channel != NULL) {
        hf_sql_call_text(call, channel);
        add_unsigned(call, ask->cookie);
    }
    add_unsigned(call, is_yield ? ask->counter : 0);
}

static void confirm(struct hf_sql_call *call, const struct hf_sql_node *node,
                    const struct hf_ask *ask)
{
    add_owner(call, ask);
    add_number(call, ask->ttl_ms);
    add_unsigned(call, ask->counter);
    hf_sql_call_text(call, node->admission.known.value);
    add_number(call, node->store->fence_keep_ms);
    add_flag(call, ask->reacquires);
    add_mode(call, ask);
}

/* A node without a vote must not grant the name to a waiter, and its "not
 * yours" proves nothing, whatever its marker is: none is empty. */
static void release(struct hf_sql_call *call, const struct hf_sql_node *node,
                    const struct hf_ask *ask)
{
    bool has_vote = node->standing.status == HF_NODE_STATUS_VOTING;
    add_owner(call, ask);
    add_unsigned(call, ask->counter);
    add_number(call, ask->ttl_ms);
    add_number(call, node->store->fence_keep_ms);
    hf_sql_call_text(call, has_vote ? node->admission.known.value : "");
}

static void break_it(struct hf_sql_call *call, const struct hf_sql_node *node,
                     const struct hf_ask *ask)
{
    add_owner(call, ask);
    add_flag(call, ask->frees_now);
    hf_sql_call_text(call, node->admission.known.value);
    add_number(call, node->store->fence_keep_ms);
    add_number(call, ask->ttl_ms);
    add_bytes(call, ask->back, ask->back_len);
}

static void mark(struct hf_sql_call *call, const struct hf_sql_node *node,
                 const struct hf_ask *ask)
{
    hf_sql_call_text(call, node->admission.known.value);
    add_unsigned(call, ask->counter);
    add_number(call, ask->ttl_ms);
    add_owner(call, ask);
}

static void put(struct hf_sql_call *call, const struct hf_sql_node *node,
                const struct hf_ask *ask)
{
    if (ask->counter == HF_VERSION_ANY) {
        add(call, HF_SQL_NULL);
    } else {
        add_number(call, (int64_t)ask->counter);
    }
    add_owner(call, ask);
    if (ask->value.data == NULL) {
        add_number(call, node->store->fence_keep_ms);
        add(call, HF_SQL_NULL);
    } else {
        add(call, HF_SQL_NULL);
        add_bytes(call, ask->value.data, ask->value.len);
    }
}

/** @return false: the cursor is gone. */
static bool scan(struct hf_sql_call *call, const struct hf_sql_node *node,
                 const struct hf_ask *ask)
{
    struct hf_bytes after;
    if (!hf_cursors_find(&node->store->cursors, ask->counter, &after)) {
        return false;
    }
    add_bytes(call, after.data, after.len);
    add_number(call, SCAN_PAGE);
    return true;
}

/* ---- Names -------------------------------------------------------------- */

/* Does a glob pattern have a meaning for it? */
static bool is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/** The key of a name. Of a SCAN: the bytes before the first special character
 * of its pattern, at most as many as a name has: a longer pattern finds
 * nothing.
 * @return false: too long. */
static bool add_key(struct hf_sql_call *call, const struct hf_sql_store *store,
                    const struct hf_ask *ask)
{
    size_t len = 0;
    const char *name = ask->name;
    bool is_scan = ask->verb == HF_VERB_SCAN;
    while (len < ask->name_len &&
           !(is_scan && (len == HF_NAME_MAX || is_special(name[len])))) {
        len++;
    }
    if (store->prefix_len + len > sizeof(call->key)) {
        return false;
    }
    memcpy(call->key, store->prefix, store->prefix_len);
    if (len > 0) {
        memcpy(call->key + store->prefix_len, name, len);
    }
    add_bytes(call, call->key, store->prefix_len + len);
    return true;
}

/* ---- All ---------------------------------------------------------------- */

const char *hf_sql_call_make(struct hf_sql_call *call,
                             const struct hf_sql_node *node,
                             const struct hf_ask *ask, const char *channel)
{
    call->n = 0;
    if (!add_key(call, node->store, ask)) {
        return "the name is too long";
    }
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
    case HF_VERB_YIELD:
        acquire(call, node, ask, channel);
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
        add_number(call, QUEUE_MAX);
        break;
    case HF_VERB_MARK:
        mark(call, node, ask);
        break;
    case HF_VERB_SCAN:
        return scan(call, node, ask) ? NULL
                                     : "too many lists at once: begin anew";
    case HF_VERB_PUT:
        put(call, node, ask);
        break;
    }
    return NULL;
}

void hf_sql_call_survey(struct hf_sql_call *call,
                        const struct hf_sql_node *node)
{
    enum hf_job job = node->admission.surveying;
    call->n = 0;
    if (job == HF_JOB_LOOK) {
        add_number(call, HF_LOOK_NAMES_MAX);
        return;
    }
    hf_sql_call_text(call,
                     job == HF_JOB_LOWER ? node->admission.marker.value : "");
    add_number(call, node->store->fence_keep_ms);
    add_number(call, node->store->shape.max_ttl_ms);
}
