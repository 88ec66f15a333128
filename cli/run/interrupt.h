/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and Ctrl-\. A shell ends its script or loop only if it got the signal
 * itself and the program died of it; an exit code, even 130, means that the
 * program handled the signal. So on a terminal we die of the signal that ended
 * the command or the wait. If the terminal had been moved to the command's
 * group, the shell and the other members of our group did not get the signal,
 * and we send it. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

struct cli_interrupt {
    int number;        /* the signal that ended the command or the wait; 0 */
    bool is_for_group; /* our group did not get it from the terminal */
};

/* To be called last, after all cleanup. Does not return if `number` is SIGINT
 * or SIGQUIT, and our group is in the foreground of its terminal. */
void cli_interrupt_pass_on(const struct cli_interrupt *interrupt);

#endif
