/* SPDX-License-Identifier: Apache-2.0 */
/* ls --follow: print a line for each change. */
#ifndef CLI_VIEW_FOLLOW_H
#define CLI_VIEW_FOLLOW_H

#include "args.h"

/* Until a signal, or until the output is closed. `name`: this very name; NULL:
 * the pattern, or all. @return the exit code. */
int cli_view_follow(struct hf_client *client, const struct cli_args *args,
                    const char *name);

#endif
