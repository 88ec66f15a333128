/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: valid replies, and the calls that callbacks may make. */
/* library: hf_http */
#include "http_fixture.h"

/* The peer has received this and no more. */
static void expect_request(struct fixture *f, const char *format)
{
    char got[1024];
    char want[1024];
    snprintf(want, sizeof(want), format, (unsigned)f->target.port);
    ssize_t n = recv(f->peer, got, sizeof(got) - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    got[n] = '\0';
    assert_string_equal(got, want);
}

#define OK_DATED                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\n"                        \
    "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Consul-Index: 42\r\n"            \
    "X-Other: 1\r\nContent-Length: 5\r\n\r\nhello"

#define CHUNKED                                                                \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"                    \
    "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Consul-Index: 9\r\n\r\n"

static void a_request_and_its_reply(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_true(ask(&f, 7, false));
    expect_request(&f, "POST /v3/kv/txn HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                       "Content-Length: 2\r\nAuthorization: token\r\n\r\n{}");
    peer_says(&f, OK_DATED);
    expect(&f, "7: 200 hello [42|text/plain]\n");
    assert_int_equal(f.date_s, 784111777);

    struct hf_http_request get = {.method = "GET", .path = "/v1?index=3"};
    get.user = &f;
    assert_true(hf_http_ask(&f.http, &get, f.now));
    expect_request(&f,
                   "GET /v1?index=3 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n");
    peer_says(&f, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    expect(&f, "0: 404  [|]\n"); /* nothing of the reply before */
    assert_int_equal(f.date_s, -1);
    end(&f);
}

static void replies_come_in_order(void **state)
{
    struct fixture f;
    static const char all[] = OK_DATED CHUNKED INTERIM OK_DATED EMPTY;
    static const char trace[] =
        "1: 200 hello [42|text/plain]\n2: 200 abcde [|]\n"
        "3: 200 hello [42|text/plain]\n4: 204  [|]\n";
    (void)state;
    begin(&f);
    for (uint64_t i = 1; i <= 4; i++) {
        assert_true(ask(&f, i, false));
    }
    peer_says(&f, all);
    expect(&f, trace);

    for (uint64_t i = 1; i <= 4; i++) {
        assert_true(ask(&f, i, false));
    }
    for (size_t i = 0; i + 1 < sizeof(all); i++) {
        peer_says(&f, (char[]){all[i], '\0'});
    }
    expect(&f, trace);
    end(&f);
}

static void dates(void **state)
{
    static const struct {
        const char *text;
        int64_t date_s;
    } cases[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Mon, 29 Feb 2016 23:59:60 GMT ", 1456790400}, /* a leap second */
        {"Tue, 24 Nov 2026 19:35:12 GMT", 1795548912},
        {"Tue, 24 Nov 2026 19:35:12 CET", -1},
        {"Tue, 24 ovD 2026 19:35:12 GMT", -1},
        {"Tue, 24 Nov 2026 19:3x:12 GMT", -1},
        {"Tue, -4 Nov 2026 19:35:12 GMT", -1},
        {"Fri, 31 Dec 1969 23:59:59 GMT", -1},
        {"Tuesday, 24-Nov-26 19:35:12 GMT", -1},
        {"", -1},
    };
    struct fixture f;
    char reply[128];
    (void)state;
    begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_true(ask(&f, 1, false));
        snprintf(reply, sizeof(reply), "HTTP/1.1 204 OK\r\nDate: %s\r\n\r\n",
                 cases[i].text);
        peer_says(&f, reply);
        expect(&f, "1: 204  [|]\n");
        assert_int_equal(f.date_s, cases[i].date_s);
    }
    end(&f);
}

/* The limit is that of one head. */
static void many_replies(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    for (int i = 0; i < 100; i++) {
        assert_true(ask(&f, 1, false));
        peer_says(&f, OK_DATED);
        expect(&f, "1: 200 hello [42|text/plain]\n");
    }
    end(&f);
}

static void a_callback_may_ask(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    f.habit = ASK_AT_REPLY;
    assert_true(ask(&f, 1, false));
    peer_says(&f, EMPTY);
    peer_says(&f, EMPTY);
    expect(&f, "1: 204  [|]\n2: 204  [|]\n");
    end(&f);
}

static void a_request_is_stamped_when_it_opens(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    hf_http_close(&f.http, false);
    peer_closes(&f);
    hf_http_start(&f.http, &f.target, hf_span_ms(1000), f.now);
    assert_int_equal(hf_http_state(&f.http), HF_HTTP_OPENING);
    assert_true(ask(&f, 1, false));
    f.now = hf_instant_add(f.now, hf_span_ms(10));
    struct hf_instant opened = f.now;
    await(&f, "opened\n");
    accept_peer(&f);
    f.now = hf_instant_add(f.now, hf_span_ms(10));
    peer_says(&f, EMPTY);
    expect(&f, "opened\n1: 204  [|]\n");
    assert_int_equal(f.sent.ns, opened.ns);
    end(&f);
}

/* ---- Streams ----------------------------------------------------------- */

static void a_stream_comes_in_pieces(void **state)
{
    struct fixture f;
    char line[128];
    (void)state;
    begin(&f);
    assert_true(ask(&f, 5, true));
    peer_says(&f, STREAM);
    expect(&f, "");
    peer_says(&f, "3\r\none\r\n3\r\ntw");
    expect(&f, "5 piece onetw\n");
    peer_says(&f, "o\r\n");
    expect(&f, "5 piece o\n");
    /* More than the limit of a body in all. */
    for (int i = 0; i < 50; i++) {
        snprintf(line, sizeof(line), "64\r\n%0100d\r\n", i);
        peer_says(&f, line);
        snprintf(line, sizeof(line), "5 piece %0100d\n", i);
        expect(&f, line);
    }
    peer_says(&f, "3\r\nend\r\n0\r\n\r\n");
    expect(&f, "5 piece end\n5: 200  [|]\n");

    assert_true(ask(&f, 6, true)); /* refused: no stream */
    peer_says(&f, "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{");
    expect(&f, "");
    peer_says(&f, "}");
    expect(&f, "6: 401 {} [|]\n");

    assert_true(ask(&f, 7, true));
    peer_says(&f, STREAM "1\r\nx\r\n");
    peer_closes(&f);
    await(&f, "closed");
    expect(&f, "7 piece x\n7 lost, unknown\nclosed: the server closed the "
               "connection in the middle of a reply\n");
    end(&f);
}

/* ---- The end of the connection ----------------------------------------- */

static void a_callback_may_close(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    f.habit = CLOSE_AT_REPLY;
    assert_true(ask(&f, 1, false));
    assert_true(ask(&f, 2, false));
    peer_says(&f, EMPTY EMPTY);
    expect(&f, "1: 204  [|]\n"); /* nothing after it */
    assert_int_equal(hf_http_state(&f.http), HF_HTTP_CLOSED);
    assert_null(hf_http_oldest(&f.http));
    peer_closes(&f);

    open_again(&f); /* bytes of the connection before answer no request */
    f.habit = RESTART_AT_REPLY;
    assert_true(ask(&f, 1, false));
    assert_true(ask(&f, 2, false));
    peer_says(&f, EMPTY EMPTY);
    await(&f, "opened\n");
    expect(&f, "1: 204  [|]\nopened\n");
    f.habit = NOTHING;
    peer_closes(&f);
    accept_peer(&f);
    peer_says(&f, EMPTY);
    expect(&f, "99: 204  [|]\n");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_and_its_reply),
        cmocka_unit_test(replies_come_in_order),
        cmocka_unit_test(dates),
        cmocka_unit_test(many_replies),
        cmocka_unit_test(a_callback_may_ask),
        cmocka_unit_test(a_request_is_stamped_when_it_opens),
        cmocka_unit_test(a_stream_comes_in_pieces),
        cmocka_unit_test(a_callback_may_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
