/* SPDX-License-Identifier: Apache-2.0 */
/* A URL is cut before it is decoded: an escaped '@' or '/' is a byte of its
 * piece and never a separator. Pieces point into the URL's text; only a
 * decoded one is a copy. NUL is refused, since it would end the C string
 * early: a server would get another name than the URL has. What was decoded so
 * far may be a password, so it is wiped on failure, and errors never quote the
 * piece. */
#include "store/url_parts.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

struct hf_piece hf_piece_cut(struct hf_piece *whole, char c, bool *has_rest)
{
    struct hf_piece before = *whole;
    const char *found =
        whole->len == 0 ? NULL : memchr(whole->at, c, whole->len);
    *has_rest = found != NULL;
    if (found != NULL) {
        before.len = (size_t)(found - whole->at);
        whole->len -= before.len + 1;
        whole->at = found + 1;
    } else {
        whole->at += whole->len;
        whole->len = 0;
    }
    return before;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of the two hex digits after the '%' at `i`; 0: there are none. */
static int decode_byte(struct hf_piece piece, size_t i)
{
    if (piece.len - i <= 2) {
        return 0;
    }
    int high = hex_of(piece.at[i + 1]);
    int low = hex_of(piece.at[i + 2]);
    return high < 0 || low < 0 ? 0 : high * 16 + low;
}

enum hf_status hf_piece_decode(struct hf_piece piece, const char *what,
                               char **out, struct hf_error *error)
{
    char *text = malloc(piece.len + 1);
    if (text == NULL) {
        return hf_fail_memory(error);
    }
    size_t used = 0;
    for (size_t i = 0; i < piece.len; i++) {
        int c = (unsigned char)piece.at[i];
        if (c == '%') {
            c = decode_byte(piece, i);
            i += 2;
        }
        if (c == 0) {
            explicit_bzero(text, used);
            free(text);
            return hf_fail(error, HF_INVALID,
                           "%s: '%%' is not followed by the two hex digits of "
                           "a byte other than 00",
                           what);
        }
        text[used++] = (char)c;
    }
    text[used] = '\0';
    *out = text;
    return HF_OK;
}

bool hf_piece_number(struct hf_piece piece, int64_t most, int64_t *out)
{
    int64_t number = 0;
    for (size_t i = 0; i < piece.len; i++) {
        char c = piece.at[i];
        if (c < '0' || c > '9') {
            return false;
        }
        number = number * 10 + (c - '0');
        if (number > most) {
            return false;
        }
    }
    *out = number;
    return piece.len > 0;
}

bool hf_piece_host(struct hf_piece item, struct hf_piece *host, uint16_t *port)
{
    bool is_bracketed = item.len > 0 && item.at[0] == '[';
    bool has_port;
    int64_t number;
    if (is_bracketed) {
        item.at++;
        item.len--;
        *host = hf_piece_cut(&item, ']', &is_bracketed);
        has_port = item.len > 0;
        if (!is_bracketed || !hf_piece_has(*host, ':') ||
            (has_port && item.at[0] != ':')) {
            return false;
        }
        item.at += has_port;
        item.len -= has_port;
    } else {
        *host = hf_piece_cut(&item, ':', &has_port);
    }
    if (has_port) {
        if (!hf_piece_number(item, UINT16_MAX, &number) || number == 0) {
            return false;
        }
        *port = (uint16_t)number;
    }
    return true;
}

bool hf_piece_has(struct hf_piece piece, char c)
{
    return piece.len > 0 && memchr(piece.at, c, piece.len) != NULL;
}
