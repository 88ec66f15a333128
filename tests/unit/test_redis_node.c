/* SPDX-License-Identifier: Apache-2.0 */
/* A node of Redis without a server: RN-1 to RN-11, each of which fails its
 * assertion when it is violated, and a program that did not poll during a
 * handshake. No reply leads to the states of the first test, so they are
 * written by hand. */
/* link: -Wl,--wrap=hf_assert_failed */
#include "failed_assertion.h"
#include "io/clock.h"
#include "store/redis/command.h"
#include "store/redis/node.h"
#include "store/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const struct hf_store_ops hf_store_redis;

static struct scene {
    struct hf_loop *loop;
    struct hf_url *url;
    struct hf_store *store;
    struct hf_redis_node *node;
    struct hf_pending ring[1];
    bool was_down;
    enum hf_status down_fault;
    unsigned n_ended;
    enum hf_status ended; /* of the job */
} on;

static void on_status(void *client, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    (void)client, (void)node, (void)is_reset, (void)reason;
    if (status == HF_NODE_STATUS_DOWN) {
        on.was_down = true;
        on.down_fault = fault;
    }
}

static void on_listen(void *client, unsigned node, bool is_listening)
{
    (void)client, (void)node, (void)is_listening;
}

static void on_job_done(void *user, unsigned node, enum hf_status status,
                        const char *reason)
{
    (void)user, (void)node, (void)reason;
    on.n_ended++;
    on.ended = status;
}

static int set_up(void **state)
{
    struct hf_error error;
    (void)state;
    memset(&on, 0, sizeof(on));
    on.loop = hf_loop_new();
    struct hf_store_env env = {
        .loop = on.loop, .status = on_status, .listen = on_listen};
    if (on.loop == NULL ||
        hf_url_parse("redis://127.0.0.1:1", NULL, &on.url, &error) != HF_OK ||
        hf_store_redis.open(on.url, &env, &on.store, &error) != HF_OK) {
        return -1;
    }
    on.node = ((struct hf_redis *)(void *)on.store)->nodes;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_store_redis.close(on.store, false);
    hf_url_free(on.url);
    hf_loop_free(on.loop);
    return 0;
}

static struct hf_redis_connection *first(void)
{
    return &on.node->connection;
}

static struct hf_redis_connection *second(void)
{
    return &on.node->listener.connection;
}

/* ---- States that pass -------------------------------------------------- */

static void waiting(void)
{
}

static void connecting(void)
{
    on.node->phase = HF_REDIS_CONNECTING;
    first()->socket.state = HF_SOCKET_CONNECTING;
    first()->deadline = first()->timer.at;
}

static void owes(struct hf_redis_connection *connection)
{
    connection->wire.ring = on.ring;
    connection->wire.ring_cap = 1;
    connection->wire.count = 1;
    connection->wire.cap = 100;
    connection->wire.end = 10;
}

static void greeting(void)
{
    connecting();
    on.node->phase = HF_REDIS_GREETING;
    first()->socket.state = HF_SOCKET_OPEN;
    first()->is_open = true;
    owes(first());
}

static void surveying(void)
{
    greeting();
    on.node->phase = HF_REDIS_SURVEYING;
    on.node->survey.is_under_way = true;
}

static void voting(void)
{
    greeting();
    memset(&first()->wire, 0, sizeof(first()->wire));
    on.node->phase = HF_REDIS_READY;
    on.node->standing.status = HF_NODE_STATUS_VOTING;
    on.node->standing.fault = HF_OK;
}

static void quarantined(void)
{
    voting();
    on.node->standing.status = HF_NODE_STATUS_REPAIRING;
    on.node->standing.fault = HF_QUARANTINED;
    on.node->admission.quarantined_until = on.node->peek_at = HF_NEVER;
}

static void broken(void)
{
    voting();
    hf_redis_connection_break(first(), "by hand");
}

static void down(void)
{
    on.node->standing.status = HF_NODE_STATUS_DOWN;
}

static void subscribing(void)
{
    voting();
    on.node->listener.phase = HF_REDIS_SUBSCRIBING;
    second()->socket.state = HF_SOCKET_OPEN;
    second()->is_open = true;
    second()->timer.at = second()->deadline = on.node->connection.timer.at;
    owes(second());
}

/* ---- States that fail -------------------------------------------------- */

static void rn_1_sent_too_much(void)
{
    greeting();
    first()->wire.sent = first()->wire.end + 1;
}

static void rn_1_beyond_the_buffer(void)
{
    greeting();
    first()->wire.cap = 1;
}

static void rn_1_bytes_without_request(void)
{
    voting();
    owes(first());
    first()->wire.count = 0;
}

static void rn_1_small_ring(void)
{
    greeting();
    first()->wire.ring_cap = 0;
}

static void rn_2_request_while_closed(void)
{
    owes(first());
}

static void rn_3_broken_while_closed(void)
{
    hf_redis_connection_break(first(), "by hand");
}

static void rn_3_broken_without_reason(void)
{
    broken();
    first()->fault = HF_OK;
}

static void rn_3_broken_and_not_due(void)
{
    broken();
    first()->timer.at = HF_NEVER;
}

static void rn_3_open_without_socket(void)
{
    voting();
    first()->socket.state = HF_SOCKET_CONNECTING;
}

static void rn_4_waiting_with_socket(void)
{
    first()->socket.state = HF_SOCKET_CONNECTING;
}

static void rn_4_handshake_too_early(void)
{
    connecting();
    on.node->phase = HF_REDIS_GREETING;
}

static void rn_5_handshake_without_reply(void)
{
    greeting();
    memset(&first()->wire, 0, sizeof(first()->wire));
}

static void rn_6_old_error(void)
{
    on.node->greet_fault = HF_DENIED;
}

static void rn_7_votes_unidentified(void)
{
    greeting();
    on.node->standing.status = HF_NODE_STATUS_VOTING;
}

static void rn_7_ready_without_status(void)
{
    voting();
    on.node->standing.status = HF_NODE_STATUS_CONNECTING;
}

static void rn_8_votes_with_fault(void)
{
    voting();
    on.node->standing.fault = HF_UNAVAILABLE;
}

static void rn_8_votes_in_quarantine(void)
{
    voting();
    on.node->admission.quarantined_until = HF_NEVER;
}

static void rn_8_quarantine_without_end(void)
{
    quarantined();
    on.node->admission.quarantined_until = HF_LONG_AGO;
}

static void rn_8_down_by_quarantine(void)
{
    down();
    on.node->standing.fault = HF_QUARANTINED;
}

static void rn_9_survey_of_old(void)
{
    voting();
    on.node->survey.is_under_way = true;
}

static void rn_9_awaits_for_nothing(void)
{
    voting();
    on.node->examination.awaits_push = true;
}

static void rn_10_off_with_socket(void)
{
    voting();
    second()->socket.state = HF_SOCKET_CONNECTING;
}

static void rn_10_listens_alone(void)
{
    subscribing();
    first()->is_open = false;
    first()->socket.state = HF_SOCKET_CLOSED;
    on.node->phase = HF_REDIS_WAITING;
    on.node->standing.status = HF_NODE_STATUS_CONNECTING;
}

static void rn_10_subscribes_unopened(void)
{
    subscribing();
    on.node->listener.phase = HF_REDIS_LISTEN_CONNECTING;
}

static void rn_10_waits_for_nothing(void)
{
    subscribing();
    memset(&second()->wire, 0, sizeof(second()->wire));
}

static void rn_11_late_timer(void)
{
    first()->timer.at = HF_NEVER;
}

static void rn_11_late_timer_of_listener(void)
{
    subscribing();
    second()->timer.at = HF_NEVER;
}

static const struct {
    const char *name;
    void (*make)(void);
    const char *fails; /* start of the assertion's text; NULL: none fails */
} cases[] = {
    {"waiting", waiting, NULL},
    {"connecting", connecting, NULL},
    {"greeting", greeting, NULL},
    {"surveying", surveying, NULL},
    {"voting", voting, NULL},
    {"quarantined", quarantined, NULL},
    {"broken", broken, NULL},
    {"down", down, NULL},
    {"subscribing", subscribing, NULL},
    {"RN-1, sent", rn_1_sent_too_much, "wire->begin <= wire->sent"},
    {"RN-1, buffer", rn_1_beyond_the_buffer, "wire->end <= wire->cap"},
    {"RN-1, bytes", rn_1_bytes_without_request, "(wire->count == 0) =="},
    {"RN-1, ring", rn_1_small_ring, "wire->count <= wire->ring_cap"},
    {"RN-2", rn_2_request_while_closed, "connection->is_open || wire->count"},
    {"RN-3, closed", rn_3_broken_while_closed, "!is_closed(connection)"},
    {"RN-3, reason", rn_3_broken_without_reason, "connection->fault != HF_OK"},
    {"RN-3, due", rn_3_broken_and_not_due, "connection->timer.at.ns =="},
    {"RN-3, socket", rn_3_open_without_socket, "state == HF_SOCKET_OPEN ||"},
    {"RN-4, waiting", rn_4_waiting_with_socket, "(node->phase == HF_REDIS_W"},
    {"RN-4, early", rn_4_handshake_too_early, "connection->is_open == has"},
    {"RN-5", rn_5_handshake_without_reply, "connection->wire.count > 0 ||"},
    {"RN-6", rn_6_old_error, "node->greet_fault == HF_OK"},
    {"RN-7, early", rn_7_votes_unidentified, "(is_voting || is_repairing)"},
    {"RN-7, late", rn_7_ready_without_status, "(is_voting || is_repairing)"},
    {"RN-8, fault", rn_8_votes_with_fault, "standing->fault == HF_OK &&"},
    {"RN-8, until", rn_8_votes_in_quarantine, "standing->fault == HF_OK &&"},
    {"RN-8, end", rn_8_quarantine_without_end, "standing->fault == HF_QUARAN"},
    {"RN-8, down", rn_8_down_by_quarantine, "standing->fault != HF_OK &&"},
    {"RN-9, survey", rn_9_survey_of_old, "node->survey.is_under_way =="},
    {"RN-9, push", rn_9_awaits_for_nothing, "!node->examination.awaits_push"},
    {"RN-10, off", rn_10_off_with_socket, "is_off == is_closed("},
    {"RN-10, alone", rn_10_listens_alone, "is_off || node->connection.is_"},
    {"RN-10, open", rn_10_subscribes_unopened, "connection->is_open == (lis"},
    {"RN-10, reply", rn_10_waits_for_nothing, "connection->wire.count > 0 ||"},
    {"RN-11, node", rn_11_late_timer, "is_timed(&node->connection"},
    {"RN-11, second", rn_11_late_timer_of_listener,
     "is_timed(&node->listener.connection"},
};

static void check(void *user)
{
    hf_redis_node_check(user);
}

static void each_invariant_is_asserted(void **state)
{
    struct hf_redis_node *saved = malloc(sizeof(*saved));
    (void)state;
    assert_non_null(saved);
    memcpy(saved, on.node, sizeof(*saved));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *fails = cases[i].fails;
        cases[i].make();
        const char *found = failed_assertion(check, on.node);
        memcpy(on.node, saved, sizeof(*saved));
        if (fails == NULL
                ? found != NULL
                : found == NULL || strncmp(found, fails, strlen(fails)) != 0) {
            fail_msg("%s: %s", cases[i].name,
                     found == NULL ? "no assertion failed" : found);
        }
    }
    free(saved);
}

/* ---- A program that did not poll --------------------------------------- */

/* The reply of a busy server (another client's slow script) tells nothing of
 * the marker: the node keeps its vote. */
static void an_error_is_no_other_marker(void **state)
{
    static const char error[] = "-BUSY Redis is busy running a script\r\n";
    struct hf_reply *reply = &first()->reply;
    struct hf_pending peek = {.verb = HF_REDIS_PEEK};
    (void)state;
    voting();
    strcpy(on.node->admission.known.value, "known");
    assert_true(hf_reply_reset(reply));
    assert_true(hf_reply_feed(reply, error, sizeof(error) - 1));
    assert_int_equal(hf_reply_next(reply), 1);
    hf_redis_handshake_reply(on.node, &peek, hf_clock_now());
    assert_int_equal(on.node->standing.status, HF_NODE_STATUS_VOTING);
}

static void resume(void *user)
{
    hf_redis_node_resume(user, hf_clock_now());
}

/* The handshake that follows a quarantine, or that a job has begun, is late:
 * the node is not down because of the quarantine, and no job has succeeded. */
static void late_handshake(enum hf_status fault)
{
    struct hf_job_sink sink = {.done = on_job_done};
    greeting();
    memset(&first()->wire, 0, sizeof(first()->wire));
    struct hf_resp_request time = {.argc = 1,
                                   .argv = (const char *[]){"TIME"},
                                   .lens = (const size_t[]){4}};
    assert_true(hf_redis_wire_push(
        &first()->wire, &time, &(struct hf_pending){.verb = HF_REDIS_MARKER}));
    on.node->standing.fault = fault;
    on.node->standing.reason[0] = '\0';
    hf_jobs_add(&on.node->jobs, 0, HF_JOB_INIT, &sink);
    const char *failed = failed_assertion(resume, on.node);
    if (failed != NULL) {
        fail_msg("%s", failed);
    }
    assert_true(on.was_down);
    assert_int_equal(on.down_fault, HF_UNAVAILABLE);
    assert_int_equal(on.n_ended, 1);
    assert_int_equal(on.ended, HF_UNAVAILABLE);
}

static void a_late_handshake_after_a_quarantine(void **state)
{
    (void)state;
    late_handshake(HF_QUARANTINED);
}

static void a_late_handshake_of_a_job(void **state)
{
    (void)state;
    late_handshake(HF_OK);
}

static void assert_keys_of(struct hf_redis *store, const char *name)
{
    static struct hf_redis_keys want;
    assert_true(hf_redis_keys_make(&want, store->prefix, store->prefix_len,
                                   name, strlen(name)));
    const struct hf_redis_keys *keys =
        hf_redis_keys_of(store, name, strlen(name));
    assert_non_null(keys);
    assert_int_equal(keys->lock_len, want.lock_len);
    assert_memory_equal(keys->lock, want.lock, want.lock_len);
    assert_int_equal(keys->run_len, want.run_len);
    assert_memory_equal(keys->run, want.run, want.run_len);
}

/* The keys of the last name are kept. Each pair differs in one thing. */
static void keys_are_those_of_the_name(void **state)
{
    static const char *const names[] = {"a", "b", "b", "bc", "b", "", "b"};
    struct hf_redis *store = on.node->store;
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        if (names[i][0] != '\0') {
            assert_keys_of(store, names[i]);
            continue;
        }
        store->prefix_len = 0; /* as with "?prefix=" */
        assert_null(hf_redis_keys_of(store, "hf:x", 4));
        assert_keys_of(store, "lock:b");
        store->prefix_len = 5;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_invariant_is_asserted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_error_is_no_other_marker, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_late_handshake_after_a_quarantine,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_handshake_of_a_job, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(keys_are_those_of_the_name, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("redis_node", tests, NULL, NULL);
}
