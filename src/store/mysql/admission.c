/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server is a kind that can be the node, and the consequences of
 * the decision of store/admission.h for it:
 *
 *     Galera, read-only, logs of statements, too old    refused: HF_CONFIG
 *
 * Only holdfast.marker() writes the marker. */
#include "io/clock.h"
#include "store/marker.h"
#include "store/mysql/node.h"

#include <stdio.h>
#include <string.h>

/* The procedures of the schema need SKIP LOCKED. */
#define MARIADB_VERSION_MIN 100600
#define MYSQL_VERSION_MIN 80001

/* Of the marker's texts, those that are fields and contents in turns. */
#define FIRST_FACT 4

void hf_my_refuse(struct hf_my_node *node, enum hf_status fault,
                  const char *why)
{
    node->greet_fault = fault;
    snprintf(node->greet_reason, sizeof(node->greet_reason), "%s", why);
    hf_mysql_connection_break(&node->connection, fault, node->greet_reason);
}

bool hf_my_is_eligible(const struct hf_my_node *node, char *why, size_t size)
{
    unsigned long least =
        node->is_mariadb ? MARIADB_VERSION_MIN : MYSQL_VERSION_MIN;
    if (node->server_version > 0 && node->server_version < least) {
        snprintf(why, size, "is %s %.40s: MariaDB 10.6 or MySQL 8.0 is needed",
                 node->is_mariadb ? "MariaDB" : "MySQL", node->version);
    } else if (node->is_cluster) {
        snprintf(why, size,
                 "is of a Galera cluster (wsrep_on), whose servers do not see "
                 "each other's row locks: name a server of its own");
    } else if (node->is_read_only) {
        snprintf(why, size,
                 "is read-only, as replicas are: name the primary instead");
    } else if (node->logs_statements) {
        snprintf(why, size,
                 "logs statements (binlog_format=STATEMENT), which it refuses "
                 "at READ COMMITTED: SET GLOBAL binlog_format = 'MIXED'");
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

/* A JSON array of texts. Ours are plain; a server that reports others gets
 * other ones back, and is another at the next handshake. */
static void add_facts(struct hf_my_text *call, const char *const *texts,
                      size_t n)
{
    char json[1024];
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        len += (size_t)snprintf(json + len, sizeof(json) - len, "%s\"",
                                i == 0 ? "[" : ",");
        for (const char *at = texts[i]; *at != '\0'; at++) {
            json[len++] = is_plain(*at) ? *at : '_';
        }
        json[len++] = '"';
    }
    json[len++] = ']';
    static const char before[] = ",CONVERT(", after[] = " USING utf8mb4)";
    hf_my_text_add(call, before, strlen(before));
    hf_my_bytes(call, json, len);
    hf_my_text_add(call, after, strlen(after));
}

/* Write the verdict's marker if the server's still has the value that we read.
 */
static void write_marker(struct hf_my_node *node)
{
    struct hf_my_text *call = &node->call;
    struct hf_marker_texts marker;
    hf_marker_write(&node->admission.verdict.marker, node->store->host,
                    &marker);
    hf_my_text_clear(call);
    hf_my_call(call, "marker");
    hf_my_bytes_of(call, node->admission.marker.value);
    hf_my_bytes_of(call, marker.texts[0]);
    hf_my_number(call, marker.texts[1][0] == '1');
    hf_my_bytes_of(call, marker.texts[2]);
    hf_my_bytes_of(call, marker.texts[3]);
    add_facts(call, marker.texts + FIRST_FACT, HF_MARKER_TEXTS - FIRST_FACT);
    hf_my_end(call);
    node->phase = HF_MY_MARKING;
    hf_my_push_call(node, HF_MY_MARK);
}

/* ---- Texts -------------------------------------------------------------- */

void hf_my_quarantine_text(const struct hf_my_node *node, char *out,
                           size_t size)
{
    static const char *const causes[] = {
        [HF_SUSPECT_NO_TRACE] =
            "shows no trace of Holdfast (new, restored or emptied)",
        [HF_SUSPECT_EMPTIED] = "was emptied, or lost its marker",
        [HF_SUSPECT_REPLACED] =
            "was restarted, restored or promoted since it was last known",
        [HF_SUSPECT_WATCHED] =
            "is being watched (new, restarted, emptied or promoted)",
    };
    hf_admission_quarantine_text(&node->admission, causes, out, size);
}

/* ---- The decision ------------------------------------------------------- */

/* The marker is up to date: open the node for requests. In quarantine these are
 * renewals and releases, and it has no vote. */
static void become_ready(struct hf_my_node *node, struct hf_instant now)
{
    bool is_quarantined = hf_admission_open(&node->admission);
    node->greet_fault = HF_OK;
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_MY_PEEK_MS));
    node->phase = HF_MY_READY;
    hf_reconnect_served(&node->connection.link.reconnect, now);
    char why[sizeof(node->standing.reason)] = "";
    if (is_quarantined) {
        hf_my_quarantine_text(node, why, sizeof(why));
    }
    hf_standing_set(&node->standing, &node->store->env, 0,
                    is_quarantined ? HF_NODE_STATUS_REPAIRING
                                   : HF_NODE_STATUS_VOTING,
                    node->admission.verdict.is_reset,
                    is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_my_node_arm(node);
    hf_my_jobs(node, now);
}

static void refuse_mismatch(struct hf_my_node *node)
{
    char why[sizeof(node->standing.reason)];
    hf_admission_mismatch_text(&node->admission, why, sizeof(why));
    hf_my_refuse(node, HF_CONFIG, why);
}

/* The marker was just read or written. The reply may be later than the loop's
 * `now`: so the clock is read here. */
static void go_on(struct hf_my_node *node)
{
    struct hf_instant now = hf_clock_now();
    switch (hf_admission_decide(&node->admission, node->jobs.pending, now)) {
    case HF_ADMISSION_SURVEY:
        hf_my_survey(node, now);
        break;
    case HF_ADMISSION_REFUSE:
        refuse_mismatch(node);
        break;
    case HF_ADMISSION_WRITE:
        write_marker(node);
        break;
    case HF_ADMISSION_OPEN:
        become_ready(node, now);
        break;
    }
}

void hf_my_judge(struct hf_my_node *node)
{
    char why[sizeof(node->standing.reason)];
    if (!hf_my_is_eligible(node, why, sizeof(why))) {
        hf_my_refuse(node, HF_CONFIG, why);
    } else if (node->greet_fault != HF_OK) {
        hf_mysql_connection_break(&node->connection, node->greet_fault,
                                  node->greet_reason);
    } else {
        hf_admission_read(&node->admission);
        go_on(node);
    }
}

void hf_my_marked(struct hf_my_node *node, const struct hf_mysql_reply *reply,
                  struct hf_instant now)
{
    struct hf_my_row row;
    if (!hf_my_first(reply, &row)) {
        char words[160];
        char why[sizeof(node->standing.reason)];
        enum hf_status fault = hf_my_fault(reply, words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        hf_my_refuse(node, fault, why);
    } else if (hf_my_integer(&row, 0) == 1) {
        hf_admission_wrote(&node->admission);
        go_on(node);
    } else {
        node->admission.is_declared = false;
        hf_my_handshake(node, now);
    }
}
