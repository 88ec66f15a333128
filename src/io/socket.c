/* SPDX-License-Identifier: Apache-2.0 */
/* CONNECTING, AND READING IN TURNS
 *
 *   CLOSED ──name──▶ RESOLVING ──▶ CONNECTING ──TLS──▶ SECURING ──▶ OPEN
 *      └──address, path──────────────▲ │  └─────────────────────────▲
 *                     the next address └─┘            any of them ──▶ FAILED
 *
 * Addresses of a name are tried one after the other. Each gets an equal part of
 * the timeout, but PER_ADDRESS_MS_MIN at least: the first may be IPv6 where no
 * route is. One that connects may still not serve, which only the owner sees:
 * it gives the next attempt another `turn`, else the others were never tried.
 *
 * epoll is edge-triggered: it reports bytes once, so the owner must read them
 * all. A peer that sends without end would keep it there. So an event reads at
 * most one turn (HF_SOCKET_TURN_BYTES), then 0 is returned and the descriptor
 * is armed again: the rest is another event, after timers and other
 * connections. EPOLLOUT is asked for only after a write that was short.
 *
 * Why it is safe: the callback comes from hf_loop_dispatch() only, never from
 * inside a call, so the owner is never entered twice. FAILED closes nothing:
 * the owner reads `reason` and closes. The end of the stream never drops bytes
 * before it, since recv() returns those first.
 *
 * Cost: TCP one round trip, TLS one (1.3) or two (1.2) more; a unix socket
 * none. No function blocks; a look-up of a name takes a thread (resolve.c). */
#include "io/socket.h"
#include "io/standard_fds.h"

#include "base/assert.h"
#include "base/fail.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The least timeout of an address, also if there are many: longer than the
 * round trip to a distant server. */
#define PER_ADDRESS_MS_MIN 250

/* Keepalive detects a dead peer while no request is sent: the first probe after
 * 30 s, dead after four probes without an answer. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_EACH_S 10
#define KEEPALIVE_COUNT 4

static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now);

void hf_socket_init(struct hf_socket *socket, struct hf_loop *loop,
                    hf_socket_fn *event)
{
    memset(socket, 0, sizeof(*socket));
    socket->watch.fd = -1;
    socket->watch.ready = on_ready;
    socket->loop = loop;
    socket->event = event;
    socket->give_up = HF_NEVER;
}

static void fail(struct hf_socket *socket, const char *text, int error)
{
    socket->state = HF_SOCKET_FAILED;
    socket->give_up = HF_NEVER;
    if (text != NULL) {
        snprintf(socket->reason, sizeof(socket->reason), "%s%s%s", text,
                 error != 0 ? ": " : "",
                 error != 0 ? hf_errno_text(error) : "");
    }
}

static void want_output(struct hf_socket *socket, bool on)
{
    HF_ASSERT(socket->watch.fd >= 0);
    if (socket->wants_output != on) {
        socket->wants_output = on;
        hf_loop_watch_output(socket->loop, &socket->watch, on);
    }
}

/* ---- Connecting -------------------------------------------------------- */

static void drop_descriptor(struct hf_socket *socket)
{
    if (socket->watch.fd >= 0) {
        hf_loop_unwatch(socket->loop, &socket->watch);
        close(socket->watch.fd);
        socket->watch.fd = -1;
    }
    socket->is_ended = false;
    socket->wants_output = false;
}

static void set_options(int fd)
{
    int on = 1;
    int idle = KEEPALIVE_IDLE_S;
    int each = KEEPALIVE_EACH_S;
    int count = KEEPALIVE_COUNT;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static void become_open(struct hf_socket *socket)
{
    HF_ASSERT(socket->state == HF_SOCKET_CONNECTING ||
              socket->state == HF_SOCKET_SECURING);
    socket->state = HF_SOCKET_OPEN;
    socket->give_up = HF_NEVER;
    want_output(socket, false);
}

/* Called for each event until the handshake is done. */
static void secure(struct hf_socket *socket)
{
    struct hf_tls *tls = socket->target.tls;
    if (tls == NULL) {
        become_open(socket);
        return;
    }
    const struct hf_tls_ops *ops = hf_tls_ops(tls);
    if (socket->tls == NULL) {
        socket->tls = hf_tls_open(tls, socket->watch.fd, socket->target.host,
                                  socket->reason, sizeof(socket->reason));
        if (socket->tls == NULL) {
            fail(socket, NULL, 0);
            return;
        }
        socket->state = HF_SOCKET_SECURING;
        ops->turn(socket->tls, HF_SOCKET_TURN_BYTES);
    }
    int done =
        ops->handshake(socket->tls, socket->reason, sizeof(socket->reason));
    if (done < 0) {
        fail(socket, NULL, 0);
    } else if (done > 0) {
        become_open(socket);
    } else if (ops->is_cut(socket->tls)) {
        hf_loop_rearm(socket->loop, &socket->watch);
    }
}

static int open_stream(sa_family_t family)
{
    int fd = hf_standard_fds_avoid(
        socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd >= 0 && family != AF_UNIX) {
        set_options(fd);
    }
    return fd;
}

/** @return false: this address failed; errno is set. */
static bool try_connect(struct hf_socket *socket, const struct sockaddr *to,
                        socklen_t len, struct hf_instant now)
{
    HF_ASSERT(socket->watch.fd < 0); /* one address at a time */
    int fd = open_stream(to->sa_family);
    if (fd < 0) {
        return false;
    }
    /* A unix socket with a full queue fails with EAGAIN, and epoll does not
     * report when it has room: the address fails until the next attempt. */
    bool is_connected = connect(fd, to, len) == 0;
    if (!is_connected && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        errno = error;
        return false;
    }
    socket->watch.fd = fd;
    if (!hf_loop_watch(socket->loop, &socket->watch)) {
        int error = errno;
        close(fd);
        socket->watch.fd = -1;
        errno = error;
        return false;
    }
    socket->state = HF_SOCKET_CONNECTING;
    socket->give_up = hf_instant_add(now, socket->per_address);
    if (is_connected) {
        secure(socket);
    } else {
        want_output(socket, true);
    }
    return true;
}

/* An address that fails at once (no route) causes no event to go on with. */
static void try_addresses(struct hf_socket *socket, int error,
                          struct hf_instant now)
{
    unsigned n = socket->addresses.n;
    for (; socket->tried < n; socket->tried++) {
        unsigned at = (socket->target.turn % n + socket->tried) % n;
        const struct hf_address *to = &socket->addresses.list[at];
        if (try_connect(socket, (const struct sockaddr *)&to->sockaddr, to->len,
                        now)) {
            return;
        }
        error = errno;
    }
    fail(socket, error == ETIMEDOUT ? "no answer" : "cannot connect",
         error == ETIMEDOUT ? 0 : error);
}

/* The server runs, but this user may not open its socket: no outage. */
static void fail_unix(struct hf_socket *socket, int error)
{
    socket->is_denied = error == EACCES || error == EPERM;
    if (socket->is_denied) {
        fail(socket, HF_SOCKET_NO_PERMISSION, 0);
    } else {
        fail(socket, "cannot connect", error);
    }
}

static void start_unix(struct hf_socket *socket, struct hf_instant now)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(socket->target.host);
    if (len >= sizeof(to.sun_path)) {
        fail(socket, "the path of a unix socket has at most 107 bytes", 0);
        return;
    }
    memcpy(to.sun_path, socket->target.host, len + 1);
    if (!try_connect(socket, (const struct sockaddr *)&to, sizeof(to), now)) {
        fail_unix(socket, errno);
    }
}

static void begin_addresses(struct hf_socket *socket, struct hf_instant now)
{
    HF_ASSERT(socket->addresses.n > 0);
    struct hf_span each = hf_span_div(socket->per_address, socket->addresses.n);
    socket->per_address = hf_span_min(
        socket->per_address, hf_span_max(each, hf_span_ms(PER_ADDRESS_MS_MIN)));
    socket->tried = 0;
    try_addresses(socket, 0, now);
}

void hf_socket_start(struct hf_socket *socket,
                     const struct hf_socket_target *target,
                     struct hf_span timeout, struct hf_instant now)
{
    HF_ASSERT(socket->state == HF_SOCKET_CLOSED);
    HF_ASSERT(socket->watch.fd < 0 && socket->tls == NULL);
    socket->target = *target;
    socket->per_address = timeout;
    socket->is_denied = false;
    socket->reason[0] = '\0';
    if (target->is_unix) {
        start_unix(socket, now);
        return;
    }
    if (hf_resolve_numeric(target->host, target->port, &socket->addresses)) {
        begin_addresses(socket, now);
        return;
    }
    socket->resolve = hf_resolve_start(target->host, target->port);
    if (socket->resolve == NULL) {
        fail(socket, "cannot look up the host", errno);
        return;
    }
    socket->watch.fd = hf_resolve_fd(socket->resolve);
    if (!hf_loop_watch(socket->loop, &socket->watch)) {
        socket->watch.fd = -1;
        fail(socket, "cannot look up the host", errno);
        return;
    }
    socket->state = HF_SOCKET_RESOLVING;
    socket->give_up = hf_instant_add(now, timeout);
}

static void drop_resolve(struct hf_socket *socket)
{
    if (socket->resolve != NULL) {
        if (socket->watch.fd >= 0) {
            hf_loop_unwatch(socket->loop, &socket->watch);
            socket->watch.fd = -1; /* the look-up closes it */
        }
        hf_resolve_drop(socket->resolve);
        socket->resolve = NULL;
    }
}

static void on_resolved(struct hf_socket *socket, struct hf_instant now)
{
    HF_ASSERT(socket->resolve != NULL && socket->tls == NULL);
    bool found = hf_resolve_take(socket->resolve, &socket->addresses,
                                 socket->reason, sizeof(socket->reason));
    if (!found && socket->reason[0] == '\0') {
        return;
    }
    drop_resolve(socket);
    if (found) {
        begin_addresses(socket, now);
    } else {
        fail(socket, NULL, 0);
    }
}

static void try_next(struct hf_socket *socket, int error, struct hf_instant now)
{
    HF_ASSERT(socket->tls == NULL); /* it belongs to the descriptor */
    drop_descriptor(socket);
    if (socket->target.is_unix) {
        fail_unix(socket, error);
        return;
    }
    socket->tried++;
    try_addresses(socket, error, now);
}

static void on_connected(struct hf_socket *socket, uint32_t events,
                         struct hf_instant now)
{
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) {
        return;
    }
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(socket->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error != 0) {
        try_next(socket, error, now);
    } else if ((events & EPOLLOUT) != 0 && (events & EPOLLHUP) == 0) {
        secure(socket);
    }
}

void hf_socket_expire(struct hf_socket *socket, struct hf_instant now)
{
    socket->give_up = HF_NEVER;
    switch (socket->state) {
    case HF_SOCKET_RESOLVING:
        fail(socket, "the host's address is not found in time", 0);
        break;
    case HF_SOCKET_CONNECTING:
        try_next(socket, ETIMEDOUT, now);
        break;
    case HF_SOCKET_SECURING:
        fail(socket, "no answer to the TLS handshake", 0);
        break;
    case HF_SOCKET_CLOSED:
    case HF_SOCKET_OPEN:
    case HF_SOCKET_FAILED:
        break;
    }
}

/* The watch is the socket's first member. */
static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now)
{
    struct hf_socket *socket = (struct hf_socket *)(void *)watch;
    socket->turn = HF_SOCKET_TURN_BYTES;
    if (socket->tls != NULL) {
        hf_tls_ops(socket->target.tls)->turn(socket->tls, HF_SOCKET_TURN_BYTES);
    }
    switch (socket->state) {
    case HF_SOCKET_RESOLVING:
        on_resolved(socket, now);
        break;
    case HF_SOCKET_CONNECTING:
        on_connected(socket, events, now);
        break;
    case HF_SOCKET_SECURING:
        secure(socket);
        break;
    case HF_SOCKET_OPEN:
        if ((events & EPOLLOUT) != 0) {
            want_output(socket, false); /* until the next short write */
        }
        socket->is_ended |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        break;
    case HF_SOCKET_CLOSED:
    case HF_SOCKET_FAILED:
        return;
    }
    socket->event(socket, now);
}

/* ---- Bytes ------------------------------------------------------------- */

static bool is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* With TLS the module counts the turn, in bytes from the kernel, not in bytes
 * returned. So no decrypted bytes are left, and records without data (tickets,
 * alerts) count too. */
static ssize_t read_tls(struct hf_socket *socket, void *data, size_t len)
{
    const struct hf_tls_ops *ops = hf_tls_ops(socket->target.tls);
    ssize_t n = ops->read(socket->tls, data, len, socket->reason,
                          sizeof(socket->reason));
    if (n < 0) {
        fail(socket, NULL, 0);
    } else if (n == 0 && ops->is_cut(socket->tls)) {
        hf_loop_rearm(socket->loop, &socket->watch);
    }
    return n;
}

ssize_t hf_socket_read(struct hf_socket *socket, void *data, size_t len)
{
    HF_ASSERT(socket->state == HF_SOCKET_OPEN && len > 0);
    ssize_t n;
    if (socket->tls != NULL) {
        return read_tls(socket, data, len);
    }
    if (socket->turn == 0) {
        hf_loop_rearm(socket->loop, &socket->watch);
        return 0;
    }
    do {
        n = recv(socket->watch.fd, data, len, 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        socket->turn -= (size_t)n < socket->turn ? (size_t)n : socket->turn;
        return n;
    }
    if (n < 0 && is_later(errno)) {
        return 0;
    }
    fail(socket, n == 0 ? "the server closed the connection" : "broken",
         n == 0 ? 0 : errno);
    return -1;
}

static ssize_t write_some(struct hf_socket *socket, const void *data,
                          size_t len)
{
    ssize_t n;
    if (socket->tls != NULL) {
        n = hf_tls_ops(socket->target.tls)
                ->write(socket->tls, data, len, socket->reason,
                        sizeof(socket->reason));
        if (n < 0) {
            fail(socket, NULL, 0);
        }
        return n;
    }
    do {
        n = send(socket->watch.fd, data, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return n;
    }
    if (is_later(errno)) {
        return 0;
    }
    fail(socket, "broken", errno);
    return -1;
}

ssize_t hf_socket_write(struct hf_socket *socket, const void *data, size_t len)
{
    HF_ASSERT(socket->state == HF_SOCKET_OPEN && len > 0);
    ssize_t n = write_some(socket, data, len);
    if (n == 0) {
        want_output(socket, true);
    }
    return n;
}

size_t hf_socket_read_last(struct hf_socket *socket, void *data, size_t len)
{
    HF_ASSERT(socket->state == HF_SOCKET_FAILED && len > 0);
    if (socket->tls != NULL || socket->watch.fd < 0) {
        return 0;
    }
    ssize_t n = recv(socket->watch.fd, data, len, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

/* With TLS, unread bytes do not count as the end: they may be close_notify, but
 * also a session ticket. */
bool hf_socket_is_dead(const struct hf_socket *socket)
{
    char byte;
    HF_ASSERT(socket->state == HF_SOCKET_OPEN);
    ssize_t n = recv(socket->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && !is_later(errno));
}

/* A forked child shares the epoll instance with its parent: if it unwatched the
 * descriptor, the parent would get no events. */
void hf_socket_close(struct hf_socket *socket, bool quiet)
{
    if (quiet && socket->resolve != NULL) {
        socket->resolve = NULL; /* only the parent has its thread */
        socket->watch.fd = -1;
    }
    drop_resolve(socket);
    if (socket->tls != NULL) {
        hf_tls_ops(socket->target.tls)->close(socket->tls, quiet);
        socket->tls = NULL;
    }
    if (quiet && socket->watch.fd >= 0) {
        close(socket->watch.fd);
        socket->watch.fd = -1;
    }
    drop_descriptor(socket);
    HF_ASSERT(socket->watch.fd < 0 && socket->resolve == NULL);
    socket->state = HF_SOCKET_CLOSED;
    socket->give_up = HF_NEVER;
}
