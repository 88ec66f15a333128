/* SPDX-License-Identifier: Apache-2.0 */
/* Marks as texts: a written one is read again, and no other text is; when one
 * is over; which of two is kept. */
#include "store/ordered/mark_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct hf_bytes runner = {"9f:build:1@0/0 x", 16};

static struct hf_bytes text_of(const char *string)
{
    return (struct hf_bytes){string, strlen(string)};
}

static void a_text_has_one_form(void **state)
{
    char text[HF_ORDERED_MARK_TEXT_MAX];
    struct hf_ordered_mark mark = {4711, 1764117600000, 3600000, runner};
    struct hf_ordered_mark read;
    (void)state;
    size_t len = hf_ordered_mark_write(&mark, text);
    const char *expected = "4711 1764117600000 3600000 9f:build:1@0/0 x";
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(text, expected, len);
    assert_true(hf_ordered_mark_read((struct hf_bytes){text, len}, &read));
    assert_true(read.fence == 4711);
    assert_true(read.start_ms == 1764117600000);
    assert_true(read.length_ms == 3600000);
    assert_int_equal(read.owner.len, runner.len);
    assert_memory_equal(read.owner.data, runner.data, runner.len);
}

static void a_tombstone_has_no_owner(void **state)
{
    char text[HF_ORDERED_MARK_TEXT_MAX];
    struct hf_ordered_mark mark = {1, 0, 1, {NULL, 0}};
    struct hf_ordered_mark read;
    (void)state;
    size_t len = hf_ordered_mark_write(&mark, text);
    assert_int_equal(len, 6);
    assert_memory_equal(text, "1 0 1 ", len);
    assert_true(hf_ordered_mark_read((struct hf_bytes){text, len}, &read));
    assert_int_equal(read.owner.len, 0);
}

static void the_longest_fits(void **state)
{
    char owner[HF_OWNER_MAX];
    char text[HF_ORDERED_MARK_TEXT_MAX];
    struct hf_ordered_mark mark = {
        UINT64_MAX, INT64_MAX / 2, INT64_MAX / 2, {owner, sizeof(owner)}};
    struct hf_ordered_mark read;
    (void)state;
    memset(owner, 0, sizeof(owner)); /* any bytes */
    size_t len = hf_ordered_mark_write(&mark, text);
    assert_true(len <= sizeof(text));
    assert_true(hf_ordered_mark_read((struct hf_bytes){text, len}, &read));
    assert_true(read.fence == UINT64_MAX && read.owner.len == sizeof(owner));
    assert_true(hf_ordered_mark_left(&read, 1) == INT64_MAX / 2);
}

static void no_other_text_is_a_mark(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "1",
        "1 ",
        "1 2",
        "1 2 3",        /* cut: no space after the length */
        "0 2 3 owner",  /* no fence */
        "1 2 0 owner",  /* no length */
        "01 2 3 owner", /* another form of the same */
        "1  2 3 owner",
        " 1 2 3 owner",
        "-1 2 3 owner",
        "+1 2 3 owner",
        "1 2 x owner",
        "1 2 3x owner",
        "1\t2 3 owner",
        "18446744073709551616 2 3 owner",
        "1 4611686018427387904 3 owner",
        "1 2 4611686018427387904 owner",
        "hello",
    };
    char text[HF_ORDERED_MARK_TEXT_MAX + 8];
    struct hf_ordered_mark read;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (hf_ordered_mark_read(text_of(texts[i]), &read)) {
            fail_msg("\"%s\" is a mark", texts[i]);
        }
    }
    memset(text, 'x', sizeof(text));
    (void)snprintf(text, sizeof(text), "1 2 3 ");
    text[6] = 'x';
    assert_false(hf_ordered_mark_read(
        (struct hf_bytes){text, 6 + HF_OWNER_MAX + 1}, &read));
    assert_true(
        hf_ordered_mark_read((struct hf_bytes){text, 6 + HF_OWNER_MAX}, &read));
}

/* No cut of a mark is another mark with other numbers. */
static void a_cut_changes_no_number(void **state)
{
    const char *text = "4711 1764117600000 3600000 runner";
    struct hf_ordered_mark read;
    (void)state;
    for (size_t len = 0; len < strlen(text); len++) {
        if (hf_ordered_mark_read((struct hf_bytes){text, len}, &read)) {
            assert_true(read.length_ms == 3600000);
            assert_true(len >= 27);
        }
    }
}

static void it_is_over_at_its_end(void **state)
{
    const struct hf_ordered_mark mark = {1, 10000, 300, runner};
    (void)state;
    assert_true(hf_ordered_mark_left(&mark, 10000) == 300);
    assert_true(hf_ordered_mark_left(&mark, 10299) == 1);
    assert_true(hf_ordered_mark_left(&mark, 10300) == 0);
    assert_true(hf_ordered_mark_left(&mark, 10301) == 0);
    assert_true(hf_ordered_mark_left(&mark, INT64_MAX / 2) == 0);
    /* Of a clock that is behind: its whole length, and no more. */
    assert_true(hf_ordered_mark_left(&mark, 9000) == 300);
    assert_true(hf_ordered_mark_left(&mark, 1) == 300);
}

static void the_rules_of_the_merge(void **state)
{
    const struct hf_ordered_mark none = {.fence = 0};
    const struct hf_ordered_mark run = {5, 1, 1, runner};
    const struct hf_ordered_mark again = {5, 9, 9, {"other", 5}};
    const struct hf_ordered_mark later = {6, 1, 1, runner};
    const struct hf_ordered_mark tomb = {5, 1, 1, {NULL, 0}};
    (void)state;
    assert_true(hf_ordered_mark_wins(&run, &none));
    assert_true(hf_ordered_mark_wins(&tomb, &none));
    assert_true(hf_ordered_mark_wins(&later, &run));
    assert_true(hf_ordered_mark_wins(&later, &tomb));
    assert_true(hf_ordered_mark_wins(&tomb, &run));
    assert_false(hf_ordered_mark_wins(&again, &run)); /* the end never moves */
    assert_false(hf_ordered_mark_wins(&run, &tomb));
    assert_false(hf_ordered_mark_wins(&tomb, &tomb));
    assert_false(hf_ordered_mark_wins(&run, &later));
    assert_false(hf_ordered_mark_wins(&tomb, &later));
    assert_false(hf_ordered_mark_wins(&none, &none)); /* only read */
    assert_false(hf_ordered_mark_wins(&none, &run));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_form),
        cmocka_unit_test(a_tombstone_has_no_owner),
        cmocka_unit_test(the_longest_fits),
        cmocka_unit_test(no_other_text_is_a_mark),
        cmocka_unit_test(a_cut_changes_no_number),
        cmocka_unit_test(it_is_over_at_its_end),
        cmocka_unit_test(the_rules_of_the_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
