/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/server.h"

#include <inttypes.h>
#include <stdlib.h>

struct sim_image {
    struct sim_keyspace keys;
};

struct sim_redis *sim_redis_new(struct sim_lua *lua,
                                const struct sim_redis_hooks *hooks)
{
    struct sim_redis *redis = sim_alloc(sizeof(*redis));
    *redis = (struct sim_redis){.lua = lua};
    if (hooks != NULL) {
        redis->hooks = *hooks;
    }
    redis->wrote_end = &redis->wrote;
    sim_keyspace_init(&redis->keys);
    return redis;
}

void sim_redis_free(struct sim_redis *redis)
{
    if (redis == NULL) {
        return;
    }
    while (redis->sessions != NULL) {
        sim_redis_disconnect(redis->sessions);
    }
    sim_keyspace_fini(&redis->keys);
    free(redis->listening);
    free(redis->known);
    free(redis);
}

static void copy_id(char to[SIM_ID_SIZE], const char *id)
{
    snprintf(to, SIM_ID_SIZE, "%s", id == NULL ? "" : id);
}

void sim_redis_set_identity(struct sim_redis *redis,
                            const struct sim_redis_identity *identity)
{
    copy_id(redis->run_id, identity->run_id);
    copy_id(redis->replid, identity->replid);
    copy_id(redis->replid2, identity->replid2);
    redis->started_us = identity->started_us;
}

void sim_redis_set_sync(struct sim_redis *redis,
                        const struct sim_redis_sync *sync)
{
    redis->sync = *sync;
}

void sim_redis_set_clock(struct sim_redis *redis, int64_t wall_us)
{
    redis->wall_us = wall_us;
    redis->keys.now_ms = wall_us / 1000;
}

int64_t sim_redis_clock(const struct sim_redis *redis)
{
    return redis->wall_us;
}

void sim_redis_set_full(struct sim_redis *redis, bool is_full)
{
    redis->is_full = is_full;
}

void sim_redis_set_mute(struct sim_redis *redis, bool is_mute)
{
    redis->is_mute = is_mute;
}

/* ---- Images of its data -------------------------------------------------- */

struct sim_image *sim_redis_save(const struct sim_redis *redis)
{
    struct sim_image *image = sim_alloc(sizeof(*image));
    sim_keyspace_init(&image->keys);
    sim_keyspace_copy(&image->keys, &redis->keys);
    return image;
}

void sim_image_free(struct sim_image *image)
{
    if (image != NULL) {
        sim_keyspace_fini(&image->keys);
        free(image);
    }
}

void sim_redis_load(struct sim_redis *redis, const struct sim_image *image)
{
    if (image == NULL) {
        sim_keyspace_clear(&redis->keys);
    } else {
        sim_keyspace_copy(&redis->keys, &image->keys);
    }
    sim_redis_script_flush(redis);
}

void sim_redis_flush(struct sim_redis *redis)
{
    sim_keyspace_clear(&redis->keys);
}

void sim_redis_script_flush(struct sim_redis *redis)
{
    redis->n_known = 0;
}

static void drop_expired(struct sim_keyspace *keys)
{
    for (struct sim_key *key = keys->oldest; key != NULL;) {
        struct sim_key *newer = key->newer;
        if (sim_keyspace_is_expired(keys, key)) {
            sim_keyspace_remove(keys, key);
        }
        key = newer;
    }
}

bool sim_redis_evict(struct sim_redis *redis, uint64_t random)
{
    struct sim_keyspace *keys = &redis->keys;
    drop_expired(keys);
    if (keys->n_keys == 0) {
        return false;
    }
    struct sim_key *key = keys->oldest;
    for (uint64_t i = random % keys->n_keys; i > 0; i--) {
        key = key->newer;
    }
    sim_keyspace_remove(keys, key);
    return true;
}

/* ---- For oracles --------------------------------------------------------- */

size_t sim_redis_count(const struct sim_redis *redis)
{
    size_t n = 0;
    for (const struct sim_key *key = redis->keys.oldest; key != NULL;
         key = key->newer) {
        n += !sim_keyspace_is_expired(&redis->keys, key);
    }
    return n;
}

const char *sim_redis_get(const struct sim_redis *redis, const char *key,
                          size_t key_len, size_t *len)
{
    const struct sim_key *found = sim_keyspace_look(&redis->keys, key, key_len);
    if (found == NULL || found->type != SIM_STRING) {
        return NULL;
    }
    *len = found->text->len;
    return found->text->data;
}

int64_t sim_redis_end_ms(const struct sim_redis *redis, const char *key,
                         size_t key_len)
{
    const struct sim_key *found = sim_keyspace_look(&redis->keys, key, key_len);
    if (found == NULL) {
        return -1;
    }
    return found->expires_ms == SIM_FOREVER ? INT64_MAX : found->expires_ms;
}

static const struct sim_key *look_for(const struct sim_redis *redis,
                                      const char *key, size_t key_len,
                                      enum sim_type type)
{
    const struct sim_key *found = sim_keyspace_look(&redis->keys, key, key_len);
    return found == NULL || found->type != type ? NULL : found;
}

const char *sim_redis_field(const struct sim_redis *redis, const char *key,
                            size_t key_len, const char *field, size_t field_len,
                            size_t *len)
{
    const struct sim_key *hash = look_for(redis, key, key_len, SIM_HASH);
    const struct sim_item *item =
        hash == NULL ? NULL : sim_hash_find(hash, field, field_len);
    if (item == NULL) {
        return NULL;
    }
    *len = item->text->len;
    return item->text->data;
}

double sim_redis_score(const struct sim_redis *redis, const char *key,
                       size_t key_len, const char *member, size_t member_len)
{
    const struct sim_key *set = look_for(redis, key, key_len, SIM_ZSET);
    size_t rank = set == NULL ? 0 : sim_zset_find(set, member, member_len);
    return set == NULL || rank == set->n_items ? -1 : set->items[rank].score;
}

size_t sim_redis_members(const struct sim_redis *redis, const char *key,
                         size_t key_len)
{
    const struct sim_key *set = look_for(redis, key, key_len, SIM_ZSET);
    return set == NULL ? 0 : set->n_items;
}

static int compare_blobs(const struct sim_blob *a, const struct sim_blob *b)
{
    int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_keys(const void *a, const void *b)
{
    const struct sim_key *const *left = a;
    const struct sim_key *const *right = b;
    return compare_blobs((*left)->name, (*right)->name);
}

static int compare_items(const void *a, const void *b)
{
    const struct sim_item *left = a;
    const struct sim_item *right = b;
    return compare_blobs(left->name, right->name);
}

static void quote(struct sim_text *text, const struct sim_blob *blob)
{
    sim_text_add(text, " ", 1);
    sim_text_quote(text, blob->data, blob->len);
}

static void print_hash(struct sim_text *text, const struct sim_key *key)
{
    size_t size = key->n_items * sizeof(*key->items);
    struct sim_item *items = sim_alloc(size);
    memcpy(items, key->items, size);
    qsort(items, key->n_items, sizeof(*items), compare_items);
    for (size_t i = 0; i < key->n_items; i++) {
        quote(text, items[i].name);
        quote(text, items[i].text);
    }
    free(items);
}

static void print_zset(struct sim_text *text, const struct sim_key *key)
{
    for (size_t i = 0; i < key->n_items; i++) {
        char score[SIM_NUMBER_MAX];
        size_t len = sim_double_format(score, key->items[i].score);
        quote(text, key->items[i].name);
        sim_text_add(text, " ", 1);
        sim_text_add(text, score, len);
    }
}

static void print_key(struct sim_text *text, const struct sim_redis *redis,
                      const struct sim_key *key)
{
    static const char *const types[] = {
        [SIM_STRING] = "string", [SIM_HASH] = "hash", [SIM_ZSET] = "zset"};
    int64_t left_ms = key->expires_ms == SIM_FOREVER
                          ? -1
                          : key->expires_ms - redis->keys.now_ms;
    sim_text_quote(text, key->name->data, key->name->len);
    sim_text_print(text, " %s %" PRId64, types[key->type], left_ms);
    switch (key->type) {
    case SIM_STRING:
        quote(text, key->text);
        break;
    case SIM_HASH:
        print_hash(text, key);
        break;
    case SIM_ZSET:
        print_zset(text, key);
        break;
    }
    sim_text_add(text, "\n", 1);
}

void sim_redis_dump(const struct sim_redis *redis, FILE *out)
{
    size_t n = 0;
    const struct sim_key **all =
        sim_alloc((redis->keys.n_keys + 1) * sizeof(const struct sim_key *));
    for (const struct sim_key *key = redis->keys.oldest; key != NULL;
         key = key->newer) {
        if (!sim_keyspace_is_expired(&redis->keys, key)) {
            all[n++] = key;
        }
    }
    qsort(all, n, sizeof(struct sim_key *), compare_keys);
    struct sim_text text = {0};
    for (size_t i = 0; i < n; i++) {
        print_key(&text, redis, all[i]);
    }
    fwrite(text.data == NULL ? "" : text.data, 1, text.len, out);
    sim_text_fini(&text);
    free(all);
}
