/* SPDX-License-Identifier: Apache-2.0 */
/* READ, REPLACE, REMOVE
 *
 *   read     data and Stat of each entry, sent together, after the renewal on
 *            the same connection: so as new as that
 *   replace  a note: set, if it has that version; else delete, the same
 *   remove   data, then delete, sent together: the data shows a note
 *
 * An ephemeral node cannot be put under another session: such a REPLACE is
 * refused.
 *
 * Cost: one round trip each. A READ sends a request for each entry, and one
 * more, without waiting. A REMOVE of an entry whose create was lost lists
 * first, which is one round trip more. */
#include "store/ordered/wire_key.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>
#include <string.h>

/* ---- READ ---------------------------------------------------------------- */

static void on_read(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    op->entries = calloc(op->n_wants, sizeof(*op->entries));
    if (op->entries == NULL || op->has_failed) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    for (size_t i = 0; i < op->n_wants; i++) {
        struct hf_wire_entry *entry = &op->entries[i];
        entry->entry.number = op->wants[i].number;
        entry->version = op->wants[i].czxid;
        hf_wire_session_of((uint64_t)op->handle->id,
                           entry->entry.owner.session);
        entry->note =
            (struct hf_bytes){op->wants[i].note, op->wants[i].note_len};
    }
    op->reply.entries = op->entries;
    op->reply.n_entries = op->n_wants;
    hf_zk_op_done(op, now);
}

/* The number stays 0 if it is gone, or of another session. */
static void on_data(int rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    struct hf_zk_want *want = (struct hf_zk_want *)(uintptr_t)data;
    struct hf_zk_op *op = want->op;
    bool is_ours = rc == ZOK && stat->ephemeralOwner == op->handle->id;
    want->czxid = is_ours ? (uint64_t)stat->czxid : 0;
    if (!is_ours) {
        want->number = 0;
    } else if (len > 0) {
        want->note = malloc((size_t)len);
        want->note_len = (size_t)len;
        op->has_failed |= want->note == NULL;
        if (want->note != NULL) {
            memcpy(want->note, value, (size_t)len);
        }
    }
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

/** @return false: no memory. */
static bool read_one(struct hf_zk_op *op, const struct hf_wire_key *key)
{
    struct hf_zk_want *want = &op->wants[op->n_wants++];
    char *path = NULL;
    want->op = op;
    want->folder = hf_zk_key_folder(op->zk->base, key->name);
    want->text = hf_zk_key_entry(key);
    if (want->folder == NULL || want->text == NULL) {
        return false;
    }
    const struct hf_zk_record *record =
        hf_zk_record_find(op->handle, want->folder, want->text);
    if (record == NULL || record->node == NULL) {
        return true; /* it never was */
    }
    want->number = record->number;
    path = hf_zk_key_join(want->folder, record->node);
    if (path == NULL) {
        return false;
    }
    (void)hf_zk_op_asked(op,
                         zoo_aget(op->handle->library, path, 0, on_data, want));
    free(path);
    return true;
}

bool hf_zk_call_read(struct hf_wire *wire, const struct hf_wire_key *keys,
                     size_t n, struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    bool is_over;
    struct hf_zk_op *op = hf_zk_op_of(zk, keys[0].session, call, &is_over, now);
    if (op == NULL) {
        return is_over;
    }
    op->wants = calloc(n, sizeof(*op->wants));
    for (size_t i = 0; op->wants != NULL && i < n; i++) {
        op->has_failed |= !read_one(op, &keys[i]);
    }
    /* A request in any case: its reply comes from the loop. */
    (void)hf_zk_op_asked(op, zoo_aexists(op->handle->library, op->handle->node,
                                         0, hf_zk_on_stat, op));
    return hf_zk_op_begin(op, on_read);
}

/* ---- REPLACE ------------------------------------------------------------- */

static void on_replaced(struct hf_zk_op *op, struct hf_instant now)
{
    bool is_changed = op->rc == ZBADVERSION || op->rc == ZNONODE;
    if (op->rc != ZOK && !is_changed) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    op->reply.has_changed = op->rc == ZOK;
    hf_zk_op_done(op, now);
}

/** Is it an entry of this session? @return false: no memory. */
static bool find_under(const struct hf_wire_change *change, bool *is_under)
{
    struct hf_wire_entry entry;
    char *copy = strndup(change->id.data, change->id.len);
    if (copy == NULL) {
        return false;
    }
    hf_zk_key_read(copy, &entry);
    free(copy);
    *is_under = memcmp(entry.born, change->session, HF_SESSION_ID_LEN) == 0;
    return true;
}

static bool refuse(struct hf_zk *zk, struct hf_wire_call *call,
                   struct hf_instant now)
{
    return hf_zk_op_refuse(zk, call, hf_store_zookeeper.ends_with_session, now);
}

bool hf_zk_call_replace(struct hf_wire *wire,
                        const struct hf_wire_change *change,
                        struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    bool removes = change->session == NULL;
    bool is_under = removes;
    if (!removes && !find_under(change, &is_under)) {
        return false;
    }
    if (!is_under) {
        return refuse(zk, call, now);
    }
    struct hf_zk_op *op =
        hf_zk_is_ready(zk) ? hf_zk_op_new(zk->main, call, now) : NULL;
    if (op == NULL) {
        return false;
    }
    char *node = strndup(change->id.data, change->id.len);
    op->folder = hf_zk_key_folder(zk->base, change->name);
    char *path = node == NULL || op->folder == NULL
                     ? NULL
                     : hf_zk_key_join(op->folder, node);
    op->may_be_done = true;
    if (path != NULL && removes) {
        (void)hf_zk_op_asked(op, zoo_adelete(zk->main->library, path,
                                             (int)change->version,
                                             hf_zk_on_void, op));
    } else if (path != NULL) {
        (void)hf_zk_op_asked(
            op, zoo_aset(zk->main->library, path,
                         change->note.len == 0 ? "" : change->note.data,
                         (int)change->note.len, (int)change->version,
                         hf_zk_on_stat, op));
    }
    free(path);
    free(node);
    return hf_zk_op_begin(op, on_replaced);
}

/* ---- REMOVE -------------------------------------------------------------- */

static void on_note(int rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    (void)value;
    (void)stat;
    op->has_note |= rc == ZOK && len > 0;
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

static void on_removed(int rc, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    op->reply.has_changed |= rc == ZOK;
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

static void on_gone(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    hf_zk_record_drop(op->handle, op->folder, op->text);
    op->reply.has_changed &= !op->has_note;
    hf_zk_op_done(op, now);
}

static void remove_node(struct hf_zk_op *op, const char *node)
{
    char *path = hf_zk_key_join(op->folder, node);
    op->may_be_done = true;
    if (path == NULL) {
        op->has_failed = true;
        return;
    }
    (void)hf_zk_op_asked(op,
                         zoo_aget(op->handle->library, path, 0, on_note, op));
    (void)hf_zk_op_asked(
        op, zoo_adelete(op->handle->library, path, -1, on_removed, op));
    free(path);
}

/* Its create was lost: look for its node. */
static void on_found(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    for (size_t i = 0; i < op->n_items; i++) {
        if (op->items[i].is_own) {
            remove_node(op, op->items[i].node);
        }
    }
    if (op->has_failed && op->pending == 0) {
        hf_zk_op_fail_memory(op, now);
    } else {
        hf_zk_op_await(op, on_gone, now);
    }
}

/* Calls are executed in order: a CREATE that still looks must not create. */
static void withdraw_creates(struct hf_zk_op *op)
{
    for (struct hf_zk_op *other = op->handle->first_op; other != NULL;
         other = other->next) {
        other->is_withdrawn |= other->is_create &&
                               strcmp(other->text, op->text) == 0 &&
                               strcmp(other->folder, op->folder) == 0;
    }
}

bool hf_zk_call_remove(struct hf_wire *wire, const struct hf_wire_key *key,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    struct hf_zk_handle *handle = hf_zk_handle_of(zk, key->session);
    if (handle == NULL) { /* nothing is left of its session */
        return hf_zk_op_over(zk, call, HF_WIRE_DONE, now);
    }
    struct hf_zk_op *op = handle->life == HF_ZK_CONNECTED
                              ? hf_zk_op_new(handle, call, now)
                              : NULL;
    if (op == NULL) {
        return false;
    }
    op->folder = hf_zk_key_folder(zk->base, key->name);
    op->text = hf_zk_key_entry(key);
    if (op->folder == NULL || op->text == NULL) {
        hf_zk_op_free(op);
        return false;
    }
    withdraw_creates(op);
    struct hf_zk_record *record =
        hf_zk_record_find(handle, op->folder, op->text);
    if (record == NULL || record->node == NULL || record->is_unsure) {
        hf_zk_list(op, true);
        return hf_zk_op_begin(op, on_found);
    }
    record->is_unsure = true; /* if the reply is lost, the next one must list */
    remove_node(op, record->node);
    return hf_zk_op_begin(op, on_gone);
}
