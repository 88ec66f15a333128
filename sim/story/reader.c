/* SPDX-License-Identifier: Apache-2.0 */
#include "story/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool sim_reader_fail(const struct sim_reader *reader, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (reader->line > 0) {
        snprintf(reader->why, reader->size, "line %u: %s", reader->line, text);
    } else {
        snprintf(reader->why, reader->size, "%s", text);
    }
    return false;
}

/* The next word; NULL at the end of the line. */
char *sim_reader_word(struct sim_reader *reader)
{
    char *word = reader->rest + strspn(reader->rest, SIM_BLANKS);
    if (*word == '\0') {
        return NULL;
    }
    char *end = word + strcspn(word, SIM_BLANKS);
    reader->rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

char *sim_reader_need(struct sim_reader *reader, const char *what)
{
    char *word = sim_reader_word(reader);
    if (word == NULL) {
        sim_reader_fail(reader, "%s is missing", what);
    }
    return word;
}

/* ---- Values -------------------------------------------------------------- */

bool sim_time_read(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},    {"us", 1000},      {"ms", SIM_MS},
                 {"s", SIM_S}, {"m", 60 * SIM_S}, {"h", 3600 * SIM_S}};
    bool is_negative = *text == '-';
    text += is_negative;
    size_t whole = strspn(text, "0123456789");
    size_t part =
        text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    const char *unit = text + whole + (text[whole] == '.') + part;
    if (whole == 0 || whole > 9 || part > 9 ||
        (text[whole] == '.' && part == 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) != 0) {
            continue;
        }
        int64_t sum = strtoll(text, NULL, 10) * units[i].ns;
        int64_t place = units[i].ns;
        for (size_t k = 0; k < part; k++) {
            int digit = text[whole + 1 + k] - '0';
            if (place % 10 != 0 && digit > 0) {
                return false; /* finer than a nanosecond */
            }
            place /= 10;
            sum += digit * place;
        }
        *ns = is_negative ? -sum : sum;
        return true;
    }
    return false;
}

bool sim_reader_time(struct sim_reader *reader, const char *what,
                     int64_t least_ns, int64_t *ns)
{
    char *word = sim_reader_need(reader, what);
    if (word == NULL) {
        return false;
    }
    if (!sim_time_read(word, ns)) {
        return sim_reader_fail(
            reader, "%s: \"%.40s\" is no time (write 20ms, 1.5s)", what, word);
    }
    return *ns >= least_ns ||
           sim_reader_fail(reader, "%s: \"%.40s\" is too short", what, word);
}

/* A whole number of milliseconds. */
bool sim_reader_ms(struct sim_reader *reader, const char *what, int64_t *ms)
{
    int64_t ns;
    if (!sim_reader_time(reader, what, SIM_MS, &ns)) {
        return false;
    }
    *ms = ns / SIM_MS;
    return ns % SIM_MS == 0 ||
           sim_reader_fail(reader, "%s: not whole milliseconds", what);
}

bool sim_reader_number(struct sim_reader *reader, const char *what,
                       const char *unit, int64_t least, int64_t most,
                       int64_t *number)
{
    char *end;
    char *word = sim_reader_need(reader, what);
    if (word == NULL) {
        return false;
    }
    errno = 0;
    *number = strtoll(word, &end, 10);
    if (end == word || errno != 0 || strcmp(end, unit) != 0) {
        return sim_reader_fail(reader, "%s: \"%.40s\" is not a number%s%s",
                               what, word, *unit != '\0' ? " of " : "", unit);
    }
    return (*number >= least && *number <= most) ||
           sim_reader_fail(
               reader, "%s: %" PRId64 " is not from %" PRId64 " to %" PRId64,
               what, *number, least, most);
}

/* @return the index of "p3" or "n2", which count from 1; -1: no such thing. */
int sim_reader_who(const struct sim_reader *reader, const char *word,
                   char letter)
{
    char *end;
    unsigned n =
        letter == 'p' ? reader->story->n_processes : reader->story->n_nodes;
    if (word[0] != letter || word[1] < '1' || word[1] > '9') {
        return -1;
    }
    long number = strtol(word + 1, &end, 10);
    if (*end != '\0' || number > (long)n) {
        return -1;
    }
    return (int)number - 1;
}

bool sim_reader_fail_who(const struct sim_reader *reader, const char *word)
{
    return sim_reader_fail(
        reader,
        "\"%.40s\" does not exist: there are p1 to p%u and n1 to n%u (their "
        "number must come before)",
        word, reader->story->n_processes, reader->story->n_nodes);
}
