/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs wait here until the node's handshake reaches the step that can answer
 * them. Several may be pending; they end together, with one `done`. `pending`
 * is cleared before that call, which may add the next job. After
 * hf_jobs_cancel() replies may still come: without a sink they report nothing.
 */
#include "store/jobs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hf_jobs_add(struct hf_jobs *jobs, unsigned node, enum hf_job job,
                 const struct hf_job_sink *sink)
{
    jobs->pending |= 1U << job;
    jobs->node = node;
    jobs->has_sink = true;
    jobs->sink = *sink;
}

/* Bytes of a finding: three lines of a terminal, and a list of names. */
#define FINDING_MAX 512

void hf_jobs_report(struct hf_jobs *jobs, enum hf_severity severity,
                    const char *format, ...)
{
    char text[FINDING_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (jobs->has_sink && jobs->sink.finding != NULL) {
        jobs->sink.finding(jobs->sink.user, severity, (int)jobs->node, text);
    }
}

void hf_jobs_finish(struct hf_jobs *jobs, enum hf_status status,
                    const char *reason)
{
    if (jobs->pending == 0) {
        return;
    }
    jobs->pending = 0;
    if (jobs->has_sink) {
        jobs->sink.done(jobs->sink.user, jobs->node, status, reason);
    }
}

void hf_jobs_cancel(struct hf_jobs *jobs)
{
    jobs->has_sink = false;
    jobs->pending = 0;
}

void hf_store_describe(struct hf_node *out, const char *address,
                       enum hf_node_status status, struct hf_span rtt,
                       const char *reason)
{
    static const enum hf_health states[] = {
        [HF_NODE_STATUS_CONNECTING] = HF_NODE_CONNECTING,
        [HF_NODE_STATUS_VOTING] = HF_NODE_UP,
        [HF_NODE_STATUS_REPAIRING] = HF_NODE_QUARANTINED,
        [HF_NODE_STATUS_DOWN] = HF_NODE_DOWN,
    };
    memset(out, 0, sizeof(*out));
    snprintf(out->address, sizeof(out->address), "%s", address);
    out->health = states[status];
    out->rtt_us = hf_span_us_floor(rtt);
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
}
