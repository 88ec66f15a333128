/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers in one queue, on the store in HF_TEST_URL. */
#include "client_cast.h"

static void test_readers_and_a_writer(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *first = enter();
    struct actor *second = enter();
    struct actor *writer = enter();
    struct actor *third = enter();
    struct actor *fourth = enter();
    ask_shared(first, name);
    await(first);
    ask_shared(second, name);
    await(second); /* together with the first */
    ask(writer, name);
    await_queued(writer, name, 1);
    ask_shared(third, name); /* after the writer, although a reader could join
                                now */
    await_queued(third, name, 2);
    ask_shared(fourth, name);
    await_queued(fourth, name, 3);
    give_back(first);
    linger(30);
    assert_false(writer->is_done);
    uint64_t fence = hf_lock_fence(second->lock);
    give_back(second);
    await(writer);
    assert_true(hf_lock_fence(writer->lock) > fence);
    assert_false(third->is_done);
    fence = hf_lock_fence(writer->lock);
    give_back(writer);
    await(third);
    await(fourth); /* granted together: the third has not released */
    assert_true(hf_lock_fence(third->lock) > fence);
    assert_true(hf_lock_fence(fourth->lock) > fence);
    give_back(third);
    give_back(fourth);
    await_unused(name);
}

static void test_writer_under_a_stream_of_readers(void **state)
{
    (void)state;
    enum { READERS = 5 };
    const char *name = fresh_name();
    struct actor *readers[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = enter();
        ask_shared(readers[i], name);
        await(readers[i]);
    }
    struct actor *writer = enter();
    ask(writer, name);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int reads = 0;
    bool has_place = false;
    for (int i = 0; !writer->is_done && now_ms() < end_ms;
         i = (i + 1) % READERS) {
        if (readers[i]->is_done) {
            give_back(readers[i]);
            ask_shared(readers[i], name); /* again at once */
            reads += has_place;
        }
        turn_for(1);
        has_place = has_place || places(name) > 0;
    }
    assert_true(writer->is_done);
    assert_true(reads <= 2 * READERS); /* the ones before it, and no more */
    for (int i = 0; i < READERS; i++) {
        assert_false(readers[i]->is_done);
    }
    give_back(writer);
    for (int i = 0; i < READERS; i++) {
        await(readers[i]);
        give_back(readers[i]);
    }
    await_unused(name);
}

static void test_cancelled_writer_lets_readers_in(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *reader = enter();
    struct actor *writer = enter();
    struct actor *behind = enter();
    ask_shared(reader, name);
    await(reader);
    ask(writer, name);
    await_queued(writer, name, 1);
    ask_shared(behind, name);
    await_queued(behind, name, 2);
    hf_op_cancel(writer->op);
    writer->op = NULL;
    await(behind);
    give_back(reader);
    give_back(behind);
    await_unused(name);
}

static void on_no_end(void *user, struct hf_lock *lock, enum hf_status status,
                      const struct hf_error *error)
{
    (void)user, (void)lock, (void)status, (void)error;
    fail();
}

/* A name of several readers has no one place for a reservation: the lock is not
 * released, and the caller knows. */
static void refuse_reservation(struct hf_client *client, struct hf_lock *lock,
                               const char *name)
{
    assert_int_equal(hf_lock_release_reserved(lock, 1500), HF_INVALID);
    assert_int_equal(hf_op_start_release_reserved(lock, 1500, on_no_end, NULL),
                     HF_INVALID);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(try_take(client, name, NULL), HF_BUSY);
    assert_int_equal(hf_lock_release_reserved(lock, 0), HF_OK);
    assert_free(client, name);
}

static void test_reader_is_not_reserved(void **state)
{
    (void)state;
    char several[80];
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_request request = want(name, LEASE_MS, PATIENCE_MS);
    struct hf_lock *lock = NULL;
    request.mode = HF_SHARED;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    refuse_reservation(client, lock, name);
    snprintf(several, sizeof(several), "%s.b", name);
    struct hf_name more = {several, strlen(several), HF_SHARED};
    request.mode = HF_EXCLUSIVE;
    request.more = &more;
    request.n_more = 1;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    refuse_reservation(client, lock, name);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_readers_and_a_writer),
        TEST(test_writer_under_a_stream_of_readers),
        TEST(test_cancelled_writer_lets_readers_in),
        cmocka_unit_test(test_reader_is_not_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
