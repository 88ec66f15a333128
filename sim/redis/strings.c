/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of any type, strings, and time. */
#include "redis/server.h"

static int64_t now_ms(const struct sim_call *call)
{
    return call->redis->wall_us / 1000;
}

static struct sim_key *find(struct sim_call *call, size_t at)
{
    return sim_keyspace_find(&call->redis->keys, call->argv[at].data,
                             call->argv[at].len);
}

void sim_time(struct sim_call *call)
{
    char text[SIM_NUMBER_MAX];
    int64_t us = call->redis->wall_us;
    sim_reply_array(call->out, 2);
    sim_reply_bulk(call->out, text, sim_integer_format(text, us / 1000000));
    sim_reply_bulk(call->out, text, sim_integer_format(text, us % 1000000));
}

void sim_del(struct sim_call *call)
{
    int64_t removed = 0;
    for (size_t i = 1; i < call->argc; i++) {
        struct sim_key *key = find(call, i);
        if (key != NULL) {
            sim_keyspace_remove(&call->redis->keys, key);
            removed++;
        }
    }
    sim_reply_integer(call->out, removed);
}

void sim_exists(struct sim_call *call)
{
    int64_t found = 0;
    for (size_t i = 1; i < call->argc; i++) {
        found += find(call, i) != NULL;
    }
    sim_reply_integer(call->out, found);
}

void sim_type_of(struct sim_call *call)
{
    static const char *const names[] = {
        [SIM_STRING] = "string", [SIM_HASH] = "hash", [SIM_ZSET] = "zset"};
    const struct sim_key *key = find(call, 1);
    sim_reply_status(call->out, key == NULL ? "none" : names[key->type]);
}

/* ---- Expiry -------------------------------------------------------------- */

void sim_pttl(struct sim_call *call)
{
    const struct sim_key *key = find(call, 1);
    if (key == NULL) {
        sim_reply_integer(call->out, -2);
    } else if (key->expires_ms == SIM_FOREVER) {
        sim_reply_integer(call->out, -1);
    } else {
        int64_t left = key->expires_ms - now_ms(call);
        sim_reply_integer(call->out, left < 0 ? 0 : left);
    }
}

struct conditions {
    bool nx;
    bool xx;
    bool gt;
    bool lt;
};

static bool read_conditions(struct sim_call *call, struct conditions *out)
{
    *out = (struct conditions){0};
    for (size_t i = 3; i < call->argc; i++) {
        const struct sim_arg *word = &call->argv[i];
        bool *flag = sim_arg_is(word, "nx")   ? &out->nx
                     : sim_arg_is(word, "xx") ? &out->xx
                     : sim_arg_is(word, "gt") ? &out->gt
                     : sim_arg_is(word, "lt") ? &out->lt
                                              : NULL;
        if (flag == NULL) {
            sim_reply_error(call->out, "ERR Unsupported option %s", word->data);
            return false;
        }
        *flag = true;
    }
    if (out->nx && (out->xx || out->gt || out->lt)) {
        sim_reply_error(call->out, "ERR NX and XX, GT or LT options at the "
                                   "same time are not compatible");
        return false;
    }
    if (out->gt && out->lt) {
        sim_reply_error(call->out, "ERR GT and LT options at the same time "
                                   "are not compatible");
        return false;
    }
    return true;
}

/* A key without expiry counts as expiring later than any time. */
static bool are_met(const struct conditions *conditions, int64_t current_ms,
                    int64_t when_ms)
{
    bool is_forever = current_ms == SIM_FOREVER;
    return !(conditions->nx && !is_forever) &&
           !(conditions->xx && is_forever) &&
           !(conditions->gt && (is_forever || when_ms <= current_ms)) &&
           !(conditions->lt && !is_forever && when_ms >= current_ms);
}

static void expire(struct sim_call *call, int64_t base_ms)
{
    struct conditions conditions;
    int64_t when_ms;
    if (!read_conditions(call, &conditions) ||
        !sim_call_integer(call, 2, &when_ms)) {
        return;
    }
    if (when_ms > INT64_MAX - base_ms) {
        sim_reply_error(call->out, "ERR invalid expire time in '%s' command",
                        call->command->name);
        return;
    }
    when_ms += base_ms;
    struct sim_key *key = find(call, 1);
    if (key == NULL || !are_met(&conditions, key->expires_ms, when_ms)) {
        sim_reply_integer(call->out, 0);
        return;
    }
    if (when_ms <= now_ms(call)) {
        sim_keyspace_remove(&call->redis->keys, key);
    } else {
        key->expires_ms = when_ms;
    }
    sim_reply_integer(call->out, 1);
}

void sim_pexpire(struct sim_call *call)
{
    expire(call, now_ms(call));
}

void sim_pexpireat(struct sim_call *call)
{
    expire(call, 0);
}

/* ---- Strings ------------------------------------------------------------- */

void sim_get(struct sim_call *call)
{
    struct sim_key *key;
    if (!sim_call_key(call, SIM_STRING, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_null(call->out);
    } else {
        sim_reply_bulk(call->out, key->text->data, key->text->len);
    }
}

enum clock { NONE, EX, PX, EXAT, PXAT };

struct set_options {
    bool nx;
    bool xx;
    bool get;
    bool keepttl;
    enum clock clock;
    size_t expire_at; /* argument */
};

static enum clock read_clock(const struct sim_arg *word)
{
    return sim_arg_is(word, "px")     ? PX
           : sim_arg_is(word, "ex")   ? EX
           : sim_arg_is(word, "pxat") ? PXAT
           : sim_arg_is(word, "exat") ? EXAT
                                      : NONE;
}

/* Read one option at `i`, and advance `i`. @return false: a syntax error. */
static bool read_option(struct sim_call *call, size_t *i,
                        struct set_options *out)
{
    const struct sim_arg *word = &call->argv[*i];
    if (sim_arg_is(word, "nx") && !out->xx) {
        out->nx = true;
    } else if (sim_arg_is(word, "xx") && !out->nx) {
        out->xx = true;
    } else if (sim_arg_is(word, "get")) {
        out->get = true;
    } else if (sim_arg_is(word, "keepttl") && out->clock == NONE) {
        out->keepttl = true;
    } else {
        enum clock clock = read_clock(word);
        bool is_other = out->clock != NONE && out->clock != clock;
        if (clock == NONE || is_other || out->keepttl || *i + 1 == call->argc) {
            return false;
        }
        out->clock = clock;
        out->expire_at = ++*i;
    }
    return true;
}

/* @return false: the time is out of range; the error was replied. */
static bool read_expiry(struct sim_call *call,
                        const struct set_options *options, int64_t *out)
{
    *out = SIM_FOREVER;
    if (options->clock == NONE) {
        return true;
    }
    int64_t when;
    if (!sim_call_integer(call, options->expire_at, &when)) {
        return false;
    }
    bool is_bad = when <= 0;
    if (options->clock == EX || options->clock == EXAT) {
        is_bad |= __builtin_mul_overflow(when, 1000, &when);
    }
    if (options->clock == EX || options->clock == PX) {
        is_bad |= __builtin_add_overflow(when, now_ms(call), &when);
    }
    if (is_bad || when <= 0) {
        sim_reply_error(call->out, "ERR invalid expire time in 'set' command");
        return false;
    }
    *out = when;
    return true;
}

static void reply_old(struct sim_call *call, const struct sim_key *key)
{
    if (key == NULL) {
        sim_reply_null(call->out);
    } else {
        sim_reply_bulk(call->out, key->text->data, key->text->len);
    }
}

static void set(struct sim_call *call, const struct set_options *options,
                int64_t expires_ms)
{
    struct sim_keyspace *keys = &call->redis->keys;
    struct sim_key *key = find(call, 1);
    if (options->get && key != NULL && key->type != SIM_STRING) {
        sim_call_wrong_type(call);
        return;
    }
    if (options->get) {
        reply_old(call, key);
    }
    if ((options->nx && key != NULL) || (options->xx && key == NULL)) {
        if (!options->get) {
            sim_reply_null(call->out);
        }
        return;
    }
    if (key == NULL) {
        key = sim_keyspace_add(keys, call->argv[1].data, call->argv[1].len,
                               SIM_STRING);
    }
    sim_key_set_text(keys, key, call->argv[2].data, call->argv[2].len);
    if (!options->keepttl) {
        key->expires_ms = expires_ms;
    }
    if (!options->get) {
        sim_reply_status(call->out, "OK");
    }
}

void sim_set(struct sim_call *call)
{
    struct set_options options = {0};
    for (size_t i = 3; i < call->argc; i++) {
        if (!read_option(call, &i, &options)) {
            sim_call_syntax_error(call);
            return;
        }
    }
    int64_t expires_ms;
    if (read_expiry(call, &options, &expires_ms)) {
        set(call, &options, expires_ms);
    }
}
