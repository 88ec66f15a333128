/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client, and the jobs of `holdfast doctor`. */
#include "base/fail.h"
#include "store/advisory/advisory.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const schemes[] = {"postgres", "postgresql", NULL};

static struct hf_advisory *advisory_of(struct hf_store *store)
{
    return (struct hf_advisory *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------- */

static void free_store(struct hf_advisory *store)
{
    hf_pg_target_fini(&store->target);
    hf_session_fini(&store->session);
    free(store->listed.items);
    free(store);
}

static enum hf_status
set_up(struct hf_advisory *store, const struct hf_url *url,
       const struct hf_store_env *env, const struct hf_advisory_rule *rule,
       struct hf_error *error)
{
    enum hf_status status = hf_pg_target_init(&store->target, url, error);
    if (status != HF_OK) {
        return status;
    }
    store->rule = *rule;
    return hf_session_init(&store->session, &hf_store_advisory,
                           &hf_advisory_session, url, env, error);
}

static enum hf_status
advisory_open(const struct hf_url *url, const struct hf_store_env *env,
              struct hf_store **out, struct hf_error *error)
{
    bool is_advisory;
    struct hf_advisory_rule rule;
    *out = NULL;
    enum hf_status status = hf_advisory_read(url, &is_advisory, &rule, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_advisory *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return hf_fail_memory(error);
    }
    status = set_up(store, url, env, &rule, error);
    if (status != HF_OK) {
        free_store(store);
        return status;
    }
    hf_advisory_session_open(store, hf_clock_now());
    *out = &store->session.base;
    return HF_OK;
}

static void advisory_close(struct hf_store *base, bool is_forked)
{
    struct hf_advisory *store = advisory_of(base);
    hf_advisory_session_close(store, is_forked);
    free_store(store);
}

/* ---- Asking -------------------------------------------------------------- */

static void advisory_ask(struct hf_store *base, const struct hf_ask *ask,
                         struct hf_instant now)
{
    hf_advisory_ask(advisory_of(base), ask, now);
}

static void advisory_flush(struct hf_store *base, struct hf_instant now)
{
    (void)now;
    hf_pg_connection_flush(&advisory_of(base)->connection);
}

/* ---- Jobs ---------------------------------------------------------------- */

void hf_advisory_examine(struct hf_session *session)
{
    struct hf_advisory *store = advisory_of(&session->base);
    char text[HF_TEXT_ADVICE];
    snprintf(text, sizeof(text),
             "PostgreSQL %s, database %s, role %s: advisory locks of a session",
             store->version, store->database, store->role);
    hf_jobs_report(&session->jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_report(
        &session->jobs, HF_FINDING_OK,
        "no fences, queue, permits or marks; a restart of the server, or the "
        "end of a session, frees its locks at once, also while their holder "
        "is cut off: without lock=advisory they would wait for the lease");
    if (!store->has_watch) {
        hf_jobs_report(
            &session->jobs, HF_FINDING_WARNING,
            "before PostgreSQL 14 a busy session does not notice that its "
            "client is dead: its locks stay until its statement has ended");
    }
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_store_ops hf_store_advisory = {
    .name = "advisory",
    .schemes = schemes,
    .capabilities = HF_CAP_SHARED,
    .retry_base = {HF_SESSION_RETRY_BASE_US * INT64_C(1000)},
    .retry_cap = {HF_SESSION_RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {HF_SESSION_NODE_TIMEOUT_MS * INT64_C(1000000)},
    .open = advisory_open,
    .close = advisory_close,
    .ask = advisory_ask,
    .flush = advisory_flush,
    .resume = hf_session_resume,
    .describe = hf_session_describe,
    .job = hf_session_job,
    .job_cancel = hf_session_job_cancel,
};
