/* SPDX-License-Identifier: Apache-2.0 */
#include "guard_relay.h"

#include "clocks.h"
#include "exit_code.h"
#include "message.h"
#include "text_size.h"

#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds until a server that does not answer is given up, as with the other
 * databases (guard_target.c). */
#define PATIENCE_S 10

/* Bytes of the reason, which a line on stderr has room for. */
#define REASON_ROOM 512

/* Bytes under way in one direction; one record of TLS. */
#define FLOW_ROOM 16384

struct flow {
    char data[FLOW_ROOM];
    size_t at, len; /* what is not yet passed on */
};

struct tunnel {
    const struct hf_tls_ops *ops;
    void *tls;
    int program, server;
    struct flow up, down;
    char why[HF_TEXT_ADVICE];
};

/* ---- The server ---------------------------------------------------------- */

static void explain(const struct cli_guard_relay *relay, const char *why)
{
    (void)snprintf(relay->reason, REASON_ROOM, "%.200s:%.20s: %.280s",
                   relay->host, relay->port, why);
}

/* A server that drops packets would hold a blocking connect() for minutes: the
 * timeout for sending limits that, too. */
static int connect_to(const struct addrinfo *at)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) !=
            0 ||
        connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
        int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* @return -1 after explain(). */
static int connect_server(const struct cli_guard_relay *relay)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1;
    int error = getaddrinfo(relay->host, relay->port, &hints, &found);
    if (error != 0) {
        explain(relay, gai_strerror(error));
        return -1;
    }
    for (const struct addrinfo *at = found; fd < 0 && at != NULL;
         at = at->ai_next) {
        fd = connect_to(at);
    }
    if (fd < 0) {
        explain(relay, cli_message_of(errno));
    }
    freeaddrinfo(found);
    return fd;
}

/* A server that sends a byte now and then is given up, too. @return as
 * handshake(). */
static int finish_handshake(struct tunnel *tunnel)
{
    struct hf_instant end =
        hf_instant_add(cli_time_now(), hf_span_ms(PATIENCE_S * INT64_C(1000)));
    struct pollfd server = {.fd = tunnel->server, .events = POLLIN};
    int done = 0;
    struct hf_span left;
    while (done == 0 && (left = hf_instant_until(cli_time_now(), end)).ns > 0) {
        tunnel->ops->turn(tunnel->tls, SIZE_MAX);
        done = tunnel->ops->handshake(tunnel->tls, tunnel->why,
                                      sizeof(tunnel->why));
        if (done == 0) {
            (void)poll(&server, 1, (int)hf_span_ms_ceil(left));
        }
    }
    return done;
}

static bool open_tls(struct tunnel *tunnel, const struct cli_guard_relay *relay)
{
    tunnel->ops = hf_tls_ops(relay->tls);
    tunnel->tls = hf_tls_open(relay->tls, tunnel->server, relay->host,
                              tunnel->why, sizeof(tunnel->why));
    if (tunnel->tls == NULL) {
        return false;
    }
    (void)fcntl(tunnel->server, F_SETFL, O_NONBLOCK);
    int done = finish_handshake(tunnel);
    if (done == 0) {
        (void)snprintf(tunnel->why, sizeof(tunnel->why),
                       "TLS: the server does not answer (a plain port? use "
                       "%s://)",
                       relay->scheme);
    }
    return done > 0;
}

/* ---- Bytes --------------------------------------------------------------- */

/* Of each: -1: the tunnel is over, with `why` if that is an error; 0: nothing
 * was moved; 1: something was. */

static int take(struct flow *flow, ssize_t n)
{
    flow->at += (size_t)n;
    flow->len -= (size_t)n;
    return n > 0;
}

static int fill(struct flow *flow, ssize_t n)
{
    flow->at = 0;
    flow->len = (size_t)n;
    return n > 0;
}

static int move_up(struct tunnel *tunnel)
{
    struct flow *up = &tunnel->up;
    ssize_t n;
    if (up->len > 0) {
        n = tunnel->ops->write(tunnel->tls, up->data + up->at, up->len,
                               tunnel->why, sizeof(tunnel->why));
        return n < 0 ? -1 : take(up, n);
    }
    n = recv(tunnel->program, up->data, sizeof(up->data), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return n <= 0 ? -1 : fill(up, n);
}

static int move_down(struct tunnel *tunnel)
{
    struct flow *down = &tunnel->down;
    ssize_t n;
    if (down->len == 0) {
        tunnel->ops->turn(tunnel->tls, SIZE_MAX);
        n = tunnel->ops->read(tunnel->tls, down->data, sizeof(down->data),
                              tunnel->why, sizeof(tunnel->why));
        return n < 0 ? -1 : fill(down, n);
    }
    n = send(tunnel->program, down->data + down->at, down->len,
             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return n < 0 ? -1 : take(down, n);
}

static short wanted(bool in, bool out)
{
    return (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0));
}

/* A flow has one buffer: it reads no more until its bytes are written. @return
 * false: the parent has ended. */
static bool wait_for_bytes(const struct tunnel *tunnel, int alive)
{
    bool has_up = tunnel->up.len > 0;
    bool has_down = tunnel->down.len > 0;
    struct pollfd fds[] = {
        {.fd = alive},
        {.fd = tunnel->program, .events = wanted(!has_up, has_down)},
        {.fd = has_down && !has_up ? -1 : tunnel->server,
         .events = wanted(!has_down, has_up)}};
    (void)poll(fds, 3, -1);
    return fds[0].revents == 0;
}

/* @return false: the relay is over. */
static bool pass_bytes(struct tunnel *tunnel, int alive)
{
    for (;;) {
        int up = move_up(tunnel);
        int down = up < 0 ? 0 : move_down(tunnel);
        if (up < 0 || down < 0) {
            return tunnel->why[0] == '\0';
        }
        if (up == 0 && down == 0 && !wait_for_bytes(tunnel, alive)) {
            return false;
        }
    }
}

/* ---- The child ----------------------------------------------------------- */

static bool serve_one(const struct cli_guard_relay *relay, int program)
{
    static struct tunnel tunnel;
    tunnel =
        (struct tunnel){.program = program, .server = connect_server(relay)};
    if (tunnel.server < 0) {
        return false;
    }
    bool goes_on = open_tls(&tunnel, relay);
    if (goes_on) {
        goes_on = pass_bytes(&tunnel, relay->alive[0]);
    }
    if (tunnel.why[0] != '\0') {
        explain(relay, tunnel.why);
    }
    if (tunnel.tls != NULL) {
        tunnel.ops->close(tunnel.tls, false);
    }
    (void)close(tunnel.server);
    return goes_on;
}

/* The folder goes first: the program, which waits for the end of its
 * connection, then finds no socket to try again. */
static void remove_folder(struct cli_guard_relay *relay)
{
    (void)unlink(relay->path);
    (void)rmdir(relay->folder);
}

static void serve(struct cli_guard_relay *relay)
{
    bool goes_on = true;
    while (goes_on) {
        struct pollfd fds[] = {{.fd = relay->alive[0]},
                               {.fd = relay->listener, .events = POLLIN}};
        (void)poll(fds, 2, -1);
        int program = fds[0].revents != 0 || fds[1].revents == 0
                          ? -1
                          : accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
        goes_on = fds[0].revents == 0;
        if (program >= 0) {
            goes_on = serve_one(relay, program);
            if (!goes_on) {
                remove_folder(relay);
            }
            (void)close(program);
        }
    }
    remove_folder(relay);
}

/* It outlives signals to the group, to clean up. */
static void run_child(struct cli_guard_relay *relay)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)close(relay->alive[1]);
    serve(relay);
    _exit(0);
}

/* ---- The parent ---------------------------------------------------------- */

static int refuse_folder(const char *base, int error)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: --install: TLS needs a folder in ");
    (void)cli_out_shown(&out, base, strlen(base));
    cli_out_text(&out, " (TMPDIR, else /tmp): ");
    cli_out_text(&out, cli_message_of(error));
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

/* The path of a socket has at most 107 bytes. @return 0 or the exit code. */
static int make_folder(struct cli_guard_relay *relay)
{
    static const char name[] = "/holdfast.XXXXXX";
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] != '/' ||
        strlen(base) + sizeof(name) > sizeof(relay->folder)) {
        base = "/tmp";
    }
    (void)snprintf(relay->folder, sizeof(relay->folder), "%s%s", base, name);
    if (mkdtemp(relay->folder) == NULL) {
        relay->folder[0] = '\0';
        return refuse_folder(base, errno);
    }
    (void)snprintf(relay->path, sizeof(relay->path), "%s/socket",
                   relay->folder);
    return 0;
}

static bool listen_there(struct cli_guard_relay *relay)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", relay->path);
    relay->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return relay->listener >= 0 &&
           bind(relay->listener, (const struct sockaddr *)&at, sizeof(at)) ==
               0 &&
           listen(relay->listener, SOMAXCONN) == 0;
}

static bool share_reason(struct cli_guard_relay *relay)
{
    relay->reason = mmap(NULL, REASON_ROOM, PROT_READ | PROT_WRITE,
                         /* cppcheck-suppress invalidFunctionArg; no file */
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (relay->reason == MAP_FAILED) {
        relay->reason = NULL;
    }
    return relay->reason != NULL;
}

static bool start_child(struct cli_guard_relay *relay)
{
    if (!listen_there(relay) || !share_reason(relay) ||
        pipe2(relay->alive, O_CLOEXEC) != 0) {
        return false;
    }
    (void)signal(SIGCHLD, SIG_DFL); /* ignored: it could not be waited for */
    relay->pid = fork();
    if (relay->pid == 0) {
        run_child(relay);
    }
    return relay->pid > 0;
}

int cli_guard_relay_start(struct cli_guard_relay *relay,
                          const struct hf_tls_settings *settings,
                          const char *host, const char *port)
{
    char why[HF_TEXT_ADVICE];
    *relay = (struct cli_guard_relay){.host = host,
                                      .port = port,
                                      .scheme = settings->scheme,
                                      .listener = -1,
                                      .alive = {-1, -1}};
    relay->tls = hf_tls_new(settings, why, sizeof(why));
    if (relay->tls == NULL) {
        return cli_message(CLI_EXIT_CONFIG, "guard: --install", why);
    }
    int code = make_folder(relay);
    if (code == 0 && !start_child(relay)) {
        code = cli_message_errno(CLI_EXIT_INTERNAL, "guard: --install: TLS",
                                 errno);
    }
    if (code != 0) {
        cli_guard_relay_stop(relay);
    }
    return code;
}

const char *cli_guard_relay_reason(const struct cli_guard_relay *relay)
{
    return relay->reason == NULL ? "" : relay->reason;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void cli_guard_relay_stop(struct cli_guard_relay *relay)
{
    if (relay->tls == NULL) {
        return;
    }
    close_fd(relay->alive[1]); /* which ends the child */
    while (relay->pid > 0 && waitpid(relay->pid, NULL, 0) < 0 &&
           errno == EINTR) {
    }
    close_fd(relay->alive[0]);
    close_fd(relay->listener);
    if (relay->folder[0] != '\0' && relay->pid <= 0) {
        remove_folder(relay);
    }
    if (relay->reason != NULL) {
        (void)munmap(relay->reason, REASON_ROOM);
    }
    hf_tls_free(relay->tls);
    *relay = (struct cli_guard_relay){.tls = NULL};
}
