/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a reply, in the binary format. */
#include "base/fail.h"
#include "store/postgres/node.h"

#include <libpq-fe.h>
#include <string.h>

static bool is_there(const struct pg_result *rows, int row, int column)
{
    return rows != NULL && row < PQntuples(rows) && column < PQnfields(rows) &&
           !PQgetisnull(rows, row, column);
}

/* int2, int4 or int8, most significant byte first. */
int64_t hf_pg_integer(const struct pg_result *rows, int row, int column)
{
    if (!is_there(rows, row, column)) {
        return 0;
    }
    const unsigned char *at =
        (const unsigned char *)PQgetvalue(rows, row, column);
    int len = PQgetlength(rows, row, column);
    if (len < 1 || len > 8) {
        return 0;
    }
    uint64_t number = (at[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (int i = 0; i < len; i++) {
        number = number << 8 | at[i];
    }
    return (int64_t)number;
}

bool hf_pg_is_true(const struct pg_result *rows, int row, int column)
{
    return is_there(rows, row, column) && PQgetlength(rows, row, column) == 1 &&
           PQgetvalue(rows, row, column)[0] == 1;
}

struct hf_bytes hf_pg_bytes(const struct pg_result *rows, int row, int column)
{
    if (!is_there(rows, row, column)) {
        return (struct hf_bytes){"", 0};
    }
    return (struct hf_bytes){PQgetvalue(rows, row, column),
                             (size_t)PQgetlength(rows, row, column)};
}

void hf_pg_text(const struct pg_result *rows, int row, int column, char *out,
                size_t size)
{
    struct hf_bytes bytes = hf_pg_bytes(rows, row, column);
    size_t len = bytes.len < size ? bytes.len : size - 1;
    memcpy(out, bytes.data, len);
    out[len] = '\0';
    hf_error_make_plain(out);
}

int hf_pg_rows(const struct pg_result *rows)
{
    return rows == NULL ? 0 : PQntuples(rows);
}

int hf_pg_columns(const struct pg_result *rows)
{
    return rows == NULL ? 0 : PQnfields(rows);
}

void hf_pg_row(const struct pg_result *rows, int n, struct hf_sql_row *out)
{
    int columns = n < hf_pg_rows(rows) ? hf_pg_columns(rows) : 0;
    hf_sql_row_init(out, (unsigned)columns);
    for (int i = 0; i < columns && i < HF_SQL_CELLS_MAX; i++) {
        out->cells[i] = (struct hf_sql_cell){hf_pg_bytes(rows, n, i),
                                             hf_pg_integer(rows, n, i),
                                             is_there(rows, n, i)};
    }
}
