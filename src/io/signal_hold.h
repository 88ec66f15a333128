/* SPDX-License-Identifier: Apache-2.0 */
/* Around system calls that make a file longer, and what comes with them, such
 * as a sync: the thread gets no signal but those of its own faults.
 *
 * A write beyond the limit on the size of files (ulimit -f) raises SIGXFSZ,
 * which ends a program that does not ignore it. One that a call has raised is
 * removed, so the program gets the error, EFBIG. And a signal that has a
 * handler may end fallocate(2) with EINTR (tmpfs, on older kernels); a
 * profiler's timer does so again and again. */
#ifndef HF_IO_SIGNAL_HOLD_H
#define HF_IO_SIGNAL_HOLD_H

#include <signal.h>
#include <stdbool.h>

struct hf_signal_hold {
    sigset_t before;
    bool was_pending;
};

void hf_signal_hold_begin(struct hf_signal_hold *hold);

/* errno is kept. */
void hf_signal_hold_end(const struct hf_signal_hold *hold);

#endif
