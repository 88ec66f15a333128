/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store, verb by verb, through struct hf_store. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_fixture.h"

#include "base/glob.h"
#include "core/limits.h"
#include "io/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define TTL_MS 20000 /* longer than a test: no lease ends by itself */

static uint64_t wall_us(void)
{
    return (uint64_t)hf_clock_wall_s() * 1000000;
}

static void votes_from_the_start(void **state)
{
    assert_true(driver_of(state)->is_voting);
}

static void takes_turns(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t first = granted(acquire(d, "job", A, TTL_MS, 0));
    const struct hf_answer *no = acquire(d, "job", B, TTL_MS, 0);
    refused(no, A);
    assert_int_equal(no->counter, first);
    assert_in_range(no->left_ms, TTL_MS - 1000, TTL_MS);
    assert_int_equal(release(d, "job", A, first, 0)->verdict, HF_VERDICT_OK);
    uint64_t second = granted(acquire(d, "job", B, TTL_MS, 0));
    assert_true(second > first);
    refused(release(d, "job", A, first, 0), B);
    assert_int_equal(granted(acquire(d, "other", A, TTL_MS, 0)) > 0, 1);
}

static void fences_begin_at_the_clock(void **state)
{
    uint64_t c = granted(acquire(driver_of(state), "job", A, TTL_MS, 0));
    assert_int_equal(c & ((1U << HF_FLOOR_BITS) - 1), 0);
    assert_true(c <= wall_us() + 1000000);
    assert_true(c >= wall_us() - 6000000);
}

static void a_retry_is_the_same_grant(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    assert_int_equal(granted(acquire(d, "job", A, TTL_MS, 0)), c);
}

static void a_lease_is_never_shortened(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    assert_int_equal(granted(acquire(d, "job", A, 100, 0)), c);
    assert_int_equal(granted(confirm(d, "job", A, c, 100, true)), c);
    assert_in_range(inspect(d, "job")->left_ms, TTL_MS - 1000, TTL_MS);
    assert_int_equal(granted(confirm(d, "job", A, c, 2 * TTL_MS, true)), c);
    assert_in_range(inspect(d, "job")->left_ms, 2 * TTL_MS - 1000, 2 * TTL_MS);
}

static void a_lease_ends(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t first = granted(acquire(d, "job", A, 30, 0));
    refused(acquire(d, "job", B, TTL_MS, 0), A);
    jump_ms(31);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_true(granted(acquire(d, "job", B, TTL_MS, 0)) > first);
    refused(confirm(d, "job", A, first, TTL_MS, true), B);
}

static void the_last_owner_takes_back(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, 20, 0));
    jump_ms(21);
    refused(confirm(d, "job", A, c, TTL_MS, false), NULL); /* not a holder's */
    refused(confirm(d, "job", B, c, TTL_MS, true), NULL);  /* never owned it */
    assert_int_equal(granted(confirm(d, "job", A, c, TTL_MS, true)), c);
    refused(acquire(d, "job", B, TTL_MS, 0), A);
}

static void a_release_is_final(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    granted(release(d, "job", A, c, 0));
    refused(confirm(d, "job", A, c, TTL_MS, true), NULL);
    refused(release(d, "job", A, c, 0), NULL);
    /* Also if the release comes after the end of the lease. */
    c = granted(acquire(d, "job", A, 20, 0));
    jump_ms(21);
    refused(release(d, "job", A, c, 0), NULL);
    refused(confirm(d, "job", A, c, TTL_MS, true), NULL);
}

static void raising(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    assert_int_equal(granted(confirm(d, "job", A, c + 5, TTL_MS, false)),
                     c + 5);
    assert_int_equal(granted(confirm(d, "job", A, c + 2, TTL_MS, false)),
                     c + 5);
    refused(confirm(d, "job", B, c + 9, TTL_MS, true), A);
    assert_int_equal(inspect(d, "job")->counter, c + 5);
    granted(release(d, "job", A, c + 7, 0)); /* raises the counter */
    assert_int_equal(inspect(d, "job")->counter, c + 7);
    refused(release(d, "job", B, c + 9, 0), NULL); /* free: raises it, too */
    assert_int_equal(inspect(d, "job")->counter, c + 9);
}

static void raising_a_name_that_is_not_there(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t bucket = wall_us() & ~((UINT64_C(1) << HF_FLOOR_BITS) - 1);
    refused(confirm(d, "job", A, 5, TTL_MS, true), NULL);
    assert_true(d->answer.floor >= bucket); /* the reason of the refusal */
    refused(confirm(d, "job", A, wall_us() + 9000000, TTL_MS, false), NULL);
    assert_int_equal(d->answer.floor, 0);
    uint64_t fence = wall_us() + 9000000;
    assert_int_equal(granted(confirm(d, "job", A, fence, TTL_MS, true)), fence);
    refused(acquire(d, "job", B, TTL_MS, 0), A);
}

static void hints_and_bounds(void **state)
{
    struct driver *d = driver_of(state);
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = "job",
                         .name_len = 3,
                         .owner = A,
                         .owner_len = sizeof(A) - 1,
                         .ttl_ms = TTL_MS,
                         .counter = wall_us() + 99000000};
    assert_int_equal(granted(driver_ask(d, &ask)), ask.counter);
    granted(release(d, "job", A, 0, 0));
    ask.counter += UINT64_C(1) << 33;
    uint64_t c = granted(driver_ask(d, &ask)); /* a hint above the bound is
                                                  ignored */
    assert_true(c < ask.counter);
    assert_int_equal(
        granted(confirm(d, "job", A, c + (UINT64_C(1) << 33), TTL_MS, true)),
        c);
    assert_int_equal(d->answer.bound, c + HF_FENCE_AHEAD_MAX);
    assert_int_equal(d->answer.floor, 0);
    assert_int_equal(inspect(d, "job")->counter, c);
    granted(release(d, "job", A, 0, 0));
    refused(confirm(d, "job", A, c + (UINT64_C(1) << 33), TTL_MS, true), NULL);
    refused(release(d, "job", A, c + (UINT64_C(1) << 33), 0), NULL);
    assert_int_equal(inspect(d, "job")->counter, c);
}

static void kept_when_ended(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, getpid()));
    granted(release(d, "job", A, c, 60));
    assert_int_equal(granted(release(d, "job", A, c, 60)), c); /* a retry */
    refused(acquire(d, "job", B, TTL_MS, 0), "ended:" A);
    refused(confirm(d, "job", A, c, TTL_MS, true), "ended:" A);
    assert_in_range(inspect(d, "job")->left_ms, 1, 60);
    jump_ms(61);
    assert_true(granted(acquire(d, "job", B, TTL_MS, 0)) > c);
}

/* The holder gets the name back at the same counter. Only the breaker that took
 * the name can give it back, and only once. */
static void giving_back(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    granted(break_name(d, "job", B, false));
    granted(break_back(d, "job", C, A)); /* not the breaker: changes nothing */
    refused(confirm(d, "job", A, c, TTL_MS, true), B);
    granted(break_back(d, "job", B, A));
    assert_int_equal(granted(confirm(d, "job", A, c, TTL_MS, true)), c);
    granted(release(d, "job", A, c, 0));
    granted(break_back(d, "job", B, A));
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    c = granted(acquire(d, "job", A, 60, 0));
    granted(break_name(d, "job", B, false));
    granted(break_back(d, "job", B, A));
    jump_ms(61); /* the expiry is that of before the break */
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
}

static void breaking_what_has_ended(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, TTL_MS, 0));
    granted(release(d, "job", A, c, 3600000));
    refused(acquire(d, "job", B, TTL_MS, 0), "ended:" A);
    const struct hf_answer *broken = break_name(d, "job", C, false);
    assert_true(granted(broken) > c);
    assert_string_equal(broken->owner, "ended:" A);
    assert_true(granted(acquire(d, "job", B, TTL_MS, 0)) > c);
}

static void breaking(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t c = granted(acquire(d, "job", A, 200, 0));
    const struct hf_answer *broken = break_name(d, "job", B, false);
    assert_true(granted(broken) > c);
    assert_string_equal(broken->owner, A);
    assert_in_range(broken->left_ms, 1, 200);
    uint64_t moved = broken->counter;
    assert_true(granted(break_name(d, "job", B, false)) >= moved);
    refused(confirm(d, "job", A, c, TTL_MS, true), B);
    refused(acquire(d, "job", A, TTL_MS, 0), B);
    jump_ms(201); /* never longer than the holder's lease */
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_true(granted(acquire(d, "job", A, TTL_MS, 0)) > c);
    broken = break_name(d, "job", B, true);
    assert_string_equal(broken->owner, A);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    c = broken->counter;
    broken = break_name(d, "job", B, false);
    assert_true(granted(broken) > c); /* free: a break increases the fence all
                                         the same */
    assert_null(broken->owner);
    assert_int_equal(broken->left_ms, 0);
}

static void any_bytes_are_a_name(void **state)
{
    struct driver *d = driver_of(state);
    static const struct {
        const char *bytes;
        size_t len;
    } names[] = {{"a", 1},   {"a\0", 2},      {"a\0b", 3},       {" ", 1},
                 {"\n", 1},  {"\xc3\xa9", 2}, {"\xff\0\xff", 3}, {"{}", 2},
                 {"a}b", 3}, {"..", 2}};
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .owner = A,
                         .owner_len = sizeof(A) - 1,
                         .ttl_ms = TTL_MS};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ask.name = names[i].bytes;
        ask.name_len = names[i].len;
        ask.verb = HF_VERB_INSPECT;
        assert_int_equal(driver_ask(d, &ask)->holder_kind, HF_HOLDER_NONE);
        ask.verb = HF_VERB_ACQUIRE;
        granted(driver_ask(d, &ask));
    }
    scan(d, NULL);
    assert_int_equal(d->n_names, sizeof(names) / sizeof(names[0]));
}

/* Names that differ only in their last byte, near the length at which keys are
 * cut, and up to the longest. */
static void long_names(void **state)
{
    struct driver *d = driver_of(state);
    char name[HF_NAME_MAX];
    memset(name, 'n', sizeof(name));
    struct hf_ask ask = {.name = name, .ttl_ms = TTL_MS};
    unsigned made = 0;
    for (size_t len = 490; len <= HF_NAME_MAX; len += len < 520 ? 1 : 84) {
        for (char last = 'a'; last <= 'c'; last++) {
            name[len - 1] = last;
            ask.name_len = len;
            ask.owner = A;
            ask.owner_len = sizeof(A) - 1;
            ask.verb = HF_VERB_ACQUIRE;
            granted(driver_ask(d, &ask));
            ask.owner = B;
            refused(driver_ask(d, &ask), A);
            made++;
        }
        name[len - 1] = 'n';
    }
    scan(d, NULL);
    assert_int_equal(d->n_names, made);
    scan(d, "n*b");
    assert_int_equal(d->n_names, made / 3);
}

static void longest_of_all(void **state)
{
    struct driver *d = driver_of(state);
    char name[HF_NAME_MAX], owner[HF_OWNER_MAX];
    memset(name, 'n', sizeof(name));
    memset(owner, 'o', sizeof(owner));
    struct hf_life_set life = {4, {getpid(), getppid(), 1, -getpgrp()}};
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = name,
                         .name_len = sizeof(name),
                         .owner = owner,
                         .owner_len = sizeof(owner),
                         .ttl_ms = TTL_MS,
                         .life = &life};
    granted(driver_ask(d, &ask));
    ask.verb = HF_VERB_RELEASE; /* with a reservation: "ended:" before the
                                   owner */
    granted(driver_ask(d, &ask));
    ask.verb = HF_VERB_INSPECT;
    assert_int_equal(driver_ask(d, &ask)->owner_len, HF_OWNER_MAX + 6);
}

static void keeps(const struct hf_answer *answer, uint64_t fence,
                  const char *owner, int64_t most_ms)
{
    assert_int_equal(answer->verdict, HF_VERDICT_OK);
    assert_int_equal(answer->counter, fence);
    assert_int_equal(answer->owner_len, strlen(owner));
    assert_memory_equal(answer->owner_len > 0 ? answer->owner : "", owner,
                        answer->owner_len);
    assert_true(answer->left_ms <= most_ms);
    assert_true(answer->left_ms >= most_ms - 1000);
}

/* The rules of mark.lua. */
static void marks(void **state)
{
    struct driver *d = driver_of(state);
    keeps(mark(d, "job", 0, NULL, 0), 0, "", 0);
    keeps(mark(d, "job", 7, A, 5000), 7, A, 5000);
    keeps(mark(d, "job", 7, A, 60000), 7, A, 5000);
    keeps(mark(d, "job", 7, A, 10), 7, A, 5000);
    keeps(mark(d, "job", 6, B, 60000), 7, A, 5000);
    assert_int_equal(inspect(d, "job")->owner_len, strlen("ended:" A));
    assert_memory_equal(d->answer.owner, "ended:" A, strlen("ended:" A));
    scan(d, NULL);
    assert_string_equal(d->names, "job\n");
    uint64_t c = granted(acquire(d, "job", B, TTL_MS, 0));
    assert_int_equal(inspect(d, "job")->owner_len, strlen(B));
    keeps(mark(d, "job", 6, NULL, 60000), 7, A, 5000);
    keeps(mark(d, "job", 7, NULL, 60000), 7, "", 60000);
    keeps(mark(d, "job", 7, A, 60000), 7, "", 60000);
    granted(release(d, "job", B, c, 0));
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    scan(d, NULL);
    assert_int_equal(d->n_names, 0);
    keeps(mark(d, "job", 8, B, 20), 8, B, 20);
    jump_ms(21);
    keeps(mark(d, "job", 0, NULL, 0), 0, "", 0);
    keeps(mark(d, "job", 3, B, 5000), 3, B, 5000);
}

static void longest_mark(void **state)
{
    struct driver *d = driver_of(state);
    char name[HF_NAME_MAX], owner[HF_OWNER_MAX];
    memset(name, 'n', sizeof(name));
    memset(owner, 'o', sizeof(owner));
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = name,
                         .name_len = sizeof(name),
                         .owner = owner,
                         .owner_len = sizeof(owner),
                         .ttl_ms = TTL_MS};
    granted(driver_ask(d, &ask));
    ask.verb = HF_VERB_MARK;
    ask.counter = 9;
    granted(driver_ask(d, &ask));
    ask.counter = 0;
    assert_int_equal(driver_ask(d, &ask)->owner_len, HF_OWNER_MAX);
    ask.verb = HF_VERB_RELEASE;
    ask.ttl_ms = 0;
    granted(driver_ask(d, &ask));
    ask.verb = HF_VERB_INSPECT;
    assert_int_equal(driver_ask(d, &ask)->owner_len, HF_OWNER_MAX + 6);
}

static void scanning(void **state)
{
    struct driver *d = driver_of(state);
    granted(acquire(d, "red-1", A, TTL_MS, 0));
    granted(acquire(d, "red-2", A, TTL_MS, 0));
    granted(acquire(d, "blue", A, 20, 0));
    granted(acquire(d, "free", A, TTL_MS, 0));
    granted(release(d, "free", A, 0, 0));
    scan(d, "red-*");
    assert_string_equal(d->names, "red-1\nred-2\n");
    scan(d, NULL);
    assert_string_equal(d->names, "blue\nred-1\nred-2\n");
    assert_int_equal(d->answer.counter, 0);
    jump_ms(21);
    scan(d, "[a-q]*");
    assert_int_equal(d->n_names, 0);
}

static void prefixes_are_apart(void **state)
{
    struct fixture *f = *state;
    struct driver other;
    struct hf_error error;
    assert_int_equal(driver_open(&other, f->folder, "?prefix=x:", &error),
                     HF_OK);
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    granted(acquire(&other, "job", B, TTL_MS, 0));
    scan(&other, NULL);
    assert_string_equal(other.names, "job\n");
    refused(acquire(&f->d, "job", B, TTL_MS, 0), A);
    driver_close(&other);
}

static void two_clients_see_the_same(void **state)
{
    struct fixture *f = *state;
    struct driver other;
    driver_start(&other, f->folder);
    uint64_t c = granted(acquire(&f->d, "job", A, TTL_MS, 0));
    refused(acquire(&other, "job", B, TTL_MS, 0), A);
    granted(release(&f->d, "job", A, c, 0));
    assert_true(granted(acquire(&other, "job", B, TTL_MS, 0)) > c);
    driver_close(&other);
}

static void survives_reopening(void **state)
{
    struct fixture *f = *state;
    uint64_t c = granted(acquire(&f->d, "job", A, TTL_MS, 0));
    driver_close(&f->d);
    driver_start(&f->d, f->folder);
    refused(acquire(&f->d, "job", B, TTL_MS, 0), A);
    assert_int_equal(granted(confirm(&f->d, "job", A, c, TTL_MS, true)), c);
}

/* An idle name is deleted, and gets a greater fence when it is used again. */
static void idle_names_are_swept(void **state)
{
    struct fixture *f = *state;
    struct driver d;
    char name[32];
    assert_int_equal(driver_open_keeping(&d, f->folder, "?max_ttl=10ms", 20),
                     HF_OK);
    granted(acquire(&d, "kept", A, TTL_MS, 0));
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "idle-%u", i);
        uint64_t c = granted(acquire(&d, name, A, TTL_MS, 0));
        granted(release(&d, name, A, c, 0));
    }
    uint64_t before = inspect(&d, "idle-7")->counter;
    assert_true(before > 0);
    /* A counter may be deleted only when the floor is above it: a bucket is 4.2
     * s. */
    jump_ms(4400);
    for (unsigned i = 0; i < 600; i++) {
        uint64_t c = granted(acquire(&d, "busy", A, TTL_MS, 0));
        granted(release(&d, "busy", A, c, 0));
    }
    assert_int_equal(inspect(&d, "idle-7")->counter, 0);
    assert_int_equal(inspect(&d, "idle-199")->counter, 0);
    refused(acquire(&d, "kept", B, TTL_MS, 0), A);
    assert_true(granted(acquire(&d, "idle-7", B, TTL_MS, 0)) > before);
    driver_close(&d);
}

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbb", false},
        {"*a*b*c*", "xaxbxc", true},
        {"*a*b*c*", "xaxcxb", false},
        {"?", "", false},
        {"?", "a", true},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[^a-c]x", "dx", true},
        {"[!a-c]x", "dx", true},
        {"[!a-c]x", "bx", false},
        {"[!a-c]x", "!x", true},
        {"[a!]", "!", true},
        {"[\\!a]", "!", true},
        {"[c-a]", "b", true},
        {"[]a]x", "]x", true},
        {"[]a]x", "ax", true},
        {"[]a]x", "bx", false},
        {"[!]a]x", "]x", false},
        {"[^]a]x", "bx", true},
        {"[]-a]", "^", true},
        {"[]", "]", true},
        {"[\\]-_]", "^", true},
        {"[\\]]", "]", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"[abc", "b", true},
        {"a\\", "a\\", true},
        {"[a-]", "-", true},
        {"**", "a", true},
        {"a**b", "ab", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool got = hf_glob_match(cases[i].pattern, strlen(cases[i].pattern),
                                 cases[i].text, strlen(cases[i].text));
        if (got != cases[i].matches) {
            fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].text);
        }
    }
    char stars[200], text[2000];
    memset(stars, '*', sizeof(stars));
    for (size_t i = 1; i < sizeof(stars); i += 2) {
        stars[i] = 'a';
    }
    stars[sizeof(stars) - 1] = 'b';
    memset(text, 'a', sizeof(text));
    assert_false(hf_glob_match(stars, sizeof(stars), text, sizeof(text)));
}

int main(void)
{
    still_ns = hf_clock_now().ns;
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(votes_from_the_start),
        IN_FOLDER(takes_turns),
        IN_FOLDER(fences_begin_at_the_clock),
        IN_FOLDER(a_retry_is_the_same_grant),
        IN_FOLDER(a_lease_is_never_shortened),
        IN_FOLDER(a_lease_ends),
        IN_FOLDER(the_last_owner_takes_back),
        IN_FOLDER(a_release_is_final),
        IN_FOLDER(raising),
        IN_FOLDER(raising_a_name_that_is_not_there),
        IN_FOLDER(hints_and_bounds),
        IN_FOLDER(kept_when_ended),
        IN_FOLDER(breaking),
        IN_FOLDER(giving_back),
        IN_FOLDER(breaking_what_has_ended),
        IN_FOLDER(any_bytes_are_a_name),
        IN_FOLDER(long_names),
        IN_FOLDER(longest_of_all),
        IN_FOLDER(marks),
        IN_FOLDER(longest_mark),
        IN_FOLDER(scanning),
        IN_FOLDER(prefixes_are_apart),
        IN_FOLDER(two_clients_see_the_same),
        IN_FOLDER(survives_reopening),
        IN_FOLDER(idle_names_are_swept),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
