/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes. They are part of the interface (holdfast(1), EXIT STATUS), since
 * scripts test them. They follow sysexits.h, timeout(1) and the shell where
 * those define one. */
#ifndef CLI_EXIT_CODE_H
#define CLI_EXIT_CODE_H

#include <holdfast/holdfast.h>

enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NO = 1,       /* get: no value; ls -q: not held */
    CLI_EXIT_WARNINGS = 1, /* doctor: fit, with warnings */
    CLI_EXIT_UNFIT = 2,    /* doctor */
    CLI_EXIT_USAGE = 64,
    CLI_EXIT_UNREACHABLE = 69,
    CLI_EXIT_INTERNAL = 70,
    CLI_EXIT_BUSY = 75,
    CLI_EXIT_LOST = 76,
    CLI_EXIT_DENIED = 77,
    CLI_EXIT_CONFIG = 78,
    CLI_EXIT_MAX_HOLD = 124,
    CLI_EXIT_CANNOT_RUN = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128 /* + its number */
};

/* The exit code for a library status that ends a command. */
int cli_exit_code(enum hf_status status);

#endif
