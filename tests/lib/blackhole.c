/* SPDX-License-Identifier: Apache-2.0 */
/* deaf PORT: a port of this machine at which connections are never made, as
 * with a firewall that drops. It listens with the shortest backlog, fills it
 * itself, and accepts no connection, so that the kernel drops every further
 * SYN. Prints "deaf" once it is, and stays so until killed.
 *
 * deaf PORT ADDRESS: connections to that address are made, by the kernel, and
 * nothing is ever answered, as of a process that is stopped. Prints "silent".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* More connections than any kernel queues for a backlog of 0. */
#define FILLERS_MAX 64

/* A connection on loopback is made at once, or never. */
#define PATIENCE_MS 300

/* As many as wait for a test's clients. */
#define BACKLOG_SILENT 64

/* @param backlog  to listen with; -1: connect. */
static int socket_to(const struct sockaddr_in *address, int backlog)
{
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const struct sockaddr *to = (const struct sockaddr *)(const void *)address;
    if (fd < 0) {
        return -1;
    }
    if (backlog >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        return bind(fd, to, sizeof(*address)) == 0 && listen(fd, backlog) == 0
                   ? fd
                   : -1;
    }
    return connect(fd, to, sizeof(*address)) == 0 || errno == EINPROGRESS ? fd
                                                                          : -1;
}

static int is_made(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLOUT};
    return poll(&watched, 1, PATIENCE_MS) > 0;
}

static void stay(const char *how)
{
    puts(how);
    fflush(stdout);
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    bool is_silent = argc == 3;
    if (argc != 2 && !is_silent) {
        fputs("usage: deaf PORT [ADDRESS]\n", stderr);
        return 64;
    }
    address.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
    address.sin_addr.s_addr =
        is_silent ? inet_addr(argv[2]) : htonl(INADDR_LOOPBACK);
    if (socket_to(&address, is_silent ? BACKLOG_SILENT : 0) < 0) {
        perror("deaf: listen");
        return 1;
    }
    if (is_silent) {
        stay("silent");
    }
    for (int i = 0; i < FILLERS_MAX; i++) {
        int fd = socket_to(&address, -1);
        if (fd < 0) {
            perror("deaf: connect");
            return 1;
        }
        if (!is_made(fd)) {
            stay("deaf");
        }
    }
    fputs("deaf: still connects\n", stderr);
    return 1;
}
