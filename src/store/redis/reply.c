/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/reply.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* A larger text buffer is freed when the next connection begins. */
#define KEPT_BYTES 65536

/* hiredis 1.0 changed the type of an array's size. */
#if HIREDIS_MAJOR >= 1
typedef size_t hf_hiredis_count;
#else
typedef int hf_hiredis_count;
#endif

static struct hf_reply_item *add(const redisReadTask *task,
                                 enum hf_reply_type type, int64_t integer)
{
    struct hf_reply *reply = task->privdata;
    if (task->parent == NULL) {
        reply->n = 0;
        reply->text_len = 0;
    }
    if (reply->n == HF_REPLY_ITEMS_MAX) {
        reply->is_too_long = true;
        return NULL;
    }
    if (reply->n == reply->cap) {
        size_t cap = reply->cap == 0 ? 16 : 2 * reply->cap;
        struct hf_reply_item *items =
            realloc(reply->items, cap * sizeof(*items));
        if (items == NULL) {
            reply->is_starved = true;
            return NULL;
        }
        reply->items = items;
        reply->cap = cap;
    }
    HF_ASSERT(reply->n < reply->cap);
    struct hf_reply_item *item = &reply->items[reply->n++];
    *item = (struct hf_reply_item){.type = type, .integer = integer};
    return item;
}

static bool reserve_text(struct hf_reply *reply, size_t len)
{
    if (reply->text_len + len <= reply->text_cap) {
        return true;
    }
    size_t cap = reply->text_cap == 0 ? 1024 : reply->text_cap;
    while (cap < reply->text_len + len) {
        cap *= 2;
    }
    char *text = realloc(reply->text, cap);
    if (text == NULL) {
        reply->is_starved = true;
        return false;
    }
    reply->text = text;
    reply->text_cap = cap;
    return true;
}

/* NULL makes hiredis fail the whole stream. It calls this for big numbers and
 * verbatim strings of RESP3 too. */
static void *add_string(const redisReadTask *task, char *data, size_t len)
{
    struct hf_reply *reply = task->privdata;
    bool is_error = task->type == REDIS_REPLY_ERROR;
    if (!is_error && task->type != REDIS_REPLY_STRING &&
        task->type != REDIS_REPLY_STATUS) {
        return NULL;
    }
    struct hf_reply_item *item =
        add(task, is_error ? HF_REPLY_ERROR : HF_REPLY_STRING, 0);
    if (item == NULL || !reserve_text(reply, len + 1)) {
        return NULL;
    }
    HF_ASSERT(reply->text_len + len < reply->text_cap); /* and a NUL */
    item->at = reply->text_len;
    item->len = len;
    memcpy(reply->text + reply->text_len, data, len);
    reply->text[reply->text_len + len] = '\0';
    reply->text_len += len + 1;
    return reply;
}

static void *add_array(const redisReadTask *task, hf_hiredis_count elements)
{
    bool ok = task->type == REDIS_REPLY_ARRAY &&
              add(task, HF_REPLY_ARRAY, (int64_t)elements) != NULL;
    return ok ? task->privdata : NULL;
}

static void *add_integer(const redisReadTask *task, long long integer)
{
    bool ok = add(task, HF_REPLY_INTEGER, integer) != NULL;
    return ok ? task->privdata : NULL;
}

static void *add_nil(const redisReadTask *task)
{
    return add(task, HF_REPLY_NIL, 0) != NULL ? task->privdata : NULL;
}

/* Without these functions in its table, hiredis would report success and add no
 * item: the items of the reply before would be read instead. */
#if HIREDIS_MAJOR >= 1
static void *refuse_double(const redisReadTask *task, double value, char *text,
                           size_t len)
{
    (void)task;
    (void)value;
    (void)text;
    (void)len;
    return NULL;
}

static void *refuse_bool(const redisReadTask *task, int value)
{
    (void)task;
    (void)value;
    return NULL;
}
#endif

static void keep(void *object)
{
    (void)object; /* items live until the next reply */
}

bool hf_reply_init(struct hf_reply *reply)
{
    memset(reply, 0, sizeof(*reply));
    reply->functions.createString = add_string;
    reply->functions.createArray = add_array;
    reply->functions.createInteger = add_integer;
    reply->functions.createNil = add_nil;
#if HIREDIS_MAJOR >= 1
    reply->functions.createDouble = refuse_double;
    reply->functions.createBool = refuse_bool;
#endif
    reply->functions.freeObject = keep;
    return hf_reply_reset(reply);
}

bool hf_reply_reset(struct hf_reply *reply)
{
    if (reply->reader != NULL) {
        redisReaderFree(reply->reader);
    }
    reply->reader = redisReaderCreateWithFunctions(&reply->functions);
    if (reply->reader == NULL) {
        return false;
    }
    reply->reader->privdata = reply;
    reply->n = reply->text_len = reply->fed = 0;
    reply->is_too_long = reply->is_starved = false;
    if (reply->text_cap > KEPT_BYTES) {
        free(reply->text);
        reply->text = NULL;
        reply->text_cap = 0;
    }
    return true;
}

void hf_reply_fini(struct hf_reply *reply)
{
    if (reply->reader != NULL) {
        redisReaderFree(reply->reader);
    }
    free(reply->items);
    free(reply->text);
    memset(reply, 0, sizeof(*reply));
}

bool hf_reply_has_grown(const struct hf_reply *reply, size_t before, size_t len)
{
    return reply->fed < before + len ||
           reply->fed / HF_REPLY_STEP_BYTES > before / HF_REPLY_STEP_BYTES;
}

bool hf_reply_feed(struct hf_reply *reply, const char *data, size_t len)
{
    reply->fed += len;
    return redisReaderFeed(reply->reader, data, len) == REDIS_OK;
}

/* At `reader->pos` begins a line of the item that is not complete yet. */
static bool has_endless_line(const redisReader *reader)
{
    return reader->len - reader->pos > HF_REPLY_LINE_MAX &&
           memchr(reader->buf + reader->pos, '\r', HF_REPLY_LINE_MAX) == NULL;
}

/* After a complete reply, `fed` counts the bytes of the next one. */
int hf_reply_next(struct hf_reply *reply)
{
    void *whole = NULL;
    if (redisReaderGetReply(reply->reader, &whole) != REDIS_OK) {
        return -1;
    }
    if (whole == NULL) {
        reply->is_too_long |=
            reply->fed > HF_REPLY_BYTES_MAX || has_endless_line(reply->reader);
        return reply->is_too_long ? -1 : 0;
    }
    HF_ASSERT(whole != reply || reply->n > 0); /* items[0] is there */
    reply->fed = reply->reader->len - reply->reader->pos;
    return whole == reply ? 1 : -1;
}

const char *hf_reply_fault(const struct hf_reply *reply)
{
    return reply->is_starved ? "out of memory"
           : reply->is_too_long
               ? "sends a reply above the limit (4 MiB, 65536 items, 64 KiB "
                 "per line)"
               : "does not speak the Redis protocol";
}

const char *hf_reply_text(const struct hf_reply *reply, size_t at)
{
    if (at >= reply->n || (reply->items[at].type != HF_REPLY_STRING &&
                           reply->items[at].type != HF_REPLY_ERROR)) {
        return "";
    }
    return reply->text + reply->items[at].at;
}

int64_t hf_reply_integer(const struct hf_reply *reply, size_t at)
{
    if (at >= reply->n) {
        return 0;
    }
    if (reply->items[at].type == HF_REPLY_INTEGER) {
        return reply->items[at].integer;
    }
    return strtoll(hf_reply_text(reply, at), NULL, 10);
}
