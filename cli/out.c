/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include "clocks.h"
#include "password.h"
#include "text_size.h"
#include "utf8.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void cli_out_init(struct cli_out *out, int fd)
{
    out->fd = fd;
    out->error = 0;
    out->has_one = false;
    out->hides = fd == STDERR_FILENO;
    out->until = HF_NEVER;
    out->len = 0;
    out->room = sizeof(out->own);
    out->text = out->own;
}

void cli_out_init_brief(struct cli_out *out, int fd)
{
    cli_out_init(out, fd);
    out->until =
        hf_instant_add(cli_time_now(), hf_span_ms(CLI_OUT_PATIENCE_MS));
}

void cli_out_init_text(struct cli_out *out, char *text, size_t room)
{
    cli_out_init(out, -1);
    out->text = text;
    out->room = room;
    text[0] = '\0';
}

/* A descriptor that another process made non-blocking may say EAGAIN. */
static bool wait_writable(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return poll(&ready, 1, -1) > 0 || errno == EINTR;
}

/* A pipe that is writable takes CLI_OUT_ROOM bytes without blocking. */
static bool has_reader(const struct cli_out *out)
{
    struct pollfd ready = {.fd = out->fd, .events = POLLOUT};
    struct hf_span left = hf_instant_until(cli_time_now(), out->until);
    return poll(&ready, 1, (int)hf_span_ms_ceil(left)) != 0;
}

bool cli_out_flush(struct cli_out *out)
{
    size_t done = 0;
    if (out->fd < 0) {
        return true;
    }
    while (out->error == 0 && done < out->len) {
        bool is_brief = !hf_instant_is_never(out->until);
        if (is_brief && !has_reader(out)) {
            out->error = EAGAIN;
            break;
        }
        ssize_t n = write(out->fd, out->text + done, out->len - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN && !is_brief && wait_writable(out->fd)) {
            continue;
        } else if (errno != EINTR) {
            out->error = errno;
        }
    }
    out->len = 0;
    return out->error == 0;
}

/* Text in memory: cut, and kept terminated. */
static void keep(struct cli_out *out, const void *data, size_t len)
{
    size_t room = out->room - 1 - out->len;
    size_t n = len < room ? len : room;
    memcpy(out->text + out->len, data, n);
    out->len += n;
    out->text[out->len] = '\0';
}

void cli_out_bytes(struct cli_out *out, const void *data, size_t len)
{
    const char *from = data;
    if (out->fd < 0) {
        keep(out, data, len);
        return;
    }
    while (len > 0) {
        size_t room = out->room - out->len;
        size_t n = len < room ? len : room;
        memcpy(out->text + out->len, from, n);
        out->len += n;
        from += n;
        len -= n;
        if (out->len == out->room) {
            (void)cli_out_flush(out);
        }
    }
}

void cli_out_text(struct cli_out *out, const char *text)
{
    cli_out_bytes(out, text, strlen(text));
}

void cli_out_uint(struct cli_out *out, uint64_t value)
{
    char digits[HF_TEXT_NUMBER];
    char *end = digits + sizeof(digits);
    char *first = end;
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    cli_out_bytes(out, first, (size_t)(end - first));
}

void cli_out_int(struct cli_out *out, int64_t value)
{
    if (value < 0) {
        cli_out_text(out, "-");
        cli_out_uint(out, 0 - (uint64_t)value);
        return;
    }
    cli_out_uint(out, (uint64_t)value);
}

void cli_out_pad(struct cli_out *out, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        cli_out_bytes(out, " ", 1);
    }
}

void cli_out_seconds(struct cli_out *out, int64_t ms)
{
    int64_t rest = ms % 1000;
    char dot[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                  (char)('0' + rest % 10)};
    cli_out_int(out, ms / 1000);
    cli_out_bytes(out, dot, sizeof(dot));
}

static const char hex[] = "0123456789abcdef";

/* 0: invalid UTF-8, or a character that could move the cursor or hide text. */
static size_t plain_len(const unsigned char *p, size_t len)
{
    size_t n = cli_utf8_len(p, len);
    return n > 0 && cli_utf8_is_unsafe(cli_utf8_code(p, n)) ? 0 : n;
}

static void escape(struct cli_out *out, unsigned char byte)
{
    char code[] = {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    cli_out_bytes(out, code, sizeof(code));
}

/* `escaped`: further characters that get a backslash, so that the text can be
 * decoded. */
static size_t emit_plain(struct cli_out *out, const void *data, size_t len,
                         const char *escaped)
{
    const unsigned char *p = data;
    size_t columns = 0;
    for (size_t i = 0; i < len;) {
        size_t n = plain_len(p + i, len - i);
        if (n == 0) {
            escape(out, p[i++]);
            columns += 4;
            continue;
        }
        if (strchr(escaped, p[i]) != NULL) {
            cli_out_text(out, "\\");
            columns++;
        }
        cli_out_bytes(out, p + i, n);
        columns += cli_utf8_columns(cli_utf8_code(p + i, n));
        i += n;
    }
    return columns;
}

/* As much of a text as there is before a password, then stars, and so on: they
 * are found in the text, of which a write may have a piece only. */
static size_t emit_hiding(struct cli_out *out, const char *text, size_t len,
                          const char *escaped, bool is_sentence)
{
    size_t columns = 0;
    size_t done = 0;
    size_t at = 0;
    size_t n;
    while (out->hides && cli_password_find(text, len, is_sentence, &at, &n)) {
        columns += emit_plain(out, text + done, at - done, escaped) + n;
        for (; n > 0; n--) {
            cli_out_bytes(out, "*", 1);
            at++;
        }
        done = at;
    }
    return columns + emit_plain(out, text + done, len - done, escaped);
}

size_t cli_out_shown(struct cli_out *out, const void *data, size_t len)
{
    return emit_hiding(out, data, len, "\\", false);
}

void cli_out_plain(struct cli_out *out, const char *text)
{
    (void)emit_hiding(out, text, strlen(text), "", true);
}

static bool is_plain(const char *word)
{
    const unsigned char *p = (const unsigned char *)word;
    size_t len = strlen(word);
    size_t n = 1;
    for (size_t i = 0; i < len && n > 0; i += n) {
        n = plain_len(p + i, len - i);
    }
    return n > 0;
}

void cli_out_quoted(struct cli_out *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        cli_out_text(out, word);
        return;
    }
    if (!is_plain(word)) {
        cli_out_text(out, "$'");
        (void)emit_plain(out, word, strlen(word), "\\'");
        cli_out_text(out, "'");
        return;
    }
    cli_out_text(out, "'");
    for (const char *p = word; *p != '\0'; p++) {
        if (*p == '\'') {
            cli_out_text(out, "'\\''");
        } else {
            cli_out_bytes(out, p, 1);
        }
    }
    cli_out_text(out, "'");
}

void cli_out_json_open(struct cli_out *out)
{
    cli_out_text(out, "{");
    out->has_one = false;
}

void cli_out_json_close(struct cli_out *out)
{
    cli_out_text(out, "}\n");
}

void cli_out_json_key(struct cli_out *out, const char *key)
{
    cli_out_text(out, out->has_one ? ",\"" : "\"");
    cli_out_text(out, key);
    cli_out_text(out, "\":");
    out->has_one = true;
}

static void json_unit(struct cli_out *out, uint32_t unit)
{
    char code[] = {'\\',
                   'u',
                   hex[unit >> 12 & 15],
                   hex[unit >> 8 & 15],
                   hex[unit >> 4 & 15],
                   hex[unit & 15]};
    cli_out_bytes(out, code, sizeof(code));
}

/* Characters that a terminal must not get are escaped: JSON is also printed on
 * terminals. */
static void json_char(struct cli_out *out, const unsigned char *p, size_t n)
{
    uint32_t code = cli_utf8_code(p, n);
    if (cli_utf8_is_unsafe(code)) {
        if (code > 0xffff) {
            json_unit(out, 0xd7c0 + (code >> 10));
            code = 0xdc00 | (code & 0x3ff);
        }
        json_unit(out, code);
        return;
    }
    if (p[0] == '"' || p[0] == '\\') {
        cli_out_text(out, "\\");
    }
    cli_out_bytes(out, p, n);
}

void cli_out_json_bytes(struct cli_out *out, const char *key, const void *data,
                        size_t len)
{
    const unsigned char *p = data;
    bool is_clean = true;
    cli_out_json_key(out, key);
    cli_out_text(out, "\"");
    for (size_t i = 0; i < len;) {
        size_t n = cli_utf8_len(p + i, len - i);
        if (n == 0) {
            is_clean = false;
            cli_out_text(out, "\\ufffd");
            n = 1;
        } else {
            json_char(out, p + i, n);
        }
        i += n;
    }
    cli_out_text(out, "\"");
    if (is_clean) {
        return;
    }
    cli_out_text(out, ",\"");
    cli_out_text(out, key);
    cli_out_text(out, "_hex\":\"");
    for (size_t i = 0; i < len; i++) {
        char pair[2] = {hex[p[i] >> 4], hex[p[i] & 15]};
        cli_out_bytes(out, pair, sizeof(pair));
    }
    cli_out_text(out, "\"");
}

void cli_out_json_text(struct cli_out *out, const char *key, const char *text)
{
    cli_out_json_bytes(out, key, text, strlen(text));
}

void cli_out_json_int(struct cli_out *out, const char *key, int64_t value)
{
    cli_out_json_key(out, key);
    cli_out_int(out, value);
}

void cli_out_json_fence(struct cli_out *out, uint64_t value)
{
    cli_out_json_key(out, "fence");
    cli_out_uint(out, value);
}

void cli_out_json_bool(struct cli_out *out, const char *key, bool value)
{
    cli_out_json_key(out, key);
    cli_out_text(out, value ? "true" : "false");
}
