/* SPDX-License-Identifier: Apache-2.0 */
/* Below the store: requests are kept in a queue, and a break is noted. Above
 * it: the machine of ordered entries hears nothing but the end of the call.
 *
 * Of each reply: a call is done once. One that failed has a reason in one plain
 * line, and nothing else: no entries, no mark, no version. Each number of the
 * body is read exactly, or as 0. An entry that counts as Holdfast's is under
 * the very key that Holdfast writes for its session, mode and owner; any other
 * is an exclusive one of an owner that is the key's text. A name is listed only
 * for a key that Holdfast writes for it. */
#include "endpoints_fake.h"

#include <inttypes.h>
#include <jansson.h>

#define REQUESTS_MAX 16
#define KEYS 3

bool __wrap_hf_http_ask(struct hf_http *http,
                        const struct hf_http_request *request,
                        struct hf_instant now);
void __wrap_hf_http_break(struct hf_http *http, const char *reason);
void __wrap_hf_endpoints_look(struct hf_endpoints *node, struct hf_instant now);
void __wrap_hf_endpoints_ready(struct hf_endpoints *node,
                               struct hf_instant now);
void __wrap_hf_ordered_down(struct hf_ordered *store, bool is_connecting,
                            enum hf_status fault, const char *reason);
void __wrap_hf_ordered_lose_all(struct hf_ordered *store, const char *reason,
                                struct hf_instant now);

static const uint8_t session[HF_SESSION_ID_LEN] = {0x69, 0x4d, 0x7f, 0x1c,
                                                   0x2a, 0x3b, 0x4c, 0x05};
static const char owner[] =
    "9f86d081884c7d659a2feaa0c55ad015:build:17@1764117600";
static const struct hf_bytes name = {"nightly", 7};
static const struct hf_instant now_at = {INT64_C(5000000000)};

static struct fake_endpoints *current;
static struct hf_http_pending requests[REQUESTS_MAX];
static size_t n_requests, n_replied;
static unsigned n_done;
static bool is_broken;
static json_t *json; /* of the reply that is being read */
static unsigned kind;
static size_t n_keys;

/* ---- The connection ------------------------------------------------------ */

bool __wrap_hf_http_ask(struct hf_http *http,
                        const struct hf_http_request *request,
                        struct hf_instant now)
{
    (void)http;
    FUZZ_CHECK(request->path[0] == '/' && !is_broken);
    if (n_requests == REQUESTS_MAX) {
        return false;
    }
    requests[n_requests++] = (struct hf_http_pending){
        .cookie = request->cookie, .user = request->user, .sent = now};
    return true;
}

void __wrap_hf_http_break(struct hf_http *http, const char *reason)
{
    FUZZ_CHECK(reason[0] != '\0');
    snprintf(http->reason, sizeof(http->reason), "broken");
    is_broken = true;
}

void __wrap_hf_endpoints_look(struct hf_endpoints *node, struct hf_instant now)
{
    (void)node;
    (void)now;
}

void __wrap_hf_endpoints_ready(struct hf_endpoints *node, struct hf_instant now)
{
    (void)now;
    node->phase = HF_ENDPOINTS_READY;
}

void __wrap_hf_ordered_down(struct hf_ordered *store, bool is_connecting,
                            enum hf_status fault, const char *reason)
{
    (void)store;
    FUZZ_CHECK(is_connecting && fault != HF_OK && reason != NULL);
}

void __wrap_hf_ordered_lose_all(struct hf_ordered *store, const char *reason,
                                struct hf_instant now)
{
    (void)store;
    (void)now;
    FUZZ_CHECK(reason != NULL);
}

/* ---- Numbers ------------------------------------------------------------- */

/* Whole, and a fence: else 0. */
static uint64_t fence_of(double real)
{
    bool is_fence = real > 0 && real <= 9007199254740991.0;
    uint64_t whole = is_fence ? (uint64_t)real : 0;
    return (double)whole == real ? whole : 0;
}

/* Of decimal digits alone, and of 64 bits at most: else 0. */
static uint64_t number_of(const char *text)
{
    uint64_t number = 0;
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return 0;
    }
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        number = 10 * number + digit;
    }
    return number;
}

static void check_numbers(const json_t *value)
{
    const char *member;
    json_t *inner;
    size_t i;
    json_array_foreach(value, i, inner)
    {
        check_numbers(inner);
    }
    json_object_foreach((json_t *)(uintptr_t)value, member, inner)
    {
        uint64_t want = 0;
        if (json_is_integer(inner) && json_integer_value(inner) > 0) {
            want = (uint64_t)json_integer_value(inner);
        } else if (json_is_real(inner) && !current->has_quoted) {
            want = fence_of(json_real_value(inner));
        } else if (json_is_string(inner) && current->has_quoted) {
            want = number_of(json_string_value(inner));
        }
        FUZZ_CHECK(current->number(value, member) == want);
        check_numbers(inner);
    }
}

/* ---- Keys and names ------------------------------------------------------ */

/* A key of the body is this text, or begins with it. */
static bool is_key(const json_t *text, const struct hf_wire_text *want,
                   bool is_whole)
{
    size_t len = json_string_length(text);
    char *key = malloc(len + 1);
    FUZZ_CHECK(key != NULL);
    memcpy(key, json_string_value(text), len);
    if (current->has_base64) {
        len = hf_wire_base64_read(json_string_value(text), len, key);
    }
    bool is_it = len != SIZE_MAX && len >= want->len &&
                 (!is_whole || len == want->len) &&
                 memcmp(key, want->bytes, want->len) == 0;
    free(key);
    return is_it;
}

static bool has_key(const json_t *value, const struct hf_wire_text *want,
                    bool is_whole)
{
    const char *member;
    json_t *inner;
    size_t i;
    bool is_there = json_is_string(value) && is_key(value, want, is_whole);
    json_array_foreach(value, i, inner)
    {
        is_there = is_there || has_key(inner, want, is_whole);
    }
    json_object_foreach((json_t *)(uintptr_t)value, member, inner)
    {
        is_there = is_there || has_key(inner, want, is_whole);
    }
    return is_there;
}

static bool has_name(struct hf_bytes of, fake_name_fn *compose, bool is_whole)
{
    struct hf_wire_text text = {0};
    compose(&text, current->prefix, of);
    bool is_there = has_key(json, &text, is_whole);
    hf_wire_text_fini(&text);
    return is_there;
}

static void check_name(const struct hf_wire_entry *entry)
{
    FUZZ_CHECK(has_name(entry->name, current->folder, false) ||
               has_name(entry->name, current->mark, true));
}

/* ---- Entries ------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, size_t len)
{
    static const uint8_t zeros[HF_OWNER_ID_LEN + HF_SESSION_ID_LEN];
    return memcmp(bytes, zeros, len) == 0;
}

static struct hf_wire_key key_of(const struct hf_wire_entry *entry)
{
    return (struct hf_wire_key){.name = entry->name,
                                .session = entry->born,
                                .owner = entry->owner,
                                .mode = entry->entry.mode,
                                .permits = entry->permits,
                                .ttl_s = entry->born_ttl_s};
}

static void check_ours(const struct hf_wire_entry *entry)
{
    struct hf_wire_text text = {0};
    struct hf_wire_key key = key_of(entry);
    key.name = (struct hf_bytes){"", 0};
    current->key(&text, "", &key);
    const char *id = (const char *)entry->id.data + current->id_begin;
    FUZZ_CHECK(text.len - 1 == entry->id.len - current->id_begin);
    FUZZ_CHECK(memcmp(text.bytes + 1, id, text.len - 1) == 0);
    FUZZ_CHECK(entry->permits == 0 || entry->entry.mode == HF_SHARED);
    hf_wire_text_fini(&text);
}

/* No program but Holdfast's has an attempt, a ttl or a note. */
static void check_foreign(const struct hf_wire_entry *entry)
{
    FUZZ_CHECK(entry->entry.mode == HF_EXCLUSIVE && entry->permits == 0);
    FUZZ_CHECK(entry->ttl_s == 0 && entry->note.len == 0);
    FUZZ_CHECK(is_zero(entry->entry.owner.attempt, HF_OWNER_ID_LEN));
}

static void check_listed(const struct hf_wire_entry *entry)
{
    FUZZ_CHECK(entry->entry.number != 0 && entry->version != 0);
    FUZZ_CHECK(entry->id.len >= current->id_begin);
    if (entry->born_ttl_s > 0) {
        check_ours(entry);
    } else {
        check_foreign(entry);
    }
}

/* All keys below the prefix that are this session's. */
static void check_owned(const struct hf_wire_entry *entry)
{
    struct hf_wire_text text = {0};
    struct hf_wire_key key = key_of(entry);
    check_name(entry);
    if (entry->born_ttl_s > 0) {
        current->key(&text, current->prefix, &key);
        FUZZ_CHECK(has_key(json, &text, true));
        hf_wire_text_fini(&text);
    }
}

static void touch(struct hf_bytes bytes)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < bytes.len; i++) {
        sum = sum ^ ((const unsigned char *)bytes.data)[i];
    }
}

enum {
    CALL_OPEN,
    CALL_RENEW,
    CALL_CLOSE,
    CALL_OWNED,
    CALL_CREATE,
    CALL_CREATE_FREE,
    CALL_CREATE_SINCE,
    CALL_LIST,
    CALL_READ,
    CALL_COMPARE,
    CALL_REPLACE,
    CALL_SCAN,
    CALL_REMOVE,
    CALL_MARK_READ,
    CALL_MARK_WRITE,
    CALL_VALUE_READ,
    CALL_VALUE_WRITE,
    CALL_MARKS,
    CALL_END
};

static void check_entry(const struct hf_wire_entry *entry)
{
    touch(entry->owner);
    touch(entry->name);
    touch(entry->note);
    touch(entry->id);
    FUZZ_CHECK(entry->ttl_s >= 0 && entry->born_ttl_s >= 0);
    if (kind == CALL_SCAN || kind == CALL_MARKS) {
        check_name(entry);
    } else if (kind == CALL_OWNED) {
        check_owned(entry);
    } else if (kind != CALL_READ && kind != CALL_COMPARE) {
        check_listed(entry);
    }
}

/* ---- The end of the call ------------------------------------------------- */

static void check_done(const struct hf_wire_reply *reply)
{
    for (size_t i = 0; i < reply->n_entries; i++) {
        check_entry(&reply->entries[i]);
    }
    touch(reply->mark);
    touch(reply->next);
    if (kind == CALL_OPEN) {
        FUZZ_CHECK(!is_zero(reply->session, HF_SESSION_ID_LEN));
        FUZZ_CHECK(reply->ttl_ms > 0);
    } else if (kind == CALL_READ || kind == CALL_COMPARE) {
        FUZZ_CHECK(reply->n_entries == n_keys ||
                   (kind == CALL_COMPARE && reply->n_entries == 0));
    } else if (kind == CALL_MARK_READ || kind == CALL_VALUE_READ) {
        FUZZ_CHECK((reply->mark.data == NULL) == (reply->version == 0));
    }
}

static void check_failed(const struct hf_wire_reply *reply)
{
    FUZZ_CHECK(reply->n_entries == 0 && reply->entries == NULL);
    FUZZ_CHECK(!reply->has_changed && !reply->is_unchanged);
    FUZZ_CHECK(reply->mark.data == NULL && reply->version == 0);
    FUZZ_CHECK(reply->next.len == 0);
    if (reply->outcome == HF_WIRE_GONE) {
        return;
    }
    FUZZ_CHECK(reply->fault != HF_OK && reply->reason != NULL);
    FUZZ_CHECK(reply->reason[0] != '\0');
    FUZZ_CHECK(fuzz_is_plain(reply->reason));
}

static void on_done(struct hf_wire_call *call,
                    const struct hf_wire_reply *reply, struct hf_instant now)
{
    FUZZ_CHECK(call->done == on_done && now.ns == now_at.ns);
    n_done++;
    if (reply->outcome == HF_WIRE_DONE) {
        check_done(reply);
    } else {
        check_failed(reply);
    }
}

/* ---- Calls --------------------------------------------------------------- */

static bool call_read(struct hf_wire *wire, const struct hf_wire_ops *ops,
                      struct hf_wire_key *key, struct hf_wire_call *call)
{
    struct hf_wire_key keys[KEYS] = {*key, *key, *key};
    keys[1].mode = HF_SHARED;
    keys[2].owner.len--;
    for (size_t i = 0; i < KEYS; i++) {
        keys[i].version = kind == CALL_COMPARE ? 1000 + i : 0;
    }
    n_keys = KEYS;
    return ops->read(wire, keys, KEYS, call, now_at);
}

static bool call_replace(struct hf_wire *wire, const struct hf_wire_ops *ops,
                         struct hf_wire_key *key, struct hf_wire_call *call)
{
    static const char id[] = "694d7f1c-2a3b-4c05-0000-000000000000-x30-9f86";
    struct hf_wire_change change = {.name = key->name,
                                    .id = {id, sizeof(id) - 1},
                                    .version = 1000,
                                    .session = session,
                                    .ttl_s = 30};
    return ops->replace(wire, &change, call, now_at);
}

static bool call_mark(struct hf_wire *wire, const struct hf_wire_ops *ops,
                      struct hf_wire_call *call)
{
    static const char text[] = "4711 1764117600000 3600000 9f86";
    struct hf_wire_mark mark = {.name = name,
                                .version = 1000,
                                .session = session,
                                .text = {text, sizeof(text) - 1}};
    switch (kind) {
    case CALL_MARK_READ:
        return ops->mark_read(wire, name, call, now_at);
    case CALL_MARK_WRITE:
        return ops->mark_write(wire, &mark, call, now_at);
    case CALL_VALUE_READ:
        return ops->value_read(wire, name, call, now_at);
    case CALL_VALUE_WRITE:
        return ops->value_write(wire, &mark, call, now_at);
    default:
        return ops->marks != NULL && ops->marks(wire, call, now_at);
    }
}

static bool call_session(struct hf_wire *wire, const struct hf_wire_ops *ops,
                         struct hf_wire_call *call)
{
    switch (kind) {
    case CALL_OPEN:
        return ops->open(wire, 30, call, now_at);
    case CALL_RENEW:
        return ops->renew(wire, session, call, now_at);
    case CALL_CLOSE:
        return ops->close(wire, session, call, now_at);
    default:
        return ops->owned(wire, session, call, now_at);
    }
}

static bool begin_call(struct hf_wire *wire, const struct hf_wire_ops *ops,
                       struct hf_wire_call *call)
{
    struct hf_wire_key key = {.name = name,
                              .session = session,
                              .owner = {owner, sizeof(owner) - 1},
                              .ttl_s = 30};
    switch (kind) {
    case CALL_CREATE:
        return ops->create(wire, &key, HF_WIRE_UNLESS_OWN, 0, call, now_at);
    case CALL_CREATE_FREE:
        return ops->create(wire, &key, HF_WIRE_IF_FREE, 0, call, now_at);
    case CALL_CREATE_SINCE:
        key.mode = HF_SHARED;
        key.permits = 5;
        return ops->create(wire, &key, HF_WIRE_IF_SINCE, 1000, call, now_at);
    case CALL_LIST:
        return ops->list(wire, name, call, now_at);
    case CALL_READ:
    case CALL_COMPARE:
        return call_read(wire, ops, &key, call);
    case CALL_REPLACE:
        return call_replace(wire, ops, &key, call);
    case CALL_SCAN:
        return ops->scan(wire, (struct hf_bytes){"", 0}, call, now_at);
    case CALL_REMOVE:
        return ops->remove(wire, &key, call, now_at);
    default:
        return kind <= CALL_OWNED ? call_session(wire, ops, call)
                                  : call_mark(wire, ops, call);
    }
}

/* ---- Replies ------------------------------------------------------------- */

/* The next text of the input, up to a NUL. */
static struct hf_bytes next_text(struct fuzz_input *in)
{
    const uint8_t *end = in->left == 0 ? NULL : memchr(in->at, '\0', in->left);
    size_t len = end == NULL ? in->left : (size_t)(end - in->at);
    struct hf_bytes text = {in->at, len};
    size_t used = end == NULL ? len : len + 1;
    (void)fuzz_bytes(in, &used);
    return text;
}

static void read_body(struct hf_bytes raw, struct hf_wire_text *out)
{
    const char *at = raw.data;
    const char *end = at + raw.len;
    while (at < end) {
        const char *begin = memchr(at, '\1', (size_t)(end - at));
        const char *stop =
            begin == NULL ? NULL : memchr(begin, '\2', (size_t)(end - begin));
        hf_wire_text_add(out, at, (size_t)((stop == NULL ? end : begin) - at));
        if (stop != NULL) {
            hf_wire_text_base64(out, begin + 1, (size_t)(stop - begin - 1));
        }
        at = stop == NULL ? end : stop + 1;
    }
}

static void reply_to(const struct hf_http_pending *request,
                     struct fuzz_input *in)
{
    static const unsigned statuses[] = {200, 200, 200, 200, 400,
                                        401, 403, 404, 409, 500};
    struct hf_http_reply http = {
        .status = statuses[fuzz_u8(in) % 10],
        .date_s = 1764117600,
    };
    struct hf_wire_text text = {0};
    struct hf_bytes header = next_text(in);
    header.len =
        header.len < HF_HTTP_VALUE_MAX ? header.len : HF_HTTP_VALUE_MAX;
    if (header.len > 0) {
        memcpy(http.kept[0], header.data, header.len);
    }
    read_body(next_text(in), &text);
    http.body_len = text.len;
    char *body = hf_wire_text_take(&text);
    FUZZ_CHECK(body != NULL);
    http.body = body;
    json = json_loadb(body, http.body_len, current->json_flags, NULL);
    check_numbers(json);
    current->ops->replied(current->node, request, &http, now_at);
    json_decref(json);
    json = NULL;
    free(body);
}

void fake_endpoints_run(struct fake_endpoints *fake, struct fuzz_input in)
{
    struct hf_wire_call call = {.done = on_done};
    struct hf_wire *wire = (struct hf_wire *)(void *)fake->node;
    current = fake;
    n_requests = n_replied = n_done = 0;
    n_keys = 0;
    is_broken = false;
    kind = fuzz_u8(&in) % CALL_END;
    fake->node->phase = HF_ENDPOINTS_READY;
    snprintf(fake->node->http.reason, sizeof(fake->node->http.reason), "lost");
    bool is_begun = begin_call(wire, fake->ops->wire, &call);
    FUZZ_CHECK(n_done == 0 && (is_begun || kind == CALL_MARKS));
    while (n_replied < n_requests && in.left > 0 && !is_broken) {
        reply_to(&requests[n_replied++], &in);
    }
    while (n_replied < n_requests) {
        fake->ops->lost(fake->node, &requests[n_replied++], in.left % 2 == 1,
                        now_at);
    }
    FUZZ_CHECK(n_done == is_begun);
}

void fake_endpoints_fini(struct fake_endpoints *fake)
{
    fake->ops->fini(fake->node);
    free(fake->node->ordered.judged);
}
