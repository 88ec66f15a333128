/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of counters, and that of an owner in a reply, are equal in C and
 * in each script that uses them (head.lua), and scripts refer to them by name
 * only. */
#include "client/seize.h"
#include "core/limits.h"
#include "store/redis/scripts.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct constant {
    const char *name;
    uint64_t value;
};

static const struct constant constants[] = {
    {"FENCE_MAX", HF_FENCE_MAX},
    {"FLOOR_STEP", UINT64_C(1) << HF_FLOOR_BITS},
    {"AHEAD_MAX", HF_FENCE_AHEAD_MAX},
    {"TEXT_MAX", HF_SEIZED_TEXT_MAX},
};

static const struct hf_script *const scripts[] = {
    &hf_script_acquire, &hf_script_confirm, &hf_script_release,
    &hf_script_break,   &hf_script_inspect, &hf_script_list,
    &hf_script_mark,    &hf_script_marker,  &hf_script_look,
    &hf_script_ahead,   &hf_script_rights,
};

static unsigned occurrences(const char *text, const char *word)
{
    unsigned n = 0;
    for (text = strstr(text, word); text != NULL; text = strstr(text, word)) {
        text += strlen(word);
        n++;
    }
    return n;
}

/* Outside of comments, which mention all constants. */
static unsigned uses(const char *text, const char *name)
{
    unsigned n = 0;
    while (*text != '\0') {
        char line[200];
        size_t len = strcspn(text, "\n");
        assert_true(len < sizeof(line));
        snprintf(line, sizeof(line), "%.*s", (int)len, text);
        char *comment = strstr(line, "--");
        if (comment != NULL) {
            *comment = '\0';
        }
        n += occurrences(line, name);
        text += len + (text[len] == '\n');
    }
    return n;
}

static void a_constant_has_the_value_that_c_has(void **state)
{
    (void)state;
    unsigned defined = 0;
    for (size_t i = 0; i < COUNT(scripts); i++) {
        for (size_t j = 0; j < COUNT(constants); j++) {
            char line[64];
            snprintf(line, sizeof(line), "\nlocal %s = %" PRIu64 "\n",
                     constants[j].name, constants[j].value);
            unsigned n_uses = uses(scripts[i]->text, constants[j].name);
            unsigned n_lines = occurrences(scripts[i]->text, line);
            if (n_uses == 1 || n_lines != (n_uses > 0)) {
                fail_msg("%s.lua: %s: %u uses, %u definitions by the value "
                         "of C",
                         scripts[i]->name, constants[j].name, n_uses, n_lines);
            }
            defined += n_lines;
        }
    }
    assert_true(defined >= COUNT(constants));
}

static void no_constant_stands_bare(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(scripts); i++) {
        for (size_t j = 0; j < COUNT(constants); j++) {
            char digits[24];
            snprintf(digits, sizeof(digits), "%" PRIu64, constants[j].value);
            if (occurrences(scripts[i]->text, digits) >
                (uses(scripts[i]->text, constants[j].name) > 0)) {
                fail_msg("%s.lua: %s instead of %s", scripts[i]->name, digits,
                         constants[j].name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_has_the_value_that_c_has),
        cmocka_unit_test(no_constant_stands_bare),
    };
    return cmocka_run_group_tests_name("redis_constants", tests, NULL, NULL);
}
