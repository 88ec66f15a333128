/* SPDX-License-Identifier: Apache-2.0 */
/* Replies. The parser of hiredis reads a reply into a flat list of items, in
 * the order of the wire: an array's item goes before those of its elements. The
 * next reply reuses the memory, which is allocated only to grow.
 *
 * RESP2 only: Holdfast never sends HELLO 3, so a RESP3 type is a protocol
 * error, also where the version of hiredis could parse it. */
#ifndef HF_REDIS_REPLY_H
#define HF_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of one incomplete reply. The largest valid one is a page of SCAN: about
 * a thousand keys of at most HF_REDIS_SIDE_KEY_MAX (2592) bytes. */
#define HF_REPLY_BYTES_MAX (4U << 20)

/* An item takes more memory than its bytes on the wire. The largest valid list
 * is a queue: a thousand holders and a thousand waiters, four items each. */
#define HF_REPLY_ITEMS_MAX 65536U

/* Limit of a line: a status, an error or a number. hiredis searches an
 * incomplete line from its beginning each time that bytes arrive. */
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

/** @return false: no memory. */
bool hf_reply_init(struct hf_reply *reply);

/* Free its memory. All zeros again: hf_reply_init() may follow. */
void hf_reply_fini(struct hf_reply *reply);

/** Drop all bytes, for a new connection. @return false: no memory. */
bool hf_reply_reset(struct hf_reply *reply);

/** Add bytes from the connection. @return false: no memory. */
bool hf_reply_feed(struct hf_reply *reply, const char *data, size_t len);

/** Parse the next reply. @return 1: it is in `items`; 0: incomplete; -1: the
 * stream is broken, see hf_reply_fault(). */
int hf_reply_next(struct hf_reply *reply);

/* The error of the stream, for a text that begins with the server's address.
 * Borrowed. */
const char *hf_reply_fault(const struct hf_reply *reply);

/* `len` bytes were fed when `fed` was `before`: did they complete a reply, or a
 * step of a long one? A single byte now and then is no progress. */
#define HF_REPLY_STEP_BYTES 65536U
bool hf_reply_has_grown(const struct hf_reply *reply, size_t before,
                        size_t len);

/* Text of an item; "" if it has none. NUL-terminated, borrowed. */
const char *hf_reply_text(const struct hf_reply *reply, size_t at);

/* Integer of an item, also of one written as text; 0 if it is none. */
int64_t hf_reply_integer(const struct hf_reply *reply, size_t at);

#endif
