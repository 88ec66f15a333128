/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that a connection keeps: the ring of pending ones, and the
 * parameters of a statement. */
#include "base/assert.h"
#include "store/postgres/connection.h"
#include "store/postgres/connection_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unanswered requests of a connection: only a server that hangs has more. */
#define PENDING_MAX 65536U

/* ---- The pending requests ----------------------------------------------- */

bool hf_pg_connection_reserve(struct hf_pg_connection *connection)
{
    if (connection->count < connection->ring_cap) {
        return true;
    }
    size_t cap = connection->ring_cap == 0 ? 16 : 2 * connection->ring_cap;
    struct hf_pg_pending *ring =
        cap > PENDING_MAX ? NULL : calloc(cap, sizeof(*ring));
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < connection->count; i++) {
        ring[i] =
            connection
                ->ring[(connection->head + i) & (connection->ring_cap - 1)];
    }
    free(connection->ring);
    connection->ring = ring;
    connection->ring_cap = cap;
    connection->head = 0;
    return true;
}

bool hf_pg_connection_pop(struct hf_pg_connection *connection,
                          struct hf_pg_pending *out)
{
    if (connection->count == 0) {
        return false;
    }
    *out = connection->ring[connection->head];
    connection->head = (connection->head + 1) & (connection->ring_cap - 1);
    connection->count--;
    return true;
}

void hf_pg_connection_push(struct hf_pg_connection *connection,
                           const struct hf_pg_pending *pending)
{
    HF_ASSERT(connection->count < connection->ring_cap);
    size_t at =
        (connection->head + connection->count++) & (connection->ring_cap - 1);
    connection->ring[at] = *pending;
}

struct hf_instant
hf_pg_connection_silent_since(const struct hf_pg_connection *connection)
{
    return connection->count == 0
               ? HF_NEVER
               : hf_instant_max(connection->ring[connection->head].sent,
                                connection->link.heard_at);
}

/* ---- Parameters --------------------------------------------------------- */

void hf_pg_params_init(struct hf_pg_params *params)
{
    params->n = 0;
    params->n_numbers = 0;
}

static void add(struct hf_pg_params *params, const char *value, size_t len,
                int format)
{
    HF_ASSERT(params->n < HF_PG_PARAMS_MAX);
    params->values[params->n] = value;
    params->lens[params->n] = (int)len;
    params->formats[params->n++] = format;
}

void hf_pg_params_bytes(struct hf_pg_params *params, const void *data,
                        size_t len)
{
    add(params, len == 0 ? "" : data, len, 1); /* NULL would be SQL's */
}

void hf_pg_params_text(struct hf_pg_params *params, const char *text)
{
    add(params, text, strlen(text), 0);
}

void hf_pg_params_number(struct hf_pg_params *params, int64_t number)
{
    HF_ASSERT(params->n_numbers < HF_PG_NUMBERS_MAX);
    char *text = params->numbers[params->n_numbers++];
    (void)snprintf(text, sizeof(params->numbers[0]), "%lld", (long long)number);
    hf_pg_params_text(params, text);
}

void hf_pg_params_flag(struct hf_pg_params *params, bool flag)
{
    hf_pg_params_text(params, flag ? "t" : "f");
}

void hf_pg_params_null(struct hf_pg_params *params)
{
    add(params, NULL, 0, 0);
}
