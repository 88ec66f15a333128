/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no majority, in one line that names each node that is missing:
 *
 *     no majority (1 of 3 nodes): 10.0.0.1:6379 connection refused;
 *     10.0.0.2:6379 no answer in 50 ms */
#include "client/unavailable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cut at its end: the reasons of nine nodes may be longer than an error. */
struct error_line {
    char *at;
    char *end;
};

static void add(struct error_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct error_line *line, const char *format, ...)
{
    va_list args;
    size_t room = (size_t)(line->end - line->at);
    va_start(args, format);
    int len = vsnprintf(line->at, room, format, args);
    va_end(args);
    if (len > 0) {
        line->at += (size_t)len < room ? (size_t)len : room - 1;
    }
}

/* An extension sends a request per lock of the handle: if one fails, the node
 * counts as missing. So does a node that answers a renewal, and has not the
 * lock at this fence or no vote. */
static uint16_t missing_of(const struct hf_op *op)
{
    const struct hf_nodes *nodes = &op->client->nodes;
    uint16_t refusing = op->kind == HF_OP_EXTEND ? op->refusing : 0;
    refusing |=
        hf_op_renews(op) ? op->denying | op->astray | nodes->repairing : 0;
    uint16_t answered = op->answered & (uint16_t)~refusing;
    return (uint16_t)(hf_nodes_all(nodes) & ~answered);
}

static bool is_in(uint16_t mask, unsigned node)
{
    return (mask & (1U << node)) != 0;
}

/* An error of a node counts only if the node refused this operation or is down
 * now: an older error may be over, and would mislead the caller. */
static enum hf_status fault_of(const struct hf_op *op, unsigned node)
{
    const struct hf_client *client = op->client;
    enum hf_node_status status = hf_nodes_status(&client->nodes, node);
    if (status == HF_NODE_STATUS_REPAIRING) {
        return HF_QUARANTINED;
    }
    bool has_said = is_in(op->refusing, node) || status == HF_NODE_STATUS_DOWN;
    enum hf_status fault = client->peers[node].fault;
    return has_said && fault != HF_OK ? fault : HF_UNAVAILABLE;
}

static unsigned count(const struct hf_op *op, uint16_t mask,
                      enum hf_status fault)
{
    unsigned n = 0;
    for (unsigned i = 0; i < op->client->nodes.count; i++) {
        n += is_in(mask, i) && fault_of(op, i) == fault;
    }
    return n;
}

bool hf_unavailable_is_hopeless(const struct hf_op *op)
{
    uint16_t missing = missing_of(op);
    for (unsigned i = 0; i < op->client->nodes.count; i++) {
        bool is_down =
            hf_nodes_status(&op->client->nodes, i) == HF_NODE_STATUS_DOWN;
        if (is_in(missing, i) && !is_down && !is_in(op->apart, i) &&
            fault_of(op, i) != HF_DENIED) {
            return false;
        }
    }
    return true;
}

/** Add the nodes in quarantine for the same reason as `first`: their addresses,
 * the reason once, and the longest remaining time. @return these nodes. */
static uint16_t add_quarantined(struct error_line *line, const struct hf_op *op,
                                uint16_t missing, unsigned first)
{
    const struct hf_client *client = op->client;
    char reason[sizeof(((struct hf_node *)NULL)->reason)] = "";
    int64_t left_ms = 0;
    uint16_t fold = 0;
    for (unsigned i = first; i < client->nodes.count; i++) {
        struct hf_node info = {0};
        client->store->ops->describe(client->store, i, client->now, &info);
        if (!is_in(missing, i) ||
            hf_nodes_status(&client->nodes, i) != HF_NODE_STATUS_REPAIRING ||
            (fold != 0 && strcmp(reason, info.reason) != 0)) {
            continue;
        }
        memcpy(reason, info.reason, sizeof(reason));
        left_ms = info.quarantine_left_ms > left_ms ? info.quarantine_left_ms
                                                    : left_ms;
        add(line, "%s%s", fold != 0 ? ", " : "", info.address);
        fold |= (uint16_t)(1U << i);
    }
    add(line, "%s %s, so it counts in %lld s",
        __builtin_popcount(fold) > 1 ? ": each" : "", reason,
        (long long)(left_ms + 999) / 1000);
    return fold;
}

/* How long the node had for its answer: until the operation ended, or its
 * timeout. */
static struct hf_span waited_for(const struct hf_op *op, unsigned node)
{
    const struct hf_client *client = op->client;
    if (op->patience.ns > 0) {
        return op->patience;
    }
    struct hf_span timeout =
        hf_nodes_timeout(&client->nodes, node, hf_span_ms(op->order.ttl_ms));
    return op->kind == HF_OP_ACQUIRE
               ? hf_span_min(timeout,
                             hf_instant_until(op->retry.began, client->now))
               : timeout;
}

/* The latest cause goes first: a refusal of this request, then a timeout, then
 * why the connection is down. */
static void add_reason(struct error_line *line, const struct hf_op *op,
                       unsigned node)
{
    const struct hf_client *client = op->client;
    enum hf_node_status status = hf_nodes_status(&client->nodes, node);
    struct hf_node info = {0};
    client->store->ops->describe(client->store, node, client->now, &info);
    add(line, is_in(op->apart, node) ? "%s: " : "%s ", info.address);
    if (is_in(op->refusing, node) && client->peers[node].reason[0] != '\0') {
        add(line, "%s", client->peers[node].reason);
    } else if (is_in(op->denying, node)) {
        add(line, "does not have it");
    } else if (is_in(op->astray, node)) {
        add(line, "has it with another fence");
    } else if (status == HF_NODE_STATUS_VOTING) {
        add(line, "no answer in %lld ms",
            (long long)hf_span_ms_ceil(waited_for(op, node)));
    } else if (info.reason[0] != '\0') {
        add(line, "%s", info.reason);
    } else {
        add(line, "no connection yet");
    }
}

/* Voting nodes with no error and no late reply: the attempt ended before they
 * replied. They are left out if the other missing nodes alone prevent a
 * majority.
 */
static uint16_t blameless(const struct hf_op *op, uint16_t missing)
{
    const struct hf_nodes *nodes = &op->client->nodes;
    uint16_t mask = 0;
    for (unsigned i = 0; i < nodes->count; i++) {
        bool is_fine = hf_nodes_status(nodes, i) == HF_NODE_STATUS_VOTING &&
                       !is_in(op->refusing, i) && !is_in(op->apart, i) &&
                       !is_in(op->denying, i) && !is_in(op->astray, i) &&
                       nodes->misses[i] == 0;
        mask |= (uint16_t)(is_fine && is_in(missing, i) ? 1U << i : 0);
    }
    int others = __builtin_popcount(missing & ~(unsigned)mask);
    return others > nodes->count - nodes->quorum ? mask : 0;
}

static void write_line(struct hf_op *op)
{
    const struct hf_nodes *nodes = &op->client->nodes;
    uint16_t missing = missing_of(op);
    uint16_t answered = hf_nodes_all(nodes) & (uint16_t)~missing;
    if (missing == 0) { /* each has answered, some of them too late */
        missing = hf_nodes_all(nodes);
    }
    uint16_t fine = blameless(op, missing);
    missing &= (uint16_t)~fine;
    struct error_line line = {op->error.text,
                              op->error.text + sizeof(op->error.text)};
    if (nodes->count > 1) {
        add(&line, "no majority (%d of %d nodes): ",
            __builtin_popcount((unsigned)answered | fine), nodes->count);
    }
    const char *separator = "";
    uint16_t left = missing;
    for (unsigned i = 0; i < nodes->count; i++) {
        if (!is_in(left, i)) {
            continue;
        }
        add(&line, "%s", separator);
        separator = "; ";
        if (hf_nodes_status(nodes, i) == HF_NODE_STATUS_REPAIRING) {
            left &= (uint16_t)~add_quarantined(&line, op, left, i);
        } else {
            add_reason(&line, op, i);
        }
    }
    op->error.node =
        __builtin_popcount(missing) == 1 ? __builtin_ctz(missing) : -1;
}

static bool is_of_all(const struct hf_op *op, uint16_t missing,
                      enum hf_status fault)
{
    return missing != 0 &&
           count(op, missing, fault) == (unsigned)__builtin_popcount(missing);
}

enum hf_status hf_unavailable_write(struct hf_op *op)
{
    const struct hf_nodes *nodes = &op->client->nodes;
    uint16_t missing = missing_of(op);
    unsigned lacking = nodes->quorum;
    unsigned answered = nodes->count - (unsigned)__builtin_popcount(missing);
    lacking -= answered < lacking ? answered : lacking;
    enum hf_status status = HF_UNAVAILABLE;
    if (is_of_all(op, missing, HF_DENIED)) {
        status = HF_DENIED;
    } else if (lacking > 0 && count(op, missing, HF_NO_MEMORY) >= lacking) {
        status = HF_NO_MEMORY; /* of this process */
    } else if (lacking > 0 && count(op, missing, HF_QUARANTINED) >= lacking) {
        status = HF_QUARANTINED;
    } else if (lacking > 0 && is_of_all(op, missing, HF_CONFIG)) {
        status = HF_CONFIG; /* reached, and of no use to this client */
    }
    write_line(op);
    return status;
}

bool hf_unavailable_check_denied(struct hf_op *op)
{
    const struct hf_nodes *nodes = &op->client->nodes;
    if (count(op, missing_of(op), HF_DENIED) + nodes->quorum <= nodes->count) {
        return false;
    }
    write_line(op);
    return true;
}

enum hf_status hf_unavailable_final(struct hf_op *op)
{
    const struct hf_client *client = op->client;
    for (unsigned i = 0; i < client->nodes.count; i++) {
        bool is_refusing = is_in(op->refusing, i);
        if (client->peers[i].config == HF_CONFIG ||
            (is_refusing && client->peers[i].fault == HF_CONFIG)) {
            struct hf_node info = {0};
            client->store->ops->describe(client->store, i, client->now, &info);
            snprintf(op->error.text, sizeof(op->error.text), "%s %s",
                     info.address, client->peers[i].reason);
            op->error.node = (int)i;
            return HF_CONFIG;
        }
    }
    return hf_unavailable_check_denied(op) ? HF_DENIED : HF_OK;
}
