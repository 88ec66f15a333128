/* SPDX-License-Identifier: Apache-2.0 */
/* The critical section of the interoperation tests, the same for every side.
 *
 *     section FOLDER SIDE MILLISECONDS
 *
 * It makes FOLDER/witness exclusively, stays, and removes it. One that it
 * finds there and whose maker lives is an overlap: two were let in at once.
 * A dead maker's is what a kill left behind. link(2) is O_EXCL that brings the
 * content along: the file names its maker from the first moment.
 *
 * Notes: FOLDER/overlaps, and FOLDER/grants.SIDE, a line "PID FENCE" each. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* One write(2) with O_APPEND: lines of several processes do not mix. */
static void note(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        die(file);
    }
    close(fd);
}

/* The process that made the witness; 0 if the file no longer exists. */
static pid_t maker(void)
{
    char text[32] = "";
    int fd = open("witness", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (read(fd, text, sizeof(text) - 1) < 0) {
        die("witness");
    }
    close(fd);
    return (pid_t)strtol(text, NULL, 10);
}

/* A killed process that its parent has not reaped yet counts as dead. */
static bool is_alive(pid_t pid)
{
    char path[64];
    char text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *state = strrchr(text, ')');
    return len > 0 && state != NULL && state[2] != 'Z' && state[2] != 'X';
}

static void enter(const char *mine, const char *side)
{
    while (link(mine, "witness") < 0) {
        if (errno != EEXIST) {
            die("link");
        }
        pid_t other = maker();
        if (other != 0 && is_alive(other)) {
            char text[128];
            snprintf(text, sizeof(text), "%s pid %d found pid %d inside\n",
                     side, (int)getpid(), (int)other);
            note("overlaps", text);
            exit(3);
        }
        unlink("witness");
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]) < 0) {
        die("usage: section FOLDER SIDE MILLISECONDS");
    }
    char mine[64];
    char text[64];
    const char *fence = getenv("HOLDFAST_FENCE");
    snprintf(mine, sizeof(mine), "pid.%d", (int)getpid());
    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    note(mine, text);
    enter(mine, argv[2]);
    unlink(mine);

    long ms = strtol(argv[3], NULL, 10);
    struct timespec stay = {.tv_sec = ms / 1000,
                            .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&stay, NULL); /* sleeps: how long the lock is held */

    char grants[64];
    snprintf(grants, sizeof(grants), "grants.%s", argv[2]);
    snprintf(text, sizeof(text), "%d %s\n", (int)getpid(),
             fence != NULL ? fence : "0");
    note(grants, text);
    if (maker() != getpid()) {
        note("overlaps", "another process removed the witness\n");
        return 3;
    }
    unlink("witness");
    return 0;
}
