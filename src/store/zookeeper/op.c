/* SPDX-License-Identifier: Apache-2.0 */
/* A CALL AS SEVERAL REQUESTS
 *
 *   step ── request, request, … ──▶ all answered ──▶ step ── … ──▶ reply
 *
 * Requests of one step are sent without waiting, and executed in order. What a
 * failed one means for the call:
 *
 *   GONE     the session has ended
 *   ERROR    refused, for want of rights, or by a path that cannot be
 *   UNSENT   the connection was lost, and nothing was asked for that changes
 *            the store
 *   LOST     the connection was lost after that
 *
 * Cost: one round trip for each step, however many requests it has; one block
 * on the heap for each call. */
#include "store/zookeeper/handle.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include "base/assert.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life ---------------------------------------------------------------- */

struct hf_zk_op *hf_zk_op_new(struct hf_zk_handle *handle,
                              struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_zk_op *op = calloc(1, sizeof(*op));
    if (op == NULL) {
        return NULL;
    }
    op->handle = handle;
    op->zk = handle->zk;
    op->call = call;
    op->asked = now;
    op->reply = (struct hf_wire_reply){
        .outcome = HF_WIRE_DONE, .sent = now, .term = HF_WIRE_TERM_ANY};
    op->before = handle->last_op;
    if (handle->last_op != NULL) {
        handle->last_op->next = op;
    } else {
        handle->first_op = op;
    }
    handle->last_op = op;
    return op;
}

static void unlink_op(struct hf_zk_op *op)
{
    struct hf_zk_handle *handle = op->handle;
    if (handle == NULL) {
        return;
    }
    if (op->before != NULL) {
        op->before->next = op->next;
    } else {
        handle->first_op = op->next;
    }
    if (op->next != NULL) {
        op->next->before = op->before;
    } else {
        handle->last_op = op->before;
    }
    op->handle = NULL;
    op->next = op->before = NULL;
}

void hf_zk_op_free(struct hf_zk_op *op)
{
    unlink_op(op);
    hf_zk_list_reset(op);
    for (size_t i = 0; i < op->n_wants; i++) {
        free(op->wants[i].folder);
        free(op->wants[i].text);
        free(op->wants[i].copy);
        free(op->wants[i].name);
        free(op->wants[i].note);
    }
    free(op->wants);
    free(op->folder);
    free(op->text);
    free(op->mark);
    free(op);
}

void hf_zk_op_done(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk *zk = op->zk;
    struct hf_wire_call *call = op->call;
    unlink_op(op);
    if (op->reply.outcome == HF_WIRE_DONE) {
        zk->ordered.rtt =
            hf_span_smooth(zk->ordered.rtt, hf_instant_until(op->asked, now));
    }
    if (call != NULL && call->done != NULL && !zk->is_closing) {
        call->done(call, &op->reply, now);
    }
    hf_zk_op_free(op);
}

/* ---- Errors -------------------------------------------------------------- */

static bool is_lost(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZCLOSING ||
           rc == ZSESSIONMOVED || rc == ZINVALIDSTATE ||
           rc == ZMARSHALLINGERROR;
}

const char *hf_zk_op_reason(int rc)
{
    switch (rc) {
    case HF_ZK_QUOTA_EXCEEDED:
        return "a quota of nodes or bytes is used up";
    case ZNOAUTH:
        return "the user has no rights to the nodes of this name";
    case ZAUTHFAILED:
        return "the login is refused";
    case ZBADARGUMENTS:
        return "the server refuses the path: look at prefix and chroot";
    case ZCONNECTIONLOSS:
        return "connection lost";
    case ZOPERATIONTIMEOUT:
        return "no answer in time";
    case ZUNIMPLEMENTED:
        return "the server is too old: ZooKeeper 3.6 or later is needed";
    default:
        return "the request has failed";
    }
}

void hf_zk_op_fail(struct hf_zk_op *op, int rc, struct hf_instant now)
{
    struct hf_wire_reply *reply = &op->reply;
    bool is_session =
        op->handle != NULL && !op->handle->is_main &&
        (rc == ZSESSIONEXPIRED || op->handle->life == HF_ZK_EXPIRED);
    snprintf(op->why, sizeof(op->why), "%s", hf_zk_op_reason(rc));
    reply->reason = op->why;
    reply->fault = HF_UNAVAILABLE;
    reply->entries = NULL;
    reply->n_entries = 0;
    if (rc == ZNOAUTH || rc == ZAUTHFAILED) {
        reply->outcome = HF_WIRE_ERROR;
        reply->fault = HF_DENIED;
    } else if (is_session) {
        reply->outcome = HF_WIRE_GONE;
    } else if (is_lost(rc) || rc == ZSESSIONEXPIRED) {
        reply->outcome = op->may_be_done ? HF_WIRE_LOST : HF_WIRE_UNSENT;
    } else {
        size_t len = strlen(op->why);
        snprintf(op->why + len, sizeof(op->why) - len, " (%d)", rc);
        reply->fault = rc == ZBADARGUMENTS ? HF_CONFIG : HF_UNAVAILABLE;
        reply->outcome = op->may_be_done ? HF_WIRE_LOST : HF_WIRE_ERROR;
    }
    hf_zk_op_done(op, now);
}

void hf_zk_op_fail_memory(struct hf_zk_op *op, struct hf_instant now)
{
    op->reply.outcome = op->may_be_done ? HF_WIRE_LOST : HF_WIRE_UNSENT;
    op->reply.fault = HF_NO_MEMORY;
    op->reply.reason = "out of memory";
    op->reply.entries = NULL;
    op->reply.n_entries = 0;
    hf_zk_op_done(op, now);
}

static struct hf_zk_op *add_over(struct hf_zk *zk, struct hf_wire_call *call,
                                 struct hf_instant now)
{
    struct hf_zk_op *op = calloc(1, sizeof(*op));
    if (op == NULL) {
        return NULL;
    }
    struct hf_zk_op **end = &zk->over;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = op;
    op->zk = zk;
    op->call = call;
    op->reply = (struct hf_wire_reply){.outcome = HF_WIRE_GONE,
                                       .sent = now,
                                       .term = HF_WIRE_TERM_ANY,
                                       .fault = HF_UNAVAILABLE,
                                       .reason = "its session has ended"};
    hf_timer_set(&zk->timer, HF_LONG_AGO);
    return op;
}

bool hf_zk_op_over(struct hf_zk *zk, struct hf_wire_call *call,
                   enum hf_wire_outcome outcome, struct hf_instant now)
{
    struct hf_zk_op *op = add_over(zk, call, now);
    if (op != NULL) {
        op->reply.outcome = outcome;
    }
    return op != NULL;
}

struct hf_zk_op *hf_zk_op_of(struct hf_zk *zk, const uint8_t *session,
                             struct hf_wire_call *call, bool *is_over,
                             struct hf_instant now)
{
    struct hf_zk_handle *handle = hf_zk_handle_of(zk, session);
    bool is_usable = handle != NULL && handle->life == HF_ZK_CONNECTED;
    *is_over = handle == NULL && hf_zk_op_over(zk, call, HF_WIRE_GONE, now);
    return is_usable ? hf_zk_op_new(handle, call, now) : NULL;
}

bool hf_zk_op_refuse(struct hf_zk *zk, struct hf_wire_call *call,
                     const char *reason, struct hf_instant now)
{
    struct hf_zk_op *op = add_over(zk, call, now);
    if (op != NULL) {
        op->reply.outcome = HF_WIRE_ERROR;
        op->reply.fault = HF_CONFIG;
        op->reply.reason = reason;
    }
    return op != NULL;
}

/* ---- Requests ------------------------------------------------------------ */

bool hf_zk_op_asked(struct hf_zk_op *op, int rc)
{
    if (rc != ZOK) {
        op->rc = op->rc == ZOK ? rc : op->rc;
        return false;
    }
    op->pending++;
    op->asked = hf_clock_now();
    hf_zk_handle_wake(op->handle);
    return true;
}

static void go_on(struct hf_zk_op *op, struct hf_instant now)
{
    hf_zk_step_fn *step = op->step;
    HF_ASSERT(op->pending == 0 && step != NULL);
    op->step = NULL;
    step(op, now);
}

void hf_zk_op_answered(struct hf_zk_op *op, int rc)
{
    HF_ASSERT(op->pending > 0);
    op->pending--;
    op->rc = op->rc == ZOK ? rc : op->rc;
    if (op->pending == 0 && op->step != NULL) {
        if (op->zk->is_closing) {
            hf_zk_op_free(op);
        } else {
            go_on(op, hf_instant_max(op->zk->now, op->reply.sent));
        }
    }
}

bool hf_zk_op_begin(struct hf_zk_op *op, hf_zk_step_fn *step)
{
    if (op->pending == 0) {
        hf_zk_op_free(op);
        return false;
    }
    op->step = step;
    return true;
}

void hf_zk_op_await(struct hf_zk_op *op, hf_zk_step_fn *step,
                    struct hf_instant now)
{
    op->step = step;
    if (op->pending == 0) {
        go_on(op, now);
    }
}

void hf_zk_on_void(int rc, const void *data)
{
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data, rc);
}

void hf_zk_on_stat(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    hf_zk_op_answered((struct hf_zk_op *)(uintptr_t)data, rc);
}

const struct ACL_vector *hf_zk_acl(const struct hf_zk *zk)
{
    return zk->login != NULL ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

/* ---- The data of a mark, or of a value ----------------------------------- */

void hf_zk_op_take_stat(struct hf_zk_op *op, const struct Stat *stat)
{
    op->reply.version = (uint64_t)(uint32_t)stat->version + 1;
    op->reply.revision = (uint64_t)stat->mzxid;
}

/* Of another program's node the data may be NULL. */
void hf_zk_on_data(int rc, const char *value, int len, const struct Stat *stat,
                   const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    if (rc == ZOK) {
        op->mark_len = len > 0 ? (size_t)len : 0;
        op->mark = malloc(op->mark_len + 1);
        op->has_failed |= op->mark == NULL;
        hf_zk_op_take_stat(op, stat);
    }
    if (rc == ZOK && len > 0 && op->mark != NULL) {
        memcpy(op->mark, value, op->mark_len);
    }
    hf_zk_op_answered(op, rc == ZNONODE ? ZOK : rc);
}

bool hf_zk_op_take_data(struct hf_zk_op *op, struct hf_instant now)
{
    if (op->rc != ZOK) {
        hf_zk_op_fail(op, op->rc, now);
        return false;
    }
    if (op->has_failed) {
        hf_zk_op_fail_memory(op, now);
        return false;
    }
    op->reply.mark = (struct hf_bytes){op->mark, op->mark_len};
    return true;
}

/* ---- Records ------------------------------------------------------------- */

/* Its text has random digits. */
static struct hf_zk_record **bucket(struct hf_zk_handle *handle,
                                    const char *text)
{
    uint32_t hash = 2166136261U;
    for (const char *at = text; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    }
    return &handle->records[hash % HF_ZK_BUCKETS];
}

static struct hf_zk_record **find_link(struct hf_zk_handle *handle,
                                       const char *folder, const char *text)
{
    struct hf_zk_record **at = bucket(handle, text);
    while (*at != NULL && (strcmp((*at)->text, text) != 0 ||
                           strcmp((*at)->folder, folder) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

static void free_record(struct hf_zk_record *record)
{
    if (record != NULL) {
        free(record->folder);
        free(record->text);
        free(record->node);
        free(record);
    }
}

struct hf_zk_record *hf_zk_record_find(struct hf_zk_handle *handle,
                                       const char *folder, const char *text)
{
    return *find_link(handle, folder, text);
}

struct hf_zk_record *hf_zk_record_need(struct hf_zk_handle *handle,
                                       const char *folder, const char *text)
{
    struct hf_zk_record **at = find_link(handle, folder, text);
    if (*at != NULL) {
        return *at;
    }
    struct hf_zk_record *record = calloc(1, sizeof(*record));
    if (record == NULL) {
        return NULL;
    }
    record->folder = strdup(folder);
    record->text = strdup(text);
    if (record->folder == NULL || record->text == NULL) {
        free_record(record);
        return NULL;
    }
    *at = record;
    return record;
}

void hf_zk_record_drop(struct hf_zk_handle *handle, const char *folder,
                       const char *text)
{
    struct hf_zk_record **at = find_link(handle, folder, text);
    struct hf_zk_record *record = *at;
    if (record != NULL && record->was_lost) {
        free(record->node);
        record->node = NULL;
        record->is_unsure = true; /* it is looked for by OWNED */
    } else if (record != NULL) {
        *at = record->next;
        free_record(record);
    }
}

void hf_zk_records_free(struct hf_zk_handle *handle)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        while (handle->records[i] != NULL) {
            struct hf_zk_record *record = handle->records[i];
            handle->records[i] = record->next;
            free_record(record);
        }
    }
}
