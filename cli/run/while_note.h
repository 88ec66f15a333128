/* SPDX-License-Identifier: Apache-2.0 */
/* How `release` reaches the keeper of acquire --while-pid: by a note, a file in
 * memory that the keeper has open. `release` finds it below /proc by the pid
 * and the id of the owner, in whatever network namespace, if it is run by the
 * same user or by root. The keeper reads the note before it takes its lock for
 * lost, also if it was stopped when `release` wrote, and a signal wakes it.
 *
 *     keeper                                      release
 *     cli_note_open(&note, owner, name);
 *     poll note.signals                           cli_note_ask(owner, name)
 *     if (cli_note_read_asked(&note)) {              │  waits
 *         status = hf_lock_release(lock);            │
 *         cli_note_answer(&note, status);         returns the status
 *     } */
#ifndef CLI_WHILE_NOTE_H
#define CLI_WHILE_NOTE_H

#include <stdbool.h>

/* The keeper's end. */
struct cli_note {
    int file;    /* -1: there is none */
    int signals; /* readable after a request */
};

/* Make the note of the keeper of @p owner, whose lock is @p name. SIGURG, which
 * wakes the keeper, is blocked from here on. */
void cli_note_open(struct cli_note *note, const char *owner, const char *name);

/* @return true if the lock is to be released. */
bool cli_note_read_asked(const struct cli_note *note);

/* Report the status of the release. */
void cli_note_answer(const struct cli_note *note, int status);

/* In `release`: ask the keeper of @p owner to release @p name, and wait for its
 * answer. @return the status of the release; CLI_NOTE_NONE: no keeper of this
 * name was found; CLI_NOTE_SILENT: it was asked, and did not answer. */
int cli_note_ask(const char *owner, const char *name);

/* Not a status, which is not negative. */
#define CLI_NOTE_NONE (-1)
#define CLI_NOTE_SILENT (-2)

#endif
