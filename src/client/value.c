/* SPDX-License-Identifier: Apache-2.0 */
/* COMPARE-AND-SET
 *
 *   get   one request: the value and its version
 *   put   one request: write it if it has the expected version
 *
 * A lost reply leaves open whether the put was executed. A put that names a
 * version is sent again with the same id. That is safe: if the node has
 * executed it, it recognises the id, or another write has replaced the version;
 * and a copy that arrives later still is refused, because versions never
 * repeat. A reply "written" settles it. A refusal does not: either another
 * write came first, or this one was executed and then replaced.
 *
 * A put of any version must not be sent again: the copy could overwrite a later
 * write. Nor must one of version 0: "no value" is true again after a delete,
 * and the copy would bring the value back. So the value is read; only its id
 * can settle it. If the read finds it, a copy that names the version found
 * confirms it: a reader also sees a write that its synchronous standby lacks.
 * For the same reason HF_UNKNOWN stays true for ever: the request itself may be
 * executed late.
 *
 * Only a store of one node: with a majority of several, two writers could each
 * have some of them, and neither write could be taken back.
 *
 * Cost: one round trip; after a lost reply one more for each time it is sent
 * again or read, within CALL_MS_MAX. */
#include "client/value.h"

#include "client/broadcast.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/fork.h"
#include "client/name.h"
#include "client/wait.h"

#include "base/fail.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* For each call, its retries included. */
#define CALL_MS_MAX 5000

/* Before each try to settle a put after a lost reply, at most, in milliseconds.
 * Short, as a connection that has served is made again without delay; drawn,
 * so that the clients of a server that was away do not ask it all at once. */
#define SETTLE_MS_STEP 50

/* Before a request that was not sent is sent again, in milliseconds: the server
 * had closed the idle connection, which is seen when it is used. Until then the
 * next connection may be there. */
#define RESEND_MS 20

/* A request is sent again only if this many milliseconds are left for its
 * reply: a write that was not executed must not become an unknown one. */
#define RESEND_LEFT_MS 1500

struct hf_value {
    uint64_t version;
    bool has_data;
    size_t len;
    char data[]; /* a NUL follows it */
};

/* ---- A value ----------------------------------------------------------- */

uint64_t hf_value_version(const struct hf_value *value)
{
    return value == NULL ? 0 : value->version;
}

const void *hf_value_data(const struct hf_value *value, size_t *len)
{
    bool is_there = value != NULL && value->has_data;
    if (len != NULL) {
        *len = is_there ? value->len : 0;
    }
    return is_there ? value->data : NULL;
}

void hf_value_free(struct hf_value *value)
{
    free(value);
}

static struct hf_value *copy_value(const struct hf_answer *answer)
{
    size_t len = answer->value.data == NULL ? 0 : answer->value.len;
    struct hf_value *value = malloc(sizeof(*value) + len + 1);
    if (value != NULL) {
        value->version = answer->counter;
        value->has_data = answer->value.data != NULL;
        value->len = len;
        if (len > 0) {
            memcpy(value->data, answer->value.data, len);
        }
        value->data[len] = '\0';
    }
    return value;
}

/* ---- Requests ---------------------------------------------------------- */

struct value_look {
    struct hf_broadcast query; /* first: it is the item in the tables */
    bool is_refused;
    uint64_t version;
    char id[HF_WRITE_ID_LEN]; /* GET: of the last write; zeroes: none */
    bool wants_value;
    struct hf_value *value; /* wants_value: a copy; NULL: no memory */
};

static bool on_answer(struct hf_broadcast *query,
                      const struct hf_answer *answer)
{
    struct value_look *ask = query->user;
    ask->is_refused = answer->verdict == HF_VERDICT_REFUSED;
    ask->version = answer->counter;
    if (answer->owner_len == sizeof(ask->id)) {
        memcpy(ask->id, answer->owner, sizeof(ask->id));
    }
    if (ask->wants_value) {
        ask->value = copy_value(answer);
    }
    return false;
}

static void init(struct value_look *ask, struct hf_client *client,
                 enum hf_verb verb, const struct hf_name *name,
                 struct hf_instant until)
{
    memset(ask, 0, sizeof(*ask));
    hf_broadcast_init(&ask->query, client, verb, name->name, name->name_len);
    ask->query.op.patience = hf_instant_until(client->now, until);
    ask->query.on_reply = on_answer;
    ask->query.user = ask;
}

/* The server's reason, in place of one that came before it was known. */
static enum hf_status fail_peer(const struct hf_client *client,
                                enum hf_status status, struct hf_error *error)
{
    struct hf_node node = {0};
    client->store->ops->describe(client->store, 0, client->now, &node);
    return hf_fail(error, status, "%s %s", node.address,
                   client->peers[0].reason);
}

static enum hf_status send_once(struct value_look *ask, struct hf_span delay,
                                struct hf_error *error)
{
    bool has_begun = delay.ns > 0 ? hf_broadcast_begin_after(&ask->query, delay)
                                  : hf_broadcast_begin(&ask->query);
    if (!has_begun) {
        return hf_fail_memory(error);
    }
    const struct hf_client *client = ask->query.op.client;
    enum hf_status status = hf_op_await(&ask->query.op, error);
    if (status == HF_UNAVAILABLE && client->peers[0].fault == HF_CONFIG) {
        return fail_peer(client, HF_CONFIG, error);
    }
    /* Not because of its quarantine: values have none. */
    return status == HF_QUARANTINED ? fail_peer(client, HF_UNAVAILABLE, error)
                                    : status;
}

/* Again as long as it was not sent, or not executed, and there is time. */
static enum hf_status send(struct value_look *ask, struct hf_span delay,
                           struct hf_error *error)
{
    struct value_look first = *ask;
    const struct hf_client *client = ask->query.op.client;
    struct hf_instant until =
        hf_instant_add(client->now, hf_span_add(delay, ask->query.op.patience));
    struct hf_instant last = hf_instant_sub(until, hf_span_ms(RESEND_LEFT_MS));
    struct hf_span pause = hf_span_ms(RESEND_MS);
    for (;;) {
        enum hf_status status = send_once(ask, delay, error);
        struct hf_instant again = hf_instant_add(client->now, pause);
        if (status != HF_UNAVAILABLE || ask->query.unsent == 0 ||
            !hf_instant_before(again, last)) {
            return status;
        }
        delay = pause;
        first.query.op.patience = hf_instant_until(again, until);
        *ask = first;
    }
}

static enum hf_status check(const struct hf_client *client,
                            const struct hf_name *name, struct hf_error *error)
{
    const struct hf_store_ops *ops = client->store->ops;
    if ((ops->capabilities & HF_CAP_VALUES) == 0) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "the store \"%s:\" keeps no values, only locks",
                       ops->name);
    }
    if (client->nodes.count > 1) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "%u independent servers keep no values: two writers "
                       "could each write to some of them, and no majority "
                       "could take either back; name one server",
                       (unsigned)client->nodes.count);
    }
    return hf_name_check(client, name->name, name->name_len, error);
}

/* ---- Get --------------------------------------------------------------- */

enum hf_status hf_value_read(struct hf_client *client,
                             const struct hf_name *name, struct hf_span delay,
                             struct hf_value **out, struct hf_error *error)
{
    struct value_look ask;
    init(&ask, client, HF_VERB_GET, name,
         hf_instant_add(client->now, hf_span_ms(CALL_MS_MAX)));
    ask.wants_value = true;
    enum hf_status status = send(&ask, delay, error);
    if (status != HF_OK) {
        hf_value_free(ask.value);
        return status;
    }
    *out = ask.value;
    return ask.value != NULL ? HF_OK : hf_fail_memory(error);
}

enum hf_status hf_value_begin(struct hf_client *client,
                              const struct hf_name *name,
                              struct hf_error *error)
{
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = check(client, name, error);
    if (status != HF_OK) {
        hf_client_leave(client);
    }
    return status;
}

enum hf_status hf_value_get(struct hf_client *client, const void *name,
                            size_t name_len, struct hf_value **out,
                            struct hf_error *error)
{
    struct hf_name one = {.name = name, .name_len = name_len};
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the value");
    }
    *out = NULL;
    enum hf_status status = hf_value_begin(client, &one, error);
    if (status == HF_OK) {
        status = hf_value_read(client, &one, (struct hf_span){0}, out, error);
        hf_client_leave(client);
    }
    return status;
}

/* ---- Put --------------------------------------------------------------- */

struct put {
    struct hf_client *client;
    const struct hf_name *name;
    struct hf_bytes value;
    uint64_t if_version;
    struct hf_instant until;
    bool is_lost;   /* the reply to a copy of it */
    bool was_found; /* by a read: a copy is sent with the version found */
    char id[HF_WRITE_ID_LEN];
};

static void make_id(struct put *put)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[HF_WRITE_ID_LEN / 2];
    hf_client_entropy(put->client, raw, sizeof(raw));
    for (size_t i = 0; i < sizeof(raw); i++) {
        put->id[2 * i] = digits[raw[i] >> 4];
        put->id[2 * i + 1] = digits[raw[i] & 15];
    }
}

static enum hf_status fail_busy(const struct put *put, uint64_t version,
                                struct hf_error *error)
{
    if (version == 0) {
        return hf_fail(error, HF_BUSY, "has no value, not version %" PRIu64,
                       put->if_version);
    }
    if (put->if_version == 0) {
        return hf_fail(error, HF_BUSY, "has a value: version %" PRIu64,
                       version);
    }
    return hf_fail(error, HF_BUSY, "has version %" PRIu64 ", not %" PRIu64,
                   version, put->if_version);
}

static enum hf_status fail_lost(struct hf_error *error, const char *why)
{
    return hf_fail(error, HF_UNKNOWN,
                   "the reply to the write was lost, and %s: it may have been "
                   "written",
                   why);
}

/** @return true: a read has found the write. Then the next request is a copy,
 * which changes nothing if it is still there, and waits for a standby as the
 * write did. */
static bool note_found(struct put *put, const struct value_look *ask)
{
    if (ask->query.verb != HF_VERB_GET ||
        memcmp(ask->id, put->id, sizeof(put->id)) != 0) {
        return false;
    }
    put->was_found = true;
    put->if_version = ask->version;
    return true;
}

/* The reply to a copy of the put, or to a read that has not found it. */
static enum hf_status conclude(const struct put *put,
                               const struct value_look *ask, uint64_t *version,
                               struct hf_error *error)
{
    if (ask->query.verb == HF_VERB_PUT && !ask->is_refused) {
        *version = put->value.data == NULL ? 0 : ask->version;
        return HF_OK;
    }
    if (put->is_lost) {
        return fail_lost(error, ask->version == 0
                                    ? "there is no value now"
                                    : "the value is of another write now");
    }
    *version = ask->version;
    return fail_busy(put, ask->version, error);
}

/** One request, the first or a later one. @return true: it is settled, with
 * *status. */
static bool try_put(struct put *put, struct hf_span delay, uint64_t *version,
                    enum hf_status *status, struct hf_error *error)
{
    struct value_look ask;
    bool is_read = put->is_lost && !put->was_found &&
                   (put->if_version == HF_VERSION_ANY || put->if_version == 0);
    init(&ask, put->client, is_read ? HF_VERB_GET : HF_VERB_PUT, put->name,
         put->until);
    ask.query.owner = put->id;
    ask.query.owner_len = sizeof(put->id);
    ask.query.fence = put->if_version;
    ask.query.value = &put->value;
    *status = send(&ask, delay, error);
    if (*status == HF_OK && note_found(put, &ask)) {
        return false;
    }
    if (*status == HF_OK) {
        *status = conclude(put, &ask, version, error);
        return true;
    }
    put->is_lost |= !is_read && ask.query.unknown != 0;
    return !put->is_lost || *status == HF_CANCELLED || *status == HF_NO_MEMORY;
}

enum hf_status hf_value_write(struct hf_client *client,
                              const struct hf_name *name,
                              const struct hf_bytes *value, uint64_t if_version,
                              uint64_t *version, struct hf_error *error)
{
    hf_client_begin_write(client);
    struct put put = {
        .client = client,
        .name = name,
        .value = *value,
        .if_version = if_version,
        .until = hf_instant_add(client->now, hf_span_ms(CALL_MS_MAX)),
    };
    struct hf_span delay = {0};
    enum hf_status status = HF_INTERNAL;
    make_id(&put);
    while (!try_put(&put, delay, version, &status, error)) {
        int64_t ms = (int64_t)(hf_client_random(client) % SETTLE_MS_STEP);
        delay = hf_span_ms(1 + ms);
        if (!hf_instant_before(hf_instant_add(client->now, delay), put.until)) {
            return fail_lost(error, "the server has not replied since");
        }
    }
    return status;
}

enum hf_status hf_value_check(const struct hf_bytes *value, uint64_t if_version,
                              struct hf_error *error)
{
    if (value->len > HF_VALUE_MAX) {
        return hf_fail(error, HF_INVALID,
                       "a value has at most %d bytes; this one has %zu",
                       HF_VALUE_MAX, value->len);
    }
    if (value->data == NULL && (value->len > 0 || if_version == 0)) {
        return hf_fail(error, HF_INVALID,
                       value->len > 0
                           ? "a value of %zu bytes, but no data"
                           : "nothing to delete: version 0 is no value",
                       value->len);
    }
    if (if_version > HF_FENCE_MAX && if_version != HF_VERSION_ANY) {
        return hf_fail(error, HF_INVALID, "no value has version %" PRIu64,
                       if_version);
    }
    return HF_OK;
}

enum hf_status hf_value_put(struct hf_client *client, const void *name,
                            size_t name_len, const void *data, size_t len,
                            uint64_t if_version, uint64_t *version,
                            struct hf_error *error)
{
    struct hf_name one = {.name = name, .name_len = name_len};
    struct hf_bytes value = {data, len};
    uint64_t found = 0;
    enum hf_status status = hf_value_check(&value, if_version, error);
    if (status == HF_OK) {
        status = hf_value_begin(client, &one, error);
    }
    if (status == HF_OK) {
        status =
            hf_value_write(client, &one, &value, if_version, &found, error);
        hf_client_leave(client);
    }
    if (version != NULL) {
        *version = found;
    }
    return status;
}
