/* SPDX-License-Identifier: Apache-2.0 */
/* Many clients in one process, run by one loop, with the state of each: asking,
 * waiting, and when it was granted the lock. */
#ifndef CLIENT_CAST_H
#define CLIENT_CAST_H

#include "client_world.h"

/* Clients of one test: enter() asserts that they suffice. */
#define ACTORS_MAX 24

/* How long a place in a queue lasts, and a grant that is not confirmed. A test
 * that took less did not wait for such an expiry. */
#define CLAIM_MS 6000

struct actor {
    struct hf_client *client;
    struct hf_op *op;
    struct hf_lock *lock;
    enum hf_status status;
    bool is_done;
    int turn; /* position in the order of the grants */
    char error[200];
};

struct cast {
    struct actor actors[ACTORS_MAX];
    int n;
    int turns;
};

static struct cast cast;

static inline int open_cast(void **state)
{
    (void)state;
    memset(&cast, 0, sizeof(cast));
    return 0;
}

static inline struct actor *enter(void)
{
    assert_true(cast.n < ACTORS_MAX);
    struct actor *actor = &cast.actors[cast.n++];
    actor->client = open_mode(HF_THREAD_NONE);
    return actor;
}

static inline int close_cast(void **state)
{
    (void)state;
    for (int i = 0; i < cast.n; i++) {
        hf_client_close(cast.actors[i].client);
    }
    cast.n = 0;
    return 0;
}

static inline void on_done(void *user, struct hf_lock *lock,
                           enum hf_status status, const struct hf_error *error)
{
    struct actor *actor = user;
    actor->lock = lock;
    actor->status = status;
    actor->op = NULL;
    actor->is_done = true;
    actor->turn = cast.turns++;
    snprintf(actor->error, sizeof(actor->error), "%.199s", error->text);
}

/* One turn of the loop for all. */
static inline void turn_for(int64_t ms)
{
    struct pollfd fds[ACTORS_MAX];
    for (int i = 0; i < cast.n; i++) {
        fds[i] = (struct pollfd){.fd = hf_client_fd(cast.actors[i].client),
                                 .events = POLLIN};
    }
    poll(fds, (nfds_t)cast.n, ms < 0 ? 0 : (int)ms);
    for (int i = 0; i < cast.n; i++) {
        hf_client_process(cast.actors[i].client);
    }
}

static inline void ask_with(struct actor *actor,
                            const struct hf_request *request)
{
    struct hf_error error;
    actor->is_done = false;
    actor->lock = NULL;
    assert_int_equal(hf_op_start_acquire(actor->client, request, on_done, actor,
                                         &actor->op, &error),
                     HF_OK);
}

static inline void ask(struct actor *actor, const char *name)
{
    struct hf_request request = want(name, 10000, HF_WAIT_FOREVER);
    ask_with(actor, &request);
}

static inline void ask_shared(struct actor *actor, const char *name)
{
    struct hf_request request = want(name, 10000, HF_WAIT_FOREVER);
    request.mode = HF_SHARED;
    ask_with(actor, &request);
}

static inline bool is_queued(struct actor *actor)
{
    struct hf_waiting *waiting;
    bool is = !actor->is_done && hf_op_waiting(actor->op, &waiting);
    if (is) {
        hf_waiting_free(waiting);
    }
    return is;
}

/* Wait until it has its place: the clients enqueue one by one. */
static inline int places(const char *name);

static inline void await_queued(struct actor *actor, const char *name,
                                int waiting)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_queued(actor) || places(name) < waiting) {
        if (now_ms() > end_ms) {
            fail_msg("not queued: %d of %d places (%s)", places(name), waiting,
                     actor->error);
        }
        turn_for(5);
    }
}

static inline void await(struct actor *actor)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!actor->is_done) {
        if (now_ms() > end_ms) {
            fail_msg("actor %d was not served", (int)(actor - cast.actors));
        }
        turn_for(20);
    }
    if (actor->status != HF_OK) {
        fail_msg("%s: %s", hf_status_name(actor->status), actor->error);
    }
}

static inline void linger(int64_t ms)
{
    int64_t end_ms = now_ms() + ms;
    while (now_ms() < end_ms) {
        turn_for(end_ms - now_ms());
    }
}

static inline void give_back(struct actor *actor)
{
    hf_op_start_release(actor->lock, NULL, NULL);
    actor->lock = NULL;
    turn_for(0);
}

/* ---- State of the nodes ------------------------------------------------ */

struct count {
    int waiting[HF_NODES_MAX];
    int holding[HF_NODES_MAX];
};

static inline bool count_place(void *user, const struct hf_queue_entry *place)
{
    struct count *count = user;
    bool waits = hf_queue_entry_is_waiting(place);
    count->waiting[hf_queue_entry_node(place)] += waits;
    count->holding[hf_queue_entry_node(place)] += !waits;
    return true;
}

static inline struct count look(const char *name)
{
    static struct hf_client *watcher;
    struct count count = {0};
    struct hf_error error;
    if (watcher == NULL) {
        watcher = open_client();
    }
    if (hf_client_queue(watcher, name, strlen(name), count_place, &count,
                        &error) != HF_OK) {
        fail_msg("queue: %s", error.text);
    }
    return count;
}

static inline int n_nodes(void)
{
    return cast.n > 0 ? hf_client_nodes(cast.actors[0].client) : 1;
}

/* How many wait at a majority of the nodes: a node that the holder did not
 * reach is granted to a waiter, which then waits at the others only. */
static inline int places(const char *name)
{
    struct count count = look(name);
    int most = 0;
    for (int i = 0; i < n_nodes(); i++) {
        int nodes = 0;
        for (int k = 0; k < n_nodes(); k++) {
            nodes += count.waiting[k] >= count.waiting[i];
        }
        if (nodes > n_nodes() / 2 && count.waiting[i] > most) {
            most = count.waiting[i];
        }
    }
    return most;
}

static inline void await_unused(const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (;;) {
        struct count count = look(name);
        int left = 0;
        for (int i = 0; i < HF_NODES_MAX; i++) {
            left += count.waiting[i] + count.holding[i];
        }
        if (left == 0) {
            return;
        }
        if (now_ms() > end_ms) {
            fail_msg("%d are still there", left);
        }
        turn_for(2);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_cast, close_cast)

#endif
