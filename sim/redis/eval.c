/* SPDX-License-Identifier: Apache-2.0 */
/* EVAL, EVALSHA, SCRIPT, and the set of scripts that a server knows. */
#include "redis/server.h"

static const struct sim_script *find(const struct sim_redis *redis,
                                     const struct sim_arg *sha1)
{
    char digits[SIM_ID_SIZE - 1];
    if (sha1->len != sizeof(digits)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(digits); i++) {
        char c = sha1->data[i];
        digits[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (size_t i = 0; i < redis->n_known; i++) {
        if (memcmp(redis->known[i]->sha1, digits, sizeof(digits)) == 0) {
            return redis->known[i];
        }
    }
    return NULL;
}

/* @return NULL: it does not compile; the error was replied. */
static const struct sim_script *learn(struct sim_call *call,
                                      const struct sim_arg *text)
{
    struct sim_redis *redis = call->redis;
    const struct sim_script *script =
        sim_script_compile(redis->lua, text->data, text->len, call->out);
    if (script == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < redis->n_known; i++) {
        if (redis->known[i] == script) {
            return script;
        }
    }
    if (redis->n_known == redis->cap_known) {
        redis->cap_known = redis->cap_known == 0 ? 8 : 2 * redis->cap_known;
        redis->known = sim_realloc(
            redis->known, redis->cap_known * sizeof(const struct sim_script *));
    }
    redis->known[redis->n_known++] = script;
    return script;
}

static bool read_n_keys(struct sim_call *call, size_t *out)
{
    int64_t n;
    if (!sim_call_integer(call, 2, &n)) {
        return false;
    }
    if (n > (int64_t)call->argc - 3) {
        sim_reply_error(call->out, "ERR Number of keys can't be greater than "
                                   "number of args");
        return false;
    }
    if (n < 0) {
        sim_reply_error(call->out, "ERR Number of keys can't be negative");
        return false;
    }
    *out = (size_t)n;
    return true;
}

static void run(struct sim_call *call, const struct sim_script *script,
                size_t n_keys)
{
    const struct sim_redis_hooks *hooks = &call->redis->hooks;
    size_t begin = call->out->len;
    sim_script_run(call, script, n_keys);
    if (hooks->ran != NULL) {
        struct sim_run run = {
            .script = script->name,
            .argc = call->argc,
            .argv = call->argv,
            .reply = call->out->data + begin,
            .reply_len = call->out->len - begin,
            .has_written = call->redis->running.has_written,
        };
        hooks->ran(hooks->user, call->session, &run);
    }
}

static void miss(struct sim_call *call)
{
    const struct sim_redis_hooks *hooks = &call->redis->hooks;
    size_t begin = call->out->len;
    sim_reply_error(call->out, "NOSCRIPT No matching script. Please use EVAL.");
    if (hooks->missed != NULL) {
        struct sim_run run = {
            .script = sim_script_name(call->argv[1].data),
            .argc = call->argc,
            .argv = call->argv,
            .reply = call->out->data + begin,
            .reply_len = call->out->len - begin,
        };
        hooks->missed(hooks->user, call->session, &run);
    }
}

void sim_eval(struct sim_call *call)
{
    size_t n_keys;
    if (!read_n_keys(call, &n_keys)) {
        return;
    }
    const struct sim_script *script = learn(call, &call->argv[1]);
    if (script != NULL) {
        run(call, script, n_keys);
    }
}

void sim_evalsha(struct sim_call *call)
{
    size_t n_keys = 0;
    bool is_sha1 = call->argv[1].len == SIM_ID_SIZE - 1;
    if (is_sha1 && !read_n_keys(call, &n_keys)) {
        return;
    }
    const struct sim_script *script = find(call->redis, &call->argv[1]);
    if (script == NULL) {
        miss(call);
    } else {
        run(call, script, n_keys);
    }
}

void sim_script_load(struct sim_call *call)
{
    const struct sim_script *script = learn(call, &call->argv[2]);
    if (script != NULL) {
        sim_reply_bulk(call->out, script->sha1, SIM_ID_SIZE - 1);
    }
}

void sim_script_exists(struct sim_call *call)
{
    sim_reply_array(call->out, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++) {
        sim_reply_integer(call->out, find(call->redis, &call->argv[i]) != NULL);
    }
}

void sim_script_flush(struct sim_call *call)
{
    if (call->argc > 3 ||
        (call->argc == 3 && !sim_arg_is(&call->argv[2], "sync") &&
         !sim_arg_is(&call->argv[2], "async"))) {
        sim_reply_error(call->out,
                        "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    sim_redis_script_flush(call->redis);
    sim_reply_status(call->out, "OK");
}
