/* SPDX-License-Identifier: Apache-2.0 */
#include "store/admission.h"

#include "base/assert.h"
#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- The decision ------------------------------------------------------ */

/* The operator's declaration instead of the findings: is_whole, it has all
 * locks; else it begins a quarantine. */
static enum hf_admission_next declare(struct hf_admission *admission,
                                      bool is_whole)
{
    admission->is_declared = true;
    admission->has_declared = true;
    admission->suspicion = HF_SUSPECT_WATCHED;
    hf_quarantine_declare(&admission->identity, admission->shape, is_whole,
                          &admission->ruling.marker);
    return HF_ADMISSION_WRITE;
}

static void judge(const struct hf_admission *admission, bool strict,
                  struct hf_instant now, struct hf_quarantine_ruling *out)
{
    struct hf_quarantine_input in = {
        .identity = &admission->identity,
        .marker = &admission->marker,
        .known = &admission->known,
        .shape = admission->shape,
        .strict = strict,
        .on_host = admission->host[0] != '\0',
        .now = now,
    };
    hf_quarantine_judge(&in, out);
}

/* Would the node vote, with nothing to be written, for a client that is strict
 * (quarantine is not off)? */
static bool is_trusted(const struct hf_admission *admission,
                       struct hf_instant now)
{
    struct hf_quarantine_ruling strict;
    judge(admission, true, now, &strict);
    return strict.trust == HF_TRUST_VOTES && !strict.must_write;
}

/* INIT replaces a marker with other settings, but only the one that the survey
 * has shown to the operator: one that was written since is of another store. A
 * smaller fence_base would make fences smaller than those that were given out.
 */
static enum hf_admission_next declare_init(struct hf_admission *admission,
                                           struct hf_instant now)
{
    bool is_seen = strcmp(admission->marker.value, admission->looked_at) == 0;
    bool would_sink =
        admission->marker.shape.fence_base > admission->shape->fence_base;
    if (admission->ruling.trust == HF_TRUST_MISMATCH &&
        (!is_seen || would_sink)) {
        return HF_ADMISSION_REFUSE;
    }
    if (is_trusted(admission, now)) {
        admission->is_declared = true;
        admission->has_declared = false;
        return HF_ADMISSION_ACCEPT;
    }
    return declare(admission, true);
}

static bool is_asked(unsigned jobs, enum hf_job job)
{
    return (jobs & (1U << job)) != 0;
}

/* The survey that a job asks for, if one does: before the marker changes. */
static bool begin_survey(struct hf_admission *admission, unsigned jobs)
{
    static const enum hf_job surveys[] = {HF_JOB_LOOK, HF_JOB_COUNT,
                                          HF_JOB_LOWER};
    for (size_t i = 0; i < sizeof(surveys) / sizeof(surveys[0]); i++) {
        if (is_asked(jobs, surveys[i])) {
            admission->surveying = surveys[i];
            memcpy(admission->looked_at, admission->marker.value,
                   sizeof(admission->looked_at));
            return true;
        }
    }
    return false;
}

enum hf_admission_next hf_admission_decide(struct hf_admission *admission,
                                           unsigned jobs, struct hf_instant now)
{
    struct hf_quarantine_ruling *ruling = &admission->ruling;
    judge(admission, admission->strict, now, ruling);
    if (begin_survey(admission, jobs)) {
        return HF_ADMISSION_SURVEY;
    }
    if (is_asked(jobs, HF_JOB_INIT) && !admission->is_declared) {
        return declare_init(admission, now);
    }
    if (ruling->trust == HF_TRUST_MISMATCH) {
        return HF_ADMISSION_REFUSE;
    }
    if (is_asked(jobs, HF_JOB_QUARANTINE) && !admission->is_declared) {
        return declare(admission, false);
    }
    if (!ruling->must_write) {
        return HF_ADMISSION_ACCEPT;
    }
    if (ruling->marker.value[0] == '\0') {
        admission->suspicion = ruling->suspicion;
    }
    return HF_ADMISSION_WRITE;
}

/* ---- Steps ------------------------------------------------------------- */

void hf_admission_init(struct hf_admission *admission,
                       const struct hf_shape *shape, const char *host,
                       bool strict)
{
    memset(admission, 0, sizeof(*admission));
    admission->shape = shape;
    admission->host = host;
    admission->strict = strict;
    admission->quarantined_until = HF_LONG_AGO;
}

void hf_admission_begin(struct hf_admission *admission)
{
    memset(&admission->identity, 0, sizeof(admission->identity));
    memset(&admission->marker, 0, sizeof(admission->marker));
}

void hf_admission_read(struct hf_admission *admission)
{
    if (strcmp(admission->known.value, admission->marker.value) != 0) {
        admission->suspicion = HF_SUSPECT_WATCHED;
    }
}

void hf_admission_wrote(struct hf_admission *admission)
{
    admission->marker = admission->ruling.marker;
}

bool hf_admission_accept(struct hf_admission *admission)
{
    const struct hf_quarantine_ruling *ruling = &admission->ruling;
    struct hf_known_server *known = &admission->known;
    HF_ASSERT(ruling->trust != HF_TRUST_MISMATCH); /* it is refused */
    bool is_quarantined = ruling->trust == HF_TRUST_QUARANTINE;
    known->has_met = true;
    known->since = ruling->since;
    memcpy(known->run_id, admission->identity.run_id, sizeof(known->run_id));
    memcpy(known->value, admission->marker.value, sizeof(known->value));
    admission->quarantined_until = is_quarantined ? ruling->until : HF_LONG_AGO;
    return is_quarantined;
}

/* ---- Texts ------------------------------------------------------------- */

int64_t hf_admission_quarantine_s(const struct hf_admission *admission)
{
    struct hf_span span = hf_quarantine_span(admission->shape->max_ttl_ms);
    return hf_span_ms_ceil(span) / 1000;
}

void hf_admission_quarantine_text(const struct hf_admission *admission,
                                  const char *const causes[], char *out,
                                  size_t size)
{
    snprintf(
        out, size, "%s: locks from before may still be held%s",
        causes[admission->suspicion],
        admission->host[0] == '\0'
            ? " (/proc is hidden: each client must watch it that long itself)"
            : "");
}

/* "3 servers" */
static const char *servers(int64_t n, char out[HF_TEXT_WORD])
{
    snprintf(out, HF_TEXT_WORD, "%" PRId64 " server%s", n, n == 1 ? "" : "s");
    return out;
}

static void write_difference(const char *what, const char *its,
                             const char *ours, char *out, size_t size)
{
    snprintf(out, size,
             "belongs to a store with %s=%s, this client says %s: all clients "
             "of a store must say the same",
             what, its, ours);
}

static void write_durations(const char *what, int64_t its_ms, int64_t our_ms,
                            char *out, size_t size)
{
    char its[HF_DURATION_TEXT_MAX], ours[HF_DURATION_TEXT_MAX];
    hf_duration_emit(its, its_ms);
    hf_duration_emit(ours, our_ms);
    write_difference(what, its, ours, out, size);
}

static void write_numbers(const char *what, int64_t its_number,
                          int64_t our_number, char *out, size_t size)
{
    char its[HF_TEXT_NUMBER], ours[HF_TEXT_NUMBER];
    snprintf(its, sizeof(its), "%" PRId64, its_number);
    snprintf(ours, sizeof(ours), "%" PRId64, our_number);
    write_difference(what, its, ours, out, size);
}

void hf_admission_mismatch_text(const struct hf_admission *admission, char *out,
                                size_t size)
{
    const struct hf_shape *its = &admission->marker.shape;
    const struct hf_shape *ours = admission->shape;
    char n[HF_TEXT_WORD], max_ttl[HF_DURATION_TEXT_MAX];
    if (its->nodes != ours->nodes) {
        hf_duration_emit(max_ttl, its->max_ttl_ms);
        snprintf(out, size,
                 "belongs to a store of %s, this client's URL names %" PRId64
                 ": name %s (max_ttl=%s)",
                 servers(its->nodes, n), ours->nodes,
                 its->nodes > ours->nodes ? "all of them"
                                          : "those of that store alone",
                 max_ttl);
    } else if (its->max_ttl_ms != ours->max_ttl_ms) {
        write_durations("max_ttl", its->max_ttl_ms, ours->max_ttl_ms, out,
                        size);
    } else if (its->fence_base != ours->fence_base) {
        write_numbers("fence_base", its->fence_base, ours->fence_base, out,
                      size);
    } else {
        write_durations("fence_keep", its->fence_keep_ms, ours->fence_keep_ms,
                        out, size);
    }
}
