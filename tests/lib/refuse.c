/* SPDX-License-Identifier: Apache-2.0 */
/* refuse URL: "holdfast run" on a store, once for each call to the C library
 * that can fail, which is refused. Prints TAP.
 *
 * Whatever is refused, the command runs once or not at all, exit code 0 says
 * that it ran, another one has its line on stderr, nothing crashes or hangs,
 * and the name is free for the next run. A call that is only interrupted, by a
 * signal, is made again: then the command always runs. */
#include "refuse_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run waits 10 s for the name at most, and its lease is 2 s. */
#define HANGS_MS 40000

/* More calls than any run makes. */
#define CALLS_MAX 3000

static struct refuse_page *page;
static char page_path[300];
static char mark_path[300];
static char error_path[300];
static char self[300];
static char shim[300];

static void fail(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

static void start(const char *url)
{
    int fd = open(error_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, 2) < 0 || setenv("LD_PRELOAD", shim, 1) != 0 ||
        setenv("REFUSESHIM", page_path, 1) != 0) {
        _exit(99);
    }
    close(fd);
    execlp("holdfast", "holdfast", "run", "-u", url, "-t", "2s", "-w", "10s",
           "refused", "--", self, "--mark", mark_path, (char *)NULL);
    _exit(99);
}

/* @return as of waitpid(); -1: it hangs, and is killed. */
static int run(const char *url)
{
    int status = -1;
    pid_t pid = fork();
    if (pid < 0) {
        fail("fork");
    } else if (pid == 0) {
        start(url);
    }
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                           .events = POLLIN};
    if (ended.fd < 0) {
        fail("pidfd_open");
    }
    bool hangs = poll(&ended, 1, HANGS_MS) != 1;
    if (hangs) {
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    close(ended.fd);
    return hangs ? -1 : status;
}

static long marks(void)
{
    struct stat file;
    return stat(mark_path, &file) == 0 ? (long)file.st_size : 0;
}

static void read_error(char *out, size_t size)
{
    int fd = open(error_path, O_RDONLY);
    ssize_t len = fd < 0 ? 0 : read(fd, out, size - 1);
    out[len < 0 ? 0 : len] = '\0';
    close(fd);
}

/* The exit codes of holdfast(1), and those of the command; not that of a lock
 * that was lost: none is, but as below. */
static bool is_known(int code)
{
    static const int known[] = {0, 69, 70, 75, 77, 78, 126, 127};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (code == known[i]) {
            return true;
        }
    }
    return false;
}

/* What a refused call may do beside that. A module whose folder cannot be
 * searched is as one that is not there. libzookeeper ends a process that has no
 * random bits. A child that cannot look at a socket of ZooKeeper leaves it to
 * libzookeeper, which ends the session: so the lock is lost, as reported. */
static bool is_allowed(const char *url, int status, const char *error)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    static const struct {
        const char *store; /* what its URL begins with */
        const char *name;
        int code;
        const char *text;
    } allowed[] = {
        {"", "access", 64, "cannot be searched: "},
        {"zookeeper:", "read", 70, "setup_random: Assertion"},
        {"zookeeper:", "fstat", 76, "the lock was lost"},
    };
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        if (strncmp(url, allowed[i].store, strlen(allowed[i].store)) == 0 &&
            strcmp(page->name, allowed[i].name) == 0 &&
            code == allowed[i].code && strstr(error, allowed[i].text) != NULL) {
            return true;
        }
    }
    return false;
}

/* @return what is wrong with this run; NULL: nothing. */
static const char *judge(int status, long ran, const char *error, bool must_run)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *wrong = NULL;
    if (status == -1) {
        wrong = "it hangs";
    } else if (code < 0) {
        wrong = "a signal ended it";
    } else if (!is_known(code)) {
        wrong = "no exit code of holdfast(1)";
    } else if (ran > 1) {
        wrong = "the command ran twice";
    } else if (code == 0 && ran == 0) {
        wrong = "the command did not run";
    } else if (code != 0 && strncmp(error, "holdfast: ", 10) != 0) {
        wrong = "it does not say why";
    } else if (code != 0 && strcmp(page->name, "flock") == 0 &&
               strstr(error, "No locks available") == NULL) {
        wrong = "it takes that for a lock of another process";
    } else if (code != 0 && must_run) {
        wrong = "an interrupted call is not made again";
    }
    return wrong;
}

/* @return whether a call was refused: else there are no more. */
static bool refuse_one(const char *url, long at, bool must_run, long *wrongs)
{
    char error[2000];
    long before = marks();
    page->at = at;
    page->calls = 0;
    page->name[0] = '\0';
    int status = run(url);
    read_error(error, sizeof(error));
    long ran = marks() - before;
    const char *wrong = ran <= 1 && is_allowed(url, status, error)
                            ? NULL
                            : judge(status, ran, error, must_run);
    if (wrong != NULL) {
        ++*wrongs;
        printf("# call %ld, %s: %s (exit %d, signal %d)\n# %s\n", at,
               page->name, wrong, WEXITSTATUS(status), WTERMSIG(status), error);
    }
    return page->name[0] != '\0';
}

static int tap_n;
static int tap_failed;

static void ok(bool passed, const char *title, long count)
{
    tap_failed += !passed;
    printf("%sok %d - %s (%ld calls)\n", passed ? "" : "not ", ++tap_n, title,
           count);
}

static void sweep(const char *url, enum refusal refusal, const char *title)
{
    long at = 1;
    long wrongs = 0;
    page->refusal = (int)refusal;
    while (at < CALLS_MAX &&
           refuse_one(url, at, refusal == REFUSAL_INTERRUPT, &wrongs)) {
        at++;
    }
    ok(wrongs == 0 && at > 1 && at < CALLS_MAX, title, at - 1);
    fflush(stdout);
}

static void make_page(const char *folder)
{
    snprintf(page_path, sizeof(page_path), "%s/page", folder);
    snprintf(mark_path, sizeof(mark_path), "%s/mark", folder);
    snprintf(error_path, sizeof(error_path), "%s/error", folder);
    int fd = open(page_path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*page)) != 0) {
        fail(page_path);
    }
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        fail("mmap");
    }
    close(fd);
}

/* The command of each run. */
static int mark(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    return write(fd, "x", 1) == 1 ? 0 : 98;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--mark") == 0) {
        return mark(argv[2]);
    }
    const char *folder = getenv("W");
    const char *build = getenv("HF_BUILD");
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (argc != 2 || folder == NULL || build == NULL || len < 0) {
        fprintf(stderr, "usage: refuse URL, with $W and $HF_BUILD\n");
        return 64;
    }
    snprintf(shim, sizeof(shim), "%s/tests/lib/refuse_shim.so", build);
    make_page(folder);
    sweep(argv[1], REFUSAL_ERROR, "each call fails once");
    sweep(argv[1], REFUSAL_INTERRUPT, "each call is interrupted once");
    printf("1..%d\n", tap_n);
    return tap_failed;
}
