/* SPDX-License-Identifier: Apache-2.0 */
/* The gate between pid namespaces, in which two processes have one number: the
 * end of one that waits does not let a third one in beside the other, and a
 * folder of one namespace takes no lock of a file. */
#include "local_driver.h"

#include "io/clock.h"
#include "store/local/gate.h"
#include "store/local/table.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SHORT_MS 20   /* a third gate waits ten times that, in vain */
#define LONG_MS 60000 /* longer than a test: a waiter waits until its end */
#define HANG_S 60     /* a step takes milliseconds */
#define VALUES_BYTE 1 /* of locks.gate; the locks have byte 0 */

struct fixture {
    char folder[64];
    struct hf_folder place;
    struct hf_proc_view view;
    struct hf_gate gate; /* of this process */
    bool is_for_values;  /* which of both doors */
};

/* A process that reports that it waits ('w') and is inside ('i'), and leaves
 * when its line is closed. */
struct child {
    pid_t pid;
    int says, told;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct hf_error error;
    folder_make(f->folder);
    assert_int_equal(hf_folder_open(f->folder, &f->place, &error), HF_OK);
    f->gate.fd = -1;
    *state = f;
    return 0;
}

static int set_up_for_values(void **state)
{
    set_up(state);
    struct fixture *f = *state;
    f->is_for_values = true;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    hf_gate_close(&f->gate);
    folder_drop(f->folder);
    free(f);
    return 0;
}

/* ---- A gate ------------------------------------------------------------ */

static enum hf_status open_gate(struct fixture *f, int64_t patience_ms)
{
    struct hf_error error;
    f->view.is_ready = false;
    f->gate.pid_space = hf_pid_space(&f->view);
    return hf_gate_open(&f->gate, &f->place, hf_span_ms(patience_ms), 0,
                        hf_table_renew, &error);
}

static enum hf_status enter(struct fixture *f, char text[600])
{
    return f->is_for_values ? hf_gate_enter_values(&f->gate, text, 600)
                            : hf_gate_enter(&f->gate, text, 600);
}

static void leave(struct fixture *f)
{
    if (f->is_for_values) {
        hf_gate_leave_values(&f->gate);
    } else {
        hf_gate_leave(&f->gate);
    }
}

static void pass(struct fixture *f)
{
    char text[600];
    assert_int_equal(enter(f, text), HF_OK);
    leave(f);
}

static void is_kept_out(struct fixture *f, const char *said)
{
    char text[600] = "";
    if (enter(f, text) != HF_UNAVAILABLE || strstr(text, said) == NULL) {
        fail_msg("%s", text);
    }
}

/* Another process has the lock of this door's byte. */
static bool is_locked(const struct fixture *f)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = f->is_for_values ? VALUES_BYTE : 0,
                         .l_len = 1};
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.gate", f->folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    close(fd);
    return lock.l_type != F_UNLCK;
}

/* ---- Processes --------------------------------------------------------- */

/* fork() into a pid namespace of its own, where the child is process 1. Skips
 * the case if that is not permitted. */
static pid_t fork_elsewhere(void)
{
    int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    assert_true(own >= 0);
    if (unshare(CLONE_NEWPID) != 0) {
        assert_int_equal(errno, EPERM);
        skip();
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0) {
        assert_int_equal(setns(own, CLONE_NEWPID), 0);
    }
    close(own);
    return pid;
}

static void be_inside(struct fixture *f, int says, int told,
                      int64_t patience_ms)
{
    char text[600], byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive the test */
    alarm(HANG_S);
    f->gate.fd = -1;
    if (getpid() != 1 || open_gate(f, patience_ms) != HF_OK ||
        write(says, "w", 1) != 1) {
        _exit(2);
    }
    if (enter(f, text) != HF_OK) {
        fprintf(stderr, "# %s\n", text);
        _exit(3);
    }
    if (write(says, "i", 1) != 1 || read(told, &byte, 1) != 0) {
        _exit(4);
    }
    leave(f);
    _exit(0);
}

/* Start a child in a namespace of its own. */
static struct child start(struct fixture *f)
{
    int says[2], told[2];
    assert_int_equal(pipe2(says, O_CLOEXEC), 0);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t pid = fork_elsewhere();
    if (pid == 0) {
        close(told[1]);
        be_inside(f, says[1], told[0], LONG_MS);
    }
    close(says[1]);
    close(told[0]);
    return (struct child){pid, says[0], told[1]};
}

static void hear(const struct child *child, char said)
{
    char byte = 0;
    assert_int_equal(read(child->says, &byte, 1), 1);
    assert_int_equal(byte, said);
}

static struct child start_inside(struct fixture *f)
{
    struct child child = start(f);
    hear(&child, 'w');
    hear(&child, 'i');
    return child;
}

static char state_of(pid_t pid)
{
    char path[40], text[400] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return strrchr(text, ')')[2];
}

/* Start a child that sleeps at the gate. */
static struct child start_waiting(struct fixture *f)
{
    struct child child = start(f);
    int64_t end_ns = hf_clock_now().ns + HANG_S * INT64_C(1000000000);
    hear(&child, 'w');
    while (state_of(child.pid) != 'S') {
        assert_true(hf_clock_now().ns < end_ns);
        sched_yield();
    }
    return child;
}

static void end(const struct child *child, bool is_killed)
{
    int status = -1;
    if (is_killed) {
        kill(child->pid, SIGKILL);
    }
    close(child->told);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_int_equal(status, is_killed ? SIGKILL : 0);
    close(child->says);
}

/* ---- Tests ------------------------------------------------------------- */

/* The page is this process', both others have number 1. */
static void a_waiter_is_killed(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_gate(f, SHORT_MS), HF_OK);
    pass(f);
    struct child inside = start_inside(f);
    struct child waiter = start_waiting(f);
    end(&waiter, true);
    is_kept_out(f, "held by process 1 of another pid namespace");
    end(&inside, false);
    pass(f);
}

/* The same, and the page is that of the process inside: it has the mutex. */
static void a_waiter_is_killed_at_the_mutex(void **state)
{
    struct fixture *f = *state;
    struct child inside = start_inside(f);
    struct child waiter = start_waiting(f);
    end(&waiter, true);
    assert_int_equal(open_gate(f, SHORT_MS), HF_OK);
    is_kept_out(f, "held by process 1 of another pid namespace");
    end(&inside, false);
    pass(f);
}

/* System calls are for folders of several namespaces only. */
static void one_namespace_locks_no_file(void **state)
{
    struct fixture *f = *state;
    char text[600];
    assert_int_equal(open_gate(f, SHORT_MS), HF_OK);
    assert_int_equal(enter(f, text), HF_OK);
    assert_false(is_locked(f));
    leave(f);
    struct child inside = start_inside(f);
    assert_true(is_locked(f));
    end(&inside, false);
    assert_false(is_locked(f));
    assert_int_equal(enter(f, text), HF_OK);
    assert_true(is_locked(f));
    leave(f);
}

/* No commit of a dead process is taken for one that is on the disk, whichever
 * way it was inside. */
static void killed_inside(void **state)
{
    struct fixture *f = *state;
    const uint32_t *is_unsynced;
    assert_int_equal(open_gate(f, SHORT_MS), HF_OK);
    pass(f);
    is_unsynced = &f->gate.page->values.is_unsynced;
    for (int i = 0; i < 3; i++) {
        struct child inside = start_inside(f);
        assert_int_equal(*is_unsynced, 0);
        end(&inside, true);
        pass(f);
        assert_int_equal(*is_unsynced, f->is_for_values);
        f->gate.page->values.is_unsynced = 0;
    }
}

int main(void)
{
#define AT_BOTH(test)                                                          \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down),                  \
        cmocka_unit_test_setup_teardown(test, set_up_for_values, tear_down)
    const struct CMUnitTest tests[] = {
        AT_BOTH(a_waiter_is_killed),
        AT_BOTH(a_waiter_is_killed_at_the_mutex),
        AT_BOTH(one_namespace_locks_no_file),
        AT_BOTH(killed_inside),
    };
    return cmocka_run_group_tests_name("local_spaces", tests, NULL, NULL);
}
