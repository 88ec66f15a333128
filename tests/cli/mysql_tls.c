/* SPDX-License-Identifier: Apache-2.0 */
/* A program with one thread, two clients and a server of its own that stops
 * while the second client connects over TLS; and one that loses its server.
 *
 *   mysql_tls silent URL   the server accepts and never speaks
 *   mysql_tls greets URL   it sends MariaDB's greeting, and then nothing
 *       Holds a lock of one second at URL for 4 s, while it tries to get one of
 *       the server. Prints
 *           kept|lost CALL CHILD CLOSE THREADS REASON
 *       CALL is the longest call of the client that connects, CHILD and CLOSE
 *       the time of hf_client_close() in a forked child and here, all in ms;
 *       THREADS are those left of that client, half a second later.
 *   mysql_tls listens PORT
 *       The kernel accepts at 127.0.0.1, and nothing is sent.
 *   mysql_tls holds URL
 *       Holds a lock there, and prints "held", and "lost" when it is.
 *   mysql_tls reasons URL
 *       Connects for two seconds, and prints the reason of each failure that
 *       differs from the one before.
 *
 * The handling of signals is the default one: SIGPIPE ends it. */
#include <holdfast/holdfast.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A lease that is lost if a call blocks for as long as a connect may take. */
#define TTL_MS 1000

/* How long it is held: three tries to connect. */
#define HELD_MS 4000

/* Between two calls of hf_client_process(): a small part of the lease. */
#define STEP_MS 10

/* Protocol 10: it offers TLS, and asks for mysql_native_password. */
static const char greeting[] =
    "\x53\0\0\0\x0a"
    "10.11.0-MariaDB\0\x01\0\0\0"
    "abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0"
    "abcdefghijkl\0mysql_native_password";

static int64_t now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* -1: greet none. */
static void *greet_all(void *arg)
{
    int listener = *(const int *)arg;
    if (listener < 0) {
        pause();
    }
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL) < 0) {
            return NULL;
        }
    }
}

/* Listens; the kernel accepts. @param port  0: any. @return it, 0: failed. */
static int listen_to(int *listener, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*listener < 0 ||
        bind(*listener, (struct sockaddr *)(void *)&at, sizeof(at)) != 0 ||
        listen(*listener, 64) != 0 ||
        getsockname(*listener, (struct sockaddr *)(void *)&at, &len) != 0) {
        return 0;
    }
    return ntohs(at.sin_port);
}

static struct hf_client *open_client(const char *url)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    return client;
}

struct result {
    bool is_done;
    char reason[300];
};

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct result *result = user;
    result->is_done = true;
    if (lock != NULL) {
        hf_lock_release(lock);
    }
    snprintf(result->reason, sizeof(result->reason), "%s: %.200s",
             hf_status_name(status), error == NULL ? "" : error->text);
}

static struct hf_lock *hold_one(struct hf_client *client)
{
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error;
    hf_request_init(&request, "kept");
    request.ttl_ms = TTL_MS;
    request.liveness = HF_LIVENESS_LEASE;
    request.wait_ms = 30000;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    return lock;
}

/* ---- silent, greets ------------------------------------------------------ */

static int64_t close_in_child(struct hf_client *client)
{
    int64_t begin = now_ms();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        hf_client_close(client);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status == 0 ? now_ms() - begin : -1;
}

static int count_threads(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *one; (one = readdir(folder)) != NULL;) {
        n += one->d_name[0] != '.';
    }
    closedir(folder);
    return n;
}

static int connect_and_hold(const char *kind, int port, const char *held_at)
{
    char url[120];
    struct hf_request request;
    struct result result = {false, "not done"}, again = result;
    struct hf_client *holder = open_client(held_at);
    struct hf_lock *lock = hold_one(holder);
    snprintf(url, sizeof(url), "mysqls://u:p@127.0.0.1:%d/?connect_timeout=%s",
             port, strcmp(kind, "silent") == 0 ? "1s" : "1500ms");
    int before = count_threads();
    struct hf_client *client = open_client(url);
    hf_request_init(&request, "other");
    request.wait_ms = HELD_MS - 500;
    if (hf_op_start_acquire(client, &request, on_done, &result, NULL, NULL) !=
        HF_OK) {
        return 2;
    }
    int64_t end = now_ms() + HELD_MS, longest = 0, child = -1;
    bool is_kept = true;
    /* Not in the loop: a call that comes after the deadline of the connect, and
     * before a timer has seen that, takes the client for idle until then, and
     * connects anew. */
    struct pollfd fds[2] = {{.fd = hf_client_fd(holder), .events = POLLIN},
                            {.fd = hf_client_fd(client), .events = POLLIN}};
    while (now_ms() < end) {
        poll(fds, 2, STEP_MS);
        int64_t begin = now_ms();
        hf_client_process(client);
        int64_t took = now_ms() - begin;
        longest = took > longest ? took : longest;
        hf_client_process(holder);
        is_kept = is_kept && hf_lock_valid_for(lock, 0);
        if (child < 0 && now_ms() > end - HELD_MS / 2) {
            child = close_in_child(client);
        }
    }
    /* Once more, so that the close meets a thread that is connecting. */
    if (hf_op_start_acquire(client, &request, on_done, &again, NULL, NULL) !=
        HF_OK) {
        return 2;
    }
    hf_client_process(client);
    int64_t begin = now_ms();
    hf_client_close(client);
    int64_t closed = now_ms() - begin;
    poll(NULL, 0, 500); /* for the thread */
    printf("%s %lld %lld %lld %d %s\n", is_kept ? "kept" : "lost",
           (long long)longest, (long long)child, (long long)closed,
           count_threads() - before, result.reason);
    hf_lock_release(lock);
    hf_client_close(holder);
    return 0;
}

static int meet_server(const char *kind, const char *held_at)
{
    static int listener, greeted;
    pthread_t thread;
    int port = listen_to(&listener, 0);
    greeted = strcmp(kind, "greets") == 0 ? listener : -1;
    if (port == 0 || pthread_create(&thread, NULL, greet_all, &greeted) != 0) {
        return 2;
    }
    return connect_and_hold(kind, port, held_at);
}

/* ---- holds --------------------------------------------------------------- */

static int hold_until_lost(const char *url)
{
    struct hf_client *client = open_client(url);
    struct hf_lock *lock = hold_one(client);
    puts("held");
    fflush(stdout);
    while (hf_lock_state(lock) != HF_STATE_LOST) {
        struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
        poll(&fd, 1, 1000);
        hf_client_process(client);
    }
    puts("lost");
    fflush(stdout);
    hf_lock_release(lock);
    hf_lock_release(hold_one(client));
    puts("again");
    hf_client_close(client);
    return 0;
}

static int listen_on(uint16_t port)
{
    int listener;
    if (listen_to(&listener, port) == 0) {
        return 2;
    }
    for (;;) {
        pause();
    }
}

/* ---- reasons ------------------------------------------------------------- */

static int print_reasons(const char *url)
{
    char before[300] = "";
    struct result result = {false, ""};
    struct hf_request request;
    struct hf_client *client = open_client(url);
    int64_t end = now_ms() + 2000;
    hf_request_init(&request, "job");
    request.wait_ms = 2000;
    if (hf_op_start_acquire(client, &request, on_done, &result, NULL, NULL) !=
        HF_OK) {
        return 2;
    }
    while (now_ms() < end) {
        struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
        struct hf_node *node;
        poll(&fd, 1, STEP_MS);
        hf_client_process(client);
        if (hf_client_node(client, 0, &node) != HF_OK) {
            return 2;
        }
        if (hf_node_health(node) == HF_NODE_DOWN &&
            strcmp(hf_node_reason(node), before) != 0) {
            snprintf(before, sizeof(before), "%s", hf_node_reason(node));
            puts(before);
        }
        hf_node_free(node);
    }
    hf_client_close(client);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    if (strcmp(argv[1], "reasons") == 0) {
        return print_reasons(argv[2]);
    }
    if (strcmp(argv[1], "listens") == 0) {
        return listen_on((uint16_t)strtoul(argv[2], NULL, 10));
    }
    return strcmp(argv[1], "holds") == 0 ? hold_until_lost(argv[2])
                                         : meet_server(argv[1], argv[2]);
}
