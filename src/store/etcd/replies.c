/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES TO CALLS
 *
 * Numbers are strings in this JSON, bytes are base64, and members that are zero
 * are left out. Errors are in refusals.c. */
#include "store/etcd/etcd.h"
#include "store/ordered/wire_key.h"

#include "base/assert.h"
#include "base/fail.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header Date has whole seconds. */
#define CLOCK_STEP_MS 1000

uint64_t hf_etcd_number(const struct json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        return number < 0 ? 0 : (uint64_t)number;
    }
    const char *text = json_string_value(value);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return 0; /* "-1" of a lease that is gone, too */
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' ? 0 : number;
}

/* ---- Lists --------------------------------------------------------------- */

static bool reserve(struct hf_etcd *etcd, size_t bytes, size_t entries)
{
    if (bytes > etcd->arena_cap) {
        char *arena = realloc(etcd->arena, bytes);
        if (arena == NULL) {
            return false;
        }
        etcd->arena = arena;
        etcd->arena_cap = bytes;
    }
    if (entries > etcd->entries_cap) {
        struct hf_wire_entry *grown =
            realloc(etcd->entries, entries * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        etcd->entries = grown;
        etcd->entries_cap = entries;
    }
    return true;
}

/** A key as bytes, in the arena. @return its length; SIZE_MAX: no key. */
static size_t read_key(const json_t *text, char *out)
{
    return json_is_string(text)
               ? hf_wire_base64_read(json_string_value(text),
                                     json_string_length(text), out)
               : SIZE_MAX;
}

/** The lease that it is under, and its value, into `at`. @return bytes used. */
static size_t take_state(const json_t *kv, char *at, struct hf_wire_entry *out)
{
    size_t len = read_key(json_object_get(kv, "value"), at);
    uint64_t lease = hf_etcd_number(kv, "lease");
    if (lease != 0 && out->born_ttl_s > 0) {
        hf_wire_session_of(lease, out->entry.owner.session);
    }
    if (len == SIZE_MAX) {
        return 0;
    }
    hf_wire_value_read(at, len, out);
    return len;
}

/* The part after the folder is the entry: a name has no '/'. It is kept as it
 * is, and a copy of it is read. */
static bool take_kv(struct hf_etcd *etcd, const json_t *kv, char *at,
                    size_t *used, struct hf_wire_entry *out)
{
    size_t len = read_key(json_object_get(kv, "key"), at);
    size_t prefix_len = strlen(etcd->prefix);
    if (len == SIZE_MAX || len < prefix_len ||
        memcmp(at, etcd->prefix, prefix_len) != 0) {
        return false;
    }
    const char *slash = memchr(at + prefix_len, '/', len - prefix_len);
    const char *rest = slash == NULL ? at + prefix_len : slash + 1;
    size_t rest_len = len - (size_t)(rest - at);
    *out = (struct hf_wire_entry){0};
    out->id = (struct hf_bytes){rest, rest_len};
    memcpy(at + len, rest, rest_len);
    hf_etcd_key_read(at + len, rest_len, out);
    out->entry.number = hf_etcd_number(kv, "create_revision");
    out->version = hf_etcd_number(kv, "mod_revision");
    *used = len + rest_len;
    *used += take_state(kv, at + *used, out);
    return out->entry.number != 0 && out->version != 0;
}

static bool is_listed(const struct hf_wire_reply *reply,
                      const struct hf_wire_entry *entry)
{
    size_t i = 0;
    while (i < reply->n_entries &&
           reply->entries[i].entry.number != entry->entry.number) {
        i++;
    }
    return i < reply->n_entries;
}

/** Entries behind those of the reply, into the arena's `*begin`; of a second
 * range those that the first one has not.
 * @return false: not as etcd writes it, or no memory. */
static bool add_range(struct hf_etcd *etcd, const json_t *range, size_t *begin,
                      struct hf_wire_reply *reply)
{
    const json_t *kvs = json_object_get(range, "kvs");
    size_t n = json_array_size(kvs);
    bool is_second = reply->n_entries > 0;
    if (!reserve(etcd, 0, reply->n_entries + n + 1)) {
        return false;
    }
    reply->entries = etcd->entries;
    for (size_t i = 0; i < n; i++) {
        struct hf_wire_entry *entry = &etcd->entries[reply->n_entries];
        size_t used;
        if (!take_kv(etcd, json_array_get(kvs, i), etcd->arena + *begin, &used,
                     entry)) {
            return false;
        }
        *begin += used;
        reply->n_entries += !is_second || !is_listed(reply, entry);
    }
    return true;
}

static bool take_range(struct hf_etcd *etcd, const json_t *range,
                       size_t body_len, struct hf_wire_reply *reply)
{
    size_t begin = 0;
    return reserve(etcd, 2 * body_len + 1, 0) &&
           add_range(etcd, range, &begin, reply);
}

static bool take_txn(struct hf_etcd *etcd, const json_t *body, size_t body_len,
                     struct hf_wire_reply *reply)
{
    const json_t *responses = json_object_get(body, "responses");
    const json_t *range = NULL;
    size_t begin = 0;
    bool is_read = reserve(etcd, 2 * body_len + 1, 0);
    reply->has_changed = json_is_true(json_object_get(body, "succeeded"));
    for (size_t i = 0; is_read && i < json_array_size(responses); i++) {
        range = json_object_get(json_array_get(responses, i), "response_range");
        is_read = range == NULL || add_range(etcd, range, &begin, reply);
    }
    uint64_t count = hf_etcd_number(range, "count");
    bool has_more = count > reply->n_entries;
    reply->n_unlisted = has_more ? (size_t)count - reply->n_entries : 0;
    return is_read && range != NULL;
}

static bool take_read(struct hf_etcd *etcd, const json_t *body, size_t body_len,
                      size_t count, struct hf_wire_reply *reply)
{
    const json_t *responses = json_object_get(body, "responses");
    size_t begin = 0;
    if (count == 0) { /* versions were compared */
        reply->is_unchanged = json_is_true(json_object_get(body, "succeeded"));
        return true;
    }
    if (json_array_size(responses) != count ||
        !reserve(etcd, body_len + 1, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *range =
            json_object_get(json_array_get(responses, i), "response_range");
        const json_t *kv = json_array_get(json_object_get(range, "kvs"), 0);
        struct hf_wire_entry *entry = &etcd->entries[i];
        *entry = (struct hf_wire_entry){.born_ttl_s = 1}; /* it is ours */
        entry->entry.number = hf_etcd_number(kv, "create_revision");
        entry->version = hf_etcd_number(kv, "mod_revision");
        begin += take_state(kv, etcd->arena + begin, entry);
        if (range == NULL) {
            return false;
        }
    }
    reply->entries = etcd->entries;
    reply->n_entries = count;
    return true;
}

static bool take_removed(struct hf_etcd *etcd, const json_t *body,
                         size_t body_len, struct hf_wire_reply *reply)
{
    const json_t *kv = json_array_get(json_object_get(body, "prev_kvs"), 0);
    struct hf_wire_entry entry = {.born_ttl_s = 1};
    if (!reserve(etcd, body_len + 1, 0)) {
        return false;
    }
    (void)take_state(kv, etcd->arena, &entry);
    reply->has_changed =
        hf_etcd_number(body, "deleted") > 0 && entry.note.len == 0;
    return true;
}

/* ---- Names --------------------------------------------------------------- */

/* The next page begins after all keys of the last name. */
static bool take_position(struct hf_etcd *etcd, const char *key, size_t len)
{
    struct hf_wire_text *position = &etcd->position;
    size_t prefix_len = strlen(etcd->prefix);
    const char *slash = len < prefix_len
                            ? NULL
                            : memchr(key + prefix_len, '/', len - prefix_len);
    position->len = 0;
    position->has_failed = false;
    if (slash == NULL) {
        hf_wire_text_add(position, key, len);
        hf_wire_text_add(position, "", 1);
    } else {
        hf_wire_text_add(position, key, (size_t)(slash - key));
        hf_wire_text_say(position, "0"); /* the text after '/' */
    }
    return !position->has_failed;
}

static bool is_other_name(const struct hf_wire_reply *reply,
                          const struct hf_wire_entry *entry)
{
    const struct hf_wire_entry *last =
        reply->n_entries == 0 ? NULL : &entry[-1];
    return last == NULL || last->name.len != entry->name.len ||
           memcmp(last->name.data, entry->name.data, entry->name.len) != 0;
}

static bool take_names(struct hf_etcd *etcd, const json_t *body,
                       size_t body_len, struct hf_wire_reply *reply)
{
    const json_t *kvs = json_object_get(body, "kvs");
    bool has_more = json_is_true(json_object_get(body, "more"));
    size_t n = json_array_size(kvs);
    size_t begin = 0;
    if (!reserve(etcd, body_len + 1, n + 1)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char *at = etcd->arena + begin;
        size_t len =
            read_key(json_object_get(json_array_get(kvs, i), "key"), at);
        struct hf_wire_entry *entry = &etcd->entries[reply->n_entries];
        if (len == SIZE_MAX ||
            (i + 1 == n && has_more && !take_position(etcd, at, len))) {
            return false;
        }
        *entry = (struct hf_wire_entry){0};
        bool is_ours = hf_etcd_key_cut(etcd->prefix, at, len, entry) ||
                       hf_etcd_key_cut_mark(etcd->prefix, at, len, entry);
        reply->n_entries += is_ours && is_other_name(reply, entry);
        begin += len;
    }
    reply->entries = etcd->entries;
    if (has_more && n > 0) {
        reply->next =
            (struct hf_bytes){etcd->position.bytes, etcd->position.len};
    }
    return true;
}

static bool take_owned(struct hf_etcd *etcd, const json_t *body,
                       size_t body_len, struct hf_wire_reply *reply)
{
    const json_t *keys = json_object_get(body, "keys");
    size_t n = json_array_size(keys);
    size_t begin = 0;
    if (!reserve(etcd, body_len + 1, n + 1)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char *at = etcd->arena + begin;
        size_t len = read_key(json_array_get(keys, i), at);
        struct hf_wire_entry *entry = &etcd->entries[reply->n_entries];
        if (len == SIZE_MAX) {
            return false;
        }
        *entry = (struct hf_wire_entry){0};
        reply->n_entries += hf_etcd_key_cut(etcd->prefix, at, len, entry);
        begin += len;
    }
    reply->entries = etcd->entries;
    return true;
}

/* The clock is read for the header, when the range has been read. */
static bool take_mark(struct hf_etcd *etcd, const json_t *body, size_t body_len,
                      const struct hf_http_reply *http,
                      struct hf_wire_reply *reply)
{
    const json_t *kv = json_array_get(json_object_get(body, "kvs"), 0);
    reply->clock_ms = http->date_s > 0 ? http->date_s * 1000 : 0;
    reply->clock_step_ms = CLOCK_STEP_MS;
    if (kv == NULL) {
        return true;
    }
    if (!reserve(etcd, body_len + 1, 0)) {
        return false;
    }
    const json_t *value = json_object_get(kv, "value");
    size_t len = value == NULL ? 0 : read_key(value, etcd->arena);
    reply->mark = (struct hf_bytes){etcd->arena, len};
    reply->version = hf_etcd_number(kv, "mod_revision");
    return len != SIZE_MAX && reply->version != 0;
}

/* Its version is the revision of its last write. */
static bool take_value(struct hf_etcd *etcd, const json_t *body,
                       size_t body_len, const struct hf_http_reply *http,
                       struct hf_wire_reply *reply)
{
    bool is_read = take_mark(etcd, body, body_len, http, reply);
    reply->revision = reply->version;
    return is_read;
}

/* A put has the revision of its transaction, which the header names. */
static bool take_written(const json_t *body, struct hf_wire_reply *reply)
{
    reply->has_changed = json_is_true(json_object_get(body, "succeeded"));
    reply->version = reply->revision;
    return reply->revision != 0;
}

/* ---- All ----------------------------------------------------------------- */

/* A keepalive of a lease that is gone is no error: it has no TTL. */
static bool take_renewal(const json_t *body, struct hf_wire_reply *reply)
{
    const json_t *result = json_object_get(body, "result");
    if (hf_etcd_number(result, "TTL") == 0) {
        reply->outcome = HF_WIRE_GONE;
    }
    return hf_etcd_number(result, "ID") != 0;
}

static bool take_lease(const json_t *body, struct hf_wire_reply *reply)
{
    uint64_t ttl_s = hf_etcd_number(body, "TTL");
    uint64_t lease = hf_etcd_number(body, "ID");
    hf_wire_session_of(lease, reply->session);
    reply->ttl_ms = ttl_s > INT32_MAX ? INT32_MAX : (int64_t)ttl_s * 1000;
    return lease != 0 && ttl_s != 0;
}

static bool take_body(struct hf_etcd *etcd,
                      const struct hf_http_pending *request,
                      const struct hf_http_reply *http, const json_t *body,
                      struct hf_wire_reply *reply)
{
    size_t body_len = http->body_len;
    const struct hf_wire_call *call = request->user;
    switch ((enum hf_etcd_request_kind)request->cookie) {
    case HF_ETCD_LOG_IN:
    case HF_ETCD_GREET:
    case HF_ETCD_PROBE:
    case HF_ETCD_CLOSE:
        return true;
    case HF_ETCD_OPEN:
        return take_lease(body, reply);
    case HF_ETCD_RENEW:
        return take_renewal(body, reply);
    case HF_ETCD_OWNED:
        return take_owned(etcd, body, body_len, reply);
    case HF_ETCD_CREATE:
        return take_txn(etcd, body, body_len, reply);
    case HF_ETCD_LIST:
        return take_range(etcd, body, body_len, reply);
    case HF_ETCD_READ:
        return take_read(etcd, body, body_len, (size_t)call->note, reply);
    case HF_ETCD_MARK_READ:
        return take_mark(etcd, body, body_len, http, reply);
    case HF_ETCD_VALUE_READ:
        return take_value(etcd, body, body_len, http, reply);
    case HF_ETCD_VALUE_WRITE:
        return take_written(body, reply);
    case HF_ETCD_REPLACE:
    case HF_ETCD_MARK_WRITE:
        reply->has_changed = json_is_true(json_object_get(body, "succeeded"));
        return true;
    case HF_ETCD_SCAN:
        return take_names(etcd, body, body_len, reply);
    case HF_ETCD_REMOVE:
        return take_removed(etcd, body, body_len, reply);
    }
    return false;
}

/* The header is in the result of a stream's reply. */
static const json_t *header_of(const json_t *body)
{
    const json_t *result = json_object_get(body, "result");
    return json_object_get(result != NULL ? result : body, "header");
}

/* The term of the last entry that the member has applied. A member that is
 * asked for what a majority agrees on has applied what the leader of that
 * moment has, so the term is that leader's. The leader itself answers a
 * keepalive from its memory: it may have been replaced, and the member that
 * forwards the keepalive may not know it either. (etcd 3.4.23: applierV3.Range,
 * EtcdServer.LeaseRenew) */
static bool take_term(struct hf_etcd *etcd,
                      const struct hf_http_pending *request, const json_t *body,
                      struct hf_wire_reply *reply)
{
    const struct hf_wire_call *call = request->user;
    switch ((enum hf_etcd_request_kind)request->cookie) {
    case HF_ETCD_RENEW:
        reply->term = call->note;
        return true;
    case HF_ETCD_OPEN:
        etcd->term = hf_etcd_number(header_of(body), "raft_term");
        reply->term = HF_WIRE_TERM_ANY;
        return etcd->term != 0;
    case HF_ETCD_CREATE:
    case HF_ETCD_LIST:
    case HF_ETCD_READ:
    case HF_ETCD_REPLACE:
    case HF_ETCD_REMOVE:
    case HF_ETCD_MARK_READ:
    case HF_ETCD_MARK_WRITE:
    case HF_ETCD_VALUE_READ:
    case HF_ETCD_VALUE_WRITE:
        etcd->term = hf_etcd_number(header_of(body), "raft_term");
        reply->term = etcd->term;
        return etcd->term != 0;
    case HF_ETCD_LOG_IN:
    case HF_ETCD_GREET:
    case HF_ETCD_PROBE:
    case HF_ETCD_CLOSE:
    case HF_ETCD_OWNED:
    case HF_ETCD_SCAN:
        break;
    }
    return true;
}

static void read_reply(struct hf_etcd *etcd,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *http, const json_t *body,
                       struct hf_wire_reply *reply)
{
    bool is_error = http->status != 200 || !json_is_object(body) ||
                    json_object_get(body, "error") != NULL;
    if (is_error) {
        const json_t *error = json_object_get(body, "error");
        hf_etcd_refused(etcd, json_is_object(error) ? error : body, http,
                        reply);
        return;
    }
    reply->revision = hf_etcd_number(header_of(body), "revision");
    if (!take_term(etcd, request, body, reply) ||
        !take_body(etcd, request, http, body, reply)) {
        reply->outcome = HF_WIRE_LOST;
        reply->fault = HF_UNAVAILABLE;
        reply->reason = "its answer cannot be read, or memory is exhausted";
        snprintf(etcd->node.why, sizeof(etcd->node.why), "%s", reply->reason);
    }
}

/* Give it to the one that asked. */
static void deliver(struct hf_etcd *etcd, const struct hf_http_pending *request,
                    const json_t *body, const struct hf_wire_reply *reply,
                    struct hf_instant now)
{
    bool is_done = reply->outcome == HF_WIRE_DONE;
    struct hf_wire_call *call = request->user;
    if (request->cookie == HF_ETCD_LOG_IN) {
        hf_etcd_login_take(etcd, is_done ? body : NULL, now);
    } else if (request->cookie == HF_ETCD_GREET) {
        hf_etcd_node_greeted(etcd, is_done ? body : NULL, reply->fault, now);
    } else if (request->cookie == HF_ETCD_PROBE) {
        hf_etcd_examined(etcd, reply, now);
    } else {
        if (is_done) {
            etcd->n_expired =
                request->cookie == HF_ETCD_RENEW ? etcd->n_expired : 0;
            etcd->node.ordered.rtt = hf_span_smooth(
                etcd->node.ordered.rtt, hf_instant_until(request->sent, now));
        }
        call->done(call, reply, now);
    }
}

/** Is it of the cluster that was seen before, and later? */
static bool check_origin(struct hf_etcd *etcd,
                         const struct hf_http_pending *request,
                         const json_t *body, const struct hf_wire_reply *reply,
                         struct hf_instant now)
{
    bool is_new = request->cookie == HF_ETCD_CREATE && reply->has_changed;
    return hf_etcd_node_check_cluster(etcd, header_of(body), now) &&
           hf_etcd_node_check_revision(etcd, reply->revision, is_new, now);
}

void hf_etcd_take(struct hf_etcd *etcd, const struct hf_http_pending *request,
                  const struct hf_http_reply *http, struct hf_instant now)
{
    struct hf_wire_reply reply = {.outcome = HF_WIRE_DONE,
                                  .sent = request->sent};
    json_t *body = json_loadb(http->body, http->body_len, 0, NULL);
    read_reply(etcd, request, http, body, &reply);
    if (reply.outcome == HF_WIRE_DONE &&
        !check_origin(etcd, request, body, &reply, now)) {
        reply.outcome = HF_WIRE_LOST;
        reply.fault = HF_CONFIG;
        reply.reason = etcd->node.why;
    }
    if (reply.outcome == HF_WIRE_LOST) {
        hf_endpoints_fail(&etcd->node, reply.fault, etcd->node.why);
    }
    if (reply.outcome == HF_WIRE_UNSENT) {
        hf_etcd_login_renew(etcd, now);
    }
    hf_wire_reply_settle(&reply);
    deliver(etcd, request, body, &reply, now);
    json_decref(body);
}
