/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=hf_socket_start,--wrap=hf_socket_expire */
/* link: -Wl,--wrap=hf_socket_read,--wrap=hf_socket_write */
/* link: -Wl,--wrap=hf_socket_is_dead,--wrap=hf_socket_close */
/* link: -Wl,--wrap=hf_entropy,--wrap=hf_clock_now,--wrap=hf_clock_wall_s */
/* with: redis_fake.c */
/* with: redis_server.c */
/* The shipped Redis store, against servers that may send any bytes. Its sockets
 * are in memory (redis_fake.c) and its clock is the target's; all code between
 * is real: handshake, INFO, marker, replies, the second connection, timers.
 *
 * The input is a list of moves (enum move): bytes from a server, a valid reply
 * (redis_server.c), a request of the client, a broken connection, time that
 * passes. The store must keep the promises of store.h: it answers each request
 * exactly once, reports no value out of bounds, one plain line for each reason,
 * and no invalid fence. */
#include "redis_fake.h"

#include "core/limits.h"
#include "store/store.h"

#define ASKS_MAX 64
#define MOVES_MAX 400

enum move {
    MOVE_HONEST,
    MOVE_HONEST_LISTENER,
    MOVE_BYTES,
    MOVE_BYTES_LISTENER,
    MOVE_ARRAY,
    MOVE_QUEUE,
    MOVE_GRANT,
    MOVE_ASK,
    MOVE_TIME,
    MOVE_HANG_UP,
    MOVE_HANG_UP_LISTENER,
    MOVE_MOOD,
    MOVE_JOB,
    MOVE_DESCRIBE,
    MOVE_CANCEL,
    MOVES
};

static struct client {
    struct hf_store *store;
    struct {
        bool is_open;
        enum hf_verb verb;
        uint8_t node;
    } asks[ASKS_MAX];
    unsigned n_asks;
    unsigned n_open;
    unsigned again; /* requests to send from inside callbacks */
    bool is_asking; /* ask() is running: it must not be called again */
    bool hears[HF_NODES_MAX];
    unsigned n_jobs; /* that have not ended */
} client;

static void check_plain(const char *text)
{
    FUZZ_CHECK(text != NULL && fuzz_is_plain(text));
}

/* Read every byte, so that a sanitizer checks them. */
static unsigned touch(const void *data, size_t len)
{
    unsigned sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += ((const unsigned char *)data)[i];
    }
    return sum;
}

static volatile unsigned touched;

/* ---- Requests of the client -------------------------------------------- */

static void ask(uint8_t what, uint8_t node)
{
    static const char owner[] = "0123456789abcdef0123456789abcdef:h:1:2";
    enum hf_verb verb = (enum hf_verb)(what % (HF_VERB_SCAN + 1));
    if (client.n_asks == ASKS_MAX) {
        return;
    }
    bool is_scan = verb == HF_VERB_SCAN;
    struct hf_ask one = {
        .cookie = client.n_asks,
        .verb = verb,
        .node = node,
        .reacquires = (what & 16) != 0,
        .name = is_scan ? "j*" : "job",
        .name_len = is_scan ? 2 : 3,
        .owner = owner,
        .owner_len = sizeof(owner) - 1,
        .ttl_ms = 30000,
        .counter = what,
        .is_shared = (what & 32) != 0,
        .permits = (what & 32) != 0 ? 3 : 0,
        .queue_ms = (what & 64) != 0 ? 6000 : 0,
    };
    client.asks[client.n_asks].is_open = true;
    client.asks[client.n_asks].verb = verb;
    client.asks[client.n_asks].node = node;
    client.n_asks++;
    client.n_open++;
    client.is_asking = true;
    client.store->ops->ask(client.store, &one, fake_now());
    client.is_asking = false;
}

/* ---- Callbacks of the store -------------------------------------------- */

static void check_seats(const struct hf_answer *answer)
{
    for (size_t i = 0; i < answer->n_seats; i++) {
        const struct hf_seat *seat = &answer->seats[i];
        touched += touch(seat->owner, seat->owner_len);
    }
    for (size_t i = 0; i < answer->n_names; i++) {
        touched += touch(answer->names[i].data, answer->names[i].len);
        FUZZ_CHECK(answer->names[i].len > 0);
    }
}

static bool is_lease_verb(enum hf_verb verb)
{
    return verb <= HF_VERB_YIELD;
}

static void on_answer(void *user, const struct hf_answer *answer)
{
    (void)user;
    FUZZ_CHECK(answer->cookie < client.n_asks);
    FUZZ_CHECK(client.asks[answer->cookie].is_open);
    FUZZ_CHECK(client.asks[answer->cookie].verb == answer->verb);
    FUZZ_CHECK(client.asks[answer->cookie].node == answer->node);
    client.asks[answer->cookie].is_open = false;
    client.n_open--;
    FUZZ_CHECK(answer->sent.ns <= fake_now().ns);
    FUZZ_CHECK(answer->verdict <= HF_VERDICT_ERROR);
    if (answer->verdict >= HF_VERDICT_UNSENT) {
        FUZZ_CHECK(answer->fault != HF_OK);
        check_plain(answer->reason);
    } else if (is_lease_verb(answer->verb)) {
        FUZZ_CHECK(answer->counter <= HF_FENCE_MAX);
        FUZZ_CHECK(answer->floor <= HF_FENCE_MAX);
    }
    if (answer->verdict == HF_VERDICT_OK && answer->verb <= HF_VERB_CONFIRM) {
        FUZZ_CHECK(answer->counter > 0);
    }
    FUZZ_CHECK(answer->owner != NULL || answer->owner_len == 0);
    touched += touch(answer->owner, answer->owner_len);
    check_seats(answer);
    if (client.again > 0 && !client.is_asking) {
        client.again--;
        ask((uint8_t)client.again, answer->node);
    }
}

static void on_status(void *user, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    (void)user;
    (void)is_reset;
    FUZZ_CHECK(client.store == NULL || node < client.store->n_nodes);
    FUZZ_CHECK(status <= HF_NODE_STATUS_DOWN);
    FUZZ_CHECK((status == HF_NODE_STATUS_VOTING) == (fault == HF_OK));
    check_plain(reason);
}

static void on_push(void *user, unsigned node, uint64_t cookie,
                    uint64_t counter)
{
    (void)user;
    (void)cookie;
    FUZZ_CHECK(!client.is_asking && client.hears[node]);
    FUZZ_CHECK(counter > 0 && counter <= HF_FENCE_MAX);
}

static void on_listen(void *user, unsigned node, bool is_listening)
{
    (void)user;
    FUZZ_CHECK(!client.is_asking && client.hears[node] != is_listening);
    client.hears[node] = is_listening;
}

static void on_log(void *user, enum hf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    check_plain(text);
}

static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    (void)user;
    FUZZ_CHECK(severity <= HF_FINDING_ERROR && node >= 0);
    check_plain(text);
}

static void on_done(void *user, unsigned node, enum hf_status status,
                    const char *reason)
{
    (void)user;
    (void)status;
    FUZZ_CHECK(node < client.store->n_nodes);
    check_plain(reason);
    client.n_jobs++;
}

/* ---- Moves ------------------------------------------------------------- */

static void start_job(uint8_t node, uint8_t what)
{
    static const struct hf_job_sink sink = {NULL, on_finding, on_done};
    client.store->ops->job(client.store, node,
                           (enum hf_job)(what % (HF_JOB_LOOK + 1)), &sink);
}

static void describe(unsigned node)
{
    struct hf_node out;
    client.store->ops->describe(client.store, node, fake_now(), &out);
    check_plain(out.address);
    check_plain(out.reason);
}

static void move_bytes(struct fuzz_input *in, unsigned node, bool listens)
{
    size_t len = fuzz_u8(in);
    const uint8_t *bytes = fuzz_bytes(in, &len);
    fake_say(client.store, node, listens, bytes, len);
}

static void move(struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    enum move kind = (enum move)(what % MOVES);
    uint8_t node = (uint8_t)(what / MOVES % client.store->n_nodes);
    switch (kind) {
    case MOVE_HONEST:
    case MOVE_HONEST_LISTENER:
        fake_answer(client.store, node, kind == MOVE_HONEST_LISTENER);
        break;
    case MOVE_BYTES:
    case MOVE_BYTES_LISTENER:
        move_bytes(in, node, kind == MOVE_BYTES_LISTENER);
        break;
    case MOVE_ARRAY:
        fake_say_array(client.store, node, in);
        break;
    case MOVE_QUEUE:
        fake_say_queue(client.store, node, in);
        break;
    case MOVE_GRANT:
        fake_say_grant(client.store, node, in);
        break;
    case MOVE_ASK:
        ask(fuzz_u8(in), node);
        client.store->ops->flush(client.store, fake_now());
        break;
    case MOVE_TIME:
        fake_pass(fuzz_u8(in));
        break;
    case MOVE_HANG_UP:
    case MOVE_HANG_UP_LISTENER:
        fake_hang_up(client.store, node, kind == MOVE_HANG_UP_LISTENER);
        break;
    case MOVE_MOOD:
        fake_mood(fuzz_u8(in));
        client.again = what & 3;
        break;
    case MOVE_JOB:
        start_job(node, fuzz_u8(in));
        break;
    case MOVE_DESCRIBE:
        describe(node);
        break;
    case MOVE_CANCEL:
    case MOVES:
        client.store->ops->job_cancel(client.store);
        break;
    }
}

/* All connections break: every pending request must be answered then. */
static void end(void)
{
    client.again = 0;
    for (unsigned node = 0; node < client.store->n_nodes; node++) {
        fake_hang_up(client.store, node, false);
        fake_hang_up(client.store, node, true);
    }
    fake_pass(200);
    fake_pass(200);
    FUZZ_CHECK(client.n_open == 0);
    client.store->ops->close(client.store, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const urls[] = {"redis://h",
                                       "redis://u:p@a,b,c/2?max_ttl=5s",
                                       "redis://:p@h?quarantine=off"};
    struct fuzz_input in = {data, size};
    struct hf_url *url = NULL;
    struct hf_error error;
    memset(&client, 0, sizeof(client));
    uint8_t what = fuzz_u8(&in);
    struct hf_store_env env = {.loop = fake_begin(),
                               .answer = on_answer,
                               .status = on_status,
                               .push = on_push,
                               .listen = on_listen,
                               .log = on_log};
    FUZZ_CHECK(hf_url_parse(urls[what % 3], NULL, &url, &error) == HF_OK);
    FUZZ_CHECK(hf_store_redis.open(url, &env, &client.store, &error) == HF_OK);
    hf_url_free(url);
    fake_pass(0);
    for (unsigned i = 0; in.left > 0 && i < MOVES_MAX; i++) {
        move(&in);
    }
    end();
    return 0;
}
