/* SPDX-License-Identifier: Apache-2.0 */
/* Of each reply: one answer. One that is an error has a reason in one plain
 * line, and nothing of the row. Each number is the cell's, or the row is
 * refused: none is cut to its type. Owners and names are the bytes of cells,
 * and a name has the prefix of the store before it. */
#include "sql_fake.h"

#include "base/fail.h"

struct sql_fake sql_fake;

static unsigned n_answers;

/* The columns of an answer, and of a seat after it: the schema's order, apart
 * from answer.c's, so that two columns that change places there are found. */
enum {
    C_VERDICT,
    C_COUNTER,
    C_LEFT,
    C_OWNER,
    C_FLOOR,
    C_BOUND,
    C_TICKET,
    C_AHEAD,
    C_NODE_US,
    C_TERMS,
    C_SHARERS,
    C_WAITERS,
    C_SEAT_OWNER,
    C_SEAT_MODE = C_SEAT_OWNER + 3
};

/* Of a value; apart from values.c's for the same reason. */
enum { V_VERDICT, V_VERSION, V_DATA };

static int64_t number_at(unsigned column)
{
    return column < sql_fake.n_columns && sql_fake.n_rows > 0
               ? sql_fake.number(&sql_fake.cells[0][column])
               : 0;
}

static bool is_cell(struct hf_bytes bytes, const struct sql_fake_cell *cell,
                    size_t skip)
{
    return cell->is_there && cell->len == bytes.len + skip &&
           memcmp(cell->text + skip, bytes.data, bytes.len) == 0;
}

static void check_failed(const struct hf_answer *answer)
{
    FUZZ_CHECK(answer->fault != HF_OK && answer->reason != NULL);
    FUZZ_CHECK(fuzz_is_plain(answer->reason));
    FUZZ_CHECK(answer->counter == 0 && answer->owner == NULL);
    FUZZ_CHECK(answer->n_seats == 0 && answer->n_names == 0);
    FUZZ_CHECK(answer->value.data == NULL);
}

/* ---- Rows ---------------------------------------------------------------- */

/* A cell of the first column, without the prefix that it must have. */
static bool is_name(struct hf_bytes name, const struct sql_fake_cell *cell)
{
    static const size_t len = sizeof(SQL_FAKE_PREFIX) - 1;
    return is_cell(name, cell, len) &&
           memcmp(cell->text, SQL_FAKE_PREFIX, len) == 0;
}

static void check_names(const struct hf_answer *answer)
{
    unsigned row = 0;
    FUZZ_CHECK(answer->n_names <= sql_fake.n_rows);
    for (size_t i = 0; i < answer->n_names; i++) {
        while (row < sql_fake.n_rows &&
               !is_name(answer->names[i], &sql_fake.cells[row][0])) {
            row++;
        }
        FUZZ_CHECK(row++ < sql_fake.n_rows);
    }
}

static void check_value(const struct hf_answer *answer)
{
    const struct sql_fake_cell *data = &sql_fake.cells[0][V_DATA];
    FUZZ_CHECK((int64_t)answer->counter == number_at(V_VERSION));
    FUZZ_CHECK(answer->counter <= HF_FENCE_MAX);
    if (answer->value.data != NULL) {
        FUZZ_CHECK(answer->counter > 0 && is_cell(answer->value, data, 0));
    }
}

static bool is_number(uint64_t value, unsigned column)
{
    int64_t number = number_at(column);
    return number >= 0 && (uint64_t)number == value;
}

static void check_row(const struct hf_answer *answer)
{
    FUZZ_CHECK(sql_fake.n_columns >= C_SEAT_OWNER);
    FUZZ_CHECK(is_number(answer->counter, C_COUNTER));
    FUZZ_CHECK(answer->counter <= HF_FENCE_MAX);
    FUZZ_CHECK(is_number(answer->floor, C_FLOOR));
    FUZZ_CHECK(is_number(answer->bound, C_BOUND));
    FUZZ_CHECK(is_number(answer->ahead, C_AHEAD));
    FUZZ_CHECK(is_number(answer->permits, C_TERMS));
    FUZZ_CHECK(is_number(answer->sharers, C_SHARERS));
    FUZZ_CHECK(is_number(answer->waiting, C_WAITERS));
    FUZZ_CHECK(answer->ticket == 0 || is_number(answer->ticket, C_TICKET) ||
               is_number(answer->ticket, C_NODE_US));
    FUZZ_CHECK(answer->left_ms == number_at(C_LEFT) || number_at(C_LEFT) == -2);
    if (answer->owner_len > 0) {
        struct hf_bytes owner = {answer->owner, answer->owner_len};
        FUZZ_CHECK(is_cell(owner, &sql_fake.cells[0][C_OWNER], 0));
        FUZZ_CHECK(answer->holder_kind != HF_HOLDER_NONE);
    }
}

/* The permits in the mode of this row, as "s5" has them. What is beyond 16 bits
 * stays at their end. */
static unsigned long permits_of(const struct sql_fake_cell *cell)
{
    char mode[HF_TEXT_SHORT] = "";
    size_t len = cell->len < sizeof(mode) ? cell->len : sizeof(mode) - 1;
    if (cell->is_there) {
        memcpy(mode, cell->text, len);
    }
    hf_error_make_plain(mode);
    unsigned long permits = mode[0] == 's' ? strtoul(mode + 1, NULL, 10) : 0;
    return permits > UINT16_MAX ? UINT16_MAX : permits;
}

static bool has_permits(unsigned long permits)
{
    bool has_any = permits == 0;
    for (unsigned row = 0; row < sql_fake.n_rows; row++) {
        has_any |= permits_of(&sql_fake.cells[row][C_SEAT_MODE]) == permits;
    }
    return has_any;
}

static void check_seats(const struct hf_answer *answer)
{
    FUZZ_CHECK(answer->n_seats <= sql_fake.n_rows + 1);
    for (size_t i = 0; i < answer->n_seats; i++) {
        const struct hf_seat *seat = &answer->seats[i];
        struct hf_bytes owner = {seat->owner, seat->owner_len};
        bool is_there =
            i == 0 && is_cell(owner, &sql_fake.cells[0][C_OWNER], 0);
        for (unsigned row = 0; row < sql_fake.n_rows && !is_there; row++) {
            is_there = is_cell(owner, &sql_fake.cells[row][C_SEAT_OWNER], 0);
        }
        FUZZ_CHECK(is_there || seat->owner_len == 0);
        FUZZ_CHECK(seat->is_shared || seat->permits == 0);
        FUZZ_CHECK(has_permits(seat->permits));
    }
}

static void on_answer(void *client, const struct hf_answer *answer)
{
    FUZZ_CHECK(client == &sql_fake && answer->cookie == 7);
    FUZZ_CHECK(answer->verb == sql_fake.verb && answer->node == 0);
    n_answers++;
    if (answer->verdict != HF_VERDICT_OK &&
        answer->verdict != HF_VERDICT_REFUSED &&
        answer->verdict != HF_VERDICT_QUEUED) {
        check_failed(answer);
    } else if (answer->verb == HF_VERB_SCAN) {
        check_names(answer);
    } else if (answer->verb == HF_VERB_GET || answer->verb == HF_VERB_PUT) {
        check_value(answer);
    } else {
        check_row(answer);
        check_seats(answer);
    }
}

/* ---- The request --------------------------------------------------------- */

static void read_cell(struct sql_fake_cell *cell, struct fuzz_input *in)
{
    size_t len = fuzz_u8(in);
    *cell = (struct sql_fake_cell){.is_there = len < 255};
    if (cell->is_there) {
        const uint8_t *bytes = fuzz_bytes(in, &len);
        cell->text = fuzz_text(bytes, len);
        cell->len = len;
    }
}

void sql_fake_open(struct hf_sql_store *store, struct fuzz_input *in)
{
    memset(store, 0, sizeof(*store));
    memset(sql_fake.cells, 0, sizeof(sql_fake.cells));
    store->prefix_len = sizeof(SQL_FAKE_PREFIX) - 1;
    store->prefix = fuzz_copy(SQL_FAKE_PREFIX);
    store->env.client = &sql_fake;
    store->env.answer = on_answer;
    n_answers = 0;
    sql_fake.verb = (enum hf_verb)(fuzz_u8(in) % (HF_VERB_SCAN + 1));
    sql_fake.n_columns = fuzz_u8(in) % (SQL_FAKE_COLUMNS_MAX + 1);
    sql_fake.n_rows = 0;
    while (in->left > 0 && sql_fake.n_columns > 0 &&
           sql_fake.n_rows < SQL_FAKE_ROWS_MAX) {
        for (unsigned i = 0; i < sql_fake.n_columns; i++) {
            read_cell(&sql_fake.cells[sql_fake.n_rows][i], in);
        }
        sql_fake.n_rows++;
    }
}

void sql_fake_end(struct hf_sql_store *store)
{
    FUZZ_CHECK(n_answers == 1);
    for (unsigned row = 0; row < sql_fake.n_rows; row++) {
        for (unsigned i = 0; i < sql_fake.n_columns; i++) {
            free((void *)(uintptr_t)sql_fake.cells[row][i].text);
        }
    }
    free(store->prefix);
    free(store->names.items);
    free(store->seats.items);
}
