/* SPDX-License-Identifier: Apache-2.0 */
/* What the command is told of its lock, in its environment. */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "args.h"

#include <holdfast/holdfast.h>

/* Set HOLDFAST_NAME, HOLDFAST_FENCE, HOLDFAST_OWNER, of several names by
 * blanks in the order given; HOLDFAST_SLOT of a semaphore, and of nothing
 * else. What was inherited is replaced. @p lock NULL: there is none. */
void cli_export(const struct cli_args *args, const struct hf_lock *lock);

#endif
