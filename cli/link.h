/* SPDX-License-Identifier: Apache-2.0 */
/* Between wrapper and keeper: a socket pair for words, whose end of file tells
 * the keeper that the wrapper died, and a page that both see. */
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cli_link_what {
    CLI_LINK_NONE,      /* nothing more to read */
    CLI_LINK_GONE,      /* the other side died */
    CLI_LINK_SIGNAL,    /* to the keeper: hand this signal on */
    CLI_LINK_RESUMED,   /* to the keeper: we were continued */
    CLI_LINK_UNSTOPPED, /* to the keeper: nobody is there to continue us, so
                           that we did not stop; value: the signal */
    CLI_LINK_STOPPED    /* to the wrapper: this signal stopped the command */
};

struct cli_link_word {
    int32_t what; /* enum cli_link_what */
    int32_t value;
};

struct cli_shared {
    /* When the wrapper, hearing nothing from a keeper that was stopped, ends
     * everything itself; 0: never. CLOCK_BOOTTIME. */
    _Atomic int64_t guard_ns;
    _Atomic int32_t group;      /* the command's process group; 0: not yet */
    _Atomic int32_t exec_errno; /* why the command could not be started */
};

struct cli_link {
    int fds[2]; /* wrapper's, keeper's; -1 once closed */
    struct cli_shared *shared;
    pid_t wrapper;
    pid_t wrapper_group;
};

/* @return false with errno set. */
bool cli_link_open(struct cli_link *link);

/* Never blocks; what does not fit is dropped: the other side is stopped. */
void cli_link_send(int fd, enum cli_link_what what, int value);

/* Never blocks. */
struct cli_link_word cli_link_read(int fd);

#endif
