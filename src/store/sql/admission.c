/* SPDX-License-Identifier: Apache-2.0 */
/* The consequences of the decision of store/admission.h for the node. Which
 * kinds of servers are refused, and how the marker is written, is the store's.
 */
#include "store/sql/sql.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* While the node is in quarantine, how often to read its marker. */
#define PEEK_MS 500

/* ---- The handshake ------------------------------------------------------ */

void hf_sql_node_greet(struct hf_sql_node *node, struct hf_instant now)
{
    bool is_first = node->phase == HF_SQL_CONNECTING;
    HF_ASSERT(node->link->is_open);
    node->phase = HF_SQL_GREETING;
    node->link->deadline = hf_instant_add(now, node->store->connect_timeout);
    node->greet_fault = HF_OK;
    node->schema = 0;
    hf_admission_begin(&node->admission);
    if (!is_first) { /* a query of all nodes then waits for the result */
        hf_sql_node_report(node, HF_NODE_STATUS_CONNECTING,
                           node->standing.fault, node->standing.reason);
    }
}

bool hf_sql_node_doubt(struct hf_sql_node *node, const char *why)
{
    bool is_ready = hf_sql_node_is_ready(node);
    if (is_ready) {
        hf_sql_node_report(node, HF_NODE_STATUS_CONNECTING, HF_UNAVAILABLE,
                           why);
    }
    return is_ready;
}

void hf_sql_node_peek(struct hf_sql_node *node, struct hf_instant now)
{
    node->peek_at = hf_instant_add(now, hf_span_ms(PEEK_MS));
}

bool hf_sql_node_peeked(struct hf_sql_node *node,
                        const struct hf_marker *marker)
{
    if (strcmp(marker->value, node->admission.known.value) != 0) {
        return hf_sql_node_doubt(node, "its marker has changed");
    }
    return marker->is_whole &&
           node->standing.status == HF_NODE_STATUS_REPAIRING;
}

void hf_sql_node_install(struct hf_sql_node *node, struct hf_span limit,
                         struct hf_instant now)
{
    node->phase = HF_SQL_INSTALLING;
    node->has_installed = true;
    node->link->deadline = hf_instant_add(now, limit);
    hf_sql_node_report(node, HF_NODE_STATUS_CONNECTING, HF_UNAVAILABLE,
                       HF_MAKES_SCHEMA);
}

/* ---- Refusals ----------------------------------------------------------- */

void hf_sql_node_refuse(struct hf_sql_node *node, enum hf_status fault,
                        const char *why)
{
    node->greet_fault = fault;
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s", why);
    hf_sql_link_break(node->link, fault, node->greet_reason);
}

void hf_sql_node_unmarked(struct hf_sql_node *node, enum hf_status fault,
                          const char *words)
{
    char why[sizeof(node->standing.reason)];
    snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
    hf_sql_node_refuse(node, fault, why);
}

static void refuse_mismatch(struct hf_sql_node *node)
{
    char why[sizeof(node->standing.reason)];
    hf_admission_mismatch_text(&node->admission, why, sizeof(why));
    hf_sql_node_refuse(node, HF_CONFIG, why);
}

void hf_sql_node_quarantine_text(const struct hf_sql_node *node, char *out,
                                 size_t size)
{
    static const char *const causes[] = {
        [HF_SUSPECT_NO_TRACE] =
            "shows no trace of Holdfast (new, restored or emptied)",
        [HF_SUSPECT_EMPTIED] = "was emptied, or lost its marker",
        [HF_SUSPECT_REPLACED] =
            "was restarted, restored or promoted since it was last known",
        [HF_SUSPECT_WATCHED] =
            "is being watched (new, restarted, emptied or promoted)",
    };
    hf_admission_quarantine_text(&node->admission, causes, out, size);
}

/* ---- The decision ------------------------------------------------------- */

/* The marker is up to date: open the node for requests. In quarantine these are
 * renewals and releases, and it has no vote. */
static void become_ready(struct hf_sql_node *node, struct hf_instant now)
{
    bool is_quarantined = hf_admission_accept(&node->admission);
    char why[sizeof(node->standing.reason)] = "";
    node->greet_fault = HF_OK;
    node->phase = HF_SQL_READY;
    hf_sql_node_peek(node, now);
    hf_reconnect_served(&node->link->reconnect, now);
    if (is_quarantined) {
        hf_sql_node_quarantine_text(node, why, sizeof(why));
    }
    hf_standing_set(&node->standing, &node->store->env, 0,
                    is_quarantined ? HF_NODE_STATUS_REPAIRING
                                   : HF_NODE_STATUS_VOTING,
                    node->admission.ruling.is_reset,
                    is_quarantined ? HF_QUARANTINED : HF_OK, why);
}

bool hf_sql_node_judge(struct hf_sql_node *node, const char *unfit)
{
    if (unfit != NULL) {
        hf_sql_node_refuse(node, HF_CONFIG, unfit);
    } else if (node->greet_fault != HF_OK) {
        hf_sql_link_break(node->link, node->greet_fault, node->greet_reason);
    } else {
        hf_admission_read(&node->admission);
        return true;
    }
    return false;
}

/* The reply may be later than the loop's time: so the clock is read here. */
enum hf_admission_next hf_sql_node_admit(struct hf_sql_node *node,
                                         struct hf_instant *now)
{
    *now = hf_clock_now();
    enum hf_admission_next next =
        hf_admission_decide(&node->admission, node->jobs.pending, *now);
    if (next == HF_ADMISSION_REFUSE) {
        refuse_mismatch(node);
    } else if (next == HF_ADMISSION_WRITE) {
        node->phase = HF_SQL_MARKING;
    } else if (next == HF_ADMISSION_ACCEPT) {
        become_ready(node, *now);
    }
    return next;
}
