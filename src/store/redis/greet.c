/* SPDX-License-Identifier: Apache-2.0 */
/* WHO IS THERE, AND DOES IT REMEMBER?
 *
 *     ──▶ AUTH, SELECT, INFO server, INFO replication, TIME, CONFIG GET
 *         appendonly, CONFIG GET appendfsync, HGETALL hf:node      one write
 *     ◀── all replies; judged                                one round trip
 *     ──▶ marker script, if the marker is new, gone or stale
 *     ◀── 1: written; 0: another client was faster, ask again
 *
 * Everything comes over one connection, so it is one server's word. The same
 * is asked again, without logging in, when a script says that the marker is
 * not the one we know (FLUSHALL, or a promotion in place), or when an error
 * says that the server is not what it was. */
#include "store/redis/node.h"

#include "core/owner.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Asking ------------------------------------------------------------ */

static void push(struct hf_redis_node *node, uint8_t request, int argc,
                 const char **argv, struct hf_instant now)
{
    size_t lens[4];
    for (int i = 0; i < argc; i++) {
        lens[i] = strlen(argv[i]);
    }
    struct hf_pending pending = {.sent = now, .verb = request};
    if (!hf_wire_push(&node->wire, argc, argv, lens, &pending)) {
        hf_redis_node_doom(node, "out of memory");
    }
}

static void log_in(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_endpoint *to = node->endpoint;
    if (to->password != NULL && to->user != NULL) {
        push(node, HF_REDIS_AUTH, 3,
             (const char *[]){"AUTH", to->user, to->password}, now);
    } else if (to->password != NULL) {
        push(node, HF_REDIS_AUTH, 2, (const char *[]){"AUTH", to->password},
             now);
    }
    if (to->db != 0) {
        char db[16];
        snprintf(db, sizeof(db), "%d", to->db);
        push(node, HF_REDIS_SELECT, 2, (const char *[]){"SELECT", db}, now);
    }
}

void hf_redis_greet(struct hf_redis_node *node, bool is_fresh,
                    struct hf_instant now)
{
    node->phase = HF_REDIS_GREETING;
    node->deadline = hf_instant_add(now, node->store->connect_timeout);
    node->greet_fault = HF_OK;
    node->is_aof = node->is_fsync_always = false;
    node->is_cluster = node->is_sentinel = false;
    node->primary[0] = node->version[0] = '\0';
    node->replicas = 0;
    memset(&node->identity, 0, sizeof(node->identity));
    memset(&node->marker, 0, sizeof(node->marker));
    if (is_fresh) {
        log_in(node, now);
    }
    push(node, HF_REDIS_INFO_SERVER, 2, (const char *[]){"INFO", "server"},
         now);
    push(node, HF_REDIS_INFO_REPLICATION, 2,
         (const char *[]){"INFO", "replication"}, now);
    push(node, HF_REDIS_TIME, 1, (const char *[]){"TIME"}, now);
    push(node, HF_REDIS_APPENDONLY, 3,
         (const char *[]){"CONFIG", "GET", "appendonly"}, now);
    push(node, HF_REDIS_APPENDFSYNC, 3,
         (const char *[]){"CONFIG", "GET", "appendfsync"}, now);
    push(node, HF_REDIS_MARKER, 2,
         (const char *[]){"HGETALL", HF_REDIS_MARKER_KEY}, now);
    hf_redis_node_flush(node, now);
    hf_redis_node_arm(node);
}

/* ---- Reading what it says of itself ------------------------------------- */

/* The value of "field:value\r\n" in an INFO reply; false: it is not there. */
static bool info(const char *text, const char *field, char *out, size_t size)
{
    size_t len = strlen(field);
    for (const char *at = text; at != NULL && *at != '\0';) {
        if (strncmp(at, field, len) == 0 && at[len] == ':') {
            at += len + 1;
            size_t n = strcspn(at, "\r\n");
            n = n < size ? n : size - 1;
            memcpy(out, at, n);
            out[n] = '\0';
            return true;
        }
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    out[0] = '\0';
    return false;
}

static int64_t info_integer(const char *text, const char *field)
{
    char value[24];
    return info(text, field, value, sizeof(value)) ? strtoll(value, NULL, 10)
                                                   : 0;
}

static void read_server(struct hf_redis_node *node, const char *text)
{
    char mode[16];
    info(text, "run_id", node->identity.run_id, HF_SERVER_ID_MAX);
    info(text, "redis_mode", mode, sizeof(mode));
    if (mode[0] == '\0') {
        info(text, "server_mode", mode, sizeof(mode));
    }
    node->is_cluster = strcmp(mode, "cluster") == 0;
    node->is_sentinel = strcmp(mode, "sentinel") == 0;
    if (info(text, "valkey_version", mode, sizeof(mode))) {
        snprintf(node->version, sizeof(node->version), "Valkey %s", mode);
    } else if (info(text, "redis_version", mode, sizeof(mode))) {
        snprintf(node->version, sizeof(node->version), "Redis %s", mode);
    }
    node->identity.uptime_ms = info_integer(text, "uptime_in_seconds") * 1000;
}

static void read_replication(struct hf_redis_node *node, const char *text)
{
    char role[16];
    char host[64];
    info(text, "role", role, sizeof(role));
    info(text, "master_replid", node->identity.replid, HF_SERVER_ID_MAX);
    char replid2[HF_SERVER_ID_MAX];
    info(text, "master_replid2", replid2, sizeof(replid2));
    node->identity.has_replid2 =
        replid2[0] != '\0' && strspn(replid2, "0") < strlen(replid2);
    node->replicas = info_integer(text, "connected_slaves");
    if (strcmp(role, "slave") == 0) {
        info(text, "master_host", host, sizeof(host));
        snprintf(node->primary, sizeof(node->primary), "%s:%" PRId64, host,
                 info_integer(text, "master_port"));
    }
}

static void read_marker_field(struct hf_marker *marker, const char *field,
                              const char *value)
{
    char *id = strcmp(field, "v") == 0        ? marker->value
               : strcmp(field, "run_id") == 0 ? marker->run_id
               : strcmp(field, "replid") == 0 ? marker->replid
                                              : NULL;
    int64_t number = strtoll(value, NULL, 10);
    if (id != NULL) {
        snprintf(id, HF_SERVER_ID_MAX, "%s", value);
    } else if (strcmp(field, "until_ms") == 0) {
        marker->until_ms = number;
    } else if (strcmp(field, "max_ttl_ms") == 0) {
        marker->max_ttl_ms = number;
    } else if (strcmp(field, "nodes") == 0) {
        marker->nodes = number;
    } else if (strcmp(field, "fsync_always") == 0) {
        marker->fsync_always = number != 0;
    }
}

static void read_marker(struct hf_redis_node *node)
{
    const struct hf_reply *reply = &node->reply;
    for (size_t i = 1; i + 1 < reply->n; i += 2) {
        read_marker_field(&node->marker, hf_reply_text(reply, i),
                          hf_reply_text(reply, i + 1));
    }
    node->marker.exists = node->marker.value[0] != '\0';
}

/* CONFIG GET answers field and value, or nothing to a server that renamed it;
 * whoever may not ask does not know. */
static bool read_config(const struct hf_redis_node *node, const char *expected)
{
    return strcmp(hf_reply_text(&node->reply, 2), expected) == 0;
}

/* ---- Judging ----------------------------------------------------------- */

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
    int64_t up = node->identity.uptime_ms / 1000;
    bool is_restart = up < node->store->max_ttl_ms / 1000 + 3600;
    char since[48] = "lost its data";
    if (is_restart) {
        snprintf(since, sizeof(since), "started %" PRId64 " s ago", up);
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
    node->known.has_met = true;
    snprintf(node->known.value, sizeof(node->known.value), "%s", value);
    node->known.until = judgement->until;
    node->quarantined_until = is_quarantined ? judgement->until : HF_LONG_AGO;
    node->phase = HF_REDIS_READY;
    node->was_ready = true;
    node->failures = 0;
    char why[sizeof(node->reason)] = "";
    if (is_quarantined) {
        hf_redis_quarantine_text(node, now, why, sizeof(why));
    }
    hf_redis_node_stand(
        node, is_quarantined ? HF_STANDING_REPAIRING : HF_STANDING_VOTING,
        judgement->forgot, is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_redis_node_arm(node);
    hf_redis_examine(node, now);
}

static void refuse_mismatch(struct hf_redis_node *node, struct hf_instant now)
{
    char why[sizeof(node->reason)];
    snprintf(why, sizeof(why),
             "is a node of a store of %" PRId64 " with max_ttl=%" PRId64
             "ms; this client says %u and %" PRId64
             "ms (to change the store: holdfast doctor --init)",
             node->marker.nodes, node->marker.max_ttl_ms,
             node->store->base.n_nodes, node->store->max_ttl_ms);
    hf_redis_node_lost(node, HF_CONFIG, why, now);
}

static void declare(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_judgement *judgement = &node->judgement;
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

static void judge(struct hf_redis_node *node, struct hf_instant now)
{
    char why[sizeof(node->reason)];
    if (!is_eligible(node, why, sizeof(why))) {
        hf_redis_node_lost(node, HF_CONFIG, why, now);
        return;
    }
    if ((node->jobs & (1U << HF_JOB_INIT)) != 0) {
        declare(node, now);
        return;
    }
    node->identity.fsync_always = node->is_aof && node->is_fsync_always;
    hf_quarantine_judge(&node->identity, &node->marker, &node->known,
                        node->store->max_ttl_ms,
                        (int64_t)node->store->base.n_nodes, node->store->strict,
                        now, &node->judgement);
    if (node->judgement.trust == HF_TRUST_MISMATCH) {
        refuse_mismatch(node, now);
    } else if (node->judgement.write) {
        push_marker(node, node->marker.value, now);
    } else {
        become_ready(node, now);
    }
}

/* ---- Replies ----------------------------------------------------------- */

/* The first error is the one that matters: the others follow from it. */
static void take_error(struct hf_redis_node *node, uint8_t request,
                       const char *text)
{
    bool is_optional = request == HF_REDIS_APPENDONLY ||
                       request == HF_REDIS_APPENDFSYNC ||
                       ((request == HF_REDIS_INFO_SERVER ||
                         request == HF_REDIS_INFO_REPLICATION) &&
                        !node->store->strict);
    if (is_optional || node->greet_fault != HF_OK) {
        return;
    }
    char words[120];
    node->greet_fault = hf_redis_fault(text, words, sizeof(words));
    const char *hint = "";
    if (node->greet_fault == HF_DENIED && request == HF_REDIS_MARKER) {
        hint = " (needs ~hf:* besides the prefix)";
    } else if (node->greet_fault == HF_DENIED &&
               (request == HF_REDIS_INFO_SERVER ||
                request == HF_REDIS_INFO_REPLICATION)) {
        hint = " (needs +info to see restarts, or quarantine=off)";
    }
    snprintf(node->socket.reason, sizeof(node->socket.reason), "%s%s", words,
             hint);
}

static void take_item(struct hf_redis_node *node, uint8_t request,
                      struct hf_instant now)
{
    const struct hf_reply *reply = &node->reply;
    switch (request) {
    case HF_REDIS_INFO_SERVER:
        read_server(node, hf_reply_text(reply, 0));
        break;
    case HF_REDIS_INFO_REPLICATION:
        read_replication(node, hf_reply_text(reply, 0));
        break;
    case HF_REDIS_TIME:
        node->identity.time_ms = hf_reply_integer(reply, 1) * 1000 +
                                 hf_reply_integer(reply, 2) / 1000;
        node->clock_at = now;
        break;
    case HF_REDIS_APPENDONLY:
        node->is_aof = read_config(node, "yes");
        break;
    case HF_REDIS_APPENDFSYNC:
        node->identity.knows_fsync = reply->n >= 3;
        node->is_fsync_always = read_config(node, "always");
        break;
    case HF_REDIS_MARKER:
        read_marker(node);
        break;
    default:
        break;
    }
}

static void take_mark(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->reply;
    if (reply->items[0].type == HF_REPLY_ERROR) {
        char words[120];
        char why[sizeof(node->reason)];
        enum hf_status fault =
            hf_redis_fault(hf_reply_text(reply, 0), words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        hf_redis_node_lost(node, fault, why, now);
    } else if (hf_reply_integer(reply, 0) == 1) {
        become_ready(node, now);
    } else {
        hf_redis_greet(node, false, now);
    }
}

void hf_redis_greeted(struct hf_redis_node *node,
                      const struct hf_pending *pending, struct hf_instant now)
{
    if (pending->verb == HF_REDIS_MARK) {
        take_mark(node, now);
        return;
    }
    if (node->reply.items[0].type == HF_REPLY_ERROR) {
        take_error(node, pending->verb, hf_reply_text(&node->reply, 0));
    } else {
        take_item(node, pending->verb, now);
    }
    if (pending->verb != HF_REDIS_MARKER) {
        return;
    }
    if (node->greet_fault != HF_OK) {
        char why[sizeof(node->socket.reason)];
        memcpy(why, node->socket.reason, sizeof(why));
        hf_redis_node_lost(node, node->greet_fault, why, now);
    } else {
        judge(node, now);
    }
}
