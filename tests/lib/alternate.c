/* SPDX-License-Identifier: Apache-2.0 */
/* alternate TARGET TARGET: a load balancer. Prints a free port, listens there,
 * and forwards its connections to one target and the other in turn: a unix
 * socket, "close", which closes the connection, or "hang", which never replies.
 * Its children end with it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_somewhere(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    struct sockaddr *any = (struct sockaddr *)(void *)&at;
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, any, size) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, any, &size) != 0) {
        perror("alternate");
        return -1;
    }
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    return connect(fd, (struct sockaddr *)(void *)&at, sizeof(at)) == 0 ? fd
                                                                        : -1;
}

static bool forward(int from, int to)
{
    char data[16384];
    ssize_t n = read(from, data, sizeof(data));
    return n > 0 && send(to, data, (size_t)n, MSG_NOSIGNAL) == n;
}

static void serve(int client, const char *target)
{
    int server = strcmp(target, "close") == 0 ? -1 : connect_to(target);
    while (strcmp(target, "hang") == 0) {
        pause();
    }
    struct pollfd fds[] = {{.fd = client, .events = POLLIN},
                           {.fd = server, .events = POLLIN}};
    bool is_open = server >= 0;
    while (is_open && poll(fds, 2, -1) > 0) {
        is_open = (fds[0].revents == 0 || forward(client, server)) &&
                  (fds[1].revents == 0 || forward(server, client));
    }
}

int main(int argc, char **argv)
{
    int listener = argc == 3 ? listen_somewhere() : -1;
    if (listener < 0) {
        return 64;
    }
    signal(SIGCHLD, SIG_IGN);
    for (unsigned n = 0;; n++) {
        int client = accept(listener, NULL, NULL);
        if (client >= 0 && fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listener);
            serve(client, argv[1 + n % 2]);
            _exit(0);
        }
        close(client);
    }
}
