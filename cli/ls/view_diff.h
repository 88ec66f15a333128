/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two looks, name by name, in the order of names. */
#ifndef CLI_VIEW_DIFF_H
#define CLI_VIEW_DIFF_H

#include "ls/view.h"

/* Every change: symbol, its word in JSON. */
#define CLI_CHANGE_MAP(X)                                                      \
    X(CLI_CHANGE_HELD, "held")         /* seen at the first look */            \
    X(CLI_CHANGE_ACQUIRED, "acquired") /* was free */                          \
    X(CLI_CHANGE_HANDED, "handed-over")                                        \
    X(CLI_CHANGE_ENDED, "ended") /* released, but kept taken */                \
    X(CLI_CHANGE_RELEASED, "released")                                         \
    X(CLI_CHANGE_EXPIRED, "expired") /* its lease was over */                  \
    X(CLI_CHANGE_READERS, "readers") /* more, or fewer */                      \
    X(CLI_CHANGE_WAITING, "waiting") /* more, or fewer */

enum cli_change {
#define CLI_CHANGE_ENUM(symbol, word) symbol,
    CLI_CHANGE_MAP(CLI_CHANGE_ENUM)
#undef CLI_CHANGE_ENUM
};

/* Told of one change. `before` or `now` is NULL if the name was, or is, free.
 * READERS, WAITING: `delta` more. */
typedef void cli_change_fn(void *user, enum cli_change change,
                           const struct cli_row *before,
                           const struct cli_row *now, int64_t delta);

/* `before` was seen `elapsed_ms` ago; NULL: this is the first look. A split
 * vote is an acquisition under way: until it is decided the name is what it
 * was, so such rows of `now` are replaced by those of `before`, or go. */
void cli_view_diff(struct cli_view *before, struct cli_view *now,
                   int64_t elapsed_ms, cli_change_fn *each, void *user);

#endif
