/* SPDX-License-Identifier: Apache-2.0 */
/* Communication of wrapper and keeper: a socket pair for messages, on which end
 * of file means that the other process died; a page of shared memory; and the
 * last timer, which the keeper sets and the wrapper polls. The timer is one
 * object in the kernel with a descriptor in each process. So the keeper can set
 * it without waking the wrapper, and it expires even if the keeper is stopped.
 *
 *     cli_ipc_open(&link);                     before the fork
 *     close(link.fds[1]);                      in the wrapper
 *     close(link.fds[0]);                      in the keeper
 *     cli_ipc_set_last_timer(&link, at);       keeper: at each renewal
 *     cli_ipc_read_last_timer(&link);          wrapper: when it is readable
 *     cli_ipc_send(fd, CLI_LINK_SIGNAL, n);    either, by its own end
 *     while ((word = cli_ipc_read(fd)).kind != CLI_LINK_NONE && …GONE)
 *
 * Each process must close the other's end: the end of file is what reports the
 * death of a process. */
#ifndef CLI_IPC_H
#define CLI_IPC_H

#include "base/time.h"
#include "run/interrupt.h"
#include "status.h"
#include "wait_line.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cli_ipc_kind {
    CLI_LINK_NONE,      /* no message */
    CLI_LINK_GONE,      /* the other process died */
    CLI_LINK_SIGNAL,    /* to the keeper: forward this signal */
    CLI_LINK_RESUMED,   /* to the keeper: the wrapper was continued; value: the
                           number of times % CLI_LINK_TIMES */
    CLI_LINK_UNSTOPPED, /* to the keeper: the wrapper did not stop, since there
                           is no shell to continue it; value: the signal */
    CLI_LINK_STOPPED    /* to the wrapper: the command was stopped; value: the
                           signal, and cli_shared.resumed * CLI_LINK_SIGNALS */
};

/* Signal numbers in a value: Linux has 64. */
#define CLI_LINK_SIGNALS 128

/* Continuations are counted modulo this, so that number and signal are one
 * int32_t. So many do not come between a stop and its message. */
#define CLI_LINK_TIMES (1 << 16)

struct cli_ipc_word {
    int32_t kind; /* enum cli_ipc_kind */
    int32_t value;
};

struct cli_shared {
    _Atomic int32_t group;      /* the command's process group; 0: not yet */
    _Atomic int32_t exec_errno; /* why the command could not be started */
    _Atomic int32_t terminal_group; /* the command's, until the keeper has given
                                       the terminal back; 0: no command */
    _Atomic int32_t resumed;   /* the value of the last CLI_LINK_RESUMED that
                                  the keeper has read */
    atomic_bool is_lent;       /* the terminal is with the wrapper's group,
                                  until the command wants it */
    atomic_bool frees_at_end;  /* the store watches the run's processes */
    atomic_bool is_kept;       /* "acquired" is the last of the events, or will
                                  be: "lost" or "released" is to follow */
    struct cli_status status;  /* of the keeper; once that is dead, of the
                                  wrapper */
    struct cli_line_gate line; /* of the status line of a wait */
    struct cli_interrupt interrupt; /* set by the keeper when it ends */
};

struct cli_ipc {
    int fds[2];     /* wrapper's, keeper's; -1 once closed */
    int last_timer; /* timerfd, CLOCK_BOOTTIME */
    struct cli_shared *shared;
    pid_t wrapper;
    pid_t wrapper_group;
};

/* @return false with errno set. */
bool cli_ipc_open(struct cli_ipc *link);

/* In the keeper: the wrapper ends the command at @p at unless it is set again
 * before. HF_NEVER: it is off. */
void cli_ipc_set_last_timer(const struct cli_ipc *link, struct hf_instant at);

/* In the wrapper: true if the last timer has expired. False if the keeper set
 * it again after its descriptor became readable. Never blocks. */
bool cli_ipc_read_last_timer(const struct cli_ipc *link);

/** Send a message. Never blocks.
 * @return false: the buffer is full, because the other process is stopped; the
 * message is dropped. */
bool cli_ipc_send(int fd, enum cli_ipc_kind kind, int value);

/* Never blocks. */
struct cli_ipc_word cli_ipc_read(int fd);

#endif
