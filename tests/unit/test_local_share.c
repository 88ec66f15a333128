/* SPDX-License-Identifier: Apache-2.0 */
/* Shared locks in the embedded store: readers, and holders of permits. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_fixture.h"

#include "io/clock.h"
#include "store/local/local.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Readers have small letters, writers have capital ones. */
#define R(letter) letter letter letter letter ":host:1:1"
#define A R("aaaaaaaa")
#define B R("bbbbbbbb")
#define C R("cccccccc")
#define D R("dddddddd")
#define W R("WWWWWWWW")
#define X R("XXXXXXXX")
#define TTL_MS 20000
#define QUEUE_MS 6000

/* Refused or queued, because of a group of sharers. */
static void behind_group(const struct hf_answer *answer,
                         enum hf_verdict verdict, uint16_t permits,
                         uint64_t founded_at)
{
    char group[60];
    snprintf(group, sizeof(group), "shared:%u-%llu", (unsigned)permits,
             (unsigned long long)founded_at);
    assert_int_equal(answer->verdict, verdict);
    assert_string_equal(answer->owner, group);
    assert_int_equal(answer->permits, permits);
    assert_true(answer->left_ms > 0);
}

static void behind(const struct hf_answer *answer, enum hf_verdict verdict,
                   const char *owner)
{
    assert_int_equal(answer->verdict, verdict);
    assert_string_equal(answer->owner, owner);
    assert_int_equal(answer->permits, 0);
}

static void no_push_received(struct driver *d)
{
    driver_turn(d);
    assert_int_equal(d->n_pushes, 0);
}

static const struct hf_answer *share_for(struct driver *d, const char *owner,
                                         int64_t ttl_ms, int64_t pid)
{
    struct hf_life_set life = {pid == 0 ? 0U : 1U, {pid}};
    struct hf_ask ask = queue_ask("job", owner, 0);
    ask.is_shared = true;
    ask.ttl_ms = ttl_ms;
    ask.life = &life;
    return driver_ask(d, &ask);
}

static struct hf_ask confirm_ask(const char *owner, uint64_t fence,
                                 bool reacquires, uint16_t permits)
{
    struct hf_ask ask = queue_ask("job", owner, 0);
    ask.verb = HF_VERB_CONFIRM;
    ask.is_shared = true;
    ask.permits = permits;
    ask.counter = fence;
    ask.reacquires = reacquires;
    return ask;
}

static const struct hf_answer *confirm_shared(struct driver *d,
                                              const char *owner, uint64_t fence,
                                              bool reacquires)
{
    struct hf_ask ask = confirm_ask(owner, fence, reacquires, 0);
    return driver_ask(d, &ask);
}

/* ---- Together ---------------------------------------------------------- */

static void readers_share(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 0));
    uint64_t b = granted(share(d, "job", B, 0));
    assert_true(b > a); /* every grant moves the counter */
    assert_int_equal(granted(share(d, "job", A, 0)), a); /* a retry */
    behind_group(acquire(d, "job", W, TTL_MS, 0), HF_VERDICT_REFUSED, 0, a);
    assert_int_equal(d->answer.counter, b);
    inspect(d, "job");
    assert_int_equal(d->answer.holder_kind, HF_HOLDER_SHARED);
    assert_int_equal(d->answer.sharers, 2);
    granted(release(d, "job", A, a, 0));
    assert_true(granted(share(d, "job", A, 0)) > b);
    queue_entries(d, "job"); /* in the order of arrival */
    assert_string_equal(d->seats, "hs0b\nhs0a\n");
    b = d->answer.counter;
    granted(release(d, "job", A, a, 0));
    behind_group(acquire(d, "job", W, TTL_MS, 0), HF_VERDICT_REFUSED, 0, a);
    granted(release(d, "job", B, b, 0));
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_true(granted(acquire(d, "job", W, TTL_MS, 0)) > b);
    behind(share(d, "job", A, 0), HF_VERDICT_REFUSED, W);
}

static void terms_must_be_the_same(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 3));
    granted(share(d, "job", B, 3));
    behind_group(share(d, "job", C, 2), HF_VERDICT_REFUSED, 3, a);
    behind_group(share(d, "job", C, 0), HF_VERDICT_REFUSED, 3, a);
    behind_group(queue_shared(d, "job", C, QUEUE_MS, 2), HF_VERDICT_QUEUED, 3,
                 a);
    assert_int_equal(inspect(d, "job")->permits, 3);
    granted(release(d, "job", A, 0, 0));
    granted(release(d, "job", B, 0, 0));
    told(d, C);
    assert_int_equal(inspect(d, "job")->permits, 2);
}

static void a_writer_is_not_starved(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 0));
    behind_group(queue(d, "job", W, QUEUE_MS), HF_VERDICT_QUEUED, 0, a);
    behind_group(share(d, "job", B, 0), HF_VERDICT_REFUSED, 0, a);
    behind_group(queue_shared(d, "job", B, QUEUE_MS, 0), HF_VERDICT_QUEUED, 0,
                 a);
    assert_int_equal(d->answer.ahead, 1);
    behind_group(queue_shared(d, "job", C, QUEUE_MS, 0), HF_VERDICT_QUEUED, 0,
                 a);
    no_push_received(d);
    granted(release(d, "job", A, a, 0));
    assert_true(told(d, W) > a);
    behind(queue(d, "job", X, QUEUE_MS), HF_VERDICT_QUEUED, W);
    no_push_received(d);
}

/* Neighbours in the queue are granted the lock together, and no others. */
static void neighbours_are_admitted_together(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t w = granted(acquire(d, "job", W, TTL_MS, 0));
    queue_shared(d, "job", A, QUEUE_MS, 0);
    queue_shared(d, "job", B, QUEUE_MS, 0);
    queue(d, "job", X, QUEUE_MS);
    queue_shared(d, "job", C, QUEUE_MS, 0);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "hxW\nws0a\nws0b\nwxX\nws0c\n");
    granted(release(d, "job", W, w, 0));
    assert_true(driver_hear(d, 2));
    driver_turn(d);
    assert_int_equal(d->n_pushes, 2);
    assert_int_equal(d->pushes[0].cookie >> 32, 'a');
    assert_int_equal(d->pushes[1].cookie >> 32, 'b');
    assert_true(d->pushes[0].counter > w);
    assert_true(d->pushes[1].counter > d->pushes[0].counter);
    driver_forget(d);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "hs0a\nhs0b\nwxX\nws0c\n");
    assert_int_equal(granted(confirm_shared(d, A, d->pushes[0].counter, false)),
                     d->pushes[0].counter);
    granted(release(d, "job", A, 0, 0));
    no_push_received(d);
    granted(release(d, "job", B, 0, 0));
    uint64_t x = told(d, X);
    assert_true(x > d->pushes[1].counter);
    granted(release(d, "job", X, x, 0));
    assert_true(told(d, C) > x);
}

/* The writer before the readers gives up: the readers are granted the lock. */
static void a_cancelled_writer_lets_readers_in(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 0));
    behind_group(queue(d, "job", W, QUEUE_MS), HF_VERDICT_QUEUED, 0, a);
    behind_group(queue_shared(d, "job", B, QUEUE_MS, 0), HF_VERDICT_QUEUED, 0,
                 a);
    behind_group(release(d, "job", W, 0, 0), HF_VERDICT_REFUSED, 0, a);
    assert_true(told(d, B) > a);
    assert_int_equal(inspect(d, "job")->sharers, 2);
}

/* More sharers in one process than the kernel keeps messages for one socket. */
static void many_readers_at_once(void **state)
{
    struct driver *d = driver_of(state);
    char owner[64];
    granted(acquire(d, "job", W, TTL_MS, 0));
    for (unsigned i = 0; i < 700; i++) {
        snprintf(owner, sizeof(owner), "r%031u:host:1:1", i);
        queue_shared(d, "job", owner, QUEUE_MS, 0);
        assert_int_equal(d->answer.verdict, HF_VERDICT_QUEUED);
    }
    granted(release(d, "job", W, 0, 0));
    assert_true(driver_hear(d, 700));
    for (unsigned i = 0; i < 700; i++) {
        assert_int_equal(d->pushes[i].cookie, (uint64_t)'r' << 32 | i);
    }
    assert_int_equal(inspect(d, "job")->sharers, 700);
}

/* ---- Leases ------------------------------------------------------------ */

static void as_long_as_the_longest(void **state)
{
    struct driver *d = driver_of(state);
    granted(share_for(d, A, 5000, 0));
    granted(share_for(d, B, TTL_MS, 0));
    assert_in_range(inspect(d, "job")->left_ms, TTL_MS - 1000, TTL_MS);
    granted(release(d, "job", B, 0, 0));
    assert_in_range(inspect(d, "job")->left_ms, 1, 5000);
    granted(share_for(d, B, 3000, 0));
    assert_in_range(inspect(d, "job")->left_ms, 1, 5000);
    jump_ms(5001);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    granted(acquire(d, "job", W, TTL_MS, 0));
    inspect(d, "job");
    assert_int_equal(d->answer.holder_kind, HF_HOLDER_FOREIGN);
    assert_int_equal(d->answer.sharers, 0);
}

/* Each sharer has its own lease: one that expires does not affect the
 * others. */
static void each_sharer_renews_its_own_lease(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share_for(d, A, 3000, 0));
    uint64_t b = granted(share_for(d, B, TTL_MS, 0));
    jump_ms(3001);
    behind_group(confirm_shared(d, A, a, true), HF_VERDICT_REFUSED, 0, a);
    behind_group(release(d, "job", A, a, 0), HF_VERDICT_REFUSED, 0, a);
    assert_int_equal(granted(confirm_shared(d, B, b, true)), b);
    assert_true(granted(share_for(d, A, TTL_MS, 0)) > b);
    assert_int_equal(inspect(d, "job")->sharers, 2);
}

static void raising(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t above = (uint64_t)hf_clock_wall_s() * 1000000 + 9000000;
    uint64_t a = granted(share(d, "job", A, 0));
    granted(share(d, "job", B, 0));
    /* Each has its own v. The counters are so high that the floor has no
     * effect. */
    uint64_t b = granted(confirm_shared(d, B, above, true));
    assert_int_equal(b, above);
    assert_int_equal(granted(confirm_shared(d, A, b, true)), b);
    assert_int_equal(granted(confirm_shared(d, A, a, true)), b);
    assert_int_equal(granted(confirm_shared(d, B, b + 9, true)), b + 9);
    assert_int_equal(granted(confirm_shared(d, A, b, true)), b);
    assert_int_equal(inspect(d, "job")->counter, b + 9);
    /* A sharer that was granted the lock at other nodes joins, in the same
     * mode. */
    behind_group(confirm_shared(d, C, b + 20, false), HF_VERDICT_REFUSED, 0, a);
    behind_group(confirm_shared(d, C, b + 9, true), HF_VERDICT_REFUSED, 0, a);
    struct hf_ask ask = confirm_ask(C, b + 20, true, 5);
    behind_group(driver_ask(d, &ask), HF_VERDICT_REFUSED, 0, a);
    assert_int_equal(granted(confirm_shared(d, C, b + 20, true)), b + 20);
    assert_int_equal(inspect(d, "job")->sharers, 3);
    assert_int_equal(d->answer.counter, b + 20);
    granted(release(d, "job", C, b + 30, 0)); /* not while other sharers stay */
    assert_int_equal(inspect(d, "job")->counter, b + 20);
    assert_int_equal(granted(confirm_shared(d, A, b, true)), b);
    granted(release(d, "job", A, b + 30, 0));
    assert_int_equal(granted(release(d, "job", B, b + 30, 0)), b + 30);
}

static void taken_back_by_a_sharer(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share_for(d, A, 2000, 0));
    jump_ms(2001);
    assert_int_equal(confirm_shared(d, A, a, true)->verdict,
                     HF_VERDICT_REFUSED);
    uint64_t fence = a + 9000000;
    assert_int_equal(confirm_shared(d, A, fence, false)->verdict,
                     HF_VERDICT_REFUSED);
    assert_int_equal(granted(confirm_shared(d, A, fence, true)), fence);
    behind_group(acquire(d, "job", W, TTL_MS, 0), HF_VERDICT_REFUSED, 0, fence);
    assert_true(granted(share(d, "job", B, 0)) > fence);
}

/* A raise below the clock floor is refused with the floor, and changes only the
 * lease. */
static void below_the_floor(void **state)
{
    struct driver *d = driver_of(state);
    assert_int_equal(confirm_shared(d, A, 5, true)->verdict,
                     HF_VERDICT_REFUSED);
    assert_true(d->answer.floor > 5);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
}

/* Nor to a counter that the group has had. In the model, an older copy of a
 * node with an older lease accepted a value that a writer's majority had. */
static void sharer_below_the_floor(void **state)
{
    struct driver *d = driver_of(state);
    struct hf_local *local = (struct hf_local *)(void *)d->store;
    uint64_t a = granted(share(d, "job", A, 0));
    uint64_t b = granted(share(d, "job", B, 0));
    assert_int_equal(granted(confirm_shared(d, B, b + 20, true)), b + 20);
    local->gate.page->floor_least = b + 10;
    assert_int_equal(granted(confirm_shared(d, A, b + 5, true)), a);
    assert_int_equal(d->answer.floor, b + 10);
    assert_int_equal(granted(confirm_shared(d, A, b + 10, true)), b + 10);
}

static void yielded(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 0));
    uint64_t b = granted(share(d, "job", B, 0));
    struct hf_ask ask = queue_ask("job", B, QUEUE_MS);
    queue(d, "job", W, QUEUE_MS);
    uint64_t w = d->answer.ticket;
    ask.verb = HF_VERB_YIELD;
    ask.is_shared = true;
    ask.ticket = w + 1;
    ask.counter = a; /* not its own v */
    assert_int_equal(granted(driver_ask(d, &ask)), b);
    assert_int_equal(d->answer.ahead, 1);
    ask.counter = b;
    behind_group(driver_ask(d, &ask), HF_VERDICT_QUEUED, 0, a);
    assert_int_equal(d->answer.ahead, 1);
    granted(release(d, "job", A, a, 0));
    told(d, W);
    granted(release(d, "job", W, 0, 0));
    told(d, B);
}

static void broken(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "job", A, 0));
    uint64_t b = granted(share(d, "job", B, 0));
    uint64_t x = granted(break_name(d, "job", X, false));
    assert_true(x > b);
    behind(confirm_shared(d, A, a, true), HF_VERDICT_REFUSED, X);
    behind(release(d, "job", B, b, 0), HF_VERDICT_REFUSED, X);
    granted(release(d, "job", X, x, 0));
    granted(share(d, "job", C, 0));
    /* A new group has no sharers of the one before. */
    assert_int_equal(confirm_shared(d, B, b, true)->verdict,
                     HF_VERDICT_REFUSED);
    queue(d, "job", W, QUEUE_MS);
    granted(break_name(d, "job", X, true));
    told(d, W);
}

static void prefixes_and_reopening(void **state)
{
    struct fixture *f = *state;
    uint64_t a = granted(share(&f->d, "job", A, 0));
    granted(share(&f->d, "job", B, 0));
    driver_close(&f->d);
    driver_start(&f->d, f->folder);
    assert_int_equal(granted(confirm_shared(&f->d, A, a, true)), a);
    assert_int_equal(inspect(&f->d, "job")->sharers, 2);
}

/* ---- Death ------------------------------------------------------------- */

static pid_t sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_reader_killed_among_readers(void **state)
{
    struct driver *d = driver_of(state);
    pid_t pid = sleeper();
    granted(share_for(d, A, TTL_MS, getpid()));
    granted(share_for(d, B, TTL_MS, pid));
    queue(d, "job", W, QUEUE_MS);
    end(pid);
    /* Only the dead sharer is dropped. */
    assert_int_equal(queue(d, "job", W, QUEUE_MS)->verdict, HF_VERDICT_QUEUED);
    assert_int_equal(inspect(d, "job")->sharers, 1);
    granted(release(d, "job", A, 0, 0));
    told(d, W);
}

static void all_readers_killed(void **state)
{
    struct driver *d = driver_of(state);
    pid_t pid = sleeper();
    uint64_t a = granted(share_for(d, A, TTL_MS, pid));
    granted(share_for(d, B, TTL_MS, pid));
    behind_group(acquire(d, "job", W, TTL_MS, 0), HF_VERDICT_REFUSED, 0, a);
    end(pid);
    granted(acquire(d, "job", W, TTL_MS, 0));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(readers_share),
        IN_FOLDER(terms_must_be_the_same),
        IN_FOLDER(a_writer_is_not_starved),
        IN_FOLDER(neighbours_are_admitted_together),
        IN_FOLDER(a_cancelled_writer_lets_readers_in),
        IN_FOLDER(many_readers_at_once),
        IN_FOLDER(as_long_as_the_longest),
        IN_FOLDER(each_sharer_renews_its_own_lease),
        IN_FOLDER(raising),
        IN_FOLDER(taken_back_by_a_sharer),
        IN_FOLDER(below_the_floor),
        IN_FOLDER(sharer_below_the_floor),
        IN_FOLDER(yielded),
        IN_FOLDER(broken),
        IN_FOLDER(prefixes_and_reopening),
        IN_FOLDER(a_reader_killed_among_readers),
        IN_FOLDER(all_readers_killed),
    };
    return cmocka_run_group_tests_name("local_share", tests, NULL, NULL);
}
