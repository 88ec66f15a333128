/* SPDX-License-Identifier: Apache-2.0 */
/* CREATE
 *
 *   wait             create ┬▶ list
 *   wait, once more  list: it is there; else create ┬▶ list
 *   try              list: free ──▶ create ┬▶ list: it holds
 *   shared try       create ┬▶ list: it holds         else delete it
 *
 * The list is sent with the create, on the same connection. A name of an entry
 * has the session and the random digits of its owner, so an entry whose create
 * was lost is found by its name. Entries that this session may have created are
 * on record: a name that is not there is created without looking.
 *
 * ZooKeeper has no condition on the other children of a container. So a try
 * that meets another one between its list and its create has an entry for a
 * moment, and deletes it; if the process ends just then, the entry stays until
 * its session ends.
 *
 * The containers are made when a create misses them: the server removes those
 * that are empty.
 *
 * An entry with the last sequence (key.c) is deleted in each case: the next one
 * would have the same number, and so the same fence.
 *
 * Cost: one round trip if the entry holds at once, two if it waits, as the
 * notes of those that hold are read (list.c), or if it is there already. An
 * exclusive try lists first: two, also if it is refused. A try that meets
 * another one costs two more. So does a name without a container: that is made,
 * and the entry created again. */
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>
#include <string.h>

/* As in mark.c: ZooKeeper may remove the empty container before our entry is
 * in it. It looks for empty ones once a minute; 8 bound the loop. */
#define ROUNDS_MAX 8

static void create(struct hf_zk_op *op, struct hf_instant now);

/* ---- Containers ---------------------------------------------------------- */

static void make(struct hf_zk_op *op, struct hf_instant now);

static size_t upper(const struct hf_zk_op *op, size_t at)
{
    while (at > 0 && op->folder[at - 1] != '/') {
        at--;
    }
    return at > 0 ? at - 1 : 0;
}

static size_t lower(const struct hf_zk_op *op, size_t at)
{
    size_t len = strlen(op->folder);
    at++;
    while (at < len && op->folder[at] != '/') {
        at++;
    }
    return at;
}

static void on_made(struct hf_zk_op *op, struct hf_instant now)
{
    int rc = op->rc;
    op->rc = ZOK;
    if (rc == ZNONODE && upper(op, op->made_at) > 0) {
        op->made_at = upper(op, op->made_at);
        make(op, now);
    } else if (rc != ZOK && rc != ZNODEEXISTS) {
        op->rc = op->create_rc = rc == ZNONODE ? ZSYSTEMERROR : rc;
        op->after_folder(op, now);
    } else if (op->folder[op->made_at] != '\0') {
        op->made_at = lower(op, op->made_at);
        make(op, now);
    } else {
        op->after_folder(op, now);
    }
}

static void on_string(int rc, const char *value, const void *data)
{
    (void)value;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data, rc);
}

static void make(struct hf_zk_op *op, struct hf_instant now)
{
    char *path = strndup(op->folder, op->made_at);
    if (path != NULL && op->made_rounds++ < 64) {
        (void)hf_zk_op_asked(op, zoo_acreate(op->handle->library, path, "", 0,
                                             hf_zk_acl(op->zk), ZOO_CONTAINER,
                                             on_string, op));
    } else {
        op->rc = ZSYSTEMERROR;
    }
    free(path);
    hf_zk_op_await(op, on_made, now);
}

void hf_zk_create_folder(struct hf_zk_op *op, struct hf_instant now)
{
    op->made_at = strlen(op->folder);
    op->rc = ZOK;
    make(op, now);
}

/* ---- The reply ----------------------------------------------------------- */

/* The first entry may have a note; our own new one has none. */
static void finish(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_item *own = hf_zk_list_own(op);
    bool is_new = op->reply.has_changed && own != NULL &&
                  hf_zk_list_may_hold(op, op->mode, op->permits);
    if (is_new) {
        hf_zk_list_reply(op, now);
    } else {
        hf_zk_list_notes(op, hf_zk_list_reply, now);
    }
}

/* ---- Withdrawing --------------------------------------------------------- */

static void refuse_last(struct hf_zk_op *op, struct hf_instant now)
{
    op->reply.outcome = HF_WIRE_ERROR;
    op->reply.fault = HF_CONFIG;
    op->reply.reason =
        "fences would repeat, as the node of this name has come to the last "
        "sequence: delete the node while no lock of it is held";
    hf_zk_op_done(op, now);
}

static void on_withdrawn(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_item *own = hf_zk_list_own(op);
    if (op->rc != ZOK && op->rc != ZNONODE) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    op->rc = ZOK;
    op->may_be_done = false;
    hf_zk_record_drop(op->handle, op->folder, op->text);
    if (own != NULL) {
        own->is_gone = true;
    }
    if (op->is_last) {
        refuse_last(op, now);
    } else {
        finish(op, now);
    }
}

/* Another one was first, or it has the last sequence. */
static void withdraw(struct hf_zk_op *op, struct hf_zk_item *own,
                     struct hf_instant now)
{
    char *path = hf_zk_key_join(op->folder, own->node);
    op->may_be_done = true;
    op->reply.has_changed = false;
    if (path == NULL) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    (void)hf_zk_op_asked(
        op, zoo_adelete(op->handle->library, path, -1, hf_zk_on_void, op));
    free(path);
    hf_zk_op_await(op, on_withdrawn, now);
}

/* ---- Creating ------------------------------------------------------------ */

static void take_record(struct hf_zk_op *op, const struct hf_zk_item *own)
{
    struct hf_zk_record *record =
        hf_zk_record_need(op->handle, op->folder, op->text);
    char *node = strdup(own->node);
    if (record == NULL || node == NULL) {
        op->has_failed = true;
        free(node);
        return;
    }
    free(record->node);
    record->node = node;
    record->number = hf_zk_number(op->czxid, own->sequence);
    record->is_unsure = false;
}

static void take_own(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_item *own = hf_zk_list_own(op);
    if (own != NULL) {
        take_record(op, own);
        op->is_last = hf_zk_key_is_last(own->sequence);
    }
    if (own != NULL &&
        (op->is_last || (op->when != HF_WIRE_UNLESS_OWN &&
                         !hf_zk_list_may_hold(op, op->mode, op->permits)))) {
        withdraw(op, own, now);
    } else {
        finish(op, now);
    }
}

static void note_lost(struct hf_zk_op *op)
{
    struct hf_zk_record *record =
        hf_zk_record_find(op->handle, op->folder, op->text);
    if (op->may_be_done && record != NULL) {
        record->was_lost = true;
    }
}

static void on_created(struct hf_zk_op *op, struct hf_instant now)
{
    bool is_refused = op->create_rc < ZAPIERROR &&
                      op->create_rc != ZSESSIONMOVED &&
                      op->create_rc != ZCLOSING;
    if (is_refused) {
        op->may_be_done = false;
        hf_zk_record_drop(op->handle, op->folder, op->text);
    }
    if (op->create_rc == ZNONODE && op->rounds++ < ROUNDS_MAX) {
        op->after_folder = create;
        hf_zk_create_folder(op, now);
    } else if (op->create_rc != ZOK || op->rc != ZOK) {
        note_lost(op);
        hf_zk_op_fail(op, op->create_rc != ZOK ? op->create_rc : op->rc, now);
    } else if (op->has_failed) {
        hf_zk_op_fail_memory(op, now);
    } else {
        op->reply.has_changed = true;
        take_own(op, now);
    }
}

static void on_node(int rc, const char *path, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    (void)path;
    op->create_rc = rc;
    hf_zk_op_answered(op, ZOK);
}

/* Nothing was created. */
static void stop(struct hf_zk_op *op, struct hf_instant now)
{
    hf_zk_record_drop(op->handle, op->folder, op->text);
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
    } else if (op->is_withdrawn) {
        hf_zk_op_fail(op, ZCONNECTIONLOSS, now); /* as if it was not sent */
    } else {
        hf_zk_op_fail_memory(op, now);
    }
}

static void create(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_record *record =
        hf_zk_record_need(op->handle, op->folder, op->text);
    char *path = hf_zk_key_join(op->folder, op->text);
    if (op->rc != ZOK || op->is_withdrawn || path == NULL || record == NULL) {
        free(path);
        stop(op, now);
        return;
    }
    record->is_unsure = true;
    op->may_be_done = true;
    op->create_rc = ZOK;
    int rc = zoo_acreate(op->handle->library, path, "", 0, hf_zk_acl(op->zk),
                         ZOO_EPHEMERAL_SEQUENTIAL, on_node, op);
    free(path);
    if (hf_zk_op_asked(op, rc)) {
        hf_zk_list(op, false);
    } else {
        op->create_rc = rc;
    }
    hf_zk_op_await(op, on_created, now);
}

/* ---- Looking first ------------------------------------------------------- */

static void on_listed(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_item *own = hf_zk_list_own(op);
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
    } else if (op->has_failed) {
        hf_zk_op_fail_memory(op, now);
    } else if (own != NULL) {
        take_own(op, now);
    } else if (op->when == HF_WIRE_IF_FREE && op->n_items > 0) {
        finish(op, now);
    } else {
        create(op, now);
    }
}

/* From inside of the call: its first requests. A create that goes on later has
 * hf_zk_op_await(). */
static bool begin(struct hf_zk_op *op, bool looks)
{
    struct hf_zk_record *record = NULL;
    char *path = NULL;
    if (looks) {
        hf_zk_list(op, true);
        return hf_zk_op_begin(op, on_listed);
    }
    record = hf_zk_record_need(op->handle, op->folder, op->text);
    path = hf_zk_key_join(op->folder, op->text);
    if (record == NULL || path == NULL) {
        free(path);
        return hf_zk_op_begin(op, on_created);
    }
    int rc = zoo_acreate(op->handle->library, path, "", 0, hf_zk_acl(op->zk),
                         ZOO_EPHEMERAL_SEQUENTIAL, on_node, op);
    free(path);
    if (hf_zk_op_asked(op, rc)) {
        record->is_unsure = true;
        op->may_be_done = true;
        hf_zk_list(op, false);
    } else {
        hf_zk_record_drop(op->handle, op->folder, op->text);
    }
    return hf_zk_op_begin(op, on_created);
}

bool hf_zk_call_create(struct hf_wire *wire, const struct hf_wire_key *key,
                       enum hf_wire_when when, uint64_t revision,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    bool is_over;
    (void)revision; /* a newer entry is before ours, or does no harm */
    struct hf_zk_op *op = hf_zk_op_of(zk, key->session, call, &is_over, now);
    if (op == NULL) {
        return is_over;
    }
    op->is_create = true;
    op->when = when;
    op->mode = key->mode;
    op->permits = key->permits;
    op->folder = hf_zk_key_folder(zk->base, key->name);
    op->text = hf_zk_key_entry(key);
    if (op->folder == NULL || op->text == NULL) {
        hf_zk_op_free(op);
        return false;
    }
    bool is_known = hf_zk_record_find(op->handle, op->folder, op->text) != NULL;
    return begin(op, is_known || when == HF_WIRE_IF_FREE);
}
