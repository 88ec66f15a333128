/* SPDX-License-Identifier: Apache-2.0 */
/* THE CONNECTION, AND THE ENDPOINTS IN TURN
 *
 * One endpoint serves until it fails: it cannot be reached, is silent, or has
 * no leader. Then the next one is tried at once, and when each has failed,
 * after a back-off. The node is DOWN only then.
 *
 * The greeting asks who is the leader, which needs no rights.
 *
 * Consul does not name its cluster. But its numbers only rise: a create whose
 * number is not above all that a leader has shown before it is one of another
 * cluster, or of one that was set back. Then all is lost, and nothing is
 * granted any more. */
#include "store/consul/consul.h"

#include "base/assert.h"
#include "io/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. */
#define IDLE_MS 1000

/* Bytes. A list of 10,000 waiters has about 4 MB; the head of a reply has 300
 * bytes. */
#define BODY_MAX (32 * 1024 * 1024)
#define HEAD_MAX (16 * 1024)
#define OUTPUT_MAX (64 * 1024 * 1024)

static const char *const kept[] = {"X-Consul-Index", NULL};
const struct hf_http_limits hf_consul_limits = {kept, HEAD_MAX, BODY_MAX,
                                                OUTPUT_MAX, HF_CONSUL_SCHEME};

static struct hf_consul *consul_of(struct hf_http *http)
{
    return (struct hf_consul *)(void *)((char *)http -
                                        offsetof(struct hf_consul, http));
}

static void arm(struct hf_consul *consul)
{
    struct hf_instant at = HF_NEVER;
    if (consul->phase == HF_CONSUL_WAITING) {
        at = consul->reconnect.retry_at;
    }
    for (const struct hf_consul_watch *watch = consul->watches; watch != NULL;
         watch = watch->next) {
        at = watch->is_dropped ? HF_LONG_AGO : at;
    }
    if (hf_ordered_jobs_are_due(&consul->ordered) &&
        (consul->phase == HF_CONSUL_READY ||
         consul->phase == HF_CONSUL_FOREIGN)) {
        at = HF_LONG_AGO;
    }
    hf_timer_set(&consul->timer, at);
}

/* ---- Connecting ---------------------------------------------------------- */

static void connect_now(struct hf_consul *consul, struct hf_instant now)
{
    struct hf_socket_target target = hf_consul_target(consul);
    HF_ASSERT(consul->phase == HF_CONSUL_WAITING);
    consul->phase = HF_CONSUL_OPENING;
    hf_http_start(&consul->http, &target, consul->connect_timeout, now);
}

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    struct hf_consul *consul = consul_of(http);
    enum hf_status fault;
    if (!hf_consul_token_use(consul, &fault)) {
        hf_consul_node_fail(consul, fault, consul->why);
        return;
    }
    consul->phase = HF_CONSUL_GREETING;
    if (!hf_consul_ask_leader(consul, now)) {
        hf_consul_node_fail(consul, HF_NO_MEMORY, "out of memory");
    }
}

void hf_consul_node_greeted(struct hf_consul *consul, const struct json_t *body,
                            enum hf_status fault, struct hf_instant now)
{
    if (consul->phase == HF_CONSUL_FOREIGN) {
        return;
    }
    if (body == NULL) {
        hf_consul_node_fail(consul, fault, consul->why);
        return;
    }
    if (!json_is_string(body)) {
        hf_consul_node_fail(consul, HF_UNAVAILABLE, "is no agent of Consul");
        return;
    }
    if (json_string_length(body) == 0) {
        hf_consul_node_fail(consul, HF_UNAVAILABLE, "has no leader");
        return;
    }
    consul->phase = HF_CONSUL_READY;
    consul->failed = 0;
    hf_reconnect_served(&consul->reconnect, now);
    hf_ordered_up(&consul->ordered, now);
}

void hf_consul_node_foreign(struct hf_consul *consul, uint64_t number,
                            uint64_t newest, struct hf_instant now)
{
    snprintf(consul->why, sizeof(consul->why),
             "is another cluster than before, or was set back: its index is "
             "%llu after %llu, so fences would begin anew. Open another "
             "client, once nothing uses the old fences",
             (unsigned long long)number, (unsigned long long)newest);
    consul->phase = HF_CONSUL_FOREIGN;
    hf_http_break(&consul->http, consul->why);
    hf_ordered_lose_all(&consul->ordered, consul->why, now);
}

/* ---- Failing ------------------------------------------------------------- */

void hf_consul_node_fail(struct hf_consul *consul, enum hf_status fault,
                         const char *why)
{
    char copy[sizeof(consul->why)];
    snprintf(copy, sizeof(copy), "%s", why); /* it may be `why` itself */
    memcpy(consul->why, copy, sizeof(copy));
    consul->fault = fault;
    if (consul->phase != HF_CONSUL_FOREIGN) {
        consul->phase = HF_CONSUL_BREAKING;
    }
    hf_http_break(&consul->http, copy);
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct hf_consul *consul = consul_of(http);
    char why[sizeof(consul->ordered.reason)];
    consul->ordered.jobs.is_probing = false;
    if (consul->phase == HF_CONSUL_FOREIGN) {
        return;
    }
    enum hf_status fault =
        consul->fault == HF_OK ? HF_UNAVAILABLE : consul->fault;
    consul->fault = HF_OK;
    consul->phase = HF_CONSUL_WAITING;
    if (consul->n_endpoints > 1) {
        snprintf(why, sizeof(why), "%.80s: %.100s",
                 consul->endpoints[consul->at].shown, http->reason);
    } else {
        snprintf(why, sizeof(why), "%s", http->reason);
    }
    bool is_quick = hf_reconnect_plan(&consul->reconnect, &consul->seed, now);
    hf_reconnect_closed(&consul->reconnect);
    consul->at = (consul->at + 1) % consul->n_endpoints;
    consul->failed++;
    bool has_other = consul->failed < consul->n_endpoints;
    if (has_other) {
        consul->reconnect.retry_at = now;
    }
    hf_ordered_down(&consul->ordered, has_other || is_quick, fault, why);
    if (!has_other && !is_quick) {
        hf_ordered_jobs_end(&consul->ordered, fault, why);
    }
    if (has_other || is_quick) {
        connect_now(consul, now);
    }
    arm(consul);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_consul *consul = consul_of(http);
    hf_consul_take(consul, request, reply, now);
    hf_ordered_check(&consul->ordered);
    arm(consul);
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    struct hf_consul *consul = consul_of(http);
    if (consul->phase != HF_CONSUL_FOREIGN) {
        consul->phase = HF_CONSUL_BREAKING;
    }
    hf_consul_take_lost(consul, request, is_unsent, now);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_consul *consul =
        (struct hf_consul *)(void *)((char *)timer -
                                     offsetof(struct hf_consul, timer));
    hf_consul_watches_free(consul, false, false);
    if (consul->phase == HF_CONSUL_READY &&
        hf_ordered_jobs_serve(&consul->ordered)) {
        hf_consul_examine(consul, now);
    } else if (consul->phase == HF_CONSUL_FOREIGN) {
        hf_ordered_jobs_end(&consul->ordered, HF_CONFIG, consul->why);
    }
    if (consul->phase == HF_CONSUL_WAITING &&
        !hf_instant_before(now, consul->reconnect.retry_at)) {
        consul->failed = 0;
        connect_now(consul, now);
    }
    arm(consul);
}

void hf_consul_node_look(struct hf_consul *consul, struct hf_instant now)
{
    struct hf_instant due =
        hf_instant_add(consul->http.heard_at, hf_span_ms(IDLE_MS));
    if (consul->phase == HF_CONSUL_READY &&
        hf_http_state(&consul->http) == HF_HTTP_OPEN &&
        hf_http_oldest(&consul->http) == NULL && !hf_instant_before(now, due) &&
        hf_socket_is_dead(&consul->http.socket)) {
        hf_consul_node_fail(consul, HF_UNAVAILABLE, "connection lost");
        hf_ordered_down(&consul->ordered, true, HF_UNAVAILABLE,
                        "connection lost");
    }
}

/* ---- Life ---------------------------------------------------------------- */

void hf_consul_node_open(struct hf_consul *consul, struct hf_instant now)
{
    static const struct hf_http_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .lost = on_lost,
        .closed = on_closed,
    };
    hf_http_init(&consul->http, consul->ordered.env.loop, &events,
                 &hf_consul_limits);
    consul->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(consul->ordered.env.loop, &consul->timer);
    hf_reconnect_init(&consul->reconnect);
    hf_entropy(&consul->seed, sizeof(consul->seed));
    /* The clients of a fleet begin at different members. */
    consul->at = (unsigned)(consul->seed >> 33) % consul->n_endpoints;
    consul->reconnect.retry_at = now;
    consul->phase = HF_CONSUL_WAITING;
    connect_now(consul, now);
    arm(consul);
}

void hf_consul_node_close(struct hf_consul *consul, bool forked)
{
    hf_consul_watches_free(consul, true, forked);
    hf_loop_drop_timer(consul->ordered.env.loop, &consul->timer);
    hf_http_fini(&consul->http, forked);
}

/* A client that was idle read no event: the handshake may have ended long ago.
 */
static void begin_again(struct hf_consul *consul, struct hf_instant now)
{
    hf_http_close(&consul->http, false);
    consul->phase = HF_CONSUL_WAITING;
    connect_now(consul, now);
}

void hf_consul_node_resume(struct hf_consul *consul, struct hf_instant now)
{
    if (consul->phase == HF_CONSUL_OPENING &&
        !hf_instant_before(now, consul->http.timer.at)) {
        begin_again(consul, now);
    }
    if (consul->phase == HF_CONSUL_WAITING &&
        hf_http_state(&consul->http) == HF_HTTP_CLOSED &&
        !hf_instant_before(now, consul->reconnect.retry_at)) {
        hf_ordered_down(&consul->ordered, true, consul->ordered.fault,
                        consul->ordered.reason);
        consul->failed = 0;
        connect_now(consul, now);
    }
    arm(consul);
}
