/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/keyspace.h"

#include "redis/text.h"

#include <stdlib.h>
#include <string.h>

/* A power of 2: a story has some dozens of keys. It doubles. */
#define FIRST_BUCKETS 64

/* ---- Bytes --------------------------------------------------------------- */

/* Pools of 32, 64, 128, 256 and 512 bytes; larger blocks are not pooled. */
static size_t pool_of(size_t len)
{
    size_t pool = 0;
    while (pool < SIM_POOLS && len >= (size_t)32 << pool) {
        pool++;
    }
    return pool;
}

struct sim_blob *sim_blob_new(struct sim_keyspace *space, const char *data,
                              size_t len)
{
    size_t pool = pool_of(len);
    struct sim_blob *blob;
    if (pool < SIM_POOLS && space->spare_blobs[pool] != NULL) {
        blob = space->spare_blobs[pool];
        space->spare_blobs[pool] = blob->next;
    } else {
        size_t cap = pool < SIM_POOLS ? (size_t)32 << pool : len + 1;
        blob = sim_alloc(sizeof(*blob) + cap);
        blob->cap = cap;
    }
    sim_blob_fill(blob, data, len);
    return blob;
}

void sim_blob_free(struct sim_keyspace *space, struct sim_blob *blob)
{
    if (blob == NULL) {
        return;
    }
    size_t pool = pool_of(blob->cap - 1);
    if (pool == SIM_POOLS) {
        free(blob);
        return;
    }
    blob->next = space->spare_blobs[pool];
    space->spare_blobs[pool] = blob;
}

void sim_blob_set(struct sim_keyspace *space, struct sim_blob **blob,
                  const char *data, size_t len)
{
    if (*blob != NULL && len < (*blob)->cap) {
        sim_blob_fill(*blob, data, len);
        return;
    }
    struct sim_blob *old = *blob;
    *blob = sim_blob_new(space, data, len);
    sim_blob_free(space, old);
}

/* ---- Keys ---------------------------------------------------------------- */

void sim_keyspace_init(struct sim_keyspace *space)
{
    memset(space, 0, sizeof(*space));
    space->n_buckets = FIRST_BUCKETS;
    space->buckets = sim_alloc(FIRST_BUCKETS * sizeof(struct sim_key *));
    memset(space->buckets, 0, FIRST_BUCKETS * sizeof(struct sim_key *));
}

void sim_keyspace_fini(struct sim_keyspace *space)
{
    sim_keyspace_clear(space);
    while (space->spare_keys != NULL) {
        struct sim_key *key = space->spare_keys;
        space->spare_keys = key->next;
        free(key->items);
        free(key);
    }
    for (size_t i = 0; i < SIM_POOLS; i++) {
        while (space->spare_blobs[i] != NULL) {
            struct sim_blob *blob = space->spare_blobs[i];
            space->spare_blobs[i] = blob->next;
            free(blob);
        }
    }
    free(space->buckets);
}

bool sim_keyspace_is_expired(const struct sim_keyspace *space,
                             const struct sim_key *key)
{
    return key->expires_ms != SIM_FOREVER && space->now_ms > key->expires_ms;
}

static struct sim_key *find(const struct sim_keyspace *space, const char *name,
                            size_t len, uint32_t hash)
{
    struct sim_key *key = space->buckets[hash & (space->n_buckets - 1)];
    while (key != NULL &&
           (key->hash != hash || !sim_blob_is(key->name, name, len))) {
        key = key->next;
    }
    return key;
}

struct sim_key *sim_keyspace_find(struct sim_keyspace *space, const char *name,
                                  size_t len)
{
    struct sim_key *key = find(space, name, len, sim_hash_of(name, len));
    if (key != NULL && sim_keyspace_is_expired(space, key)) {
        sim_keyspace_remove(space, key);
        return NULL;
    }
    return key;
}

const struct sim_key *sim_keyspace_look(const struct sim_keyspace *space,
                                        const char *name, size_t len)
{
    const struct sim_key *key = find(space, name, len, sim_hash_of(name, len));
    return key == NULL || sim_keyspace_is_expired(space, key) ? NULL : key;
}

static void grow(struct sim_keyspace *space)
{
    space->n_buckets *= 2;
    size_t size = space->n_buckets * sizeof(struct sim_key *);
    space->buckets = sim_realloc(space->buckets, size);
    memset(space->buckets, 0, size);
    for (struct sim_key *key = space->oldest; key != NULL; key = key->newer) {
        struct sim_key **bucket =
            &space->buckets[key->hash & (space->n_buckets - 1)];
        key->next = *bucket;
        *bucket = key;
    }
}

static struct sim_key *take_spare(struct sim_keyspace *space)
{
    struct sim_key *key = space->spare_keys;
    if (key != NULL) {
        space->spare_keys = key->next;
        return key;
    }
    key = sim_alloc(sizeof(*key));
    memset(key, 0, sizeof(*key));
    return key;
}

struct sim_key *sim_keyspace_add(struct sim_keyspace *space, const char *name,
                                 size_t len, enum sim_type type)
{
    if (space->n_keys == space->n_buckets) {
        grow(space);
    }
    struct sim_key *key = take_spare(space);
    key->hash = sim_hash_of(name, len);
    key->type = type;
    key->number = ++space->next_number;
    key->expires_ms = SIM_FOREVER;
    key->name = sim_blob_new(space, name, len);
    struct sim_key **bucket =
        &space->buckets[key->hash & (space->n_buckets - 1)];
    key->next = *bucket;
    *bucket = key;
    key->newer = NULL;
    key->older = space->newest;
    *(space->newest == NULL ? &space->oldest : &space->newest->newer) = key;
    space->newest = key;
    space->n_keys++;
    return key;
}

static void empty(struct sim_keyspace *space, struct sim_key *key)
{
    for (size_t i = 0; i < key->n_items; i++) {
        sim_blob_free(space, key->items[i].name);
        if (key->type == SIM_HASH) {
            sim_blob_free(space, key->items[i].text);
        }
    }
    key->n_items = 0;
    sim_blob_free(space, key->text);
    key->text = NULL;
}

void sim_keyspace_remove(struct sim_keyspace *space, struct sim_key *key)
{
    struct sim_key **at = &space->buckets[key->hash & (space->n_buckets - 1)];
    while (*at != key) {
        at = &(*at)->next;
    }
    *at = key->next;
    *(key->older == NULL ? &space->oldest : &key->older->newer) = key->newer;
    *(key->newer == NULL ? &space->newest : &key->newer->older) = key->older;
    space->n_keys--;
    empty(space, key);
    sim_blob_free(space, key->name);
    key->name = NULL;
    key->next = space->spare_keys;
    space->spare_keys = key;
}

void sim_keyspace_clear(struct sim_keyspace *space)
{
    while (space->oldest != NULL) {
        sim_keyspace_remove(space, space->oldest);
    }
}

void sim_key_set_text(struct sim_keyspace *space, struct sim_key *key,
                      const char *data, size_t len)
{
    if (key->type != SIM_STRING) {
        empty(space, key);
        key->type = SIM_STRING;
    }
    sim_blob_set(space, &key->text, data, len);
}

static void copy_items(struct sim_keyspace *space, struct sim_key *to,
                       const struct sim_key *from)
{
    for (size_t i = 0; i < from->n_items; i++) {
        const struct sim_item *item = &from->items[i];
        if (from->type == SIM_HASH) {
            sim_hash_set(space, to, item->name->data, item->name->len,
                         item->text->data, item->text->len);
        } else {
            sim_zset_add(space, to, item->score, item->name->data,
                         item->name->len);
        }
    }
}

void sim_keyspace_copy(struct sim_keyspace *to, const struct sim_keyspace *from)
{
    sim_keyspace_clear(to);
    for (const struct sim_key *key = from->oldest; key != NULL;
         key = key->newer) {
        struct sim_key *copy =
            sim_keyspace_add(to, key->name->data, key->name->len, key->type);
        copy->number = key->number;
        copy->expires_ms = key->expires_ms;
        if (key->type == SIM_STRING) {
            sim_key_set_text(to, copy, key->text->data, key->text->len);
        } else {
            copy_items(to, copy, key);
        }
    }
    to->next_number = from->next_number;
}
