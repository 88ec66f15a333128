/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor`: their requests and replies (store/sql/jobs.c). */
#include "store/postgres/node.h"

#include <inttypes.h>
#include <stdio.h>

/* Old row versions for each row, and besides, before they are reported: at
 * least ten times the rows that autovacuum leaves of 10,000 leases that are
 * renewed (bench/run bloat_postgres), and more than a few names can collect
 * between two of its rounds. */
#define OLD_PER_ROW 10
#define OLD_ROWS 20000

/* ---- Surveys ------------------------------------------------------------ */

void hf_pg_survey(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_sql_call call;
    struct hf_pg_params params;
    bool is_look = node->base.admission.surveying == HF_JOB_LOOK;
    hf_sql_call_survey(&call, &node->base);
    hf_pg_params_call(&params, &call);
    node->connection.link.deadline =
        hf_instant_add(now, hf_span_ms(HF_SQL_SURVEY_MS_MAX));
    hf_pg_node_ask(node, HF_PG_SURVEY,
                   is_look ? "SELECT held, waited, name FROM holdfast.look($1)"
                           : HF_PG_CALL("a.*", "holdfast.ahead($1, $2, $3)"),
                   &params, now);
    hf_pg_node_arm(node);
}

static void take_look(struct hf_pg_node *node, const struct pg_result *rows)
{
    struct hf_look look = {.n_names = 0};
    struct hf_sql_row row;
    int i = 0;
    do {
        hf_pg_row(rows, i++, &row);
    } while (hf_sql_look_add(&look, &row) && i < hf_pg_rows(rows));
    hf_sql_node_looked(&node->base, &look);
}

/* The handshake goes on from its beginning: during a survey, which may take
 * long, the marker may have changed. */
static void take_survey(struct hf_pg_node *node,
                        const struct hf_pg_reply *reply, struct hf_instant now)
{
    if (reply->error != NULL) {
        char words[HF_TEXT_SENTENCE];
        enum hf_status fault = hf_pg_fault(reply->error, words, sizeof(words));
        hf_sql_node_unsurveyed(&node->base, fault, words);
    } else if (hf_pg_rows(reply->rows) < 1) {
        hf_jobs_finish(&node->base.jobs, HF_UNAVAILABLE,
                       "an answer that makes no sense");
    } else if (node->base.admission.surveying == HF_JOB_LOOK) {
        take_look(node, reply->rows);
    } else {
        hf_sql_node_counted(&node->base, hf_pg_integer(reply->rows, 0, 0));
    }
    hf_pg_handshake(node, now);
}

/* ---- The examination ---------------------------------------------------- */

static void find_all(struct hf_pg_node *node, struct hf_instant now)
{
    hf_jobs_report(
        &node->base.jobs, HF_FINDING_OK,
        "PostgreSQL %s, database %s, role %s, schema version %" PRId64
        ", round trip %" PRId64 " us",
        node->version, node->database, node->role, node->base.schema,
        hf_span_us_floor(node->base.rtt));
    if (node->is_pooled) {
        hf_jobs_report(
            &node->base.jobs, HF_FINDING_OK,
            "reached through a pooler: no grant is pushed, so the first "
            "waiter polls (40 ms), the others every 2 s, and each request is "
            "planned anew; name the server itself where waits must be short");
    }
    hf_sql_find_durability(
        &node->base, "fsync, full_page_writes or synchronous_commit is off");
    if (!node->is_synchronous) {
        hf_jobs_report(
            &node->base.jobs, HF_FINDING_OK,
            "no synchronous standby: a failover can lose locks, so a promoted "
            "standby does not count for %" PRId64 " s",
            hf_admission_quarantine_s(&node->base.admission));
    }
    hf_sql_find_rest(&node->base, now);
}

/* Row versions that VACUUM has not removed, rows, and for how many seconds the
 * oldest transaction of the database that this role may see has been open. A
 * verb passes over all old versions of its name. */
static const char bloat_query[] =
    "SELECT coalesce(sum(t.n_dead_tup), 0)::bigint,"
    " coalesce(sum(t.n_live_tup), 0)::bigint,"
    " (SELECT coalesce(max(extract(epoch FROM"
    " clock_timestamp() - a.xact_start)), 0)::bigint"
    " FROM pg_catalog.pg_stat_activity a WHERE a.backend_xmin IS NOT NULL"
    " AND a.datname = current_database() AND a.pid <> pg_backend_pid())"
    " FROM pg_catalog.pg_stat_user_tables t WHERE t.schemaname = 'holdfast'"
    " AND t.relname IN ('lock', 'sharer', 'waiter')";

static void find_bloat(struct hf_pg_node *node, const struct pg_result *rows)
{
    int64_t old = hf_pg_integer(rows, 0, 0);
    int64_t n = hf_pg_integer(rows, 0, 1);
    int64_t open_s = hf_pg_integer(rows, 0, 2);
    if (old < OLD_ROWS + n * OLD_PER_ROW) {
        return;
    }
    char why[HF_TEXT_CLAUSE] =
        "a transaction of this database that is open or prepared, "
        "or autovacuum is off";
    if (open_s > 0) {
        snprintf(why, sizeof(why),
                 "a transaction of this database has been open for %" PRId64
                 " s",
                 open_s);
    }
    hf_jobs_report(
        &node->base.jobs, HF_FINDING_WARNING,
        "%" PRId64 " old versions of %" PRId64
        " rows cannot be removed and slow down each request: %s; end it "
        "(pg_stat_activity), or give Holdfast a database of its own",
        old, n, why);
}

/* Acquire and release a lock of a random name. In quarantine the server would
 * refuse the one and ignore the other. */
static void probe(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_probe probe;
    struct hf_pg_pending pending = {.sent = now, .kind = HF_PG_PROBE_ACQUIRE};
    hf_probe_init(&probe);
    bool ok = hf_pg_ask_verb(node, &probe.ask, &pending);
    hf_probe_set_release(&probe);
    pending.kind = HF_PG_PROBE_RELEASE;
    if (!ok || !hf_pg_ask_verb(node, &probe.ask, &pending)) {
        hf_pg_connection_break(&node->connection, HF_NO_MEMORY,
                               "out of memory");
    }
    hf_pg_node_ask(node, HF_PG_PROBE_BLOAT, bloat_query, NULL, now);
}

static void take_probe(struct hf_pg_node *node,
                       const struct hf_pg_pending *pending,
                       const struct hf_pg_reply *reply, struct hf_instant now)
{
    bool is_first = pending->kind == HF_PG_PROBE_ACQUIRE;
    if (!node->base.is_examined) {
        return;
    }
    if (pending->kind == HF_PG_PROBE_BLOAT) {
        node->base.is_examined = false;
        find_all(node, now);
        if (reply->error == NULL && hf_pg_rows(reply->rows) == 1) {
            find_bloat(node, reply->rows);
        }
        hf_jobs_finish(&node->base.jobs, HF_OK, "");
        return;
    }
    if (reply->error != NULL && node->base.probe_fault[0] == '\0') {
        hf_pg_fault(reply->error, node->base.probe_fault,
                    sizeof(node->base.probe_fault));
    } else if (reply->error == NULL && hf_pg_integer(reply->rows, 0, 0) != 1 &&
               node->base.probe_fault[0] == '\0') {
        snprintf(node->base.probe_fault, sizeof(node->base.probe_fault), "%s",
                 is_first ? "it was not granted" : "it was not released");
    }
    if (is_first) {
        struct hf_span took = hf_instant_until(pending->sent, now);
        node->base.rtt = node->base.rtt.ns == 0 ? took : node->base.rtt;
    }
}

void hf_pg_job_reply(struct hf_pg_node *node,
                     const struct hf_pg_pending *pending,
                     const struct hf_pg_reply *reply, struct hf_instant now)
{
    if (pending->kind == HF_PG_SURVEY) {
        take_survey(node, reply, now);
    } else {
        take_probe(node, pending, reply, now);
    }
}

/* ---- All ---------------------------------------------------------------- */

void hf_pg_jobs(struct hf_pg_node *node, struct hf_instant now)
{
    switch (hf_sql_node_jobs(&node->base)) {
    case HF_SQL_JOBS_NONE:
        break;
    case HF_SQL_JOBS_DECLARE:
        hf_pg_handshake(node, now);
        break;
    case HF_SQL_JOBS_EXAMINE:
        probe(node, now);
        break;
    }
}
