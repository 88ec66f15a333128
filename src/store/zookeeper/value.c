/* SPDX-License-Identifier: Apache-2.0 */
/* VALUES
 *
 *   read    multi: check ┬▶ data           sent together
 *   write   set, if it has that version; or create
 *             └ no folder ──▶ create it: then as if another one came between
 *
 * A node of each value, in a folder of their own, so that who lists the names
 * does not list them:
 *
 *     BASE %values / NAME               /lock:%values/nightly
 *
 * Its public version is its mzxid, which rises over all nodes and for good. The
 * condition of a write is the version of its Stat, which begins anew with each
 * node: so a node is never removed. A deletion leaves the tombstone.
 *
 * A sync would be answered by a leader that was replaced and does not know it,
 * and so would an old value. A transaction is confirmed by a majority, also one
 * whose only operation is a check, and also if that fails. So what the server
 * reads after it has all that was written before the transaction was sent.
 *
 * Cost: one round trip each, and each is agreed by a majority. The first value
 * of a store makes the folder: one more, and then it is read and written again.
 */
#include "store/ordered/wire_text.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>

static const char folder_name[] = "%values";

/* The version of a Stat has 32 bits, and wraps. The one before 0 is -1, which
 * means any version. */
#define VERSION_OF_ANY (UINT64_C(1) << 32)

/** An op of the main session, with the node's path as `text`. @return NULL: not
 * connected, or no memory. */
static struct hf_zk_op *begin(struct hf_zk *zk, struct hf_bytes name,
                              struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_wire_text folder = {0};
    struct hf_zk_op *op =
        hf_zk_is_ready(zk) ? hf_zk_op_new(zk->main, call, now) : NULL;
    if (op == NULL) {
        return NULL;
    }
    hf_wire_text_say(&folder, zk->base);
    hf_wire_text_say(&folder, folder_name);
    op->folder = hf_wire_text_take(&folder);
    char *node = hf_zk_key_folder("", name);
    op->text = op->folder == NULL || node == NULL
                   ? NULL
                   : hf_zk_key_join(op->folder, node);
    free(node);
    if (op->text == NULL) {
        hf_zk_op_free(op);
        return NULL;
    }
    return op;
}

/* ---- Reading ------------------------------------------------------------- */

static void on_read(struct hf_zk_op *op, struct hf_instant now)
{
    if (hf_zk_op_take_data(op, now)) {
        hf_zk_op_done(op, now);
    }
}

/* A check that fails is a transaction, too. */
static void on_checked(int rc, const void *data)
{
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data,
                      rc == ZNONODE ? ZOK : rc);
}

bool hf_zk_call_value_read(struct hf_wire *wire, struct hf_bytes name,
                           struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op = begin(hf_zk_of_wire(wire), name, call, now);
    zoo_op_t check;
    if (op == NULL) {
        return false;
    }
    zhandle_t *library = op->handle->library;
    zoo_check_op_init(&check, op->text, -1);
    if (hf_zk_op_asked(
            op, zoo_amulti(library, 1, &check, op->results, on_checked, op))) {
        (void)hf_zk_op_asked(op,
                             zoo_aget(library, op->text, 0, hf_zk_on_data, op));
    }
    return hf_zk_op_begin(op, on_read);
}

/* ---- Writing ------------------------------------------------------------- */

static void on_folder(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
    } else {
        hf_zk_op_done(op, now);
    }
}

static void on_written(struct hf_zk_op *op, struct hf_instant now)
{
    int rc = op->rc;
    bool is_other = rc == ZBADVERSION || rc == ZNONODE || rc == ZNODEEXISTS;
    if (rc == ZNONODE) {
        op->may_be_done = false; /* of the value */
        op->after_folder = on_folder;
        hf_zk_create_folder(op, now);
    } else if (rc != ZOK && !is_other) {
        hf_zk_op_fail(op, rc, now);
    } else {
        op->reply.has_changed = rc == ZOK;
        hf_zk_op_done(op, now);
    }
}

static void on_set(int rc, const struct Stat *stat, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    if (rc == ZOK) {
        hf_zk_op_take_stat(op, stat);
    }
    hf_zk_op_answered(op, rc);
}

static void on_created(int rc, const char *path, const struct Stat *stat,
                       const void *data)
{
    (void)path;
    on_set(rc, stat, data);
}

bool hf_zk_call_value_write(struct hf_wire *wire,
                            const struct hf_wire_mark *value,
                            struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    int len = (int)value->text.len;
    if (value->version == VERSION_OF_ANY) {
        return hf_zk_op_refuse(zk, call,
                               "this value was written 4,294,967,295 times, "
                               "and no other version can be told from any",
                               now);
    }
    struct hf_zk_op *op = begin(zk, value->name, call, now);
    if (op == NULL) {
        return false;
    }
    zhandle_t *library = op->handle->library;
    op->may_be_done = true;
    int rc = value->version == 0
                 ? zoo_acreate2(library, op->text, value->text.data, len,
                                hf_zk_acl(zk), ZOO_PERSISTENT, on_created, op)
                 : zoo_aset(library, op->text, value->text.data, len,
                            (int)(uint32_t)(value->version - 1), on_set, op);
    (void)hf_zk_op_asked(op, rc);
    return hf_zk_op_begin(op, on_written);
}
