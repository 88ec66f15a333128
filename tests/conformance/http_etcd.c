/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests to a server by HTTP, all at once on one connection, and prints
 * what becomes of each: http_etcd.t.sh drives it.
 *
 *     http_etcd PORT CA TIMEOUT_MS PATH BODY [PATH BODY]...
 *
 * CA: a file; then by TLS. PATH@ is a stream, and must be the last. Ends when
 * all are answered, or when the connection does. */
/* library: hf_http */
#include "io/clock.h"
#include "io/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct client {
    struct hf_http http; /* first: the callbacks cast it to this */
    int n_pending;
    bool is_closed;
};

static const char *const kept[] = {"Content-Type", NULL};
static const struct hf_http_limits limits = {kept,  65536,  65536,
                                             65536, "etcd", NULL};

static void on_opened(struct hf_http *http, struct hf_instant now)
{
    (void)http, (void)now;
    puts("opened");
}

static void on_piece(struct hf_http *http,
                     const struct hf_http_pending *request,
                     const struct hf_http_reply *reply, struct hf_instant now)
{
    (void)http, (void)request, (void)now;
    printf("piece %s", reply->body);
    fflush(stdout);
}

static void on_replied(struct hf_http *http,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    struct client *client = (struct client *)(void *)http;
    long long off = (long long)(time(NULL) - reply->date_s);
    (void)now;
    printf("%d: %u [%s]%s %s\n", (int)request->cookie, reply->status,
           reply->kept[0], off >= -1 && off <= 60 ? "" : " at another time",
           reply->body);
    client->n_pending--;
}

static void on_lost(struct hf_http *http, const struct hf_http_pending *request,
                    bool is_unsent, struct hf_instant now)
{
    (void)http, (void)now;
    printf("%d lost, %s\n", (int)request->cookie,
           is_unsent ? "unsent" : "unknown");
}

static void on_closed(struct hf_http *http, struct hf_instant now)
{
    (void)now;
    printf("closed: %s\n", http->reason);
    ((struct client *)(void *)http)->is_closed = true;
}

static const struct hf_http_events events = {on_opened, on_piece, on_replied,
                                             on_lost, on_closed};

static bool ask(struct client *client, char *path, const char *body,
                struct hf_span timeout, uint64_t cookie)
{
    size_t len = strlen(path);
    struct hf_http_request request = {
        .method = "POST",
        .path = path,
        .headers = "Grpc-Metadata-hasleader: true\r\n",
        .body = body,
        .body_len = strlen(body),
        .timeout = timeout,
        .is_stream = path[len - 1] == '@',
        .cookie = cookie,
    };
    if (request.is_stream) {
        path[len - 1] = '\0';
    }
    client->n_pending++;
    return hf_http_ask(&client->http, &request, hf_clock_now());
}

int main(int argc, char **argv)
{
    struct client client = {.n_pending = 0};
    struct hf_loop *loop = hf_loop_new();
    struct hf_socket_target target = {.host = "127.0.0.1"};
    char reason[200] = "";
    if (argc < 6 || loop == NULL) {
        return 64;
    }
    target.port = (uint16_t)strtoul(argv[1], NULL, 10);
    if (argv[2][0] != '\0') {
        struct hf_tls_settings settings = {.ca = argv[2]};
        target.tls = hf_tls_new(&settings, reason, sizeof(reason));
        if (target.tls == NULL) {
            fprintf(stderr, "%s\n", reason);
            return 1;
        }
    }
    struct hf_span timeout = hf_span_ms(strtol(argv[3], NULL, 10));
    hf_http_init(&client.http, loop, &events, &limits);
    hf_http_start(&client.http, &target, timeout, hf_clock_now());
    for (int i = 4; i + 1 < argc; i += 2) {
        if (!ask(&client, argv[i], argv[i + 1], timeout, (uint64_t)i / 2 - 1)) {
            return 1;
        }
    }
    while (client.n_pending > 0 && !client.is_closed) {
        (void)hf_loop_wait(loop, hf_loop_next_timer(loop));
        hf_loop_dispatch(loop, hf_clock_now());
    }
    hf_http_fini(&client.http, false);
    hf_tls_free(target.tls);
    hf_loop_free(loop);
    return 0;
}
