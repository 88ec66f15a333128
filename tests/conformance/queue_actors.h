/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of one thread that queue for the name "n", on real servers. */
#ifndef HF_TESTS_QUEUE_ACTORS_H
#define HF_TESTS_QUEUE_ACTORS_H

#include "proxy.h"
#include "redis_world.h"

#include <holdfast/holdfast.h>

#define ACTORS_MAX 8 /* clients of one test: twice those of the largest */

/* How long a place in a queue lasts, and a grant that is not confirmed. A test
 * that took less did not wait for such an expiry. */
#define CLAIM_MS 6000

/* A client without a thread, which turns() runs. */
struct actor {
    struct hf_client *client;
    struct hf_op *op;
    struct hf_lock *lock;
    bool is_done;
    enum hf_status status;
    int turn;
};

static struct actor actors[ACTORS_MAX];
static int n_actors;
static int n_turns;

static inline int64_t now_ms(void)
{
    return hf_clock_now().ns / 1000000;
}

static inline struct actor *enter(const char *url)
{
    struct hf_client_options options;
    struct hf_error error;
    struct actor *actor = &actors[n_actors++];
    memset(actor, 0, sizeof(*actor));
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(url, &options, &actor->client, &error) != HF_OK) {
        printf("Bail out! %s: %s\n", url, error.text);
        exit(1);
    }
    return actor;
}

static inline void leave_all(void)
{
    for (int i = 0; i < n_actors; i++) {
        hf_client_close(actors[i].client);
    }
    n_actors = 0;
    n_turns = 0;
}

static inline void on_done(void *user, struct hf_lock *lock,
                           enum hf_status status, const struct hf_error *error)
{
    struct actor *actor = user;
    (void)error;
    actor->lock = lock;
    actor->status = status;
    actor->is_done = true;
    actor->turn = n_turns++;
}

static inline void turns(int64_t ms)
{
    struct pollfd fds[ACTORS_MAX];
    for (int i = 0; i < n_actors; i++) {
        fds[i] = (struct pollfd){.fd = hf_client_fd(actors[i].client),
                                 .events = POLLIN};
    }
    poll(fds, (nfds_t)n_actors, (int)ms);
    for (int i = 0; i < n_actors; i++) {
        hf_client_process(actors[i].client);
    }
}

static inline void ask(struct actor *actor, enum hf_mode mode, int64_t ttl_ms)
{
    struct hf_request request;
    struct hf_error error;
    hf_request_init(&request, "n");
    request.ttl_ms = ttl_ms;
    request.wait_ms = HF_WAIT_FOREVER;
    request.mode = mode;
    request.liveness = HF_LIVENESS_LEASE;
    actor->is_done = false;
    if (hf_op_start_acquire(actor->client, &request, on_done, actor, &actor->op,
                            &error) != HF_OK) {
        printf("Bail out! %s\n", error.text);
        exit(1);
    }
}

/* Run until `is_so(user)`. @return whether that was reached. */
typedef bool condition_fn(void *user);

static inline bool until(condition_fn *is_so, void *user, int64_t for_ms)
{
    int64_t end_ms = now_ms() + for_ms;
    while (!is_so(user)) {
        if (now_ms() > end_ms) {
            return false;
        }
        turns(2);
    }
    return true;
}

static inline bool is_held(void *user)
{
    const struct actor *actor = user;
    return actor->is_done && actor->status == HF_OK;
}

static inline bool await(struct actor *actor)
{
    return until(is_held, actor, PATIENCE_MS);
}

static inline void give_back(struct actor *actor)
{
    hf_op_start_release(actor->lock, NULL, NULL);
    actor->lock = NULL;
    turns(0);
}

struct queue {
    struct server *server;
    long long length;
};

static inline bool is_long(void *user)
{
    const struct queue *queue = user;
    return told_number(queue->server, "ZCARD", "hf:{lock:n}:queue") ==
           queue->length;
}

static inline bool await_length(struct server *server, long long length)
{
    struct queue queue = {server, length};
    return until(is_long, &queue, PATIENCE_MS);
}

static inline bool is_clean(void *user)
{
    return strcmp(told(user, "EXISTS lock:n hf:{lock:n}:queue "
                             "hf:{lock:n}:waiters hf:{lock:n}:holders "
                             "hf:{lock:n}:votes"),
                  "0") == 0;
}

static inline void linger(int64_t ms)
{
    int64_t end_ms = now_ms() + ms;
    while (now_ms() < end_ms) {
        turns(2);
    }
}

static inline const char *url_with(const char *path, const char *node_timeout)
{
    static char url[300];
    snprintf(url, sizeof(url), "redis+unix://%s?quarantine=off&node_timeout=%s",
             path, node_timeout);
    return url;
}

static inline const char *url_of(const char *path)
{
    return url_with(path, "500ms");
}

#endif
