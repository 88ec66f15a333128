/* SPDX-License-Identifier: Apache-2.0 */
/* A try that is undone, as Consul's wire does it, whose deletion is lost on its
 * way (src/store/consul/doubts.c):
 *
 *     rival: created   one: created ──▶ undo ──╳   rival: removed
 *     one: create again ──▶ the key is still there ──▶ it holds nothing
 *
 * A server that has that deletion in its hands may execute it at any later
 * time, and it names the version of this key. A proxy loses it. Needs the port
 * of a server:
 *
 *     HF_TEST_PORT=PORT undo_wire_consul */
/* library: store-consul-objects */
#include "store/consul/consul.h"

#include "mark_wire.h"
#include "proxy.h"

struct undo_call {
    struct hf_wire_call wire; /* first */
    bool is_done;
    enum hf_wire_outcome outcome;
    size_t n_entries;
    uint64_t number; /* of the first of them; 0: there is none */
    uint64_t revision;
};

static void on_listed(struct hf_wire_call *wire,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct undo_call *call = (struct undo_call *)(void *)wire;
    (void)now;
    call->is_done = true;
    call->outcome = reply->outcome;
    call->revision = reply->revision;
    call->n_entries = reply->n_entries;
    call->number = reply->n_entries == 0 ? 0 : reply->entries[0].entry.number;
}

/* By way of a port of this host, with a session. */
static void open_wire(struct mark_wire *wire, const char *port)
{
    char url[100];
    struct mark_call opened = {.wire.done = mark_on_done};
    snprintf(url, sizeof(url),
             "consul://127.0.0.1%s?node_timeout=3s&connect_timeout=5s", port);
    assert_int_equal(setenv("HF_TEST_URL", url, 1), 0);
    mark_open(wire, &hf_store_consul);
    assert_true(wire->store->wire_ops->open(wire->store->wire, MARK_SESSION_S,
                                            &opened.wire, hf_clock_now()));
    mark_run(wire, &opened.is_done);
    memcpy(wire->session, opened.session, sizeof(wire->session));
}

static struct hf_wire_key key_of(const struct mark_wire *wire, const char *name)
{
    static const char owner[] =
        "0123456789abcdef0123456789abcdef:h:1:1764000000";
    return (struct hf_wire_key){.name = {name, strlen(name)},
                                .session = wire->session,
                                .owner = {owner, sizeof(owner) - 1},
                                .mode = HF_EXCLUSIVE,
                                .ttl_s = MARK_SESSION_S};
}

static struct undo_call create(struct mark_wire *wire, const char *name,
                               enum hf_wire_when when, uint64_t revision)
{
    struct hf_ordered *store = wire->store;
    struct hf_wire_key key = key_of(wire, name);
    struct undo_call call = {.wire.done = on_listed};
    assert_true(store->wire_ops->create(store->wire, &key, when, revision,
                                        &call.wire, hf_clock_now()));
    mark_run(wire, &call.is_done);
    return call;
}

static struct undo_call list(struct mark_wire *wire, const char *name)
{
    struct hf_ordered *store = wire->store;
    struct hf_bytes bytes = {name, strlen(name)};
    struct undo_call call = {.wire.done = on_listed};
    assert_true(
        store->wire_ops->list(store->wire, bytes, &call.wire, hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
    return call;
}

static void remove_key(struct mark_wire *wire, const char *name)
{
    struct hf_ordered *store = wire->store;
    struct hf_wire_key key = key_of(wire, name);
    struct undo_call call = {.wire.done = on_listed};
    assert_true(
        store->wire_ops->remove(store->wire, &key, &call.wire, hf_clock_now()));
    mark_run(wire, &call.is_done);
    assert_int_equal(call.outcome, HF_WIRE_DONE);
}

struct undo_scene {
    struct mark_wire rival, one;
    struct proxy proxy;
    uint64_t revision; /* before the key */
    uint64_t number;   /* of the key whose deletion was lost */
};

/* The key is alone, and its deletion is under way for ever. */
static void lose_undo(struct undo_scene *scene, const char *name)
{
    char port[20];
    snprintf(port, sizeof(port), ":%.10s", getenv("HF_TEST_PORT"));
    proxy_start(&scene->proxy, port);
    open_wire(&scene->rival, port);
    open_wire(&scene->one, scene->proxy.path);
    struct undo_call rival = create(&scene->rival, name, HF_WIRE_UNLESS_OWN, 0);
    assert_int_equal(rival.n_entries, 1);
    scene->revision = rival.revision;
    atomic_store(&scene->proxy.loses_undos, 1);
    struct undo_call lost =
        create(&scene->one, name, HF_WIRE_IF_SINCE, scene->revision);
    assert_int_equal(lost.outcome, HF_WIRE_LOST);
    assert_int_equal(atomic_load(&scene->proxy.loses_undos), 0);
    mark_wait_until_up(&scene->one);
    remove_key(&scene->rival, name);
    struct undo_call left = list(&scene->rival, name);
    assert_int_equal(left.n_entries, 1);
    scene->number = left.number;
}

static void end_scene(struct undo_scene *scene)
{
    mark_close(&scene->one, &hf_store_consul);
    mark_close(&scene->rival, &hf_store_consul);
    proxy_end(&scene->proxy);
}

static void a_try_does_not_hold_by_a_key_in_doubt(void **state)
{
    static struct undo_scene scene;
    (void)state;
    lose_undo(&scene, "try");
    struct undo_call again =
        create(&scene.one, "try", HF_WIRE_IF_SINCE, scene.revision);
    assert_int_equal(again.outcome, HF_WIRE_DONE);
    assert_int_equal(again.n_entries, 0); /* undone */
    again = create(&scene.one, "try", HF_WIRE_IF_FREE, 0);
    assert_int_equal(again.outcome, HF_WIRE_DONE);
    assert_int_equal(again.n_entries, 1);
    assert_true(again.number > scene.number);
    end_scene(&scene);
}

static void a_waiter_gets_another_key(void **state)
{
    static struct undo_scene scene;
    (void)state;
    lose_undo(&scene, "wait");
    struct undo_call again = create(&scene.one, "wait", HF_WIRE_UNLESS_OWN, 0);
    assert_int_equal(again.outcome, HF_WIRE_DONE);
    assert_int_equal(again.n_entries, 1);
    assert_true(again.number > scene.number);
    struct undo_call kept = create(&scene.one, "wait", HF_WIRE_UNLESS_OWN, 0);
    assert_int_equal(kept.outcome, HF_WIRE_DONE);
    assert_true(kept.number == again.number);
    end_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_try_does_not_hold_by_a_key_in_doubt),
        cmocka_unit_test(a_waiter_gets_another_key),
    };
    (void)mark_wire_main;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
