/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a reply, as text. */
#include "base/fail.h"
#include "store/mysql/node.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

bool hf_my_next(const struct hf_mysql_reply *reply, struct hf_my_row *out)
{
    MYSQL_ROW columns =
        reply->rows == NULL ? NULL : mysql_fetch_row(reply->rows);
    *out = (struct hf_my_row){0};
    if (columns != NULL) {
        out->columns = columns;
        out->lens = mysql_fetch_lengths(reply->rows);
        out->n = mysql_num_fields(reply->rows);
    }
    return columns != NULL;
}

bool hf_my_first(const struct hf_mysql_reply *reply, struct hf_my_row *out)
{
    if (reply->rows != NULL) {
        mysql_data_seek(reply->rows, 0);
    }
    return hf_my_next(reply, out);
}

size_t hf_my_rows(const struct hf_mysql_reply *reply)
{
    return reply->rows == NULL ? 0 : (size_t)mysql_num_rows(reply->rows);
}

bool hf_my_is_null(const struct hf_my_row *row, unsigned column)
{
    return column >= row->n || row->columns[column] == NULL;
}

int64_t hf_my_integer(const struct hf_my_row *row, unsigned column)
{
    return hf_my_is_null(row, column) ? 0
                                      : strtoll(row->columns[column], NULL, 10);
}

struct hf_bytes hf_my_bytes_at(const struct hf_my_row *row, unsigned column)
{
    return hf_my_is_null(row, column)
               ? (struct hf_bytes){"", 0}
               : (struct hf_bytes){row->columns[column], row->lens[column]};
}

void hf_my_text_at(const struct hf_my_row *row, unsigned column, char *out,
                   size_t size)
{
    struct hf_bytes bytes = hf_my_bytes_at(row, column);
    size_t len = bytes.len < size ? bytes.len : size - 1;
    memcpy(out, bytes.data, len);
    out[len] = '\0';
    hf_make_plain(out);
}
