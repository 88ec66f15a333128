/* SPDX-License-Identifier: Apache-2.0 */
/* Read until the end of the input, or until one byte more than a value may
 * have: a pipe gives its data in pieces, and a file that is too long is
 * refused without being read whole. */
#include "value_io.h"

#include "exit_code.h"
#include "message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cli_value_read(struct cli_value_buffer *buffer, int fd)
{
    buffer->len = 0;
    while (buffer->len < sizeof(buffer->data)) {
        ssize_t n = read(fd, buffer->data + buffer->len,
                         sizeof(buffer->data) - buffer->len);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        buffer->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int cli_value_too_long(const char *name)
{
    struct cli_out out;
    cli_message_begin(&out);
    (void)cli_out_shown(&out, name, strlen(name));
    cli_out_text(&out, ": a value has at most ");
    cli_out_int(&out, HF_VALUE_MAX);
    cli_out_text(&out, " bytes; this one has more");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}
