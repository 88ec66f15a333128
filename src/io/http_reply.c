/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES, AS THE PARSER REPORTS THEM
 *
 * The parser calls back with fragments: a name or a value may come in many
 * parts, wherever the bytes were cut. A header is complete when the next name
 * or the end of the head comes. At the end of a reply the parser is paused, so
 * that the owner uses the reply outside of the parser, where it may also close
 * the connection.
 *
 * Memory is bounded: names and values are kept up to a constant, the body up to
 * `body_max`, and the bytes of heads, interim replies and trailers are counted.
 * White space in heads is not reported; the parser itself limits that (80 KiB
 * as Debian builds it). A stream is never longer than the bytes of one feed. */
#include "io/http_reply.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A body's buffer that is larger is freed after the reply: lists are rare. */
#define KEPT_BYTES (1U << 16)

static struct hf_http_parser *owner_of(const http_parser *parser)
{
    return parser->data;
}

/* Of the shortest interim reply, "HTTP/1.1 100" and two ends of a line: it has
 * nothing that the parser reports. */
#define INTERIM_BYTES 16

/* A callback returns this to stop the parser; 1 means something else to it when
 * the head is complete. The first fault is kept. */
#define STOP (-1)

static int fail_at(struct hf_http_parser *parser, const char *part, size_t max)
{
    if (parser->fault[0] == '\0') {
        snprintf(parser->fault, sizeof(parser->fault),
                 "%s of the HTTP reply exceeds %zu bytes", part, max);
    }
    return STOP;
}

static int fail(struct hf_http_parser *parser, const char *fault)
{
    if (parser->fault[0] == '\0') {
        snprintf(parser->fault, sizeof(parser->fault), "%s", fault);
    }
    return STOP;
}

/* ---- Headers ----------------------------------------------------------- */

/* Not atoi(), which would take a blank or a sign for a digit. */
static int digits_at(const char *text, size_t n)
{
    int value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", the only form that a server may send
 * (RFC 9110, 5.6.7). Not strptime(), which reads the locale's names. */
static int64_t date_of(const char *text)
{
    static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov "
                                 "Dec ";
    if (strlen(text) != 29 || strcmp(text + 25, " GMT") != 0) {
        return -1;
    }
    char month[] = {text[8], text[9], text[10], ' ', '\0'};
    const char *at = strstr(months, month);
    struct tm tm = {
        .tm_mday = digits_at(text + 5, 2),
        .tm_mon = at == NULL ? -1 : (int)(at - months) / 4,
        .tm_year = digits_at(text + 12, 4) - 1900,
        .tm_hour = digits_at(text + 17, 2),
        .tm_min = digits_at(text + 20, 2),
        .tm_sec = digits_at(text + 23, 2),
    };
    bool is_date = tm.tm_mday >= 0 && tm.tm_mon >= 0 && tm.tm_year >= 70 &&
                   tm.tm_hour >= 0 && tm.tm_min >= 0 && tm.tm_sec >= 0;
    return is_date ? timegm(&tm) : -1;
}

/* The parser drops white space before a value only. */
static void trim(char *value)
{
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t')) {
        value[--len] = '\0';
    }
}

/* A value that was cut is an error only if it is kept: it would be taken for a
 * whole one. */
static int end_header(struct hf_http_parser *parser)
{
    bool is_kept = false;
    size_t at = 0;
    if (parser->name_len == 0 || parser->name_len > HF_HTTP_NAME_MAX) {
        return 0;
    }
    while (parser->names[at] != NULL && !is_kept) {
        is_kept = strcasecmp(parser->names[at], parser->name) == 0;
        at += is_kept ? 0 : 1;
    }
    if (is_kept && parser->value_len > HF_HTTP_VALUE_MAX) {
        return fail_at(parser, parser->names[at], HF_HTTP_VALUE_MAX);
    }
    trim(parser->value);
    if (is_kept) {
        HF_ASSERT(at < HF_HTTP_KEPT_MAX);
        memcpy(parser->reply.kept[at], parser->value, sizeof(parser->value));
    }
    if (strcasecmp(parser->name, "Date") == 0) {
        parser->reply.date_s = date_of(parser->value);
    }
    return 0;
}

static int count_head(struct hf_http_parser *parser, size_t len)
{
    parser->head_len += len;
    return parser->head_len <= parser->head_max
               ? 0
               : fail_at(parser, "the head", parser->head_max);
}

/* *len also counts what does not fit, so that end_header() sees it. */
static void append(char *text, size_t *len, size_t max, const char *data,
                   size_t n)
{
    if (*len < max) {
        size_t fits = n < max - *len ? n : max - *len;
        memcpy(text + *len, data, fits);
        text[*len + fits] = '\0';
    }
    *len += n;
}

static void begin_header(struct hf_http_parser *parser)
{
    parser->is_in_value = false;
    parser->name_len = parser->value_len = 0;
    parser->name[0] = parser->value[0] = '\0';
}

static int on_status(http_parser *http, const char *at, size_t len)
{
    (void)at;
    return count_head(owner_of(http), len);
}

static int on_name(http_parser *http, const char *at, size_t len)
{
    struct hf_http_parser *parser = owner_of(http);
    if (parser->has_head) { /* a trailer */
        return count_head(parser, len);
    }
    if (parser->is_in_value) {
        if (end_header(parser) != 0) {
            return STOP;
        }
        begin_header(parser);
    }
    append(parser->name, &parser->name_len, HF_HTTP_NAME_MAX, at, len);
    return count_head(parser, len);
}

static int on_value(http_parser *http, const char *at, size_t len)
{
    struct hf_http_parser *parser = owner_of(http);
    if (!parser->has_head) {
        parser->is_in_value = true;
        append(parser->value, &parser->value_len, HF_HTTP_VALUE_MAX, at, len);
    }
    return count_head(parser, len);
}

/* Without a length the end of the connection is the end of the reply. That may
 * be cut; so it is accepted from a server that refuses, and of nothing else. */
static bool is_without_length(const http_parser *http)
{
    return (http->flags & (F_CONTENTLENGTH | F_CHUNKED)) == 0 &&
           http->status_code / 100 == 2 && http->status_code != 204;
}

static int on_head(http_parser *http)
{
    struct hf_http_parser *parser = owner_of(http);
    if (end_header(parser) != 0) {
        return STOP;
    }
    begin_header(parser);
    parser->has_head = true;
    parser->reply.status = http->status_code;
    parser->is_stream = parser->wants_stream && http->status_code / 100 == 2;
    if (http->status_code == 101) {
        return fail(parser, "the HTTP reply changes the protocol");
    }
    if (is_without_length(http)) {
        return fail(parser, "the HTTP reply has no length");
    }
    if (!parser->is_stream && (http->flags & F_CONTENTLENGTH) != 0 &&
        http->content_length > parser->body_max) {
        return fail_at(parser, "the body", parser->body_max);
    }
    return 0;
}

/* ---- Bodies ------------------------------------------------------------ */

static bool reserve_body(struct hf_http_parser *parser, size_t len)
{
    size_t cap = parser->body_cap == 0 ? 1024 : parser->body_cap;
    while (cap < len) {
        cap *= 2;
    }
    if (cap != parser->body_cap) {
        char *body = realloc(parser->body, cap);
        if (body == NULL) {
            return false;
        }
        parser->body = body;
        parser->body_cap = cap;
    }
    return true;
}

static int on_body(http_parser *http, const char *at, size_t len)
{
    struct hf_http_parser *parser = owner_of(http);
    struct hf_http_reply *reply = &parser->reply;
    if (!parser->is_stream && len > parser->body_max - reply->body_len) {
        return fail_at(parser, "the body", parser->body_max);
    }
    if (!reserve_body(parser, reply->body_len + len + 1)) {
        return fail(parser, "out of memory");
    }
    HF_ASSERT(reply->body_len + len < parser->body_cap); /* and a NUL */
    memcpy(parser->body + reply->body_len, at, len);
    reply->body_len += len;
    parser->body[reply->body_len] = '\0';
    reply->body = parser->body;
    return 0;
}

void hf_http_parser_take(struct hf_http_parser *parser)
{
    if (parser->body_cap > KEPT_BYTES) {
        free(parser->body);
        parser->body = NULL;
        parser->body_cap = 0;
    }
    parser->reply.body = "";
    parser->reply.body_len = 0;
}

/* ---- Replies ----------------------------------------------------------- */

static void begin_reply(struct hf_http_parser *parser)
{
    begin_header(parser);
    parser->reply.status = 0;
    parser->reply.date_s = -1;
    parser->reply.is_last = false;
    memset(parser->reply.kept, 0, sizeof(parser->reply.kept));
    parser->has_head = parser->is_stream = parser->is_done = false;
}

static int on_complete(http_parser *http)
{
    struct hf_http_parser *parser = owner_of(http);
    if (http->status_code / 100 == 1) { /* the reply itself follows */
        hf_http_parser_take(parser);
        begin_reply(parser);
        return count_head(parser, INTERIM_BYTES);
    }
    parser->is_done = true;
    parser->reply.is_last = !http_should_keep_alive(http);
    http_parser_pause(http, 1);
    return 0;
}

static const http_parser_settings callbacks = {
    .on_status = on_status,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

void hf_http_parser_next(struct hf_http_parser *parser)
{
    HF_ASSERT(parser->is_done);
    http_parser_pause(&parser->parser, 0);
    hf_http_parser_take(parser);
    begin_reply(parser);
    parser->head_len = 0;
}

static enum hf_http_fed judge(struct hf_http_parser *parser)
{
    enum http_errno error = HTTP_PARSER_ERRNO(&parser->parser);
    if (parser->is_done) {
        return HF_HTTP_DONE;
    }
    if (error == HPE_INVALID_EOF_STATE) {
        fail(parser,
             "the server closed the connection in the middle of a reply");
    } else if (error != HPE_OK && parser->fault[0] == '\0') {
        snprintf(parser->fault, sizeof(parser->fault), "no HTTP reply: %s",
                 http_errno_description(error));
    }
    return parser->fault[0] != '\0' ? HF_HTTP_BAD : HF_HTTP_MORE;
}

enum hf_http_fed hf_http_parser_feed(struct hf_http_parser *parser,
                                     const char *data, size_t len,
                                     bool wants_stream, size_t *used)
{
    HF_ASSERT(len > 0 && !parser->is_done && parser->fault[0] == '\0');
    parser->wants_stream = wants_stream;
    *used = http_parser_execute(&parser->parser, &callbacks, data, len);
    enum hf_http_fed fed = judge(parser);
    HF_ASSERT(*used <= len && (fed != HF_HTTP_MORE || *used == len));
    return fed;
}

enum hf_http_fed hf_http_parser_feed_eof(struct hf_http_parser *parser)
{
    HF_ASSERT(!parser->is_done && parser->fault[0] == '\0');
    http_parser_execute(&parser->parser, &callbacks, NULL, 0);
    return judge(parser);
}

void hf_http_parser_reset(struct hf_http_parser *parser)
{
    http_parser_init(&parser->parser, HTTP_RESPONSE);
    parser->parser.data = parser;
    parser->reply.body = "";
    parser->reply.body_len = 0;
    parser->head_len = 0;
    parser->fault[0] = '\0';
    begin_reply(parser);
}

void hf_http_parser_init(struct hf_http_parser *parser,
                         const char *const *names, size_t head_max,
                         size_t body_max)
{
    memset(parser, 0, sizeof(*parser));
    parser->names = names;
    parser->head_max = head_max;
    parser->body_max = body_max;
    hf_http_parser_reset(parser);
}

void hf_http_parser_fini(struct hf_http_parser *parser)
{
    free(parser->body);
    parser->body = NULL;
    parser->body_cap = 0;
}
