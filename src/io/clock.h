/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks and the entropy of this machine. */
#ifndef HF_IO_CLOCK_H
#define HF_IO_CLOCK_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CLOCK_BOOTTIME: monotonic, and counts the time of a suspend, during which the
 * leases at a server expire. */
struct hf_instant hf_clock_now(void);

/** By how much the time namespace of this thread moves that clock: 0 outside of
 * one. Within a boot, two clocks of one offset are the same.
 * @return 0; an errno: /proc does not have it; EXDEV: it has only that of the
 *         children, which are in another namespace (unshare(CLONE_NEWTIME)). */
int hf_clock_offset(struct hf_span *out);

/* Bytes, NUL included: a boot id (36), a slash and nanoseconds. */
#define HF_CLOCK_NAME_MAX 64

/** The identity of the clock of hf_clock_now(): boot id and offset. Processes
 * that get the same name read the same clock. @return false: /proc does not
 * have it. */
bool hf_clock_name(char out[HF_CLOCK_NAME_MAX]);

/* Unix time in seconds: for display, never for decisions. */
int64_t hf_clock_wall_s(void);

/* Fill with kernel entropy; blocks until the pool is ready at boot. Aborts if
 * the kernel has none: an owner must never be guessable. */
void hf_entropy(void *out, size_t len);

#endif
