/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: start and end of ncurses, and text that is truncated to its
 * columns. ncurses sends only the difference to the present screen, so it does
 * not flicker. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Styles by meaning. On a terminal without colours some are bold, and some are
 * plain. */
enum top_style {
    TOP_PLAIN,
    TOP_FAINT,    /* frame and help */
    TOP_STRONG,   /* important */
    TOP_TITLE,    /* of the columns */
    TOP_SELECTED, /* the row */
    TOP_BUSY,     /* there are waiters */
    TOP_ALARM     /* about to end, down, quarantined */
};

/* @return why not, or NULL. */
const char *top_screen_start(void);

/* The terminal as it was. Does nothing the second time. */
void top_screen_end(void);

/* Stop as others do at Ctrl-Z, and go on. */
void top_screen_stop(void);

/* As large as the terminal is now. */
void top_screen_resize(void);

/* Everything anew: something else has written there. */
void top_screen_redraw(void);

/* The size of the terminal, as of start or the last top_screen_resize(). */
int top_screen_rows(void);
int top_screen_columns(void);

/* In a locale with more than ASCII? */
bool top_screen_is_wide(void);

/* Begin an update: all blank. Nothing is sent to the terminal yet. */
void top_screen_erase(void);

/* End it: send what has changed since the last one. */
void top_screen_show(void);

/* Put `text` at row `y`, columns `x` to `x + width`; cut with an ellipsis, or
 * filled up with blanks. @return the columns that the text took. */
int top_screen_put(int y, int x, int width, enum top_style style,
                   const char *text);

/* The same, at the right end. */
void top_screen_put_right(int y, int x, int width, enum top_style style,
                          const char *text);

/* A line across. */
void top_screen_rule(int y);

/* Where the text that is typed goes; below 0: nowhere. */
void top_screen_cursor(int y, int x);

/* A key as below, or a byte of text. */
enum top_key {
    TOP_NONE = -1, /* no more for now */
    TOP_KEY_UP = 1000,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_ERASE,
    TOP_KEY_REDRAW,
    TOP_KEY_OTHER
};

/* The next key or byte; TOP_NONE: none has come. Never blocks. */
int top_screen_key(void);

#endif
