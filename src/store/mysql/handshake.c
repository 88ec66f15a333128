/* SPDX-License-Identifier: Apache-2.0 */
/* THE HANDSHAKE: THE SERVER'S IDENTITY, AND WHETHER IT HAS LOST DATA
 *
 *     ──▶ the settings of the session, the kind of server, holdfast.facts()
 *     ◀── the replies; admission.c decides
 *     ──▶ the schema, if it is missing and the account may create it
 *         (install.c); then the handshake begins again
 *     ──▶ marker(), if the marker is missing, stale, or lacks our host
 *     ◀── 1: written, decide again; 0: another client was faster, read again
 *
 * core/quarantine.h compares two texts with those in the server's marker, and
 * the marker's run_id with that of this client's last handshake:
 *
 *   replid   a digest of the server's id, host, port and data directory. A
 *            promoted replica, and a backup that another server runs, have
 *            another one, and begin a quarantine (has_replid2).
 *   run_id   a random text of a table in memory, which a restart empties. A
 *            restart begins a quarantine, unless each commit was on disk before
 *            its reply.
 *
 * The handshake is repeated when a request reports another marker, when an
 * error shows that the server has changed, and when a quarantine is over.
 *
 * A handshake takes one round trip, and one more for each write of the marker.
 * The schema is created once for each server. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/marker.h"
#include "store/mysql/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The settings of a session:
 *  - A COMMIT begins no new transaction, and may write.
 *  - The server does not end the session because it is idle (a year).
 *  - A verb waits for two seconds for one that replaces the routines.
 *  - Rows are deleted without a key: of the marker. */
static const char *const settings[] = {
    "SET SESSION autocommit = 1, SESSION completion_type = 0,"
    " SESSION wait_timeout = 31536000, SESSION lock_wait_timeout = 2,"
    " SESSION sql_safe_updates = 0",
    "SET SESSION TRANSACTION READ WRITE"};

enum { C_VERSION, C_READ_ONLY, C_LOG, C_FORMAT, C_USER };

static const char identity_sql[] =
    "SELECT VERSION(), @@global.read_only, @@global.log_bin,"
    " @@session.binlog_format, CURRENT_USER()";

const char hf_mysql_facts_sql[] = "CALL holdfast.facts()";

/* ---- Asking ------------------------------------------------------------- */

void hf_mysql_handshake(struct hf_mysql_node *node, struct hf_instant now)
{
    hf_sql_node_greet(&node->base, now);
    node->wrong_engine[0] = '\0';
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        hf_mysql_push_ours(node, HF_MYSQL_SET, settings[i],
                           strlen(settings[i]));
    }
    hf_mysql_push_ours(node, HF_MYSQL_IDENTITY, identity_sql,
                       strlen(identity_sql));
    hf_mysql_push_ours(node, HF_MYSQL_CLUSTER, hf_mysql_cluster_sql,
                       strlen(hf_mysql_cluster_sql));
    hf_mysql_push_ours(node, HF_MYSQL_FACTS, hf_mysql_facts_sql,
                       strlen(hf_mysql_facts_sql));
    hf_mysql_flush(node, now);
    hf_mysql_node_arm(node);
}

void hf_mysql_reidentify(struct hf_mysql_node *node, const char *why,
                         struct hf_instant now)
{
    if (hf_sql_node_doubt(&node->base, why)) {
        hf_mysql_handshake(node, now);
    }
}

void hf_mysql_peek(struct hf_mysql_node *node, struct hf_instant now)
{
    hf_sql_node_peek(&node->base, now);
    hf_mysql_push_ours(node, HF_MYSQL_PEEK, hf_mysql_facts_sql,
                       strlen(hf_mysql_facts_sql));
}

/* ---- Parsing the replies ------------------------------------------------ */

/* "10.11.19-MariaDB-0+deb12u1", "8.0.36" */
static unsigned long number_of(const char *version)
{
    char *at;
    unsigned long major = strtoul(version, &at, 10);
    unsigned long minor = *at == '.' ? strtoul(at + 1, &at, 10) : 0;
    unsigned long patch = *at == '.' ? strtoul(at + 1, &at, 10) : 0;
    return major * 10000 + minor * 100 + patch;
}

static bool is_on(const struct hf_sql_row *row, unsigned column)
{
    char text[HF_TEXT_SHORT];
    hf_sql_row_text(row, column, text, sizeof(text));
    return text[0] != '\0' && strcmp(text, "0") != 0 &&
           strcasecmp(text, "OFF") != 0;
}

/* app@% as GRANT takes it: 'app'@'%'. One that is cut is another account, so a
 * long or odd one is not shown. */
static void read_role(struct hf_mysql_node *node, const struct hf_sql_row *row)
{
    char text[HF_TEXT_SENTENCE];
    _Static_assert(sizeof(text) > sizeof(node->role),
                   "one that is cut is long");
    hf_sql_row_text(row, C_USER, text, sizeof(text));
    bool is_odd = strpbrk(text, "'\\") != NULL;
    char *host = strrchr(text, '@');
    if (host != NULL) {
        *host++ = '\0';
    }
    int len = snprintf(node->role, sizeof(node->role), "'%s'@'%s'", text,
                       host == NULL ? "%" : host);
    if (is_odd || len >= (int)sizeof(node->role)) {
        snprintf(node->role, sizeof(node->role), "this account");
    }
}

static void read_identity(struct hf_mysql_node *node,
                          const struct hf_mysql_reply *reply)
{
    char format[HF_TEXT_NUMBER];
    struct hf_sql_row row;
    (void)hf_mysql_first(reply, &row);
    hf_sql_row_text(&row, C_VERSION, node->version, sizeof(node->version));
    hf_sql_row_text(&row, C_FORMAT, format, sizeof(format));
    node->server_version = number_of(node->version);
    node->is_mariadb = strcasestr(node->version, "mariadb") != NULL;
    node->is_read_only = is_on(&row, C_READ_ONLY);
    node->logs_statements =
        is_on(&row, C_LOG) && strcasecmp(format, "STATEMENT") == 0;
    read_role(node, &row);
}

static void read_server_fact(struct hf_mysql_node *node, const char *field,
                             const char *value)
{
    struct hf_identity *identity = &node->base.admission.identity;
    if (strcmp(field, "system") == 0) {
        snprintf(identity->replid, sizeof(identity->replid), "%.40s", value);
    } else if (strcmp(field, "run") == 0) {
        snprintf(identity->run_id, sizeof(identity->run_id), "%.40s", value);
    } else if (strcmp(field, "durable") == 0) {
        identity->knows_durability = true;
        identity->is_durable = value[0] == '1';
    } else if (strcmp(field, "engine") == 0) {
        snprintf(node->wrong_engine, sizeof(node->wrong_engine), "%.59s",
                 value);
    } else if (strcmp(field, "now_us") == 0) {
        node->base.time_ms = hf_marker_number(strtoll(value, NULL, 10) / 1000);
    } else if (strcmp(field, "schema") == 0) {
        node->base.schema = hf_marker_number(strtoll(value, NULL, 10));
    }
}

/* The fields of the marker, and with `is_all` those of the server. */
static void read_facts(struct hf_mysql_node *node,
                       const struct hf_mysql_reply *reply, bool is_all,
                       struct hf_marker *marker)
{
    struct hf_sql_row row;
    memset(marker, 0, sizeof(*marker));
    for (bool is_there = hf_mysql_first(reply, &row); is_there;
         is_there = hf_mysql_next(reply, &row)) {
        char field[HF_CLOCK_NAME_MAX + 16];
        char value[HF_TEXT_PHRASE];
        hf_sql_row_text(&row, 0, field, sizeof(field));
        hf_sql_row_text(&row, 1, value, sizeof(value));
        if (strncmp(field, "server:", 7) != 0) {
            hf_marker_read(marker, node->store->base.host, field, value);
        } else if (is_all) {
            read_server_fact(node, field + 7, value);
        }
    }
}

/* ---- Replies ------------------------------------------------------------ */

static void note_fault(struct hf_mysql_node *node,
                       const struct hf_mysql_reply *reply)
{
    if (node->base.greet_fault == HF_OK) {
        node->base.greet_fault = hf_mysql_fault(
            reply, node->base.greet_reason, sizeof(node->base.greet_reason));
    }
}

/* The server says the same whether there is no procedure, or no right. */
static void note_denied(struct hf_mysql_node *node)
{
    node->base.greet_fault = HF_DENIED;
    snprintf(node->base.greet_reason, sizeof(node->base.greet_reason),
             "does not let %s use database holdfast: GRANT EXECUTE ON "
             "holdfast.* TO that account; if there is none, holdfast doctor "
             "--init",
             node->role);
}

static void refuse_schema(struct hf_mysql_node *node)
{
    char why[sizeof(node->base.standing.reason)];
    if (node->base.schema > HF_MYSQL_SCHEMA_VERSION) {
        snprintf(why, sizeof(why),
                 "has version %" PRId64 " of database \"holdfast\", and this "
                 "client knows %d: use a newer holdfast",
                 node->base.schema, HF_MYSQL_SCHEMA_VERSION);
    } else {
        snprintf(why, sizeof(why),
                 "has no database \"holdfast\" after it was made: holdfast "
                 "doctor --print-schema -u mysql: shows what it needs");
    }
    hf_sql_node_refuse(&node->base, HF_CONFIG, why);
}

/* The reply to facts() is the last of the handshake. Create the schema if it is
 * missing, refuse the server if that is not possible, or judge it. */
static void complete(struct hf_mysql_node *node,
                     const struct hf_mysql_reply *reply, struct hf_instant now)
{
    char why[sizeof(node->base.standing.reason)];
    if (reply->rows != NULL) {
        read_facts(node, reply, true, &node->base.admission.marker);
        node->base.admission.identity.has_replid2 =
            true; /* another: a promotion */
    } else if (hf_mysql_fault_is_denied(reply)) {
        note_denied(node);
    } else if (!hf_mysql_fault_is_missing(reply)) {
        note_fault(node, reply);
    }
    bool is_usable = node->base.greet_fault == HF_OK &&
                     hf_mysql_check_eligible(node, why, sizeof(why));
    if (!is_usable || node->base.schema == HF_MYSQL_SCHEMA_VERSION) {
        hf_mysql_judge(node);
    } else if (node->base.schema < HF_MYSQL_SCHEMA_VERSION &&
               !node->base.has_installed) {
        hf_mysql_install(node, now);
    } else {
        refuse_schema(node);
    }
}

static void take_peek(struct hf_mysql_node *node,
                      const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_marker marker;
    if (!hf_sql_node_is_ready(&node->base) || reply->rows == NULL) {
        return;
    }
    read_facts(node, reply, false, &marker);
    if (hf_sql_node_peeked(&node->base, &marker)) {
        hf_mysql_handshake(node, now);
    }
}

/* If they cannot be read now, the schema is made. */
static void read_schema(struct hf_mysql_node *node,
                        const struct hf_mysql_reply *reply)
{
    struct hf_marker marker;
    if (reply->rows != NULL) {
        read_facts(node, reply, true, &marker);
    }
    hf_mysql_install_judge(node);
}

static void take_identity(struct hf_mysql_node *node,
                          const struct hf_mysql_request *request,
                          const struct hf_mysql_reply *reply)
{
    if (reply->error != 0) {
        note_fault(node, reply);
    } else if (request->kind == HF_MYSQL_IDENTITY) {
        read_identity(node, reply);
    } else if (request->kind == HF_MYSQL_CLUSTER) {
        node->cluster = hf_mysql_cluster_of(reply);
    }
}

void hf_mysql_handshake_reply(struct hf_mysql_node *node,
                              const struct hf_mysql_request *request,
                              const struct hf_mysql_reply *reply,
                              struct hf_instant now)
{
    switch (request->kind) {
    case HF_MYSQL_FACTS:
        complete(node, reply, now);
        break;
    case HF_MYSQL_INSTALL_LOCK:
    case HF_MYSQL_INSTALL:
    case HF_MYSQL_INSTALLED:
        hf_mysql_installed(node, request, reply, now);
        break;
    case HF_MYSQL_INSTALL_FACTS:
        read_schema(node, reply);
        break;
    case HF_MYSQL_MARK:
        hf_mysql_marked(node, reply, now);
        break;
    case HF_MYSQL_PEEK:
        take_peek(node, reply, now);
        break;
    default:
        take_identity(node, request, reply);
        break;
    }
}
