/* SPDX-License-Identifier: Apache-2.0 */
/* Detection of nesting: in `holdfast run a -- … holdfast run a -- …` the inner
 * command would wait for its own ancestor for ever. So would one in a script
 * that has put the owner of its own lock, from acquire, into HOLDFAST_OWNER. */
#ifndef CLI_NESTED_H
#define CLI_NESTED_H

#include "args.h"

#include <holdfast/holdfast.h>

/* Check whether an ancestor process holds one of the names in this store. Sends
 * a request only if HOLDFAST_OWNER is set.
 *
 * @return 0 if none does; else the exit code, after a line on stderr. */
int cli_nested_refuse(struct hf_client *client, const struct cli_args *args);

#endif
