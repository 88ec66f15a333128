/* SPDX-License-Identifier: Apache-2.0 */
/* A message is collected in memory and written at its end, if it is not longer
 * than a pipe takes at once, so lines of processes that share stderr do not
 * mix. What it quotes is escaped, and without passwords (out.h). An error of
 * writing is ignored: there is nowhere left to report it, and the exit code
 * still tells the outcome. */
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void cli_message_begin(struct cli_out *out)
{
    cli_out_init(out, STDERR_FILENO);
    cli_out_text(out, "holdfast: ");
}

void cli_message_begin_brief(struct cli_out *out)
{
    cli_out_init_brief(out, STDERR_FILENO);
    cli_out_text(out, "holdfast: ");
}

int cli_message_end(struct cli_out *out, int code)
{
    cli_out_text(out, "\n");
    (void)cli_out_flush(out);
    return code;
}

int cli_message(int code, const char *subject, const char *text)
{
    struct cli_out out;
    cli_message_begin(&out);
    if (subject != NULL) {
        (void)cli_out_shown(&out, subject, strlen(subject));
        cli_out_text(&out, ": ");
    }
    cli_out_plain(&out, text);
    return cli_message_end(&out, code);
}

const char *cli_message_of(int errnum)
{
    return errnum == EMFILE ? "too many open files; raise the limit (ulimit -n)"
                            : strerror(errnum);
}

int cli_message_errno(int code, const char *subject, int errnum)
{
    return cli_message(code, subject, cli_message_of(errnum));
}

bool cli_message_fits(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}
