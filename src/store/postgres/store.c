/* SPDX-License-Identifier: Apache-2.0 */
/* The store for PostgreSQL: one node; its rules are functions in the database
 * (schema/). A module: libpq is loaded only by its URL. */
#include "base/fail.h"
#include "io/clock.h"
#include "store/advisory/advisory.h"
#include "store/postgres/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schemes[] = {"postgres", "postgresql", NULL};

extern const struct hf_store_ops hf_store_postgres;

static struct hf_pg *pg_of(struct hf_store *store)
{
    return (struct hf_pg *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------ */

static void free_store(struct hf_pg *store)
{
    hf_pg_target_fini(&store->target);
    hf_sql_store_fini(&store->base);
    free(store);
}

static enum hf_status set_up(struct hf_pg *store, const struct hf_url *url,
                             const struct hf_store_env *env,
                             struct hf_error *error)
{
    enum hf_status status = hf_pg_target_init(&store->target, url, error);
    if (status != HF_OK) {
        return status;
    }
    return hf_sql_store_init(&store->base, &hf_store_postgres, url, env, error);
}

static enum hf_status pg_open(const struct hf_url *url,
                              const struct hf_store_env *env,
                              struct hf_store **out, struct hf_error *error)
{
    bool is_advisory;
    struct hf_advisory_rule rule;
    *out = NULL;
    enum hf_status status = hf_advisory_read(url, &is_advisory, &rule, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_pg *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return hf_fail_memory(error);
    }
    status = set_up(store, url, env, error);
    if (status != HF_OK) {
        free_store(store);
        return status;
    }
    store->node.store = store;
    hf_pg_node_open(&store->node, hf_clock_now());
    *out = &store->base.base;
    return HF_OK;
}

static void pg_close(struct hf_store *base, bool is_forked)
{
    struct hf_pg *store = pg_of(base);
    hf_pg_node_close(&store->node, is_forked);
    free_store(store);
}

/* ---- Asking ------------------------------------------------------------- */

static void pg_ask(struct hf_store *base, const struct hf_ask *ask,
                   struct hf_instant now)
{
    hf_pg_ask(&pg_of(base)->node, ask, now);
}

static void pg_flush(struct hf_store *base, struct hf_instant now)
{
    struct hf_pg_node *node = &pg_of(base)->node;
    hf_pg_renew_flush(node, now);
    hf_pg_connection_flush(&node->connection);
}

static void pg_resume(struct hf_store *base, struct hf_instant now)
{
    hf_pg_node_resume(&pg_of(base)->node, now);
}

static void pg_describe(const struct hf_store *base, unsigned index,
                        struct hf_instant now, struct hf_node *out)
{
    const struct hf_pg *store = (const struct hf_pg *)(const void *)base;
    const struct hf_pg_node *node = &store->node;
    (void)index;
    if (hf_sql_node_describe(&node->base, store->target.shown, now, out)) {
        hf_pg_connection_late_text(&node->connection, now, out->reason,
                                   sizeof(out->reason));
    }
}

/* ---- Jobs --------------------------------------------------------------- */

static void pg_job(struct hf_store *base, unsigned index, enum hf_job job,
                   const struct hf_job_sink *sink)
{
    struct hf_pg_node *node = &pg_of(base)->node;
    if (hf_sql_node_job(&node->base, index, job, sink)) {
        hf_pg_handshake(node, hf_clock_now());
    }
}

static void pg_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&pg_of(base)->node.base.jobs);
}

static hf_store_variant_fn pg_variant;

const struct hf_store_ops hf_store_postgres = {
    .name = "postgres",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .retry_base = {HF_SQL_RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {HF_SQL_RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {HF_SQL_NODE_TIMEOUT_MS * INT64_C(1000000)},
    .joins = {HF_STORE_JOINS_MS * INT64_C(1000000)},
    .variant = pg_variant,
    .open = pg_open,
    .close = pg_close,
    .ask = pg_ask,
    .flush = pg_flush,
    .resume = pg_resume,
    .describe = pg_describe,
    .job = pg_job,
    .job_cancel = pg_job_cancel,
};

static const struct hf_store_ops *pg_variant(const struct hf_url *url)
{
    bool is_advisory = false;
    struct hf_advisory_rule rule;
    (void)hf_advisory_read(url, &is_advisory, &rule, NULL);
    return is_advisory ? &hf_store_advisory : &hf_store_postgres;
}

HF_STORE_MODULE(hf_store_postgres);
