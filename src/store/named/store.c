/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client, and the jobs of `holdfast doctor`. */
#include "base/fail.h"
#include "store/named/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A poll costs the server two looks at its lock table. */
#define RETRY_BASE_US 100
#define RETRY_CAP_MS 250

/* Milliseconds, as with the rows of store/mysql: one server, one default. */
#define NODE_TIMEOUT_MS_DEFAULT 500

static const char *const schemes[] = {"mysql", "mariadb", "mysqls", "mariadbs",
                                      NULL};

static struct hf_named *named_of(struct hf_store *store)
{
    return (struct hf_named *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------- */

static void free_store(struct hf_named *store)
{
    hf_mysql_target_fini(&store->target);
    free(store->prefix);
    free(store);
}

static enum hf_status set_up(struct hf_named *store, const struct hf_url *url,
                             const struct hf_store_env *env,
                             const struct hf_named_rule *rule,
                             struct hf_error *error)
{
    enum hf_status status = hf_mysql_target_init(&store->target, url, error);
    if (status != HF_OK) {
        return status;
    }
    store->base = (struct hf_store){&hf_store_named, 1};
    store->env = *env;
    store->rule = *rule;
    store->prefix = strdup(url->prefix);
    store->node_timeout = hf_span_ms(
        url->has_node_timeout ? url->node_timeout_ms : NODE_TIMEOUT_MS_DEFAULT);
    store->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    store->max_ttl_ms = url->max_ttl_ms;
    return store->prefix == NULL ? hf_fail_memory(error) : HF_OK;
}

static enum hf_status named_open(const struct hf_url *url,
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
    struct hf_named *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return hf_fail_memory(error);
    }
    status = set_up(store, url, env, &rule, error);
    if (status != HF_OK) {
        free_store(store);
        return status;
    }
    hf_named_session_open(store, hf_clock_now());
    *out = &store->base;
    return HF_OK;
}

static void named_close(struct hf_store *base, bool forked)
{
    struct hf_named *store = named_of(base);
    hf_named_session_close(store, forked);
    free_store(store);
}

/* ---- Asking -------------------------------------------------------------- */

static void named_ask(struct hf_store *base, const struct hf_ask *ask,
                      struct hf_instant now)
{
    hf_named_ask(named_of(base), ask, now);
}

static void named_flush(struct hf_store *base, struct hf_instant now)
{
    hf_named_flush(named_of(base), now);
}

static void named_resume(struct hf_store *base, struct hf_instant now)
{
    hf_named_session_resume(named_of(base), now);
}

static void named_describe(const struct hf_store *base, unsigned index,
                           struct hf_instant now, struct hf_node *out)
{
    const struct hf_named *store = (const struct hf_named *)(const void *)base;
    (void)index;
    hf_store_describe(out, store->target.shown, store->session.standing.status,
                      store->rtt, store->session.standing.reason);
    if (store->session.phase == HF_SESSION_CONNECTING ||
        store->session.phase == HF_SESSION_GREETING ||
        store->session.phase == HF_SESSION_SETTING) {
        hf_mysql_connection_late_text(&store->connection, now, out->reason,
                                      sizeof(out->reason));
    }
}

/* ---- Jobs ---------------------------------------------------------------- */

static void examine(struct hf_named *store)
{
    char text[320];
    snprintf(text, sizeof(text),
             "%s %s%s, account %s: named locks of a session",
             store->is_mariadb ? "MariaDB" : "MySQL", store->version,
             hf_mysql_target_tls(&store->target), store->role);
    hf_jobs_find(&store->jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_find(
        &store->jobs, HF_FINDING_OK,
        "no fences, queue, sharers, permits or marks; a restart of the "
        "server, or the end of a session, frees its locks at once, also while "
        "their holder is cut off: without lock=named they would wait for the "
        "lease");
}

void hf_named_jobs(struct hf_named *store)
{
    if (hf_jobs_declare(&store->jobs)) {
        hf_jobs_end(&store->jobs, HF_UNSUPPORTED,
                    "keeps nothing of named locks that could be "
                    "declared new, or lost: leave lock=named out");
        return;
    }
    if (hf_jobs_has(&store->jobs, HF_JOB_EXAMINE)) {
        examine(store);
    }
    hf_jobs_end(&store->jobs, HF_OK, NULL);
}

/* They end from the loop, not inside job(). */
static void named_job(struct hf_store *base, unsigned index, enum hf_job job,
                      const struct hf_job_sink *sink)
{
    struct hf_named *store = named_of(base);
    hf_jobs_add(&store->jobs, index, job, sink);
    if (hf_named_is_ready(store)) {
        hf_timer_set(&store->connection.link.timer, HF_LONG_AGO);
    } else if (store->session.phase == HF_SESSION_WAITING) {
        store->connection.link.reconnect.retry_at = HF_LONG_AGO;
        hf_named_session_arm(store);
    }
}

static void named_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&named_of(base)->jobs);
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_store_ops hf_store_named = {
    .name = "named",
    .schemes = schemes,
    .capabilities = 0,
    .retry_base = {RETRY_BASE_US * INT64_C(1000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {NODE_TIMEOUT_MS_DEFAULT * INT64_C(1000000)},
    .is_serial = true,
    .open = named_open,
    .close = named_close,
    .ask = named_ask,
    .flush = named_flush,
    .resume = named_resume,
    .describe = named_describe,
    .job = named_job,
    .job_cancel = named_job_cancel,
};
