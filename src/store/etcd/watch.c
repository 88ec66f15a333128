/* SPDX-License-Identifier: Apache-2.0 */
/* WATCHES
 *
 * One for each name with waiters, on a connection of its own: a reply without
 * an end lets no other reply follow. It reports deletions below the name, from
 * after a revision, each with the number of the key that was deleted, and
 * nothing that is put. "hasleader" makes a member that lost its leader end the
 * stream; without it the stream would be silent.
 *
 * The server delivers what came before the watch was there up to 100 ms late
 * (syncWatchersLoop of etcd). So if the revision has moved until then, as the
 * first message tells, that is taken for an end: the name is listed.
 *
 * The stream is one JSON text a line. A watch that is canceled keeps its stream
 * open, so that is an end of ours. Any end is reported once: the machine lists,
 * and watches again. */
#include "store/etcd/etcd.h"

#include "base/secret.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes. One message has the events of one moment: the end of a lease that held
 * the entries of 10,000 waiters of one name has 4 MB. */
#define LINE_MAX_BYTES (32 * 1024 * 1024)
#define HEAD_MAX (16 * 1024)
#define OUTPUT_MAX (64 * 1024)

/* Connections for watches. The loop of a client has 64 places (io/loop.c). Who
 * waits for more names is told by its heartbeats, at most 2 s late. */
#define WATCHES_MAX 40

static const char *const kept[] = {NULL};
static const struct hf_http_limits limits = {kept, HEAD_MAX, LINE_MAX_BYTES,
                                             OUTPUT_MAX, HF_ETCD_SCHEME};

static struct hf_etcd_watch *watch_of(struct hf_http *http)
{
    return (struct hf_etcd_watch *)(void *)http;
}

static void fail(struct hf_etcd_watch *watch, struct hf_instant now)
{
    if (!watch->is_dropped) {
        watch->is_dropped = true;
        hf_timer_set(&watch->etcd->timer, HF_LONG_AGO);
        hf_ordered_unwatched(&watch->etcd->ordered, watch->user, now);
    }
}

/* Its stream is closed, and begins again where it would have begun. */
static void await_login(struct hf_etcd_watch *watch, struct hf_instant now)
{
    watch->waits_for_login = true;
    hf_http_close(&watch->http, false);
    hf_etcd_login_renew(watch->etcd, now);
}

/* ---- The stream ---------------------------------------------------------- */

static void take_message(struct hf_etcd_watch *watch, const json_t *message,
                         struct hf_instant now)
{
    const json_t *result = json_object_get(message, "result");
    const json_t *events = json_object_get(result, "events");
    const json_t *header = json_object_get(result, "header");
    uint64_t revision = hf_etcd_number(header, "revision");
    if (hf_etcd_login_is_expired(watch->etcd, json_string_value(json_object_get(
                                                  result, "cancel_reason")))) {
        await_login(watch, now);
        return;
    }
    if (result == NULL || json_is_true(json_object_get(result, "canceled")) ||
        !hf_etcd_node_is_same(watch->etcd, header, now)) {
        fail(watch, now);
    }
    if (json_is_true(json_object_get(result, "created")) &&
        revision > watch->revision && !watch->is_dropped) {
        hf_ordered_ended(&watch->etcd->ordered, watch->user, 0, revision, now);
    }
    for (size_t i = 0; !watch->is_dropped && i < json_array_size(events); i++) {
        const json_t *ended =
            json_object_get(json_array_get(events, i), "prev_kv");
        hf_ordered_ended(&watch->etcd->ordered, watch->user,
                         hf_etcd_number(ended, "create_revision"), revision,
                         now);
    }
}

static void take_line(struct hf_etcd_watch *watch, const char *line, size_t len,
                      struct hf_instant now)
{
    json_t *message = json_loadb(line, len, 0, NULL);
    if (message == NULL) {
        fail(watch, now);
    } else {
        take_message(watch, message, now);
    }
    json_decref(message);
}

/* Whole lines of what has arrived; the rest is kept. */
static void take_lines(struct hf_etcd_watch *watch, struct hf_instant now)
{
    struct hf_wire_text *text = &watch->line;
    size_t begin = 0;
    const char *end;
    while (!watch->is_dropped && !watch->waits_for_login && begin < text->len &&
           (end = memchr(text->bytes + begin, '\n', text->len - begin)) !=
               NULL) {
        size_t len = (size_t)(end - text->bytes) - begin;
        if (len > 0) {
            take_line(watch, text->bytes + begin, len, now);
        }
        begin += len + 1;
    }
    if (watch->waits_for_login) {
        text->len = 0;
    } else if (begin > 0) {
        text->len -= begin;
        memmove(text->bytes, text->bytes + begin, text->len);
    }
}

static void on_piece(struct hf_http *http,
                     const struct hf_http_pending *request,
                     const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_etcd_watch *watch = watch_of(http);
    (void)request;
    if (watch->is_dropped) {
        return;
    }
    hf_wire_text_add(&watch->line, reply->body, reply->body_len);
    if (watch->line.has_failed || watch->line.len > LINE_MAX_BYTES) {
        fail(watch, now);
    } else {
        take_lines(watch, now);
    }
}

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    (void)request;
    (void)reply;
    fail(watch_of(http), now);
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    (void)request;
    (void)is_unsent;
    fail(watch_of(http), now);
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    fail(watch_of(http), now);
}

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    (void)http; /* the request is queued */
    (void)now;
}

/* ---- Life ---------------------------------------------------------------- */

static void write_body(struct hf_etcd_watch *watch, struct hf_bytes name)
{
    struct hf_wire_text folder = {0};
    struct hf_wire_text *body = &watch->body;
    hf_etcd_key_folder(&folder, watch->etcd->prefix, name);
    hf_wire_text_say(body, "{\"create_request\":{\"key\":\"");
    hf_wire_text_base64(body, folder.bytes, folder.len);
    hf_wire_text_say(body, "\",\"range_end\":\"");
    if (folder.len > 0) {
        folder.bytes[folder.len - 1]++;
    }
    hf_wire_text_base64(body, folder.bytes, folder.len);
    hf_wire_text_say(body, "\",\"filters\":[\"NOPUT\"],\"prev_kv\":true,"
                           "\"start_revision\":\"");
    hf_wire_text_number(body, watch->revision + 1);
    hf_wire_text_say(body, "\"}}");
    body->has_failed |= folder.has_failed;
    hf_wire_text_free(&folder);
}

/* "hasleader", and the token. */
static char *make_headers(const struct hf_etcd *etcd)
{
    static const char own[] = "Grpc-Metadata-hasleader: true\r\n";
    const char *common = hf_etcd_headers(etcd);
    size_t size = sizeof(own) + strlen(common);
    char *headers = malloc(size);
    if (headers != NULL) {
        snprintf(headers, size, "%s%s", own, common);
    }
    return headers;
}

static bool start(struct hf_etcd_watch *watch, struct hf_instant now)
{
    const struct hf_etcd *etcd = watch->etcd;
    struct hf_socket_target target = hf_etcd_target(etcd);
    char *headers = make_headers(etcd);
    struct hf_http_request request = {
        .method = "POST",
        .path = "/v3/watch",
        .headers = headers,
        .body = watch->body.bytes,
        .body_len = watch->body.len,
        .timeout = etcd->connect_timeout,
        .is_stream = true,
    };
    bool is_asked = false;
    if (headers != NULL && !watch->body.has_failed) {
        hf_http_start(&watch->http, &target, etcd->connect_timeout, now);
        is_asked = hf_http_ask(&watch->http, &request, now);
    }
    hf_secret_free(headers);
    return is_asked;
}

void hf_etcd_watches_resume(struct hf_etcd *etcd, struct hf_instant now)
{
    for (struct hf_etcd_watch *watch = etcd->watches; watch != NULL;
         watch = watch->next) {
        if (watch->waits_for_login && !watch->is_dropped) {
            watch->waits_for_login = false;
            if (!start(watch, now)) {
                fail(watch, now);
            }
        }
    }
}

static void watch_free(struct hf_etcd_watch *watch, bool quiet)
{
    hf_http_fini(&watch->http, quiet);
    hf_wire_text_free(&watch->line);
    hf_wire_text_free(&watch->body);
    free(watch);
}

static bool has_place(const struct hf_etcd *etcd)
{
    unsigned n = 0;
    for (const struct hf_etcd_watch *watch = etcd->watches; watch != NULL;
         watch = watch->next) {
        n++;
    }
    return n < WATCHES_MAX;
}

bool hf_etcd_watch(struct hf_wire *wire, struct hf_bytes name,
                   uint64_t revision, void *user, struct hf_instant now,
                   struct hf_wire_watch **out)
{
    static const struct hf_http_events events = {
        .opened = on_opened,
        .piece = on_piece,
        .replied = on_replied,
        .lost = on_lost,
        .closed = on_closed,
    };
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    *out = NULL;
    struct hf_etcd_watch *watch =
        has_place(etcd) ? calloc(1, sizeof(*watch)) : NULL;
    if (watch == NULL) {
        return false;
    }
    hf_http_init(&watch->http, etcd->ordered.env.loop, &events, &limits);
    watch->etcd = etcd;
    watch->user = user;
    watch->revision = revision;
    write_body(watch, name);
    if (!start(watch, now)) {
        watch_free(watch, false);
        return false;
    }
    watch->next = etcd->watches;
    etcd->watches = watch;
    *out = (struct hf_wire_watch *)(void *)watch;
    return true;
}

/* A callback of its connection may be on the stack. */
void hf_etcd_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch)
{
    struct hf_etcd_watch *dropped = (struct hf_etcd_watch *)(void *)watch;
    dropped->is_dropped = true;
    hf_http_close(&dropped->http, false);
    hf_timer_set(&hf_etcd_of_wire(wire)->timer, HF_LONG_AGO);
}

void hf_etcd_watches_free(struct hf_etcd *etcd, bool all, bool forked)
{
    for (struct hf_etcd_watch **at = &etcd->watches; *at != NULL;) {
        struct hf_etcd_watch *watch = *at;
        if (watch->is_dropped || all) {
            *at = watch->next;
            watch_free(watch, forked);
        } else {
            at = &watch->next;
        }
    }
}
