/* SPDX-License-Identifier: Apache-2.0 */
/* LISTS
 *
 *   sync ─┬▶ children of the container, with its Stat ──▶ data of those that
 *         └  sent together                                hold ──▶ entries
 *
 * All but the note is in the names, and a note is written to entries that hold
 * only, so the data of these alone is read: of one entry, or of as many as
 * share. One that has ended since is left out: then the list is that of the
 * moment of its end, or later.
 *
 * Without the sync, after a create on the same connection, a list has all that
 * was there before the create, unless that has ended, as the rule needs.
 *
 * Cost: two round trips, one for a name without entries; one request for each
 * entry that holds, all sent together. The entries are sorted: O(n log n), with
 * two copies of each name on the heap. */
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>
#include <string.h>

void hf_zk_list_reset(struct hf_zk_op *op)
{
    for (size_t i = 0; i < op->n_items; i++) {
        free(op->items[i].node);
        free(op->items[i].note);
        free(op->items[i].copy);
    }
    free(op->items);
    free(op->entries);
    op->items = NULL;
    op->entries = NULL;
    op->n_items = 0;
}

/* ---- Children ------------------------------------------------------------ */

/* In the space of numbers, which does not wrap. */
static int compare(const void *a, const void *b)
{
    const struct hf_zk_item *one = a;
    const struct hf_zk_item *other = b;
    return one->sequence < other->sequence   ? -1
           : one->sequence > other->sequence ? 1
                                             : strcmp(one->node, other->node);
}

/* An item counts before its texts are checked, so that hf_zk_list_reset() frees
 * what there is. The copy is unescaped in place; the node is its id. */
static bool take_child(struct hf_zk_op *op, const char *node)
{
    struct hf_zk_item item = {0};
    size_t len;
    if (!hf_zk_key_sequence(node, &item.sequence, &len)) {
        return true; /* no contender */
    }
    item.is_own = op->text != NULL && strlen(op->text) == len &&
                  memcmp(op->text, node, len) == 0;
    item.node = strdup(node);
    item.copy = strdup(node);
    op->items[op->n_items++] = item;
    return item.node != NULL && item.copy != NULL;
}

/* Room for one more than there are: an empty list is not lack of memory. */
static bool take_children(struct hf_zk_op *op,
                          const struct String_vector *children)
{
    size_t n = children->count < 0 ? 0 : (size_t)children->count;
    bool is_whole = true;
    op->items = calloc(n + 1, sizeof(*op->items));
    op->entries = calloc(n + 1, sizeof(*op->entries));
    if (op->items == NULL || op->entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        is_whole &= take_child(op, children->data[i]);
    }
    if (!is_whole) {
        return false;
    }
    qsort(op->items, op->n_items, sizeof(*op->items), compare);
    for (size_t i = 0; i < op->n_items; i++) {
        hf_zk_key_read(op->items[i].copy, &op->entries[i]);
        op->entries[i].entry.number =
            hf_zk_number(op->czxid, op->items[i].sequence);
    }
    return true;
}

/* Without its container a name has no entries: that is no error. */
static void on_children(int rc, const struct String_vector *children,
                        const struct Stat *stat, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    op->has_folder = rc == ZOK;
    if (rc == ZOK) {
        op->czxid = stat->czxid;
        op->pzxid = stat->pzxid;
        hf_zk_note_zxid(op->zk, stat->pzxid);
        op->has_failed |= !take_children(op, children);
    }
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

/* A sync of a path that does not exist is answered all the same. */
static void on_synced(int rc, const char *path, const void *data)
{
    (void)path;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data,
                      rc == ZNONODE ? ZOK : rc);
}

/* The list is sent without the reply to the sync: a server executes the
 * requests of one connection in order, so the list is as new as the sync. */
void hf_zk_list(struct hf_zk_op *op, bool is_synced)
{
    zhandle_t *library = op->handle->library;
    hf_zk_list_reset(op);
    if (is_synced) {
        (void)hf_zk_op_asked(op, zoo_async(library, op->folder, on_synced, op));
    }
    (void)hf_zk_op_asked(
        op, zoo_aget_children2(library, op->folder, 0, on_children, op));
}

/* ---- Notes --------------------------------------------------------------- */

static bool is_beside(const struct hf_wire_entry *first,
                      const struct hf_wire_entry *entry)
{
    return first->entry.mode == HF_SHARED && entry->entry.mode == HF_SHARED &&
           first->permits == entry->permits;
}

static void on_note(int rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    struct hf_zk_item *item = (struct hf_zk_item *)(uintptr_t)data;
    struct hf_zk_op *op = item->op;
    item->is_gone = rc == ZNONODE;
    if (rc == ZOK) {
        item->version = stat->version;
    }
    if (rc == ZOK && len > 0) {
        item->note = malloc((size_t)len);
        item->note_len = (size_t)len;
        op->has_failed |= item->note == NULL;
        if (item->note != NULL) {
            memcpy(item->note, value, (size_t)len);
        }
    }
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

/* Those that hold: the first entry, and all that share with it. */
void hf_zk_list_notes(struct hf_zk_op *op, hf_zk_step_fn *then,
                      struct hf_instant now)
{
    size_t n = op->n_items == 0 ? 0 : 1;
    while (n > 0 && n < op->n_items &&
           is_beside(&op->entries[0], &op->entries[n])) {
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        struct hf_zk_item *item = &op->items[i];
        char *path = hf_zk_key_join(op->folder, item->node);
        item->op = op;
        op->has_failed |= path == NULL;
        if (path != NULL) {
            (void)hf_zk_op_asked(
                op, zoo_aget(op->handle->library, path, 0, on_note, item));
        }
        free(path);
    }
    hf_zk_op_await(op, then, now);
}

/* ---- Entries ------------------------------------------------------------- */

struct hf_zk_item *hf_zk_list_own(struct hf_zk_op *op)
{
    for (size_t i = 0; i < op->n_items; i++) {
        if (op->items[i].is_own && !op->items[i].is_gone) {
            return &op->items[i];
        }
    }
    return NULL;
}

bool hf_zk_list_may_hold(struct hf_zk_op *op, enum hf_mode mode,
                         uint16_t permits)
{
    const struct hf_zk_item *own = hf_zk_list_own(op);
    bool is_free = true;
    for (size_t i = 0; i < op->n_items; i++) {
        const struct hf_zk_item *item = &op->items[i];
        const struct hf_wire_entry *entry = &op->entries[i];
        bool is_later = own != NULL && item->sequence > own->sequence;
        bool shares = mode == HF_SHARED && entry->entry.mode == HF_SHARED &&
                      entry->permits == permits;
        is_free &= item == own || is_later || shares;
    }
    return is_free;
}

/* Only Holdfast's entries have notes; data of other programs is their own. */
static void take_note(const struct hf_zk_item *item,
                      struct hf_wire_entry *entry)
{
    entry->id = (struct hf_bytes){item->node, strlen(item->node)};
    entry->version = (uint64_t)(uint32_t)item->version;
    if (entry->born_ttl_s > 0 && item->note_len > 0) {
        entry->note = (struct hf_bytes){item->note, item->note_len};
    }
}

/* Of ours it is deleted by its client, and holds nothing (create.c). */
static bool has_last_sequence(const struct hf_zk_item *item,
                              const struct hf_wire_entry *entry)
{
    return entry->born_ttl_s > 0 && hf_zk_key_is_last(item->sequence);
}

/* In place: an entry moves to the front only, over one that is left out. */
static void take_entries(struct hf_zk_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < op->n_items; i++) {
        if (!op->items[i].is_gone &&
            !has_last_sequence(&op->items[i], &op->entries[i])) {
            op->entries[n] = op->entries[i];
            take_note(&op->items[i], &op->entries[n++]);
        }
    }
    op->reply.entries = op->entries;
    op->reply.n_entries = n;
    op->reply.revision = op->has_folder ? (uint64_t)op->pzxid : 0;
}

/** @return false: something was not read, and the op has failed. */
static bool check_read(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return false;
    }
    if (op->has_failed) {
        hf_zk_op_fail_memory(op, now);
        return false;
    }
    return true;
}

void hf_zk_list_reply(struct hf_zk_op *op, struct hf_instant now)
{
    if (check_read(op, now)) {
        take_entries(op);
        hf_zk_op_done(op, now);
    }
}

void hf_zk_list_reply_with_notes(struct hf_zk_op *op, struct hf_instant now)
{
    if (check_read(op, now)) {
        hf_zk_list_notes(op, hf_zk_list_reply, now);
    }
}

bool hf_zk_call_list(struct hf_wire *wire, struct hf_bytes name,
                     struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    struct hf_zk_op *op =
        hf_zk_is_ready(zk) ? hf_zk_op_new(zk->main, call, now) : NULL;
    if (op == NULL) {
        return false;
    }
    op->folder = hf_zk_key_folder(zk->base, name);
    if (op->folder != NULL) {
        hf_zk_list(op, true);
    }
    return hf_zk_op_begin(op, hf_zk_list_reply_with_notes);
}
