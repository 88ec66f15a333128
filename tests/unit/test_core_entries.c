/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* The rule of ordered entries, on all lists of up to five entries: each choice
 * of modes, each of them live or not, and the list in several orders. */
#include "core/entry_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ENTRIES_MAX 5 /* of a list: 32 choices of modes, 32 of live ones */
#define ORDERS 4      /* of a list: oldest first, newest first, two rotations */
#define NONE ENTRIES_MAX

/* Entry k has the number 3 + 2 k; bit k of `shared` and of `live` is of it. */
struct world {
    unsigned n;
    unsigned shared;
    unsigned live;
};

static const struct hf_entry no_entry;

static struct hf_entry entry_of(const struct world *world, unsigned k)
{
    struct hf_entry entry = no_entry;
    entry.number = 3 + 2 * (uint64_t)k;
    entry.mode = (world->shared >> k & 1) != 0 ? HF_SHARED : HF_EXCLUSIVE;
    entry.owner.attempt[0] = (uint8_t)(k + 1);
    entry.owner.session[0] = 7;
    return entry;
}

/* The live entries: oldest first, newest first, or rotated. */
static size_t list_in(const struct world *world, unsigned order,
                      struct hf_entry list[ENTRIES_MAX])
{
    size_t n = 0;
    for (unsigned i = 0; i < world->n; i++) {
        unsigned k = (i + (order >= 2 ? order - 1 : 0)) % world->n;
        k = order == 1 ? world->n - 1 - k : k;
        if ((world->live >> k & 1) != 0) {
            list[n++] = entry_of(world, k);
        }
    }
    return n;
}

struct view {
    enum hf_entry_turn turn;
    unsigned watch; /* which entry; or NONE */
    size_t ahead;
};

/* The rank of entry k, which is the same in each order of the list. */
static struct view view_of(const struct world *world, unsigned k)
{
    struct view first = {HF_ENTRY_UNPROVEN, NONE, 0};
    struct hf_entry own = entry_of(world, k);
    for (unsigned order = 0; order < ORDERS; order++) {
        struct hf_entry list[ENTRIES_MAX];
        struct hf_entry_rank rank;
        size_t n = list_in(world, order, list);
        hf_entries_judge(list, n, &own, &rank);
        struct view view = {rank.turn, NONE, rank.ahead};
        if (rank.turn == HF_ENTRY_WAITS) {
            assert_true(rank.watch < n);
            view.watch = (unsigned)(list[rank.watch].number - 3) / 2;
        }
        if (order == 0) {
            first = view;
        }
        assert_int_equal(view.turn, first.turn);
        assert_int_equal(view.watch, first.watch);
        assert_int_equal(view.ahead, first.ahead);
    }
    return first;
}

static bool is_live(const struct world *world, unsigned k)
{
    return (world->live >> k & 1) != 0;
}

static bool is_shared(const struct world *world, unsigned k)
{
    return (world->shared >> k & 1) != 0;
}

static struct world without(const struct world *world, unsigned gone)
{
    struct world left = *world;
    left.live &= ~gone;
    return left;
}

static void in_each_world(void (*check)(const struct world *world))
{
    for (unsigned n = 0; n <= ENTRIES_MAX; n++) {
        for (unsigned shared = 0; shared < 1U << n; shared++) {
            for (unsigned live = 0; live < 1U << n; live++) {
                struct world world = {n, shared, live};
                check(&world);
            }
        }
    }
}

/* Said otherwise than in the code: the first live entry holds and, if it is
 * shared, all before the first exclusive one. So two that hold never exclude
 * each other, and one always holds. */
static void check_holders(const struct world *world)
{
    bool is_over = false;
    size_t before = 0;
    for (unsigned k = 0; k < world->n; k++) {
        struct view view = view_of(world, k);
        if (!is_live(world, k)) {
            assert_int_equal(view.turn, HF_ENTRY_UNPROVEN);
            continue;
        }
        bool holds = !is_over && (before == 0 || is_shared(world, k));
        assert_int_equal(view.turn, holds ? HF_ENTRY_HOLDS : HF_ENTRY_WAITS);
        assert_int_equal(view.ahead, before);
        is_over = is_over || !is_shared(world, k);
        before++;
    }
}

static void the_first_hold(void **state)
{
    (void)state;
    in_each_world(check_holders);
}

/* Later entries, and the end of others, take nothing from an entry. */
static void check_order(const struct world *world)
{
    for (unsigned k = 0; k < world->n; k++) {
        struct view view = view_of(world, k);
        unsigned later = ~((2U << k) - 1);
        struct world earlier = without(world, later);
        struct view alone = view_of(&earlier, k);
        assert_int_equal(view.turn, alone.turn);
        assert_int_equal(view.watch, alone.watch);
        for (unsigned gone = 0; gone < 1U << world->n; gone++) {
            struct world left = without(world, gone & ~(1U << k));
            if (view.turn == HF_ENTRY_HOLDS) {
                assert_int_equal(view_of(&left, k).turn, HF_ENTRY_HOLDS);
            }
        }
    }
}

static void newcomers_and_ends_take_nothing(void **state)
{
    (void)state;
    in_each_world(check_order);
}

/* While the watched entry lives we wait for it, whatever else ends. Its end
 * changes the rank, or the next watched entry is an earlier one. */
static void check_watch(const struct world *world)
{
    for (unsigned k = 0; k < world->n; k++) {
        struct view view = view_of(world, k);
        if (view.turn != HF_ENTRY_WAITS) {
            continue;
        }
        assert_true(view.watch < k && is_live(world, view.watch));
        unsigned kept = 1U << k | 1U << view.watch;
        for (unsigned gone = 0; gone < 1U << world->n; gone++) {
            struct world left = without(world, gone & ~kept);
            struct view then = view_of(&left, k);
            assert_int_equal(then.turn, HF_ENTRY_WAITS);
            assert_int_equal(then.watch, view.watch);
        }
        struct world left = without(world, 1U << view.watch);
        struct view next = view_of(&left, k);
        assert_int_not_equal(next.turn, HF_ENTRY_UNPROVEN);
        assert_true(next.turn == HF_ENTRY_HOLDS || next.watch < view.watch);
    }
}

static void the_end_of_the_watched_entry_decides(void **state)
{
    (void)state;
    in_each_world(check_watch);
}

/* Readers that watch one entry are all let in by its end, if it held. One
 * writer at most watches it. */
static void check_herd(const struct world *world)
{
    for (unsigned end = 0; end < world->n; end++) {
        struct world left = without(world, 1U << end);
        bool held = view_of(world, end).turn == HF_ENTRY_HOLDS;
        unsigned writers = 0;
        for (unsigned k = 0; k < world->n; k++) {
            struct view view = view_of(world, k);
            if (view.turn != HF_ENTRY_WAITS || view.watch != end) {
                continue;
            }
            writers += !is_shared(world, k);
            if (is_shared(world, k) && held) {
                assert_int_equal(view_of(&left, k).turn, HF_ENTRY_HOLDS);
            }
        }
        assert_true(writers <= 1);
    }
}

static void an_end_wakes_no_herd(void **state)
{
    (void)state;
    in_each_world(check_herd);
}

/* At most, in all orders in which entries can end. `lists` counts, for each
 * entry, how often its watch made it list again. */
static void run_down(const struct world *world,
                     const unsigned lists[ENTRIES_MAX])
{
    for (unsigned end = 0; end < world->n; end++) {
        if (!is_live(world, end)) {
            continue;
        }
        unsigned then[ENTRIES_MAX];
        memcpy(then, lists, sizeof(then));
        for (unsigned k = 0; k < world->n; k++) {
            then[k] += k != end && view_of(world, k).watch == end;
            /* At most once for each entry before it. */
            assert_true(then[k] <= k);
        }
        struct world left = without(world, 1U << end);
        run_down(&left, then);
    }
}

static void a_waiter_lists_once_for_each_entry_before_it(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= ENTRIES_MAX; n++) {
        for (unsigned shared = 0; shared < 1U << n; shared++) {
            static const unsigned none[ENTRIES_MAX];
            struct world world = {n, shared, (1U << n) - 1};
            run_down(&world, none);
        }
    }
}

/* ---- A list without our entry proves nothing ----------------------------- */

static enum hf_entry_turn turn_in(const struct hf_entry *entries, size_t n,
                                  const struct hf_entry *own)
{
    struct hf_entry_rank rank;
    hf_entries_judge(entries, n, own, &rank);
    if (rank.turn == HF_ENTRY_UNPROVEN) {
        assert_int_equal(rank.ahead, 0);
    }
    return rank.turn;
}

static void only_our_own_entry_is_ours(void **state)
{
    (void)state;
    struct world world = {1, 0, 1};
    struct hf_entry own = entry_of(&world, 0);
    assert_int_equal(turn_in(NULL, 0, &own), HF_ENTRY_UNPROVEN);
    struct hf_entry other = own;
    assert_int_equal(turn_in(&other, 1, &own), HF_ENTRY_HOLDS);
    /* The same attempt in a session before this one. */
    other.owner.session[HF_SESSION_ID_LEN - 1] = 1;
    assert_int_equal(turn_in(&other, 1, &own), HF_ENTRY_UNPROVEN);
    /* Replaced in place, as by a break: the number stays. */
    other = own;
    other.owner.attempt[HF_OWNER_ID_LEN - 1] = 1;
    assert_int_equal(turn_in(&other, 1, &own), HF_ENTRY_UNPROVEN);
    /* Created twice: the other copy is not the one that we know. */
    other = own;
    other.number--;
    assert_int_equal(turn_in(&other, 1, &own), HF_ENTRY_UNPROVEN);
    struct hf_entry both[] = {other, own};
    assert_int_equal(turn_in(both, 2, &own), HF_ENTRY_WAITS);
    assert_int_equal(turn_in(both, 2, &other), HF_ENTRY_HOLDS);
}

/* A program that names its entry itself may take our number. That proves no
 * order: neither holds beside the other, whatever the order of the list, unless
 * they share; and each waits for the other one, not for an earlier one that
 * would let it hold. */
static void entries_with_one_number_exclude_each_other(void **state)
{
    (void)state;
    struct world world = {3, 0, 7};
    struct hf_entry_rank rank;
    struct hf_entry list[] = {entry_of(&world, 0), entry_of(&world, 1),
                              entry_of(&world, 2)};
    list[2].number = list[1].number;
    for (size_t i = 1; i < 3; i++) {
        struct hf_entry own = list[i];
        assert_int_equal(turn_in(list + 1, 2, &own), HF_ENTRY_WAITS);
        hf_entries_judge(list, 3, &own, &rank);
        assert_int_equal(rank.turn, HF_ENTRY_WAITS);
        assert_int_equal(rank.watch, 3 - i);
        assert_int_equal(rank.ahead, 2);
        assert_int_equal(turn_in(&own, 1, &own), HF_ENTRY_HOLDS);
    }
    list[1].mode = list[2].mode = HF_SHARED;
    assert_int_equal(turn_in(list + 1, 2, &list[1]), HF_ENTRY_HOLDS);
    assert_int_equal(turn_in(list + 1, 2, &list[2]), HF_ENTRY_HOLDS);
}

/* A foreign program may write anything below the name. */
static void an_odd_entry_is_an_entry(void **state)
{
    (void)state;
    struct world world = {1, 1, 1};
    struct hf_entry list[] = {no_entry, entry_of(&world, 0)};
    list[0].mode = (enum hf_mode)77;
    assert_int_equal(turn_in(list, 2, &list[1]), HF_ENTRY_WAITS);
    list[0].number = UINT64_MAX;
    assert_int_equal(turn_in(list, 2, &list[1]), HF_ENTRY_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_hold),
        cmocka_unit_test(newcomers_and_ends_take_nothing),
        cmocka_unit_test(the_end_of_the_watched_entry_decides),
        cmocka_unit_test(an_end_wakes_no_herd),
        cmocka_unit_test(a_waiter_lists_once_for_each_entry_before_it),
        cmocka_unit_test(only_our_own_entry_is_ours),
        cmocka_unit_test(entries_with_one_number_exclude_each_other),
        cmocka_unit_test(an_odd_entry_is_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
