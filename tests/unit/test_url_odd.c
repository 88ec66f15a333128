/* SPDX-License-Identifier: Apache-2.0 */
/* URLs at the limits of the syntax: just valid, and just invalid. */
#include "store/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char text[4096];

static enum hf_status parsed(const char *url)
{
    struct hf_url *out = NULL;
    struct hf_error error = {0};
    enum hf_status status = hf_url_parse(url, NULL, &out, &error);
    assert_true((status == HF_OK) == (out != NULL));
    assert_true((status == HF_OK) == (error.text[0] == '\0'));
    snprintf(text, sizeof(text), "%s", out == NULL ? error.text : out->display);
    hf_url_free(out);
    return status;
}

static void assert_refused(const char *url)
{
    if (parsed(url) == HF_OK) {
        fail_msg("%s is taken for %s", url, text);
    }
}

static void assert_taken(const char *url)
{
    if (parsed(url) != HF_OK) {
        fail_msg("%s: %s", url, text);
    }
}

/* `head`, then `n` times `byte`, then `tail`. */
static const char *stretched(const char *head, size_t n, char byte,
                             const char *tail)
{
    static char url[4096];
    size_t len = strlen(head);
    memcpy(url, head, len);
    memset(url + len, byte, n);
    snprintf(url + len + n, sizeof(url) - len - n, "%s", tail);
    return url;
}

static void schemes_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           ":",     "://a",   "a",       "r@dis://a",
        "re/dis://a", "redis", "redis:", "redis:a", "redis:/a",
        "a_b://a",    "1a:",   "+a:",    "a b:",    "a%41:",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_refused(bad[i]);
    }
    assert_refused(stretched("", 300, 'x', "://a"));
    assert_refused(stretched("redis:", 300, 'x', ""));
}

static void one_server_is_not_two(void **state)
{
    (void)state;
    static const char *const twice[] = {
        "redis://a b redis://a",
        "redis://a,b,a",
        "redis+unix:///a redis+unix:///b redis+unix:///a",
        "redis://u:p@a redis://b redis://u:p@a",
    };
    for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
        assert_refused(twice[i]);
    }
    assert_refused("redis://a/0 redis://a/1 redis://b");
    assert_refused("redis://u:p@a redis://v:p@a redis://b");
    assert_taken("redis://a/1 redis://b/2 redis://c/2");
    assert_taken("redis://u:p@a redis://v:p@b redis://c");
    assert_taken("redis://a rediss://b redis+unix:///c");
    assert_taken("redis://a redis://a:6380 redis://[::1]");
}

static void hosts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "redis://",        "redis://a b", "redis://[::1",  "redis://[]",
        "redis://[a]",     "redis://::1", "redis://a:",    "redis://a:0",
        "redis://a:65536", "redis://a:x", "redis://a@b@c", "redis://a%zz",
        "redis://a%",      "redis://a%4", "redis://a%00",  "redis+unix://",
        "redis+unix://a",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_refused(bad[i]);
    }
    assert_taken("redis://a%2D%2db");
    assert_taken("redis://[::1]:6379/3");
    assert_refused(stretched("redis://", 300, 'h', ""));
    assert_refused(stretched("redis+unix:///", 120, 's', ""));
    assert_taken(stretched("redis+unix:///", 90, 's', ""));
}

static void settings(void **state)
{
    (void)state;
    assert_refused("redis://a?x=1");
    assert_refused("redis://a?quarantine=no");
    assert_refused("redis://a?quarantine=off&quarantine=on");
    assert_refused("rediss://a?tls_cert=c");
    assert_refused("rediss://a?tls_key=k");
    assert_taken("redis://a?quarantine=off&quarantine=off");
    assert_taken("rediss://a?tls_cert=c&tls_key=k");
    assert_refused(stretched("redis://a?prefix=", 2000, 'p', ""));
}

static void folders(void **state)
{
    (void)state;
    assert_taken("local:");
    assert_taken("local:///");
    assert_taken("local:////a//");
    assert_refused("local://a");
    assert_refused("local:a");
    parsed("local:///a///");
    assert_string_equal(text, "local:///a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_that_are_none),
        cmocka_unit_test(one_server_is_not_two),
        cmocka_unit_test(hosts),
        cmocka_unit_test(settings),
        cmocka_unit_test(folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
