/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server is a kind that can be the node, and how the decision of
 * store/admission.h means for it:
 *
 *     standby, read-only, too old                       refused: HF_CONFIG
 *
 * Only holdfast.marker() writes the marker. */
#include "io/clock.h"
#include "store/marker.h"
#include "store/postgres/node.h"

#include <stdio.h>
#include <string.h>

/* server_version_num of 12: the schema's functions need it. */
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
    } else if (node->is_pooled &&
               strcmp(node->isolation, "read committed") != 0) {
        snprintf(why, size,
                 "is reached through a pooler, whose transactions are %s: "
                 "ALTER ROLE \"%.40s\" SET default_transaction_isolation = "
                 "'read committed'",
                 node->isolation, node->role);
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

static const char marker_sql[] = HF_PG_CALL(
    "a.*", "holdfast.marker($1, $2, $3, $4, $5, VARIADIC ARRAY["
           "$6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "
           "$19]::text[])");
_Static_assert(HF_MARKER_TEXTS == 18, "and the value to replace: $1 to $19");

/* Write the verdict's marker if the server's still has the value that we read.
 */
static void write_marker(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_params params;
    struct hf_marker_texts marker;
    hf_marker_write(&node->admission.verdict.marker, node->store->host,
                    &marker);
    hf_pg_params_init(&params);
    hf_pg_params_text(&params, node->admission.marker.value);
    for (size_t i = 0; i < HF_MARKER_TEXTS; i++) {
        hf_pg_params_text(&params, marker.texts[i]);
    }
    node->phase = HF_PG_MARKING;
    hf_pg_node_ask(node, HF_PG_MARK, marker_sql, &params, now);
}

/* ---- Texts -------------------------------------------------------------- */

void hf_pg_quarantine_text(const struct hf_pg_node *node, char *out,
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
static void become_ready(struct hf_pg_node *node, struct hf_instant now)
{
    bool is_quarantined = hf_admission_open(&node->admission);
    node->greet_fault = HF_OK;
    node->peek_at = hf_instant_add(now, hf_span_ms(HF_PG_PEEK_MS));
    node->phase = HF_PG_READY;
    hf_reconnect_served(&node->connection.link.reconnect, now);
    char why[sizeof(node->standing.reason)] = "";
    if (is_quarantined) {
        hf_pg_quarantine_text(node, why, sizeof(why));
    }
    hf_standing_set(&node->standing, &node->store->env, 0,
                    is_quarantined ? HF_NODE_STATUS_REPAIRING
                                   : HF_NODE_STATUS_VOTING,
                    node->admission.verdict.is_reset,
                    is_quarantined ? HF_QUARANTINED : HF_OK, why);
    hf_pg_node_arm(node);
    hf_pg_jobs(node, now);
}

static void refuse_mismatch(struct hf_pg_node *node)
{
    char why[sizeof(node->standing.reason)];
    hf_admission_mismatch_text(&node->admission, why, sizeof(why));
    hf_pg_refuse(node, HF_CONFIG, why);
}

/* The marker was just read or written. The reply may be later than the loop's
 * `now`: so the clock is read here. */
static void go_on(struct hf_pg_node *node)
{
    struct hf_instant now = hf_clock_now();
    switch (hf_admission_decide(&node->admission, node->jobs.pending, now)) {
    case HF_ADMISSION_SURVEY:
        hf_pg_survey(node, now);
        break;
    case HF_ADMISSION_REFUSE:
        refuse_mismatch(node);
        break;
    case HF_ADMISSION_WRITE:
        write_marker(node, now);
        break;
    case HF_ADMISSION_OPEN:
        become_ready(node, now);
        break;
    }
}

void hf_pg_judge(struct hf_pg_node *node, struct hf_instant now)
{
    char why[sizeof(node->standing.reason)];
    (void)now;
    if (!is_eligible(node, why, sizeof(why))) {
        hf_pg_refuse(node, HF_CONFIG, why);
    } else if (node->greet_fault != HF_OK) {
        hf_pg_connection_break(&node->connection, node->greet_fault,
                               node->greet_reason);
    } else {
        hf_admission_read(&node->admission);
        go_on(node);
    }
}

void hf_pg_marked(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                  struct hf_instant now)
{
    if (reply->error != NULL) {
        char words[160];
        char why[sizeof(node->standing.reason)];
        enum hf_status fault = hf_pg_fault(reply->error, words, sizeof(words));
        snprintf(why, sizeof(why), "its marker cannot be written: %s", words);
        hf_pg_refuse(node, fault, why);
    } else if (hf_pg_integer(reply->rows, 0, 0) == 1 && !reply->is_unsure) {
        hf_admission_wrote(&node->admission);
        go_on(node);
    } else {
        node->admission.is_declared = false;
        hf_pg_handshake(node, now);
    }
}
