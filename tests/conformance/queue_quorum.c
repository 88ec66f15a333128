/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of five real servers that differ: each has another first waiter, or
 * two come back with an old queue. */
#include "queue_actors.h"

#define NODES 5 /* servers: the fewest whose majority is not all but one */

struct five {
    const char *node_timeout; /* and more of the URL's query */
    struct server servers[NODES];
    struct proxy proxies[3][NODES]; /* one for each of three actors */
};

/* The servers' clocks stand still together: the clock floor does not advance
 * between the grant at one and the repair at another. */
static struct five *five_start(const char *node_timeout)
{
    struct five *five = calloc(1, sizeof(*five));
    five->node_timeout = node_timeout;
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
                 url_with(actor < 0 ? five->servers[i].path
                                    : five->proxies[actor][i].path,
                          five->node_timeout));
    }
    return url;
}

static bool are_all(struct five *five, condition_fn *is_so)
{
    for (int i = 0; i < NODES; i++) {
        if (!is_so(&five->servers[i])) {
            return false;
        }
    }
    return true;
}

static bool has_all_nodes(void *user)
{
    const struct actor *actor = user;
    for (int i = 0; i < NODES; i++) {
        struct hf_node *node;
        if (hf_client_node(actor->client, i, &node) != HF_OK) {
            return false;
        }
        bool is_up = hf_node_health(node) == HF_NODE_UP;
        hf_node_free(node);
        if (!is_up) {
            return false;
        }
    }
    return true;
}

/* Only a client that has reached all servers asks all of them. */
static struct actor *five_enter(struct five *five, int actor)
{
    struct actor *entered = enter(five_url(five, actor));
    until(has_all_nodes, entered, PATIENCE_MS);
    return entered;
}

static bool five_is_clean(void *user)
{
    return are_all(user, is_clean);
}

/* Wait for the queues at all servers, or at those of `reaches`. If clocks
 * advance earlier, a server gives this waiter and the next one the same ticket.
 */
static bool five_await(struct five *five, const bool *reaches, long long length)
{
    bool is_so = true;
    for (int i = 0; i < NODES; i++) {
        is_so &= (reaches != NULL && !reaches[i]) ||
                 await_length(&five->servers[i], length);
    }
    return is_so;
}

static bool is_taken(void *user)
{
    return told_number(user, "EXISTS", "lock:n") == 1;
}

static bool is_everywhere(void *user)
{
    return are_all(user, is_taken);
}

/* A server that the holder has not reached grants the name to a waiter. */
static void hold_everywhere(struct five *five, struct actor *holder)
{
    five_ask(five, holder);
    await(holder);
    ok(until(is_everywhere, five, PATIENCE_MS), "five: held everywhere");
}

/* Three waiters, each first at other servers when the holder releases: each is
 * granted some votes, and none a majority. */
static void test_different_heads(void)
{
    /* No server stops. If the machine stands still for shorter than this, no
     * request fails, and the order stays. */
    struct five *five = five_start("60s&connect_timeout=60s");
    static const bool reaches[3][NODES] = {
        {true, true}, {false, false, true, true}, {[4] = true}};
    struct actor *holder = five_enter(five, -1);
    struct actor *waiters[3];
    hold_everywhere(five, holder);
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < NODES; i++) {
            atomic_store(&five->proxies[w][i].holds_asks, !reaches[w][i]);
        }
        waiters[w] = five_enter(five, w);
        five_ask(five, waiters[w]);
        ok(five_await(five, reaches[w], 1), "heads: %d waits at its servers",
           w);
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
    int64_t began_ms = now_ms();
    ok(await(waiters[0]), "heads: the earliest ticket gets them all");
    ok(now_ms() - began_ms < CLAIM_MS - 500,
       "heads: without waiting for a lease (%lld ms)",
       (long long)(now_ms() - began_ms));
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
    struct five *five = five_start("500ms");
    struct actor *holder = five_enter(five, -1);
    struct actor *first = five_enter(five, -1);
    struct actor *second = five_enter(five, -1);
    hold_everywhere(five, holder);
    five_ask(five, first);
    five_await(five, NULL, 1);
    five_ask(five, second);
    ok(five_await(five, NULL, 2), "old queue: two wait everywhere");
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
    test_different_heads();
    test_old_queue_comes_back();
    return tap_done();
}
