/* SPDX-License-Identifier: Apache-2.0 */
/* THE QUEUE OF STATEMENTS (node.h has a picture)
 *
 * One caller costs nothing of it: its statement is the text that is sent.
 * A CALL has two replies, its rows and its end.
 *
 * Cost: one write and one round trip for a batch of up to BATCH_MAX statements;
 * one that comes while a batch is under way waits for its end. A statement that
 * fails ends its batch: the rest is sent again, with a ROLLBACK before it. One
 * allocation for each statement. */
#include "base/assert.h"
#include "store/mysql/node.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unanswered statements: only a server that hangs has more. */
#define QUEUED_MAX 65536

/* Statements and bytes of a batch: the first wait for no more than that, and
 * max_allowed_packet of a server is 1 MiB at the least. */
#define BATCH_MAX 64
#define BATCH_BYTES_MAX (256 * 1024)

/* ---- In and out --------------------------------------------------------- */

static struct hf_mysql_request *make(const struct hf_mysql_request *like,
                                     const char *sql, size_t len)
{
    struct hf_mysql_request *request = calloc(1, sizeof(*request) + len);
    if (request != NULL) {
        request->cookie = like->cookie;
        request->kind = like->kind;
        request->is_query = like->is_query;
        request->is_alone = like->is_alone;
        request->len = len;
        memcpy(request->sql, sql, len);
    }
    return request;
}

bool hf_mysql_push(struct hf_mysql_node *node,
                   const struct hf_mysql_request *like, const char *sql,
                   size_t len)
{
    struct hf_mysql_request *request =
        node->n_queued < QUEUED_MAX ? make(like, sql, len) : NULL;
    if (request == NULL) {
        return false;
    }
    *node->last = request;
    node->last = &request->next;
    node->n_queued++;
    return true;
}

static void starve(struct hf_mysql_node *node)
{
    hf_mysql_connection_break(&node->connection, HF_NO_MEMORY, "out of memory");
}

void hf_mysql_push_ours(struct hf_mysql_node *node,
                        enum hf_mysql_request_kind kind, const char *sql,
                        size_t len)
{
    struct hf_mysql_request like = {.kind = (uint8_t)kind,
                                    .is_query = kind == HF_MYSQL_IDENTITY ||
                                                kind == HF_MYSQL_CLUSTER ||
                                                kind == HF_MYSQL_INSTALL_LOCK,
                                    .is_alone = kind >= HF_MYSQL_INSTALL_LOCK &&
                                                kind <= HF_MYSQL_INSTALLED};
    if (!hf_mysql_push(node, &like, sql, len)) {
        starve(node);
    }
}

void hf_mysql_push_call(struct hf_mysql_node *node,
                        enum hf_mysql_request_kind kind)
{
    if (node->call.has_failed) {
        starve(node);
    } else {
        hf_mysql_push_ours(node, kind, node->call.data, node->call.len);
    }
}

struct hf_mysql_request *hf_mysql_pop(struct hf_mysql_node *node)
{
    struct hf_mysql_request *request = node->first;
    if (request != NULL) {
        node->first = request->next;
        node->n_queued--;
        if (node->first == NULL) {
            node->last = &node->first;
        }
        request->next = NULL;
    }
    return request;
}

void hf_mysql_request_free(struct hf_mysql_request *request)
{
    mysql_free_result(request->rows);
    free(request);
}

/* Before all others: an interrupted statement may have left a transaction. */
static void roll_back_first(struct hf_mysql_node *node)
{
    static const char sql[] = "ROLLBACK";
    struct hf_mysql_request like = {.kind = HF_MYSQL_ROLLBACK};
    struct hf_mysql_request *request = make(&like, sql, strlen(sql));
    if (request == NULL) {
        starve(node);
        return;
    }
    request->next = node->first;
    node->first = request;
    node->n_queued++;
    if (request->next == NULL) {
        node->last = &request->next;
    }
}

/* ---- Sending ------------------------------------------------------------ */

/* How many of the first are sent together. */
static size_t batch_size(const struct hf_mysql_node *node, size_t *bytes)
{
    size_t n = 0;
    bool is_alone = false;
    *bytes = 0;
    for (const struct hf_mysql_request *at = node->first; at != NULL;
         at = at->next) {
        if (n > 0 && (is_alone || at->is_alone || n == BATCH_MAX ||
                      *bytes + at->len >= BATCH_BYTES_MAX)) {
            break;
        }
        is_alone = at->is_alone;
        *bytes += at->len + 1;
        n++;
    }
    return n;
}

/** @return false: no memory. */
static bool join(struct hf_mysql_node *node, size_t n)
{
    const struct hf_mysql_request *at = node->first;
    hf_mysql_text_reset(&node->batch);
    for (size_t i = 0; i < n; i++, at = at->next) {
        hf_mysql_text_add(&node->batch, ";", i > 0 ? 1 : 0);
        hf_mysql_text_add(&node->batch, at->sql, at->len);
    }
    return !node->batch.has_failed;
}

static void send_batch(struct hf_mysql_node *node, struct hf_instant now)
{
    size_t bytes;
    size_t n = batch_size(node, &bytes);
    if (n > 1 && !join(node, n)) {
        n = 1; /* no memory for more at a time */
    }
    struct hf_mysql_request *at = node->first;
    for (size_t i = 0; i < n; i++, at = at->next) {
        at->sent = now;
    }
    node->n_batch = n;
    node->n_ended = 0;
    node->next_reply = node->first;
    hf_mysql_connection_ask(&node->connection,
                            n > 1 ? node->batch.data : node->first->sql,
                            n > 1 ? node->batch.len : node->first->len, now);
}

void hf_mysql_flush(struct hf_mysql_node *node, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &node->connection;
    while (!node->is_busy && connection->link.is_open &&
           !connection->link.is_broken &&
           !hf_mysql_connection_is_busy(connection) && node->first != NULL) {
        send_batch(node, now);
        hf_mysql_node_arm(node);
    }
}

/* ---- Replies ------------------------------------------------------------ */

static void deliver(struct hf_mysql_node *node,
                    const struct hf_mysql_request *request,
                    const struct hf_mysql_reply *reply, struct hf_instant now)
{
    if (request->kind <= HF_VERB_SCAN) {
        node->base.rtt = hf_span_smooth(node->base.rtt,
                                        hf_instant_until(request->sent, now));
        hf_mysql_answer(node, request, reply, now);
    } else if (request->kind >= HF_MYSQL_SURVEY) {
        hf_mysql_job_reply(node, request, reply, now);
    } else if (request->kind > HF_MYSQL_ROLLBACK) {
        hf_mysql_handshake_reply(node, request, reply, now);
    } else if (reply->error != 0) {
        hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE,
                                  reply->text);
    }
}

/* Answer the statements that have ended, and the one that has failed; the rest
 * of the batch was not executed, and stays. */
static void end_batch(struct hf_mysql_node *node,
                      const struct hf_mysql_reply *last, struct hf_instant now)
{
    size_t n_ended = node->n_ended;
    struct hf_mysql_request *failed =
        last->error == 0 ? NULL : node->next_reply;
    node->n_batch = 0;
    for (size_t i = 0; i < n_ended; i++) {
        struct hf_mysql_request *request = hf_mysql_pop(node);
        const struct hf_mysql_reply reply = {.rows = request->rows};
        deliver(node, request, &reply, now);
        hf_mysql_request_free(request);
    }
    if (failed != NULL) {
        HF_ASSERT(failed == node->first);
        (void)hf_mysql_pop(node);
        roll_back_first(node);
        deliver(node, failed, last, now);
        hf_mysql_request_free(failed);
    }
}

/* Its rows, or its end, or both. */
static void take_one(struct hf_mysql_node *node,
                     const struct hf_mysql_reply *reply)
{
    struct hf_mysql_request *request = node->next_reply;
    if (reply->error != 0) {
        return;
    }
    if (reply->rows != NULL && request->rows == NULL) {
        hf_mysql_connection_keep(&node->connection);
        request->rows = reply->rows;
    }
    if (reply->rows == NULL || request->is_query) {
        node->next_reply = request->next;
        node->n_ended++;
    }
}

void hf_mysql_take(struct hf_mysql_node *node,
                   const struct hf_mysql_reply *reply, struct hf_instant now)
{
    HF_ASSERT(!node->is_busy);
    if (node->n_ended == node->n_batch) {
        hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE,
                                  "an answer to no statement");
        return;
    }
    take_one(node, reply);
    if (!reply->is_last) {
        return;
    }
    if (reply->error == 0 && node->n_ended < node->n_batch) {
        hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE,
                                  "no answer to a statement");
        return;
    }
    node->is_busy = true;
    end_batch(node, reply, now);
    node->is_busy = false;
}
