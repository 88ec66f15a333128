/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of bytes from the pools of a keyspace, for keyspace.c and items.c. */
#ifndef SIM_REDIS_BLOB_H
#define SIM_REDIS_BLOB_H

#include "redis/keyspace.h"

#include <string.h>

struct sim_blob *sim_blob_new(struct sim_keyspace *space, const char *data,
                              size_t len);

/* NULL is ignored. */
void sim_blob_free(struct sim_keyspace *space, struct sim_blob *blob);

/* In place if there is room. `data` must not overlap the blob. */
void sim_blob_set(struct sim_keyspace *space, struct sim_blob **blob,
                  const char *data, size_t len);

static inline void sim_blob_fill(struct sim_blob *blob, const char *data,
                                 size_t len)
{
    memcpy(blob->data, data, len);
    blob->data[len] = '\0';
    blob->len = len;
}

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
