/* SPDX-License-Identifier: Apache-2.0 */
/* THE CONNECTION, AND THE ENDPOINTS IN TURN
 *
 * One endpoint serves until it fails: it cannot be reached, is silent, or has
 * no leader. Then the next one is tried at once, and when each has failed,
 * after a back-off. The node is DOWN only then.
 *
 * Where there is a login (login.c), it comes first.
 *
 * The greeting asks for the status, which needs no rights: version, leader, and
 * the cluster. A lease of one cluster means nothing to another, and its
 * revisions begin anew: if the cluster changes under a live client, all is
 * lost, and nothing is granted any more. */
#include "store/etcd/etcd.h"

#include "base/assert.h"
#include "io/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server may have closed a connection that was silent for this long. */
#define IDLE_MS 1000

/* Bytes. A list of 10,000 waiters has about 4 MB; the head of a reply of etcd
 * has 300 bytes. Requests: 10,000 renewals at once have 5 MB. */
#define BODY_MAX (32 * 1024 * 1024)
#define HEAD_MAX (16 * 1024)
#define OUTPUT_MAX (64 * 1024 * 1024)

static const char *const kept[] = {NULL};
static const struct hf_http_limits limits = {kept, HEAD_MAX, BODY_MAX,
                                             OUTPUT_MAX, HF_ETCD_SCHEME};

static struct hf_etcd *etcd_of(struct hf_http *http)
{
    return (struct hf_etcd *)(void *)((char *)http -
                                      offsetof(struct hf_etcd, http));
}

static void arm(struct hf_etcd *etcd)
{
    struct hf_instant at = HF_NEVER;
    if (etcd->phase == HF_ETCD_WAITING) {
        at = etcd->reconnect.retry_at;
    }
    for (const struct hf_etcd_watch *watch = etcd->watches; watch != NULL;
         watch = watch->next) {
        at = watch->is_dropped ? HF_LONG_AGO : at;
    }
    if (hf_ordered_jobs_are_due(&etcd->ordered) &&
        (etcd->phase == HF_ETCD_READY || etcd->phase == HF_ETCD_FOREIGN)) {
        at = HF_LONG_AGO;
    }
    hf_timer_set(&etcd->timer, at);
}

/* ---- Connecting ---------------------------------------------------------- */

static void connect_now(struct hf_etcd *etcd, struct hf_instant now)
{
    struct hf_socket_target target = hf_etcd_target(etcd);
    HF_ASSERT(etcd->phase == HF_ETCD_WAITING);
    etcd->phase = HF_ETCD_OPENING;
    etcd->term = 0;
    hf_http_start(&etcd->http, &target, etcd->connect_timeout, now);
}

void hf_etcd_node_greet(struct hf_etcd *etcd, struct hf_instant now)
{
    etcd->phase = HF_ETCD_GREETING;
    if (!hf_etcd_greet(etcd, now)) {
        hf_etcd_node_fail(etcd, HF_NO_MEMORY, "out of memory");
    }
}

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    struct hf_etcd *etcd = etcd_of(http);
    if (hf_etcd_login_is_set(etcd)) {
        etcd->phase = HF_ETCD_LOGGING_IN;
        hf_etcd_login_ask(etcd, now);
    } else {
        hf_etcd_node_greet(etcd, now);
    }
}

void hf_etcd_node_greeted(struct hf_etcd *etcd, const struct json_t *body,
                          enum hf_status fault, struct hf_instant now)
{
    if (etcd->phase == HF_ETCD_FOREIGN) {
        return;
    }
    const char *version = json_string_value(json_object_get(body, "version"));
    if (body == NULL) {
        hf_etcd_node_fail(etcd, fault, etcd->why);
        return;
    }
    if (hf_etcd_number(body, "leader") == 0) {
        hf_etcd_node_fail(etcd, HF_UNAVAILABLE, "has no leader");
        return;
    }
    snprintf(etcd->version, sizeof(etcd->version), "%s",
             version == NULL ? "?" : version);
    etcd->phase = HF_ETCD_READY;
    etcd->failed = 0;
    hf_reconnect_served(&etcd->reconnect, now);
    hf_ordered_up(&etcd->ordered, now);
    hf_etcd_watches_resume(etcd, now);
}

bool hf_etcd_node_is_same(struct hf_etcd *etcd, const struct json_t *header,
                          struct hf_instant now)
{
    uint64_t cluster = hf_etcd_number(header, "cluster_id");
    if (cluster == 0 || etcd->cluster == 0 || cluster == etcd->cluster) {
        etcd->cluster = cluster == 0 ? etcd->cluster : cluster;
        return true;
    }
    snprintf(etcd->why, sizeof(etcd->why),
             "is of another cluster (%llx) than before (%llx): its fences "
             "would begin anew. Open another client, once nothing uses the "
             "old cluster's fences",
             (unsigned long long)cluster, (unsigned long long)etcd->cluster);
    etcd->phase = HF_ETCD_FOREIGN;
    hf_http_break(&etcd->http, etcd->why);
    hf_ordered_lose_all(&etcd->ordered, etcd->why, now);
    return false;
}

/* ---- Failing ------------------------------------------------------------- */

void hf_etcd_node_fail(struct hf_etcd *etcd, enum hf_status fault,
                       const char *why)
{
    char copy[sizeof(etcd->why)];
    snprintf(copy, sizeof(copy), "%s", why); /* it may be `why` itself */
    memcpy(etcd->why, copy, sizeof(copy));
    etcd->fault = fault;
    if (etcd->phase != HF_ETCD_FOREIGN) {
        etcd->phase = HF_ETCD_BREAKING;
    }
    hf_http_break(&etcd->http, copy);
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct hf_etcd *etcd = etcd_of(http);
    char why[sizeof(etcd->ordered.reason)];
    hf_etcd_login_forget(etcd);
    etcd->ordered.jobs.is_probing = false;
    if (etcd->phase == HF_ETCD_FOREIGN) {
        return;
    }
    enum hf_status fault = etcd->fault == HF_OK ? HF_UNAVAILABLE : etcd->fault;
    etcd->fault = HF_OK;
    etcd->phase = HF_ETCD_WAITING;
    if (etcd->n_endpoints > 1) {
        snprintf(why, sizeof(why), "%.80s: %.100s",
                 etcd->endpoints[etcd->at].shown, http->reason);
    } else {
        snprintf(why, sizeof(why), "%s", http->reason);
    }
    bool is_quick = hf_reconnect_plan(&etcd->reconnect, &etcd->seed, now);
    hf_reconnect_closed(&etcd->reconnect);
    etcd->at = (etcd->at + 1) % etcd->n_endpoints;
    etcd->failed++;
    bool has_other = etcd->failed < etcd->n_endpoints;
    if (has_other) {
        etcd->reconnect.retry_at = now;
    }
    hf_ordered_down(&etcd->ordered, has_other || is_quick, fault, why);
    if (!has_other && !is_quick) {
        hf_ordered_jobs_end(&etcd->ordered, fault, why);
    }
    if (has_other || is_quick) {
        connect_now(etcd, now);
    }
    arm(etcd);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_etcd *etcd = etcd_of(http);
    hf_etcd_take(etcd, request, reply, now);
    hf_ordered_check(&etcd->ordered);
    arm(etcd);
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    struct hf_etcd *etcd = etcd_of(http);
    struct hf_wire_call *call = request->user;
    struct hf_wire_reply reply = {
        .outcome = is_unsent ? HF_WIRE_UNSENT : HF_WIRE_LOST,
        .sent = request->sent,
        .fault = HF_UNAVAILABLE,
        .reason = http->reason,
    };
    if (etcd->phase != HF_ETCD_FOREIGN) {
        etcd->phase = HF_ETCD_BREAKING;
    }
    if (request->cookie != HF_ETCD_GREET && call != NULL &&
        call->done != NULL) {
        call->done(call, &reply, now);
    }
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_etcd *etcd =
        (struct hf_etcd *)(void *)((char *)timer -
                                   offsetof(struct hf_etcd, timer));
    hf_etcd_watches_free(etcd, false, false);
    if (etcd->phase == HF_ETCD_READY && hf_ordered_jobs_serve(&etcd->ordered)) {
        hf_etcd_examine(etcd, now);
    } else if (etcd->phase == HF_ETCD_FOREIGN) {
        hf_ordered_jobs_end(&etcd->ordered, HF_CONFIG, etcd->why);
    }
    if (etcd->phase == HF_ETCD_WAITING &&
        !hf_instant_before(now, etcd->reconnect.retry_at)) {
        etcd->failed = 0;
        connect_now(etcd, now);
    }
    arm(etcd);
}

void hf_etcd_node_look(struct hf_etcd *etcd, struct hf_instant now)
{
    struct hf_instant due =
        hf_instant_add(etcd->http.heard_at, hf_span_ms(IDLE_MS));
    if (etcd->phase == HF_ETCD_READY &&
        hf_http_state(&etcd->http) == HF_HTTP_OPEN &&
        hf_http_oldest(&etcd->http) == NULL && !hf_instant_before(now, due) &&
        hf_socket_is_dead(&etcd->http.socket)) {
        hf_etcd_node_fail(etcd, HF_UNAVAILABLE, "connection lost");
        hf_ordered_down(&etcd->ordered, true, HF_UNAVAILABLE,
                        "connection lost");
    }
}

/* ---- Life ---------------------------------------------------------------- */

void hf_etcd_node_open(struct hf_etcd *etcd, struct hf_instant now)
{
    static const struct hf_http_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .lost = on_lost,
        .closed = on_closed,
    };
    hf_http_init(&etcd->http, etcd->ordered.env.loop, &events, &limits);
    etcd->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(etcd->ordered.env.loop, &etcd->timer);
    hf_reconnect_init(&etcd->reconnect);
    hf_entropy(&etcd->seed, sizeof(etcd->seed));
    /* The clients of a fleet begin at different members. */
    etcd->at = (unsigned)(etcd->seed >> 33) % etcd->n_endpoints;
    etcd->reconnect.retry_at = now;
    etcd->phase = HF_ETCD_WAITING;
    connect_now(etcd, now);
    arm(etcd);
}

void hf_etcd_node_close(struct hf_etcd *etcd, bool forked)
{
    hf_etcd_watches_free(etcd, true, forked);
    hf_loop_drop_timer(etcd->ordered.env.loop, &etcd->timer);
    hf_http_fini(&etcd->http, forked);
}

/* A client that was idle read no event: the handshake may have ended long ago.
 */
static void begin_again(struct hf_etcd *etcd, struct hf_instant now)
{
    hf_http_close(&etcd->http, false);
    etcd->phase = HF_ETCD_WAITING;
    connect_now(etcd, now);
}

void hf_etcd_node_resume(struct hf_etcd *etcd, struct hf_instant now)
{
    if (etcd->phase == HF_ETCD_OPENING &&
        !hf_instant_before(now, etcd->http.timer.at)) {
        begin_again(etcd, now);
    }
    if (etcd->phase == HF_ETCD_WAITING &&
        hf_http_state(&etcd->http) == HF_HTTP_CLOSED &&
        !hf_instant_before(now, etcd->reconnect.retry_at)) {
        hf_ordered_down(&etcd->ordered, true, etcd->ordered.fault,
                        etcd->ordered.reason);
        etcd->failed = 0;
        connect_now(etcd, now);
    }
    arm(etcd);
}
