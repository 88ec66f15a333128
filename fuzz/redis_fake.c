/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets and clocks in memory; redis_server.c writes the replies. */
#include "redis_fake.h"

#include "io/clock.h"
#include "io/socket.h"
#include "store/redis/node.h"

#define PEERS_MAX (2 * HF_NODES_MAX)

/* Rounds of timers at one instant: more means an endless loop. */
#define ROUNDS_MAX 100

enum mood {
    MOOD_FAILS = 1,
    MOOD_IS_LATE = 2,
    MOOD_SWALLOWS = 4,
    MOOD_SIPS = 8,
    MOOD_LOOKS_DEAD = 16,
    MOOD_DRIPS = 32
};

/* The server's end of a socket. */
struct peer {
    struct hf_socket *socket;
    const char *data;
    size_t left;
    bool is_gone;
};

static struct {
    struct hf_loop *loop;
    struct hf_instant now;
    uint64_t entropy;
    uint8_t mood;
    struct peer peers[PEERS_MAX];
} fake;

/* ---- The clock, and random numbers ------------------------------------- */

struct hf_instant __wrap_hf_clock_now(void);
int64_t __wrap_hf_clock_wall_s(void);
void __wrap_hf_entropy(void *out, size_t len);

struct hf_instant __wrap_hf_clock_now(void)
{
    return fake.now;
}

int64_t __wrap_hf_clock_wall_s(void)
{
    return 1700000000 + fake.now.ns / 1000000000;
}

void __wrap_hf_entropy(void *out, size_t len)
{
    unsigned char *at = out;
    for (size_t i = 0; i < len; i++) {
        fake.entropy = fake.entropy * UINT64_C(6364136223846793005) + 1;
        at[i] = (unsigned char)(fake.entropy >> 56);
    }
}

struct hf_instant fake_now(void)
{
    return fake.now;
}

struct hf_loop *fake_begin(void)
{
    if (fake.loop == NULL) {
        fake.loop = hf_loop_new();
        FUZZ_CHECK(fake.loop != NULL);
    }
    fake.now.ns = 1000 * INT64_C(1000000000);
    fake.entropy = 1;
    fake.mood = 0;
    memset(fake.peers, 0, sizeof(fake.peers));
    return fake.loop;
}

void fake_mood(uint8_t mood)
{
    fake.mood = mood;
}

static bool is_mood(enum mood mood)
{
    return (fake.mood & (unsigned)mood) != 0;
}

/* ---- Sockets ----------------------------------------------------------- */

void __wrap_hf_socket_start(struct hf_socket *socket,
                            const struct hf_socket_target *target,
                            struct hf_span timeout, struct hf_instant now);
void __wrap_hf_socket_expire(struct hf_socket *socket, struct hf_instant now);
ssize_t __wrap_hf_socket_read(struct hf_socket *socket, void *data, size_t len);
ssize_t __wrap_hf_socket_write(struct hf_socket *socket, const void *data,
                               size_t len);
bool __wrap_hf_socket_is_dead(const struct hf_socket *socket);
void __wrap_hf_socket_close(struct hf_socket *socket, bool quiet);

static struct peer *peer_of(const struct hf_socket *socket)
{
    for (size_t i = 0; i < PEERS_MAX; i++) {
        if (fake.peers[i].socket == socket) {
            return &fake.peers[i];
        }
    }
    return NULL;
}

static void fail(struct hf_socket *socket, const char *reason)
{
    socket->state = HF_SOCKET_FAILED;
    socket->give_up = HF_NEVER;
    snprintf(socket->reason, sizeof(socket->reason), "%s", reason);
}

void __wrap_hf_socket_start(struct hf_socket *socket,
                            const struct hf_socket_target *target,
                            struct hf_span timeout, struct hf_instant now)
{
    struct peer *peer = peer_of(NULL);
    FUZZ_CHECK(socket->state == HF_SOCKET_CLOSED && peer_of(socket) == NULL);
    FUZZ_CHECK(peer != NULL && now.ns == fake.now.ns);
    socket->target = *target;
    *peer = (struct peer){.socket = socket};
    socket->state =
        is_mood(MOOD_IS_LATE) ? HF_SOCKET_CONNECTING : HF_SOCKET_OPEN;
    socket->give_up =
        is_mood(MOOD_IS_LATE) ? hf_instant_add(now, timeout) : HF_NEVER;
    if (is_mood(MOOD_FAILS)) {
        fail(socket, "refused");
    }
}

void __wrap_hf_socket_expire(struct hf_socket *socket, struct hf_instant now)
{
    FUZZ_CHECK(!hf_instant_before(now, socket->give_up));
    fail(socket, "no address answered");
}

ssize_t __wrap_hf_socket_read(struct hf_socket *socket, void *data, size_t len)
{
    struct peer *peer = peer_of(socket);
    FUZZ_CHECK(peer != NULL && socket->state == HF_SOCKET_OPEN && len > 0);
    size_t n = peer->left < len ? peer->left : len;
    if (n > 0) {
        memcpy(data, peer->data, n);
        peer->data += n;
        peer->left -= n;
    } else if (peer->is_gone) {
        fail(socket, "the server closed the connection");
        return -1;
    }
    return (ssize_t)n;
}

ssize_t __wrap_hf_socket_write(struct hf_socket *socket, const void *data,
                               size_t len)
{
    const struct peer *peer = peer_of(socket);
    FUZZ_CHECK(peer != NULL && socket->state == HF_SOCKET_OPEN && len > 0);
    FUZZ_CHECK(data != NULL);
    if (is_mood(MOOD_SWALLOWS)) {
        return 0;
    }
    return (ssize_t)(is_mood(MOOD_SIPS) ? len / 2 + 1 : len);
}

bool __wrap_hf_socket_is_dead(const struct hf_socket *socket)
{
    FUZZ_CHECK(socket->state == HF_SOCKET_OPEN);
    return is_mood(MOOD_LOOKS_DEAD);
}

void __wrap_hf_socket_close(struct hf_socket *socket, bool quiet)
{
    struct peer *peer = peer_of(socket);
    (void)quiet;
    if (peer != NULL) {
        *peer = (struct peer){0};
    }
    socket->state = HF_SOCKET_CLOSED;
    socket->give_up = HF_NEVER;
    socket->is_ended = false;
}

/* ---- Faults and progress ----------------------------------------------- */

static struct hf_socket *socket_of(struct hf_store *store, unsigned node,
                                   bool listens)
{
    struct hf_redis *redis = (struct hf_redis *)(void *)store;
    return listens ? &redis->nodes[node].listener.connection.socket
                   : &redis->nodes[node].connection.socket;
}

void fake_say(struct hf_store *store, unsigned node, bool listens,
              const void *data, size_t len)
{
    struct hf_socket *socket = socket_of(store, node, listens);
    const char *at = data;
    while (len > 0 && socket->state == HF_SOCKET_OPEN) {
        size_t n = is_mood(MOOD_DRIPS) ? 1 : len;
        struct peer *peer = peer_of(socket);
        peer->data = at;
        peer->left = n;
        at += n;
        len -= n;
        socket->event(socket, fake.now);
    }
}

void fake_hang_up(struct hf_store *store, unsigned node, bool listens)
{
    struct hf_socket *socket = socket_of(store, node, listens);
    struct peer *peer = peer_of(socket);
    if (peer == NULL || socket->state == HF_SOCKET_FAILED) {
        return;
    }
    peer->is_gone = true;
    socket->is_ended = true;
    if (socket->state == HF_SOCKET_CONNECTING) {
        fail(socket, "refused");
    }
    socket->event(socket, fake.now);
}

static void connect_late(void)
{
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct hf_socket *socket = fake.peers[i].socket;
        if (socket != NULL && socket->state == HF_SOCKET_CONNECTING) {
            socket->state = HF_SOCKET_OPEN;
            socket->give_up = HF_NEVER;
            socket->event(socket, fake.now);
        }
    }
}

void fake_pass(unsigned amount)
{
    struct hf_instant end =
        hf_instant_add(fake.now, hf_span_ms((int64_t)amount * amount));
    unsigned rounds = 0;
    if (!is_mood(MOOD_IS_LATE)) {
        connect_late();
    }
    struct hf_instant next = hf_loop_next_timer(fake.loop);
    while (!hf_instant_before(end, next)) {
        rounds = hf_instant_before(fake.now, next) ? 0 : rounds + 1;
        FUZZ_CHECK(rounds < ROUNDS_MAX);
        fake.now = hf_instant_max(fake.now, next);
        hf_loop_dispatch(fake.loop, fake.now);
        next = hf_loop_next_timer(fake.loop);
    }
    fake.now = end;
}
