/* SPDX-License-Identifier: Apache-2.0 */
/* A URL begins after "://" and ends at a blank. What hides a password takes
 * more for one than what refuses a file: a password that is not encoded may
 * have a / or a ? in it, and so end behind what looks like the host. */
#include "password.h"

#include <stdint.h>
#include <string.h>

/* Bytes up to one of the set, or to the end. */
static size_t span_until(const char *at, size_t len, const char *set)
{
    size_t n = 0;
    while (n < len && strchr(set, at[n]) == NULL) {
        n++;
    }
    return n;
}

/* What follows the next "://" of the text, up to a blank. @return NULL: there
 * is no other URL. */
static const char *find_url(const char *text, size_t len, size_t *url_len)
{
    const char *at = len > 0 ? memmem(text, len, "://", 3) : NULL;
    if (at == NULL) {
        return NULL;
    }
    at += 3;
    *url_len = span_until(at, len - (size_t)(at - text), " \t\n");
    return at;
}

bool cli_password_is_parameter(const char *name, size_t len)
{
    static const char *const parts[] = {
        "pass", "secret", "scram", "%", /* libpq decodes names: it may be any of
                                           them */
    };
    static const char file[] = "file"; /* the name of one is no secret */
    size_t n = sizeof(file) - 1;
    if (len >= n && memcmp(name + len - n, file, n) == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (memmem(name, len, parts[i], strlen(parts[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* The next password among the parameters from `at`, which is behind a '?' or a
 * '&'. @return NULL: there is none. */
static const char *find_parameter(const char *at, const char *end, size_t *len)
{
    while (at < end) {
        size_t n = span_until(at, (size_t)(end - at), "&");
        const char *value = memchr(at, '=', n);
        if (value != NULL &&
            cli_password_is_parameter(at, (size_t)(value - at)) &&
            value + 1 < at + n) {
            *len = (size_t)(at + n - value) - 1;
            return value + 1;
        }
        at += n + 1;
    }
    return NULL;
}

/* Behind the '?' of a URL. */
static const char *parameters_of(const char *url, size_t len)
{
    size_t n = span_until(url, len, "?");
    return n < len ? url + n + 1 : url + len;
}

/* ---- Hiding -------------------------------------------------------------- */

/* The word that advice has in the place of a password. */
static bool is_placeholder(const char *text, size_t len)
{
    static const char word[] = "PASSWORD";
    return len == sizeof(word) - 1 && memcmp(text, word, len) == 0;
}

/* From the first colon of the login to the last '@' of the URL. */
static void hide_login(char *url, size_t len)
{
    size_t host = span_until(url, len, "/?#");
    char *colon = memchr(url, ':', host);
    const char *sign = memrchr(url, '@', len);
    if (colon != NULL && sign != NULL && colon < sign &&
        !is_placeholder(colon + 1, (size_t)(sign - colon) - 1)) {
        memset(colon + 1, '*', (size_t)(sign - colon) - 1);
    }
}

static void hide_url(char *url, size_t len)
{
    size_t n;
    const char *end = url + len;
    const char *at = find_parameter(parameters_of(url, len), end, &n);
    for (; at != NULL; at = find_parameter(at + n, end, &n)) {
        memset(url + (at - url), '*', n);
    }
    hide_login(url, len);
}

static void hide(char *text, size_t len, const char *punctuation)
{
    const char *end = text + len;
    size_t n;
    const char *at = find_url(text, len, &n);
    for (; at != NULL; at = find_url(at, (size_t)(end - at), &n)) {
        while (n > 0 && punctuation[0] != '\0' &&
               strchr(punctuation, at[n - 1]) != NULL) {
            n--;
        }
        hide_url(text + (at - text), n);
    }
}

void cli_password_hide(char *text)
{
    if (text != NULL) {
        hide(text, strlen(text), "");
    }
}

void cli_password_hide_message(char *text, size_t len)
{
    hide(text, len, ":,;.)'\"");
}

/* ---- Finding ------------------------------------------------------------- */

/* Between a colon and the '@' of the authority. */
static bool has_login(const char *url, size_t len)
{
    size_t host = span_until(url, len, "/?#");
    const char *colon = memchr(url, ':', host);
    const char *sign = memrchr(url, '@', host);
    return colon != NULL && sign != NULL && colon < sign;
}

bool cli_password_is_in(const char *text)
{
    const char *end = text + strlen(text);
    size_t n, ignored;
    const char *at = find_url(text, (size_t)(end - text), &n);
    for (; at != NULL; at = find_url(at, (size_t)(end - at), &n)) {
        if (has_login(at, n) ||
            find_parameter(parameters_of(at, n), at + n, &ignored) != NULL) {
            return true;
        }
    }
    return false;
}
