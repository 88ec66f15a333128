/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that Lua reads and writes in the simulator (sim/redis/libc_numbers.c)
 * are those of libc, to the bit. */
#include "story/random.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 200000 /* random numbers in each test */

double __real_strtod(const char *text, char **end);

/* ---- Reading ------------------------------------------------------------- */

static void same_number(const char *text)
{
    char *end;
    char *real_end;
    double number = strtod(text, &end);
    double real = __real_strtod(text, &real_end);
    if (memcmp(&number, &real, sizeof(real)) != 0 || end != real_end) {
        fail_msg("\"%s\": %.17g, libc: %.17g", text, number, real);
    }
}

static void test_odd_texts_are_read_as_by_libc(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "0",
                                        "-0",
                                        "00",
                                        "007",
                                        " 7",
                                        "7 ",
                                        "7x",
                                        "+7",
                                        "-7",
                                        "1e3",
                                        "1.5",
                                        ".5",
                                        "5.",
                                        "0x10",
                                        "inf",
                                        "-inf",
                                        "nan",
                                        "1e999",
                                        "1e-999",
                                        "-",
                                        "0000000000000017",
                                        "9007199254740991",
                                        "9007199254740993",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "9999999999999999999",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "100000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        same_number(texts[i]);
    }
}

static void test_digits_are_read_as_by_libc(void **state)
{
    (void)state;
    struct sim_random random = sim_random_of(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
        char text[32];
        unsigned zeros = (unsigned)sim_draw(&random) % 4;
        uint64_t number = sim_draw(&random) >> (sim_draw(&random) % 64);
        snprintf(text, sizeof(text), "%.*s%llu", (int)zeros, "000",
                 (unsigned long long)number);
        same_number(text);
    }
}

/* ---- Writing ------------------------------------------------------------- */

static void same_text(const char *format, double number)
{
    char text[512];
    char real[512];
    int len = sprintf(text, format, number);
    int real_len = snprintf(real, sizeof(real), format, number);
    if (len != real_len || strcmp(text, real) != 0) {
        fail_msg("%s: \"%s\", libc: \"%s\"", format, text, real);
    }
}

static void same_texts(double number)
{
    static const char *const formats[] = {"%.14g", "%.0f",  "%016.0f",
                                          "%g",    "%.17g", "%5.0f"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        same_text(formats[i], number);
        same_text(formats[i], -number);
    }
}

static void test_odd_numbers_are_written_as_by_libc(void **state)
{
    (void)state;
    static const double numbers[] = {0,
                                     0.5,
                                     1,
                                     1.5,
                                     99999999999999.0,
                                     100000000000000.0,
                                     1e15,
                                     9007199254740991.0,
                                     9007199254740993.0,
                                     9223372036854774784.0,
                                     9223372036854775808.0,
                                     1e19,
                                     1e300,
                                     DBL_MIN,
                                     DBL_MAX,
                                     INFINITY,
                                     NAN};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        same_texts(numbers[i]);
    }
}

static void test_numbers_are_written_as_by_libc(void **state)
{
    (void)state;
    struct sim_random random = sim_random_of(1, 2);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t bits = sim_draw(&random);
        double number = (double)(bits >> (sim_draw(&random) % 64));
        same_texts(number);
        same_texts(number / 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_texts_are_read_as_by_libc),
        cmocka_unit_test(test_digits_are_read_as_by_libc),
        cmocka_unit_test(test_odd_numbers_are_written_as_by_libc),
        cmocka_unit_test(test_numbers_are_written_as_by_libc),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
