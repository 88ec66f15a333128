/* SPDX-License-Identifier: Apache-2.0 */
/* ALL ENDPOINTS, FOR `holdfast doctor`
 *
 *     examined ──▶ [connect ──▶ ask ──▶ judge ──▶ close] of each one, that in
 *     use first ──▶ the jobs end
 *
 * A client uses one endpoint until that fails. If another one is of another
 * cluster, clients that begin there get locks that are held here, and none of
 * them can detect it. So doctor compares all of them. It has a connection of
 * its own for that: the client may hold locks by the other one.
 *
 * Cost: one round trip and a connection for each, and at most TOUR_MS in all,
 * which leaves time for the examination itself (client/node_admin.c). */
#include "store/endpoints/endpoints.h"

#include <stdio.h>

/* Milliseconds for all endpoints together: a job of doctor ends within 5 s, and
 * the endpoint in use was examined before. */
#define TOUR_MS 2000

static struct hf_endpoints_tour *tour_of(struct hf_http *http)
{
    return (struct hf_endpoints_tour *)(void *)http;
}

static void find(struct hf_endpoints_tour *tour, enum hf_severity severity,
                 const char *what)
{
    tour->has_found = true;
    if (severity != HF_FINDING_OK) {
        hf_jobs_report(&tour->node->ordered.jobs, severity,
                       "endpoint %.100s %s", tour->node->list[tour->at].shown,
                       what);
    }
}

/* Another job may have taken the place of one that was canceled. */
static void end(struct hf_endpoints_tour *tour)
{
    struct hf_endpoints *node = tour->node;
    node->ordered.is_probing = false;
    if (node->ordered.jobs.sink.user == tour->user) {
        hf_jobs_finish(&node->ordered.jobs, HF_OK, NULL);
    } else {
        hf_timer_set(&node->timer, HF_LONG_AGO);
    }
}

static bool ask(struct hf_endpoints_tour *tour, struct hf_instant now)
{
    struct hf_endpoints *node = tour->node;
    struct hf_socket_target target = hf_endpoints_target(node, tour->at);
    struct hf_http_request request = {0};
    struct hf_span timeout = hf_span_min(
        node->connect_timeout, hf_span_div(hf_span_ms(TOUR_MS), node->n));
    bool is_ready = node->ops->visit(node, &request);
    request.timeout = timeout;
    hf_http_start(&tour->http, &target, timeout, now);
    return is_ready && hf_http_ask(&tour->http, &request, now);
}

static void visit(struct hf_endpoints_tour *tour, struct hf_instant now)
{
    tour->has_found = false;
    if (!ask(tour, now)) {
        hf_http_close(&tour->http, false);
        find(tour, HF_FINDING_WARNING, "was not asked: out of memory");
        end(tour);
    }
}

/* ---- Events -------------------------------------------------------------- */

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    (void)http; /* the request is queued */
    (void)now;
}

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_endpoints_tour *tour = tour_of(http);
    char what[HF_TEXT_ADVICE] = "";
    (void)request;
    (void)now;
    find(tour, tour->node->ops->judge(tour->node, reply, what, sizeof(what)),
         what);
    hf_http_break(http, "asked");
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    (void)http; /* it closes */
    (void)request;
    (void)is_unsent;
    (void)now;
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct hf_endpoints_tour *tour = tour_of(http);
    struct hf_endpoints *node = tour->node;
    char what[HF_TEXT_ADVICE];
    if (!tour->has_found) {
        snprintf(what, sizeof(what), "does not serve: %s", http->reason);
        find(tour, HF_FINDING_WARNING, what);
    }
    tour->at = (tour->at + 1) % node->n;
    if (tour->at == tour->first || node->ordered.jobs.sink.user != tour->user) {
        end(tour);
    } else {
        visit(tour, now);
    }
}

/* ---- Life ---------------------------------------------------------------- */

void hf_endpoints_tour_begin(struct hf_endpoints *node, struct hf_instant now)
{
    static const struct hf_http_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .lost = on_lost,
        .closed = on_closed,
    };
    struct hf_endpoints_tour *tour = &node->tour;
    if (tour->node == NULL) {
        hf_http_init(&tour->http, node->ordered.env.loop, &events,
                     node->ops->limits);
        tour->node = node;
    }
    hf_http_close(&tour->http, false); /* one that was not over */
    tour->user = node->ordered.jobs.sink.user;
    tour->at = tour->first = node->at;
    node->ordered.is_probing = true;
    if (node->n > 1) {
        visit(tour, now);
    } else {
        end(tour);
    }
}

void hf_endpoints_tour_fini(struct hf_endpoints *node, bool is_forked)
{
    if (node->tour.node != NULL) {
        hf_http_fini(&node->tour.http, is_forked);
    }
}
