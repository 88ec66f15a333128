/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client, and the jobs of `holdfast doctor`. */
#include "base/fail.h"
#include "store/named/named.h"

#include <stdio.h>
#include <stdlib.h>

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
    hf_session_fini(&store->session);
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
    store->rule = *rule;
    return hf_session_init(&store->session, &hf_store_named, &hf_named_session,
                           url, env, error);
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
    *out = &store->session.base;
    return HF_OK;
}

static void named_close(struct hf_store *base, bool is_forked)
{
    struct hf_named *store = named_of(base);
    hf_named_session_close(store, is_forked);
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

/* ---- Jobs ---------------------------------------------------------------- */

void hf_named_examine(struct hf_session *session)
{
    struct hf_named *store = named_of(&session->base);
    char text[HF_TEXT_ADVICE];
    snprintf(text, sizeof(text),
             "%s %s%s, account %s: named locks of a session",
             store->is_mariadb ? "MariaDB" : "MySQL", store->version,
             hf_mysql_target_tls(&store->target), store->role);
    hf_jobs_report(&session->jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_report(
        &session->jobs, HF_FINDING_OK,
        "no fences, queue, sharers, permits or marks; a restart of the "
        "server, or the end of a session, frees its locks at once, also while "
        "their holder is cut off: without lock=named they would wait for the "
        "lease");
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_store_ops hf_store_named = {
    .name = "named",
    .schemes = schemes,
    .capabilities = 0,
    .retry_base = {HF_SESSION_RETRY_BASE_US * INT64_C(1000)},
    .retry_cap = {HF_SESSION_RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {HF_SESSION_NODE_TIMEOUT_MS * INT64_C(1000000)},
    .is_serial = true,
    .open = named_open,
    .close = named_close,
    .ask = named_ask,
    .flush = named_flush,
    .resume = hf_session_resume,
    .describe = hf_session_describe,
    .job = hf_session_job,
    .job_cancel = hf_session_job_cancel,
};
