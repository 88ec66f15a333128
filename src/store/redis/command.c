/* SPDX-License-Identifier: Apache-2.0 */
/* Redis wants each key that a script may touch among its KEYS. All scripts
 * about a lock get the same seven in the same order, also those that they do
 * not touch, since the code that they include (queue.lua) numbers them.
 * Arguments that a plain attempt does not need are left out.
 *
 * Numbers are text inside the command, whose size is asserted: composing a
 * command needs no heap and cannot fail. The script's SHA1 is sent instead of
 * its text; a server that lacks it answers NOSCRIPT, and the request is sent
 * again with the text (wire.c).
 *
 * Source: Redis documentation, "Scripting with Lua" (EVALSHA). */
#include "store/redis/command.h"

#include "base/assert.h"

#include <string.h>

/* Most holders, and most waiters, in a QUEUE: the script that lists them
 * blocks the server. */
#define QUEUE_MAX "1000"

static void add_text(struct hf_redis_command *command, const char *text)
{
    hf_redis_command_add(command, text, strlen(text));
}

static void add_flag(struct hf_redis_command *command, bool flag)
{
    hf_redis_command_add(command, flag ? "1" : "0", 1);
}

void hf_redis_command_begin(struct hf_redis_command *command)
{
    command->request = (struct hf_resp_request){
        .argv = command->argv,
        .lens = command->lens,
    };
    command->n_numbers = 0;
}

void hf_redis_command_add(struct hf_redis_command *command, const void *data,
                          size_t len)
{
    int at = command->request.argc++;
    HF_ASSERT(at < HF_REDIS_ARGS_MAX);
    command->argv[at] = data;
    command->lens[at] = len;
}

void hf_redis_command_add_number(struct hf_redis_command *command,
                                 uint64_t number)
{
    HF_ASSERT(command->n_numbers < HF_REDIS_NUMBERS_MAX);
    char *end = command->numbers[command->n_numbers++] + HF_DECIMAL_MAX;
    char *at = hf_decimal_before(end, number);
    hf_redis_command_add(command, at, (size_t)(end - at));
}

static bool is_about(const struct hf_redis_keys *keys, size_t prefix_len,
                     const void *name, size_t name_len)
{
    return keys->lock_len == prefix_len + name_len &&
           memcmp(keys->lock + prefix_len, name, name_len) == 0;
}

const struct hf_redis_keys *hf_redis_keys_of(struct hf_redis *store,
                                             const void *name, size_t name_len)
{
    struct hf_redis_keys *keys = &store->keys;
    if (is_about(keys, store->prefix_len, name, name_len) ||
        hf_redis_keys_make(keys, store->prefix, store->prefix_len, name,
                           name_len)) {
        return keys;
    }
    return NULL;
}

static void add_mode(struct hf_redis_command *command, const struct hf_ask *ask)
{
    if (!ask->is_shared) {
        add_text(command, "x");
        return;
    }
    char *end = command->mode + sizeof(command->mode);
    char *at = hf_decimal_before(end, ask->permits);
    *--at = 's';
    hf_redis_command_add(command, at, (size_t)(end - at));
}

static void begin_with(struct hf_redis_command *command,
                       const struct hf_script *script,
                       const struct hf_redis_keys *keys, bool has_mark)
{
    hf_redis_command_begin(command);
    hf_redis_command_add(command, "EVALSHA", 7);
    hf_redis_command_add(command, script->sha1, 40);
    hf_redis_command_add(command, has_mark ? "8" : "7", 1);
    command->request.run_at = command->request.argc;
    command->request.run = (struct hf_resp_run){
        .argc = HF_REDIS_RUN_KEYS,
        .bytes = keys->run,
        .len = keys->run_len,
    };
    if (has_mark) {
        const struct hf_redis_side_key *mark = &keys->sides[HF_REDIS_ONCE];
        hf_redis_command_add(command, mark->text, mark->len);
    }
}

static void begin(struct hf_redis_command *command,
                  const struct hf_script *script,
                  const struct hf_redis_keys *keys)
{
    begin_with(command, script, keys, false);
}

/* The arguments that a plain attempt does not need are left out: most requests
 * are plain attempts. */
static void acquire(struct hf_redis_command *command,
                    const struct hf_redis_node *node, const struct hf_ask *ask)
{
    bool is_yield = ask->verb == HF_VERB_YIELD;
    hf_redis_command_add(command, ask->owner, ask->owner_len);
    hf_redis_command_add_number(command, (uint64_t)ask->ttl_ms);
    hf_redis_command_add_number(command, is_yield ? 0 : ask->counter);
    add_text(command, node->admission.known.value);
    add_text(command, node->store->fence_keep);
    if (!is_yield && !ask->is_shared && !ask->is_unfair && ask->queue_ms == 0 &&
        ask->ticket == 0) {
        return;
    }
    add_mode(command, ask);
    add_flag(command, ask->is_unfair);
    hf_redis_command_add_number(command, (uint64_t)ask->queue_ms);
    hf_redis_command_add_number(command, ask->ticket);
    add_text(command, node->store->channel);
    hf_redis_command_add_number(command, ask->cookie);
    if (is_yield) {
        hf_redis_command_add_number(command, ask->counter);
    }
}

static void confirm(struct hf_redis_command *command,
                    const struct hf_redis_node *node, const struct hf_ask *ask)
{
    hf_redis_command_add(command, ask->owner, ask->owner_len);
    hf_redis_command_add_number(command, (uint64_t)ask->ttl_ms);
    hf_redis_command_add_number(command, ask->counter);
    add_text(command, node->admission.known.value);
    add_text(command, node->store->fence_keep);
    add_flag(command, ask->reacquires);
    add_mode(command, ask);
}

/* A node without a vote must not grant the name to a waiter: release.lua grants
 * only if the marker is that of the argument. */
static void release(struct hf_redis_command *command,
                    const struct hf_redis_node *node, const struct hf_ask *ask)
{
    bool may_serve = node->standing.status == HF_NODE_STATUS_VOTING;
    hf_redis_command_add(command, ask->owner, ask->owner_len);
    hf_redis_command_add_number(command, ask->counter);
    hf_redis_command_add_number(command, (uint64_t)ask->ttl_ms);
    add_text(command, node->store->fence_keep);
    add_text(command, may_serve ? node->admission.known.value : "");
}

static void break_it(struct hf_redis_command *command,
                     const struct hf_redis_node *node, const struct hf_ask *ask)
{
    hf_redis_command_add(command, ask->owner, ask->owner_len);
    add_flag(command, ask->frees_now);
    add_text(command, node->admission.known.value);
    add_text(command, node->store->fence_keep);
    hf_redis_command_add_number(command, (uint64_t)ask->ttl_ms);
    hf_redis_command_add(command, ask->back_len == 0 ? "" : ask->back,
                         ask->back_len);
}

static void mark(struct hf_redis_command *command,
                 const struct hf_redis_node *node, const struct hf_ask *ask)
{
    add_text(command, node->admission.known.value);
    hf_redis_command_add_number(command, ask->counter);
    hf_redis_command_add_number(command, (uint64_t)ask->ttl_ms);
    hf_redis_command_add(command, ask->owner_len == 0 ? "" : ask->owner,
                         ask->owner_len);
}

/* A plain GET: ask.c reads the string. */
static void get_value(struct hf_redis_command *command,
                      const struct hf_redis_keys *keys)
{
    const struct hf_redis_side_key *value = &keys->sides[HF_REDIS_VALUE];
    hf_redis_command_begin(command);
    hf_redis_command_add(command, "GET", 3);
    hf_redis_command_add(command, value->text, value->len);
}

static void
put_value(struct hf_redis_command *command, const struct hf_redis_node *node,
          const struct hf_redis_keys *keys, const struct hf_ask *ask)
{
    const struct hf_redis_side_key *value = &keys->sides[HF_REDIS_VALUE];
    bool is_delete = ask->value.data == NULL;
    hf_redis_command_begin(command);
    hf_redis_command_add(command, "EVALSHA", 7);
    hf_redis_command_add(command, hf_script_put.sha1, 40);
    hf_redis_command_add(command, "1", 1);
    hf_redis_command_add(command, value->text, value->len);
    if (ask->counter == HF_VERSION_ANY) {
        add_text(command, "");
    } else {
        hf_redis_command_add_number(command, ask->counter);
    }
    hf_redis_command_add(command, ask->owner, ask->owner_len);
    add_text(command, is_delete ? node->store->fence_keep : "");
    hf_redis_command_add(command, is_delete ? "" : ask->value.data,
                         ask->value.len);
}

const struct hf_script *hf_redis_command_make(struct hf_redis_command *command,
                                              const struct hf_redis_node *node,
                                              const struct hf_redis_keys *keys,
                                              const struct hf_ask *ask)
{
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
    case HF_VERB_YIELD:
        begin(command, &hf_script_acquire, keys);
        acquire(command, node, ask);
        return &hf_script_acquire;
    case HF_VERB_CONFIRM:
        begin(command, &hf_script_confirm, keys);
        confirm(command, node, ask);
        return &hf_script_confirm;
    case HF_VERB_RELEASE:
        begin(command, &hf_script_release, keys);
        release(command, node, ask);
        return &hf_script_release;
    case HF_VERB_BREAK:
        begin(command, &hf_script_break, keys);
        break_it(command, node, ask);
        return &hf_script_break;
    case HF_VERB_INSPECT:
        begin_with(command, &hf_script_inspect, keys, true);
        return &hf_script_inspect;
    case HF_VERB_QUEUE:
        begin_with(command, &hf_script_list, keys, true);
        add_text(command, QUEUE_MAX);
        return &hf_script_list;
    case HF_VERB_MARK:
        begin_with(command, &hf_script_mark, keys, true);
        mark(command, node, ask);
        return &hf_script_mark;
    case HF_VERB_GET:
        get_value(command, keys);
        return NULL;
    case HF_VERB_PUT:
        put_value(command, node, keys, ask);
        return &hf_script_put;
    case HF_VERB_SCAN:
        break; /* not about one name */
    }
    HF_ASSERT(false);
    return NULL;
}
