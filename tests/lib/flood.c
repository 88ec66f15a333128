/* SPDX-License-Identifier: Apache-2.0 */
/* A server that does not stop talking.
 *
 *     flood PORT SERVER TRIGGER KIND [CERT KEY]
 *
 * Connections to PORT of this machine are relayed to the unix socket SERVER
 * until the client has sent the word TRIGGER; an empty TRIGGER is there from
 * the start. From then on it sends, without end and without reading:
 *
 *     bulk      a string of 100 GB        line     a status without an end
 *     array     2^31 numbers              replies  one reply after another
 *     drip      a string, a byte each 10 ms
 *     tickets   TLS session tickets       records  a TLS record that drips,
 *                                                  in place of a handshake
 *
 * With CERT and KEY, over TLS. Says "flood" once it listens, and "begins" for
 * each connection; until killed. */
/* library: PkgConfig::OPENSSL */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHUNK 65536   /* bytes of one read or write: few calls for much data */
#define DRIP_US 10000 /* between two bytes: no client times out before */

struct client {
    int fd;
    SSL *ssl; /* NULL: no TLS */
};

static ssize_t take(const struct client *client, char *data, size_t len)
{
    return client->ssl != NULL ? SSL_read(client->ssl, data, (int)len)
                               : read(client->fd, data, len);
}

/* Read all of it, or up to the end: the client has closed. */
static void say(const struct client *client, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = client->ssl != NULL ? SSL_write(client->ssl, data, (int)len)
                                        : write(client->fd, data, len);
        if (n <= 0) {
            _exit(0);
        }
        data += n;
        len -= (size_t)n;
    }
}

static void say_word(const struct client *client, const char *word)
{
    say(client, word, strlen(word));
}

_Noreturn static void repeat(const struct client *client, const char *word)
{
    static char chunk[CHUNK];
    size_t len = strlen(word);
    size_t n = 0;
    for (; n + len <= sizeof(chunk); n += len) {
        memcpy(chunk + n, word, len);
    }
    for (;;) {
        say(client, chunk, n);
    }
}

_Noreturn static void drip(const struct client *client)
{
    for (;;) {
        usleep(DRIP_US); /* sleeps: a server that is slow */
        say(client, "x", 1);
    }
}

_Noreturn static void give_tickets(const struct client *client)
{
    while (SSL_new_session_ticket(client->ssl) == 1 &&
           SSL_do_handshake(client->ssl) == 1) {
    }
    _exit(0);
}

_Noreturn static void flood(const struct client *client, const char *kind)
{
    if (strcmp(kind, "array") == 0) {
        say_word(client, "*2147483647\r\n");
        repeat(client, ":1\r\n");
    } else if (strcmp(kind, "replies") == 0) {
        repeat(client, "+OK\r\n");
    } else if (strcmp(kind, "line") == 0) {
        say_word(client, "+");
        repeat(client, "x");
    } else if (strcmp(kind, "drip") == 0) {
        say_word(client, "$1000000\r\n");
        drip(client);
    } else if (strcmp(kind, "records") == 0) {
        say(client, "\x16\x03\x03\x40\x00", 5);
        drip(client);
    } else if (strcmp(kind, "tickets") == 0) {
        give_tickets(client);
    }
    say_word(client, "$107374182400\r\n");
    repeat(client, "x");
}

static int reach(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        _exit(1);
    }
    return fd;
}

/* Until the client has sent the trigger. A trigger that is split between two
 * reads is not found, but the client sends it again. */
static void relay(const struct client *client, int server, const char *trigger)
{
    static char data[CHUNK];
    struct pollfd fds[2] = {{.fd = client->fd, .events = POLLIN},
                            {.fd = server, .events = POLLIN}};
    for (;;) {
        bool has_more = client->ssl != NULL && SSL_pending(client->ssl) > 0;
        poll(fds, 2, has_more ? 0 : -1);
        if (fds[1].revents != 0) {
            ssize_t n = read(server, data, sizeof(data));
            if (n <= 0) {
                _exit(0);
            }
            say(client, data, (size_t)n);
        }
        if (fds[0].revents != 0 || has_more) {
            ssize_t n = take(client, data, sizeof(data));
            if (n <= 0) {
                _exit(0);
            }
            if (memmem(data, (size_t)n, trigger, strlen(trigger)) != NULL) {
                return;
            }
            if (write(server, data, (size_t)n) != n) {
                _exit(0);
            }
        }
    }
}

static SSL *shake_hands(int fd, const char *cert, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_file(context, cert, SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) != 1) {
        _exit(0);
    }
    return ssl;
}

_Noreturn static void serve(int fd, int argc, char **argv)
{
    struct client client = {.fd = fd};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc == 7 && strcmp(argv[4], "records") != 0) {
        client.ssl = shake_hands(fd, argv[5], argv[6]);
    }
    if (argv[3][0] != '\0') {
        relay(&client, reach(argv[2]), argv[3]);
    }
    puts("begins");
    fflush(stdout);
    flood(&client, argv[4]);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (argc != 5 && argc != 7) {
        fputs("usage: flood PORT SERVER TRIGGER KIND [CERT KEY]\n", stderr);
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    at.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(fd, 64) != 0) {
        perror("flood");
        return 1;
    }
    puts("flood");
    fflush(stdout);
    for (;;) {
        int client = accept(fd, NULL, NULL);
        if (client >= 0 && fork() == 0) {
            close(fd);
            serve(client, argc, argv);
        }
        close(client);
    }
}
