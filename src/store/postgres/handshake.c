/* SPDX-License-Identifier: Apache-2.0 */
/* THE HANDSHAKE: THE SERVER'S IDENTITY, AND WHETHER IT HAS LOST DATA
 *
 *     ──▶ the settings of the session and the kind of server; with it
 *         holdfast.facts()
 *     ◀── both replies; admission.c decides
 *     ──▶ the schema, if it is missing and the role may create it; then the
 *         handshake begins again
 *     ──▶ marker(), if the marker is missing, stale, or lacks our host
 *     ◀── 1: written, decide again; 0: another client was faster, read again
 *
 * core/quarantine.h compares two texts with those in the server's marker, and
 * the marker's run_id with that of this client's last handshake:
 *
 *   replid   the system identifier and the time-line. A restored backup and a
 *            promoted standby have another time-line, and begin a quarantine
 *            (has_replid2).
 *   run_id   the replid and the start time of the server. A restart begins a
 *            quarantine, unless each commit was on disk before its reply. A
 *            crash of one backend, after which the server recovers by itself,
 *            keeps it: that empties UNLOGGED tables, so admission.c refuses
 *            them.
 *
 * The handshake is repeated when a request reports another marker, when an
 * error shows that the server has changed, when a quarantine is over or a peek
 * finds that another client ended it, after a lost race for the marker, and for
 * the jobs of `holdfast doctor`.
 *
 * A handshake takes one round trip, and one more for each write of the marker.
 * The schema is created once for each database. */
#include "base/assert.h"
#include "store/marker.h"
#include "store/postgres/node.h"
#include "store/postgres/schema.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timeout of the creation of the schema, in milliseconds: it may wait for
 * another client that creates it. */
#define INSTALL_MS_MAX 20000

/* The settings of a session:
 *  - Transactions are READ COMMITTED: the functions of the schema need it.
 *  - A warning at COMMIT is sent: it says that the commit may be lost.
 *  - The server does not end the session because it is idle.
 *  - A commit waits for the disk. Otherwise a marker that another session
 *    wrote, which says that the server is durable, would be wrong, and a
 *    restart would begin no quarantine.
 * Through a pooler the session belongs to other clients too, so each call makes
 * its own settings (HF_PG_CALL). A pooler is recognised by the process id of
 * its own that it has reported to this client. */
#define IS_OURS "pg_backend_pid() = $1"
#define SET ", CASE WHEN " IS_OURS " THEN set_config("
#define END ", false) END"
#define SETTINGS                                                               \
    SET "'default_transaction_isolation', 'read committed'" END SET            \
        "'client_min_messages', 'warning'" END SET                             \
        "'synchronous_commit', CASE current_setting('synchronous_commit')"     \
        " WHEN 'off' THEN 'local'"                                             \
        " ELSE current_setting('synchronous_commit') END" END                  \
        ", CASE WHEN current_setting('idle_session_timeout', true) <> '0'"     \
        " AND " IS_OURS                                                        \
        " THEN set_config('idle_session_timeout', '0', false) END"

enum {
    C_VERSION,
    C_VERSION_TEXT,
    C_STANDBY,
    C_READ_ONLY,
    C_OURS,
    C_ISOLATION,
    C_CREATE,
    C_OWNER,
    C_ROLE,
    C_DATABASE
};

/* When glibc's malloc() frees a chunk with a mapping of its own, it raises the
 * threshold above which it returns free memory to twice the chunk's size
 * (mallopt(3), M_MMAP_THRESHOLD). Without that, a session whose heap ends at an
 * unlucky place gets pages from the kernel and returns them in each statement:
 * a third of the time of an acquisition (bench/README.md). The heap of a
 * statement takes between 256 and 512 KiB. The length is no constant, since the
 * planner would evaluate that, and copy the text. */
#define RAISE_TRIM_THRESHOLD                                                   \
    "length(repeat('x', 262144 + pg_backend_pid() * 0))"

static const char identity_sql[] =
    "SELECT current_setting('server_version_num')::int,"
    " current_setting('server_version'), pg_is_in_recovery(),"
    " current_setting('default_transaction_read_only') = 'on',"
    " " IS_OURS ", current_setting('default_transaction_isolation'),"
    " has_database_privilege(current_database(), 'CREATE'),"
    " EXISTS (SELECT FROM pg_namespace WHERE nspname = 'holdfast'"
    " AND pg_get_userbyid(nspowner) = current_user),"
    " current_user::text, current_database()::text,"
    " " RAISE_TRIM_THRESHOLD SETTINGS;

static const char facts_sql[] =
    HF_PG_CALL("a.field, a.content", "holdfast.facts()");

/* ---- Asking ------------------------------------------------------------- */

void hf_pg_handshake(struct hf_pg_node *node, struct hf_instant now)
{
    node->serves = 0;
    node->unlogged[0] = '\0';
    hf_sql_node_greet(&node->base, now);
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    hf_pg_params_number(&params, PQbackendPID(node->connection.pq));
    hf_pg_node_ask(node, HF_PG_IDENTITY, identity_sql, &params, now);
    hf_pg_node_ask(node, HF_PG_FACTS, facts_sql, NULL, now);
    hf_pg_node_arm(node);
}

void hf_pg_reidentify(struct hf_pg_node *node, const char *why,
                      struct hf_instant now)
{
    if (hf_sql_node_doubt(&node->base, why)) {
        hf_pg_handshake(node, now);
    }
}

void hf_pg_peek(struct hf_pg_node *node, struct hf_instant now)
{
    hf_sql_node_peek(&node->base, now);
    hf_pg_node_ask(node, HF_PG_PEEK, facts_sql, NULL, now);
}

static void install(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_pending pending = {.sent = now, .kind = HF_PG_INSTALL};
    hf_sql_node_install(&node->base, hf_span_ms(INSTALL_MS_MAX), now);
    if (!hf_pg_connection_run(&node->connection, &pending,
                              hf_postgres_text_schema)) {
        hf_pg_connection_break(&node->connection, HF_NO_MEMORY,
                               "out of memory");
    }
    hf_pg_connection_flush(&node->connection);
    hf_pg_node_arm(node);
}

/* ---- Parsing the replies ------------------------------------------------ */

static void read_identity(struct hf_pg_node *node, const struct pg_result *rows)
{
    node->server_version = (int)hf_pg_integer(rows, 0, C_VERSION);
    hf_pg_text(rows, 0, C_VERSION_TEXT, node->version, sizeof(node->version));
    node->is_standby = hf_pg_is_true(rows, 0, C_STANDBY);
    node->is_read_only = hf_pg_is_true(rows, 0, C_READ_ONLY);
    node->is_pooled = !hf_pg_is_true(rows, 0, C_OURS);
    node->connection.owns_session = !node->is_pooled;
    hf_pg_text(rows, 0, C_ISOLATION, node->isolation, sizeof(node->isolation));
    node->may_create = hf_pg_is_true(rows, 0, C_CREATE);
    node->is_owner = hf_pg_is_true(rows, 0, C_OWNER);
    hf_pg_text(rows, 0, C_ROLE, node->role, sizeof(node->role));
    hf_pg_text(rows, 0, C_DATABASE, node->database, sizeof(node->database));
}

/* Two or three of them make the run id, whatever their order in the reply. */
struct facts {
    uint64_t system;
    uint64_t start_us;
    char timeline[HF_TEXT_SHORT];
};

static void read_server_fact(struct hf_pg_node *node, struct facts *facts,
                             const char *field, const char *value)
{
    if (strcmp(field, "system") == 0) {
        facts->system = strtoull(value, NULL, 10);
    } else if (strcmp(field, "start") == 0) {
        facts->start_us = strtoull(value, NULL, 10);
    } else if (strcmp(field, "timeline") == 0) {
        snprintf(facts->timeline, sizeof(facts->timeline), "%.8s", value);
    } else if (strcmp(field, "durable") == 0) {
        node->base.admission.identity.knows_durability = true;
        node->base.admission.identity.is_durable = value[0] == '1';
    } else if (strcmp(field, "synchronous") == 0) {
        node->is_synchronous = value[0] == '1';
    } else if (strcmp(field, "now_us") == 0) {
        node->base.time_ms = hf_marker_number(strtoll(value, NULL, 10) / 1000);
    } else if (strcmp(field, "schema") == 0) {
        node->base.schema = hf_marker_number(strtoll(value, NULL, 10));
    } else if (strcmp(field, "serves") == 0) {
        node->serves = hf_marker_number(strtoll(value, NULL, 10));
    } else if (strcmp(field, "unlogged") == 0) {
        snprintf(node->unlogged, sizeof(node->unlogged), "%.15s", value);
    }
}

static void read_facts(struct hf_pg_node *node, const struct pg_result *rows,
                       struct facts *facts, struct hf_marker *marker)
{
    memset(facts, 0, sizeof(*facts));
    memset(marker, 0, sizeof(*marker));
    for (int i = 0; i < hf_pg_rows(rows); i++) {
        char field[HF_CLOCK_NAME_MAX + 16];
        char value[HF_TEXT_PHRASE];
        hf_pg_text(rows, i, 0, field, sizeof(field));
        hf_pg_text(rows, i, 1, value, sizeof(value));
        if (strncmp(field, "server:", 7) == 0) {
            read_server_fact(node, facts, field + 7, value);
        } else {
            hf_marker_read(marker, node->store->base.host, field, value);
        }
    }
}

/* ---- Replies ------------------------------------------------------------ */

static void take_facts(struct hf_pg_node *node, const struct pg_result *rows)
{
    struct facts facts;
    struct hf_identity *identity = &node->base.admission.identity;
    read_facts(node, rows, &facts, &node->base.admission.marker);
    snprintf(identity->replid, sizeof(identity->replid), "%016" PRIx64 "-%s",
             facts.system, facts.timeline);
    snprintf(identity->run_id, sizeof(identity->run_id),
             "%016" PRIx64 "-%s-%" PRIx64, facts.system, facts.timeline,
             facts.start_us);
    identity->has_replid2 = true; /* a change of replid is a promotion */
}

static void note_fault(struct hf_pg_node *node, const struct pg_result *error,
                       const char *hint)
{
    char words[HF_TEXT_SENTENCE];
    if (node->base.greet_fault == HF_OK) {
        node->base.greet_fault = hf_pg_fault(error, words, sizeof(words));
        snprintf(node->base.greet_reason, sizeof(node->base.greet_reason),
                 "%.80s%.180s", words, hint);
    }
}

static bool is_missing(const struct pg_result *error)
{
    return hf_pg_fault_is(error, "3F000") || hf_pg_fault_is(error, "42883") ||
           hf_pg_fault_is(error, "42P01");
}

/* A schema is upgraded in place while clients of the previous version run, so a
 * later version says which clients it still serves. */
static bool is_too_new(const struct hf_pg_node *node)
{
    return node->base.schema > HF_PG_SCHEMA_VERSION &&
           (node->serves == 0 || node->serves > HF_PG_SCHEMA_VERSION);
}

static void refuse_schema(struct hf_pg_node *node)
{
    char why[sizeof(node->base.standing.reason)];
    if (is_too_new(node)) {
        snprintf(why, sizeof(why),
                 "has version %" PRId64 " of schema \"holdfast\" in database "
                 "%s, and this client knows %d: use a newer holdfast",
                 node->base.schema, node->database, HF_PG_SCHEMA_VERSION);
    } else if (node->base.schema > 0) {
        snprintf(why, sizeof(why),
                 "has schema \"holdfast\" of version %" PRId64
                 " in database %s, this client needs %d: as its owner run "
                 "holdfast doctor --print-schema -u postgres: | psql",
                 node->base.schema, node->database, HF_PG_SCHEMA_VERSION);
    } else {
        snprintf(why, sizeof(why),
                 "has no schema \"holdfast\" in database %s, and role \"%s\" "
                 "may not create it: run holdfast doctor --init as one that "
                 "may",
                 node->database, node->role);
    }
    hf_sql_node_refuse(&node->base, HF_CONFIG, why);
}

/* The reply to facts() is the last of the handshake. Create the schema if it is
 * missing or old, refuse the server if that is not possible, or judge it. */
static void complete(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                     struct hf_instant now)
{
    char why[sizeof(node->base.standing.reason)];
    bool is_there = reply->error == NULL;
    if (is_there) {
        take_facts(node, reply->rows);
    } else if (hf_pg_fault_is(reply->error, "42501")) {
        snprintf(why, sizeof(why),
                 "; in %s: GRANT USAGE ON SCHEMA holdfast TO \"%s\"",
                 node->database, node->role);
        note_fault(node, reply->error, why);
    } else if (!is_missing(reply->error)) {
        note_fault(node, reply->error, "");
    }
    bool is_usable = node->base.greet_fault == HF_OK && !node->is_standby &&
                     !node->is_read_only;
    bool is_old = node->base.schema < HF_PG_SCHEMA_VERSION;
    bool may_install = node->may_create && !node->base.has_installed &&
                       (node->base.schema == 0 || node->is_owner);
    if (!is_usable || (!is_old && !is_too_new(node))) {
        hf_pg_judge(node);
    } else if (is_old && may_install) {
        install(node, now);
    } else {
        refuse_schema(node);
    }
}

static void take_peek(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                      struct hf_instant now)
{
    struct facts facts;
    struct hf_marker marker;
    if (!hf_sql_node_is_ready(&node->base) || reply->error != NULL) {
        return;
    }
    read_facts(node, reply->rows, &facts, &marker);
    if (hf_sql_node_peeked(&node->base, &marker)) {
        hf_pg_handshake(node, now);
    }
}

static void take_install(struct hf_pg_node *node,
                         const struct hf_pg_reply *reply, struct hf_instant now)
{
    char words[HF_TEXT_SENTENCE], why[sizeof(node->base.standing.reason)];
    if (reply->error == NULL) {
        hf_pg_handshake(node, now);
        return;
    }
    enum hf_status fault = hf_pg_fault(reply->error, words, sizeof(words));
    snprintf(why, sizeof(why), "its schema \"holdfast\" cannot be made: %s",
             words);
    hf_sql_node_refuse(&node->base, fault, why);
}

void hf_pg_handshake_reply(struct hf_pg_node *node,
                           const struct hf_pg_pending *pending,
                           const struct hf_pg_reply *reply,
                           struct hf_instant now)
{
    switch (pending->kind) {
    case HF_PG_IDENTITY:
        if (reply->error != NULL) {
            note_fault(node, reply->error, "");
        } else {
            read_identity(node, reply->rows);
        }
        break;
    case HF_PG_FACTS:
        complete(node, reply, now);
        break;
    case HF_PG_INSTALL:
        take_install(node, reply, now);
        break;
    case HF_PG_MARK:
        hf_pg_marked(node, reply, now);
        break;
    default:
        take_peek(node, reply, now);
        break;
    }
}
