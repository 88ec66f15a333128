/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server is a kind that can be the node, and the next step after
 * the decision of store/sql/admission.c:
 *
 *     standby, read-only, too old, an UNLOGGED table    refused: HF_CONFIG
 *
 * Only holdfast.marker() writes the marker. */
#include "store/marker.h"
#include "store/postgres/node.h"

#include <stdio.h>
#include <string.h>

/* server_version_num of 12: the schema's functions need it. */
#define SERVER_VERSION_MIN 120000

/** @return false: this server cannot be the node; `why` has the reason. */
static bool check_eligible(const struct hf_pg_node *node, char *why,
                           size_t size)
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
                 "ALTER ROLE \"%s\" SET default_transaction_isolation = "
                 "'read committed'",
                 node->isolation, node->role);
    } else if (node->is_read_only) {
        snprintf(why, size,
                 "is read-only for role \"%s\" "
                 "(default_transaction_read_only): locks are written",
                 node->role);
    } else if (node->unlogged[0] != '\0') {
        snprintf(why, size,
                 "keeps holdfast.%s UNLOGGED, and a crash empties it: ALTER "
                 "TABLE holdfast.%s SET LOGGED, then holdfast doctor "
                 "--quarantine all",
                 node->unlogged, node->unlogged);
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

/* Write the ruling's marker if the server's still has the value that we read.
 */
static void write_marker(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_params params;
    struct hf_marker_texts marker;
    hf_marker_write(&node->base.admission.ruling.marker, node->store->base.host,
                    &marker);
    hf_pg_params_init(&params);
    hf_pg_params_text(&params, node->base.admission.marker.value);
    for (size_t i = 0; i < HF_MARKER_TEXTS; i++) {
        hf_pg_params_text(&params, marker.texts[i]);
    }
    hf_pg_node_ask(node, HF_PG_MARK, marker_sql, &params, now);
}

/* ---- The decision ------------------------------------------------------- */

static void go_on(struct hf_pg_node *node)
{
    struct hf_instant now;
    switch (hf_sql_node_admit(&node->base, &now)) {
    case HF_ADMISSION_SURVEY:
        hf_pg_survey(node, now);
        break;
    case HF_ADMISSION_REFUSE:
        break;
    case HF_ADMISSION_WRITE:
        write_marker(node, now);
        break;
    case HF_ADMISSION_ACCEPT:
        hf_pg_node_arm(node);
        hf_pg_jobs(node, now);
        break;
    }
}

void hf_pg_judge(struct hf_pg_node *node)
{
    char why[HF_STANDING_REASON_MAX];
    bool is_fit = check_eligible(node, why, sizeof(why));
    if (hf_sql_node_judge(&node->base, is_fit ? NULL : why)) {
        go_on(node);
    }
}

void hf_pg_marked(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                  struct hf_instant now)
{
    if (reply->error != NULL) {
        char words[HF_TEXT_SENTENCE];
        enum hf_status fault = hf_pg_fault(reply->error, words, sizeof(words));
        hf_sql_node_unmarked(&node->base, fault, words);
    } else if (hf_pg_integer(reply->rows, 0, 0) == 1 && !reply->is_unsure) {
        hf_admission_wrote(&node->base.admission);
        go_on(node);
    } else {
        node->base.admission.is_declared = false;
        hf_pg_handshake(node, now);
    }
}
