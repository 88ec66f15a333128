/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: how a connection ends, and the results of the requests that are pending
 * then. */
/* library: hf_http */
#include "http_fixture.h"

/* More than the buffers of both ends of a connection hold. */
#define PLENTY (7U << 20)

static void the_end_in_the_middle(void **state)
{
    static const struct {
        const char *reply;
        const char *trace;
    } cases[] = {
        {"", "1 lost, unknown\n2 lost, unknown\n"
             "closed: the server closed the connection without an answer "
             "(a TLS port? use mems://)\n"},
        {"HTTP/1.1 200 OK\r\nConte",
         "1 lost, unknown\n2 lost, unknown\n"
         "closed: the server closed the connection\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
         "1 lost, unknown\n2 lost, unknown\nclosed: the server closed the "
         "connection in the middle of a reply\n"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
         "1 lost, unknown\n2 lost, unknown\nclosed: the server closed the "
         "connection in the middle of a reply\n"},
        /* A refusal may have no length; anything else could be cut. */
        {"HTTP/1.0 400 Bad Request\r\n\r\nuse TLS",
         "1: 400 use TLS [|]\n2 lost, unknown\n"
         "closed: the server closes the connection after a reply\n"},
        {"HTTP/1.0 200 OK\r\n\r\nhello",
         "1 lost, unknown\n2 lost, unknown\n"
         "closed: the HTTP reply has no length\n"},
    };
    struct fixture f;
    (void)state;
    begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (hf_http_state(&f.http) == HF_HTTP_CLOSED) {
            open_again(&f);
        }
        assert_true(ask(&f, 1, false));
        assert_true(ask(&f, 2, false));
        char requests[512];
        assert_true(recv(f.peer, requests, sizeof(requests), 0) > 0);
        peer_says(&f, cases[i].reply);
        peer_closes(&f);
        await(&f, "closed: ");
        expect(&f, cases[i].trace);
        assert_int_equal(hf_http_state(&f.http), HF_HTTP_CLOSED);
    }
    end(&f);
}

static void keepalive_is_refused(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_true(ask(&f, 1, false));
    assert_true(ask(&f, 2, false));
    peer_says(&f, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                  "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n");
    expect(&f, "1: 200 ok [|]\n2 lost, unknown\n"
               "closed: the server closes the connection after a reply\n");
    peer_closes(&f);
    open_again(&f);
    assert_true(ask(&f, 3, false));
    peer_says(&f, EMPTY);
    expect(&f, "3: 204  [|]\n");
    end(&f);
}

/* Of two requests the first is more than the peer's buffers take. */
static void what_was_written_is_told(void **state)
{
    struct fixture f;
    (void)state;
    char *plenty = calloc(1, PLENTY);
    struct hf_http_request big = {.method = "PUT",
                                  .path = "/big",
                                  .body = plenty,
                                  .body_len = PLENTY,
                                  .cookie = 1};
    assert_non_null(plenty);
    begin(&f);
    assert_true(hf_http_ask(&f.http, &big, f.now));
    assert_true(ask(&f, 2, false));
    assert_true(f.http.queue.n_written > 0);
    assert_false(hf_http_ask(&f.http, &big, f.now)); /* above the limit */
    settle(&f);
    peer_closes(&f); /* with bytes unread: a reset */
    await(&f, "closed: ");
    assert_non_null(strstr(f.trace, "1 lost, unknown\n2 lost, unsent\nclosed"));
    f.trace[f.len = 0] = '\0';

    open_again(&f); /* it may reply before it has read all */
    assert_true(hf_http_ask(&f.http, &big, f.now));
    big.user = &f;
    hf_http_break(&f.http, "tired");
    hf_http_break(&f.http, "more tired");
    assert_string_equal(f.trace, "");
    expect(&f, "1 lost, unknown\nclosed: tired\n");
    peer_closes(&f);
    open_again(&f);
    assert_true(hf_http_ask(&f.http, &big, f.now));
    assert_true(ask(&f, 2, false));
    peer_says(&f, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    expect(&f, "1: 413  [|]\n2 lost, unsent\n"
               "closed: the server replied before it had the request\n");
    end(&f);
    free(plenty);
}

static void a_connection_is_refused(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    hf_http_close(&f.http, false);
    peer_closes(&f);
    assert_false(ask(&f, 1, false));
    close(f.listener);
    hf_http_start(&f.http, &f.target, hf_span_ms(1000), f.now);
    assert_true(ask(&f, 2, false));
    assert_string_equal(f.trace, ""); /* no callback from inside a call */
    await(&f, "closed");
    assert_non_null(strstr(f.trace, "2 lost, unsent\nclosed: cannot connect"));
    f.trace[f.len = 0] = '\0';

    struct hf_socket_target unix_target = {.is_unix = true, .host = "/no/s"};
    hf_http_start(&f.http, &unix_target, hf_span_ms(1000), f.now);
    assert_true(ask(&f, 3, false));
    assert_string_equal(f.trace, "");
    settle(&f);
    assert_non_null(strstr(f.trace, "3 lost, unsent\nclosed: cannot connect"));
    f.trace[f.len = 0] = '\0';
    f.listener = dup(STDERR_FILENO); /* for end() */
    end(&f);
}

/* Its owner gives it up while it opens; that it has opened is not reported
 * then, or the owner would go on with it. */
static void given_up_while_opening(void **state)
{
    struct fixture f;
    struct pollfd at;
    (void)state;
    begin(&f);
    hf_http_close(&f.http, false);
    peer_closes(&f);
    hf_http_start(&f.http, &f.target, hf_span_ms(1000), f.now);
    assert_true(ask(&f, 1, false));
    at = (struct pollfd){.fd = hf_loop_fd(f.loop), .events = POLLIN};
    assert_int_equal(poll(&at, 1, 10000), 1);
    hf_http_break(&f.http, "another cluster");
    expect(&f, "1 lost, unsent\nclosed: another cluster\n");
    accept_peer(&f);
    end(&f);
}

/* ---- Invalid replies ---------------------------------------------------- */

/* Each reply is that to the second request; `fault` ends the reason. */
static void expect_fault(const char *reply, const char *fault)
{
    struct fixture f;
    char trace[256];
    begin(&f);
    assert_true(ask(&f, 1, false));
    assert_true(ask(&f, 2, false));
    peer_says(&f, EMPTY);
    peer_says(&f, reply);
    snprintf(trace, sizeof(trace), "1: 204  [|]\n2 lost, unknown\nclosed: %s\n",
             fault);
    await(&f, "closed: ");
    expect(&f, trace);
    end(&f);
}

static void limits_break_the_connection(void **state)
{
    char reply[8192];
    (void)state;
    expect_fault("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
                 "the body of the HTTP reply exceeds 1000 bytes");
    snprintf(reply, sizeof(reply),
             STREAM "1f4\r\n%0500d\r\n1f5\r\n%0501d\r\n0\r\n\r\n", 0, 0);
    expect_fault(reply, "the body of the HTTP reply exceeds 1000 bytes");
    snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nX: %05000d", 0);
    expect_fault(reply, "the head of the HTTP reply exceeds 2048 bytes");
    snprintf(reply, sizeof(reply), "HTTP/1.1 200 %05000d", 0);
    expect_fault(reply, "the head of the HTTP reply exceeds 2048 bytes");
    snprintf(reply, sizeof(reply), STREAM "0\r\nX: %05000d", 0);
    expect_fault(reply, "the head of the HTTP reply exceeds 2048 bytes");
    snprintf(reply, sizeof(reply),
             "HTTP/1.1 200 OK\r\nx-consul-index: %0128d\r\n\r\n", 0);
    expect_fault(reply, "X-Consul-Index of the HTTP reply exceeds 127 bytes");
}

/* Interim replies count together, or they could come for ever. */
static void interim_replies_are_limited(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_true(ask(&f, 1, false));
    for (int i = 0; i < 1000 && f.len == 0; i++) {
        peer_says(&f, INTERIM);
    }
    await(&f, "closed: ");
    expect(&f, "1 lost, unknown\nclosed: the head of the HTTP reply exceeds "
               "2048 bytes\n");
    peer_closes(&f);

    open_again(&f); /* also where they have neither reason nor header */
    assert_true(ask(&f, 2, false));
    for (int i = 0; i < 1000 && f.len == 0; i++) {
        peer_says(&f, "HTTP/1.1 100\r\n\r\n");
    }
    await(&f, "closed: ");
    expect(&f, "2 lost, unknown\nclosed: the head of the HTTP reply exceeds "
               "2048 bytes\n");
    end(&f);
}

static void what_is_no_reply(void **state)
{
    (void)state;
    expect_fault("-ERR unknown command\r\n",
                 "no HTTP reply: invalid constant string");
    expect_fault("HTTP/1.1 2x0 OK\r\n\r\n",
                 "no HTTP reply: invalid HTTP status code");
    expect_fault(STREAM "xyz\r\n",
                 "no HTTP reply: invalid character in chunk size header");
    expect_fault("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n"
                 "Connection: Upgrade\r\n\r\n",
                 "the HTTP reply changes the protocol");
}

static void a_reply_without_a_request(void **state)
{
    struct fixture f;
    static const char reason[] =
        "closed: the server sent an HTTP reply without a request\n";
    char trace[256];
    (void)state;
    begin(&f);
    peer_says(&f, EMPTY);
    expect(&f, reason);
    peer_closes(&f);

    /* Not of a request that is asked in between, before or after it was read.
     */
    open_again(&f);
    assert_int_equal(write(f.peer, EMPTY, strlen(EMPTY)), strlen(EMPTY));
    assert_true(ask(&f, 1, false));
    snprintf(trace, sizeof(trace), "1 lost, unsent\n%s", reason);
    expect(&f, trace);
    peer_closes(&f);
    open_again(&f);
    f.habit = ASK_AT_REPLY;
    assert_true(ask(&f, 1, false));
    peer_says(&f, EMPTY EMPTY);
    snprintf(trace, sizeof(trace), "1: 204  [|]\n2 lost, unknown\n%s", reason);
    expect(&f, trace);
    end(&f);
}

/* The server has closed a connection that was idle: nothing is sent. */
static void an_idle_connection_has_ended(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    peer_closes(&f);
    assert_true(ask(&f, 1, false));
    expect(&f, "1 lost, unsent\nclosed: the server closed the connection\n");

    open_again(&f); /* and one that is asked by the last callback of it */
    f.habit = ASK_AT_REPLY;
    assert_true(ask(&f, 1, false));
    char request[512];
    assert_true(recv(f.peer, request, sizeof(request), 0) > 0);
    peer_says(&f, "HTTP/1.0 400 Bad Request\r\n\r\nno");
    peer_closes(&f);
    await(&f, "closed: ");
    expect(&f, "1: 400 no [|]\n2 lost, unsent\n"
               "closed: the server closes the connection after a reply\n");
    end(&f);
}

/* ---- Times ------------------------------------------------------------- */

static void pass_ms(struct fixture *f, int64_t ms)
{
    f->now = hf_instant_add(f->now, hf_span_ms(ms));
    settle(f);
}

static void a_silent_server(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    timeout = hf_span_ms(100);
    pass_ms(&f, 1000); /* idle: no limit */
    assert_true(ask(&f, 1, false));
    assert_true(ask(&f, 2, false));
    pass_ms(&f, 98);
    peer_says(&f, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1");
    pass_ms(&f, 1);
    peer_says(&f, "1");
    expect(&f, "1: 200 11 [|]\n");
    pass_ms(&f, 99);
    expect(&f, "");
    pass_ms(&f, 1);
    expect(&f, "2 lost, unknown\nclosed: no answer within 100 ms\n");
    peer_closes(&f);

    open_again(&f);
    assert_true(ask(&f, 3, true));
    pass_ms(&f, 99);
    peer_says(&f, STREAM);
    pass_ms(&f, 100000); /* a stream may be silent */
    expect(&f, "");
    end(&f);
}

/* Bytes extend the time by what they take at 64 KiB a second: a byte now and
 * then is no answer. */
static void a_server_that_drips(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    timeout = hf_span_ms(100);
    assert_true(ask(&f, 1, false));
    peer_says(&f, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    for (int i = 0; i < 20 && f.len == 0; i++) {
        pass_ms(&f, 10);
        if (f.len == 0) {
            peer_says(&f, "x");
        }
    }
    expect(&f, "1 lost, unknown\nclosed: no answer within 100 ms\n");
    peer_closes(&f);

    char body[1000] = {0};
    memset(body, 'x', 995);
    open_again(&f);
    assert_true(ask(&f, 2, false));
    peer_says(&f, "HTTP/1.1 200 OK\r\nContent-Length: 996\r\n\r\n");
    peer_says(&f, body);
    pass_ms(&f, 110);
    expect(&f, "");
    pass_ms(&f, 10);
    expect(&f, "2 lost, unknown\nclosed: no answer within 100 ms\n");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_in_the_middle),
        cmocka_unit_test(keepalive_is_refused),
        cmocka_unit_test(what_was_written_is_told),
        cmocka_unit_test(a_connection_is_refused),
        cmocka_unit_test(given_up_while_opening),
        cmocka_unit_test(limits_break_the_connection),
        cmocka_unit_test(interim_replies_are_limited),
        cmocka_unit_test(what_is_no_reply),
        cmocka_unit_test(a_reply_without_a_request),
        cmocka_unit_test(an_idle_connection_has_ended),
        cmocka_unit_test(a_silent_server),
        cmocka_unit_test(a_server_that_drips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
