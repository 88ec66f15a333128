/* SPDX-License-Identifier: Apache-2.0 */
/* SCAN
 *
 *   children of the folder above the names ──▶ a page of them, in order
 *       ──▶ Stat of each: those that have children, and marks ──▶ names
 *
 * A container without children is one that the server has not removed yet.
 *
 * Cost: two round trips for each page: the names of all containers, again for
 * each page, and one request for each of its PAGE names, all sent together. The
 * names of all marks take one. */
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>
#include <string.h>

/* Names in a page: each costs one request, and they are sent together. */
#define PAGE 256

/* "/a/b:" has its names in "/a"; each begins with "b:". */
static const char *prefix_of(const struct hf_zk *zk)
{
    return strrchr(zk->base, '/') + 1;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct hf_zk_want *)a)->text,
                  ((const struct hf_zk_want *)b)->text);
}

static void on_stats(struct hf_zk_op *op, struct hf_instant now)
{
    size_t n = 0;
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    if (op->has_failed) { /* a name would be missing */
        hf_zk_op_fail_memory(op, now);
        return;
    }
    op->entries = calloc(op->n_wants + 1, sizeof(*op->entries));
    if (op->entries == NULL) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    for (size_t i = 0; i < op->n_wants; i++) {
        if (op->wants[i].number > 0) {
            op->entries[n++].name =
                (struct hf_bytes){op->wants[i].name, op->wants[i].name_len};
        }
    }
    op->reply.entries = op->entries;
    op->reply.n_entries = n;
    hf_zk_op_done(op, now);
}

static void on_children_of_name(int rc, const struct Stat *stat,
                                const void *data)
{
    struct hf_zk_want *want = (struct hf_zk_want *)(uintptr_t)data;
    bool has_entries = rc == ZOK && stat->numChildren > 0;
    want->number = has_entries || (rc == ZOK && want->is_mark) ? 1 : 0;
    hf_zk_op_answered(want->op, rc == ZNONODE ? ZOK : rc);
}

static void cut_page(struct hf_zk_op *op)
{
    struct hf_zk *zk = op->zk;
    while (op->n_wants > PAGE) {
        struct hf_zk_want *want = &op->wants[--op->n_wants];
        free(want->text);
        free(want->name);
        *want = (struct hf_zk_want){0};
        op->has_more = true;
    }
    if (op->has_more) {
        free(zk->position);
        zk->position = strdup(op->wants[op->n_wants - 1].text);
        op->has_failed |= zk->position == NULL;
    }
    if (op->has_more && zk->position != NULL) {
        op->reply.next = (struct hf_bytes){zk->position, strlen(zk->position)};
    }
}

static void ask_stats(struct hf_zk_op *op, struct hf_instant now)
{
    for (size_t i = 0; op->wants != NULL && i < op->n_wants; i++) {
        struct hf_zk_want *want = &op->wants[i];
        char *path = op->folder[1] == '\0'
                         ? hf_zk_key_join("", want->text)
                         : hf_zk_key_join(op->folder, want->text);
        op->has_failed |= path == NULL;
        if (path != NULL) {
            (void)hf_zk_op_asked(op, zoo_aexists(op->handle->library, path, 0,
                                                 on_children_of_name, want));
        }
        free(path);
    }
    hf_zk_op_await(op, on_stats, now);
}

static void on_names(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    if (op->has_failed) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    if (op->wants == NULL) {
        op->n_wants = 0;
    } else {
        qsort(op->wants, op->n_wants, sizeof(*op->wants), compare);
        cut_page(op);
    }
    ask_stats(op, now);
}

static void take_name(struct hf_zk_op *op, const char *text)
{
    const char *prefix = prefix_of(op->zk);
    size_t len = strlen(prefix);
    struct hf_zk_want *want = &op->wants[op->n_wants];
    if (strncmp(text, prefix, len) != 0 ||
        (op->text != NULL && strcmp(text, op->text) <= 0)) {
        return;
    }
    want->op = op;
    want->text = strdup(text);
    want->name = strdup(text + len);
    op->n_wants++;
    if (want->text == NULL || want->name == NULL) {
        op->has_failed = true;
        return;
    }
    want->is_mark = hf_zk_mark_cut(want->name);
    want->number = want->is_mark ? 1 : 0; /* until its Stat is there */
    want->name_len = hf_zk_key_name(want->name);
    if (want->name_len == SIZE_MAX || (op->marks_only && !want->is_mark)) {
        free(want->text);
        free(want->name);
        *want = (struct hf_zk_want){0};
        op->n_wants--;
    }
}

static void on_children(int rc, const struct String_vector *children,
                        const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    if (rc == ZOK) {
        op->wants = calloc((size_t)children->count + 1, sizeof(*op->wants));
        op->has_failed |= op->wants == NULL;
    }
    for (int i = 0; rc == ZOK && op->wants != NULL && i < children->count;
         i++) {
        take_name(op, children->data[i]);
    }
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

/** @return NULL: not connected, or no memory. */
static struct hf_zk_op *begin(struct hf_zk *zk, struct hf_wire_call *call,
                              struct hf_instant now)
{
    struct hf_zk_op *op =
        hf_zk_is_ready(zk) ? hf_zk_op_new(zk->main, call, now) : NULL;
    if (op == NULL) {
        return NULL;
    }
    size_t len = (size_t)(prefix_of(zk) - zk->base);
    op->folder = strndup(zk->base, len > 1 ? len - 1 : 1);
    if (op->folder == NULL) {
        hf_zk_op_free(op);
        return NULL;
    }
    return op;
}

static void ask_children(struct hf_zk_op *op)
{
    (void)hf_zk_op_asked(op, zoo_aget_children(op->handle->library, op->folder,
                                               0, on_children, op));
}

bool hf_zk_call_scan(struct hf_wire *wire, struct hf_bytes from,
                     struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op = begin(hf_zk_of_wire(wire), call, now);
    if (op == NULL) {
        return false;
    }
    op->text = from.len == 0 ? NULL : strndup(from.data, from.len);
    if (from.len > 0 && op->text == NULL) {
        hf_zk_op_free(op);
        return false;
    }
    ask_children(op);
    return hf_zk_op_begin(op, on_names);
}

bool hf_zk_call_marks(struct hf_wire *wire, struct hf_wire_call *call,
                      struct hf_instant now)
{
    struct hf_zk_op *op = begin(hf_zk_of_wire(wire), call, now);
    if (op == NULL) {
        return false;
    }
    op->marks_only = true;
    ask_children(op);
    return hf_zk_op_begin(op, on_stats); /* nothing else is asked of marks */
}
