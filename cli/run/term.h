/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal's foreground process group. Callers have SIGTTOU blocked: they
 * set it from the background.
 *
 *     struct cli_term term = {.fd = -1};
 *     cli_term_find(&term, ours);           or cli_term_open(&term)
 *     cli_term_move(&term, ours, command);  the command has it
 *     cli_term_move(&term, command, ours);  and has ended
 *     cli_term_close(&term);
 *
 * Without a terminal each of them does nothing: cli_term_move() returns
 * false. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_term {
    int fd;      /* on the controlling terminal; -1: none known */
    bool is_own; /* we opened it */
};

/* The terminal on stdin, if `group` is in its foreground. */
void cli_term_find(struct cli_term *term, pid_t group);

/* The controlling terminal, even if stdin is another file. */
void cli_term_open(struct cli_term *term);

/* Close it if cli_term_open() opened it; stdin stays open. */
void cli_term_close(struct cli_term *term);

/* The group in the foreground, or -1. */
pid_t cli_term_group(const struct cli_term *term);

/* Put `to` into the foreground if `from` is there. @return true if `to` is in
 * the foreground then. */
bool cli_term_move(const struct cli_term *term, pid_t from, pid_t to);

#endif
