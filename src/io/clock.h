/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks and the entropy of this machine. */
#ifndef HF_IO_CLOCK_H
#define HF_IO_CLOCK_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>

/* CLOCK_BOOTTIME: steady, and counts suspend, as a server's ttl does while
 * this machine sleeps. */
struct hf_instant hf_clock_now(void);

#define HF_CLOCK_NAME_MAX 64

/* Which clock hf_clock_now() reads: boot id and time namespace. Processes that
 * get the same name read the same clock. @return false: /proc does not say. */
bool hf_clock_name(char out[HF_CLOCK_NAME_MAX]);

/* Unix time in seconds: for people, never for decisions. */
int64_t hf_clock_wall_s(void);

/* Fill with kernel entropy; waits for the pool at boot. Aborts if the kernel
 * has none to give: no owner may ever be guessable. */
void hf_entropy(void *out, size_t len);

#endif
