/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a database that is a lease, without a server: for how long one
 * that is silent is borne, and what the end of the session means. That frees
 * its locks: while it holds some, not before a lease would have ended. */
/* library: store-postgres-objects */
/* link: -Wl,--wrap=hf_assert_failed */
#include "failed_assertion.h"
#include "io/clock.h"
#include "store/postgres/connection.h"
#include "store/session/session.h"
#include "store/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TTL_MS 60000   /* max_ttl of the store: see its URL */
#define TIMEOUT_MS 500 /* node_timeout: the same */

static int64_t patience_ms(int64_t node_timeout_ms, bool holds)
{
    return hf_span_ms_floor(
        hf_session_patience(hf_span_ms(node_timeout_ms), holds, TTL_MS));
}

static void test_patience(void **state)
{
    (void)state;
    assert_int_equal(patience_ms(50, false), 1000);
    assert_int_equal(patience_ms(500, false), 5000);
    assert_int_equal(patience_ms(50, true), 60000);
    assert_int_equal(patience_ms(500, true), 60000);
    assert_int_equal(patience_ms(10000, true), 100000);
}

/* ---- Tables of functions ------------------------------------------------- */

static void take_incomplete_session(void *user)
{
    struct hf_session_ops ops = {.connect = NULL};
    (void)hf_session_init(user, NULL, &ops, NULL, NULL, NULL);
}

static void take_incomplete_events(void *user)
{
    struct hf_pg_connection_events events = {.opened = NULL};
    hf_pg_connection_init(user, &events, NULL, NULL, (struct hf_span){0});
}

/* A table that lacks a function is refused where it is taken, not at the call
 * that would need it. */
static void test_incomplete_tables(void **state)
{
    struct hf_session session = {.n_seats = 0};
    struct hf_pg_connection connection = {.count = 0};
    (void)state;
    assert_non_null(failed_assertion(take_incomplete_session, &session));
    assert_non_null(failed_assertion(take_incomplete_events, &connection));
}

/* ---- A store with no server ---------------------------------------------- */

static struct scene {
    struct hf_session session; /* first */
    struct hf_sql_link link;
    struct hf_loop *loop;
    struct hf_url *url;
    struct hf_instant now;
    struct hf_instant since; /* when the server owes a reply */
    unsigned n_starts;
    unsigned n_ends;
    size_t n_seats; /* when the requests were answered */
    enum hf_node_status status;
    bool is_reset; /* at any time */
    char reason[HF_STANDING_REASON_MAX];
} on;

static void on_start(struct hf_session *session, struct hf_instant now)
{
    (void)session, (void)now;
    on.n_starts++;
}

static void on_end(struct hf_session *session, enum hf_status fault,
                   struct hf_instant now)
{
    (void)now;
    assert_int_equal(fault, HF_UNAVAILABLE);
    on.n_ends++;
    on.n_seats = session->n_seats;
    hf_sql_link_shut(&on.link);
}

static void on_silent(const struct hf_session *session,
                      struct hf_instant *since)
{
    (void)session;
    *since = on.since;
}

static void on_late(const struct hf_session *session, struct hf_instant now,
                    char *out, size_t size)
{
    (void)session, (void)now;
    strncpy(out, "late", size);
}

static void on_examine(struct hf_session *session)
{
    (void)session;
}

static void on_status(void *client, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    (void)client, (void)node, (void)fault;
    on.status = status;
    on.is_reset |= is_reset;
    strncpy(on.reason, reason == NULL ? "" : reason, sizeof(on.reason) - 1);
}

/* The loop is not run. */
static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now)
{
    (void)watch, (void)events, (void)now;
}

static void on_fire(struct hf_timer *timer, struct hf_instant now)
{
    (void)timer, (void)now;
}

static int set_up(void **state)
{
    static const struct hf_store_ops table = {.name = "fake"};
    static const struct hf_session_ops ops = {.connect = on_start,
                                              .end = on_end,
                                              .silent_since = on_silent,
                                              .late_text = on_late,
                                              .examine = on_examine};
    struct hf_error error;
    (void)state;
    memset(&on, 0, sizeof(on));
    on.loop = hf_loop_new();
    on.now = hf_clock_now();
    on.since = HF_NEVER;
    struct hf_store_env env = {.loop = on.loop, .status = on_status};
    if (on.loop == NULL ||
        hf_url_parse("postgres://h/?node_timeout=500ms&max_ttl=60s", NULL,
                     &on.url, &error) != HF_OK ||
        hf_session_init(&on.session, &table, &ops, on.url, &env, &error) !=
            HF_OK) {
        return -1;
    }
    hf_sql_link_init(&on.link, &on.session.env, hf_span_ms(1000), on_ready,
                     on_fire);
    hf_session_begin(&on.session, &on.link, "h", on.now);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_session_fini(&on.session);
    hf_url_free(on.url);
    hf_loop_free(on.loop);
    return 0;
}

static void after(int64_t ms)
{
    on.now = hf_instant_add(on.now, hf_span_ms(ms));
    hf_session_timed(&on.session, on.now);
    hf_session_settled(&on.session, on.now);
}

static void become_ready(void)
{
    hf_session_timed(&on.session, on.now);
    assert_int_equal(on.n_starts, 1);
    on.link.is_open = true;
    hf_session_greet(&on.session, on.now);
    hf_session_set(&on.session);
    hf_session_ready(&on.session, on.now);
    hf_session_settled(&on.session, on.now);
    assert_int_equal(on.status, HF_NODE_STATUS_VOTING);
}

static void hold(void)
{
    const struct hf_ask ask = {
        .name = "job", .name_len = 3, .owner = "me", .owner_len = 2};
    struct hf_session_seat *seat = hf_session_seat_new(sizeof(*seat), &ask);
    assert_non_null(seat);
    hf_session_seat_add(&on.session, seat, 7);
}

/* ---- Cases --------------------------------------------------------------- */

static void a_silent_server_is_given_up(void **state)
{
    (void)state;
    become_ready();
    after(10 * TIMEOUT_MS);
    assert_int_equal(on.n_ends, 0); /* it owes nothing */
    on.since = on.now;
    after(10 * TIMEOUT_MS - 1);
    assert_int_equal(on.n_ends, 0);
    after(1);
    assert_int_equal(on.n_ends, 1);
    assert_string_equal(on.reason, "does not answer (waited 5000 ms)");
}

static void a_silent_server_is_borne_while_locks_are_held(void **state)
{
    (void)state;
    become_ready();
    hold();
    on.since = on.now;
    after(TTL_MS - 1);
    assert_int_equal(on.n_ends, 0);
    after(1);
    assert_int_equal(on.n_ends, 1);
}

static void a_server_that_does_not_greet_is_late(void **state)
{
    (void)state;
    hf_session_timed(&on.session, on.now);
    hf_session_greet(&on.session, on.now);
    after(hf_span_ms_floor(on.session.connect_timeout) - 1);
    assert_int_equal(on.n_ends, 0);
    after(1);
    assert_int_equal(on.n_ends, 1);
    assert_int_equal(on.status, HF_NODE_STATUS_DOWN);
    assert_string_equal(on.reason, "late");
}

/* What it held is lost: earlier votes are void, and then it votes, for one turn
 * of the loop, that nothing is held. */
static void an_end_with_locks_voids_them(void **state)
{
    (void)state;
    become_ready();
    hold();
    hf_sql_link_break(&on.link, HF_UNAVAILABLE, "gone");
    hf_session_settled(&on.session, on.now);
    assert_int_equal(on.n_ends, 1);
    assert_int_equal(on.n_seats, 1);
    assert_int_equal(on.session.n_seats, 0);
    assert_null(hf_session_seat_first(&on.session, 7));
    assert_int_equal(on.session.phase, HF_SESSION_ENDING);
    assert_true(on.is_reset);
    assert_int_equal(on.status, HF_NODE_STATUS_CONNECTING);
    after(1);
    assert_int_equal(on.session.phase, HF_SESSION_ENDED);
    assert_int_equal(on.status, HF_NODE_STATUS_VOTING);
    assert_int_equal(on.n_starts, 1);
    after(1);
    assert_int_equal(on.n_starts, 2); /* without a back-off */
}

static void an_end_without_locks_voids_nothing(void **state)
{
    (void)state;
    become_ready();
    hf_sql_link_break(&on.link, HF_UNAVAILABLE, "gone");
    hf_session_settled(&on.session, on.now);
    assert_int_equal(on.n_ends, 1);
    assert_false(on.is_reset);
    assert_int_equal(on.n_starts, 2);
}

/* The reason is why it was refused, also if the link broke before. */
static void a_server_that_is_not_fit_is_down(void **state)
{
    (void)state;
    hf_session_timed(&on.session, on.now);
    hf_session_greet(&on.session, on.now);
    hf_sql_link_break(&on.link, HF_UNAVAILABLE, "gone");
    hf_session_refuse(&on.session, HF_CONFIG, "is a standby");
    hf_session_settled(&on.session, on.now);
    assert_int_equal(on.status, HF_NODE_STATUS_DOWN);
    assert_int_equal(on.session.standing.fault, HF_CONFIG);
    assert_int_equal(on.session.refusal, HF_OK);
    assert_string_equal(on.reason, "is a standby");
}

/* The program did not poll, and has work again. */
static void an_idle_session_connects_when_it_has_work(void **state)
{
    (void)state;
    hf_session_resume(&on.session.base, on.now);
    assert_int_equal(on.n_starts, 1);
    hf_session_greet(&on.session, on.now);
    hf_session_arm(&on.session);
    hf_session_resume(&on.session.base, on.now); /* not late yet */
    assert_int_equal(on.n_ends, 0);
    hf_session_resume(&on.session.base,
                      hf_instant_add(on.now, hf_span_ms(TTL_MS)));
    assert_int_equal(on.n_ends, 1);
    assert_int_equal(on.n_starts, 2);
}

static void a_seat_is_of_its_owner_and_name(void **state)
{
    (void)state;
    become_ready();
    hold();
    struct hf_session_seat *seat = hf_session_seat_first(&on.session, 7);
    assert_non_null(seat);
    assert_true(hf_session_seat_has_owner(seat, "me", 2));
    assert_false(hf_session_seat_has_owner(seat, "mo", 2));
    assert_false(hf_session_seat_has_owner(seat, "m", 1));
    assert_false(hf_session_seat_has_owner(seat, NULL, 0));
    assert_true(hf_session_seat_has_name(seat, "job", 3));
    assert_false(hf_session_seat_has_name(seat, "jobs", 4));
    assert_null(hf_session_seat_first(&on.session, 8));
    assert_ptr_equal(
        seat, hf_session_seat_first(&on.session, 7 + HF_SESSION_BUCKETS));
    hf_session_seat_free(&on.session, seat);
    assert_int_equal(on.session.n_seats, 0);
    assert_null(hf_session_seat_first(&on.session, 7));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_incomplete_tables),
        CASE(a_silent_server_is_given_up),
        CASE(a_silent_server_is_borne_while_locks_are_held),
        CASE(a_server_that_does_not_greet_is_late),
        CASE(an_end_with_locks_voids_them),
        CASE(an_end_without_locks_voids_nothing),
        CASE(a_server_that_is_not_fit_is_down),
        CASE(an_idle_session_connects_when_it_has_work),
        CASE(a_seat_is_of_its_owner_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
