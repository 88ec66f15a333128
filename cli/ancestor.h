/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run a -- … holdfast run a -- …`: the inner one would wait for its
 * own ancestor for ever. */
#ifndef CLI_ANCESTOR_H
#define CLI_ANCESTOR_H

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* Does a process that we descend from hold the name, in this very store? Asks
 * the store only if we run under some `holdfast run`. */
bool cli_ancestor_holds(struct hf_client *client,
                        const struct hf_request *request);

#endif
