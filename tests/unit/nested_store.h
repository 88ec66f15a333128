/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a store with one node that grants everything; it can keep its
 * replies back, and set the clock forward when it is asked, so that a lease is
 * at risk or over while a call waits. on_state does with its lock what a test
 * asks for. For programs that are linked with --wrap=clock_gettime and
 * --wrap=hf_store_find. */
#ifndef HF_TESTS_NESTED_STORE_H
#define HF_TESTS_NESTED_STORE_H

#include "../lib/threads.h"
#include "local_clock.h"

#include "io/loop.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TTL_MS 8000     /* only jumps of the clock use it up */
#define AT_RISK_MS 4500 /* of a lease of TTL_MS */
#define SHORT_MS 150    /* less than half of the patience of each call */
#define REPLIES_MAX 64  /* that wait at a time: asserted */

/* A call that hangs ends the test, in seconds. */
#define HANGS_S 20

/* ---- The store --------------------------------------------------------- */

static struct {
    struct hf_store store;
    struct hf_store_env env;
    struct hf_timer timer;
    struct hf_answer replies[REPLIES_MAX];
    unsigned n;
    unsigned n_asked[16];  /* per verb, in this process */
    unsigned lets;         /* so many replies do not wait */
    bool is_mute;          /* the replies wait */
    enum hf_verb jumps_at; /* the next request of this kind … */
    int64_t jump;          /* … sets the clock forward; 0: none does */
    bool mutes;            /* … and makes the node mute */
    uint64_t fence;
    uint64_t marked;
} node;

static inline void reply(struct hf_timer *timer, struct hf_instant now)
{
    unsigned n = node.is_mute && node.lets < node.n ? node.lets : node.n;
    struct hf_answer replies[REPLIES_MAX];
    (void)now;
    hf_timer_set(timer, HF_NEVER);
    memcpy(replies, node.replies, sizeof(replies));
    node.n -= n;
    node.lets = 0;
    memmove(node.replies, node.replies + n, node.n * sizeof(node.replies[0]));
    for (unsigned i = 0; i < n; i++) {
        node.env.answer(node.env.client, &replies[i]);
    }
}

static inline void speak(void)
{
    node.is_mute = false;
    hf_timer_set(&node.timer, HF_LONG_AGO);
}

static inline void ask_node(struct hf_store *store, const struct hf_ask *ask,
                            struct hf_instant now)
{
    struct hf_answer answer = {.cookie = ask->cookie,
                               .verb = ask->verb,
                               .verdict = HF_VERDICT_OK,
                               .sent = now,
                               .counter = ask->counter};
    (void)store;
    node.n_asked[ask->verb]++;
    if (ask->verb == HF_VERB_ACQUIRE) {
        answer.counter = ++node.fence;
    }
    if (ask->verb == HF_VERB_MARK) {
        node.marked = ask->counter > 0 ? ask->counter : node.marked;
        answer.counter = node.marked;
        answer.owner = ask->owner_len > 0 ? "another" : NULL;
        answer.owner_len = ask->owner_len > 0 ? 7 : 0;
        answer.left_ms = ask->ttl_ms;
    }
    if (node.jump > 0 && ask->verb == node.jumps_at) {
        jump_ms(node.jump);
        node.jump = 0;
        node.is_mute = node.mutes;
    }
    assert_true(node.n < REPLIES_MAX);
    node.replies[node.n++] = answer;
    hf_timer_set(&node.timer,
                 node.is_mute && node.lets == 0 ? HF_NEVER : HF_LONG_AGO);
}

static const struct hf_store_ops ops;

static inline enum hf_status
open_store(const struct hf_url *url, const struct hf_store_env *env,
           struct hf_store **out, struct hf_error *error)
{
    (void)url;
    (void)error;
    memset(&node, 0, sizeof(node));
    node.store = (struct hf_store){&ops, 1};
    node.env = *env;
    node.fence = 1000;
    node.timer = (struct hf_timer){.at = HF_NEVER, .fire = reply};
    hf_loop_add_timer(env->loop, &node.timer);
    *out = &node.store;
    env->status(env->client, 0, HF_NODE_STATUS_VOTING, false, HF_OK, NULL);
    return HF_OK;
}

static inline void close_store(struct hf_store *store, bool is_forked)
{
    (void)store;
    (void)is_forked;
    hf_loop_drop_timer(node.env.loop, &node.timer);
}

static inline void describe(const struct hf_store *store, unsigned i,
                            struct hf_instant now, struct hf_node *out)
{
    (void)store;
    (void)i;
    (void)now;
    memset(out, 0, sizeof(*out));
    out->health = HF_NODE_UP;
}

static const struct hf_store_ops ops = {
    .name = "nested",
    .capabilities = HF_CAP_RECORDS | HF_CAP_FENCES,
    .is_told = true, /* a detach asks the node, and waits */
    .retry_base = {1000},
    .retry_cap = {50000000},
    .open = open_store,
    .close = close_store,
    .ask = ask_node,
    .describe = describe,
};

enum hf_status __wrap_hf_store_find(const struct hf_url *url,
                                    const struct hf_store_ops **out,
                                    struct hf_error *error);

enum hf_status __wrap_hf_store_find(const struct hf_url *url,
                                    const struct hf_store_ops **out,
                                    struct hf_error *error)
{
    (void)url;
    (void)error;
    *out = &ops;
    return HF_OK;
}

/* ---- The scene --------------------------------------------------------- */

enum inner {
    NOTHING,
    RELEASE,
    START_RELEASE,
    EXTEND,
    DETACH,
    ADD_PROCESS,
    FORK
};

static struct scene {
    struct hf_client *client;
    enum inner inner; /* what on_state does with its lock */
    enum hf_status status;
    unsigned told;
    enum hf_state last;
    struct hf_lock *lock; /* as on_done got it */
    unsigned done;
    bool is_child;
    bool closes; /* in the child */
} on;

static inline void fork_here(void)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    on.is_child = pid == 0;
    if (on.is_child) {
        alarm(HANGS_S);
        memset(node.n_asked, 0, sizeof(node.n_asked));
    }
    if (on.is_child && on.closes) {
        hf_client_close(on.client);
    }
}

static inline void act(struct hf_lock *lock)
{
    char text[HF_OWNER_TEXT_MAX];
    switch (on.inner) {
    case RELEASE:
        on.status = hf_lock_release(lock);
        break;
    case START_RELEASE:
        hf_op_start_release(lock, NULL, NULL);
        break;
    case EXTEND:
        on.status = hf_lock_extend(lock, 0, NULL);
        break;
    case DETACH:
        on.status = hf_lock_detach(lock, text);
        break;
    case ADD_PROCESS:
        on.status = hf_lock_add_process(lock, getpid());
        break;
    case FORK:
        fork_here();
        break;
    case NOTHING:
        break;
    }
}

static inline void on_state(void *user, struct hf_lock *lock,
                            enum hf_state state)
{
    (void)user;
    if (state == HF_STATE_HELD) {
        return; /* again */
    }
    on.told++;
    on.last = state;
    speak();
    act(lock);
}

static inline int opens_in(enum hf_thread_mode mode)
{
    struct hf_client_options options;
    alarm(HANGS_S);
    memset(&on, 0, sizeof(on));
    on.status = HF_INTERNAL;
    hf_client_options_init(&options);
    options.thread = mode;
    options.on_state = on_state;
    return hf_client_open("local:?node_timeout=5s", &options, &on.client,
                          NULL) == HF_OK
               ? 0
               : -1;
}

static inline int opens(void **state)
{
    (void)state;
    return opens_in(HF_THREAD_NONE);
}

static inline int opens_auto(void **state)
{
    (void)state;
    return opens_in(HF_THREAD_AUTO);
}

static inline int closes(void **state)
{
    (void)state;
    hf_client_close(on.client);
    return 0;
}

static inline struct hf_request want(void)
{
    struct hf_request request;
    hf_request_init(&request, "job");
    request.ttl_ms = TTL_MS;
    request.wait_ms = 10 * TTL_MS;
    return request;
}

/* Returns when the library's thread has begun, and sleeps: on a loaded machine
 * it would act on the clock that the test moves and the reply that it prepares.
 */
static inline struct hf_lock *take(void)
{
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    assert_int_equal(hf_lock_acquire(on.client, &request, &lock, NULL), HF_OK);
    while (!others_sleep()) { /* alarm() ends a test that hangs */
        usleep(1000);         /* sleeps: step of a loop */
    }
    return lock;
}

static inline void jump_at(enum hf_verb verb, int64_t ms, bool mutes)
{
    node.jumps_at = verb;
    node.jump = ms;
    node.mutes = mutes;
}

/* The state of the lock changes `at_ms` after its renewal: while the next call
 * waits for its reply, and before that call gives up. */
static inline void change_in_call(enum hf_verb verb, int64_t at_ms, bool mutes)
{
    jump_ms(at_ms - SHORT_MS);
    jump_at(verb, 2 * SHORT_MS, mutes);
}

/* It is at risk while hf_lock_extend() waits, and on_state does `inner`. */
static inline enum hf_status extend(struct hf_lock *lock, enum inner inner)
{
    on.inner = inner;
    change_in_call(HF_VERB_CONFIRM, TTL_MS / 2, true);
    enum hf_status status = hf_lock_extend(lock, 0, NULL);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.last, HF_STATE_AT_RISK);
    return status;
}

#endif
