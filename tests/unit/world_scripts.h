/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped scripts of one name, in the simulated server that
 * conformance/sim_redis holds against a real one: asked as the small world's
 * node is, answered in the core's terms.
 *
 *     scripts_open(&scripts, NULL);
 *     scripts_set_time(&scripts, wall_us);
 *     scripts_subscribe(&scripts, owner, true);
 *     event = scripts_ask(&scripts, &ask);      pushes: scripts.pushes
 *     scripts_close(&scripts);
 *
 * A program that includes it links hf_sim_redis. */
#ifndef HF_TESTS_WORLD_SCRIPTS_H
#define HF_TESTS_WORLD_SCRIPTS_H

#include "world_node.h"

#include "redis/redis.h"
#include "redis/text.h"

#include "store/redis/reply.h"
#include "store/redis/scripts.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Unix time of the first instant of a test: late in 2026. */
#define EPOCH_US INT64_C(1795000000000000)

/* Of one request: to each sharer that it serves; asserted. */
#define PUSHES_MAX 64
#define KEEP_MS "3600000"
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

struct push {
    uint32_t owner;
    uint64_t counter;
};

struct pushes {
    struct push of[PUSHES_MAX];
    unsigned n;
};

/* A rule that is removed from a script. */
struct planted {
    const struct hf_script *script;
    const char *rule;
    const char *text;
    const char *instead;
};

struct scripts {
    const struct planted *planted; /* NULL: the scripts as shipped */
    struct planted everywhere;     /* text NULL: none; else in all that have it
                                    */
    struct sim_lua *lua;
    struct sim_redis *redis;
    struct sim_session *session;
    struct sim_session *ears;
    struct hf_reply reply;
    struct hf_reply heard;
    struct pushes pushes; /* since the last request */
};

/* ---- Requests ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static inline void
add(struct sim_text *text, const char *format, ...)
{
    char word[100];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    sim_reply_bulk(text, word, (size_t)len);
}

/* Replace the first `from`. @return false: there is none. */
static inline bool replace(struct sim_text *text, const char *from,
                           const char *to)
{
    const char *at = from == NULL ? NULL : strstr(text->data, from);
    if (at == NULL) {
        return false;
    }
    struct sim_text out = {0};
    size_t before = (size_t)(at - text->data);
    size_t after = before + strlen(from);
    sim_text_add(&out, text->data, before);
    sim_text_add(&out, to, strlen(to));
    sim_text_add(&out, text->data + after, text->len - after);
    sim_text_fini(text);
    *text = out;
    return true;
}

static inline void add_text_of(struct sim_text *out,
                               const struct scripts *scripts,
                               const struct hf_script *script)
{
    const struct planted *planted = scripts->planted;
    struct sim_text text = {0};
    sim_text_add(&text, script->text, script->len);
    if (planted != NULL && planted->script == script) {
        /* if it is absent, the script has changed: update the table */
        assert_true(replace(&text, planted->text, planted->instead));
    }
    replace(&text, scripts->everywhere.text, scripts->everywhere.instead);
    sim_reply_bulk(out, text.data, text.len);
    sim_text_fini(&text);
}

static inline void begin(struct sim_text *out, const struct scripts *scripts,
                         const struct hf_script *script, size_t n_args)
{
    static const char *const sides[] = {"fence", "queue", "waiters", "holders",
                                        "votes"};
    bool has_mark = script == &hf_script_list || script == &hf_script_inspect ||
                    script == &hf_script_mark;
    sim_reply_array(out, 10U + (has_mark ? 1U : 0U) + n_args);
    add(out, "EVAL");
    add_text_of(out, scripts, script);
    add(out, has_mark ? "8" : "7");
    add(out, "lock:a");
    for (int64_t i = 0; i < COUNT(sides); i++) {
        add(out, "hf:{lock:a}:%s", sides[i]);
    }
    add(out, "hf:node");
    if (has_mark) {
        add(out, "hf:{lock:a}:once");
    }
}

static inline void feed(struct scripts *scripts, struct sim_text *text)
{
    const char *data;
    sim_redis_feed(scripts->session, text->data, text->len);
    size_t len = sim_session_take(scripts->session, &data);
    assert_true(hf_reply_feed(&scripts->reply, data, len));
    assert_int_equal(hf_reply_next(&scripts->reply), 1);
    sim_text_fini(text);
}

static inline void ask_acquire(struct scripts *scripts,
                               const struct node_ask *ask)
{
    struct sim_text text = {0};
    bool is_yield = ask->verb == HF_VERB_YIELD;
    bool is_plain =
        !is_yield && !ask->is_shared && ask->queue.ns == 0 && ask->ticket == 0;
    begin(&text, scripts, &hf_script_acquire, is_plain ? 5 : 12);
    add(&text, "%08u", ask->owner);
    add(&text, "%" PRId64, hf_span_ms_floor(ask->ttl));
    add(&text, "%" PRIu64, is_yield ? 0 : ask->counter);
    add(&text, "m1");
    add(&text, KEEP_MS);
    if (!is_plain) {
        add(&text, ask->is_shared ? "s0" : "x");
        add(&text, "0");
        add(&text, "%" PRId64, hf_span_ms_floor(ask->queue));
        add(&text, "%" PRIu64, ask->ticket);
        add(&text, "to:%u", ask->owner);
        add(&text, "%u", ask->owner);
        add(&text, "%" PRIu64, is_yield ? ask->counter : 0);
    }
    feed(scripts, &text);
}

static inline void ask_confirm(struct scripts *scripts,
                               const struct node_ask *ask)
{
    struct sim_text text = {0};
    begin(&text, scripts, &hf_script_confirm, 7);
    add(&text, "%08u", ask->owner);
    add(&text, "%" PRId64, hf_span_ms_floor(ask->ttl));
    add(&text, "%" PRIu64, ask->counter);
    add(&text, "m1");
    add(&text, KEEP_MS);
    add(&text, ask->reacquires ? "1" : "0");
    add(&text, ask->is_shared ? "s0" : "x");
    feed(scripts, &text);
}

static inline void ask_release(struct scripts *scripts,
                               const struct node_ask *ask)
{
    struct sim_text text = {0};
    begin(&text, scripts, &hf_script_release, 5);
    add(&text, "%08u", ask->owner);
    add(&text, "%" PRIu64, ask->counter);
    add(&text, "0");
    add(&text, KEEP_MS);
    add(&text, "m1");
    feed(scripts, &text);
}

static inline uint32_t owner_of(const char *text)
{
    return strncmp(text, "shared:", 7) == 0 ? UINT32_MAX
                                            : (uint32_t)strtoul(text, NULL, 10);
}

/* Parse the reply as store/redis/ask.c and client/answer.c do. */
static inline struct hf_event read_answer(const struct scripts *scripts,
                                          enum hf_verb verb)
{
    const struct hf_reply *reply = &scripts->reply;
    struct hf_event answer = {0};
    if (reply->items[0].type == HF_REPLY_INTEGER) {
        answer.verdict = HF_VERDICT_OK;
        answer.counter = (uint64_t)reply->items[0].integer;
        return answer;
    }
    int64_t number = hf_reply_integer(reply, 1);
    uint64_t seventh = (uint64_t)hf_reply_integer(reply, 7);
    answer.verdict = number == 1   ? HF_VERDICT_OK
                     : number == 2 ? HF_VERDICT_QUEUED
                                   : HF_VERDICT_REFUSED;
    answer.counter = (uint64_t)hf_reply_integer(reply, 2);
    answer.floor = (uint64_t)hf_reply_integer(reply, 5);
    answer.ahead = (uint32_t)hf_reply_integer(reply, 8);
    if (number == 1) {
        answer.bound = verb == HF_VERB_CONFIRM ? seventh : 0;
        return answer;
    }
    int64_t left_ms = hf_reply_integer(reply, 3);
    answer.ticket = seventh;
    answer.left = hf_span_ms_or_max(left_ms == -2 ? 0 : left_ms);
    answer.rival = left_ms == -2 ? 0 : owner_of(hf_reply_text(reply, 4));
    return answer;
}

/* ---- Pushes -------------------------------------------------------------- */

static inline void note_push(struct pushes *pushes, uint32_t owner,
                             uint64_t counter)
{
    assert_true(pushes->n < PUSHES_MAX);
    pushes->of[pushes->n++] = (struct push){owner, counter};
}

/* A "message", the channel and "cookie counter"; or the reply to SUBSCRIBE. */
static inline void scripts_hear(struct scripts *scripts)
{
    const char *data;
    size_t len = sim_session_take(scripts->ears, &data);
    assert_true(hf_reply_feed(&scripts->heard, data, len));
    while (hf_reply_next(&scripts->heard) == 1) {
        char *end;
        if (strcmp(hf_reply_text(&scripts->heard, 1), "message") == 0) {
            const char *text = hf_reply_text(&scripts->heard, 3);
            uint32_t owner = (uint32_t)strtoul(text, &end, 10);
            note_push(&scripts->pushes, owner, strtoull(end, NULL, 10));
        }
    }
}

/* ---- All of it ----------------------------------------------------------- */

static inline struct hf_event scripts_ask(struct scripts *scripts,
                                          const struct node_ask *ask)
{
    scripts->pushes.n = 0;
    if (ask->verb == HF_VERB_CONFIRM) {
        ask_confirm(scripts, ask);
    } else if (ask->verb == HF_VERB_RELEASE) {
        ask_release(scripts, ask);
    } else {
        ask_acquire(scripts, ask);
    }
    scripts_hear(scripts);
    return read_answer(scripts, ask->verb);
}

static inline void scripts_subscribe(struct scripts *scripts, uint32_t owner,
                                     bool hears)
{
    struct sim_text text = {0};
    sim_reply_array(&text, 2);
    add(&text, hears ? "SUBSCRIBE" : "UNSUBSCRIBE");
    add(&text, "to:%u", owner);
    sim_redis_feed(scripts->ears, text.data, text.len);
    sim_text_fini(&text);
    scripts_hear(scripts);
}

/* The reply is in scripts->reply. */
static inline void scripts_ask_queue(struct scripts *scripts)
{
    struct sim_text text = {0};
    begin(&text, scripts, &hf_script_list, 1);
    add(&text, "1000");
    feed(scripts, &text);
}

static inline void scripts_set_time(struct scripts *scripts, int64_t wall_us)
{
    sim_redis_set_clock(scripts->redis, wall_us);
}

/* Delete all keys but the marker, which each grant compares. */
static inline void scripts_reset(struct scripts *scripts)
{
    struct sim_text text = {0};
    sim_redis_flush(scripts->redis);
    sim_reply_array(&text, 4);
    add(&text, "HSET");
    add(&text, "hf:node");
    add(&text, "v");
    add(&text, "m1");
    feed(scripts, &text);
}

static inline void scripts_open(struct scripts *scripts,
                                const struct planted *planted)
{
    memset(scripts, 0, sizeof(*scripts));
    scripts->planted = planted;
    scripts->lua = sim_lua_new();
    scripts->redis = sim_redis_new(scripts->lua, NULL);
    scripts->session = sim_redis_connect(scripts->redis, NULL);
    scripts->ears = sim_redis_connect(scripts->redis, NULL);
    assert_true(hf_reply_init(&scripts->reply) &&
                hf_reply_init(&scripts->heard));
}

static inline void scripts_close(struct scripts *scripts)
{
    hf_reply_fini(&scripts->reply);
    hf_reply_fini(&scripts->heard);
    sim_redis_free(scripts->redis);
    sim_lua_free(scripts->lua);
}

#endif
