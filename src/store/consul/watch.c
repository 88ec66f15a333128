/* SPDX-License-Identifier: Apache-2.0 */
/* WATCHES
 *
 * One for each name with waiters, on a connection of its own: a blocking query
 * for the keys of the name, which is answered when one of them changes, and
 * then asked again from the index of the answer. An entry that was in one list
 * and is not in the next has ended.
 *
 * As Consul's manual wants: an answer may come without a change; an index that
 * goes backwards is forgotten, and none is 0. If it goes backwards, or the
 * first list is newer than the watch, an end is reported without a number.
 *
 * Of one entry, the query is for its key, and a change of another key does not
 * answer it. The index of the answer is that of its last change, so it may be
 * less than that of the list before the watch: the query goes on from this. If
 * the key is gone, the index is that of all keys, which is no moment of a list:
 * none is reported. A key that its session has left has ended too, and one of
 * another program with each change (key_list.c).
 *
 * The answer is the leader's, but not confirmed by a majority: the machine
 * lists before it believes. A watch that fails is reported once; the machine
 * lists, and watches again.
 *
 * Cost: each change of a name is a list of it for each client that watches all
 * of it; of one entry, its end is one answer. */
#include "store/consul/consul.h"

#include "base/array.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How long a query may wait, in seconds: a server that was cut off is noticed
 * after this at the latest. Consul adds up to a sixteenth. */
#define WAIT_S 15
#define WAIT "15s"
#define SILENCE_MS ((WAIT_S + WAIT_S / 16 + 2) * 1000)

static struct hf_consul_watch *watch_of(struct hf_http *http)
{
    return (struct hf_consul_watch *)(void *)http;
}

static struct hf_consul *consul_of(const struct hf_consul_watch *watch)
{
    return hf_consul_of(watch->base.node);
}

/* ---- Asking -------------------------------------------------------------- */

static bool ask(struct hf_consul_watch *watch, struct hf_instant now)
{
    struct hf_wire_text *path = &watch->path;
    path->len = 0;
    hf_wire_text_say(path, "/v1/kv/");
    hf_wire_text_add(path, watch->folder.bytes, watch->folder.len);
    hf_consul_path_query(consul_of(watch), path,
                         watch->number != 0 ? "?wait=" WAIT
                                            : "?recurse&wait=" WAIT);
    if (watch->index > 0) {
        hf_wire_text_say(path, "&index=");
        hf_wire_text_number(path, watch->index);
    }
    hf_wire_text_add(path, "", 1);
    struct hf_http_request request = {
        .method = "GET",
        .path = path->bytes,
        .headers = consul_of(watch)->headers,
        .timeout = hf_span_ms(SILENCE_MS),
    };
    return !path->has_failed && !watch->folder.has_failed &&
           hf_http_ask(&watch->base.http, &request, now);
}

/* ---- Comparing ----------------------------------------------------------- */

static bool is_listed(const struct hf_consul_list *list, uint64_t number)
{
    size_t i = 0;
    while (i < list->n && list->entries[i].entry.number != number) {
        i++;
    }
    return i < list->n;
}

/** @return false: no memory. */
static bool keep(struct hf_consul_watch *watch,
                 const struct hf_wire_entry *entries, size_t n)
{
    uint64_t *known =
        hf_array_reserve(watch->known, &watch->known_cap, n, sizeof(*known));
    if (known == NULL) {
        return false;
    }
    watch->known = known;
    for (size_t i = 0; i < n; i++) {
        watch->known[i] = entries[i].entry.number;
    }
    watch->n_known = n;
    watch->has_known = true;
    return true;
}

/* Reports the ends since the last list. The machine does not unwatch in that,
 * but it may: then the rest is of no interest. */
static void compare(struct hf_consul_watch *watch, uint64_t index,
                    struct hf_instant now)
{
    struct hf_ordered *ordered = &watch->base.node->ordered;
    const struct hf_consul_list *list = &consul_of(watch)->heard;
    size_t n_ended = 0;
    for (size_t i = 0; watch->has_known && i < watch->n_known; i++) {
        if (!is_listed(list, watch->known[i])) {
            watch->known[n_ended++] = watch->known[i];
        }
    }
    for (size_t i = 0; i < n_ended && !watch->base.is_dropped; i++) {
        hf_ordered_ended(ordered, watch->base.user, watch->known[i], index,
                         now);
    }
}

static void take_one(struct hf_consul_watch *watch, uint64_t index,
                     struct hf_instant now)
{
    struct hf_consul *consul = consul_of(watch);
    watch->index = watch->index < index ? index : watch->index;
    if (!is_listed(&consul->heard, watch->number)) {
        hf_ordered_ended(&consul->node.ordered, watch->base.user, watch->number,
                         0, now);
    }
}

static bool take(struct hf_consul_watch *watch, const json_t *body,
                 const struct hf_http_reply *http, struct hf_instant now)
{
    struct hf_consul *consul = consul_of(watch);
    uint64_t index = hf_consul_index(http);
    bool is_back = index < watch->index;
    if (index == 0 || !hf_consul_list_read(&consul->heard, consul->prefix, body,
                                           0, false, http->body_len)) {
        return false;
    }
    if (watch->number != 0) {
        take_one(watch, index, now);
        return true;
    }
    if (is_back || (!watch->has_known && index > watch->index)) {
        hf_ordered_ended(&consul->node.ordered, watch->base.user, 0, index,
                         now);
    } else {
        compare(watch, index, now);
    }
    watch->index = is_back ? 0 : index;
    return watch->base.is_dropped ||
           keep(watch, consul->heard.entries, consul->heard.n);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct hf_consul_watch *watch = watch_of(http);
    bool is_list = reply->status == 200 || reply->status == 404;
    (void)request;
    if (watch->base.is_dropped) {
        return;
    }
    json_t *body = hf_consul_json(reply);
    bool is_taken = is_list && take(watch, body, reply, now);
    json_decref(body);
    if (!watch->base.is_dropped && (!is_taken || !ask(watch, now))) {
        hf_endpoints_watch_fail(&watch->base, now);
    }
}

/* ---- Life ---------------------------------------------------------------- */

/* The list that says "wait" is being given: its entries are known. */
static void know(struct hf_consul_watch *watch)
{
    const struct hf_consul *consul = consul_of(watch);
    const struct hf_consul_job *job = consul->delivering;
    if (job != NULL && job->reply.revision == watch->index &&
        job->folder.len == watch->folder.len && job->folder.len > 0 &&
        memcmp(job->folder.bytes, watch->folder.bytes, job->folder.len) == 0) {
        (void)keep(watch, job->reply.entries, job->reply.n_entries);
    }
}

/* Keys of other programs may have bytes that a path must escape: then all are
 * watched. Ours have none of these, nor has `consul lock`'s. */
static bool is_plain(const char *rest, size_t len)
{
    bool has_letter = false;
    for (size_t i = 0; i < len; i++) {
        bool is_letter = (rest[i] >= '0' && rest[i] <= '9') ||
                         (rest[i] >= 'A' && rest[i] <= 'Z') ||
                         (rest[i] >= 'a' && rest[i] <= 'z');
        if (!is_letter && (rest[i] == '\0' || !strchr("~-_.:@", rest[i]))) {
            return false;
        }
        has_letter |= is_letter;
    }
    return has_letter; /* not ".." */
}

static void aim(struct hf_consul_watch *watch,
                const struct hf_wire_watched *scope)
{
    const char *id = scope->id.data; /* its session, then its key */
    size_t before = HF_CONSUL_SESSION_LEN;
    watch->index = scope->revision;
    hf_consul_key_folder(&watch->folder, consul_of(watch)->prefix, scope->name);
    if (scope->id.len > before &&
        is_plain(id + before, scope->id.len - before)) {
        hf_wire_text_add(&watch->folder, id + before, scope->id.len - before);
        watch->number = scope->number;
    } else {
        know(watch);
    }
}

void hf_consul_watch_fini(struct hf_endpoints_watch *base)
{
    struct hf_consul_watch *watch = (struct hf_consul_watch *)(void *)base;
    hf_wire_text_fini(&watch->folder);
    hf_wire_text_fini(&watch->path);
    free(watch->known);
}

bool hf_consul_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                     void *user, struct hf_instant now,
                     struct hf_wire_watch **out)
{
    static const struct hf_http_events events = {
        .opened = hf_endpoints_watch_opened,
        .replied = on_replied,
        .lost = hf_endpoints_watch_lost,
        .closed = hf_endpoints_watch_closed,
    };
    struct hf_endpoints *node = hf_endpoints_of_wire(wire);
    *out = NULL;
    struct hf_consul_watch *watch = hf_endpoints_watch_new(
        node, sizeof(*watch), user, &events, &hf_consul_limits);
    if (watch == NULL) {
        return false;
    }
    struct hf_socket_target target = hf_endpoints_target(node, node->at);
    aim(watch, scope);
    hf_http_start(&watch->base.http, &target, node->connect_timeout, now);
    return hf_endpoints_watch_keep(&watch->base, ask(watch, now), out);
}
