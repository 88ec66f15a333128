/* SPDX-License-Identifier: Apache-2.0 */
/* The least of HTTP/1.1 that a bare client of etcd or Consul needs: one
 * blocking connection, requests that may be sent before earlier ones are
 * answered, replies with a length or in chunks. Texts in replies are searched,
 * not parsed. */
#ifndef HF_BENCH_HTTP_H
#define HF_BENCH_HTTP_H

#include "measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTP_BUFFER (1U << 20)

struct http {
    int fd;
    char host[64];
    char *input;
    size_t at; /* read up to here */
    size_t len;
    char *body; /* of the last reply, NUL-terminated */
    size_t body_len;
    long index; /* X-Consul-Index of the last reply, if it had one */
};

/* `address`: IPv4:PORT. */
static inline void http_open(struct http *h, const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[sizeof(h->host)];
    int on = 1;
    memset(h, 0, sizeof(*h));
    (void)snprintf(h->host, sizeof(h->host), "%s", address);
    memcpy(host, h->host, sizeof(host));
    char *colon = strrchr(host, ':');
    if (colon == NULL) {
        die_text(address, "is no IPv4:PORT");
    }
    *colon = '\0';
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    h->input = must_alloc(HTTP_BUFFER, 1);
    h->body = must_alloc(HTTP_BUFFER, 1);
    h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || h->fd < 0 ||
        connect(h->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        die(address);
    }
    (void)setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static inline void http_close(struct http *h)
{
    (void)close(h->fd);
    free(h->input);
    free(h->body);
}

static inline void http_send(struct http *h, const char *method,
                             const char *path, const char *body)
{
    char text[4096];
    int n = snprintf(text, sizeof(text),
                     "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n"
                     "Content-Type: application/json\r\n\r\n%s",
                     method, path, h->host, strlen(body), body);
    if (n < 0 || (size_t)n >= sizeof(text) ||
        send(h->fd, text, (size_t)n, MSG_NOSIGNAL) != n) {
        die("send");
    }
}

/* ---- Replies ----------------------------------------------------------- */

static inline void http_fill(struct http *h)
{
    if (h->at == h->len) {
        h->at = 0;
        h->len = 0;
    }
    ssize_t n = recv(h->fd, h->input + h->len, HTTP_BUFFER - h->len - 1, 0);
    if (n <= 0) {
        die_text(h->host, "has closed the connection");
    }
    h->len += (size_t)n;
    h->input[h->len] = '\0';
}

/* What is there up to `end`, which is read. Valid until the next call. */
static inline char *http_until(struct http *h, const char *end)
{
    char *found;
    while ((found = strstr(h->input + h->at, end)) == NULL) {
        http_fill(h);
    }
    char *text = h->input + h->at;
    *found = '\0';
    h->at = (size_t)(found - h->input) + strlen(end);
    return text;
}

static inline void http_take(struct http *h, size_t n)
{
    if (h->body_len + n >= HTTP_BUFFER) {
        die_text(h->host, "replies with too much");
    }
    while (h->len - h->at < n) {
        http_fill(h);
    }
    memcpy(h->body + h->body_len, h->input + h->at, n);
    h->at += n;
    h->body_len += n;
    h->body[h->body_len] = '\0';
}

/* One chunk. @return false: it was the last one. */
static inline bool http_chunk(struct http *h)
{
    size_t n = strtoul(http_until(h, "\r\n"), NULL, 16);
    http_take(h, n);
    (void)http_until(h, "\r\n");
    return n > 0;
}

/* A head. @return the length of its body, or -1: chunks follow. */
static inline long http_head(struct http *h)
{
    const char *head = http_until(h, "\r\n\r\n");
    const char *length = strcasestr(head, "\r\nContent-Length: ");
    const char *index = strcasestr(head, "\r\nX-Consul-Index: ");
    h->body_len = 0;
    h->body[0] = '\0';
    if (strncmp(head, "HTTP/1.1 200", 12) != 0) {
        die_text(h->host, head);
    }
    h->index = index == NULL ? h->index : atol(index + 18);
    return length == NULL ? -1 : atol(length + 18);
}

static inline const char *http_reply(struct http *h)
{
    long n = http_head(h);
    if (n >= 0) {
        http_take(h, (size_t)n);
    } else {
        while (http_chunk(h)) {
        }
    }
    return h->body;
}

static inline const char *http_call(struct http *h, const char *method,
                                    const char *path, const char *body)
{
    http_send(h, method, path, body);
    return http_reply(h);
}

/* Of the two stores that are reached so: 0 etcd, 1 Consul. */
static inline int http_store(const char *name)
{
    if (strcmp(name, "etcd") != 0 && strcmp(name, "consul") != 0) {
        die_text("--store", "etcd or consul");
    }
    return strcmp(name, "consul") == 0;
}

/* ---- Texts ------------------------------------------------------------- */

/* What follows `before` in `text`, up to a quotation mark. */
static inline void text_after(const char *text, const char *before, char *out,
                              size_t size)
{
    const char *found = strstr(text, before);
    size_t n = found == NULL ? 0 : strcspn(found + strlen(before), "\"");
    if (n == 0 || n >= size) {
        die_text(before, text);
    }
    memcpy(out, found + strlen(before), n);
    out[n] = '\0';
}

static inline void text_base64(const char *text, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)(unsigned char)text[i] << 16;
        three |= i + 1 < n ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
        three |= i + 2 < n ? (uint32_t)(unsigned char)text[i + 2] : 0;
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = '=';
        *out++ = '=';
        out[-2] = i + 1 < n ? digits[three >> 6 & 63] : '=';
        out[-1] = i + 2 < n ? digits[three & 63] : '=';
    }
    *out = '\0';
}

#endif
