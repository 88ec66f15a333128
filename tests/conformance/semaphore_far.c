/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Semaphores at a server that is far away: "all permits are taken" is true of
 * each of them, however few of them were tried in the patience of a try. Nor is
 * it reported if there was no time to try them all. */
#include "proxy.h"
#include "redis_world.h"

#include <holdfast/holdfast.h>

/* A try has 100 ms of patience: with such a way to the server it has tried a
 * few permits of many by then; with the longer one, a single permit. */
#define WAY_MS 40
#define LONG_WAY_MS 120

/* A try takes 900 ms at most. With the first of these ways two permits have
 * answered then, with the other one a request is under way. */
#define LONGER_WAY_MS 310
#define LONGEST_WAY_MS 430

/* A try that took longer had no answer: it waits for 100 ms, and for a sweep of
 * 64 permits. */
#define TRY_LATE_MS 600

static struct server server;
static struct proxy proxy;

static struct hf_client *open_far(void)
{
    char url[200];
    struct hf_client *client = NULL;
    struct hf_error error;
    snprintf(url, sizeof(url),
             "redis+unix://%s?quarantine=off&node_timeout=3s&"
             "connect_timeout=10s",
             proxy.path);
    if (hf_client_open(url, NULL, &client, &error) != HF_OK) {
        printf("Bail out! %s: %s\n", url, error.text);
        exit(1);
    }
    return client;
}

/** @return the number of the permit; -1: none. */
static int try_permit(struct hf_client *client, uint32_t permits,
                      int64_t wait_ms, struct hf_error *error)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    hf_request_init(&request, "n");
    request.permits = permits;
    request.wait_ms = wait_ms;
    error->text[0] = '\0';
    if (hf_lock_acquire(client, &request, &lock, error) != HF_OK) {
        return -1;
    }
    int permit = hf_lock_slot(lock);
    hf_lock_release(lock);
    return permit;
}

/* A try ends after 0.9 s if the server does not answer, as where the machine
 * stands still: that is no result, and it is made again. What the server may
 * have granted to it is released before, on the same connection. */
static int try_answered(struct hf_client *client, uint32_t permits,
                        int64_t wait_ms, struct hf_error *error)
{
    struct hf_instant end =
        hf_instant_add(hf_clock_now(), hf_span_ms(PATIENCE_MS));
    for (;;) {
        struct hf_instant began = hf_clock_now();
        int got = try_permit(client, permits, wait_ms, error);
        struct hf_instant now = hf_clock_now();
        bool is_late =
            hf_span_ms_floor(hf_instant_until(began, now)) >= TRY_LATE_MS;
        if (got >= 0 || error->status != HF_UNAVAILABLE || !is_late ||
            hf_instant_before(end, now)) {
            return got;
        }
    }
}

/* The handshake takes longer than a short wait. */
static void connect_first(struct hf_client *client)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    hf_request_init(&request, "first");
    request.wait_ms = PATIENCE_MS;
    ok(hf_lock_acquire(client, &request, &lock, &error) == HF_OK, "connected");
    hf_lock_release(lock);
}

/* All of them but one are held by another library. */
static void test_last_one(int permits, int one, int64_t wait_ms)
{
    struct hf_error error;
    struct hf_client *client = open_far();
    told(&server, "FLUSHALL");
    connect_first(client);
    for (int i = 0; i < permits; i++) {
        if (i != one) {
            told(&server, "SET lock:n#%d other PX 600000", i);
        }
    }
    for (int i = 0; i < 4; i++) {
        int got = try_answered(client, (uint32_t)permits, wait_ms, &error);
        ok(got == one, "%d permits, wait %d ms: the one that is free: %d %s",
           permits, (int)wait_ms, got, error.text);
    }
    told(&server, "SET lock:n#%d other PX 600000", one);
    int got = try_answered(client, (uint32_t)permits, wait_ms, &error);
    ok(got == -1 && error.status == HF_BUSY, "none is free: %d %s", got,
       error.text);
    hf_client_close(client);
}

/* All are taken, which a try cannot know that has no time to ask for each. */
static void test_no_time(int way_ms)
{
    enum { PERMITS = 64 };
    struct hf_error error;
    struct hf_client *client = open_far();
    told(&server, "FLUSHALL");
    atomic_store(&proxy.delay_ms, 0);
    int got = try_answered(client, PERMITS, 0, &error);
    ok(got >= 0, "%d permits are free: %s", PERMITS, error.text);
    for (int i = 0; i < PERMITS; i++) {
        told(&server, "SET lock:n#%d other PX 600000", i);
    }
    atomic_store(&proxy.delay_ms, way_ms);
    got = try_permit(client, PERMITS, 0, &error);
    ok(got == -1 && error.status == HF_UNAVAILABLE,
       "a way of %d ms: not known to be taken: %s: %s", way_ms,
       hf_status_name(error.status), error.text);
    atomic_store(&proxy.delay_ms, 0);
    hf_client_close(client);
}

/* Of three servers one is silent for longer than a try lasts, and another one
 * holds permits for another library: only the silent one could grant these. One
 * more is held at both others. The last is granted by two. */
static void test_silent_node(void)
{
    enum { NODES = 3, PERMITS = 4 };
    struct server servers[NODES];
    struct hf_client *client = NULL;
    struct hf_error error;
    char urls[1000] = "";
    for (int i = 0; i < NODES; i++) {
        server_start(&servers[i], NULL);
        size_t len = strlen(urls);
        snprintf(urls + len, sizeof(urls) - len,
                 "%sredis+unix://%s?quarantine=off&node_timeout=3s",
                 i > 0 ? " " : "", servers[i].path);
    }
    ok(hf_client_open(urls, NULL, &client, &error) == HF_OK, "opened: %s",
       error.text);
    connect_first(client);
    for (int i = 1; i < PERMITS; i++) {
        told(&servers[0], "SET lock:n#%d other PX 600000", i);
    }
    told(&servers[1], "SET lock:n#1 other PX 600000");
    kill(servers[2].pid, SIGSTOP);
    for (int i = 0; i < 10; i++) {
        int got = try_permit(client, PERMITS, 0, &error);
        ok(got == 0, "beside a silent server: the one that is free: %d %s", got,
           error.text);
    }
    told(&servers[0], "SET lock:n#0 other PX 600000");
    int got = try_permit(client, PERMITS, 0, &error);
    ok(got == -1 && error.status == HF_BUSY,
       "beside a silent server: all are taken: %d %s", got, error.text);
    kill(servers[2].pid, SIGCONT);
    hf_client_close(client);
    for (int i = 0; i < NODES; i++) {
        server_remove(&servers[i]);
    }
}

int main(void)
{
    server_start(&server, NULL);
    proxy_start(&proxy, server.path);
    atomic_store(&proxy.delay_ms, WAY_MS);
    test_last_one(64, 21, 0);
    test_last_one(64, 21, 100);
    atomic_store(&proxy.delay_ms, LONG_WAY_MS);
    test_last_one(4, 3, 0);
    test_no_time(LONGER_WAY_MS);
    test_no_time(LONGEST_WAY_MS);
    test_silent_node();
    proxy_end(&proxy);
    server_remove(&server);
    return tap_done();
}
