/* SPDX-License-Identifier: Apache-2.0 */
/* The differences of two snapshots, in the order of names. */
#ifndef CLI_VIEW_DIFF_H
#define CLI_VIEW_DIFF_H

#include "ls/view.h"

/* Every change: symbol, its word in JSON. */
#define CLI_CHANGE_MAP(X)                                                      \
    X(CLI_CHANGE_HELD, "held")         /* in the first snapshot */             \
    X(CLI_CHANGE_ACQUIRED, "acquired") /* was free */                          \
    X(CLI_CHANGE_HANDED, "handed-over")                                        \
    X(CLI_CHANGE_ENDED, "ended") /* released with a reservation */             \
    X(CLI_CHANGE_RELEASED, "released")                                         \
    X(CLI_CHANGE_EXPIRED, "expired") /* its lease was over */                  \
    X(CLI_CHANGE_READERS, "readers") /* more, or fewer */                      \
    X(CLI_CHANGE_WAITING, "waiting") /* more, or fewer */

enum cli_change {
#define CLI_CHANGE_ENUM(symbol, word) symbol,
    CLI_CHANGE_MAP(CLI_CHANGE_ENUM)
#undef CLI_CHANGE_ENUM
};

/* Called for each change. `before` or `now` is NULL if the name was, or is,
 * free. READERS, WAITING: `delta` more. */
typedef void cli_change_fn(void *user, enum cli_change change,
                           const struct cli_row *before,
                           const struct cli_row *now, int64_t delta);

/* `before` was read `elapsed_ms` ago; NULL: `now` is the first snapshot. A
 * split vote is an acquisition in progress, and changes nothing until it is
 * decided: such rows of `now` are replaced by those of `before`, or removed. */
void cli_view_diff(struct cli_view *before, struct cli_view *now,
                   int64_t elapsed_ms, cli_change_fn *each, void *user);

#endif
