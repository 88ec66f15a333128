/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor`. LOOK, COUNT and LOWER are one call of a function
 * each, after the handshake and before the marker changes. admission.c does
 * INIT and QUARANTINE at the end of a handshake. EXAMINE reports the results of
 * the handshake, and acquires and releases a lock of its own. */
#include "store/findings.h"
#include "store/mysql/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Limit of a survey in milliseconds. */
#define SURVEY_MS_MAX 60000

/* ---- Surveys ------------------------------------------------------------ */

void hf_my_survey(struct hf_my_node *node, struct hf_instant now)
{
    struct hf_sql_call call;
    bool is_look = node->base.admission.surveying == HF_JOB_LOOK;
    hf_sql_call_survey(&call, &node->base);
    hf_my_text_call(&node->call, is_look ? "look" : "ahead", &call);
    node->connection.link.deadline =
        hf_instant_add(now, hf_span_ms(SURVEY_MS_MAX));
    hf_my_push_call(node, HF_MY_SURVEY);
    hf_my_node_arm(node);
}

static void end_survey(struct hf_my_node *node, enum hf_status status,
                       const char *why, struct hf_instant now)
{
    hf_jobs_end(&node->base.jobs, status, why);
    hf_my_handshake(node, now);
}

static void take_look(struct hf_my_node *node,
                      const struct hf_mysql_reply *reply,
                      struct hf_sql_row *row, struct hf_instant now)
{
    char why[480];
    struct hf_look look = {.held = row->cells[0].number,
                           .waited = row->cells[1].number};
    if (look.held > 0) {
        do {
            look.names[look.n_names++] = row->cells[2].bytes;
        } while (look.n_names < HF_LOOK_NAMES_MAX && hf_my_next(reply, row));
    }
    enum hf_status status =
        hf_findings_look(&node->base.jobs, &node->base.admission, &look,
                         node->store->base.prefix, why, sizeof(why));
    end_survey(node, status, why, now);
}

static void take_counters(struct hf_my_node *node, const struct hf_sql_row *row,
                          struct hf_instant now)
{
    const char *why;
    enum hf_status status =
        hf_findings_counters(&node->base.jobs, node->base.admission.surveying,
                             row->cells[0].number, &why);
    end_survey(node, status, why, now);
}

static void take_survey(struct hf_my_node *node,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now)
{
    struct hf_sql_row row;
    if (!hf_my_first(reply, &row)) {
        char words[160];
        char why[sizeof(node->base.standing.reason)];
        enum hf_status fault = hf_my_fault(reply, words, sizeof(words));
        snprintf(why, sizeof(why), "its locks cannot be looked at: %s", words);
        end_survey(node, fault, why, now);
    } else if (node->base.admission.surveying == HF_JOB_LOOK) {
        take_look(node, reply, &row, now);
    } else {
        take_counters(node, &row, now);
    }
}

/* ---- The examination ---------------------------------------------------- */

static void find_server(struct hf_my_node *node)
{
    hf_jobs_find(&node->base.jobs, HF_FINDING_OK,
                 "%s %s%s, account %s, schema version %" PRId64
                 ", round trip %" PRId64 " us",
                 node->is_mariadb ? "MariaDB" : "MySQL", node->version,
                 hf_mysql_target_tls(&node->store->target), node->role,
                 node->base.schema, hf_span_us_floor(node->base.rtt));
    if (!node->is_mariadb) {
        hf_jobs_find(
            &node->base.jobs, HF_FINDING_WARNING,
            "MySQL: the procedures are written for it, too, and tested on "
            "MariaDB 10.11 alone");
    }
}

static void find_durability(struct hf_my_node *node)
{
    int64_t wait_s = hf_admission_quarantine_s(&node->base.admission);
    if (!node->store->base.strict) {
        hf_findings_unguarded(&node->base.jobs);
    } else if (node->base.admission.identity.is_durable) {
        hf_jobs_find(
            &node->base.jobs, HF_FINDING_OK,
            "commits are on disk before their replies: a restart loses "
            "nothing");
    } else {
        hf_jobs_find(
            &node->base.jobs, HF_FINDING_WARNING,
            "commits may be lost in a crash (innodb_flush_log_at_trx_commit "
            "or sync_binlog is not 1, or no doublewrite): after each restart "
            "it does not count for %" PRId64 " s",
            wait_s);
    }
    hf_jobs_find(
        &node->base.jobs, HF_FINDING_OK,
        "a failover to a replica can lose locks, so a promoted one does not "
        "count for %" PRId64 " s",
        wait_s);
}

static void find_all(struct hf_my_node *node, struct hf_instant now)
{
    find_server(node);
    find_durability(node);
    hf_findings_clock(&node->base.jobs, node->base.time_ms);
    hf_findings_probe(&node->base.jobs, node->base.probe_fault);
    if (node->base.standing.status == HF_NODE_STATUS_REPAIRING) {
        char text[200];
        hf_sql_node_quarantine_text(&node->base, text, sizeof(text));
        hf_findings_quarantine(&node->base.jobs, &node->base.admission, text,
                               now);
    }
}

/* Acquire and release a lock of a random name. In quarantine the server would
 * refuse the one and ignore the other. */
static void probe(struct hf_my_node *node)
{
    struct hf_probe probe;
    hf_probe_init(&probe);
    bool ok = hf_my_ask_verb(node, &probe.ask, HF_MY_PROBE_ACQUIRE) == NULL;
    hf_probe_release(&probe);
    if (!ok || hf_my_ask_verb(node, &probe.ask, HF_MY_PROBE_RELEASE) != NULL) {
        hf_mysql_connection_break(&node->connection, HF_NO_MEMORY,
                                  "out of memory");
    }
}

/* The first of them measures the round trip, if no verb has. */
static void
take_probe(struct hf_my_node *node, const struct hf_my_request *request,
           const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_sql_row row;
    bool is_first = request->kind == HF_MY_PROBE_ACQUIRE;
    if (!node->base.is_examined) {
        return;
    }
    if (node->base.probe_fault[0] != '\0') {
        /* the first fault is reported */
    } else if (reply->error != 0) {
        hf_my_fault(reply, node->base.probe_fault,
                    sizeof(node->base.probe_fault));
    } else if (!hf_my_first(reply, &row) || row.cells[0].number != 1) {
        snprintf(node->base.probe_fault, sizeof(node->base.probe_fault), "%s",
                 is_first ? "it was not granted" : "it was not released");
    }
    if (!is_first) {
        node->base.is_examined = false;
        find_all(node, now);
        hf_jobs_end(&node->base.jobs, HF_OK, "");
    } else if (node->base.rtt.ns == 0) {
        node->base.rtt = hf_instant_until(request->sent, now);
    }
}

void hf_my_job_reply(struct hf_my_node *node,
                     const struct hf_my_request *request,
                     const struct hf_mysql_reply *reply, struct hf_instant now)
{
    if (request->kind == HF_MY_SURVEY) {
        take_survey(node, reply, now);
    } else {
        take_probe(node, request, reply, now);
    }
}

/* ---- All ---------------------------------------------------------------- */

void hf_my_jobs(struct hf_my_node *node, struct hf_instant now)
{
    bool declares = hf_jobs_declare(&node->base.jobs);
    if (declares && !node->base.admission.is_declared) {
        /* Asked for since: do it now. */
        hf_my_handshake(node, now);
        return;
    }
    if (declares) {
        hf_findings_declared(&node->base.jobs, &node->base.admission);
    }
    if (!hf_jobs_has(&node->base.jobs, HF_JOB_EXAMINE)) {
        hf_jobs_end(&node->base.jobs, HF_OK, "");
    } else if (!node->base.is_examined) {
        node->base.is_examined = true;
        node->base.probe_fault[0] = '\0';
        probe(node);
    }
}
