/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_sim_redis */
/* timeout: 300 */
/* Compares the simulated server with a real Redis. Both get the same random
 * requests; the real server's clock stands still except for steps that both
 * make. Each reply, each push and, after each request, all keys must be the
 * same.
 *
 *     sim_redis [SEED [CALLS]]
 *
 * Needs redis-server 7.0, and the clock shim from the build. */
#include "sim_pair.h"

#ifdef HF_SANITIZED
#define CALLS 20000 /* each takes several times as long */
#else
#define CALLS 100000 /* requests: some ten seconds */
#endif
#define BATCH 16 /* requests in one write: clients pipeline several */

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
    if (chance(&pair->calls, 2)) { /* a restart that keeps all data */
        struct sim_image *image = sim_redis_save(pair->redis);
        sim_redis_flush(pair->redis);
        sim_redis_load(pair->redis, image);
        sim_image_free(image);
        told(&pair->server, "SCRIPT FLUSH");
    }
}

typedef void make_fn(struct calls *calls, struct request *request);

/* Several requests at one instant, in one write. */
static bool run_batch(struct pair *pair, make_fn *make,
                      struct outcome outcomes[BATCH], int64_t n)
{
    redisContext *control = pair->server.control;
    int is_written;
    for (int64_t i = 0; i < n; i++) {
        make(&pair->calls, &pair->request);
        send_real(control, &pair->request);
        redisAppendCommand(control, "FCALL dump 0");
        redisBufferWrite(control, &is_written); /* both run at the same time */
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

/* A request on the subscribed connection. */
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

/* Channels of two waiters; no connection subscribes to that of a third. */
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

/* Whether the user may publish and subscribe. A real server closes connections
 * that have subscribed and no longer may. */
static bool change_rights(struct pair *pair, bool subscribes)
{
    if (!chance(&pair->calls, pair->is_mute ? 20 : 1)) {
        return true;
    }
    pair->is_mute = !pair->is_mute;
    sim_redis_set_mute(pair->redis, pair->is_mute);
    if (!pair->is_mute) {
        told(&pair->server, "ACL SETUSER default allchannels");
        return !subscribes || run_listening(pair, make_subscribe);
    }
    told(&pair->server, "ACL SETUSER default resetchannels");
    sim_redis_disconnect(pair->listening);
    pair->listening = sim_redis_connect(pair->redis, NULL);
    redisFree(pair->listener);
    listen_real(pair);
    return true;
}

static bool run(struct pair *pair, make_fn *make, make_fn *listen,
                int64_t calls)
{
    struct outcome outcomes[BATCH] = {0};
    bool same = true;
    for (int64_t end = pair->n + calls; same && pair->n < end;) {
        step_clock(pair);
        change_memory(pair);
        same = change_rights(pair, listen == NULL) &&
               run_batch(pair, make, outcomes, 1 + below(&pair->calls, BATCH));
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

/* ---- The simulation alone ------------------------------------------------ */

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
       "an expired key is not seen, though no command read it");
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
    ok(sim_redis_count(other) == 0, "no image: its data is lost");
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
    ok(sim_session_is_over(session), "a connection without RESP is closed");
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
