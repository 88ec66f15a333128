/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run a -- … holdfast run a -- …`: the inner one would wait for its
 * own ancestor for ever. */
#ifndef CLI_ANCESTOR_H
#define CLI_ANCESTOR_H

#include "args.h"

#include <holdfast/holdfast.h>

/* Does a process that we descend from hold one of the names, in this very
 * store? Asks the store only if we run under some `holdfast run`.
 *
 * @return 0; the exit code, after a line on stderr that says so. */
int cli_ancestor_refuse(struct hf_client *client, const struct cli_args *args);

#endif
