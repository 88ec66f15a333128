/* SPDX-License-Identifier: Apache-2.0 */
/* The raw limit of waiting on etcd and Consul: processes in a ring, each of
 * which watches a key of its own, which the one before it writes.
 *
 *   http_wake --store etcd|consul --address IPV4:PORT [--read 1]
 *             [options of contenders.h]
 *
 * A turn is a put and the event that reports it: a bare watch, or a blocking
 * query. No lock: the order is fixed. With --read the process that is woken
 * reads once before it goes on, as each recipe must on etcd, where an event
 * alone proves nothing. */
#include "contenders.h"
#include "http.h"

struct turn;

struct store {
    void (*open)(struct turn *turn);
    void (*await)(struct turn *turn);
    void (*read)(struct turn *turn);
    void (*give)(struct turn *turn);
};

struct ring {
    const struct store *store;
    const char *address;
    int n;
    bool must_read;
};

struct turn {
    const struct ring *ring;
    struct http asks;
    struct http watch;
    char own[64];
    char next[64];
    bool is_first; /* has its turn at the beginning */
};

/* ---- etcd -------------------------------------------------------------- */

static void etcd_open(struct turn *turn)
{
    char body[256];
    char coded[64];
    text_base64(turn->own, coded);
    (void)snprintf(body, sizeof(body), "{\"create_request\":{\"key\":\"%s\"}}",
                   coded);
    http_send(&turn->watch, "POST", "/v3/watch", body);
    (void)http_head(&turn->watch);
    (void)http_chunk(&turn->watch); /* it is created */
}

static void etcd_await(struct turn *turn)
{
    turn->watch.body_len = 0;
    if (!http_chunk(&turn->watch)) {
        die_text("watch", "has ended");
    }
}

static void etcd_read(struct turn *turn)
{
    char body[256];
    char coded[64];
    text_base64(turn->own, coded);
    (void)snprintf(body, sizeof(body), "{\"key\":\"%s\"}", coded);
    (void)http_call(&turn->asks, "POST", "/v3/kv/range", body);
}

static void etcd_give(struct turn *turn)
{
    char body[256];
    char coded[64];
    text_base64(turn->next, coded);
    (void)snprintf(body, sizeof(body), "{\"key\":\"%s\",\"value\":\"MQ==\"}",
                   coded);
    (void)http_call(&turn->asks, "POST", "/v3/kv/put", body);
}

/* ---- Consul ------------------------------------------------------------ */

static void consul_query(struct turn *turn)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/v1/kv/%s?consistent&index=%ld",
                   turn->own, turn->watch.index);
    http_send(&turn->watch, "GET", path, "");
}

static void consul_open(struct turn *turn)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/v1/kv/%s", turn->own);
    (void)http_call(&turn->asks, "PUT", path, "0");
    consul_query(turn);
    (void)http_reply(&turn->watch);
    consul_query(turn);
}

static void consul_await(struct turn *turn)
{
    (void)http_reply(&turn->watch);
    consul_query(turn);
}

static void consul_read(struct turn *turn)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/v1/kv/%s?consistent", turn->own);
    (void)http_call(&turn->asks, "GET", path, "");
}

/* The same value again would be no change. */
static void consul_give(struct turn *turn)
{
    char path[256];
    char value[24];
    (void)snprintf(value, sizeof(value), "%lld", (long long)now_ns());
    (void)snprintf(path, sizeof(path), "/v1/kv/%s", turn->next);
    (void)http_call(&turn->asks, "PUT", path, value);
}

static const struct store stores[] = {
    {etcd_open, etcd_await, etcd_read, etcd_give},
    {consul_open, consul_await, consul_read, consul_give},
};

/* ---- Turns ------------------------------------------------------------- */

static void *turn_open(int index, void *arg)
{
    const struct ring *ring = arg;
    struct turn *turn = must_alloc(1, sizeof(*turn));
    turn->ring = ring;
    turn->is_first = index == 0;
    (void)snprintf(turn->own, sizeof(turn->own), "bench-turn/%03d", index);
    (void)snprintf(turn->next, sizeof(turn->next), "bench-turn/%03d",
                   (index + 1) % ring->n);
    http_open(&turn->asks, ring->address);
    http_open(&turn->watch, ring->address);
    ring->store->open(turn);
    return turn;
}

static void turn_take(void *client)
{
    struct turn *turn = client;
    if (!turn->is_first) {
        turn->ring->store->await(turn);
    }
    turn->is_first = false;
    if (turn->ring->must_read) {
        turn->ring->store->read(turn);
    }
}

static void turn_give(void *client)
{
    struct turn *turn = client;
    turn->ring->store->give(turn);
}

static void turn_close(void *client)
{
    struct turn *turn = client;
    http_close(&turn->asks);
    http_close(&turn->watch);
    free(turn);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan;
    struct ring ring = {.address = arg_text(argc, argv, "--address", ""),
                        .must_read = arg_int(argc, argv, "--read", 0) != 0};
    struct crowd_side side = {.label = "wake",
                              .open = turn_open,
                              .take = turn_take,
                              .give = turn_give,
                              .close = turn_close,
                              .arg = &ring};
    ring.store = &stores[http_store(arg_text(argc, argv, "--store", ""))];
    crowd_parse(&plan, argc, argv);
    ring.n = plan.n_clients;
    return crowd_run(&plan, &side);
}
