/* SPDX-License-Identifier: Apache-2.0 */
/* acquire --while-pid: a lock that is renewed in the background for as long as
 * another process lives.
 *
 *     shell ── acquire ── keeper
 *
 * The keeper is forked first, since a client does not survive fork(). It takes
 * the lock, prints the line, closes stdout and reports the exit code to the
 * parent, which ends with it. From then on the keeper has a session of its own
 * and waits for four things: the end of the process (its pidfd), the store, the
 * moment at which the lease can no longer be kept, and `holdfast release`,
 * which asks it to give the lock back over a socket that is named after the
 * owner. Without that socket the keeper could not tell a release from a break,
 * and would end a script that goes on without the lock. */
#ifndef CLI_WHILE_PID_H
#define CLI_WHILE_PID_H

#include "args.h"
#include "wait_line.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <sys/types.h>

/* acquire --while-pid. @return the exit code; in the keeper, which it forks, it
 * does not return. */
int cli_while_pid(struct cli_args *args);

/* What the keeper keeps (while_keep.c). */
struct cli_while {
    struct cli_args *args;
    struct hf_client *client;
    struct hf_lock *lock;
    int64_t ttl_ms;
    struct cli_line_gate *gate; /* shared with the parent */
    pid_t pid;
    int pidfd;
    int listener;        /* `release` connects here; -1: it cannot */
    int peer;            /* one that has connected; -1: none */
    int64_t deadline_ns; /* of the lease, as last seen */
    bool is_told;        /* of the loss */
};

/* Has the process ended? */
bool cli_while_is_over(const struct cli_while *keep);

/* Open `listener`, for the owner of the lock. */
void cli_while_listen(struct cli_while *keep);

/* Keep the lock until the process ends, or it is lost or released. */
void cli_while_keep(struct cli_while *keep);

/* Ask the keeper of `owner`, if this machine has one, to release `name`.
 * @return the status of the release; -1: no answer. */
int cli_while_release(const char *owner, const char *name);

#endif
