/* SPDX-License-Identifier: Apache-2.0 */
/* A person at a terminal, for tests of screens and of job control:
 *
 *     pty COMMAND [ARG...] <script
 *
 * COMMAND runs in a session of its own on a new terminal. The script has one
 * step a line:
 *     expect TEXT     wait until TEXT appears after the last match
 *     like REGEX      the same for an extended regular expression
 *     drawn TEXT      the same on a screen that is drawn anew for it: Ctrl-L is
 *                     typed until TEXT is there
 *     send TEXT       type it; \n, \r, \\ and \xNN (\x03 is Ctrl-C)
 *     size ROWS COLS  another size of the terminal, which is 24 by 80 at first
 *     shows TEXT      wait until a row of the screen has it
 *     hides TEXT      wait until none has
 *     screen FILE     write there the text of the screen
 *     touch FILE      create it: a process outside that waits for it goes on
 *     close           hang up
 * Each step has 30 s. Exit 0: all done; 1: not, and the transcript is printed
 * as TAP comments, with the processes at the terminal. COMMAND is killed at the
 * end by hanging up. */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 30000 /* for a step of the script: a deadline for hangs */
#define REDRAW_MS 100 /* from a Ctrl-L to the next one */
/* Bytes of output that are kept: some hundred screens. */
#define LOG_MAX (1 << 20)

static char seen[LOG_MAX];
static size_t n_seen, matched;

static long now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* COMMAND may be at its exit when the terminal hangs up: LeakSanitizer stops
 * its threads with ptrace, and never ends if a signal comes then. */
static void check_no_leaks(void)
{
    char options[1024];
    const char *old = getenv("ASAN_OPTIONS");
    (void)snprintf(options, sizeof(options), "%s:detect_leaks=0",
                   old == NULL ? "" : old);
    (void)setenv("ASAN_OPTIONS", options, 1);
}

static pid_t start(int master, char **argv)
{
    const char *name = ptsname(master);
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    (void)setsid();
    int fd = open(name, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0) {
        _exit(126);
    }
    for (int i = 0; i <= 2; i++) {
        (void)dup2(fd, i);
    }
    (void)close(fd);
    (void)close(master);
    check_no_leaks();
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* Read the output of the next `ms`. @return false at the end of the
 * terminal. */
static bool listen_for(int master, long ms)
{
    struct pollfd ready = {.fd = master, .events = POLLIN};
    if (poll(&ready, 1, ms < 0 ? 0 : (int)ms) <= 0) {
        return true;
    }
    ssize_t n = read(master, seen + n_seen, LOG_MAX - 1 - n_seen);
    if (n <= 0) {
        return false;
    }
    n_seen += (size_t)n;
    return n_seen < LOG_MAX - 1;
}

/* @return the end of TEXT in the output that was not matched yet; 0: not
 * found. */
static size_t find(const char *text)
{
    char *at = memmem(seen + matched, n_seen - matched, text, strlen(text));
    return at == NULL ? 0 : (size_t)(at - seen) + strlen(text);
}

static size_t find_like(const char *pattern)
{
    regex_t regex;
    regmatch_t match;
    if (regcomp(&regex, pattern, REG_EXTENDED) != 0) {
        return 0;
    }
    bool is_there = regexec(&regex, seen + matched, 1, &match, 0) == 0;
    regfree(&regex);
    return is_there ? matched + (size_t)match.rm_eo : 0;
}

static bool expect(int master, const char *text, bool is_regex)
{
    long end = now_ms() + STEP_MS;
    for (;;) {
        size_t at = is_regex ? find_like(text) : find(text);
        if (at != 0) {
            matched = at;
            return true;
        }
        long left = end - now_ms();
        if (left <= 0 || !listen_for(master, left)) {
            return false;
        }
    }
}

/* Screen programs send only differences: TEXT may arrive in pieces, or not at
 * all. */
static bool expect_drawn(int master, const char *text)
{
    long end = now_ms() + STEP_MS;
    while (now_ms() < end) {
        matched = n_seen;
        long look = now_ms() + REDRAW_MS;
        if (write(master, "\x0c", 1) != 1) {
            return false;
        }
        while (now_ms() < look) {
            if (!listen_for(master, look - now_ms())) {
                return false;
            }
            if (memmem(seen + matched, n_seen - matched, text, strlen(text)) !=
                NULL) {
                return true;
            }
        }
    }
    return false;
}

/* An incomplete sequence waits for the rest; an unknown one is never
 * removed. */
static bool replay(int master)
{
    struct winsize size;
    size_t rest;
    return ioctl(master, TIOCGWINSZ, &size) == 0 &&
           screen_replay(seen, n_seen, size.ws_row, size.ws_col, &rest);
}

static bool expect_shown(int master, const char *text, bool is_there)
{
    long end = now_ms() + STEP_MS;
    while (!replay(master) || screen_has(text) != is_there) {
        long left = end - now_ms();
        if (left <= 0 || !listen_for(master, left)) {
            return replay(master) && screen_has(text) == is_there;
        }
    }
    return true;
}

static bool write_screen(int master, const char *path)
{
    FILE *file = replay(master) ? fopen(path, "we") : NULL;
    if (file == NULL) {
        return false;
    }
    screen_print(file);
    return fclose(file) == 0;
}

static bool type(int master, char *text)
{
    size_t n = 0;
    for (char *p = text; *p != '\0'; p++) {
        char c = *p;
        if (c == '\\' && p[1] == 'x') {
            char digits[3] = {p[2], p[3], '\0'};
            c = (char)strtol(digits, NULL, 16);
            p += 3;
        } else if (c == '\\') {
            p++;
            c = (char)(*p == 'n' ? '\n' : *p == 'r' ? '\r' : *p);
        }
        text[n++] = c;
    }
    return write(master, text, n) == (ssize_t)n;
}

static void show(const char *step)
{
    bool at_start = true;
    printf("# pty: stuck at: %s\n", step);
    for (size_t i = 0; i < n_seen; i++) {
        char c = seen[i];
        printf("%s", at_start ? "# | " : "");
        at_start = c == '\n';
        if (c == '\n' || (c >= ' ' && c < 127)) {
            putchar(c);
        } else if (c != '\r') {
            printf("<%02x>", (unsigned)(unsigned char)c);
        }
    }
    printf("\n# pty: matched up to byte %zu of %zu\n", matched, n_seen);
}

/* The processes at the terminal: which group has it, and which are stopped. */
static void show_processes(int master)
{
    char command[200];
    const char *name = ptsname(master);
    snprintf(command, sizeof(command),
             "ps -o pid,pgid,tpgid,stat,wchan:16,args -t %s | sed 's/^/# | /'",
             name == NULL ? "none" : name);
    fflush(stdout);
    if (system(command) != 0) {
        printf("# pty: no ps\n");
    }
}

static bool resize(int master, const char *text)
{
    char *rest;
    struct winsize size = {.ws_row = (unsigned short)strtoul(text, &rest, 10)};
    size.ws_col = (unsigned short)strtoul(rest, NULL, 10);
    return ioctl(master, TIOCSWINSZ, &size) == 0;
}

static bool step(int *master, char *line)
{
    if (strncmp(line, "expect ", 7) == 0) {
        return expect(*master, line + 7, false);
    }
    if (strncmp(line, "like ", 5) == 0) {
        return expect(*master, line + 5, true);
    }
    if (strncmp(line, "drawn ", 6) == 0) {
        return expect_drawn(*master, line + 6);
    }
    if (strncmp(line, "shows ", 6) == 0 || strncmp(line, "hides ", 6) == 0) {
        return expect_shown(*master, line + 6, line[0] == 's');
    }
    if (strncmp(line, "screen ", 7) == 0) {
        return write_screen(*master, line + 7);
    }
    if (strncmp(line, "send ", 5) == 0) {
        return type(*master, line + 5);
    }
    if (strncmp(line, "size ", 5) == 0) {
        return resize(*master, line + 5);
    }
    if (strncmp(line, "touch ", 6) == 0) {
        int fd = open(line + 6, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        return fd >= 0 && close(fd) == 0;
    }
    if (strcmp(line, "close") == 0) {
        (void)close(*master);
        *master = -1;
        return true;
    }
    return line[0] == '\0' || line[0] == '#';
}

int main(int argc, char **argv)
{
    char line[4096];
    char copy[4096];
    int code = 0;
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* the default of terminals */
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (argc < 2 || master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
        fprintf(stderr, "usage: pty COMMAND [ARG...] <script\n");
        return 64;
    }
    (void)resize(master, "24 80");
    pid_t pid = start(master, argv + 1);
    while (code == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        memcpy(copy, line, sizeof(copy));
        if (!step(&master, line)) {
            show(copy);
            show_processes(master);
            code = 1;
        }
    }
    if (master >= 0) {
        (void)close(master);
    }
    /* The session leader gets SIGHUP; one that waits for its job is killed. */
    for (int i = 0; i < 200 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
        (void)usleep(10000);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return code;
}
