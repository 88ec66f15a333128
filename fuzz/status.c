/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=cli_time_now */
/* The lines of --status-fd, which programs read: one JSON object a line, of
 * printable characters. Every name can be decoded from it byte for byte.
 *
 * Input: four bytes of a number, then a name. The clock stands still: a slow
 * moment would be an edge that no input reaches. */
#include "fuzz.h"

#include "clocks.h"
#include "status.h"
#include "utf8.h"

#include <sys/mman.h>
#include <unistd.h>

struct hf_instant __wrap_cli_time_now(void);
struct hf_instant __wrap_cli_time_now(void)
{
    return (struct hf_instant){0};
}

static const char *skip_text(const char *at, const char *expected)
{
    size_t len = strlen(expected);
    FUZZ_CHECK(strncmp(at, expected, len) == 0);
    return at + len;
}

static unsigned digit_of(char c)
{
    FUZZ_CHECK((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static uint32_t read_unit(const char *at)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        unit = unit << 4 | digit_of(at[i]);
    }
    return unit;
}

static size_t put_code(uint32_t code, char *out)
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 0; code >>= 6) {
        out[i] = (char)(i > 0 ? 0x80 | (code & 0x3f) : heads[n] | code);
    }
    return n;
}

/* "\uXXXX", or a pair of them. @return the position after it. */
static const char *read_escape(const char *at, char *out, size_t *len)
{
    uint32_t code = read_unit(at + 2);
    at += 6;
    FUZZ_CHECK(code < 0xdc00 || code > 0xdfff);
    if (code >= 0xd800 && code < 0xdc00) {
        FUZZ_CHECK(at[0] == '\\' && at[1] == 'u');
        uint32_t low = read_unit(at + 2);
        FUZZ_CHECK(low >= 0xdc00 && low <= 0xdfff);
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
        at += 6;
    }
    *len += put_code(code, out + *len);
    return at;
}

/* A JSON string. @return the position after it. */
static const char *read_string(const char *at, char *out, size_t *len)
{
    *len = 0;
    for (at = skip_text(at, "\""); *at != '"';) {
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
        if (at[0] == '\\' && at[1] == 'u') {
            at = read_escape(at, out, len);
        } else {
            at += *at == '\\';
            out[(*len)++] = *at++;
        }
    }
    return at + 1;
}

static const char *read_hex(const char *at, char *out, size_t *len)
{
    *len = 0;
    for (at = skip_text(at, "\""); *at != '"'; at += 2) {
        out[(*len)++] = (char)(digit_of(at[0]) << 4 | digit_of(at[1]));
    }
    return at + 1;
}

static void check_line(const char *line, const char *name, size_t len,
                       uint32_t ahead, char *out)
{
    size_t n = 0;
    char number[40];
    const char *at = skip_text(line, "{\"event\":\"waiting\",\"name\":");
    at = read_string(at, out, &n);
    for (size_t i = 0; i < n;) {
        size_t step = cli_utf8_len((const unsigned char *)out + i, n - i);
        FUZZ_CHECK(step > 0);
        i += step;
    }
    if (strncmp(at, ",\"name_hex\":", 12) == 0) {
        at = read_hex(at + 12, out, &n);
    }
    FUZZ_CHECK(n == len && memcmp(out, name, len) == 0);
    snprintf(number, sizeof(number), ",\"ahead\":%u}\n", ahead);
    at = skip_text(at, number);
    FUZZ_CHECK(*at == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    uint32_t ahead = 0;
    struct fuzz_input in = {data, size};
    for (int i = 0; i < 4; i++) {
        ahead = ahead << 8 | fuzz_u8(&in);
    }
    char *name = fuzz_text(in.at, in.left);
    size_t room = 8 * in.left + 200;
    char *line = malloc(room);
    char *out = malloc(room);
    FUZZ_CHECK(line != NULL && out != NULL);
    file = file < 0 ? memfd_create("status", MFD_CLOEXEC) : file;
    FUZZ_CHECK(file >= 0 && ftruncate(file, 0) == 0);
    FUZZ_CHECK(lseek(file, 0, SEEK_SET) == 0);
    struct cli_status status = {.fd = file, .name = name};
    cli_status_ahead(&status, ahead);
    ssize_t len = pread(file, line, room - 1, 0);
    FUZZ_CHECK(len > 0 && (size_t)len < room - 1);
    line[len] = '\0';
    check_line(line, name, strlen(name), ahead, out);
    free(name);
    free(line);
    free(out);
    return 0;
}
