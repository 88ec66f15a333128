/* SPDX-License-Identifier: Apache-2.0 */
/* Values on a wire of one text, call by call: what a PUT makes of a write of
 * another client between its read and its write, of a call that was lost, of a
 * tombstone, and of its own copy. */
#include "store/ordered/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID_A "0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210"
/* Bytes of a stored value: an id of 32 digits, and some data. */
#define TEXT_MAX 100

/* One server, which executes a call when the test says so. */
struct hf_wire {
    char text[TEXT_MAX];
    size_t len;
    uint64_t version; /* 0: no value */
    uint64_t revision;
    struct hf_wire_call *call; /* under way; NULL: none */
    bool is_write;
    char write[TEXT_MAX];
    size_t write_len;
    uint64_t if_version;
    unsigned reads, writes, removals;
};

static struct hf_wire server;
static struct hf_ordered *store;
static struct hf_answer answer;
static unsigned answers;
static char got[TEXT_MAX];
static const struct hf_instant now = {1000000000};

static bool value_read(struct hf_wire *wire, struct hf_bytes name,
                       struct hf_wire_call *call, struct hf_instant at)
{
    (void)name, (void)at;
    assert_null(wire->call);
    wire->call = call;
    wire->is_write = false;
    return true;
}

static bool value_write(struct hf_wire *wire, const struct hf_wire_mark *value,
                        struct hf_wire_call *call, struct hf_instant at)
{
    (void)at;
    assert_null(wire->call);
    assert_null(value->session);
    wire->call = call;
    wire->is_write = true;
    wire->write_len = value->text.len;
    if (value->text.len > 0) {
        memcpy(wire->write, value->text.data, value->text.len);
    }
    wire->if_version = value->version;
    return true;
}

static struct hf_wire_ops wire_ops = {.value_read = value_read,
                                      .value_write = value_write};

/* ---- The server ---------------------------------------------------------- */

/* Another client writes. */
static void write_text(const char *text)
{
    server.len = strlen(text);
    memcpy(server.text, text, server.len);
    server.version = server.revision += 7;
}

static void execute(struct hf_wire_reply *reply)
{
    if (!server.is_write) {
        server.reads++;
        reply->mark = (struct hf_bytes){
            server.version == 0 ? NULL : server.text, server.len};
        reply->version = reply->revision = server.version;
        return;
    }
    server.writes++;
    reply->has_changed = server.if_version == server.version;
    if (!reply->has_changed) {
        return;
    }
    memcpy(server.text, server.write, server.write_len);
    server.len = server.write_len;
    server.revision++;
    server.removals += server.write_len == 0;
    server.version = server.write_len == 0 ? 0 : server.revision;
    reply->version = reply->revision = server.version;
}

static void reply_with(enum hf_wire_outcome outcome, bool is_executed)
{
    struct hf_wire_call *call = server.call;
    struct hf_wire_reply reply = {.outcome = HF_WIRE_DONE, .sent = now};
    assert_non_null(call);
    if (is_executed) {
        execute(&reply);
    }
    reply.outcome = outcome;
    reply.fault = outcome == HF_WIRE_DONE ? HF_OK : HF_UNAVAILABLE;
    reply.reason = "as the test says";
    server.call = NULL;
    call->done(call, &reply, now);
}

static void serve(void)
{
    reply_with(HF_WIRE_DONE, true);
}

/* ---- The client ---------------------------------------------------------- */

static void on_answer(void *client, const struct hf_answer *given)
{
    (void)client;
    answer = *given;
    answers++;
    got[0] = '\0';
    if (given->value.data != NULL) {
        snprintf(got, sizeof(got), "%.*s", (int)given->value.len,
                 (const char *)given->value.data);
    }
}

static int set_up(void **state)
{
    struct hf_store_env env = {.answer = on_answer};
    (void)state;
    memset(&server, 0, sizeof(server));
    wire_ops.keeps_tombstones = false;
    answers = 0;
    store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return -1;
    }
    store->env = env;
    store->wire = &server;
    store->wire_ops = &wire_ops;
    server.revision = 100;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_null(store->tasks);
    assert_null(store->calls);
    free(store);
    return 0;
}

static void put(const char *id, const char *text, uint64_t if_version)
{
    struct hf_ask ask = {
        .verb = HF_VERB_PUT,
        .name = "n",
        .name_len = 1,
        .owner = id,
        .owner_len = HF_WRITE_ID_LEN,
        .counter = if_version,
        .value = {text, text == NULL ? 0 : strlen(text)},
    };
    hf_ordered_value(store, &ask, now);
}

static void get(void)
{
    struct hf_ask ask = {.verb = HF_VERB_GET, .name = "n", .name_len = 1};
    hf_ordered_value(store, &ask, now);
}

static void expect(enum hf_verdict verdict, uint64_t counter)
{
    assert_int_equal(answers, 1);
    assert_null(server.call);
    assert_int_equal(answer.verdict, verdict);
    assert_true(answer.counter == counter);
    answers = 0;
}

static void expect_stored(const char *text)
{
    assert_int_equal(server.len, strlen(text));
    assert_memory_equal(server.text, text, server.len);
}

/* ---- Cases --------------------------------------------------------------- */

static void a_value_comes_back(void **state)
{
    (void)state;
    put(ID_A, "one", 0);
    serve();
    serve();
    expect(HF_VERDICT_OK, 101);
    expect_stored(ID_A " one");
    get();
    serve();
    expect(HF_VERDICT_OK, 101);
    assert_string_equal(got, "one");
    put(ID_B, "", 101);
    serve();
    serve();
    expect(HF_VERDICT_OK, 102);
    expect_stored(ID_B " ");
    get();
    serve();
    expect(HF_VERDICT_OK, 102);
    assert_non_null(answer.value.data);
    assert_int_equal(answer.value.len, 0);
}

/* Of any version: again. Of that version: refused, with the present one. */
static void another_write_comes_between(void **state)
{
    (void)state;
    write_text(ID_B " one");
    put(ID_A, "two", HF_VERSION_ANY);
    serve();
    write_text(ID_B " rival");
    serve(); /* the write is refused */
    expect_stored(ID_B " rival");
    serve();
    serve();
    expect(HF_VERDICT_OK, server.version);
    expect_stored(ID_A " two");

    uint64_t version = server.version;
    put(ID_B, "three", version);
    serve();
    write_text(ID_A " rival");
    serve();
    serve();
    expect(HF_VERDICT_REFUSED, server.version);
    expect_stored(ID_A " rival");
}

static void others_always_come_between(void **state)
{
    (void)state;
    put(ID_A, "two", HF_VERSION_ANY);
    while (answers == 0 && server.reads < 100) {
        serve();
        write_text(ID_B " rival");
        if (answers == 0) {
            serve();
        }
    }
    expect(HF_VERDICT_UNSENT, 0);
    expect_stored(ID_B " rival");
}

/* Its copy finds it, and writes nothing. */
static void a_write_is_lost(void **state)
{
    (void)state;
    put(ID_A, "one", 0);
    serve();
    reply_with(HF_WIRE_LOST, true);
    expect(HF_VERDICT_UNKNOWN, 0);
    unsigned writes = server.writes;
    put(ID_A, "one", 0);
    serve();
    expect(HF_VERDICT_OK, 101);
    put(ID_A, "one", 101); /* as found by a read */
    serve();
    expect(HF_VERDICT_OK, 101);
    assert_int_equal(server.writes, writes);

    put(ID_B, "two", 101); /* it lands late, when another one has written */
    serve();
    struct hf_wire late = server;
    reply_with(HF_WIRE_LOST, false);
    expect(HF_VERDICT_UNKNOWN, 0);
    write_text(ID_A " rival");
    assert_true(late.if_version != server.version);

    put(ID_B, "two", 101);
    reply_with(HF_WIRE_LOST, false);
    expect(HF_VERDICT_UNSENT, 0);
}

static void a_tombstone_is_no_value(void **state)
{
    (void)state;
    write_text(ID_B);
    get();
    serve();
    expect(HF_VERDICT_OK, 0);
    assert_null(answer.value.data);
    assert_int_equal(answer.owner_len, HF_WRITE_ID_LEN);
    put(ID_A, "x", server.version);
    serve();
    expect(HF_VERDICT_REFUSED, 0);
    expect_stored(ID_B);
    put(ID_A, "x", 0);
    serve();
    serve();
    expect(HF_VERDICT_OK, server.version);
    expect_stored(ID_A " x");
}

static void a_deletion_leaves_nothing(void **state)
{
    (void)state;
    write_text(ID_B " one");
    put(ID_A, NULL, server.version);
    serve();
    serve();
    assert_int_equal(answers, 0);
    expect_stored(ID_A);
    serve();
    assert_int_equal(server.removals, 1);
    expect(HF_VERDICT_OK, 108);
    assert_true(server.version == 0);
    put(ID_A, NULL, HF_VERSION_ANY); /* there is none */
    serve();
    expect(HF_VERDICT_OK, 0);
    put(ID_A, NULL, 107);
    serve();
    expect(HF_VERDICT_REFUSED, 0);
}

/* Or the tombstone, which the wire keeps, or which could not be removed. */
static void a_deletion_leaves_a_tombstone(void **state)
{
    (void)state;
    wire_ops.keeps_tombstones = true;
    write_text(ID_B " one");
    put(ID_A, NULL, HF_VERSION_ANY);
    serve();
    serve();
    expect(HF_VERDICT_OK, 108);
    expect_stored(ID_A);
    wire_ops.keeps_tombstones = false;
    put(ID_A, NULL, HF_VERSION_ANY); /* its copy */
    serve();
    reply_with(HF_WIRE_LOST, false);
    expect(HF_VERDICT_OK, 108);
    expect_stored(ID_A);
    put(ID_A, NULL, HF_VERSION_ANY);
    serve();
    write_text(ID_B " new"); /* before it is removed */
    serve();
    expect(HF_VERDICT_OK, 108);
    expect_stored(ID_B " new");
}

/* As a copy of a deletion does, of whose version there is none any more. */
static void a_deletion_finds_the_tombstone_of_another(void **state)
{
    (void)state;
    write_text(ID_B);
    put(ID_A, NULL, 0);
    serve();
    serve();
    expect(HF_VERDICT_OK, 0);
    assert_int_equal(server.writes, 1);
    assert_int_equal(server.removals, 1);
    write_text(ID_B);
    wire_ops.keeps_tombstones = true;
    put(ID_A, NULL, HF_VERSION_ANY);
    serve();
    expect(HF_VERDICT_OK, 0);
    assert_int_equal(server.writes, 1);
    expect_stored(ID_B);
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"", "hello", ID_A "x",
                                        "0123456789ABCDEF0123456789abcdef x"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_text(texts[i]);
        get();
        serve();
        expect(HF_VERDICT_ERROR, 0);
        put(ID_B, "x", HF_VERSION_ANY);
        serve();
        expect(HF_VERDICT_ERROR, 0);
        expect_stored(texts[i]);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_value_comes_back),
        CASE(another_write_comes_between),
        CASE(others_always_come_between),
        CASE(a_write_is_lost),
        CASE(a_tombstone_is_no_value),
        CASE(a_deletion_leaves_nothing),
        CASE(a_deletion_leaves_a_tombstone),
        CASE(a_deletion_finds_the_tombstone_of_another),
        CASE(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
