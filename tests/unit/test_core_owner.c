/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Owner texts of foreign clients, and owner texts that are cut off. */
#include "core/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DIGITS "00112233445566778899aabbccddeeff"

static const char *described(const char *text, struct hf_holder *holder)
{
    hf_owner_describe(text, strlen(text), holder);
    return holder->owner;
}

static const char *emitted(const char *host, const char *label)
{
    static char text[HF_OWNER_MAX + 1];
    static const uint8_t id[HF_OWNER_ID_LEN] = {0};
    size_t len = hf_owner_emit(text, id, host, 7, -1, label);
    text[len] = '\0';
    return text + 2 * HF_OWNER_ID_LEN;
}

static void host_and_label_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(emitted("Az09.-_", NULL), ":Az09.-_:7:0");
    assert_string_equal(emitted("h", ""), ":h:7:0");
    assert_string_equal(emitted("@/[`{", "a:b"), ":%40%2f%5b%60%7b:7:0:a%3ab");
}

static void ours_whether_ended_or_not(void **state)
{
    (void)state;
    const char *ended = "ended:" DIGITS ":h:1:2";
    assert_true(hf_owner_is_ours(DIGITS ":h", sizeof(DIGITS ":h") - 1));
    assert_true(hf_owner_is_ours(ended, strlen(ended)));
    assert_false(hf_owner_is_ours(NULL, 0)); /* a holder without a text */
    assert_false(hf_owner_is_ours("ended:", 6));
    assert_false(hf_owner_is_ours("mended: it is", 13));
    assert_false(hf_owner_is_ours(DIGITS, sizeof(DIGITS) - 1));
    assert_false(hf_owner_is_ours(DIGITS "-h", sizeof(DIGITS "-h") - 1));
}

static void digits_are_hexadecimal_and_lower_case(void **state)
{
    (void)state;
    static const char strange[] = {'/', ':', '`', 'g', 'A'};
    for (size_t i = 0; i < sizeof(strange); i++) {
        char text[] = DIGITS ":h:1:2";
        text[5] = strange[i];
        assert_false(hf_owner_is_ours(text, sizeof(text) - 1));
        text[5] = '0';
        text[0] = strange[i];
        assert_false(hf_owner_is_ours(text, sizeof(text) - 1));
    }
}

/* Digits like ours without our fields: printed unchanged, and not reported as a
 * Holdfast client. */
static void numbers_that_are_none_make_it_foreign(void **state)
{
    (void)state;
    static const char *const foreign[] = {
        DIGITS ":h:1:x",  DIGITS ":h:1:",
        DIGITS ":h:1/:2", DIGITS ":h:1234567890123456789:2",
        DIGITS ":h",      "ended:",
    };
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        struct hf_holder holder;
        assert_string_equal(described(foreign[i], &holder), foreign[i]);
        assert_int_equal(holder.kind, HF_HOLDER_FOREIGN);
        assert_int_equal(holder.pid, 0);
        assert_int_equal(holder.since_s, 0);
    }
}

/* Escaped control characters stay escaped. Text that only resembles an escape
 * stays, too. */
static void fields_are_safe_to_print(void **state)
{
    (void)state;
    struct hf_holder holder;
    described(DIGITS ":%1b%7f%41%zz%4z%z4%4:1:2:%20", &holder);
    assert_int_equal(holder.kind, HF_HOLDER_HOLDFAST);
    assert_string_equal(holder.host, "%1b%7fA%zz%4z%z4%4");
    assert_string_equal(holder.label, " ");
    described(DIGITS ":a\tb\x7f\xff:1:2", &holder);
    assert_string_equal(holder.host, "a?b?\xff");
    described("tab\there\x7f\xff end", &holder);
    assert_string_equal(holder.owner, "tab%09here%7f%ff%20end");
}

/* A text that is too long is cut between two escapes, never within one. */
static void what_is_too_long_is_cut(void **state)
{
    (void)state;
    struct hf_holder holder;
    char text[2 * sizeof(holder.owner)];
    for (size_t plain = 0; plain < 3; plain++) {
        memset(text, ' ', sizeof(text));
        memset(text, 'x', plain);
        hf_owner_describe(text, sizeof(text), &holder);
        size_t len = strlen(holder.owner);
        assert_true(len < sizeof(holder.owner));
        assert_true(len + 3 >= sizeof(holder.owner));
        assert_int_equal((len - plain) % 3, 0);
    }
    memset(text, 'h', sizeof(text));
    memcpy(text, DIGITS ":", sizeof(DIGITS));
    memcpy(text + sizeof(text) - 5, ":1:2", 5);
    described(text, &holder);
    assert_int_equal(strlen(holder.host), sizeof(holder.host) - 1);
    assert_int_equal(holder.kind, HF_HOLDER_HOLDFAST);
}

static void an_owner_at_a_fence_is_not_longer_than_an_owner(void **state)
{
    (void)state;
    char text[HF_OWNER_TEXT_MAX + 8];
    size_t len = 0;
    uint64_t fence = 0;
    memset(text, 'h', sizeof(text));
    memcpy(text, DIGITS ":", sizeof(DIGITS));
    snprintf(text + HF_OWNER_MAX, sizeof(text) - HF_OWNER_MAX, "@7");
    assert_true(hf_owner_parse(text, &len, &fence));
    assert_int_equal(len, HF_OWNER_MAX);
    assert_int_equal(fence, 7);
    text[HF_OWNER_MAX] = 'h';
    snprintf(text + HF_OWNER_MAX + 1, sizeof(text) - HF_OWNER_MAX - 1, "@7");
    assert_false(hf_owner_parse(text, &len, &fence));
    assert_false(hf_owner_parse(DIGITS ":h@9007199254740993", &len, &fence));
}

/* Of the text's first `len` bytes, between others. */
static uint32_t digest_among(const char *text, size_t len, char others)
{
    char room[192];
    memset(room, others, sizeof(room));
    memcpy(room + 64, text, len);
    return hf_owner_digest(room + 64, len);
}

/* Digests of two rivals differ by any byte, and by the length. Nothing else
 * counts. */
static void digests_differ(void **state)
{
    (void)state;
    char text[] = DIGITS ":h:1:2";
    uint32_t digest = hf_owner_digest(text, sizeof(text) - 1);
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        assert_true(hf_owner_digest(text, len) != digest);
    }
    for (size_t len = 1; len < sizeof(text); len++) {
        digest = digest_among(text, len, 'a');
        assert_int_equal(digest_among(text, len, 'b'), digest);
        for (size_t i = 0; i < len; i++) {
            text[i] ^= 1;
            assert_true(digest_among(text, len, 'a') != digest);
            text[i] ^= 1;
        }
    }
    assert_true(hf_owner_digest("", 0) != 0);
    /* The hash of this text is 0 before the last step (on a little-endian
     * machine). */
    assert_true(hf_owner_digest("Cz5s/A,Y", 8) != 0);
}

/* Each digit is at its place; characters that need no escape stay. */
static void an_owner_to_the_letter(void **state)
{
    (void)state;
    static const uint8_t id[HF_OWNER_ID_LEN] = {
        0x0f, 0xf0, 0x1e, 0xe1, 0x2d, 0xd2, 0x3c, 0xc3,
        0x4b, 0xb4, 0x5a, 0xa5, 0x69, 0x96, 0x78, 0x87};
    static const char text[] = "0ff01ee12dd23cc34bb45aa569967887"
                               ":aAzZ:10:9223372036854775807:l";
    char out[HF_OWNER_MAX];
    size_t len = hf_owner_emit(out, id, "aAzZ", 10, INT64_MAX, "l");
    assert_int_equal(len, sizeof(text) - 1);
    assert_memory_equal(out, text, len);
}

static void host_and_label_are_cut_at_their_length(void **state)
{
    (void)state;
    char host[66];
    char label[243];
    char wanted[400];
    memset(host, 'h', sizeof(host));
    memset(label, 'l', sizeof(label));
    host[65] = label[242] = '\0';
    snprintf(wanted, sizeof(wanted), ":%.64s:7:0:%.240s", host, label);
    assert_string_equal(emitted(host, label), wanted);
    host[64] = label[240] = '\0'; /* the greatest length */
    assert_string_equal(emitted(host, label), wanted);
    host[61] = label[237] = ' '; /* an escape that just fits, at the end */
    snprintf(wanted, sizeof(wanted), ":%.61s%%20:7:0:%.237s%%20", host, label);
    assert_string_equal(emitted(host, label), wanted);
    host[62] = label[238] = ' '; /* an escape that does not fit */
    host[61] = label[237] = 'x';
    snprintf(wanted, sizeof(wanted), ":%.62s:7:0:%.238s", host, label);
    assert_string_equal(emitted(host, label), wanted);
}

/* A value from a node has no NUL at its end: the bytes after it belong to
 * another value. */
static void what_is_behind_the_end_is_not_read(void **state)
{
    (void)state;
    struct hf_holder holder;
    const char *label = DIGITS ":h:1:2:x%41:3";
    size_t len = sizeof(DIGITS ":h:1:2:x") - 1;
    hf_owner_describe(label, len + 1, &holder);
    assert_string_equal(holder.label, "x%");
    hf_owner_describe(label, len + 2, &holder);
    assert_string_equal(holder.label, "x%4");
    hf_owner_describe(label, len + 3, &holder);
    assert_string_equal(holder.label, "xA");
    assert_false(hf_owner_is_ours(DIGITS ":h", 2 * HF_OWNER_ID_LEN));
    const char *ended = "ended:" DIGITS ":h";
    assert_false(hf_owner_is_ours(ended, 6 + 2 * HF_OWNER_ID_LEN));
    assert_true(hf_owner_is_ours(ended, 7 + 2 * HF_OWNER_ID_LEN));
    assert_false(hf_owner_is_ours(ended, 6));
}

static void nothing_is_left_of_the_owner_described_before(void **state)
{
    (void)state;
    struct hf_holder holder;
    described(DIGITS ":host:11:22:label", &holder);
    assert_string_equal(holder.host, "host");
    assert_string_equal(holder.label, "label");
    assert_int_equal(holder.pid, 11);
    assert_int_equal(holder.since_s, 22);
    described("stranger", &holder);
    assert_int_equal(holder.kind, HF_HOLDER_FOREIGN);
    assert_string_equal(holder.host, "");
    assert_string_equal(holder.label, "");
    assert_int_equal(holder.pid, 0);
    assert_int_equal(holder.since_s, 0);
}

static void what_fills_the_room_ends_in_it(void **state)
{
    (void)state;
    struct hf_holder holder;
    char text[sizeof(holder.owner) + 1];
    memset(text, 'x', sizeof(text));
    for (size_t len = sizeof(holder.owner) - 1; len <= sizeof(text); len++) {
        hf_owner_describe(text, len, &holder);
        assert_int_equal(strlen(holder.owner), sizeof(holder.owner) - 1);
        assert_string_equal(holder.host, "");
    }
}

static void fences_from_one_to_the_last(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t fence; /* 0: no owner */
    } cases[] = {{DIGITS ":h@1", 1},
                 {DIGITS ":h@9007199254740991", HF_FENCE_MAX},
                 {DIGITS ":h@9007199254740992", 0},
                 {DIGITS ":h@0", 0},
                 {DIGITS ":h@", 0},
                 {DIGITS ":h", 0},
                 {DIGITS ":@1", 1},
                 {DIGITS "@1", 0},
                 {"@1", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = 0;
        uint64_t fence = 0;
        bool is_one = hf_owner_parse(cases[i].text, &len, &fence);
        assert_int_equal(is_one, cases[i].fence > 0);
        assert_int_equal(fence, cases[i].fence);
        if (is_one) {
            assert_int_equal(cases[i].text[len], '@');
        }
    }
}

static void a_ttl_stands_behind_the_fence(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ttl_ms;
        bool is_one;
    } cases[] = {{DIGITS ":h@7", 0, true},
                 {DIGITS ":h@7/30000", 30000, true},
                 {DIGITS ":a/b@7/1", 1, true},
                 {DIGITS ":a/b@7", 0, true},
                 {DIGITS ":h@7/0", 0, false},
                 {DIGITS ":h@7/", 0, false},
                 {DIGITS ":h@7/-1", 0, false},
                 {DIGITS ":h@7/30s", 0, false},
                 {DIGITS ":h@7/1/2", 0, false},
                 {DIGITS ":h@/1", 1, false},
                 {"/5", 5, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = 0;
        uint64_t fence = 0;
        bool is_one = hf_owner_parse(cases[i].text, &len, &fence);
        assert_int_equal(is_one, cases[i].is_one);
        assert_int_equal(fence, is_one ? 7 : 0);
        assert_int_equal(hf_owner_ttl_ms(cases[i].text), cases[i].ttl_ms);
    }
}

/* The bytes before a text without a fence belong to no owner. */
static void what_is_before_the_text_is_not_read(void **state)
{
    (void)state;
    static const char text[] = "@/a/5";
    assert_int_equal(hf_owner_ttl_ms(text + 2), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_label_are_escaped),
        cmocka_unit_test(ours_whether_ended_or_not),
        cmocka_unit_test(digits_are_hexadecimal_and_lower_case),
        cmocka_unit_test(numbers_that_are_none_make_it_foreign),
        cmocka_unit_test(fields_are_safe_to_print),
        cmocka_unit_test(what_is_too_long_is_cut),
        cmocka_unit_test(an_owner_at_a_fence_is_not_longer_than_an_owner),
        cmocka_unit_test(digests_differ),
        cmocka_unit_test(an_owner_to_the_letter),
        cmocka_unit_test(host_and_label_are_cut_at_their_length),
        cmocka_unit_test(what_is_behind_the_end_is_not_read),
        cmocka_unit_test(nothing_is_left_of_the_owner_described_before),
        cmocka_unit_test(what_fills_the_room_ends_in_it),
        cmocka_unit_test(fences_from_one_to_the_last),
        cmocka_unit_test(a_ttl_stands_behind_the_fence),
        cmocka_unit_test(what_is_before_the_text_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
