/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal shows after some output: the sequences of an xterm that
 * ncurses and the command use. */
#ifndef TESTS_LIB_SCREEN_H
#define TESTS_LIB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_ROWS_MAX 200
#define SCREEN_COLUMNS_MAX 400

/* Replay output on a screen of that size, empty at first. @return false if
 * there is a sequence in it that is not known; *rest is where it begins. */
bool screen_replay(const char *output, size_t len, int rows, int columns,
                   size_t *rest);

/* Does a row have the text in it? */
bool screen_has(const char *text);

/* The rows, without blanks at their ends and without empty rows at the end. */
void screen_print(FILE *file);

#endif
