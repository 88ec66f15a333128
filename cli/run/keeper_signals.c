/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to the keeper. Its pid is what `ls` and all messages show as the
 * holder's, so a kill of that pid must do what a kill of the wrapper does.
 *
 * Most signals that reach the keeper are for all processes of a service, and
 * the wrapper has the same one, and hands it on. The command must not get it
 * twice. The order is not known, nor how far apart the two are. So one of our
 * own is handed on later, unless the wrapper sends the same meanwhile, or has
 * sent it shortly before. What the wrapper sends is never held back. */
#include "run/keeper.h"

#include "clocks.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How far apart a signal to both may be: a busy machine may let the wrapper
 * wait. */
#define APART_NS (500 * CLI_NS_PER_MS)

static const int numbers[CLI_OWN_SIGNALS] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

void cli_keeper_signals_add(const struct cli_keeper *keeper, sigset_t *wanted)
{
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        /* One that is ignored (nohup) stays ignored. */
        if (sigismember(&keeper->run->signals.relayed, numbers[i]) == 1) {
            (void)sigaddset(wanted, numbers[i]);
        }
    }
}

static void note(struct cli_own *own, int number)
{
    int64_t now_ns = cli_time_now_ns();
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        bool was_sent =
            own->sent_ns[i] != 0 && now_ns < own->sent_ns[i] + APART_NS;
        if (numbers[i] == number && own->due_ns[i] == 0 && !was_sent) {
            own->due_ns[i] = now_ns + APART_NS;
        }
    }
}

void cli_keeper_signals_read(struct cli_keeper *keeper)
{
    struct signalfd_siginfo info;
    while (read(keeper->signals, &info, sizeof(info)) == sizeof(info)) {
        note(&keeper->own, (int)info.ssi_signo);
    }
}

void cli_keeper_signals_sent(struct cli_keeper *keeper, int number)
{
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        if (numbers[i] == number) {
            keeper->own.sent_ns[i] = cli_time_now_ns();
            keeper->own.due_ns[i] = 0;
        }
    }
}

int64_t cli_keeper_signals_next(const struct cli_keeper *keeper)
{
    int64_t next_ns = INT64_MAX;
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        int64_t due_ns = keeper->own.due_ns[i];
        if (due_ns != 0 && due_ns < next_ns) {
            next_ns = due_ns;
        }
    }
    return next_ns;
}

int cli_keeper_signals_take(struct cli_keeper *keeper, int64_t until_ns)
{
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        int64_t due_ns = keeper->own.due_ns[i];
        if (due_ns != 0 && due_ns <= until_ns) {
            keeper->own.due_ns[i] = 0;
            return numbers[i];
        }
    }
    return 0;
}

void cli_keeper_signals_hand_on(struct cli_keeper *keeper, int64_t now_ns)
{
    int number;
    while ((number = cli_keeper_signals_take(keeper, now_ns)) != 0) {
        (void)sigaddset(&keeper->handed, number);
        cli_keeper_signal(keeper, number);
    }
}

void cli_keeper_signals_end(struct cli_keeper *keeper)
{
    int number;
    cli_keeper_signals_read(keeper);
    while ((number = cli_keeper_signals_take(keeper, INT64_MAX)) != 0) {
        (void)sigaddset(&keeper->handed, number);
    }
}
