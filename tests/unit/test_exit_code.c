/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes are a contract with scripts: each status of the library has the
 * code that EXIT STATUS of holdfast(1) gives it, and none is left out. */
#include "../../cli/exit_code.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    enum hf_status status;
    int code;
} contract[] = {
    {HF_OK, 0},           {HF_BUSY, 75},     {HF_LOST, 76},
    {HF_UNKNOWN, 69},     {HF_DENIED, 77},   {HF_UNAVAILABLE, 69},
    {HF_QUARANTINED, 69}, {HF_INVALID, 64},  {HF_CONFIG, 78},
    {HF_UNSUPPORTED, 78}, {HF_INTERNAL, 70}, {HF_CANCELLED, 70},
    {HF_NO_MEMORY, 70},
};

#define N_CONTRACT (sizeof(contract) / sizeof(contract[0]))

static void test_each_status_has_its_exit_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONTRACT; i++) {
        assert_int_equal(cli_exit_code(contract[i].status), contract[i].code);
    }
    assert_int_equal(cli_exit_code((enum hf_status)99), 70);
}

/* A status that is appended to the map needs a line above. */
static void test_contract_is_total(void **state)
{
    (void)state;
#define CHECK(symbol, class_of, text)                                          \
    {                                                                          \
        unsigned n = 0;                                                        \
        for (size_t i = 0; i < N_CONTRACT; i++) {                              \
            n += contract[i].status == (symbol) ? 1 : 0;                       \
        }                                                                      \
        assert_int_equal(n, 1);                                                \
    }
    HF_STATUS_MAP(CHECK)
#undef CHECK
}

/* Two statuses of one class may differ in code only if scripts branch on
 * them: how an operation ended, and missing rights. */
static void test_codes_follow_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONTRACT; i++) {
        enum hf_class class_of = hf_status_class(contract[i].status);
        for (size_t j = 0; j < i; j++) {
            if (hf_status_class(contract[j].status) != class_of ||
                class_of == HF_CLASS_OUTCOME ||
                contract[i].status == HF_DENIED ||
                contract[j].status == HF_DENIED) {
                continue;
            }
            assert_int_equal(contract[i].code, contract[j].code);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_status_has_its_exit_code),
        cmocka_unit_test(test_contract_is_total),
        cmocka_unit_test(test_codes_follow_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
