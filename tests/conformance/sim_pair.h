/* SPDX-License-Identifier: Apache-2.0 */
/* A real server and a simulated one: both get the same request at the same time
 * of their clocks, and must give the same reply and keep the same keys. */
#ifndef HF_TESTS_SIM_PAIR_H
#define HF_TESTS_SIM_PAIR_H

#include "redis_world.h"

#include "redis/text.h"
#include "sim_commands.h"

struct pair {
    struct server server;
    volatile int64_t *clock; /* the real server's, if it stands still */
    redisContext *listener;
    struct sim_lua *lua;
    struct sim_redis *redis;
    struct sim_session *session;
    struct sim_session *listening;
    FILE *dump;
    char *dump_text;
    size_t dump_len;
    bool is_full;
    bool is_mute;
    struct calls calls;
    struct request request;
    int64_t n;
};

/* The result of a request in the simulation. */
struct outcome {
    struct sim_text told; /* the request, printed on a failure */
    struct sim_text reply;
    struct sim_text state;
    bool is_scan;
};

/* A function, since tests flush the scripts at times. */
static const char dump_function[] =
    "#!lua name=test\n"
    "local function dump()\n"
    "local out, keys = {}, redis.call('KEYS', '*')\n"
    "table.sort(keys)\n"
    "for _, key in ipairs(keys) do\n"
    "  local n, kind, value = #out, redis.call('TYPE', key).ok\n"
    "  if kind == 'string' then\n"
    "    value = {redis.call('GET', key)}\n"
    "  elseif kind == 'hash' then\n"
    "    value = redis.call('HGETALL', key)\n"
    "  else\n"
    "    value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')\n"
    "  end\n"
    "  out[n + 1], out[n + 2] = key, kind\n"
    "  out[n + 3], out[n + 4] = redis.call('PTTL', key), value\n"
    "end\n"
    "return out\n"
    "end\n"
    "redis.register_function{function_name = 'dump', callback = dump,\n"
    "    flags = {'no-writes'}}\n";

/* ---- Replies as bytes, state as text ------------------------------------- */

static inline int compare_elements(const void *a, const void *b)
{
    const redisReply *const *left = a;
    const redisReply *const *right = b;
    return strcmp((*left)->str, (*right)->str);
}

static inline void encode(struct sim_text *out, const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_STRING:
        sim_reply_bulk(out, reply->str, (size_t)reply->len);
        break;
    case REDIS_REPLY_INTEGER:
        sim_reply_integer(out, reply->integer);
        break;
    case REDIS_REPLY_STATUS:
        sim_reply_status(out, reply->str);
        break;
    case REDIS_REPLY_ERROR:
        sim_text_print(out, "-%s\r\n", reply->str);
        break;
    case REDIS_REPLY_NIL:
        sim_reply_null(out);
        break;
    default:
        sim_reply_array(out, reply->elements);
        for (size_t i = 0; i < reply->elements; i++) {
            encode(out, reply->element[i]);
        }
        break;
    }
}

/* SCAN returns keys in any order. */
static inline void sort_scan(redisReply *reply)
{
    bool is_scan = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                   reply->element[1]->type == REDIS_REPLY_ARRAY;
    if (is_scan && reply->element[1]->elements > 0 &&
        reply->element[1]->element[0]->type == REDIS_REPLY_STRING) {
        qsort(reply->element[1]->element, reply->element[1]->elements,
              sizeof(redisReply *), compare_elements);
    }
}

static inline void sort_text(struct sim_text *text)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, text->data, text->len);
    if (redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
        sort_scan(reply);
        text->len = 0;
        encode(text, reply);
        freeReplyObject(reply);
    }
    redisReaderFree(reader);
}

/* A line as sim_redis_dump() writes it. */
static inline void print_key(struct sim_text *out, redisReply **four)
{
    redisReply *value = four[3];
    bool is_hash = strcmp(four[1]->str, "hash") == 0;
    bool is_zset = strcmp(four[1]->str, "zset") == 0;
    sim_text_quote(out, four[0]->str, (size_t)four[0]->len);
    sim_text_print(out, " %s %lld", four[1]->str, four[2]->integer);
    if (is_hash) {
        qsort(value->element, value->elements / 2, 2 * sizeof(redisReply *),
              compare_elements);
    }
    for (size_t i = 0; i < value->elements; i++) {
        const redisReply *item = value->element[i];
        sim_text_add(out, " ", 1);
        if (is_zset && i % 2 == 1) {
            sim_text_add(out, item->str, (size_t)item->len);
        } else {
            sim_text_quote(out, item->str, (size_t)item->len);
        }
    }
    sim_text_add(out, "\n", 1);
}

/* ---- Both servers -------------------------------------------------------- */

static inline void set_clock(struct pair *pair, int64_t wall_us)
{
    pair->calls.wall_us = wall_us;
    *pair->clock = wall_us * 1000;
    sim_redis_set_clock(pair->redis, wall_us);
}

static inline void start_frozen(struct pair *pair)
{
    server_name(&pair->server);
    server_stand_still(&pair->server);
    pair->clock = pair->server.clock_ns;
    *pair->clock = EPOCH_US * 1000;
    setenv("LC_ALL", "C", 1);
    server_run(&pair->server, "--databases", "1", "--enable-debug-command",
               "yes", "--jemalloc-bg-thread", "no", NULL);
    told(&pair->server, "DEBUG SET-ACTIVE-EXPIRE 0");
    told(&pair->server, "FUNCTION LOAD %s", dump_function);
}

static inline void listen_real(struct pair *pair)
{
    struct timeval patience = {10, 0};
    pair->listener = redisConnectUnix(pair->server.path);
    redisSetTimeout(pair->listener, patience);
}

static inline void pair_open(struct pair *pair, uint64_t seed)
{
    struct timeval patience = {10, 0};
    memset(pair, 0, sizeof(*pair));
    start_frozen(pair);
    listen_real(pair);
    redisSetTimeout(pair->server.control, patience);
    pair->lua = sim_lua_new();
    pair->redis = sim_redis_new(pair->lua, NULL);
    pair->session = sim_redis_connect(pair->redis, NULL);
    pair->listening = sim_redis_connect(pair->redis, NULL);
    pair->dump = open_memstream(&pair->dump_text, &pair->dump_len);
    pair->calls.random = sim_random_of(seed, 0);
    set_clock(pair, EPOCH_US);
}

static inline void pair_close(struct pair *pair)
{
    sim_redis_free(pair->redis);
    sim_lua_free(pair->lua);
    fclose(pair->dump);
    free(pair->dump_text);
    redisFree(pair->listener);
    server_remove(&pair->server);
}

/* ---- One request --------------------------------------------------------- */

static inline void simulate(struct pair *pair, struct sim_session *session,
                            struct outcome *out)
{
    const struct request *request = &pair->request;
    struct sim_text bytes = {0};
    out->told.len = out->reply.len = out->state.len = 0;
    sim_reply_array(&bytes, request->argc);
    for (size_t i = 0; i < request->argc; i++) {
        const struct sim_arg *arg = &request->argv[i];
        sim_reply_bulk(&bytes, arg->data, arg->len);
        sim_text_add(&out->told, " ", 1);
        sim_text_quote(&out->told, arg->data, arg->len < 300 ? arg->len : 9);
    }
    for (size_t at = 0; at < bytes.len;) {
        size_t cut = bytes.len - at;
        if (chance(&pair->calls, 20)) {
            cut = 1 + (size_t)below(&pair->calls, (int64_t)cut);
        }
        const char *data;
        sim_redis_feed(session, bytes.data + at, cut);
        size_t len = sim_session_take(session, &data);
        sim_text_add(&out->reply, data, len);
        at += cut;
    }
    sim_text_fini(&bytes);
    if (request->is_scan) {
        sort_text(&out->reply);
    }
    out->is_scan = request->is_scan;
}

static inline void see_state(struct pair *pair, struct outcome *out)
{
    rewind(pair->dump);
    sim_redis_dump(pair->redis, pair->dump);
    fflush(pair->dump);
    sim_text_add(&out->state, pair->dump_text, (size_t)ftello(pair->dump));
}

static inline void send_real(redisContext *to, const struct request *request)
{
    const char *argv[64];
    size_t lens[64];
    for (size_t i = 0; i < request->argc; i++) {
        argv[i] = request->argv[i].data;
        lens[i] = request->argv[i].len;
    }
    redisAppendCommandArgv(to, (int)request->argc, argv, lens);
}

/* ---- Comparing ----------------------------------------------------------- */

static inline bool is_same(const struct pair *pair,
                           const struct outcome *expected, const char *part,
                           const struct sim_text *simulated,
                           const struct sim_text *real)
{
    if (simulated->len == real->len &&
        (real->len == 0 ||
         memcmp(simulated->data, real->data, real->len) == 0)) {
        return true;
    }
    printf("# request %" PRId64 " at %" PRId64 " us:%s\n# the %s differs\n",
           pair->n, pair->calls.wall_us, expected->told.data, part);
    printf("# simulated:\n%.*s\n# real:\n%.*s\n", (int)simulated->len,
           simulated->data, (int)real->len, real->data);
    return false;
}

/* @return the number of replies that this many bytes must give. */
static inline bool is_same_reply(struct pair *pair, redisContext *from,
                                 const struct outcome *expected,
                                 const char *part)
{
    struct sim_text real = {0};
    sim_text_add(&real, "", 0);
    while (real.len < expected->reply.len) {
        void *reply = NULL;
        if (redisGetReply(from, &reply) != REDIS_OK) {
            printf("# no reply: %s\n", from->errstr);
            break;
        }
        if (expected->is_scan) {
            sort_scan(reply);
        }
        encode(&real, reply);
        freeReplyObject(reply);
    }
    bool same = is_same(pair, expected, part, &expected->reply, &real);
    sim_text_fini(&real);
    return same;
}

static inline bool is_same_state(struct pair *pair,
                                 const struct outcome *expected)
{
    struct sim_text real = {0};
    void *got = NULL;
    if (redisGetReply(pair->server.control, &got) != REDIS_OK) {
        printf("# no state: %s\n", pair->server.control->errstr);
        return false;
    }
    redisReply *reply = got;
    sim_text_add(&real, "", 0);
    for (size_t i = 0; i + 3 < reply->elements; i += 4) {
        print_key(&real, reply->element + i);
    }
    bool same = is_same(pair, expected, "state", &expected->state, &real);
    freeReplyObject(reply);
    sim_text_fini(&real);
    return same;
}

/* The pushes to the listening connection since the last call. */
static inline bool are_same_pushes(struct pair *pair,
                                   const struct outcome *last)
{
    const char *data;
    struct outcome pushes = {.told = last->told};
    size_t len = sim_session_take(pair->listening, &data);
    sim_text_add(&pushes.reply, data, len);
    bool same = is_same_reply(pair, pair->listener, &pushes, "push");
    sim_text_fini(&pushes.reply);
    return same;
}

#endif
