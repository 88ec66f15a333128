/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/reply.h"

#include <stdlib.h>
#include <string.h>

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
    if (reply->n == reply->cap) {
        size_t cap = reply->cap == 0 ? 16 : 2 * reply->cap;
        struct hf_reply_item *items =
            realloc(reply->items, cap * sizeof(*items));
        if (items == NULL) {
            return NULL;
        }
        reply->items = items;
        reply->cap = cap;
    }
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
        return false;
    }
    reply->text = text;
    reply->text_cap = cap;
    return true;
}

static void *add_string(const redisReadTask *task, char *data, size_t len)
{
    struct hf_reply *reply = task->privdata;
    bool is_error = task->type == REDIS_REPLY_ERROR;
    struct hf_reply_item *item =
        add(task, is_error ? HF_REPLY_ERROR : HF_REPLY_STRING, 0);
    if (item == NULL || !reserve_text(reply, len + 1)) {
        return NULL;
    }
    item->at = reply->text_len;
    item->len = len;
    memcpy(reply->text + reply->text_len, data, len);
    reply->text[reply->text_len + len] = '\0';
    reply->text_len += len + 1;
    return reply;
}

static void *add_array(const redisReadTask *task, hf_hiredis_count elements)
{
    bool ok = add(task, HF_REPLY_ARRAY, (int64_t)elements) != NULL;
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

bool hf_reply_feed(struct hf_reply *reply, const char *data, size_t len)
{
    return redisReaderFeed(reply->reader, data, len) == REDIS_OK;
}

int hf_reply_next(struct hf_reply *reply)
{
    void *whole = NULL;
    if (redisReaderGetReply(reply->reader, &whole) != REDIS_OK) {
        return -1;
    }
    return whole == NULL ? 0 : 1;
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
