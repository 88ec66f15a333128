/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal Redis client: a non-blocking socket with two buffers, and a parser
 * of replies. Holdfast is compared with it, so it does nothing that the
 * protocol does not require. */
#ifndef HF_BENCH_WIRE_H
#define HF_BENCH_WIRE_H

#include "measure.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* 256 KiB hold the requests of 64 lockers and all replies of a slow node. */
#define WIRE_BUFFER (256U << 10)

struct wire {
    int fd;
    size_t out_len;
    size_t in_len;
    char *out;
    char *in;
};

/* One reply; of an array only the first numbers and the first string. */
#define REPLY_NUMBERS_MAX 8
struct reply {
    char type; /* '+' '-' ':' '$' '*'; '_' for nil */
    int n_numbers;
    int64_t numbers[REPLY_NUMBERS_MAX]; /* also numbers sent as strings */
    const char *text;
    size_t text_len;
};

static inline int wire_connect_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(to.sun_path)) {
        die_text("socket path too long", path);
    }
    memcpy(to.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        die(path);
    }
    return fd;
}

static inline int wire_connect_tcp(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    const char *colon = strrchr(address, ':');
    if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
        die_text("not HOST:PORT", address);
    }
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1) {
        die_text("not a numeric address", address);
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
        die(address);
    }
    return fd;
}

/* `address`: HOST:PORT with a numeric host, or the path of a socket. */
static inline void wire_open(struct wire *w, const char *address)
{
    w->fd = address[0] == '/' ? wire_connect_unix(address)
                              : wire_connect_tcp(address);
    if (fcntl(w->fd, F_SETFL, O_NONBLOCK) != 0) {
        die("fcntl");
    }
    w->out_len = 0;
    w->in_len = 0;
    w->out = must_alloc(WIRE_BUFFER, 1);
    w->in = must_alloc(WIRE_BUFFER, 1);
}

static inline void wire_close(struct wire *w)
{
    (void)close(w->fd);
    free(w->out);
    free(w->in);
}

static inline void wire_put(struct wire *w, const void *data, size_t len)
{
    if (w->out_len + len > WIRE_BUFFER) {
        die_text("wire", "output buffer full");
    }
    memcpy(w->out + w->out_len, data, len);
    w->out_len += len;
}

static inline void wire_flush(struct wire *w)
{
    ssize_t n = send(w->fd, w->out, w->out_len, MSG_NOSIGNAL);
    if (n < 0) {
        if (errno == EAGAIN) {
            return;
        }
        die("send");
    }
    w->out_len -= (size_t)n;
    if (w->out_len > 0) {
        memmove(w->out, w->out + n, w->out_len);
    }
}

static inline void wire_fill(struct wire *w)
{
    ssize_t n = recv(w->fd, w->in + w->in_len, WIRE_BUFFER - w->in_len, 0);
    if (n == 0) {
        die_text("wire", "server closed the connection");
    }
    if (n < 0 && errno != EAGAIN) {
        die("recv");
    }
    w->in_len += n > 0 ? (size_t)n : 0;
}

/* Discard the bytes before `at`, which were read. */
static inline void wire_consume(struct wire *w, size_t at)
{
    w->in_len -= at;
    if (w->in_len > 0 && at > 0) {
        memmove(w->in, w->in + at, w->in_len);
    }
}

static inline void reply_number(struct reply *r, int64_t number)
{
    if (r->n_numbers < REPLY_NUMBERS_MAX) {
        r->numbers[r->n_numbers++] = number;
    }
}

static inline int64_t reply_integer(const char *p)
{
    bool negative = *p == '-';
    int64_t n = 0;
    for (p += negative; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (*p - '0');
    }
    return negative ? -n : n;
}

/* Read one reply at `p`. @return its length, 0 if it is not complete yet. */
static inline size_t reply_read(struct reply *r, const char *p, size_t len)
{
    const char *eol = memchr(p, '\n', len);
    if (eol == NULL) {
        return 0;
    }
    size_t used = (size_t)(eol - p) + 1;
    int64_t n = reply_integer(p + 1);
    switch (*p) {
    case ':':
        reply_number(r, n);
        break;
    case '$':
        if (n >= 0) {
            if (len < used + (size_t)n + 2) {
                return 0;
            }
            r->text = p + used;
            r->text_len = (size_t)n;
            reply_number(r, reply_integer(p + used));
            used += (size_t)n + 2;
        }
        break;
    case '*':
        for (int64_t i = 0; i < n; i++) {
            size_t part = reply_read(r, p + used, len - used);
            if (part == 0) {
                return 0;
            }
            used += part;
        }
        break;
    default:
        r->text = p + 1;
        r->text_len = used - 3;
        break;
    }
    r->type = n < 0 && (*p == '$' || *p == '*') ? '_' : *p;
    return used;
}

/* Send the queued requests and wait for one reply, for set-up. The strings of
 * the reply stay valid until the next call on the wire. */
static inline void wire_call(struct wire *w, struct reply *r)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    for (;;) {
        if (w->out_len > 0) {
            wire_flush(w);
        }
        memset(r, 0, sizeof(*r));
        size_t used = w->in_len > 0 ? reply_read(r, w->in, w->in_len) : 0;
        if (used > 0) {
            w->in_len = 0; /* no further reply: one call at a time */
            return;
        }
        if (poll(&p, 1, 5000) <= 0) {
            die_text("wire", "no reply in 5 s");
        }
        wire_fill(w);
    }
}

/* Append a command to `out`; NULL ends the list. @return its length. */
static inline size_t wire_command(char *out, size_t cap,
                                  const char *const *argv)
{
    int n = 0;
    while (argv[n] != NULL) {
        n++;
    }
    size_t len = (size_t)snprintf(out, cap, "*%d\r\n", n);
    for (int i = 0; i < n; i++) {
        len += (size_t)snprintf(out + len, cap - len, "$%zu\r\n%s\r\n",
                                strlen(argv[i]), argv[i]);
        if (len >= cap) {
            die_text("command too long", argv[0]);
        }
    }
    return len;
}

#endif
