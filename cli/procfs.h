/* SPDX-License-Identifier: Apache-2.0 */
/* Files of processes in /proc, read below a descriptor of the folder: so a
 * later mount over /proc cannot hide them.
 *
 *     int proc = cli_procfs_open();
 *     for (pid_t pid = getpid(); pid > 1; pid = cli_procfs_parent(proc, pid))
 *     close(proc);
 *
 * One descriptor is open during a call. Of a `proc` of -1 nothing is read. */
#ifndef CLI_PROCFS_H
#define CLI_PROCFS_H

#include "text_size.h"

#include <stddef.h>
#include <sys/types.h>

/* @return a descriptor of /proc, or -1 with errno. */
int cli_procfs_open(void);

/* "PID" and @p rest: the path of a file or a folder of a process. */
void cli_procfs_path(char path[CLI_PROC_PATH_MAX], pid_t pid, const char *rest);

/* Read a file into @p text, which is terminated, and cut to @p room.
 * @return its length; -1: it cannot be opened. */
ssize_t cli_procfs_read(int proc, const char *path, char *text, size_t room);

/* The state of a process and what follows it in its stat, in @p text.
 * @return "S PPID …", or "" if the process is not shown. */
const char *cli_procfs_stat(int proc, pid_t pid, char text[CLI_STAT_MAX]);

/* @return the parent of a process; 0: the process is not shown. */
pid_t cli_procfs_parent(int proc, pid_t pid);

#endif
