/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor`. LOOK, COUNT and LOWER are one call of a function
 * each, after the handshake and before the marker changes. admission.c does
 * INIT and QUARANTINE at the end of a handshake. EXAMINE reports the results of
 * the handshake, and acquires and releases a lock of its own.
 *
 * Cost: a survey is one statement, and one more handshake. INIT and QUARANTINE
 * are a handshake, and the marker that it writes. The statements of EXAMINE are
 * sent together: one round trip. */
#include "store/sql/sql.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Surveys ------------------------------------------------------------ */

bool hf_sql_look_add(struct hf_look *look, const struct hf_sql_row *row)
{
    if (look->n_names == 0) {
        look->held = row->cells[0].number;
        look->waited = row->cells[1].number;
    }
    if (look->held <= 0) {
        return false;
    }
    look->names[look->n_names++] = row->cells[2].bytes;
    return look->n_names < HF_LOOK_NAMES_MAX;
}

void hf_sql_node_looked(struct hf_sql_node *node, const struct hf_look *look)
{
    char why[HF_TEXT_LIST];
    enum hf_status status =
        hf_findings_look(&node->jobs, &node->admission, look,
                         node->store->prefix, why, sizeof(why));
    hf_jobs_finish(&node->jobs, status, why);
}

void hf_sql_node_counted(struct hf_sql_node *node, int64_t n)
{
    const char *why;
    enum hf_status status =
        hf_findings_counters(&node->jobs, node->admission.surveying, n, &why);
    hf_jobs_finish(&node->jobs, status, why);
}

void hf_sql_node_unsurveyed(struct hf_sql_node *node, enum hf_status fault,
                            const char *words)
{
    char why[sizeof(node->standing.reason)];
    snprintf(why, sizeof(why), "its locks cannot be looked at: %s", words);
    hf_jobs_finish(&node->jobs, fault, why);
}

/* ---- The examination ---------------------------------------------------- */

void hf_sql_find_durability(struct hf_sql_node *node, const char *settings)
{
    if (!node->store->strict) {
        hf_findings_unguarded(&node->jobs);
    } else if (node->admission.identity.is_durable) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_OK,
            "commits are on disk before their replies: a restart loses "
            "nothing");
    } else {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "commits may be lost in a crash (%s): after each restart "
            "it does not count for %" PRId64 " s",
            settings, hf_admission_quarantine_s(&node->admission));
    }
}

void hf_sql_find_rest(struct hf_sql_node *node, struct hf_instant now)
{
    hf_findings_clock(&node->jobs, node->time_ms);
    hf_findings_probe(&node->jobs, node->probe_fault);
    if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
        char text[HF_TEXT_REASON];
        hf_sql_node_quarantine_text(node, text, sizeof(text));
        hf_findings_quarantine(&node->jobs, &node->admission, text, now);
    }
}

/* ---- All ---------------------------------------------------------------- */

enum hf_sql_jobs hf_sql_node_jobs(struct hf_sql_node *node)
{
    bool declares = hf_jobs_declare(&node->jobs);
    if (declares && !node->admission.is_declared) {
        return HF_SQL_JOBS_DECLARE;
    }
    if (declares) {
        hf_findings_declared(&node->jobs, &node->admission);
    }
    if (!hf_jobs_has(&node->jobs, HF_JOB_EXAMINE)) {
        hf_jobs_finish(&node->jobs, HF_OK, "");
        return HF_SQL_JOBS_NONE;
    }
    if (node->is_examined) {
        return HF_SQL_JOBS_NONE;
    }
    node->is_examined = true;
    node->probe_fault[0] = '\0';
    return HF_SQL_JOBS_EXAMINE;
}
