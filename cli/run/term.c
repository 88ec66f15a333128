/* SPDX-License-Identifier: Apache-2.0 */
#include "run/term.h"

#include <fcntl.h>
#include <unistd.h>

void cli_term_find(struct cli_term *term, pid_t group)
{
    term->is_own = false;
    term->fd = tcgetpgrp(STDIN_FILENO) == group ? STDIN_FILENO : -1;
}

void cli_term_open(struct cli_term *term)
{
    if (term->fd < 0) {
        term->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        term->is_own = term->fd >= 0;
    }
}

void cli_term_close(struct cli_term *term)
{
    if (term->is_own) {
        (void)close(term->fd);
    }
    term->is_own = false;
    term->fd = -1;
}

pid_t cli_term_group(const struct cli_term *term)
{
    return term->fd < 0 ? -1 : tcgetpgrp(term->fd);
}

bool cli_term_move(const struct cli_term *term, pid_t from, pid_t to)
{
    return from > 0 && cli_term_group(term) == from &&
           tcsetpgrp(term->fd, to) == 0;
}
