/* SPDX-License-Identifier: Apache-2.0 */
/* The line of the terminal on which a wait is shown:
 *
 *     waiting 12s for nightly: held by db3 pid 4711 since 02:00:04, 2 ahead,
 *     frees by 02:00:41
 *
 * on one line, refreshed every second, cut where the terminal ends, and gone
 * when the wait is over. */
#ifndef CLI_WAIT_LINE_H
#define CLI_WAIT_LINE_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_line {
    bool is_wanted;   /* stderr is a terminal, and the wait is to be shown */
    bool is_shown;    /* it stands there */
    pid_t foreground; /* the process group for which it is shown */
    int64_t began_ns;
    int64_t next_ns;
};

void cli_line_init(struct cli_line *line, bool is_wanted, pid_t foreground);

/* Milliseconds until it is due, rounded up; -1: not at all. */
int cli_line_timeout(const struct cli_line *line);

/* Show how `op`, which is under way for `request`, stands, if that is due. Asks
 * the store only if op does not know. */
void cli_line_tick(struct cli_line *line, struct hf_client *client,
                   struct hf_op *op, const struct hf_request *request);

void cli_line_clear(const struct cli_line *line);

#endif
