/* SPDX-License-Identifier: Apache-2.0 */
/* After the death of a holder the next client gets the lock at once. A lock is
 * never taken from a live holder. */
#include "local_driver.h"

#include "store/local/liveness.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define TTL_MS 60000 /* longer than a test: only a death frees a lock */

struct fixture {
    char folder[64];
    struct driver d;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(f->folder);
    driver_start(&f->d, f->folder);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
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

/* A child that sleeps until it is killed. */
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

/* Wait until @p pid is a zombie, without reaping it. */
static void wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static bool is_granted(struct driver *d, const char *owner)
{
    return acquire(d, "job", owner, TTL_MS, 0)->verdict == HF_VERDICT_OK;
}

static void held_for(struct driver *d, int64_t pid)
{
    assert_int_equal(acquire(d, "job", A, TTL_MS, pid)->verdict, HF_VERDICT_OK);
}

static void dead_and_reaped(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t pid = sleeper();
    held_for(d, pid);
    uint64_t c = d->answer.counter;
    assert_false(is_granted(d, B));
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_FOREIGN);
    end(pid);
    assert_int_equal(inspect(d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_true(is_granted(d, B));
    assert_true(d->answer.counter > c);
    assert_int_equal(confirm(d, "job", A, c, TTL_MS, true)->verdict,
                     HF_VERDICT_REFUSED);
}

static void dead_and_not_reaped(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t pid = sleeper();
    held_for(d, pid);
    kill(pid, SIGKILL);
    wait_for_zombie(pid);
    assert_true(is_granted(d, B));
    end(pid);
}

static void stopped_is_alive(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t pid = sleeper();
    int status;
    held_for(d, pid);
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_false(is_granted(d, B));
    end(pid);
}

static void lease_alone(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t pid = sleeper();
    held_for(d, 0);
    end(pid);
    assert_false(is_granted(d, B));
}

static void *linger(void *fd)
{
    char byte;
    ssize_t got = read(*(int *)fd, &byte, 1);
    _exit(got == 0 ? 0 : 1);
}

/* The main thread of a process may end before the others: it is then a zombie
 * with running threads. */
static void zombie_leader(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    int line[2];
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        close(line[1]);
        pthread_create(&thread, NULL, linger, &line[0]);
        pthread_exit(NULL);
    }
    close(line[0]);
    held_for(d, pid);
    assert_true(main_thread_ends(pid));
    assert_false(is_granted(d, B));
    close(line[1]); /* ends this thread only */
    wait_for_zombie(pid);
    assert_true(is_granted(d, B));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct orphan {
    const char *folder;
    int out;
};

/* A thread whose main thread has ended: open the store and take the name. */
static void *take_as_orphan(void *user)
{
    const struct orphan *orphan = user;
    static struct driver d;
    struct hf_error error = {0};
    if (!main_thread_ends(getpid())) {
        _exit(1);
    }
    char is_good =
        driver_open(&d, orphan->folder, "", &error) == HF_OK &&
        acquire(&d, "job", A, TTL_MS, getpid())->verdict == HF_VERDICT_OK;
    if (!is_good) {
        fprintf(stderr, "# %s\n", error.text);
    }
    ssize_t wrote = write(orphan->out, &is_good, 1);
    _exit(wrote == 1 && pause() == -1 ? 0 : 1);
}

static pid_t orphan_takes(const char *folder)
{
    int line[2];
    char is_good = 0;
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        static struct orphan orphan;
        orphan = (struct orphan){folder, line[1]};
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a check fails */
        pthread_create(&thread, NULL, take_as_orphan, &orphan);
        pthread_exit(NULL);
    }
    close(line[1]);
    assert_int_equal(read(line[0], &is_good, 1), 1);
    close(line[0]);
    if (!is_good) {
        end(pid);
    }
    assert_true(is_good);
    return pid;
}

/* It may open a store that others use. */
static void orphan_joins(void **state)
{
    struct fixture *f = *state;
    pid_t pid = orphan_takes(f->folder);
    assert_false(is_granted(&f->d, B));
    end(pid);
    assert_true(is_granted(&f->d, B));
}

/* Others may open a store that it has set up. */
static void orphan_sets_up(void **state)
{
    struct driver d;
    struct hf_error error = {0};
    char folder[64];
    (void)state;
    folder_make(folder);
    pid_t pid = orphan_takes(folder);
    assert_int_equal(driver_open(&d, folder, "", &error), HF_OK);
    assert_false(is_granted(&d, B));
    end(pid);
    assert_true(is_granted(&d, B));
    driver_close(&d);
    folder_drop(folder);
}

/* A group leader with one member, whose pid comes through a pipe. */
static pid_t group(pid_t *member)
{
    int line[2];
    assert_int_equal(pipe(line), 0);
    pid_t leader = fork();
    if (leader == 0) {
        setpgid(0, 0);
        pid_t child = sleeper();
        ssize_t wrote = write(line[1], &child, sizeof(child));
        _exit(wrote == sizeof(child) && pause() == -1 ? 0 : 1);
    }
    close(line[1]);
    assert_int_equal(read(line[0], member, sizeof(*member)), sizeof(*member));
    close(line[0]);
    return leader;
}

static void group_outlives_its_leader(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t member = 0;
    pid_t leader = group(&member);
    held_for(d, -leader);
    assert_false(is_granted(d, B));
    kill(leader, SIGKILL);
    wait_for_zombie(leader);
    assert_false(is_granted(d, B)); /* the leader is a zombie */
    end(leader);
    assert_false(is_granted(d, B)); /* the leader was reaped */
    kill(member, SIGKILL);
    wait_for_zombie(member); /* our child since its parent ended */
    assert_true(is_granted(d, B));
    end(member);
}

static void group_that_is_gone(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t member = 0;
    pid_t leader = group(&member);
    held_for(d, -leader);
    end(leader);
    end(member);
    assert_true(is_granted(d, B));
}

/* The processes of `holdfast run`: the wrapper, the keeper, the command's
 * group. */
static void all_must_be_gone(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t member = 0;
    pid_t leader = group(&member);
    pid_t wrapper = sleeper();
    pid_t keeper = sleeper();
    struct hf_life_set life = {3, {wrapper, keeper, -leader}};
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = "job",
                         .name_len = 3,
                         .owner = A,
                         .owner_len = sizeof(A) - 1,
                         .ttl_ms = TTL_MS,
                         .life = &life};
    assert_int_equal(driver_ask(d, &ask)->verdict, HF_VERDICT_OK);
    end(wrapper);
    assert_false(is_granted(d, B));
    end(leader);
    assert_false(is_granted(d, B));
    end(keeper);
    assert_false(is_granted(d, B)); /* the command still runs */
    end(member);
    assert_true(is_granted(d, B));
}

static void a_confirmation_changes_the_set(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t first = sleeper();
    pid_t second = sleeper();
    held_for(d, first);
    uint64_t c = d->answer.counter;
    struct hf_life_set life = {1, {second}};
    struct hf_ask ask = {.verb = HF_VERB_CONFIRM,
                         .name = "job",
                         .name_len = 3,
                         .owner = A,
                         .owner_len = sizeof(A) - 1,
                         .ttl_ms = TTL_MS,
                         .counter = c,
                         .reacquires = true,
                         .life = &life};
    assert_int_equal(driver_ask(d, &ask)->verdict, HF_VERDICT_OK);
    end(first);
    assert_false(is_granted(d, B));
    ask.life = NULL; /* NULL: the set stays as it is */
    assert_int_equal(driver_ask(d, &ask)->verdict, HF_VERDICT_OK);
    life.count = 0;
    ask.life = &life; /* detached: only the lease ends it */
    assert_int_equal(driver_ask(d, &ask)->verdict, HF_VERDICT_OK);
    end(second);
    assert_false(is_granted(d, B));
}

static void kept_after_death(void **state)
{
    struct driver *d = &((struct fixture *)*state)->d;
    pid_t pid = sleeper();
    held_for(d, pid);
    release(d, "job", A, d->answer.counter, TTL_MS);
    assert_int_equal(d->answer.verdict, HF_VERDICT_OK);
    end(pid);
    assert_false(is_granted(d, B));
}

/* A pid that another process has by now, or a record of another pid
 * namespace. */
static void numbers_used_again(void **state)
{
    (void)state;
    struct hf_proc_view view = {.is_ready = false};
    struct hf_life_set set = {1, {getpid()}};
    struct hf_processes life;
    hf_processes_note(&view, &set, &life);
    assert_int_equal(life.count, 1);
    assert_false(hf_processes_are_over(&view, &life));
    life.of[0].start_ticks++;
    assert_true(hf_processes_are_over(&view, &life));
    life.pid_space++;
    assert_false(hf_processes_are_over(&view, &life));
    life.pid_space--;
    life.of[0].start_ticks = 0; /* the start time was unknown when the record
                             was written */
    assert_false(hf_processes_are_over(&view, &life));
    life.of[0].pid = -getpgrp();
    assert_false(hf_processes_are_over(&view, &life));
    life.count = 0;
    assert_false(hf_processes_are_over(&view, &life));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(dead_and_reaped),
        IN_FOLDER(dead_and_not_reaped),
        IN_FOLDER(stopped_is_alive),
        IN_FOLDER(lease_alone),
        IN_FOLDER(zombie_leader),
        IN_FOLDER(orphan_joins),
        cmocka_unit_test(orphan_sets_up),
        IN_FOLDER(group_outlives_its_leader),
        IN_FOLDER(group_that_is_gone),
        IN_FOLDER(all_must_be_gone),
        IN_FOLDER(a_confirmation_changes_the_set),
        IN_FOLDER(kept_after_death),
        cmocka_unit_test(numbers_used_again),
    };
    return cmocka_run_group_tests_name("local_life", tests, NULL, NULL);
}
