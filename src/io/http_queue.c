/* SPDX-License-Identifier: Apache-2.0 */
/* REQUESTS IN FLIGHT
 *
 *   bytes   ······written······[ not yet ]
 *                            begin      end
 *   ring    one hf_http_pending for each request without a reply, in order
 *
 * Positions of requests are counted in all bytes of the connection, so a byte
 * that is written is not kept: HTTP repeats no request. A server replies in the
 * order of the requests. A request of which no byte was written was never
 * executed; any other may have been. With TLS a byte counts once its record is
 * written completely; of a part of a record the server reads nothing. */
#include "io/http_queue.h"

#include "base/assert.h"
#include "base/text_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes and requests at first: a page, which a few requests about a lock fill,
 * and more replies than a client of few locks waits for. Both double, so that a
 * busy one copies them rarely. */
#define FIRST_BYTES 4096
#define FIRST_PENDING 16

/* A buffer larger than this is freed when it is empty: bursts are rare. */
#define KEPT_BYTES (1U << 16)

void hf_http_queue_init(struct hf_http_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
}

static void drop_bytes(struct hf_http_queue *queue)
{
    HF_ASSERT(queue->begin <= queue->end && queue->end <= queue->cap);
    if (queue->bytes != NULL) {
        explicit_bzero(queue->bytes, queue->end);
    }
    if (queue->cap > KEPT_BYTES) {
        free(queue->bytes);
        queue->bytes = NULL;
        queue->cap = 0;
    }
    queue->begin = queue->end = 0;
}

void hf_http_queue_reset(struct hf_http_queue *queue)
{
    drop_bytes(queue);
    queue->n_written = 0;
    queue->head = queue->count = 0;
}

void hf_http_queue_fini(struct hf_http_queue *queue)
{
    drop_bytes(queue);
    free(queue->bytes);
    free(queue->ring);
    hf_http_queue_init(queue);
}

/* Not realloc(), which would leave a copy of the requests, tokens too, in freed
 * memory. */
static bool reserve_bytes(struct hf_http_queue *queue, size_t len)
{
    size_t live = queue->end - queue->begin;
    size_t cap = queue->cap == 0 ? FIRST_BYTES : queue->cap;
    HF_ASSERT(queue->begin <= queue->end && queue->end <= queue->cap);
    if (queue->end + len <= queue->cap) {
        return true;
    }
    while (cap - cap / 4 < live + len) {
        cap *= 2;
    }
    char *bytes = malloc(cap);
    if (bytes == NULL) {
        return false;
    }
    if (queue->bytes != NULL) {
        memcpy(bytes, queue->bytes + queue->begin, live);
        explicit_bzero(queue->bytes, queue->end);
        free(queue->bytes);
    }
    queue->bytes = bytes;
    queue->cap = cap;
    queue->begin = 0;
    queue->end = live;
    return true;
}

static bool reserve_pending(struct hf_http_queue *queue)
{
    if (queue->count < queue->ring_cap) {
        return true;
    }
    HF_ASSERT(queue->count == queue->ring_cap); /* all of it is in use */
    size_t cap = queue->ring_cap == 0 ? FIRST_PENDING : 2 * queue->ring_cap;
    struct hf_http_pending *ring = calloc(cap, sizeof(*ring));
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < queue->count; i++) {
        ring[i] = queue->ring[(queue->head + i) & (queue->ring_cap - 1)];
    }
    free(queue->ring);
    queue->ring = ring;
    queue->ring_cap = cap;
    queue->head = 0;
    return true;
}

/* A space or a line's end would begin another part of the request. */
static bool is_path(const char *path)
{
    const unsigned char *at = (const unsigned char *)path;
    while (*at > ' ' && *at < 0x7F) {
        at++;
    }
    return *path == '/' && *at == '\0';
}

static bool are_lines(const char *headers)
{
    size_t len = strlen(headers);
    return len == 0 || (len > 2 && strcmp(headers + len - 2, "\r\n") == 0);
}

/** @return length of the head, which is written if it is below `size`. */
static size_t write_head(char *out, size_t size, const char *host,
                         const struct hf_http_request *request)
{
    const char *headers = request->headers != NULL ? request->headers : "";
    char length[HF_TEXT_NAME] = "";
    HF_ASSERT(is_path(request->path) && are_lines(headers));
    if (request->body_len > 0 || strcmp(request->method, "GET") != 0) {
        int all = snprintf(length, sizeof(length), "Content-Length: %zu\r\n",
                           request->body_len);
        HF_ASSERT(all > 0 && (size_t)all < sizeof(length));
    }
    int len = snprintf(out, size, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n",
                       request->method, request->path, host, length, headers);
    HF_ASSERT(len > 0);
    return (size_t)len;
}

/* The reply to a stream has no end: none would follow it. */
static bool ends_with_stream(const struct hf_http_queue *queue)
{
    size_t last = (queue->head + queue->count - 1) & (queue->ring_cap - 1);
    return queue->count > 0 && queue->ring[last].is_stream;
}

static void commit(struct hf_http_queue *queue,
                   const struct hf_http_request *request, size_t len,
                   struct hf_instant now)
{
    uint64_t begin = queue->n_written + (queue->end - queue->begin);
    HF_ASSERT(queue->count < queue->ring_cap);
    HF_ASSERT(len <= queue->cap - queue->end);
    queue->ring[(queue->head + queue->count) & (queue->ring_cap - 1)] =
        (struct hf_http_pending){
            .cookie = request->cookie,
            .user = request->user,
            .sent = now,
            .timeout = request->timeout,
            .is_stream = request->is_stream,
            .begin = begin,
            .end = begin + len,
        };
    queue->count++;
    queue->end += len;
}

bool hf_http_queue_push(struct hf_http_queue *queue, const char *host,
                        const struct hf_http_request *request, size_t max,
                        struct hf_instant now)
{
    char none[1];
    size_t head = write_head(none, sizeof(none), host, request);
    size_t live = queue->end - queue->begin;
    HF_ASSERT(!ends_with_stream(queue));
    if (live > max || request->body_len > max || head > max ||
        live + head + request->body_len > max) {
        return false;
    }
    /* snprintf() ends with a 0 byte, where the body begins. */
    if (!reserve_bytes(queue, head + request->body_len + 1) ||
        !reserve_pending(queue)) {
        return false;
    }
    char *at = queue->bytes + queue->end;
    write_head(at, head + 1, host, request);
    if (request->body_len > 0) {
        memcpy(at + head, request->body, request->body_len);
    }
    commit(queue, request, head + request->body_len, now);
    return true;
}

void hf_http_queue_restamp(struct hf_http_queue *queue, struct hf_instant now)
{
    HF_ASSERT(queue->n_written == 0);
    for (size_t i = 0; i < queue->count; i++) {
        queue->ring[(queue->head + i) & (queue->ring_cap - 1)].sent = now;
    }
}

size_t hf_http_queue_unsent(const struct hf_http_queue *queue,
                            const char **bytes)
{
    *bytes = queue->bytes == NULL ? NULL : queue->bytes + queue->begin;
    return queue->end - queue->begin;
}

void hf_http_queue_wrote(struct hf_http_queue *queue, size_t n)
{
    HF_ASSERT(n <= queue->end - queue->begin);
    queue->begin += n;
    queue->n_written += n;
    if (queue->begin == queue->end) {
        drop_bytes(queue);
    }
}

const struct hf_http_pending *
hf_http_queue_oldest(const struct hf_http_queue *queue)
{
    return queue->count == 0 ? NULL : &queue->ring[queue->head];
}

bool hf_http_queue_is_unsent(const struct hf_http_queue *queue,
                             const struct hf_http_pending *pending)
{
    return pending->begin >= queue->n_written;
}

struct hf_http_pending hf_http_queue_pop(struct hf_http_queue *queue)
{
    HF_ASSERT(queue->count > 0);
    struct hf_http_pending oldest = queue->ring[queue->head];
    queue->head = (queue->head + 1) & (queue->ring_cap - 1);
    queue->count--;
    return oldest;
}
