/* SPDX-License-Identifier: Apache-2.0 */
#include "run/while_note.h"

#include "base/assert.h"
#include "clocks.h"
#include "out.h"
#include "text_size.h"

#include <holdfast/holdfast.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A release takes node_timeout at most; the rest is for a busy machine. */
#define ANSWER_MS 10000

/* No descriptor reports a write to the note: it is read this often. */
#define LOOK_MS 5

#ifndef MFD_NOEXEC_SEAL
/* Linux 6.3; a kernel that demands it may refuse files without it. */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* Hexadecimal digits at the beginning of an owner: its 128 random bits. */
#define ID_LEN 32

/* Bytes of a note: whether a release was asked for, whether it was done, its
 * status, and the name. Read and written by system calls: a mapping would end a
 * reader by SIGBUS if the other process truncated the file. */
#define AT_ASKED 0
#define AT_DONE 1
#define AT_STATUS 2
#define AT_NAME 3
#define NOTE_MAX (AT_NAME + HF_NAME_MAX)

/* "holdfast-keeper-" and the id; no other process can have a file of this name
 * unless it knows the owner. */
static const char prefix[] = "holdfast-keeper-";

/* Bytes, without the NUL. */
#define TITLE_LEN (sizeof(prefix) - 1 + ID_LEN)

static bool set_title(char title[TITLE_LEN + 1], const char *owner)
{
    if (strcspn(owner, ":") != ID_LEN) {
        return false;
    }
    memcpy(title, prefix, sizeof(prefix) - 1);
    memcpy(title + sizeof(prefix) - 1, owner, ID_LEN);
    title[TITLE_LEN] = '\0';
    return true;
}

/* ---- The keeper's end --------------------------------------------------- */

static int make_file(const char *title)
{
    int file = memfd_create(title, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return file >= 0 || errno != EINVAL ? file
                                        : memfd_create(title, MFD_CLOEXEC);
}

/* SIGURG, since it does nothing to a process that does not wait for it. */
static int open_signals(void)
{
    sigset_t wake;
    (void)sigemptyset(&wake);
    (void)sigaddset(&wake, SIGURG);
    (void)sigprocmask(SIG_BLOCK, &wake, NULL);
    return signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cli_note_open(struct cli_note *note, const char *owner, const char *name)
{
    char title[TITLE_LEN + 1];
    char text[NOTE_MAX] = {[AT_ASKED] = 0};
    size_t len = strlen(name);
    HF_ASSERT(len <= HF_NAME_MAX); /* it fits into the note */
    note->signals = open_signals();
    note->file = set_title(title, owner) ? make_file(title) : -1;
    memcpy(text + AT_NAME, name, len);
    if (note->file >= 0 && write(note->file, text, AT_NAME + len) < 0) {
        (void)close(note->file);
        note->file = -1;
    }
}

bool cli_note_read_asked(const struct cli_note *note)
{
    struct signalfd_siginfo info;
    char asked = 0;
    while (read(note->signals, &info, sizeof(info)) > 0) {
    }
    return pread(note->file, &asked, 1, AT_ASKED) == 1 && asked != 0;
}

void cli_note_answer(const struct cli_note *note, int status)
{
    const char answer[] = {1, (char)status};
    HF_ASSERT(status >= 0 && status <= UCHAR_MAX);
    (void)!pwrite(note->file, answer, sizeof(answer), AT_DONE);
}

/* ---- The end of `release` ----------------------------------------------- */

struct keeper {
    int process; /* a pidfd */
    int file;    /* its note */
};

/* The second colon of "ID:HOST:PID:SINCE" is before the pid. @return 0: there
 * is no pid. */
static pid_t pid_of(const char *owner)
{
    const char *colon = strchr(owner, ':');
    colon = colon != NULL ? strchr(colon + 1, ':') : NULL;
    long pid = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* @return the file, or -1: the entry is not the note. */
static int open_if_note(int folder, const char *entry, const char *title)
{
    static const char before[] = "/memfd:";
    char target[sizeof(before) + TITLE_LEN];
    size_t len = sizeof(before) - 1 + TITLE_LEN;
    bool is_note = readlinkat(folder, entry, target, len) == (ssize_t)len &&
                   memcmp(target, before, sizeof(before) - 1) == 0 &&
                   memcmp(target + sizeof(before) - 1, title, TITLE_LEN) == 0;
    return is_note ? openat(folder, entry, O_RDWR | O_CLOEXEC) : -1;
}

static int find_note(pid_t pid, const char *title)
{
    char path[CLI_PROC_PATH_MAX];
    struct cli_out out;
    int file = -1;
    cli_out_init_text(&out, path, sizeof(path));
    cli_out_text(&out, "/proc/");
    cli_out_int(&out, pid);
    cli_out_text(&out, "/fd");
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -1;
    }
    struct dirent *entry;
    /* cppcheck-suppress readdirCalled; no other thread has the stream */
    while (file < 0 && (entry = readdir(folder)) != NULL) {
        file = open_if_note(dirfd(folder), entry->d_name, title);
    }
    (void)closedir(folder);
    return file;
}

static bool is_of(const struct keeper *keeper, const char *name)
{
    char text[NOTE_MAX];
    size_t len = strlen(name);
    ssize_t got = pread(keeper->file, text, sizeof(text), 0);
    return got == (ssize_t)(AT_NAME + len) &&
           memcmp(text + AT_NAME, name, len) == 0;
}

/* One write sets both, so that no answer is read without its status. */
static bool read_answer(const struct keeper *keeper, int *status)
{
    unsigned char answer[AT_NAME - AT_DONE];
    if (pread(keeper->file, answer, sizeof(answer), AT_DONE) !=
            sizeof(answer) ||
        answer[0] == 0) {
        return false;
    }
    *status = answer[AT_STATUS - AT_DONE];
    return true;
}

/* A keeper that ended has answered before, or never will. */
static int await_answer(const struct keeper *keeper)
{
    struct pollfd ended = {.fd = keeper->process, .events = POLLIN};
    struct hf_instant until =
        hf_instant_add(cli_time_now(), hf_span_ms(ANSWER_MS));
    int status = CLI_NOTE_SILENT;
    bool is_over = false;
    while (!read_answer(keeper, &status) && !is_over) {
        is_over = poll(&ended, 1, LOOK_MS) > 0 ||
                  !hf_instant_before(cli_time_now(), until);
    }
    (void)read_answer(keeper, &status);
    return status;
}

static int ask(const struct keeper *keeper, const char *name)
{
    const char asked = 1;
    int before; /* the lock was released already: the store refuses this one */
    if (!is_of(keeper, name) || read_answer(keeper, &before) ||
        pwrite(keeper->file, &asked, 1, AT_ASKED) != 1) {
        return CLI_NOTE_NONE;
    }
    (void)syscall(SYS_pidfd_send_signal, keeper->process, SIGURG, NULL, 0);
    return await_answer(keeper);
}

int cli_note_ask(const char *owner, const char *name)
{
    char title[TITLE_LEN + 1];
    int status = CLI_NOTE_NONE;
    pid_t pid = pid_of(owner);
    if (pid == 0 || !set_title(title, owner)) {
        return status;
    }
    struct keeper keeper = {.process = (int)syscall(SYS_pidfd_open, pid, 0)};
    if (keeper.process < 0) {
        return status;
    }
    keeper.file = find_note(pid, title);
    if (keeper.file >= 0) {
        status = ask(&keeper, name);
        (void)close(keeper.file);
    }
    (void)close(keeper.process);
    return status;
}
