/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of texts of the command, in bytes with the NUL: those of the library,
 * and what only the command has. */
#ifndef CLI_TEXT_SIZE_H
#define CLI_TEXT_SIZE_H

#include "base/text_size.h"

/* Of a holder, as in the library: a longer host or label is cut there. */
#define CLI_HOST_MAX 72
#define CLI_LABEL_MAX 128

/* "/proc/PID/task/PID/children", with two numbers of 32 bits. */
#define CLI_PROC_PATH_MAX 64

/* The stat of a process: 52 numbers, and a name of 16 characters. */
#define CLI_STAT_MAX 1024

/* A file that the user has named; a longer one is an error. */
#define CLI_PATH_MAX 1024

/* A folder that is the user's home, with a name in it. */
#define CLI_HOME_MAX 512

/* A line of the screen, without a store's URL. */
#define CLI_LINE_MAX 256

#endif
