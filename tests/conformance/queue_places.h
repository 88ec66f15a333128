/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats of a waiter behind many (store/ordered/place.c), against a real
 * server: they read its own entry and the one that it waits for, and list when
 * either has changed. No watch tells of it: those here report nothing.
 *
 *     HF_TEST_URL=URL CMOCKA_MESSAGE_OUTPUT=TAP queue_places_etcd */
#ifndef HF_TESTS_CONFORMANCE_QUEUE_PLACES_H
#define HF_TESTS_CONFORMANCE_QUEUE_PLACES_H

#include "mark_wire.h"

struct queue_client {
    struct mark_wire wire;
    struct hf_wire_ops ops;
    struct hf_answer answer;
    bool is_answered;
};

static const struct hf_store_ops *queue_ops;

static void queue_on_answer(void *wire, const struct hf_answer *answer)
{
    struct queue_client *client = wire;
    assert_int_equal(answer->cookie, 7);
    client->answer = *answer;
    client->is_answered = true;
}

static void queue_on_push(void *wire, unsigned node, uint64_t cookie,
                          uint64_t counter)
{
    (void)wire, (void)node, (void)cookie, (void)counter;
}

static bool queue_refuses_watches;

static bool queue_watch(struct hf_wire *wire,
                        const struct hf_wire_watched *scope, void *user,
                        struct hf_instant now, struct hf_wire_watch **out)
{
    (void)scope, (void)user, (void)now;
    *out = queue_refuses_watches
               ? NULL
               : (struct hf_wire_watch *)(void *)wire; /* never looked at */
    return !queue_refuses_watches;
}

static void queue_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch)
{
    (void)wire, (void)watch;
}

static void queue_open(struct queue_client *client)
{
    mark_open(&client->wire, queue_ops);
    struct hf_ordered *store = client->wire.store;
    client->ops = *store->wire_ops;
    client->ops.watch = queue_watch;
    client->ops.unwatch = queue_unwatch;
    store->wire_ops = &client->ops;
    store->env.client = client;
    store->env.answer = queue_on_answer;
    store->env.push = queue_on_push;
    store->listed_each = 0; /* a queue of two is long */
}

static void queue_close(struct queue_client *client)
{
    mark_close(&client->wire, queue_ops);
}

static void queue_owner(char letter, char out[60])
{
    snprintf(out, 60, "%c123456789abcdef0123456789abcde0:host:1:1764000000",
             letter);
}

static struct hf_answer queue_ask(struct queue_client *client, char letter,
                                  enum hf_verb verb)
{
    struct hf_ordered *store = client->wire.store;
    char owner[60];
    queue_owner(letter, owner);
    struct hf_ask ask = {
        .cookie = 7,
        .verb = verb,
        .name = "places",
        .name_len = 6,
        .owner = owner,
        .owner_len = strlen(owner),
        .ttl_ms = verb == HF_VERB_ACQUIRE ? MARK_SESSION_S * 1000 : 0,
        .queue_ms = 30000};
    client->is_answered = false;
    hf_ordered_ask(store, &ask, hf_clock_now());
    hf_ordered_flush(store, hf_clock_now());
    mark_run(&client->wire, &client->is_answered);
    return client->answer;
}

static void queue_expect_as_before(struct queue_client *client, char letter,
                                   const struct hf_answer *former)
{
    struct hf_answer now = queue_ask(client, letter, HF_VERB_ACQUIRE);
    assert_int_equal(now.verdict, HF_VERDICT_QUEUED);
    assert_true(now.is_as_before);
    assert_int_equal(now.ahead, former->ahead);
    assert_int_equal(now.ticket, former->ticket);
    assert_int_equal(now.counter, former->counter);
}

/* By hand: the client does not know. */
static void queue_remove(struct queue_client *client, char letter)
{
    struct hf_ordered *store = client->wire.store;
    struct mark_call call = {.wire.done = mark_on_done};
    char owner[60];
    queue_owner(letter, owner);
    struct hf_ask ask = {.name = "places",
                         .name_len = 6,
                         .owner = owner,
                         .owner_len = strlen(owner)};
    struct hf_wire_key key = hf_ordered_key(hf_ordered_seat_find(store, &ask));
    assert_true(
        store->wire_ops->remove(store->wire, &key, &call.wire, hf_clock_now()));
    mark_run(&client->wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    assert_true(call.has_changed);
}

static void a_heartbeat_lists_when_something_has_changed(void **state)
{
    struct queue_client holder, waiters;
    (void)state;
    queue_open(&holder);
    queue_open(&waiters);
    assert_int_equal(queue_ask(&holder, 'a', HF_VERB_ACQUIRE).verdict,
                     HF_VERDICT_OK);
    struct hf_answer b = queue_ask(&waiters, 'b', HF_VERB_ACQUIRE);
    struct hf_answer c = queue_ask(&waiters, 'c', HF_VERB_ACQUIRE);
    assert_int_equal(b.verdict, HF_VERDICT_QUEUED);
    assert_int_equal(c.ahead, 2);
    assert_false(b.is_as_before || c.is_as_before);
    assert_false(b.is_unwatched || c.is_unwatched);
    for (int i = 0; i < 3; i++) {
        queue_expect_as_before(&waiters, 'b', &b);
        queue_expect_as_before(&waiters, 'c', &c);
    }
    queue_remove(&waiters, 'c');
    struct hf_answer again = queue_ask(&waiters, 'c', HF_VERB_ACQUIRE);
    assert_int_equal(again.verdict, HF_VERDICT_QUEUED);
    assert_false(again.is_as_before);
    assert_true(again.ticket > c.ticket);
    queue_expect_as_before(&waiters, 'c', &again);

    assert_int_equal(queue_ask(&holder, 'a', HF_VERB_RELEASE).verdict,
                     HF_VERDICT_OK);
    queue_expect_as_before(&waiters, 'c', &again); /* b is there yet */
    struct hf_answer granted = queue_ask(&waiters, 'b', HF_VERB_ACQUIRE);
    assert_int_equal(granted.verdict, HF_VERDICT_OK);
    assert_int_equal(granted.counter, b.ticket);
    queue_close(&holder);
    queue_close(&waiters);
}

/* Nothing else would begin one. */
static void without_a_watch_each_heartbeat_lists(void **state)
{
    struct queue_client holder, waiter;
    (void)state;
    queue_open(&holder);
    queue_open(&waiter);
    queue_refuses_watches = true;
    (void)queue_ask(&holder, 'a', HF_VERB_ACQUIRE);
    for (int i = 0; i < 3; i++) {
        struct hf_answer b = queue_ask(&waiter, 'b', HF_VERB_ACQUIRE);
        assert_int_equal(b.verdict, HF_VERDICT_QUEUED);
        assert_false(b.is_as_before);
        assert_true(b.is_unwatched);
    }
    queue_refuses_watches = false;
    struct hf_instant end =
        hf_instant_add(hf_clock_now(), hf_span_ms(MARK_PATIENCE_MS));
    while (!queue_ask(&waiter, 'b', HF_VERB_ACQUIRE).is_as_before) {
        assert_false(mark_is_over(end));
    }
    (void)queue_ask(&waiter, 'b', HF_VERB_RELEASE);
    (void)queue_ask(&holder, 'a', HF_VERB_RELEASE);
    queue_close(&holder);
    queue_close(&waiter);
}

static inline int queue_places_main(const struct hf_store_ops *ops)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_watch_each_heartbeat_lists),
        cmocka_unit_test(a_heartbeat_lists_when_something_has_changed),
    };
    (void)mark_wire_main;
    queue_ops = ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
