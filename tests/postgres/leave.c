/* SPDX-License-Identifier: Apache-2.0 */
/* A client of PostgreSQL that leaves before it has all its answers.
 *
 *     leave SQL1 SQL2     sends both, waits for the answer to the first, ends
 *
 * Where: the environment of libpq. */
#include <libpq-fe.h>

#include <stdbool.h>
#include <stdio.h>

static bool send(PGconn *pq, const char *sql)
{
    return PQsendQueryParams(pq, sql, 0, NULL, NULL, NULL, NULL, 1) == 1 &&
           PQpipelineSync(pq) == 1;
}

/** Read to the end of the first answer. @return whether it came. */
static bool await_first(PGconn *pq)
{
    bool has_rows = false;
    bool is_over = false;
    while (!is_over && PQstatus(pq) == CONNECTION_OK) {
        PGresult *result = PQgetResult(pq);
        has_rows = has_rows || PQresultStatus(result) == PGRES_TUPLES_OK;
        is_over = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        PQclear(result);
    }
    return has_rows;
}

int main(int argc, char **argv)
{
    PGconn *pq = PQconnectdb("");
    bool ok = argc == 3 && PQenterPipelineMode(pq) == 1 && send(pq, argv[1]) &&
              send(pq, argv[2]) && PQflush(pq) == 0 && await_first(pq);
    if (!ok) {
        fprintf(stderr, "leave: %s", PQerrorMessage(pq));
    }
    PQfinish(pq);
    return ok ? 0 : 1;
}
