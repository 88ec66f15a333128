/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the Redis store: real servers that this process starts
 * and stops, and a store that the test drives.
 *
 *     struct server server;  server_start(&server, "--appendonly", "yes", 0);
 *     struct rig rig;        rig_open(&rig, 1, &server);
 *     struct said said = rig_ask(&rig, &(struct hf_ask){…});
 */
#ifndef HF_TESTS_REDIS_WORLD_H
#define HF_TESTS_REDIS_WORLD_H

#include "base/time.h"
#include "core/limits.h"
#include "io/clock.h"
#include "io/loop.h"
#include "store/store.h"
#include "store/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- TAP --------------------------------------------------------------- */

static int tap_n;
static int tap_failed;

static inline void ok_at(int line, bool passed, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", passed ? "" : "not ", ++tap_n);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    if (!passed) {
        tap_failed++;
        printf("# line %d\n", line);
    }
    fflush(stdout);
}
#define ok(...) ok_at(__LINE__, __VA_ARGS__)

static inline int tap_done(void)
{
    printf("1..%d\n", tap_n);
    return tap_failed == 0 ? 0 : 1;
}

/* ---- Servers ------------------------------------------------------------ */

struct server {
    pid_t pid;
    char dir[96];
    char path[104];
    redisContext *control;
    volatile int64_t *clock_ns; /* its wall clock, if it stands still */
    char clock_path[120];
    char clock_shim[300];
};

static inline const char *server_program(void)
{
    const char *program = getenv("HF_TEST_SERVER");
    return program != NULL ? program : "redis-server";
}

static inline void server_connect(struct server *server)
{
    for (int i = 0; i < 4000; i++) {
        server->control = redisConnectUnix(server->path);
        if (server->control != NULL && server->control->err == 0) {
            return;
        }
        redisFree(server->control);
        usleep(5000);
    }
    printf("Bail out! %s does not start\n", server_program());
    exit(1);
}

/* Start again in the same folder; options end with NULL. */
static inline void server_run(struct server *server, ...)
{
    const char *argv[40] = {server_program(),
                            "--port",
                            "0",
                            "--unixsocket",
                            server->path,
                            "--save",
                            "",
                            "--dir",
                            server->dir,
                            "--logfile",
                            "log",
                            "--daemonize",
                            "no"};
    int argc = 13;
    va_list args;
    va_start(args, server);
    while ((argv[argc] = va_arg(args, const char *)) != NULL) {
        argc++;
    }
    va_end(args);
    unlink(server->path);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (server->clock_ns != NULL) {
            setenv("CLOCKSHIM", server->clock_path, 1);
            setenv("LD_PRELOAD", server->clock_shim, 1);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    server_connect(server);
}

static inline void server_name(struct server *server)
{
    memset(server, 0, sizeof(*server));
    const char *tmp = getenv("TMPDIR"); /* the path of a socket must be short */
    snprintf(server->dir, sizeof(server->dir), "%s/hf-redis-XXXXXX",
             tmp != NULL && strlen(tmp) < 60 ? tmp : "/tmp");
    if (mkdtemp(server->dir) == NULL) {
        exit(1);
    }
    snprintf(server->path, sizeof(server->path), "%s/s", server->dir);
}

#define server_start(server, ...)                                              \
    (server_name(server), server_run((server), __VA_ARGS__))

/* Under the clock shim, from the beginning of a step of the clock floor, which
 * is 2^22 us long. Only server_pass() moves this clock: no lease expires and no
 * step begins, even if the test or the server is delayed. */
static inline void server_stand_still(struct server *server)
{
    char shim[300];
    char path[120];
    const char *build = getenv("HF_BUILD");
    snprintf(shim, sizeof(shim), "%s/tests/lib/clock_shim.so",
             build == NULL ? "build" : build);
    snprintf(path, sizeof(path), "%s/clock", server->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (access(shim, R_OK) != 0 || fd < 0 || ftruncate(fd, 16) != 0) {
        printf("Bail out! no clock shim: %s\n", shim);
        exit(1);
    }
    int64_t *both = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (both == MAP_FAILED) {
        exit(1);
    }
    int64_t us = (int64_t)time(NULL) * 1000000;
    server->clock_ns = both + 1;
    *server->clock_ns = (us - us % (1 << HF_FLOOR_BITS)) * 1000;
    snprintf(server->clock_path, sizeof(server->clock_path), "%s", path);
    snprintf(server->clock_shim, sizeof(server->clock_shim), "%s", shim);
}

static inline void server_pass(const struct server *server, int64_t ms)
{
    *server->clock_ns += ms * 1000000;
}

/* server_start(), on a clock that stands still. */
#define server_start_still(server, ...)                                        \
    (server_name(server), server_stand_still(server),                          \
     server_run((server), __VA_ARGS__))

static inline void server_kill(struct server *server)
{
    redisFree(server->control);
    server->control = NULL;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

static inline void server_remove(struct server *server)
{
    if (server->pid != 0) {
        server_kill(server);
    }
    char command[160];
    snprintf(command, sizeof(command), "rm -rf -- '%s'", server->dir);
    if (system(command) != 0) {
        exit(1);
    }
}

/* Run a command on another connection; its reply as text, in a reused
 * buffer. */
static inline const char *told(struct server *server, const char *format, ...)
{
    static char text[8192];
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(server->control, format, args);
    va_end(args);
    if (reply == NULL) {
        return "(gone)";
    }
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(text, sizeof(text), "%lld", reply->integer);
    } else {
        snprintf(text, sizeof(text), "%s",
                 reply->str == NULL ? "(nil)" : reply->str);
    }
    freeReplyObject(reply);
    return text;
}

static inline long long told_number(struct server *server, const char *command,
                                    const char *key)
{
    return strtoll(told(server, "%s %s", command, key), NULL, 10);
}

/* An unused port, below those that the kernel gives to connections: one of
 * those may be taken before the server binds it. */
static inline uint16_t free_port(void)
{
    static unsigned seed;
    seed = seed == 0 ? (unsigned)getpid() : seed;
    for (;;) {
        uint16_t port = (uint16_t)(10000 + rand_r(&seed) % 22000);
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int status = bind(fd, (struct sockaddr *)&at, sizeof(at));
        close(fd);
        if (status == 0) {
            return port;
        }
    }
}

/* ---- A store driven by hand --------------------------------------------- */

/* Longer than any step takes on a loaded machine: a limit for events that would
 * never come. */
#define PATIENCE_MS 20000

/* A copy of a reply, valid after the call. */
struct said {
    bool came;
    enum hf_verdict verdict;
    enum hf_verb verb;
    uint64_t cookie;
    uint64_t counter;
    uint64_t floor;
    int64_t left_ms;
    enum hf_kind kind;
    enum hf_status fault;
    size_t owner_len;
    size_t n_names;
    size_t n_seats;
    uint64_t ticket;
    uint64_t bound;
    uint32_t ahead;
    uint16_t permits;
    uint32_t sharers;
    uint32_t waiting;
    char owner[600];
    char reason[300];
    char names[2000]; /* separated by blanks */
    char seats[2000]; /* "holder,holder|waiter,waiter"; a sharer ends in :sN */
};

/* Replies that are kept, in a ring: far more than are under way at a time. */
#define SAID_MAX 4096

struct rig {
    struct hf_loop *loop;
    struct hf_store *store;
    struct hf_url url;
    struct said *said; /* in the order of arrival */
    unsigned n_said;
    uint64_t cookie;
    enum hf_node_status status[HF_NODES_MAX];
    enum hf_status fault[HF_NODES_MAX];
    char reason[HF_NODES_MAX][300];
    unsigned n_resets[HF_NODES_MAX];
    unsigned n_findings;
    char findings[8192];
    unsigned n_done;
    enum hf_status done;
    char done_reason[300];
};

static inline void said_seats(struct said *said, const struct hf_answer *answer)
{
    size_t at = 0;
    bool waits = false;
    for (size_t i = 0; i < answer->n_seats && at < sizeof(said->seats); i++) {
        const struct hf_seat *seat = &answer->seats[i];
        const char *before = seat->waits != waits ? "|" : i > 0 ? "," : "";
        char terms[16] = "";
        if (seat->is_shared) {
            snprintf(terms, sizeof(terms), ":s%u", seat->permits);
        }
        at += (size_t)snprintf(said->seats + at, sizeof(said->seats) - at,
                               "%s%.*s%s", before, (int)seat->owner_len,
                               (const char *)seat->owner, terms);
        waits = seat->waits;
    }
}

static inline void rig_answer(void *client, const struct hf_answer *answer)
{
    struct rig *rig = client;
    struct said *said = &rig->said[rig->n_said++ % SAID_MAX];
    memset(said, 0, sizeof(*said));
    said->came = true;
    said->verdict = answer->verdict;
    said->verb = answer->verb;
    said->cookie = answer->cookie;
    said->counter = answer->counter;
    said->floor = answer->floor;
    said->left_ms = answer->left_ms;
    said->kind = answer->holder_kind;
    said->fault = answer->fault;
    said->owner_len = answer->owner_len;
    said->n_names = answer->n_names;
    said->n_seats = answer->n_seats;
    said->ticket = answer->ticket;
    said->bound = answer->bound;
    said->ahead = answer->ahead;
    said->permits = answer->permits;
    said->sharers = answer->sharers;
    said->waiting = answer->waiting;
    said_seats(said, answer);
    if (answer->owner != NULL && answer->owner_len < sizeof(said->owner)) {
        memcpy(said->owner, answer->owner, answer->owner_len);
    }
    if (answer->reason != NULL) {
        snprintf(said->reason, sizeof(said->reason), "%s", answer->reason);
    }
    size_t at = 0;
    for (size_t i = 0; i < answer->n_names; i++) {
        size_t len = answer->names[i].len;
        if (at + len + 2 < sizeof(said->names)) {
            memcpy(said->names + at, answer->names[i].data, len);
            said->names[at + len] = ' ';
            at += len + 1;
        }
    }
}

static inline void rig_status(void *client, unsigned node,
                              enum hf_node_status status, bool is_reset,
                              enum hf_status fault, const char *reason)
{
    struct rig *rig = client;
    rig->status[node] = status;
    rig->fault[node] = fault;
    rig->n_resets[node] += is_reset ? 1 : 0;
    snprintf(rig->reason[node], sizeof(rig->reason[node]), "%s", reason);
}

static inline void rig_push(void *client, unsigned node, uint64_t cookie,
                            uint64_t counter)
{
    (void)client;
    (void)node;
    (void)cookie;
    (void)counter;
}

static inline void rig_listen(void *client, unsigned node, bool is_listening)
{
    (void)client;
    (void)node;
    (void)is_listening;
}

static inline void rig_log(void *client, enum hf_log_level level,
                           const char *text)
{
    (void)client;
    (void)level;
    (void)text;
}

/* Defaults that tests change before rig_start(). A server hangs after ten
 * node_timeouts: half of the limit of a test, so that a server which is delayed
 * for seconds does not count as hung. rig_hasty() is for tests that make it
 * hang. */
static inline void rig_init(struct rig *rig, unsigned n,
                            const struct server *servers)
{
    memset(rig, 0, sizeof(*rig));
    rig->said = calloc(SAID_MAX, sizeof(*rig->said));
    rig->url.n_endpoints = n;
    static char prefix[] = "lock:";
    rig->url.prefix = prefix;
    rig->url.connect_timeout_ms = 10000;
    rig->url.node_timeout_ms = 1000;
    rig->url.fence_keep_ms = 3600000;
    rig->url.max_ttl_ms = 60000;
    for (unsigned i = 0; i < n; i++) {
        rig->url.endpoints[i].is_unix = true;
        rig->url.endpoints[i].host = (char *)(uintptr_t)servers[i].path;
    }
}

/* As by default: hung after a second. */
static inline void rig_hasty(struct rig *rig)
{
    rig->url.connect_timeout_ms = 1000;
    rig->url.node_timeout_ms = 50;
}

static inline enum hf_status rig_start(struct rig *rig, struct hf_error *error)
{
    rig->loop = hf_loop_new();
    struct hf_store_env env = {
        .client = rig,
        .loop = rig->loop,
        .answer = rig_answer,
        .status = rig_status,
        .push = rig_push,
        .listen = rig_listen,
        .log = rig_log,
    };
    struct hf_error unused;
    return hf_store_redis.open(&rig->url, &env, &rig->store,
                               error == NULL ? &unused : error);
}

static inline void rig_close(struct rig *rig)
{
    if (rig->store != NULL) {
        hf_store_redis.close(rig->store, false);
    }
    hf_loop_free(rig->loop);
    free(rig->said);
}

/* One round of the loop, of at most `ms`. */
static inline void rig_turn(struct rig *rig, int64_t ms)
{
    struct hf_instant until =
        hf_instant_min(hf_instant_add(hf_clock_now(), hf_span_ms(ms)),
                       hf_loop_next_timer(rig->loop));
    hf_loop_wait(rig->loop, until);
    hf_loop_dispatch(rig->loop, hf_clock_now());
}

/* Run the loop until the condition holds, or for at most this time. */
#define rig_until(rig, condition, ms)                                          \
    do {                                                                       \
        struct hf_instant end_ =                                               \
            hf_instant_add(hf_clock_now(), hf_span_ms(ms));                    \
        while (!(condition) && hf_instant_before(hf_clock_now(), end_)) {      \
            rig_turn((rig), 20);                                               \
        }                                                                      \
    } while (0)

static inline bool rig_votes(struct rig *rig, unsigned node)
{
    rig_until(rig, rig->status[node] == HF_NODE_STATUS_VOTING, PATIENCE_MS);
    return rig->status[node] == HF_NODE_STATUS_VOTING;
}

/* One node on `server`, quarantine off, connected. */
static inline void rig_begin(struct rig *rig)
{
    if (rig_start(rig, NULL) != HF_OK || !rig_votes(rig, 0)) {
        printf("Bail out! no vote: %s\n", rig->reason[0]);
        exit(1);
    }
}

static inline void rig_open(struct rig *rig, struct server *server)
{
    rig_init(rig, 1, server);
    rig_begin(rig);
}

static inline uint64_t rig_send(struct rig *rig, struct hf_ask ask)
{
    ask.cookie = ++rig->cookie;
    hf_store_redis.ask(rig->store, &ask, hf_clock_now());
    return ask.cookie;
}

static inline void rig_flush(struct rig *rig)
{
    hf_store_redis.flush(rig->store, hf_clock_now());
}

static inline struct said rig_find(const struct rig *rig, uint64_t cookie)
{
    for (unsigned i = 0; i < rig->n_said && i < SAID_MAX; i++) {
        if (rig->said[i].cookie == cookie) {
            return rig->said[i];
        }
    }
    return (struct said){.came = false};
}

static inline struct said rig_await(struct rig *rig, uint64_t cookie)
{
    rig_until(rig, rig_find(rig, cookie).came, PATIENCE_MS);
    return rig_find(rig, cookie);
}

/* Send a request and wait for the reply. */
static inline struct said rig_ask(struct rig *rig, struct hf_ask ask)
{
    rig->n_said = 0;
    uint64_t cookie = rig_send(rig, ask);
    rig_flush(rig);
    return rig_await(rig, cookie);
}

static inline struct hf_ask ask_of(enum hf_verb verb, const char *name,
                                   const char *owner)
{
    return (struct hf_ask){
        .verb = verb,
        .name = name,
        .name_len = strlen(name),
        .owner = owner,
        .owner_len = owner == NULL ? 0 : strlen(owner),
        .ttl_ms = verb == HF_VERB_RELEASE ? 0 : 10000,
    };
}

static inline struct said acquire(struct rig *rig, const char *name,
                                  const char *owner, uint64_t hint)
{
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, name, owner);
    ask.counter = hint;
    return rig_ask(rig, ask);
}

static inline struct said confirm(struct rig *rig, const char *name,
                                  const char *owner, uint64_t fence,
                                  bool reacquires)
{
    struct hf_ask ask = ask_of(HF_VERB_CONFIRM, name, owner);
    ask.counter = fence;
    ask.reacquires = reacquires;
    return rig_ask(rig, ask);
}

static inline struct said release(struct rig *rig, const char *name,
                                  const char *owner, uint64_t seen)
{
    struct hf_ask ask = ask_of(HF_VERB_RELEASE, name, owner);
    ask.counter = seen;
    return rig_ask(rig, ask);
}

static inline struct said inspect(struct rig *rig, const char *name)
{
    return rig_ask(rig, ask_of(HF_VERB_INSPECT, name, NULL));
}

#endif
