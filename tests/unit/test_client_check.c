/* SPDX-License-Identifier: Apache-2.0 */
/* CL-1 to CL-9: a client, a lock or an operation that violates one of them
 * fails that assertion. No call leads to these states, so they are written by
 * hand, into a client of the embedded store that holds one lock. */
/* link: -Wl,--wrap=hf_assert_failed */
#include "client/op.h"
#include "failed_assertion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[200];

/* `op` is of an adoption whose attempt is `lock`. The client's mutex is not
 * used: one thread. */
static const struct hf_op_handlers adopting = {.kind = HF_OP_ADOPT};

static struct scene {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_op op;
} on;

static int set_up(void **state)
{
    char url[256];
    struct hf_request request;
    struct hf_client_options options;
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof(folder), "%s/hf-check.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(url, sizeof(url), "local://%s", folder);
    hf_request_init(&request, "job");
    request.ttl_ms = 60000;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(url, &options, &on.client, NULL) != HF_OK) {
        return -1;
    }
    return hf_lock_acquire(on.client, &request, &on.lock, NULL) == HF_OK ? 0
                                                                         : -1;
}

static int tear_down(void **state)
{
    char command[256];
    (void)state;
    hf_client_close(on.client);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command); /* NOLINT(cert-env33-c): a folder of our own */
}

static struct hf_lease *lease(void)
{
    return hf_lock_lease(on.lock);
}

/* ---- States that pass -------------------------------------------------- */

static void nothing(void)
{
}

static void adopts(void)
{
    on.op.lock = on.lock;
    on.lock->op = &on.op;
    on.lock->flags &= (uint8_t)~HF_LOCK_OURS;
}

static void extends(void)
{
    on.op.kind = HF_OP_EXTEND;
    on.op.lock = on.lock; /* which has reported to it */
}

static void lost(void)
{
    lease()->state = HF_STATE_LOST;
    on.lock->state = HF_STATE_LOST;
    on.lock->deadline_ns = HF_LONG_AGO.ns;
}

/* The union of the deadline has the data of an asynchronous release. */
static void has_callback(void)
{
    on.lock->flags &= (uint8_t)~HF_LOCK_OURS;
    on.lock->flags |= HF_LOCK_CALLING;
    on.lock->done_user = &on;
}

static void is_done(void)
{
    on.op.is_done = true;
}

/* ---- States that fail -------------------------------------------------- */

static void cl_1_other_index(void)
{
    on.lock->item.idx++;
}

static void cl_1_over_early(void)
{
    on.lock->flags |= HF_LOCK_OVER;
}

static void cl_1_not_over(void)
{
    lease()->phase = HF_PHASE_DONE;
}

static void cl_1_late_timer(void)
{
    lease()->wake.ns--;
}

static void cl_1_no_timer(void)
{
    on.client->heap.positions[on.lock->item.idx] = HF_NOWHERE;
}

static void cl_2_other_state(void)
{
    on.lock->state = HF_STATE_AT_RISK;
}

static void cl_2_later_deadline(void)
{
    on.lock->deadline_ns++;
}

static void cl_2_deadline_of_lost(void)
{
    lost();
    on.lock->deadline_ns = INT64_MAX;
}

static void cl_3_handle_of_attempt(void)
{
    lease()->phase = HF_PHASE_WAITING;
    lease()->state = HF_STATE_RELEASED;
}

static void cl_4_two_receivers(void)
{
    adopts();
    on.lock->flags |= HF_LOCK_CALLING | HF_LOCK_HAS_CALLBACK;
}

static void cl_4_no_receiver(void)
{
    on.lock->flags |= HF_LOCK_HAS_CALLBACK;
}

static void cl_4_other_client(void)
{
    adopts();
    on.op.client = NULL;
}

static void cl_5_no_room(void)
{
    on.op.is_listed = true;
}

static void cl_5_not_in_table(void)
{
    on.op.is_reserved = true;
    on.op.item.idx = on.lock->item.idx;
}

static void cl_5_done_with_room(void)
{
    is_done();
    on.op.item.idx = on.lock->item.idx;
}

static void cl_6_deaf(void)
{
    adopts();
    on.lock->op = NULL;
}

static void cl_6_two_owners(void)
{
    on.op.bundle = on.op.parent = &on.op;
}

static void cl_7_in_store(void)
{
    on.client->in_store++;
}

static void cl_7_news(void)
{
    on.client->changed = 1;
}

static void cl_7_inbox(void)
{
    on.client->inbox_count = 1;
}

static void cl_7_query(void)
{
    on.client->has_reply = true;
}

static void cl_8_two_statuses(void)
{
    on.client->nodes.down |= 1;
}

static void cl_8_small_quorum(void)
{
    on.client->nodes.quorum = 0;
}

static void cl_9_no_room(void)
{
    on.client->heap.reserved++; /* of an item that is in no table */
}

static void cl_9_broken_list(void)
{
    on.client->ops.first = &on.op;
}

static const struct {
    const char *name;
    void (*make)(void);
    const char *fails; /* start of the assertion's text; NULL: none fails */
} cases[] = {
    {"held", nothing, NULL},
    {"adopting", adopts, NULL},
    {"extending", extends, NULL},
    {"lost", lost, NULL},
    {"with a callback", has_callback, NULL},
    {"done", is_done, NULL},
    {"CL-1, index", cl_1_other_index, "is_in_table(lock->client"},
    {"CL-1, over", cl_1_over_early, "is_over == "},
    {"CL-1, not over", cl_1_not_over, "is_over == "},
    {"CL-1, late timer", cl_1_late_timer, "is_timed_at("},
    {"CL-1, no timer", cl_1_no_timer, "is_timed_at("},
    {"CL-2, state", cl_2_other_state, "(uint8_t)state == atomic_load"},
    {"CL-2, deadline", cl_2_later_deadline, "lock->deadline_ns == hf_lease"},
    {"CL-2, lost", cl_2_deadline_of_lost,
     "lock->deadline_ns == HF_LONG_AGO.ns"},
    {"CL-3", cl_3_handle_of_attempt,
     "hf_lease_phase(lease) == HF_PHASE_HOLDING"},
    {"CL-4, two", cl_4_two_receivers, "(lock->flags & HF_LOCK_CALLING)"},
    {"CL-4, none", cl_4_no_receiver, "(lock->flags & HF_LOCK_CALLING)"},
    {"CL-4, client", cl_4_other_client, "lock->op->client == lock->client"},
    {"CL-5, room", cl_5_no_room, "op->is_reserved"},
    {"CL-5, table", cl_5_not_in_table, "is_in_table(op->client"},
    {"CL-5, done", cl_5_done_with_room, "op->item.idx == HF_NOWHERE"},
    {"CL-6, deaf", cl_6_deaf, "op->lock->op == op"},
    {"CL-6, owners", cl_6_two_owners, "op->bundle == NULL"},
    {"CL-7, store", cl_7_in_store, "client->in_store == 0"},
    {"CL-7, news", cl_7_news, "!hf_client_has_news(client)"},
    {"CL-7, inbox", cl_7_inbox, "!hf_client_has_news(client)"},
    {"CL-7, query", cl_7_query, "client->bundles == NULL"},
    {"CL-8, status", cl_8_two_statuses, "(nodes->connecting ^"},
    {"CL-8, quorum", cl_8_small_quorum, "2 * nodes->quorum"},
    {"CL-9, room", cl_9_no_room, "client->heap.reserved == "},
    {"CL-9, list", cl_9_broken_list, "is_list("},
};

/* ---- Assertions that fail ---------------------------------------------- */

static void check_all(void *user)
{
    (void)user;
    hf_op_check(&on.op);
    hf_lock_check(on.lock);
    hf_client_check(on.client);
}

static void each_invariant_is_asserted(void **state)
{
    (void)state;
    size_t lock_size = sizeof(*on.lock) + hf_lease_size(1);
    char *lock = malloc(lock_size);
    char *client = malloc(sizeof(*on.client));
    uint32_t *position = &on.client->heap.positions[on.lock->item.idx];
    uint32_t was_position = *position;
    assert_non_null(lock);
    assert_non_null(client);
    memcpy(lock, on.lock, lock_size);
    memcpy(client, on.client, sizeof(*on.client));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *fails = cases[i].fails;
        hf_op_init(&on.op, on.client, &adopting);
        cases[i].make();
        const char *found = failed_assertion(check_all, NULL);
        memcpy(on.lock, lock, lock_size);
        memcpy(on.client, client, sizeof(*on.client));
        *position = was_position;
        if (fails == NULL
                ? found != NULL
                : found == NULL || strncmp(found, fails, strlen(fails)) != 0) {
            fail_msg("%s: %s", cases[i].name,
                     found == NULL ? "no assertion failed" : found);
        }
    }
    free(lock);
    free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invariant_is_asserted),
    };
    return cmocka_run_group_tests_name("client_check", tests, set_up,
                                       tear_down);
}
