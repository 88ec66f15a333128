/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of one HTTP connection: the bytes that are not written yet, and
 * a ring of pending replies in order. No I/O; http.c does that:
 *
 *     hf_http_queue_init(&queue);
 *     if (!hf_http_queue_push(&queue, host, &request, max, now)) …
 *     hf_http_queue_restamp(&queue, now);          the connection has opened
 *     len = hf_http_queue_unsent(&queue, &bytes);
 *     hf_http_queue_wrote(&queue, n);              n <= len were written
 *     oldest = hf_http_queue_oldest(&queue);       whose reply comes next
 *     pending = hf_http_queue_pop(&queue);         it is complete
 *
 *     while (hf_http_queue_oldest(&queue) != NULL) {       it is broken
 *         pending = hf_http_queue_pop(&queue);
 *         is_unsent = hf_http_queue_is_unsent(&queue, &pending);
 *     }
 *     hf_http_queue_reset(&queue);                 then push for the next one
 *     hf_http_queue_fini(&queue);
 *
 * Owner: the queue has copies of the requests. What it returns by a pointer is
 * its own, until the next call that changes it. `cookie` and `user` are not
 * looked at. Threads: those of the connection, with the client's mutex. Errors:
 * only a push fails. */
#ifndef HF_IO_HTTP_QUEUE_H
#define HF_IO_HTTP_QUEUE_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request to be sent. Everything is copied. */
struct hf_http_request {
    const char *method;  /* "GET", "POST", "PUT", "DELETE" */
    const char *path;    /* with the query, escaped */
    const char *headers; /* more lines, each "Name: value\r\n"; NULL: none.
                            Host and Content-Length are added. */
    const void *body;
    size_t body_len; /* 0: no body */
    /* The longest silence while this request is the oldest one, counted from
     * `sent` or from the last byte that was received. {0}: no limit. */
    struct hf_span timeout;
    /* The reply has no end: its body is delivered in pieces, and `timeout` is
     * for its head. No other request may follow on this connection. A reply
     * with a status other than 2xx is no stream. */
    bool is_stream;
    uint64_t cookie; /* for the owner */
    void *user;      /* the same */
};

/* A request whose reply is pending. */
struct hf_http_pending {
    uint64_t cookie;
    void *user;
    /* Read before its first byte was given to the socket: whatever the server
     * did with it, it did later. */
    struct hf_instant sent;
    struct hf_span timeout;
    bool is_stream;
    uint64_t begin; /* of its bytes, in all bytes of the connection */
    uint64_t end;
};

struct hf_http_queue {
    char *bytes; /* not written yet: from `begin` to `end` */
    size_t cap;
    size_t begin;
    size_t end;
    uint64_t n_written; /* since the reset */
    struct hf_http_pending *ring;
    size_t ring_cap; /* a power of two */
    size_t head;
    size_t count;
};

/* Without a request. */
void hf_http_queue_init(struct hf_http_queue *queue);

/* Free its memory, and erase it: requests have passwords. Without a request
 * again. */
void hf_http_queue_fini(struct hf_http_queue *queue);

/* Drop all, for a new connection. */
void hf_http_queue_reset(struct hf_http_queue *queue);

/** Add a request, as sent at `now`.
 * @param max  of unwritten bytes.
 * @return false: no memory, or above `max`; nothing was added. */
bool hf_http_queue_push(struct hf_http_queue *queue, const char *host,
                        const struct hf_http_request *request, size_t max,
                        struct hf_instant now);

/* The connection opens at `now`: no request was sent before. */
void hf_http_queue_restamp(struct hf_http_queue *queue, struct hf_instant now);

/** The bytes that are not written yet. @return how many. */
size_t hf_http_queue_unsent(const struct hf_http_queue *queue,
                            const char **bytes);

/* `n` of them were written. They are wiped: a token may have been in them. */
void hf_http_queue_wrote(struct hf_http_queue *queue, size_t n);

/* The oldest request without a reply; NULL: there is none. */
const struct hf_http_pending *
hf_http_queue_oldest(const struct hf_http_queue *queue);

/* Is no byte of it written? To be asked before the reset. */
bool hf_http_queue_is_unsent(const struct hf_http_queue *queue,
                             const struct hf_http_pending *pending);

/** Remove the oldest; there is one. @return a copy. */
struct hf_http_pending hf_http_queue_pop(struct hf_http_queue *queue);

#endif
