/* SPDX-License-Identifier: Apache-2.0 */
/* The status line of a wait on the terminal:
 *
 *     waiting 12s for nightly: 2 ahead, held by db3 pid 4711 since 02:00:04,
 *     lease until 02:00:41 (renewed)
 *
 * on one line, refreshed every second, truncated with an ellipsis to the width
 * of the terminal, and removed when the wait is over or stopped (Ctrl-Z). If no
 * majority of the nodes is available, it lists the nodes that are not.
 *
 *     cli_line_init(&line, is_wanted, getpgrp(), &gate);
 *     while the operation is not done {
 *         poll(fds, n, cli_line_timeout(&line));
 *         hf_client_process(client);
 *         cli_line_tick(&line, client, op, &request);
 *     }
 *     cli_line_clear(&line);
 *
 * On SIGTSTP, in the process that the shell stops: cli_line_stop(&gate). */
#ifndef CLI_WAIT_LINE_H
#define CLI_WAIT_LINE_H

#include "base/time.h"

#include <holdfast/holdfast.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Shared by the process that writes the line and the process that Ctrl-Z stops,
 * which may be the same: in shared memory, zeroed at first. */
struct cli_line_gate {
    _Atomic int32_t state; /* free, being written, or hidden */
    _Atomic int32_t is_shown;
};

/* The line on stderr while a lock is waited for. */
struct cli_line {
    bool is_wanted;   /* stderr is a terminal, and the wait is to be shown */
    pid_t foreground; /* the process group for which it is shown */
    struct cli_line_gate *gate;
    struct hf_instant began;
    struct hf_instant next; /* when it is written again */
    /* the lease that was read last, to detect a renewal */
    char owner[HF_OWNER_TEXT_MAX];
    struct hf_instant lease_end;
    bool is_renewed;
};

/** The wait begins; the first line is due after a while, so a short wait shows
 * none. @param is_wanted false: no line, as with --quiet. @param foreground
 * the line is written only while this process group is in the foreground.
 * @param gate shared, outlives the line. */
void cli_line_init(struct cli_line *line, bool is_wanted, pid_t foreground,
                   struct cli_line_gate *gate);

/* Milliseconds until the next update, rounded up; -1: none is due. */
int cli_line_timeout(const struct cli_line *line);

/* If an update is due, show the state of `op`, which acquires `request`. Sends
 * a request only if op has no holder to show. */
void cli_line_tick(struct cli_line *line, struct hf_client *client,
                   struct hf_op *op, const struct hf_request *request);

/* The wait is over: remove the line, if it is shown. */
void cli_line_clear(struct cli_line *line);

/* Handle SIGTSTP, which is blocked: remove the line and stop this process until
 * it is continued. Its group is the one for which the line is shown. */
void cli_line_stop(struct cli_line_gate *gate);

#endif
