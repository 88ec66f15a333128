/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a reply in memory, and what must be true of the answer that the
 * client gets of them, for the targets of PostgreSQL and MySQL.
 *
 *     sql_fake_open(&store, input);        the request, and its rows
 *     … the store's own reader answers …
 *     sql_fake_end(&store);                there was one answer
 *
 * Input: a byte that chooses the verb, one with the number of columns, then
 * cells, row by row: a byte with the length, 255: NULL, and that many bytes. */
#ifndef FUZZ_SQL_FAKE_H
#define FUZZ_SQL_FAKE_H

#include "fuzz.h"

#include "store/sql/sql.h"

#define SQL_FAKE_ROWS_MAX 8
#define SQL_FAKE_COLUMNS_MAX 18
#define SQL_FAKE_PREFIX "lock:"

struct sql_fake_cell {
    bool is_there;
    const char *text; /* a copy of its own, with a NUL after it */
    size_t len;
};

struct sql_fake {
    enum hf_verb verb;
    unsigned n_columns;
    unsigned n_rows;
    struct sql_fake_cell cells[SQL_FAKE_ROWS_MAX][SQL_FAKE_COLUMNS_MAX];
    /* The number that a cell has, as the target reads it. */
    int64_t (*number)(const struct sql_fake_cell *cell);
};

extern struct sql_fake sql_fake;

/** Read the request and its rows; @p store gets what is above it. */
void sql_fake_open(struct hf_sql_store *store, struct fuzz_input *in);

/* Free all, the lists of the store too. */
void sql_fake_end(struct hf_sql_store *store);

#endif
