/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that becomes readable at an instant of hf_clock_now(). Leases
 * continue while the machine is suspended, so their timer must, too: the
 * timeouts of poll() and epoll count CLOCK_MONOTONIC, which stops. */
#ifndef HF_IO_ALARM_H
#define HF_IO_ALARM_H

#include "base/time.h"

#include <stdbool.h>

struct hf_alarm {
    int fd;               /* -1: not open */
    struct hf_instant at; /* HF_NEVER: not set, or its expiry was read */
};

/* An initializer: not open. */
#define HF_ALARM_CLOSED ((struct hf_alarm){.fd = -1, .at = HF_NEVER})

/** Open the descriptor if it is not open. @return false: there is none left
 * (errno). */
bool hf_alarm_open(struct hf_alarm *alarm);

/* Close the descriptor if it is open. */
void hf_alarm_close(struct hf_alarm *alarm);

/* Set it to `at`, which clears an expiry; HF_NEVER disarms it. */
void hf_alarm_set(struct hf_alarm *alarm, struct hf_instant at);

/* Set it to `at` only if that is earlier. Deadlines mostly move later, so the
 * alarm then expires once for many of them, without effect, and costs no system
 * call for each. */
void hf_alarm_set_earlier(struct hf_alarm *alarm, struct hf_instant at);

#endif
