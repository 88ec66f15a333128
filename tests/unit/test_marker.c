/* SPDX-License-Identifier: Apache-2.0 */
/* The marker as fields of text. */
#include "store/marker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct hf_marker full = {
    .exists = true,
    .value = "v1",
    .run_id = "run1",
    .replid = "repl1",
    .is_whole = true,
    .is_durable = true,
    .shape = {60000, 3, 3600000, 1790000000000000},
    .has_entry = true,
    .entry = {INT64_C(123456000000)},
};

/* The texts that a server keeps: `value`, `whole` and the entry have fields
 * too. */
static void read_back(const struct hf_marker_texts *texts, const char *host,
                      struct hf_marker *out)
{
    memset(out, 0, sizeof(*out));
    hf_marker_read(out, host, "v", texts->texts[0]);
    hf_marker_read(out, host, "whole", texts->texts[1]);
    if (texts->texts[2][0] != '\0') {
        hf_marker_read(out, host, texts->texts[2], texts->texts[3]);
    }
    for (size_t i = 4; i < HF_MARKER_TEXTS; i += 2) {
        hf_marker_read(out, host, texts->texts[i], texts->texts[i + 1]);
    }
}

static void assert_same(const struct hf_marker *a, const struct hf_marker *b)
{
    assert_int_equal(a->exists, b->exists);
    assert_string_equal(a->value, b->value);
    assert_string_equal(a->run_id, b->run_id);
    assert_string_equal(a->replid, b->replid);
    assert_int_equal(a->is_whole, b->is_whole);
    assert_int_equal(a->is_durable, b->is_durable);
    assert_int_equal(a->shape.max_ttl_ms, b->shape.max_ttl_ms);
    assert_int_equal(a->shape.nodes, b->shape.nodes);
    assert_int_equal(a->shape.fence_keep_ms, b->shape.fence_keep_ms);
    assert_int_equal(a->shape.fence_base, b->shape.fence_base);
    assert_int_equal(a->has_entry, b->has_entry);
    assert_int_equal(a->entry.ns, b->entry.ns);
}

static void is_read_as_it_was_written(void **state)
{
    (void)state;
    struct hf_marker marker = full;
    struct hf_marker_texts texts;
    struct hf_marker again;
    hf_marker_write(&marker, "at:host", &texts);
    read_back(&texts, "at:host", &again);
    assert_same(&again, &full);
    marker.is_whole = marker.is_durable = marker.has_entry = false;
    marker.entry = (struct hf_instant){0};
    hf_marker_write(&marker, "at:host", &texts);
    read_back(&texts, "at:host", &again);
    assert_same(&again, &marker);
}

/* The scripts of the servers know the first four by their position. */
static void is_written_in_this_order(void **state)
{
    (void)state;
    static const char *const expected[HF_MARKER_TEXTS] = {"v1",
                                                          "1",
                                                          "at:host",
                                                          "123456",
                                                          "run_id",
                                                          "run1",
                                                          "replid",
                                                          "repl1",
                                                          "max_ttl_ms",
                                                          "60000",
                                                          "nodes",
                                                          "3",
                                                          "fence_keep_ms",
                                                          "3600000",
                                                          "fence_base",
                                                          "1790000000000000",
                                                          "durable",
                                                          "1"};
    struct hf_marker marker = full;
    struct hf_marker_texts texts;
    hf_marker_write(&marker, "at:host", &texts);
    for (size_t i = 0; i < HF_MARKER_TEXTS; i++) {
        assert_string_equal(texts.texts[i], expected[i]);
    }
    marker.entry.ns++; /* rounded up: an entry is never too early */
    hf_marker_write(&marker, "at:host", &texts);
    assert_string_equal(texts.texts[3], "123457");
}

static void has_no_entry_of_another_host(void **state)
{
    (void)state;
    struct hf_marker marker = full;
    struct hf_marker_texts texts;
    struct hf_marker again;
    hf_marker_write(&marker, "at:host", &texts);
    read_back(&texts, "at:other", &again);
    assert_false(again.has_entry);
    read_back(&texts, "", &again); /* our clock has no name */
    assert_false(again.has_entry);
    memset(&again, 0, sizeof(again));
    hf_marker_read(&again, "", "", "5");
    assert_false(again.has_entry);
}

/* A value that was drawn is kept for the second write. */
static void a_fresh_value_is_drawn_once(void **state)
{
    (void)state;
    struct hf_marker one = full;
    struct hf_marker two = full;
    struct hf_marker_texts texts;
    one.value[0] = two.value[0] = '\0';
    hf_marker_write(&one, "at:host", &texts);
    hf_marker_write(&two, "at:host", &texts);
    assert_int_equal(strlen(one.value), 32);
    assert_int_equal(strspn(one.value, "0123456789abcdef"), 32);
    assert_string_not_equal(one.value, two.value);
    struct hf_marker before = two;
    hf_marker_write(&two, "at:host", &texts);
    assert_string_equal(two.value, before.value);
    assert_string_equal(texts.texts[0], before.value);
}

/* Any reply: too long, no number, a number that no time is. */
static void reads_odd_fields(void **state)
{
    (void)state;
    struct hf_marker marker = {0};
    char text[200];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hf_marker_read(&marker, "at:host", "run_id", text);
    assert_int_equal(strlen(marker.run_id), HF_SERVER_ID_MAX - 1);
    assert_false(marker.exists);
    hf_marker_read(&marker, "at:host", text, "1");
    hf_marker_read(&marker, "at:host", "max_ttl_ms", "no number");
    assert_int_equal(marker.shape.max_ttl_ms, 0);
    hf_marker_read(&marker, "at:host", "nodes", "-1");
    assert_int_equal(marker.shape.nodes, 0);
    hf_marker_read(&marker, "at:host", "fence_keep_ms",
                   "99999999999999999999999999");
    assert_int_equal(marker.shape.fence_keep_ms, INT64_C(1) << 53);
    hf_marker_read(&marker, "at:host", "at:host", "9007199254740993");
    assert_true(marker.has_entry);
    assert_true(hf_instant_is_never(marker.entry));
    hf_marker_read(&marker, "at:host", "v", text);
    assert_false(marker.exists); /* it could not be compared */
    assert_string_equal(marker.value, "*");
    hf_marker_read(&marker, "at:host", "v", "v2");
    assert_true(marker.exists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_as_it_was_written),
        cmocka_unit_test(is_written_in_this_order),
        cmocka_unit_test(has_no_entry_of_another_host),
        cmocka_unit_test(a_fresh_value_is_drawn_once),
        cmocka_unit_test(reads_odd_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
