/* SPDX-License-Identifier: Apache-2.0 */
/* Where the scripts behave otherwise than the embedded store, by design: what
 * the suite does about it, beside leaving requests out. */
#ifndef HF_TESTS_EMBEDDED_H
#define HF_TESTS_EMBEDDED_H

#include "both.h"

/* ---- Breaks -------------------------------------------------------------- */

static inline bool has_breaker(struct both *both)
{
    size_t len;
    const char *breaker = both->parties[BREAKER].owner;
    const char *owner =
        sim_redis_get(both->scripts.redis, NAME, sizeof(NAME) - 1, &len);
    return owner != NULL && len == strlen(breaker) &&
           memcmp(owner, breaker, len) == 0;
}

/* The breaker has kept the name to the end of the lease: the scripts forget the
 * holder from which it was taken. */
static inline void forget_broken(struct both *both)
{
    static const char script[] =
        "redis.call('SET', KEYS[1], string.sub(redis.call('GET', KEYS[1]), 1, "
        "16), 'KEEPTTL') return 1";
    struct sim_text text = {0};
    if (both->taken_from[0] == '\0' || has_breaker(both)) {
        return;
    }
    both->taken_from[0] = '\0';
    sim_reply_array(&text, 4);
    add(&text, "EVAL");
    sim_reply_bulk(&text, script, sizeof(script) - 1);
    add(&text, "1");
    add(&text, "hf:{" NAME "}:fence");
    feed(&both->scripts, &text);
    assert_int_equal(both->scripts.reply.items[0].type, HF_REPLY_INTEGER);
}

/* After a request: from which holder does the breaker have the name? */
static inline void note_broken(struct both *both, const struct request *ask)
{
    const struct hf_reply *reply = &both->scripts.reply;
    if (!has_breaker(both)) {
        both->taken_from[0] = '\0';
    } else if (ask->verb == BREAK && both->taken_from[0] == '\0' &&
               item(reply, 10) == 0 &&
               strcmp(hf_reply_text(reply, 4), ask->owner) != 0) {
        snprintf(both->taken_from, sizeof(both->taken_from), "%s",
                 hf_reply_text(reply, 4));
    }
}

/* ---- Time ---------------------------------------------------------------- */

/* Does Redis have a key up to the end of this millisecond? A group has ended
 * before it. */
static inline bool is_last_ms(const struct both *both, int64_t ms)
{
    static const char mark[] = "hf:{" NAME "}:once";
    const struct sim_redis *redis = both->scripts.redis;
    size_t len;
    const char *owner = sim_redis_get(redis, NAME, sizeof(NAME) - 1, &len);
    bool is_group = owner != NULL && strncmp(owner, "shared:", 7) == 0;
    return (!is_group &&
            sim_redis_end_ms(redis, NAME, sizeof(NAME) - 1) == ms) ||
           sim_redis_end_ms(redis, mark, sizeof(mark) - 1) == ms;
}

#endif
