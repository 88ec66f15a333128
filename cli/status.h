/* SPDX-License-Identifier: Apache-2.0 */
/* --status-fd: a JSON line per event, for a supervisor. A reader that
 * does not read loses events; it never holds up the holder of a lock. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <holdfast/holdfast.h>
#include <stdint.h>

struct cli_status {
    int fd; /* -1: not asked for */
    const char *name;
};

/* "waiting", "lost", "released": no more than the name. */
void cli_status_say(const struct cli_status *status, const char *event);

/* "waiting", in a queue: with how many are ahead. */
void cli_status_ahead(const struct cli_status *status, uint32_t ahead);

/* "acquired", "renewed", "at-risk": with fence, owner and deadline. */
void cli_status_lock(const struct cli_status *status, const char *event,
                     const struct hf_lock *lock);

#endif
