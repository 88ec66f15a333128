/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ls, one row for each name. */
#ifndef CLI_VIEW_TABLE_H
#define CLI_VIEW_TABLE_H

#include "ls/view.h"
#include "out.h"

#include <stddef.h>

/* Print a view that is not empty. CLI_WIDTH_ANY: columns have fixed positions,
 * and longer texts move later ones to the right. Else lines fit `width`: names,
 * holders and labels are truncated, and columns omitted, the least needed
 * first.
 */
void cli_view_table(struct cli_out *out, const struct cli_view *view,
                    size_t width);

#endif
