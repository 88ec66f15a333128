/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr: "holdfast: TEXT", one write each. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "out.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>

/* Begin a line; add to it with cli_out_*(). */
void cli_message_begin(struct cli_out *out);

/* Write the line, with its newline. @return @p code, to return at once. */
int cli_message_end(struct cli_out *out, int code);

/* The whole line in one call: TEXT, or WHAT: TEXT if WHAT is not NULL. */
int cli_message(int code, const char *what, const char *text);

/* WHAT: cli_message_of(@p errnum). */
int cli_message_errno(int code, const char *what, int errnum);

/* What an errno means. For a lack of descriptors it names the remedy. */
const char *cli_message_of(int errnum);

/* Has `fd` room for a line now? A process that keeps a
 * promise in time must not be held up by a terminal that was paused. */
bool cli_message_fits(int fd);

#endif
