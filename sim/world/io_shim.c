/* SPDX-License-Identifier: Apache-2.0 */
/* The replacement of src/io, the layer below the library, in the simulated
 * world. It implements the clock, the entropy and the connections of the
 * process whose fiber runs. All layers above are linked as shipped. */
#include "world/net.h"
#include "world/spin.h"

#include "local/machine.h"

#include "base/assert.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two connections for each node, and some that are being closed. */
#define LINKS_MAX 64

static struct sim_process *self(void)
{
    struct sim_process *process = sim_process_running();
    HF_ASSERT(process != NULL);
    return process;
}

/* ---- Clock and entropy ------------------------------------------------- */

/* A pause has the worst effect between reading the clock and acting on it, so
 * it may begin here. */
struct hf_instant hf_clock_now(void)
{
    struct sim_process *process = self();
    int64_t now_ns = process->world->now_ns;
    struct hf_instant now = sim_process_clock(process, now_ns);
    if (sim_spin_clock(process)) {
        sim_process_sleep(process, SIM_NEVER, false);
    }
    if (process->pauses_midway) {
        process->pauses_midway = false;
        process->stood_ns = now_ns + process->midway_ns;
        sim_world_note(
            process->world,
            (struct sim_note){.kind = SIM_NOTE_PAUSED,
                              .process = process->index,
                              .node = -1,
                              .until_ns = now_ns + process->midway_ns});
        sim_process_sleep(process, now_ns + process->midway_ns, false);
    }
    return now;
}

int hf_clock_offset(struct hf_span *out)
{
    *out = (struct hf_span){0};
    return 0;
}

/* One clock for the processes of a host, and another after each boot. */
bool hf_clock_name(char out[HF_CLOCK_NAME_MAX])
{
    struct sim_process *process = self();
    snprintf(out, HF_CLOCK_NAME_MAX, "host%d-boot%u",
             sim_process_host(process) + 1, sim_process_boot(process));
    return true;
}

int64_t hf_clock_wall_s(void)
{
    return SIM_WALL_S + self()->world->now_ns / 1000000000;
}

void hf_entropy(void *out, size_t len)
{
    struct sim_process *process = self();
    unsigned char *bytes = out;
    for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
        uint64_t random = sim_draw(&process->random);
        size_t n = len - at < sizeof(random) ? len - at : sizeof(random);
        memcpy(bytes + at, &random, n);
    }
}

/* Linked with --wrap: owners name a process and a host. */
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
    const struct sim_process *process = self();
    return process->world->machine != NULL ? sim_machine_pid(process)
                                           : process->index + 1;
}

int __wrap_gethostname(char *name, size_t len);
int __wrap_gethostname(char *name, size_t len)
{
    snprintf(name, len, "p%d", self()->index + 1);
    return 0;
}

/* ---- The loop ---------------------------------------------------------- */

struct hf_loop {
    struct sim_process *process;
    struct hf_timer *timers;
    unsigned n_sockets; /* all are below */
    struct hf_socket *sockets[LINKS_MAX];
};

static struct sim_link *link_of(const struct hf_socket *socket)
{
    return socket->tls; /* not read above src/io */
}

struct hf_loop *hf_loop_new(void)
{
    struct hf_loop *loop = calloc(1, sizeof(*loop));
    HF_ASSERT(loop != NULL);
    loop->process = self();
    return loop;
}

void hf_loop_free(struct hf_loop *loop)
{
    free(loop);
}

int hf_loop_fd(const struct hf_loop *loop)
{
    (void)loop;
    return -1;
}

/* The client's own eventfd, which is never written, and the embedded store's
 * socket. */
bool hf_loop_watch(struct hf_loop *loop, struct hf_watch *watch)
{
    sim_machine_watch(loop->process, watch);
    return true;
}

/* A cancel token: stories have none. */
bool hf_loop_watch_also(struct hf_loop *loop, const struct hf_watch *watch,
                        int fd)
{
    (void)loop;
    (void)watch;
    (void)fd;
    return true;
}

void hf_loop_watch_output(struct hf_loop *loop, struct hf_watch *watch, bool on)
{
    (void)loop;
    (void)watch;
    (void)on;
}

void hf_loop_unwatch(struct hf_loop *loop, struct hf_watch *watch)
{
    sim_machine_unwatch(loop->process, watch);
}

void hf_loop_add_timer(struct hf_loop *loop, struct hf_timer *timer)
{
    hf_timers_add(&loop->timers, timer);
}

void hf_loop_drop_timer(struct hf_loop *loop, struct hf_timer *timer)
{
    hf_timers_remove(&loop->timers, timer);
}

struct hf_instant hf_loop_next_timer(const struct hf_loop *loop)
{
    return hf_timers_next(loop->timers);
}

static int count_news(const struct hf_loop *loop)
{
    int n = sim_machine_has_news(loop->process);
    for (unsigned i = 0; i < loop->n_sockets; i++) {
        n += loop->sockets[i] != NULL && link_of(loop->sockets[i])->has_news;
    }
    return n;
}

int hf_loop_wait(struct hf_loop *loop, struct hf_instant until)
{
    struct sim_process *process = loop->process;
    int64_t until_ns =
        until.ns == HF_NEVER.ns ? SIM_NEVER : sim_process_when(process, until);
    if (count_news(loop) == 0 && until_ns > process->world->now_ns) {
        sim_process_sleep(process, until_ns, true);
    }
    return count_news(loop);
}

static void come_open(struct hf_socket *socket)
{
    struct sim_link *link = link_of(socket);
    if (socket->state == HF_SOCKET_CONNECTING && link->is_refused) {
        socket->state = HF_SOCKET_FAILED;
        snprintf(socket->reason, sizeof(socket->reason),
                 "cannot connect: Connection refused");
    } else if (socket->state == HF_SOCKET_CONNECTING && link->is_open) {
        socket->state = HF_SOCKET_OPEN;
        socket->give_up = HF_NEVER;
    }
    socket->is_ended |= link->is_ended;
}

void hf_loop_dispatch(struct hf_loop *loop, struct hf_instant now)
{
    loop->process->is_ready = false;
    sim_machine_dispatch(loop->process, now);
    for (unsigned i = 0; i < loop->n_sockets; i++) {
        struct hf_socket *socket = loop->sockets[i];
        if (socket != NULL && link_of(socket)->has_news) {
            link_of(socket)->has_news = false;
            come_open(socket);
            socket->event(socket, now);
        }
    }
    hf_timers_fire(&loop->timers, now);
}

/* ---- Sockets ----------------------------------------------------------- */

void hf_socket_init(struct hf_socket *socket, struct hf_loop *loop,
                    hf_socket_fn *event)
{
    memset(socket, 0, sizeof(*socket));
    socket->watch.fd = -1;
    socket->loop = loop;
    socket->event = event;
    socket->give_up = HF_NEVER;
}

static void fail(struct hf_socket *socket, const char *reason)
{
    socket->state = HF_SOCKET_FAILED;
    socket->give_up = HF_NEVER;
    snprintf(socket->reason, sizeof(socket->reason), "%s", reason);
}

/* Node i is 10.0.0.(i + 1). */
static int node_of(const char *host)
{
    static const char network[] = "10.0.0.";
    HF_ASSERT(strncmp(host, network, sizeof(network) - 1) == 0);
    return (int)strtol(host + sizeof(network) - 1, NULL, 10) - 1;
}

void hf_socket_start(struct hf_socket *socket,
                     const struct hf_socket_target *target,
                     struct hf_span timeout, struct hf_instant now)
{
    struct hf_loop *loop = socket->loop;
    unsigned at = 0;
    HF_ASSERT(socket->state == HF_SOCKET_CLOSED);
    while (loop->sockets[at] != NULL) {
        at++;
        HF_ASSERT(at < LINKS_MAX);
    }
    socket->target = *target;
    socket->reason[0] = '\0';
    socket->state = HF_SOCKET_CONNECTING;
    socket->give_up = hf_instant_add(now, timeout);
    socket->is_ended = false;
    socket->tls =
        sim_link_connect(loop->process, node_of(target->host), socket);
    loop->sockets[at] = socket;
    loop->n_sockets = at < loop->n_sockets ? loop->n_sockets : at + 1;
}

void hf_socket_expire(struct hf_socket *socket, struct hf_instant now)
{
    (void)now;
    socket->give_up = HF_NEVER;
    if (socket->state == HF_SOCKET_CONNECTING) {
        fail(socket, "no answer");
    }
}

ssize_t hf_socket_read(struct hf_socket *socket, void *data, size_t len)
{
    struct sim_link *link = link_of(socket);
    HF_ASSERT(socket->state == HF_SOCKET_OPEN && len > 0);
    size_t n = link->inbox_len - link->inbox_at;
    n = n < len ? n : len;
    if (n == 0 && link->is_ended) {
        fail(socket, "the server closed the connection");
        return -1;
    }
    if (n > 0) {
        memcpy(data, link->inbox + link->inbox_at, n);
        link->inbox_at += n;
        link->down_read += n;
        sim_oracle_read(link->world->oracle, link);
    }
    if (link->inbox_at == link->inbox_len) {
        link->inbox_at = link->inbox_len = 0;
    }
    return (ssize_t)n;
}

ssize_t hf_socket_write(struct hf_socket *socket, const void *data, size_t len)
{
    HF_ASSERT(socket->state == HF_SOCKET_OPEN && len > 0);
    if (link_of(socket)->is_ended) {
        fail(socket, "broken: Connection reset by peer");
        return -1;
    }
    sim_link_write(link_of(socket), data, len);
    return (ssize_t)len;
}

/* A server of this world says nothing unasked. */
size_t hf_socket_read_last(struct hf_socket *socket, void *data, size_t len)
{
    (void)socket;
    (void)data;
    (void)len;
    return 0;
}

bool hf_socket_is_dead(const struct hf_socket *socket)
{
    return link_of(socket)->is_ended;
}

void hf_socket_close(struct hf_socket *socket, bool quiet)
{
    (void)quiet;
    struct hf_loop *loop = socket->loop;
    for (unsigned i = 0; i < loop->n_sockets; i++) {
        if (socket->tls != NULL && loop->sockets[i] == socket) {
            loop->sockets[i] = NULL;
        }
    }
    if (socket->tls != NULL) {
        sim_link_close(link_of(socket));
        socket->tls = NULL;
    }
    socket->state = HF_SOCKET_CLOSED;
    socket->give_up = HF_NEVER;
    socket->is_ended = false;
}
