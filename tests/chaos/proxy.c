/* SPDX-License-Identifier: Apache-2.0 */
/* A bad network in front of one server.
 *
 *     proxy LISTEN-HOST LISTEN-PORT SERVER-HOST SERVER-PORT CONTROL-FIFO
 *
 * Each line that is written to CONTROL-FIFO changes what happens from then on,
 * to open connections as well:
 *
 *     delay MS JITTER   each way, later by MS and up to JITTER more, in order
 *     bytes on|off      delivered in pieces of 1 to 4 bytes
 *     swallow on|off    requests arrive, replies never: off resets the
 *                       connections that missed one
 *     cut up|down|both|none     nothing passes, and comes later, as when TCP
 *                       repeats itself: up is towards the server
 *     reset             every connection ends with a RST
 *     target PORT       another server from now on, and a reset */
#include "journal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections at a time. Six clients have two each to a server; those that a
 * fault has left behind come on top. Further ones are reset. */
#define LINKS_MAX 64
/* Bytes under way in one direction. No more are read, as with a full window of
 * TCP. */
#define QUEUE_BYTES_MAX (1 << 20)
/* Bytes of one read: more than most requests and replies. */
#define READ_BYTES 16384
/* Between two pieces: 20 us, so that each is a write of its own. */
#define PIECE_GAP_NS 20000

enum way { UP, DOWN };

struct piece {
    struct piece *next;
    int64_t due;
    size_t len;
    size_t sent;
    char data[];
};

/* One direction of a connection. */
struct way_state {
    struct piece *head;
    struct piece *tail;
    size_t n_queued;
    bool has_ended; /* the sender's end was read */
};

struct link {
    int fd[2]; /* [UP] the server's end, [DOWN] the client's: where it goes */
    bool is_spoiled;
    struct way_state ways[2];
};

static struct {
    int64_t delay_ns, jitter_ns;
    bool bytes, swallow;
    bool cut[2];
    struct sockaddr_in target;
} weather;

static struct link links[LINKS_MAX];
static int listener;

static bool is_open(const struct link *link)
{
    return link->fd[UP] >= 0;
}

static void link_close(struct link *link)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    for (int way = UP; way <= DOWN; way++) {
        setsockopt(link->fd[way], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(link->fd[way]);
        struct piece *piece = link->ways[way].head;
        while (piece != NULL) {
            struct piece *next = piece->next;
            free(piece);
            piece = next;
        }
    }
    memset(link, 0, sizeof(*link));
    link->fd[UP] = link->fd[DOWN] = -1;
}

static void reset_all(bool spoiled_only)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        if (is_open(&links[i]) && (links[i].is_spoiled || !spoiled_only)) {
            link_close(&links[i]);
        }
    }
}

/* ---- Control ------------------------------------------------------------ */

static void obey_delay(const char *line)
{
    long delay;
    long jitter;
    if (sscanf(line, "delay %ld %ld", &delay, &jitter) == 2) {
        weather.delay_ns = delay * 1000000;
        weather.jitter_ns = jitter * 1000000;
    }
}

static void obey(const char *line)
{
    unsigned port;
    char arg[16] = "";
    obey_delay(line);
    if (sscanf(line, "bytes %15s", arg) == 1) {
        weather.bytes = strcmp(arg, "on") == 0;
    } else if (sscanf(line, "swallow %15s", arg) == 1) {
        weather.swallow = strcmp(arg, "on") == 0;
        if (!weather.swallow) {
            reset_all(true);
        }
    } else if (sscanf(line, "cut %15s", arg) == 1) {
        bool both = strcmp(arg, "both") == 0;
        weather.cut[UP] = both || strcmp(arg, "up") == 0;
        weather.cut[DOWN] = both || strcmp(arg, "down") == 0;
    } else if (sscanf(line, "target %u", &port) == 1) {
        weather.target.sin_port = htons((uint16_t)port);
        reset_all(false);
    } else if (strncmp(line, "reset", 5) == 0) {
        reset_all(false);
    }
}

static void hear(int control)
{
    static char lines[4096];
    static size_t n_lines;
    ssize_t n = read(control, lines + n_lines, sizeof(lines) - 1 - n_lines);
    if (n <= 0) {
        return;
    }
    n_lines += (size_t)n;
    lines[n_lines] = '\0';
    char *end;
    while ((end = strchr(lines, '\n')) != NULL) {
        *end = '\0';
        obey(lines);
        n_lines -= (size_t)(end + 1 - lines);
        memmove(lines, end + 1, n_lines + 1);
    }
}

/* ---- Carrying ----------------------------------------------------------- */

static void queue_piece(struct way_state *way, const char *data, size_t len,
                        int64_t due)
{
    struct piece *piece = malloc(sizeof(*piece) + len);
    if (piece == NULL) {
        perror("proxy");
        exit(1);
    }
    *piece = (struct piece){.due = due, .len = len};
    memcpy(piece->data, data, len);
    if (way->tail != NULL) {
        piece->due = due > way->tail->due ? due : way->tail->due;
        way->tail->next = piece;
    } else {
        way->head = piece;
    }
    way->tail = piece;
    way->n_queued += len;
}

/* Read data for this direction. @return false: the connection is broken. */
static bool take(struct link *link, enum way way)
{
    char data[READ_BYTES];
    struct way_state *state = &link->ways[way];
    ssize_t n = recv(link->fd[!way], data, sizeof(data), 0);
    if (n <= 0) {
        state->has_ended = true;
        return n == 0 && state->head != NULL;
    }
    if (way == DOWN && weather.swallow) {
        link->is_spoiled = true;
        return true;
    }
    int64_t due = journal_now() + weather.delay_ns;
    due += weather.jitter_ns > 0 ? random() % weather.jitter_ns : 0;
    size_t at = 0;
    while (weather.bytes && at < (size_t)n) {
        size_t len = 1 + (size_t)random() % 4;
        len = len < (size_t)n - at ? len : (size_t)n - at;
        queue_piece(state, data + at, len, due);
        at += len;
        due += PIECE_GAP_NS;
    }
    if (!weather.bytes) {
        queue_piece(state, data, (size_t)n, due);
    }
    return true;
}

/* Send what is due. @return false: the connection is broken, or has ended. */
static bool pass(struct link *link, enum way way, int64_t now)
{
    struct way_state *state = &link->ways[way];
    while (state->head != NULL && state->head->due <= now &&
           !weather.cut[way]) {
        struct piece *piece = state->head;
        ssize_t n = send(link->fd[way], piece->data + piece->sent,
                         piece->len - piece->sent, MSG_NOSIGNAL);
        if (n < 0) {
            return errno == EAGAIN;
        }
        piece->sent += (size_t)n;
        if (piece->sent < piece->len) {
            return true;
        }
        state->n_queued -= piece->len;
        state->head = piece->next;
        state->tail = state->head == NULL ? NULL : state->tail;
        free(piece);
    }
    return state->head != NULL || !state->has_ended;
}

static int connect_server(void)
{
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&weather.target,
                sizeof(weather.target)) < 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void greet(void)
{
    int one = 1;
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct link *link = links;
    while (link < links + LINKS_MAX && is_open(link)) {
        link++;
    }
    int server = link < links + LINKS_MAX ? connect_server() : -1;
    if (server < 0) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(client);
        return;
    }
    link->fd[UP] = server;
    link->fd[DOWN] = client;
}

/* The events to poll for on a descriptor: data read there go to the other
 * one. */
static short interest(const struct link *link, enum way way, int64_t now)
{
    const struct way_state *in = &link->ways[!way];
    const struct way_state *out = &link->ways[way];
    bool reads =
        !in->has_ended && in->n_queued < QUEUE_BYTES_MAX && !weather.cut[!way];
    bool writes =
        out->head != NULL && out->head->due <= now && !weather.cut[way];
    return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static void earliest(const struct link *link, int64_t *next)
{
    for (int way = UP; way <= DOWN; way++) {
        const struct piece *head = link->ways[way].head;
        if (head != NULL && !weather.cut[way] && head->due < *next) {
            *next = head->due;
        }
    }
}

static void carry(struct link *link, const struct pollfd *fds)
{
    bool is_fine = true;
    for (int way = UP; way <= DOWN && is_fine; way++) {
        bool reads = (fds[!way].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        if (reads && !link->ways[way].has_ended && !weather.cut[way]) {
            is_fine = take(link, (enum way)way);
        }
        is_fine = is_fine && pass(link, (enum way)way, journal_now());
    }
    if (!is_fine) {
        link_close(link);
    }
}

static void turn(int control)
{
    struct pollfd fds[2 + 2 * LINKS_MAX];
    int64_t now = journal_now();
    int64_t next = now + 100000000;
    for (int i = 0; i < LINKS_MAX; i++) {
        for (int way = UP; way <= DOWN; way++) {
            short events = is_open(&links[i])
                               ? interest(&links[i], (enum way)way, now)
                               : 0;
            fds[2 + 2 * i + way] = (struct pollfd){
                .fd = events != 0 ? links[i].fd[way] : -1, .events = events};
        }
        earliest(&links[i], &next);
    }
    fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = control, .events = POLLIN};
    int64_t wait = next > now ? next - now : 0;
    struct timespec timeout = {.tv_sec = wait / 1000000000,
                               .tv_nsec = wait % 1000000000};
    ppoll(fds, 2 + 2 * LINKS_MAX, &timeout, NULL);
    for (int i = 0; i < LINKS_MAX; i++) {
        if (is_open(&links[i])) {
            carry(&links[i], &fds[2 + 2 * i]);
        }
    }
    if (fds[0].revents != 0) {
        greet();
    }
    if (fds[1].revents != 0) {
        hear(control);
    }
}

static struct sockaddr_in address_of(const char *host, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fprintf(stderr, "proxy: %s is no IPv4 address\n", host);
        exit(64);
    }
    return address;
}

static void listen_at(const struct sockaddr_in *address)
{
    int one = 1;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) <
            0 ||
        listen(listener, 64) < 0) {
        perror("proxy: listen");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: proxy HOST PORT SERVER-HOST SERVER-PORT "
                        "CONTROL-FIFO\n");
        return 64;
    }
    struct sockaddr_in here = address_of(argv[1], argv[2]);
    weather.target = address_of(argv[3], argv[4]);
    /* For reading and writing: no end of file when a writer closes it. */
    int control = open(argv[5], O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (control < 0) {
        perror(argv[5]);
        return 1;
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        links[i].fd[UP] = links[i].fd[DOWN] = -1;
    }
    listen_at(&here);
    for (;;) {
        turn(control);
    }
}
