/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void it_keeps_its_items_and_doubles(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0;
    unsigned n_moves = 0;
    for (size_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        items = hf_array_reserve(items, &capacity, i + 1, sizeof(*items));
        assert_non_null(items);
        assert_true(capacity > i);
        assert_true(capacity == before || capacity == HF_ARRAY_FIRST ||
                    capacity == 2 * before);
        n_moves += capacity != before;
        items[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(items[i], i);
    }
    assert_int_equal(capacity, 1024);
    assert_int_equal(n_moves, 8); /* 8, 16 ... 1024 */
    free(items);
}

static void it_grows_at_once_to_what_is_needed(void **state)
{
    (void)state;
    size_t capacity = 0;
    char *bytes = hf_array_reserve(NULL, &capacity, 100, 1);
    assert_non_null(bytes);
    assert_int_equal(capacity, 128);
    assert_ptr_equal(hf_array_reserve(bytes, &capacity, 128, 1), bytes);
    assert_int_equal(capacity, 128);
    bytes = hf_array_reserve(bytes, &capacity, 129, 1);
    assert_non_null(bytes);
    assert_int_equal(capacity, 256);
    free(bytes);
}

/* NULL means an error only: a list without items has room, too. */
static void no_items_are_no_error(void **state)
{
    (void)state;
    size_t capacity = 0;
    char *bytes = hf_array_reserve(NULL, &capacity, 0, 1);
    assert_non_null(bytes);
    free(bytes);
}

static void more_than_an_object_can_have_is_refused(void **state)
{
    (void)state;
    size_t capacity = 0;
    uint64_t *items = hf_array_reserve(NULL, &capacity, 1, sizeof(*items));
    assert_non_null(items);
    items[0] = 7;
    /* 2^61 items of 8 bytes: the product is 0 in 64 bits. */
    size_t many = SIZE_MAX / sizeof(*items) + 1;
    assert_null(hf_array_reserve(items, &capacity, many, sizeof(*items)));
    assert_null(hf_array_reserve(items, &capacity, SIZE_MAX, sizeof(*items)));
    assert_null(hf_array_reserve(items, &capacity, PTRDIFF_MAX, 1));
    assert_int_equal(capacity, HF_ARRAY_FIRST);
    assert_int_equal(items[0], 7);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_its_items_and_doubles),
        cmocka_unit_test(it_grows_at_once_to_what_is_needed),
        cmocka_unit_test(no_items_are_no_error),
        cmocka_unit_test(more_than_an_object_can_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
