/* SPDX-License-Identifier: Apache-2.0 */
/* Pending jobs of one node (store.h: hf_store_job_fn), and what a store reports
 * of it.
 *
 *     hf_jobs_add(&jobs, node, job, sink);             hf_store_job_fn
 *     if (hf_jobs_declare(&jobs)) …                    in the handshake
 *     if (hf_jobs_has(&jobs, HF_JOB_EXAMINE)) …        after it
 *     hf_jobs_report(&jobs, severity, format, …);      findings.h, examine.c
 *     hf_jobs_finish(&jobs, status, reason);           one `done` for all
 *     hf_jobs_cancel(&jobs);                           hf_store_job_cancel_fn
 *
 * The sink is called from inside hf_jobs_report() and hf_jobs_finish(), where
 * its `done` may add the next job. After a cancel it is not called, also when a
 * reply comes later. Threads: with the client's mutex. Owner: the sink is
 * copied; texts are borrowed for the call. Nothing fails. */
#ifndef HF_STORE_JOBS_H
#define HF_STORE_JOBS_H

#include "store/store.h"

/* Zero: none. */
struct hf_jobs {
    unsigned pending; /* a bit per enum hf_job */
    unsigned node;
    bool has_sink;
    struct hf_job_sink sink;
};

/* Keep a job until it is finished or cancelled. Several may be pending at once;
 * the sink of the last one gets the reports of all. */
void hf_jobs_add(struct hf_jobs *jobs, unsigned node, enum hf_job job,
                 const struct hf_job_sink *sink);

/* Whether the job is pending. */
static inline bool hf_jobs_has(const struct hf_jobs *jobs, enum hf_job job)
{
    return (jobs->pending & 1U << job) != 0;
}

/* Is one of them to declare the node new, or that it has lost data? */
static inline bool hf_jobs_declare(const struct hf_jobs *jobs)
{
    return hf_jobs_has(jobs, HF_JOB_INIT) ||
           hf_jobs_has(jobs, HF_JOB_QUARANTINE);
}

/* Report one finding. */
void hf_jobs_report(struct hf_jobs *jobs, enum hf_severity severity,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** End all that are pending. @param reason  as of hf_job_done_fn. */
void hf_jobs_finish(struct hf_jobs *jobs, enum hf_status status,
                    const char *reason);

/* End them without a report. */
void hf_jobs_cancel(struct hf_jobs *jobs);

/** Fill in @p out: all but what a store adds of quarantine, or of a connection
 * that is late. */
void hf_store_describe(struct hf_node *out, const char *address,
                       enum hf_node_status status, struct hf_span rtt,
                       const char *reason);

#endif
