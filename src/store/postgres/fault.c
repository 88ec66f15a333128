/* SPDX-License-Identifier: Apache-2.0 */
/* An error of the server as a status, and as one line of text. The SQLSTATE
 * decides: the words follow the server's language. */
#include "base/fail.h"
#include "store/postgres/node.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

static const char *sqlstate_of(const struct pg_result *error)
{
    const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);
    return state == NULL ? "" : state;
}

bool hf_pg_fault_is(const struct pg_result *error, const char *sqlstate)
{
    return strncmp(sqlstate_of(error), sqlstate, strlen(sqlstate)) == 0;
}

enum hf_status hf_pg_fault(const struct pg_result *error, char *out,
                           size_t size)
{
    static const struct {
        const char *sqlstate;
        enum hf_status status;
    } known[] = {
        {"42501", HF_DENIED}, /* insufficient_privilege */
        {"28", HF_DENIED},    /* invalid authorization */
        {"3D000", HF_CONFIG}, /* no such database */
        {"25006", HF_CONFIG}, /* read-only transaction */
        {"3F000", HF_CONFIG}, /* no such schema */
        {"42883", HF_CONFIG}, /* no such function */
        {"42P01", HF_CONFIG}, /* no such table */
        {"25001", HF_CONFIG}, /* isolation level */
        {"0A000", HF_CONFIG}, /* feature_not_supported */
    };
    const char *words = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);
    const char *state = sqlstate_of(error);
    if (words == NULL) {
        words = PQresultErrorMessage(error);
    }
    snprintf(out, size, "%.120s%s%s%s", words, state[0] != '\0' ? " (" : "",
             state, state[0] != '\0' ? ")" : "");
    hf_error_make_plain(out);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (hf_pg_fault_is(error, known[i].sqlstate)) {
            return known[i].status;
        }
    }
    return HF_UNAVAILABLE;
}
