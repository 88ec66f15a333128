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
#define APART_MS 500

static const int numbers[CLI_OWN_SIGNALS] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

void cli_keeper_signals_init(struct cli_own *own)
{
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        own->due[i] = HF_NEVER;
        own->sent[i] = HF_LONG_AGO;
    }
}

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
    struct hf_instant now = cli_time_now();
    struct hf_span apart = hf_span_ms(APART_MS);
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        bool was_sent =
            hf_instant_before(now, hf_instant_add(own->sent[i], apart));
        if (numbers[i] == number && hf_instant_is_never(own->due[i]) &&
            !was_sent) {
            own->due[i] = hf_instant_add(now, apart);
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
            keeper->own.sent[i] = cli_time_now();
            keeper->own.due[i] = HF_NEVER;
        }
    }
}

struct hf_instant cli_keeper_signals_next(const struct cli_keeper *keeper)
{
    struct hf_instant next = HF_NEVER;
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        next = hf_instant_min(next, keeper->own.due[i]);
    }
    return next;
}

int cli_keeper_signals_take(struct cli_keeper *keeper, struct hf_instant until)
{
    for (size_t i = 0; i < CLI_OWN_SIGNALS; i++) {
        struct hf_instant due = keeper->own.due[i];
        if (!hf_instant_is_never(due) && !hf_instant_before(until, due)) {
            keeper->own.due[i] = HF_NEVER;
            return numbers[i];
        }
    }
    return 0;
}

void cli_keeper_signals_hand_on(struct cli_keeper *keeper,
                                struct hf_instant now)
{
    int number;
    while ((number = cli_keeper_signals_take(keeper, now)) != 0) {
        (void)sigaddset(&keeper->handed, number);
        cli_keeper_signal(keeper, number);
    }
}

void cli_keeper_signals_end(struct cli_keeper *keeper)
{
    int number;
    cli_keeper_signals_read(keeper);
    while ((number = cli_keeper_signals_take(keeper, HF_NEVER)) != 0) {
        (void)sigaddset(&keeper->handed, number);
    }
}
