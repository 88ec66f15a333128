/* SPDX-License-Identifier: Apache-2.0 */
/* Replies, read by hiredis' parser into a flat list: a reply is a run of items
 * in the order of the wire, an array's item before those of its elements. The
 * memory is used again for the next one, so that reading allocates nothing
 * once it has grown. */
#ifndef HF_REDIS_REPLY_H
#define HF_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The next whole reply. @return 1: it is in `items`; 0: not yet; -1: the other
 * side does not speak this protocol, or memory is out. */
int hf_reply_next(struct hf_reply *reply);

/* Text of an item; "" if it has none. NUL-terminated, borrowed. */
const char *hf_reply_text(const struct hf_reply *reply, size_t at);

/* Integer of an item, also of one written as text; 0 if it is none. */
int64_t hf_reply_integer(const struct hf_reply *reply, size_t at);

#endif
