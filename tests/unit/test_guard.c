/* SPDX-License-Identifier: Apache-2.0 */
/* hf_guard_is_stale(): which errors of a database are stale fences, and both
 * numbers. tests/guard/present.t.sh asks the databases themselves. */
#include <holdfast/guard.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX "18446744073709551615"

static const struct {
    const char *message;
    bool is_stale;
    uint64_t given, seen;
} cases[] = {
    {"holdfast: fence 41 of 'a' is stale: 42 was presented", true, 41, 42},
    /* PostgreSQL, MariaDB, Redis: text before it and behind it */
    {"ERROR:  holdfast: fence 41 of 'a' is stale: 42 was presented\n"
     "CONTEXT:  PL/pgSQL function holdfast.fence(text,bigint)\n",
     true, 41, 42},
    {"ERR holdfast: fence 0 of '' is stale: " MAX " was presented", true, 0,
     UINT64_MAX},
    /* SQLite: no numbers */
    {"holdfast: stale fence: another holder has written since", true, 0, 0},
    /* a name that looks like the text: the last number counts */
    {"holdfast: fence 41 of 'b' is stale: 5 was presented' is stale: 42 was "
     "presented",
     true, 41, 42},
    {"holdfast: fence 41 of 'holdfast: fence 1 of c' is stale: 42 was "
     "presented",
     true, 41, 42},
    /* other errors, of the guard too, and names in them */
    {"", false, 0, 0},
    {"duplicate key value violates unique constraint \"a\"", false, 0, 0},
    {"holdfast: fence 0 of 'a': the lock is not held", false, 0, 0},
    {"holdfast: fence x of 'a' is stale: 42 was presented", false, 0, 0},
    {"holdfast: fence 41 of 'a' is stale: x was presented", false, 0, 0},
    {"holdfast: fence 41 of 'a' is stale: 42", false, 0, 0},
    {"holdfast: fence -1 of 'a' is stale: 42 was presented", false, 0, 0},
    {"no such row: fence 41 of 'a' is stale: 42 was presented", false, 0, 0},
    {"holdfast: other: holdfast: stale fence: a", false, 0, 0},
};

static void stale_fences_are_told_from_other_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t given = 7, seen = 7;
        bool is_stale = hf_guard_is_stale(cases[i].message, &given, &seen);
        if (is_stale != cases[i].is_stale || given != cases[i].given ||
            seen != cases[i].seen) {
            fail_msg("%s: %d, %llu, %llu", cases[i].message, (int)is_stale,
                     (unsigned long long)given, (unsigned long long)seen);
        }
        assert_int_equal(hf_guard_is_stale(cases[i].message, NULL, NULL),
                         cases[i].is_stale);
    }
}

static void no_message_is_no_error(void **state)
{
    (void)state;
    uint64_t given = 7, seen = 7;
    assert_false(hf_guard_is_stale(NULL, &given, &seen));
    assert_int_equal(given, 0);
    assert_int_equal(seen, 0);
    assert_false(hf_guard_is_stale(NULL, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_fences_are_told_from_other_errors),
        cmocka_unit_test(no_message_is_no_error),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
