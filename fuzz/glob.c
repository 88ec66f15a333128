/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns: no read past the ends, the same result as the simplest
 * possible matcher, and no pattern that takes exponential time. */
#include "fuzz.h"

#include "base/glob.h"

/* The simple matcher is exponential: with more stars than this it is not
 * run. */
#define STARS_MAX 4

struct span {
    const uint8_t *at;
    size_t len;
};

static struct span rest(struct span span, size_t skip)
{
    return (struct span){span.at + skip, span.len - skip};
}

/* Length of a class, with its brackets. Reports whether it contains @p c. */
static size_t read_class(struct span pattern, uint8_t c, bool *has)
{
    size_t i = 1;
    bool is_not =
        pattern.len > 1 && (pattern.at[1] == '^' || pattern.at[1] == '!');
    bool found = false;
    size_t first = i + is_not;
    for (i = first; i < pattern.len && (pattern.at[i] != ']' || i == first);) {
        i += pattern.at[i] == '\\' && i + 1 < pattern.len;
        unsigned a = pattern.at[i];
        unsigned b = a;
        if (i + 2 < pattern.len && pattern.at[i + 1] == '-' &&
            pattern.at[i + 2] != ']') {
            b = pattern.at[i + 2];
            i += 2;
        }
        i++;
        found |= (a <= c && c <= b) || (b <= c && c <= a);
    }
    *has = found != is_not;
    return i < pattern.len ? i + 1 : i;
}

static bool slow_match(struct span pattern, struct span text)
{
    if (pattern.len == 0) {
        return text.len == 0;
    }
    if (pattern.at[0] == '*') {
        return slow_match(rest(pattern, 1), text) ||
               (text.len > 0 && slow_match(pattern, rest(text, 1)));
    }
    if (text.len == 0) {
        return false;
    }
    bool fits = false;
    size_t used = 1;
    if (pattern.at[0] == '[') {
        used = read_class(pattern, text.at[0], &fits);
    } else if (pattern.at[0] == '?') {
        fits = true;
    } else {
        used = pattern.at[0] == '\\' && pattern.len > 1 ? 2 : 1;
        fits = pattern.at[used - 1] == text.at[0];
    }
    return fits && slow_match(rest(pattern, used), rest(text, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    size_t pattern_len = fuzz_u8(&in);
    struct span pattern = {fuzz_bytes(&in, &pattern_len), 0};
    struct span text = {in.at, in.left};
    pattern.len = pattern_len;
    char *a = fuzz_text(pattern.at, pattern.len);
    char *b = fuzz_text(text.at, text.len);
    bool is_match = hf_glob_match(a, pattern.len, b, text.len);
    unsigned stars = 0;
    for (size_t i = 0; i < pattern.len; i++) {
        stars += pattern.at[i] == '*';
    }
    if (stars <= STARS_MAX && text.len <= 64) {
        FUZZ_CHECK(is_match == slow_match(pattern, text));
    }
    free(a);
    free(b);
    return 0;
}
