/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* INV-6: an access to a member of a union succeeds while that member is the
 * valid one, and fails an assertion otherwise. */
/* link: -Wl,--wrap=hf_assert_failed */
#include "core/lease_overlay.h"
#include "failed_assertion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PHASE(phase) (1U << HF_PHASE_##phase)
#define SAID(said) (1U << HF_SAID_##said)
#define ANY 0xffU /* a bit for each of enum hf_said, which has seven */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void access_fn(struct hf_lease *lease, struct hf_vote *vote);

static void deadline(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    hf_lease_set_deadline(lease, (struct hf_instant){7});
    assert_int_equal(hf_lease_deadline(lease).ns, 7);
}

static void get_deadline(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    (void)hf_lease_deadline(lease);
}

static void raised(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    hf_lease_set_raised(lease, 7);
    assert_int_equal(hf_lease_raised(lease), 7);
}

static void get_raised(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    (void)hf_lease_raised(lease);
}

static void confirmed(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    hf_lease_set_confirmed(lease, (struct hf_instant){7});
    assert_int_equal(hf_lease_confirmed(lease).ns, 7);
}

static void get_confirmed(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    (void)hf_lease_confirmed(lease);
}

static void ticket(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    hf_lease_set_ticket(lease, 7);
    assert_int_equal(hf_lease_ticket(lease), 7);
}

static void get_ticket(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)vote;
    (void)hf_lease_ticket(lease);
}

static void due(struct hf_lease *lease, struct hf_vote *vote)
{
    hf_vote_set_due(lease, vote, (struct hf_instant){7});
    assert_int_equal(hf_vote_due(lease, vote).ns, 7);
}

static void get_due(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)hf_vote_due(lease, vote);
}

static void node_time_us(struct hf_lease *lease, struct hf_vote *vote)
{
    hf_vote_set_node_time_us(lease, vote, 7);
    assert_int_equal(hf_vote_node_time_us(lease, vote), 7);
}

static void get_node_time(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)hf_vote_node_time_us(lease, vote);
}

static void rival(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    hf_vote_set_rival(vote, 7, 8);
    assert_int_equal(hf_vote_rival(vote), 7);
    assert_int_equal(hf_vote_left_ms(vote), 8);
}

static void get_rival(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    (void)hf_vote_rival(vote);
}

static void get_left_ms(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    (void)hf_vote_left_ms(vote);
}

static void raise_bounds(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    hf_vote_unlimit(vote);
    hf_vote_set_floor_bucket(vote, 7);
    hf_vote_set_bound_bucket(vote, 8);
    assert_int_equal(hf_vote_floor_bucket(vote), 7);
    assert_int_equal(hf_vote_bound_bucket(vote), 8);
}

static void set_bound_bucket(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    hf_vote_set_bound_bucket(vote, 8);
}

static void get_floor_bucket(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    (void)hf_vote_floor_bucket(vote);
}

static void get_bound_bucket(struct hf_lease *lease, struct hf_vote *vote)
{
    (void)lease;
    (void)hf_vote_bound_bucket(vote);
}

static const struct {
    access_fn *access;
    unsigned phases;         /* in which the member is valid … */
    unsigned said;           /* … if this is the node's last reply */
    unsigned pending_phases; /* the same while a request is pending */
} members[] = {
    {deadline, PHASE(HOLDING) | PHASE(RELEASING), ANY,
     PHASE(HOLDING) | PHASE(RELEASING)},
    {get_deadline, PHASE(HOLDING) | PHASE(RELEASING), ANY,
     PHASE(HOLDING) | PHASE(RELEASING)},
    {raised, PHASE(ASKING) | PHASE(WAITING), ANY,
     PHASE(ASKING) | PHASE(WAITING)},
    {get_raised, PHASE(ASKING) | PHASE(WAITING), ANY,
     PHASE(ASKING) | PHASE(WAITING)},
    {confirmed, PHASE(HOLDING), ANY, PHASE(HOLDING)},
    {get_confirmed, PHASE(HOLDING), ANY, PHASE(HOLDING)},
    {ticket, PHASE(WAITING), ANY, PHASE(WAITING)},
    {get_ticket, PHASE(WAITING), ANY, PHASE(WAITING)},
    {due, PHASE(WAITING), ANY, ANY},
    {get_due, PHASE(WAITING), ANY, ANY},
    {node_time_us, PHASE(ASKING), SAID(NOT_YOURS), 0},
    {get_node_time, PHASE(ASKING), SAID(NOT_YOURS), 0},
    {rival, ANY, SAID(NOT_YOURS) | SAID(QUEUED), ANY},
    {get_rival, ANY, SAID(NOT_YOURS) | SAID(QUEUED), ANY},
    {get_left_ms, ANY, SAID(NOT_YOURS) | SAID(QUEUED), ANY},
    {raise_bounds, ANY, SAID(YOURS), ANY},
    {set_bound_bucket, ANY, SAID(YOURS), ANY},
    {get_floor_bucket, ANY, SAID(YOURS), ANY},
    {get_bound_bucket, ANY, SAID(YOURS), ANY},
};

/* ---- Assertions that fail ---------------------------------------------- */

struct attempt {
    access_fn *access;
    struct hf_lease *lease;
};

static void try(void *user)
{
    const struct attempt *attempt = user;
    attempt->access(attempt->lease, &attempt->lease->votes[0]);
}

static bool is_had(access_fn *access, unsigned phase, unsigned said,
                   bool is_pending)
{
    struct hf_lease *lease = calloc(1, hf_lease_size(1));
    assert_non_null(lease);
    lease->phase = (uint8_t)phase;
    lease->votes[0].said = (uint8_t)said;
    lease->votes[0].pending = is_pending;
    struct attempt attempt = {access, lease};
    bool is_had = failed_assertion(try, &attempt) == NULL;
    free(lease);
    return is_had;
}

static void check_member(size_t i, unsigned phase, unsigned said,
                         bool is_pending)
{
    unsigned phases =
        is_pending ? members[i].pending_phases : members[i].phases;
    bool is_said = (members[i].said & (1U << said)) != 0;
    bool is_there = is_said && (phases & (1U << phase)) != 0;
    if (is_had(members[i].access, phase, said, is_pending) != is_there) {
        fail_msg("member %zu, phase %u, said %u, pending %d: %s", i, phase,
                 said, is_pending, is_there ? "not had" : "had");
    }
}

static void members_are_had_where_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(members); i++) {
        for (unsigned phase = 0; phase <= HF_PHASE_DONE; phase++) {
            for (unsigned said = 0; said <= HF_SAID_UNKNOWN; said++) {
                check_member(i, phase, said, false);
                check_member(i, phase, said, true);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_had_where_they_are),
    };
    return cmocka_run_group_tests_name("lease_overlay", tests, NULL, NULL);
}
