/* SPDX-License-Identifier: Apache-2.0 */
/* MANY RENEWALS, ONE COMMIT
 *
 * A session commits one transaction after the other, and each waits for the
 * disk. So a client of many locks sends their renewals together: those that are
 * asked for while any request is under way are the next batch.
 *
 *     asked  a  b c d e f     g h
 *     sent   a            bcdef         gh
 *     reply             a         bcdef     gh
 *
 * A renewal alone is a plain CONFIRM. holdfast.renew() renews the locks that
 * need no other rule and are not locked by another session; the rest is sent as
 * CONFIRM.
 *
 * The server executes requests in the order in which they are asked: any other
 * request first sends the gathered ones.
 *
 * Cost: one statement, one commit and one round trip for up to BATCH_MAX
 * renewals. A lock that it did not renew costs a CONFIRM, and so a round trip,
 * more; all of these are in one write. A renewal that is gathered first waits
 * for the requests that are under way. */
#include "base/assert.h"
#include "store/postgres/node.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Most renewals of a batch: their rows stay locked until it ends. */
#define BATCH_MAX 1000

/* The column after those of holdfast.answer: which of the batch, from 1. */
#define C_NTH 12

#define RENEW "holdfast.renew($1, $2, $3, $4, $5, $6)"

/* An array of SQL in the binary format: a header, and elements that are their
 * length and their bytes (array_recv). */
struct array {
    char *data;
    size_t len;
    size_t cap;
};

#define ARRAY_HEADER 20 /* bytes: five numbers */
enum { NAMES, OWNERS, LEASES, FENCES, ARRAYS };

/* Of each element (pg_type.dat): bytea, bigint. */
static const uint32_t types[ARRAYS] = {17, 17, 20, 20};

struct renewal {
    uint64_t cookie;
    struct hf_instant sent; /* when it was asked for */
    size_t name;            /* the offset of its element */
    size_t owner;
    int64_t ttl_ms;
    uint64_t counter;
    bool reacquires;
    bool is_renewed;
};

struct hf_pg_batch {
    struct hf_pg_batch *next; /* sent after it */
    struct array arrays[ARRAYS];
    struct renewal *renewals;
    size_t n;
    size_t cap;
};

/* ---- Arrays ------------------------------------------------------------- */

/** @return false: out of memory. */
static bool reserve(struct array *array, size_t len)
{
    if (array->len + len <= array->cap) {
        return true;
    }
    size_t cap = 2 * array->cap + len;
    char *data = realloc(array->data, cap);
    if (data == NULL) {
        return false;
    }
    array->data = data;
    array->cap = cap;
    return true;
}

static void put_number(char *at, size_t number)
{
    uint32_t big = htobe32((uint32_t)number);
    memcpy(at, &big, sizeof(big));
}

/* Two parts of one element. */
static void add(struct array *array, const void *head, size_t head_len,
                const void *tail, size_t tail_len)
{
    char *at = array->data + array->len;
    put_number(at, head_len + tail_len);
    memcpy(at + 4, head, head_len);
    memcpy(at + 4 + head_len, tail, tail_len);
    array->len += 4 + head_len + tail_len;
}

static void add_integer(struct array *array, uint64_t number)
{
    uint64_t big = htobe64(number > INT64_MAX ? INT64_MAX : number);
    add(array, &big, sizeof(big), "", 0);
}

static struct hf_bytes element(const struct array *array, size_t offset)
{
    uint32_t big;
    memcpy(&big, array->data + offset, sizeof(big));
    return (struct hf_bytes){array->data + offset + 4, be32toh(big)};
}

/* One dimension without NULL; the first element is number 1. */
static void put_header(const struct array *array, uint32_t type, size_t n)
{
    const size_t header[ARRAY_HEADER / 4] = {1, 0, type, n, 1};
    for (size_t i = 0; i < ARRAY_HEADER / 4; i++) {
        put_number(array->data + 4 * i, header[i]);
    }
}

/* ---- A batch ------------------------------------------------------------ */

static void free_batch(struct hf_pg_batch *batch)
{
    for (int i = 0; i < ARRAYS; i++) {
        free(batch->arrays[i].data);
    }
    free(batch->renewals);
    free(batch);
}

static bool reserve_all(struct hf_pg_batch *batch, size_t name_len,
                        size_t owner_len)
{
    const size_t lens[ARRAYS] = {name_len, owner_len, 8, 8};
    for (int i = 0; i < ARRAYS; i++) {
        struct array *array = &batch->arrays[i];
        if (!reserve(array, ARRAY_HEADER + 4 + lens[i])) {
            return false;
        }
        array->len = array->len == 0 ? ARRAY_HEADER : array->len;
    }
    if (batch->n < batch->cap) {
        return true;
    }
    size_t cap = batch->cap == 0 ? 1 : 2 * batch->cap;
    struct renewal *renewals =
        realloc(batch->renewals, cap * sizeof(*renewals));
    if (renewals == NULL) {
        return false;
    }
    batch->renewals = renewals;
    batch->cap = cap;
    return true;
}

bool hf_pg_renew_gather(struct hf_pg_node *node, const struct hf_ask *ask,
                        struct hf_instant now)
{
    const struct hf_pg *store = node->store;
    if (ask->verb != HF_VERB_CONFIRM || ask->is_shared) {
        return false;
    }
    if (node->gathered == NULL) {
        node->gathered = calloc(1, sizeof(*node->gathered));
    }
    struct hf_pg_batch *batch = node->gathered;
    if (batch == NULL ||
        !reserve_all(batch, store->base.prefix_len + ask->name_len,
                     ask->owner_len)) {
        return false;
    }
    batch->renewals[batch->n++] = (struct renewal){
        .cookie = ask->cookie,
        .sent = now,
        .name = batch->arrays[NAMES].len,
        .owner = batch->arrays[OWNERS].len,
        .ttl_ms = ask->ttl_ms,
        .counter = ask->counter,
        .reacquires = ask->reacquires,
    };
    add(&batch->arrays[NAMES], store->base.prefix, store->base.prefix_len,
        ask->name, ask->name_len);
    add(&batch->arrays[OWNERS], ask->owner, ask->owner_len, "", 0);
    add_integer(&batch->arrays[LEASES], (uint64_t)ask->ttl_ms);
    add_integer(&batch->arrays[FENCES], ask->counter);
    if (batch->n == BATCH_MAX) {
        hf_pg_renew_send(node, now);
    }
    return true;
}

static struct hf_pg_pending pending_of(const struct renewal *renewal)
{
    return (struct hf_pg_pending){.cookie = renewal->cookie,
                                  .sent = renewal->sent,
                                  .kind = HF_VERB_CONFIRM};
}

/* The batch is on no list: a callback that asks for more changes others. */
static void answer_none(struct hf_pg_node *node, struct hf_pg_batch *batch,
                        enum hf_verdict verdict, enum hf_status fault,
                        const char *reason)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct hf_pg_pending pending = pending_of(&batch->renewals[i]);
        hf_pg_answer_none(node, &pending, verdict, fault, reason);
    }
    free_batch(batch);
}

static struct hf_pg_batch *take_gathered(struct hf_pg_node *node)
{
    struct hf_pg_batch *batch = node->gathered;
    node->gathered = NULL;
    return batch;
}

static struct hf_pg_batch *take_sent(struct hf_pg_node *node)
{
    struct hf_pg_batch *batch = node->sent;
    HF_ASSERT(batch != NULL);
    node->sent = batch->next;
    return batch;
}

/* ---- Sending ------------------------------------------------------------ */

/* As a request of its own: its name needs more than a renewal, or is alone. */
static void confirm(struct hf_pg_node *node, const struct hf_pg_batch *batch,
                    const struct renewal *renewal)
{
    struct hf_pg_pending pending = pending_of(renewal);
    size_t prefix_len = node->store->base.prefix_len;
    struct hf_bytes key = element(&batch->arrays[NAMES], renewal->name);
    struct hf_bytes owner = element(&batch->arrays[OWNERS], renewal->owner);
    const struct hf_ask ask = {
        .cookie = renewal->cookie,
        .verb = HF_VERB_CONFIRM,
        .reacquires = renewal->reacquires,
        .name = (const char *)key.data + prefix_len,
        .name_len = key.len - prefix_len,
        .owner = owner.data,
        .owner_len = owner.len,
        .ttl_ms = renewal->ttl_ms,
        .counter = renewal->counter,
    };
    if (!hf_pg_ask_refuse(node, &pending, false)) {
        (void)hf_pg_ask_verb(node, &ask, &pending);
    }
}

static void confirm_all(struct hf_pg_node *node,
                        const struct hf_pg_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        if (!batch->renewals[i].is_renewed) {
            confirm(node, batch, &batch->renewals[i]);
        }
    }
}

static bool send_batch(struct hf_pg_node *node, const struct hf_pg_batch *batch,
                       struct hf_instant now)
{
    static const char own[] = "SELECT (r.answer).*, r.nth FROM " RENEW " AS r";
    static const char pooled[] = HF_PG_CALL("(a.answer).*, a.nth", RENEW);
    struct hf_pg_pending pending = {.sent = now, .kind = HF_PG_RENEW};
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    for (int i = 0; i < ARRAYS; i++) {
        const struct array *array = &batch->arrays[i];
        put_header(array, types[i], batch->n);
        hf_pg_params_bytes(&params, array->data, array->len);
    }
    hf_pg_params_text(&params, node->base.admission.known.value);
    hf_pg_params_number(&params, node->store->base.fence_keep_ms);
    return hf_pg_connection_ask(&node->connection, &pending,
                                node->is_pooled ? HF_PG_STATEMENTS_MAX
                                                : HF_PG_STATEMENT_RENEW,
                                node->is_pooled ? pooled : own, &params);
}

static void append_sent(struct hf_pg_node *node, struct hf_pg_batch *batch)
{
    struct hf_pg_batch **last = &node->sent;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = batch;
}

void hf_pg_renew_send(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_connection *connection = &node->connection;
    struct hf_pg_batch *batch = take_gathered(node);
    if (batch == NULL || batch->n == 0) {
        node->gathered = batch; /* no memory for the first of it */
    } else if (batch->n == 1 || !hf_sql_node_is_ready(&node->base)) {
        confirm_all(node, batch);
        free_batch(batch);
    } else if (send_batch(node, batch, now)) {
        append_sent(node, batch);
        hf_pg_node_arm(node);
    } else { /* libpq failed half-way: the server may have got all of it */
        answer_none(node, batch,
                    connection->link.is_broken ? HF_VERDICT_UNKNOWN
                                               : HF_VERDICT_UNSENT,
                    connection->link.is_broken ? HF_UNAVAILABLE : HF_NO_MEMORY,
                    connection->link.is_broken ? connection->link.reason
                                               : "out of memory");
    }
}

/* The session executes one request after the other: to send earlier would gain
 * nothing, and make smaller batches. */
void hf_pg_renew_flush(struct hf_pg_node *node, struct hf_instant now)
{
    if (node->connection.count == 0 || !hf_sql_node_is_ready(&node->base)) {
        hf_pg_renew_send(node, now);
    }
}

/* ---- Replies ------------------------------------------------------------ */

static void take_rows(struct hf_pg_node *node, struct hf_pg_batch *batch,
                      const struct pg_result *rows, struct hf_instant now)
{
    int n = hf_pg_columns(rows) > C_NTH ? hf_pg_rows(rows) : 0;
    for (int row = 0; row < n; row++) {
        int64_t nth = hf_pg_integer(rows, row, C_NTH);
        if (nth < 1 || nth > (int64_t)batch->n ||
            batch->renewals[nth - 1].is_renewed) {
            continue; /* the function was changed */
        }
        struct renewal *renewal = &batch->renewals[nth - 1];
        struct hf_pg_pending pending = pending_of(renewal);
        renewal->is_renewed = true;
        hf_pg_answer_row(node, &pending, rows, row, now);
    }
    confirm_all(node, batch);
}

void hf_pg_renewed(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                   struct hf_instant now)
{
    struct hf_pg_batch *batch = take_sent(node);
    if (reply->error == NULL && !reply->is_unsure) {
        take_rows(node, batch, reply->rows, now);
    } else {
        for (size_t i = 0; i < batch->n; i++) {
            struct hf_pg_pending pending = pending_of(&batch->renewals[i]);
            hf_pg_answer(node, &pending, reply, now);
        }
    }
    free_batch(batch);
}

/* ---- The end ------------------------------------------------------------ */

void hf_pg_renew_lost(struct hf_pg_node *node, enum hf_status fault,
                      const char *reason)
{
    answer_none(node, take_sent(node), HF_VERDICT_UNKNOWN, fault, reason);
}

void hf_pg_renew_unsent(struct hf_pg_node *node, enum hf_status fault,
                        const char *reason)
{
    struct hf_pg_batch *batch = take_gathered(node);
    if (batch != NULL) {
        answer_none(node, batch, HF_VERDICT_UNSENT, fault, reason);
    }
}

void hf_pg_renew_fini(struct hf_pg_node *node)
{
    struct hf_pg_batch *batch = take_gathered(node);
    if (batch != NULL) {
        free_batch(batch);
    }
    while (node->sent != NULL) {
        free_batch(take_sent(node));
    }
}
