/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 and SIGSTOP at any instruction: no two holders, no damage, no wait
 * longer than node_timeout. */
/* link: -Wl,--wrap=nanosleep */
#include "local_driver.h"

#include "io/clock.h"
#include "store/local/gate.h"
#include "store/local/table.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define TTL_MS 60000 /* longer than a test: only a death frees a lock */

#define N_WORKERS 4 /* more than names, so that they meet */
#define N_NAMES 3   /* more than one: holders work side by side */
#define N_KILLS 200 /* one after each pause of up to 15 ms: 1.5 s in all */

/* Shared by parent and workers. */
struct world {
    atomic_uint_fast64_t fences[N_NAMES]; /* greatest fence so far */
    atomic_int holders[N_NAMES];          /* pid of the holder; 0: none */
    atomic_uint_fast64_t grants;
    atomic_int overlaps;
    atomic_int backwards;
    atomic_int faults;
    atomic_int is_over;
};

struct fixture {
    char folder[64];
    struct driver d;
    struct world *world;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(f->folder);
    struct hf_error error;
    assert_int_equal(driver_open(&f->d, f->folder, "", &error), HF_OK);
    f->world = mmap(NULL, sizeof(*f->world), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    driver_close(&f->d);
    folder_drop(f->folder);
    munmap(f->world, sizeof(*f->world));
    free(f);
    return 0;
}

static void be_inside(struct world *world, int name, uint64_t fence)
{
    int before = atomic_exchange(&world->holders[name], (int)getpid());
    if (before != 0 && before != (int)getpid() && process_is_alive(before)) {
        atomic_fetch_add(&world->overlaps, 1);
    }
    if (atomic_exchange(&world->fences[name], fence) >= fence) {
        atomic_fetch_add(&world->backwards, 1);
    }
    atomic_fetch_add(&world->grants, 1);
    int own = (int)getpid();
    atomic_compare_exchange_strong(&world->holders[name], &own, 0);
}

static void work(const struct fixture *f, unsigned seed)
{
    struct driver d;
    char owner[80];
    struct world *world = f->world;
    driver_start(&d, f->folder);
    for (uint64_t i = 0; atomic_load(&world->is_over) == 0; i++) {
        int name = rand_r(&seed) % N_NAMES;
        char text[8] = {'n', (char)('0' + name), '\0'};
        snprintf(owner, sizeof(owner), "%032llu:host:%d:%u",
                 (unsigned long long)i, (int)getpid(), seed);
        const struct hf_answer *a = acquire(&d, text, owner, TTL_MS, getpid());
        if (a->verdict == HF_VERDICT_OK) {
            uint64_t fence = a->counter;
            be_inside(world, name, fence);
            if (i % 4 == 0) {
                confirm(&d, text, owner, fence, TTL_MS, true);
            }
            if (release(&d, text, owner, fence, 0)->verdict != HF_VERDICT_OK) {
                atomic_fetch_add(&world->faults, 1);
            }
        } else if (a->verdict != HF_VERDICT_REFUSED) {
            fprintf(stderr, "# %s\n", d.reason);
            atomic_fetch_add(&world->faults, 1);
        }
    }
    driver_close(&d);
    _exit(0);
}

static pid_t start(const struct fixture *f, unsigned seed)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child must not outlive the
                                             test */
        work(f, seed);
    }
    assert_true(pid > 0);
    return pid;
}

static void killed_at_any_instruction(void **state)
{
    struct fixture *f = *state;
    struct world *world = f->world;
    pid_t pids[N_WORKERS];
    unsigned seed = (unsigned)hf_clock_now().ns;
    printf("# seed %u\n", seed);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        pids[i] = start(f, seed + i);
    }
    for (unsigned kills = 0; kills < N_KILLS; kills++) {
        unsigned victim = (unsigned)rand_r(&seed) % N_WORKERS;
        /* sleeps: the moment of the kill is drawn */
        usleep((useconds_t)rand_r(&seed) % 15000);
        kill(pids[victim], SIGKILL);
        assert_int_equal(waitpid(pids[victim], NULL, 0), pids[victim]);
        pids[victim] = start(f, seed + kills);
    }
    atomic_store(&world->is_over, 1);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    printf("# %llu grants\n", (unsigned long long)atomic_load(&world->grants));
    assert_int_equal(atomic_load(&world->overlaps), 0);
    assert_int_equal(atomic_load(&world->backwards), 0);
    assert_int_equal(atomic_load(&world->faults), 0);
    assert_true(atomic_load(&world->grants) > 1000);
    for (int name = 0; name < N_NAMES; name++) {
        char text[8] = {'n', (char)('0' + name), '\0'};
        assert_int_equal(acquire(&f->d, text, A, TTL_MS, 0)->verdict,
                         HF_VERDICT_OK);
        assert_true(f->d.answer.counter > atomic_load(&world->fences[name]));
    }
}

/* The same where processes of several pid namespaces use the folder: a lock on
 * a file replaces the mutex. */
static void killed_in_a_mixed_folder(void **state)
{
    const struct fixture *f = *state;
    const uint32_t yes = 1;
    const off_t at = offsetof(struct hf_gate_page, locks_door.is_mixed);
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.gate", f->folder);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &yes, sizeof(yes), at), sizeof(yes));
    close(fd);
    killed_at_any_instruction(state);
}

/* A child that enters the gate, reports it, and stops. `far`: 1: its pid
 * namespace seems to be another. */
static pid_t occupy(const struct fixture *f, uint64_t far)
{
    int line[2];
    char byte = 0;
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        static struct hf_gate gate;
        static struct hf_folder folder;
        struct hf_proc_view view = {.is_ready = false};
        struct hf_error error;
        char text[600];
        gate.pid_space = hf_pid_space(&view) + far;
        if (hf_folder_open(f->folder, &folder, &error) != HF_OK ||
            hf_gate_open(&gate, &folder, hf_span_ms(1000), 0, hf_table_renew,
                         &error) != HF_OK) {
            _exit(1);
        }
        if (hf_gate_enter(&gate, text, sizeof(text)) != HF_OK ||
            write(line[1], &byte, 1) != 1) {
            _exit(1);
        }
        raise(SIGSTOP);
        hf_gate_leave(&gate);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(line[0], &byte, 1), 1);
    close(line[0]);
    close(line[1]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

/* Requests that find the gate taken may fail at once. */
static void acquire_in_time(struct fixture *f)
{
    int64_t most_ns = hf_clock_now().ns + INT64_C(20000000000);
    while (acquire(&f->d, "job", A, TTL_MS, 0)->verdict != HF_VERDICT_OK) {
        assert_true(hf_clock_now().ns < most_ns);
        sched_yield();
    }
}

static void stopped_inside(void **state)
{
    struct fixture *f = *state;
    char number[40];
    pid_t pid = occupy(f, 0);
    int64_t began = hf_clock_now().ns;
    assert_int_equal(acquire(&f->d, "job", A, TTL_MS, 0)->verdict,
                     HF_VERDICT_ERROR);
    int64_t took_ms = (hf_clock_now().ns - began) / 1000000;
    assert_in_range(took_ms, 49, 8000); /* node_timeout is 50 ms */
    assert_int_equal(f->d.answer.fault, HF_UNAVAILABLE);
    snprintf(number, sizeof(number), "held by process %d, which is stopped",
             (int)pid);
    assert_non_null(strstr(f->d.reason, number));
    struct driver late;
    struct hf_error error;
    assert_int_equal(driver_open(&late, f->folder, "", &error), HF_UNAVAILABLE);
    assert_non_null(strstr(error.text, number));
    kill(pid, SIGCONT);
    acquire_in_time(f);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A process of another pid namespace is not known to be stopped, so a request
 * waits ten times as long: but only the first one, however many locks a client
 * has to release. */
static void waits_once(void **state)
{
    struct fixture *f = *state;
    pid_t pid = occupy(f, 1);
    int64_t began = hf_clock_now().ns;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(acquire(&f->d, "job", A, TTL_MS, 0)->verdict,
                         HF_VERDICT_ERROR);
        assert_int_equal(f->d.answer.fault, HF_UNAVAILABLE);
        assert_non_null(strstr(f->d.reason, "does not get on"));
    }
    int64_t took_ms = (hf_clock_now().ns - began) / 1000000;
    assert_in_range(took_ms, 499, 20000); /* not 100 times 500 ms */
    kill(pid, SIGCONT);
    acquire_in_time(f);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void killed_inside(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(acquire(&f->d, "job", A, TTL_MS, 0)->verdict,
                     HF_VERDICT_OK);
    uint64_t c = f->d.answer.counter;
    for (int i = 0; i < 5; i++) {
        pid_t pid = occupy(f, 0);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(confirm(&f->d, "job", A, c, TTL_MS, true)->verdict,
                         HF_VERDICT_OK);
    }
}

/* While another process sets the files up, the store sleeps for 1 ms at a time.
 * These sleeps return at once, and the last of them kills that process. */
static unsigned naps_left;
static pid_t slow_pid;
int __real_nanosleep(const struct timespec *span, struct timespec *left);
int __wrap_nanosleep(const struct timespec *span, struct timespec *left);

int __wrap_nanosleep(const struct timespec *span, struct timespec *left)
{
    if (naps_left == 0) {
        return __real_nanosleep(span, left);
    }
    assert_int_equal(span->tv_nsec, 1000000);
    if (--naps_left == 0) {
        kill(slow_pid, SIGKILL);
        assert_int_equal(waitpid(slow_pid, NULL, 0), slow_pid);
    }
    return 0;
}

/* A busy disk: the first process takes 3 s, the others wait. */
static void slow_to_set_up(void **state)
{
    (void)state;
    struct driver late;
    struct hf_error error;
    char folder[64], path[100], byte = 'x';
    int line[2];
    folder_make(folder);
    snprintf(path, sizeof(path), "%s/locks.gate", folder);
    assert_int_equal(pipe(line), 0);
    slow_pid = fork();
    if (slow_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (flock(fd, LOCK_EX) == 0 && write(line[1], &byte, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(line[0], &byte, 1), 1);
    naps_left = 3000;
    enum hf_status status = driver_open(&late, folder, "", &error);
    if (status != HF_OK) {
        kill(slow_pid, SIGKILL);
        fail_msg("%s", error.text);
    }
    assert_int_equal(naps_left, 0);
    driver_close(&late);
    close(line[0]);
    close(line[1]);
    folder_drop(folder);
}

/* An older library has emptied the file after a boot, and did not know of the
 * last transaction's number, which is of the boot before. */
static void number_of_another_boot(void **state)
{
    struct fixture *f = *state;
    const uint64_t number = 1000000;
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.gate", f->folder);
    struct driver d;
    driver_start(&d, f->folder);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &number, sizeof(number),
                            offsetof(struct hf_gate_page, table_txn)),
                     sizeof(number));
    assert_int_equal(acquire(&d, "a", A, TTL_MS, 0)->verdict, HF_VERDICT_OK);
    assert_int_equal(pwrite(fd, &number, sizeof(number),
                            offsetof(struct hf_gate_page, table_txn)),
                     sizeof(number));
    assert_int_equal(acquire(&d, "b", A, TTL_MS, 0)->verdict, HF_VERDICT_ERROR);
    assert_int_equal(
        pwrite(fd, "-", 1, offsetof(struct hf_gate_page, table_boot)), 1);
    driver_close(&d);
    driver_start(&d, f->folder);
    assert_int_equal(acquire(&d, "b", A, TTL_MS, 0)->verdict, HF_VERDICT_OK);
    driver_close(&d);
    close(fd);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(killed_at_any_instruction),
        IN_FOLDER(killed_in_a_mixed_folder),
        IN_FOLDER(stopped_inside),
        IN_FOLDER(waits_once),
        IN_FOLDER(killed_inside),
        IN_FOLDER(number_of_another_boot),
        cmocka_unit_test(slow_to_set_up),
    };
    return cmocka_run_group_tests_name("local_kill", tests, NULL, NULL);
}
