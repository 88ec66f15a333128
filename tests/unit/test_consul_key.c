/* SPDX-License-Identifier: Apache-2.0 */
/* Names, owners and sessions as keys of Consul, and lists of keys as entries:
 * a key that was written is read as the same, no two names share a key, no key
 * needs an escape in a path, and those of other programs are read as exclusive
 * entries.
 */
/* library: store-consul-objects */
#include "store/consul/consul.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SESSION "b20e3b52-9ddc-4a9d-0447-3d86739ec2ca"
#define OTHER "c53112ad-c38b-c26a-4db1-dbffe146b671"
#define OWNER "9f0123456789abcdef0123456789abcd:host:4711:1764012345"

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

static void assert_folder(const char *prefix, struct hf_bytes name,
                          const char *want)
{
    struct hf_wire_text text = {0};
    hf_consul_key_folder(&text, prefix, name);
    assert_bytes((struct hf_bytes){text.bytes, text.len}, want, strlen(want));
    size_t begin = strlen(prefix);
    size_t len = hf_consul_name_read(text.bytes + begin, text.len - begin - 1);
    assert_bytes((struct hf_bytes){text.bytes + begin, len}, name.data,
                 name.len);
    hf_wire_text_fini(&text);
}

/* "a/b" is not below "a"; a path would shorten "..", and ".lock" is another
 * program's. */
static void names_are_escaped(void **state)
{
    (void)state;
    assert_folder("lock:", bytes_of("nightly"), "lock:nightly/");
    assert_folder("", bytes_of("a-b_c.d:@9Z"), "a-b_c.d:@9Z/");
    assert_folder("lock:", bytes_of("a/b"), "lock:a~2Fb/");
    assert_folder("lock:", bytes_of("a~2Fb"), "lock:a~7E2Fb/");
    assert_folder("lock:", bytes_of("a%2Fb?#"), "lock:a~252Fb~3F~23/");
    assert_folder("a/", bytes_of(".."), "a/~2E./");
    assert_folder("a/", bytes_of(".lock"), "a/~2Elock/");
    assert_folder("lock:", bytes_of("\xc3\xa9 \x7f\x01\xff"),
                  "lock:~C3~A9~20~7F~01~FF/");
    assert_folder("lock:", (struct hf_bytes){"a\0b", 3}, "lock:a~00b/");
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[3] = {'x', (char)byte, 'y'};
        struct hf_wire_text text = {0};
        hf_consul_key_folder(&text, "", (struct hf_bytes){name, 3});
        for (size_t i = 0; i + 1 < text.len; i++) {
            assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-_.~:@",
                                   text.bytes[i]));
        }
        size_t len = hf_consul_name_read(text.bytes, text.len - 1);
        assert_bytes((struct hf_bytes){text.bytes, len}, name, 3);
        hf_wire_text_fini(&text);
    }
}

static void names_almost_ours(void **state)
{
    static const char *const cases[] = {"a+b", "a b",  "~41",
                                        "a~2", "a~2f", ".lock"};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        snprintf(text, sizeof(text), "%s", cases[i]);
        assert_int_equal(hf_consul_name_read(text, strlen(text)), SIZE_MAX);
    }
}

static void prefixes_keep_slashes(void **state)
{
    struct hf_wire_text text = {0};
    (void)state;
    hf_consul_key_prefix(&text, "team a/locks/x:");
    assert_bytes((struct hf_bytes){text.bytes, text.len},
                 "team~20a/locks/x:", 17);
    hf_wire_text_fini(&text);
}

/* The suffix is no escape: "x~once" is another name than that of x's mark. */
static void marks_are_beside_their_folder(void **state)
{
    (void)state;
    assert_int_equal(hf_consul_mark_name("nightly~once", 12), 7);
    assert_int_equal(hf_consul_mark_name("x~7Eonce~once", 13), 8);
    assert_int_equal(hf_consul_mark_name("x~7Eonce", 8), 0);
    assert_int_equal(hf_consul_mark_name("~once", 5), 0);
    assert_int_equal(hf_consul_mark_name("nightly/", 8), 0);
    assert_int_equal(hf_consul_mark_name("nightly/x~once", 14), 0);
}

/* ---- Sessions ------------------------------------------------------------ */

static void sessions_come_back(void **state)
{
    static const char *const bad[] = {"b20e3b52-9ddc-4a9d-0447-3d86739ec2cA",
                                      "b20e3b529ddc-4a9d-0447-3d86739ec2ca0",
                                      "b20e3b52-9ddc-4a9d-0447-3d86739ec2c-",
                                      "b20e3b52-9ddc-4a9d-0447_3d86739ec2ca"};
    uint8_t session[HF_SESSION_ID_LEN];
    char shown[HF_CONSUL_SESSION_LEN + 1];
    (void)state;
    assert_true(hf_consul_session_read(SESSION, session));
    assert_int_equal(session[0], 0xb2);
    assert_int_equal(session[15], 0xca);
    hf_consul_session_show(session, shown);
    assert_string_equal(shown, SESSION);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_false(hf_consul_session_read(bad[i], session));
    }
}

/* ---- Lists --------------------------------------------------------------- */

static bool read_list(struct hf_consul_list *list, const char *text)
{
    json_t *body = json_loads(text, 0, NULL);
    assert_non_null(body);
    bool is_read =
        hf_consul_list_read(list, "lock:", body, 0, false, strlen(text));
    json_decref(body);
    return is_read;
}

static void an_entry_comes_back(void **state)
{
    struct hf_consul_list list = {0};
    struct hf_wire_text key = {0};
    uint8_t session[HF_SESSION_ID_LEN];
    char text[1000];
    struct hf_wire_key wanted = {.name = bytes_of("a/b"),
                                 .session = session,
                                 .owner = bytes_of(OWNER),
                                 .mode = HF_SHARED,
                                 .permits = 5,
                                 .ttl_s = 30};
    (void)state;
    assert_true(hf_consul_session_read(SESSION, session));
    hf_consul_key_entry(&key, "lock:", &wanted);
    hf_wire_text_add(&key, "", 1);
    assert_string_equal(key.bytes, "lock:a~2Fb/" SESSION "-s30p5-" OWNER);
    snprintf(text, sizeof(text),
             "[{\"Key\":\"%s\",\"Session\":\"" OTHER
             "\",\"Value\":\"NDAgbm90ZQ==\",\"CreateIndex\":7,"
             "\"ModifyIndex\":9}]",
             key.bytes);
    assert_true(read_list(&list, text));
    assert_int_equal(list.n, 1);
    const struct hf_wire_entry *entry = &list.entries[0];
    assert_bytes(entry->name, "a/b", 3);
    assert_bytes(entry->owner, OWNER, strlen(OWNER));
    assert_bytes(entry->note, "note", 4);
    assert_bytes(entry->id, OTHER SESSION "-s30p5-" OWNER,
                 strlen(OTHER SESSION "-s30p5-" OWNER));
    assert_memory_equal(entry->born, session, sizeof(session));
    assert_true(hf_consul_session_read(OTHER, session));
    assert_memory_equal(entry->entry.owner.session, session, sizeof(session));
    assert_int_equal(entry->entry.mode, HF_SHARED);
    assert_int_equal(entry->permits, 5);
    assert_int_equal(entry->born_ttl_s, 30);
    assert_int_equal(entry->ttl_s, 40);
    assert_true(entry->entry.number == 7);
    assert_true(entry->version == 9);
    hf_wire_text_fini(&key);
    hf_consul_list_fini(&list);
}

/* `consul lock` keeps its key: it is as new as its last change. */
static void keys_of_other_programs(void **state)
{
    struct hf_consul_list list = {0};
    (void)state;
    assert_true(read_list(
        &list, "[{\"Key\":\"lock:a/.lock\",\"Session\":\"" SESSION
               "\",\"Value\":null,\"CreateIndex\":7,\"ModifyIndex\":9},"
               "{\"Key\":\"lock:a/x/y\",\"Session\":\"" SESSION
               "\",\"Value\":\"MzA=\",\"CreateIndex\":8,\"ModifyIndex\":8}]"));
    assert_int_equal(list.n, 2);
    assert_bytes(list.entries[0].owner, "consul-lock:" SESSION,
                 strlen("consul-lock:" SESSION));
    assert_true(list.entries[0].entry.number == 9);
    assert_bytes(list.entries[1].owner, "x/y", 3);
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(list.entries[i].entry.mode, HF_EXCLUSIVE);
        assert_int_equal(list.entries[i].ttl_s, 0);
        assert_int_equal(list.entries[i].note.len, 0);
        assert_bytes(list.entries[i].name, "a", 1);
    }
    hf_consul_list_fini(&list);
}

/* Without a session, or a folder. */
static void keys_that_are_no_entries(void **state)
{
    struct hf_consul_list list = {0};
    (void)state;
    assert_true(read_list(
        &list, "[{\"Key\":\"lock:a/" SESSION "-x30-" OWNER
               "\",\"Value\":null,\"CreateIndex\":7,\"ModifyIndex\":9},"
               "{\"Key\":\"lock:a\",\"Session\":\"" SESSION
               "\",\"CreateIndex\":8,\"ModifyIndex\":8},"
               "{\"Key\":\"lock:a/.lock\",\"Session\":\"\",\"CreateIndex\":8,"
               "\"ModifyIndex\":8}]"));
    assert_int_equal(list.n, 0);
    assert_false(read_list(&list, "[{\"CreateIndex\":8}]"));
    assert_false(read_list(&list, "[{\"Key\":\"lo\"}]"));
    assert_false(read_list(
        &list, "[{\"Key\":\"lock:a/b\",\"Session\":\"" SESSION "\"}]"));
    hf_consul_list_fini(&list);
}

static void indexes(void **state)
{
    struct hf_http_reply reply = {0};
    (void)state;
    assert_true(hf_consul_index(&reply) == 0);
    snprintf(reply.kept[0], sizeof(reply.kept[0]), "18446744073709551615");
    assert_true(hf_consul_index(&reply) == UINT64_MAX);
    snprintf(reply.kept[0], sizeof(reply.kept[0]), "18446744073709551616");
    assert_true(hf_consul_index(&reply) == 0);
    snprintf(reply.kept[0], sizeof(reply.kept[0]), "12x");
    assert_true(hf_consul_index(&reply) == 0);
}

/* Exact, or 0: flags of other programs have 64 bits. */
static void numbers(void **state)
{
    static const char body[] =
        "{\"a\": 9007199254740991, \"b\": 9007199254740992, \"c\": -1, "
        "\"d\": 1.5, \"e\": \"1\", \"f\": 18446744073709551615, \"g\": 1e9}";
    struct hf_http_reply reply = {.body = (char *)(uintptr_t)body,
                                  .body_len = sizeof(body) - 1};
    json_t *object = hf_consul_json(&reply);
    (void)state;
    assert_non_null(object);
    assert_true(hf_consul_number(object, "a") == HF_FENCE_MAX);
    assert_true(hf_consul_number(object, "b") == 0);
    assert_true(hf_consul_number(object, "c") == 0);
    assert_true(hf_consul_number(object, "d") == 0);
    assert_true(hf_consul_number(object, "e") == 0);
    assert_true(hf_consul_number(object, "f") == 0);
    assert_true(hf_consul_number(object, "g") == 1000000000);
    assert_true(hf_consul_number(object, "none") == 0);
    json_decref(object);
}

/* ---- Doubts -------------------------------------------------------------- */

static void doubts_are_of_one_key(void **state)
{
    static struct hf_consul consul;
    char first[] = "lock:a/1", second[] = "lock:a/12";
    struct hf_consul_job one = {.keys = {.bytes = first, .len = 8}};
    struct hf_consul_job two = {.keys = {.bytes = second, .len = 9}};
    (void)state;
    assert_true(hf_consul_doubt_add(&consul, &one));
    assert_true(hf_consul_doubt_add(&consul, &one));
    assert_true(hf_consul_doubt_has(&consul, &one));
    assert_false(hf_consul_doubt_has(&consul, &two));
    assert_true(hf_consul_doubt_add(&consul, &two));
    hf_consul_doubt_remove(&consul, &one);
    assert_false(hf_consul_doubt_has(&consul, &one));
    assert_true(hf_consul_doubt_has(&consul, &two));
    hf_consul_doubt_remove(&consul, &one);
    hf_consul_doubts_free(&consul);
    assert_false(hf_consul_doubt_has(&consul, &two));
}

/* An earlier one may have been sent: each names the version that is there. */
static void a_doubt_outlives_an_undo_that_was_not_sent(void **state)
{
    static struct hf_consul consul;
    char key[] = "lock:a/1";
    struct hf_consul_job job = {.pending = 2, .keys = {.bytes = key, .len = 8}};
    struct hf_http_pending undo = {.cookie = HF_CONSUL_ASK_UNDO, .user = &job};
    (void)state;
    assert_true(hf_consul_doubt_add(&consul, &job));
    hf_consul_take_lost(&consul, &undo, true, HF_LONG_AGO);
    assert_true(hf_consul_doubt_has(&consul, &job));
    hf_consul_doubts_free(&consul);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(names_almost_ours),
        cmocka_unit_test(prefixes_keep_slashes),
        cmocka_unit_test(marks_are_beside_their_folder),
        cmocka_unit_test(sessions_come_back),
        cmocka_unit_test(an_entry_comes_back),
        cmocka_unit_test(keys_of_other_programs),
        cmocka_unit_test(keys_that_are_no_entries),
        cmocka_unit_test(indexes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(doubts_are_of_one_key),
        cmocka_unit_test(a_doubt_outlives_an_undo_that_was_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
