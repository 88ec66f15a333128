/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of `holdfast doctor` about a server that has a marker: the same
 * words for each kind of server. The store reads the values from its server and
 * passes them here; what only one kind of server has, it reports by itself.
 *
 *     hf_probe_init(&probe);                           EXAMINE
 *     … send probe.ask …
 *     hf_probe_set_release(&probe);
 *     … send probe.ask again; both replies have come:
 *     hf_findings_unguarded(jobs);                     with quarantine=off
 *     hf_findings_clock(jobs, server_ms);
 *     hf_findings_probe(jobs, fault);
 *     hf_findings_quarantine(jobs, admission, why, now);     if it is
 *     hf_jobs_finish(jobs, HF_OK, "");
 *
 *     hf_findings_declared(jobs, admission);           INIT, QUARANTINE
 *
 *     status = hf_findings_look(jobs, admission, &look, prefix, why, size);
 *     status = hf_findings_counters(jobs, job, n, &why);     COUNT, LOWER
 *     hf_jobs_finish(jobs, status, why);
 *
 * Each reports at once, to the sink of the jobs (jobs.h); none ends a job.
 * Threads: with the client's mutex, as hf_store_job_fn. Owner: the arguments
 * are borrowed for the call; `*why` of hf_findings_counters() is static.
 * Errors: none but the status of a job. */
#ifndef HF_STORE_FINDINGS_H
#define HF_STORE_FINDINGS_H

#include "store/admission.h"
#include "store/jobs.h"

/* ---- EXAMINE ------------------------------------------------------------- */

/* A request for a lock of a random name, which EXAMINE acquires and releases:
 * `ask` points into the struct, which so must not be copied or moved. */
struct hf_probe {
    struct hf_ask ask;
    char owner[HF_TEXT_WORD];
    char name[HF_TEXT_WORD];
};

/* Make `ask` the ACQUIRE of a random name and owner, so that it meets no other
 * lock. */
void hf_probe_init(struct hf_probe *probe);

/* Make `ask` the RELEASE. */
void hf_probe_set_release(struct hf_probe *probe);

/* The first error of the two requests; empty: none. */
void hf_findings_probe(struct hf_jobs *jobs, const char *fault);

/* The URL has quarantine=off. */
void hf_findings_unguarded(struct hf_jobs *jobs);

/* The server's clock, in milliseconds since 1970, differs from ours. */
void hf_findings_clock(struct hf_jobs *jobs, int64_t server_ms);

/* The node is in quarantine; `why` is hf_admission_quarantine_text(). */
void hf_findings_quarantine(struct hf_jobs *jobs,
                            const struct hf_admission *admission,
                            const char *why, struct hf_instant now);

/* ---- Declarations and surveys -------------------------------------------- */

/* The results of INIT and QUARANTINE, as far as they are pending, after the
 * handshake that executed them: `is_declared`, which this clears. */
void hf_findings_declared(struct hf_jobs *jobs, struct hf_admission *admission);

/* The names that LOOK reports: with a few an operator finds the program that
 * holds them, and a finding stays one line. */
#define HF_LOOK_NAMES_MAX 5

/* The reply to LOOK: names with holders and with waiters, and the first of
 * those that are held, with their prefix; borrowed. */
struct hf_look {
    int64_t held;
    int64_t waited;
    size_t n_names;
    struct hf_bytes names[HF_LOOK_NAMES_MAX];
};

/** Report each reason against INIT: at a server with held locks it could grant
 * them twice. @param prefix  of the client's names: these are shown without it.
 * @return the status of the job; @p why has the reason that was reported last.
 */
enum hf_status hf_findings_look(struct hf_jobs *jobs,
                                const struct hf_admission *admission,
                                const struct hf_look *look, const char *prefix,
                                char *why, size_t size);

/** COUNT found `n` counters ahead of the node's clock, or LOWER has set them
 * back; below zero: the marker was replaced meanwhile, and nothing was done.
 * @return the status of the job, whose reason is @p why. */
enum hf_status hf_findings_counters(struct hf_jobs *jobs, enum hf_job job,
                                    int64_t n, const char **why);

#endif
