/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of HTTP: a connection, and a scripted peer over TCP in this
 * process. The report is a text, one line for each callback. The time is
 * the test's own. */
#ifndef HF_TESTS_HTTP_FIXTURE_H
#define HF_TESTS_HTTP_FIXTURE_H

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

#define HEAD_MAX 2048 /* bytes: a test exceeds them with one short string */
#define BODY_MAX 1000 /* the same */
/* Bytes: one mebibyte more than the largest request of a test. */
#define OUTPUT_MAX (8U << 20)

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
    .scheme = "mem",
};

/* ---- The report -------------------------------------------------------- */

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

static inline bool ask(struct fixture *f, uint64_t cookie, bool is_stream)
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

static inline void on_opened(struct hf_http *http, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    say(f, "opened\n");
}

static inline void
on_piece(struct hf_http *http, const struct hf_http_pending *request,
         const struct hf_http_reply *reply, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    assert_int_equal(strlen(reply->body), reply->body_len);
    say(f, "%d piece %s\n", (int)request->cookie, reply->body);
}

static inline void
on_replied(struct hf_http *http, const struct hf_http_pending *request,
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

static inline void on_lost(struct hf_http *http,
                           const struct hf_http_pending *request,
                           bool is_unsent, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    assert_int_equal(hf_http_state(http), HF_HTTP_CLOSED);
    assert_false(ask(f, 1000, false));
    say(f, "%d lost, %s\n", (int)request->cookie,
        is_unsent ? "unsent" : "unknown");
}

static inline void on_closed(struct hf_http *http, struct hf_instant now)
{
    struct fixture *f = (struct fixture *)(void *)http;
    (void)now;
    say(f, "closed: %s\n", http->reason);
}

static const struct hf_http_events events = {on_opened, on_piece, on_replied,
                                             on_lost, on_closed};

/* ---- The two ends ------------------------------------------------------ */

/* Dispatch until nothing is left to do. */
static inline void settle(struct fixture *f)
{
    for (int i = 0; i < 20; i++) {
        (void)hf_loop_wait(f->loop, HF_LONG_AGO);
        hf_loop_dispatch(f->loop, f->now);
    }
}

/* Until the text was reported: the kernel may need a moment. */
static inline void await(struct fixture *f, const char *text)
{
    for (int i = 0; i < 1000 && strstr(f->trace, text) == NULL; i++) {
        struct pollfd at = {.fd = hf_loop_fd(f->loop), .events = POLLIN};
        (void)poll(&at, 1, 10);
        settle(f);
    }
    assert_non_null(strstr(f->trace, text));
}

static inline void expect(struct fixture *f, const char *trace)
{
    settle(f);
    assert_string_equal(f->trace, trace);
    f->len = 0;
    f->trace[0] = '\0';
}

static inline void peer_says(struct fixture *f, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(write(f->peer, text, len), (ssize_t)len);
    settle(f);
}

static inline void peer_closes(struct fixture *f)
{
    close(f->peer);
    f->peer = -1;
}

static inline void listen_on(struct fixture *f)
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
static inline void accept_peer(struct fixture *f)
{
    int on = 1;
    f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(f->peer >= 0);
    setsockopt(f->peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static inline void open_again(struct fixture *f)
{
    hf_http_start(&f->http, &f->target, hf_span_ms(1000), f->now);
    await(f, "opened\n");
    accept_peer(f);
    expect(f, "opened\n");
}

static inline void begin(struct fixture *f)
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

static inline void end(struct fixture *f)
{
    hf_http_fini(&f->http, false);
    hf_loop_free(f->loop);
    if (f->peer >= 0) {
        close(f->peer);
    }
    close(f->listener);
    assert_string_equal(f->trace, "");
}

/* ---- Replies ----------------------------------------------------------- */

#define INTERIM "HTTP/1.1 100 Continue\r\nX-Consul-Index: 8\r\n\r\n"
#define EMPTY "HTTP/1.1 204 No Content\r\n\r\n"
#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

#endif
