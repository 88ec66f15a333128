/* SPDX-License-Identifier: Apache-2.0 */
/* The raw limit on etcd and Consul: one blocking socket, one lease or session.
 *
 *   http_raw --store etcd|consul --address IPV4:PORT [--requests all|minimum]
 *            [--seconds S] [--pids P[,...]] [--count COMMAND]
 *
 *   all      what the library sends: the renewal and the transaction at once,
 *            then the deletion. On Consul a consistent read precedes the
 *            renewal
 *   minimum  the least that a recipe of such a lock can do: a transaction that
 *            creates the key and lists its name, then the deletion. The session
 *            is renewed by the clock, not by each acquisition */
#include "http.h"

#define KEY_SIZE 200
#define BODY_SIZE 2048

struct bench {
    struct http http;
    struct figures figures;
    const struct store *store;
    char session[64]; /* a lease, in decimal, or a session */
    bool is_minimum;
};

struct store {
    void (*open)(struct bench *b);
    void (*send_renewal)(struct bench *b);
    int renewal_replies;
    void (*send_create)(struct bench *b, const char *key);
    const char *created; /* in the reply */
    void (*send_delete)(struct bench *b, const char *key);
    const char *deleted;
};

/* ---- etcd -------------------------------------------------------------- */

static void etcd_open(struct bench *b)
{
    text_after(
        http_call(&b->http, "POST", "/v3/lease/grant", "{\"TTL\":\"10\"}"),
        "\"ID\":\"", b->session, sizeof(b->session));
}

static void etcd_send_renewal(struct bench *b)
{
    char body[BODY_SIZE];
    (void)snprintf(body, sizeof(body), "{\"ID\":\"%s\"}", b->session);
    http_send(&b->http, "POST", "/v3/lease/keepalive", body);
}

static void etcd_send_create(struct bench *b, const char *key)
{
    char body[BODY_SIZE];
    char coded[2 * KEY_SIZE];
    char folder[64];
    char after[64];
    char range[160];
    text_base64(key, coded);
    text_base64("lock:raw-000-000/", folder);
    text_base64("lock:raw-000-0000", after);
    (void)snprintf(range, sizeof(range), "\"key\":\"%s\",\"range_end\":\"%s\"",
                   folder, after);
    (void)snprintf(
        body, sizeof(body),
        "{\"compare\":[{\"target\":\"CREATE\",\"key\":\"%s\","
        "\"create_revision\":\"0\"}],\"success\":[{\"request_put\":{\"key\":"
        "\"%s\",\"lease\":\"%s\"}},{\"request_range\":{%s}}],\"failure\":[{"
        "\"request_range\":{%s}}]}",
        coded, coded, b->session, range, range);
    http_send(&b->http, "POST", "/v3/kv/txn", body);
}

static void etcd_send_delete(struct bench *b, const char *key)
{
    char body[BODY_SIZE];
    char coded[2 * KEY_SIZE];
    text_base64(key, coded);
    (void)snprintf(body, sizeof(body), "{\"key\":\"%s\",\"prev_kv\":true}",
                   coded);
    http_send(&b->http, "POST", "/v3/kv/deleterange", body);
}

/* ---- Consul ------------------------------------------------------------ */

static void consul_open(struct bench *b)
{
    text_after(http_call(&b->http, "PUT", "/v1/session/create",
                         "{\"TTL\":\"10s\",\"LockDelay\":\"0s\",\"Behavior\":"
                         "\"delete\",\"Checks\":[]}"),
               "\"ID\":\"", b->session, sizeof(b->session));
}

static void consul_send_renewal(struct bench *b)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "/v1/session/info/%s?consistent",
                   b->session);
    http_send(&b->http, "GET", path, "");
    (void)snprintf(path, sizeof(path), "/v1/session/renew/%s", b->session);
    http_send(&b->http, "PUT", path, "");
}

static void consul_send_create(struct bench *b, const char *key)
{
    char body[BODY_SIZE];
    (void)snprintf(body, sizeof(body),
                   "[{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"%s\"}},{"
                   "\"KV\":{\"Verb\":\"lock\",\"Key\":\"%s\",\"Session\":"
                   "\"%s\"}},{\"KV\":{\"Verb\":\"get-tree\",\"Key\":"
                   "\"lock:raw-000-000/\"}}]",
                   key, key, b->session);
    http_send(&b->http, "PUT", "/v1/txn", body);
}

static void consul_send_delete(struct bench *b, const char *key)
{
    char body[BODY_SIZE];
    (void)snprintf(body, sizeof(body),
                   "[{\"KV\":{\"Verb\":\"get\",\"Key\":\"%s\"}},{\"KV\":{"
                   "\"Verb\":\"delete\",\"Key\":\"%s\"}}]",
                   key, key);
    http_send(&b->http, "PUT", "/v1/txn", body);
}

static const struct store stores[] = {
    {etcd_open, etcd_send_renewal, 1, etcd_send_create, "\"succeeded\":true",
     etcd_send_delete, "\"deleted\":\"1\""},
    {consul_open, consul_send_renewal, 2, consul_send_create, "\"Errors\":null",
     consul_send_delete, "\"Errors\":null"},
};

/* ---- Cycles ------------------------------------------------------------ */

static void await(struct bench *b, const char *expected)
{
    b->figures.failed += strstr(http_reply(&b->http), expected) == NULL;
}

static void acquire(struct bench *b, const char *key)
{
    if (!b->is_minimum) {
        b->store->send_renewal(b);
    }
    b->store->send_create(b, key);
    for (int i = 0; !b->is_minimum && i < b->store->renewal_replies; i++) {
        (void)http_reply(&b->http);
    }
    await(b, b->store->created);
}

static void release(struct bench *b, const char *key)
{
    b->store->send_delete(b, key);
    await(b, b->store->deleted);
}

/* Each cycle has a key of its own, as long as one of the library's. */
static void run_until(struct bench *b, int64_t end)
{
    static unsigned long long cycle;
    int64_t now = now_ns();
    while (now < end) {
        char key[KEY_SIZE];
        int64_t started = now;
        (void)snprintf(key, sizeof(key),
                       "lock:raw-000-000/24a6a216664f4706-x10-%032llx:vm:%010d",
                       cycle++, getpid());
        acquire(b, key);
        int64_t held = now_ns();
        release(b, key);
        now = now_ns();
        figures_add(&b->figures, started, held, now);
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct cpu cpu;
    const char *requests = arg_text(argc, argv, "--requests", "all");
    int64_t span_ns = (int64_t)(arg_double(argc, argv, "--seconds", 1) * 1e9);
    b.store = &stores[http_store(arg_text(argc, argv, "--store", ""))];
    b.is_minimum = strcmp(requests, "minimum") == 0;
    http_open(&b.http, arg_text(argc, argv, "--address", ""));
    b.store->open(&b);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    cpu.count = arg_text(argc, argv, "--count", NULL);
    figures_init(&b.figures);
    run_until(&b, now_ns() + span_ns / 10); /* warm up */
    figures_reset(&b.figures);
    cpu_start(&cpu);
    run_until(&b, now_ns() + span_ns);
    cpu_stop(&cpu);
    figures_print(&b.figures, &cpu, requests);
    figures_fini(&b.figures);
    http_close(&b.http);
    return 0;
}
