/* SPDX-License-Identifier: Apache-2.0 */
/* What a CREATE lists of a long queue (store/ordered/wire.h), at a real etcd: a
 * client reads the whole queue with its next heartbeat, which hides it. */
/* library: store-etcd-objects */
#include "store/etcd/etcd.h"

#include "mark_wire.h"

struct queue_call {
    struct hf_wire_call wire; /* first */
    bool is_done;
    enum hf_wire_outcome outcome;
    bool has_changed;
    size_t n_entries, n_unlisted;
    char owners[8]; /* the first letter of each, in order of their numbers */
};

static size_t count_below(const struct hf_wire_reply *reply, size_t entry)
{
    size_t n = 0;
    for (size_t i = 0; i < reply->n_entries; i++) {
        n +=
            reply->entries[i].entry.number < reply->entries[entry].entry.number;
    }
    return n;
}

static void on_listed(struct hf_wire_call *wire,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct queue_call *call = (struct queue_call *)(void *)wire;
    (void)now;
    call->is_done = true;
    call->outcome = reply->outcome;
    call->has_changed = reply->has_changed;
    call->n_entries = reply->n_entries;
    call->n_unlisted = reply->n_unlisted;
    assert_true(reply->n_entries < sizeof(call->owners));
    for (size_t i = 0; i < reply->n_entries; i++) {
        assert_true(reply->entries[i].owner.len > 0);
        call->owners[count_below(reply, i)] =
            *(const char *)reply->entries[i].owner.data;
    }
}

static struct queue_call create(struct mark_wire *wire, const char *name,
                                char letter, enum hf_mode mode)
{
    struct hf_ordered *store = wire->store;
    struct queue_call call = {.wire.done = on_listed};
    char owner[] = "0123456789abcdef0123456789abcde0:host:1:1764000000";
    owner[0] = letter;
    struct hf_wire_key key = {.name = {name, strlen(name)},
                              .session = wire->session,
                              .owner = {owner, sizeof(owner) - 1},
                              .mode = mode,
                              .ttl_s = MARK_SESSION_S};
    assert_true(store->wire_ops->create(store->wire, &key, HF_WIRE_UNLESS_OWN,
                                        0, &call.wire, hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    return call;
}

static struct queue_call list_until(struct mark_wire *wire, const char *name,
                                    uint64_t number)
{
    struct hf_ordered *store = wire->store;
    struct queue_call call = {.wire = {.done = on_listed, .until = number}};
    struct hf_bytes bytes = {name, strlen(name)};
    assert_true(
        store->wire_ops->list(store->wire, bytes, &call.wire, hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    return call;
}

static void open_wire(struct mark_wire *wire)
{
    struct mark_call call = {.wire.done = mark_on_done};
    mark_open(wire, &hf_store_etcd);
    struct hf_ordered *store = wire->store;
    assert_true(store->wire_ops->open(store->wire, MARK_SESSION_S, &call.wire,
                                      hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    memcpy(wire->session, call.session, sizeof(wire->session));
}

/* Their keys are in another order than their numbers. */
static void a_create_lists_the_first_and_the_one_before_it(void **state)
{
    static const char letters[] = "dfbace";
    static const char *const lists[] = {"d", "df", "dfb", "dba", "dac", "dce"};
    struct mark_wire wire;
    (void)state;
    open_wire(&wire);
    for (size_t i = 0; i < sizeof(letters) - 1; i++) {
        struct queue_call call =
            create(&wire, "queue", letters[i], HF_EXCLUSIVE);
        assert_true(call.has_changed);
        assert_string_equal(call.owners, lists[i]);
        assert_int_equal(call.n_entries + call.n_unlisted, i + 1);
    }
    mark_close(&wire, &hf_store_etcd);
}

/* One that may share waits for any before it. One that was there has all before
 * and behind it. */
static void other_creates_list_all(void **state)
{
    struct mark_wire wire;
    (void)state;
    open_wire(&wire);
    (void)create(&wire, "all", 'd', HF_EXCLUSIVE);
    (void)create(&wire, "all", 'f', HF_SHARED);
    (void)create(&wire, "all", 'b', HF_SHARED);
    (void)create(&wire, "all", 'a', HF_EXCLUSIVE);
    struct queue_call shared = create(&wire, "all", 'c', HF_SHARED);
    assert_true(shared.has_changed);
    assert_string_equal(shared.owners, "dfbac");
    assert_int_equal(shared.n_unlisted, 0);
    struct queue_call again = create(&wire, "all", 'a', HF_EXCLUSIVE);
    assert_false(again.has_changed);
    assert_string_equal(again.owners, "dfbac");
    assert_int_equal(again.n_unlisted, 0);
    mark_close(&wire, &hf_store_etcd);
}

static void a_list_ends_where_it_is_asked_to(void **state)
{
    struct mark_wire wire;
    (void)state;
    open_wire(&wire);
    for (const char *letter = "dfba"; *letter != '\0'; letter++) {
        (void)create(&wire, "part", *letter, HF_EXCLUSIVE);
    }
    assert_string_equal(list_until(&wire, "part", 0).owners, "dfba");
    assert_string_equal(list_until(&wire, "part", 1).owners, "");
    assert_string_equal(list_until(&wire, "part", UINT32_MAX).owners, "dfba");
    mark_close(&wire, &hf_store_etcd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_create_lists_the_first_and_the_one_before_it),
        cmocka_unit_test(other_creates_list_all),
        cmocka_unit_test(a_list_ends_where_it_is_asked_to),
    };
    (void)mark_wire_main; /* its cases are those of other files */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
