/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the clock: two processes get the same one if, and only if, their
 * clocks show the same. */
#include "local_driver.h"

#include "io/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Time namespaces, each of which is made in the one before. */
#define NESTED 2

/* What a process reports that cannot identify its clock. */
#define NO_NAME "no name"

_Noreturn static void report(int fd)
{
    char name[HF_CLOCK_NAME_MAX] = "";
    if (!hf_clock_name(name)) {
        snprintf(name, sizeof(name), NO_NAME);
    }
    _exit(write(fd, name, sizeof(name)) == sizeof(name) ? 0 : 1);
}

/* The children of this process are in a new namespace, it itself is not. */
static bool leave(long offset_s)
{
    FILE *file = unshare(CLONE_NEWTIME) == 0
                     ? fopen("/proc/self/timens_offsets", "w")
                     : NULL;
    return file != NULL && fprintf(file, "boottime %ld 5\n", offset_s) > 0 &&
           fclose(file) == 0;
}

static bool is_done(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Leave for one namespace after another, and report from the last. */
_Noreturn static void report_from(const long *offset_s, unsigned n, int fd)
{
    for (unsigned i = 0; i < n; i++) {
        if (!leave(offset_s[i])) {
            _exit(2);
        }
        pid_t pid = fork();
        if (pid != 0) {
            _exit(is_done(pid) ? 0 : 1);
        }
    }
    report(fd);
}

static void read_name(int fd[2], char name[HF_CLOCK_NAME_MAX])
{
    close(fd[1]);
    assert_int_equal(read(fd[0], name, HF_CLOCK_NAME_MAX), HF_CLOCK_NAME_MAX);
    close(fd[0]);
}

static void name_in(const long *offset_s, unsigned n,
                    char name[HF_CLOCK_NAME_MAX])
{
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        report_from(offset_s, n, fd[1]);
    }
    read_name(fd, name);
    assert_true(is_done(pid));
}

/* Not permitted, or a kernel without them: the case is skipped. */
static void need_spaces(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(unshare(CLONE_NEWTIME) == 0 ? 0 : errno);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == EPERM || WEXITSTATUS(status) == EINVAL) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void ends_with(const char *name, const char *end)
{
    assert_true(strlen(name) > strlen(end));
    assert_string_equal(name + strlen(name) - strlen(end), end);
}

/* ---- Names ------------------------------------------------------------- */

static void of_the_machine(void **state)
{
    char name[HF_CLOCK_NAME_MAX];
    struct hf_span offset = {-1};
    (void)state;
    assert_true(hf_clock_name(name));
    assert_int_equal(hf_clock_offset(&offset), 0);
    ends_with(name, offset.ns == 0 ? "/0" : "5");
}

/* The second namespace begins when the first one has ended, and so may have
 * its inode. */
static void another_offset(void **state)
{
    char first[HF_CLOCK_NAME_MAX], second[HF_CLOCK_NAME_MAX];
    const long forward = 1000, further = 5000, back = -10;
    (void)state;
    need_spaces();
    name_in(&forward, 1, first);
    ends_with(first, "/1000000000005");
    name_in(&further, 1, second);
    ends_with(second, "/5000000000005");
    name_in(&back, 1, second);
    ends_with(second, "/-9999999995");
}

/* The second namespace is made in the first one, and so has another inode. */
static void the_same_offset(void **state)
{
    char first[HF_CLOCK_NAME_MAX], second[HF_CLOCK_NAME_MAX];
    const long offset_s[NESTED] = {1000, 1000};
    (void)state;
    need_spaces();
    name_in(offset_s, 1, first);
    name_in(offset_s, NESTED, second);
    assert_string_equal(first, second);
}

static bool is_refused(const char *folder)
{
    static struct driver d;
    struct hf_error error = {HF_OK, 0, ""};
    bool is_right = driver_open(&d, folder, "", &error) == HF_CONFIG &&
                    strstr(error.text, "children are in another time") != NULL;
    if (!is_right) {
        fprintf(stderr, "# %s\n", error.text);
    }
    return is_right;
}

/* /proc has the offset of the children only: no name, and no embedded store. */
static void children_elsewhere(void **state)
{
    char name[HF_CLOCK_NAME_MAX], folder[64];
    int fd[2];
    (void)state;
    need_spaces();
    folder_make(folder);
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct hf_span offset;
        bool is_right = leave(1000) && hf_clock_offset(&offset) == EXDEV &&
                        is_refused(folder);
        report(is_right ? fd[1] : -1);
    }
    read_name(fd, name);
    assert_true(is_done(pid));
    assert_string_equal(name, NO_NAME);
    folder_drop(folder);
}

/* ---- Threads ----------------------------------------------------------- */

/* Report once the main thread has ended. */
static void *report_alone(void *fd)
{
    if (!main_thread_ends(getpid())) {
        _exit(1);
    }
    report(*(int *)fd);
}

static void without_the_main_thread(void **state)
{
    char name[HF_CLOCK_NAME_MAX], alone[HF_CLOCK_NAME_MAX];
    static int fd[2];
    (void)state;
    assert_true(hf_clock_name(name));
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, report_alone, &fd[1]);
        pthread_exit(NULL);
    }
    read_name(fd, alone);
    assert_true(is_done(pid));
    assert_string_equal(alone, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_machine),
        cmocka_unit_test(another_offset),
        cmocka_unit_test(the_same_offset),
        cmocka_unit_test(children_elsewhere),
        cmocka_unit_test(without_the_main_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
