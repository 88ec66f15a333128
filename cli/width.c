/* SPDX-License-Identifier: Apache-2.0 */
#include "width.h"

#include "utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The width of a terminal that reports none. */
#define USUAL 80

/* Narrower lines are not folded: they have no room for an indented word. */
#define FOLD_MIN 20

/* ---- How wide it is ---------------------------------------------------- */

/* 0: not set, or no number. Then the terminal decides. */
static size_t wanted_columns(void)
{
    const char *text = getenv("COLUMNS");
    size_t columns = 0;
    if (text == NULL || strlen(text) > 9) {
        return 0;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        columns = 10 * columns + (size_t)(*text - '0');
    }
    return *text == '\0' ? columns : 0;
}

size_t cli_width(int fd)
{
    struct winsize size;
    size_t wanted = wanted_columns();
    if (isatty(fd) == 0) {
        return CLI_WIDTH_ANY;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) {
        return wanted > 0 ? wanted : USUAL;
    }
    return wanted > 0 && wanted < size.ws_col ? wanted : size.ws_col;
}

/* ---- How wide a text is ------------------------------------------------ */

/* Bytes of the character at `text`, and its columns. 0: the end. */
static size_t next_char(const char *text, size_t *columns)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = cli_utf8_len(p, strnlen(text, 4));
    *columns = n > 0 ? cli_utf8_columns(cli_utf8_code(p, n)) : 0;
    return n > 0 || *p == '\0' ? n : 1;
}

/* A malformed byte is left out: the terminal's column would not be ours any
 * more. */
static void put_char(struct cli_out *out, const char *text, size_t n)
{
    if (cli_utf8_len((const unsigned char *)text, n) == n) {
        cli_out_bytes(out, text, n);
    }
}

size_t cli_width_of(const char *text)
{
    size_t sum = 0;
    size_t columns;
    for (size_t n; (n = next_char(text, &columns)) > 0; text += n) {
        sum += columns;
    }
    return sum;
}

/* ---- Cut --------------------------------------------------------------- */

/* The ellipsis: one column, or ~ in a locale that is not UTF-8. */
static const char *ellipsis(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *locale = getenv(names[i]);
        if (locale != NULL && locale[0] != '\0') {
            return strcasestr(locale, "utf-8") != NULL ||
                           strcasestr(locale, "utf8") != NULL
                       ? "\u2026"
                       : "~";
        }
    }
    return "~";
}

size_t cli_width_cut(struct cli_out *out, const char *text, size_t columns)
{
    bool is_cut = cli_width_of(text) > columns;
    size_t room = is_cut && columns > 0 ? columns - 1 : columns;
    size_t done = 0;
    size_t wide;
    for (size_t n; (n = next_char(text, &wide)) > 0; text += n) {
        if (done + wide > room) {
            break;
        }
        put_char(out, text, n);
        done += wide;
    }
    if (is_cut && columns > 0) {
        cli_out_text(out, ellipsis());
        done++;
    }
    return done;
}

/* ---- Folded ------------------------------------------------------------ */

/* Bytes of the word at `text`, with the blanks before it; its columns. */
static size_t next_word(const char *text, size_t *columns)
{
    size_t len = 0;
    size_t wide;
    bool is_word = false;
    *columns = 0;
    for (size_t n; (n = next_char(text + len, &wide)) > 0; len += n) {
        if (text[len] == ' ' && is_word) {
            break;
        }
        is_word |= text[len] != ' ';
        *columns += wide;
    }
    return len;
}

static size_t new_line(struct cli_out *out, size_t indent)
{
    cli_out_text(out, "\n");
    cli_out_pad(out, indent);
    return indent;
}

/* A word, broken where the line ends. @return columns of the line. */
static size_t put_word(struct cli_out *out, const char *word, size_t len,
                       size_t used, size_t indent, size_t columns)
{
    size_t wide;
    for (size_t at = 0; at < len;) {
        size_t n = next_char(word + at, &wide);
        if (used + wide > columns) {
            used = new_line(out, indent);
        }
        put_char(out, word + at, n);
        used += wide;
        at += n;
    }
    return used;
}

void cli_width_fold(struct cli_out *out, const char *text, size_t indent,
                    size_t columns)
{
    size_t used = 0;
    size_t wide;
    if (columns < FOLD_MIN || columns == CLI_WIDTH_ANY) {
        cli_out_text(out, text);
        return;
    }
    for (size_t len; (len = next_word(text, &wide)) > 0; text += len) {
        size_t blanks = strspn(text, " ");
        if (used > indent && used + wide > columns && blanks > 0 &&
            blanks < len) {
            used = put_word(out, text + blanks, len - blanks,
                            new_line(out, indent), indent, columns);
        } else {
            used = put_word(out, text, len, used, indent, columns);
        }
    }
}
