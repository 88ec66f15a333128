/* SPDX-License-Identifier: Apache-2.0 */
/* May this server be a node, and does it remember? Behind every greeting:
 *
 *     Sentinel, Cluster, replica, same server twice   never: HF_CONFIG
 *     INIT was asked for                              declared, not judged
 *     core/quarantine.h                               votes, or does not yet
 *
 * What is to be written into the marker is written before the node is asked
 * anything, by a script that compares the old value: of several clients that
 * see a restart one writes, and the others ask again and read its verdict. */
#include "store/redis/node.h"

#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* This connection comes to nothing, whatever else is said on it. */
static void condemn(struct hf_redis_node *node, enum hf_status fault,
                    const char *why)
{
    node->greet_fault = fault;
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s", why);
    hf_redis_node_doom(node, node->greet_reason);
}

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

/* Servers that can never be a node. @return false: `why` says it. */
static bool is_eligible(const struct hf_redis_node *node, char *why,
                        size_t size)
{
    const char *twin = find_twin(node);
    if (node->is_sentinel) {
        snprintf(why, size, "is a Sentinel, not a server of data");
    } else if (node->is_cluster) {
        snprintf(why, size,
                 "is a Redis Cluster member: its locks move and fail over with "
                 "their slots, so it cannot be a node by itself");
    } else if (node->primary[0] != '\0') {
        snprintf(why, size, "is a replica (of %s): give its primary",
                 node->primary);
    } else if (twin != NULL) {
        snprintf(why, size,
                 "is the same server as %s: each node must be a "
                 "server of its own",
                 twin);
    } else {
        return true;
    }
    return false;
}

static void push_marker(struct hf_redis_node *node, const char *old,
                        struct hf_instant now)
{
    struct hf_marker *marker = &node->judgement.marker;
    if (marker->value[0] == '\0') {
        uint64_t random[2];
        hf_entropy(random, sizeof(random));
        snprintf(marker->value, sizeof(marker->value),
                 "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    }
    char until[24];
    char max_ttl[24];
    char nodes[24];
    snprintf(until, sizeof(until), "%" PRId64, marker->until_ms);
    snprintf(max_ttl, sizeof(max_ttl), "%" PRId64, marker->max_ttl_ms);
    snprintf(nodes, sizeof(nodes), "%" PRId64, marker->nodes);
    const char *argv[] = {
        "EVAL",
        hf_script_marker.text,
        "1",
        HF_REDIS_MARKER_KEY,
        old,
        marker->value,
        "run_id",
        marker->run_id,
        "replid",
        marker->replid,
        "until_ms",
        until,
        "max_ttl_ms",
        max_ttl,
        "nodes",
        nodes,
        "fsync_always",
        marker->fsync_always ? "1" : "0",
    };
    enum { N = sizeof(argv) / sizeof(argv[0]) };
    size_t lens[N];
    for (unsigned i = 0; i < N; i++) {
        lens[i] = strlen(argv[i]);
    }
    struct hf_pending pending = {.sent = now, .verb = HF_REDIS_MARK};
    node->phase = HF_REDIS_MARKING;
    if (!hf_wire_push(&node->wire, N, argv, lens, &pending)) {
        hf_redis_node_doom(node, "out of memory");
    }
    hf_redis_node_flush(node, now);
}

void hf_redis_quarantine_text(const struct hf_redis_node *node,
                              struct hf_instant now, char *out, size_t size)
{
    int64_t left =
        hf_span_ms_ceil(hf_instant_until(now, node->quarantined_until));
    char since[48] = "was flushed";
    if (!node->is_flushed) {
        int64_t known_for =
            hf_span_ms_ceil(hf_instant_until(node->clock_at, now));
        snprintf(since, sizeof(since), "started %" PRId64 " s ago",
                 (node->identity.uptime_ms + known_for) / 1000);
    }
    snprintf(out, size,
             "%s and may have forgotten locks; counts again in %" PRId64
             " s (a new server? holdfast doctor --init)",
             since, (left + 999) / 1000);
}

/* Its memory is judged and its marker stands: it may be asked. */
static void become_ready(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_judgement *judgement = &node->judgement;
    bool is_quarantined = judgement->trust == HF_TRUST_QUARANTINE;
    const char *value =
        judgement->write ? judgement->marker.value : node->marker.value;
    node->greet_fault = HF_OK;
    node->known.has_met = true;
    memcpy(node->met_run_id, node->identity.run_id, sizeof(node->met_run_id));
    snprintf(node->known.value, sizeof(node->known.value), "%s", value);
    node->known.until = judgement->until;
    node->quarantined_until = is_quarantined ? judgement->until : HF_LONG_AGO;
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_REDIS_PEEK_MS));
    node->phase = HF_REDIS_READY;
    node->was_ready = true;
    node->ready_at = now;
    if (node->endpoint->password != NULL) {
        hf_wire_wipe(&node->wire);
    }
    char why[sizeof(node->reason)] = "";
    if (is_quarantined) {
        hf_redis_quarantine_text(node, now, why, sizeof(why));
    }
    hf_redis_node_stand(
        node, is_quarantined ? HF_STANDING_REPAIRING : HF_STANDING_VOTING,
        judgement->forgot, is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_redis_node_arm(node);
    hf_redis_listen_resume(node, now);
    hf_redis_examine(node, now);
}

static void refuse_mismatch(struct hf_redis_node *node)
{
    char why[sizeof(node->reason)];
    snprintf(why, sizeof(why),
             "is a node of a store of %" PRId64 " with max_ttl=%" PRId64
             "ms; this client says %u and %" PRId64
             "ms (to change the store: holdfast doctor --init)",
             node->marker.nodes, node->marker.max_ttl_ms,
             node->store->base.n_nodes, node->store->max_ttl_ms);
    condemn(node, HF_CONFIG, why);
}

static void declare(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_judgement *judgement = &node->judgement;
    node->is_declared = true;
    memset(judgement, 0, sizeof(*judgement));
    judgement->trust = HF_TRUST_VOTES;
    judgement->until = HF_LONG_AGO;
    judgement->write = true;
    judgement->marker = (struct hf_marker){
        .exists = true,
        .max_ttl_ms = node->store->max_ttl_ms,
        .nodes = (int64_t)node->store->base.n_nodes,
        .fsync_always = node->identity.fsync_always,
    };
    memcpy(judgement->marker.run_id, node->identity.run_id, HF_SERVER_ID_MAX);
    memcpy(judgement->marker.replid, node->identity.replid, HF_SERVER_ID_MAX);
    push_marker(node, "*", now);
}

void hf_redis_judge(struct hf_redis_node *node, struct hf_instant now)
{
    char why[sizeof(node->reason)];
    bool is_denied = node->greet_fault == HF_DENIED;
    if (!is_denied && !is_eligible(node, why, sizeof(why))) {
        condemn(node, HF_CONFIG, why);
        return;
    }
    if (node->greet_fault != HF_OK) {
        hf_redis_node_doom(node, node->greet_reason);
        return;
    }
    if (node->identity.run_id[0] == '\0' && node->store->strict) {
        condemn(node, HF_UNAVAILABLE,
                "does not say who it is (INFO lacks run_id), so that a restart "
                "cannot be seen; quarantine=off does without");
        return;
    }
    node->is_flushed = node->known.has_met && !node->marker.exists &&
                       strcmp(node->met_run_id, node->identity.run_id) == 0;
    node->identity.fsync_always = node->is_aof && node->is_fsync_always;
    if ((node->jobs & (1U << HF_JOB_INIT)) != 0) {
        declare(node, now);
        return;
    }
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        node->store->max_ttl_ms,
                        (int64_t)node->store->base.n_nodes, node->store->strict,
                        now, &node->judgement);
    if (node->judgement.trust == HF_TRUST_MISMATCH) {
        refuse_mismatch(node);
    } else if (node->judgement.write) {
        push_marker(node, node->marker.value, now);
    } else {
        become_ready(node, now);
    }
}

void hf_redis_marked(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->reply;
    if (reply->items[0].type == HF_REPLY_ERROR) {
        char words[120];
        char why[sizeof(node->reason)];
        enum hf_status fault =
            hf_redis_fault(hf_reply_text(reply, 0), words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        condemn(node, fault, why);
    } else if (hf_reply_integer(reply, 0) == 1) {
        become_ready(node, now);
    } else {
        hf_redis_greet(node, false, now);
    }
}
