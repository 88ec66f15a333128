/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* INV-1 to INV-8 without INV-6 (test_lease_overlay.c): a lease that violates
 * one of them fails that assertion, and a lease at its bound passes. No
 * sequence of events leads to most of these states, so they are written by
 * hand. */
/* link: -Wl,--wrap=hf_assert_failed */
#include "core/lease_parts.h"
#include "failed_assertion.h"
#include "nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 3 /* two of them have granted: a majority */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PENDING(verb) (1U << HF_VERB_##verb)

/* A state after a step: held at fence 7 until instant 900, granted by two
 * nodes, one renewal sent to node 1. */
static struct scene {
    struct hf_lease *lease;
    struct hf_vote *votes;
    struct hf_nodes nodes;
    struct hf_event event;
    struct hf_effects out;
    struct hf_held before;
} on;

static void set_scene(void)
{
    free(on.lease);
    on = (struct scene){.lease = calloc(1, hf_lease_size(NODES))};
    assert_non_null(on.lease);
    on.votes = on.lease->votes;
    hf_nodes_init(&on.nodes, NODES, hf_span_ms(50), hf_span_ms(50));
    for (unsigned i = 0; i < NODES; i++) {
        nodes_set(&on.nodes, i, HF_NODE_STATUS_VOTING);
    }
    on.lease->phase = HF_PHASE_HOLDING;
    on.lease->state = HF_STATE_HELD;
    on.lease->n_nodes = NODES;
    on.lease->fence = 7;
    hf_lease_set_deadline(on.lease, (struct hf_instant){900});
    for (unsigned i = 0; i < 2; i++) {
        on.votes[i].said = HF_SAID_YOURS;
        on.votes[i].counter = 7;
        on.votes[i].refused = 6;
    }
    on.votes[1].pending = PENDING(CONFIRM);
    on.out.sends[0] = (struct hf_send){.node = 1, .verb = HF_VERB_CONFIRM};
    on.out.n_sends = 1;
    on.event.now = (struct hf_instant){100};
    on.before = (struct hf_held){true, 7, {900}};
}

/* The same lease while asking: a raise of node 1 to 7 is in flight. */
static void set_asking(void)
{
    on.lease->phase = HF_PHASE_ASKING;
    on.lease->state = HF_STATE_RELEASED;
    on.before.is_held = false;
    hf_lease_set_raised(on.lease, 7);
}

/* ---- States that pass -------------------------------------------------- */

static void nothing(void)
{
}

static void risk(void)
{
    on.lease->state = HF_STATE_AT_RISK;
}

static void renewed(void)
{
    hf_lease_set_deadline(on.lease, (struct hf_instant){1000});
}

static void greatest_fence(void)
{
    on.lease->fence = on.before.fence = HF_FENCE_MAX;
}

static void last_instant(void)
{
    on.event.now.ns = 899;
}

static void held_now(void)
{
    on.before.is_held = false;
    on.before.fence = 9;
    on.before.deadline.ns = 2000;
}

static void lost(void)
{
    on.lease->state = HF_STATE_LOST;
    on.event.now.ns = 900;
}

static void late(void)
{
    on.votes[1].flags = HF_VOTE_LATE;
}

static void raise_in_flight(void)
{
    set_asking();
}

static void doubt_while_held(void)
{
    on.votes[0].flags = HF_VOTE_IN_DOUBT;
}

static void ended(void)
{
    on.lease->phase = HF_PHASE_DONE;
    on.lease->state = HF_STATE_RELEASED;
    on.out.done = true;
}

/* ---- States that fail -------------------------------------------------- */

static void inv_1_no_state(void)
{
    on.lease->state = HF_STATE_RELEASED;
}

static void inv_1_no_phase(void)
{
    set_asking();
    on.lease->state = HF_STATE_AT_RISK;
}

static void inv_1_no_fence(void)
{
    on.lease->fence = on.before.fence = 0;
}

static void inv_1_fence_too_large(void)
{
    on.lease->fence = on.before.fence = HF_FENCE_MAX + 1;
}

static void inv_1_deadline_passed(void)
{
    on.event.now.ns = 900;
}

static void inv_2_another_fence(void)
{
    on.before.fence = 6;
}

static void inv_2_deadline_back(void)
{
    on.before.deadline.ns = 901;
}

static void inv_3_refused_since(void)
{
    on.votes[1].refused = 7;
}

static void inv_4_late_for_nothing(void)
{
    on.votes[0].flags = HF_VOTE_LATE;
}

static void inv_5_raise_not_noted(void)
{
    set_asking();
    hf_lease_set_raised(on.lease, 0);
}

static void inv_5_lost_raise_not_noted(void)
{
    inv_5_raise_not_noted();
    on.lease->phase = HF_PHASE_WAITING;
    on.votes[1].pending = 0;
    on.votes[1].flags = HF_VOTE_IN_DOUBT;
    on.out.n_sends = 0;
}

static void inv_7_no_such_node(void)
{
    on.out.sends[0].node = NODES;
}

static void inv_7_not_pending(void)
{
    on.votes[1].pending = PENDING(RELEASE);
}

static void inv_8_end_not_said(void)
{
    ended();
    on.out.done = false;
}

static void inv_8_end_said_early(void)
{
    on.out.done = true;
}

static const struct {
    const char *name;
    void (*make)(void);
    const char *fails; /* start of the assertion's text; NULL: none fails */
} cases[] = {
    {"held", nothing, NULL},
    {"at risk", risk, NULL},
    {"renewed", renewed, NULL},
    {"at the greatest fence", greatest_fence, NULL},
    {"at the last instant", last_instant, NULL},
    {"held since this step", held_now, NULL},
    {"lost", lost, NULL},
    {"a late request", late, NULL},
    {"a raise in flight", raise_in_flight, NULL},
    {"a lost raise, while held", doubt_while_held, NULL},
    {"ended", ended, NULL},
    {"INV-1, state", inv_1_no_state, "held.is_held == is_held_state("},
    {"INV-1, phase", inv_1_no_phase, "held.is_held == is_held_state("},
    {"INV-1, no fence", inv_1_no_fence, "held.fence > 0"},
    {"INV-1, large fence", inv_1_fence_too_large, "held.fence > 0"},
    {"INV-1, deadline", inv_1_deadline_passed, "hf_instant_before(now,"},
    {"INV-2, fence", inv_2_another_fence, "held.fence == before->fence"},
    {"INV-2, deadline", inv_2_deadline_back, "!hf_instant_before(held.dead"},
    {"INV-3", inv_3_refused_since, "vote->counter > vote->refused"},
    {"INV-4", inv_4_late_for_nothing, "vote->pending != 0"},
    {"INV-5, in flight", inv_5_raise_not_noted, "hf_lease_raised(lease) > 0"},
    {"INV-5, lost", inv_5_lost_raise_not_noted, "hf_lease_raised(lease) > 0"},
    {"INV-7, node", inv_7_no_such_node, "send->node < lease->n_nodes"},
    {"INV-7, pending", inv_7_not_pending, "hf_vote_is_pending(&lease->votes["},
    {"INV-8, not said", inv_8_end_not_said, "out->done == "},
    {"INV-8, said early", inv_8_end_said_early, "out->done == "},
};

/* ---- Assertions that fail ---------------------------------------------- */

static void check_step(void *step)
{
    hf_check_step(step, &on.before);
}

static void renew_again(void *step)
{
    hf_step_send(step, 1, HF_VERB_CONFIRM, 7);
}

/* @return the assertion that failed; NULL: none. */
static const char *failure_of(void (*run)(void *step))
{
    struct hf_step step = {on.lease, &on.nodes, &on.event, &on.out};
    return failed_assertion(run, &step);
}

static void each_invariant_is_asserted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *fails = cases[i].fails;
        set_scene();
        cases[i].make();
        const char *found = failure_of(check_step);
        if (fails == NULL
                ? found != NULL
                : found == NULL || strncmp(found, fails, strlen(fails)) != 0) {
            fail_msg("%s: %s", cases[i].name,
                     found == NULL ? "no assertion failed" : found);
        }
    }
}

/* The other half of INV-7. */
static void one_request_of_a_verb(void **state)
{
    (void)state;
    set_scene();
    on.votes[1].pending = PENDING(RELEASE);
    assert_null(failure_of(renew_again));
    assert_int_equal(on.votes[1].pending, PENDING(RELEASE) | PENDING(CONFIRM));
    const char *found = failure_of(renew_again);
    assert_non_null(found);
    assert_string_equal(found, "!hf_vote_is_pending(vote, verb)");
}

static int tear_down(void **state)
{
    (void)state;
    free(on.lease);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invariant_is_asserted),
        cmocka_unit_test(one_request_of_a_verb),
    };
    return cmocka_run_group_tests_name("lease_check", tests, NULL, tear_down);
}
