/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of servers: valid replies to the pending requests, and arrays of the
 * right form with contents from the input. */
#include "redis_fake.h"

#include "core/limits.h"
#include "store/redis/node.h"

#include <inttypes.h>
#include <stdarg.h>

#define SAID_MAX 4096

struct said {
    size_t len;
    char text[SAID_MAX];
};

__attribute__((format(printf, 2, 3))) static void add(struct said *said,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(said->text + said->len, SAID_MAX - said->len, format,
                      arguments);
    va_end(arguments);
    FUZZ_CHECK(n >= 0 && (size_t)n < SAID_MAX - said->len);
    said->len += (size_t)n;
}

static void add_bulk(struct said *said, const void *data, size_t len)
{
    add(said, "$%zu\r\n", len);
    FUZZ_CHECK(len + 2 < SAID_MAX - said->len);
    if (len > 0) {
        memcpy(said->text + said->len, data, len);
        said->len += len;
    }
    add(said, "\r\n");
}

static void add_text(struct said *said, const char *text)
{
    add_bulk(said, text, strlen(text));
}

/* ---- Of the right form ------------------------------------------------- */

static void add_item(struct said *said, struct fuzz_input *in)
{
    static const int64_t edges[] = {
        -2, -1, 0, 1, 2, HF_FENCE_MAX, HF_FENCE_MAX + 1, INT64_MAX, INT64_MIN};
    uint8_t what = fuzz_u8(in);
    size_t len = what / 8;
    switch (what % 5) {
    case 0:
        add(said, ":%d\r\n", what / 5);
        break;
    case 1:
        add(said, ":%" PRId64 "\r\n", (int64_t)fuzz_u64(in));
        break;
    case 2:
        add(said, ":%" PRId64 "\r\n", edges[what / 5 % 9]);
        break;
    case 3:
        add(said, "$-1\r\n");
        break;
    default: {
        const uint8_t *bytes = fuzz_bytes(in, &len);
        add_bulk(said, bytes, len);
        break;
    }
    }
}

static void add_items(struct said *said, struct fuzz_input *in, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        add_item(said, in);
    }
}

static void say(struct hf_store *store, unsigned node, bool listens,
                const struct said *said)
{
    fake_say(store, node, listens, said->text, said->len);
}

void fake_say_array(struct hf_store *store, unsigned node,
                    struct fuzz_input *in)
{
    struct said said = {.len = 0};
    unsigned n = fuzz_u8(in) % 14U;
    add(&said, "*%u\r\n", n);
    add_items(&said, in, n);
    say(store, node, false, &said);
}

void fake_say_queue(struct hf_store *store, unsigned node,
                    struct fuzz_input *in)
{
    struct said said = {.len = 0};
    uint8_t what = fuzz_u8(in);
    unsigned n = what / 2 % 30U;
    if (what % 2 == 0) {
        add(&said, "*%u\r\n", 11 + n);
        add_items(&said, in, 11 + n);
    } else {
        add(&said, "*2\r\n");
        add_item(&said, in);
        add(&said, "*%u\r\n", n);
        for (unsigned i = 0; i < n; i++) {
            char key[300] = "lock:";
            size_t len = fuzz_u8(in);
            const uint8_t *bytes = fuzz_bytes(in, &len);
            if (len > 0) {
                memcpy(key + (what & 64 ? 5 : 0), bytes, len % 64);
            }
            add_bulk(&said, key, (what & 64 ? 5 : 0) + len % 64);
        }
    }
    say(store, node, false, &said);
}

void fake_say_grant(struct hf_store *store, unsigned node,
                    struct fuzz_input *in)
{
    const struct hf_redis *redis = (const struct hf_redis *)(void *)store;
    struct said said = {.len = 0};
    char text[64];
    uint8_t what = fuzz_u8(in);
    uint64_t counter = what % 2 == 0 ? fuzz_u8(in) : fuzz_u64(in);
    snprintf(text, sizeof(text), "%u %" PRIu64 "%s", what / 4U, counter,
             (what & 2) != 0 ? " " : "");
    add(&said, "*3\r\n");
    add_text(&said, "message");
    add_text(&said, redis->channel);
    add_text(&said, text);
    say(store, node, true, &said);
}

/* ---- Valid ------------------------------------------------------------- */

static void add_pair(struct said *said, const char *a, const char *b)
{
    add(said, "*2\r\n");
    add_text(said, a);
    add_text(said, b);
}

static void add_marker(struct said *said, const struct hf_redis *redis)
{
    char max_ttl[24];
    char nodes[24];
    char fence_keep[24];
    snprintf(max_ttl, sizeof(max_ttl), "%" PRId64, redis->shape.max_ttl_ms);
    snprintf(fence_keep, sizeof(fence_keep), "%" PRId64,
             redis->shape.fence_keep_ms);
    snprintf(nodes, sizeof(nodes), "%u", redis->base.n_nodes);
    add(said, "*12\r\n");
    add_text(said, "v");
    add_text(said, "m1");
    add_text(said, "run_id");
    add_text(said, "r0");
    add_text(said, "max_ttl_ms");
    add_text(said, max_ttl);
    add_text(said, "nodes");
    add_text(said, nodes);
    add_text(said, "fence_keep_ms");
    add_text(said, fence_keep);
    add_text(said, "whole");
    add_text(said, "1");
}

static void add_info(struct said *said, unsigned node)
{
    char text[200];
    snprintf(text, sizeof(text),
             "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
             "run_id:r%u\r\n",
             node);
    add_text(said, text);
}

static void add_honest_greeting(struct said *said, const struct hf_redis *redis,
                                unsigned node, uint8_t request)
{
    switch (request) {
    case HF_REDIS_INFO_SERVER:
        add_info(said, node);
        break;
    case HF_REDIS_INFO_REPLICATION:
        add_text(said, "role:master\r\nconnected_slaves:0\r\n"
                       "master_replid:p0\r\nmaster_replid2:0000\r\n");
        break;
    case HF_REDIS_TIME:
        add_pair(said, "1700000000", "123456");
        break;
    case HF_REDIS_APPENDONLY:
    case HF_REDIS_APPENDFSYNC:
    case HF_REDIS_REWRITE:
    case HF_REDIS_MAXMEMORY:
    case HF_REDIS_POLICY:
    case HF_REDIS_MIN_REPLICAS:
        add_pair(said, "setting", "no");
        break;
    case HF_REDIS_MARKER:
        add_marker(said, redis);
        break;
    case HF_REDIS_MARK:
        add(said, ":1\r\n");
        break;
    case HF_REDIS_PEEK:
        add_text(said, "m1");
        break;
    default:
        add(said, "+OK\r\n");
        break;
    }
}

static void add_honest(struct said *said, const struct hf_redis *redis,
                       unsigned node, const struct hf_pending *pending)
{
    switch (pending->verb) {
    case HF_VERB_ACQUIRE:
    case HF_VERB_YIELD:
        add(said, "*8\r\n:2\r\n:7\r\n:5000\r\n$5\r\nother\r\n:0\r\n:0\r\n"
                  ":1700000000000001\r\n:1\r\n");
        break;
    case HF_VERB_CONFIRM:
    case HF_VERB_RELEASE:
    case HF_VERB_BREAK:
        add(said, ":9\r\n");
        break;
    case HF_VERB_INSPECT:
        add(said, "*4\r\n:0\r\n:7\r\n:-2\r\n$-1\r\n");
        break;
    case HF_VERB_QUEUE:
        add(said, "*15\r\n:1\r\n:7\r\n:5000\r\n$1\r\no\r\n:0\r\n:0\r\n:0\r\n"
                  ":0\r\n:3\r\n:2\r\n:1\r\n$1\r\nw\r\n:50\r\n:17\r\n"
                  "$2\r\ns3\r\n");
        break;
    case HF_VERB_MARK:
        add(said, "*4\r\n:1\r\n:7\r\n:5000\r\n$1\r\no\r\n");
        break;
    case HF_VERB_GET:
        add(said, "$53\r\n1700000000000001 0123456789abcdef0123456789abcdef "
                  "abc\r\n");
        break;
    case HF_VERB_PUT:
        add(said, "*2\r\n:1\r\n:1700000000000001\r\n");
        break;
    case HF_VERB_SCAN:
        add(said, "*2\r\n$1\r\n0\r\n*1\r\n$8\r\nlock:job\r\n");
        break;
    default:
        add_honest_greeting(said, redis, node, pending->verb);
        break;
    }
}

static void answer_listener(struct hf_store *store, unsigned node)
{
    struct hf_redis *redis = (struct hf_redis *)(void *)store;
    const struct hf_redis_listener *listener = &redis->nodes[node].listener;
    struct said said = {.len = 0};
    if (listener->phase == HF_REDIS_LISTENING) {
        add(&said, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    } else {
        if (redis->endpoints[node].password != NULL) {
            add(&said, "+OK\r\n");
        }
        add_info(&said, node);
        add(&said, "*3\r\n$9\r\nsubscribe\r\n");
        add_text(&said, redis->channel);
        add(&said, ":1\r\n");
    }
    say(store, node, true, &said);
}

void fake_answer(struct hf_store *store, unsigned node, bool listens)
{
    struct hf_redis *redis = (struct hf_redis *)(void *)store;
    const struct hf_redis_wire *wire = &redis->nodes[node].connection.wire;
    if (listens) {
        answer_listener(store, node);
        return;
    }
    for (unsigned i = 0; i < 40; i++) {
        struct said said = {.len = 0};
        const struct hf_pending *oldest = hf_redis_wire_oldest(wire);
        if (oldest == NULL || wire->begin >= wire->sent) {
            return; /* the server has read nothing yet */
        }
        add_honest(&said, redis, node, oldest);
        say(store, node, false, &said);
    }
}
