/* SPDX-License-Identifier: Apache-2.0 */
/* THE HANDSHAKE: THE SERVER'S IDENTITY, AND WHETHER IT HAS LOST DATA
 *
 *     ──▶ AUTH, SELECT, INFO server, INFO replication, TIME, CONFIG GET
 *         of three settings, HGETALL hf:node                       one write
 *     ◀── all replies; admission.c decides                       one round trip
 *     ──▶ marker script, if the marker is gone, stale, or lacks our host
 *     ◀── 1: written, decide again; 0: another client was faster, read again
 *
 * All replies come over one connection, so they are of one server. The
 * handshake is repeated when a script reports another marker than the one we
 * know (FLUSHALL, or a promotion in place), when an error shows that the server
 * has changed, and when a quarantine is over.
 *
 * Why it is safe: no request for a lock is sent before the decision. If the
 * server is replaced afterwards, each script that grants compares the marker
 * with the one that was read here, and refuses.
 *
 * Cost: one write and one round trip for seven commands, and AUTH and SELECT if
 * they are needed. Each write of the marker is one more: none at a server that
 * is known, two at a new one. In quarantine the marker is read every 500 ms,
 * and with requests that only read (ask.c). */
#include "base/assert.h"
#include "base/fail.h"
#include "store/marker.h"
#include "store/redis/fault.h"
#include "store/redis/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Asking ------------------------------------------------------------ */

static void push(struct hf_redis_node *node, uint8_t request, int argc,
                 const char **argv, struct hf_instant now)
{
    hf_redis_connection_ask_text(&node->connection, request, argc, argv, now);
}

static void log_in(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_endpoint *to = node->endpoint;
    if (!hf_redis_log_in(node, &node->connection, HF_REDIS_AUTH, now)) {
        node->greet_fault = HF_DENIED;
        snprintf(node->greet_reason, sizeof(node->greet_reason), "%s",
                 node->connection.reason);
    }
    if (to->db != 0) {
        char db[HF_TEXT_SHORT];
        snprintf(db, sizeof(db), "%d", to->db);
        push(node, HF_REDIS_SELECT, 2, (const char *[]){"SELECT", db}, now);
    }
}

void hf_redis_handshake(struct hf_redis_node *node, bool is_fresh,
                        struct hf_instant now)
{
    HF_ASSERT(node->connection.is_open);
    node->phase = HF_REDIS_GREETING;
    node->connection.deadline =
        hf_instant_add(now, node->store->connect_timeout);
    node->greet_fault = HF_OK;
    node->is_aof = node->is_fsync_always = node->is_rewrite_synced = false;
    node->is_cluster = node->is_sentinel = false;
    node->primary[0] = node->version[0] = '\0';
    node->replicas = 0;
    hf_admission_begin(&node->admission);
    if (is_fresh) {
        log_in(node, now);
    } else { /* a query of all nodes then waits for the result */
        hf_standing_set(&node->standing, &node->store->env, node->index,
                        HF_NODE_STATUS_CONNECTING, false, node->standing.fault,
                        node->standing.reason);
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
    push(node, HF_REDIS_REWRITE, 3,
         (const char *[]){"CONFIG", "GET", "no-appendfsync-on-rewrite"}, now);
    push(node, HF_REDIS_MARKER, 2,
         (const char *[]){"HGETALL", HF_REDIS_MARKER_KEY}, now);
    hf_redis_connection_flush(&node->connection);
    hf_redis_node_arm(node);
}

void hf_redis_reidentify(struct hf_redis_node *node, const char *why,
                         struct hf_instant now)
{
    if (!hf_redis_is_ready(node)) {
        return;
    }
    hf_standing_set(&node->standing, &node->store->env, node->index,
                    HF_NODE_STATUS_CONNECTING, false, HF_UNAVAILABLE, why);
    hf_redis_handshake(node, true, now);
}

void hf_redis_peek(struct hf_redis_node *node, struct hf_instant now)
{
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_REDIS_PEEK_MS));
    push(node, HF_REDIS_PEEK, 2,
         (const char *[]){"HGETALL", HF_REDIS_MARKER_KEY}, now);
    hf_redis_node_arm(node);
}

/* ---- Parsing the replies ------------------------------------------------ */

/* The value of "field:value\r\n" in an INFO reply; false: no such field. */
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
            hf_error_make_plain(out);
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
    char value[HF_TEXT_NUMBER];
    return info(text, field, value, sizeof(value))
               ? hf_marker_number(strtoll(value, NULL, 10))
               : 0;
}

static void read_server(struct hf_redis_node *node, const char *text)
{
    char mode[HF_TEXT_SHORT];
    info(text, "run_id", node->admission.identity.run_id, HF_SERVER_ID_MAX);
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
    node->uptime_ms =
        hf_marker_number(info_integer(text, "uptime_in_seconds") * 1000);
}

static void read_replication(struct hf_redis_node *node, const char *text)
{
    char role[HF_TEXT_SHORT];
    char host[HF_TEXT_NAME];
    info(text, "role", role, sizeof(role));
    info(text, "master_replid", node->admission.identity.replid,
         HF_SERVER_ID_MAX);
    char replid2[HF_SERVER_ID_MAX];
    info(text, "master_replid2", replid2, sizeof(replid2));
    node->admission.identity.has_replid2 =
        replid2[0] != '\0' && strspn(replid2, "0") < strlen(replid2);
    node->replicas = info_integer(text, "connected_slaves");
    if (strcmp(role, "slave") == 0) {
        info(text, "master_host", host, sizeof(host));
        snprintf(node->primary, sizeof(node->primary), "%s:%" PRId64, host,
                 info_integer(text, "master_port"));
    }
}

static void read_marker(const struct hf_redis_node *node,
                        struct hf_marker *marker)
{
    const struct hf_reply *reply = &node->connection.reply;
    memset(marker, 0, sizeof(*marker));
    for (size_t i = 1; i + 1 < reply->n; i += 2) {
        hf_marker_read(marker, node->store->host, hf_reply_text(reply, i),
                       hf_reply_text(reply, i + 1));
    }
}

/* The reply to CONFIG GET is the field and its value, or an empty array if the
 * server does not have the field. */
static bool read_config(const struct hf_redis_node *node, const char *expected)
{
    return strcmp(hf_reply_text(&node->connection.reply, 2), expected) == 0;
}

/* ---- Replies ----------------------------------------------------------- */

static bool is_optional_request(const struct hf_redis_node *node,
                                uint8_t request)
{
    return request == HF_REDIS_APPENDONLY || request == HF_REDIS_APPENDFSYNC ||
           request == HF_REDIS_REWRITE ||
           ((request == HF_REDIS_INFO_SERVER ||
             request == HF_REDIS_INFO_REPLICATION) &&
            !node->store->strict);
}

/* Keep the first error only: it causes the others. */
static void take_error(struct hf_redis_node *node, uint8_t request,
                       const char *text)
{
    bool is_optional =
        is_optional_request(node, request) && !hf_redis_fault_is_last(text);
    if (is_optional || node->greet_fault != HF_OK) {
        return;
    }
    char words[HF_TEXT_CLAUSE];
    node->greet_fault = hf_redis_fault(text, words, sizeof(words));
    if (strncmp(text, "ERR DB index", 12) == 0) {
        node->greet_fault = HF_CONFIG; /* it has fewer databases */
    }
    const char *hint = "";
    char right[HF_TEXT_PHRASE];
    hf_redis_right(text, NULL, "~hf:*", right, sizeof(right));
    if (request == HF_REDIS_MARKER && strcmp(right, "~hf:*") == 0) {
        snprintf(words, sizeof(words), "its marker cannot be read");
        hint = " (needs ~hf:* besides the prefix)";
    } else if (request == HF_REDIS_MARKER &&
               strncmp(text, "WRONGTYPE", 9) == 0) {
        snprintf(words, sizeof(words), "its key hf:node is of another type");
        hint = ": delete that key";
    } else if (request != HF_REDIS_AUTH &&
               strncmp(text, "ERR unknown command", 19) == 0) {
        hint = " (renamed or disabled: remove rename-command from its "
               "configuration)";
    } else if (strncmp(text, "NOPERM", 6) == 0 &&
               (request == HF_REDIS_INFO_SERVER ||
                request == HF_REDIS_INFO_REPLICATION)) {
        hint = ", to see restarts";
    }
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s%s", words,
             hint);
}

/* An error tells nothing of the marker: another client's script may be slow.
 * The request that follows has its own. */
static void take_peek(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_marker marker;
    if (!hf_redis_is_ready(node) ||
        node->connection.reply.items[0].type == HF_REPLY_ERROR) {
        return;
    }
    read_marker(node, &marker);
    /* One that is too long to compare has a value, but counts as none. */
    const char *value = marker.exists ? marker.value : "";
    if (strcmp(value, node->admission.known.value) != 0) {
        hf_redis_reidentify(node, "its marker has changed", now);
    } else if (marker.is_whole &&
               node->standing.status == HF_NODE_STATUS_REPAIRING) {
        hf_redis_handshake(node, false, now);
    }
}

static void take_item(struct hf_redis_node *node, uint8_t request,
                      struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    switch (request) {
    case HF_REDIS_INFO_SERVER:
        read_server(node, hf_reply_text(reply, 0));
        break;
    case HF_REDIS_INFO_REPLICATION:
        read_replication(node, hf_reply_text(reply, 0));
        break;
    case HF_REDIS_TIME:
        node->time_ms = hf_marker_number(
            hf_marker_number(hf_reply_integer(reply, 1)) * 1000 +
            hf_marker_number(hf_reply_integer(reply, 2)) / 1000);
        node->clock_at = now;
        break;
    case HF_REDIS_APPENDONLY:
        node->is_aof = read_config(node, "yes");
        break;
    case HF_REDIS_APPENDFSYNC:
        node->is_fsync_always = read_config(node, "always");
        break;
    case HF_REDIS_REWRITE:
        node->admission.identity.knows_durability = reply->n >= 3;
        node->is_rewrite_synced = read_config(node, "no");
        break;
    case HF_REDIS_MARKER:
        read_marker(node, &node->admission.marker);
        break;
    default:
        break;
    }
}

void hf_redis_handshake_reply(struct hf_redis_node *node,
                              const struct hf_pending *pending,
                              struct hf_instant now)
{
    if (pending->verb == HF_REDIS_MARK) {
        hf_redis_marked(node, now);
        return;
    }
    if (pending->verb == HF_REDIS_PEEK) {
        take_peek(node, now);
        return;
    }
    if (node->connection.reply.items[0].type == HF_REPLY_ERROR) {
        take_error(node, pending->verb,
                   hf_reply_text(&node->connection.reply, 0));
    } else {
        take_item(node, pending->verb, now);
    }
    if (pending->verb != HF_REDIS_MARKER) {
        return;
    }
    hf_redis_judge(node);
}
