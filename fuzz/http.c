/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of HTTP: for any bytes, however they are split into reads, the same
 * replies come out, the pieces of a stream are the same text, and the limits
 * hold. The first byte says which replies are of streams. */
/* library: hf_http */
#include "fuzz.h"

#include "io/http_reply.h"

#define HEAD_MAX 512
#define BODY_MAX 256

static const char *const kept[] = {"X-Consul-Index", "Content-Type", NULL};

/* The result: a digest of the replies, and how parsing ended. */
struct reading {
    unsigned n;
    uint64_t digest;
    uint64_t body_len; /* of the present stream, until its end */
    bool is_over;
    char fault[96];
};

static void mix(struct reading *reading, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        reading->digest = (reading->digest ^ (unsigned char)text[i]) *
                          UINT64_C(0x100000001b3);
    }
}

static void mix_number(struct reading *reading, uint64_t value)
{
    mix(reading, (const char *)&value, sizeof(value));
}

static void read_body(struct reading *reading,
                      const struct hf_http_parser *parser)
{
    const struct hf_http_reply *reply = &parser->reply;
    FUZZ_CHECK(reply->body[reply->body_len] == '\0');
    FUZZ_CHECK(parser->is_stream || reply->body_len <= BODY_MAX);
    mix(reading, reply->body, reply->body_len);
    reading->body_len += reply->body_len;
}

static void read_reply(struct reading *reading, struct hf_http_parser *parser)
{
    const struct hf_http_reply *reply = &parser->reply;
    FUZZ_CHECK(reply->date_s >= -1 && parser->head_len <= HEAD_MAX);
    FUZZ_CHECK(reply->status >= 200 || reply->status < 100);
    for (size_t i = 0; kept[i] != NULL; i++) {
        FUZZ_CHECK(strlen(reply->kept[i]) <= HF_HTTP_VALUE_MAX);
        mix(reading, reply->kept[i], strlen(reply->kept[i]));
    }
    mix_number(reading, (uint64_t)reply->date_s);
    mix_number(reading, reply->status);
    mix_number(reading, reading->body_len);
    reading->body_len = 0;
    reading->n++;
    reading->is_over = reply->is_last;
    hf_http_parser_next(parser);
    FUZZ_CHECK(reply->body_len == 0 && reply->kept[0][0] == '\0');
}

static void take(struct reading *reading, struct hf_http_parser *parser,
                 enum hf_http_fed fed)
{
    if (fed == HF_HTTP_DONE || (parser->is_stream && fed == HF_HTTP_MORE)) {
        read_body(reading, parser);
    }
    if (fed == HF_HTTP_MORE && parser->is_stream) {
        hf_http_parser_take(parser);
    } else if (fed == HF_HTTP_DONE) {
        read_reply(reading, parser);
    } else if (fed == HF_HTTP_BAD) {
        FUZZ_CHECK(parser->fault[0] != '\0');
        reading->is_over = true;
        memcpy(reading->fault, parser->fault, sizeof(reading->fault));
    }
}

static struct reading read_split(const uint8_t *data, size_t size, size_t step)
{
    struct reading reading = {.digest = 1};
    struct hf_http_parser parser;
    unsigned streams = size > 0 ? data[0] : 0;
    hf_http_parser_init(&parser, kept, HEAD_MAX, BODY_MAX);
    for (size_t at = 1; at < size && !reading.is_over;) {
        bool wants_stream = (streams >> (reading.n % 8) & 1) != 0;
        size_t used = 0;
        size_t len = size - at < step ? size - at : step;
        take(&reading, &parser,
             hf_http_parser_feed(&parser, (const char *)data + at, len,
                                 wants_stream, &used));
        at += used;
    }
    if (!reading.is_over) {
        take(&reading, &parser, hf_http_parser_feed_eof(&parser));
    }
    /* A new connection begins: no data of this one may be left. */
    hf_http_parser_reset(&parser);
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    size_t used = 0;
    FUZZ_CHECK(hf_http_parser_feed(&parser, ok, sizeof(ok) - 1, false, &used) ==
               HF_HTTP_DONE);
    FUZZ_CHECK(strcmp(parser.reply.body, "ok") == 0);
    hf_http_parser_fini(&parser);
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading whole = read_split(data, size, size + 1);
    for (size_t step = 1; step < 8; step += 3) {
        struct reading split = read_split(data, size, step);
        FUZZ_CHECK(split.n == whole.n && split.is_over == whole.is_over);
        /* A stream that ends in a fault may have delivered a part. */
        FUZZ_CHECK(split.digest == whole.digest || whole.fault[0] != '\0');
    }
    return 0;
}
