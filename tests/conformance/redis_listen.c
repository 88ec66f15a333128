/* SPDX-License-Identifier: Apache-2.0 */
/* The connection for pushed grants, on a real server: when it is open, the
 * messages it delivers, and how it closes.
 *
 * timeout: 120 */
#include "redis_world.h"

#include "store/redis/node.h"

#include <fcntl.h>

/* ---- A client that has ears --------------------------------------------- */

struct ears {
    struct rig rig; /* first: its callbacks get the same pointer */
    bool is_listening;
    unsigned n_begun;
    unsigned n_ended;
    unsigned n_pushed;
    unsigned n_ignored;
    unsigned n_warned;
    uint64_t cookie;
    uint64_t counter;
    char warning[480];
};

static void on_push(void *client, unsigned node, uint64_t cookie,
                    uint64_t counter)
{
    struct ears *ears = client;
    (void)node;
    ears->n_pushed++;
    ears->cookie = cookie;
    ears->counter = counter;
}

static void on_listen(void *client, unsigned node, bool is_listening)
{
    struct ears *ears = client;
    (void)node;
    ears->is_listening = is_listening;
    ears->n_begun += is_listening ? 1 : 0;
    ears->n_ended += is_listening ? 0 : 1;
}

static void on_log(void *client, enum hf_log_level level, const char *text)
{
    struct ears *ears = client;
    ears->n_ignored += strstr(text, "no grant") != NULL ? 1 : 0;
    if (level == HF_LOG_WARN) {
        ears->n_warned++;
        snprintf(ears->warning, sizeof(ears->warning), "%s", text);
    }
}

static struct hf_redis *redis_of(const struct ears *ears)
{
    return (struct hf_redis *)(void *)ears->rig.store;
}

static void ears_start(struct ears *ears)
{
    struct hf_error error;
    ears->rig.loop = hf_loop_new();
    struct hf_store_env env = {
        .client = ears,
        .loop = ears->rig.loop,
        .answer = rig_answer,
        .status = rig_status,
        .push = on_push,
        .listen = on_listen,
        .log = on_log,
    };
    if (hf_store_redis.open(&ears->rig.url, &env, &ears->rig.store, &error) !=
            HF_OK ||
        !rig_votes(&ears->rig, 0)) {
        printf("Bail out! no vote: %s\n", ears->rig.reason[0]);
        exit(1);
    }
}

static void ears_init(struct ears *ears, struct server *server)
{
    memset(ears, 0, sizeof(*ears));
    rig_init(&ears->rig, 1, server);
}

/* The request of a waiter's heartbeat. */
static struct said heartbeat(struct ears *ears)
{
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "busy", "waiter");
    ask.queue_ms = 6000;
    return rig_ask(&ears->rig, ask);
}

#define ears_until(ears, condition)                                            \
    (__extension__({                                                           \
        rig_until(&(ears)->rig, condition, PATIENCE_MS);                       \
        (condition);                                                           \
    }))

/* Another client holds "busy"; this one waits, and subscribes to pushes. */
static bool ears_wait(struct ears *ears, struct server *server)
{
    told(server, "SET lock:busy stranger PX 600000");
    heartbeat(ears);
    return ears_until(ears, ears->is_listening);
}

static void ears_close(struct ears *ears)
{
    rig_close(&ears->rig);
}

/* ---- The server's view --------------------------------------------------- */

/* Ids of the connections of a type, in the order in which they opened. */
static unsigned connections(struct server *server, const char *type, long *ids,
                            unsigned most)
{
    char list[8192];
    snprintf(list, sizeof(list), "%s",
             told(server, "CLIENT LIST TYPE %s", type));
    unsigned n = 0;
    for (const char *at = list; (at = strstr(at, "id=")) != NULL && n < most;
         at += 3) {
        if (at == list || at[-1] == '\n') {
            ids[n++] = strtol(at + 3, NULL, 10);
        }
    }
    return n;
}

static unsigned n_listeners(struct server *server)
{
    long ids[8];
    return connections(server, "pubsub", ids, 8);
}

static void kill_listener(struct server *server)
{
    told(server, "CLIENT KILL TYPE pubsub");
}

/* All connections except the listener and the tests' own. */
static void kill_main(struct server *server)
{
    told(server, "CLIENT KILL TYPE normal SKIPME yes");
}

static long n_connected(struct server *server)
{
    const char *at =
        strstr(told(server, "INFO stats"), "total_connections_received:");
    return at == NULL ? -1 : strtol(strchr(at, ':') + 1, NULL, 10);
}

static const char *publish(struct ears *ears, struct server *server,
                           const char *text, size_t len)
{
    return told(server, "PUBLISH %s %b", redis_of(ears)->channel, text, len);
}

/* ---- Tests --------------------------------------------------------------- */

static void test_push(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    acquire(&ears.rig, "free", "o", 0);
    ok(ears.n_begun == 0 && n_listeners(server) == 0,
       "without waiting there is no second connection");
    told(server, "SET lock:busy stranger PX 600000");
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "busy", "waiter");
    ask.queue_ms = 6000;
    rig_send(&ears.rig, ask);
    ok(ears.n_begun == 0 && ears.n_ended == 0,
       "asking to wait calls no callback");
    rig_flush(&ears.rig);
    ok(ears_until(&ears, ears.is_listening) && n_listeners(server) == 1,
       "but soon grants reach us");

    publish(&ears, server, "18446744073709551615 9007199254740991", 37);
    ok(ears_until(&ears, ears.n_pushed == 1) && ears.cookie == UINT64_MAX &&
           ears.counter == HF_FENCE_MAX,
       "a push, to the last digit of both numbers");
    publish(&ears, server, "1 2", 3);
    publish(&ears, server, "3 4", 3);
    ok(ears_until(&ears, ears.n_pushed == 3) && ears.cookie == 3 &&
           ears.counter == 4,
       "two at once");
    for (unsigned i = 0; i < 50; i++) {
        heartbeat(&ears);
    }
    ok(ears.n_begun == 1 && n_listeners(server) == 1,
       "one connection, however often the client asks");
    ears_close(&ears);
    ok(ears.n_ended == 0, "closing says nothing to the client");
    rig_init(&ears.rig, 1, server);
    rig_start(&ears.rig, NULL);
    rig_until(&ears.rig, n_listeners(server) == 0, PATIENCE_MS);
    ok(n_listeners(server) == 0, "but ends the connection");
    rig_close(&ears.rig);
}

static void test_garbage(struct server *server)
{
    static const struct {
        const char *text;
        size_t len;
    } garbage[] = {
        {"", 0},
        {" ", 1},
        {"1", 1},
        {"1 ", 2},
        {" 1", 2},
        {"1 0", 3},
        {"1  2", 4},
        {"-1 2", 4},
        {"1 -2", 4},
        {"+1 2", 4},
        {"1 2 ", 4},
        {"1 2\n", 4},
        {"1 2\0", 4},
        {"1\0 2", 4},
        {"0x1 2", 5},
        {"1 2e3", 5},
        {"one two", 7},
        {"1 9007199254740992", 18},
        {"1 18446744073709551617", 22},
        {"18446744073709551616 2", 22},
    };
    unsigned n = sizeof(garbage) / sizeof(garbage[0]);
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    ears_wait(&ears, server);
    for (unsigned i = 0; i < n; i++) {
        publish(&ears, server, garbage[i].text, garbage[i].len);
    }
    publish(&ears, server, "7 8", 3);
    ok(ears_until(&ears, ears.n_pushed > 0) && ears.n_pushed == 1 &&
           ears.cookie == 7 && ears.counter == 8,
       "only a grant is taken for one");
    ok(ears.n_ignored == n && ears.n_ended == 0,
       "each is noted, and the connection stays (%u of %u)", ears.n_ignored, n);
    ears_close(&ears);
}

static void test_lost(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    ears_wait(&ears, server);
    struct hf_instant begin = hf_clock_now();
    kill_listener(server);
    ok(ears_until(&ears, ears.n_ended == 1), "cut: the client is told");
    ok(ears_until(&ears, ears.n_begun == 2) && ears.is_listening,
       "and grants reach it again after %lld ms",
       (long long)hf_span_ms_floor(hf_instant_until(begin, hf_clock_now())));
    ok(ears.rig.status[0] == HF_NODE_STATUS_VOTING,
       "the node's own connection is as it was");
    kill_listener(server);
    ok(ears_until(&ears, ears.n_begun == 3) &&
           redis_of(&ears)->nodes[0].listener.connection.reconnect.failures > 0,
       "cut again at once: again, but after a while");
    publish(&ears, server, "5 6", 3);
    ok(ears_until(&ears, ears.n_pushed == 1), "and it hears");
    ears_close(&ears);
}

static void test_main_lost(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    redis_of(&ears)->listen_pace.idle = hf_span_ms(600000);
    ears_wait(&ears, server);
    long before[8];
    long after[8];
    connections(server, "pubsub", before, 8);
    kill_main(server);
    ok(ears_until(&ears, ears.n_ended == 1),
       "the node's connection is cut: pushes may be of another server");
    ok(ears_until(&ears, ears.n_begun == 2),
       "known again, it pushes again, without another request");
    ok(connections(server, "pubsub", after, 8) == 1 && after[0] != before[0],
       "on a new connection");
    ears_close(&ears);
}

static void test_other_server(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    char *met = redis_of(&ears)->nodes[0].admission.known.run_id;
    met[0] = met[0] == 'a' ? 'b' : 'a';
    told(server, "SET lock:busy stranger PX 600000");
    long before = n_connected(server);
    heartbeat(&ears);
    ok(ears_until(&ears, n_connected(server) > before + 1) && ears.n_begun == 0,
       "another server at the same address: the node is identified anew: %s",
       redis_of(&ears)->nodes[0].listener.connection.reason);
    ok(ears_until(&ears, ears.is_listening), "the same one is listened to");
    ok(n_connected(server) == before + 3, "after one more connection");
    ears_close(&ears);
}

static void test_silent(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears.rig.url.connect_timeout_ms = 2000; /* for its PONG, too */
    ears_start(&ears);
    redis_of(&ears)->listen_pace.ping = hf_span_ms(300);
    ears_wait(&ears, server);
    const struct hf_redis_wire *wire =
        &redis_of(&ears)->nodes[0].listener.connection.wire;
    ok(ears_until(&ears, hf_redis_wire_oldest(wire) != NULL) &&
           ears_until(&ears, hf_redis_wire_oldest(wire) == NULL) &&
           ears.n_ended == 0,
       "silent, it is asked whether it is there, and it is");
    struct hf_instant begin = hf_clock_now();
    kill(server->pid, SIGSTOP);
    bool ended = ears_until(&ears, ears.n_ended == 1);
    long long took =
        (long long)hf_span_ms_floor(hf_instant_until(begin, hf_clock_now()));
    ok(ended && took >= 1900, "a server that hangs is noticed (%lld ms)", took);
    kill(server->pid, SIGCONT);
    heartbeat(&ears);
    ok(ears_until(&ears, ears.is_listening), "and is back when it goes on");
    ears_close(&ears);
}

/* Ask to wait every 100 ms, for longer than a listener may be idle.
 * @return the longest time in which the test did not ask. */
static struct hf_span keep_asking(struct ears *ears, struct hf_instant *last)
{
    struct hf_span longest = hf_span_ms(0);
    *last = hf_clock_now();
    for (unsigned i = 0; i < 35; i++) {
        struct hf_instant next = hf_instant_add(*last, hf_span_ms(100));
        rig_until(&ears->rig, !hf_instant_before(hf_clock_now(), next), 1000);
        heartbeat(ears);
        struct hf_instant now = hf_clock_now();
        longest = hf_span_max(longest, hf_instant_until(*last, now));
        *last = now;
    }
    return longest;
}

static void test_idle(struct server *server)
{
    struct ears ears;
    struct hf_instant last;
    const struct hf_span idle = hf_span_ms(3000);
    for (;;) { /* once, unless the machine stands still for that long */
        ears_init(&ears, server);
        ears_start(&ears);
        redis_of(&ears)->listen_pace.idle = idle;
        ears_wait(&ears, server);
        if (keep_asking(&ears, &last).ns < idle.ns) {
            break;
        }
        ears_close(&ears);
    }
    ok(ears.n_ended == 0, "it stays as long as an operation waits");
    ok(ears_until(&ears, ears.n_ended == 1) &&
           hf_instant_until(last, hf_clock_now()).ns >= 2900 * 1000000LL,
       "without waiters it is closed after a while");
    rig_until(&ears.rig, n_listeners(server) == 0, PATIENCE_MS);
    ok(n_listeners(server) == 0 && ears.n_begun == 1, "quietly, and for good");
    heartbeat(&ears);
    ok(ears_until(&ears, ears.is_listening), "the next wait brings it back");
    ears_close(&ears);
}

static void test_password(struct server *server)
{
    struct ears ears;
    told(server, "CONFIG SET requirepass secret");
    told(server, "AUTH secret");
    ears_init(&ears, server);
    ears.rig.url.endpoints[0].password = (char *)(uintptr_t) "secret";
    ears_start(&ears);
    ok(ears_wait(&ears, server), "with a password");
    publish(&ears, server, "5 6", 3);
    ok(ears_until(&ears, ears.n_pushed == 1), "it hears");
    told(server, "CONFIG SET requirepass %s", "");
    ears_close(&ears);
}

static void test_refused(struct server *server)
{
    struct ears ears;
    told(server, "ACL SETUSER deaf reset on >pw ~* +@all resetchannels");
    ears_init(&ears, server);
    ears.rig.url.endpoints[0].user = (char *)(uintptr_t) "deaf";
    ears.rig.url.endpoints[0].password = (char *)(uintptr_t) "pw";
    ears_start(&ears);
    struct hf_redis *store = redis_of(&ears);
    told(server, "SET lock:busy stranger PX 600000");
    long before = n_connected(server);
    heartbeat(&ears);
    ok(ears_until(&ears, ears.n_warned == 1) && ears.n_begun == 0 &&
           strstr(ears.warning, "&hf:push:*") != NULL &&
           strstr(ears.warning, "NOPERM") != NULL,
       "no right to the channel: %s", ears.warning);
    struct hf_instant until = hf_instant_add(hf_clock_now(), hf_span_ms(700));
    while (hf_instant_before(hf_clock_now(), until)) {
        heartbeat(&ears);
    }
    ok(n_connected(server) == before + 1 && ears.n_warned == 1 &&
           ears.n_begun == 0 && ears.n_ended == 0,
       "it is not tried again and again");
    struct hf_instant now = hf_clock_now();
    long long left = (long long)hf_span_ms_floor(hf_instant_until(
        now, store->nodes[0].listener.connection.reconnect.retry_at));
    ok(left > 20000 && left <= 30000, "but in half a minute (%lld ms)", left);
    ok(ears.rig.status[0] == HF_NODE_STATUS_VOTING,
       "the node votes all the same");
    ears_close(&ears);

    ears_init(&ears, server);
    ears.rig.url.endpoints[0].user = (char *)(uintptr_t) "deaf";
    ears.rig.url.endpoints[0].password = (char *)(uintptr_t) "pw";
    ears_start(&ears);
    redis_of(&ears)->listen_pace.refused = hf_span_ms(50);
    before = n_connected(server);
    heartbeat(&ears);
    ok(ears_until(&ears, n_connected(server) >= before + 3) &&
           ears.n_warned == 1,
       "several tries, one warning");
    told(server, "ACL SETUSER deaf &hf:push:*");
    ok(ears_until(&ears, ears.is_listening), "and it finds the right granted");
    ears_close(&ears);

    ears_init(&ears, server);
    ears.rig.url.endpoints[0].user = (char *)(uintptr_t) "deaf";
    ears.rig.url.endpoints[0].password = (char *)(uintptr_t) "pw";
    ears_start(&ears);
    told(server, "ACL SETUSER deaf >other <pw");
    heartbeat(&ears);
    ok(ears_until(&ears, ears.n_warned == 1) &&
           strstr(ears.warning, "WRONGPASS") != NULL &&
           strstr(ears.warning, "needs") == NULL,
       "another password since: no right is asked for: %s", ears.warning);
    ears_close(&ears);
}

static unsigned n_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return n;
}

/* Closed in each phase, and while in transition. */
static void test_descriptors(struct server *server)
{
    struct ears ears;
    unsigned before = n_descriptors();
    for (unsigned turns = 0; turns < 12; turns++) {
        ears_init(&ears, server);
        ears_start(&ears);
        told(server, "SET lock:busy stranger PX 600000");
        heartbeat(&ears);
        for (unsigned i = 0; i < turns; i++) {
            rig_turn(&ears.rig, 5);
            if (i % 3 == 2) {
                kill_listener(server);
            }
            if (i % 4 == 3) {
                kill_main(server);
            }
        }
        ears_close(&ears);
    }
    ok(n_descriptors() == before, "no descriptor is left (%u, %u)", before,
       n_descriptors());
}

static void test_fork(struct server *server)
{
    struct ears ears;
    ears_init(&ears, server);
    ears_start(&ears);
    ears_wait(&ears, server);
    pid_t child = fork();
    if (child == 0) {
        unsigned before = n_descriptors();
        hf_store_redis.close(ears.rig.store, true);
        _exit(n_descriptors() == before - 2 && ears.n_ended == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ok(status == 0, "a forked child closes both connections, in silence");
    publish(&ears, server, "5 6", 3);
    ok(ears_until(&ears, ears.n_pushed == 1) && ears.n_ended == 0,
       "and its parent goes on to hear");
    ears_close(&ears);
}

int main(void)
{
    struct server server;
    setvbuf(stdout, NULL, _IOLBF, 0);
    server_start(&server, NULL);
    test_push(&server);
    test_garbage(&server);
    test_lost(&server);
    test_main_lost(&server);
    test_other_server(&server);
    test_silent(&server);
    test_idle(&server);
    test_password(&server);
    test_refused(&server);
    test_descriptors(&server);
    test_fork(&server);
    server_remove(&server);
    return tap_done();
}
