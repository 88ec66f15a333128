/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one line of a story, word by word, each of which is cut off with a NUL:
 * the line must be writable. A function that returns false has written the
 * reason to `why`, and the line is not read further. Words are borrowed from
 * the line. */
#ifndef HF_SIM_STORY_READER_H
#define HF_SIM_STORY_READER_H

#include "story/story_parts.h"

#define SIM_BLANKS " \t\r\n"

/* The line that is read, and where errors go. */
struct sim_reader {
    struct sim_story *story;
    char *rest;    /* of the line */
    unsigned line; /* its number; 0: the error is in no single line */
    char *why;     /* the caller's, for an error … */
    size_t size;   /* … of so many bytes, with its NUL */
};

/** Write the line's number and this text to `why`. @return false. */
bool sim_reader_fail(const struct sim_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails: "p3" does not exist. */
bool sim_reader_fail_who(const struct sim_reader *reader, const char *word);

/* The next word; NULL at the end of the line, which is an error for
 * sim_reader_need(). */
char *sim_reader_word(struct sim_reader *reader);
char *sim_reader_need(struct sim_reader *reader, const char *what);

/* The next word, a span with its unit, at least `least_ns`. `what`: for the
 * error, what is expected there. */
bool sim_reader_time(struct sim_reader *reader, const char *what,
                     int64_t least_ns, int64_t *ns);

/* A whole number of milliseconds. */
bool sim_reader_ms(struct sim_reader *reader, const char *what, int64_t *ms);

/* The next word, from `least` to `most`, which ends with `unit`. */
bool sim_reader_number(struct sim_reader *reader, const char *what,
                       const char *unit, int64_t least, int64_t most,
                       int64_t *number);

/* @return the index of "p3" or "n2", which count from 1; -1: no such thing. */
int sim_reader_who(const struct sim_reader *reader, const char *word,
                   char letter);

/* Read the rest of a line "turn …", and of a line "at …". */
bool sim_reader_turn(struct sim_reader *reader);
bool sim_reader_fault(struct sim_reader *reader);

#endif
