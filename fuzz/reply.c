/* SPDX-License-Identifier: Apache-2.0 */
/* Replies: for any bytes, however they are split into reads, the parser yields
 * the same replies. Every item lies within the text, and a reply has exactly
 * the items that its arrays announce: none is left from the reply before. */
#include "fuzz.h"

#include "store/redis/reply.h"

/* The result: a digest of each reply, and whether parsing ended in an error. */
struct reading {
    unsigned n;
    uint64_t digest;
    bool is_over;
};

static void mix(struct reading *reading, uint64_t value)
{
    reading->digest = (reading->digest ^ value) * UINT64_C(0x100000001b3);
}

static void read_item(struct reading *reading, const struct hf_reply *reply,
                      size_t at)
{
    const struct hf_reply_item *item = &reply->items[at];
    const char *text = hf_reply_text(reply, at);
    FUZZ_CHECK(item->type <= HF_REPLY_ARRAY);
    mix(reading, (uint64_t)item->type);
    mix(reading, (uint64_t)hf_reply_integer(reply, at));
    if (item->type == HF_REPLY_STRING || item->type == HF_REPLY_ERROR) {
        FUZZ_CHECK(item->at + item->len < reply->text_len);
        FUZZ_CHECK(text[item->len] == '\0');
        for (size_t i = 0; i < item->len; i++) {
            mix(reading, (unsigned char)text[i]);
        }
    } else {
        FUZZ_CHECK(text[0] == '\0' && item->len == 0);
    }
}

/* The elements of an array follow it. */
static void count_items(const struct hf_reply *reply)
{
    size_t expected = 1;
    for (size_t i = 0; i < reply->n; i++) {
        FUZZ_CHECK(i < expected);
        if (reply->items[i].type == HF_REPLY_ARRAY) {
            expected += (size_t)reply->items[i].integer;
        }
    }
    FUZZ_CHECK(expected == reply->n);
}

static void read_all(struct reading *reading, struct hf_reply *reply)
{
    int found = 0;
    while (!reading->is_over && (found = hf_reply_next(reply)) > 0) {
        FUZZ_CHECK(reply->n >= 1 && reply->n <= reply->cap);
        FUZZ_CHECK(reply->n <= HF_REPLY_ITEMS_MAX);
        count_items(reply);
        for (size_t i = 0; i < reply->n; i++) {
            read_item(reading, reply, i);
        }
        FUZZ_CHECK(hf_reply_text(reply, reply->n)[0] == '\0');
        FUZZ_CHECK(hf_reply_integer(reply, reply->n) == 0);
        reading->n++;
    }
    reading->is_over = reading->is_over || found < 0;
}

static struct reading read_split(const uint8_t *data, size_t size, size_t step)
{
    struct reading reading = {0, 1, false};
    struct hf_reply reply;
    FUZZ_CHECK(hf_reply_init(&reply));
    for (size_t at = 0; at < size && !reading.is_over; at += step) {
        size_t len = size - at < step ? size - at : step;
        FUZZ_CHECK(hf_reply_feed(&reply, (const char *)data + at, len));
        read_all(&reading, &reply);
    }
    /* A new connection begins: no data of this one may be left. */
    FUZZ_CHECK(hf_reply_reset(&reply));
    FUZZ_CHECK(hf_reply_feed(&reply, "+OK\r\n", 5));
    FUZZ_CHECK(hf_reply_next(&reply) == 1 && reply.n == 1);
    FUZZ_CHECK(strcmp(hf_reply_text(&reply, 0), "OK") == 0);
    hf_reply_fini(&reply);
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading whole = read_split(data, size, size + 1);
    for (size_t step = 1; step < 8; step += 3) {
        struct reading split = read_split(data, size, step);
        FUZZ_CHECK(split.n == whole.n && split.digest == whole.digest);
        FUZZ_CHECK(split.is_over == whole.is_over);
    }
    return 0;
}
