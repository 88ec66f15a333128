/* SPDX-License-Identifier: Apache-2.0 */
/* A URL begins after "://". Where it ends is known in an argument, in which
 * all up to the next URL is of it: a password that is not encoded may have a
 * blank in it. In a sentence it ends at a blank. What hides a password takes
 * more for one than what refuses a file: it may have a / or a ? in it, and so
 * end behind what looks like the host. */
#include "password.h"

#include <stdint.h>
#include <string.h>

#define BLANKS " \t\r\n"

/* A URL that ends a clause takes no comma with it. */
#define PUNCTUATION ":,;.)'\""

#define SCHEME "abcdefghijklmnopqrstuvwxyz0123456789+"

static size_t span_until(const char *at, size_t len, const char *set)
{
    size_t n = 0;
    while (n < len && strchr(set, at[n]) == NULL) {
        n++;
    }
    return n;
}

static size_t span_trimmed(const char *at, size_t len, const char *set)
{
    while (len > 0 && strchr(set, at[len - 1]) != NULL) {
        len--;
    }
    return len;
}

/* Behind the next "://". @return NULL: there is none. */
static const char *find_url(const char *text, const char *end)
{
    const char *at =
        text < end ? memmem(text, (size_t)(end - text), "://", 3) : NULL;
    return at == NULL ? NULL : at + 3;
}

/* Bytes of a URL: in an argument, up to the scheme of another one. */
static size_t url_len(const char *url, const char *end)
{
    const char *next = find_url(url, end);
    for (; next != NULL; next = find_url(next, end)) {
        size_t before = (size_t)(next - 3 - url);
        size_t n = span_trimmed(url, before, SCHEME);
        size_t ended = span_trimmed(url, n, BLANKS);
        if (n < before && ended < n) {
            return ended;
        }
    }
    return (size_t)(end - url);
}

static size_t url_len_in_sentence(const char *url, const char *end)
{
    size_t n = span_until(url, (size_t)(end - url), BLANKS);
    return span_trimmed(url, n, PUNCTUATION);
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

static const char *parameters_of(const char *url, size_t len)
{
    size_t n = span_until(url, len, "?");
    return n < len ? url + n + 1 : url + len;
}

/* ---- Hiding -------------------------------------------------------------- */

/* The first password that does not end before `from`. */
struct first_password {
    const char *from;
    const char *first;
    size_t len; /* 0: none was found */
};

static void consider(struct first_password *found, const char *at, size_t len)
{
    const char *end = at + len;
    at = at < found->from ? found->from : at;
    if (at < end && (found->len == 0 || at < found->first)) {
        found->first = at;
        found->len = (size_t)(end - at);
    }
}

/* Advice such as "redis://:PASSWORD@host" must stay readable. */
static bool is_placeholder(const char *text, size_t len)
{
    static const char word[] = "PASSWORD";
    return len == sizeof(word) - 1 && memcmp(text, word, len) == 0;
}

/* To the last '@' of the whole URL: a password with a / or a ? in it ends the
 * authority too early, and must be hidden all the same. */
static void consider_login(struct first_password *found, const char *url,
                           size_t len)
{
    size_t host = span_until(url, len, "/?#");
    const char *colon = memchr(url, ':', host);
    const char *sign = memrchr(url, '@', len);
    if (colon != NULL && sign != NULL && colon < sign &&
        !is_placeholder(colon + 1, (size_t)(sign - colon) - 1)) {
        consider(found, colon + 1, (size_t)(sign - colon) - 1);
    }
}

static void consider_url(struct first_password *found, const char *url,
                         size_t len)
{
    size_t n;
    const char *end = url + len;
    const char *at = find_parameter(parameters_of(url, len), end, &n);
    for (; at != NULL; at = find_parameter(at + n, end, &n)) {
        consider(found, at, n);
    }
    consider_login(found, url, len);
}

bool cli_password_find(const char *text, size_t len, bool is_sentence,
                       size_t *at, size_t *n)
{
    const char *end = text + len;
    struct first_password found = {.from = text + *at};
    const char *url = find_url(text, end);
    while (url != NULL && (found.len == 0 || url < found.first)) {
        consider_url(&found, url,
                     is_sentence ? url_len_in_sentence(url, end)
                                 : url_len(url, end));
        url = find_url(url, end);
    }
    if (found.len > 0) {
        *at = (size_t)(found.first - text);
        *n = found.len;
    }
    return found.len > 0;
}

void cli_password_hide(char *text)
{
    size_t n, at = 0;
    size_t len = text != NULL ? strlen(text) : 0;
    while (at < len && cli_password_find(text, len, false, &at, &n)) {
        memset(text + at, '*', n);
        at += n;
    }
}

/* ---- Finding ------------------------------------------------------------- */

/* An @ behind the authority belongs to a path or a parameter: it makes no
 * login. */
static bool has_login(const char *url, size_t len)
{
    size_t host = span_until(url, len, "/?#");
    const char *colon = memchr(url, ':', host);
    const char *sign = memrchr(url, '@', host);
    return colon != NULL && sign != NULL && colon < sign;
}

bool cli_password_is_in(const char *text)
{
    size_t ignored;
    const char *end = text + strlen(text);
    const char *at = find_url(text, end);
    for (; at != NULL; at = find_url(at, end)) {
        size_t n = url_len(at, end);
        if (has_login(at, n) ||
            find_parameter(parameters_of(at, n), at + n, &ignored) != NULL) {
            return true;
        }
    }
    return false;
}
