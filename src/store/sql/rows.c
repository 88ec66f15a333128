/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a row, whichever client library has read it: libpq and
 * libmariadb differ, and what is made of a row does not. A cell that a reply
 * lacks is an empty text and 0, never NULL, so nothing has to be tested before
 * it is read. A text for people is cut to its room and made plain: it is the
 * server's. */
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
    hf_error_make_plain(out);
}
