/* SPDX-License-Identifier: Apache-2.0 */
/* Private to connection.c, opening.c and requests.c. */
#ifndef HF_POSTGRES_CONNECTION_PARTS_H
#define HF_POSTGRES_CONNECTION_PARTS_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_pg_connection; /* connection.h */
struct hf_pg_pending;
struct pg_result; /* PGresult */

/* ---- connection.c -------------------------------------------------------- */

/* A notice of the server: libpq calls it, `user` is the connection. */
void hf_pg_connection_notice(void *user, const struct pg_result *result);

/* ---- labels.c ------------------------------------------------------------ */

/** Send a label before a request. @return false: libpq has failed. */
bool hf_pg_label_send(struct hf_pg_connection *connection, uint64_t label);

/** Whether this is the result of the label. */
bool hf_pg_label_is(const struct pg_result *result, uint64_t label);

/* ---- opening.c ----------------------------------------------------------- */

/* Break with the error of libpq. */
void hf_pg_connection_fail(struct hf_pg_connection *connection);

/* The watch is ready while the connection opens. */
void hf_pg_connection_go_on(struct hf_pg_connection *connection,
                            struct hf_instant now);

/* ---- requests.c ---------------------------------------------------------- */

/** Make room for one request. @return false: no memory, or too many. */
bool hf_pg_connection_reserve(struct hf_pg_connection *connection);

/* Add a pending request behind the others. The ring must have room for it. */
void hf_pg_connection_push(struct hf_pg_connection *connection,
                           const struct hf_pg_pending *pending);

#endif
