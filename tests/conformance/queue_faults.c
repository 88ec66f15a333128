/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and faults, on real servers: connections that close at the wrong
 * moment, grants that are lost, servers that restart or come back, queues that
 * differ between servers, keys that another program deletes. */
#include "proxy.h"
#include "redis_world.h"

#include <holdfast/holdfast.h>

#define ACTORS_MAX 8
#define NODES 5

/* How long a place in a queue lasts, and a grant that is not confirmed. A test
 * that took less did not wait for such an expiry. */
#define CLAIM_MS 6000

/* A client without a thread, which turns() runs. */
struct actor {
    struct hf_client *client;
    struct hf_op *op;
    struct hf_lock *lock;
    bool is_done;
    enum hf_status status;
    int turn;
};

static struct actor actors[ACTORS_MAX];
static int n_actors;
static int n_turns;

static int64_t now_ms(void)
{
    return hf_clock_now().ns / 1000000;
}

static struct actor *enter(const char *url)
{
    struct hf_client_options options;
    struct hf_error error;
    struct actor *actor = &actors[n_actors++];
    memset(actor, 0, sizeof(*actor));
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(url, &options, &actor->client, &error) != HF_OK) {
        printf("Bail out! %s: %s\n", url, error.text);
        exit(1);
    }
    return actor;
}

static void leave_all(void)
{
    for (int i = 0; i < n_actors; i++) {
        hf_client_close(actors[i].client);
    }
    n_actors = 0;
    n_turns = 0;
}

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct actor *actor = user;
    (void)error;
    actor->lock = lock;
    actor->status = status;
    actor->is_done = true;
    actor->turn = n_turns++;
}

static void turns(int64_t ms)
{
    struct pollfd fds[ACTORS_MAX];
    for (int i = 0; i < n_actors; i++) {
        fds[i] = (struct pollfd){.fd = hf_client_fd(actors[i].client),
                                 .events = POLLIN};
    }
    poll(fds, (nfds_t)n_actors, (int)ms);
    for (int i = 0; i < n_actors; i++) {
        hf_client_process(actors[i].client);
    }
}

static void ask(struct actor *actor, enum hf_mode mode, int64_t ttl_ms)
{
    struct hf_request request;
    struct hf_error error;
    hf_request_init(&request, "n");
    request.ttl_ms = ttl_ms;
    request.wait_ms = HF_WAIT_FOREVER;
    request.mode = mode;
    request.liveness = HF_LIVENESS_LEASE;
    actor->is_done = false;
    if (hf_op_start_acquire(actor->client, &request, on_done, actor, &actor->op,
                            &error) != HF_OK) {
        printf("Bail out! %s\n", error.text);
        exit(1);
    }
}

/* Run until `is_so(user)`. @return whether that was reached. */
typedef bool condition_fn(void *user);

static bool until(condition_fn *is_so, void *user, int64_t for_ms)
{
    int64_t end = now_ms() + for_ms;
    while (!is_so(user)) {
        if (now_ms() > end) {
            return false;
        }
        turns(2);
    }
    return true;
}

static bool is_held(void *user)
{
    const struct actor *actor = user;
    return actor->is_done && actor->status == HF_OK;
}

static bool await(struct actor *actor)
{
    return until(is_held, actor, PATIENCE_MS);
}

static void give_back(struct actor *actor)
{
    hf_op_start_release(actor->lock, NULL, NULL);
    actor->lock = NULL;
    turns(0);
}

struct queue {
    struct server *server;
    long long length;
};

static bool is_long(void *user)
{
    const struct queue *queue = user;
    return told_number(queue->server, "ZCARD", "hf:{lock:n}:queue") ==
           queue->length;
}

static bool await_length(struct server *server, long long length)
{
    struct queue queue = {server, length};
    return until(is_long, &queue, PATIENCE_MS);
}

static bool is_clean(void *user)
{
    return strcmp(told(user, "EXISTS lock:n hf:{lock:n}:queue "
                             "hf:{lock:n}:waiters hf:{lock:n}:holders "
                             "hf:{lock:n}:votes"),
                  "0") == 0;
}

static void linger(int64_t ms)
{
    int64_t end = now_ms() + ms;
    while (now_ms() < end) {
        turns(2);
    }
}

static const char *url_of(const char *path)
{
    static char url[300];
    snprintf(url, sizeof(url),
             "redis+unix://%s?quarantine=off&node_timeout=500ms", path);
    return url;
}

/* ---- One server -------------------------------------------------------- */

static void test_granted_while_away(void)
{
    struct server server;
    struct proxy proxy;
    server_start(&server, NULL);
    proxy_start(&proxy, server.path);
    struct actor *holder = enter(url_of(server.path));
    struct actor *waiter = enter(url_of(proxy.path));
    ask(holder, HF_EXCLUSIVE, 10000);
    await(holder);
    ask(waiter, HF_EXCLUSIVE, 10000);
    ok(await_length(&server, 1), "away: it has a place");
    struct actor *next = enter(url_of(server.path));
    ask(next, HF_EXCLUSIVE, 10000);
    ok(await_length(&server, 2), "away: another one is behind it");

    /* Reconnected in time: no place is lost. */
    proxy_cut(&proxy);
    linger(300);
    ok(told_number(&server, "ZCARD", "hf:{lock:n}:queue") == 2,
       "away: a broken connection costs no place");

    /* The lock becomes free while the client's connections are closed. The push
     * has no receiver, and the next waiter is granted the lock at once.
     * Reconnected, the client waits again and gets the lock after that one. */
    atomic_store(&proxy.refuses, true);
    proxy_cut(&proxy);
    linger(100);
    give_back(holder);
    int64_t began = now_ms();
    ok(await(next) && now_ms() - began < CLAIM_MS - 500,
       "away: the next one is served at once");
    atomic_store(&proxy.refuses, false);
    ok(await_length(&server, 1), "away: back, it has its place again");
    ok(!waiter->is_done, "away: and does not believe that it holds");
    give_back(next);
    ok(await(waiter), "away: then it is served");
    give_back(waiter);
    ok(until(is_clean, &server, PATIENCE_MS), "away: no key is left");
    leave_all();
    proxy_end(&proxy);
    server_remove(&server);
}

static bool is_listened_to(void *user)
{
    return strstr(told(user, "CLIENT LIST TYPE pubsub"), "id=") != NULL;
}

static void test_lost_grant(void)
{
    struct server server;
    struct proxy proxy;
    server_start(&server, NULL);
    proxy_start(&proxy, server.path);
    struct actor *holder = enter(url_of(server.path));
    struct actor *waiter = enter(url_of(proxy.path));
    ask(holder, HF_EXCLUSIVE, 10000);
    await(holder);
    ask(waiter, HF_EXCLUSIVE, 10000);
    ok(await_length(&server, 1), "lost grant: it has a place");
    ok(until(is_listened_to, &server, PATIENCE_MS), "lost grant: it listens");
    atomic_store(&proxy.swallows_grants, true);
    give_back(holder);
    int64_t began = now_ms();
    ok(await(waiter), "lost grant: its next heartbeat finds out");
    int64_t took = now_ms() - began;
    ok(took < CLAIM_MS - 500, "lost grant: within a heartbeat (%lld ms)",
       (long long)took);
    ok(hf_lock_valid_for(waiter->lock, 1000), "lost grant: and it is held");
    give_back(waiter);
    ok(until(is_clean, &server, PATIENCE_MS), "lost grant: no key is left");
    leave_all();
    proxy_end(&proxy);
    server_remove(&server);
}

/* The quarantine is on: it protects the lock that the server lost. */
static const char *strict_url(const char *path)
{
    static char url[300];
    snprintf(url, sizeof(url), "redis+unix://%s?max_ttl=10s&node_timeout=500ms",
             path);
    return url;
}

static bool is_taken_back(void *user)
{
    return told_number(user, "EXISTS", "lock:n") == 1;
}

static void test_restarted_with_a_queue(void)
{
    struct server server;
    /* The server's clock stands still: if the clock floor advanced between the
     * grant and the repair, the holder would lose its key. */
    server_start_still(&server, "--appendonly", "yes", "--appendfsync",
                       "always", NULL);
    struct actor *holder = enter(strict_url(server.path));
    struct actor *first = enter(strict_url(server.path));
    struct actor *second = enter(strict_url(server.path));
    ok(hf_client_init_nodes(holder->client, 0, NULL, NULL, NULL) == HF_OK,
       "restart: a new server");
    ask(holder, HF_EXCLUSIVE, 5000);
    await(holder);
    ask(first, HF_EXCLUSIVE, 5000);
    await_length(&server, 1);
    server_pass(&server, 1); /* for a later ticket */
    ask(second, HF_EXCLUSIVE, 5000);
    ok(await_length(&server, 2), "restart: two wait");

    server_kill(&server);
    server_run(&server, "--appendonly", "yes", "--appendfsync", "always", NULL);
    ok(await_length(&server, 2), "restart: the queue is kept");
    linger(200);
    give_back(holder);
    ok(await(first) && !second->is_done, "restart: the first is served first");

    server_kill(&server);
    char file[160];
    snprintf(file, sizeof(file), "rm -rf -- '%s'/appendonly*", server.dir);
    ok(system(file) == 0, "restart: it loses all it knew");
    server_run(&server, NULL);
    int64_t began = now_ms();
    ok(until(is_taken_back, &server, PATIENCE_MS),
       "restart: the holder takes its key back");
    ok(hf_lock_valid_for(first->lock, 1000) && !second->is_done,
       "restart: and holds it alone");
    give_back(first);
    ok(await(second), "restart: the waiter is served");
    ok(now_ms() - began > 8000, "restart: once the server may vote again");
    give_back(second);
    ok(until(is_clean, &server, PATIENCE_MS), "restart: no key is left");
    leave_all();
    server_remove(&server);
}

/* A key of another library is not handed over: the first waiter polls it. */
static void test_behind_a_foreign_key(void)
{
    struct server server;
    server_start(&server, NULL);
    told(&server, "SET lock:n theirs");
    struct actor *head = enter(url_of(server.path));
    struct actor *second = enter(url_of(server.path));
    ask(head, HF_EXCLUSIVE, 10000);
    await_length(&server, 1);
    ask(second, HF_EXCLUSIVE, 10000);
    ok(await_length(&server, 2), "foreign: two wait");
    linger(300);
    told(&server, "DEL lock:n");
    int64_t began = now_ms();
    /* A key without expiry is polled every 5 s at least. */
    ok(await(head) && now_ms() - began < 5500,
       "foreign: the first finds it free");
    ok(!second->is_done, "foreign: the second waits on");
    give_back(head);
    ok(await(second), "foreign: and is served next");
    give_back(second);
    until(is_clean, &server, PATIENCE_MS);
    told(&server, "SET lock:n theirs PX 700");
    ask(head, HF_EXCLUSIVE, 10000);
    began = now_ms();
    ok(await(head) && now_ms() - began < 5000,
       "foreign: one that expires is followed");
    give_back(head);
    leave_all();
    server_remove(&server);
}

/* ---- Readers ----------------------------------------------------------- */

static void test_dead_reader(void)
{
    struct server server;
    char text[HF_OWNER_TEXT_MAX];
    server_start(&server, NULL);
    struct actor *dead = enter(url_of(server.path));
    struct actor *alive = enter(url_of(server.path));
    struct actor *writer = enter(url_of(server.path));
    int64_t began = now_ms();
    ask(dead, HF_SHARED, 1500);
    await(dead);
    hf_lock_detach(dead->lock, text); /* no longer renewed */
    ask(alive, HF_SHARED, 10000);
    await(alive);
    ask(writer, HF_EXCLUSIVE, 10000);
    await_length(&server, 1);
    give_back(alive);
    linger(200);
    ok(!writer->is_done || now_ms() - began >= 1490,
       "dead reader: keeps the writer out");
    ok(await(writer), "dead reader: no longer than its lease");
    int64_t took = now_ms() - began;
    ok(took >= 1490 && took < CLAIM_MS - 500,
       "dead reader: which was 1.5 s (%lld ms)", (long long)took);
    give_back(writer);
    leave_all();
    server_remove(&server);
}

static bool is_lost(void *user)
{
    const struct actor *actor = user;
    return hf_lock_state(actor->lock) == HF_STATE_LOST;
}

static void test_group_key_gone(void)
{
    struct server server;
    server_start(&server, NULL);
    struct actor *reader = enter(url_of(server.path));
    struct actor *other = enter(url_of(server.path));
    ask(reader, HF_SHARED, 900);
    await(reader);
    ask(other, HF_SHARED, 900);
    await(other);
    told(&server, "DEL lock:n");
    told(&server, "SET lock:n theirs PX 60000");
    linger(700); /* a renewal has been sent */
    ok(strcmp(told(&server, "GET lock:n"), "theirs") == 0,
       "group gone: readers do not take a foreign key away");
    ok(until(is_lost, reader, PATIENCE_MS) &&
           until(is_lost, other, PATIENCE_MS),
       "group gone: and know that theirs is lost");
    told(&server, "DEL lock:n");
    struct actor *third = enter(url_of(server.path));
    ask(third, HF_SHARED, 5000);
    ok(await(third), "group gone: back, there is a new group");
    ok(told_number(&server, "ZCARD", "hf:{lock:n}:holders") == 1,
       "group gone: without those of the old one");
    give_back(third);
    give_back(reader);
    give_back(other);
    leave_all();
    ok(until(is_clean, &server, PATIENCE_MS), "group gone: no key is left");
    server_remove(&server);
}

/* ---- Five servers ------------------------------------------------------ */

struct five {
    struct server servers[NODES];
    struct proxy proxies[3][NODES]; /* one for each of three actors */
};

/* The servers' clocks stand still together: the clock floor does not advance
 * between the grant at one and the repair at another. */
static struct five *five_start(void)
{
    struct five *five = calloc(1, sizeof(*five));
    for (int i = 0; i < NODES; i++) {
        server_start_still(&five->servers[i], NULL);
        *five->servers[i].clock_ns = *five->servers[0].clock_ns;
        for (int actor = 0; actor < 3; actor++) {
            proxy_start(&five->proxies[actor][i], five->servers[i].path);
        }
    }
    return five;
}

/* A ticket is a time of the servers: a later request gets a later ticket. */
static void five_ask(struct five *five, struct actor *actor)
{
    for (int i = 0; i < NODES; i++) {
        server_pass(&five->servers[i], 1);
    }
    ask(actor, HF_EXCLUSIVE, 10000);
}

static void five_end(struct five *five)
{
    leave_all();
    for (int i = 0; i < NODES; i++) {
        for (int actor = 0; actor < 3; actor++) {
            proxy_end(&five->proxies[actor][i]);
        }
        server_remove(&five->servers[i]);
    }
    free(five);
}

static const char *five_url(const struct five *five, int actor)
{
    static char url[2000];
    url[0] = '\0';
    for (int i = 0; i < NODES; i++) {
        size_t len = strlen(url);
        snprintf(url + len, sizeof(url) - len, "%s%s", i > 0 ? " " : "",
                 url_of(actor < 0 ? five->servers[i].path
                                  : five->proxies[actor][i].path));
    }
    return url;
}

static bool five_is_clean(void *user)
{
    struct five *five = user;
    for (int i = 0; i < NODES; i++) {
        if (!is_clean(&five->servers[i])) {
            return false;
        }
    }
    return true;
}

static bool five_await(struct five *five, long long length)
{
    bool is_so = true;
    for (int i = 0; i < NODES; i++) {
        is_so = await_length(&five->servers[i], length) && is_so;
    }
    return is_so;
}

/* At all of them: a server that queues a request only after the clocks have
 * advanced for the next waiter gives both the same ticket. */
static bool await_place(struct five *five, const bool reaches[NODES])
{
    bool is_so = true;
    for (int i = 0; i < NODES; i++) {
        is_so &= !reaches[i] || await_length(&five->servers[i], 1);
    }
    return is_so;
}

static bool is_everywhere(void *user)
{
    struct five *five = user;
    for (int i = 0; i < NODES; i++) {
        if (told_number(&five->servers[i], "EXISTS", "lock:n") != 1) {
            return false;
        }
    }
    return true;
}

/* The holder must have the lock at every server: a server that it has not
 * reached yet would grant it to the first waiter that asks there. */
static void hold_everywhere(struct five *five, struct actor *holder)
{
    five_ask(five, holder);
    await(holder);
    ok(until(is_everywhere, five, PATIENCE_MS), "five: held everywhere");
}

/* Three waiters, each queued at other servers, when the holder releases. The
 * servers grant the lock to three different ones, and none has a majority. */
static void test_different_heads(void)
{
    struct five *five = five_start();
    static const bool reaches[3][NODES] = {
        {true, true}, {false, false, true, true}, {[4] = true}};
    struct actor *holder = enter(five_url(five, -1));
    struct actor *waiters[3];
    hold_everywhere(five, holder);
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < NODES; i++) {
            atomic_store(&five->proxies[w][i].holds_asks, !reaches[w][i]);
        }
        waiters[w] = enter(five_url(five, w));
        five_ask(five, waiters[w]);
        ok(await_place(five, reaches[w]), "heads: %d waits at its servers", w);
    }
    give_back(holder);
    linger(50);
    ok(!waiters[0]->is_done && !waiters[1]->is_done && !waiters[2]->is_done,
       "heads: no waiter has a majority");
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < NODES; i++) {
            atomic_store(&five->proxies[w][i].holds_asks, false);
        }
    }
    int64_t began = now_ms();
    ok(await(waiters[0]), "heads: the earliest ticket gets them all");
    ok(now_ms() - began < CLAIM_MS - 500,
       "heads: without waiting for a lease (%lld ms)",
       (long long)(now_ms() - began));
    ok(!waiters[1]->is_done && !waiters[2]->is_done, "heads: it alone");
    give_back(waiters[0]);
    ok(await(waiters[1]) && !waiters[2]->is_done, "heads: then the second");
    give_back(waiters[1]);
    ok(await(waiters[2]), "heads: then the third");
    give_back(waiters[2]);
    ok(until(five_is_clean, five, PATIENCE_MS), "heads: no key is left");
    five_end(five);
}

/* A server that was stopped comes back with an old queue. */
static void test_old_queue_comes_back(void)
{
    struct five *five = five_start();
    struct actor *holder = enter(five_url(five, -1));
    struct actor *first = enter(five_url(five, -1));
    struct actor *second = enter(five_url(five, -1));
    hold_everywhere(five, holder);
    five_ask(five, first);
    five_await(five, 1);
    five_ask(five, second);
    ok(five_await(five, 2), "old queue: two wait everywhere");
    kill(five->servers[0].pid, SIGSTOP);
    kill(five->servers[1].pid, SIGSTOP);
    give_back(holder);
    ok(await(first), "old queue: served by the other three");
    give_back(first);
    ok(await(second), "old queue: and the next");
    kill(five->servers[0].pid, SIGCONT);
    kill(five->servers[1].pid, SIGCONT);
    linger(500);
    ok(hf_lock_valid_for(second->lock, 1000), "old queue: still held");
    five_ask(five, first);
    linger(100);
    ok(!first->is_done, "old queue: by it alone");
    give_back(second);
    ok(await(first), "old queue: all goes on");
    give_back(first);
    ok(until(five_is_clean, five, PATIENCE_MS), "old queue: no key is left");
    five_end(five);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_granted_while_away();
    test_lost_grant();
    test_restarted_with_a_queue();
    test_behind_a_foreign_key();
    test_dead_reader();
    test_group_key_gone();
    test_different_heads();
    test_old_queue_comes_back();
    return tap_done();
}
