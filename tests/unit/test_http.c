/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP against a scripted peer, over TCP in this process. What is reported is a
 * text, one line for each callback. The time is the test's own. */
/* library: hf_http */
#include "io/clock.h"
#include "io/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD_MAX 2048
#define BODY_MAX 1000
#define OUTPUT_MAX (8U << 20)

/* More than the buffers of both ends of a connection hold. */
#define PLENTY (7U << 20)

enum habit { NOTHING, CLOSE_AT_REPLY, RESTART_AT_REPLY, ASK_AT_REPLY };

struct fixture {
    struct hf_http http; /* first: the callbacks cast it to this */
    struct hf_loop *loop;
    struct hf_instant now;
    struct hf_socket_target target;
    enum habit habit;
    int listener;
    int peer; /* -1: none */
    struct hf_instant sent;
    int64_t date_s;
    size_t len;
    char trace[4096];
};

static const char *const kept[] = {"X-Consul-Index", "Content-Type", NULL};
static const struct hf_http_limits limits = {
    .kept = kept,
    .head_max = HEAD_MAX,
    .body_max = BODY_MAX,
    .output_max = OUTPUT_MAX,
};

/* ---- What is reported -------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(struct fixture *f,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n =
        vsnprintf(f->trace + f->len, sizeof(f->trace) - f->len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof(f->trace) - f->len);
    f->len += (size_t)n;
}

static struct hf_span timeout = {0};

static bool ask(struct fixture *f, uint64_t cookie, bool is_stream)
{
    struct hf_http_request request = {
        .method = "POST",
        .path = "/v3/kv/txn",
        .headers = "Authorization: token\r\n",
        .body = "{}",
        .body_len = 2,
        .timeout = timeout,
        .is_stream = is_stream,
        .cookie = cookie,
        .user = f,
    };
    return hf_http_ask(&f->http, &request, f->now);
}

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    say(f, "opened\n");
}

static void on_piece(struct hf_http *http,
                     const struct hf_http_pending *request,
                     const struct hf_http_reply *reply, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    assert_int_equal(strlen(reply->body), reply->body_len);
    say(f, "%d piece %s\n", (int)request->cookie, reply->body);
}

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    assert_ptr_equal(request->user, f);
    assert_int_equal(strlen(reply->body), reply->body_len);
    f->sent = request->sent;
    f->date_s = reply->date_s;
    say(f, "%d: %u %s [%s|%s]\n", (int)request->cookie, reply->status,
        reply->body, reply->kept[0], reply->kept[1]);
    if (f->habit == CLOSE_AT_REPLY || f->habit == RESTART_AT_REPLY) {
        hf_http_close(http, false);
    }
    if (f->habit == RESTART_AT_REPLY) {
        hf_http_start(http, &f->target, hf_span_ms(1000), f->now);
        assert_true(ask(f, 99, false));
    }
    if (f->habit == ASK_AT_REPLY) {
        assert_true(ask(f, request->cookie + 1, false));
    }
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    assert_int_equal(hf_http_state(http), HF_HTTP_CLOSED);
    assert_false(ask(f, 1000, false));
    say(f, "%d lost, %s\n", (int)request->cookie,
        is_unsent ? "unsent" : "unknown");
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    say(f, "closed: %s\n", http->reason);
}

static const struct hf_http_events events = {on_opened, on_piece, on_replied,
                                             on_lost, on_closed};

/* ---- The two ends ------------------------------------------------------ */

/* Dispatch until nothing is left to do. */
static void settle(struct fixture *f)
{
    for (int i = 0; i < 20; i++) {
        (void)hf_loop_wait(f->loop, HF_LONG_AGO);
        hf_loop_dispatch(f->loop, f->now);
    }
}

/* Until the text was reported: the kernel may need a moment. */
static void await(struct fixture *f, const char *text)
{
    for (int i = 0; i < 1000 && strstr(f->trace, text) == NULL; i++) {
        struct pollfd at = {.fd = hf_loop_fd(f->loop), .events = POLLIN};
        (void)poll(&at, 1, 10);
        settle(f);
    }
    assert_non_null(strstr(f->trace, text));
}

static void expect(struct fixture *f, const char *trace)
{
    settle(f);
    assert_string_equal(f->trace, trace);
    f->len = 0;
    f->trace[0] = '\0';
}

static void peer_says(struct fixture *f, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(write(f->peer, text, len), (ssize_t)len);
    settle(f);
}

static void peer_closes(struct fixture *f)
{
    close(f->peer);
    f->peer = -1;
}

static void listen_on(struct fixture *f)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&in, len), 0);
    assert_int_equal(listen(f->listener, 4), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&in, &len), 0);
    f->target = (struct hf_socket_target){.host = "127.0.0.1",
                                          .port = ntohs(in.sin_port)};
}

/* Each write is a packet of its own: none waits for an acknowledgement. */
static void accept_peer(struct fixture *f)
{
    int on = 1;
    f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(f->peer >= 0);
    setsockopt(f->peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void open_again(struct fixture *f)
{
    hf_http_start(&f->http, &f->target, hf_span_ms(1000), f->now);
    await(f, "opened\n");
    accept_peer(f);
    expect(f, "opened\n");
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->loop = hf_loop_new();
    f->now = hf_clock_now();
    f->peer = -1;
    timeout = (struct hf_span){0};
    listen_on(f);
    hf_http_init(&f->http, f->loop, &events, &limits);
    open_again(f);
}

static void end(struct fixture *f)
{
    hf_http_fini(&f->http, false);
    hf_loop_free(f->loop);
    if (f->peer >= 0) {
        close(f->peer);
    }
    close(f->listener);
    assert_string_equal(f->trace, "");
}

/* What the peer has received, and the whole of it. */
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

/* ---- Requests and replies ---------------------------------------------- */

#define OK_DATED                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\n"                        \
    "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Consul-Index: 42\r\n"            \
    "X-Other: 1\r\nContent-Length: 5\r\n\r\nhello"

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

#define CHUNKED                                                                \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"                    \
    "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Consul-Index: 9\r\n\r\n"
#define INTERIM "HTTP/1.1 100 Continue\r\nX-Consul-Index: 8\r\n\r\n"
#define EMPTY "HTTP/1.1 204 No Content\r\n\r\n"

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

#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

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

static void the_end_in_the_middle(void **state)
{
    static const struct {
        const char *reply;
        const char *trace;
    } cases[] = {
        {"", "1 lost, unknown\n2 lost, unknown\n"
             "closed: the server closed the connection\n"},
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

/* ---- What a server must not do ----------------------------------------- */

/* Each reply is what the second request gets; `fault` ends the reason. */
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
    (void)state;
    begin(&f);
    peer_says(&f, EMPTY);
    expect(&f, reason);
    peer_closes(&f);
    open_again(&f);
    assert_true(ask(&f, 1, false));
    peer_says(&f, EMPTY EMPTY);
    settle(&f);
    assert_non_null(strstr(f.trace, "1: 204  [|]\n"));
    assert_non_null(strstr(f.trace, reason));
    f.trace[f.len = 0] = '\0';
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
    pass_ms(&f, 99);
    peer_says(&f, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1");
    pass_ms(&f, 99);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_and_its_reply),
        cmocka_unit_test(replies_come_in_order),
        cmocka_unit_test(a_callback_may_ask),
        cmocka_unit_test(a_request_is_stamped_when_it_opens),
        cmocka_unit_test(a_stream_comes_in_pieces),
        cmocka_unit_test(the_end_in_the_middle),
        cmocka_unit_test(keepalive_is_refused),
        cmocka_unit_test(what_was_written_is_told),
        cmocka_unit_test(a_callback_may_close),
        cmocka_unit_test(a_connection_is_refused),
        cmocka_unit_test(limits_break_the_connection),
        cmocka_unit_test(interim_replies_are_limited),
        cmocka_unit_test(what_is_no_reply),
        cmocka_unit_test(a_reply_without_a_request),
        cmocka_unit_test(a_silent_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
