/* SPDX-License-Identifier: Apache-2.0 */
/* ONE REQUEST AT ONE SERVER
 *
 *   hf_redis_ask() ──▶ command.c ──▶ wire.c ──flush──▶ server ──▶ reply.c
 *                                                                   │
 *                      struct hf_answer ◀── hf_redis_answer() ◀─────┘
 *
 *   no connection, no vote yet, or no room         UNSENT
 *   [1, …], an integer that is not negative        OK
 *   [2, …]                                         QUEUED; listen for pushes
 *   [0, …]                                         REFUSED
 *   a negative integer: the marker has changed     ERROR; identify it again
 *   an error                                       ERROR, with its cause
 *   anything else, or an impossible number         ERROR
 *   the connection broke, and the request was
 *   written / was not written                      UNKNOWN / UNSENT (node.c)
 *
 * Why it is safe: a reply becomes a vote only if it has the exact shape of our
 * script's. ERROR is neither a vote nor a refusal. makes_sense() keeps from
 * core the values that only a person or another program can have written, since
 * core asserts on them. A connection that was silent for IDLE_MS is checked
 * before it is used: a request into a connection that the server has closed
 * would be UNKNOWN, and an UNKNOWN costs a RELEASE and often the attempt.
 *
 * INSPECT, QUEUE and SCAN compare no marker: of a server that was emptied they
 * show what it has. So the marker is read before them, in the same write.
 *
 * Cost: one round trip for each request. All requests of a turn share one
 * write; composing one needs no heap. SCAN costs one for each 1000 keys of the
 * server, twice: locks, then marks. */
#include "base/assert.h"
#include "core/owner.h"
#include "store/redis/command.h"
#include "store/redis/fault.h"

#include <stdlib.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. Check
 * it before sending: the request is then UNSENT instead of UNKNOWN. */
#define IDLE_MS 1000

/* A SCAN makes two passes over the keys: locks, then marks. The top bit of our
 * cursor is the pass. No server's cursor has that bit: it counts buckets. */
#define SCAN_MARKS (UINT64_C(1) << 63)

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
                 const struct hf_redis_command *command,
                 const struct hf_script *script, struct hf_instant now)
{
    struct hf_pending pending = {
        .cookie = ask->cookie,
        .sent = now,
        .verb = (uint8_t)ask->verb,
        .is_of_marks =
            ask->verb == HF_VERB_SCAN && (ask->counter & SCAN_MARKS) != 0,
        .script = script,
        .owner = ask->owner == NULL
                     ? 0
                     : hf_owner_digest(ask->owner, ask->owner_len),
    };
    if (!hf_redis_wire_push(&node->connection.wire, &command->request,
                            &pending)) {
        bool is_full = hf_redis_wire_is_full(&node->connection.wire);
        answer_at_once(
            node, ask, HF_VERDICT_UNSENT,
            is_full ? HF_UNAVAILABLE : HF_NO_MEMORY,
            is_full ? "too many unanswered requests" : "out of memory", now);
    } else if (node->connection.wire.count == 1) {
        hf_redis_node_arm(node);
    }
}

static void ask_scan(struct hf_redis_node *node, const struct hf_ask *ask,
                     struct hf_instant now)
{
    char pattern[2 * HF_URL_PREFIX_MAX + 2 * HF_NAME_MAX + 1];
    bool is_of_marks = (ask->counter & SCAN_MARKS) != 0;
    size_t len = hf_redis_pattern_make(
        pattern, sizeof(pattern), node->store->prefix, node->store->prefix_len,
        ask->name, ask->name_len);
    if (len == 0) {
        answer_at_once(node, ask, HF_VERDICT_ERROR, HF_INVALID,
                       "the pattern is too long", now);
        return;
    }
    struct hf_redis_command command;
    hf_redis_command_begin(&command);
    hf_redis_command_add(&command, "SCAN", 4);
    hf_redis_command_add_number(&command, ask->counter & ~SCAN_MARKS);
    hf_redis_command_add(&command, "MATCH", 5);
    if (is_of_marks) {
        hf_redis_command_add(&command, HF_REDIS_MARK_PATTERN,
                             sizeof(HF_REDIS_MARK_PATTERN) - 1);
    } else {
        hf_redis_command_add(&command, pattern, len);
    }
    hf_redis_command_add(&command, "COUNT", 5);
    hf_redis_command_add(&command, "1000", 4);
    push(node, ask, &command, NULL, now);
}

static void ask_script(struct hf_redis_node *node, const struct hf_ask *ask,
                       struct hf_instant now)
{
    const struct hf_redis_keys *keys =
        hf_redis_keys_of(node->store, ask->name, ask->name_len);
    if (keys == NULL) {
        answer_at_once(node, ask, HF_VERDICT_ERROR, HF_INVALID,
                       HF_REDIS_OWN_KEYS, now);
        return;
    }
    struct hf_redis_command command;
    const struct hf_script *script =
        hf_redis_command_make(&command, node, keys, ask);
    push(node, ask, &command, script, now);
}

static bool only_reads(enum hf_verb verb)
{
    return verb == HF_VERB_INSPECT || verb == HF_VERB_QUEUE ||
           verb == HF_VERB_SCAN;
}

static void ask_ready(struct hf_redis_node *node, const struct hf_ask *ask,
                      struct hf_instant now)
{
    /* Of the requests that are pending together, the first. */
    if (only_reads(ask->verb) && node->connection.wire.count == 0) {
        hf_redis_peek(node, now);
    }
    if (ask->verb == HF_VERB_SCAN) {
        ask_scan(node, ask, now);
    } else {
        ask_script(node, ask, now);
    }
}

void hf_redis_ask(struct hf_redis_node *node, const struct hf_ask *ask,
                  struct hf_instant now)
{
    struct hf_instant idle_at =
        hf_instant_add(node->connection.heard_at, hf_span_ms(IDLE_MS));
    bool is_idle = !hf_instant_before(now, idle_at);
    if (hf_redis_is_ready(node) && is_idle &&
        node->connection.wire.count == 0 &&
        hf_socket_is_dead(&node->connection.socket)) {
        hf_redis_connection_break(&node->connection,
                                  "the server closed the idle connection");
    }
    if (!hf_redis_is_ready(node)) {
        const char *reason;
        enum hf_status fault = hf_standing_cause(&node->standing, &reason);
        answer_at_once(node, ask, HF_VERDICT_UNSENT, fault, reason, now);
    } else if ((ask->verb == HF_VERB_ACQUIRE || ask->verb == HF_VERB_YIELD) &&
               node->standing.status != HF_NODE_STATUS_VOTING) {
        answer_at_once(node, ask, HF_VERDICT_UNSENT, HF_QUARANTINED,
                       node->standing.reason, now);
    } else {
        ask_ready(node, ask, now);
    }
}

/* ---- Answering --------------------------------------------------------- */

static void answer_with(struct hf_redis_node *node,
                        const struct hf_answer *answer)
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
    HF_ASSERT(fault != HF_OK && reason != NULL);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    answer_with(node, &answer);
}

static void answer_error(struct hf_redis_node *node,
                         const struct hf_pending *pending, const char *text,
                         struct hf_instant now)
{
    char why[HF_TEXT_SENTENCE];
    enum hf_status fault =
        hf_redis_fault_in(pending->script, text, why, sizeof(why));
    if (hf_redis_fault_is_identity(text)) {
        hf_redis_reidentify(node, why, now);
    }
    hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, fault, why);
}

static void answer_changed(struct hf_redis_node *node,
                           const struct hf_pending *pending,
                           struct hf_instant now)
{
    static const char why[] = "its marker has changed: flushed, or declared "
                              "new";
    hf_redis_reidentify(node, why, now);
    hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE, why);
}

/* {1 verdict, 2 c, 3 left ms, 4 owner or type, 5 floor, 6 is a type, 7 ticket,
 * node time or bound, 8 ahead, 9 terms, 10 sharers, 11 waiters}. A shorter
 * array ends in zeros. If the lock's value is a group without live sharers,
 * `sharers` is 0. */
static struct hf_answer read_array(const struct hf_redis_node *node,
                                   const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct hf_answer answer = answer_to(node, pending);
    answer.verdict = hf_answer_verdict(hf_reply_integer(reply, 1));
    answer.counter = (uint64_t)hf_reply_integer(reply, 2);
    answer.left_ms = hf_reply_integer(reply, 3);
    answer.floor = (uint64_t)hf_reply_integer(reply, 5);
    answer.ticket = (uint64_t)hf_reply_integer(reply, 7);
    answer.ahead = (uint32_t)hf_reply_integer(reply, 8);
    if (answer.verdict == HF_VERDICT_OK) {
        bool is_confirm = answer.verb == HF_VERB_CONFIRM;
        answer.bound = is_confirm ? answer.ticket : 0;
        answer.node_time_us = is_confirm ? 0 : answer.ticket;
        answer.ticket = 0;
    }
    answer.permits = (uint16_t)hf_reply_integer(reply, 9);
    answer.sharers = (uint32_t)hf_reply_integer(reply, 10);
    answer.waiting = (uint32_t)hf_reply_integer(reply, 11);
    if (answer.left_ms == -2) {
        answer.left_ms = 0;
        answer.holder_kind = HF_HOLDER_NONE;
        return answer;
    }
    answer.holder_kind = hf_reply_integer(reply, 6) == 1 ? HF_HOLDER_TYPE
                         : answer.sharers > 0            ? HF_HOLDER_SHARED
                                                         : HF_HOLDER_FOREIGN;
    answer.owner = hf_reply_text(reply, 4);
    answer.owner_len = reply->n > 4 ? reply->items[4].len : 0;
    return answer;
}

static void answer_nonsense(struct hf_redis_node *node,
                            const struct hf_pending *pending)
{
    hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                         "an answer that makes no sense");
}

static void answer_integer(struct hf_redis_node *node,
                           const struct hf_pending *pending)
{
    struct hf_answer answer = answer_to(node, pending);
    answer.verdict = HF_VERDICT_OK;
    answer.counter = (uint64_t)node->connection.reply.items[0].integer;
    if (pending->verb <= HF_VERB_BREAK && hf_answer_is_sound(&answer)) {
        answer_with(node, &answer);
    } else {
        answer_nonsense(node, pending);
    }
}

static void answer_array(struct hf_redis_node *node,
                         const struct hf_pending *pending,
                         struct hf_instant now)
{
    struct hf_answer answer = read_array(node, pending);
    if (!hf_answer_is_sound(&answer)) {
        answer_nonsense(node, pending);
        return;
    }
    if (answer.verdict == HF_VERDICT_QUEUED) {
        hf_redis_listen_want(node, now); /* only waiters need pushes */
    }
    answer_with(node, &answer);
}

/* ---- Holders and waiters ----------------------------------------------- */

#define QUEUE_HEAD 12 /* items of the array's head: itself, and 11 */
#define QUEUE_ITEMS 4 /* of each seat: owner, left ms, ticket, mode */

static struct hf_seat read_seat(const struct hf_reply *reply, size_t at)
{
    uint64_t ticket = (uint64_t)hf_reply_integer(reply, at + 2);
    struct hf_seat seat = {
        .waits = ticket != 0,
        .owner = hf_reply_text(reply, at),
        .owner_len = reply->items[at].len,
        .left_ms = hf_reply_integer(reply, at + 1),
        .ticket = ticket,
    };
    hf_seat_set_mode(&seat, hf_reply_text(reply, at + 3));
    return seat;
}

/* The reply begins like that of INSPECT; the sharers and the waiters follow. An
 * exclusive holder is in the first part only. */
static void answer_queue(struct hf_redis_node *node,
                         const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct hf_redis *store = node->store;
    struct hf_answer answer = read_array(node, pending);
    HF_ASSERT(reply->n >= QUEUE_HEAD);
    size_t n = (reply->n - QUEUE_HEAD) / QUEUE_ITEMS;
    if (!hf_seat_list_reserve(&store->seats, n + 1)) {
        hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_NO_MEMORY,
                             "out of memory");
        return;
    }
    hf_seat_list_begin(&store->seats, &answer);
    HF_ASSERT(answer.n_seats + n <= store->seats.cap);
    for (size_t i = 0; i < n; i++) {
        store->seats.items[answer.n_seats++] =
            read_seat(reply, QUEUE_HEAD + i * QUEUE_ITEMS);
    }
    answer_with(node, &answer);
}

/* ---- Which names are there --------------------------------------------- */

static bool is_lock_key(const struct hf_redis *store, const char *key,
                        size_t len)
{
    return len > store->prefix_len && len <= HF_REDIS_LOCK_KEY_MAX &&
           memcmp(key, store->prefix, store->prefix_len) == 0 &&
           !(len >= 3 && memcmp(key, "hf:", 3) == 0);
}

/* The cursor of the next page, of this pass or the next; 0: no more pages. */
static uint64_t next_cursor(uint64_t cursor, bool is_of_marks)
{
    if (cursor == 0) {
        return is_of_marks ? 0 : SCAN_MARKS;
    }
    return is_of_marks ? cursor | SCAN_MARKS : cursor;
}

/* [cursor, [key …]] */
static void answer_scan(struct hf_redis_node *node,
                        const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct hf_redis *store = node->store;
    struct hf_answer answer = answer_to(node, pending);
    if (!hf_name_list_reserve(&store->names, reply->n)) {
        hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_NO_MEMORY,
                             "out of memory");
        return;
    }
    for (size_t i = 3; i < reply->n; i++) {
        const char *key = hf_reply_text(reply, i);
        size_t len = reply->items[i].len;
        if (pending->is_of_marks &&
            hf_redis_side_read(key, len, &key, &len) != HF_REDIS_ONCE) {
            continue;
        }
        if (is_lock_key(store, key, len)) {
            store->names.items[answer.n_names++] = (struct hf_bytes){
                key + store->prefix_len, len - store->prefix_len};
        }
    }
    uint64_t cursor = strtoull(hf_reply_text(reply, 1), NULL, 10);
    answer.verdict = HF_VERDICT_OK;
    answer.counter = next_cursor(cursor, pending->is_of_marks);
    answer.names = store->names.items;
    answer_with(node, &answer);
}

/* ---- Values ------------------------------------------------------------ */

/* In bytes: a version has as many digits as HF_FENCE_MAX, 2^53 - 1, and its
 * head in the string is "VERSION ID". */
#define VERSION_DIGITS 16
#define VALUE_HEAD (VERSION_DIGITS + 1 + HF_WRITE_ID_LEN)

/** "VERSION ID DATA", or "VERSION ID" of a deleted value. @return false: it is
 * no value of ours. */
static bool read_value(const char *text, size_t len, struct hf_answer *answer)
{
    uint64_t version = 0;
    if (len < VALUE_HEAD || text[VERSION_DIGITS] != ' ' ||
        (len > VALUE_HEAD && text[VALUE_HEAD] != ' ')) {
        return false;
    }
    for (unsigned i = 0; i < VERSION_DIGITS; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        version = version * 10 + (uint64_t)(text[i] - '0');
    }
    answer->owner = text + VERSION_DIGITS + 1;
    answer->owner_len = HF_WRITE_ID_LEN;
    if (len > VALUE_HEAD) {
        answer->counter = version;
        answer->value =
            (struct hf_bytes){text + VALUE_HEAD + 1, len - VALUE_HEAD - 1};
    }
    return version > 0 && version <= HF_FENCE_MAX;
}

static void answer_get(struct hf_redis_node *node,
                       const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->connection.reply;
    const struct hf_reply_item *first = &reply->items[0];
    struct hf_answer answer = answer_to(node, pending);
    answer.verdict = HF_VERDICT_OK;
    if (first->type == HF_REPLY_NIL ||
        (first->type == HF_REPLY_STRING &&
         read_value(hf_reply_text(reply, 0), first->len, &answer))) {
        answer_with(node, &answer);
    } else {
        hf_redis_answer_none(node, pending, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                             "its key has no value of Holdfast");
    }
}

/* {1, version}: written; {0, version}: it has this version. */
static void answer_put(struct hf_redis_node *node,
                       const struct hf_pending *pending)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct hf_answer answer = answer_to(node, pending);
    if (reply->n != 3) {
        answer_nonsense(node, pending);
        return;
    }
    answer.verdict = hf_answer_verdict(hf_reply_integer(reply, 1));
    answer.counter = (uint64_t)hf_reply_integer(reply, 2);
    if (answer.verdict != HF_VERDICT_QUEUED && answer.counter <= HF_FENCE_MAX) {
        answer_with(node, &answer);
    } else {
        answer_nonsense(node, pending);
    }
}

void hf_redis_answer(struct hf_redis_node *node,
                     const struct hf_pending *pending, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    const struct hf_reply_item *first = &reply->items[0];
    HF_ASSERT(pending->verb <= HF_VERB_SCAN && reply->n > 0);
    if (first->type == HF_REPLY_ERROR) {
        answer_error(node, pending, hf_reply_text(reply, 0), now);
    } else if (pending->verb == HF_VERB_GET) {
        answer_get(node, pending);
    } else if (pending->verb == HF_VERB_PUT) {
        answer_put(node, pending);
    } else if (first->type == HF_REPLY_INTEGER && first->integer >= 0) {
        answer_integer(node, pending);
    } else if (first->type == HF_REPLY_INTEGER) {
        answer_changed(node, pending, now);
    } else if (pending->verb == HF_VERB_SCAN && reply->n >= 3) {
        answer_scan(node, pending);
    } else if (pending->verb == HF_VERB_QUEUE && reply->n >= QUEUE_HEAD) {
        answer_queue(node, pending);
    } else if (first->type == HF_REPLY_ARRAY && reply->n >= 4) {
        answer_array(node, pending, now);
    } else {
        answer_nonsense(node, pending);
    }
}
