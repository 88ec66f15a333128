/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor`: their requests and replies (store/sql/jobs.c). */
#include "store/mysql/node.h"

#include <inttypes.h>
#include <stdio.h>

/* The version of MySQL that the tests start: major and minor, as a number. */
#define MYSQL_TESTED 907

/* ---- Surveys ------------------------------------------------------------ */

void hf_mysql_survey(struct hf_mysql_node *node, struct hf_instant now)
{
    struct hf_sql_call call;
    bool is_look = node->base.admission.surveying == HF_JOB_LOOK;
    hf_sql_call_survey(&call, &node->base);
    hf_mysql_text_call(&node->call, is_look ? "look" : "ahead", &call);
    node->connection.link.deadline =
        hf_instant_add(now, hf_span_ms(HF_SQL_SURVEY_MS_MAX));
    hf_mysql_push_call(node, HF_MYSQL_SURVEY);
    hf_mysql_node_arm(node);
}

static void take_look(struct hf_mysql_node *node,
                      const struct hf_mysql_reply *reply,
                      struct hf_sql_row *row)
{
    struct hf_look look = {.n_names = 0};
    while (hf_sql_look_add(&look, row) && hf_mysql_next(reply, row)) {
    }
    hf_sql_node_looked(&node->base, &look);
}

static void take_survey(struct hf_mysql_node *node,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now)
{
    struct hf_sql_row row;
    if (!hf_mysql_first(reply, &row)) {
        char words[HF_TEXT_SENTENCE];
        enum hf_status fault = hf_mysql_fault(reply, words, sizeof(words));
        hf_sql_node_unsurveyed(&node->base, fault, words);
    } else if (node->base.admission.surveying == HF_JOB_LOOK) {
        take_look(node, reply, &row);
    } else {
        hf_sql_node_counted(&node->base, row.cells[0].number);
    }
    hf_mysql_handshake(node, now);
}

/* ---- The examination ---------------------------------------------------- */

static void find_server(struct hf_mysql_node *node)
{
    hf_jobs_report(&node->base.jobs, HF_FINDING_OK,
                   "%s %s%s, account %s, schema version %" PRId64
                   ", round trip %" PRId64 " us",
                   node->is_mariadb ? "MariaDB" : "MySQL", node->version,
                   hf_mysql_target_tls(&node->store->target), node->role,
                   node->base.schema, hf_span_us_floor(node->base.rtt));
    if (!node->is_mariadb && node->server_version / 100 != MYSQL_TESTED) {
        hf_jobs_report(&node->base.jobs, HF_FINDING_WARNING,
                       "MySQL: the procedures were tested on 9.7, and on no "
                       "other version of it");
    }
}

static void find_all(struct hf_mysql_node *node, struct hf_instant now)
{
    find_server(node);
    hf_sql_find_durability(
        &node->base, "innodb_flush_log_at_trx_commit or sync_binlog is not 1, "
                     "or no doublewrite");
    hf_jobs_report(
        &node->base.jobs, HF_FINDING_OK,
        "a failover to a replica can lose locks, so a promoted one does not "
        "count for %" PRId64 " s",
        hf_admission_quarantine_s(&node->base.admission));
    hf_sql_find_rest(&node->base, now);
}

/* Acquire and release a lock of a random name. In quarantine the server would
 * refuse the one and ignore the other. */
static void probe(struct hf_mysql_node *node)
{
    struct hf_probe probe;
    hf_probe_init(&probe);
    bool ok =
        hf_mysql_ask_verb(node, &probe.ask, HF_MYSQL_PROBE_ACQUIRE) == NULL;
    hf_probe_set_release(&probe);
    if (!ok ||
        hf_mysql_ask_verb(node, &probe.ask, HF_MYSQL_PROBE_RELEASE) != NULL) {
        hf_mysql_connection_break(&node->connection, HF_NO_MEMORY,
                                  "out of memory");
    }
}

/* The first of them measures the round trip, if no verb has. */
static void
take_probe(struct hf_mysql_node *node, const struct hf_mysql_request *request,
           const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_sql_row row;
    bool is_first = request->kind == HF_MYSQL_PROBE_ACQUIRE;
    if (!node->base.is_examined) {
        return;
    }
    if (node->base.probe_fault[0] != '\0') {
        /* the first fault is reported */
    } else if (reply->error != 0) {
        hf_mysql_fault(reply, node->base.probe_fault,
                       sizeof(node->base.probe_fault));
    } else if (!hf_mysql_first(reply, &row) || row.cells[0].number != 1) {
        snprintf(node->base.probe_fault, sizeof(node->base.probe_fault), "%s",
                 is_first ? "it was not granted" : "it was not released");
    }
    if (!is_first) {
        node->base.is_examined = false;
        find_all(node, now);
        hf_jobs_finish(&node->base.jobs, HF_OK, "");
    } else if (node->base.rtt.ns == 0) {
        node->base.rtt = hf_instant_until(request->sent, now);
    }
}

void hf_mysql_job_reply(struct hf_mysql_node *node,
                        const struct hf_mysql_request *request,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now)
{
    if (request->kind == HF_MYSQL_SURVEY) {
        take_survey(node, reply, now);
    } else {
        take_probe(node, request, reply, now);
    }
}

/* ---- All ---------------------------------------------------------------- */

void hf_mysql_jobs(struct hf_mysql_node *node, struct hf_instant now)
{
    switch (hf_sql_node_jobs(&node->base)) {
    case HF_SQL_JOBS_NONE:
        break;
    case HF_SQL_JOBS_DECLARE:
        hf_mysql_handshake(node, now);
        break;
    case HF_SQL_JOBS_EXAMINE:
        probe(node);
        break;
    }
}
