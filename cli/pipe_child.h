/* SPDX-License-Identifier: Apache-2.0 */
/* A command that gets its input from this process and gives its output to it.
 *
 * Input and output go on at the same time, in any order: all pipes are served
 * by one poll(2). The command may end without reading its input, and may close
 * its output before it reads. If this process dies, the kernel sends it
 * SIGTERM.
 *
 *     struct cli_pipe_child child = {
 *         .command = words, .input = text, .input_len = len,
 *         .out = {.data = room, .room = sizeof(room)},
 *     };
 *     if (!cli_pipe_child_run(&child)) {
 *         return cli_pipe_child_error_code(&child);
 *     }
 *     … child.status, child.out.len …
 *
 * Owner: all memory is the caller's. It blocks until the command has ended. */
#ifndef CLI_PIPE_CHILD_H
#define CLI_PIPE_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* The output of the command on one stream. */
struct cli_pipe_child_text {
    char *data;
    size_t room, len;
};

struct cli_pipe_child {
    char **command;    /* ended by NULL; looked for in PATH */
    const void *input; /* its stdin */
    size_t input_len;
    struct cli_pipe_child_text out; /* its stdout; if full, the pipe is closed
                                     */
    struct cli_pipe_child_text err; /* its stderr; the rest is dropped.
                                     * No room: it writes to ours */
    /* the result */
    int error;  /* errno: it could not be started, or talked to */
    int status; /* of waitpid(2) */
    bool is_exec_error;
};

/* Run it until it has ended. @return false, with child->error. */
bool cli_pipe_child_run(struct cli_pipe_child *child);

/* The exit code for a child->error. */
int cli_pipe_child_error_code(const struct cli_pipe_child *child);

#endif
