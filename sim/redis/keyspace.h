/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a simulated server: keys in order of insertion, each a string, a
 * hash (fields in order of insertion) or a sorted set (members by score, ties
 * by name), with an expiry time.
 *
 * Keys expire as in Redis: `now_ms` is the time when the command began, or the
 * script around it; an expired key is removed when it is looked up. Memory is
 * reused, so that a cycle of lock and unlock allocates nothing.
 *
 *     struct sim_keyspace space;
 *     sim_keyspace_init(&space);
 *     space.now_ms = …;                                before each command
 *     key = sim_keyspace_find(&space, name, len);      NULL: add one
 *     sim_hash_set(&space, key, …); …                  of the key's own type
 *     sim_keyspace_fini(&space);
 *
 * Keys, items and texts belong to the keyspace, and are borrowed until its next
 * call that changes that key. Names and texts are copied. It aborts without
 * memory. */
#ifndef SIM_REDIS_KEYSPACE_H
#define SIM_REDIS_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The types of Redis that Holdfast's scripts use. */
enum sim_type { SIM_STRING, SIM_HASH, SIM_ZSET };

/* Does not expire. */
#define SIM_FOREVER INT64_C(-1)

/* Bytes, followed by a NUL. */
struct sim_blob {
    union {
        size_t len;
        struct sim_blob *next; /* while it is spare */
    };
    size_t cap;
    char data[];
};

struct sim_item {
    struct sim_blob *name;
    uint32_t hash; /* of the name */
    union {
        struct sim_blob *text; /* of a hash */
        double score;          /* of a sorted set */
    };
};

struct sim_key {
    struct sim_key *next; /* in its bucket; or of the spare ones */
    struct sim_key *older;
    struct sim_key *newer;
    uint64_t number; /* rises with each key */
    uint32_t hash;
    enum sim_type type;
    int64_t expires_ms;
    struct sim_blob *name;
    struct sim_blob *text; /* of a string */
    struct sim_item *items;
    size_t n_items;
    size_t cap_items;
};

/* Spare blobs are kept by size: 32 bytes, and twice as many in each further
 * pool; larger ones are freed. */
enum { SIM_POOLS = 5 };

struct sim_keyspace {
    struct sim_key **buckets;
    size_t n_buckets; /* a power of two */
    size_t n_keys;    /* including expired keys that were not looked up */
    struct sim_key *oldest;
    struct sim_key *newest;
    uint64_t next_number;
    int64_t now_ms;
    struct sim_key *spare_keys;
    struct sim_blob *spare_blobs[SIM_POOLS];
};

/* Without keys, at time 0. */
void sim_keyspace_init(struct sim_keyspace *space);

/* Free the keys, and the spare memory. */
void sim_keyspace_fini(struct sim_keyspace *space);

/* Copy the keys; `to` keeps only its time. */
void sim_keyspace_copy(struct sim_keyspace *to,
                       const struct sim_keyspace *from);

/* Remove all keys. Their memory is kept for later ones. */
void sim_keyspace_clear(struct sim_keyspace *space);

/* @return NULL: there is no such key, or it has expired. */
struct sim_key *sim_keyspace_find(struct sim_keyspace *space, const char *name,
                                  size_t len);

/* The same, but does not remove an expired key. */
const struct sim_key *sim_keyspace_look(const struct sim_keyspace *space,
                                        const char *name, size_t len);

/* Whether `now_ms` is past its expiry. */
bool sim_keyspace_is_expired(const struct sim_keyspace *space,
                             const struct sim_key *key);

/* Add a key whose name must be new. It is empty, and has no expiry. */
struct sim_key *sim_keyspace_add(struct sim_keyspace *space, const char *name,
                                 size_t len, enum sim_type type);

/* `key` and pointers into it are invalid afterwards. */
void sim_keyspace_remove(struct sim_keyspace *space, struct sim_key *key);

/* Turn a key of any type into a string. Its expiry stays. */
void sim_key_set_text(struct sim_keyspace *space, struct sim_key *key,
                      const char *data, size_t len);

/* ---- Hashes -------------------------------------------------------------- */

/* NULL: no such field. */
const struct sim_item *sim_hash_find(const struct sim_key *key,
                                     const char *name, size_t len);

/* @return true: the field is new. */
bool sim_hash_set(struct sim_keyspace *space, struct sim_key *key,
                  const char *name, size_t name_len, const char *text,
                  size_t text_len);

/* @return false: no such field. The caller removes an empty key. */
bool sim_hash_remove(struct sim_keyspace *space, struct sim_key *key,
                     const char *name, size_t len);

/* ---- Sorted sets --------------------------------------------------------- */

/* @return its rank; n_items: no such member. */
size_t sim_zset_find(const struct sim_key *key, const char *name, size_t len);

/* Add a member that is not there yet. */
void sim_zset_add(struct sim_keyspace *space, struct sim_key *key, double score,
                  const char *name, size_t len);

/* @return its new rank. */
size_t sim_zset_move(struct sim_key *key, size_t rank, double score);

/* The caller removes an empty key. */
void sim_zset_remove(struct sim_keyspace *space, struct sim_key *key,
                     size_t rank);

/* The first rank whose score is at least `score`, or above it. */
size_t sim_zset_from(const struct sim_key *key, double score, bool is_above);

/* ---- Blocks of bytes from the pools: keyspace.c, items.c, pubsub.c ------- */

/* A copy of `data`, from a pool if one has a spare block. */
struct sim_blob *sim_blob_new(struct sim_keyspace *space, const char *data,
                              size_t len);

/* NULL is ignored. */
void sim_blob_free(struct sim_keyspace *space, struct sim_blob *blob);

/* In place if there is room. `data` must not overlap the blob. */
void sim_blob_set(struct sim_keyspace *space, struct sim_blob **blob,
                  const char *data, size_t len);

/* Overwrite it; `cap` must suffice. */
static inline void sim_blob_fill(struct sim_blob *blob, const char *data,
                                 size_t len)
{
    memcpy(blob->data, data, len);
    blob->data[len] = '\0';
    blob->len = len;
}

/* Whether it has exactly these bytes. */
static inline bool sim_blob_is(const struct sim_blob *blob, const char *data,
                               size_t len)
{
    return blob->len == len && memcmp(blob->data, data, len) == 0;
}

/* A hash that is the same in every run; takes eight bytes per step. */
static inline uint32_t sim_hash_of(const char *data, size_t len)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ len;
    uint64_t word = 0;
    for (; len > 8; len -= 8, data += 8) {
        memcpy(&word, data, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, data, len);
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(hash ^ hash >> 32);
}

#endif
