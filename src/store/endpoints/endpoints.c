/* SPDX-License-Identifier: Apache-2.0 */
/* THE CONNECTION, AND THE ENDPOINTS IN TURN
 *
 * One endpoint serves until it fails: it cannot be reached, is silent, or has
 * no leader. Then the next one is tried at once, and when each has failed,
 * after a back-off. The node is DOWN only then.
 *
 * The addresses of an endpoint's name serve in the same way: one is in use
 * until it fails, and each round through the endpoints begins with the next
 * address of each. So one that accepts connections and answers nothing hides no
 * other.
 *
 * Cost: one connection, however many endpoints there are. A failure costs a
 * connection and a handshake at the next one. */
#include "store/endpoints/endpoints.h"

#include "base/assert.h"
#include "base/fail.h"
#include "io/clock.h"
#include "io/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. Look
 * before a request is sent: it is then UNSENT instead of UNKNOWN. A busy
 * connection does without that system call. */
#define IDLE_MS 1000

static struct hf_endpoints *node_of(struct hf_http *http)
{
    return (struct hf_endpoints *)(void *)((char *)http -
                                           offsetof(struct hf_endpoints, http));
}

static void arm(struct hf_endpoints *node)
{
    struct hf_instant at = HF_NEVER;
    if (node->phase == HF_ENDPOINTS_WAITING) {
        at = node->reconnect.retry_at;
    }
    for (const struct hf_endpoints_watch *watch = node->watches; watch != NULL;
         watch = watch->next) {
        at = watch->is_dropped ? HF_LONG_AGO : at;
    }
    if (hf_ordered_jobs_are_due(&node->ordered) &&
        (node->phase == HF_ENDPOINTS_READY ||
         node->phase == HF_ENDPOINTS_FOREIGN)) {
        at = HF_LONG_AGO;
    }
    hf_timer_set(&node->timer, at);
}

/* ---- Connecting ---------------------------------------------------------- */

struct hf_socket_target hf_endpoints_target(const struct hf_endpoints *node,
                                            unsigned at)
{
    const struct hf_wire_host *endpoint = &node->list[at];
    return (struct hf_socket_target){.host = endpoint->host,
                                     .port = endpoint->port,
                                     .turn = node->turn,
                                     .tls = node->tls};
}

static void connect_now(struct hf_endpoints *node, struct hf_instant now)
{
    struct hf_socket_target target = hf_endpoints_target(node, node->at);
    HF_ASSERT(node->phase == HF_ENDPOINTS_WAITING);
    node->phase = HF_ENDPOINTS_OPENING;
    hf_http_start(&node->http, &target, node->connect_timeout, now);
}

void hf_endpoints_ready(struct hf_endpoints *node, struct hf_instant now)
{
    node->phase = HF_ENDPOINTS_READY;
    hf_reconnect_served(&node->reconnect, now);
    hf_ordered_up(&node->ordered, now);
}

/* ---- Failing ------------------------------------------------------------- */

void hf_endpoints_fail(struct hf_endpoints *node, enum hf_status fault,
                       const char *why)
{
    char copy[sizeof(node->why)];
    snprintf(copy, sizeof(copy), "%s", why); /* it may be `why` itself */
    memcpy(node->why, copy, sizeof(copy));
    node->fault = fault;
    if (node->phase != HF_ENDPOINTS_FOREIGN) {
        node->phase = HF_ENDPOINTS_BREAKING;
    }
    hf_http_break(&node->http, copy);
}

void hf_endpoints_foreign(struct hf_endpoints *node, struct hf_instant now)
{
    node->phase = HF_ENDPOINTS_FOREIGN;
    hf_http_break(&node->http, node->why);
    hf_ordered_lose_all(&node->ordered, node->why, now);
}

/* ---- Events -------------------------------------------------------------- */

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    struct hf_endpoints *node = node_of(http);
    node->ops->opened(node, now);
}

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_endpoints *node = node_of(http);
    bool was_ready = node->phase == HF_ENDPOINTS_READY;
    node->ops->replied(node, request, reply, now);
    if (was_ready && node->phase == HF_ENDPOINTS_READY) {
        node->failed = 0; /* a handshake proves less: a learner answers it */
    }
    hf_ordered_check(&node->ordered);
    arm(node);
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    struct hf_endpoints *node = node_of(http);
    if (node->phase != HF_ENDPOINTS_FOREIGN) {
        node->phase = HF_ENDPOINTS_BREAKING;
    }
    node->ops->lost(node, request, is_unsent, now);
}

/* The next endpoint at once, if it has not failed; else after a back-off. */
static void fail_over(struct hf_endpoints *node, enum hf_status fault,
                      const char *why, struct hf_instant now)
{
    bool is_quick = hf_reconnect_plan(&node->reconnect, &node->seed, now);
    hf_reconnect_closed(&node->reconnect);
    node->at = (node->at + 1) % node->n;
    node->turn += node->at == 0;
    node->failed++;
    bool has_other = node->failed < node->n;
    if (has_other) {
        node->reconnect.retry_at = now;
    }
    hf_ordered_down(&node->ordered, has_other || is_quick, fault, why);
    if (has_other || is_quick) {
        connect_now(node, now);
    } else {
        hf_jobs_finish(&node->ordered.jobs, fault, why);
    }
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct hf_endpoints *node = node_of(http);
    char why[sizeof(node->ordered.standing.reason)];
    if (node->ops->closed != NULL) {
        node->ops->closed(node, now);
    }
    node->ordered.is_probing = false;
    if (node->phase == HF_ENDPOINTS_FOREIGN) {
        return;
    }
    enum hf_status fault = node->fault == HF_OK ? HF_UNAVAILABLE : node->fault;
    node->fault = HF_OK;
    node->phase = HF_ENDPOINTS_WAITING;
    if (node->n > 1) {
        snprintf(why, sizeof(why), "%.80s: %.115s", hf_endpoints_shown(node),
                 http->reason);
    } else {
        snprintf(why, sizeof(why), "%s", http->reason);
    }
    fail_over(node, fault, why, now);
    arm(node);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_endpoints *node =
        (struct hf_endpoints *)(void *)((char *)timer -
                                        offsetof(struct hf_endpoints, timer));
    hf_endpoints_watches_free(node, false, false);
    if (node->phase == HF_ENDPOINTS_READY &&
        hf_ordered_jobs_serve(&node->ordered)) {
        node->ops->examine(node, now);
    } else if (node->phase == HF_ENDPOINTS_FOREIGN) {
        hf_jobs_finish(&node->ordered.jobs, HF_CONFIG, node->why);
    }
    if (node->phase == HF_ENDPOINTS_WAITING &&
        !hf_instant_before(now, node->reconnect.retry_at)) {
        node->failed = 0;
        connect_now(node, now);
    }
    arm(node);
}

void hf_endpoints_look(struct hf_endpoints *node, struct hf_instant now)
{
    struct hf_instant due =
        hf_instant_add(node->http.heard_at, hf_span_ms(IDLE_MS));
    if (node->phase == HF_ENDPOINTS_READY &&
        hf_http_state(&node->http) == HF_HTTP_OPEN &&
        hf_http_oldest(&node->http) == NULL && !hf_instant_before(now, due) &&
        hf_socket_is_dead(&node->http.socket)) {
        hf_endpoints_fail(node, HF_UNAVAILABLE, "connection lost");
        hf_ordered_down(&node->ordered, true, HF_UNAVAILABLE,
                        "connection lost");
    }
}

/* ---- Life ---------------------------------------------------------------- */

static struct hf_endpoints *node_of_store(struct hf_store *base)
{
    return (struct hf_endpoints *)(void *)base;
}

static void node_free(struct hf_endpoints *node)
{
    hf_ordered_fini(&node->ordered);
    node->ops->fini(node);
    hf_wire_hosts_fini(node->list, node->n);
    hf_tls_free(node->tls);
    free(node);
}

static enum hf_status set_up(struct hf_endpoints *node,
                             const struct hf_url *url, struct hf_error *error)
{
    const struct hf_store_ops *store = node->ops->store;
    enum hf_status status = node->ops->set_up(node, url, error);
    node->node_timeout = url->has_node_timeout
                             ? hf_span_ms(url->node_timeout_ms)
                             : store->node_timeout;
    node->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    if (status != HF_OK) {
        return status;
    }
    return strcmp(url->scheme, store->schemes[1]) == 0
               ? hf_url_load_tls(url, store->schemes[0], &node->tls, error)
               : hf_url_refuse_tls(url, store->schemes[1], error);
}

static void begin(struct hf_endpoints *node, struct hf_instant now)
{
    static const struct hf_http_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .lost = on_lost,
        .closed = on_closed,
    };
    hf_http_init(&node->http, node->ordered.env.loop, &events,
                 node->ops->limits);
    node->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(node->ordered.env.loop, &node->timer);
    hf_reconnect_init(&node->reconnect);
    hf_entropy(&node->seed, sizeof(node->seed));
    /* The clients of a fleet begin at different members. */
    node->at = (unsigned)(node->seed >> 33) % node->n;
    node->reconnect.retry_at = now;
    node->phase = HF_ENDPOINTS_WAITING;
    connect_now(node, now);
    arm(node);
}

enum hf_status hf_endpoints_open(const struct hf_endpoints_ops *ops,
                                 const struct hf_url *url,
                                 const struct hf_store_env *env,
                                 struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    struct hf_endpoints *node = calloc(1, ops->size);
    if (node == NULL) {
        return hf_fail_memory(error);
    }
    node->ops = ops;
    hf_ordered_init(&node->ordered, ops->store, (struct hf_wire *)(void *)node,
                    ops->wire, env);
    enum hf_status status = set_up(node, url, error);
    if (status != HF_OK) {
        node_free(node);
        return status;
    }
    begin(node, hf_clock_now());
    *out = &node->ordered.base;
    return HF_OK;
}

void hf_endpoints_close(struct hf_store *base, bool is_forked)
{
    struct hf_endpoints *node = node_of_store(base);
    if (!is_forked) {
        hf_ordered_close(&node->ordered, hf_clock_now());
    }
    hf_endpoints_watches_free(node, true, is_forked);
    hf_endpoints_tour_fini(node, is_forked);
    hf_loop_drop_timer(node->ordered.env.loop, &node->timer);
    hf_http_fini(&node->http, is_forked);
    node_free(node);
}

/* ---- The table ----------------------------------------------------------- */

/* A client that was idle read no event: the handshake may have ended long ago.
 */
static void begin_again(struct hf_endpoints *node, struct hf_instant now)
{
    hf_http_close(&node->http, false);
    node->phase = HF_ENDPOINTS_WAITING;
    connect_now(node, now);
}

void hf_endpoints_resume(struct hf_store *base, struct hf_instant now)
{
    struct hf_endpoints *node = node_of_store(base);
    if (node->phase == HF_ENDPOINTS_OPENING &&
        !hf_instant_before(now, node->http.timer.at)) {
        begin_again(node, now);
    }
    if (node->phase == HF_ENDPOINTS_WAITING &&
        hf_http_state(&node->http) == HF_HTTP_CLOSED &&
        !hf_instant_before(now, node->reconnect.retry_at)) {
        hf_ordered_down(&node->ordered, true, node->ordered.standing.fault,
                        node->ordered.standing.reason);
        node->failed = 0;
        connect_now(node, now);
    }
    arm(node);
}

void hf_endpoints_describe(const struct hf_store *base, unsigned index,
                           struct hf_instant now, struct hf_node *out)
{
    const struct hf_endpoints *node =
        (const struct hf_endpoints *)(const void *)base;
    (void)index;
    (void)now;
    hf_ordered_describe(&node->ordered, hf_endpoints_shown(node), out);
}

void hf_endpoints_job(struct hf_store *base, unsigned index, enum hf_job job,
                      const struct hf_job_sink *sink)
{
    struct hf_endpoints *node = node_of_store(base);
    hf_jobs_add(&node->ordered.jobs, index, job, sink);
    if (node->phase == HF_ENDPOINTS_WAITING) {
        node->reconnect.retry_at = HF_LONG_AGO;
    }
    if (node->phase == HF_ENDPOINTS_WAITING ||
        node->phase == HF_ENDPOINTS_READY ||
        node->phase == HF_ENDPOINTS_FOREIGN) {
        hf_timer_set(&node->timer, HF_LONG_AGO);
    }
}
