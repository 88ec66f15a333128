/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of HTTP/1.1, from bytes as they arrive: libhttp_parser reads heads,
 * lengths and chunks, and this keeps the status, the body and the headers that
 * a caller names, in bounded memory. No I/O, no clock.
 *
 *     hf_http_parser_init(&parser, names, head_max, body_max);
 *     feed(bytes) until all are used:
 *         MORE   all were used; of a stream, take the piece
 *         DONE   a reply is complete: use it, then next()
 *         BAD    the bytes are no reply; `fault` says why
 *     feed_end() when the server has closed the connection
 *
 * Interim replies (100 Continue) are skipped. */
#ifndef HF_IO_HTTP_REPLY_H
#define HF_IO_HTTP_REPLY_H

#include "base/text_size.h"

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Date is read anyway; so: Content-Type, and a few of a store. */
#define HF_HTTP_KEPT_MAX 4

/* A kept value that is longer is a fault, since a part of it could mean
 * something else. */
#define HF_HTTP_VALUE_MAX 127

/* No name that is kept is longer. */
#define HF_HTTP_NAME_MAX 39

struct hf_http_reply {
    unsigned status;
    /* The server's clock, from the header Date, in seconds since 1970; -1: no
     * such header, or no date. */
    int64_t date_s;
    /* Of the headers in `names`, in that order; "": absent. Of a header that
     * comes twice, the last value. */
    char kept[HF_HTTP_KEPT_MAX][HF_HTTP_VALUE_MAX + 1];
    const char *body; /* never NULL; a 0 byte follows it */
    size_t body_len;
    bool is_last; /* the server closes the connection after it */
};

/* What the bytes have brought the reply to, as above. */
enum hf_http_fed { HF_HTTP_MORE, HF_HTTP_DONE, HF_HTTP_BAD };

struct hf_http_parser {
    http_parser parser;
    const char *const *names; /* of the headers to keep; NULL at the end */
    size_t head_max;          /* bytes of all heads and trailers of a reply */
    size_t body_max;          /* of a reply that is no stream */
    struct hf_http_reply reply;
    char *body;
    size_t body_cap;
    size_t head_len;
    char name[HF_HTTP_NAME_MAX + 1]; /* of the header that is being read */
    size_t name_len;                 /* also above the maximum */
    char value[HF_HTTP_VALUE_MAX + 1];
    size_t value_len;  /* the same */
    bool is_in_value;  /* the next name begins another header */
    bool has_head;     /* further headers are trailers */
    bool wants_stream; /* the caller takes pieces */
    bool is_stream;    /* and the reply is 2xx, once it has a head */
    bool is_done;
    char fault[HF_TEXT_CLAUSE]; /* "": none */
};

/** @param names  borrowed until fini; HF_HTTP_KEPT_MAX at most. */
void hf_http_parser_init(struct hf_http_parser *parser,
                         const char *const *names, size_t head_max,
                         size_t body_max);

/* Free the body. The parser may be used again. */
void hf_http_parser_fini(struct hf_http_parser *parser);

/* Drop all bytes, for a new connection. The body of `reply` stays readable. */
void hf_http_parser_reset(struct hf_http_parser *parser);

/** Parse bytes; `*used` is set to the number of those that were used.
 * @param wants_stream  the reply, if it is 2xx, is a stream: after each call
 * the body of `reply` is a piece, until hf_http_parser_take(). */
enum hf_http_fed hf_http_parser_feed(struct hf_http_parser *parser,
                                     const char *data, size_t len,
                                     bool wants_stream, size_t *used);

/* The connection has ended. DONE: a refusal without a length is complete. MORE:
 * between two replies. BAD: in the middle of one. */
enum hf_http_fed hf_http_parser_feed_eof(struct hf_http_parser *parser);

/* The piece was delivered. */
void hf_http_parser_take(struct hf_http_parser *parser);

/* After DONE: the next byte begins another reply. */
void hf_http_parser_next(struct hf_http_parser *parser);

#endif
