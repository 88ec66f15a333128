/* SPDX-License-Identifier: Apache-2.0 */
/* Names and owners as keys of etcd, and bytes as base64: a key
 * that was written is read as the same, no two names share a key, and texts of
 * other programs are read as exclusive entries. */
/* library: store-etcd-objects */
#include "store/etcd/etcd.h"
#include "store/ordered/wire_key.h"

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

/* ---- Base64 -------------------------------------------------------------- */

static void base64_of_rfc_4648(void **state)
{
    static const struct {
        const char *plain;
        const char *text;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe\xfb", "//77"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_wire_text text = {0};
        char back[16];
        hf_wire_text_base64(&text, cases[i].plain, strlen(cases[i].plain));
        assert_false(text.has_failed);
        assert_bytes((struct hf_bytes){text.bytes, text.len}, cases[i].text,
                     strlen(cases[i].text));
        size_t n =
            hf_wire_base64_read(cases[i].text, strlen(cases[i].text), back);
        assert_bytes((struct hf_bytes){back, n}, cases[i].plain,
                     strlen(cases[i].plain));
        hf_wire_text_fini(&text);
    }
}

static void base64_of_all_bytes(void **state)
{
    char all[1000];
    (void)state;
    for (size_t i = 0; i < sizeof(all); i++) {
        all[i] = (char)(i * 7 + i / 256);
    }
    for (size_t len = 0; len <= sizeof(all); len++) {
        struct hf_wire_text text = {0};
        char back[sizeof(all) + 3];
        hf_wire_text_base64(&text, all, len);
        assert_int_equal(text.len, (len + 2) / 3 * 4);
        size_t n = hf_wire_base64_read(text.bytes, text.len, back);
        assert_bytes((struct hf_bytes){back, n}, all, len);
        hf_wire_text_fini(&text);
    }
}

static void no_base64(void **state)
{
    static const char *const cases[] = {"Zm9 v", "Zm9-", "Zm=v", "\xc3\xa9",
                                        "Zg\n"};
    char out[8];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(hf_wire_base64_read(cases[i], strlen(cases[i]), out),
                         SIZE_MAX);
    }
    assert_int_equal(hf_wire_base64_read("Z\0==", 4, out), SIZE_MAX);
}

/* ---- Texts --------------------------------------------------------------- */

static void a_text_grows(void **state)
{
    struct hf_wire_text text = {0};
    char want[5000];
    size_t len = 0;
    (void)state;
    for (unsigned i = 0; len < 4000; i++) {
        hf_wire_text_number(&text, i);
        hf_wire_text_say(&text, ",");
        len += (size_t)snprintf(want + len, sizeof(want) - len, "%u,", i);
    }
    hf_wire_text_number(&text, UINT64_MAX);
    len += (size_t)snprintf(want + len, sizeof(want) - len,
                            "18446744073709551615");
    assert_bytes((struct hf_bytes){text.bytes, text.len}, want, len);
    hf_wire_text_fini(&text);
    assert_null(text.bytes);
    assert_int_equal(text.len, 0);
}

/* ---- Keys ---------------------------------------------------------------- */

static void assert_folder(const char *prefix, struct hf_bytes name,
                          const char *want)
{
    struct hf_wire_text text = {0};
    hf_etcd_key_folder(&text, prefix, name);
    assert_bytes((struct hf_bytes){text.bytes, text.len}, want, strlen(want));
    hf_wire_text_fini(&text);
}

/* "a/b" is not below "a", and neither is the escape of another name. */
static void names_are_escaped(void **state)
{
    (void)state;
    assert_folder("lock:", bytes_of("nightly"), "lock:nightly/");
    assert_folder("", bytes_of("a-b_c.d~:@"), "a-b_c.d~:@/");
    assert_folder("lock:", bytes_of("a/b"), "lock:a%2Fb/");
    assert_folder("lock:", bytes_of("a%2Fb"), "lock:a%252Fb/");
    assert_folder("a/b:", bytes_of("\xc3\xa9 \x7f"), "a/b:%C3%A9%20%7F/");
    assert_folder("lock:", (struct hf_bytes){"a\0b", 3}, "lock:a%00b/");
}

static const uint8_t session[HF_SESSION_ID_LEN] = {0x69, 0x4d, 0x7f, 0x1c,
                                                   0x2a, 0x3b, 0x4c, 0x05};

#define OWNER "9f0123456789abcdef0123456789abcd:host:4711:1764012345"

static void assert_entry(const struct hf_wire_key *key, const char *want)
{
    struct hf_wire_text text = {0};
    struct hf_wire_entry entry = {.ttl_s = 0};
    hf_etcd_key_entry(&text, "lock:", key);
    assert_bytes((struct hf_bytes){text.bytes, text.len}, want, strlen(want));
    assert_false(hf_etcd_key_cut("lock!", text.bytes, text.len, &entry));
    assert_false(hf_etcd_key_cut("lock:nothing", text.bytes, 5, &entry));
    assert_true(hf_etcd_key_cut("lock:", text.bytes, text.len, &entry));
    assert_bytes(entry.name, key->name.data, key->name.len);
    assert_bytes(entry.owner, key->owner.data, key->owner.len);
    assert_memory_equal(entry.entry.owner.session, key->session,
                        HF_SESSION_ID_LEN);
    assert_int_equal(entry.entry.mode, key->mode);
    assert_int_equal(entry.ttl_s, key->ttl_s);
    assert_int_equal(entry.permits, key->permits);
    hf_wire_text_fini(&text);
}

static void an_entry_comes_back(void **state)
{
    uint8_t whole[HF_SESSION_ID_LEN] = {0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff};
    struct hf_wire_key key = {.name = bytes_of("nightly"),
                              .session = session,
                              .owner = bytes_of(OWNER),
                              .mode = HF_EXCLUSIVE,
                              .ttl_s = 30};
    (void)state;
    assert_entry(&key, "lock:nightly/694d7f1c2a3b4c05-x30-" OWNER);
    key.mode = HF_SHARED;
    key.ttl_s = 86400;
    key.name = bytes_of("a/b%");
    assert_entry(&key, "lock:a%2Fb%25/694d7f1c2a3b4c05-s86400-" OWNER);
    key.permits = 65535;
    assert_entry(&key, "lock:a%2Fb%25/694d7f1c2a3b4c05-s86400p65535-" OWNER);
    key.permits = 0;
    key.session = whole;
    key.owner = bytes_of("a/b-%41");
    assert_entry(&key, "lock:a%2Fb%25/ffffffffffffffff-s86400-a%2Fb-%2541");
}

static void leases_and_sessions(void **state)
{
    static const uint64_t leases[] = {1, 0x694d7f1c2a3b4c05, INT64_MAX,
                                      UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < COUNT(leases); i++) {
        uint8_t id[HF_SESSION_ID_LEN];
        memset(id, 0xaa, sizeof(id));
        hf_wire_session_of(leases[i], id);
        assert_true(hf_wire_id_of(id) == leases[i]);
    }
    assert_true(hf_wire_id_of(session) == 0x694d7f1c2a3b4c05);
}

/* The key of a value is that of no entry and of no mark. */
static void a_value_is_apart(void **state)
{
    struct hf_wire_text text = {0};
    struct hf_wire_entry entry = {.ttl_s = 7};
    (void)state;
    hf_etcd_key_value(&text, "lock:", bytes_of("a/b#once"));
    assert_bytes((struct hf_bytes){text.bytes, text.len},
                 "lock:a%2Fb#once#value", 21);
    assert_false(hf_etcd_key_cut("lock:", text.bytes, text.len, &entry));
    assert_false(hf_etcd_key_cut_mark("lock:", text.bytes, text.len, &entry));
    hf_wire_text_fini(&text);
}

/* etcdctl and Go write the lease alone; others may write anything. */
static void entries_of_other_programs(void **state)
{
    static const char *const cases[] = {
        "694d7f1c2a3b4c05", "",           "x",        "694d-",
        "694d-x",           "694d-x-",    "694d-x0-", "694d-q30-o",
        "694d-x30",         "694d-x3a-o", "-x30-o",   "694d-x1234567890-o"};
    static const uint8_t none[HF_SESSION_ID_LEN] = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];
        struct hf_wire_entry entry = {.ttl_s = 7};
        snprintf(text, sizeof(text), "%s", cases[i]);
        hf_etcd_key_read(text, strlen(text), &entry);
        assert_int_equal(entry.entry.mode, HF_EXCLUSIVE);
        assert_int_equal(entry.ttl_s, 0);
        assert_memory_equal(entry.entry.owner.session, none, sizeof(none));
        assert_bytes(entry.owner, cases[i], strlen(cases[i]));
    }
}

/* Keys that read like ours, and are written by no client of ours: what was read
 * of them would be the key of another entry. */
static void entries_almost_ours(void **state)
{
    static const char *const cases[] = {
        "1-x9-a%",  "1-x9-a%4",  "1-x9-%zz", "1-x9-%2f",    "1-x9-%%41",
        "1-x9-%41", "1-x9-a b",  "01-x9-o",  "1-x09-o",     "1-s9p0-o",
        "1-s9p-o",  "1-s9p05-o", "1-x9p5-o", "1-s9p65536-o"};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        struct hf_wire_entry entry = {.ttl_s = 7};
        snprintf(text, sizeof(text), "%s", cases[i]);
        hf_etcd_key_read(text, strlen(text), &entry);
        assert_int_equal(entry.born_ttl_s, 0);
        assert_int_equal(entry.entry.mode, HF_EXCLUSIVE);
        assert_int_equal(entry.permits, 0);
        assert_bytes(entry.owner, cases[i], strlen(cases[i]));
    }
}

/* No client of ours has a name whose keys are written so. */
static void names_almost_ours(void **state)
{
    static const char *const cases[] = {"lock:a b/1-x9-o", "lock:%41/1-x9-o",
                                        "lock:a%2/1-x9-o", "lock:a b#once",
                                        "lock:%2f#once"};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        struct hf_wire_entry entry = {.ttl_s = 0};
        snprintf(text, sizeof(text), "%s", cases[i]);
        assert_false(hf_etcd_key_cut("lock:", text, strlen(text), &entry));
        assert_false(hf_etcd_key_cut_mark("lock:", text, strlen(text), &entry));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_of_rfc_4648),
        cmocka_unit_test(base64_of_all_bytes),
        cmocka_unit_test(no_base64),
        cmocka_unit_test(a_text_grows),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(an_entry_comes_back),
        cmocka_unit_test(leases_and_sessions),
        cmocka_unit_test(a_value_is_apart),
        cmocka_unit_test(entries_of_other_programs),
        cmocka_unit_test(entries_almost_ours),
        cmocka_unit_test(names_almost_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
