/* SPDX-License-Identifier: Apache-2.0 */
/* The node of PostgreSQL and the session of advisory locks without a server:
 * PN-1 to PN-6, SN-1 to SN-6 and SE-1 to SE-5, each of which fails its
 * assertion when it is violated, and a program that did not poll during a
 * handshake. No reply leads to the states of the first tests, so they are
 * written by hand. */
/* library: store-postgres-objects */
/* link: -Wl,--wrap=hf_assert_failed */
#include "failed_assertion.h"
#include "io/clock.h"
#include "store/advisory/advisory.h"
#include "store/postgres/node.h"
#include "store/url.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const struct hf_store_ops hf_store_postgres;

static struct scene {
    struct hf_loop *loop;
    struct hf_url *url;
    struct hf_store *store;
    struct hf_pg_connection *connection;
    struct hf_pg_node *node;      /* NULL: of advisory locks */
    struct hf_advisory *advisory; /* NULL: of a node */
    struct hf_pg_pending ring[1];
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

static void on_job_done(void *user, unsigned node, enum hf_status status,
                        const char *reason)
{
    (void)user, (void)node, (void)reason;
    on.n_ended++;
    on.ended = status;
}

static int open_url(const char *url)
{
    struct hf_error error;
    memset(&on, 0, sizeof(on));
    on.loop = hf_loop_new();
    struct hf_store_env env = {.loop = on.loop, .status = on_status};
    return on.loop != NULL &&
                   hf_url_parse(url, NULL, &on.url, &error) == HF_OK &&
                   hf_store_postgres.variant(on.url)->open(
                       on.url, &env, &on.store, &error) == HF_OK
               ? 0
               : -1;
}

static int set_up_node(void **state)
{
    (void)state;
    int failed = open_url("postgres://127.0.0.1:1/app");
    on.node = &((struct hf_pg *)(void *)on.store)->node;
    on.connection = &on.node->connection;
    return failed;
}

static int set_up_advisory(void **state)
{
    (void)state;
    int failed = open_url("postgres://127.0.0.1:1/app?lock=advisory");
    on.advisory = (struct hf_advisory *)(void *)on.store;
    on.connection = &on.advisory->connection;
    return failed;
}

static int tear_down(void **state)
{
    (void)state;
    on.store->ops->close(on.store, false);
    hf_url_free(on.url);
    hf_loop_free(on.loop);
    return 0;
}

/* ---- States of the connection ------------------------------------------- */

/* No function of libpq gets this one. */
static void opened(void)
{
    on.connection->pq = (struct pg_conn *)(void *)&on;
    on.connection->link.watch.fd = 0;
    on.connection->link.is_open = true;
    on.connection->link.deadline = on.connection->link.timer.at;
}

static void owes(void)
{
    on.connection->ring = on.ring;
    on.connection->ring_cap = 1;
    on.connection->count = 1;
}

/* ---- States of the node that pass --------------------------------------- */

static void waiting(void)
{
}

static void connecting(void)
{
    opened();
    on.connection->link.is_open = false;
    on.node->base.phase = HF_SQL_CONNECTING;
}

static void greeting(void)
{
    opened();
    owes();
    on.node->base.phase = HF_SQL_GREETING;
}

static void voting(void)
{
    opened();
    on.node->base.phase = HF_SQL_READY;
    on.node->base.standing.status = HF_NODE_STATUS_VOTING;
    on.node->base.standing.fault = HF_OK;
}

static void listening(void)
{
    voting();
    on.node->listening = HF_PG_LISTEN_ON;
    on.node->wanted_at = on.connection->link.timer.at;
}

static void quarantined(void)
{
    voting();
    on.node->base.standing.status = HF_NODE_STATUS_REPAIRING;
    on.node->base.standing.fault = HF_QUARANTINED;
    on.node->base.admission.quarantined_until = on.node->base.peek_at =
        HF_NEVER;
}

static void broken(void)
{
    voting();
    hf_pg_connection_break(on.connection, HF_UNAVAILABLE, "by hand");
}

static void down(void)
{
    on.node->base.standing.status = HF_NODE_STATUS_DOWN;
}

/* ---- States of the node that fail ---------------------------------------- */

static void pn_1_small_ring(void)
{
    greeting();
    on.connection->ring_cap = 0;
}

static void pn_1_odd_ring(void)
{
    greeting();
    on.connection->ring_cap = 3;
}

static void pn_1_rows_of_no_request(void)
{
    voting();
    on.connection->rows = (struct pg_result *)(void *)&on;
}

static void pn_2_broken_without_reason(void)
{
    broken();
    on.connection->link.fault = HF_OK;
}

static void pn_2_broken_and_not_due(void)
{
    broken();
    on.connection->link.timer.at = HF_NEVER;
}

static void pn_3_request_while_closed(void)
{
    owes();
}

static void pn_3_prepared_while_closed(void)
{
    on.connection->prepared = 1;
}

static void pn_3_open_without_libpq(void)
{
    voting();
    on.connection->pq = NULL;
}

static void pn_4_unwatched(void)
{
    voting();
    on.connection->link.watch.fd = -1;
}

static void pn_4_watched_while_closed(void)
{
    on.connection->link.watch.fd = 0;
}

static void pn_5_waiting_with_connection(void)
{
    connecting();
    on.node->base.phase = HF_SQL_WAITING;
}

static void pn_6_listens_while_closed(void)
{
    on.node->listening = HF_PG_LISTEN_ASKED;
}

static void sn_1_handshake_too_early(void)
{
    connecting();
    on.node->base.phase = HF_SQL_GREETING;
}

static void sn_2_handshake_without_reply(void)
{
    greeting();
    on.connection->count = 0;
}

static void sn_2_old_error(void)
{
    on.node->base.greet_fault = HF_DENIED;
}

static void sn_3_votes_unidentified(void)
{
    greeting();
    on.node->base.standing.status = HF_NODE_STATUS_VOTING;
}

static void sn_4_votes_with_fault(void)
{
    voting();
    on.node->base.standing.fault = HF_UNAVAILABLE;
}

static void sn_4_quarantine_without_end(void)
{
    quarantined();
    on.node->base.admission.quarantined_until = HF_LONG_AGO;
}

static void sn_4_down_by_quarantine(void)
{
    down();
    on.node->base.standing.fault = HF_QUARANTINED;
}

static void sn_5_installed_before(void)
{
    on.node->base.has_installed = true;
}

static void sn_5_examined_before(void)
{
    on.node->base.is_examined = true;
}

static void sn_6_late_timer(void)
{
    on.connection->link.timer.at = HF_NEVER;
}

/* ---- States of the session ----------------------------------------------- */

static void ready(void)
{
    opened();
    on.advisory->session.phase = HF_SESSION_READY;
    on.advisory->session.standing.status = HF_NODE_STATUS_VOTING;
}

static void holding(void)
{
    ready();
    on.advisory->session.n_seats = 1;
}

static void ended(void)
{
    on.advisory->session.phase = HF_SESSION_ENDED;
    on.advisory->session.standing.status = HF_NODE_STATUS_VOTING;
    on.advisory->session.turn_at = on.connection->link.timer.at;
}

static void se_1_ready_while_closed(void)
{
    on.advisory->session.phase = HF_SESSION_READY;
}

static void se_1_ready_unopened(void)
{
    ready();
    on.connection->link.is_open = false;
}

static void se_2_greeting_without_reply(void)
{
    opened();
    on.advisory->session.phase = HF_SESSION_GREETING;
}

static void se_2_old_error(void)
{
    on.advisory->session.refusal = HF_DENIED;
}

static void se_3_votes_while_waiting(void)
{
    on.advisory->session.standing.status = HF_NODE_STATUS_VOTING;
}

static void se_4_seats_of_old(void)
{
    ended();
    on.advisory->session.n_seats = 1;
}

static void se_5_late_timer(void)
{
    on.connection->link.timer.at = HF_NEVER;
}

/* ---- Assertions that fail ------------------------------------------------ */

struct row {
    const char *name;
    void (*make)(void);
    const char *fails; /* start of the assertion's text; NULL: none fails */
};

static const struct row of_node[] = {
    {"waiting", waiting, NULL},
    {"connecting", connecting, NULL},
    {"greeting", greeting, NULL},
    {"voting", voting, NULL},
    {"listening", listening, NULL},
    {"quarantined", quarantined, NULL},
    {"broken", broken, NULL},
    {"down", down, NULL},
    {"PN-1, ring", pn_1_small_ring, "connection->count <= "},
    {"PN-1, size", pn_1_odd_ring, "(connection->ring_cap &"},
    {"PN-1, rows", pn_1_rows_of_no_request, "connection->rows == NULL"},
    {"PN-2, reason", pn_2_broken_without_reason,
     "connection->link.fault != HF_OK"},
    {"PN-2, due", pn_2_broken_and_not_due, "connection->link.timer.at.ns =="},
    {"PN-3, request", pn_3_request_while_closed, "connection->count == 0"},
    {"PN-3, prepared", pn_3_prepared_while_closed, "connection->prepared == 0"},
    {"PN-3, open", pn_3_open_without_libpq, "!connection->link.is_open ||"},
    {"PN-4, open", pn_4_unwatched, "is_closed || connection->link.watch.fd"},
    {"PN-4, closed", pn_4_watched_while_closed, "!is_closed ||"},
    {"PN-5", pn_5_waiting_with_connection, "(node->base.phase == HF_SQL_W"},
    {"PN-6", pn_6_listens_while_closed, "is_open || node->listening"},
    {"SN-1", sn_1_handshake_too_early, "link->is_open == has"},
    {"SN-2, reply", sn_2_handshake_without_reply, "is_asked || link->is_b"},
    {"SN-2, error", sn_2_old_error, "node->greet_fault == HF_OK"},
    {"SN-3", sn_3_votes_unidentified, "(is_voting || is_repairing)"},
    {"SN-4, fault", sn_4_votes_with_fault, "standing->fault == HF_OK &&"},
    {"SN-4, end", sn_4_quarantine_without_end, "standing->fault == HF_QUARAN"},
    {"SN-4, down", sn_4_down_by_quarantine, "standing->fault != HF_OK &&"},
    {"SN-5, schema", sn_5_installed_before,
     "node->link->is_open || !node->has"},
    {"SN-5, job", sn_5_examined_before, "node->link->is_open || !node->is_"},
    {"SN-6", sn_6_late_timer, "!hf_instant_before(due"},
};

static const struct row of_session[] = {
    {"waiting", waiting, NULL},
    {"ready", ready, NULL},
    {"holding", holding, NULL},
    {"ended", ended, NULL},
    {"SE-1, closed", se_1_ready_while_closed, "is_closed == is_between"},
    {"SE-1, open", se_1_ready_unopened, "link->is_open == (is_"},
    {"SE-2, reply", se_2_greeting_without_reply, "!is_greeting || is_asked"},
    {"SE-2, error", se_2_old_error, "is_greeting || session->refusal == HF_OK"},
    {"SE-3", se_3_votes_while_waiting,
     "(session->standing.status == HF_NODE_ST"},
    {"SE-4", se_4_seats_of_old, "is_ready || session->n_seats == 0"},
    {"SE-5", se_5_late_timer, "!hf_instant_before(hf_session_due"},
};

static void check(void *user)
{
    (void)user;
    hf_pg_connection_check(on.connection);
    on.connection->events->check(on.connection);
}

static void each_row(const struct row *rows, size_t n, void *all, size_t size)
{
    void *saved = malloc(size);
    assert_non_null(saved);
    memcpy(saved, all, size);
    for (size_t i = 0; i < n; i++) {
        const char *fails = rows[i].fails;
        rows[i].make();
        const char *found = failed_assertion(check, NULL);
        memcpy(all, saved, size);
        if (fails == NULL
                ? found != NULL
                : found == NULL || strncmp(found, fails, strlen(fails)) != 0) {
            fail_msg("%s: %s", rows[i].name,
                     found == NULL ? "no assertion failed" : found);
        }
    }
    free(saved);
}

static void each_invariant_of_the_node_is_asserted(void **state)
{
    (void)state;
    each_row(of_node, COUNT(of_node), on.node, sizeof(*on.node));
}

static void each_invariant_of_a_session_is_asserted(void **state)
{
    (void)state;
    each_row(of_session, COUNT(of_session), on.advisory, sizeof(*on.advisory));
}

/* ---- A program that did not poll ----------------------------------------- */

static void resume(void *user)
{
    hf_pg_node_resume(user, hf_clock_now());
}

/* The handshake that follows a quarantine, or that a job has begun, is late:
 * the node is not down because of the quarantine, and no job has succeeded. */
static void late_handshake(enum hf_status fault)
{
    struct hf_job_sink sink = {.done = on_job_done};
    greeting();
    on.connection->pq = PQconnectStart("host=127.0.0.1 port=1");
    on.connection->ring = calloc(1, sizeof(*on.connection->ring));
    assert_non_null(on.connection->ring);
    on.connection->ring[0].kind = HF_PG_FACTS;
    on.node->base.standing.fault = fault;
    on.node->base.standing.reason[0] = '\0';
    hf_jobs_add(&on.node->base.jobs, 0, HF_JOB_INIT, &sink);
    const char *failed = failed_assertion(resume, on.node);
    if (failed != NULL) {
        fail_msg("%s", failed);
    }
    assert_true(on.was_down);
    assert_int_equal(on.down_fault, HF_UNAVAILABLE);
    assert_true(on.n_ended >= 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_invariant_of_the_node_is_asserted,
                                        set_up_node, tear_down),
        cmocka_unit_test_setup_teardown(each_invariant_of_a_session_is_asserted,
                                        set_up_advisory, tear_down),
        cmocka_unit_test_setup_teardown(a_late_handshake_after_a_quarantine,
                                        set_up_node, tear_down),
        cmocka_unit_test_setup_teardown(a_late_handshake_of_a_job, set_up_node,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("postgres_node", tests, NULL, NULL);
}
