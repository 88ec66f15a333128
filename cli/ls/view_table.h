/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ls, one row for each name. */
#ifndef CLI_VIEW_TABLE_H
#define CLI_VIEW_TABLE_H

#include "ls/view.h"
#include "out.h"

#include <stddef.h>

/* Print a view that is not empty. CLI_WIDTH_ANY: in columns of fixed places,
 * which what is longer pushes to the right. Else no line is wider: names,
 * holders and labels are cut, and columns left out, the least needed first. */
void cli_view_table(struct cli_out *out, const struct cli_view *view,
                    size_t width);

#endif
