/* SPDX-License-Identifier: Apache-2.0 */
/* Backtracks to the last `*` only: it can match whatever an earlier one could
 * have matched. So a pattern with many stars does not take exponential time. */
#include "base/glob.h"

#include "base/assert.h"

struct pattern {
    const unsigned char *at;
    const unsigned char *end;
};

/* Match a class; `at` is after its '[', and moves past its ']'. */
static bool class_has(struct pattern *pattern, unsigned char c)
{
    bool is_negated = pattern->at < pattern->end &&
                      (*pattern->at == '^' || *pattern->at == '!');
    bool found = false;
    if (is_negated) {
        pattern->at++;
    }
    const unsigned char *first = pattern->at; /* a ']' there is a member */
    while (pattern->at < pattern->end &&
           (*pattern->at != ']' || pattern->at == first)) {
        if (*pattern->at == '\\' && pattern->at + 1 < pattern->end) {
            pattern->at++;
        }
        unsigned char low = *pattern->at++;
        unsigned char high = low;
        if (pattern->end - pattern->at >= 2 && pattern->at[0] == '-' &&
            pattern->at[1] != ']') {
            high = pattern->at[1];
            pattern->at += 2;
        }
        if (low > high) {
            unsigned char swap = low;
            low = high;
            high = swap;
        }
        found = found || (low <= c && c <= high);
    }
    if (pattern->at < pattern->end) {
        pattern->at++;
    }
    return found != is_negated;
}

/* Match one byte with one item, which is not `*`; `at` moves past it. */
static bool item_matches(struct pattern *pattern, unsigned char c)
{
    unsigned char item = *pattern->at++;
    if (item == '?') {
        return true;
    }
    if (item == '[') {
        return class_has(pattern, c);
    }
    if (item == '\\' && pattern->at < pattern->end) {
        item = *pattern->at++;
    }
    return item == c;
}

bool hf_glob_match(const void *pattern, size_t pattern_len, const void *text,
                   size_t text_len)
{
    struct pattern p = {pattern, (const unsigned char *)pattern + pattern_len};
    const unsigned char *t = text;
    const unsigned char *t_end = t + text_len;
    struct pattern behind_star = {NULL, p.end};
    const unsigned char *star_t = NULL;
    while (t < t_end) {
        if (p.at < p.end && *p.at == '*') {
            p.at++;
            behind_star = p;
            star_t = t;
        } else if (p.at < p.end && item_matches(&p, *t)) {
            t++;
        } else if (star_t != NULL) {
            t = ++star_t; /* the star matches one byte more */
            p = behind_star;
        } else {
            return false;
        }
    }
    while (p.at < p.end && *p.at == '*') {
        p.at++;
    }
    HF_ASSERT(p.at <= p.end); /* no item was read beyond the pattern */
    return p.at == p.end;
}
