/* SPDX-License-Identifier: Apache-2.0 */
/* Replies: the additions of RESP3 are refused with every version of hiredis, a
 * reply has a size limit, and no data of one reply appear in the next. */
#include "store/redis/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int feed(struct hf_reply *reply, const char *text)
{
    assert_true(hf_reply_feed(reply, text, strlen(text)));
    return hf_reply_next(reply);
}

/* A newer hiredis may have more types of replies. Each type needs a function,
 * or hiredis reports a reply without calling one. */
static void no_function_is_missing(void **state)
{
    struct hf_reply reply;
    void *function;
    (void)state;
    assert_true(hf_reply_init(&reply));
    const char *at = (const char *)&reply.functions;
    for (size_t i = 0; i < sizeof(reply.functions); i += sizeof(function)) {
        memcpy(&function, at + i, sizeof(function));
        assert_non_null(function);
    }
    hf_reply_fini(&reply);
}

static void the_types_of_resp2(void **state)
{
    struct hf_reply reply;
    (void)state;
    assert_true(hf_reply_init(&reply));
    assert_int_equal(
        feed(&reply, "*5\r\n:7\r\n$2\r\nab\r\n$-1\r\n+OK\r\n-ERR no\r\n"), 1);
    assert_int_equal(reply.n, 6);
    assert_int_equal(reply.items[0].type, HF_REPLY_ARRAY);
    assert_int_equal(hf_reply_integer(&reply, 1), 7);
    assert_string_equal(hf_reply_text(&reply, 2), "ab");
    assert_int_equal(reply.items[3].type, HF_REPLY_NIL);
    assert_string_equal(hf_reply_text(&reply, 4), "OK");
    assert_int_equal(reply.items[5].type, HF_REPLY_ERROR);
    assert_int_equal(feed(&reply, "$-1\r\n"), 1);
    assert_int_equal(reply.n, 1);
    assert_string_equal(hf_reply_text(&reply, 0), "");
    hf_reply_fini(&reply);
}

/* After a valid reply, whose items could be taken for those of the next. */
static void the_types_of_resp3_are_refused(void **state)
{
    static const char *const words[] = {
        ",3.5\r\n",
        "#t\r\n",
        "#f\r\n",
        "(12345678901234567890\r\n",
        "=6\r\ntxt:ab\r\n",
        "%1\r\n+a\r\n:1\r\n",
        "~1\r\n:1\r\n",
        ">2\r\n+message\r\n:1\r\n",
        "*2\r\n:1\r\n#t\r\n",
        "*2\r\n,1.5\r\n:1\r\n",
        "*1\r\n%1\r\n+a\r\n:1\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct hf_reply reply;
        assert_true(hf_reply_init(&reply));
        assert_int_equal(feed(&reply, ":1\r\n"), 1);
        assert_int_equal(feed(&reply, words[i]), -1);
        assert_non_null(strstr(hf_reply_fault(&reply), "protocol"));
        assert_true(hf_reply_reset(&reply));
        assert_int_equal(reply.n, 0);
        assert_string_equal(hf_reply_text(&reply, 0), "");
        assert_int_equal(feed(&reply, "+OK\r\n"), 1);
        assert_int_equal(reply.n, 1);
        hf_reply_fini(&reply);
    }
}

/* Feed `word` until the reply is refused. @return the number of bytes fed. */
static size_t flood(struct hf_reply *reply, const char *word)
{
    static char chunk[16384];
    size_t len = strlen(word);
    size_t n = 0;
    for (; n + len <= sizeof(chunk); n += len) {
        memcpy(chunk + n, word, len);
    }
    size_t fed = 0;
    int found = 0;
    while (found == 0 && fed < 4 * (size_t)HF_REPLY_BYTES_MAX) {
        assert_true(hf_reply_feed(reply, chunk, n));
        fed += n;
        found = hf_reply_next(reply);
    }
    assert_int_equal(found, -1);
    assert_non_null(strstr(hf_reply_fault(reply), "above the limit"));
    assert_true(reply->cap <= 2 * (size_t)HF_REPLY_ITEMS_MAX);
    assert_true(reply->text_cap <= 2 * (size_t)HF_REPLY_BYTES_MAX);
    return fed;
}

static void a_reply_has_a_limit(void **state)
{
    static const char *const begins[] = {"$107374182400\r\n", "+", "-",
                                         "*2147483647\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        struct hf_reply reply;
        assert_true(hf_reply_init(&reply));
        assert_int_equal(feed(&reply, begins[i]), 0);
        size_t fed = flood(&reply, begins[i][0] == '*' ? ":1\r\n" : "x");
        size_t most = begins[i][0] == '+' || begins[i][0] == '-'
                          ? HF_REPLY_LINE_MAX
                          : HF_REPLY_BYTES_MAX;
        assert_true(fed <= most + 32768U);
        assert_true(hf_reply_reset(&reply));
        assert_int_equal(feed(&reply, "+OK\r\n"), 1);
        hf_reply_fini(&reply);
    }
}

/* The limit is per reply, not per connection. */
static void many_replies_are_no_long_one(void **state)
{
    struct hf_reply reply;
    char text[2048];
    (void)state;
    assert_true(hf_reply_init(&reply));
    size_t len =
        (size_t)snprintf(text, sizeof(text), "$2000\r\n%2000s\r\n", "");
    for (size_t fed = 0; fed < 3 * (size_t)HF_REPLY_BYTES_MAX; fed += len) {
        assert_int_equal(feed(&reply, text), 1);
    }
    hf_reply_fini(&reply);
}

static void drops_are_no_progress(void **state)
{
    struct hf_reply reply;
    (void)state;
    assert_true(hf_reply_init(&reply));
    assert_int_equal(feed(&reply, "$100000\r\n"), 0);
    for (int i = 0; i < 1000; i++) {
        size_t before = reply.fed;
        assert_int_equal(feed(&reply, "x"), 0);
        assert_false(hf_reply_has_grown(&reply, before, 1));
    }
    size_t before = reply.fed;
    static char much[HF_REPLY_STEP_BYTES];
    memset(much, 'x', sizeof(much));
    assert_true(hf_reply_feed(&reply, much, sizeof(much)));
    assert_int_equal(hf_reply_next(&reply), 0);
    assert_true(hf_reply_has_grown(&reply, before, sizeof(much)));
    assert_true(hf_reply_reset(&reply));
    assert_int_equal(feed(&reply, "+OK\r\n+"), 1);
    assert_true(hf_reply_has_grown(&reply, 0, 6));
    hf_reply_fini(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_function_is_missing),
        cmocka_unit_test(the_types_of_resp2),
        cmocka_unit_test(the_types_of_resp3_are_refused),
        cmocka_unit_test(a_reply_has_a_limit),
        cmocka_unit_test(many_replies_are_no_long_one),
        cmocka_unit_test(drops_are_no_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
