/* SPDX-License-Identifier: Apache-2.0 */
/* THE PHASES OF THE NODE, AND THE LOSS OF ITS CONNECTION (sql.h has a picture)
 *
 * hf_sql_node_lose() is the only way back to WAITING. The loss is reported
 * before the requests are answered, so that no answer leads to a new request
 * here.
 *
 * Cost: one timer a node. While READY it is armed for the hang alone. */
#include "store/sql/sql.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* A server that owes a reply and sends nothing for this long hangs, or the
 * network drops its packets. The connection is then closed. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

void hf_sql_node_init(struct hf_sql_node *node, struct hf_sql_store *store,
                      struct hf_sql_link *link, struct hf_instant now)
{
    node->store = store;
    node->link = link;
    node->phase = HF_SQL_WAITING;
    hf_standing_init(&node->standing);
    hf_admission_init(&node->admission, &store->shape, store->host,
                      store->strict);
    link->reconnect.retry_at = now;
}

void hf_sql_node_report(struct hf_sql_node *node, enum hf_node_status status,
                        enum hf_status fault, const char *reason)
{
    hf_standing_set(&node->standing, &node->store->env, 0, status, false, fault,
                    reason);
}

/* ---- Time --------------------------------------------------------------- */

struct hf_instant hf_sql_node_due(const struct hf_sql_node *node,
                                  struct hf_instant ready_due)
{
    struct hf_instant at = HF_LONG_AGO;
    if (node->link->is_broken) {
        return at;
    }
    switch (node->phase) {
    case HF_SQL_WAITING:
        at = node->link->reconnect.retry_at;
        break;
    case HF_SQL_CONNECTING:
    case HF_SQL_GREETING:
    case HF_SQL_INSTALLING:
    case HF_SQL_MARKING:
        at = node->link->deadline;
        break;
    case HF_SQL_READY:
        at = ready_due;
        if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
            at = hf_instant_min(at, node->admission.quarantined_until);
            at = hf_instant_min(at, node->peek_at);
        }
        break;
    }
    return at;
}

static bool is_past(struct hf_instant at, struct hf_instant now)
{
    return !hf_instant_before(now, at);
}

static enum hf_sql_step quarantine_step(const struct hf_sql_node *node,
                                        struct hf_instant now)
{
    if (node->standing.status != HF_NODE_STATUS_REPAIRING) {
        return HF_SQL_REST;
    }
    if (is_past(node->admission.quarantined_until, now)) {
        return HF_SQL_HANDSHAKE; /* it may vote from now on */
    }
    return is_past(node->peek_at, now) ? HF_SQL_PEEK : HF_SQL_REST;
}

enum hf_sql_step hf_sql_node_timed(const struct hf_sql_node *node,
                                   struct hf_instant now)
{
    enum hf_sql_step step = HF_SQL_REST;
    switch (node->phase) {
    case HF_SQL_WAITING:
        step = is_past(node->link->reconnect.retry_at, now) ? HF_SQL_CONNECT
                                                            : HF_SQL_REST;
        break;
    case HF_SQL_CONNECTING: /* the connection checks this deadline */
        break;
    case HF_SQL_GREETING:
    case HF_SQL_INSTALLING:
    case HF_SQL_MARKING:
        step = is_past(node->link->deadline, now) ? HF_SQL_LATE : HF_SQL_REST;
        break;
    case HF_SQL_READY:
        step = quarantine_step(node, now);
        break;
    }
    return step;
}

struct hf_span hf_sql_node_hang_span(const struct hf_sql_node *node)
{
    return hf_span_max(hf_span_scale(node->store->node_timeout, HANG_TIMEOUTS),
                       hf_span_ms(HANG_MS_MIN));
}

void hf_sql_node_check_hang(struct hf_sql_node *node,
                            struct hf_instant hangs_at, struct hf_instant now)
{
    char why[HF_TEXT_PHRASE];
    if (is_past(hangs_at, now)) {
        snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
                 (long long)hf_span_ms_floor(hf_sql_node_hang_span(node)));
        hf_sql_link_break(node->link, HF_UNAVAILABLE, why);
    }
}

bool hf_sql_node_is_overdue(const struct hf_sql_node *node,
                            struct hf_instant now)
{
    return node->phase != HF_SQL_READY && is_past(node->link->timer.at, now);
}

/* ---- Losing ------------------------------------------------------------- */

void hf_sql_node_lose(struct hf_sql_node *node, enum hf_status fault,
                      const char *reason, struct hf_instant now,
                      struct hf_sql_loss *out)
{
    bool is_said = node->greet_fault != HF_OK && fault != HF_NO_MEMORY;
    out->fault = is_said ? node->greet_fault : fault;
    snprintf(out->why, sizeof(out->why), "%s",
             is_said ? node->greet_reason : reason);
    out->is_quick =
        hf_reconnect_plan(&node->link->reconnect, &node->link->seed, now);
    node->phase = HF_SQL_WAITING;
    node->admission.is_declared = false;
    node->has_installed = false;
    node->is_examined = false;
    node->greet_fault = HF_OK;
}

void hf_sql_node_lost(struct hf_sql_node *node, struct hf_sql_loss *loss)
{
    if (loss->is_quick) {
        hf_sql_node_report(node, HF_NODE_STATUS_CONNECTING, HF_UNAVAILABLE,
                           loss->why);
    } else {
        hf_sql_node_report(node, HF_NODE_STATUS_DOWN, loss->fault, loss->why);
        hf_jobs_finish(&node->jobs, loss->fault, loss->why);
    }
    loss->fault = loss->fault == HF_NO_MEMORY ? HF_NO_MEMORY : HF_UNAVAILABLE;
}

/* ---- Jobs, and what is shown -------------------------------------------- */

bool hf_sql_node_describe(const struct hf_sql_node *node, const char *address,
                          struct hf_instant now, struct hf_node *out)
{
    const struct hf_standing *standing = &node->standing;
    hf_store_describe(out, address, standing->status, node->rtt,
                      standing->reason);
    if (standing->status == HF_NODE_STATUS_REPAIRING) {
        struct hf_span left =
            hf_instant_until(now, node->admission.quarantined_until);
        out->quarantine_left_ms = hf_span_ms_ceil(left);
        hf_sql_node_quarantine_text(node, out->reason, sizeof(out->reason));
    }
    return standing->status == HF_NODE_STATUS_CONNECTING &&
           (node->phase == HF_SQL_CONNECTING || node->phase == HF_SQL_GREETING);
}

bool hf_sql_node_job(struct hf_sql_node *node, unsigned index, enum hf_job job,
                     const struct hf_job_sink *sink)
{
    hf_jobs_add(&node->jobs, index, job, sink);
    if (node->phase == HF_SQL_WAITING) {
        node->link->reconnect.retry_at = HF_LONG_AGO;
        hf_timer_set(&node->link->timer, HF_LONG_AGO);
    }
    return hf_sql_node_doubt(node, "being set up or examined");
}
