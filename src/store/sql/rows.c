/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "store/sql/sql.h"

#include <string.h>

void hf_sql_row_init(struct hf_sql_row *row, unsigned n)
{
    row->n = n;
    for (size_t i = 0; i < HF_SQL_CELLS_MAX; i++) {
        row->cells[i] = (struct hf_sql_cell){.bytes = {"", 0}};
    }
}

void hf_sql_row_text(const struct hf_sql_row *row, unsigned column, char *out,
                     size_t size)
{
    struct hf_bytes bytes = row->cells[column].bytes;
    size_t len = bytes.len < size ? bytes.len : size - 1;
    memcpy(out, bytes.data, len);
    out[len] = '\0';
    hf_make_plain(out);
}
