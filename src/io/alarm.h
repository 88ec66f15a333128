/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that becomes readable at an instant of hf_clock_now(). Leases
 * continue while the machine is suspended, so their timer must, too: the
 * timeouts of poll() and epoll count CLOCK_MONOTONIC, which stops.
 *
 *     struct hf_alarm alarm = HF_ALARM_CLOSED;
 *     if (!hf_alarm_open(&alarm)) …                errno
 *     hf_alarm_set_earlier(&alarm, due);           as often as wanted
 *     poll() or epoll on alarm.fd; when it is readable:
 *     … do what is due …
 *     hf_alarm_set(&alarm, next);                  clears the expiry
 *     hf_alarm_close(&alarm);
 *
 * It stays readable until it is set again: nothing needs to be read from it. If
 * the caller knows that it has expired and does not set it, it writes HF_NEVER
 * to `at`, or hf_alarm_set_earlier() compares with the past. Threads: one at a
 * time, but any may poll the descriptor. Blocks: never. */
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
