/* SPDX-License-Identifier: Apache-2.0 */
/* The process that the shell started. It forks the keeper at once, forwards
 * signals, stops and continues with the command, and exits with its code. */
#ifndef CLI_WRAPPER_H
#define CLI_WRAPPER_H

struct cli_run; /* run.h */

/* Run the command of run->args. @return the exit code. */
int cli_wrapper(struct cli_run *run);

#endif
