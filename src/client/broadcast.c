/* SPDX-License-Identifier: Apache-2.0 */
/* QUERIES: ONE REQUEST TO EVERY NODE
 *
 *   begin ──▶ ask the nodes that are up ──▶ replies ──▶ a majority ──▶ all
 *                                                        └──one timeout─▶ end
 *
 * A query ends at the first of: no further reply can come; a majority has
 * replied, and one timeout has passed since, in which slow nodes may reply; its
 * patience is over. Without a majority it ends with an error. A node that is
 * still connecting is asked as soon as it is up.
 *
 * A reply may be lost with its connection, and the request executed anyway,
 * also later. Such nodes are in `unknown`: if the request changes something,
 * the caller must not take them for unchanged. Nodes in `unsent` are unchanged.
 * A request that only reads is sent again: a pooler, a proxy or a fail-over may
 * have closed a connection that was idle until then.
 *
 * Cost: one round trip, and one timeout if a node is slow or dead. A paged
 * query (SCAN) costs one round trip a page. */
#include "client/broadcast.h"

#include "client/step.h"
#include "client/unavailable.h"

#include "base/assert.h"

#include <string.h>

/* The time without a majority after which a query fails, so that a command that
 * only reads ends within a second. */
#define LOOK_MS_MAX 900

/* The bits are set before the request: the embedded store answers inside of
 * it. */
static void ask(struct hf_broadcast *query, unsigned node)
{
    struct hf_client *client = query->op.client;
    struct hf_ask question = {
        .cookie = hf_item_table_cookie(&client->items, &query->op.item),
        .verb = query->verb,
        .node = (uint8_t)node,
        .frees_now = query->frees_now,
        .name = query->op.order.name,
        .name_len = query->op.order.name_len,
        .owner = query->owner,
        .owner_len = query->owner_len,
        .ttl_ms = query->op.order.ttl_ms,
        .counter =
            query->verb == HF_VERB_SCAN ? query->cursor[node] : query->fence,
        .back = query->back == NULL ? NULL : query->back[node].data,
        .back_len = query->back == NULL ? 0 : query->back[node].len,
        .value =
            query->value == NULL ? (struct hf_bytes){NULL, 0} : *query->value,
    };
    uint16_t bit = (uint16_t)(1U << node);
    HF_ASSERT((query->waiting & bit) == 0); /* one request at a time */
    query->asked |= bit;
    query->waiting |= bit;
    query->again &= (uint16_t)~bit;
    hf_client_ask(client, &question);
}

static bool has_majority(const struct hf_broadcast *query)
{
    return __builtin_popcount(query->op.answered) >=
           query->op.client->nodes.quorum;
}

static void finish(struct hf_broadcast *query)
{
    query->unknown |= query->waiting;
    hf_op_finish(&query->op, has_majority(query)
                                 ? HF_OK
                                 : hf_unavailable_write(&query->op));
}

/* Finish as soon as no further reply can come. With a majority, wait one more
 * timeout for the others, so that the result names the state of a slow node. */
static void judge(struct hf_broadcast *query)
{
    struct hf_client *client = query->op.client;
    uint16_t coming = (uint16_t)(query->waiting | query->again |
                                 (client->nodes.connecting & ~query->asked));
    if (coming == 0) {
        finish(query);
        return;
    }
    if (has_majority(query)) { /* the other nodes get one more timeout */
        struct hf_instant soft_end =
            hf_client_patience(client, hf_span_ms(client->url->max_ttl_ms));
        query->hard_end = hf_instant_min(query->hard_end, soft_end);
    }
    hf_timer_heap_set(&client->heap, &query->op.item, query->hard_end);
}

void hf_broadcast_pump(struct hf_broadcast *query)
{
    const struct hf_nodes *nodes = &query->op.client->nodes;
    uint16_t up = (uint16_t)(nodes->voting | nodes->repairing);
    if (query->is_delayed) {
        return;
    }
    for (;;) {
        uint16_t next = (uint16_t)(up & (query->again | ~query->asked));
        if (next == 0) {
            break;
        }
        ask(query, (unsigned)__builtin_ctz(next));
    }
    query->again &= up;
    judge(query);
}

/* ---- The begin --------------------------------------------------------- */

static void start(struct hf_broadcast *query)
{
    struct hf_client *client = query->op.client;
    HF_ASSERT(query->op.is_listed && query->on_reply != NULL);
    query->is_delayed = false;
    query->hard_end = hf_instant_add(client->now, query->op.patience);
    hf_timer_heap_set(&client->heap, &query->op.item, query->hard_end);
    hf_broadcast_pump(query);
}

/* The timer: begin after the delay; else end with the replies so far. */
static void on_due(struct hf_op *op)
{
    struct hf_broadcast *query = (struct hf_broadcast *)(void *)op;
    if (query->is_delayed) {
        start(query);
    } else {
        finish(query);
    }
}

static void on_node(struct hf_op *op)
{
    hf_broadcast_pump((struct hf_broadcast *)(void *)op);
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_QUERY,
    .due = on_due,
    .node = on_node,
};

static bool only_reads(enum hf_verb verb)
{
    return verb == HF_VERB_INSPECT || verb == HF_VERB_QUEUE ||
           verb == HF_VERB_SCAN;
}

void hf_broadcast_init(struct hf_broadcast *query, struct hf_client *client,
                       enum hf_verb verb, const void *name, size_t name_len)
{
    hf_op_init(&query->op, client, &handlers);
    memset((char *)query + sizeof(query->op), 0,
           sizeof(*query) - sizeof(query->op));
    query->op.item.kind = HF_ITEM_QUERY;
    query->op.order.name = name;
    query->op.order.name_len = name_len;
    query->op.order.ttl_ms = client->url->max_ttl_ms;
    query->verb = verb;
    query->repeats = only_reads(verb) ? client->nodes.count : 0;
    query->op.patience = hf_span_ms(LOOK_MS_MAX);
}

bool hf_broadcast_begin(struct hf_broadcast *query)
{
    if (!hf_op_list(&query->op)) {
        return false;
    }
    start(query);
    return true;
}

bool hf_broadcast_begin_after(struct hf_broadcast *query, struct hf_span delay)
{
    struct hf_client *client = query->op.client;
    if (!hf_op_list(&query->op)) {
        return false;
    }
    query->is_delayed = true;
    hf_timer_heap_set(&client->heap, &query->op.item,
                      hf_instant_add(client->now, delay));
    return true;
}

/* ---- Replies ----------------------------------------------------------- */

/* The store may be on the stack: only note the reply. hf_client_settle() pumps
 * the query afterwards. */
void hf_broadcast_answer(struct hf_broadcast *query,
                         const struct hf_answer *answer)
{
    struct hf_client *client = query->op.client;
    uint16_t bit = (uint16_t)(1U << answer->node);
    query->waiting &= (uint16_t)~bit;
    client->has_reply = true;
    if (answer->verdict != HF_VERDICT_OK &&
        answer->verdict != HF_VERDICT_REFUSED) {
        query->unknown |= answer->verdict == HF_VERDICT_UNKNOWN ? bit : 0;
        query->unsent |= answer->verdict == HF_VERDICT_UNSENT ? bit : 0;
        if (query->repeats > 0) {
            query->repeats--;
            query->asked &= (uint16_t)~bit;
        } else {
            query->op.refusing |= bit;
        }
        return;
    }
    if (query->on_reply(query, answer)) {
        query->again |= bit;
        query->hard_end = hf_instant_add(client->now, hf_span_ms(LOOK_MS_MAX));
    } else {
        query->op.answered |= bit;
    }
}
