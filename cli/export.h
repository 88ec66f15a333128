/* SPDX-License-Identifier: Apache-2.0 */
/* What the command is told of its lock, in its environment. */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "args.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* Set HOLDFAST_NAME, HOLDFAST_FENCE, HOLDFAST_OWNER, of several names by
 * blanks in the order given; HOLDFAST_NAMES, one a line; HOLDFAST_SLOT of a
 * semaphore, and of nothing else. What was inherited is replaced. @p lock NULL:
 * there is none. */
void cli_export(const struct cli_args *args, const struct hf_lock *lock);

/* In a command of `run`: is this owner, as the environment has it, the one that
 * `run` holds @p name by? A text that acquire printed names its ttl, the one of
 * a running command does not. */
bool cli_export_is_of(const char *name, const char *owner);

#endif
