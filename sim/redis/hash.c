/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of hashes. A hash is an array of fields in order of insertion
 * (items.c), so HGETALL lists them in that order: the same calls give the same
 * bytes. Cost: O(n) of its fields for each one that is found. */
#include "redis/server.h"

void sim_hget(struct sim_call *call)
{
    struct sim_key *key;
    if (!sim_call_key(call, SIM_HASH, &key)) {
        return;
    }
    const struct sim_item *item =
        key == NULL ? NULL
                    : sim_hash_find(key, call->argv[2].data, call->argv[2].len);
    if (item == NULL) {
        sim_reply_null(call->out);
    } else {
        sim_reply_bulk(call->out, item->text->data, item->text->len);
    }
}

void sim_hgetall(struct sim_call *call)
{
    struct sim_key *key;
    if (!sim_call_key(call, SIM_HASH, &key)) {
        return;
    }
    size_t n = key == NULL ? 0 : key->n_items;
    sim_reply_array(call->out, 2 * n);
    for (size_t i = 0; i < n; i++) {
        const struct sim_item *item = &key->items[i];
        sim_reply_bulk(call->out, item->name->data, item->name->len);
        sim_reply_bulk(call->out, item->text->data, item->text->len);
    }
}

void sim_hset(struct sim_call *call)
{
    if (call->argc % 2 == 1) {
        sim_call_wrong_arity(call);
        return;
    }
    struct sim_key *key = sim_call_key_or_new(call, SIM_HASH);
    if (key == NULL) {
        return;
    }
    int64_t added = 0;
    for (size_t i = 2; i < call->argc; i += 2) {
        const struct sim_arg *field = &call->argv[i];
        added += sim_hash_set(&call->redis->keys, key, field[0].data,
                              field[0].len, field[1].data, field[1].len);
    }
    sim_reply_integer(call->out, added);
}

void sim_hdel(struct sim_call *call)
{
    struct sim_key *key;
    if (!sim_call_key(call, SIM_HASH, &key)) {
        return;
    }
    int64_t removed = 0;
    for (size_t i = 2; key != NULL && i < call->argc; i++) {
        removed += sim_hash_remove(&call->redis->keys, key, call->argv[i].data,
                                   call->argv[i].len);
    }
    if (key != NULL) {
        sim_call_remove_if_empty(call, key);
    }
    sim_reply_integer(call->out, removed);
}
