/* SPDX-License-Identifier: Apache-2.0 */
/* MARKS, AND THE CLOCK BY WHICH THEY ARE JUDGED
 *
 *   read    sync ┬▶ data ──▶ clock: create, set, delete, as one transaction
 *                └ sent together      ▲         │ [no folder]
 *                                     └ create ◀┘
 *   write   create; or set, or delete, if it has that version
 *
 * No session has a mark: sessions last some seconds, and a mark hours. So its
 * node is persistent, and is removed by a later client (ordered/sweep.c).
 *
 * ZooKeeper tells its time only in the Stat of what is written: that is the
 * leader's, in milliseconds. So a node is made, written and removed at once, of
 * which nothing is left, and nothing is to be seen.
 *
 * The suffix is no escape, so no name has it (key.c).
 *
 * A node that is made anew has version 0 again. But a mark is removed only long
 * after its end, and the servers execute no request of a session that has ended
 * or moved, so no write is late by that much.
 *
 * Cost: two round trips to read, of which the second is a transaction, and two
 * more if there is no folder yet; one to write. */
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffix[] = "%once";

/* Where the clock's node is: with the sessions' own. */
static const char clock_folder[] = "%sessions";

/* ZooKeeper may remove an empty container between our create of the folder and
 * the transaction. It looks for empty ones once a minute, so a second round
 * is rare; 8 bound the loop. */
#define ROUNDS_MAX 8

/* The mtime of a Stat is in whole milliseconds. */
#define CLOCK_STEP_MS 1

/** @return NULL: no memory. */
static char *join(const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 1;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s%s", a, b);
    }
    return out;
}

/** @return NULL: no memory. */
static char *path_of(const struct hf_zk *zk, struct hf_bytes name)
{
    char *folder = hf_zk_key_folder(zk->base, name);
    char *path = folder == NULL ? NULL : join(folder, suffix);
    free(folder);
    return path;
}

bool hf_zk_mark_cut(char *text)
{
    size_t len = strlen(text);
    size_t suffix_len = sizeof(suffix) - 1;
    if (len <= suffix_len || strcmp(text + len - suffix_len, suffix) != 0) {
        return false;
    }
    text[len - suffix_len] = '\0';
    return true;
}

/** An op of the main session, with the mark's path as `text`. @return NULL: not
 * connected, or no memory. */
static struct hf_zk_op *begin(struct hf_zk *zk, struct hf_bytes name,
                              struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op =
        hf_zk_is_ready(zk) ? hf_zk_op_new(zk->main, call, now) : NULL;
    if (op == NULL) {
        return NULL;
    }
    op->text = path_of(zk, name);
    op->folder = join(zk->base, clock_folder);
    if (op->text == NULL || op->folder == NULL) {
        hf_zk_op_free(op);
        return NULL;
    }
    return op;
}

/* ---- The clock ----------------------------------------------------------- */

static void ask_clock(struct hf_zk_op *op, struct hf_instant now);

static void on_clock(struct hf_zk_op *op, struct hf_instant now)
{
    int rc = op->create_rc;
    if (rc == ZNONODE && op->rounds++ < ROUNDS_MAX) {
        op->after_folder = ask_clock;
        hf_zk_create_folder(op, now);
        return;
    }
    if (rc != ZOK) {
        hf_zk_op_fail(op, rc, now);
        return;
    }
    op->reply.clock_ms = op->clock.mtime;
    op->reply.clock_step_ms = CLOCK_STEP_MS;
    hf_zk_op_done(op, now);
}

static void on_transaction(int rc, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    op->create_rc = rc;
    hf_zk_op_answered(op, ZOK);
}

static void ask_clock(struct hf_zk_op *op, struct hf_instant now)
{
    char node[HF_TEXT_WORD];
    zoo_op_t ops[3];
    snprintf(node, sizeof(node), "clock-%llx",
             (unsigned long long)op->handle->id);
    char *path = hf_zk_key_join(op->folder, node);
    if (op->rc != ZOK) { /* of creating the folder */
        free(path);
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    if (path == NULL) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    zoo_create_op_init(&ops[0], path, "", 0, hf_zk_acl(op->zk), ZOO_EPHEMERAL,
                       NULL, 0);
    zoo_set_op_init(&ops[1], path, "", 0, -1, &op->clock);
    zoo_delete_op_init(&ops[2], path, -1);
    op->create_rc = ZOK;
    int rc = zoo_amulti(op->handle->library, 3, ops, op->results,
                        on_transaction, op);
    free(path);
    if (!hf_zk_op_asked(op, rc)) {
        op->create_rc = rc;
    }
    hf_zk_op_await(op, on_clock, now);
}

/* ---- Reading ------------------------------------------------------------- */

static void on_read(struct hf_zk_op *op, struct hf_instant now)
{
    if (hf_zk_op_take_data(op, now)) {
        ask_clock(op, now);
    }
}

/* A sync of a path that does not exist is answered all the same. */
static void on_synced(int rc, const char *path, const void *data)
{
    (void)path;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data,
                      rc == ZNONODE ? ZOK : rc);
}

bool hf_zk_call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                          struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op = begin(hf_zk_of_wire(wire), name, call, now);
    if (op == NULL) {
        return false;
    }
    zhandle_t *library = op->handle->library;
    if (hf_zk_op_asked(op, zoo_async(library, op->text, on_synced, op))) {
        (void)hf_zk_op_asked(op,
                             zoo_aget(library, op->text, 0, hf_zk_on_data, op));
    }
    return hf_zk_op_begin(op, on_read);
}

/* ---- Writing ------------------------------------------------------------- */

/* No node: of the mark, or above it. Then the next read makes that. */
static void on_written(struct hf_zk_op *op, struct hf_instant now)
{
    bool is_other =
        op->rc == ZBADVERSION || op->rc == ZNONODE || op->rc == ZNODEEXISTS;
    if (op->rc != ZOK && !is_other) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    op->reply.has_changed = op->rc == ZOK;
    hf_zk_op_done(op, now);
}

static void on_created(int rc, const char *path, const void *data)
{
    (void)path;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data, rc);
}

static int ask_write(struct hf_zk_op *op, const struct hf_wire_mark *mark)
{
    zhandle_t *library = op->handle->library;
    int version = (int)(mark->version - 1);
    int len = (int)mark->text.len;
    if (mark->version == 0) {
        return zoo_acreate(library, op->text, mark->text.data, len,
                           hf_zk_acl(op->zk), ZOO_PERSISTENT, on_created, op);
    }
    if (mark->text.len == 0) {
        return zoo_adelete(library, op->text, version, hf_zk_on_void, op);
    }
    return zoo_aset(library, op->text, mark->text.data, len, version,
                    hf_zk_on_stat, op);
}

bool hf_zk_call_mark_write(struct hf_wire *wire,
                           const struct hf_wire_mark *mark,
                           struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op = begin(hf_zk_of_wire(wire), mark->name, call, now);
    if (op == NULL) {
        return false;
    }
    op->may_be_done = true;
    (void)hf_zk_op_asked(op, ask_write(op, mark));
    return hf_zk_op_begin(op, on_written);
}
