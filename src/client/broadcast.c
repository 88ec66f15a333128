/* SPDX-License-Identifier: Apache-2.0 */
#include "client/broadcast.h"

#include "base/assert.h"

#include <string.h>

/* The time without a majority after which a query fails, so that a command that
 * only reads ends within a second. */
#define LOOK_MS_MAX 900

void hf_broadcast_init(struct hf_broadcast *look, struct hf_client *client,
                       enum hf_verb verb, const void *name, size_t name_len)
{
    hf_op_init(&look->op, client, HF_OP_LOOK);
    memset((char *)look + sizeof(look->op), 0,
           sizeof(*look) - sizeof(look->op));
    look->op.item.kind = HF_ITEM_LOOK;
    look->op.order.name = name;
    look->op.order.name_len = name_len;
    look->op.order.ttl_ms = client->url->max_ttl_ms;
    look->verb = verb;
    look->patience = hf_span_ms(LOOK_MS_MAX);
}

static void start(struct hf_broadcast *look)
{
    struct hf_client *client = look->op.client;
    look->is_delayed = false;
    look->hard_end = hf_instant_add(client->now, look->patience);
    hf_timer_heap_set(&client->heap, &look->op.item, look->hard_end);
    hf_broadcast_pump(look);
}

bool hf_broadcast_begin(struct hf_broadcast *look)
{
    if (!hf_op_list(&look->op)) {
        return false;
    }
    start(look);
    return true;
}

bool hf_broadcast_begin_after(struct hf_broadcast *look, struct hf_span delay)
{
    struct hf_client *client = look->op.client;
    if (!hf_op_list(&look->op)) {
        return false;
    }
    look->is_delayed = true;
    hf_timer_heap_set(&client->heap, &look->op.item,
                      hf_instant_add(client->now, delay));
    return true;
}

static void ask(struct hf_broadcast *look, unsigned node)
{
    struct hf_client *client = look->op.client;
    struct hf_ask question = {
        .cookie = hf_handle_table_cookie(&client->slots, &look->op.item),
        .verb = look->verb,
        .node = (uint8_t)node,
        .now = look->now,
        .name = look->op.order.name,
        .name_len = look->op.order.name_len,
        .owner = look->owner,
        .owner_len = look->owner_len,
        .ttl_ms = look->op.order.ttl_ms,
        .counter =
            look->verb == HF_VERB_SCAN ? look->cursor[node] : look->fence,
        .back = look->back == NULL ? NULL : look->back[node].data,
        .back_len = look->back == NULL ? 0 : look->back[node].len,
        .value =
            look->value == NULL ? (struct hf_bytes){NULL, 0} : *look->value,
    };
    uint16_t bit = (uint16_t)(1U << node);
    look->asked |= bit;
    look->waiting |= bit;
    look->again &= (uint16_t)~bit;
    hf_client_ask(client, &question);
}

static bool has_majority(const struct hf_broadcast *look)
{
    return __builtin_popcount(look->op.answered) >=
           look->op.client->nodes.quorum;
}

static void finish(struct hf_broadcast *look)
{
    look->unknown |= look->waiting;
    hf_op_finish(&look->op,
                 has_majority(look) ? HF_OK : hf_unavailable_write(&look->op));
}

/* Finish as soon as no further reply can come. With a majority, wait one more
 * timeout for the others, so that the result names the state of a slow node. */
static void judge(struct hf_broadcast *look)
{
    struct hf_client *client = look->op.client;
    uint16_t coming = (uint16_t)(look->waiting | look->again |
                                 (client->nodes.connecting & ~look->asked));
    if (coming == 0) {
        finish(look);
        return;
    }
    if (has_majority(look)) { /* the other nodes get one more timeout */
        struct hf_instant soft_end =
            hf_client_patience(client, hf_span_ms(client->url->max_ttl_ms));
        look->hard_end = hf_instant_min(look->hard_end, soft_end);
    }
    hf_timer_heap_set(&client->heap, &look->op.item, look->hard_end);
}

void hf_broadcast_pump(struct hf_broadcast *look)
{
    const struct hf_nodes *nodes = &look->op.client->nodes;
    uint16_t up = (uint16_t)(nodes->voting | nodes->repairing);
    if (look->is_delayed) {
        return;
    }
    for (;;) {
        uint16_t next = (uint16_t)(up & (look->again | ~look->asked));
        if (next == 0) {
            break;
        }
        ask(look, (unsigned)__builtin_ctz(next));
    }
    look->again &= up;
    judge(look);
}

void hf_broadcast_due(struct hf_broadcast *look)
{
    if (look->is_delayed) {
        start(look);
    } else {
        finish(look);
    }
}

/* The store may be on the stack: only note the reply. hf_client_settle() pumps
 * the query afterwards. */
void hf_broadcast_answer(struct hf_broadcast *look,
                         const struct hf_answer *answer)
{
    struct hf_client *client = look->op.client;
    uint16_t bit = (uint16_t)(1U << answer->node);
    look->waiting &= (uint16_t)~bit;
    client->has_heard = true;
    if (answer->verdict != HF_VERDICT_OK &&
        answer->verdict != HF_VERDICT_REFUSED) {
        look->op.refusing |= bit;
        look->unknown |= answer->verdict == HF_VERDICT_UNKNOWN ? bit : 0;
        look->unsent |= answer->verdict == HF_VERDICT_UNSENT ? bit : 0;
        if (look->repeats > 0) {
            look->repeats--;
            look->asked &= (uint16_t)~bit;
        }
        return;
    }
    if (look->heard(look, answer)) {
        look->again |= bit;
        look->hard_end = hf_instant_add(client->now, hf_span_ms(LOOK_MS_MAX));
    } else {
        look->op.answered |= bit;
    }
}
