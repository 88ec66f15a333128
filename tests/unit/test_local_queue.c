/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of the embedded store, step by step: which waiter is granted the
 * lock, when, and at which counter. One process plays all clients; grants are
 * still pushed through a real socket. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_fixture.h"

#include "core/limits.h"
#include "io/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define D "dddddddddddddddddddddddddddddddd:host:4:4"
#define TTL_MS 20000  /* longer than a test: no lease ends by itself */
#define QUEUE_MS 6000 /* of a place: the two are told apart */

/* @return the ticket. */
static uint64_t queued(const struct hf_answer *answer, const char *owner,
                       unsigned ahead)
{
    assert_int_equal(answer->verdict, HF_VERDICT_QUEUED);
    assert_string_equal(answer->owner, owner);
    assert_int_equal(answer->ahead, ahead);
    assert_true(answer->ticket > 0);
    assert_true(answer->left_ms > 0);
    return answer->ticket;
}

static void no_push_received(struct driver *d)
{
    driver_turn(d);
    assert_int_equal(d->n_pushes, 0);
}

static uint64_t wall_us(void)
{
    return (uint64_t)hf_clock_wall_s() * 1000000;
}

/* ---- Hand-over --------------------------------------------------------- */

static void handed_over_in_order(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(queue(d, "job", A, QUEUE_MS));
    uint64_t first = queued(queue(d, "job", B, QUEUE_MS), A, 0);
    assert_in_range(first, wall_us() - 5000000, wall_us() + 2000000);
    assert_true(queued(queue(d, "job", C, QUEUE_MS), A, 1) > first);
    assert_int_equal(d->answer.counter, a);
    no_push_received(d);
    granted(release(d, "job", A, a, 0));
    uint64_t b = told(d, B);
    assert_true(b > a);
    /* A claim lasts as long as the place did, until it is confirmed. */
    assert_in_range(inspect(d, "job")->left_ms, QUEUE_MS - 1000, QUEUE_MS);
    assert_string_equal(d->owner, B);
    assert_int_equal(d->answer.waiting, 1);
    assert_int_equal(granted(confirm(d, "job", B, b, TTL_MS, false)), b);
    assert_in_range(inspect(d, "job")->left_ms, TTL_MS - 1000, TTL_MS);
    granted(release(d, "job", B, b, 0));
    assert_true(told(d, C) > b);
    granted(release(d, "job", C, 0, 0));
    no_push_received(d);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_int_equal(d->answer.waiting, 0);
}

static void listens_when_it_waits(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "job", A, TTL_MS, 0));
    driver_turn(d);
    assert_false(d->is_listening);
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    assert_false(d->is_listening); /* not from inside ask() */
    driver_turn(d);
    assert_true(d->is_listening);
}

static void a_place_is_kept(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "job", A, TTL_MS, 0));
    uint64_t b = queued(queue(d, "job", B, QUEUE_MS), A, 0);
    uint64_t c = queued(queue(d, "job", C, QUEUE_MS), A, 1);
    assert_int_equal(queued(queue(d, "job", B, QUEUE_MS), A, 0), b);
    struct hf_ask ask = queue_ask("job", C, QUEUE_MS);
    ask.ticket = b - 1000; /* a waiter keeps its first ticket */
    assert_int_equal(queued(driver_ask(d, &ask), A, 1), c);
    assert_int_equal(inspect(d, "job")->waiting, 2);
}

/* A ticket from other nodes determines the place. Equal tickets are in the
 * order of their owners' bytes. */
static void by_ticket_then_by_owner(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t at = wall_us() - 1000000;
    struct hf_ask ask;
    granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", D, QUEUE_MS), A, 0);
    ask = queue_ask("job", C, QUEUE_MS);
    ask.ticket = at;
    assert_int_equal(queued(driver_ask(d, &ask), A, 0), at);
    ask = queue_ask("job", B, QUEUE_MS);
    ask.ticket = at;
    assert_int_equal(queued(driver_ask(d, &ask), A, 0), at);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    queued(queue(d, "job", D, QUEUE_MS), A, 2);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "hxa\nwxb\nwxc\nwxd\n");
}

static void a_try_never_overtakes(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, 3000, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    refused(acquire(d, "job", C, TTL_MS, 0), A);
    assert_in_range(d->answer.ticket, wall_us() - 5000000, wall_us() + 2000000);
    jump_ms(3001); /* the lease has expired, without a release */
    no_push_received(d);
    refused(acquire(d, "job", C, TTL_MS, 0), B);
    assert_true(told(d, B) > a);
    granted(release(d, "job", B, 0, 0));
    granted(acquire(d, "job", C, TTL_MS, 0));
}

static void unfair_takes_what_is_free(void **state)
{
    struct driver *d = driver_of(state);
    struct hf_ask ask = queue_ask("job", C, 0);
    ask.is_unfair = true;
    granted(acquire(d, "job", A, 3000, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    refused(driver_ask(d, &ask), A);
    jump_ms(3001);
    granted(driver_ask(d, &ask));
    queued(queue(d, "job", B, QUEUE_MS), C, 0);
    no_push_received(d);
}

/* The first waiter finds that the lease has expired. It gets the lease that it
 * asks for, and no push. */
static void the_head_finds_it_free(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, 3000, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    jump_ms(3001);
    struct hf_ask ask = queue_ask("job", B, QUEUE_MS);
    ask.counter = a + 5000000; /* the hint counts */
    assert_int_equal(granted(driver_ask(d, &ask)), a + 5000000);
    assert_in_range(inspect(d, "job")->left_ms, TTL_MS - 1000, TTL_MS);
    assert_int_equal(d->answer.waiting, 1);
    no_push_received(d);
}

/* A later waiter finds the lock free: the first waiter gets it. */
static void a_waiter_that_finds_it_free_serves_the_head(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "job", A, 3000, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    jump_ms(3001);
    queued(queue(d, "job", C, QUEUE_MS), B, 0);
    told(d, B);
}

/* ---- Leaving ----------------------------------------------------------- */

static void a_place_ends(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, 3000), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    jump_ms(3001);
    queued(queue(d, "job", C, QUEUE_MS), A, 0); /* expired places are dropped
                                            when the queue is counted or served
                                          */
    granted(release(d, "job", A, a, 0));
    told(d, C);
    assert_int_equal(inspect(d, "job")->waiting, 0);
}

static void expired_places_block_no_client(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "job", A, 2000, 0));
    queued(queue(d, "job", B, 2000), A, 0);
    jump_ms(2001);
    granted(acquire(d, "job", C, TTL_MS, 0));
    no_push_received(d);
}

static void cancelled(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    refused(release(d, "job", B, 0, 0), A);
    queued(queue(d, "job", C, QUEUE_MS), A, 0);
    granted(release(d, "job", A, a, 0));
    told(d, C);
}

/* The grant was pushed before the waiter gave up: the next waiter gets the lock
 * at once. */
static void cancelled_when_granted(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    granted(release(d, "job", A, a, 0));
    uint64_t b = told(d, B);
    granted(release(d, "job", B, 0, 0));
    assert_true(told(d, C) > b);
}

/* A claim that is not confirmed expires. */
static void a_claim_ends(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, 4000), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    granted(release(d, "job", A, a, 0));
    uint64_t b = told(d, B);
    queued(queue(d, "job", C, QUEUE_MS), B, 0);
    jump_ms(4001);
    assert_true(granted(queue(d, "job", C, QUEUE_MS)) > b);
    refused(confirm(d, "job", B, b, TTL_MS, false), C);
    assert_true(queued(queue(d, "job", B, QUEUE_MS), C, 0) > 0); /* queued
                                                             again, at the end
                                                           */
}

/* ---- The other verbs --------------------------------------------------- */

static void the_holder_comes_back_first(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, 2000, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    jump_ms(2001);
    refused(confirm(d, "job", A, a, TTL_MS, false), NULL); /* only raises */
    assert_int_equal(granted(confirm(d, "job", A, a, TTL_MS, true)), a);
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    no_push_received(d);
}

static void yielded(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t at = wall_us() - 1000000;
    struct hf_ask ask = queue_ask("job", B, QUEUE_MS);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    ask.ticket = at;
    queued(driver_ask(d, &ask), A, 0);
    /* The holder's reply reports that an earlier ticket waits. */
    ask = queue_ask("job", A, QUEUE_MS);
    ask.ticket = at + 1;
    assert_int_equal(granted(driver_ask(d, &ask)), a);
    assert_int_equal(d->answer.ahead, 1);
    ask.ticket = at - 1;
    granted(driver_ask(d, &ask));
    assert_int_equal(d->answer.ahead, 0);
    ask.ticket = at; /* the owner's bytes decide */
    granted(driver_ask(d, &ask));
    assert_int_equal(d->answer.ahead, 0);
    /* YIELD is executed only for the present grant. */
    assert_int_equal(granted(yield(d, "job", A, a - 1, at + 1, QUEUE_MS)), a);
    no_push_received(d);
    queued(yield(d, "job", A, a, at + 1, QUEUE_MS), B, 0);
    assert_int_equal(d->answer.ticket, at + 1);
    uint64_t b = told(d, B);
    assert_true(b > a);
    /* The grant of another owner: like ACQUIRE. */
    queued(yield(d, "job", A, b, at + 1, QUEUE_MS), B, 0);
    granted(release(d, "job", B, 0, 0));
    told(d, A);
}

/* An owner that yields while no client waits is granted the lock again, at
 * another counter. */
static void yielded_without_waiters(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    assert_true(granted(yield(d, "job", A, a, 7, QUEUE_MS)) > a);
    assert_int_equal(inspect(d, "job")->waiting, 0);
}

static void broken(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    queued(queue(d, "job", C, QUEUE_MS), A, 1);
    uint64_t c = granted(break_name(d, "job", D, true));
    assert_true(c > a);
    assert_true(told(d, B) > c);
    granted(break_name(d, "job", D, false)); /* reserved: no waiter gets it */
    no_push_received(d);
    queued(queue(d, "job", C, QUEUE_MS), D, 0);
}

static void kept_when_ended(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    granted(release(d, "job", A, a, 4000));
    no_push_received(d);
    queued(queue(d, "job", B, QUEUE_MS), "ended:" A, 0);
    jump_ms(4001);
    assert_true(granted(queue(d, "job", B, QUEUE_MS)) > a);
}

static void counters_rise_with_hints(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    granted(release(d, "job", A, a + 9000000, 0)); /* raised, then granted */
    assert_true(told(d, B) > a + 9000000);
    struct hf_ask ask = queue_ask("other", A, QUEUE_MS);
    ask.counter = wall_us() + (UINT64_C(1) << 33);
    assert_true(granted(driver_ask(d, &ask)) < ask.counter); /* ignored */
}

static void owners_that_begin_alike(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "job", A, TTL_MS, 0));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
    assert_int_equal(queue(d, "job", B "x", QUEUE_MS)->verdict,
                     HF_VERDICT_ERROR);
    assert_non_null(strstr(d->reason, "same 32 bytes"));
    queued(queue(d, "job", B, QUEUE_MS), A, 0);
}

static void names_are_apart(void **state)
{
    struct driver *d = driver_of(state);
    char longest[HF_NAME_MAX + 1];
    memset(longest, 'n', HF_NAME_MAX);
    longest[HF_NAME_MAX] = '\0';
    const char *const names[] = {"job", "z", "zz", longest};
    for (unsigned i = 0; i < 4; i++) {
        granted(acquire(d, names[i], A, TTL_MS, 0));
        queued(queue(d, names[i], i % 2 == 0 ? B : C, QUEUE_MS), A, 0);
    }
    assert_int_equal(scan(d, NULL)->n_names, 4); /* queue entries are not listed
                                                    as names */
    for (unsigned i = 0; i < 4; i++) {
        granted(release(d, names[i], A, 0, 0));
        told(d, i % 2 == 0 ? B : C);
    }
}

/* ---- Many -------------------------------------------------------------- */

#define MANY 1000 /* waiters: their records fill several pages of LMDB */

static void a_thousand_in_order(void **state)
{
    struct driver *d = driver_of(state);
    static char owners[MANY][64];
    uint64_t ticket = 0;
    granted(acquire(d, "job", A, TTL_MS, 0));
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(owners[i], sizeof(owners[i]), "q%031u:host:1:1",
                 (i * 7919) % MANY); /* in random order */
        const struct hf_answer *answer = queue(d, "job", owners[i], 60000);
        assert_true(queued(answer, A, i) > ticket);
        ticket = answer->ticket;
    }
    assert_int_equal(queue(d, "job", owners[500], QUEUE_MS)->ahead, 500);
    assert_int_equal(inspect(d, "job")->waiting, MANY);
    assert_int_equal(queue_entries(d, "job")->n_seats, MANY + 1);
    const char *holder = A;
    uint64_t counter = 0;
    for (unsigned i = 0; i < MANY; i++) {
        granted(release(d, "job", holder, 0, 0));
        holder = owners[i];
        assert_true(driver_hear(d, 1));
        assert_int_equal(d->n_pushes, 1);
        assert_int_equal(d->pushes[0].cookie,
                         (uint64_t)'q' << 32 | (i * 7919) % MANY);
        assert_true(d->pushes[0].counter > counter);
        counter = d->pushes[0].counter;
        driver_forget(d);
    }
    granted(release(d, "job", holder, 0, 0));
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(handed_over_in_order),
        IN_FOLDER(listens_when_it_waits),
        IN_FOLDER(a_place_is_kept),
        IN_FOLDER(by_ticket_then_by_owner),
        IN_FOLDER(a_try_never_overtakes),
        IN_FOLDER(unfair_takes_what_is_free),
        IN_FOLDER(the_head_finds_it_free),
        IN_FOLDER(a_waiter_that_finds_it_free_serves_the_head),
        IN_FOLDER(a_place_ends),
        IN_FOLDER(expired_places_block_no_client),
        IN_FOLDER(cancelled),
        IN_FOLDER(cancelled_when_granted),
        IN_FOLDER(a_claim_ends),
        IN_FOLDER(the_holder_comes_back_first),
        IN_FOLDER(yielded),
        IN_FOLDER(yielded_without_waiters),
        IN_FOLDER(broken),
        IN_FOLDER(kept_when_ended),
        IN_FOLDER(counters_rise_with_hints),
        IN_FOLDER(owners_that_begin_alike),
        IN_FOLDER(names_are_apart),
        IN_FOLDER(a_thousand_in_order),
    };
    return cmocka_run_group_tests_name("local_queue", tests, NULL, NULL);
}
