/* SPDX-License-Identifier: Apache-2.0 */
/* What stores of session locks have in common at the client's side. Such a
 * store has no marker and no quarantine: the end of the session has freed
 * every lock, so none can be lost, and the jobs that declare a server
 * new or lost are refused with that reason.
 *
 * A job waits for the session if it is not READY, and makes a pending retry
 * happen at once: `holdfast doctor` reports the present state, not that of the
 * last attempt. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hf_session *session_of(struct hf_store *base)
{
    return (struct hf_session *)(void *)base;
}

/* ---- Opening ------------------------------------------------------------- */

enum hf_status
hf_session_init(struct hf_session *session, const struct hf_store_ops *store,
                const struct hf_session_ops *ops, const struct hf_url *url,
                const struct hf_store_env *env, struct hf_error *error)
{
    HF_ASSERT(ops->connect != NULL && ops->end != NULL &&
              ops->silent_since != NULL && ops->late_text != NULL &&
              ops->examine != NULL);
    session->base = (struct hf_store){store, 1};
    session->ops = ops;
    session->env = *env;
    session->prefix = strdup(url->prefix);
    session->node_timeout =
        hf_span_ms(url->has_node_timeout ? url->node_timeout_ms
                                         : HF_SESSION_NODE_TIMEOUT_MS);
    session->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    session->max_ttl_ms = url->max_ttl_ms;
    return session->prefix == NULL ? hf_fail_memory(error) : HF_OK;
}

void hf_session_fini(struct hf_session *session)
{
    hf_session_seats_free(session);
    free(session->prefix);
}

/* ---- Entry points for the client ----------------------------------------- */

void hf_session_describe(const struct hf_store *base, unsigned index,
                         struct hf_instant now, struct hf_node *out)
{
    const struct hf_session *session =
        (const struct hf_session *)(const void *)base;
    (void)index;
    hf_store_describe(out, session->address, session->standing.status,
                      session->rtt, session->standing.reason);
    if (hf_session_is_opening(session)) {
        session->ops->late_text(session, now, out->reason, sizeof(out->reason));
    }
}

/* ---- Jobs of `holdfast doctor` ------------------------------------------- */

void hf_session_jobs(struct hf_session *session)
{
    const char *name = session->base.ops->name;
    if (hf_jobs_declare(&session->jobs)) {
        char why[HF_TEXT_SENTENCE];
        snprintf(why, sizeof(why),
                 "keeps nothing of %s locks that could be declared new, or "
                 "lost: leave lock=%s out",
                 name, name);
        hf_jobs_finish(&session->jobs, HF_UNSUPPORTED, why);
        return;
    }
    if (hf_jobs_has(&session->jobs, HF_JOB_EXAMINE)) {
        session->ops->examine(session);
    }
    hf_jobs_finish(&session->jobs, HF_OK, NULL);
}

/* They end from the loop, not inside job(). */
void hf_session_job(struct hf_store *base, unsigned index, enum hf_job job,
                    const struct hf_job_sink *sink)
{
    struct hf_session *session = session_of(base);
    hf_jobs_add(&session->jobs, index, job, sink);
    if (hf_session_is_ready(session)) {
        hf_timer_set(&session->link->timer, HF_LONG_AGO);
    } else if (session->phase == HF_SESSION_WAITING) {
        session->link->reconnect.retry_at = HF_LONG_AGO;
        hf_session_arm(session);
    }
}

void hf_session_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&session_of(base)->jobs);
}
