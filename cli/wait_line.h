/* SPDX-License-Identifier: Apache-2.0 */
/* The line of the terminal on which a wait is shown:
 *
 *     waiting 12s for nightly: 2 ahead, held by db3 pid 4711 since 02:00:04,
 *     lease until 02:00:41 (renewed)
 *
 * on one line, refreshed every second, cut with an ellipsis where the terminal
 * ends, and gone when the wait is over or stopped (Ctrl-Z). If no majority of
 * the nodes counts, it says which do not. */
#ifndef CLI_WAIT_LINE_H
#define CLI_WAIT_LINE_H

#include <holdfast/holdfast.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Between what writes the line and what is stopped by Ctrl-Z, which may be two
 * processes: in memory that both see, zeros at first. */
struct cli_line_gate {
    _Atomic int32_t state; /* free, being written, or hidden */
    _Atomic int32_t is_shown;
};

struct cli_line {
    bool is_wanted;   /* stderr is a terminal, and the wait is to be shown */
    pid_t foreground; /* the process group for which it is shown */
    struct cli_line_gate *gate;
    int64_t began_ns;
    int64_t next_ns;
    /* the lease that was seen last: was its end moved since? */
    char owner[HF_OWNER_TEXT_MAX];
    int64_t end_ns;
    bool is_renewed;
};

void cli_line_init(struct cli_line *line, bool is_wanted, pid_t foreground,
                   struct cli_line_gate *gate);

/* Milliseconds until it is due, rounded up; -1: not at all. */
int cli_line_timeout(const struct cli_line *line);

/* Show how `op`, which is under way for `request`, stands, if that is due. Asks
 * the store only if op does not know. */
void cli_line_tick(struct cli_line *line, struct hf_client *client,
                   struct hf_op *op, const struct hf_request *request);

void cli_line_clear(struct cli_line *line);

/* SIGTSTP, which is held back, came: stop this process, without the line until
 * it is continued. Its group is the one for which the line is shown. */
void cli_line_stop(struct cli_line_gate *gate);

#endif
