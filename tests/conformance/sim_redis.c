/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_sim_redis */
/* timeout: 300 */
/* Is the simulated server a Redis? The same random requests go to it and to a
 * real one, whose clock stands still but for the steps that both make: each
 * reply, each push and, after each request, all that is kept must be the same.
 *
 *     sim_redis [SEED [CALLS]]
 *
 * It needs redis-server 7.0, and the clock shim that the build made. */
#include "redis_world.h"

#include "redis_text.h"
#include "sim_commands.h"

#include <fcntl.h>
#include <sys/mman.h>

#define CALLS 100000
#define BATCH 16

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
    struct calls calls;
    struct request request;
    int64_t n;
};

/* What a request led to in the simulation. */
struct outcome {
    struct sim_text told; /* the request, for who reads a failure */
    struct sim_text reply;
    struct sim_text state;
    bool is_scan;
};

/* A function, since scripts are flushed at times. */
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

static int compare_elements(const void *a, const void *b)
{
    const redisReply *const *left = a;
    const redisReply *const *right = b;
    return strcmp((*left)->str, (*right)->str);
}

static void encode(struct sim_text *out, const redisReply *reply)
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

/* The keys that SCAN finds come in no order. */
static void sort_scan(redisReply *reply)
{
    bool is_scan = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                   reply->element[1]->type == REDIS_REPLY_ARRAY;
    if (is_scan && reply->element[1]->elements > 0 &&
        reply->element[1]->element[0]->type == REDIS_REPLY_STRING) {
        qsort(reply->element[1]->element, reply->element[1]->elements,
              sizeof(redisReply *), compare_elements);
    }
}

static void sort_text(struct sim_text *text)
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
static void print_key(struct sim_text *out, redisReply **four)
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

static void set_clock(struct pair *pair, int64_t wall_us)
{
    pair->calls.wall_us = wall_us;
    *pair->clock = wall_us * 1000;
    sim_redis_set_clock(pair->redis, wall_us);
}

static void start_frozen(struct pair *pair)
{
    char shim[300];
    char path[120];
    const char *build = getenv("HF_BUILD");
    snprintf(shim, sizeof(shim), "%s/tests/lib/clock_shim.so",
             build == NULL ? "build" : build);
    if (access(shim, R_OK) != 0) {
        printf("Bail out! no clock shim in HF_BUILD: %s\n", shim);
        exit(1);
    }
    server_name(&pair->server);
    snprintf(path, sizeof(path), "%s/clock", pair->server.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 16) != 0) {
        exit(1);
    }
    int64_t *both = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (both == MAP_FAILED) {
        exit(1);
    }
    close(fd);
    pair->clock = both + 1;
    *pair->clock = EPOCH_US * 1000;
    setenv("CLOCKSHIM", path, 1);
    setenv("LD_PRELOAD", shim, 1);
    setenv("LC_ALL", "C", 1);
    server_run(&pair->server, "--databases", "1", "--enable-debug-command",
               "yes", "--jemalloc-bg-thread", "no", NULL);
    unsetenv("LD_PRELOAD");
    told(&pair->server, "DEBUG SET-ACTIVE-EXPIRE 0");
    told(&pair->server, "FUNCTION LOAD %s", dump_function);
}

static void pair_open(struct pair *pair, uint64_t seed)
{
    struct timeval patience = {10, 0};
    memset(pair, 0, sizeof(*pair));
    start_frozen(pair);
    pair->listener = redisConnectUnix(pair->server.path);
    redisSetTimeout(pair->server.control, patience);
    redisSetTimeout(pair->listener, patience);
    pair->lua = sim_lua_new();
    pair->redis = sim_redis_new(pair->lua, NULL);
    pair->session = sim_redis_connect(pair->redis, NULL);
    pair->listening = sim_redis_connect(pair->redis, NULL);
    pair->dump = open_memstream(&pair->dump_text, &pair->dump_len);
    pair->calls.random = sim_random_of(seed, 0);
    set_clock(pair, EPOCH_US);
}

static void pair_close(struct pair *pair)
{
    sim_redis_free(pair->redis);
    sim_lua_free(pair->lua);
    fclose(pair->dump);
    free(pair->dump_text);
    redisFree(pair->listener);
    server_remove(&pair->server);
}

/* ---- One request --------------------------------------------------------- */

static void simulate(struct pair *pair, struct sim_session *session,
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

static void see_state(struct pair *pair, struct outcome *out)
{
    rewind(pair->dump);
    sim_redis_dump(pair->redis, pair->dump);
    fflush(pair->dump);
    sim_text_add(&out->state, pair->dump_text, (size_t)ftello(pair->dump));
}

static void send_real(redisContext *to, const struct request *request)
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

static bool is_same(const struct pair *pair, const struct outcome *expected,
                    const char *what, const struct sim_text *simulated,
                    const struct sim_text *real)
{
    if (simulated->len == real->len &&
        (real->len == 0 ||
         memcmp(simulated->data, real->data, real->len) == 0)) {
        return true;
    }
    printf("# request %" PRId64 " at %" PRId64 " us:%s\n# the %s differs\n",
           pair->n, pair->calls.wall_us, expected->told.data, what);
    printf("# simulated:\n%.*s\n# real:\n%.*s\n", (int)simulated->len,
           simulated->data, (int)real->len, real->data);
    return false;
}

/* As many replies as there must be for so many bytes. */
static bool is_same_reply(struct pair *pair, redisContext *from,
                          const struct outcome *expected, const char *what)
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
    bool same = is_same(pair, expected, what, &expected->reply, &real);
    sim_text_fini(&real);
    return same;
}

static bool is_same_state(struct pair *pair, const struct outcome *expected)
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

/* What was pushed to who listens since the last look. */
static bool are_same_pushes(struct pair *pair, const struct outcome *last)
{
    const char *data;
    struct outcome pushes = {.told = last->told};
    size_t len = sim_session_take(pair->listening, &data);
    sim_text_add(&pushes.reply, data, len);
    bool same = is_same_reply(pair, pair->listener, &pushes, "push");
    sim_text_fini(&pushes.reply);
    return same;
}

/* ---- A run --------------------------------------------------------------- */

static void step_clock(struct pair *pair)
{
    struct calls *calls = &pair->calls;
    static const int64_t steps_us[] = {0,      1,       900,     1000,
                                       20000,  300000,  1500000, 6000000,
                                       400000, 5000000, 900000};
    int64_t most = steps_us[below(calls, COUNT(steps_us))];
    int64_t step = below(calls, most + 1);
    if (chance(calls, 2)) {
        step = -below(calls, 2000000);
    }
    set_clock(pair, calls->wall_us + step);
}

static void change_memory(struct pair *pair)
{
    if (pair->is_full ? chance(&pair->calls, 30) : chance(&pair->calls, 2)) {
        pair->is_full = !pair->is_full;
        told(&pair->server, "CONFIG SET maxmemory %d", pair->is_full);
        sim_redis_set_full(pair->redis, pair->is_full);
    }
    if (chance(&pair->calls, 2)) { /* a restart that keeps all */
        struct sim_image *image = sim_redis_save(pair->redis);
        sim_redis_flush(pair->redis);
        sim_redis_load(pair->redis, image);
        sim_image_free(image);
        told(&pair->server, "SCRIPT FLUSH");
    }
}

typedef void make_fn(struct calls *calls, struct request *request);

/* Some requests at one instant, in one write. */
static bool run_batch(struct pair *pair, make_fn *make,
                      struct outcome outcomes[BATCH], int64_t n)
{
    redisContext *control = pair->server.control;
    int is_written;
    for (int64_t i = 0; i < n; i++) {
        make(&pair->calls, &pair->request);
        send_real(control, &pair->request);
        redisAppendCommand(control, "FCALL dump 0");
        redisBufferWrite(control, &is_written); /* both work at once */
        simulate(pair, pair->session, &outcomes[i]);
        see_state(pair, &outcomes[i]);
        learn(&pair->calls, &pair->request, outcomes[i].reply.data);
    }
    for (int64_t i = 0; i < n; i++, pair->n++) {
        if (!is_same_reply(pair, control, &outcomes[i], "reply") ||
            !is_same_state(pair, &outcomes[i])) {
            return false;
        }
    }
    return are_same_pushes(pair, &outcomes[n - 1]);
}

/* A request of who listens. */
static bool run_listening(struct pair *pair, make_fn *make)
{
    struct outcome outcome = {0};
    make(&pair->calls, &pair->request);
    send_real(pair->listener, &pair->request);
    simulate(pair, pair->listening, &outcome);
    bool same = is_same_reply(pair, pair->listener, &outcome, "listener");
    sim_text_fini(&outcome.told);
    sim_text_fini(&outcome.reply);
    return same;
}

/* Who gets a grant; the third channel is that of a waiter who is gone. */
static void make_subscribe(struct calls *calls, struct request *request)
{
    (void)calls;
    start(request);
    add(request, "SUBSCRIBE");
    add(request, "channel-0");
    add(request, "channel-1");
}

static void make_unsubscribe(struct calls *calls, struct request *request)
{
    make_subscribe(calls, request);
    request->argv[0] = (struct sim_arg){"UNSUBSCRIBE", 11};
}

static bool run(struct pair *pair, make_fn *make, make_fn *listen,
                int64_t calls)
{
    struct outcome outcomes[BATCH] = {0};
    bool same = true;
    for (int64_t end = pair->n + calls; same && pair->n < end;) {
        step_clock(pair);
        change_memory(pair);
        same = run_batch(pair, make, outcomes, 1 + below(&pair->calls, BATCH));
        if (same && listen != NULL && chance(&pair->calls, 30)) {
            same = run_listening(pair, listen);
        }
    }
    for (int i = 0; i < BATCH; i++) {
        sim_text_fini(&outcomes[i].told);
        sim_text_fini(&outcomes[i].reply);
        sim_text_fini(&outcomes[i].state);
    }
    return same;
}

/* ---- What only the simulation can do ------------------------------------- */

static void feed(struct sim_session *session, const char *text)
{
    const char *data;
    sim_redis_feed(session, text, strlen(text));
    sim_session_take(session, &data);
}

static bool is_dump(const struct sim_redis *redis, const char *expected)
{
    char *text = NULL;
    size_t len;
    FILE *dump = open_memstream(&text, &len);
    sim_redis_dump(redis, dump);
    fclose(dump);
    bool same = strcmp(text, expected) == 0;
    free(text);
    return same;
}

static void test_looks(struct sim_redis *redis, struct sim_session *session)
{
    size_t len;
    feed(session, "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nPX\r\n"
                  "$1\r\n9\r\n");
    feed(session, "*4\r\n$4\r\nHSET\r\n$1\r\nh\r\n$1\r\nf\r\n$1\r\nv\r\n");
    ok(is_dump(redis, "\"a\" string 9 \"1\"\n\"h\" hash -1 \"f\" \"v\"\n") &&
           sim_redis_count(redis) == 2,
       "all that is kept, as text");
    const char *text = sim_redis_get(redis, "a", 1, &len);
    ok(text != NULL && len == 1 && text[0] == '1' &&
           sim_redis_get(redis, "h", 1, &len) == NULL &&
           sim_redis_get(redis, "b", 1, &len) == NULL,
       "the text of a string, and of nothing else");
    sim_redis_set_clock(redis, EPOCH_US + 9000);
    bool is_there = sim_redis_count(redis) == 2;
    sim_redis_set_clock(redis, EPOCH_US + 10000);
    ok(is_there && sim_redis_count(redis) == 1 &&
           sim_redis_get(redis, "a", 1, &len) == NULL &&
           is_dump(redis, "\"h\" hash -1 \"f\" \"v\"\n"),
       "what has expired is not seen, though it was not looked for");
}

static void test_images(struct sim_redis *redis, struct sim_session *session,
                        struct sim_redis *other)
{
    struct sim_image *image = sim_redis_save(redis);
    sim_redis_set_clock(other, EPOCH_US + 10000);
    feed(session, "*2\r\n$3\r\nDEL\r\n$1\r\nh\r\n");
    sim_redis_load(other, image);
    bool is_copy = sim_redis_count(redis) == 0 && sim_redis_count(other) == 1;
    sim_redis_load(redis, image);
    sim_image_free(image);
    ok(is_copy && is_dump(redis, "\"h\" hash -1 \"f\" \"v\"\n") &&
           is_dump(other, "\"h\" hash -1 \"f\" \"v\"\n"),
       "an image is a copy, for any server");
    ok(sim_redis_evict(redis, 7) && sim_redis_count(redis) == 0 &&
           !sim_redis_evict(redis, 7) && sim_redis_count(other) == 1,
       "eviction takes one key, as long as there is one");
    sim_redis_load(other, NULL);
    ok(sim_redis_count(other) == 0, "no image: it forgot");
}

static void test_alone(void)
{
    struct sim_lua *lua = sim_lua_new();
    struct sim_redis *redis = sim_redis_new(lua, NULL);
    struct sim_redis *other = sim_redis_new(lua, NULL);
    struct sim_session *session = sim_redis_connect(redis, NULL);
    sim_redis_set_clock(redis, EPOCH_US);
    test_looks(redis, session);
    test_images(redis, session, other);
    feed(session, "PING\r\n");
    ok(sim_session_is_over(session), "who speaks no RESP is not heard");
    sim_redis_free(redis);
    sim_redis_free(other);
    sim_lua_free(lua);
}

static void run_both(uint64_t seed, int64_t calls)
{
    struct pair pair;
    pair_open(&pair, seed);
    struct hf_instant began = hf_clock_now();
    bool same = run_listening(&pair, make_subscribe) &&
                run(&pair, make_call, NULL, calls - calls / 4) &&
                run_listening(&pair, make_unsubscribe);
    ok(same, "the scripts: same replies, pushes and state (seed %" PRIu64 ")",
       seed);
    if (same) {
        told(&pair.server, "FLUSHALL");
        sim_redis_flush(pair.redis);
        same = run(&pair, make_command, make_listening, calls / 4);
        ok(same, "single commands: the same (seed %" PRIu64 ")", seed);
    }
    int64_t ms = hf_span_ms_floor(hf_instant_until(began, hf_clock_now()));
    printf("# %" PRId64 " requests in %" PRId64 " ms\n", pair.n, ms);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    uint64_t seed;
    hf_entropy(&seed, sizeof(seed));
    test_alone();
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed % 1000000;
    run_both(seed, argc > 2 ? strtoll(argv[2], NULL, 10) : CALLS);
    return tap_done();
}
