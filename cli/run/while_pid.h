/* SPDX-License-Identifier: Apache-2.0 */
/* acquire --while-pid: a lock that is renewed in the background for as long as
 * another process lives.
 *
 *     shell ── acquire ── keeper
 *
 * The keeper is forked first, since a client cannot be used after fork(). It
 * acquires the lock, prints the line, closes stdout and reports the exit code
 * to the parent, which exits with it. From then on the keeper has its own
 * session and waits for four events: the end of the process (its pidfd),
 * replies of the store, the time at which it must signal because renewal
 * failed, and a request of `holdfast release`. Without that request the keeper
 * could not distinguish a release from a break, and would signal a script that
 * continues without the lock. It comes by a note (while_note.h), or, where
 * /proc does not show the keeper, on a socket that is named after the owner. */
#ifndef CLI_WHILE_PID_H
#define CLI_WHILE_PID_H

#include "args.h"
#include "base/time.h"
#include "run/while_note.h"
#include "wait_line.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <sys/types.h>

/* acquire --while-pid. @return the exit code; in the keeper, which it forks, it
 * does not return. */
int cli_while_pid(struct cli_args *args);

/* The state of the keeper (while_keep.c). */
struct cli_while {
    struct cli_args *args;
    struct hf_client *client;
    struct hf_lock *lock;
    int64_t ttl_ms;
    struct cli_line_gate *gate; /* shared with the parent */
    int signal;                 /* it cancelled the wait; 0: none did */
    pid_t pid;
    int pidfd;
    struct hf_instant deadline; /* of the lease, as last seen */
    struct cli_note note;
    int listener;      /* `release` connects here; -1: it cannot */
    int peer;          /* one that has connected; -1: none */
    bool is_signalled; /* the process was signalled */
};

/* True if the process has ended. */
bool cli_while_is_over(const struct cli_while *keep);

/* Open `note` and `listener`, for the owner of the lock. */
void cli_while_listen(struct cli_while *keep);

/* Renew the lock until the process ends, or the lock is lost or released. */
void cli_while_keep(struct cli_while *keep);

/* Ask the keeper of `owner`, if this machine has one, to release `name`.
 * @return the status of the release; negative: no reply. */
int cli_while_release(const char *owner, const char *name);

#endif
