/* SPDX-License-Identifier: Apache-2.0 */
/* The store for MySQL and MariaDB: one node; its rules are procedures in the
 * database (schema/). A module: libmariadb is loaded only by its URL. */
#include "base/fail.h"
#include "io/clock.h"
#include "store/mysql/node.h"
#include "store/named/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schemes[] = {"mysql", "mariadb", "mysqls", "mariadbs",
                                      NULL};

extern const struct hf_store_ops hf_store_mysql;

static struct hf_mysql *my_of(struct hf_store *store)
{
    return (struct hf_mysql *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------ */

static void free_store(struct hf_mysql *store)
{
    hf_mysql_target_fini(&store->target);
    hf_sql_store_fini(&store->base);
    free(store);
}

static enum hf_status set_up(struct hf_mysql *store, const struct hf_url *url,
                             const struct hf_store_env *env,
                             struct hf_error *error)
{
    enum hf_status status = hf_mysql_target_init(&store->target, url, error);
    if (status != HF_OK) {
        return status;
    }
    return hf_sql_store_init(&store->base, &hf_store_mysql, url, env, error);
}

static enum hf_status my_open(const struct hf_url *url,
                              const struct hf_store_env *env,
                              struct hf_store **out, struct hf_error *error)
{
    bool is_named;
    struct hf_named_rule rule;
    *out = NULL;
    enum hf_status status = hf_named_key_read(url, &is_named, &rule, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_mysql *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return hf_fail_memory(error);
    }
    status = set_up(store, url, env, error);
    if (status != HF_OK) {
        free_store(store);
        return status;
    }
    store->node.store = store;
    hf_mysql_node_open(&store->node, hf_clock_now());
    *out = &store->base.base;
    return HF_OK;
}

static void my_close(struct hf_store *base, bool is_forked)
{
    struct hf_mysql *store = my_of(base);
    hf_mysql_node_close(&store->node, is_forked);
    free_store(store);
}

/* ---- Asking ------------------------------------------------------------- */

static void my_ask(struct hf_store *base, const struct hf_ask *ask,
                   struct hf_instant now)
{
    hf_mysql_ask(&my_of(base)->node, ask, now);
}

static void my_flush(struct hf_store *base, struct hf_instant now)
{
    hf_mysql_flush(&my_of(base)->node, now);
}

static void my_resume(struct hf_store *base, struct hf_instant now)
{
    hf_mysql_node_resume(&my_of(base)->node, now);
}

static void my_describe(const struct hf_store *base, unsigned index,
                        struct hf_instant now, struct hf_node *out)
{
    const struct hf_mysql *store = (const struct hf_mysql *)(const void *)base;
    const struct hf_mysql_node *node = &store->node;
    (void)index;
    if (hf_sql_node_describe(&node->base, store->target.shown, now, out)) {
        hf_mysql_connection_late_text(&node->connection, now, out->reason,
                                      sizeof(out->reason));
    }
}

/* ---- Jobs --------------------------------------------------------------- */

static void my_job(struct hf_store *base, unsigned index, enum hf_job job,
                   const struct hf_job_sink *sink)
{
    struct hf_mysql_node *node = &my_of(base)->node;
    if (hf_sql_node_job(&node->base, index, job, sink)) {
        hf_mysql_handshake(node, hf_clock_now());
    }
}

static void my_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&my_of(base)->node.base.jobs);
}

static hf_store_variant_fn my_variant;

const struct hf_store_ops hf_store_mysql = {
    .name = "mysql",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .retry_base = {HF_SQL_RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {HF_SQL_RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {HF_SQL_NODE_TIMEOUT_MS * INT64_C(1000000)},
    .is_serial = true,
    .variant = my_variant,
    .open = my_open,
    .close = my_close,
    .ask = my_ask,
    .flush = my_flush,
    .resume = my_resume,
    .describe = my_describe,
    .job = my_job,
    .job_cancel = my_job_cancel,
};

static const struct hf_store_ops *my_variant(const struct hf_url *url)
{
    bool is_named = false;
    struct hf_named_rule rule;
    (void)hf_named_key_read(url, &is_named, &rule, NULL);
    return is_named ? &hf_store_named : &hf_store_mysql;
}

HF_STORE_MODULE(hf_store_mysql);
