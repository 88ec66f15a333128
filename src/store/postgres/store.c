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

/* A poll costs the server one function call, and the waiter a round trip. */
#define RETRY_BASE_MS 10
#define RETRY_CAP_MS 500

/* A commit may wait for a disk, or for a standby, much longer than a reply of
 * a server in memory. */
#define NODE_TIMEOUT_MS_DEFAULT 500

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
    free(store->prefix);
    free(store->names.items);
    free(store->seats.items);
    free(store);
}

static enum hf_status set_up(struct hf_pg *store, const struct hf_url *url,
                             const struct hf_store_env *env,
                             struct hf_error *error)
{
    char clock[HF_CLOCK_NAME_MAX];
    uint64_t channel;
    enum hf_status status = hf_pg_target_init(&store->target, url, error);
    if (status != HF_OK) {
        return status;
    }
    store->base = (struct hf_store){&hf_store_postgres, 1};
    store->env = *env;
    store->prefix = strdup(url->prefix);
    store->prefix_len = strlen(url->prefix);
    store->fence_keep_ms = url->fence_keep_ms;
    store->shape = (struct hf_shape){url->max_ttl_ms, 1, url->fence_keep_ms,
                                     (int64_t)url->fence_base};
    if (hf_clock_name(clock)) {
        snprintf(store->host, sizeof(store->host), "at:%s", clock);
    }
    store->node_timeout = hf_span_ms(
        url->has_node_timeout ? url->node_timeout_ms : NODE_TIMEOUT_MS_DEFAULT);
    store->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    store->strict = url->quarantine;
    hf_entropy(&channel, sizeof(channel));
    snprintf(store->channel, sizeof(store->channel), "hf:push:%016llx",
             (unsigned long long)channel);
    return store->prefix == NULL ? hf_fail_memory(error) : HF_OK;
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
    *out = &store->base;
    return HF_OK;
}

static void pg_close(struct hf_store *base, bool forked)
{
    struct hf_pg *store = pg_of(base);
    hf_pg_node_close(&store->node, forked);
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
    hf_store_describe(out, store->target.shown, node->standing.status,
                      node->rtt, node->standing.reason);
    if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
        struct hf_span left =
            hf_instant_until(now, node->admission.quarantined_until);
        out->quarantine_left_ms = hf_span_ms_ceil(left);
        hf_pg_quarantine_text(node, out->reason, sizeof(out->reason));
    } else if (node->standing.status == HF_NODE_STATUS_CONNECTING &&
               (node->phase == HF_PG_CONNECTING ||
                node->phase == HF_PG_GREETING)) {
        hf_pg_connection_late_text(&node->connection, now, out->reason,
                                   sizeof(out->reason));
    }
}

/* ---- Jobs --------------------------------------------------------------- */

/* Each job begins with a new handshake, or a new attempt to connect. */
static void pg_job(struct hf_store *base, unsigned index, enum hf_job job,
                   const struct hf_job_sink *sink)
{
    struct hf_pg_node *node = &pg_of(base)->node;
    hf_jobs_add(&node->jobs, index, job, sink);
    if (hf_pg_is_ready(node)) {
        hf_pg_reidentify(node, "being set up or examined", hf_clock_now());
    } else if (node->phase == HF_PG_WAITING) {
        node->connection.link.reconnect.retry_at = HF_LONG_AGO;
        hf_pg_node_arm(node);
    }
}

static void pg_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&pg_of(base)->node.jobs);
}

static hf_store_kind_fn pg_kind;

const struct hf_store_ops hf_store_postgres = {
    .name = "postgres",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .retry_base = {RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {NODE_TIMEOUT_MS_DEFAULT * INT64_C(1000000)},
    .kind = pg_kind,
    .open = pg_open,
    .close = pg_close,
    .ask = pg_ask,
    .flush = pg_flush,
    .resume = pg_resume,
    .describe = pg_describe,
    .job = pg_job,
    .job_cancel = pg_job_cancel,
};

static const struct hf_store_ops *pg_kind(const struct hf_url *url)
{
    bool is_advisory = false;
    struct hf_advisory_rule rule;
    (void)hf_advisory_read(url, &is_advisory, &rule, NULL);
    return is_advisory ? &hf_store_advisory : &hf_store_postgres;
}

HF_STORE_MODULE(hf_store_postgres);
