/* SPDX-License-Identifier: Apache-2.0 */
/* Ending everything that a command started. */
#ifndef CLI_DESCEND_H
#define CLI_DESCEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Kill and reap all that descends from this process, which is a subreaper.
 *
 * @param group     the command's process group, killed first; 0: none.
 * @param until_ns  CLOCK_BOOTTIME: when to give up.
 * @return 0 when nothing is left; else a process that would not die.
 *
 * SIGCHLD must be blocked. */
pid_t cli_descend_end(pid_t group, int64_t until_ns);

#endif
