/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of PostgreSQL, in the binary format, as replies to each verb: what is
 * true of the answer is in sql_fake.c. A row of libpq's own has them. The first
 * byte of the input says whether the server has warned at the commit, or has
 * sent an error. */
/* library: store-postgres-objects */
/* with: sql_fake.c */
/* link: -Wl,--wrap=hf_pg_reidentify,--wrap=hf_pg_listen_want */
#include "sql_fake.h"

#include "store/postgres/node.h"

#include <libpq-fe.h>

void __wrap_hf_pg_reidentify(struct hf_pg_node *node, const char *why,
                             struct hf_instant now);
void __wrap_hf_pg_listen_want(struct hf_pg_node *node, struct hf_instant now);

static struct hf_pg store;

void __wrap_hf_pg_reidentify(struct hf_pg_node *node, const char *why,
                             struct hf_instant now)
{
    (void)now;
    FUZZ_CHECK(node == &store.node && why[0] != '\0');
}

void __wrap_hf_pg_listen_want(struct hf_pg_node *node, struct hf_instant now)
{
    (void)now;
    FUZZ_CHECK(node == &store.node);
}

/* Of one byte to eight, the most significant first, with a sign. */
static int64_t number_of(const struct sql_fake_cell *cell)
{
    bool is_negative = cell->len > 0 && (signed char)cell->text[0] < 0;
    uint64_t distance = 0; /* from 0, or from -1 */
    if (cell->len < 1 || cell->len > 8) {
        return 0;
    }
    for (size_t i = 0; i < cell->len; i++) {
        unsigned char byte = (unsigned char)cell->text[i];
        distance = distance * 256 + (is_negative ? 255U - byte : byte);
    }
    return is_negative ? -(int64_t)distance - 1 : (int64_t)distance;
}

static PGresult *rows_of(void)
{
    PGresult *rows = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc columns[SQL_FAKE_COLUMNS_MAX];
    memset(columns, 0, sizeof(columns));
    for (unsigned i = 0; i < sql_fake.n_columns; i++) {
        columns[i].name = (char[]){"column"};
        columns[i].format = 1;
    }
    FUZZ_CHECK(rows != NULL);
    FUZZ_CHECK(sql_fake.n_columns == 0 ||
               PQsetResultAttrs(rows, (int)sql_fake.n_columns, columns));
    for (unsigned row = 0; row < sql_fake.n_rows; row++) {
        for (unsigned i = 0; i < sql_fake.n_columns; i++) {
            const struct sql_fake_cell *cell = &sql_fake.cells[row][i];
            char *text = (char *)(uintptr_t)cell->text;
            FUZZ_CHECK(PQsetvalue(rows, (int)row, (int)i, text,
                                  cell->is_there ? (int)cell->len : -1));
        }
    }
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct hf_pg_reply reply = {.rows = NULL};
    uint8_t flags = fuzz_u8(&in);
    memset(&store, 0, sizeof(store));
    store.node.store = &store;
    store.node.base.store = &store.base;
    sql_fake.number = number_of;
    sql_fake_open(&store.base, &in);
    struct hf_pg_pending pending = {.cookie = 7,
                                    .kind = (uint8_t)sql_fake.verb};
    reply.is_unsure = (flags & 1) != 0;
    reply.rows = (flags & 2) != 0 ? NULL : rows_of();
    reply.error =
        (flags & 4) == 0 ? NULL : PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
    hf_pg_answer(&store.node, &pending, &reply, (struct hf_instant){1});
    PQclear(reply.rows);
    PQclear(reply.error);
    sql_fake_end(&store.base);
    return 0;
}
