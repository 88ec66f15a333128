/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server is a kind that can be the node, and the next step after
 * the decision of store/sql/admission.c:
 *
 *     Galera, a group, read-only, logs of statements, too old: HF_CONFIG
 *     a table of another engine than it was made with: HF_CONFIG
 *
 * Only holdfast.marker() writes the marker. */
#include "base/assert.h"
#include "store/marker.h"
#include "store/mysql/node.h"

#include <stdio.h>
#include <string.h>

/* The procedures of the schema need SKIP LOCKED. */
#define MARIADB_VERSION_MIN 100600
#define MYSQL_VERSION_MIN 80001

/* Of the marker's texts, those that are fields and contents in turns. */
#define FIRST_FACT 4

/* Only a table in memory shows a restart, and only InnoDB keeps and locks rows.
 * A restart may have been missed meanwhile, or locks lost: the remedy makes it
 * known. */
static void write_engine(const struct hf_mysql_node *node, char *why,
                         size_t size)
{
    int len = (int)strcspn(node->wrong_engine, " ");
    const char *table = node->wrong_engine;
    const char *engine = table + len + (table[len] == ' ');
    if (strncmp(table, "run ", 4) == 0) {
        snprintf(why, size,
                 "keeps holdfast.run in %.30s, where it shows no restart: "
                 "DELETE FROM holdfast.run; ALTER TABLE holdfast.run ENGINE = "
                 "MEMORY",
                 engine);
    } else {
        snprintf(why, size,
                 "keeps holdfast.%.*s in %.30s: ALTER TABLE holdfast.%.*s "
                 "ENGINE = InnoDB, then holdfast doctor --quarantine all",
                 len, table, engine, len, table);
    }
}

bool hf_mysql_check_eligible(const struct hf_mysql_node *node, char *why,
                             size_t size)
{
    unsigned long least =
        node->is_mariadb ? MARIADB_VERSION_MIN : MYSQL_VERSION_MIN;
    if (node->server_version > 0 && node->server_version < least) {
        snprintf(why, size, "is %s %.40s: MariaDB 10.6 or MySQL 8.0 is needed",
                 node->is_mariadb ? "MariaDB" : "MySQL", node->version);
    } else if (node->cluster == HF_MYSQL_GALERA) {
        snprintf(why, size,
                 "is of a Galera cluster (wsrep_on), whose servers do not see "
                 "each other's row locks: name a server of its own");
    } else if (node->cluster == HF_MYSQL_GROUP) {
        snprintf(why, size,
                 "is of a group (Group Replication), whose servers do not see "
                 "each other's row locks: name a server of its own");
    } else if (node->cluster == HF_MYSQL_READER) {
        snprintf(why, size,
                 "only reads (innodb_read_only), as a reader of Amazon Aurora "
                 "does: name the writer instead");
    } else if (node->is_read_only) {
        snprintf(why, size,
                 "is read-only, as replicas are: name the primary instead");
    } else if (node->logs_statements) {
        snprintf(why, size,
                 "logs statements (binlog_format=STATEMENT), which it refuses "
                 "at READ COMMITTED: SET GLOBAL binlog_format = 'MIXED'");
    } else if (node->wrong_engine[0] != '\0') {
        write_engine(node, why, size);
    } else {
        return true;
    }
    return false;
}

/* ---- Writing the marker ------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* Bytes of a marker's facts as JSON: 14 texts, of at most HF_SERVER_ID_MAX each
 * with its quotes and comma, have some 700. */
#define FACTS_MAX 1024

/* A JSON array of texts. Ours are plain; a server that reports others gets
 * other ones back, and is another at the next handshake. */
static void add_facts(struct hf_mysql_text *call, const char *const *texts,
                      size_t n)
{
    char json[FACTS_MAX];
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        /* [" before the text, "] after it */
        HF_ASSERT(len + strlen(texts[i]) + 4 < sizeof(json));
        len += (size_t)snprintf(json + len, sizeof(json) - len, "%s\"",
                                i == 0 ? "[" : ",");
        for (const char *at = texts[i]; *at != '\0'; at++) {
            json[len++] = is_plain(*at) ? *at : '_';
        }
        json[len++] = '"';
    }
    json[len++] = ']';
    static const char before[] = ",CONVERT(", after[] = " USING utf8mb4)";
    hf_mysql_text_add(call, before, strlen(before));
    hf_mysql_bytes(call, json, len);
    hf_mysql_text_add(call, after, strlen(after));
}

/* Write the ruling's marker if the server's still has the value that we read.
 */
static void write_marker(struct hf_mysql_node *node)
{
    struct hf_mysql_text *call = &node->call;
    struct hf_marker_texts marker;
    hf_marker_write(&node->base.admission.ruling.marker, node->store->base.host,
                    &marker);
    hf_mysql_text_reset(call);
    hf_mysql_call(call, "marker");
    hf_mysql_bytes_of(call, node->base.admission.marker.value);
    hf_mysql_bytes_of(call, marker.texts[0]);
    hf_mysql_number(call, marker.texts[1][0] == '1');
    hf_mysql_bytes_of(call, marker.texts[2]);
    hf_mysql_bytes_of(call, marker.texts[3]);
    add_facts(call, marker.texts + FIRST_FACT, HF_MARKER_TEXTS - FIRST_FACT);
    hf_mysql_end(call);
    hf_mysql_push_call(node, HF_MYSQL_MARK);
}

/* ---- The decision ------------------------------------------------------- */

static void go_on(struct hf_mysql_node *node)
{
    struct hf_instant now;
    switch (hf_sql_node_admit(&node->base, &now)) {
    case HF_ADMISSION_SURVEY:
        hf_mysql_survey(node, now);
        break;
    case HF_ADMISSION_REFUSE:
        break;
    case HF_ADMISSION_WRITE:
        write_marker(node);
        break;
    case HF_ADMISSION_ACCEPT:
        hf_mysql_node_arm(node);
        hf_mysql_jobs(node, now);
        break;
    }
}

void hf_mysql_judge(struct hf_mysql_node *node)
{
    char why[HF_STANDING_REASON_MAX];
    bool is_fit = hf_mysql_check_eligible(node, why, sizeof(why));
    if (hf_sql_node_judge(&node->base, is_fit ? NULL : why)) {
        go_on(node);
    }
}

void hf_mysql_marked(struct hf_mysql_node *node,
                     const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_sql_row row;
    if (!hf_mysql_first(reply, &row)) {
        char words[HF_TEXT_SENTENCE];
        enum hf_status fault = hf_mysql_fault(reply, words, sizeof(words));
        hf_sql_node_unmarked(&node->base, fault, words);
    } else if (row.cells[0].number == 1) {
        hf_admission_wrote(&node->base.admission);
        go_on(node);
    } else {
        node->base.admission.is_declared = false;
        hf_mysql_handshake(node, now);
    }
}
