/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: which are accepted, which are refused with which error, and that
 * no password is ever shown. */
#include "store/url.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hf_url *good_with(const char *text, const char *password)
{
    struct hf_url *url = NULL;
    struct hf_error error = {HF_OK, 0, ""};
    enum hf_status status = hf_url_parse(text, password, &url, &error);
    if (status != HF_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return url;
}

static struct hf_url *good(const char *text)
{
    return good_with(text, NULL);
}

/* Refused with @p status and @p said in the error, which never has the password
 * `sesame`. */
static void bad(const char *text, enum hf_status status, const char *said)
{
    struct hf_url *url = NULL;
    struct hf_error error = {HF_OK, 0, ""};
    enum hf_status got = hf_url_parse(text, NULL, &url, &error);
    assert_null(url);
    if (got != status || strstr(error.text, said) == NULL) {
        fail_msg("%s: status %d, text: %s", text, (int)got, error.text);
    }
    assert_null(strstr(error.text, "sesame"));
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(error.node, -1);
}

static void one_server(void **state)
{
    (void)state;
    struct hf_url *url = good("redis://example.org");
    assert_string_equal(url->scheme, "redis");
    assert_int_equal(url->n_endpoints, 1);
    assert_string_equal(url->endpoints[0].host, "example.org");
    assert_int_equal(url->endpoints[0].port, 6379);
    assert_false(url->endpoints[0].is_tls);
    assert_null(url->endpoints[0].user);
    assert_null(url->endpoints[0].password);
    assert_string_equal(url->prefix, "lock:");
    assert_int_equal(url->connect_timeout_ms, 1000);
    assert_int_equal(url->node_timeout_ms, 50);
    assert_int_equal(url->fence_keep_ms, 3600000);
    assert_int_equal(url->fence_base, 0);
    assert_int_equal(url->max_ttl_ms, 60000);
    assert_true(url->quarantine);
    hf_url_free(url);
}

static void everything_at_once(void **state)
{
    (void)state;
    struct hf_url *url =
        good("REDISS://us%65r:p%40ss%2F%25@a:1,b,[::1]:3,[fe80::2],c:65535/7"
             "?prefix=x%26y:&node_timeout=20ms&connect_timeout=2&tls_ca=/a%20b"
             "&tls_cert=/c&tls_key=/k&quarantine=off&fence_keep=2h"
             "&max_ttl=1m30s&fence_base=4503599627370496");
    assert_string_equal(url->scheme, "rediss");
    assert_int_equal(url->n_endpoints, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(url->endpoints[i].user, "user");
        assert_string_equal(url->endpoints[i].password, "p@ss/%");
        assert_int_equal(url->endpoints[i].db, 7);
        assert_true(url->endpoints[i].is_tls);
    }
    assert_int_equal(url->endpoints[0].port, 1);
    assert_int_equal(url->endpoints[1].port, 6379);
    assert_string_equal(url->endpoints[2].host, "::1");
    assert_int_equal(url->endpoints[2].port, 3);
    assert_string_equal(url->endpoints[3].host, "fe80::2");
    assert_int_equal(url->endpoints[3].port, 6379);
    assert_int_equal(url->endpoints[4].port, 65535);
    assert_string_equal(url->prefix, "x&y:");
    assert_int_equal(url->node_timeout_ms, 20);
    assert_int_equal(url->connect_timeout_ms, 2000);
    assert_string_equal(url->tls_ca, "/a b");
    assert_string_equal(url->tls_cert, "/c");
    assert_string_equal(url->tls_key, "/k");
    assert_false(url->quarantine);
    assert_int_equal(url->fence_keep_ms, 7200000);
    assert_int_equal(url->fence_base, HF_FENCE_BASE_MAX);
    assert_int_equal(url->max_ttl_ms, 90000);
    assert_string_equal(url->display,
                        "rediss://user@a:1,b:6379,[::1]:3,[fe80::2]:6379,"
                        "c:65535/7");
    hf_url_free(url);
}

static void several_whole_urls(void **state)
{
    (void)state;
    struct hf_url *url = good(" rediss://:one@a  redis+unix:///run/a%20b.sock\t"
                              "valkey://u:two@c:1/2?prefix=p:\n");
    assert_int_equal(url->n_endpoints, 3);
    assert_true(url->endpoints[0].is_tls);
    assert_string_equal(url->endpoints[0].password, "one");
    assert_null(url->endpoints[0].user);
    assert_true(url->endpoints[1].is_unix);
    assert_string_equal(url->endpoints[1].host, "/run/a b.sock");
    assert_null(url->endpoints[1].password);
    assert_string_equal(url->endpoints[2].user, "u");
    assert_string_equal(url->endpoints[2].password, "two");
    assert_int_equal(url->endpoints[2].db, 2);
    assert_string_equal(url->prefix, "p:");
    assert_null(strstr(url->display, "one"));
    assert_null(strstr(url->display, "two"));
    hf_url_free(url);
}

static void a_password_from_elsewhere(void **state)
{
    (void)state;
    struct hf_url *url = good_with("redis://u:old@a,b,c", "new");
    assert_string_equal(url->endpoints[2].password, "new");
    assert_string_equal(url->endpoints[2].user, "u");
    hf_url_free(url);
    url = good_with("redis://u@a", "new");
    assert_string_equal(url->endpoints[0].password, "new");
    hf_url_free(url);
    url = good_with("redis+unix:///s", "new");
    assert_string_equal(url->endpoints[0].password, "new");
    assert_null(url->endpoints[0].user);
    hf_url_free(url);
}

static void the_embedded_store(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path, *display;
    } cases[] = {
        {NULL, NULL, "local:"},
        {"local:", NULL, "local:"},
        {"local:?prefix=a", NULL, "local:"},
        {"local:///var/x/", "/var/x", "local:///var/x"},
        {"local:/var/x", "/var/x", "local:///var/x"},
        {"Local:///a%20b?max_ttl=5m", "/a b", "local:///a b"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hf_url *url = good(cases[i].text);
        assert_string_equal(url->scheme, "local");
        assert_int_equal(url->n_endpoints, 0);
        if (cases[i].path == NULL) {
            assert_null(url->path);
        } else {
            assert_string_equal(url->path, cases[i].path);
        }
        assert_string_equal(url->display, cases[i].display);
        hf_url_free(url);
    }
    bad("local:var", HF_INVALID, "relative");
    bad("local://var/x", HF_INVALID, "relative");
    bad("local://", HF_INVALID, "lacks a folder");
    bad("local:///my folder", HF_INVALID, "%20");
    bad("local: redis://a redis://b", HF_CONFIG, "one machine");
    bad("redis://a local:", HF_CONFIG, "one machine");
}

static void refusals(void **state)
{
    (void)state;
    bad("", HF_INVALID, "empty");
    bad("  ", HF_INVALID, "empty");
    bad("localhost", HF_INVALID, "not a store URL");
    bad("10.0.0.1:6379", HF_INVALID, "not a store URL");
    bad("redis:/a", HF_INVALID, "followed by \"//\"");
    bad("redis://", HF_INVALID, "empty or malformed host");
    bad("redis://a,,b", HF_INVALID, "empty or malformed host");
    bad("redis://::1", HF_INVALID, "empty or malformed host");
    bad("redis://[::1", HF_INVALID, "empty or malformed host");
    bad("redis://[::1]x", HF_INVALID, "empty or malformed host");
    bad("redis://a:", HF_INVALID, "port");
    bad("redis://a:0", HF_INVALID, "port");
    bad("redis://a:65536", HF_INVALID, "port");
    bad("redis://a/x", HF_INVALID, "database");
    bad("redis://a/-1", HF_INVALID, "database");
    bad("redis://a%00b", HF_INVALID, "%");
    bad("redis://a%4", HF_INVALID, "%");
    bad("redis+unix://x/y", HF_INVALID, "absolute");
    bad("redis+unix:///x%zz", HF_INVALID, "socket's path");
    bad("redis://u@a", HF_INVALID, "no password");
    for (size_t i = 0; i < 2; i++) {
        static const char *const later[] = {"redis+sentinel://a/m",
                                            "redis+cluster://a"};
        bad(later[i], HF_UNSUPPORTED, "not part of this version");
    }
}

static void numbers_of_servers(void **state)
{
    (void)state;
    bad("redis://a,b", HF_CONFIG, "2 servers");
    bad("redis://a redis://b", HF_CONFIG, "2 servers");
    bad("redis://a,b,c,d", HF_CONFIG, "4 servers");
    bad("redis://a,b,c,d,e,f,g,h,i,j,k", HF_CONFIG, "11 servers");
    bad("redis://a,b,A:6379", HF_CONFIG, "given twice");
    bad("redis://a/1 redis://a/2 redis://b", HF_CONFIG, "given twice");
    bad("redis+unix:///a redis+unix:///b redis+unix:///a", HF_CONFIG,
        "given twice");
    struct hf_url *url = good("redis://a,a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8");
    assert_int_equal(url->n_endpoints, 9);
    hf_url_free(url);
}

static void parameters(void **state)
{
    (void)state;
    bad("redis://a?prefx=a", HF_INVALID, "did you mean \"prefix\"?");
    bad("redis://a?maxttl=5s", HF_INVALID, "did you mean \"max_ttl\"?");
    bad("redis://a?zzzzzz=5s", HF_INVALID, "known: prefix, connect_timeout");
    bad("redis://a?prefix", HF_INVALID, "no value");
}

static void parameter_values(void **state)
{
    (void)state;
    bad("redis://a?fence_base=", HF_INVALID, "\"\" is no number from 0 to");
    bad("redis://a?fence_base=-1", HF_INVALID, "is no number");
    bad("redis://a?fence_base=1k", HF_INVALID, "is no number");
    bad("redis://a?fence_base=4503599627370497", HF_INVALID,
        "is no number from 0 to 4503599627370496");
    bad("redis://a?fence_base=18446744073709551617", HF_INVALID,
        "is no number");
    bad("redis://a?fence_base=1&fence_base=2", HF_INVALID, "given twice");
    bad("redis://a?max_ttl=soon", HF_INVALID, "no duration");
    bad("redis://a?max_ttl=-1", HF_INVALID, "no duration");
    bad("redis://a?max_ttl=2d", HF_INVALID, "not from 10ms to 1d");
    bad("redis://a?node_timeout=0", HF_INVALID, "not from 1ms to 1m");
    bad("redis://a?quarantine=on", HF_INVALID, "neither");
    bad("redis://a?prefix=hf:x", HF_CONFIG, "hf:");
    bad("redis://a?fence_keep=1m", HF_CONFIG, "twice max_ttl (2m)");
    bad("redis://a?max_ttl=1s&fence_keep=2s", HF_INVALID, "not from 10s to");
    bad("redis://a?max_ttl=1s&fence_keep=9999ms", HF_INVALID, "not from 10s");
    hf_url_free(good("redis://a?max_ttl=1s&fence_keep=10s"));
    bad("rediss://a?tls_cert=/x", HF_CONFIG, "tls_key is missing");
    bad("redis://a?tls_ca=/x", HF_CONFIG, "tls_ca is given, but no server");
    bad("redis+unix:///s?tls_key=/x&tls_cert=/y", HF_CONFIG, "write rediss://");
    bad("local:?tls_ca=/x", HF_CONFIG, "over TLS");
    bad("redis://a?prefix=a&prefix=b", HF_INVALID, "twice");
    bad("redis://a?max_ttl=1m redis://b redis://c?max_ttl=2m", HF_INVALID,
        "twice");
    struct hf_url *url =
        good("redis://a?prefix=q redis://b redis://c?prefix=q");
    assert_string_equal(url->prefix, "q");
    hf_url_free(url);
    url = good("redis://a?max_ttl=2h");
    assert_int_equal(url->fence_keep_ms, 4 * 3600 * 1000);
    hf_url_free(url);
    url = good("redis://a?prefix=");
    assert_string_equal(url->prefix, "");
    hf_url_free(url);
}

static void passwords_stay_secret(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "redis://:open@sesame@a",
        "redis://u:open/sesame@a",
        "redis://u:open?sesame@a",
        "redis://u:open#sesame@a",
        "redis://u:1/sesame@a",
        "redis://u:1?sesame=1@a",
        "redis://:sesame/x@a",
        "redis://u:sesame%zz@a",
        "redis://:sesame",
        "redis://u:sesame",
        "redis://u:sesame@",
        "redis://u:sesame@a:x",
        "redis://u:sesame@a,b",
        "redis+unix://:sesame@x",
        "redis://u:sesame@a?x=y",
        "redis://u:sesame@a/x",
        "redis://u:1,sesame@a,b,c:x",
    };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct hf_url *url = NULL;
        struct hf_error error = {HF_OK, 0, ""};
        assert_int_not_equal(hf_url_parse(urls[i], NULL, &url, &error), HF_OK);
        if (strstr(error.text, "sesame") != NULL) {
            fail_msg("%s: %s", urls[i], error.text);
        }
    }
    struct hf_url *url = good("redis://u:sesame@a");
    assert_null(strstr(url->display, "sesame"));
    hf_url_free(url);
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"1h30m", 5400000},
        {"0", 0},
        {"7", 7000},
        {"0.5", 500},
        {"1.5s", 1500},
        {"2d", 172800000},
        {"1m1ms", 60001},
        {"0.001", 1},
        {"1h0.5m", 3630000},
        {"", -1},
        {"s", -1},
        {"-1", -1},
        {"1x", -1},
        {"30m1h", -1},
        {"1h30", -1},
        {"1s1s", -1},
        {"0.0001", -1},
        {"1.", -1},
        {".5", -1},
        {" 1", -1},
        {"1 s", -1},
        {"99999999999999999999", -1},
        {"9007199254740993d", -1},
        {"1000000d2562047788015h", -1}, /* each part fits, their sum does not */
        {"1.0000000000", -1},
        {"inf", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        bool is_good = hf_duration_parse(cases[i].text, &ms);
        if (is_good != (cases[i].ms >= 0) || ms != cases[i].ms) {
            fail_msg("\"%s\": %lld", cases[i].text, (long long)ms);
        }
    }
    for (int64_t ms = 0; ms < INT64_C(1) << 40; ms = ms * 3 + 1) {
        char text[HF_DURATION_TEXT_MAX];
        int64_t again = -1;
        hf_duration_emit(text, ms);
        assert_true(hf_duration_parse(text, &again));
        assert_int_equal(again, ms);
    }
}

static void nearest_words(void **state)
{
    (void)state;
    static const char *const known[] = {"release", "run", "acquire", NULL};
    assert_string_equal(hf_nearest("relaese", known), "release");
    assert_string_equal(hf_nearest("rn", known), "run");
    assert_string_equal(hf_nearest("aquire", known), "acquire");
    assert_null(hf_nearest("xyzzy", known));
    assert_null(hf_nearest("", known));
    assert_string_equal(hf_nearest("acq", known), "acquire"); /* it begins so */
    assert_null(hf_nearest("ac", known));
    assert_null(hf_nearest("a-word-that-is-far-too-long-to-be-meant", known));
}

/* Of a scheme that this build lacks, only the common parameters are known. */
static void modules(void **state)
{
    (void)state;
    struct hf_error error = {HF_OK, 0, ""};
    struct hf_url *url =
        good("Etcds://u:sesame@a,b:1/x%2fy?max_ttl=5s&tls_ca=/c&dc=a%20b");
    assert_string_equal(url->scheme, "etcds");
    assert_string_equal(url->address, "//u:sesame@a,b:1/x%2fy");
    assert_string_equal(url->display, "etcds://u@a,b:1/x%2fy");
    assert_null(url->password);
    assert_int_equal(url->n_endpoints, 0);
    assert_int_equal(url->max_ttl_ms, 5000);
    assert_int_equal(url->n_options, 1);
    assert_string_equal(url->options[0].name, "dc");
    assert_string_equal(url->options[0].value, "a b");
    assert_int_equal(hf_url_refuse_options(url, &error), HF_INVALID);
    assert_non_null(strstr(error.text, "unknown URL parameter \"dc\""));
    hf_url_free(url);
    url = good_with("mem:?tls_ca=/c", "sesame");
    assert_string_equal(url->address, "");
    assert_string_equal(url->password, "sesame");
    assert_string_equal(url->display, "mem:");
    assert_int_equal(hf_url_refuse_options(url, &error), HF_OK);
    assert_int_equal(hf_url_refuse_tls(url, NULL, &error), HF_INVALID);
    assert_non_null(strstr(error.text, "tls_ca is given, but a mem: store"));
    assert_int_equal(hf_url_refuse_tls(url, "mems", &error), HF_CONFIG);
    assert_non_null(strstr(error.text, "reached over TLS: write mems://"));
    hf_url_free(url);
    url = good("mem:a?prefix=x");
    assert_int_equal(hf_url_refuse_options(url, &error), HF_OK);
    assert_int_equal(hf_url_refuse_tls(url, NULL, &error), HF_OK);
    hf_url_free(url);
    bad("mem:a?dc", HF_INVALID, "no value");
    bad("mem:a mem:b mem:c", HF_CONFIG, "\"mem:\" cannot be given with other");
    bad("redis://a reddis://b redis://c", HF_CONFIG, "\"reddis:\" cannot");
    bad("mem:a redis://b redis://c", HF_CONFIG, "\"mem:\" cannot");
    bad("local: mem:a", HF_CONFIG, "one machine");
}

/* A module's URL is shown without its password, in any notation. */
static void passwords_of_modules_stay_secret(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "mem://u:sesame@a",      "mem://:sesame@a",    "mem:u:sesame@a",
        "mem://u:open@sesame@a", "mem://u:1/sesame@a", "mem:///u:sesame@/x@y",
    };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct hf_url *url = good(urls[i]);
        assert_null(strstr(url->display, "sesame"));
        hf_url_free(url);
    }
    bad("mem://u:open?sesame@a", HF_INVALID, "'@' behind '?'");
    bad("mem://u:open#sesame@a", HF_INVALID, "'#'");
}

static enum hf_status find(const char *scheme, const struct hf_store_ops **out,
                           struct hf_error *error)
{
    char text[32];
    snprintf(text, sizeof(text), "%s", scheme);
    const struct hf_url url = {.scheme = text};
    return hf_store_find(&url, out, error);
}

static void assert_unknown(const char *scheme, const char *said)
{
    const struct hf_store_ops *ops = NULL;
    struct hf_error error;
    char text[100];
    assert_int_equal(find(scheme, &ops, &error), HF_UNSUPPORTED);
    assert_null(ops);
    snprintf(text, sizeof(text), "unknown store \"%s:\"%s (this build has ",
             scheme, said);
    assert_memory_equal(error.text, text, strlen(text));
    snprintf(text, sizeof(text), "; there is no module store-%s.so in /",
             scheme);
    assert_non_null(strstr(error.text, text));
}

static void assert_found(const char *scheme, const struct hf_store_ops *store)
{
    const struct hf_store_ops *ops = NULL;
    struct hf_error error;
    assert_int_equal(find(scheme, &ops, &error), HF_OK);
    assert_ptr_equal(ops, store);
}

static void capabilities(void **state)
{
    (void)state;
    struct hf_error error;
    unsigned can = 1;
    assert_int_equal(hf_store_capabilities("redis://a", NULL, &error),
                     HF_INVALID);
    assert_int_equal(hf_store_capabilities("none://a", &can, &error),
                     HF_UNSUPPORTED);
    assert_int_equal(can, 0);
    can = 1;
    assert_int_equal(hf_store_capabilities("redis:/a", &can, NULL), HF_INVALID);
    assert_int_equal(can, 0);
    assert_int_equal(hf_store_capabilities("redis://a", &can, NULL), HF_OK);
    assert_int_equal(can, HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                              HF_CAP_RECORDS | HF_CAP_FENCES);
    assert_int_equal(hf_store_capabilities("redis://a,b,c", &can, NULL), HF_OK);
    assert_int_equal(can, HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_RECORDS |
                              HF_CAP_FENCES);
    assert_int_equal(hf_store_capabilities(NULL, &can, NULL), HF_OK);
    assert_true((can & HF_CAP_LIVENESS) != 0);
}

static void stores_by_scheme(void **state)
{
    (void)state;
    assert_found("local", &hf_store_local);
    assert_found("redis", &hf_store_redis);
    assert_found("valkey+unix", &hf_store_redis);
    assert_unknown("memcached", "");
    assert_unknown("reddis", ": did you mean \"redis:\"?");
}

/* A store whose table of operations lacks a member is refused by its name. */
static void assert_refused(const struct hf_store_ops *store, const char *member)
{
    const struct hf_store_ops *const table[] = {&hf_store_local, store, NULL};
    const struct hf_store_ops *ops = NULL;
    struct hf_error error;
    char text[100];
    snprintf(text, sizeof(text),
             "the redis store of this build is incomplete: it lacks \"%s\"",
             member);
    assert_int_equal(hf_store_find_in(table, "redis", &ops, &error),
                     HF_UNSUPPORTED);
    assert_string_equal(error.text, text);
    assert_null(ops);
    assert_int_equal(hf_store_find_in(table, "local", &ops, &error), HF_OK);
    assert_ptr_equal(ops, &hf_store_local);
}

#define WITHOUT(member)                                                        \
    do {                                                                       \
        struct hf_store_ops copy = hf_store_redis;                             \
        memset(&copy.member, 0, sizeof(copy.member));                          \
        assert_refused(&copy, #member);                                        \
    } while (0)

static void an_incomplete_store_is_refused(void **state)
{
    (void)state;
    WITHOUT(name);
    WITHOUT(retry_base);
    WITHOUT(retry_cap);
    WITHOUT(open);
    WITHOUT(close);
    WITHOUT(ask);
    WITHOUT(describe);
    WITHOUT(job);
    WITHOUT(job_cancel);
}

static void a_store_may_lack_what_it_does_not_need(void **state)
{
    (void)state;
    struct hf_store_ops copy = hf_store_redis;
    const struct hf_store_ops *const table[] = {&copy, NULL};
    const struct hf_store_ops *ops = NULL;
    struct hf_error error;
    copy.flush = NULL;
    copy.resume = NULL;
    assert_int_equal(hf_store_find_in(table, "redis", &ops, &error), HF_OK);
    assert_ptr_equal(ops, &copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(several_whole_urls),
        cmocka_unit_test(a_password_from_elsewhere),
        cmocka_unit_test(the_embedded_store),
        cmocka_unit_test(refusals),
        cmocka_unit_test(numbers_of_servers),
        cmocka_unit_test(parameters),
        cmocka_unit_test(parameter_values),
        cmocka_unit_test(passwords_stay_secret),
        cmocka_unit_test(durations),
        cmocka_unit_test(nearest_words),
        cmocka_unit_test(modules),
        cmocka_unit_test(passwords_of_modules_stay_secret),
        cmocka_unit_test(stores_by_scheme),
        cmocka_unit_test(capabilities),
        cmocka_unit_test(an_incomplete_store_is_refused),
        cmocka_unit_test(a_store_may_lack_what_it_does_not_need),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
