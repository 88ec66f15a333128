/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of MariaDB or MySQL, which are texts, as replies to each verb: what is
 * true of the answer is in sql_fake.c. The functions by which the client
 * library hands out a row take them from the input. It begins with an error's
 * number, whose text is the first cell; 0: none. */
/* library: store-mysql-objects */
/* with: sql_fake.c */
/* link: -Wl,--wrap=hf_mysql_reidentify,--wrap=mysql_fetch_row */
/* link: -Wl,--wrap=mysql_fetch_lengths,--wrap=mysql_num_fields */
/* link: -Wl,--wrap=mysql_num_rows,--wrap=mysql_data_seek */
#include "sql_fake.h"

#include "store/mysql/node.h"

#include <mysql.h>

void __wrap_hf_mysql_reidentify(struct hf_mysql_node *node, const char *why,
                                struct hf_instant now);
MYSQL_ROW __wrap_mysql_fetch_row(MYSQL_RES *rows);
unsigned long *__wrap_mysql_fetch_lengths(MYSQL_RES *rows);
unsigned __wrap_mysql_num_fields(MYSQL_RES *rows);
my_ulonglong __wrap_mysql_num_rows(MYSQL_RES *rows);
void __wrap_mysql_data_seek(MYSQL_RES *rows, unsigned long long row);

static struct hf_mysql store;
static MYSQL_RES result;
static unsigned at_row;
static char *row_texts[SQL_FAKE_COLUMNS_MAX];
static unsigned long row_lens[SQL_FAKE_COLUMNS_MAX];

void __wrap_hf_mysql_reidentify(struct hf_mysql_node *node, const char *why,
                                struct hf_instant now)
{
    (void)now;
    FUZZ_CHECK(node == &store.node && why[0] != '\0');
}

MYSQL_ROW __wrap_mysql_fetch_row(MYSQL_RES *rows)
{
    FUZZ_CHECK(rows == &result);
    if (at_row >= sql_fake.n_rows) {
        return NULL;
    }
    for (unsigned i = 0; i < sql_fake.n_columns; i++) {
        const struct sql_fake_cell *cell = &sql_fake.cells[at_row][i];
        row_texts[i] = (char *)(uintptr_t)cell->text;
        row_lens[i] = cell->len;
    }
    at_row++;
    return row_texts;
}

unsigned long *__wrap_mysql_fetch_lengths(MYSQL_RES *rows)
{
    FUZZ_CHECK(rows == &result && at_row > 0);
    return row_lens;
}

unsigned __wrap_mysql_num_fields(MYSQL_RES *rows)
{
    FUZZ_CHECK(rows == &result);
    return sql_fake.n_columns;
}

my_ulonglong __wrap_mysql_num_rows(MYSQL_RES *rows)
{
    FUZZ_CHECK(rows == &result);
    return sql_fake.n_rows;
}

void __wrap_mysql_data_seek(MYSQL_RES *rows, unsigned long long row)
{
    FUZZ_CHECK(rows == &result && row == 0);
    at_row = 0;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Decimal, of at most 20 bytes. What is beyond 64 bits stays at their end. */
static int64_t number_of(const struct sql_fake_cell *cell)
{
    const char *at = cell->text;
    int64_t number = 0;
    if (!cell->is_there || cell->len > 20) {
        return 0;
    }
    while (is_space(*at)) {
        at++;
    }
    bool is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    for (; *at >= '0' && *at <= '9'; at++) {
        int64_t digit = is_negative ? '0' - *at : *at - '0';
        int64_t end = is_negative ? INT64_MIN : INT64_MAX;
        bool fits = is_negative ? number >= (end - digit) / 10
                                : number <= (end - digit) / 10;
        if (!fits) {
            return end;
        }
        number = 10 * number + digit;
    }
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct hf_mysql_reply reply = {.sqlstate = "45000"};
    memset(&store, 0, sizeof(store));
    store.node.store = &store;
    store.node.base.store = &store.base;
    sql_fake.number = number_of;
    reply.error = fuzz_u8(&in) * 256U;
    reply.error += fuzz_u8(&in);
    sql_fake_open(&store.base, &in);
    struct hf_mysql_request request = {.cookie = 7,
                                       .kind = (uint8_t)sql_fake.verb};
    bool has_text = sql_fake.n_rows > 0 && sql_fake.cells[0][0].is_there;
    reply.text = has_text ? sql_fake.cells[0][0].text : "";
    reply.rows = reply.error != 0 || sql_fake.n_columns == 0 ? NULL : &result;
    hf_mysql_answer(&store.node, &request, &reply, (struct hf_instant){1});
    sql_fake_end(&store.base);
    return 0;
}
