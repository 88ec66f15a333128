/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection: waiters and sharers leave no records behind. And cases
 * that need the clock floor to advance, which takes 4.2 s.
 *
 * timeout: 120 */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_driver.h"

#include "store/local/local.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define TTL_MS 20000 /* only jumps of the clock use it up */
#define NAMES 300    /* more than the collector visits in one request */

struct fixture {
    char folder[64];
    struct driver d;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(f->folder);
    assert_int_equal(driver_open_keeping(&f->d, f->folder, "?max_ttl=1s", 2000),
                     HF_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    driver_close(&f->d);
    folder_drop(f->folder);
    free(f);
    return 0;
}

static struct driver *driver_of(void **state)
{
    return &((struct fixture *)*state)->d;
}

static uint64_t granted(const struct hf_answer *answer)
{
    assert_int_equal(answer->verdict, HF_VERDICT_OK);
    return answer->counter;
}

/* The number of names and entries in the file. */
static size_t count_keys(struct driver *d)
{
    struct hf_local *local = (struct hf_local *)d->store;
    char reason[HF_REASON_MAX];
    MDB_stat about;
    assert_int_equal(hf_gate_enter(&local->gate, reason, sizeof(reason)),
                     HF_OK);
    assert_int_equal(hf_table_begin(&local->table), 0);
    assert_int_equal(mdb_stat(local->table.mdb_txn, local->table.names, &about),
                     0);
    hf_table_abort(&local->table);
    hf_gate_leave(&local->gate);
    return about.ms_entries;
}

/* Send so many requests that the collector has visited every name. */
static void be_busy(struct driver *d)
{
    for (unsigned i = 0; i < 4 * NAMES + 600; i++) {
        granted(acquire(d, "busy", A, TTL_MS, 0));
        granted(release(d, "busy", A, 0, 0));
    }
}

static void many_waits_leave_one_name(void **state)
{
    struct driver *d = driver_of(state);
    char before[64] = "", owner[64];
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(owner, sizeof(owner), "q%031u:host:1:1", i);
        queue_shared(d, "job", owner, TTL_MS, i % 3 == 0 ? 1 : 0);
        if (before[0] != '\0') {
            release(d, "job", before, 0, 0);
        }
        memcpy(before, owner, sizeof(before));
    }
    release(d, "job", before, 0, 0);
    assert_int_equal(count_keys(d), 1);
}

/* Waiters and sharers that died, on names that no client requests again. */
static void the_dead_are_forgotten(void **state)
{
    struct driver *d = driver_of(state);
    char name[1200];
    memset(name, 'n', sizeof(name));
    for (unsigned i = 0; i < NAMES; i++) {
        /* some so long that the record has the whole name */
        snprintf(name, sizeof(name), "%0*u", i % 2 == 0 ? 3 : 900, i);
        struct hf_ask ask = queue_ask(name, A, 9000);
        ask.ttl_ms = 9000;
        ask.is_shared = i % 3 > 0;
        granted(driver_ask(d, &ask));
        queue(d, name, B, 9000);
        assert_int_equal(d->answer.verdict, HF_VERDICT_QUEUED);
        queue_shared(d, name, C, 9000, 7);
        assert_int_equal(d->answer.verdict, HF_VERDICT_QUEUED);
    }
    assert_true(count_keys(d) >= 5 * NAMES);
    jump_ms(9001);
    be_busy(d);
    assert_int_equal(count_keys(d), NAMES + 1);
    assert_int_equal(inspect(d, "000")->waiting, 0);
    assert_true(d->answer.counter > 0); /* the counter stays for fence_keep */
    granted(queue(d, "000", B, TTL_MS));
    snprintf(name, sizeof(name), "%0900u", 1);
    assert_true(inspect(d, name)->counter > 0);
}

static void when_the_floor_has_moved(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t a = granted(share(d, "shared", A, 0));
    uint64_t b = granted(share(d, "shared", B, 0));
    struct hf_ask ask = queue_ask("waited-for", A, 0);
    ask.ttl_ms = 10;
    granted(driver_ask(d, &ask));
    queue(d, "waited-for", B, 60000);
    ask.name = "idle";
    ask.name_len = 4;
    granted(driver_ask(d, &ask));
    jump_ms(4400);
    be_busy(d);
    /* Free for long, and kept, since a client waits for it. */
    assert_int_equal(inspect(d, "idle")->counter, 0);
    assert_int_equal(inspect(d, "waited-for")->waiting, 1);
    queue(d, "waited-for", C, TTL_MS);
    assert_int_equal(d->answer.verdict, HF_VERDICT_QUEUED);
    assert_string_equal(d->owner, B);
    /* A sharer is not raised to a value below the floor, not even to the
     * counter of its group. */
    ask = queue_ask("shared", A, 0);
    ask.verb = HF_VERB_CONFIRM;
    ask.is_shared = true;
    ask.counter = b;
    assert_int_equal(granted(driver_ask(d, &ask)), a);
    assert_true(d->answer.floor > b);
    ask.counter = d->answer.floor + 9000000;
    assert_int_equal(granted(driver_ask(d, &ask)), ask.counter);
    assert_int_equal(d->answer.floor, 0);
    assert_int_equal(inspect(d, "shared")->counter, ask.counter);
}

/* A sharer of an expired group does not count in the next one. */
static void groups_do_not_mix(void **state)
{
    struct driver *d = driver_of(state);
    struct hf_ask ask = queue_ask("job", A, 0);
    ask.is_shared = true;
    ask.ttl_ms = 10;
    granted(driver_ask(d, &ask));
    jump_ms(11);
    granted(share(d, "job", B, 5));
    assert_int_equal(inspect(d, "job")->sharers, 1);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "hs5b\n");
    granted(release(d, "job", B, 0, 0));
    assert_int_equal(count_keys(d), 1);
}

static void a_dead_holder_is_not_listed(void **state)
{
    struct driver *d = driver_of(state);
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    granted(acquire(d, "job", A, TTL_MS, pid));
    queue(d, "job", B, TTL_MS);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "hxa\nwxb\n");
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    queue_entries(d, "job");
    assert_string_equal(d->seats, "wxb\n");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(many_waits_leave_one_name),
        IN_FOLDER(the_dead_are_forgotten),
        IN_FOLDER(when_the_floor_has_moved),
        IN_FOLDER(groups_do_not_mix),
        IN_FOLDER(a_dead_holder_is_not_listed),
    };
    return cmocka_run_group_tests_name("local_litter", tests, NULL, NULL);
}
