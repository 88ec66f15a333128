/* SPDX-License-Identifier: Apache-2.0 */
/* REQUESTS IN FLIGHT
 *
 *   data    ······[ oldest … written | … not yet ]······
 *                 begin             sent         end
 *   ring    one hf_pending for each request from begin to end, in order
 *
 * A server replies in the order of the requests, so no request needs an id: a
 * reply belongs to the head of the ring. The bytes of a request stay until its
 * reply, for the case that the server does not know the script (NOSCRIPT). It
 * is then appended again, with the script's text.
 *
 * Why it is safe:
 * - A reply is matched by position, so a reply too many would move all others
 *   to a wrong request. hf_redis_wire_asked() has a request only once it is
 *   written completely; a reply before that breaks the connection (node.c), at
 *   the latest when no request is left.
 * - When a connection breaks, a request of which no byte was written was never
 *   executed (UNSENT); any other may have been (UNKNOWN). begin and sent tell
 *   them apart.
 * - A repeated request moves after later ones. An ACQUIRE after the RELEASE
 *   that cancels it would leave a lock without an owner, so
 *   hf_redis_wire_may_resend() refuses that.
 * - After a login the unused bytes are overwritten: AUTH was in them.
 *
 * Cost: one write() for all requests of a turn. A request allocates nothing
 * unless more are in flight than ever before, and is not sent if that fails. So
 * the RELEASE of a lock has room if it is the only request; of many at once
 * some are UNSENT, and core sends them again. Both buffers double, so the
 * copying is amortized. NOSCRIPT costs one round trip, once for each script
 * that a server does not have. */
#include "store/redis/wire.h"

#include "base/assert.h"
#include "store/redis/resp.h"

#include <holdfast/holdfast.h>
#include <stdlib.h>
#include <string.h>

/* Bytes and requests at first: a page, and the number that one lock after
 * another needs of it. Both double. */
#define FIRST_BYTES 4096
#define FIRST_PENDING 32

/* A buffer larger than this is freed when it is empty. */
#define KEPT_BYTES (1U << 20)

void hf_redis_wire_init(struct hf_redis_wire *wire)
{
    memset(wire, 0, sizeof(*wire));
}

void hf_redis_wire_fini(struct hf_redis_wire *wire)
{
    if (wire->data != NULL) { /* a password may have been sent */
        explicit_bzero(wire->data, wire->cap);
    }
    free(wire->data);
    free(wire->ring);
    hf_redis_wire_init(wire);
}

void hf_redis_wire_reset(struct hf_redis_wire *wire)
{
    if (wire->cap > KEPT_BYTES) { /* bursts of that size are rare */
        hf_redis_wire_fini(wire);
    }
    wire->begin = wire->sent = wire->end = 0;
    wire->head = wire->count = 0;
}

void hf_redis_wire_wipe(struct hf_redis_wire *wire)
{
    if (wire->begin > 0) {
        explicit_bzero(wire->data, wire->begin);
    }
    if (wire->data != NULL && wire->cap > wire->end) {
        explicit_bzero(wire->data + wire->end, wire->cap - wire->end);
    }
}

/* Not realloc(), which would leave a copy of the requests, AUTH too, in freed
 * memory. */
static bool grow(struct hf_redis_wire *wire, size_t cap)
{
    HF_ASSERT(cap > wire->cap && wire->end <= wire->cap);
    char *data = malloc(cap);
    if (data == NULL) {
        return false;
    }
    if (wire->data != NULL) {
        memcpy(data, wire->data, wire->end);
        explicit_bzero(wire->data, wire->cap);
        free(wire->data);
    }
    wire->data = data;
    wire->cap = cap;
    return true;
}

/* Make room for `len` bytes after `end`: move the unanswered bytes to the
 * front if that leaves at least a quarter of the buffer free, else grow it. */
static bool reserve_bytes(struct hf_redis_wire *wire, size_t len)
{
    size_t live = wire->end - wire->begin;
    if (live + len > HF_REDIS_WIRE_BYTES_MAX) {
        return false;
    }
    if (wire->end + len <= wire->cap) {
        return true;
    }
    size_t cap = wire->cap == 0 ? FIRST_BYTES : wire->cap;
    while (cap - cap / 4 < live + len) {
        cap *= 2;
    }
    if (cap != wire->cap && !grow(wire, cap)) {
        return false;
    }
    memmove(wire->data, wire->data + wire->begin, live);
    wire->sent -= wire->begin;
    wire->begin = 0;
    wire->end = live;
    HF_ASSERT(wire->end + len <= wire->cap && wire->sent <= wire->end);
    return true;
}

static bool reserve_pending(struct hf_redis_wire *wire)
{
    if (wire->count < wire->ring_cap) {
        return true;
    }
    HF_ASSERT(wire->count == wire->ring_cap); /* all of it is in use */
    size_t cap = wire->ring_cap == 0 ? FIRST_PENDING : 2 * wire->ring_cap;
    struct hf_pending *ring = calloc(cap, sizeof(*ring));
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < wire->count; i++) {
        ring[i] = wire->ring[(wire->head + i) & (wire->ring_cap - 1)];
    }
    free(wire->ring);
    wire->ring = ring;
    wire->ring_cap = cap;
    wire->head = 0;
    return true;
}

static void commit(struct hf_redis_wire *wire, size_t len,
                   const struct hf_pending *pending)
{
    size_t at = (wire->head + wire->count) & (wire->ring_cap - 1);
    HF_ASSERT(wire->count < wire->ring_cap);
    HF_ASSERT(len <= wire->cap - wire->end); /* not more than was reserved */
    wire->ring[at] = *pending;
    wire->ring[at].bytes = (uint32_t)len;
    wire->count++;
    wire->end += len;
}

bool hf_redis_wire_push(struct hf_redis_wire *wire,
                        const struct hf_resp_request *request,
                        const struct hf_pending *pending)
{
    if (!reserve_bytes(wire, hf_resp_room(request)) || !reserve_pending(wire)) {
        return false;
    }
    size_t len = hf_resp_write(wire->data + wire->end, request);
    commit(wire, len, pending);
    return true;
}

size_t hf_redis_wire_unsent(const struct hf_redis_wire *wire, const char **data)
{
    *data = wire->data == NULL ? NULL : wire->data + wire->sent;
    return wire->end - wire->sent;
}

void hf_redis_wire_wrote(struct hf_redis_wire *wire, size_t n)
{
    HF_ASSERT(n <= wire->end - wire->sent);
    wire->sent += n;
}

const struct hf_pending *hf_redis_wire_oldest(const struct hf_redis_wire *wire)
{
    return wire->count == 0 ? NULL : &wire->ring[wire->head];
}

const struct hf_pending *hf_redis_wire_asked(const struct hf_redis_wire *wire)
{
    const struct hf_pending *oldest = hf_redis_wire_oldest(wire);
    bool has_left = oldest != NULL && wire->sent >= wire->begin &&
                    wire->sent - wire->begin >= oldest->bytes;
    return has_left ? oldest : NULL;
}

void hf_redis_wire_pop(struct hf_redis_wire *wire)
{
    HF_ASSERT(wire->count > 0);
    HF_ASSERT(wire->ring[wire->head].bytes <= wire->end - wire->begin);
    wire->begin += wire->ring[wire->head].bytes;
    wire->head = (wire->head + 1) & (wire->ring_cap - 1);
    wire->count--;
    if (wire->count == 0 && wire->sent == wire->end) {
        hf_redis_wire_reset(wire);
    }
}

static bool is_followed(const struct hf_redis_wire *wire, uint8_t verb)
{
    uint32_t owner = wire->ring[wire->head].owner;
    for (size_t i = 1; i < wire->count; i++) {
        const struct hf_pending *at =
            &wire->ring[(wire->head + i) & (wire->ring_cap - 1)];
        if (at->verb == verb && at->owner == owner) {
            return true;
        }
    }
    return false;
}

bool hf_redis_wire_may_resend(const struct hf_redis_wire *wire, uint8_t verb)
{
    HF_ASSERT(wire->count > 0);
    return wire->ring[wire->head].verb == verb || !is_followed(wire, verb);
}

/* Greater than any single request: the largest is a PUT. */
#define REQUEST_BYTES_MAX (HF_VALUE_MAX + 65536)

bool hf_redis_wire_is_full(const struct hf_redis_wire *wire)
{
    return wire->end - wire->begin >
           HF_REDIS_WIRE_BYTES_MAX - REQUEST_BYTES_MAX;
}

bool hf_redis_wire_resend(struct hf_redis_wire *wire)
{
    HF_ASSERT(wire->count > 0);
    struct hf_pending pending = *hf_redis_wire_oldest(wire);
    HF_ASSERT(pending.script != NULL && !pending.has_text);
    size_t room = hf_resp_eval_room(pending.bytes, pending.script->len);
    if (!reserve_bytes(wire, room) || !reserve_pending(wire)) {
        return false;
    }
    size_t len = hf_resp_write_eval(wire->data + wire->end,
                                    wire->data + wire->begin, pending.bytes,
                                    pending.script->text, pending.script->len);
    pending.has_text = true; /* the server never replies NOSCRIPT to EVAL */
    commit(wire, len, &pending);
    hf_redis_wire_pop(wire);
    return true;
}
