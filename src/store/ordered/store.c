/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores have in common as stores: operations of their tables, and the
 * jobs of `holdfast doctor`. */
#include "store/ordered/ordered.h"

#include <stdio.h>

static struct hf_ordered *ordered_of(struct hf_store *base)
{
    return (struct hf_ordered *)(void *)base;
}

/* ---- The table ----------------------------------------------------------- */

void hf_ordered_store_ask(struct hf_store *base, const struct hf_ask *ask,
                          struct hf_instant now)
{
    hf_ordered_ask(ordered_of(base), ask, now);
}

void hf_ordered_store_flush(struct hf_store *base, struct hf_instant now)
{
    hf_ordered_flush(ordered_of(base), now);
    hf_ordered_check(ordered_of(base));
}

void hf_ordered_store_job_cancel(struct hf_store *base)
{
    struct hf_ordered_jobs *jobs = &ordered_of(base)->jobs;
    jobs->has_sink = false;
    jobs->pending = 0;
}

void hf_ordered_describe(const struct hf_ordered *store, const char *address,
                         struct hf_node *out)
{
    static const enum hf_health states[] = {
        [HF_NODE_STATUS_CONNECTING] = HF_NODE_CONNECTING,
        [HF_NODE_STATUS_VOTING] = HF_NODE_UP,
        [HF_NODE_STATUS_DOWN] = HF_NODE_DOWN,
    };
    memset(out, 0, sizeof(*out));
    snprintf(out->address, sizeof(out->address), "%s", address);
    out->health = states[store->status];
    out->rtt_us = hf_span_us_floor(store->rtt);
    snprintf(out->reason, sizeof(out->reason), "%s", store->reason);
}

/* ---- Jobs ---------------------------------------------------------------- */

void hf_ordered_jobs_add(struct hf_ordered *store, enum hf_job job,
                         const struct hf_job_sink *sink)
{
    store->jobs.sink = *sink;
    store->jobs.has_sink = true;
    store->jobs.pending |= 1U << job;
}

void hf_ordered_jobs_end(struct hf_ordered *store, enum hf_status status,
                         const char *reason)
{
    struct hf_ordered_jobs *jobs = &store->jobs;
    if (jobs->pending == 0) {
        return;
    }
    jobs->pending = 0;
    if (jobs->has_sink) {
        jobs->sink.done(jobs->sink.user, 0, status, reason);
    }
}

bool hf_ordered_jobs_serve(struct hf_ordered *store)
{
    unsigned pending = store->jobs.pending;
    if ((pending & (1U << HF_JOB_INIT | 1U << HF_JOB_QUARANTINE)) != 0) {
        hf_ordered_jobs_end(store, HF_UNSUPPORTED,
                            "agrees by consensus and keeps its data on the "
                            "disks of a majority: there is nothing to declare");
        return false;
    }
    if ((pending & 1U << HF_JOB_EXAMINE) != 0) {
        return !store->jobs.is_probing;
    }
    hf_ordered_jobs_end(store, HF_OK, NULL);
    return false;
}

void hf_ordered_found(struct hf_ordered *store, enum hf_severity severity,
                      const char *text)
{
    const struct hf_ordered_jobs *jobs = &store->jobs;
    if (jobs->has_sink && jobs->sink.finding != NULL) {
        jobs->sink.finding(jobs->sink.user, severity, 0, text);
    }
}
