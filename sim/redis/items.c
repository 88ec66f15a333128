/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes and sorted sets: each is an array of items. Names are searched
 * linearly, comparing hashes first, since queues are short. */
#include "redis/keyspace.h"
#include "redis/text.h"

#include <string.h>

/* Items of a new key: a node's record and most queues fit. It doubles. */
#define FIRST_ITEMS 8

static size_t find(const struct sim_key *key, const char *name, size_t len)
{
    uint32_t hash = sim_hash_of(name, len);
    size_t i = 0;
    while (i < key->n_items && (key->items[i].hash != hash ||
                                !sim_blob_is(key->items[i].name, name, len))) {
        i++;
    }
    return i;
}

static struct sim_item *insert(struct sim_keyspace *space, struct sim_key *key,
                               size_t at, const char *name, size_t len)
{
    if (key->n_items == key->cap_items) {
        key->cap_items = key->cap_items == 0 ? FIRST_ITEMS : 2 * key->cap_items;
        key->items =
            sim_realloc(key->items, key->cap_items * sizeof(struct sim_item));
    }
    struct sim_item *item = &key->items[at];
    memmove(item + 1, item, (key->n_items - at) * sizeof(*item));
    key->n_items++;
    item->name = sim_blob_new(space, name, len);
    item->hash = sim_hash_of(name, len);
    item->text = NULL;
    return item;
}

static void erase(struct sim_keyspace *space, struct sim_key *key, size_t at)
{
    struct sim_item *item = &key->items[at];
    sim_blob_free(space, item->name);
    if (key->type == SIM_HASH) {
        sim_blob_free(space, item->text);
    }
    key->n_items--;
    memmove(item, item + 1, (key->n_items - at) * sizeof(*item));
}

/* ---- Hashes -------------------------------------------------------------- */

const struct sim_item *sim_hash_find(const struct sim_key *key,
                                     const char *name, size_t len)
{
    size_t at = find(key, name, len);
    return at == key->n_items ? NULL : &key->items[at];
}

bool sim_hash_set(struct sim_keyspace *space, struct sim_key *key,
                  const char *name, size_t name_len, const char *text,
                  size_t text_len)
{
    size_t at = find(key, name, name_len);
    bool is_new = at == key->n_items;
    struct sim_item *item =
        is_new ? insert(space, key, at, name, name_len) : &key->items[at];
    sim_blob_set(space, &item->text, text, text_len);
    return is_new;
}

bool sim_hash_remove(struct sim_keyspace *space, struct sim_key *key,
                     const char *name, size_t len)
{
    size_t at = find(key, name, len);
    if (at == key->n_items) {
        return false;
    }
    erase(space, key, at);
    return true;
}

/* ---- Sorted sets --------------------------------------------------------- */

static int compare_names(const char *a, size_t a_len, const char *b,
                         size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* The rank for a member of that score and name. */
static size_t place(const struct sim_key *key, double score, const char *name,
                    size_t len)
{
    size_t low = 0;
    size_t high = key->n_items;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sim_item *item = &key->items[middle];
        bool is_before =
            item->score < score ||
            (item->score == score &&
             compare_names(item->name->data, item->name->len, name, len) < 0);
        if (is_before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t sim_zset_find(const struct sim_key *key, const char *name, size_t len)
{
    return find(key, name, len);
}

void sim_zset_add(struct sim_keyspace *space, struct sim_key *key, double score,
                  const char *name, size_t len)
{
    size_t at = place(key, score, name, len);
    insert(space, key, at, name, len)->score = score + 0.0; /* no -0 */
}

size_t sim_zset_move(struct sim_key *key, size_t rank, double score)
{
    struct sim_item item = key->items[rank];
    key->n_items--;
    memmove(&key->items[rank], &key->items[rank + 1],
            (key->n_items - rank) * sizeof(item));
    size_t at = place(key, score, item.name->data, item.name->len);
    memmove(&key->items[at + 1], &key->items[at],
            (key->n_items - at) * sizeof(item));
    key->n_items++;
    item.score = score + 0.0;
    key->items[at] = item;
    return at;
}

void sim_zset_remove(struct sim_keyspace *space, struct sim_key *key,
                     size_t rank)
{
    erase(space, key, rank);
}

size_t sim_zset_from(const struct sim_key *key, double score, bool is_above)
{
    size_t low = 0;
    size_t high = key->n_items;
    while (low < high) {
        size_t middle = (low + high) / 2;
        double at = key->items[middle].score;
        if (at < score || (is_above && at == score)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
