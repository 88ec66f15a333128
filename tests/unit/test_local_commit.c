/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at each instruction of a commit that another process can see.
 *
 * A child commits one instruction at a time (ptrace). After the k-th change of
 * what decides which records count, LMDB's two meta pages and the gate, it is
 * killed; k grows until the child gets to its end first. Each time the records
 * are those from before the child's transaction, or those from after it. */
/* link: -Wl,--wrap=mdb_txn_commit */
#include "local_driver.h"

#include "store/local/gate.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define TTL_MS 60000 /* longer than the test: only a death frees a lock */

#define CHANGES_LEAST 10 /* the number, two trees, the last page, the notes */
#define CHANGES_MAX 1000 /* far more than there are: the test must end */
#define PAGES_BYTES 8192 /* two meta pages */

static bool stops_in_commit;
struct MDB_txn;
int __real_mdb_txn_commit(struct MDB_txn *txn);
int __wrap_mdb_txn_commit(struct MDB_txn *txn);

int __wrap_mdb_txn_commit(struct MDB_txn *txn)
{
    if (stops_in_commit) {
        stops_in_commit = false;
        raise(SIGSTOP);
    }
    return __real_mdb_txn_commit(txn);
}

struct fixture {
    char folder[64];
    int data, gate; /* descriptors of its files */
    struct driver d;
};

/* What is in the files, but for pages that no meta page refers to. */
struct view {
    char pages[PAGES_BYTES];
    struct hf_gate_page gate;
};

static int set_up(void **state)
{
    static struct fixture f;
    char path[100];
    folder_make(f.folder);
    driver_start(&f.d, f.folder);
    snprintf(path, sizeof(path), "%s/locks.mdb", f.folder);
    f.data = open(path, O_RDONLY);
    snprintf(path, sizeof(path), "%s/locks.gate", f.folder);
    f.gate = open(path, O_RDONLY);
    *state = &f;
    return f.data < 0 || f.gate < 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    driver_close(&f->d);
    close(f->data);
    close(f->gate);
    folder_drop(f->folder);
    return 0;
}

static void look(const struct fixture *f, struct view *view)
{
    assert_int_equal(pread(f->data, view->pages, PAGES_BYTES, 0), PAGES_BYTES);
    assert_int_equal(pread(f->gate, &view->gate, sizeof(view->gate), 0),
                     sizeof(view->gate));
}

/* A child that stops in its commit, and once more after its reply. */
static pid_t start(const struct fixture *f)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct driver d;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        driver_start(&d, f->folder);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(1);
        }
        stops_in_commit = true;
        acquire(&d, "child", B, TTL_MS, getpid());
        raise(SIGSTOP);
        _exit(1);
    }
    assert_true(pid > 0);
    return pid;
}

static int await_stop(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status);
}

/* Kill a child after so many changes. @return false: it got to its end. */
static bool kill_after(const struct fixture *f, unsigned changes)
{
    static struct view before, now;
    pid_t pid = start(f);
    int stop = await_stop(pid);
    bool has_ended = false;
    assert_int_equal(stop, SIGSTOP);
    look(f, &before);
    for (unsigned seen = 0; seen < changes && !has_ended;) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        has_ended = await_stop(pid) == SIGSTOP;
        look(f, &now);
        if (memcmp(&before, &now, sizeof(now)) != 0) {
            before = now;
            seen++;
        }
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return !has_ended;
}

/* The last commit before the child is there, and the files go on. */
static void check(struct fixture *f, const char *name, uint64_t fence,
                  unsigned changes)
{
    if (confirm(&f->d, name, A, fence, TTL_MS, false)->verdict !=
        HF_VERDICT_OK) {
        fail_msg("killed after %u changes: the lock is lost", changes);
    }
    assert_int_equal(acquire(&f->d, "child", A, TTL_MS, 0)->verdict,
                     HF_VERDICT_OK);
    assert_int_equal(
        release(&f->d, "child", A, f->d.answer.counter, 0)->verdict,
        HF_VERDICT_OK);
    assert_int_equal(release(&f->d, name, A, fence, 0)->verdict, HF_VERDICT_OK);
}

static void killed_in_a_commit(void **state)
{
    struct fixture *f = *state;
    char name[24];
    unsigned changes = 0;
    bool was_killed = true;
    for (; was_killed && changes < CHANGES_MAX; changes++) {
        snprintf(name, sizeof(name), "parent %u", changes);
        assert_int_equal(acquire(&f->d, name, A, TTL_MS, 0)->verdict,
                         HF_VERDICT_OK);
        uint64_t fence = f->d.answer.counter;
        was_killed = kill_after(f, changes);
        check(f, name, fence, changes);
    }
    printf("# %u changes\n", changes);
    assert_in_range(changes, CHANGES_LEAST, CHANGES_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_in_a_commit, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("local_commit", tests, NULL, NULL);
}
