/* SPDX-License-Identifier: Apache-2.0 */
/* Replies, read by hiredis' parser into a flat list: a reply is a run of items
 * in the order of the wire, an array's item before those of its elements. The
 * memory is used again for the next one, so that reading allocates nothing
 * once it has grown.
 *
 * RESP2 only: Holdfast never says HELLO 3, so a RESP3 type is a peer that does
 * not follow the protocol, whatever the version of hiredis makes of it. */
#ifndef HF_REDIS_REPLY_H
#define HF_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one reply, as it arrives. The largest that a server sends when it is well
 * is a page of names: a thousand keys of at most 800 bytes. */
#define HF_REPLY_BYTES_MAX (4U << 20)

/* An item costs more memory than the bytes that announce it. The largest list
 * is a queue's: a thousand holders and a thousand waiters, four items each. */
#define HF_REPLY_ITEMS_MAX 65536U

/* A status, an error or a number. hiredis searches an unfinished line from its
 * beginning each time that bytes come, so a long one is slow to refuse. */
#define HF_REPLY_LINE_MAX 65536U

enum hf_reply_type {
    HF_REPLY_NIL,
    HF_REPLY_INTEGER,
    HF_REPLY_STRING, /* statuses too */
    HF_REPLY_ERROR,
    HF_REPLY_ARRAY
};

struct hf_reply_item {
    enum hf_reply_type type;
    int64_t integer; /* ARRAY: number of elements */
    size_t at;       /* STRING, ERROR: where in `text` */
    size_t len;
};

struct hf_reply {
    struct hf_reply_item *items;
    size_t n;
    size_t cap;
    char *text; /* each string is followed by a NUL */
    size_t text_len;
    size_t text_cap;
    size_t fed;       /* bytes since the last whole reply */
    bool is_starved;  /* no memory for an item */
    bool is_too_long; /* one of the limits was reached */
    redisReplyObjectFunctions functions;
    redisReader *reader;
};

/* @return false: no memory. */
bool hf_reply_init(struct hf_reply *reply);
void hf_reply_fini(struct hf_reply *reply);

/* Forget what was fed: another connection begins. @return false: no memory. */
bool hf_reply_reset(struct hf_reply *reply);

/* Bytes came. @return false: no memory. */
bool hf_reply_feed(struct hf_reply *reply, const char *data, size_t len);

/* The next whole reply. @return 1: it is in `items`; 0: not yet; -1: of no use
 * any more, hf_reply_fault() says why. */
int hf_reply_next(struct hf_reply *reply);

/* What is wrong with the other side, behind its name. Borrowed. */
const char *hf_reply_fault(const struct hf_reply *reply);

/* After the `len` bytes that were fed when `fed` was `before`: was a reply
 * completed, or a step of a long one? A peer that sends one byte now and then
 * is not making progress. */
#define HF_REPLY_STEP_BYTES 65536U
bool hf_reply_has_grown(const struct hf_reply *reply, size_t before,
                        size_t len);

/* Text of an item; "" if it has none. NUL-terminated, borrowed. */
const char *hf_reply_text(const struct hf_reply *reply, size_t at);

/* Integer of an item, also of one written as text; 0 if it is none. */
int64_t hf_reply_integer(const struct hf_reply *reply, size_t at);

#endif
