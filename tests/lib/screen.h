/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a terminal after some output, for the xterm sequences that
 * ncurses and the command use. */
#ifndef TESTS_LIB_SCREEN_H
#define TESTS_LIB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_ROWS_MAX 200    /* larger than any terminal of a test */
#define SCREEN_COLUMNS_MAX 400 /* the same */

/* Replay output on a screen of that size, empty at first. @return false: the
 * output has an unknown sequence; *rest is its start. */
bool screen_replay(const char *output, size_t len, int rows, int columns,
                   size_t *rest);

/* Whether a row contains the text. */
bool screen_has(const char *text);

/* The rows, without blanks at their ends and without empty rows at the end. */
void screen_print(FILE *file);

#endif
