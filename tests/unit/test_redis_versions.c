/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of Redis that apply min-replicas-to-write to scripts. */
#include "store/redis/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void guards_scripts_since_two_patches(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        bool guards;
    } cases[] = {
        {"Redis 5.0.14", false},
        {"Redis 6.0.0", false},
        {"Redis 6.0.16", false},
        {"Redis 6.0.17", true},
        {"Redis 6.0.20", true},
        {"Redis 6.2.0", false},
        {"Redis 6.2.6", false},
        {"Redis 6.2.7", true},
        {"Redis 6.2.14", true},
        {"Redis 7.0.0", true},
        {"Redis 7.4.1", true},
        {"Redis 255.255.255", true},
        {"Valkey 6.0.1", true},
        {"Redis 6", true},
        {"", true},
        {"Redis x", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(hf_redis_examine_guards_scripts(cases[i].version),
                         cases[i].guards);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_scripts_since_two_patches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
