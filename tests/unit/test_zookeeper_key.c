/* SPDX-License-Identifier: Apache-2.0 */
/* Names and owners as nodes of ZooKeeper, and numbers: a node that
 * was written is read as the same, no two names share a node, sequences are
 * read as all clients write them, and nodes of other programs are read as
 * exclusive entries. */
/* library: store-zookeeper-objects */
#include "store/ordered/wire_key.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct hf_bytes bytes_of(const char *text)
{
    return (struct hf_bytes){text, strlen(text)};
}

static void assert_bytes(struct hf_bytes got, const void *want, size_t len)
{
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, want, len);
}

/* ---- Names --------------------------------------------------------------- */

static void assert_folder(const char *base, struct hf_bytes name,
                          const char *want)
{
    char *folder = hf_zk_key_folder(base, name);
    assert_non_null(folder);
    assert_string_equal(folder, want);
    size_t len = hf_zk_key_name(folder + strlen(base));
    assert_bytes((struct hf_bytes){folder + strlen(base), len}, name.data,
                 name.len);
    free(folder);
}

static void names_are_escaped(void **state)
{
    (void)state;
    assert_folder("/lock:", bytes_of("nightly"), "/lock:nightly");
    assert_folder("/", bytes_of("a-b_c.d~:@"), "/a-b_c.d~:@");
    assert_folder("/lock:", bytes_of("a/b"), "/lock:a%2Fb");
    assert_folder("/lock:", bytes_of("a%2Fb"), "/lock:a%252Fb");
    assert_folder("/lock:", bytes_of("%sessions"), "/lock:%25sessions");
    assert_folder("/c/", bytes_of("\xc3\xa9 \x7f"), "/c/%C3%A9%20%7F");
    assert_folder("/lock:", (struct hf_bytes){"a\0b", 3}, "/lock:a%00b");
}

static void names_almost_ours(void **state)
{
    static const char *const cases[] = {"a b",   "%41",  "a%2",      "a%2f",
                                        ".lock", "%2E/", "zookeeper"};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        snprintf(text, sizeof(text), "%s", cases[i]);
        assert_int_equal(hf_zk_key_name(text), SIZE_MAX);
    }
}

/* ZooKeeper refuses the paths "/.", "/.." and all below "/zookeeper". */
static void reserved_names_are_escaped(void **state)
{
    (void)state;
    assert_folder("/", bytes_of("."), "/%2E");
    assert_folder("/", bytes_of(".."), "/%2E.");
    assert_folder("/", bytes_of(".a"), "/%2Ea");
    assert_folder("/", bytes_of("zookeeper"), "/%7Aookeeper");
    assert_folder("/", bytes_of("zookeepers"), "/zookeepers");
}

/* Of the nodes beside the names. */
static void no_names(void **state)
{
    char sessions[] = "%sessions";
    char values[] = "%values";
    char empty[] = "";
    (void)state;
    assert_int_equal(hf_zk_key_name(sessions), SIZE_MAX);
    assert_int_equal(hf_zk_key_name(values), SIZE_MAX);
    assert_int_equal(hf_zk_key_name(empty), SIZE_MAX);
}

/* The suffix is no escape: "x%once" is another name than that of x's mark. */
static void marks_are_beside_their_container(void **state)
{
    char mark[] = "a%2Fb%once";
    char name[] = "x%25once";
    char empty[] = "%once";
    (void)state;
    assert_true(hf_zk_mark_cut(mark));
    assert_string_equal(mark, "a%2Fb");
    assert_false(hf_zk_mark_cut(name));
    assert_string_equal(name, "x%25once");
    assert_false(hf_zk_mark_cut(empty));
}

/* ---- Entries ------------------------------------------------------------- */

static const uint8_t session[HF_SESSION_ID_LEN] = {0x69, 0x4d, 0x7f, 0x1c,
                                                   0x2a, 0x3b, 0x4c, 0x05};

#define OWNER "9f0123456789abcdef0123456789abcd:host:4711:1764012345"

static void assert_entry(const struct hf_wire_key *key, const char *want)
{
    struct hf_wire_entry entry;
    char node[512];
    uint32_t sequence;
    size_t len;
    char *text = hf_zk_key_entry(key);
    assert_non_null(text);
    assert_string_equal(text, want);
    snprintf(node, sizeof(node), "%s%010d", text, 17);
    assert_true(hf_zk_key_sequence(node, &sequence, &len));
    assert_int_equal(sequence, 17);
    assert_int_equal(len, strlen(text));
    hf_zk_key_read(node, &entry);
    assert_bytes(entry.owner, key->owner.data, key->owner.len);
    assert_memory_equal(entry.entry.owner.session, key->session,
                        HF_SESSION_ID_LEN);
    assert_memory_equal(entry.born, key->session, HF_SESSION_ID_LEN);
    assert_int_equal(entry.entry.mode, key->mode);
    assert_int_equal(entry.ttl_s, key->ttl_s);
    assert_int_equal(entry.born_ttl_s, key->ttl_s);
    assert_int_equal(entry.permits, key->permits);
    free(text);
}

static void an_entry_comes_back(void **state)
{
    struct hf_wire_key key = {.name = bytes_of("nightly"),
                              .session = session,
                              .owner = bytes_of(OWNER),
                              .mode = HF_EXCLUSIVE,
                              .ttl_s = 30};
    (void)state;
    assert_entry(&key, "694d7f1c2a3b4c05-x30-" OWNER "-lock-");
    key.mode = HF_SHARED;
    key.ttl_s = 86400;
    assert_entry(&key, "694d7f1c2a3b4c05-s86400-" OWNER "-lock-");
    key.permits = 65535;
    assert_entry(&key, "694d7f1c2a3b4c05-s86400p65535-" OWNER "-lock-");
    key.permits = 0;
    key.owner = bytes_of("a/b-lock-%41");
    assert_entry(&key, "694d7f1c2a3b4c05-s86400-a%2Fb-lock-%2541-lock-");
}

static void sessions_and_ids(void **state)
{
    static const int64_t ids[] = {1, 0x694d7f1c2a3b4c05, INT64_MAX, -1,
                                  INT64_MIN};
    (void)state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        uint8_t id[HF_SESSION_ID_LEN];
        memset(id, 0xaa, sizeof(id));
        hf_wire_session_of((uint64_t)ids[i], id);
        assert_true((int64_t)hf_wire_id_of(id) == ids[i]);
    }
}

/* Curator, kazoo, and whatever else has a sequence. */
static void entries_of_other_programs(void **state)
{
    static const char *const cases[] = {
        "_c_2b7f0d0e-6a4c-4d3e-9a53-0d4e5a6f7b8c-lock-0000000007",
        "0123456789abcdef0123456789abcdef__lock__0000000007",
        "694d-lock-0000000007",
        "694d-x-lock-0000000007",
        "694d-x0-o-lock-0000000007",
        "694d-q30-o-lock-0000000007",
        "-x30-o-lock-0000000007",
        "694d-x30-o-kcol-0000000007",
        "x0000000007"};
    static const uint8_t none[HF_SESSION_ID_LEN] = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[80];
        uint32_t sequence;
        size_t len;
        struct hf_wire_entry entry = {.ttl_s = 7};
        snprintf(text, sizeof(text), "%s", cases[i]);
        assert_true(hf_zk_key_sequence(text, &sequence, &len));
        assert_int_equal(sequence, 7);
        hf_zk_key_read(text, &entry);
        assert_int_equal(entry.entry.mode, HF_EXCLUSIVE);
        assert_int_equal(entry.born_ttl_s, 0);
        assert_memory_equal(entry.entry.owner.session, none, sizeof(none));
        assert_bytes(entry.owner, cases[i], strlen(cases[i]));
    }
}

/* ---- Numbers ------------------------------------------------------------- */

static void sequences(void **state)
{
    static const struct {
        const char *node;
        uint32_t sequence;
        size_t len;
    } cases[] = {
        {"a-lock-0000000000", 0, 7},
        {"a-lock-2147483647", INT32_MAX, 7},
        {"a-lock--2147483648", 2147483648U, 7},
        {"a-lock--2147483647", 2147483649U, 7},
        {"a__lock__-2147483648", 2147483648U, 9},
        {"0000000001", 1, 0},
        {"write-0000000001", 1, 6},
    };
    static const char *const none[] = {"",
                                       "leases",
                                       "a-lock-",
                                       "a-lock-000000001",
                                       "a-lock-0000000001x",
                                       "a-lock-9999999999"};
    uint32_t sequence;
    size_t len;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(hf_zk_key_sequence(cases[i].node, &sequence, &len));
        assert_int_equal(sequence, cases[i].sequence);
        assert_int_equal(len, cases[i].len);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_false(hf_zk_key_sequence(none[i], &sequence, &len));
    }
}

/* The container at 100 has had entries 0, 1, 2, at 101, 102, 110 at the
 * earliest; it goes, and is made again at 111. */
static void numbers_rise(void **state)
{
    (void)state;
    assert_true(hf_zk_number(100, 0) == 101);
    assert_true(hf_zk_number(100, 1) > hf_zk_number(100, 0));
    assert_true(hf_zk_number(100, 2) <= 110);
    assert_true(hf_zk_number(111, 0) > hf_zk_number(100, 2));
    assert_true(hf_zk_number(100, 2147483648U) > hf_zk_number(100, INT32_MAX));
    assert_true(hf_zk_number(INT64_C(0x7fffffff00000000), UINT32_MAX) ==
                0x8000000000000000U);
}

/* A server gives the last one to each node after it, or one after the wrap. */
static void the_last_sequence_and_later_ones_grant_nothing(void **state)
{
    (void)state;
    assert_false(hf_zk_key_is_last(0));
    assert_false(hf_zk_key_is_last(INT32_MAX - 1));
    assert_true(hf_zk_key_is_last(INT32_MAX));
    assert_true(hf_zk_key_is_last(2147483648U));
    assert_true(hf_zk_key_is_last(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(names_almost_ours),
        cmocka_unit_test(reserved_names_are_escaped),
        cmocka_unit_test(no_names),
        cmocka_unit_test(marks_are_beside_their_container),
        cmocka_unit_test(an_entry_comes_back),
        cmocka_unit_test(sessions_and_ids),
        cmocka_unit_test(entries_of_other_programs),
        cmocka_unit_test(sequences),
        cmocka_unit_test(numbers_rise),
        cmocka_unit_test(the_last_sequence_and_later_ones_grant_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
