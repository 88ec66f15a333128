/* SPDX-License-Identifier: Apache-2.0 */
/* WATCHES
 *
 * One for each name with waiters, on a connection of its own: a reply without
 * an end lets no other reply follow. It reports the deletion of one key, or
 * deletions below the name, each with the number of the key that was deleted,
 * and nothing that is put.
 * "hasleader" makes a member that lost its leader end the stream; without it
 * the stream would be silent.
 *
 * It begins with the moment at which the server makes it, not with the list
 * that it follows: a watch that has to catch up gets all its events up to
 * 100 ms late (syncWatchersLoop of etcd). The first message has the revision of
 * that moment. If it is past the list's, an end may have come between, and is
 * taken for one: the name is listed.
 *
 * The stream is one JSON text a line. A watch that is canceled keeps its stream
 * open, so that is an end of ours. Any end is reported once: the machine lists,
 * and watches again.
 *
 * Cost: a connection for each watch, and one request on it; then one message
 * for the ends of one moment, without a request of ours. */
#include "store/etcd/etcd.h"

#include "base/secret.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes. One message has the events of one moment: the end of a lease that held
 * the entries of 10,000 waiters of one name has 4 MB. */
#define LINE_MAX_BYTES (32 * 1024 * 1024)

/* Bytes. The connection carries one request. Its key has under 5 KB: a name of
 * 1 KB may be escaped, which makes it three times as long. The body has two
 * such keys in base64, 13 KB, and the head a token of at most 8 KB. */
#define OUTPUT_MAX (64 * 1024)

static const char *const kept[] = {NULL};
static const struct hf_http_limits limits = {
    kept,       HF_ENDPOINTS_HEAD_MAX, LINE_MAX_BYTES,
    OUTPUT_MAX, HF_ETCD_SCHEME,        NULL};

static struct hf_etcd_watch *watch_of(struct hf_http *http)
{
    return (struct hf_etcd_watch *)(void *)http;
}

static struct hf_etcd *etcd_of(const struct hf_etcd_watch *watch)
{
    return hf_etcd_of(watch->base.node);
}

static void fail(struct hf_etcd_watch *watch, struct hf_instant now)
{
    hf_endpoints_watch_fail(&watch->base, now);
}

/* Its stream is closed, and begins again where it would have begun. */
static void await_login(struct hf_etcd_watch *watch, struct hf_instant now)
{
    watch->waits_for_login = true;
    hf_http_close(&watch->base.http, false);
    hf_etcd_login_renew(etcd_of(watch), now);
}

/* ---- The stream ---------------------------------------------------------- */

static void take_message(struct hf_etcd_watch *watch, const json_t *message,
                         struct hf_instant now)
{
    const json_t *result = json_object_get(message, "result");
    const json_t *events = json_object_get(result, "events");
    const json_t *header = json_object_get(result, "header");
    uint64_t revision = hf_etcd_number(header, "revision");
    if (hf_etcd_login_is_expired(
            etcd_of(watch),
            json_string_value(json_object_get(result, "cancel_reason")))) {
        await_login(watch, now);
        return;
    }
    if (result == NULL || json_is_true(json_object_get(result, "canceled")) ||
        !hf_etcd_node_check_cluster(etcd_of(watch), header, now)) {
        fail(watch, now);
    }
    if (json_is_true(json_object_get(result, "created")) &&
        revision > watch->revision && !watch->base.is_dropped) {
        hf_ordered_ended(&watch->base.node->ordered, watch->base.user, 0,
                         revision, now);
    }
    for (size_t i = 0; !watch->base.is_dropped && i < json_array_size(events);
         i++) {
        const json_t *ended =
            json_object_get(json_array_get(events, i), "prev_kv");
        hf_ordered_ended(&watch->base.node->ordered, watch->base.user,
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

/* Take the whole lines that have arrived; the rest is kept. */
static void take_lines(struct hf_etcd_watch *watch, struct hf_instant now)
{
    struct hf_wire_text *text = &watch->line;
    size_t begin = 0;
    const char *end;
    while (!watch->base.is_dropped && !watch->waits_for_login &&
           begin < text->len &&
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
    if (watch->base.is_dropped) {
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

/* ---- Life ---------------------------------------------------------------- */

static void write_body(struct hf_etcd_watch *watch,
                       const struct hf_wire_watched *scope)
{
    struct hf_wire_text key = {0};
    struct hf_wire_text *body = &watch->body;
    hf_etcd_key_folder(&key, etcd_of(watch)->prefix, scope->name);
    hf_wire_text_add(&key, scope->id.data, scope->id.len);
    hf_wire_text_say(body, "{\"create_request\":{\"key\":\"");
    hf_wire_text_base64(body, key.bytes, key.len);
    if (scope->id.len == 0 && key.len > 0) {
        key.bytes[key.len - 1]++;
        hf_wire_text_say(body, "\",\"range_end\":\"");
        hf_wire_text_base64(body, key.bytes, key.len);
    }
    hf_wire_text_say(body, "\",\"filters\":[\"NOPUT\"],"
                           "\"prev_kv\":true}}");
    body->has_failed |= key.has_failed;
    hf_wire_text_fini(&key);
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
    const struct hf_etcd *etcd = etcd_of(watch);
    struct hf_socket_target target =
        hf_endpoints_target(&etcd->node, etcd->node.at);
    char *headers = make_headers(etcd);
    struct hf_http_request request = {
        .method = "POST",
        .path = "/v3/watch",
        .headers = headers,
        .body = watch->body.bytes,
        .body_len = watch->body.len,
        .timeout = etcd->node.connect_timeout,
        .is_stream = true,
    };
    bool is_asked = false;
    if (headers != NULL && !watch->body.has_failed) {
        hf_http_start(&watch->base.http, &target, etcd->node.connect_timeout,
                      now);
        is_asked = hf_http_ask(&watch->base.http, &request, now);
    }
    hf_secret_free(headers);
    return is_asked;
}

void hf_etcd_watches_resume(struct hf_etcd *etcd, struct hf_instant now)
{
    for (struct hf_endpoints_watch *at = etcd->node.watches; at != NULL;
         at = at->next) {
        struct hf_etcd_watch *watch = (struct hf_etcd_watch *)(void *)at;
        if (watch->waits_for_login && !at->is_dropped) {
            watch->waits_for_login = false;
            if (!start(watch, now)) {
                fail(watch, now);
            }
        }
    }
}

void hf_etcd_watch_fini(struct hf_endpoints_watch *base)
{
    struct hf_etcd_watch *watch = (struct hf_etcd_watch *)(void *)base;
    hf_wire_text_fini(&watch->line);
    hf_wire_text_fini(&watch->body);
}

bool hf_etcd_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                   void *user, struct hf_instant now,
                   struct hf_wire_watch **out)
{
    static const struct hf_http_events events = {
        .opened = hf_endpoints_watch_opened,
        .piece = on_piece,
        .replied = on_replied,
        .lost = hf_endpoints_watch_lost,
        .closed = hf_endpoints_watch_closed,
    };
    *out = NULL;
    struct hf_etcd_watch *watch = hf_endpoints_watch_new(
        hf_endpoints_of_wire(wire), sizeof(*watch), user, &events, &limits);
    if (watch == NULL) {
        return false;
    }
    watch->revision = scope->revision;
    write_body(watch, scope);
    return hf_endpoints_watch_keep(&watch->base, start(watch, now), out);
}
