/* SPDX-License-Identifier: Apache-2.0 */
/* MAY THIS SERVER VOTE?
 *
 * Decided after each handshake, before the first request for a lock:
 *
 *     standby, read-only, pooler, too old,              refused: HF_CONFIG
 *       other settings than this client's
 *     a job INIT or QUARANTINE is pending               its marker is written
 *     core/quarantine.h: locks may have been lost       quarantine: no vote
 *     otherwise                                         it votes
 *
 * Only marker(), which compares the old marker's value, writes the marker: of
 * several clients that notice a restart one writes, and the others read the
 * marker again. A marker with a new value takes two writes: the time in our
 * host's entry must be later than the marker. */
#include "base/duration.h"
#include "io/clock.h"
#include "store/postgres/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* server_version_num of 12: what the functions of the schema need. */
#define SERVER_VERSION_MIN 120000

void hf_pg_refuse(struct hf_pg_node *node, enum hf_status fault,
                  const char *why)
{
    node->greet_fault = fault;
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s", why);
    hf_pg_connection_break(&node->connection, fault, node->greet_reason);
}

/** @return false: this server cannot be the node; `why` has the reason. */
static bool is_eligible(const struct hf_pg_node *node, char *why, size_t size)
{
    if (node->server_version > 0 && node->server_version < SERVER_VERSION_MIN) {
        snprintf(why, size, "is PostgreSQL %s: 12 or later is needed",
                 node->version);
    } else if (node->is_standby) {
        snprintf(why, size,
                 "is a standby (in recovery): name the primary instead");
    } else if (node->is_pooled) {
        snprintf(why, size,
                 "is reached through a pooler, which is not part of this "
                 "version: name the server itself");
    } else if (node->is_read_only) {
        snprintf(why, size,
                 "is read-only for role \"%s\" "
                 "(default_transaction_read_only): locks are written",
                 node->role);
    } else {
        return true;
    }
    return false;
}

/* ---- Writing the marker ------------------------------------------------- */

static const char marker_sql[] =
    "SELECT holdfast.marker($1, $2, $3, $4, $5, VARIADIC ARRAY["
    "'run_id', $6, 'replid', $7, 'max_ttl_ms', $8, 'nodes', $9,"
    " 'fence_keep_ms', $10, 'durable', $11]::text[])";

/* Write judgement.marker if the server's marker still has the value `old`. */
static void write_marker(struct hf_pg_node *node, const char *old,
                         struct hf_instant now)
{
    struct hf_marker *marker = &node->judgement.marker;
    if (marker->value[0] == '\0') {
        uint64_t random[2];
        hf_entropy(random, sizeof(random));
        snprintf(marker->value, sizeof(marker->value),
                 "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    }
    struct hf_span since = {marker->entry.ns};
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    hf_pg_params_text(&params, old);
    hf_pg_params_text(&params, marker->value);
    hf_pg_params_flag(&params, marker->is_whole);
    hf_pg_params_text(&params, marker->has_entry ? node->store->host : "");
    hf_pg_params_number(&params, hf_span_ms_ceil(since));
    hf_pg_params_text(&params, marker->run_id);
    hf_pg_params_text(&params, marker->replid);
    hf_pg_params_number(&params, marker->shape.max_ttl_ms);
    hf_pg_params_number(&params, marker->shape.nodes);
    hf_pg_params_number(&params, marker->shape.fence_keep_ms);
    hf_pg_params_text(&params, marker->is_durable ? "1" : "0");
    node->phase = HF_PG_MARKING;
    hf_pg_node_ask(node, HF_PG_MARK, marker_sql, &params, now);
}

/* ---- Texts -------------------------------------------------------------- */

void hf_pg_quarantine_text(const struct hf_pg_node *node, char *out,
                           size_t size)
{
    static const char *const why[] = {
        [HF_SUSPECT_NO_TRACE] =
            "shows no trace of Holdfast (new, restored or emptied)",
        [HF_SUSPECT_EMPTIED] = "was emptied, or lost its marker",
        [HF_SUSPECT_REPLACED] =
            "was restarted, restored or promoted since it was last known",
        [HF_SUSPECT_WATCHED] =
            "is being watched (new, restarted, emptied or promoted)",
    };
    snprintf(
        out, size, "%s: locks from before may still be held%s",
        why[node->suspicion],
        node->store->host[0] == '\0'
            ? " (/proc is hidden: each client must watch it that long itself)"
            : "");
}

static void write_difference(const char *what, int64_t its_ms, int64_t our_ms,
                             char *out, size_t size)
{
    char its[HF_DURATION_TEXT_MAX], ours[HF_DURATION_TEXT_MAX];
    hf_duration_emit(its, its_ms);
    hf_duration_emit(ours, our_ms);
    snprintf(out, size,
             "belongs to a store with %s=%s, this client says %s: all clients "
             "of a store must say the same",
             what, its, ours);
}

void hf_pg_mismatch_text(const struct hf_pg_node *node, char *out, size_t size)
{
    const struct hf_shape *its = &node->marker.shape;
    const struct hf_shape *ours = &node->store->shape;
    if (its->max_ttl_ms != ours->max_ttl_ms) {
        write_difference("max_ttl", its->max_ttl_ms, ours->max_ttl_ms, out,
                         size);
    } else {
        write_difference("fence_keep", its->fence_keep_ms, ours->fence_keep_ms,
                         out, size);
    }
}

/* ---- The decision ------------------------------------------------------- */

/* The marker is up to date: open the node for requests. In quarantine these are
 * renewals and releases, and it has no vote. */
static void become_ready(struct hf_pg_node *node, struct hf_instant now)
{
    const struct hf_quarantine_verdict *judgement = &node->judgement;
    bool is_quarantined = judgement->trust == HF_TRUST_QUARANTINE;
    struct hf_known_server *known = &node->known;
    node->greet_fault = HF_OK;
    known->has_met = true;
    known->since = judgement->since;
    memcpy(known->run_id, node->identity.run_id, sizeof(known->run_id));
    memcpy(known->value, node->marker.value, sizeof(known->value));
    node->quarantined_until = is_quarantined ? judgement->until : HF_LONG_AGO;
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_PG_PEEK_MS));
    node->phase = HF_PG_READY;
    hf_pg_connection_served(&node->connection, now);
    char why[sizeof(node->reason)] = "";
    if (is_quarantined) {
        hf_pg_quarantine_text(node, why, sizeof(why));
    }
    hf_pg_node_stand(
        node, is_quarantined ? HF_NODE_STATUS_REPAIRING : HF_NODE_STATUS_VOTING,
        judgement->forgot, is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_pg_node_arm(node);
    hf_pg_jobs(node, now);
}

static void refuse_mismatch(struct hf_pg_node *node)
{
    char why[sizeof(node->reason)];
    hf_pg_mismatch_text(node, why, sizeof(why));
    hf_pg_refuse(node, HF_CONFIG, why);
}

/* The operator's word instead of what was found: is_whole, it has all locks;
 * else it begins a quarantine. */
static void declare(struct hf_pg_node *node, bool is_whole,
                    struct hf_instant now)
{
    node->is_declared = true;
    node->suspicion = HF_SUSPECT_WATCHED;
    hf_quarantine_declare(&node->identity, &node->store->shape, is_whole,
                          &node->judgement.marker);
    node->has_declared = true;
    write_marker(node, node->marker.value, now);
}

/* Would the node vote, with nothing to be written, for a client that is strict
 * (quarantine=strict)? */
static bool is_trusted(const struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_quarantine_verdict strict;
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        &node->store->shape, true, node->store->host[0] != '\0',
                        now, &strict);
    return strict.trust == HF_TRUST_VOTES && !strict.write;
}

/* INIT replaces a marker with other settings, but only the one that the survey
 * has shown to the operator. */
static void declare_init(struct hf_pg_node *node, struct hf_instant now)
{
    if (node->judgement.trust == HF_TRUST_MISMATCH &&
        strcmp(node->marker.value, node->looked_at) != 0) {
        refuse_mismatch(node);
    } else if (is_trusted(node, now)) {
        node->is_declared = true;
        node->has_declared = false;
        become_ready(node, now);
    } else {
        declare(node, true, now);
    }
}

/* node->marker was just read or written: decide whether another one must be
 * written, and whether the node votes. A quarantine begins with the reply,
 * which may be later than the loop's `now`: so the clock is read here. */
static void judge_marker(struct hf_pg_node *node)
{
    struct hf_pg *store = node->store;
    struct hf_quarantine_verdict *judgement = &node->judgement;
    struct hf_instant now = hf_clock_now();
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        &store->shape, store->strict, store->host[0] != '\0',
                        now, judgement);
    bool is_new = judgement->marker.value[0] == '\0';
    if (hf_pg_survey(node, now)) {
        return;
    }
    if (hf_pg_is_asked(node, HF_JOB_INIT) && !node->is_declared) {
        declare_init(node, now);
    } else if (judgement->trust == HF_TRUST_MISMATCH) {
        refuse_mismatch(node);
    } else if (hf_pg_is_asked(node, HF_JOB_QUARANTINE) && !node->is_declared) {
        declare(node, false, now);
    } else if (judgement->write) {
        node->suspicion = is_new ? judgement->suspicion : node->suspicion;
        write_marker(node, node->marker.value, now);
    } else {
        become_ready(node, now);
    }
}

void hf_pg_judge(struct hf_pg_node *node, struct hf_instant now)
{
    char why[sizeof(node->reason)];
    (void)now;
    if (!is_eligible(node, why, sizeof(why))) {
        hf_pg_refuse(node, HF_CONFIG, why);
    } else if (node->greet_fault != HF_OK) {
        hf_pg_connection_break(&node->connection, node->greet_fault,
                               node->greet_reason);
    } else {
        if (strcmp(node->known.value, node->marker.value) != 0) {
            node->suspicion = HF_SUSPECT_WATCHED;
        }
        judge_marker(node);
    }
}

void hf_pg_marked(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                  struct hf_instant now)
{
    if (reply->error != NULL) {
        char words[160];
        char why[sizeof(node->reason)];
        enum hf_status fault = hf_pg_fault(reply->error, words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        hf_pg_refuse(node, fault, why);
    } else if (hf_pg_integer(reply->rows, 0, 0) == 1 && !reply->is_unsure) {
        node->marker = node->judgement.marker;
        judge_marker(node);
    } else {
        node->is_declared = false;
        hf_pg_handshake(node, now);
    }
}
