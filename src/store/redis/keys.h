/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a name:
 *
 *     <prefix><name>                the lock, as other libraries use it
 *     hf:{<tag>}:<lock key>:fence   its counter, in the same hash slot
 *     hf:{<lock key>}:fence         the same if the lock key has no '}'
 *     ...:queue, :waiters           its waiters (queue.lua)
 *     ...:holders, :votes           its sharers
 *     ...:once                      its mark (mark.lua)
 *     ...:value                     its value (put.lua)
 *
 * Two names never share a key: only side keys begin with "hf:", and a side key
 * contains its lock key. */
#ifndef HF_REDIS_KEYS_H
#define HF_REDIS_KEYS_H

#include "store/redis/resp.h"
#include "store/url.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The marker of a server. */
#define HF_REDIS_MARKER_KEY "hf:node"

#define HF_REDIS_LOCK_KEY_MAX (HF_URL_PREFIX_MAX + HF_NAME_MAX)

/* The lock key may occur twice, as tag and as name; "hf:{", "}:" and the end
 * have less than 32 bytes. */
#define HF_REDIS_SIDE_KEY_MAX (2 * HF_REDIS_LOCK_KEY_MAX + 32)

/* In the order of the scripts' KEYS, after the lock. */
enum hf_redis_side {
    HF_REDIS_FENCE,
    HF_REDIS_QUEUE,
    HF_REDIS_WAITERS,
    HF_REDIS_HOLDERS,
    HF_REDIS_VOTES,
    HF_REDIS_LINE_SIDES,                 /* queue.lua uses those above */
    HF_REDIS_ONCE = HF_REDIS_LINE_SIDES, /* after hf:node in KEYS */
    HF_REDIS_VALUE,                      /* the only key of put.lua */
    HF_REDIS_SIDES
};

/* A key beside a lock's: its queue, its marks. Not ended by a NUL. */
struct hf_redis_side_key {
    size_t len;
    char text[HF_REDIS_SIDE_KEY_MAX];
};

/* The keys of each script about a lock: the lock, the line's side keys, and the
 * marker. */
#define HF_REDIS_RUN_KEYS (1 + HF_REDIS_LINE_SIDES + 1)
#define HF_REDIS_RUN_MAX                                                       \
    (HF_RESP_ARGUMENT_MAX(HF_REDIS_LOCK_KEY_MAX) +                             \
     HF_REDIS_LINE_SIDES * HF_RESP_ARGUMENT_MAX(HF_REDIS_SIDE_KEY_MAX) +       \
     HF_RESP_ARGUMENT_MAX(sizeof(HF_REDIS_MARKER_KEY)))

struct hf_redis_keys {
    size_t lock_len; /* 0: of no name yet */
    char lock[HF_REDIS_LOCK_KEY_MAX];
    struct hf_redis_side_key sides[HF_REDIS_SIDES];
    size_t run_len;
    char run[HF_REDIS_RUN_MAX]; /* HF_REDIS_RUN_KEYS arguments, formatted */
};

/* Why a name is refused whose lock key would be one of Holdfast's own. */
#define HF_REDIS_OWN_KEYS "keys that begin with \"hf:\" are Holdfast's own"

/** @return whether the lock key of this name would begin with "hf:". */
bool hf_redis_is_own_key(const char *prefix, size_t prefix_len,
                         const void *name, size_t name_len);

/** @return false: the lock key would begin with "hf:". */
bool hf_redis_keys_make(struct hf_redis_keys *keys, const char *prefix,
                        size_t prefix_len, const void *name, size_t name_len);

/* The pattern for SCAN of all marks, for names of any prefix. */
#define HF_REDIS_MARK_PATTERN "hf:{*:once"

/** Find the lock key in a side key. @return which side key it is;
 * HF_REDIS_SIDES: it is not a side key. */
enum hf_redis_side hf_redis_side_read(const char *key, size_t len,
                                      const char **lock, size_t *lock_len);

/** The pattern for SCAN: the prefix, escaped, then the glob or `*`. From a
 * class on it is `*`: Redis reads `[]a]`, `[a-]` and `[!a]` otherwise than
 * base/glob.h, by which the client filters the names in any case.
 * @return its length; 0: it does not fit. */
size_t hf_redis_pattern_make(char *out, size_t size, const char *prefix,
                             size_t prefix_len, const void *glob,
                             size_t glob_len);

#endif
