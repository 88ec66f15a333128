/* SPDX-License-Identifier: Apache-2.0 */
/* A server's error as a status, and as one line of text.
 *
 * If a right is missing, the line names that right. Redis names the command of
 * a plain request only. Inside a script, Redis 6 and 7.0 only report that "the
 * user can't run this command", and 6 to 8 report the line of the script: so
 * the command is read from that line of our script's text. */
#include "store/redis/fault.h"

#include "base/fail.h"
#include "store/redis/scripts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Our scripts' errors end with a key, which may have any text. */
static bool is_ours(const char *text)
{
    return strncmp(text, "HF", 2) == 0;
}

/* Servers before 7 wrap an error of a command inside a script: "ERR Error
 * running script (…): @user_script:3: -OOM …"; 7.0 words missing rights
 * inside scripts as "ERR The user executing the script can't access …". */
static bool says(const char *text, const char *code)
{
    size_t len = strlen(code);
    if (strncmp(text, code, len) == 0) {
        return true;
    }
    if (is_ours(text)) {
        return false;
    }
    for (const char *at = strchr(text, '-'); at != NULL;
         at = strchr(at + 1, '-')) {
        if (strncmp(at + 1, code, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_any(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strstr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

#define HAS_ANY(text, words)                                                   \
    has_any((text), (words), sizeof(words) / sizeof((words)[0]))

static bool is_denied(const char *text)
{
    static const char *const codes[] = {
        "NOAUTH",  "WRONGPASS", "NOPERM", "DENIED", "ERR invalid password",
        "ERR AUTH"};
    static const char *const words[] = {"can't access",
                                        "can't run this command",
                                        "can't publish",
                                        "has no permissions",
                                        "No permissions to",
                                        "ACL failure",
                                        "without any password configured"};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (says(text, codes[i])) {
            return true;
        }
    }
    return !is_ours(text) && HAS_ANY(text, words);
}

/* ---- The missing right ------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '|' || c == '-' || c == '_';
}

/* Append "+zadd", unless it is there already. */
static void add_command(char *out, size_t size, const char *name)
{
    char right[HF_TEXT_WORD] = "+";
    size_t len = 1;
    while (is_word(*name) && len < sizeof(right) - 1) {
        right[len++] = (char)tolower((unsigned char)*name++);
    }
    if (len > 1 && strstr(out, right) == NULL) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%.*s", used > 0 ? " or " : "",
                 (int)len, right);
    }
}

/* The line of the script in which the error arose, of `len` bytes; NULL: the
 * error does not name it. */
static const char *failed_line(const struct hf_script *script, const char *text,
                               size_t *len)
{
    const char *place = strstr(text, "@user_script:");
    if (script == NULL || place == NULL) {
        return NULL;
    }
    long number = strtol(place + 13, NULL, 10);
    const char *at = script->text;
    for (long i = 1; i < number && at != NULL; i++) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    const char *end = at == NULL ? NULL : strchr(at, '\n');
    *len = end == NULL ? 0 : (size_t)(end - at);
    return end == NULL ? NULL : at;
}

/* An error names no command: of a line that calls two, either may be meant. */
static void add_line(char *out, size_t size, const char *line, size_t len)
{
    const char *at = line;
    while ((at = strstr(at, "call('")) != NULL && at < line + len) {
        at += 6;
        add_command(out, size, at);
    }
}

void hf_redis_right(const char *text, const struct hf_script *script,
                    const char *key, char *out, size_t size)
{
    static const char *const keys[] = {" key", " keys"};
    static const char *const channels[] = {" channel", " channels"};
    static const char *const run[] = {"to run the '", "can't run this command"};
    out[0] = '\0';
    const char *name = strstr(text, "to run the '");
    size_t len = 0;
    const char *line = failed_line(script, text, &len);
    if (!is_denied(text)) {
        return;
    }
    if (name != NULL) {
        add_command(out, size, name + 12);
    } else if (HAS_ANY(text, channels)) {
        snprintf(out, size, "&hf:push:*");
    } else if (HAS_ANY(text, keys)) {
        snprintf(out, size, "%s", key);
    } else if (HAS_ANY(text, run) && line != NULL) {
        add_line(out, size, line, len);
    }
}

/* ---- In a line --------------------------------------------------------- */

/* Our scripts' errors begin with a code, which says nothing to a user. */
static const char *without_code(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return is_ours(text) && text[len] == ' ' ? text + len + 1 : text;
}

/* Bytes of the error that are shown. Not the arguments of a command that the
 * server does not have: those of AUTH are the password. */
static size_t line_len(const char *text)
{
    static const char *const tails[] = {" script: ", ", with args beginning"};
    size_t len = strcspn(text, "\r\n");
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        const char *tail = strstr(text, tails[i]);
        if (tail != NULL && (size_t)(tail - text) < len) {
            len = (size_t)(tail - text);
        }
    }
    return len;
}

/* Which of a name's keys the line reads, by the numbers of queue.lua, which all
 * scripts with side keys share; NULL: another one. */
static const char *side_key_of(const char *line, size_t len)
{
    static const char *const ends[] = {"queue", "waiters", "holders", "votes"};
    const char *key = line == NULL ? NULL : strstr(line, "KEYS[");
    unsigned n = key != NULL && key < line + len ? (unsigned)key[5] - '3' : 4;
    return n < sizeof(ends) / sizeof(ends[0]) ? ends[n] : NULL;
}

/** @return false: the error is not about a side key of another type, which was
 * written by hand or by another program. */
static bool put_wrong_type(const struct hf_script *script, const char *text,
                           char *out, size_t size)
{
    size_t len = 0;
    const char *line = failed_line(script, text, &len);
    const char *end = says(text, "WRONGTYPE") ? side_key_of(line, len) : NULL;
    if (end == NULL) {
        return false;
    }
    snprintf(out, size,
             "its key hf:{...}:%s is of another type: delete that key", end);
    return true;
}

/** @return false: the error is not about snapshots that fail. The server's
 * words are too long for a line, and end with what is of use. */
static bool put_unsaved(const char *text, char *out, size_t size)
{
    bool is_unsaved = says(text, "MISCONF") &&
                      strstr(text, "stop-writes-on-bgsave-error") != NULL;
    if (is_unsaved) {
        snprintf(out, size,
                 "MISCONF it cannot save its snapshots, so it refuses writes "
                 "(stop-writes-on-bgsave-error): see its log");
    }
    return is_unsaved;
}

enum hf_status hf_redis_fault_in(const struct hf_script *script,
                                 const char *text, char *out, size_t size)
{
    char right[HF_TEXT_PHRASE];
    char needs[HF_TEXT_CLAUSE] = "";
    if (put_wrong_type(script, text, out, size) ||
        put_unsaved(text, out, size)) {
        return HF_UNAVAILABLE;
    }
    const char *line = without_code(text);
    size_t len = line_len(line);
    hf_redis_right(text, script, "~hf:* and the prefix", right, sizeof(right));
    if (right[0] != '\0') {
        snprintf(needs, sizeof(needs), " (needs %s)", right);
    }
    size_t room = size - 1 > strlen(needs) ? size - 1 - strlen(needs) : 0;
    snprintf(out, size, "%.*s%s", (int)(len < room ? len : room), line, needs);
    hf_error_make_plain(out);
    return is_denied(text) ? HF_DENIED : HF_UNAVAILABLE;
}

enum hf_status hf_redis_fault(const char *text, char *out, size_t size)
{
    return hf_redis_fault_in(NULL, text, out, size);
}

bool hf_redis_fault_is_last(const char *text)
{
    return strncmp(text, "ERR max number of clients", 25) == 0 ||
           strncmp(text, "DENIED", 6) == 0;
}

bool hf_redis_fault_is_identity(const char *text)
{
    return says(text, "READONLY") || says(text, "MASTERDOWN") ||
           says(text, "NOAUTH") || says(text, "LOADING") ||
           says(text, "MOVED") || says(text, "CLUSTERDOWN");
}
