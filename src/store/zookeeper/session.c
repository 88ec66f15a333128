/* SPDX-License-Identifier: Apache-2.0 */
/* SESSIONS: OPEN, RENEW, CLOSE, OWNED
 *
 * A renewal is a write to a node of the session's own, "BASE%sessions/ID",
 * which is agreed by a majority, and refused by the leader if the session has
 * ended. Reads, pings and a sync prove nothing: a server that is cut off from
 * its leader answers them for a session that the leader has ended. After a
 * pause the session connects again before it is renewed (contacts.c).
 *
 * The leader counts the timeout from the last contact that it knows of, so
 * two thirds of it count from a renewal (handle.c): the session is opened with
 * half as much again as the ttl. A server that shortens that has a
 * maxSessionTimeout, of 20 ticks by default: then half a tick is little, and
 * three quarters count, as long as it has three ticks at least. The next server
 * may allow less, and the leader then ends the session after so much: one whose
 * leases would outlive it counts as expired as soon as that is known.
 *
 * Cost: a session is a connection. To open it is TCP and two round trips, each
 * of a write, and two more where BASE%sessions is missing. A renewal is one, of
 * a write. A close waits for none. OWNED is one: a request for each entry whose
 * create or remove was lost. */
#include "store/ordered/wire_key.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A session that nothing has renewed for so many timeouts is ended. */
#define UNUSED_TIMEOUTS 2

static int64_t count_ms(const struct hf_zk_handle *handle)
{
    int64_t ms = hf_span_ms_floor(handle->timeout);
    return hf_zk_handle_is_capped(handle) ? ms / 4 * 3 : ms / 3 * 2;
}

bool hf_zk_session_is_short(const struct hf_zk_handle *handle)
{
    return count_ms(handle) < handle->promised_ms;
}

/* ---- OPEN ---------------------------------------------------------------- */

static void create_node(struct hf_zk_op *op, struct hf_instant now);

static void end_session(struct hf_zk_handle *handle)
{
    handle->is_over = true;
    handle->ends_session = true;
    hf_zk_handle_wake(handle);
}

static void fail_open(struct hf_zk_op *op, int rc, struct hf_instant now)
{
    struct hf_zk_handle *handle = op->handle;
    handle->opening = NULL;
    end_session(handle);
    op->may_be_done = false; /* nothing that could hold a lock */
    hf_zk_op_fail(op, rc == ZOK ? ZCONNECTIONLOSS : rc, now);
}

static void fail_short(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_handle *handle = op->handle;
    int64_t timeout_ms = hf_span_ms_floor(handle->timeout);
    snprintf(op->why, sizeof(op->why),
             "its sessions last %lld ms at most, of which %lld ms count: use "
             "a shorter ttl, or raise maxSessionTimeout",
             (long long)timeout_ms, (long long)count_ms(handle));
    op->reply.outcome = HF_WIRE_ERROR;
    op->reply.fault = HF_CONFIG;
    op->reply.reason = op->why;
    handle->opening = NULL;
    end_session(handle);
    hf_zk_op_done(op, now);
}

static void answer_open(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_handle *handle = op->handle;
    hf_wire_session_of((uint64_t)handle->id, op->reply.session);
    op->reply.ttl_ms = count_ms(handle);
    handle->promised_ms = op->reply.ttl_ms;
    handle->opening = NULL;
    handle->used = op->reply.sent;
    hf_zk_op_done(op, now);
}

static void on_node(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_handle *handle = op->handle;
    if (op->create_rc == ZNONODE && op->rounds++ < 4) {
        op->after_folder = create_node;
        hf_zk_create_folder(op, now);
    } else if (op->create_rc != ZOK && op->create_rc != ZNODEEXISTS) {
        fail_open(op, op->create_rc, now);
    } else if (!hf_zk_node_check_zxid(op->zk, op->pzxid, op->czxid, now)) {
        op->reply.fault = HF_CONFIG;
        fail_open(op, ZCONNECTIONLOSS, now);
    } else if (count_ms(handle) < op->ttl_ms) {
        fail_short(op, now);
    } else {
        answer_open(op, now);
    }
}

static void on_node_created(int rc, const char *path, const struct Stat *stat,
                            const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    (void)path;
    op->create_rc = rc;
    op->czxid = rc == ZOK ? stat->czxid : op->czxid;
    hf_zk_op_answered(op, ZOK);
}

static void create_node(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk_handle *handle = op->handle;
    op->pzxid = op->zk->newest; /* before the write */
    if (op->rc == ZOK) {        /* of creating the folder */
        (void)hf_zk_op_asked(op,
                             zoo_acreate2(handle->library, handle->node, "", 0,
                                          hf_zk_acl(op->zk), ZOO_EPHEMERAL,
                                          on_node_created, op));
    }
    op->create_rc = op->rc;
    hf_zk_op_await(op, on_node, now);
}

static bool name_node(struct hf_zk_handle *handle)
{
    char hex[HF_TEXT_NUMBER];
    free(handle->node);
    snprintf(hex, sizeof(hex), "%llx", (unsigned long long)handle->id);
    handle->node = handle->opening->folder == NULL
                       ? NULL
                       : hf_zk_key_join(handle->opening->folder, hex);
    return handle->node != NULL;
}

/* One that is too short is left to its server, so that its locks are not free
 * before their holders were told, and have ended. */
static void end_expired(struct hf_zk_handle *handle)
{
    struct hf_zk *zk = handle->zk;
    uint8_t id[HF_SESSION_ID_LEN];
    hf_wire_session_of((uint64_t)handle->id, id);
    hf_zk_handle_free(handle, false);
    hf_ordered_session_ended(&zk->ordered, id);
}

void hf_zk_session_changed(struct hf_zk_handle *handle, struct hf_instant now)
{
    struct hf_zk_op *op = handle->opening;
    bool is_lost = handle->life == HF_ZK_EXPIRED ||
                   (op != NULL && op->pending == 0 &&
                    handle->failed >= handle->zk->n_addresses);
    if (op == NULL && handle->life == HF_ZK_EXPIRED) {
        end_expired(handle);
    } else if (op != NULL && is_lost && op->pending == 0) {
        fail_open(op, ZCONNECTIONLOSS, now);
    } else if (op != NULL && handle->life == HF_ZK_CONNECTED &&
               op->pending == 0) {
        if (name_node(handle)) {
            create_node(op, now);
        } else {
            fail_open(op, ZCONNECTIONLOSS, now);
        }
    }
}

bool hf_zk_call_open(struct hf_wire *wire, int64_t ttl_s,
                     struct hf_wire_call *call, struct hf_instant now)
{
    static const char sessions[] = "%sessions";
    struct hf_zk *zk = hf_zk_of_wire(wire);
    struct hf_span timeout = hf_span_ms(ttl_s * 1500);
    struct hf_zk_handle *handle =
        hf_zk_is_ready(zk) ? hf_zk_handle_new(zk, timeout, false, now) : NULL;
    struct hf_zk_op *op =
        handle == NULL ? NULL : hf_zk_op_new(handle, call, now);
    if (op == NULL) {
        if (handle != NULL) {
            end_session(handle);
        }
        return false;
    }
    size_t size = strlen(zk->base) + sizeof(sessions);
    op->folder = malloc(size);
    if (op->folder != NULL) {
        snprintf(op->folder, size, "%s%s", zk->base, sessions);
    }
    op->ttl_ms = ttl_s * 1000;
    handle->wanted = timeout;
    handle->opening = op;
    return true;
}

/* ---- RENEW --------------------------------------------------------------- */

static void on_renewed(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc == ZOK) {
        hf_zk_op_done(op, now);
    } else {
        hf_zk_op_fail(op, op->rc, now);
    }
}

static void on_node_again(int rc, const char *path, const struct Stat *stat,
                          const void *data)
{
    (void)path;
    (void)stat;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data,
                      rc == ZNODEEXISTS ? ZOK : rc);
}

/* The node was removed by another client: to create it is a write, too. */
static void create_again(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc == ZOK) { /* of creating the folder */
        (void)hf_zk_op_asked(op,
                             zoo_acreate2(op->handle->library, op->handle->node,
                                          "", 0, hf_zk_acl(op->zk),
                                          ZOO_EPHEMERAL, on_node_again, op));
    }
    hf_zk_op_await(op, on_renewed, now);
}

static void on_written(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc == ZNONODE) {
        op->rc = ZOK;
        op->after_folder = create_again;
        hf_zk_create_folder(op, now);
    } else {
        on_renewed(op, now);
    }
}

bool hf_zk_call_renew(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now)
{
    static const char sessions[] = "%sessions";
    struct hf_zk *zk = hf_zk_of_wire(wire);
    struct hf_zk_handle *handle = hf_zk_handle_of(zk, session);
    if (handle == NULL) {
        return hf_zk_op_over(zk, call, HF_WIRE_GONE, now);
    }
    if (handle->life == HF_ZK_CONNECTED &&
        !hf_zk_handle_may_renew(handle, now)) {
        hf_zk_handle_break(handle, "no contact for too long");
        return false;
    }
    struct hf_zk_op *op = handle->life == HF_ZK_CONNECTED
                              ? hf_zk_op_new(handle, call, now)
                              : NULL;
    if (op == NULL) {
        return false;
    }
    op->may_be_done = true;
    handle->used = now;
    size_t size = strlen(zk->base) + sizeof(sessions);
    op->folder = malloc(size);
    if (op->folder != NULL) {
        snprintf(op->folder, size, "%s%s", zk->base, sessions);
        (void)hf_zk_op_asked(op, zoo_aset(handle->library, handle->node, "", 0,
                                          -1, hf_zk_on_stat, op));
    }
    return hf_zk_op_begin(op, on_written);
}

/* ---- CLOSE --------------------------------------------------------------- */

bool hf_zk_call_close(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    struct hf_zk_handle *handle = hf_zk_handle_of(zk, session);
    if (handle != NULL) {
        end_session(handle);
    }
    return hf_zk_op_over(zk, call, HF_WIRE_DONE, now);
}

/* ---- OWNED --------------------------------------------------------------- */

/* Entries that this session may have beside the known ones: their CREATE, or
 * REMOVE, was lost. */
static void on_owned(struct hf_zk_op *op, struct hf_instant now)
{
    size_t n = 0;
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return;
    }
    op->entries = calloc(op->n_wants + 1, sizeof(*op->entries));
    if (op->entries == NULL || op->has_failed) {
        hf_zk_op_fail_memory(op, now);
        return;
    }
    for (size_t i = 0; i < op->n_wants; i++) {
        struct hf_zk_want *want = &op->wants[i];
        if (want->number == 0) {
            continue;
        }
        hf_zk_key_read(want->copy, &op->entries[n]);
        op->entries[n++].name = (struct hf_bytes){want->name, want->name_len};
    }
    op->reply.entries = op->entries;
    op->reply.n_entries = n;
    hf_zk_op_done(op, now);
}

static void on_children(int rc, const struct String_vector *children,
                        const void *data)
{
    struct hf_zk_want *want = (struct hf_zk_want *)(uintptr_t)data;
    uint32_t sequence;
    size_t len;
    for (int i = 0; rc == ZOK && i < children->count; i++) {
        const char *node = children->data[i];
        if (hf_zk_key_sequence(node, &sequence, &len) &&
            len == strlen(want->text) && memcmp(node, want->text, len) == 0) {
            free(want->copy);
            want->copy = strdup(node);
            want->number = want->copy == NULL ? 0 : 1;
            want->op->has_failed |= want->copy == NULL;
        }
    }
    hf_zk_op_answered(want->op, rc == ZNONODE ? ZOK : rc);
}

static void on_synced(int rc, const char *path, const void *data)
{
    (void)path;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data,
                      rc == ZNONODE ? ZOK : rc);
}

static bool fill_want(struct hf_zk_op *op, const struct hf_zk_record *record)
{
    struct hf_zk_want *want = &op->wants[op->n_wants++];
    want->op = op;
    want->folder = strdup(record->folder);
    want->text = strdup(record->text);
    want->name = strdup(record->folder + strlen(op->zk->base));
    if (want->folder == NULL || want->text == NULL || want->name == NULL) {
        return false;
    }
    want->name_len = hf_zk_key_name(want->name);
    return want->name_len != SIZE_MAX;
}

static bool want_unsure(struct hf_zk_op *op)
{
    size_t n = 0;
    bool is_whole = true;
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        for (const struct hf_zk_record *record = op->handle->records[i];
             record != NULL; record = record->next) {
            n += record->is_unsure;
        }
    }
    op->wants = calloc(n + 1, sizeof(*op->wants));
    for (size_t i = 0; i < HF_ZK_BUCKETS && op->wants != NULL; i++) {
        for (const struct hf_zk_record *record = op->handle->records[i];
             record != NULL; record = record->next) {
            is_whole &= !record->is_unsure || fill_want(op, record);
        }
    }
    return op->wants != NULL && is_whole;
}

bool hf_zk_call_owned(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    bool is_over;
    struct hf_zk_op *op = hf_zk_op_of(zk, session, call, &is_over, now);
    if (op == NULL) {
        return is_over;
    }
    if (want_unsure(op)) {
        (void)hf_zk_op_asked(op, zoo_async(op->handle->library,
                                           op->handle->node, on_synced, op));
    }
    for (size_t i = 0; op->pending > 0 && i < op->n_wants; i++) {
        (void)hf_zk_op_asked(op, zoo_aget_children(op->handle->library,
                                                   op->wants[i].folder, 0,
                                                   on_children, &op->wants[i]));
    }
    return hf_zk_op_begin(op, on_owned);
}

/* ---- Unused sessions ----------------------------------------------------- */

bool hf_zk_session_is_unused(const struct hf_zk_handle *handle,
                             struct hf_instant now)
{
    struct hf_span most = hf_span_scale(handle->timeout, UNUSED_TIMEOUTS);
    return !handle->is_main && handle->opening == NULL &&
           handle->first_op == NULL && handle->life != HF_ZK_EXPIRED &&
           hf_instant_before(hf_instant_add(handle->used, most), now);
}
