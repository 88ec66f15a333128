/* SPDX-License-Identifier: Apache-2.0 */
/* What a wire promises of marks (store/ordered/wire.h), against a real server:
 * what a lock around each run hides.
 *
 *     HF_TEST_URL=URL CMOCKA_MESSAGE_OUTPUT=TAP mark_wire_etcd */
#ifndef HF_TESTS_CONFORMANCE_MARK_WIRE_H
#define HF_TESTS_CONFORMANCE_MARK_WIRE_H

#include "io/clock.h"
#include "io/loop.h"
#include "store/ordered/ordered.h"
#include "store/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Deadlines are for hangs. In milliseconds. */
#define MARK_PATIENCE_MS 30000

/* Seconds: as long as the test, on a loaded machine. */
#define MARK_SESSION_S 300

/* A call, and what is kept of its reply. */
struct mark_call {
    struct hf_wire_call wire; /* first */
    bool is_done;
    enum hf_wire_outcome outcome;
    bool has_changed;
    bool has_mark;
    char mark[200];
    uint64_t version;
    int64_t clock_ms, clock_step_ms;
    uint8_t session[HF_SESSION_ID_LEN];
    char names[400]; /* each between spaces */
};

struct mark_wire {
    struct hf_loop *loop;
    struct hf_ordered *store;
    uint8_t session[HF_SESSION_ID_LEN];
    bool has_session;
};

static void mark_on_status(void *client, unsigned node,
                           enum hf_node_status status, bool is_reset,
                           enum hf_status fault, const char *reason)
{
    (void)client, (void)node, (void)status, (void)is_reset, (void)fault;
    (void)reason;
}

static void mark_on_listen(void *client, unsigned node, bool is_listening)
{
    (void)client, (void)node, (void)is_listening;
}

static void mark_on_log(void *client, enum hf_log_level level, const char *text)
{
    (void)client, (void)level, (void)text;
}

static void mark_on_done(struct hf_wire_call *wire,
                         const struct hf_wire_reply *reply,
                         struct hf_instant now)
{
    struct mark_call *call = (struct mark_call *)(void *)wire;
    size_t at = 0;
    (void)now;
    call->is_done = true;
    call->outcome = reply->outcome;
    call->has_changed = reply->has_changed;
    call->has_mark = reply->mark.data != NULL;
    call->version = reply->version;
    call->clock_ms = reply->clock_ms;
    call->clock_step_ms = reply->clock_step_ms;
    memcpy(call->session, reply->session, sizeof(call->session));
    if (call->has_mark) {
        snprintf(call->mark, sizeof(call->mark), "%.*s", (int)reply->mark.len,
                 (const char *)reply->mark.data);
    }
    for (size_t i = 0; i < reply->n_entries; i++) {
        struct hf_bytes name = reply->entries[i].name;
        int n = snprintf(call->names + at, sizeof(call->names) - at, " %.*s ",
                         (int)name.len, (const char *)name.data);
        at += (size_t)n;
        assert_true(at < sizeof(call->names));
    }
}

/* ---- The wire ------------------------------------------------------------ */

static bool mark_is_over(struct hf_instant end)
{
    return !hf_instant_before(hf_clock_now(), end);
}

/* Until the flag is set: it is what a handler changes. */
static void mark_run(struct mark_wire *wire, const bool *is_done)
{
    struct hf_instant end =
        hf_instant_add(hf_clock_now(), hf_span_ms(MARK_PATIENCE_MS));
    while (!*is_done && !mark_is_over(end)) {
        struct hf_instant next = hf_loop_next_timer(wire->loop);
        (void)hf_loop_wait(wire->loop, hf_instant_min(next, end));
        hf_loop_dispatch(wire->loop, hf_clock_now());
    }
    assert_true(*is_done);
}

static struct mark_call mark_read(struct mark_wire *wire, const char *name)
{
    struct hf_ordered *store = wire->store;
    struct mark_call call = {.wire.done = mark_on_done};
    struct hf_bytes bytes = {name, strlen(name)};
    assert_true(store->wire_ops->mark_read(store->wire, bytes, &call.wire,
                                           hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    return call;
}

/** @param text  NULL: remove it. @return whether it was done. */
static bool mark_write(struct mark_wire *wire, const char *name,
                       uint64_t version, const char *text)
{
    struct hf_ordered *store = wire->store;
    struct mark_call call = {.wire.done = mark_on_done};
    struct hf_wire_mark mark = {
        .name = {name, strlen(name)},
        .version = version,
        .session = wire->has_session ? wire->session : NULL,
        .text = {text, text == NULL ? 0 : strlen(text)}};
    assert_true(store->wire_ops->mark_write(store->wire, &mark, &call.wire,
                                            hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    return call.has_changed;
}

/* Where a mark needs one. */
static void mark_open_session(struct mark_wire *wire)
{
    struct hf_ordered *store = wire->store;
    struct mark_call call = {.wire.done = mark_on_done};
    wire->has_session = store->wire_ops->marks == NULL;
    if (wire->has_session) {
        assert_true(store->wire_ops->open(store->wire, MARK_SESSION_S,
                                          &call.wire, hf_clock_now()));
        mark_run(wire, &call.is_done);
        assert_int_equal(call.outcome, HF_WIRE_DONE);
        memcpy(wire->session, call.session, sizeof(wire->session));
    }
}

static void mark_wait_until_up(struct mark_wire *wire)
{
    struct hf_instant end =
        hf_instant_add(hf_clock_now(), hf_span_ms(MARK_PATIENCE_MS));
    while (wire->store->standing.status != HF_NODE_STATUS_VOTING &&
           !mark_is_over(end)) {
        struct hf_instant next = hf_loop_next_timer(wire->loop);
        (void)hf_loop_wait(wire->loop, hf_instant_min(next, end));
        hf_loop_dispatch(wire->loop, hf_clock_now());
    }
    assert_int_equal(wire->store->standing.status, HF_NODE_STATUS_VOTING);
}

static void mark_open(struct mark_wire *wire, const struct hf_store_ops *ops)
{
    struct hf_url *url;
    struct hf_store *store;
    struct hf_error error;
    *wire = (struct mark_wire){.loop = hf_loop_new()};
    struct hf_store_env env = {.client = wire,
                               .loop = wire->loop,
                               .status = mark_on_status,
                               .listen = mark_on_listen,
                               .log = mark_on_log};
    assert_non_null(wire->loop);
    assert_int_equal(hf_url_parse(getenv("HF_TEST_URL"), NULL, &url, &error),
                     HF_OK);
    assert_int_equal(ops->open(url, &env, &store, &error), HF_OK);
    hf_url_free(url);
    wire->store = (struct hf_ordered *)(void *)store;
    mark_wait_until_up(wire);
    mark_open_session(wire);
}

static void mark_close(struct mark_wire *wire, const struct hf_store_ops *ops)
{
    ops->close(&wire->store->base, false);
    hf_loop_free(wire->loop);
}

/* ---- Cases --------------------------------------------------------------- */

static const struct hf_store_ops *mark_ops;

static void a_write_replaces_what_was_read(void **state)
{
    struct mark_wire wire;
    (void)state;
    mark_open(&wire, mark_ops);
    struct mark_call none = mark_read(&wire, "w/1");
    assert_false(none.has_mark);
    assert_int_equal(none.version, 0);
    assert_true(mark_write(&wire, "w/1", 0, "first"));
    assert_false(mark_write(&wire, "w/1", 0, "another first"));
    struct mark_call first = mark_read(&wire, "w/1");
    assert_string_equal(first.mark, "first");
    assert_true(first.version != 0);
    assert_true(mark_write(&wire, "w/1", first.version, "second"));
    assert_false(mark_write(&wire, "w/1", first.version, "late"));
    assert_false(mark_write(&wire, "w/1", 0, "latest"));
    struct mark_call second = mark_read(&wire, "w/1");
    assert_string_equal(second.mark, "second");
    assert_true(second.version != first.version);
    assert_false(mark_read(&wire, "w").has_mark);
    mark_close(&wire, mark_ops);
}

/* Two clients on connections of their own, one after the other. */
static void a_write_is_seen_by_others(void **state)
{
    struct mark_wire one, other;
    (void)state;
    mark_open(&one, mark_ops);
    mark_open(&other, mark_ops);
    uint64_t version = 0;
    for (unsigned i = 0; i < 20; i++) {
        char text[20];
        snprintf(text, sizeof(text), "%u", i);
        struct mark_wire *writer = i % 2 == 0 ? &one : &other;
        struct mark_wire *reader = i % 2 == 0 ? &other : &one;
        assert_true(mark_write(writer, "seen", version, text));
        assert_false(mark_write(reader, "seen", version, "stale"));
        struct mark_call read = mark_read(reader, "seen");
        assert_string_equal(read.mark, text);
        version = read.version;
    }
    mark_close(&one, mark_ops);
    mark_close(&other, mark_ops);
}

static void the_clock_is_there_and_goes_on(void **state)
{
    struct mark_wire wire;
    (void)state;
    mark_open(&wire, mark_ops);
    int64_t before_ms = (int64_t)time(NULL) * 1000;
    struct mark_call one = mark_read(&wire, "no mark");
    struct mark_call other = mark_read(&wire, "no mark");
    int64_t after_ms = (int64_t)time(NULL) * 1000;
    assert_true(one.clock_step_ms > 0);
    assert_true(one.clock_ms >= before_ms - one.clock_step_ms);
    assert_true(other.clock_ms >= one.clock_ms);
    assert_true(other.clock_ms <= after_ms + 1000);
    mark_close(&wire, mark_ops);
}

static void a_mark_that_stays_is_named_and_removed(void **state)
{
    struct mark_wire wire;
    (void)state;
    mark_open(&wire, mark_ops);
    struct hf_ordered *store = wire.store;
    struct mark_call named = {.wire.done = mark_on_done};
    if (store->wire_ops->marks == NULL) {
        mark_close(&wire, mark_ops);
        return;
    }
    assert_true(mark_write(&wire, "a~%/b", 0, "text"));
    struct mark_call read = mark_read(&wire, "a~%/b");
    assert_true(
        store->wire_ops->marks(store->wire, &named.wire, hf_clock_now()));
    mark_run(&wire, &named.is_done);
    assert_int_equal(named.outcome, HF_WIRE_DONE);
    assert_non_null(strstr(named.names, " a~%/b "));
    assert_true(mark_write(&wire, "a~%/b", read.version, "newer"));
    (void)mark_write(&wire, "a~%/b", read.version, NULL);
    read = mark_read(&wire, "a~%/b");
    assert_string_equal(read.mark, "newer");
    assert_true(mark_write(&wire, "a~%/b", read.version, NULL));
    assert_false(mark_read(&wire, "a~%/b").has_mark);
    mark_close(&wire, mark_ops);
}

static inline int mark_wire_main(const struct hf_store_ops *ops)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_replaces_what_was_read),
        cmocka_unit_test(a_write_is_seen_by_others),
        cmocka_unit_test(the_clock_is_there_and_goes_on),
        cmocka_unit_test(a_mark_that_stays_is_named_and_removed),
    };
    mark_ops = ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
