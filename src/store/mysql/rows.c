/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a reply. */
#include "store/mysql/node.h"

#include <mysql.h>
#include <stdlib.h>

/* Of a number: a sign, and the digits of a BIGINT. */
#define DIGITS_MAX 20

static struct hf_sql_cell cell_of(const char *text, unsigned long len)
{
    int64_t number = len <= DIGITS_MAX ? strtoll(text, NULL, 10) : 0;
    return (struct hf_sql_cell){{text, len}, number, true};
}

bool hf_mysql_next(const struct hf_mysql_reply *reply, struct hf_sql_row *out)
{
    MYSQL_ROW columns =
        reply->rows == NULL ? NULL : mysql_fetch_row(reply->rows);
    if (columns == NULL) {
        hf_sql_row_init(out, 0);
        return false;
    }
    const unsigned long *lens = mysql_fetch_lengths(reply->rows);
    hf_sql_row_init(out, mysql_num_fields(reply->rows));
    for (unsigned i = 0; i < out->n && i < HF_SQL_CELLS_MAX; i++) {
        if (columns[i] != NULL) {
            out->cells[i] = cell_of(columns[i], lens[i]);
        }
    }
    return true;
}

bool hf_mysql_first(const struct hf_mysql_reply *reply, struct hf_sql_row *out)
{
    if (reply->rows != NULL) {
        mysql_data_seek(reply->rows, 0);
    }
    return hf_mysql_next(reply, out);
}

size_t hf_mysql_rows(const struct hf_mysql_reply *reply)
{
    return reply->rows == NULL ? 0 : (size_t)mysql_num_rows(reply->rows);
}
