/* SPDX-License-Identifier: Apache-2.0 */
/* The data that the locks protect: numbers that clients read and write back
 * increased by one. No fault ever affects this process.
 *
 *     register SOCKET JOURNAL
 *
 *     hello CLIENT
 *     read KIND NAME FENCE          -> ok VALUE | no FENCE
 *     write KIND NAME FENCE BASE    -> ok VALUE | no FENCE
 *
 * KIND g is guarded: a request with a fence below the greatest seen is refused,
 * reads too, since the value that is written depends on the value read. KIND u
 * accepts every request: two clients that add at once lose an update. */
#include "journal.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections at a time: one of each client, of which a rig has six. */
#define CLIENTS_MAX 64
/* A request: two words, a name of 63 bytes, and two numbers of 20. */
#define LINE_BYTES 512

struct value {
    char name[64];
    char kind;
    uint64_t fence;
    int64_t value;
};

struct connection {
    int fd; /* -1: unused */
    char who[32];
    char line[LINE_BYTES];
    size_t n_line;
};

static struct value *values;
static size_t n_values;
static struct connection connections[CLIENTS_MAX];

/* Each round has new names: those in use are at the end. */
static struct value *value_of(char kind, const char *name)
{
    for (size_t i = n_values; i-- > 0;) {
        if (values[i].kind == kind && strcmp(values[i].name, name) == 0) {
            return &values[i];
        }
    }
    struct value *grown = realloc(values, (n_values + 1) * sizeof(*values));
    if (grown == NULL) {
        perror("register");
        exit(1);
    }
    values = grown;
    struct value *fresh = &values[n_values++];
    memset(fresh, 0, sizeof(*fresh));
    snprintf(fresh->name, sizeof(fresh->name), "%s", name);
    fresh->kind = kind;
    return fresh;
}

struct request {
    bool writes;
    char kind;
    char name[64];
    uint64_t fence;
    int64_t base;
};

static void serve(struct connection *from, const struct request *request)
{
    struct value *value = value_of(request->kind, request->name);
    bool ok = request->kind != 'g' || request->fence >= value->fence;
    if (ok) {
        value->fence = request->fence;
        value->value = request->writes ? request->base + 1 : value->value;
    }
    if (request->writes || request->kind == 'g') {
        journal(journal_now(),
                "\"ev\":\"%s\",\"kind\":\"%c\",\"lock\":\"%s\",\"by\":\"%s\","
                "\"fence\":%" PRIu64 ",\"base\":%" PRId64 ",\"value\":%" PRId64
                ",\"ok\":%d",
                request->writes ? "write" : "read", request->kind,
                request->name, from->who, request->fence, request->base,
                value->value, ok);
    }
    char reply[64];
    int len =
        ok ? snprintf(reply, sizeof(reply), "ok %" PRId64 "\n", value->value)
           : snprintf(reply, sizeof(reply), "no %" PRIu64 "\n", value->fence);
    (void)!send(from->fd, reply, (size_t)len, MSG_NOSIGNAL);
}

static bool obey(struct connection *from, const char *line)
{
    struct request request = {0};
    char verb[8];
    if (sscanf(line, "hello %31s", from->who) == 1) {
        return true;
    }
    int fields =
        sscanf(line, "%7s %c %63s %" SCNu64 " %" SCNd64, verb, &request.kind,
               request.name, &request.fence, &request.base);
    request.writes = fields == 5 && strcmp(verb, "write") == 0;
    if (!request.writes && (fields < 4 || strcmp(verb, "read") != 0)) {
        return false;
    }
    serve(from, &request);
    return true;
}

static void hear(struct connection *from)
{
    ssize_t n = recv(from->fd, from->line + from->n_line,
                     sizeof(from->line) - 1 - from->n_line, 0);
    bool is_fine = n > 0;
    if (is_fine) {
        from->n_line += (size_t)n;
        from->line[from->n_line] = '\0';
    }
    char *end;
    while (is_fine && (end = strchr(from->line, '\n')) != NULL) {
        *end = '\0';
        is_fine = obey(from, from->line);
        from->n_line -= (size_t)(end + 1 - from->line);
        memmove(from->line, end + 1, from->n_line + 1);
    }
    if (!is_fine || from->n_line == sizeof(from->line) - 1) {
        close(from->fd);
        from->fd = -1;
    }
}

static void greet(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        if (connections[i].fd < 0) {
            connections[i] = (struct connection){.fd = fd, .who = "?"};
            return;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 16) < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: register SOCKET JOURNAL\n");
        return 64;
    }
    journal_open(argv[2]);
    int listener = listen_at(argv[1]);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        connections[i].fd = -1;
    }
    for (;;) {
        struct pollfd fds[CLIENTS_MAX + 1];
        for (int i = 0; i < CLIENTS_MAX; i++) {
            fds[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        }
        fds[CLIENTS_MAX] = (struct pollfd){.fd = listener, .events = POLLIN};
        if (poll(fds, CLIENTS_MAX + 1, -1) < 0) {
            continue;
        }
        for (int i = 0; i < CLIENTS_MAX; i++) {
            if (fds[i].fd >= 0 && fds[i].revents != 0) {
                hear(&connections[i]);
            }
        }
        if (fds[CLIENTS_MAX].revents != 0) {
            greet(listener);
        }
    }
}
