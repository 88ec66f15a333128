/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and faults, on a real server: connections that close at the wrong
 * moment, grants that are lost, a server that restarts, keys that another
 * program deletes. */
#include "queue_actors.h"

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
    int64_t began_ms = now_ms();
    ok(await(next) && now_ms() - began_ms < CLAIM_MS - 500,
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
    int64_t began_ms = now_ms();
    ok(await(waiter), "lost grant: its next heartbeat finds out");
    int64_t took_ms = now_ms() - began_ms;
    ok(took_ms < CLAIM_MS - 500, "lost grant: within a heartbeat (%lld ms)",
       (long long)took_ms);
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
    int64_t began_ms = now_ms();
    ok(until(is_taken_back, &server, PATIENCE_MS),
       "restart: the holder takes its key back");
    ok(hf_lock_valid_for(first->lock, 1000) && !second->is_done,
       "restart: and holds it alone");
    give_back(first);
    ok(await(second), "restart: the waiter is served");
    ok(now_ms() - began_ms > 8000, "restart: once the server may vote again");
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
    int64_t began_ms = now_ms();
    /* A key without expiry is polled every 5 s at least. */
    ok(await(head) && now_ms() - began_ms < 5500,
       "foreign: the first finds it free");
    ok(!second->is_done, "foreign: the second waits on");
    give_back(head);
    ok(await(second), "foreign: and is served next");
    give_back(second);
    until(is_clean, &server, PATIENCE_MS);
    told(&server, "SET lock:n theirs PX 700");
    ask(head, HF_EXCLUSIVE, 10000);
    began_ms = now_ms();
    ok(await(head) && now_ms() - began_ms < 5000,
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
    int64_t began_ms = now_ms();
    ask(dead, HF_SHARED, 1500);
    await(dead);
    ok(hf_lock_detach(dead->lock, text) == HF_OK,
       "dead reader: its lock is renewed no longer");
    ask(alive, HF_SHARED, 10000);
    await(alive);
    ask(writer, HF_EXCLUSIVE, 10000);
    await_length(&server, 1);
    give_back(alive);
    linger(200);
    ok(!writer->is_done || now_ms() - began_ms >= 1490,
       "dead reader: keeps the writer out");
    ok(await(writer), "dead reader: no longer than its lease");
    int64_t took_ms = now_ms() - began_ms;
    ok(took_ms >= 1490 && took_ms < CLAIM_MS - 500,
       "dead reader: which was 1.5 s (%lld ms)", (long long)took_ms);
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

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_granted_while_away();
    test_lost_grant();
    test_restarted_with_a_queue();
    test_behind_a_foreign_key();
    test_dead_reader();
    test_group_key_gone();
    return tap_done();
}
