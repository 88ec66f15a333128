/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr: "holdfast: TEXT", one write each. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "out.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* Begin a line; add to it with cli_out_*(). */
void cli_message_begin(struct cli_out *out);

/* The same for a process with a deadline: cli_out_init_brief(). */
void cli_message_begin_brief(struct cli_out *out);

/* Write the line, with its newline. @return @p code, to return at once. */
int cli_message_end(struct cli_out *out, int code);

/* The whole line in one call: TEXT, or SUBJECT: TEXT if SUBJECT is not NULL. */
int cli_message(int code, const char *subject, const char *text);

/* SUBJECT: cli_message_of(@p errnum). */
int cli_message_errno(int code, const char *subject, int errnum);

/* The text of an errno. If descriptors ran out, it includes the remedy. */
const char *cli_message_of(int errnum);

/* True if a page can be written to `fd` without blocking. A process with a
 * deadline must not block on a terminal that was paused (Ctrl-S). */
bool cli_message_fits(int fd);

#endif
