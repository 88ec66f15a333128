/* SPDX-License-Identifier: Apache-2.0 */
/* Contents with another boot id: of a boot that is over, or of this one, and
 * the id is that of a container, which has another file over the kernel's.
 * Nothing has the folder open, but a lease may live without a process. */
/* link: -Wl,--wrap=clock_gettime -Wl,--wrap=fstatfs */
#include "local_fixture.h"

#include "store/local/gate.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define TTL_MS 600000 /* longer than a test */

/* Where the next client finds its boot id. */
static unsigned boot_magic;

int __wrap_fstatfs(int fd, struct statfs *out);
int __wrap_fstatfs(int fd, struct statfs *out)
{
    (void)fd;
    memset(out, 0, sizeof(*out));
    out->f_type = (__typeof__(out->f_type))boot_magic;
    return 0;
}

static int boots(void **state)
{
    boot_magic = PROC_SUPER_MAGIC;
    still_ns = 0;
    return set_up(state);
}

static void overwrite(const struct fixture *f, off_t at, const void *bytes,
                      size_t len)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.gate", f->folder);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    close(fd);
}

/* Close the store, and leave it with another boot id: its next user is in a
 * container that hides its own, or the machine was booted. */
static void close_with_other_id(struct fixture *f, bool is_hidden)
{
    driver_close(&f->d);
    overwrite(f, offsetof(struct hf_gate_page, boot), "00000000-1111", 13);
    boot_magic = is_hidden ? TMPFS_MAGIC : PROC_SUPER_MAGIC;
}

static ino_t data_ino(const struct fixture *f)
{
    struct stat about;
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.mdb", f->folder);
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

/* @return the fence. */
static uint64_t hold(struct fixture *f, int64_t ttl_ms)
{
    return granted(acquire(&f->d, "job", A, ttl_ms, 0));
}

static void is_refused(struct fixture *f, const char *said)
{
    struct hf_error error = {HF_OK, 0, ""};
    enum hf_status got = driver_open(&f->d, f->folder, "", &error);
    if (got != HF_UNAVAILABLE || strstr(error.text, said) == NULL) {
        fail_msg("status %d: %s", (int)got, error.text);
    }
}

static void is_free(struct fixture *f)
{
    driver_start(&f->d, f->folder);
    granted(acquire(&f->d, "job", B, TTL_MS, 0));
}

static void a_lease_without_a_process(void **state)
{
    struct fixture *f = *state;
    uint64_t fence = hold(f, TTL_MS);
    close_with_other_id(f, true);
    is_refused(f, "another boot id");
    jump_ms(TTL_MS - 90000);
    is_refused(f, "another boot id");
    jump_ms(90000);
    is_free(f);
    assert_true(f->d.answer.counter > fence);
}

static void a_lease_that_was_extended(void **state)
{
    struct fixture *f = *state;
    uint64_t fence = hold(f, 1000);
    assert_int_equal(confirm(&f->d, "job", A, fence, TTL_MS, true)->verdict,
                     HF_VERDICT_OK);
    close_with_other_id(f, true);
    jump_ms(1000);
    is_refused(f, "another boot id");
}

/* The time that remains is in the text, in whole seconds. */
static void how_long_is_said(void **state)
{
    struct fixture *f = *state;
    still_ns = hf_clock_now().ns;
    hold(f, 4500);
    close_with_other_id(f, true);
    is_refused(f, "may live for 5 s more");
}

/* What a container has written, the machine's own processes find. */
static void a_lease_of_a_container(void **state)
{
    struct fixture *f = *state;
    close_with_other_id(f, true);
    driver_start(&f->d, f->folder);
    hold(f, TTL_MS);
    close_with_other_id(f, false);
    is_refused(f, "another boot id");
    jump_ms(TTL_MS);
    is_free(f);
}

/* The container has a time namespace: the lease lives by the clock of those who
 * granted it. */
static void a_lease_by_another_clock(void **state)
{
    static const int64_t offsets_s[] = {-100000, 100000};
    struct fixture *f = *state;
    still_ns = INT64_C(1000000000000000);
    for (size_t i = 0; i < 2; i++) {
        struct hf_span offset = hf_span_ms(offsets_s[i] * 1000);
        hold(f, TTL_MS);
        close_with_other_id(f, true);
        overwrite(f, offsetof(struct hf_gate_page, clock_offset), &offset,
                  sizeof(offset));
        jump_ms(-offsets_s[i] * 1000);
        is_refused(f, "another boot id");
        jump_ms(TTL_MS);
        is_free(f);
        assert_int_equal(
            release(&f->d, "job", B, f->d.answer.counter, 0)->verdict,
            HF_VERDICT_OK);
    }
}

/* Hold "job" in one boot, and open the store in the next: the clock of leases
 * begins at 0. @return the fence. */
static uint64_t boot(struct fixture *f, int64_t uptime_s, uint64_t greatest)
{
    still_ns = INT64_C(20000000000);
    uint64_t fence = hold(f, TTL_MS);
    close_with_other_id(f, false);
    if (greatest > 0) {
        overwrite(f, offsetof(struct hf_gate_page, granted_max), &greatest,
                  sizeof(greatest));
    }
    still_ns = uptime_s * 1000000000;
    driver_start(&f->d, f->folder);
    return fence;
}

static void after_a_boot_to(struct fixture *f, int64_t uptime_s)
{
    ino_t before = data_ino(f);
    uint64_t fence = boot(f, uptime_s, 0);
    assert_int_equal(inspect(&f->d, "job")->holder_kind, HF_HOLDER_NONE);
    granted(acquire(&f->d, "job", B, TTL_MS, 0));
    assert_true(f->d.answer.counter > fence);
    assert_int_equal(data_ino(f), before); /* not replaced */
}

static void after_a_boot(void **state)
{
    after_a_boot_to(*state, 1);
}

/* A job at boot may run later in one boot than in the one before. */
static void after_a_boot_that_took_longer(void **state)
{
    after_a_boot_to(*state, 21);
}

/* Of a container's contents that cannot be told; but its clock may tell. */
static void after_a_boot_of_a_container(void **state)
{
    struct fixture *f = *state;
    still_ns = INT64_C(20000000000);
    hold(f, TTL_MS);
    close_with_other_id(f, true);
    still_ns = INT64_C(1000000000);
    is_free(f);
}

/* The clock was years ahead before the boot: fences still increase. */
static void after_a_boot_with_the_clock_back(void **state)
{
    struct fixture *f = *state;
    uint64_t greatest = (uint64_t)hf_clock_wall_s() * 2000000;
    boot(f, 1, greatest);
    granted(acquire(&f->d, "job", B, TTL_MS, 0));
    assert_true(f->d.answer.counter > greatest);
}

/* They end with the boot id: a boot would have to wait for them, too. */
static void marks_and_reservations(void **state)
{
    struct fixture *f = *state;
    uint64_t fence = hold(f, 1000);
    assert_int_equal(mark(&f->d, "job", fence, A, TTL_MS)->verdict,
                     HF_VERDICT_OK);
    assert_int_equal(release(&f->d, "job", A, fence, TTL_MS)->verdict,
                     HF_VERDICT_OK);
    assert_int_equal(acquire(&f->d, "job", B, TTL_MS, 0)->verdict,
                     HF_VERDICT_REFUSED);
    close_with_other_id(f, true);
    jump_ms(1000);
    is_free(f);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, boots, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_lease_without_a_process),
        IN_FOLDER(a_lease_that_was_extended),
        IN_FOLDER(how_long_is_said),
        IN_FOLDER(a_lease_of_a_container),
        IN_FOLDER(a_lease_by_another_clock),
        IN_FOLDER(after_a_boot),
        IN_FOLDER(after_a_boot_that_took_longer),
        IN_FOLDER(after_a_boot_of_a_container),
        IN_FOLDER(after_a_boot_with_the_clock_back),
        IN_FOLDER(marks_and_reservations),
    };
    return cmocka_run_group_tests_name("local_boot", tests, NULL, NULL);
}
