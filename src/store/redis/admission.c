/* SPDX-License-Identifier: Apache-2.0 */
/* MAY THIS SERVER VOTE?
 *
 * Decided after each handshake, before the first request for a lock:
 *
 *     Sentinel, Cluster member, replica, listed twice,  refused: HF_CONFIG
 *       other settings than this client's
 *     a job INIT or QUARANTINE is pending               its marker is written
 *     core/quarantine.h: locks may have been lost       quarantine: no vote
 *     otherwise                                         it votes
 *
 * The marker is a key that records which server this is, whether it has all
 * locks, and the settings of its clients (hf_shape). Only a script that
 * compares the old marker's value writes it: of several clients that notice a
 * restart one writes, and the others read the marker again. A marker with a new
 * value takes two writes: the time in our host's entry must be later than the
 * marker. */
#include "store/redis/node.h"

#include "base/duration.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void refuse(struct hf_redis_node *node, enum hf_status fault,
                   const char *why)
{
    node->greet_fault = fault;
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s", why);
    hf_redis_connection_break(&node->connection, node->greet_reason);
}

/** @return the address of another node that is the same server, or NULL. */
static const char *find_twin(const struct hf_redis_node *node)
{
    const struct hf_redis *store = node->store;
    for (unsigned i = 0; i < store->base.n_nodes; i++) {
        const struct hf_redis_node *other = &store->nodes[i];
        if (other != node && other->phase >= HF_REDIS_MARKING &&
            node->identity.run_id[0] != '\0' &&
            strcmp(other->identity.run_id, node->identity.run_id) == 0) {
            return other->address;
        }
    }
    return NULL;
}

/** @return false: a server of this kind cannot be a node; `why` has the reason.
 */
static bool is_eligible(const struct hf_redis_node *node, char *why,
                        size_t size)
{
    const char *twin = find_twin(node);
    if (node->is_sentinel) {
        snprintf(why, size, "is a Sentinel, not a data server");
    } else if (node->is_cluster) {
        snprintf(why, size,
                 "is a Redis Cluster member: its locks move and fail over with "
                 "their slots, so it cannot be a node by itself");
    } else if (node->primary[0] != '\0') {
        snprintf(why, size, "is a replica of %s: name the primary instead",
                 node->primary);
    } else if (twin != NULL) {
        snprintf(why, size,
                 "is the same server as %s: each node must be "
                 "another server",
                 twin);
    } else {
        return true;
    }
    return false;
}

/* Write judgement.marker if the server's marker still has the value `old`. */
static void write_marker(struct hf_redis_node *node, const char *old,
                         struct hf_instant now)
{
    struct hf_marker *marker = &node->judgement.marker;
    if (marker->value[0] == '\0') {
        uint64_t random[2];
        hf_entropy(random, sizeof(random));
        snprintf(marker->value, sizeof(marker->value),
                 "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    }
    char at[24];
    char max_ttl[24];
    char nodes[24];
    char fence_keep[24];
    struct hf_span since = {marker->entry.ns};
    snprintf(at, sizeof(at), "%" PRId64, hf_span_ms_ceil(since));
    snprintf(max_ttl, sizeof(max_ttl), "%" PRId64, marker->shape.max_ttl_ms);
    snprintf(nodes, sizeof(nodes), "%" PRId64, marker->shape.nodes);
    snprintf(fence_keep, sizeof(fence_keep), "%" PRId64,
             marker->shape.fence_keep_ms);
    const char *argv[] = {
        "EVAL",
        hf_script_marker.text,
        "1",
        HF_REDIS_MARKER_KEY,
        old,
        marker->value,
        marker->is_whole ? "1" : "0",
        marker->has_entry ? node->store->host : "",
        at,
        "run_id",
        marker->run_id,
        "replid",
        marker->replid,
        "max_ttl_ms",
        max_ttl,
        "nodes",
        nodes,
        "fence_keep_ms",
        fence_keep,
        "durable",
        marker->is_durable ? "1" : "0",
    };
    enum { N = sizeof(argv) / sizeof(argv[0]) };
    node->phase = HF_REDIS_MARKING;
    hf_redis_connection_ask(&node->connection, HF_REDIS_MARK, N, argv, NULL,
                            now);
    hf_redis_connection_flush(&node->connection);
}

void hf_redis_quarantine_text(const struct hf_redis_node *node, char *out,
                              size_t size)
{
    static const char *const why[] = {
        [HF_SUSPECT_NO_TRACE] =
            "shows no trace of Holdfast (new, restarted or emptied)",
        [HF_SUSPECT_EMPTIED] = "was emptied, or lost its marker",
        [HF_SUSPECT_REPLACED] =
            "was restarted or promoted since Holdfast last knew it",
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

/* The marker is up to date: open the node for requests. In quarantine these are
 * renewals and releases, and it has no vote. */
static void become_ready(struct hf_redis_node *node, struct hf_instant now)
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
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_REDIS_PEEK_MS));
    node->phase = HF_REDIS_READY;
    hf_redis_connection_served(&node->connection, now);
    char why[sizeof(node->reason)] = "";
    if (is_quarantined) {
        hf_redis_quarantine_text(node, why, sizeof(why));
    }
    hf_redis_node_stand(
        node, is_quarantined ? HF_NODE_STATUS_REPAIRING : HF_NODE_STATUS_VOTING,
        judgement->forgot, is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_redis_node_arm(node);
    hf_redis_listen_resume(node, now);
    hf_redis_examine(node, now);
}

/* "3 servers" */
static const char *servers(int64_t n, char out[32])
{
    snprintf(out, 32, "%" PRId64 " server%s", n, n == 1 ? "" : "s");
    return out;
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

void hf_redis_mismatch_text(const struct hf_redis_node *node, char *out,
                            size_t size)
{
    const struct hf_shape *its = &node->marker.shape;
    const struct hf_shape *ours = &node->store->shape;
    char n[32], max_ttl[HF_DURATION_TEXT_MAX];
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
        write_difference("max_ttl", its->max_ttl_ms, ours->max_ttl_ms, out,
                         size);
    } else {
        write_difference("fence_keep", its->fence_keep_ms, ours->fence_keep_ms,
                         out, size);
    }
}

static void refuse_mismatch(struct hf_redis_node *node)
{
    char why[sizeof(node->reason)];
    hf_redis_mismatch_text(node, why, sizeof(why));
    refuse(node, HF_CONFIG, why);
}

/* The operator's word instead of what was found: is_whole, it has all locks;
 * else it begins a quarantine. */
static void declare(struct hf_redis_node *node, bool is_whole,
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
 * (quarantine=on)? */
static bool is_trusted(const struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_quarantine_verdict strict;
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        &node->store->shape, true, node->store->host[0] != '\0',
                        now, &strict);
    return strict.trust == HF_TRUST_VOTES && !strict.write;
}

/* INIT replaces a marker with other settings, but only the one that the survey
 * has shown to the operator: one that was written since is of another store. */
static void declare_init(struct hf_redis_node *node, struct hf_instant now)
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

/** Begin the survey that a job asks for, if one does: before the marker
 * changes.
 * @return true: begun. */
static bool survey(struct hf_redis_node *node, struct hf_instant now)
{
    static const enum hf_job jobs[] = {HF_JOB_LOOK, HF_JOB_COUNT, HF_JOB_LOWER};
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if (hf_redis_is_asked(node, jobs[i])) {
            memcpy(node->looked_at, node->marker.value,
                   sizeof(node->looked_at));
            hf_redis_survey(node, jobs[i], now);
            return true;
        }
    }
    return false;
}

/* node->marker was just read or written: decide whether another one must be
 * written, and whether the node votes. A quarantine begins with the reply,
 * which may be later than the loop's `now`: so the clock is read here. */
static void judge_marker(struct hf_redis_node *node)
{
    struct hf_redis *store = node->store;
    struct hf_quarantine_verdict *judgement = &node->judgement;
    struct hf_instant now = hf_clock_now();
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        &store->shape, store->strict, store->host[0] != '\0',
                        now, judgement);
    bool is_new = judgement->marker.value[0] == '\0';
    if (survey(node, now)) {
        return;
    }
    if (hf_redis_is_asked(node, HF_JOB_INIT) && !node->is_declared) {
        declare_init(node, now);
    } else if (judgement->trust == HF_TRUST_MISMATCH) {
        refuse_mismatch(node);
    } else if (hf_redis_is_asked(node, HF_JOB_QUARANTINE) &&
               !node->is_declared) {
        declare(node, false, now);
    } else if (judgement->write) {
        node->suspicion = is_new ? judgement->suspicion : node->suspicion;
        write_marker(node, node->marker.value, now);
    } else {
        become_ready(node, now);
    }
}

void hf_redis_judge(struct hf_redis_node *node)
{
    char why[sizeof(node->reason)];
    bool is_denied = node->greet_fault == HF_DENIED;
    if (!is_denied && !is_eligible(node, why, sizeof(why))) {
        refuse(node, HF_CONFIG, why);
        return;
    }
    if (node->greet_fault != HF_OK) {
        hf_redis_connection_break(&node->connection, node->greet_reason);
        return;
    }
    if (node->identity.run_id[0] == '\0' && node->store->strict) {
        refuse(node, HF_UNAVAILABLE,
               "does not say who it is (INFO lacks run_id), so that a restart "
               "cannot be noticed; quarantine=off accepts that");
        return;
    }
    node->identity.is_durable =
        node->is_aof && node->is_fsync_always && node->is_rewrite_synced;
    if (strcmp(node->known.value, node->marker.value) != 0) {
        node->suspicion = HF_SUSPECT_WATCHED;
    }
    judge_marker(node);
}

void hf_redis_marked(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    if (reply->items[0].type == HF_REPLY_ERROR) {
        char words[120];
        char why[sizeof(node->reason)];
        enum hf_status fault = hf_redis_fault_in(
            &hf_script_marker, hf_reply_text(reply, 0), words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        refuse(node, fault, why);
    } else if (hf_reply_integer(reply, 0) == 1) {
        node->marker = node->judgement.marker;
        judge_marker(node);
    } else {
        node->is_declared = false;
        hf_redis_handshake(node, false, now);
    }
}
