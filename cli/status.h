/* SPDX-License-Identifier: Apache-2.0 */
/* --status-fd: a JSON line per event, for a supervisor. If the reader does not
 * read, events are dropped; writing never blocks the holder of a lock. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <holdfast/holdfast.h>
#include <stdint.h>

struct cli_status {
    int fd; /* -1: off */
    const char *name;
};

/* "waiting", "lost", "released": with the name only. */
void cli_status_say(const struct cli_status *status, const char *event);

/* "waiting", in a queue: with the number of earlier waiters. */
void cli_status_ahead(const struct cli_status *status, uint32_t ahead);

/* "acquired", "renewed", "at-risk": with fence, owner and deadline. */
void cli_status_lock(const struct cli_status *status, const char *event,
                     const struct hf_lock *lock);

#endif
