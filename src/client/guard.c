/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of holdfast guard. They are the texts of cli/guard/:
 *
 *   holdfast: fence 41 of 'NAME' is stale: 42 was presented
 *   holdfast: stale fence: ...                       (SQLite before 3.47)
 *
 * A server may add text on both sides. NAME may have any text, also one like
 * these, so the first "holdfast: " and the last number count. */
#include <holdfast/guard.h>

#include <stdlib.h>
#include <string.h>

static const char *skip(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* strtoull() alone would also take blanks and a sign. */
static const char *read_fence(const char *text, const char *suffix,
                              uint64_t *fence)
{
    char *end = NULL;
    if (strspn(text, "0123456789") == 0) {
        return NULL;
    }
    *fence = strtoull(text, &end, 10);
    return skip(end, suffix);
}

static bool read_fences(const char *text, uint64_t *given, uint64_t *seen)
{
    static const char between[] = "' is stale: ";
    bool is_stale = false;
    const char *name = read_fence(text, " of ", given);
    const char *next = name == NULL ? NULL : strstr(name, between);
    for (; next != NULL; next = strstr(next, between)) {
        uint64_t fence = 0;
        next += sizeof(between) - 1;
        if (read_fence(next, " was presented", &fence) != NULL) {
            *seen = fence;
            is_stale = true;
        }
    }
    return is_stale;
}

bool hf_guard_is_stale(const char *message, uint64_t *given, uint64_t *seen)
{
    uint64_t fences[2] = {0, 0};
    const char *ours = message != NULL ? strstr(message, "holdfast: ") : NULL;
    const char *text = ours != NULL ? skip(ours, "holdfast: fence ") : NULL;
    bool has_fences = text != NULL && read_fences(text, &fences[0], &fences[1]);
    if (given != NULL) {
        *given = has_fences ? fences[0] : 0;
    }
    if (seen != NULL) {
        *seen = has_fences ? fences[1] : 0;
    }
    return has_fences ||
           (ours != NULL && skip(ours, "holdfast: stale fence: ") != NULL);
}
