/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the embedded store: kills, power cuts and failures of the disk at
 * each call that changes the file. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_clock.h"
#include "local_disk.h"
#include "local_fixture.h"

#include "core/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID_OLD "00000000000000000000000000000001"
#define ID_NEW "00000000000000000000000000000002"
#define ID_THIRD "00000000000000000000000000000003"
#define BIG HF_VALUE_MAX

/* ---- Requests ---------------------------------------------------------- */

static const struct hf_answer *put_as(struct driver *d, const char *name,
                                      const char *id, uint64_t if_version,
                                      char fill, size_t len)
{
    static char data[BIG];
    memset(data, fill, len);
    struct hf_ask ask = {
        .cookie = 7,
        .verb = HF_VERB_PUT,
        .name = name,
        .name_len = strlen(name),
        .owner = id,
        .owner_len = HF_WRITE_ID_LEN,
        .counter = if_version,
        .value = {fill == '\0' ? NULL : data, len},
    };
    return driver_ask(d, &ask);
}

static const struct hf_answer *put(struct driver *d, const char *id, char fill,
                                   size_t len)
{
    return put_as(d, "v", id, HF_VERSION_ANY, fill, len);
}

/* @return the version. */
static uint64_t written(const struct hf_answer *answer)
{
    if (answer->verdict != HF_VERDICT_OK) {
        fail_msg("%s", answer->reason == NULL ? "refused" : answer->reason);
    }
    return answer->counter;
}

static const struct hf_answer *get_name(struct driver *d, const char *name)
{
    struct hf_ask ask = {.cookie = 7,
                         .verb = HF_VERB_GET,
                         .name = name,
                         .name_len = strlen(name)};
    return driver_ask(d, &ask);
}

/* @return its fill; '-': there is none. It is whole. */
static char fill_of(struct driver *d, const char *name)
{
    uint64_t version = written(get_name(d, name));
    assert_true(d->value_is_whole);
    return version == 0 ? '-' : d->value_first;
}

static void failed(const struct hf_answer *answer, enum hf_verdict verdict,
                   enum hf_status fault, const char *part)
{
    assert_int_equal(answer->verdict, verdict);
    assert_int_equal(answer->fault, fault);
    if (strstr(answer->reason, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, answer->reason);
    }
}

/* ---- Kills and power cuts ---------------------------------------------- */

/* In a child: write 'n' over 'o', until `fault` at the step. @return how the
 * child ended: 0: it was answered. */
static int put_until(const char *folder, enum fault fault, unsigned at,
                     unsigned early, const char *image)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct driver d;
        disk_begin(folder, fault, at);
        disk.early = early;
        disk.image = open(image, O_RDWR);
        driver_start(&d, folder);
        _exit(put(&d, ID_NEW, 'n', BIG)->verdict == HF_VERDICT_OK ? 0 : 9);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void copy_file(const char *from, const char *to)
{
    static char buffer[1 << 16];
    int in = open(from, O_RDONLY);
    int out = open(to, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ssize_t len = 0;
    assert_true(out >= 0);
    while (in >= 0 && (len = read(in, buffer, sizeof(buffer))) > 0) {
        assert_int_equal(syscall(SYS_write, out, buffer, len), len);
    }
    if (in >= 0) {
        close(in);
    }
    close(out);
}

/* The value before the write, or after it if `is_done`, else one of the two;
 * and it can be written. */
static void check_after(const char *folder, bool is_done, char old)
{
    struct driver d;
    driver_start(&d, folder);
    char fill = fill_of(&d, "v");
    if (is_done || fill != old) {
        assert_int_equal(fill, 'n');
        assert_int_equal(d.value_len, BIG);
    }
    uint64_t before = d.answer.counter;
    assert_true(written(put(&d, ID_THIRD, 't', 5)) > before);
    assert_int_equal(fill_of(&d, "v"), 't');
    driver_close(&d);
}

/** One write that ends at a step. @return true: it was answered before. */
static bool cut_at(unsigned at, unsigned early, bool has_old)
{
    char killed[64], cut[64], values[100], image[100];
    folder_make(killed);
    folder_make(cut);
    snprintf(values, sizeof(values), "%s/values.mdb", killed);
    snprintf(image, sizeof(image), "%s/values.mdb", cut);
    if (has_old) {
        struct driver d;
        driver_start(&d, killed);
        written(put(&d, ID_OLD, 'o', BIG - 1));
        driver_close(&d);
    }
    copy_file(values, image);
    int status = put_until(killed, KILL, at, early, image);
    bool is_done = WIFEXITED(status);
    assert_int_equal(status, is_done ? 0 : SIGKILL);
    disk_begin(killed, NONE, 0);
    check_after(killed, is_done, has_old ? 'o' : '-');
    /* Its own write is one sync; before it, it syncs the value that it has
     * read. */
    assert_true(disk.n_syncs >= (is_done ? 1 : 2));
    disk_end();
    check_after(cut, is_done, has_old ? 'o' : '-');
    folder_drop(killed);
    folder_drop(cut);
    return is_done;
}

static void test_cuts(void **state)
{
    (void)state;
    for (unsigned early = 0; early < 3; early++) {
        for (unsigned has_old = 0; has_old < 2; has_old++) {
            unsigned at = 1;
            while (!cut_at(at, early, has_old)) {
                at++;
            }
            assert_true(at > 4); /* pages, their sync, the meta page */
        }
    }
}

/* The entry of a new file is on the disk, too. */
static void test_new_file(void **state)
{
    struct driver *d = driver_of(state);
    disk_begin(((struct fixture *)*state)->folder, NONE, 0);
    written(put(d, ID_OLD, 'o', 5));
    assert_true(disk.n_folder_syncs >= 2); /* the folder, and that above it */
    unsigned n = disk.n_folder_syncs;
    written(put(d, ID_NEW, 'n', 5));
    assert_int_equal(disk.n_folder_syncs, n);
    disk_end();
}

/* Others wait for a stopped writer and say so; locks do not wait. */
static void test_stopped(void **state)
{
    struct fixture *f = *state;
    struct driver other;
    struct hf_error error;
    int status;
    written(put(&f->d, ID_OLD, 'o', BIG));
    pid_t pid = fork();
    if (pid == 0) {
        struct driver d;
        disk_begin(f->folder, STOP, 3);
        driver_start(&d, f->folder);
        written(put(&d, ID_NEW, 'n', BIG));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(driver_open(&other, f->folder, "", &error), HF_OK);
    failed(get_name(&other, "v"), HF_VERDICT_ERROR, HF_UNAVAILABLE,
           "values.mdb is held by process");
    assert_non_null(strstr(other.reason, "is stopped: continue or kill it"));
    granted(acquire(&other, "v", "owner", 20000, 0));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(fill_of(&other, "v"), 'o');
    written(put(&other, ID_THIRD, 't', 5));
    driver_close(&other);
}

/* ---- Failures of the disk ---------------------------------------------- */

static void test_full(void **state)
{
    struct fixture *f = *state;
    char name[20];
    written(put(&f->d, ID_OLD, 'o', 10));
    disk_begin(f->folder, FULL, 0);
    unsigned n = 0;
    const struct hf_answer *answer;
    do {
        snprintf(name, sizeof(name), "n%u", n++);
        answer = put_as(&f->d, name, ID_NEW, 0, 'n', BIG);
    } while (answer->verdict == HF_VERDICT_OK);
    assert_true(n > 1); /* the allocated pages are used */
    failed(answer, HF_VERDICT_ERROR, HF_UNAVAILABLE,
           "values.mdb cannot grow: the disk is full");
    assert_int_equal(fill_of(&f->d, name), '-');
    assert_int_equal(fill_of(&f->d, "n0"), 'n');
    assert_int_equal(fill_of(&f->d, "v"), 'o');
    written(put(&f->d, ID_THIRD, 't', 10)); /* in free pages */
    disk_end();
    written(put_as(&f->d, name, ID_NEW, 0, 'n', BIG));
    assert_int_equal(fill_of(&f->d, name), 'n');
}

static void test_bad_sync(void **state)
{
    struct fixture *f = *state;
    written(put(&f->d, ID_OLD, 'o', 10));
    disk_begin(f->folder, BAD_SYNC, 0);
    failed(put(&f->d, ID_NEW, 'n', BIG), HF_VERDICT_ERROR, HF_UNAVAILABLE,
           "Input/output error");
    disk_end();
    assert_int_equal(fill_of(&f->d, "v"), 'o');
    written(put(&f->d, ID_NEW, 'n', BIG));
    assert_int_equal(fill_of(&f->d, "v"), 'n');
}

/* The page that commits was refused: whether it is on the disk is unknown,
 * until the request is repeated. */
static void test_bad_meta(void **state)
{
    struct fixture *f = *state;
    uint64_t first = written(put(&f->d, ID_OLD, 'o', 10));
    disk_begin(f->folder, BAD_META, 0);
    failed(put_as(&f->d, "v", ID_NEW, first, 'n', 10), HF_VERDICT_UNKNOWN,
           HF_UNAVAILABLE, "Input/output error");
    disk_end();
    written(put_as(&f->d, "v", ID_NEW, first, 'n', 10));
    assert_int_equal(fill_of(&f->d, "v"), 'n');
}

/* ---- Other files ------------------------------------------------------- */

static void write_at(const char *path, off_t at, const void *data, size_t len)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(syscall(SYS_pwrite64, fd, data, len, at), len);
    close(fd);
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    char path[100], kept[110];
    static char zeros[4096];
    snprintf(path, sizeof(path), "%s/values.mdb", f->folder);
    snprintf(kept, sizeof(kept), "%s.kept", path);
    /* Made by a process that was killed. */
    write_at(path, 0, zeros, sizeof(zeros));
    written(put(&f->d, ID_OLD, 'o', 9000));
    copy_file(path, kept);
    /* Another file takes its place. */
    written(put(&f->d, ID_NEW, 'n', 9000));
    assert_int_equal(rename(kept, path), 0);
    assert_int_equal(fill_of(&f->d, "v"), 'o');
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fill_of(&f->d, "v"), '-');
    /* Damage. */
    written(put(&f->d, ID_OLD, 'o', 9000));
    copy_file(path, kept);
    for (off_t at = 2 * 4096; at < 8 * 4096; at += 4096) {
        write_at(path, at + 2000, "x", 1);
    }
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG, "is damaged");
    assert_int_equal(truncate(path, 3 * 4096), 0);
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG, "it was cut");
    assert_int_equal(truncate(path, 2 * 4096), 0); /* as long as a new file */
    driver_close(&f->d);
    driver_start(&f->d, f->folder);
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG, "was cut");
    assert_int_equal(truncate(path, 0), 0);
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG, "was cut");
    driver_close(&f->d);
    driver_start(&f->d, f->folder);
    failed(put(&f->d, ID_NEW, 'n', 10), HF_VERDICT_ERROR, HF_CONFIG, "was cut");
    assert_int_equal(rename(kept, path), 0);
    assert_int_equal(fill_of(&f->d, "v"), 'o');
    /* Its inode may be that of the file before. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fill_of(&f->d, "v"), '-');
    write_at(path, 0, "", 0);
    assert_int_equal(fill_of(&f->d, "v"), '-');
    written(put(&f->d, ID_OLD, 'o', 9000));
    /* A file that others may write, or of another program. */
    assert_int_equal(chmod(path, 0644), 0);
    driver_close(&f->d);
    driver_start(&f->d, f->folder);
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG, "mode 0644");
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 0), 0);
    write_at(path, 0, "#!/bin/sh of another program, and more", 38);
    failed(get_name(&f->d, "v"), HF_VERDICT_ERROR, HF_CONFIG,
           "is not Holdfast's");
}

/* ---- Records ----------------------------------------------------------- */

static void test_same_id(void **state)
{
    struct driver *d = driver_of(state);
    uint64_t first = written(put_as(d, "v", ID_OLD, 0, 'o', 10));
    assert_int_equal(written(put_as(d, "v", ID_OLD, 0, 'o', 10)), first);
    uint64_t last = written(put_as(d, "v", ID_NEW, first, '\0', 0));
    assert_int_equal(written(put_as(d, "v", ID_NEW, first, '\0', 0)), last);
    assert_int_equal(written(get_name(d, "v")), 0);
    assert_string_equal(d->owner, ID_NEW);
    assert_int_equal(put_as(d, "v", ID_OLD, first, 'o', 10)->verdict,
                     HF_VERDICT_REFUSED);
    assert_int_equal(d->answer.counter, 0);
    assert_true(written(put_as(d, "v", ID_OLD, 0, 'o', 10)) > last);
}

/* A tombstone stays for fence_keep; meanwhile versions rise, also if the clock
 * is set back. */
static void test_tombstones(void **state)
{
    struct fixture *f = *state;
    driver_close(&f->d);
    assert_int_equal(
        driver_open_keeping(&f->d, f->folder, "?node_timeout=10s", 20000),
        HF_OK);
    written(put(&f->d, ID_OLD, 'o', 10));
    uint64_t last = written(put(&f->d, ID_NEW, '\0', 0));
    jump_ms(-3600000);
    assert_true(written(put_as(&f->d, "v", ID_OLD, 0, 'o', 10)) > last);
    last = written(put(&f->d, ID_NEW, '\0', 0));
    jump_ms(3600000 + 19000);
    for (int i = 0; i < 3; i++) {
        written(put_as(&f->d, "w", i % 2 ? ID_OLD : ID_NEW, HF_VERSION_ANY, 'w',
                       10));
    }
    get_name(&f->d, "v");
    assert_int_equal(f->d.answer.owner_len, HF_WRITE_ID_LEN);
    jump_ms(20000);
    for (int i = 0; i < 3; i++) {
        written(put_as(&f->d, "w", i % 2 ? ID_OLD : ID_NEW, HF_VERSION_ANY, 'w',
                       10));
    }
    get_name(&f->d, "v");
    assert_int_equal(f->d.answer.owner_len, 0);
    assert_int_equal(fill_of(&f->d, "w"), 'w');
    assert_true(written(put_as(&f->d, "v", ID_OLD, 0, 'o', 10)) > last);
    jump_ms(-39000);
}

/* Names that are longer than LMDB's keys, and differ only at their ends. */
static void test_long_names(void **state)
{
    struct driver *d = driver_of(state);
    char name[2][1001];
    for (int i = 0; i < 2; i++) {
        memset(name[i], 'x', 1000);
        name[i][999] = (char)('0' + i);
        name[i][1000] = '\0';
        written(put_as(d, name[i], ID_OLD, 0, name[i][999], 10));
    }
    assert_int_equal(fill_of(d, name[0]), '0');
    assert_int_equal(fill_of(d, name[1]), '1');
}

/* Two processes in turn grow the file, each beyond the other's map. */
static void test_growth(void **state)
{
    struct fixture *f = *state;
    struct driver other;
    struct stat about;
    char name[20], path[100];
    driver_start(&other, f->folder);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        written(put_as(i % 4 < 2 ? &f->d : &other, name, ID_OLD, 0,
                       (char)('A' + i), BIG));
        assert_int_equal(fill_of(i % 4 < 2 ? &other : &f->d, name), 'A' + i);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(fill_of(&f->d, name), 'A' + i);
    }
    /* Writing over values reuses their pages. */
    for (int i = 0; i < 40; i++) {
        written(put_as(&other, "n0", i % 2 ? ID_OLD : ID_NEW, HF_VERSION_ANY,
                       'z', BIG));
    }
    snprintf(path, sizeof(path), "%s/values.mdb", f->folder);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size < 50 * (off_t)BIG);
    driver_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test_setup_teardown(test_new_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_sync, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_meta, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tombstones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_growth, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
