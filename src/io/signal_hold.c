/* SPDX-License-Identifier: Apache-2.0 */
#include "io/signal_hold.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

void hf_signal_hold_begin(struct hf_signal_hold *hold, const sigset_t *set,
                          int number)
{
    sigset_t pending;
    hold->number = number;
    pthread_sigmask(SIG_BLOCK, set, &hold->before);
    sigemptyset(&pending);
    sigpending(&pending);
    hold->was_pending = sigismember(&pending, number) == 1;
}

void hf_signal_hold_end(const struct hf_signal_hold *hold)
{
    static const struct timespec at_once = {0};
    int error = errno;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, hold->number);
    if (!hold->was_pending) {
        (void)sigtimedwait(&set, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
    errno = error;
}

void hf_signal_hold_growth(struct hf_signal_hold *hold)
{
    /* Faults of this thread: a blocked one ends the program past its handler.
     */
    static const int faults[] = {SIGSEGV, SIGBUS,  SIGFPE,
                                 SIGILL,  SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sigdelset(&set, faults[i]);
    }
    hf_signal_hold_begin(hold, &set, SIGXFSZ);
}
