/* SPDX-License-Identifier: Apache-2.0 */
/* A waiter whose entry has the number of another one, call by call: it waits
 * for that, reports it as the holder, and is granted the lock when it has
 * ended, by an answer that counts after all that it was told before. */
#include "store/ordered/ordered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OWNER "0123456789abcdef0123456789abcdef:"
#define NUMBER 5 /* of the created entry: a tie is another one with it */

static const struct hf_instant now = {1000000000};

struct hf_wire {
    struct hf_wire_call *call; /* a create under way; NULL: none */
};

static struct hf_wire server;
static struct hf_answer answer;
static unsigned answers;
static struct hf_ordered *store;
static struct hf_ordered_seat *seat;
static struct hf_ordered_session session;

static bool create(struct hf_wire *wire, const struct hf_wire_key *key,
                   enum hf_wire_when when, uint64_t revision,
                   struct hf_wire_call *call, struct hf_instant at)
{
    (void)key, (void)revision, (void)at;
    assert_int_equal(when, HF_WIRE_UNLESS_OWN);
    assert_null(wire->call);
    wire->call = call;
    return true;
}

static const struct hf_wire_ops wire_ops = {.create = create,
                                            .reads_by_id = true};

static void on_answer(void *client, const struct hf_answer *given)
{
    (void)client;
    answer = *given;
    answers++;
}

static int set_up(void **state)
{
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = "n",
                         .name_len = 1,
                         .owner = OWNER,
                         .owner_len = strlen(OWNER),
                         .queue_ms = 30000,
                         .ttl_ms = 30000};
    (void)state;
    server = (struct hf_wire){NULL};
    answers = 0;
    store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return -1;
    }
    store->env.answer = on_answer;
    store->wire = &server;
    store->wire_ops = &wire_ops;
    store->listed_each = 1;
    session = (struct hf_ordered_session){.phase = HF_ORDERED_OPEN,
                                          .id = {7},
                                          .renewed = now,
                                          .term = HF_WIRE_TERM_ANY,
                                          .n_seats = 1};
    seat = hf_ordered_seat_add(store, &ask);
    if (seat == NULL) {
        free(store);
        return -1;
    }
    seat->session = &session;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_ordered_place_free(seat);
    hf_ordered_seat_detach(seat);
    hf_ordered_seat_drop(store, seat);
    assert_int_equal(store->n_seats, 0);
    free(store->judged);
    free(store);
    return 0;
}

static void ask(void)
{
    seat->acquire = (struct hf_ordered_request){true, 1, now};
    hf_ordered_entry_create(store, seat, now);
}

/* Ours is the last of the list. */
static void list_of(size_t n, struct hf_wire_entry *entries)
{
    struct hf_wire_call *call = server.call;
    struct hf_wire_reply reply = {.sent = now,
                                  .term = HF_WIRE_TERM_ANY,
                                  .entries = entries,
                                  .n_entries = n};
    entries[n - 1] = (struct hf_wire_entry){
        .entry = {.number = NUMBER, .owner.session = {7}},
        .owner = {OWNER, strlen(OWNER)}};
    assert_non_null(call);
    server.call = NULL;
    call->done(call, &reply, now);
}

static void expect(enum hf_verdict verdict, uint64_t counter)
{
    assert_int_equal(answers, 1);
    assert_int_equal(answer.verdict, verdict);
    assert_true(answer.counter == counter);
    answers = 0;
}

static struct hf_wire_entry theirs(uint64_t number, const char *owner)
{
    return (struct hf_wire_entry){.entry = {.number = number},
                                  .owner = {owner, strlen(owner)},
                                  .id = {owner, strlen(owner)}};
}

static void it_waits_for_the_other_one(void **state)
{
    struct hf_wire_entry entries[3] = {theirs(NUMBER, "odd")};
    (void)state;
    ask();
    list_of(2, entries);
    expect(HF_VERDICT_QUEUED, NUMBER - 1);
    assert_int_equal(answer.ticket, NUMBER);
    assert_int_equal(answer.ahead, 1);
    assert_int_equal(answer.owner_len, 3);
    assert_memory_equal(answer.owner, "odd", 3);
    hf_ordered_place_free(seat);
    ask();
    list_of(1, entries);
    expect(HF_VERDICT_OK, NUMBER);
}

/* Far back, a heartbeat lists nothing. */
static void it_keeps_its_place(void **state)
{
    struct hf_wire_entry entries[3] = {theirs(3, "one"), theirs(NUMBER, "odd")};
    (void)state;
    ask();
    list_of(3, entries);
    expect(HF_VERDICT_QUEUED, NUMBER - 1);
    assert_memory_equal(answer.owner, "one", 3);
    assert_non_null(seat->place);
    seat->acquire = (struct hf_ordered_request){true, 1, now};
    hf_ordered_place_answer(store, seat);
    expect(HF_VERDICT_QUEUED, NUMBER - 1);
    assert_true(answer.is_as_before);
    hf_ordered_check(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_waits_for_the_other_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_keeps_its_place, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
