/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy in front of a server's unix socket, or of ":PORT" of this host, in a
 * thread of the test. It can delay, drop or cut the traffic.
 *
 *     struct proxy proxy;  proxy_start(&proxy, server.path);
 *     … redis+unix://<proxy.path> …   ":PORT" of its own, if the server has one
 *     proxy.holds_asks = true;        requests for places in queues are delayed
 *     proxy.swallows_grants = true;   pushed messages are dropped
 *     proxy.delay_ms = 40;            requests arrive so much later
 *     proxy.loses_puts = 1;           the reply to the next PUT of a value is
 *                                     lost, and on_lost() is called first
 *     proxy.loses_undos = 1;          the next deletion of a version at Consul
 *                                     is lost, and its connection closes
 *     proxy_cut(&proxy);              all connections close
 *     proxy_end(&proxy);
 */
#ifndef HF_TESTS_PROXY_H
#define HF_TESTS_PROXY_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections at a time: two of a client, of which a test has a few, and those
 * that replace them after a cut. */
#define PROXY_LINKS_MAX 32
/* Bytes of a connection that are held back: some hundred requests. */
#define PROXY_HELD_MAX 65536

struct proxy_link {
    int client; /* -1: unused */
    int server;
    char held[PROXY_HELD_MAX]; /* received from the client, and not forwarded
                                  yet */
    size_t n_held;
};

struct proxy {
    char path[108];
    char server_path[108];
    int listener;
    pthread_t thread;
    atomic_bool is_ending;
    atomic_bool holds_asks;
    atomic_bool swallows_grants;
    atomic_bool refuses; /* new connections */
    atomic_int delay_ms;
    atomic_int loses_puts;
    atomic_int loses_undos;
    bool loses_copies;     /* more than one, and the first is lost */
    void (*on_lost)(void); /* or NULL; in the proxy's thread */
    atomic_int cuts;       /* by the test */
    atomic_int n_held;     /* connections with delayed data */
    struct proxy_link links[PROXY_LINKS_MAX];
};

static inline int proxy_socket(const char *path, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET};
    bool is_port = path[0] == ':';
    const void *at = is_port ? (const void *)&port : (const void *)&address;
    const struct sockaddr *any = at;
    socklen_t size = is_port ? sizeof(port) : sizeof(address);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    port.sin_port = htons((uint16_t)strtoul(path + 1, NULL, 10));
    int fd = socket(is_port ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = listens ? bind(fd, any, size) == 0 && listen(fd, 16) == 0
                      : connect(fd, any, size) == 0;
    if (!ok) {
        close(fd);
        return -1;
    }
    return fd;
}

static inline void proxy_drop(struct proxy_link *link)
{
    close(link->client);
    close(link->server);
    link->client = -1;
    link->n_held = 0;
}

static inline void proxy_write(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        data += n;
        len -= (size_t)n;
    }
}

static inline void proxy_accept(struct proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; client >= 0 && i < PROXY_LINKS_MAX; i++) {
        struct proxy_link *link = &proxy->links[i];
        if (link->client >= 0) {
            continue;
        }
        link->server = atomic_load(&proxy->refuses)
                           ? -1
                           : proxy_socket(proxy->server_path, false);
        if (link->server < 0) {
            break;
        }
        link->client = client;
        link->n_held = 0;
        return;
    }
    if (client >= 0) {
        close(client);
    }
}

/* An ACQUIRE with a place in the queue names the channel for its grant. */
static inline bool proxy_is_ask(const char *data, size_t len)
{
    return memmem(data, len, "hf:push:", 8) != NULL &&
           memmem(data, len, "EVALSHA", 7) != NULL;
}

static inline void proxy_up(struct proxy *proxy, struct proxy_link *link)
{
    char data[16384];
    ssize_t n = recv(link->client, data, sizeof(data), 0);
    if (n <= 0) {
        proxy_drop(link);
        return;
    }
    if (atomic_load(&proxy->loses_undos) > 0 &&
        memmem(data, (size_t)n, "\"delete-cas\"", 12) != NULL) {
        atomic_fetch_sub(&proxy->loses_undos, 1);
        proxy_drop(link);
        return;
    }
    /* sleeps: the way to the server */
    usleep((useconds_t)atomic_load(&proxy->delay_ms) * 1000);
    bool holds = link->n_held > 0 || (atomic_load(&proxy->holds_asks) &&
                                      proxy_is_ask(data, (size_t)n));
    if (holds && link->n_held + (size_t)n <= PROXY_HELD_MAX) {
        memcpy(link->held + link->n_held, data, (size_t)n);
        link->n_held += (size_t)n;
    } else {
        proxy_write(link->server, data, (size_t)n);
    }
}

/* Of MariaDB a row of verdict 1 and a version of 16 digits, and no data, as the
 * reply to a GET has. */
static inline bool proxy_is_written_row(const char *data, size_t len)
{
    static const char column[] = "\7version";
    static const char row[] = {1, '1', 16, '1'};
    static const char read[] = {4, 'd', 'a', 't', 'a'};
    return memmem(data, len, column, sizeof(column) - 1) != NULL &&
           memmem(data, len, row, sizeof(row)) != NULL &&
           memmem(data, len, read, sizeof(read)) == NULL;
}

/* The reply to a PUT: of Redis two integers, of PostgreSQL a row of a binary
 * int4 and int8, of etcd and Consul a transaction that has put something, of
 * ZooKeeper a Stat, or the path of a new value. */
static inline bool proxy_is_written(const char *data, size_t len)
{
    static const char row[] = "D\0\0\0\x1a\0\2\0\0\0\4";
    static const char put[] = "\"response_put\"";
    static const char cas[] = "{\"Results\":[{\"KV\":{";
    return (len > 5 && memcmp(data, "*2\r\n:", 5) == 0) ||
           memmem(data, len, row, sizeof(row) - 1) != NULL ||
           memmem(data, len, put, sizeof(put) - 1) != NULL ||
           memmem(data, len, cas, sizeof(cas) - 1) != NULL ||
           proxy_is_written_row(data, len) ||
           (len == 88 && memcmp(data, "\0\0\0\x54", 4) == 0) ||
           memmem(data, len, "%values/", 8) != NULL;
}

/* A copy of a PUT that was executed only reads at etcd, Consul and ZooKeeper.
 * There the reply to a check comes first. */
static inline bool proxy_is_read(const char *data, size_t len)
{
    return memmem(data, len, "\"kvs\"", 5) != NULL ||
           memmem(data, len, "[{\"LockIndex\"", 13) != NULL ||
           (len >= 38 && memcmp(data, "\0\0\0\x22", 4) == 0);
}

static inline void proxy_down(struct proxy *proxy, struct proxy_link *link)
{
    char data[16384];
    ssize_t n = recv(link->server, data, sizeof(data), 0);
    if (n <= 0) {
        proxy_drop(link);
        return;
    }
    bool is_put = proxy_is_written(data, (size_t)n) ||
                  (proxy->loses_copies && proxy_is_read(data, (size_t)n));
    if (is_put && atomic_load(&proxy->loses_puts) > 0) {
        proxy->loses_copies = atomic_fetch_sub(&proxy->loses_puts, 1) > 1;
        if (proxy->on_lost != NULL) {
            proxy->on_lost();
        }
        proxy_drop(link);
        return;
    }
    bool is_grant = memmem(data, (size_t)n, "\r\nmessage\r\n", 11) != NULL;
    if (!is_grant || !atomic_load(&proxy->swallows_grants)) {
        proxy_write(link->client, data, (size_t)n);
    }
}

static inline void proxy_turn(struct proxy *proxy)
{
    struct pollfd fds[1 + 2 * PROXY_LINKS_MAX];
    int held = 0;
    fds[0] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
    for (int i = 0; i < PROXY_LINKS_MAX; i++) {
        struct proxy_link *link = &proxy->links[i];
        if (link->client >= 0 && link->n_held > 0 &&
            !atomic_load(&proxy->holds_asks)) {
            proxy_write(link->server, link->held, link->n_held);
            link->n_held = 0;
        }
        held += link->client >= 0 && link->n_held > 0;
        fds[1 + 2 * i] = (struct pollfd){.fd = link->client, .events = POLLIN};
        fds[2 + 2 * i] = (struct pollfd){
            .fd = link->client < 0 ? -1 : link->server, .events = POLLIN};
    }
    atomic_store(&proxy->n_held, held);
    poll(fds, 1 + 2 * PROXY_LINKS_MAX, 2);
    if (atomic_load(&proxy->cuts) > 0) {
        for (int i = 0; i < PROXY_LINKS_MAX; i++) {
            if (proxy->links[i].client >= 0) {
                proxy_drop(&proxy->links[i]);
            }
        }
        atomic_store(&proxy->cuts, 0);
        return;
    }
    for (int i = 0; i < PROXY_LINKS_MAX; i++) {
        struct proxy_link *link = &proxy->links[i];
        if (link->client >= 0 && fds[1 + 2 * i].fd == link->client &&
            fds[1 + 2 * i].revents != 0) {
            proxy_up(proxy, link);
        }
        if (link->client >= 0 && fds[2 + 2 * i].fd == link->server &&
            fds[2 + 2 * i].revents != 0) {
            proxy_down(proxy, link);
        }
    }
    if (fds[0].revents != 0) {
        proxy_accept(proxy);
    }
}

static inline void *proxy_main(void *user)
{
    struct proxy *proxy = user;
    while (!atomic_load(&proxy->is_ending)) {
        proxy_turn(proxy);
    }
    for (int i = 0; i < PROXY_LINKS_MAX; i++) {
        if (proxy->links[i].client >= 0) {
            proxy_drop(&proxy->links[i]);
        }
    }
    return NULL;
}

static inline void proxy_start_at(struct proxy *proxy, const char *path,
                                  const char *server_path)
{
    memset(proxy, 0, sizeof(*proxy));
    snprintf(proxy->server_path, sizeof(proxy->server_path), "%.107s",
             server_path);
    snprintf(proxy->path, sizeof(proxy->path), "%.107s", path);
    for (int i = 0; i < PROXY_LINKS_MAX; i++) {
        proxy->links[i].client = -1;
    }
    proxy->listener = proxy_socket(proxy->path, true);
    if (proxy->listener < 0 ||
        pthread_create(&proxy->thread, NULL, proxy_main, proxy) != 0) {
        printf("Bail out! no proxy\n");
        exit(1);
    }
}

/* Its port, after it began to listen to any that is free. */
static inline void proxy_name_port(struct proxy *proxy)
{
    struct sockaddr_in port;
    socklen_t size = sizeof(port);
    void *at = &port;
    if (getsockname(proxy->listener, at, &size) == 0) {
        snprintf(proxy->path, sizeof(proxy->path), ":%u", ntohs(port.sin_port));
    }
}

static inline void proxy_start(struct proxy *proxy, const char *server_path)
{
    static int count;
    char path[108];
    if (server_path[0] == ':') {
        proxy_start_at(proxy, ":0", server_path);
        proxy_name_port(proxy);
        return;
    }
    snprintf(path, sizeof(path), "%.90s-p%d", server_path, count++);
    proxy_start_at(proxy, path, server_path);
}

/* Returns when the connections are closed. */
static inline void proxy_cut(struct proxy *proxy)
{
    atomic_store(&proxy->cuts, 1);
    while (atomic_load(&proxy->cuts) > 0) {
        usleep(500);
    }
}

static inline void proxy_end(struct proxy *proxy)
{
    atomic_store(&proxy->is_ending, true);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    if (proxy->path[0] != ':') {
        unlink(proxy->path);
    }
}

#endif
