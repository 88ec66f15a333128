/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store's files: another boot, damage, growth, forks. Each fault
 * gives one clear line, and none leads to two stores at one path. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_driver.h"

#include "store/local/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define TTL_MS 60000 /* longer than a test: no lease ends by itself */

struct fixture {
    char folder[64];
    char gate[100];
    char data[100];
    struct driver d;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(f->folder);
    snprintf(f->gate, sizeof(f->gate), "%s/locks.gate", f->folder);
    snprintf(f->data, sizeof(f->data), "%s/locks.mdb", f->folder);
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

static enum hf_verdict ask(struct fixture *f, const char *name, const char *by)
{
    return acquire(&f->d, name, by, TTL_MS, 0)->verdict;
}

/* Leave a store in which A holds "job". @return its fence. */
static uint64_t hold(struct fixture *f)
{
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "job", A), HF_VERDICT_OK);
    uint64_t c = f->d.answer.counter;
    driver_close(&f->d);
    return c;
}

static void overwrite(const char *path, off_t at, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    close(fd);
}

/* Opening fails with @p status and with @p said in its one line. */
static void cannot_open(struct fixture *f, enum hf_status status,
                        const char *said)
{
    struct hf_error error = {HF_OK, 0, ""};
    enum hf_status got = driver_open(&f->d, f->folder, "", &error);
    if (got != status || strstr(error.text, said) == NULL ||
        strchr(error.text, '\n') != NULL) {
        fail_msg("status %d: %s", (int)got, error.text);
    }
}

/* With leases that are over: test_local_boot.c has others. */
static void other_boot(const struct fixture *f)
{
    const struct hf_instant begin = {0};
    overwrite(f->gate, offsetof(struct hf_gate_page, boot), "00000000-1111",
              13);
    overwrite(f->gate, offsetof(struct hf_gate_page, leases_until), &begin,
              sizeof(begin));
}

static void another_boot_while_in_use(void **state)
{
    struct fixture *f = *state;
    struct driver user;
    hold(f);
    driver_start(&user, f->folder);
    other_boot(f);
    cannot_open(f, HF_CONFIG, "another boot id");
    driver_close(&user);
    driver_start(&f->d, f->folder);
}

static void half_set_up(void **state)
{
    struct fixture *f = *state;
    hold(f);
    uint32_t no = 0; /* as if the set-up had been killed */
    overwrite(f->gate, offsetof(struct hf_gate_page, is_ready), &no,
              sizeof(no));
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "job", B), HF_VERDICT_OK);
}

static void foreign_gate(void **state)
{
    struct fixture *f = *state;
    char page[4096];
    memset(page, 'x', sizeof(page));
    overwrite(f->gate, 0, "not ours", 8);
    cannot_open(f, HF_CONFIG, "locks.gate is not a file of Holdfast's");
    overwrite(f->gate, 0, page, sizeof(page));
    cannot_open(f, HF_CONFIG, "locks.gate is not a file of Holdfast's");
}

static void foreign_data(void **state)
{
    struct fixture *f = *state;
    overwrite(f->data, 0, "a foreign file.", 15);
    cannot_open(f, HF_CONFIG, "there without its locks.gate");
}

static void damaged_data(void **state)
{
    struct fixture *f = *state;
    char zeros[8192];
    memset(zeros, 0, sizeof(zeros));
    hold(f);
    overwrite(f->data, 0, zeros, sizeof(zeros));
    cannot_open(f, HF_CONFIG, "damaged (LMDB:");
}

static void cut_data(void **state)
{
    struct fixture *f = *state;
    hold(f);
    assert_int_equal(truncate(f->data, 8192), 0);
    cannot_open(f, HF_CONFIG, "it has 8192 bytes of 1048576");
}

static void missing_data(void **state)
{
    struct fixture *f = *state;
    hold(f);
    unlink(f->data);
    cannot_open(f, HF_CONFIG, "has been removed while it was in use");
}

static void missing_gate(void **state)
{
    struct fixture *f = *state;
    hold(f);
    unlink(f->gate);
    cannot_open(f, HF_CONFIG, "there without its locks.gate");
}

/* No request is granted any more. */
static void is_cut_off(struct fixture *f)
{
    assert_int_equal(ask(f, "b", A), HF_VERDICT_ERROR);
    assert_int_equal(f->d.answer.fault, HF_CONFIG);
    assert_non_null(strstr(f->d.reason, "removed, replaced or cut"));
}

static void removed_while_open(void **state)
{
    struct fixture *f = *state;
    hold(f);
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "a", A), HF_VERDICT_OK);
    unlink(f->gate);
    unlink(f->data);
    is_cut_off(f);
}

/* The folder was replaced, and the old one was renamed. */
static void replaced_while_open(void **state)
{
    struct fixture *f = *state;
    struct driver other;
    char aside[120];
    hold(f);
    driver_start(&f->d, f->folder);
    snprintf(aside, sizeof(aside), "%s.aside", f->folder);
    assert_int_equal(rename(f->folder, aside), 0);
    assert_int_equal(mkdir(f->folder, 0755), 0);
    driver_start(&other, f->folder);
    is_cut_off(f);
    driver_close(&other);
    folder_drop(aside);
}

/* Without a check of the length, an access would raise SIGBUS. */
static void cut_while_open(void **state)
{
    struct fixture *f = *state;
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "a", A), HF_VERDICT_OK);
    assert_int_equal(truncate(f->data, 0), 0);
    is_cut_off(f);
}

static void cut_gate_while_open(void **state)
{
    struct fixture *f = *state;
    driver_start(&f->d, f->folder);
    assert_int_equal(truncate(f->gate, 0), 0);
    jump_ms(11); /* the interval at which the gate's path is checked */
    is_cut_off(f);
}

#define DATA_BYTES 1048576 /* of a fresh locks.mdb */

/* Change one byte in each copy of A's record that the file has. */
static void damage(int fd, const char *bytes, size_t at)
{
    const size_t head = 32; /* struct record_head: no processes, no queue */
    const char *owner = memmem(bytes, DATA_BYTES, A, strlen(A));
    while (owner != NULL) {
        const char *target = owner - head + at;
        char changed = (char)(*target ^ 0x10);
        assert_int_equal(pwrite(fd, &changed, 1, target - bytes), 1);
        owner = memmem(owner + 1, (size_t)(DATA_BYTES - (owner + 1 - bytes)), A,
                       strlen(A));
    }
}

/* With any byte of a record changed its name is granted to none. */
static void damaged_records(void **state)
{
    struct fixture *f = *state;
    static char bytes[DATA_BYTES];
    hold(f);
    int fd = open(f->data, O_RDWR);
    assert_int_equal(pread(fd, bytes, DATA_BYTES, 0), DATA_BYTES);
    for (size_t at = 0; at < 32 + strlen(A); at++) {
        damage(fd, bytes, at);
        driver_start(&f->d, f->folder);
        assert_int_equal(ask(f, "job", B), HF_VERDICT_ERROR);
        assert_int_equal(f->d.answer.fault, HF_CONFIG);
        assert_non_null(strstr(f->d.reason, "damaged"));
        assert_int_equal(ask(f, "other", B), HF_VERDICT_OK);
        driver_close(&f->d);
        assert_int_equal(pwrite(fd, bytes, DATA_BYTES, 0), DATA_BYTES);
        overwrite(f->gate, offsetof(struct hf_gate_page, table_txn),
                  &(uint64_t){0}, 8); /* else it would be an older copy */
    }
    close(fd);
}

/* The length in the gate's page counts only if the file is that long. */
static void damaged_length(void **state)
{
    struct fixture *f = *state;
    const uint64_t lengths[] = {0, 4097, 2 * DATA_BYTES, UINT64_C(1) << 60};
    uint64_t right = DATA_BYTES;
    driver_start(&f->d, f->folder);
    for (unsigned i = 0; i < 4; i++) {
        overwrite(f->gate, offsetof(struct hf_gate_page, map_bytes),
                  &lengths[i], sizeof(lengths[i]));
        assert_int_equal(ask(f, "a", A), HF_VERDICT_ERROR);
        assert_int_equal(f->d.answer.fault, HF_CONFIG);
    }
    overwrite(f->gate, offsetof(struct hf_gate_page, map_bytes), &right,
              sizeof(right));
    assert_int_equal(ask(f, "a", A), HF_VERDICT_OK);
}

static void other_version(void **state)
{
    struct fixture *f = *state;
    hold(f);
    uint32_t version = 99;
    overwrite(f->gate, offsetof(struct hf_gate_page, version), &version,
              sizeof(version));
    cannot_open(f, HF_CONFIG, "another version of Holdfast");
}

/* The version before had no queues. In the same boot its file is refused; after
 * a boot its fences continue. */
static void version_before(void **state)
{
    struct fixture *f = *state;
    hold(f);
    uint32_t version = 1;
    uint64_t greatest = (uint64_t)hf_clock_wall_s() * 2000000;
    overwrite(f->gate, offsetof(struct hf_gate_page, version), &version,
              sizeof(version));
    overwrite(f->gate, offsetof(struct hf_gate_page, granted_max), &greatest,
              sizeof(greatest));
    cannot_open(f, HF_CONFIG, "another version of Holdfast");
    other_boot(f);
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "job", B), HF_VERDICT_OK);
    assert_true(f->d.answer.counter > greatest);
}

static void other_time_namespace(void **state)
{
    struct fixture *f = *state;
    hold(f);
    struct hf_span offset = {1};
    overwrite(f->gate, offsetof(struct hf_gate_page, clock_offset), &offset,
              sizeof(offset));
    cannot_open(f, HF_CONFIG, "another time namespace");
}

static void folders_that_cannot_be(void **state)
{
    struct fixture *f = *state;
    struct hf_error error;
    struct driver d;
    char path[200];
    overwrite(f->data, 0, "x", 1);
    assert_int_equal(driver_open(&d, f->data, "", &error), HF_CONFIG);
    assert_non_null(strstr(error.text, "is a file, not a folder"));
    snprintf(path, sizeof(path), "%s/below", f->data);
    assert_int_equal(driver_open(&d, path, "", &error), HF_CONFIG);
    assert_non_null(strstr(error.text, "a part of the path is a file"));
    snprintf(path, sizeof(path), "%s/a/b", f->folder);
    assert_int_equal(driver_open(&d, path, "", &error), HF_CONFIG);
    assert_non_null(strstr(error.text, "folder above it does not exist"));
    assert_int_equal(driver_open(&d, "/proc/self", "", &error), HF_CONFIG);
}

static void makes_its_folder(void **state)
{
    struct fixture *f = *state;
    char path[200];
    snprintf(path, sizeof(path), "%s/new", f->folder);
    driver_start(&f->d, path);
    driver_close(&f->d);
    folder_drop(path);
}

/* Two processes, 50,000 names each: the file grows under both. */
static void a_hundred_thousand_names(void **state)
{
    struct fixture *f = *state;
    pid_t pids[2];
    driver_start(&f->d, f->folder);
    for (int p = 0; p < 2; p++) {
        pids[p] = fork();
        if (pids[p] != 0) {
            continue;
        }
        struct driver d;
        char name[40];
        driver_start(&d, f->folder);
        for (int i = 0; i < 50000; i++) {
            snprintf(name, sizeof(name), "name-%d-%d", p, i);
            if (acquire(&d, name, A, TTL_MS, 0)->verdict != HF_VERDICT_OK) {
                fprintf(stderr, "# %d: %s\n", i, d.reason);
                _exit(1);
            }
        }
        driver_close(&d);
        _exit(0);
    }
    for (int p = 0, status = -1; p < 2; p++) {
        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
    struct stat about;
    assert_int_equal(stat(f->data, &about), 0);
    assert_true(about.st_size > 16 << 20);
    assert_true((uint64_t)about.st_blocks * 512 >= (uint64_t)about.st_size);
    /* This process saw none of the growth, and maps the new pages. */
    assert_int_equal(ask(f, "name-1-49999", B), HF_VERDICT_REFUSED);
    scan(&f->d, NULL);
    assert_int_equal(f->d.n_names, 100000);
    scan(&f->d, "name-1-4999?");
    assert_int_equal(f->d.n_names, 10);
}

/* Acquire and release one more name. @return its fence; 0: the disk is full. */
static uint64_t use_name(struct fixture *f, unsigned i)
{
    char name[1000];
    snprintf(name, sizeof(name), "%0900u-%u", 0U, i);
    if (ask(f, name, A) != HF_VERDICT_OK) {
        assert_int_equal(f->d.answer.fault, HF_UNAVAILABLE);
        assert_non_null(strstr(f->d.reason, "the disk is full"));
        return 0;
    }
    uint64_t fence = f->d.answer.counter;
    assert_int_equal(release(&f->d, name, A, fence, 0)->verdict, HF_VERDICT_OK);
    return fence;
}

/* The disk is full of counters that fence_keep keeps for an hour. Counters
 * below the floor make room, and no name gets a fence twice. */
static void a_full_disk_makes_room(void **state)
{
    struct fixture *f = *state;
    enum { NAMES_MAX = 20000 }; /* more than the disk has room for */
    static uint64_t fences[NAMES_MAX + 1];
    unsigned n = 0;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", f->folder, "tmpfs", 0, "size=1200k,mode=755") != 0) {
        skip();
    }
    driver_start(&f->d, f->folder);
    do {
        fences[n] = use_name(f, n);
    } while (fences[n] > 0 && ++n < NAMES_MAX);
    assert_in_range(n, 100, NAMES_MAX - 1);
    int64_t end = hf_clock_now().ns + INT64_C(20000000000);
    for (unsigned i = 0; i < 2 * n; i++) {
        uint64_t fence = use_name(f, i);
        while (fence == 0 && hf_clock_now().ns < end) {
            jump_ms(10); /* until the floor is above the others */
            fence = use_name(f, i);
        }
        assert_true(fence > (i < n ? fences[i] : 0));
    }
    driver_close(&f->d);
    assert_int_equal(umount2(f->folder, MNT_DETACH), 0);
}

static void a_child_closes_its_copy(void **state)
{
    struct fixture *f = *state;
    driver_start(&f->d, f->folder);
    assert_int_equal(ask(f, "job", A), HF_VERDICT_OK);
    uint64_t c = f->d.answer.counter;
    pid_t pid = fork();
    if (pid == 0) {
        f->d.store->ops->close(f->d.store, true);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(confirm(&f->d, "job", A, c, TTL_MS, true)->counter, c);
    assert_int_equal(release(&f->d, "job", A, c, 0)->verdict, HF_VERDICT_OK);
}

/* No descriptor stays open across exec. */
static void descriptors_are_our_own(void **state)
{
    struct fixture *f = *state;
    driver_start(&f->d, f->folder);
    for (int fd = 3; fd < 64; fd++) {
        char link[40], path[200];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, path, sizeof(path) - 1);
        if (len > 0) {
            path[len] = '\0';
        }
        if (len > 0 && strstr(path, f->folder) != NULL) {
            assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        }
    }
}

struct findings {
    unsigned count, bad;
    bool is_done;
};

static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    struct findings *found = user;
    found->count++;
    found->bad += severity == HF_FINDING_ERROR ? 1 : 0;
    assert_int_equal(node, 0);
    assert_true(strlen(text) > 10);
}

static void on_done(void *user, unsigned node, enum hf_status status,
                    const char *reason)
{
    struct findings *found = user;
    assert_int_equal(node, 0);
    assert_int_equal(status, HF_OK);
    assert_null(reason);
    found->is_done = true;
}

static void jobs(void **state)
{
    struct fixture *f = *state;
    struct findings found = {0, 0, false};
    struct hf_job_sink sink = {&found, on_finding, on_done};
    driver_start(&f->d, f->folder);
    f->d.store->ops->job(f->d.store, 0, HF_JOB_EXAMINE, &sink);
    assert_false(found.is_done);
    hf_loop_wait(f->d.loop, hf_loop_next_timer(f->d.loop));
    hf_loop_dispatch(f->d.loop, hf_clock_now());
    assert_true(found.is_done);
    assert_true(found.count >= 2);
    assert_int_equal(found.bad, 0);
    found.is_done = false;
    f->d.store->ops->job(f->d.store, 0, HF_JOB_EXAMINE, &sink);
    f->d.store->ops->job_cancel(f->d.store);
    hf_loop_dispatch(f->d.loop, hf_clock_now());
    assert_false(found.is_done);
}

/* A store that cannot be used, opened for set-up: it reports why, and grants
 * nothing. */
static void for_setup(void **state)
{
    struct fixture *f = *state;
    struct findings found = {0, 0, false};
    struct hf_job_sink sink = {&found, on_finding, on_done};
    struct hf_error error;
    hold(f);
    assert_int_equal(chmod(f->gate, 0666), 0);
    cannot_open(f, HF_CONFIG, "mode 0666");
    assert_int_equal(driver_open_for_setup(&f->d, f->folder, &error), HF_OK);
    assert_false(f->d.is_voting);
    assert_int_equal(ask(f, "a", A), HF_VERDICT_ERROR);
    assert_int_equal(f->d.answer.fault, HF_CONFIG);
    f->d.store->ops->job(f->d.store, 0, HF_JOB_EXAMINE, &sink);
    hf_loop_dispatch(f->d.loop, hf_clock_now());
    assert_true(found.is_done);
    assert_int_equal(found.bad, 1);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(another_boot_while_in_use),
        IN_FOLDER(half_set_up),
        IN_FOLDER(foreign_gate),
        IN_FOLDER(foreign_data),
        IN_FOLDER(damaged_data),
        IN_FOLDER(cut_data),
        IN_FOLDER(missing_data),
        IN_FOLDER(missing_gate),
        IN_FOLDER(removed_while_open),
        IN_FOLDER(replaced_while_open),
        IN_FOLDER(cut_while_open),
        IN_FOLDER(cut_gate_while_open),
        IN_FOLDER(damaged_records),
        IN_FOLDER(damaged_length),
        IN_FOLDER(other_version),
        IN_FOLDER(version_before),
        IN_FOLDER(other_time_namespace),
        IN_FOLDER(folders_that_cannot_be),
        IN_FOLDER(makes_its_folder),
        IN_FOLDER(a_hundred_thousand_names),
        IN_FOLDER(a_full_disk_makes_room),
        IN_FOLDER(a_child_closes_its_copy),
        IN_FOLDER(descriptors_are_our_own),
        IN_FOLDER(jobs),
        IN_FOLDER(for_setup),
    };
    return cmocka_run_group_tests_name("local_files", tests, NULL, NULL);
}
