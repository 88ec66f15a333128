/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/node.h"

#include "core/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A connection that was silent for so long may have been closed by the other
 * side: to look first tells "never sent" from "unknown". */
#define IDLE_MS 1000

#define ARGS_MAX 12

struct command {
    int argc;
    const char *argv[ARGS_MAX];
    size_t lens[ARGS_MAX];
    char numbers[3][24];
    unsigned n_numbers;
};

/* ---- Commands ---------------------------------------------------------- */

static void add(struct command *command, const void *data, size_t len)
{
    command->argv[command->argc] = data;
    command->lens[command->argc++] = len;
}

static void add_number(struct command *command, uint64_t number)
{
    char *end = command->numbers[command->n_numbers++] + 24;
    char *at = end;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    add(command, at, (size_t)(end - at));
}

static void add_keep(struct command *command, const struct hf_redis_node *node)
{
    add(command, node->store->fence_keep, strlen(node->store->fence_keep));
}

static void add_marker(struct command *command,
                       const struct hf_redis_node *node)
{
    add(command, node->known.value, strlen(node->known.value));
}

static void begin(struct command *command, const struct hf_script *script,
                  const struct hf_redis_keys *keys, bool is_marked)
{
    add(command, "EVALSHA", 7);
    add(command, script->sha1, 40);
    add(command, is_marked ? "3" : "2", 1);
    add(command, keys->lock, keys->lock_len);
    add(command, keys->fence, keys->fence_len);
    if (is_marked) {
        add(command, HF_REDIS_MARKER_KEY, sizeof(HF_REDIS_MARKER_KEY) - 1);
    }
}

/* The arguments as the head of each script names them. */
static const struct hf_script *
build(struct command *command, const struct hf_redis_node *node,
      const struct hf_redis_keys *keys, const struct hf_ask *ask)
{
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        begin(command, &hf_script_acquire, keys, true);
        add(command, ask->owner, ask->owner_len);
        add_number(command, (uint64_t)ask->ttl_ms);
        add_number(command, ask->counter);
        add_marker(command, node);
        add_keep(command, node);
        return &hf_script_acquire;
    case HF_VERB_CONFIRM:
        begin(command, &hf_script_confirm, keys, true);
        add(command, ask->owner, ask->owner_len);
        add_number(command, (uint64_t)ask->ttl_ms);
        add_number(command, ask->counter);
        add_marker(command, node);
        add_keep(command, node);
        add(command, ask->holder ? "1" : "0", 1);
        return &hf_script_confirm;
    case HF_VERB_RELEASE:
        begin(command, &hf_script_release, keys, false);
        add(command, ask->owner, ask->owner_len);
        add_number(command, ask->counter);
        add_number(command, (uint64_t)ask->ttl_ms);
        add_keep(command, node);
        return &hf_script_release;
    case HF_VERB_BREAK:
        begin(command, &hf_script_break, keys, true);
        add(command, ask->owner, ask->owner_len);
        add(command, ask->now ? "1" : "0", 1);
        add_marker(command, node);
        add_keep(command, node);
        return &hf_script_break;
    case HF_VERB_INSPECT:
        begin(command, &hf_script_inspect, keys, false);
        return &hf_script_inspect;
    case HF_VERB_SCAN:
        break;
    }
    return NULL;
}

/* ---- Asking ------------------------------------------------------------ */

static void answer_at_once(struct hf_redis_node *node, const struct hf_ask *ask,
                           enum hf_verdict verdict, enum hf_status fault,
                           const char *reason, struct hf_instant now)
{
    struct hf_pending pending = {
        .cookie = ask->cookie, .sent = now, .verb = (uint8_t)ask->verb};
    hf_redis_answer_none(node, &pending, verdict, fault, reason);
}

static void push(struct hf_redis_node *node, const struct hf_ask *ask,
                 const struct command *command, const struct hf_script *script,
                 struct hf_instant now)
{
    struct hf_pending pending = {
        .cookie = ask->cookie,
        .sent = now,
        .verb = (uint8_t)ask->verb,
        .script = script,
        .owner = ask->owner == NULL
                     ? 0
                     : hf_owner_digest(ask->owner, ask->owner_len),
    };
    const char **argv = (const char **)(uintptr_t)command->argv;
    if (!hf_wire_push(&node->wire, command->argc, argv, command->lens,
                      &pending)) {
        answer_at_once(node, ask, HF_VERDICT_UNSENT, HF_UNAVAILABLE,
                       "too many unanswered requests, or out of memory", now);
    } else if (node->wire.count == 1) {
        hf_redis_node_arm(node);
    }
}

static void ask_scan(struct hf_redis_node *node, const struct hf_ask *ask,
                     struct hf_instant now)
{
    char pattern[2 * HF_REDIS_PREFIX_MAX + 2 * HF_NAME_MAX];
    size_t len = hf_redis_pattern_make(
        pattern, sizeof(pattern), node->store->prefix, node->store->prefix_len,
        ask->name, ask->name_len);
    if (len == 0) {
        answer_at_once(node, ask, HF_VERDICT_ERROR, HF_INVALID,
                       "the pattern is too long", now);
        return;
    }
    struct command command = {.argc = 0};
    add(&command, "SCAN", 4);
    add_number(&command, ask->counter);
    add(&command, "MATCH", 5);
    add(&command, pattern, len);
    add(&command, "COUNT", 5);
    add(&command, "1000", 4);
    push(node, ask, &command, NULL, now);
}

static void ask_script(struct hf_redis_node *node, const struct hf_ask *ask,
                       struct hf_instant now)
{
    struct hf_redis_keys keys;
    if (!hf_redis_keys_make(&keys, node->store->prefix, node->store->prefix_len,
                            ask->name, ask->name_len)) {
        answer_at_once(node, ask, HF_VERDICT_ERROR, HF_INVALID,
                       "keys that begin with \"hf:\" are Holdfast's own", now);
        return;
    }
    struct command command;
    command.argc = 0;
    command.n_numbers = 0;
    const struct hf_script *script = build(&command, node, &keys, ask);
    push(node, ask, &command, script, now);
}

void hf_redis_ask(struct hf_redis_node *node, const struct hf_ask *ask,
                  struct hf_instant now)
{
    bool is_idle =
        hf_instant_until(node->last_io, now).ns >= IDLE_MS * INT64_C(1000000);
    if (node->phase == HF_REDIS_READY && !node->is_doomed && is_idle &&
        node->wire.count == 0 && hf_socket_is_dead(&node->socket)) {
        hf_redis_node_doom(node, "the server closed the idle connection");
    }
    if (node->phase != HF_REDIS_READY || node->is_doomed) {
        enum hf_status fault =
            node->fault == HF_OK || node->fault == HF_QUARANTINED
                ? HF_UNAVAILABLE
                : node->fault;
        answer_at_once(node, ask, HF_VERDICT_UNSENT, fault,
                       node->reason[0] != '\0' ? node->reason
                                               : "its identity is not known",
                       now);
    } else if (ask->verb == HF_VERB_ACQUIRE &&
               node->standing != HF_STANDING_VOTING) {
        answer_at_once(node, ask, HF_VERDICT_UNSENT, HF_QUARANTINED,
                       node->reason, now);
    } else if (ask->verb == HF_VERB_SCAN) {
        ask_scan(node, ask, now);
    } else {
        ask_script(node, ask, now);
    }
}

/* ---- Answering --------------------------------------------------------- */

static void give(struct hf_redis_node *node, const struct hf_answer *answer)
{
    node->store->env.answer(node->store->env.client, answer);
}

static struct hf_answer answer_to(const struct hf_redis_node *node,
                                  const struct hf_pending *pending)
{
    return (struct hf_answer){
        .cookie = pending->cookie,
        .verb = (enum hf_verb)pending->verb,
        .node = (uint8_t)node->index,
        .sent = pending->sent,
    };
}

void hf_redis_answer_none(struct hf_redis_node *node,
                          const struct hf_pending *pending,
                          enum hf_verdict verdict, enum hf_status fault,
                          const char *reason)
{
    struct hf_answer answer = answer_to(node, pending);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    give(node, &answer);
}

static void answer_error(struct hf_redis_node *node,
                         const struct hf_pending *pending, const char *text,
                         struct hf_instant now)
{
    char why[160];
    enum hf_status fault = hf_redis_fault(text, why, sizeof(why));
    if (hf_redis_fault_is_identity(text)) {
        hf_redis_doubt(node, why, now);
    }
    hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, fault, why);
}

static void answer_changed(struct hf_redis_node *node,
                           const struct hf_pending *pending,
                           struct hf_instant now)
{
    static const char why[] = "its marker has changed: flushed, or declared "
                              "new";
    hf_redis_doubt(node, why, now);
    hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
}

/* {verdict, c, left ms, owner or type, floor, is a type} */
static void answer_array(struct hf_redis_node *node,
                         const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->reply;
    struct hf_answer answer = answer_to(node, pending);
    answer.verdict =
        hf_reply_integer(reply, 1) == 1 ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
    answer.counter = (uint64_t)hf_reply_integer(reply, 2);
    answer.left_ms = hf_reply_integer(reply, 3);
    answer.floor = (uint64_t)hf_reply_integer(reply, 5);
    bool is_free = answer.left_ms == -2;
    if (is_free) {
        answer.left_ms = 0;
        answer.kind = HF_HOLDER_NONE;
    } else {
        answer.kind = hf_reply_integer(reply, 6) == 1 ? HF_HOLDER_TYPE
                                                      : HF_HOLDER_FOREIGN;
        answer.owner = hf_reply_text(reply, 4);
        answer.owner_len = reply->n > 4 ? reply->items[4].len : 0;
    }
    give(node, &answer);
}

static bool reserve_names(struct hf_redis *store, size_t n)
{
    if (n <= store->names_cap) {
        return true;
    }
    struct hf_bytes *names = realloc(store->names, n * sizeof(*names));
    if (names == NULL) {
        return false;
    }
    store->names = names;
    store->names_cap = n;
    return true;
}

/* [cursor, [key …]] */
static void answer_scan(struct hf_redis_node *node,
                        const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->reply;
    struct hf_redis *store = node->store;
    struct hf_answer answer = answer_to(node, pending);
    if (!reserve_names(store, reply->n)) {
        hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_NO_MEMORY,
                             "out of memory");
        return;
    }
    for (size_t i = 3; i < reply->n; i++) {
        const char *key = hf_reply_text(reply, i);
        size_t len = reply->items[i].len;
        if (len > store->prefix_len && len <= HF_REDIS_LOCK_KEY_MAX &&
            !(len >= 3 && memcmp(key, "hf:", 3) == 0)) {
            store->names[answer.n_names++] = (struct hf_bytes){
                key + store->prefix_len, len - store->prefix_len};
        }
    }
    answer.verdict = HF_VERDICT_OK;
    answer.counter = strtoull(hf_reply_text(reply, 1), NULL, 10);
    answer.names = store->names;
    give(node, &answer);
}

void hf_redis_answer(struct hf_redis_node *node,
                     const struct hf_pending *pending, struct hf_instant now)
{
    const struct hf_reply *reply = &node->reply;
    const struct hf_reply_item *first = &reply->items[0];
    if (first->type == HF_REPLY_ERROR) {
        answer_error(node, pending, hf_reply_text(reply, 0), now);
    } else if (first->type == HF_REPLY_INTEGER && first->integer >= 0) {
        struct hf_answer answer = answer_to(node, pending);
        answer.verdict = HF_VERDICT_OK;
        answer.counter = (uint64_t)first->integer;
        give(node, &answer);
    } else if (first->type == HF_REPLY_INTEGER) {
        answer_changed(node, pending, now);
    } else if (pending->verb == HF_VERB_SCAN && reply->n >= 3) {
        answer_scan(node, pending);
    } else if (first->type == HF_REPLY_ARRAY && reply->n >= 4) {
        answer_array(node, pending);
    } else {
        hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                             "an answer that makes no sense");
    }
}
