/* SPDX-License-Identifier: Apache-2.0 */
/* LABELS: TO WHICH REQUEST AN ANSWER BELONGS
 *
 * A pooler may give a client the answer to another one's request. PgBouncer
 * before 1.21 does: a client that leaves after the answer to the first of
 * several requests leaves its session to the pool, with the others to come. The
 * next client reads them as its own, and so does each one after it until the
 * session is idle once: a grant of another lock, say.
 *
 * So a request through a pooler is two statements and one Sync. The first one
 * has no rows that matter: its column has the name of the request. It comes
 * back before the answer, also before an error, and always.
 *
 *     ──▶ SELECT 1 AS "holdfast 5f1c…"; the request; Sync
 *     ◀── a column "holdfast 5f1c…"; the answer, or an error; ReadyForQuery
 *
 * A label is the one before it and one more; the first one of a connection is
 * random. An answer with another label ends the connection: its requests are
 * UNKNOWN, and are sent again on a new one.
 *
 * Cost: no round trip; one statement without a table for each request, in the
 * same write and the same transaction. Without a pooler nothing. */
#include "store/postgres/connection.h"
#include "store/postgres/connection_parts.h"

#include "base/assert.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

struct label_name {
    char text[HF_TEXT_WORD];
};

static struct label_name name_of(uint64_t label)
{
    struct label_name name;
    snprintf(name.text, sizeof(name.text), "holdfast %016" PRIx64, label);
    return name;
}

bool hf_pg_label_send(struct hf_pg_connection *connection, uint64_t label)
{
    char sql[HF_TEXT_PHRASE];
    int len =
        snprintf(sql, sizeof(sql), "SELECT 1 AS \"%s\"", name_of(label).text);
    HF_ASSERT(len > 0 && (size_t)len < sizeof(sql));
    return PQsendQueryParams(connection->pq, sql, 0, NULL, NULL, NULL, NULL,
                             1) == 1;
}

bool hf_pg_label_is(const struct pg_result *result, uint64_t label)
{
    const char *column = PQfname(result, 0);
    return column != NULL && strcmp(column, name_of(label).text) == 0;
}
