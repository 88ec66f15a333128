/* SPDX-License-Identifier: Apache-2.0 */
/* Around system calls that raise a signal in the program, whose handling of
 * signals is its own: the signal is blocked in this thread, and one that a call
 * has raised is removed, so the call fails with its error.
 *
 *     struct hf_signal_hold hold;                  on the stack
 *     hf_signal_hold_growth(&hold);
 *     error = posix_fallocate(fd, 0, size);        EFBIG, and no SIGXFSZ
 *     hf_signal_hold_end(&hold);
 *
 * Begin and end are called by the same thread, once each. No return may skip
 * the end: the thread would keep its signals blocked. One that was pending
 * before stays pending. Costs two system calls at the begin, and two at the
 * end. */
#ifndef HF_IO_SIGNAL_HOLD_H
#define HF_IO_SIGNAL_HOLD_H

#include <signal.h>
#include <stdbool.h>

/* On the stack of the thread, from begin to end. */
struct hf_signal_hold {
    sigset_t before;
    int number;
    bool was_pending;
};

/** @param set     what is blocked; has @p number.
 * @param number  the signal that the calls may raise. */
void hf_signal_hold_begin(struct hf_signal_hold *hold, const sigset_t *set,
                          int number);

/* errno is kept. */
void hf_signal_hold_end(const struct hf_signal_hold *hold);

/* Begin one around what makes a file longer, and comes with that, such as a
 * sync. A write beyond the limit on the size of files (ulimit -f) raises
 * SIGXFSZ. All signals but those of the thread's own faults are blocked: one
 * that has a handler may end fallocate(2) with EINTR (tmpfs, on older kernels);
 * a profiler's timer does so again and again. */
void hf_signal_hold_growth(struct hf_signal_hold *hold);

#endif
