/* SPDX-License-Identifier: Apache-2.0 */
/* Output without stdio: stdio costs microseconds at the start, and each message
 * must be one write.
 *
 *     struct cli_out out;
 *     cli_out_init(&out, STDOUT_FILENO);
 *     cli_out_json_open(&out);
 *     cli_out_json_bytes(&out, "name", name, name_len);
 *     cli_out_json_close(&out);
 *     if (!cli_out_flush(&out)) …
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one write: a page, and not above PIPE_BUF. */
#define CLI_OUT_ROOM 4096

/* Milliseconds: a reader that runs empties a pipe in less, and the shortest
 * lease has more to spare. */
#define CLI_OUT_PATIENCE_MS 20

struct cli_out {
    int fd;       /* -1: into `text` only, cut to fit */
    int error;    /* errno of the first write that failed */
    bool has_one; /* JSON: a member was written */
    bool hides;   /* passwords in URLs become stars: a URL may be typed where
                     none belongs, and a line on stderr quotes it */
    struct hf_instant until; /* until then it waits for a reader */
    size_t len;
    size_t room;
    char *text;
    char own[CLI_OUT_ROOM];
};

/* Write to a descriptor, in pieces of CLI_OUT_ROOM. */
void cli_out_init(struct cli_out *out, int fd);

/* The same for a process with a deadline: of a reader that has not read after
 * CLI_OUT_PATIENCE_MS the rest is kept back, and `error` is EAGAIN. */
void cli_out_init_brief(struct cli_out *out, int fd);

/* Write into `text`, always terminated, cut to fit. */
void cli_out_init_text(struct cli_out *out, char *text, size_t room);

/* As it is: bytes of a value, or a constant of ours. Foreign text goes through
 * cli_out_shown() or cli_out_plain(). */
void cli_out_bytes(struct cli_out *out, const void *data, size_t len);
void cli_out_text(struct cli_out *out, const char *text);

/* In decimal: counts and signed numbers; fences and versions. */
void cli_out_int(struct cli_out *out, int64_t value);
void cli_out_uint(struct cli_out *out, uint64_t value);

/* So many blanks. */
void cli_out_pad(struct cli_out *out, size_t columns);

/* "12.345": milliseconds as seconds. */
void cli_out_seconds(struct cli_out *out, int64_t ms);

/* Printable bytes of a name, an argument, or a word: characters that a terminal
 * must not get (utf8.h), and bytes that are not UTF-8, become \xNN; a backslash
 * becomes two. @return columns. */
size_t cli_out_shown(struct cli_out *out, const void *data, size_t len);

/* The same without doubling the backslash, for a sentence that contains foreign
 * input. If out->hides, either has all of its URLs in one call. All text that
 * is not constant must be written with this or cli_out_shown(). */
void cli_out_plain(struct cli_out *out, const char *text);

/* A word quoted for a shell. */
void cli_out_quoted(struct cli_out *out, const char *word);

/* One JSON object, on a line of its own. Bytes that are not UTF-8 become
 * U+FFFD, and a second member "KEY_hex" has them all. */
void cli_out_json_open(struct cli_out *out);
void cli_out_json_key(struct cli_out *out, const char *key);
void cli_out_json_text(struct cli_out *out, const char *key, const char *text);
void cli_out_json_bytes(struct cli_out *out, const char *key, const void *data,
                        size_t len);
void cli_out_json_int(struct cli_out *out, const char *key, int64_t value);
void cli_out_json_fence(struct cli_out *out, uint64_t value);
void cli_out_json_bool(struct cli_out *out, const char *key, bool value);
void cli_out_json_close(struct cli_out *out);

/* Write the buffer. @return false, with out->error, if a write failed. */
bool cli_out_flush(struct cli_out *out);

#endif
