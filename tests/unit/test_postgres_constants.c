/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of PostgreSQL's schema have the values that C has, and stand
 * where its sources name them (schema/12-constants.sql). */
/* library: store-postgres-objects */
#include "core/limits.h"
#include "store/postgres/schema.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct constant {
    const char *name;
    uint64_t value;
} constants[] = {
    {"FENCE_MAX", HF_FENCE_MAX},
    {"FLOOR_STEP", UINT64_C(1) << HF_FLOOR_BITS},
    {"AHEAD_MAX", HF_FENCE_AHEAD_MAX},
    {"FENCE_KEEP_MS", HF_FENCE_KEEP_MS_DEFAULT},
    {"FENCE_KEEP_MS_MIN", HF_FENCE_KEEP_MS_MIN},
    {"VALUE_BYTES_MAX", HF_VALUE_MAX},
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

static void a_constant_has_the_value_that_c_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(constants); i++) {
        const struct constant *one = &constants[i];
        char line[64];
        snprintf(line, sizeof(line), "\n--   %s = %" PRIu64 " ", one->name,
                 one->value);
        if (occurrences(hf_postgres_text_schema, line) != 1) {
            fail_msg("not once in the schema: %s", line + 1);
        }
    }
}

/* A word of the sources is left nowhere but in the definition and behind its
 * number, which stands without it in the manual only. */
static void each_use_is_a_number_with_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(constants); i++) {
        const struct constant *one = &constants[i];
        char use[64], word[64];
        snprintf(use, sizeof(use), "%" PRIu64 " /* %s */", one->value,
                 one->name);
        snprintf(word, sizeof(word), " %s ", one->name);
        unsigned n_uses = occurrences(hf_postgres_text_schema, use);
        unsigned n_words = occurrences(hf_postgres_text_schema, word);
        if (n_uses == 0 || n_words != n_uses + 1) {
            fail_msg("%s: %u uses, %u words", one->name, n_uses, n_words);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_has_the_value_that_c_has),
        cmocka_unit_test(each_use_is_a_number_with_its_name),
    };
    return cmocka_run_group_tests_name("postgres_constants", tests, NULL, NULL);
}
