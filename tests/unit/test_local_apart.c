/* SPDX-License-Identifier: Apache-2.0 */
/* A process that opens the embedded store, and then enters a network namespace
 * and a root folder without /proc: it cannot know that its datagrams reach none
 * of the others, and theirs not it. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_fixture.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define TTL_MS 60000 /* longer than a test: no lease ends by itself */
#define UNABLE 77    /* exit status: the child has not the rights */

/* Two clients in a child; `apart` has no socket yet. The socket of `other`
 * stays in the namespace in which it was made. */
struct pair {
    struct driver apart, other;
};

static void need(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "# not so: %s\n", what);
        _exit(1);
    }
}

static bool is(const struct hf_answer *answer, enum hf_verdict verdict)
{
    return answer->verdict == verdict;
}

static void enter(const char *root)
{
    if (unshare(CLONE_NEWNET) != 0 || chroot(root) != 0 || chdir("/") != 0) {
        int number = errno;
        perror("# unshare, chroot");
        _exit(number == EPERM ? UNABLE : 1);
    }
}

static void in_child(void **state, void (*act)(struct pair *, const char *root))
{
    const struct fixture *f = *state;
    char root[64];
    int status = -1;
    folder_make(root);
    pid_t pid = fork();
    if (pid == 0) {
        static struct pair pair;
        driver_start(&pair.apart, f->folder);
        driver_start(&pair.other, f->folder);
        act(&pair, root);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    folder_drop(root);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNABLE) {
        skip();
    }
    assert_int_equal(status, 0);
}

/* It is the first of two waiters: the grant is for it, and stays. */
static void wait_apart(struct pair *pair, const char *root)
{
    struct driver *apart = &pair->apart, *other = &pair->other;
    uint64_t fence = acquire(other, "job", B, TTL_MS, 0)->counter;
    need(is(acquire(other, "held", B, TTL_MS, 0), HF_VERDICT_OK), "held");
    need(is(queue(other, "held", C, TTL_MS), HF_VERDICT_QUEUED), "a socket");
    enter(root);
    need(is(queue(apart, "job", A, TTL_MS), HF_VERDICT_QUEUED), "A waits");
    need(is(queue(other, "job", C, TTL_MS), HF_VERDICT_QUEUED), "C waits");
    need(is(release(other, "job", B, fence, 0), HF_VERDICT_OK), "released");
    need(is(queue(other, "job", C, TTL_MS), HF_VERDICT_QUEUED), "C is second");
    need(is(queue(apart, "job", A, TTL_MS), HF_VERDICT_OK), "A is first");
}

static void test_wait_apart(void **state)
{
    in_child(state, wait_apart);
}

/* What it grants to the first of two waiters it does not take back. */
static void release_apart(struct pair *pair, const char *root)
{
    struct driver *apart = &pair->apart, *other = &pair->other;
    uint64_t fence = acquire(apart, "job", A, TTL_MS, 0)->counter;
    need(is(queue(other, "job", B, TTL_MS), HF_VERDICT_QUEUED), "B waits");
    need(is(queue(other, "job", C, TTL_MS), HF_VERDICT_QUEUED), "C waits");
    enter(root);
    need(is(release(apart, "job", A, fence, 0), HF_VERDICT_OK), "released");
    need(is(queue(other, "job", C, TTL_MS), HF_VERDICT_QUEUED), "C is second");
    need(is(queue(other, "job", B, TTL_MS), HF_VERDICT_OK), "B is first");
}

static void test_release_apart(void **state)
{
    in_child(state, release_apart);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_wait_apart),
        IN_FOLDER(test_release_apart),
    };
    return cmocka_run_group_tests_name("local_apart", tests, NULL, NULL);
}
