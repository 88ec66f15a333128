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
            size_t skip = 1 + strspn(text + 1, " ");
            if (lines > 0) {
                title[len++] = lines == 1 ? '\n' : ' ';
            }
            memcpy(title + len, text + skip, line > skip ? line - skip : 0);
            len += line > skip ? line - skip : 0;
            lines++;
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
