/* SPDX-License-Identifier: Apache-2.0 */
#include "story/scenario.h"

#include <stdlib.h>
#include <string.h>

const struct sim_scenario *sim_scenario_at(size_t i)
{
    for (size_t at = 0; sim_scenarios[at].name != NULL; at++) {
        if (at == i) {
            return &sim_scenarios[at];
        }
    }
    return NULL;
}

const struct sim_scenario *sim_scenario_find(const char *name)
{
    const struct sim_scenario *scenario = sim_scenarios;
    while (scenario->name != NULL && strcmp(scenario->name, name) != 0) {
        scenario++;
    }
    return scenario->name == NULL ? NULL : scenario;
}

/* Append a line of a comment without its "# ": the first of the text is the
 * headline, and the others are one paragraph. @return the new length. */
static size_t add_line(char *title, size_t len, unsigned n_before,
                       const char *text, size_t line)
{
    size_t skip = 1 + strspn(text + 1, " ");
    if (n_before > 0) {
        title[len++] = n_before == 1 ? '\n' : ' ';
    }
    if (line > skip) {
        memcpy(title + len, text + skip, line - skip);
        len += line - skip;
    }
    return len;
}

char *sim_story_title(const char *text)
{
    static const char expected[] = "# expect:";
    char *title = malloc(strlen(text) + 1);
    size_t len = 0;
    unsigned lines = 0;
    if (title == NULL) {
        abort();
    }
    for (; *text == '#'; text += text[0] == '\n') {
        size_t line = strcspn(text, "\n");
        if (strncmp(text, expected, sizeof(expected) - 1) != 0) {
            len = add_line(title, len, lines++, text, line);
        }
        text += line;
    }
    title[len] = '\0';
    if (lines == 0) {
        free(title);
        return NULL;
    }
    return title;
}
