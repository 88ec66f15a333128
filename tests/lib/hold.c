/* SPDX-License-Identifier: Apache-2.0 */
/* A debugger that stops processes and leaves them standing. They get no signal,
 * their parents see nothing, and all other processes run on.
 *
 *   hold PID...              stop these, print "held", stay until killed. It
 *                            waits for none of them, so one that is killed
 *                            remains a zombie; the others run on when it ends.
 *   hold -s CALL COMMAND...  run COMMAND; stop the process of the name
 *                            "holdfast-keeper" when it enters the system call,
 *                            and print "held PID". SIGUSR1: let it go on. Ends
 *                            with the code of COMMAND. CALL:2 is its second
 *                            such call.
 *
 * CALL is one of the names below. */
#include <linux/ptrace.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD_NAME "holdfast-keeper\n"
#define OPTIONS                                                                \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |        \
     PTRACE_O_TRACECLONE)

struct call {
    const char *name;
    uint64_t number;
    unsigned at; /* which argument must be ... */
    uint64_t is; /* ... this value; 0: any */
};

static const struct call calls[] = {
    {"clone", SYS_clone, 0, 0},
    {"write9", SYS_write, 0, 9}, /* --status-fd 9 */
    {"kill9", SYS_kill, 1, SIGKILL},
};

static const struct call *wanted;
static int calls_left = 1;
static volatile pid_t held;

/* glibc and the kernel's header have different types for the request. */
static long trace(int request, pid_t pid, uintptr_t address, uintptr_t data)
{
    return syscall(SYS_ptrace, request, pid, address, data);
}

/* ---- hold PID... --------------------------------------------------------- */

static int is_tracer_stop(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t len = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[len] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 't';
}

static int hold_all(char **pids)
{
    for (char **at = pids; *at != NULL; at++) {
        pid_t pid = (pid_t)atoi(*at);
        if (trace(PTRACE_SEIZE, pid, 0, 0) != 0 ||
            trace(PTRACE_INTERRUPT, pid, 0, 0) != 0) {
            perror("hold");
            return 1;
        }
    }
    for (char **at = pids; *at != NULL; at++) {
        while (!is_tracer_stop((pid_t)atoi(*at))) {
            usleep(500);
        }
    }
    puts("held");
    fflush(stdout);
    for (;;) {
        pause();
    }
}

/* ---- hold -s CALL COMMAND... --------------------------------------------- */

static void let_go(int number)
{
    (void)number;
    if (held > 0) {
        (void)trace(PTRACE_CONT, held, 0, 0);
    }
}

static int is_keeper(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        (void)!fgets(name, sizeof(name), file);
        fclose(file);
    }
    return strcmp(name, HELD_NAME) == 0;
}

static int is_wanted(pid_t pid)
{
    struct ptrace_syscall_info info;
    memset(&info, 0, sizeof(info));
    if (held != 0 || trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info),
                           (uintptr_t)&info) <= 0) {
        return 0;
    }
    return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
           info.entry.nr == wanted->number &&
           (wanted->is == 0 || info.entry.args[wanted->at] == wanted->is) &&
           is_keeper(pid) && --calls_left == 0;
}

/* It watches system calls only until a process is stopped. */
static void go_on(pid_t pid, int number)
{
    (void)trace(held == 0 ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0,
                (uintptr_t)number);
}

static void on_stop(pid_t pid, int status)
{
    int number = WSTOPSIG(status);
    int event = status >> 16;
    if (number == (SIGTRAP | 0x80)) {
        if (is_wanted(pid)) {
            printf("held %d\n", (int)pid);
            fflush(stdout);
            held = pid;
            return;
        }
        go_on(pid, 0);
    } else if (event == PTRACE_EVENT_STOP && number != SIGTRAP) {
        (void)trace(PTRACE_LISTEN, pid, 0, 0); /* stopped by a signal */
    } else {
        go_on(pid, event != 0 ? 0 : number);
    }
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int trace_command(char **command)
{
    int status;
    struct sigaction action = {.sa_handler = let_go, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        execvp(command[0], command);
        _exit(127);
    }
    (void)waitpid(child, &status, WUNTRACED);
    if (trace(PTRACE_SEIZE, child, 0, OPTIONS) != 0 ||
        kill(child, SIGCONT) != 0) {
        perror("hold");
        return 1;
    }
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) {
            return 1;
        }
        if (WIFSTOPPED(status)) {
            on_stop(pid, status);
        } else if (pid == child) {
            return code_of(status);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "-s") == 0) {
        char *count = strchr(argv[2], ':');
        if (count != NULL) {
            *count = '\0';
            calls_left = atoi(count + 1);
        }
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            if (strcmp(argv[2], calls[i].name) == 0) {
                wanted = &calls[i];
                return trace_command(argv + 3);
            }
        }
    }
    return argc > 1 && wanted == NULL && argv[1][0] != '-' ? hold_all(argv + 1)
                                                           : 64;
}
