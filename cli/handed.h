/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that outlive a command: what acquire prints and extend and release
 * are given. */
#ifndef CLI_HANDED_H
#define CLI_HANDED_H

#include "args.h"

#include <holdfast/holdfast.h>

/* --owner, else HOLDFAST_OWNER; NULL after a line on stderr. */
const char *cli_handed_owner(const struct cli_args *args);

/* The line and the exit code when extend or release did not succeed. */
int cli_handed_fail(enum hf_status status, const struct cli_args *args,
                    const struct hf_error *error);

/* Hand the lock on by printing it; consumes it. What cannot be printed is
 * released: its owner would be unknown. @return the exit code. */
int cli_handed_print(struct hf_client *client, struct hf_lock *lock,
                     const struct cli_args *args);

/* Print a lock that is kept, as cli_handed_print() does; it stays the caller's.
 * @return the exit code. */
int cli_handed_show(struct hf_lock *lock, int64_t ttl_ms,
                    const struct cli_args *args);

#endif
