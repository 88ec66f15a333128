/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a story, word by word; each says false once it has said why. */
#ifndef HF_SIM_STORY_READER_H
#define HF_SIM_STORY_READER_H

#include "story/story_parts.h"

#define SIM_BLANKS " \t\r\n"

struct sim_reader {
    struct sim_story *story;
    char *rest;    /* of the line */
    unsigned line; /* 0: none in particular */
    char *why;
    size_t size;
};

bool sim_reader_fail(const struct sim_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails: "p3" does not exist. */
bool sim_reader_fail_who(const struct sim_reader *reader, const char *word);

/* The next word; NULL at the end of the line, which `need` complains of. */
char *sim_reader_word(struct sim_reader *reader);
char *sim_reader_need(struct sim_reader *reader, const char *what);

bool sim_reader_time(struct sim_reader *reader, const char *what, int64_t least,
                     int64_t *ns);

/* A whole number of milliseconds. */
bool sim_reader_ms(struct sim_reader *reader, const char *what, int64_t *ms);

bool sim_reader_number(struct sim_reader *reader, const char *what,
                       const char *unit, int64_t least, int64_t most,
                       int64_t *number);

/* "p3" or "n2", counted from 1, as an index. @return -1: no such thing. */
int sim_reader_who(const struct sim_reader *reader, const char *word,
                   char letter);

/* What stands behind "turn", and behind "at". */
bool sim_reader_turn(struct sim_reader *reader);
bool sim_reader_fault(struct sim_reader *reader);

#endif
