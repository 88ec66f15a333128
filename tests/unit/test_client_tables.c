/* SPDX-License-Identifier: Apache-2.0 */
/* The client's tables, compared with the simplest implementation. */
#include "client/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 700, STEPS = 20000 };

static uint64_t random_state = 1;

static unsigned roll(unsigned sides)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1;
    return (unsigned)(random_state >> 33) % sides;
}

static void test_heap_finds_the_first(void **state)
{
    (void)state;
    static struct hf_item items[ITEMS];
    static int64_t at[ITEMS]; /* INT64_MAX: not in the table */
    struct hf_timer_heap heap;
    struct hf_item_table table;
    hf_timer_heap_init(&heap);
    hf_item_table_init(&table);
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct hf_item){HF_NOWHERE, HF_ITEM_LOCK};
        at[i] = INT64_MAX;
        assert_true(hf_item_table_add(&table, &items[i]));
        assert_true(hf_timer_heap_reserve(&heap, &items[i]));
    }
    for (int step = 0; step < STEPS; step++) {
        unsigned i = roll(ITEMS);
        at[i] = roll(4) == 0 ? INT64_MAX : (int64_t)roll(1000);
        hf_timer_heap_set(&heap, &items[i], (struct hf_instant){at[i]});
        int64_t first = INT64_MAX;
        uint32_t count = 0;
        for (int k = 0; k < ITEMS; k++) {
            first = at[k] < first ? at[k] : first;
            count += at[k] != INT64_MAX;
            assert_true((heap.positions[items[k].idx] == HF_NOWHERE) ==
                        (at[k] == INT64_MAX));
        }
        assert_true(hf_timer_heap_next(&heap).ns == first);
        if (count > 0) {
            const struct hf_item *top =
                hf_item_table_at(&table, hf_timer_heap_first(&heap));
            assert_true(at[top - items] == first);
        }
        assert_int_equal(heap.count, count);
    }
    hf_timer_heap_fini(&heap);
    hf_item_table_fini(&table);
}

static void test_stale_cookies_find_nothing(void **state)
{
    (void)state;
    static struct hf_item items[ITEMS];
    static uint64_t cookies[ITEMS];
    struct hf_item_table table;
    hf_item_table_init(&table);
    assert_null(hf_item_table_find(&table, 0));
    for (int i = 0; i < ITEMS; i++) {
        items[i].idx = HF_NOWHERE;
    }
    for (int step = 0; step < STEPS; step++) {
        unsigned i = roll(ITEMS);
        if (items[i].idx == HF_NOWHERE) {
            assert_true(cookies[i] == 0 ||
                        hf_item_table_find(&table, cookies[i]) == NULL);
            assert_true(hf_item_table_add(&table, &items[i]));
            cookies[i] = hf_item_table_cookie(&table, &items[i]);
            assert_true(cookies[i] >> 32 != 0);
        } else {
            assert_ptr_equal(hf_item_table_find(&table, cookies[i]), &items[i]);
            hf_item_table_remove(&table, &items[i]);
            assert_null(hf_item_table_find(&table, cookies[i]));
        }
    }
    hf_item_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_finds_the_first),
        cmocka_unit_test(test_stale_cookies_find_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
