/* SPDX-License-Identifier: Apache-2.0 */
/* ls NAME: one name, node by node, with its queue. */
#ifndef CLI_VIEW_NAME_H
#define CLI_VIEW_NAME_H

#include "out.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* @return 0, or the exit code after a line on stderr. */
int cli_view_name(struct cli_out *out, struct hf_client *client,
                  const char *name, bool is_json);

#endif
