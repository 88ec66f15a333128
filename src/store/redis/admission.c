/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server is a kind that can be a node, and how the decision of
 * store/admission.h means for it:
 *
 *     Sentinel, Cluster member, replica, listed twice   refused: HF_CONFIG
 *
 * The marker is the key hf:node. Only marker.lua writes it. A client that only
 * reads writes none where there is none: the marker would declare the server to
 * be of the store that its URL names, for example of one server instead of
 * three. Until a client writes, such a server is in quarantine, and its
 * quarantine has not begun.
 *
 * Cost: nothing beyond the handshake at a server whose marker is right. Each
 * write of the marker is one EVAL and one round trip; if another client was
 * faster, the handshake begins again. */
#include "store/redis/fault.h"
#include "store/redis/node.h"

#include "io/clock.h"
#include "store/marker.h"

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
            node->admission.identity.run_id[0] != '\0' &&
            strcmp(other->admission.identity.run_id,
                   node->admission.identity.run_id) == 0) {
            return other->address;
        }
    }
    return NULL;
}

/** @return false: a server of this kind cannot be a node; `why` has the reason.
 */
static bool check_eligible(const struct hf_redis_node *node, char *why,
                           size_t size)
{
    const char *twin = find_twin(node);
    if (node->is_sentinel) {
        snprintf(why, size, "is a Sentinel, not a data server");
    } else if (node->is_cluster) {
        snprintf(why, size,
                 "is a Redis Cluster member: its locks move and fail over with "
                 "their hash slots, so it cannot be a node by itself");
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

/* Write the ruling's marker if the server's still has the value that we read.
 */
static void write_marker(struct hf_redis_node *node, struct hf_instant now)
{
    enum { FIRST = 5, LAST = FIRST + HF_MARKER_TEXTS, SIZE = LAST + 2 };
    const char *argv[SIZE] = {
        "EVAL",
        hf_script_marker.text,
        "1",
        HF_REDIS_MARKER_KEY,
        node->admission.marker.value,
    };
    struct hf_marker_texts marker;
    hf_marker_write(&node->admission.ruling.marker, node->store->host, &marker);
    memcpy(argv + FIRST, marker.texts, sizeof(marker.texts));
    char db[HF_TEXT_SHORT];
    snprintf(db, sizeof(db), "%d", node->endpoint->db);
    argv[LAST] = "db";
    argv[LAST + 1] = db;
    node->phase = HF_REDIS_MARKING;
    hf_redis_connection_ask_text(&node->connection, HF_REDIS_MARK, SIZE, argv,
                                 now);
    hf_redis_connection_flush(&node->connection);
}

void hf_redis_quarantine_text(const struct hf_redis_node *node, char *out,
                              size_t size)
{
    static const char *const causes[] = {
        [HF_SUSPECT_NO_TRACE] =
            "shows no trace of Holdfast (new, restarted or emptied)",
        [HF_SUSPECT_EMPTIED] = "was emptied, or lost its marker",
        [HF_SUSPECT_REPLACED] =
            "was restarted or promoted since Holdfast last knew it",
        [HF_SUSPECT_WATCHED] =
            "is being watched (new, restarted, emptied or promoted)",
    };
    hf_admission_quarantine_text(&node->admission, causes, out, size);
}

/* Whether the server may not be declared: it has no marker, and this client
 * only reads. */
static bool is_only_read(const struct hf_redis_node *node)
{
    return !node->admission.marker.exists && !node->store->may_write &&
           !hf_jobs_declare(&node->jobs);
}

/* The marker is up to date, or the server has none and is only read: open the
 * node for requests. In quarantine these are renewals and releases, and it has
 * no vote. */
static void become_ready(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_known_server known = node->admission.known;
    bool is_quarantined = hf_admission_accept(&node->admission);
    if (!node->admission.marker.exists) { /* no proof of its state: keep ours */
        known.value[0] = '\0';
        node->admission.known = known;
    }
    node->greet_fault = HF_OK;
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_REDIS_PEEK_MS));
    node->phase = HF_REDIS_READY;
    hf_redis_connection_served(&node->connection, now);
    char why[sizeof(node->standing.reason)] = "";
    if (is_quarantined) {
        hf_redis_quarantine_text(node, why, sizeof(why));
    }
    hf_standing_set(&node->standing, &node->store->env, node->index,
                    is_quarantined ? HF_NODE_STATUS_REPAIRING
                                   : HF_NODE_STATUS_VOTING,
                    node->admission.ruling.is_reset,
                    is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_redis_node_arm(node);
    hf_redis_listen_resume(node, now);
    hf_redis_examine(node, now);
}

static void refuse_mismatch(struct hf_redis_node *node)
{
    char why[sizeof(node->standing.reason)];
    hf_admission_mismatch_text(&node->admission, why, sizeof(why));
    refuse(node, HF_CONFIG, why);
}

/* The marker was just read or written. The reply may be later than the loop's
 * `now`: so the clock is read here. */
static void go_on(struct hf_redis_node *node)
{
    struct hf_instant now = hf_clock_now();
    switch (hf_admission_decide(&node->admission, node->jobs.pending, now)) {
    case HF_ADMISSION_SURVEY:
        hf_redis_survey(node, node->admission.surveying, now);
        break;
    case HF_ADMISSION_REFUSE:
        refuse_mismatch(node);
        break;
    case HF_ADMISSION_WRITE:
        if (is_only_read(node)) {
            become_ready(node, now);
        } else {
            write_marker(node, now);
        }
        break;
    case HF_ADMISSION_ACCEPT:
        become_ready(node, now);
        break;
    }
}

bool hf_redis_is_synced(const struct hf_redis_node *node)
{
    return node->is_aof && node->is_fsync_always && node->is_rewrite_synced;
}

void hf_redis_judge(struct hf_redis_node *node)
{
    char why[sizeof(node->standing.reason)];
    bool is_denied = node->greet_fault == HF_DENIED;
    if (!is_denied && !check_eligible(node, why, sizeof(why))) {
        refuse(node, HF_CONFIG, why);
        return;
    }
    if (node->greet_fault != HF_OK) {
        hf_redis_connection_break(&node->connection, node->greet_reason);
        return;
    }
    if (node->admission.identity.run_id[0] == '\0' && node->store->strict) {
        refuse(node, HF_UNAVAILABLE,
               "does not say who it is (INFO lacks run_id), so that a restart "
               "cannot be noticed; quarantine=off accepts that");
        return;
    }
    node->admission.identity.database = node->endpoint->db + 1;
    /* A replica's files, started on the address of their primary, look like the
     * primary's own after a restart, but later locks are missing in them. So
     * the marker of a server with replicas does not call it durable, and the
     * replicas copy that. */
    node->admission.identity.is_durable =
        hf_redis_is_synced(node) && node->replicas == 0;
    hf_admission_read(&node->admission);
    go_on(node);
}

void hf_redis_begin_write(struct hf_redis_node *node, struct hf_instant now)
{
    if (hf_redis_is_unmarked(node)) {
        hf_redis_handshake(node, false, now);
    }
}

void hf_redis_marked(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    if (reply->items[0].type == HF_REPLY_ERROR) {
        char words[HF_TEXT_CLAUSE];
        char why[sizeof(node->standing.reason)];
        enum hf_status fault = hf_redis_fault_in(
            &hf_script_marker, hf_reply_text(reply, 0), words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        refuse(node, fault, why);
    } else if (hf_reply_integer(reply, 0) == 1) {
        hf_admission_wrote(&node->admission);
        go_on(node);
    } else {
        node->admission.is_declared = false;
        hf_redis_handshake(node, false, now);
    }
}
