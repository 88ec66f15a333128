/* SPDX-License-Identifier: Apache-2.0 */
/* Waiters in other processes: granted by a datagram, killed, stopped, or not
 * reachable.
 *
 * timeout: 120 */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_driver.h"

#include "store/local/wake.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define TTL_MS 20000  /* longer than a test: no lease ends by itself */
#define QUEUE_MS 6000 /* of a place: the two are told apart */

struct fixture {
    char folder[64];
    struct driver d;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(f->folder);
    driver_start(&f->d, f->folder);
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

static uint64_t granted(const struct hf_answer *answer)
{
    assert_int_equal(answer->verdict, HF_VERDICT_OK);
    return answer->counter;
}

static void queued(const struct hf_answer *answer)
{
    assert_int_equal(answer->verdict, HF_VERDICT_QUEUED);
}

static void told(struct driver *d, const char *owner)
{
    assert_true(driver_hear(d, 1));
    driver_turn(d);
    assert_int_equal(d->n_pushes, 1);
    assert_int_equal(d->pushes[0].cookie >> 32, owner[0]);
    driver_forget(d);
}

/* ---- Other processes --------------------------------------------------- */

/* Run @p body in a child, and return when it is ready: the child then writes a
 * byte to `line`. The child does not outlive the test. */
typedef void child_fn(struct driver *d, int line);

static pid_t start(const struct fixture *f, child_fn *body, int *line)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct driver d;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* must not outlive the test */
        close(ends[0]);
        driver_start(&d, f->folder);
        body(&d, ends[1]);
        driver_close(&d);
        _exit(0);
    }
    assert_true(pid > 0);
    close(ends[1]);
    *line = ends[0];
    return pid;
}

static void say(int line)
{
    if (write(line, "x", 1) != 1) {
        _exit(9);
    }
}

static void hear(int line)
{
    char byte;
    assert_int_equal(read(line, &byte, 1), 1);
}

static void ends_well(pid_t pid, int line)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(line);
}

static void kill_now(pid_t pid, int line)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(line);
}

static void need(bool is_so, int code)
{
    if (!is_so) {
        _exit(code);
    }
}

/* Waits as B, confirms the pushed grant, and releases. */
static void wait_and_release(struct driver *d, int line)
{
    need(queue(d, "job", B, QUEUE_MS)->verdict == HF_VERDICT_QUEUED, 1);
    say(line);
    need(driver_hear(d, 1), 2);
    need(d->n_pushes == 1 && d->pushes[0].cookie >> 32 == 'b', 3);
    uint64_t c = d->pushes[0].counter;
    need(confirm(d, "job", B, c, TTL_MS, false)->verdict == HF_VERDICT_OK, 4);
    need(d->answer.counter == c, 5);
    need(release(d, "job", B, c, 0)->verdict == HF_VERDICT_OK, 6);
}

static void wait_for_ever(struct driver *d, int line)
{
    queue(d, "job", B, 60000);
    say(line);
    for (;;) {
        pause();
    }
}

static void there_and_back(void **state)
{
    struct fixture *f = *state;
    int line;
    uint64_t a = granted(acquire(&f->d, "job", A, TTL_MS, 0));
    pid_t pid = start(f, wait_and_release, &line);
    hear(line);
    queued(queue(&f->d, "job", C, QUEUE_MS));
    granted(release(&f->d, "job", A, a, 0));
    told(&f->d, C);
    ends_well(pid, line);
}

static void killed_at_the_head(void **state)
{
    struct fixture *f = *state;
    int lines[3];
    pid_t pids[3];
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    pids[0] = start(f, wait_for_ever, &lines[0]);
    hear(lines[0]);
    queued(queue(&f->d, "job", C, QUEUE_MS));
    assert_int_equal(f->d.answer.ahead, 1);
    kill_now(pids[0], lines[0]);
    granted(release(&f->d, "job", A, 0, 0));
    told(&f->d, C); /* at once, and no record of the other is left */
    assert_int_equal(inspect(&f->d, "job")->waiting, 0);
    assert_string_equal(f->d.owner, C);
}

/* Hundreds of waiters in one killed process: each is tried, without a wait. */
static void wait_as_many(struct driver *d, int line)
{
    for (unsigned i = 0; i < 300; i++) {
        char owner[64];
        snprintf(owner, sizeof(owner), "k%031u:host:1:1", i);
        need(queue(d, "job", owner, 60000)->verdict == HF_VERDICT_QUEUED, 1);
    }
    say(line);
    for (;;) {
        pause();
    }
}

static void hundreds_killed(void **state)
{
    struct fixture *f = *state;
    int line;
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    pid_t pid = start(f, wait_as_many, &line);
    hear(line);
    queued(queue(&f->d, "job", C, QUEUE_MS));
    kill_now(pid, line);
    granted(release(&f->d, "job", A, 0, 0));
    told(&f->d, C);
    assert_int_equal(inspect(&f->d, "job")->waiting, 0);
}

/* A stopped waiter keeps its claim until that expires. */
static void wait_shortly(struct driver *d, int line)
{
    need(queue(d, "job", B, 2000)->verdict == HF_VERDICT_QUEUED, 1);
    say(line);
    raise(SIGSTOP);
    need(driver_hear(d, 1), 2); /* messages that arrived meanwhile */
    uint64_t c = d->pushes[0].counter;
    need(confirm(d, "job", B, c, TTL_MS, false)->verdict == HF_VERDICT_REFUSED,
         3);
    need(queue(d, "job", B, QUEUE_MS)->verdict == HF_VERDICT_QUEUED, 4);
    say(line);
    driver_forget(d);
    need(driver_hear(d, 1), 5);
    need(d->pushes[0].counter > c, 6);
}

static void stopped_at_the_head(void **state)
{
    struct fixture *f = *state;
    int line, status = 0;
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    pid_t pid = start(f, wait_shortly, &line);
    hear(line);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    queued(queue(&f->d, "job", C, QUEUE_MS));
    granted(release(&f->d, "job", A, 0, 0));
    queued(queue(&f->d, "job", C, QUEUE_MS));
    assert_string_equal(f->d.owner, B);
    assert_in_range(f->d.answer.left_ms, 1, 2000);
    jump_ms(f->d.answer.left_ms + 1);
    granted(queue(&f->d, "job", C, QUEUE_MS));
    kill(pid, SIGCONT);
    hear(line);
    granted(release(&f->d, "job", C, 0, 0));
    ends_well(pid, line);
}

/* More grants than the kernel keeps for a process that does not read: the other
 * claims are found by heartbeats. */
#define FULL 700
static void wait_for_names(struct driver *d, int line)
{
    char name[20];
    for (unsigned i = 0; i < FULL; i++) {
        snprintf(name, sizeof(name), "job-%u", i);
        need(queue(d, name, B, 60000)->verdict == HF_VERDICT_QUEUED, 1);
    }
    say(line);
    raise(SIGSTOP);
    for (unsigned i = 0; i < FULL; i++) {
        snprintf(name, sizeof(name), "job-%u", i);
        need(queue(d, name, B, 60000)->verdict == HF_VERDICT_OK, 2);
    }
    driver_turn(d);
    need(d->n_pushes > 0 && d->n_pushes < FULL, 3);
}

static void deaf(void **state)
{
    struct fixture *f = *state;
    int line, status = 0;
    char name[20];
    for (unsigned i = 0; i < FULL; i++) {
        snprintf(name, sizeof(name), "job-%u", i);
        granted(acquire(&f->d, name, A, TTL_MS, 0));
    }
    pid_t pid = start(f, wait_for_names, &line);
    hear(line);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    for (unsigned i = 0; i < FULL; i++) {
        snprintf(name, sizeof(name), "job-%u", i);
        granted(release(&f->d, name, A, 0, 0));
        assert_int_equal(inspect(&f->d, name)->holder_kind, HF_HOLDER_FOREIGN);
    }
    kill(pid, SIGCONT);
    ends_well(pid, line);
}

/* The first waiter notices the holder's death before the lease ends. */
static void hold_for_ever(struct driver *d, int line)
{
    need(acquire(d, "job", B, TTL_MS, getpid())->verdict == HF_VERDICT_OK, 1);
    say(line);
    for (;;) {
        pause();
    }
}

static void the_holder_killed(void **state)
{
    struct fixture *f = *state;
    int line;
    pid_t pid = start(f, hold_for_ever, &line);
    hear(line);
    queued(queue(&f->d, "job", A, QUEUE_MS));
    queued(queue(&f->d, "job", C, QUEUE_MS));
    kill_now(pid, line);
    queued(queue(&f->d, "job", C, QUEUE_MS)); /* polls for A, too */
    assert_string_equal(f->d.owner, A);
    told(&f->d, A);
    granted(queue(&f->d, "job", A, QUEUE_MS));
}

/* Closed without a RELEASE: the closed socket shows it. */
static void wait_and_close(struct driver *d, int line)
{
    need(queue(d, "job", B, 60000)->verdict == HF_VERDICT_QUEUED, 1);
    say(line);
}

static void the_waiter_closed(void **state)
{
    struct fixture *f = *state;
    int line;
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    pid_t pid = start(f, wait_and_close, &line);
    hear(line);
    ends_well(pid, line);
    assert_int_equal(inspect(&f->d, "job")->waiting, 1);
    granted(release(&f->d, "job", A, 0, 0));
    assert_int_equal(inspect(&f->d, "job")->holder_kind, HF_HOLDER_NONE);
    assert_int_equal(f->d.answer.waiting, 0);
}

static void a_child_closes_its_copy(void **state)
{
    struct fixture *f = *state;
    granted(acquire(&f->d, "job", A, TTL_MS, 0));
    queued(queue(&f->d, "job", B, QUEUE_MS));
    pid_t pid = fork();
    if (pid == 0) {
        f->d.store->ops->close(f->d.store, true);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    granted(release(&f->d, "job", A, 0, 0));
    told(&f->d, B);
}

/* ---- The wire ---------------------------------------------------------- */

static void heard_nothing(struct hf_watch *watch, uint32_t events,
                          struct hf_instant now)
{
    (void)watch;
    (void)events;
    (void)now;
}

static int stranger(uint64_t id, const void *data, size_t len)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int used = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                        "holdfast-%016llx", (unsigned long long)id);
    ssize_t sent = sendto(
        fd, data, len, 0, (const struct sockaddr *)&name,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used));
    close(fd);
    return sent < 0 ? -1 : 0;
}

static void strangers_are_not_heard(void **state)
{
    struct hf_wake wake, other;
    struct hf_loop *loop = hf_loop_new();
    struct hf_wake_note notes[HF_WAKE_NOTES_MAX] = {{5, 6}, {7, 8}};
    uint64_t guess[5] = {0};
    (void)state;
    hf_wake_init(&wake, heard_nothing);
    hf_wake_init(&other, heard_nothing);
    assert_true(hf_wake_listen(&wake, loop));
    struct hf_wake_address address = wake.address;
    for (unsigned i = 0; i < 2000; i++) { /* the queue holds 10, or 512 */
        guess[0] = address.secret ^ (UINT64_C(1) << i % 64);
        assert_int_equal(stranger(address.id, guess, i % 41), 0);
    }
    assert_int_equal(hf_wake_read(&wake, notes), -1);
    assert_int_equal(hf_wake_send(&other, &address, notes, 2), HF_WAKE_SENT);
    memset(notes, 0, sizeof(notes));
    assert_int_equal(hf_wake_read(&wake, notes), 2);
    assert_int_equal(notes[1].cookie, 7);
    assert_int_equal(notes[1].counter, 8);
    guess[0] = address.secret; /* the right secret, but a damaged message */
    assert_int_equal(stranger(address.id, guess, 20), 0);
    assert_int_equal(hf_wake_read(&wake, notes), 0);
    assert_int_equal(hf_wake_read(&wake, notes), -1);
    address.space++; /* another network namespace: not reachable */
    assert_int_equal(hf_wake_send(&other, &address, notes, 1), HF_WAKE_UNSURE);
    address.space--;
    hf_wake_close(&wake, loop);
    assert_int_equal(hf_wake_send(&other, &address, notes, 1), HF_WAKE_NOBODY);
    hf_wake_close(&other, loop);
    hf_loop_free(loop);
}

/* ---- All at once ------------------------------------------------------- */

#define N_WORKERS 5 /* that wait for one name: a queue of four */
#define N_KILLS 150 /* one after each pause of up to 3 ms, and a grant */

struct world {
    atomic_int holder; /* pid of the holder; 0: none */
    atomic_int sharers;
    atomic_uint_fast64_t fence;
    atomic_uint_fast64_t grants, pushes;
    atomic_int overlaps, backwards, faults;
    atomic_int is_over;
};

static void be_inside(struct world *world, uint64_t fence)
{
    int before = atomic_exchange(&world->holder, (int)getpid());
    int own = (int)getpid();
    if (before != 0 && before != own && process_is_alive(before)) {
        atomic_fetch_add(&world->overlaps, 1);
    }
    if (atomic_exchange(&world->fence, fence) >= fence) {
        atomic_fetch_add(&world->backwards, 1);
    }
    atomic_fetch_add(&world->grants, 1);
    atomic_compare_exchange_strong(&world->holder, &own, 0);
}

/* Like core: wait for the push, send heartbeats. @return 0: the test ends. */
static uint64_t wait_for_it(struct driver *d, struct world *world,
                            const struct hf_ask *ask)
{
    struct hf_ask mine = *ask;
    while (atomic_load(&world->is_over) == 0) {
        driver_forget(d);
        uint64_t c = driver_ask(d, &mine)->counter;
        if (d->answer.verdict == HF_VERDICT_OK) {
            return c;
        }
        if (d->answer.verdict != HF_VERDICT_QUEUED) {
            fprintf(stderr, "# %s\n", d->reason);
            atomic_fetch_add(&world->faults, 1);
        }
        mine.ticket = d->answer.ticket;
        struct hf_instant end = hf_instant_add(hf_clock_now(), hf_span_ms(100));
        while (d->n_pushes == 0 && hf_instant_before(hf_clock_now(), end)) {
            hf_loop_wait(d->loop,
                         hf_instant_min(end, hf_loop_next_timer(d->loop)));
            hf_loop_dispatch(d->loop, hf_clock_now());
        }
        for (unsigned i = 0; i < d->n_pushes; i++) {
            if (d->pushes[i].cookie == mine.cookie) {
                atomic_fetch_add(&world->pushes, 1);
            }
        }
    }
    return 0;
}

static void work(const char *folder, struct world *world, unsigned seed)
{
    struct driver d;
    char owner[80];
    struct hf_life_set life = {1, {getpid()}};
    driver_start(&d, folder);
    for (uint64_t i = 1; atomic_load(&world->is_over) == 0; i++) {
        snprintf(owner, sizeof(owner), "%032llu:host:%d:%u",
                 (unsigned long long)i << 24 | (unsigned long long)getpid(),
                 (int)getpid(), seed);
        struct hf_ask ask = queue_ask("job", owner, 300);
        ask.cookie = i;
        ask.life = &life;
        uint64_t c = wait_for_it(&d, world, &ask);
        if (c != 0) {
            be_inside(world, c);
        }
        if (c == 0 || rand_r(&seed) % 8 > 0) {
            release(&d, "job", owner, c, 0);
        } else {
            ask.verb = HF_VERB_YIELD; /* with its processes, as core does */
            ask.counter = c;
            driver_ask(&d, &ask);
            release(&d, "job", owner, 0, 0);
        }
    }
    driver_close(&d);
    _exit(0);
}

static pid_t start_work(const struct fixture *f, struct world *world,
                        unsigned seed)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(f->folder, world, seed);
    }
    assert_true(pid > 0);
    return pid;
}

/* Waiters and holders are killed at any instruction: no two holders, no fence
 * that decreases, no endless wait, and no record left in the end. */
static void killed_at_any_instruction(void **state)
{
    struct fixture *f = *state;
    struct world *world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[N_WORKERS];
    unsigned seed = (unsigned)hf_clock_now().ns;
    printf("# seed %u\n", seed);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        pids[i] = start_work(f, world, seed + i);
    }
    for (unsigned kills = 0; kills < N_KILLS; kills++) {
        unsigned victim = (unsigned)rand_r(&seed) % N_WORKERS;
        uint64_t before = atomic_load(&world->grants);
        int64_t began = hf_clock_now().ns;
        /* sleeps: the moment of the kill is drawn */
        usleep((useconds_t)rand_r(&seed) % 3000);
        kill(pids[victim], SIGKILL);
        assert_int_equal(waitpid(pids[victim], NULL, 0), pids[victim]);
        pids[victim] = start_work(f, world, seed + kills);
        while (atomic_load(&world->grants) == before) {
            assert_true(hf_clock_now().ns - began < INT64_C(20000000000));
            usleep(1000);
        }
    }
    atomic_store(&world->is_over, 1);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    printf("# %llu grants, %llu of them pushed\n",
           (unsigned long long)atomic_load(&world->grants),
           (unsigned long long)atomic_load(&world->pushes));
    assert_int_equal(atomic_load(&world->overlaps), 0);
    assert_int_equal(atomic_load(&world->backwards), 0);
    assert_int_equal(atomic_load(&world->faults), 0);
    assert_true(atomic_load(&world->grants) > N_KILLS);
    assert_true(atomic_load(&world->pushes) > N_KILLS / 2);
    jump_ms(301); /* records of the last killed processes */
    granted(queue(&f->d, "job", A, QUEUE_MS));
    granted(release(&f->d, "job", A, 0, 0));
    assert_int_equal(queue_entries(&f->d, "job")->n_seats, 0);
    assert_int_equal(inspect(&f->d, "job")->waiting, 0);
    munmap(world, sizeof(*world));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(there_and_back),
        IN_FOLDER(killed_at_the_head),
        IN_FOLDER(hundreds_killed),
        IN_FOLDER(stopped_at_the_head),
        IN_FOLDER(deaf),
        IN_FOLDER(the_holder_killed),
        IN_FOLDER(the_waiter_closed),
        IN_FOLDER(a_child_closes_its_copy),
        cmocka_unit_test(strangers_are_not_heard),
        IN_FOLDER(killed_at_any_instruction),
    };
    return cmocka_run_group_tests_name("local_wake", tests, NULL, NULL);
}
