/* SPDX-License-Identifier: Apache-2.0 */
/* The probe is a lock of a random name, so it cannot meet a lock of a user, nor
 * that of another doctor, and its lease is short: if the connection breaks
 * before its RELEASE, it is gone seconds later. Texts of a server are made
 * plain, and a list of names is cut: a finding is one line. Nothing here
 * decides: the status of a job is computed from the numbers that the store has
 * read. */
#include "store/findings.h"

#include "base/fail.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Seconds. Clocks that are further apart are not synchronized by NTP; a reply
 * and the rounding of both clocks take up to one each. */
#define CLOCKS_APART_S 2

/* Milliseconds: the lease of the probe, which ends by itself if the connection
 * breaks before the RELEASE. On a loaded server that is executed seconds later
 * than the ACQUIRE, and must find the lock. */
#define PROBE_MS 10000

/* Bytes of a name in a finding: five of them stay below half of the callers'
 * 480 bytes. */
#define NAME_SHOWN_MAX 40

/* ---- EXAMINE ------------------------------------------------------------- */

void hf_probe_init(struct hf_probe *probe)
{
    uint64_t random[2];
    hf_entropy(random, sizeof(random));
    snprintf(probe->owner, sizeof(probe->owner), "%016" PRIx64 "%016" PRIx64,
             random[0], random[1]);
    snprintf(probe->name, sizeof(probe->name), "holdfast-doctor-%.8s",
             probe->owner);
    probe->ask = (struct hf_ask){.verb = HF_VERB_ACQUIRE,
                                 .name = probe->name,
                                 .name_len = strlen(probe->name),
                                 .owner = probe->owner,
                                 .owner_len = strlen(probe->owner),
                                 .ttl_ms = PROBE_MS};
}

void hf_probe_set_release(struct hf_probe *probe)
{
    probe->ask.verb = HF_VERB_RELEASE;
    probe->ask.ttl_ms = 0;
}

void hf_findings_probe(struct hf_jobs *jobs, const char *fault)
{
    if (fault[0] != '\0') {
        hf_jobs_report(jobs, HF_FINDING_ERROR,
                       "a lock could not be taken and given back: %s", fault);
    }
}

void hf_findings_unguarded(struct hf_jobs *jobs)
{
    hf_jobs_report(jobs, HF_FINDING_WARNING,
                   "quarantine=off: after a restart that loses data it grants "
                   "locks that are still held; remove it from the URL");
}

void hf_findings_clock(struct hf_jobs *jobs, int64_t server_ms)
{
    int64_t off_s = server_ms / 1000 - hf_clock_wall_s();
    if (off_s > CLOCKS_APART_S || off_s < -CLOCKS_APART_S) {
        hf_jobs_report(jobs, HF_FINDING_WARNING,
                       "its clock is %" PRId64 " s %s ours: run NTP on both",
                       off_s < 0 ? -off_s : off_s,
                       off_s < 0 ? "behind" : "ahead of");
    }
}

void hf_findings_quarantine(struct hf_jobs *jobs,
                            const struct hf_admission *admission,
                            const char *why, struct hf_instant now)
{
    int64_t left_ms =
        hf_span_ms_ceil(hf_instant_until(now, admission->quarantined_until));
    hf_jobs_report(
        jobs, HF_FINDING_WARNING,
        "%s, so it counts in %" PRId64
        " s (a new server, or no client is running: holdfast doctor --init)",
        why, (left_ms + 999) / 1000);
}

/* ---- Declarations and surveys -------------------------------------------- */

void hf_findings_declared(struct hf_jobs *jobs, struct hf_admission *admission)
{
    if (hf_jobs_has(jobs, HF_JOB_INIT)) {
        hf_jobs_report(jobs, HF_FINDING_OK, "%s",
                       admission->has_declared
                           ? "declared: it has no locks from before, and counts"
                           : "counts already: nothing to declare");
    }
    if (hf_jobs_has(jobs, HF_JOB_QUARANTINE)) {
        hf_jobs_report(
            jobs, HF_FINDING_OK,
            "declared to have lost data: it has no vote until a host "
            "has watched it for %" PRId64 " s",
            hf_admission_quarantine_s(admission));
    }
    admission->is_declared = false;
}

/* "2 locks are held: a, b" */
static void write_held(const struct hf_look *look, const char *prefix,
                       char *out, size_t size)
{
    size_t skip = strlen(prefix);
    int used = snprintf(out, size, "%" PRId64 " %s", look->held,
                        look->held == 1 ? "lock is held" : "locks are held");
    for (size_t i = 0; i < look->n_names; i++) {
        struct hf_bytes name = look->names[i];
        bool is_ours = name.len > skip && memcmp(name.data, prefix, skip) == 0;
        size_t at = is_ours ? skip : 0;
        size_t len = name.len - at;
        used += snprintf(out + used, size - (size_t)used, "%s%.*s",
                         i == 0 ? ": " : ", ",
                         (int)(len > NAME_SHOWN_MAX ? NAME_SHOWN_MAX : len),
                         (const char *)name.data + at);
    }
    if (look->held > (int64_t)look->n_names) {
        snprintf(out + used, size - (size_t)used, ", ...");
    }
    hf_error_make_plain(out);
}

enum hf_status hf_findings_look(struct hf_jobs *jobs,
                                const struct hf_admission *admission,
                                const struct hf_look *look, const char *prefix,
                                char *why, size_t size)
{
    enum hf_status status = HF_OK;
    why[0] = '\0';
    if (admission->ruling.trust == HF_TRUST_MISMATCH) {
        hf_admission_mismatch_text(admission, why, size);
        hf_jobs_report(jobs, HF_FINDING_ERROR, "%s", why);
        status = HF_CONFIG;
    }
    if (look->waited > 0) {
        snprintf(why, size, "%" PRId64 " %s", look->waited,
                 look->waited == 1 ? "name has waiters" : "names have waiters");
        hf_jobs_report(jobs, HF_FINDING_ERROR, "%s", why);
        status = HF_BUSY;
    }
    if (look->held > 0) {
        write_held(look, prefix, why, size);
        hf_jobs_report(jobs, HF_FINDING_ERROR, "%s", why);
        status = HF_BUSY;
    }
    return status;
}

enum hf_status hf_findings_counters(struct hf_jobs *jobs, enum hf_job job,
                                    int64_t n, const char **why)
{
    *why = "";
    if (n < 0) {
        *why = "was declared anew meanwhile";
        return HF_BUSY;
    }
    if (job != HF_JOB_LOWER) {
        return n > 0 ? HF_BUSY : HF_OK;
    }
    hf_jobs_report(jobs, HF_FINDING_OK,
                   "%" PRId64
                   " counters were beyond its clock and are set back "
                   "to a value that a node accepts",
                   n);
    return HF_OK;
}
