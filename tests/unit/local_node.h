/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store as a node of the differential test
 * (../differential/node.h): it is asked as a client asks it, and its state is
 * read from its records. For one file of a program that is linked with
 * --wrap=clock_gettime. */
#ifndef HF_TESTS_LOCAL_NODE_H
#define HF_TESTS_LOCAL_NODE_H

#include "local_driver.h"

#include "../differential/node.h"

#include "store/local/local.h"

#include <time.h>

#define COLUMNS_MAX 20 /* of a row: asserted */
#define ROWS_MAX 40    /* of an answer: asserted */

/* A column with its text, as a database has it. */
struct column {
    const char *name;
    char text[OWNER_LEN + 20];
};

struct row {
    struct column of[COLUMNS_MAX];
    int n;
};

struct local_node {
    char folder[64];
    struct driver driver;
    struct row rows[ROWS_MAX];
    int n_rows;
    bool was_owned; /* the name */
};

/* ---- Its clock ----------------------------------------------------------- */

static int64_t local_us = EPOCH_US;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

/* Leases run by a clock that is not set, in ns. Here it is the wall clock, in
 * whole ms, as Redis has it. CLOCK_MONOTONIC is left to the kernel, which uses
 * it to wait for the gate. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (clock != CLOCK_BOOTTIME && clock != CLOCK_REALTIME &&
        clock != CLOCK_REALTIME_COARSE) {
        return __real_clock_gettime(clock, out);
    }
    int64_t us =
        clock == CLOCK_BOOTTIME ? local_us - local_us % 1000 : local_us;
    out->tv_sec = (time_t)(us / 1000000);
    out->tv_nsec = (long)(us % 1000000) * 1000;
    return 0;
}

static inline void local_set_clock(void *node, int64_t us)
{
    (void)node;
    local_us = us;
}

/* ---- Its answers as rows ------------------------------------------------- */

static inline void local_rows(struct local_node *node, int n)
{
    assert_true(n < ROWS_MAX);
    node->n_rows = n;
    for (int i = 0; i < n; i++) {
        node->rows[i].n = 0;
    }
}

__attribute__((format(printf, 3, 4))) static inline void
column(struct row *row, const char *name, const char *format, ...)
{
    struct column *one = &row->of[row->n++];
    assert_true(row->n <= COLUMNS_MAX);
    one->name = name;
    va_list args;
    va_start(args, format);
    vsnprintf(one->text, sizeof(one->text), format, args);
    va_end(args);
}

static inline void number(struct row *row, const char *name, int64_t value)
{
    column(row, name, "%" PRId64, value);
}

static inline const char *local_text(const void *data, int at, const char *name)
{
    const struct local_node *node = data;
    const struct row *row = &node->rows[at];
    for (int i = 0; i < row->n; i++) {
        if (strcmp(row->of[i].name, name) == 0) {
            return row->of[i].text;
        }
    }
    return NULL;
}

static inline int local_n_rows(const void *data)
{
    const struct local_node *node = data;
    return node->n_rows;
}

static inline struct hf_local *local_of(struct local_node *node)
{
    return (struct hf_local *)node->driver.store;
}

/* The scripts say -2 where nothing has the name. */
static inline void local_holder(struct row *row, const struct hf_answer *answer)
{
    bool is_there = answer->left_ms > 0 || answer->owner != NULL;
    bool has_terms = answer->verb != HF_VERB_MARK;
    number(row, "left_ms", is_there ? answer->left_ms : -2);
    column(row, "owner", "%s",
           answer->owner == NULL ? "" : (const char *)answer->owner);
    number(row, "terms", has_terms ? answer->permits : 0);
}

static inline void local_answer(struct local_node *node,
                                const struct hf_answer *answer)
{
    struct row *row = &node->rows[0];
    local_rows(node, 1);
    if (answer->verdict == HF_VERDICT_ERROR) {
        fail_msg("%s", answer->reason);
    }
    int verdict = answer->verdict == HF_VERDICT_OK       ? 1
                  : answer->verdict == HF_VERDICT_QUEUED ? 2
                                                         : 0;
    number(row, "verdict", verdict);
    number(row, "counter", (int64_t)answer->counter);
    number(row, "version", (int64_t)answer->counter);
    number(row, "floor", (int64_t)answer->floor);
    number(row, "bound", (int64_t)answer->bound);
    number(row, "ticket", (int64_t)answer->ticket);
    number(row, "ahead", answer->ahead);
    local_holder(row, answer);
}

/* ---- Requests ------------------------------------------------------------ */

static inline enum hf_verb local_verb(const struct request *ask)
{
    static const enum hf_verb verbs[VERBS] = {
        [ACQUIRE] = HF_VERB_ACQUIRE, [CONFIRM] = HF_VERB_CONFIRM,
        [RELEASE] = HF_VERB_RELEASE, [BREAK] = HF_VERB_BREAK,
        [MARK] = HF_VERB_MARK,       [PUT] = HF_VERB_PUT};
    assert_true(ask->verb != AHEAD);
    return ask->verb == ACQUIRE && ask->returned > 0 ? HF_VERB_YIELD
                                                     : verbs[ask->verb];
}

static inline void local_ask_value(const struct request *from, char data[60],
                                   struct hf_ask *ask)
{
    int len = snprintf(data, 60, "data of %.32s", from->owner);
    ask->owner_len = HF_WRITE_ID_LEN;
    ask->counter = from->ticket == 0 ? HF_VERSION_ANY : from->counter;
    if (!from->flag) {
        ask->value = (struct hf_bytes){data, (size_t)len};
    }
}

static inline void local_ask(void *data, const struct request *from)
{
    struct local_node *node = data;
    char value[60];
    struct hf_ask ask = {
        .cookie = from->cookie,
        .verb = local_verb(from),
        .name = NAME,
        .name_len = sizeof(NAME) - 1,
        .owner = from->owner,
        .owner_len = strlen(from->owner),
        .back = from->other,
        .back_len = strlen(from->other),
        .ttl_ms = from->ttl_ms,
        .counter = from->returned > 0 ? from->returned : from->counter,
        .reacquires = from->flag,
        .frees_now = from->flag,
        .is_unfair = from->verb == ACQUIRE && from->flag,
        .is_shared = from->mode[0] == 's',
        .permits = (uint16_t)strtoul(from->mode + 1, NULL, 10),
        .queue_ms = from->place_ms,
        .ticket = from->verb == ACQUIRE ? from->ticket : 0,
    };
    if (from->verb == PUT) {
        local_ask_value(from, value, &ask);
    } else if (from->verb == MARK && from->flag) {
        ask.owner_len = 0;
    }
    struct hf_gate_page *page = local_of(node)->gate.page;
    page->ticket_last = 0; /* its tickets are unique; those of the scripts are
                              the clock */
    page->n_writes = 0;    /* it sweeps when the test says so */
    driver_forget(&node->driver);
    local_answer(node, driver_ask(&node->driver, &ask));
}

/* All listen, at one socket. */
static inline void local_listen(void *data, const char *channel, bool hears)
{
    (void)data;
    (void)channel;
    assert_true(hears);
}

static inline void local_hear(void *data, struct sim_text *text)
{
    struct local_node *node = data;
    driver_turn(&node->driver);
    for (unsigned i = 0; i < node->driver.n_pushes; i++) {
        sim_text_print(text, " to:%u<%u %" PRIu64,
                       (unsigned)node->driver.pushes[i].cookie,
                       (unsigned)node->driver.pushes[i].cookie,
                       node->driver.pushes[i].counter);
    }
}

/* ---- The state ----------------------------------------------------------- */

static inline enum hf_scan_step local_seat(void *data,
                                           const struct hf_local_entry *one)
{
    struct local_node *node = data;
    int64_t left_ms = one->until.ns / 1000000 - local_us / 1000;
    if (left_ms <= 0) {
        return HF_SCAN_ON; /* over; it waits for the next sweep */
    }
    struct row *row = &node->rows[node->n_rows++];
    assert_true(node->n_rows < ROWS_MAX);
    row->n = 0;
    column(row, "seat_owner", "%.*s", one->owner_len, one->owner);
    number(row, "seat_ticket", (int64_t)one->ticket);
    column(row, "seat_mode", one->is_shared ? "s%u" : "x", one->permits);
    number(row, "seat_left_ms", left_ms);
    if (one->ticket == 0) {
        number(row, "v", (int64_t)one->counter);
    }
    return HF_SCAN_ON;
}

/* The first row has all of the name, and perhaps a seat. */
static inline void local_read(struct hf_txn *txn, void *data)
{
    struct local_node *node = data;
    const struct hf_record *record = &txn->record;
    struct row all = {0};
    local_rows(node, 0);
    node->was_owned = record->until.ns != 0;
    hf_txn_inspect(txn);
    if (hf_txn_is_group(txn)) {
        hf_entries_each(txn, HF_ENTRY_SHARER, local_seat, node);
    }
    number(&all, "sharers", node->n_rows);
    hf_entries_each(txn, HF_ENTRY_WAITER, local_seat, node);
    number(&all, "waiters", node->n_rows - strtol(all.of[0].text, NULL, 10));
    if (record->has_last) {
        column(&all, "last_owner", "%.*s", record->owner_len, record->owner);
    }
    if (node->n_rows == 0) {
        local_rows(node, 1);
    }
    struct row *row = &node->rows[0];
    for (int i = 0; i < all.n; i++) {
        column(row, all.of[i].name, "%s", all.of[i].text);
    }
}

/* The version also if the value is deleted, and the fields that GET does not
 * copy. */
static inline void local_read_value(struct local_node *node, struct row *row)
{
    struct hf_local *local = local_of(node);
    struct hf_table_key key;
    MDB_txn *txn;
    MDB_val found;
    uint64_t version = 0;
    hf_table_key_init(&key, local->prefix, NAME, sizeof(NAME) - 1);
    MDB_val name = {key.len, key.bytes};
    assert_int_equal(hf_values_begin(&local->values, MDB_RDONLY, &txn), 0);
    if (mdb_get(txn, local->values.dbi, &name, &found) == 0) {
        size_t len = node->driver.value_len;
        memcpy(&version, found.mv_data, sizeof(version));
        column(row, "data", "%.*s", (int)len,
               (const char *)found.mv_data + found.mv_size - len);
    }
    number(row, "last_version", (int64_t)version);
    mdb_txn_abort(txn);
}

static inline void local_look(void *data)
{
    struct local_node *node = data;
    struct hf_transaction t;
    struct hf_ask ask = {
        .verb = HF_VERB_INSPECT, .name = NAME, .name_len = sizeof(NAME) - 1};
    hf_transaction_init(&t, local_of(node), &ask);
    assert_true(hf_local_transact(&t, local_read, node));
    struct row *row = &node->rows[0];
    const struct hf_answer *answer = driver_ask(&node->driver, &ask);
    number(row, "counter", (int64_t)answer->counter);
    local_holder(row, answer);
    ask.verb = HF_VERB_GET;
    answer = driver_ask(&node->driver, &ask);
    number(row, "version", (int64_t)answer->counter);
    column(row, "id", "%.*s", (int)answer->owner_len,
           answer->owner_len == 0 ? "" : node->driver.owner);
    local_read_value(node, row);
}

/* ---- All of it ----------------------------------------------------------- */

static inline void local_start(struct local_node *node)
{
    static const struct hf_ask first = {.verb = HF_VERB_ACQUIRE,
                                        .name = "first",
                                        .name_len = 5,
                                        .ttl_ms = 1,
                                        .queue_ms = 1};
    struct hf_ask ask = first;
    folder_make(node->folder);
    assert_int_equal(driver_open_keeping(&node->driver, node->folder,
                                         "?node_timeout=10s",
                                         strtol(KEEP_MS, NULL, 10)),
                     HF_OK);
    /* The second one waits, so that there is a socket for pushes. */
    for (const char *owner = "12"; *owner != '\0'; owner++) {
        ask.owner = owner;
        ask.owner_len = 1;
        driver_ask(&node->driver, &ask);
    }
    driver_turn(&node->driver);
}

static inline void local_stop(struct local_node *node)
{
    driver_close(&node->driver);
    folder_drop(node->folder);
}

static inline void *local_open(const char *schema)
{
    struct local_node *node = calloc(1, sizeof(*node));
    (void)schema;
    assert_non_null(node);
    local_us = EPOCH_US;
    local_start(node);
    return node;
}

static inline void local_reset(void *data)
{
    struct local_node *node = data;
    local_stop(node);
    local_us = EPOCH_US;
    node->was_owned = false;
    local_start(node);
}

static inline void local_close(void *data)
{
    local_stop(data);
    free(data);
}

/* A name that had no owner yet has been free for ever: with its counter, which
 * is below the floor, it is forgotten at once. */
static inline void local_sweep(void *data)
{
    struct local_node *node = data;
    struct hf_clock_sample now;
    struct hf_local *local = local_of(node);
    char reason[HF_REASON_MAX];
    if (!node->was_owned) {
        return;
    }
    assert_int_equal(hf_gate_enter(&local->gate, reason, sizeof(reason)),
                     HF_OK);
    hf_local_moment(local, &now);
    assert_int_equal(hf_table_sweep(&local->table, 64, local->fence_keep, &now),
                     0);
    hf_gate_leave(&local->gate);
}

#endif
