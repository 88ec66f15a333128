/* SPDX-License-Identifier: Apache-2.0 */
/* Faults between a client and a server: missing rights, states of the server,
 * connections that close at bad moments, servers that hang or are not Redis. */
#include "redis_world.h"

#define until_status(rig, node, wanted)                                        \
    (__extension__({                                                           \
        rig_until((rig), (rig)->status[node] == (wanted), PATIENCE_MS);        \
        (rig)->status[node] == (wanted);                                       \
    }))

/* With this rig, a server is unreachable after a second without a reply. */
static void rig_open_hasty(struct rig *rig, struct server *server)
{
    rig_init(rig, 1, server);
    rig_hasty(rig);
    rig_begin(rig);
}

/* ---- Rights ------------------------------------------------------------ */

static void rig_as(struct rig *rig, struct server *server, const char *user,
                   const char *password)
{
    rig_init(rig, 1, server);
    rig->url.endpoints[0].user = (char *)(uintptr_t)user;
    rig->url.endpoints[0].password = (char *)(uintptr_t)password;
    rig_start(rig, NULL);
}

static void test_password(struct server *server)
{
    struct rig rig;
    told(server, "CONFIG SET requirepass secret");
    rig_as(&rig, server, NULL, NULL);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_DENIED && strstr(rig.reason[0], "NOAUTH") != NULL,
       "no password: %s", rig.reason[0]);
    struct said said = acquire(&rig, "a", "o", 0);
    ok(said.verdict == HF_VERDICT_UNSENT && said.fault == HF_DENIED,
       "asks are refused so");
    rig_close(&rig);
    rig_as(&rig, server, NULL, "wrong");
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_DENIED &&
           strstr(rig.reason[0], "WRONGPASS") != NULL,
       "a wrong one: %s", rig.reason[0]);
    rig_close(&rig);
    rig_as(&rig, server, NULL, "secret");
    ok(rig_votes(&rig, 0), "the right one");
    rig_close(&rig);
    rig_as(&rig, server, "default", "secret");
    ok(rig_votes(&rig, 0), "with its user");
    rig_close(&rig);
    told(server, "AUTH secret");
    told(server, "CONFIG SET requirepass %s", "");
    rig_as(&rig, server, NULL, "secret");
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) && rig.fault[0] == HF_DENIED,
       "a password where the server wants none: %s", rig.reason[0]);
    rig_close(&rig);
}

static void test_acl(struct server *server)
{
    struct rig rig;
    told(server, "ACL SETUSER lock on >pw resetkeys ~lock:* -@all +auth +info "
                 "+time +hgetall +eval +evalsha +get +set +del +pttl +pexpire "
                 "+hget +hset +exists");
    rig_as(&rig, server, "lock", "pw");
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_DENIED && strstr(rig.reason[0], "hf:*") != NULL,
       "keys not permitted: %s", rig.reason[0]);
    rig_close(&rig);
    told(server, "ACL SETUSER lock ~hf:*");
    rig_as(&rig, server, "lock", "pw");
    ok(rig_votes(&rig, 0), "the rights that are needed, and no more");
    uint64_t t = acquire(&rig, "a", "o", 0).counter;
    ok(t > 0 && release(&rig, "a", "o", t).verdict == HF_VERDICT_OK,
       "suffice to take and give back");
    told(server, "ACL SETUSER lock resetkeys ~hf:node");
    struct said said = acquire(&rig, "a", "o", 0);
    ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_DENIED,
       "a right taken away, of a key: %s", said.reason);
    told(server, "ACL SETUSER lock ~hf:* ~lock:* -set");
    said = acquire(&rig, "a", "o", 0);
    ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_DENIED,
       "of a command inside a script: %s", said.reason);
    told(server, "ACL SETUSER lock -info +set");
    rig_close(&rig);
    rig_as(&rig, server, "lock", "pw");
    ok(rig_votes(&rig, 0), "no right to ask INFO, quarantine=off: goes on");
    rig_close(&rig);
    rig_init(&rig, 1, server);
    rig.url.quarantine = true;
    rig.url.endpoints[0].user = (char *)(uintptr_t) "lock";
    rig.url.endpoints[0].password = (char *)(uintptr_t) "pw";
    rig_start(&rig, NULL);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_DENIED && strstr(rig.reason[0], "+info") != NULL,
       "strict: %s", rig.reason[0]);
    rig_close(&rig);
}

static void test_database(struct server *server)
{
    struct rig rig;
    rig_init(&rig, 1, server);
    rig.url.endpoints[0].db = 3;
    rig_start(&rig, NULL);
    rig_votes(&rig, 0);
    acquire(&rig, "in-three", "o", 0);
    told(server, "SELECT 3");
    ok(strcmp(told(server, "GET lock:in-three"), "o") == 0, "a database");
    told(server, "SELECT 0");
    rig_close(&rig);
    rig_init(&rig, 1, server);
    rig.url.endpoints[0].db = 99;
    rig_start(&rig, NULL);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN), "one that is not there: %s",
       rig.reason[0]);
    rig_close(&rig);
}

/* ---- States ------------------------------------------------------------ */

static void test_full(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    uint64_t t = acquire(&rig, "held", "o", 0).counter;
    told(server, "CONFIG SET maxmemory 1");
    struct said said = acquire(&rig, "new", "o", 0);
    ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_UNAVAILABLE &&
           strstr(said.reason, "OOM") != NULL,
       "a full server grants nothing: %s", said.reason);
    said = confirm(&rig, "held", "o", t, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t, "but extends");
    said = release(&rig, "held", "o", t);
    ok(said.verdict == HF_VERDICT_OK &&
           strcmp(told(server, "EXISTS lock:held"), "0") == 0,
       "and frees");
    told(server, "CONFIG SET maxmemory 0");
    rig_close(&rig);
}

static void test_loading(void)
{
    struct server server;
    struct rig rig;
    server_start(&server, NULL);
    rig_open(&rig, &server);
    for (int i = 0; i < 2000; i++) {
        told(&server, "SET key:%d x", i);
    }
    told(&server, "SAVE");
    server_kill(&server);
    rig_until(&rig, rig.status[0] == HF_NODE_STATUS_DOWN, PATIENCE_MS);
    server_run(&server, "--key-load-delay", "5000",
               "--loading-process-events-interval-bytes", "1024", NULL);
    rig_until(&rig, strstr(rig.reason[0], "LOADING") != NULL, PATIENCE_MS);
    ok(rig.status[0] != HF_NODE_STATUS_VOTING &&
           strstr(rig.reason[0], "LOADING") != NULL,
       "while it loads: %s", rig.reason[0]);
    told(&server, "CONFIG SET key-load-delay 0"); /* otherwise it would take 10
                                                     s */
    ok(rig_votes(&rig, 0), "afterwards");
    rig_close(&rig);
    server_remove(&server);
}

static void test_script_flush(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    told(server, "SCRIPT FLUSH");
    ok(acquire(&rig, "s", "o", 0).verdict == HF_VERDICT_OK,
       "SCRIPT FLUSH goes unnoticed");
    told(server, "SCRIPT FLUSH");
    ok(release(&rig, "s", "o", 0).verdict == HF_VERDICT_OK, "by a release");

    told(server, "SCRIPT FLUSH");
    rig.n_said = 0;
    uint64_t taking = rig_send(&rig, ask_of(HF_VERB_ACQUIRE, "s", "p"));
    uint64_t giving = rig_send(&rig, ask_of(HF_VERB_RELEASE, "s", "p"));
    rig_flush(&rig);
    struct said took = rig_await(&rig, taking);
    struct said gave = rig_await(&rig, giving);
    ok(took.verdict == HF_VERDICT_ERROR && gave.verdict == HF_VERDICT_REFUSED &&
           strcmp(told(server, "EXISTS lock:s"), "0") == 0,
       "an acquire never overtakes its release");

    told(server, "SCRIPT FLUSH");
    rig.n_said = 0;
    for (unsigned i = 0; i < 100; i++) {
        char name[24];
        snprintf(name, sizeof(name), "many-%u", i);
        rig_send(&rig, ask_of(HF_VERB_ACQUIRE, name, "p"));
    }
    rig_flush(&rig);
    rig_until(&rig, rig.n_said == 100, PATIENCE_MS);
    unsigned granted = 0;
    for (unsigned i = 0; i < rig.n_said; i++) {
        granted += rig.said[i].verdict == HF_VERDICT_OK ? 1 : 0;
    }
    ok(rig.n_said == 100 && granted == 100,
       "a hundred in flight are all granted: %u", granted);
    told(server, "FLUSHALL");
    rig_close(&rig);
}

/* ---- Connections ------------------------------------------------------- */

static void test_cut_idle(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    unsigned n_resets = rig.n_resets[0];
    told(server, "CLIENT KILL TYPE normal SKIPME yes");
    ok(until_status(&rig, 0, HF_NODE_STATUS_CONNECTING) && rig_votes(&rig, 0),
       "a connection that was cut is made anew at once");
    ok(rig.n_resets[0] == n_resets, "and no data is lost");
    ok(acquire(&rig, "c", "o", 0).verdict == HF_VERDICT_OK, "and it serves");
    told(server, "CLIENT KILL TYPE normal SKIPME yes");
    /* The loop does not run in between: the next request notices the closed
     * connection. */
    struct hf_instant later = hf_instant_add(hf_clock_now(), hf_span_ms(1500));
    struct hf_ask ask = ask_of(HF_VERB_INSPECT, "c", NULL);
    ask.cookie = ++rig.cookie;
    rig.n_said = 0;
    for (int i = 0; i < 1000 && rig.n_said == 0; i++) {
        usleep(1000);
        if (told_number(server, "CLIENT", "LIST") >= 0 && i > 10) {
            hf_store_redis.ask(rig.store, &ask, later);
        }
    }
    struct said said = rig_find(&rig, ask.cookie);
    ok(said.came && said.verdict == HF_VERDICT_UNSENT,
       "cut while idle: certainly unsent: %s", said.reason);
    ok(rig_votes(&rig, 0), "and connected again");
    rig_close(&rig);
}

/* Closed repeatedly, the connection must not lead to a busy loop. */
static void test_cut_often(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    long long before = 0;
    sscanf(strstr(told(server, "INFO stats"), "total_connections_received:"),
           "total_connections_received:%lld", &before);
    struct hf_instant began = hf_clock_now();
    int64_t took_ms = 0;
    while (took_ms < 1000) {
        told(server, "CLIENT KILL TYPE normal SKIPME yes");
        rig_turn(&rig, 1);
        took_ms = hf_span_ms_floor(hf_instant_until(began, hf_clock_now()));
    }
    long long after = 0;
    sscanf(strstr(told(server, "INFO stats"), "total_connections_received:"),
           "total_connections_received:%lld", &after);
    ok(after - before >= 1 && after - before < took_ms / 33,
       "a connection that is cut at once each time: %lld tries in %lld ms",
       after - before, (long long)took_ms);
    ok(rig_votes(&rig, 0), "and left alone it serves");
    rig_close(&rig);
}

static void test_reply_lost(struct server *server)
{
    struct rig rig;
    rig_open_hasty(&rig, server);
    kill(server->pid, SIGSTOP);
    rig.n_said = 0;
    struct hf_instant began = hf_clock_now();
    uint64_t cookie = rig_send(&rig, ask_of(HF_VERB_ACQUIRE, "l", "o"));
    rig_flush(&rig);
    struct said said = rig_await(&rig, cookie);
    int64_t took_ms = hf_span_ms_floor(hf_instant_until(began, hf_clock_now()));
    ok(said.verdict == HF_VERDICT_UNKNOWN && took_ms >= 990,
       "no answer: unknown, but not within a second: %s", said.reason);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           strstr(rig.reason[0], "did not answer") != NULL,
       "and the node is down: %s", rig.reason[0]);
    said = acquire(&rig, "l", "o", 0);
    ok(said.verdict == HF_VERDICT_UNSENT, "more is not sent: %s", said.reason);
    kill(server->pid, SIGCONT);
    ok(rig_votes(&rig, 0), "back, it votes again");
    said = inspect(&rig, "l");
    ok(strcmp(said.owner, "o") == 0, "the unknown request had been granted");
    struct said again = acquire(&rig, "l", "o", 0);
    ok(again.verdict == HF_VERDICT_OK && again.counter == said.counter,
       "and is granted once more to the same owner");
    release(&rig, "l", "o", again.counter);
    rig_close(&rig);
}

static void test_killed(void)
{
    struct server server;
    struct rig rig;
    server_start(&server, NULL);
    rig_open(&rig, &server);
    kill(server.pid, SIGSTOP);
    rig.n_said = 0;
    uint64_t sent = rig_send(&rig, ask_of(HF_VERB_ACQUIRE, "k", "o"));
    rig_flush(&rig);
    uint64_t queued = rig_send(&rig, ask_of(HF_VERB_ACQUIRE, "k2", "o"));
    server_kill(&server);
    struct said lost = rig_await(&rig, sent);
    struct said unsent = rig_await(&rig, queued);
    ok(lost.verdict == HF_VERDICT_UNKNOWN, "killed with a request: unknown");
    ok(unsent.verdict == HF_VERDICT_UNSENT,
       "a request that was not written: unsent");
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN), "and it is down: %s",
       rig.reason[0]);
    server_run(&server, NULL);
    ok(rig_votes(&rig, 0), "started again, it is found");
    rig_close(&rig);
    server_remove(&server);
}

static void test_bounded(struct server *server)
{
    struct rig rig;
    rig_open_hasty(&rig, server);
    kill(server->pid, SIGSTOP);
    rig.n_said = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < 100000; i++) {
        rig_send(&rig, ask_of(HF_VERB_RELEASE, "some-name", "some-owner"));
        most += rig.n_said == 0 ? 1 : 0;
    }
    rig_flush(&rig);
    ok(rig.n_said > 0 && most < 70000,
       "requests to a hung server are bounded: %u", most);
    rig_until(&rig, rig.n_said == 100000, PATIENCE_MS);
    ok(rig.n_said == 100000, "each is answered, once");
    kill(server->pid, SIGCONT);
    ok(rig_votes(&rig, 0), "and it serves again");
    rig_close(&rig);
}

static void test_close(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    acquire(&rig, "z", "o", 0);
    rig_send(&rig, ask_of(HF_VERB_RELEASE, "z", "o"));
    rig_close(&rig);
    bool is_gone = false;
    for (int i = 0; i < PATIENCE_MS && !is_gone; i++) {
        usleep(1000);
        is_gone = told_number(server, "EXISTS", "lock:z") == 0;
    }
    ok(is_gone, "queued requests are written at close");

    rig_open(&rig, server);
    acquire(&rig, "z", "o", 0);
    rig_send(&rig, ask_of(HF_VERB_RELEASE, "z", "o"));
    pid_t child = fork();
    if (child == 0) {
        hf_store_redis.close(rig.store, true);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    ok(status == 0 && told_number(server, "EXISTS", "lock:z") == 1,
       "a forked child says nothing");
    rig_flush(&rig);
    rig_until(&rig, rig.n_said == 2, PATIENCE_MS);
    ok(rig.said[1].verdict == HF_VERDICT_OK, "and leaves its parent alone");
    rig_close(&rig);
}

/* ---- Servers that are none ----------------------------------------------- */

/* A listening socket that never replies, or replies `text`. */
static int listen_tcp(uint16_t *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    if (bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 5) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0) {
        exit(1);
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static void rig_to(struct rig *rig, const char *host, uint16_t port)
{
    struct server nowhere = {.pid = 0};
    rig_init(rig, 1, &nowhere);
    rig->url.endpoints[0].is_unix = false;
    rig->url.endpoints[0].host = (char *)(uintptr_t)host;
    rig->url.endpoints[0].port = port;
    rig_hasty(rig);
    rig_start(rig, NULL);
}

static void test_none(void)
{
    struct rig rig;
    uint16_t port;
    int fd = listen_tcp(&port);
    struct hf_instant began = hf_clock_now();
    rig_to(&rig, "127.0.0.1", port);
    until_status(&rig, 0, HF_NODE_STATUS_DOWN);
    int64_t took_ms = hf_span_ms_floor(hf_instant_until(began, hf_clock_now()));
    ok(took_ms >= 990 && rig.fault[0] == HF_UNAVAILABLE,
       "a black hole, not before connect_timeout: %s", rig.reason[0]);
    rig_close(&rig);

    rig_to(&rig, "127.0.0.1", port);
    pid_t child = fork();
    if (child == 0) {
        static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
        for (;;) {
            int client = accept(fd, NULL, NULL);
            if (write(client, text, sizeof(text) - 1) < 0) {
                _exit(1);
            }
            close(client);
        }
    }
    rig_until(&rig, strstr(rig.reason[0], "protocol") != NULL, PATIENCE_MS);
    ok(rig.status[0] == HF_NODE_STATUS_DOWN &&
           strstr(rig.reason[0], "protocol") != NULL,
       "a web server: %s", rig.reason[0]);
    rig_close(&rig);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(fd);

    rig_to(&rig, "localhost", port);
    until_status(&rig, 0, HF_NODE_STATUS_DOWN);
    ok(strstr(rig.reason[0], "refused") != NULL,
       "a closed port, without waiting for connect_timeout: %s", rig.reason[0]);
    rig_close(&rig);
    rig_to(&rig, "no-such-host.invalid", port);
    until_status(&rig, 0, HF_NODE_STATUS_DOWN);
    ok(rig.status[0] == HF_NODE_STATUS_DOWN, "a name that is none: %s",
       rig.reason[0]);
    rig_close(&rig);
    struct server nowhere = {.path = "/nonexistent/socket"};
    rig_init(&rig, 1, &nowhere);
    rig_start(&rig, NULL);
    until_status(&rig, 0, HF_NODE_STATUS_DOWN);
    ok(strstr(rig.reason[0], "No such file") != NULL, "no such socket: %s",
       rig.reason[0]);
    rig_close(&rig);
}

static void test_tcp(void)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "::1"};
    struct server server;
    uint16_t port = free_port();
    char text[8];
    snprintf(text, sizeof(text), "%u", (unsigned)port);
    server_start(&server, "--port", text, "--bind", "127.0.0.1", "-::1", NULL);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        struct rig rig;
        rig_to(&rig, hosts[i], port);
        bool is_there = rig_votes(&rig, 0);
        ok((is_there &&
            acquire(&rig, hosts[i], "o", 0).verdict == HF_VERDICT_OK) ||
               strstr(rig.reason[0], "Cannot assign") != NULL ||
               strstr(rig.reason[0], "refused") != NULL,
           "over TCP, %s%s%s", hosts[i], is_there ? "" : ": ", rig.reason[0]);
        rig_close(&rig);
    }
    server_remove(&server);

    struct rig rig;
    server_start(&server, "--port", text, "--bind", "::1", NULL);
    rig_to(&rig, "::1", port);
    bool has_ipv6 = rig_votes(&rig, 0);
    rig_close(&rig);
    rig_to(&rig, "localhost", port);
    ok(rig_votes(&rig, 0) || !has_ipv6, "all addresses of a name are tried: %s",
       rig.reason[0]);
    rig_close(&rig);
    server_remove(&server);
}

int main(void)
{
    struct server server;
    signal(SIGPIPE, SIG_DFL); /* SIGPIPE must never be raised */
    server_start(&server, NULL);
    test_password(&server);
    test_acl(&server);
    test_database(&server);
    test_full(&server);
    test_loading();
    test_script_flush(&server);
    test_cut_idle(&server);
    test_cut_often(&server);
    test_reply_lost(&server);
    test_killed();
    test_bounded(&server);
    test_close(&server);
    test_none();
    test_tcp();
    server_remove(&server);
    return tap_done();
}
