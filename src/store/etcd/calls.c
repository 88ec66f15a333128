/* SPDX-License-Identifier: Apache-2.0 */
/* CALLS AS REQUESTS
 *
 *   open    lease/grant                       renew   lease/keepalive
 *   close   lease/revoke                      owned   lease/timetolive
 *   create  kv/txn: if (when) put, range; else range
 *   list    kv/range of the folder            read    kv/txn of ranges, or of
 *                                                     comparisons
 *   replace kv/txn: if it has that mod_revision, put or delete_range
 *   scan    kv/range of all keys, a page      remove  kv/deleterange
 *   mark    read: kv/range of its key; write: kv/txn: if it has that
 *   value   mod_revision, put; or, of a value, delete_range
 *
 * Ranges are linearizable, which is etcd's default. A transaction's range sees
 * its own put. The value of an entry that was never replaced is empty: all that
 * others need to know is in the key.
 *
 * Cost: one request, and one round trip, for each call. open, close, create,
 * replace, remove and the writes are entries of etcd's log. For ranges, and
 * transactions that only read, the leader asks a majority whether it is one. A
 * renewal is answered by the leader alone. */
#include "store/etcd/etcd.h"
#include "store/ordered/wire_key.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* As long as a member with a leader needs at most, in milliseconds: an election
 * takes one second by default. */
#define SILENCE_MS_MIN 1000
#define SILENCE_TIMEOUTS 2

/* Keys in a page of names: some 200 KB. The rest of a name that is in a page is
 * left out of the next one. */
#define SCAN_KEYS 1000

/* ---- Parts --------------------------------------------------------------- */

static struct hf_wire_text *begin(struct hf_etcd *etcd)
{
    etcd->body.len = 0;
    etcd->body.has_failed = false;
    return &etcd->body;
}

/* "key":"BASE64". */
static void say_base64_key(struct hf_etcd *etcd, const struct hf_wire_text *key)
{
    etcd->body.has_failed |= key->has_failed;
    hf_wire_text_say(&etcd->body, "\"key\":\"");
    hf_wire_text_base64(&etcd->body, key->bytes, key->len);
    hf_wire_text_say(&etcd->body, "\"");
}

/* "key":"BASE64 OF FOLDER","range_end":"…": the folder, and the key after it.
 */
static void say_range(struct hf_etcd *etcd, struct hf_bytes name)
{
    struct hf_wire_text folder = {0};
    hf_etcd_key_folder(&folder, etcd->prefix, name);
    if (folder.has_failed) {
        etcd->body.has_failed = true;
        hf_wire_text_fini(&folder);
        return;
    }
    say_base64_key(etcd, &folder);
    hf_wire_text_say(&etcd->body, ",\"range_end\":\"");
    folder.bytes[folder.len - 1]++;
    hf_wire_text_base64(&etcd->body, folder.bytes, folder.len);
    hf_wire_text_say(&etcd->body, "\"");
    hf_wire_text_fini(&folder);
}

/* A key of the folder, by its part after that. */
static void say_id(struct hf_etcd *etcd, struct hf_bytes name,
                   struct hf_bytes id)
{
    struct hf_wire_text key = {0};
    hf_etcd_key_folder(&key, etcd->prefix, name);
    hf_wire_text_add(&key, id.data, id.len);
    say_base64_key(etcd, &key);
    hf_wire_text_fini(&key);
}

static void say_key(struct hf_etcd *etcd, const struct hf_wire_key *key)
{
    struct hf_wire_text entry = {0};
    if (key->id.len > 0) {
        say_id(etcd, key->name, key->id);
        return;
    }
    hf_etcd_key_entry(&entry, etcd->prefix, key);
    say_base64_key(etcd, &entry);
    hf_wire_text_fini(&entry);
}

static bool post(struct hf_etcd *etcd, enum hf_etcd_request_kind kind,
                 const char *path, struct hf_wire_call *call,
                 struct hf_instant now)
{
    struct hf_http_request request = {
        .method = "POST",
        .path = path,
        .headers = hf_etcd_headers(etcd),
        .body = etcd->body.bytes,
        .body_len = etcd->body.len,
        .timeout = hf_span_max(
            hf_span_ms(SILENCE_MS_MIN),
            hf_span_scale(etcd->node.node_timeout, SILENCE_TIMEOUTS)),
        .cookie = kind,
        .user = call,
    };
    bool is_handshake =
        kind == HF_ETCD_GREET && etcd->node.phase == HF_ENDPOINTS_GREETING;
    if (etcd->body.has_failed ||
        (!is_handshake && etcd->node.phase != HF_ENDPOINTS_READY)) {
        return false;
    }
    if (is_handshake) {
        request.timeout = etcd->node.connect_timeout;
    }
    return hf_http_ask(&etcd->node.http, &request, now);
}

bool hf_etcd_greet(struct hf_etcd *etcd, struct hf_instant now)
{
    hf_wire_text_say(begin(etcd), "{}");
    return post(etcd, HF_ETCD_GREET, HF_ETCD_STATUS_PATH, NULL, now);
}

/* ---- Sessions ------------------------------------------------------------ */

static bool call_open(struct hf_wire *wire, int64_t ttl_s,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    hf_endpoints_look(&etcd->node, now);
    hf_wire_text_say(begin(etcd), "{\"TTL\":\"");
    hf_wire_text_number(&etcd->body, (uint64_t)ttl_s);
    hf_wire_text_say(&etcd->body, "\"}");
    return post(etcd, HF_ETCD_OPEN, "/v3/lease/grant", call, now);
}

static bool of_lease(struct hf_wire *wire, const uint8_t *session,
                     const char *rest, enum hf_etcd_request_kind kind,
                     const char *path, struct hf_wire_call *call,
                     struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    hf_wire_text_say(begin(etcd), "{\"ID\":\"");
    hf_wire_text_number(&etcd->body, hf_wire_id_of(session));
    hf_wire_text_say(&etcd->body, rest);
    return post(etcd, kind, path, call, now);
}

static bool call_renew(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    hf_endpoints_look(hf_endpoints_of_wire(wire), now);
    call->note = hf_etcd_of_wire(wire)->term;
    return of_lease(wire, session, "\"}", HF_ETCD_RENEW, "/v3/lease/keepalive",
                    call, now);
}

static bool call_close(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    return of_lease(wire, session, "\"}", HF_ETCD_CLOSE, "/v3/lease/revoke",
                    call, now);
}

static bool call_owned(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    return of_lease(wire, session, "\",\"keys\":true}", HF_ETCD_OWNED,
                    "/v3/lease/timetolive", call, now);
}

/* ---- Entries ------------------------------------------------------------- */

static void say_compare(struct hf_etcd *etcd, const struct hf_wire_key *key,
                        enum hf_wire_when when, uint64_t revision)
{
    struct hf_wire_text *body = &etcd->body;
    hf_wire_text_say(body, "{\"compare\":[{\"target\":\"CREATE\",");
    if (when == HF_WIRE_UNLESS_OWN) {
        say_key(etcd, key);
    } else {
        say_range(etcd, key->name);
    }
    if (when == HF_WIRE_IF_SINCE) {
        hf_wire_text_say(body, ",\"result\":\"LESS\"");
        revision++;
    }
    hf_wire_text_say(body, ",\"create_revision\":\"");
    hf_wire_text_number(body, revision);
    hf_wire_text_say(body, "\"}],");
}

/* Which of them are in the reply: the latest two, or the first. With no order,
 * etcd applies the limit before it sorts. */
#define LATEST_TWO                                                             \
    ",\"sort_target\":\"CREATE\",\"sort_order\":\"DESCEND\",\"limit\":\"2\""
#define FIRST                                                                  \
    ",\"sort_target\":\"CREATE\",\"sort_order\":\"ASCEND\",\"limit\":\"1\""

static void say_list(struct hf_etcd *etcd, const struct hf_wire_key *key,
                     const char *which)
{
    hf_wire_text_say(&etcd->body, "{\"request_range\":{");
    say_range(etcd, key->name);
    hf_wire_text_say(&etcd->body, which);
    hf_wire_text_say(&etcd->body, "}}");
}

/* A new entry is the last one. */
static void say_list_created(struct hf_etcd *etcd,
                             const struct hf_wire_key *key,
                             enum hf_wire_when when)
{
    if (when != HF_WIRE_UNLESS_OWN || key->mode == HF_SHARED) {
        say_list(etcd, key, "");
        return;
    }
    say_list(etcd, key, LATEST_TWO);
    hf_wire_text_say(&etcd->body, ",");
    say_list(etcd, key, FIRST);
}

static bool call_create(struct hf_wire *wire, const struct hf_wire_key *key,
                        enum hf_wire_when when, uint64_t revision,
                        struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    struct hf_wire_text *body = begin(etcd);
    HF_ASSERT(when == HF_WIRE_IF_SINCE || revision == 0);
    say_compare(etcd, key, when, revision);
    hf_wire_text_say(body, "\"success\":[{\"request_put\":{");
    say_key(etcd, key);
    hf_wire_text_say(body, ",\"lease\":\"");
    hf_wire_text_number(body, hf_wire_id_of(key->session));
    hf_wire_text_say(body, "\"}},");
    say_list_created(etcd, key, when);
    hf_wire_text_say(body, "],\"failure\":[");
    say_list(etcd, key, "");
    hf_wire_text_say(body, "]}");
    return post(etcd, HF_ETCD_CREATE, "/v3/kv/txn", call, now);
}

static bool call_list(struct hf_wire *wire, struct hf_bytes name,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    hf_endpoints_look(&etcd->node, now);
    hf_wire_text_say(begin(etcd), "{");
    say_range(etcd, name);
    if (call->until != 0) {
        hf_wire_text_say(&etcd->body, ",\"max_create_revision\":\"");
        hf_wire_text_number(&etcd->body, call->until);
        hf_wire_text_say(&etcd->body, "\"");
    }
    hf_wire_text_say(&etcd->body, "}");
    return post(etcd, HF_ETCD_LIST, "/v3/kv/range", call, now);
}

/* No values pass, in either direction. A transaction without a range that must
 * be up to date would be answered by this member alone (etcd 3.4.23:
 * isTxnSerializable), also if what it compares differs. */
static bool compare_versions(struct hf_etcd *etcd,
                             const struct hf_wire_key *keys, size_t n,
                             struct hf_wire_call *call, struct hf_instant now)
{
    hf_wire_text_say(begin(etcd), "{\"compare\":[");
    for (size_t i = 0; i < n; i++) {
        hf_wire_text_say(&etcd->body, i == 0 ? "{\"target\":\"MOD\","
                                             : ",{\"target\":\"MOD\",");
        say_key(etcd, &keys[i]);
        hf_wire_text_say(&etcd->body, ",\"mod_revision\":\"");
        hf_wire_text_number(&etcd->body, keys[i].version);
        hf_wire_text_say(&etcd->body, "\"}");
    }
    hf_wire_text_say(&etcd->body, "],\"success\":[{\"request_range\":{");
    say_key(etcd, &keys[0]);
    hf_wire_text_say(&etcd->body, ",\"count_only\":true}}]}");
    call->note = 0;
    return post(etcd, HF_ETCD_READ, "/v3/kv/txn", call, now);
}

bool hf_etcd_call_note_too_long(struct hf_etcd *etcd, const char *text)
{
    bool is_too_long =
        text != NULL && strstr(text, "too many operations in txn") != NULL;
    if (is_too_long) {
        snprintf(etcd->node.why, sizeof(etcd->node.why),
                 "takes too few operations in a transaction: start etcd with "
                 "--max-txn-ops=128, its default");
    }
    return is_too_long;
}

static bool call_read(struct hf_wire *wire, const struct hf_wire_key *keys,
                      size_t n, struct hf_wire_call *call,
                      struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    HF_ASSERT(n >= 1 && n <= HF_WIRE_READ_MAX);
    size_t n_known = 0;
    while (n_known < n && keys[n_known].version != 0) {
        n_known++;
    }
    if (n_known == n) {
        return compare_versions(etcd, keys, n, call, now);
    }
    hf_wire_text_say(begin(etcd), "{\"success\":[");
    for (size_t i = 0; i < n; i++) {
        hf_wire_text_say(&etcd->body, i == 0 ? "{\"request_range\":{"
                                             : ",{\"request_range\":{");
        say_key(etcd, &keys[i]);
        hf_wire_text_say(&etcd->body, "}}");
    }
    hf_wire_text_say(&etcd->body, "]}");
    call->note = n;
    return post(etcd, HF_ETCD_READ, "/v3/kv/txn", call, now);
}

static void say_value(struct hf_etcd *etcd, const struct hf_wire_change *change)
{
    struct hf_wire_text value = {0};
    hf_wire_value_add(&value, change);
    etcd->body.has_failed |= value.has_failed;
    hf_wire_text_say(&etcd->body, ",\"value\":\"");
    hf_wire_text_base64(&etcd->body, value.bytes, value.len);
    hf_wire_text_say(&etcd->body, "\",\"lease\":\"");
    hf_wire_text_number(&etcd->body, hf_wire_id_of(change->session));
    hf_wire_text_say(&etcd->body, "\"");
    hf_wire_text_fini(&value);
}

static bool call_replace(struct hf_wire *wire,
                         const struct hf_wire_change *change,
                         struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    hf_wire_text_say(begin(etcd), "{\"compare\":[{\"target\":\"MOD\",");
    say_id(etcd, change->name, change->id);
    hf_wire_text_say(&etcd->body, ",\"mod_revision\":\"");
    hf_wire_text_number(&etcd->body, change->version);
    hf_wire_text_say(&etcd->body, "\"}],\"success\":[{");
    if (change->session == NULL) {
        hf_wire_text_say(&etcd->body, "\"request_delete_range\":{");
        say_id(etcd, change->name, change->id);
    } else {
        hf_wire_text_say(&etcd->body, "\"request_put\":{");
        say_id(etcd, change->name, change->id);
        say_value(etcd, change);
    }
    hf_wire_text_say(&etcd->body, "}}]}");
    return post(etcd, HF_ETCD_REPLACE, "/v3/kv/txn", call, now);
}

/* The first text after all that begin so; "\0": there is none. */
static void say_end(struct hf_etcd *etcd, const char *prefix)
{
    struct hf_wire_text end = {0};
    hf_wire_text_say(&end, prefix);
    while (end.len > 0 && (unsigned char)end.bytes[end.len - 1] == 0xff) {
        end.len--;
    }
    if (end.len > 0) {
        end.bytes[end.len - 1]++;
    } else {
        hf_wire_text_add(&end, "", 1);
    }
    etcd->body.has_failed |= end.has_failed;
    hf_wire_text_base64(&etcd->body, end.bytes, end.len);
    hf_wire_text_fini(&end);
}

static bool call_scan(struct hf_wire *wire, struct hf_bytes from,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    struct hf_bytes first = {etcd->prefix, strlen(etcd->prefix)};
    if (first.len == 0) {
        first = (struct hf_bytes){"", 1};
    }
    hf_endpoints_look(&etcd->node, now);
    hf_wire_text_say(begin(etcd), "{\"key\":\"");
    hf_wire_text_base64(&etcd->body, from.len > 0 ? from.data : first.data,
                        from.len > 0 ? from.len : first.len);
    hf_wire_text_say(&etcd->body, "\",\"range_end\":\"");
    say_end(etcd, etcd->prefix);
    hf_wire_text_say(&etcd->body, "\",\"keys_only\":true,\"limit\":\"");
    hf_wire_text_number(&etcd->body, SCAN_KEYS);
    hf_wire_text_say(&etcd->body, "\"}");
    return post(etcd, HF_ETCD_SCAN, "/v3/kv/range", call, now);
}

/* The caller does not ask whether there was one. */
static bool remove_under(struct hf_etcd *etcd, const struct hf_wire_key *key,
                         struct hf_wire_call *call, struct hf_instant now)
{
    hf_wire_text_say(begin(etcd), "{\"compare\":[{\"target\":\"LEASE\",");
    say_key(etcd, key);
    hf_wire_text_say(&etcd->body, ",\"lease\":\"");
    hf_wire_text_number(&etcd->body, hf_wire_id_of(key->under));
    hf_wire_text_say(&etcd->body,
                     "\"}],\"success\":[{\"request_delete_range\":{");
    say_key(etcd, key);
    hf_wire_text_say(&etcd->body, "}}]}");
    return post(etcd, HF_ETCD_REMOVE, "/v3/kv/txn", call, now);
}

static bool call_remove(struct hf_wire *wire, const struct hf_wire_key *key,
                        struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of_wire(wire);
    if (key->under != NULL) {
        return remove_under(etcd, key, call, now);
    }
    hf_wire_text_say(begin(etcd), "{");
    say_key(etcd, key);
    hf_wire_text_say(&etcd->body, ",\"prev_kv\":true}");
    return post(etcd, HF_ETCD_REMOVE, "/v3/kv/deleterange", call, now);
}

/* ---- Marks, and values --------------------------------------------------- */

/* Write the key of a name's mark, or of its value. */
typedef void key_fn(struct hf_wire_text *text, const char *prefix,
                    struct hf_bytes name);

static void say_beside(struct hf_etcd *etcd, key_fn *key_of,
                       struct hf_bytes name)
{
    struct hf_wire_text key = {0};
    key_of(&key, etcd->prefix, name);
    say_base64_key(etcd, &key);
    hf_wire_text_fini(&key);
}

static bool read_beside(struct hf_etcd *etcd, enum hf_etcd_request_kind kind,
                        key_fn *key_of, struct hf_bytes name,
                        struct hf_wire_call *call, struct hf_instant now)
{
    hf_endpoints_look(&etcd->node, now);
    hf_wire_text_say(begin(etcd), "{");
    say_beside(etcd, key_of, name);
    hf_wire_text_say(&etcd->body, "}");
    return post(etcd, kind, "/v3/kv/range", call, now);
}

static bool call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                           struct hf_wire_call *call, struct hf_instant now)
{
    return read_beside(hf_etcd_of_wire(wire), HF_ETCD_MARK_READ,
                       hf_etcd_key_mark, name, call, now);
}

static bool call_value_read(struct hf_wire *wire, struct hf_bytes name,
                            struct hf_wire_call *call, struct hf_instant now)
{
    return read_beside(hf_etcd_of_wire(wire), HF_ETCD_VALUE_READ,
                       hf_etcd_key_value, name, call, now);
}

static void say_text(struct hf_etcd *etcd, const struct hf_wire_mark *mark)
{
    hf_wire_text_say(&etcd->body, ",\"value\":\"");
    hf_wire_text_base64(&etcd->body, mark->text.data, mark->text.len);
    hf_wire_text_say(&etcd->body, "\"");
    if (mark->session != NULL) {
        hf_wire_text_say(&etcd->body, ",\"lease\":\"");
        hf_wire_text_number(&etcd->body, hf_wire_id_of(mark->session));
        hf_wire_text_say(&etcd->body, "\"");
    }
}

/* A key that does not exist has the mod_revision 0. */
static bool write_beside(struct hf_etcd *etcd, enum hf_etcd_request_kind kind,
                         key_fn *key_of, const struct hf_wire_mark *mark,
                         struct hf_wire_call *call, struct hf_instant now)
{
    bool removes = mark->text.len == 0;
    hf_wire_text_say(begin(etcd), "{\"compare\":[{\"target\":\"MOD\",");
    say_beside(etcd, key_of, mark->name);
    hf_wire_text_say(&etcd->body, ",\"mod_revision\":\"");
    hf_wire_text_number(&etcd->body, mark->version);
    hf_wire_text_say(&etcd->body, "\"}],\"success\":[{");
    hf_wire_text_say(&etcd->body, removes ? "\"request_delete_range\":{"
                                          : "\"request_put\":{");
    say_beside(etcd, key_of, mark->name);
    if (!removes) {
        say_text(etcd, mark);
    }
    hf_wire_text_say(&etcd->body, "}}]}");
    return post(etcd, kind, "/v3/kv/txn", call, now);
}

static bool call_mark_write(struct hf_wire *wire,
                            const struct hf_wire_mark *mark,
                            struct hf_wire_call *call, struct hf_instant now)
{
    return write_beside(hf_etcd_of_wire(wire), HF_ETCD_MARK_WRITE,
                        hf_etcd_key_mark, mark, call, now);
}

static bool call_value_write(struct hf_wire *wire,
                             const struct hf_wire_mark *value,
                             struct hf_wire_call *call, struct hf_instant now)
{
    return write_beside(hf_etcd_of_wire(wire), HF_ETCD_VALUE_WRITE,
                        hf_etcd_key_value, value, call, now);
}

const struct hf_wire_ops hf_etcd_wire = {
    .open = call_open,
    .renew = call_renew,
    .close = call_close,
    .owned = call_owned,
    .create = call_create,
    .list = call_list,
    .read = call_read,
    .replace = call_replace,
    .scan = call_scan,
    .remove = call_remove,
    .watch = hf_etcd_watch,
    .unwatch = hf_endpoints_unwatch,
    .mark_read = call_mark_read,
    .mark_write = call_mark_write,
    .value_read = call_value_read,
    .value_write = call_value_write,
    .reads_by_id = true,
};
