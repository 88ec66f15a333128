/* SPDX-License-Identifier: Apache-2.0 */
/* For how long a server may be silent before its session is given up. That
 * frees its locks: while it holds some, not before a lease would have ended. */
/* library: store-postgres-objects */
#include "store/session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t patience_ms(int64_t node_timeout_ms, bool holds)
{
    return hf_span_ms_floor(
        hf_session_patience(hf_span_ms(node_timeout_ms), holds, 60000));
}

static void test_patience(void **state)
{
    (void)state;
    assert_int_equal(patience_ms(50, false), 1000);
    assert_int_equal(patience_ms(500, false), 5000);
    assert_int_equal(patience_ms(50, true), 60000);
    assert_int_equal(patience_ms(500, true), 60000);
    assert_int_equal(patience_ms(10000, true), 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patience)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
