/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: each has a connection of its own, since its reply has no end, or
 * comes late. Its request and its reply are the store's. A callback of its
 * connection may be on the stack when it is dropped, so a timer frees it.
 *
 * Cost: a connection each, and its handshakes, before the request is sent. A
 * client has WATCHES_MAX at most. */
#include "store/endpoints/endpoints.h"

#include <stdlib.h>

/* Connections for watches. The loop of a client has room for 64 (io/loop.c). A
 * waiter for one more name finds its grant by a heartbeat. A watch that was
 * dropped is closed at once, and leaves its room to the one that replaces it.
 */
#define WATCHES_MAX 40

static struct hf_endpoints_watch *watch_of(struct hf_http *http)
{
    return (struct hf_endpoints_watch *)(void *)http;
}

/* ---- Events -------------------------------------------------------------- */

void hf_endpoints_watch_fail(struct hf_endpoints_watch *watch,
                             struct hf_instant now)
{
    if (!watch->is_dropped) {
        watch->is_dropped = true;
        hf_http_close(&watch->http, false);
        hf_timer_set(&watch->node->timer, HF_LONG_AGO);
        hf_ordered_unwatched(&watch->node->ordered, watch->user, now);
    }
}

void hf_endpoints_watch_opened(struct hf_http *http, struct hf_instant now)
{
    (void)http; /* the request is queued */
    (void)now;
}

void hf_endpoints_watch_lost(struct hf_http *http,
                             const struct hf_http_pending *request,
                             bool is_unsent, struct hf_instant now)
{
    (void)request;
    (void)is_unsent;
    hf_endpoints_watch_fail(watch_of(http), now);
}

void hf_endpoints_watch_closed(struct hf_http *http, struct hf_instant now)
{
    hf_endpoints_watch_fail(watch_of(http), now);
}

/* ---- Life ---------------------------------------------------------------- */

static bool has_room(const struct hf_endpoints *node)
{
    unsigned n = 0;
    for (const struct hf_endpoints_watch *watch = node->watches; watch != NULL;
         watch = watch->next) {
        n += !watch->is_dropped;
    }
    return n < WATCHES_MAX;
}

void *hf_endpoints_watch_new(struct hf_endpoints *node, size_t size, void *user,
                             const struct hf_http_events *events,
                             const struct hf_http_limits *limits)
{
    struct hf_endpoints_watch *watch = has_room(node) ? calloc(1, size) : NULL;
    if (watch != NULL) {
        hf_http_init(&watch->http, node->ordered.env.loop, events, limits);
        watch->node = node;
        watch->user = user;
    }
    return watch;
}

static void watch_free(struct hf_endpoints_watch *watch, bool quiet)
{
    hf_http_fini(&watch->http, quiet);
    watch->node->ops->watch_fini(watch);
    free(watch);
}

bool hf_endpoints_watch_keep(struct hf_endpoints_watch *watch, bool is_asked,
                             struct hf_wire_watch **out)
{
    if (!is_asked) {
        watch_free(watch, false);
        return false;
    }
    watch->next = watch->node->watches;
    watch->node->watches = watch;
    *out = (struct hf_wire_watch *)(void *)watch;
    return true;
}

void hf_endpoints_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch)
{
    struct hf_endpoints_watch *dropped =
        (struct hf_endpoints_watch *)(void *)watch;
    dropped->is_dropped = true;
    hf_http_close(&dropped->http, false);
    hf_timer_set(&hf_endpoints_of_wire(wire)->timer, HF_LONG_AGO);
}

void hf_endpoints_watches_free(struct hf_endpoints *node, bool all,
                               bool is_forked)
{
    for (struct hf_endpoints_watch **at = &node->watches; *at != NULL;) {
        struct hf_endpoints_watch *watch = *at;
        if (watch->is_dropped || all) {
            *at = watch->next;
            watch_free(watch, is_forked);
        } else {
            at = &watch->next;
        }
    }
}
