/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables of a command that runs under a lock. */
#ifndef CLI_ENV_H
#define CLI_ENV_H

#include "args.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* Set HOLDFAST_NAME, HOLDFAST_FENCE, HOLDFAST_OWNER, of several names by
 * blanks in the order given; HOLDFAST_NAMES, one a line; HOLDFAST_SLOT of a
 * semaphore, else it is unset. Inherited values are replaced. @p lock NULL: the
 * command runs without a lock. */
void cli_env(const struct cli_args *args, const struct hf_lock *lock);

/* True if HOLDFAST_OWNER was set by a `run` that holds @p name, and not copied
 * from acquire: a text of acquire ends with the ttl, one of `run` does not. */
bool cli_env_is_of(const char *name, const char *owner);

#endif
