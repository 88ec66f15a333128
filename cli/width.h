/* SPDX-License-Identifier: Apache-2.0 */
/* Text that fits a terminal: cut with an ellipsis, or folded between words.
 *
 *     size_t width = cli_width(STDOUT_FILENO);
 *     cli_width_fold(&out, text, 4, width);
 *
 * Texts are well-formed UTF-8 without controls, as cli_out_shown() writes them.
 * Malformed bytes, such as a character that a buffer truncated, are omitted. */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include "out.h"

#include <stddef.h>

/* The output is no terminal: lines are neither truncated nor folded. */
#define CLI_WIDTH_ANY ((size_t)-1)

/* Columns of the terminal on `fd`, at least 1, or CLI_WIDTH_ANY. COLUMNS in the
 * environment reduces it, and is the width if the terminal reports none;
 * without both it is 80. */
size_t cli_width(int fd);

/* Columns of a text. */
size_t cli_width_of(const char *text);

/* The text, or as much of it as fits `columns` together with an ellipsis.
 * @return columns written. */
size_t cli_width_cut(struct cli_out *out, const char *text, size_t columns);

/* The text on lines of at most `columns`, broken at blanks; all but the first
 * are indented. A longer word is broken anywhere. Below 20 columns it is left
 * to the terminal. No newline at the end. */
void cli_width_fold(struct cli_out *out, const char *text, size_t indent,
                    size_t columns);

#endif
