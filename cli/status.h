/* SPDX-License-Identifier: Apache-2.0 */
/* --status-fd: a JSON line per event, for a supervisor. If the reader does not
 * read, events are dropped: writing delays the holder of a lock by at most
 * CLI_OUT_PATIENCE_MS. Of a line that was begun the rest is dropped; the next
 * event has a line of its own. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>

struct cli_status {
    int fd; /* -1: off */
    const char *name;
    bool is_cut; /* the last line has no end */
};

/* "waiting", "lost", "released": with the name only. */
void cli_status_say(struct cli_status *status, const char *event);

/* "waiting", in a queue: with the number of earlier waiters. */
void cli_status_ahead(struct cli_status *status, uint32_t ahead);

/* "acquired", "renewed", "at-risk": with fence, owner and deadline. */
void cli_status_lock(struct cli_status *status, const char *event,
                     const struct hf_lock *lock);

#endif
