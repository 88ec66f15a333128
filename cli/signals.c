/* SPDX-License-Identifier: Apache-2.0 */
#include "signals.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static const int relayed[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                              SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP};

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

void cli_signals_block(struct cli_signals *signals)
{
    static const struct sigaction as_usual = {.sa_handler = SIG_DFL};
    (void)sigemptyset(&signals->relayed);
    for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++) {
        if (!is_ignored(relayed[i])) {
            (void)sigaddset(&signals->relayed, relayed[i]);
        }
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        (void)sigaddset(&signals->relayed, number);
    }
    (void)sigaddset(&signals->relayed, SIGCONT);
    sigset_t blocked = signals->relayed;
    (void)sigaddset(&blocked, SIGCHLD);
    (void)sigaddset(&blocked, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &blocked, &signals->before);
    signals->ignored_read = is_ignored(SIGTTIN);
    signals->ignored_child = is_ignored(SIGCHLD);
    if (signals->ignored_child) {
        (void)sigaction(SIGCHLD, &as_usual, NULL);
    }
}

void cli_signals_block_pipe(void)
{
    sigset_t pipe;
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)sigprocmask(SIG_BLOCK, &pipe, NULL);
}

void cli_signals_restore(const struct cli_signals *signals)
{
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (signals->ignored_child) {
        (void)sigaction(SIGCHLD, &ignore, NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

bool cli_signals_stop(pid_t pid, int number)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t set, older, pending;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)sigpending(&older);
    (void)sigdelset(&older, number); /* delivered with ours */
    (void)kill(pid, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    /* Stopped here, until SIGCONT. A further stop since then, such as Ctrl-Z,
     * has discarded that. */
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigpending(&pending);
    bool is_continued = sigismember(&pending, SIGCONT) == 1;
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        is_continued = is_continued || (sigismember(&pending, stops[i]) == 1 &&
                                        sigismember(&older, stops[i]) == 0);
    }
    return is_continued;
}

void cli_signals_die(pid_t pid, int number)
{
    static const struct rlimit no_core = {0, 0};
    sigset_t set;
    if (is_ignored(number)) {
        return;
    }
    (void)setrlimit(RLIMIT_CORE, &no_core);
    /* The limit is not applied where cores go to a program. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)signal(number, SIG_DFL);
    (void)kill(pid, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool cli_signals_ends(int number)
{
    return number != SIGWINCH && number != SIGTSTP && number != SIGCONT &&
           number != SIGCHLD;
}

void cli_signals_name(struct cli_out *out, int number)
{
    const char *name = sigabbrev_np(number);
    if (name == NULL) {
        cli_out_text(out, "signal ");
        cli_out_int(out, number);
        return;
    }
    cli_out_text(out, "SIG");
    cli_out_text(out, name);
}
