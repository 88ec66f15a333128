/* SPDX-License-Identifier: Apache-2.0 */
/* SCAN: a cursor is the number of the last key seen, so that a key that exists
 * during the whole scan is returned exactly once. */
#include "redis/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct scan {
    uint64_t cursor;
    int64_t count;
    const struct sim_arg *match;
    const struct sim_arg *type;
};

struct text {
    const char *at;
    const char *end;
};

/* Match [set]: `pattern` is after the bracket, and moves past the set. */
static bool match_set(struct text *pattern, char c)
{
    bool is_found = false;
    bool is_negated = pattern->at < pattern->end && *pattern->at == '^';
    pattern->at += is_negated;
    for (; pattern->at < pattern->end && *pattern->at != ']'; pattern->at++) {
        const char *at = pattern->at;
        if (*at == '\\' && pattern->end - at >= 2) {
            is_found |= *++pattern->at == c;
        } else if (pattern->end - at >= 3 && at[1] == '-') {
            char low = at[0] < at[2] ? at[0] : at[2];
            char high = at[0] < at[2] ? at[2] : at[0];
            is_found |= low <= c && c <= high;
            pattern->at += 2;
        } else {
            is_found |= *at == c;
        }
    }
    pattern->at += pattern->at < pattern->end;
    return is_found != is_negated;
}

/* Match one element that is no star. @return false: no match. */
static bool match_one(struct text *pattern, char c)
{
    char p = *pattern->at++;
    if (p == '?') {
        return true;
    }
    if (p == '[') {
        return match_set(pattern, c);
    }
    if (p == '\\' && pattern->at < pattern->end) {
        p = *pattern->at++;
    }
    return p == c;
}

/* After a mismatch, the last star takes one byte more. In Redis no star matches
 * an empty name. */
static bool matches(struct text pattern, struct text name)
{
    bool is_empty = name.at == name.end;
    struct text star = {NULL, NULL};
    struct text behind = name;
    while (name.at < name.end) {
        if (pattern.at < pattern.end && *pattern.at == '*') {
            pattern.at++;
            star = pattern;
            behind = name;
        } else if (pattern.at < pattern.end && match_one(&pattern, *name.at)) {
            name.at++;
        } else if (star.at != NULL) {
            pattern = star;
            behind.at++;
            name = behind;
        } else {
            return false;
        }
    }
    while (!is_empty && pattern.at < pattern.end && *pattern.at == '*') {
        pattern.at++;
    }
    return pattern.at == pattern.end;
}

static bool read_options(struct sim_call *call, struct scan *scan)
{
    char *end;
    const char *cursor = call->argv[1].data;
    errno = 0;
    *scan = (struct scan){.cursor = strtoul(cursor, &end, 10), .count = 10};
    if (isspace((unsigned char)cursor[0]) || *end != '\0' || errno == ERANGE) {
        sim_reply_error(call->out, "ERR invalid cursor");
        return false;
    }
    for (size_t i = 2; i < call->argc; i += 2) {
        const struct sim_arg *word = &call->argv[i];
        bool has_next = i + 1 < call->argc;
        if (has_next && sim_arg_is(word, "count")) {
            if (!sim_call_integer(call, i + 1, &scan->count)) {
                return false;
            }
        } else if (has_next && sim_arg_is(word, "match")) {
            scan->match = word + 1;
        } else if (has_next && sim_arg_is(word, "type")) {
            scan->type = word + 1;
        } else {
            scan->count = 0;
        }
        if (scan->count < 1) {
            sim_call_syntax_error(call);
            return false;
        }
    }
    return true;
}

static bool is_match(const struct scan *scan, const struct sim_key *key)
{
    struct text name = {key->name->data, key->name->data + key->name->len};
    if (scan->match == NULL ||
        (scan->match->len == 1 && scan->match->data[0] == '*')) {
        return true;
    }
    struct text pattern = {scan->match->data,
                           scan->match->data + scan->match->len};
    return matches(pattern, name);
}

static bool is_wanted(const struct scan *scan, const struct sim_key *key)
{
    static const char *const types[] = {
        [SIM_STRING] = "string", [SIM_HASH] = "hash", [SIM_ZSET] = "zset"};
    return is_match(scan, key) &&
           (scan->type == NULL || sim_arg_is(scan->type, types[key->type]));
}

static struct sim_key *first_after(struct sim_call *call, uint64_t cursor)
{
    struct sim_key *key = call->redis->keys.oldest;
    while (key != NULL && key->number <= cursor) {
        key = key->newer;
    }
    return key;
}

/* Visit up to `count` keys from the cursor on, which moves. Remove keys that
 * match and have expired. @return the key where the next scan begins. */
static const struct sim_key *look(struct sim_call *call, struct scan *scan,
                                  size_t *found)
{
    struct sim_keyspace *keys = &call->redis->keys;
    struct sim_key *key = first_after(call, scan->cursor);
    for (int64_t i = 0; i < scan->count && key != NULL; i++) {
        struct sim_key *newer = key->newer;
        scan->cursor = key->number;
        if (sim_keyspace_is_expired(keys, key) && is_match(scan, key)) {
            sim_keyspace_remove(keys, key);
        } else {
            *found += is_wanted(scan, key);
        }
        key = newer;
    }
    return key;
}

void sim_scan(struct sim_call *call)
{
    struct scan scan;
    if (!read_options(call, &scan)) {
        return;
    }
    uint64_t from = scan.cursor;
    size_t found = 0;
    const struct sim_key *end = look(call, &scan, &found);
    char cursor[SIM_NUMBER_MAX];
    size_t len =
        sim_integer_format(cursor, end == NULL ? 0 : (int64_t)scan.cursor);
    sim_reply_array(call->out, 2);
    sim_reply_bulk(call->out, cursor, len);
    sim_reply_array(call->out, found);
    for (const struct sim_key *key = first_after(call, from); key != end;
         key = key->newer) {
        if (is_wanted(&scan, key)) {
            sim_reply_bulk(call->out, key->name->data, key->name->len);
        }
    }
}
