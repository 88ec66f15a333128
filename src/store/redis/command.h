/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a command of Redis: the script's hash, the keys of the name, and
 * the arguments in the order of the script's head. */
#ifndef HF_REDIS_COMMAND_H
#define HF_REDIS_COMMAND_H

#include "store/redis/keys.h"
#include "store/redis/node.h"
#include "store/redis/resp.h"

/* EVALSHA, hash, number of keys; the mark's key; twelve arguments. */
#define HF_REDIS_ARGS_MAX 16
#define HF_REDIS_NUMBERS_MAX 6

/* Must not be copied or moved: it has pointers into itself. */
struct hf_redis_command {
    struct hf_resp_request request;
    unsigned n_numbers;
    const char *argv[HF_REDIS_ARGS_MAX];
    size_t lens[HF_REDIS_ARGS_MAX];
    char numbers[HF_REDIS_NUMBERS_MAX][HF_DECIMAL_MAX];
    char mode[HF_TEXT_SHORT]; /* "s", and at most five digits */
};

/* Begin a command, without any argument. */
void hf_redis_command_begin(struct hf_redis_command *command);

/* Add an argument of any bytes, borrowed until the command is sent:
 * HF_REDIS_ARGS_MAX in all. */
void hf_redis_command_add(struct hf_redis_command *command, const void *data,
                          size_t len);

/* Add a number as an argument: HF_REDIS_NUMBERS_MAX at most. */
void hf_redis_command_add_number(struct hf_redis_command *command,
                                 uint64_t number);

/** The keys of a name. Borrowed until the next call. Made anew only for another
 * name than the last: a lease asks each of its nodes about one name.
 * @return NULL: its lock key would be one of Holdfast's own. */
const struct hf_redis_keys *hf_redis_keys_of(struct hf_redis *store,
                                             const void *name, size_t name_len);

/** Make the command of a verb on one name; borrows keys and ask. @return its
 * script; NULL: it has none. */
const struct hf_script *hf_redis_command_make(struct hf_redis_command *command,
                                              const struct hf_redis_node *node,
                                              const struct hf_redis_keys *keys,
                                              const struct hf_ask *ask);

#endif
