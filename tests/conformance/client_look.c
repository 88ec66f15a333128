/* SPDX-License-Identifier: Apache-2.0 */
/* Inspecting, listing, breaking, setting up. */
#include "client_world.h"

static void test_inspect(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_info *info = inspect(client, name);
    assert_int_equal(hf_info_nodes(info), hf_client_nodes(client));
    assert_int_equal(hf_holder_kind(hf_info_holder(info)), HF_HOLDER_NONE);
    assert_false(hf_info_is_split(info));
    for (int i = -1; i <= hf_info_nodes(info); i++) {
        const struct hf_holder *holder = hf_info_node_holder(info, i);
        bool is_node = i >= 0 && i < hf_info_nodes(info);
        assert_true(is_node || !hf_info_node_answered(info, i));
        assert_int_equal(hf_holder_kind(holder), HF_HOLDER_NONE);
        assert_int_equal(hf_info_node_waiting(info, i), 0);
    }
    hf_info_free(info);
    struct hf_request request = want(name, LEASE_MS, 0);
    struct hf_lock *lock;
    char owner[HF_OWNER_TEXT_MAX];
    request.label = "a: label, \xc3\xa4";
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    info = inspect(client, name);
    const struct hf_holder *holder = hf_info_holder(info);
    assert_int_equal(hf_holder_kind(holder), HF_HOLDER_HOLDFAST);
    assert_int_equal(hf_holder_pid(holder), getpid());
    assert_string_equal(hf_holder_label(holder), "a: label, \xc3\xa4");
    assert_int_equal(hf_holder_fence(holder), hf_lock_fence(lock));
    assert_in_range((unsigned long)hf_holder_remaining_ms(holder), 30000,
                    LEASE_MS);
    /* Not time(), which may lag the server's clock by some milliseconds. */
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    assert_in_range((unsigned long)hf_holder_since_s(holder),
                    (unsigned long)wall.tv_sec - 10,
                    (unsigned long)wall.tv_sec);
    hf_lock_owner(lock, owner);
    assert_memory_equal(hf_holder_owner(holder), owner,
                        strlen(hf_holder_owner(holder)));
    assert_int_equal(owner[strlen(hf_holder_owner(holder))], '@');
    hf_lock_release(lock);
    hf_info_free(info);
    assert_int_equal(hf_client_inspect(client, "", 0, &info, NULL), HF_INVALID);
    assert_null(info);
    hf_client_close(client);
}

static void test_inspect_ended(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, name, 8000);
    assert_int_equal(hf_lock_release_reserved(lock, 30000), HF_OK);
    struct hf_info *info = inspect(client, name);
    assert_int_equal(hf_holder_kind(hf_info_holder(info)), HF_HOLDER_ENDED);
    assert_int_equal(hf_holder_pid(hf_info_holder(info)), getpid());
    assert_in_range((unsigned long)hf_holder_remaining_ms(hf_info_holder(info)),
                    20000, 30000);
    hf_info_free(info);
    break_now(client, name);
    assert_free(client, name);
    hf_client_close(client);
}

/* ---- Listing ----------------------------------------------------------- */

struct listed {
    int count;
    int most;
    char last[HF_NAME_MAX + 1];
    bool is_sorted;
    const char *prefix;
};

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct listed *listed = user;
    char text[HF_NAME_MAX + 1];
    memcpy(text, name, name_len);
    text[name_len] = '\0';
    if (listed->prefix != NULL &&
        strncmp(text, listed->prefix, strlen(listed->prefix)) != 0) {
        return true;
    }
    listed->count++;
    listed->is_sorted = listed->is_sorted && strcmp(listed->last, text) < 0;
    snprintf(listed->last, sizeof(listed->last), "%s", text);
    return hf_holder_kind(hf_info_holder(info)) == HF_HOLDER_HOLDFAST &&
           listed->count < listed->most;
}

static void on_no_end(void *user, struct hf_lock *lock, enum hf_status status,
                      const struct hf_error *error)
{
    (void)user, (void)lock, (void)status, (void)error;
    fail();
}

/* The longest has two bytes for each of the longest name. */
static void test_long_pattern(void **state)
{
    (void)state;
    enum { LONGEST = 2 * HF_NAME_MAX };
    static char pattern[LONGEST + 2];
    struct hf_client *client = open_client();
    struct listed listed = {.most = 1000, .prefix = ""};
    struct hf_error error = {0};
    memset(pattern, '?', sizeof(pattern) - 1);
    assert_int_equal(hf_client_list(client, pattern, on_name, &listed, &error),
                     HF_INVALID);
    assert_non_null(strstr(error.text, "the pattern is too long"));
    assert_int_equal(hf_op_start_list(client, pattern, on_name, on_no_end, NULL,
                                      NULL, &error),
                     HF_INVALID);
    pattern[LONGEST] = '\0';
    const char parts[] = {'?', 'a', '*'};
    for (int i = 0; i < 3; i++) {
        memset(pattern, parts[i], LONGEST - 1);
        pattern[LONGEST - 1] = 'a';
        assert_int_equal(
            hf_client_list(client, pattern, on_name, &listed, &error), HF_OK);
        assert_int_equal(listed.count, 0);
    }
    hf_client_close(client);
}

static void test_list(void **state)
{
    (void)state;
    enum { N = 150 };
    struct hf_lock *locks[N];
    char name[128];
    char pattern[128];
    char prefix[80];
    struct hf_client *client = open_client();
    snprintf(prefix, sizeof(prefix), "%s.", fresh_name());
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%s%c.%d", prefix, i % 2 ? 'a' : 'b', i);
        locks[i] = take(client, name, LEASE_MS);
    }
    struct listed all = {.most = 1000, .is_sorted = true, .prefix = prefix};
    struct hf_error error;
    assert_int_equal(hf_client_list(client, NULL, on_name, &all, &error),
                     HF_OK);
    assert_int_equal(all.count, N);
    assert_true(all.is_sorted);
    struct listed some = {.most = 1000, .is_sorted = true};
    snprintf(pattern, sizeof(pattern), "%s[a]*", prefix);
    assert_int_equal(hf_client_list(client, pattern, on_name, &some, &error),
                     HF_OK);
    assert_int_equal(some.count, N / 2);
    struct listed few = {.most = 3, .is_sorted = true, .prefix = prefix};
    assert_int_equal(hf_client_list(client, NULL, on_name, &few, &error),
                     HF_OK);
    assert_int_equal(few.count, 3);
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    struct listed none = {.most = 1000, .prefix = prefix};
    int64_t end_ms = now_ms() + PATIENCE_MS / 2; /* of their lease */
    do { /* the slowest node's release may still be on its way */
        none.count = 0;
        assert_int_equal(hf_client_list(client, NULL, on_name, &none, &error),
                         HF_OK);
    } while (none.count > 0 && now_ms() < end_ms);
    assert_int_equal(none.count, 0);
    hf_client_close(client);
}

/* ---- Breaking ---------------------------------------------------------- */

static void test_break_waits(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *holder = open_mode(HF_THREAD_NONE);
    struct hf_client *breaker = open_client();
    int64_t began_ms = now_ms();
    struct hf_lock *held = take(holder, name, 700);
    uint64_t fence = hf_lock_fence(held);
    int64_t left_ms = -7;
    struct hf_error error = {0};
    if (hf_client_break(breaker, name, strlen(name), false, &left_ms, &error) !=
        HF_OK) {
        fail_msg("%s", error.text);
    }
    assert_false(hf_lock_valid_for(held, 0)); /* its lease has expired */
    assert_in_range((unsigned long)(now_ms() - began_ms), 690, 8000);
    assert_int_equal(left_ms, 0);
    struct hf_lock *lock = take(breaker, name, LEASE_MS);
    assert_true(hf_lock_fence(lock) > fence);
    assert_int_equal(hf_lock_extend(held, 0, NULL), HF_LOST);
    release_lost(held);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(holder);
    hf_client_close(breaker);
}

static void test_break_now(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *holder = open_client();
    struct hf_client *breaker = open_client();
    struct hf_lock *held = take(holder, name, 6000);
    uint64_t fence = hf_lock_fence(held);
    int64_t left_ms = -7;
    assert_int_equal(
        hf_client_break(breaker, name, strlen(name), true, &left_ms, NULL),
        HF_OK);
    assert_in_range((unsigned long)left_ms, 3000, 6000);
    struct hf_lock *lock = take(breaker, name, LEASE_MS);
    assert_true(hf_lock_fence(lock) > fence);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (hf_lock_state(held) != HF_STATE_LOST && now_ms() < end_ms) {
        pause_ms(5); /* its next renewal reports it */
    }
    assert_int_equal(hf_lock_state(held), HF_STATE_LOST);
    assert_int_equal(hf_lock_release(held), HF_LOST);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(holder);
    hf_client_close(breaker);
}

/* Break a name that nothing holds. */
static void assert_broken(struct hf_client *client, const char *name,
                          bool frees_now)
{
    int64_t left_ms = -7;
    struct hf_error error = {0};
    if (hf_client_break(client, name, strlen(name), frees_now, &left_ms,
                        &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(left_ms, 0);
    assert_free(client, name);
}

static void test_break_what_is_free(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    int64_t left_ms = -7;
    assert_broken(client, name, false);
    assert_broken(client, name, true);
    assert_int_equal(hf_client_break(client, "", 0, true, &left_ms, NULL),
                     HF_INVALID);
    hf_client_close(client);
}

/* Several times: a signal that arrives before the call interrupts nothing. */
struct interrupter {
    struct hf_client *client;
    atomic_bool is_over;
};

static void *interrupt_soon(void *user)
{
    struct interrupter *interrupter = user;
    while (!atomic_load(&interrupter->is_over)) {
        pause_ms(50);
        hf_client_interrupt(interrupter->client);
    }
    return NULL;
}

/* A cancelled break gives the name back: its holder renews. */
static void test_break_interrupted(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *holder = open_mode(HF_THREAD_NONE);
    struct hf_client *breaker = open_client();
    struct hf_lock *held = take(holder, name, 20000);
    pthread_t thread;
    struct interrupter interrupter = {.client = breaker};
    pthread_create(&thread, NULL, interrupt_soon, &interrupter);
    assert_int_equal(
        hf_client_break(breaker, name, strlen(name), false, NULL, NULL),
        HF_CANCELLED);
    atomic_store(&interrupter.is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(try_take(breaker, name, NULL), HF_BUSY);
    assert_int_equal(hf_lock_extend(held, 0, NULL), HF_OK);
    assert_int_equal(hf_lock_release(held), HF_OK);
    struct hf_lock *lock = take(breaker, name, LEASE_MS);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(holder);
    hf_client_close(breaker);
}

struct asked {
    int count;
    int64_t pid;
    int64_t wait_ms;
    bool may;
};

static bool may_wait(void *user, const struct hf_holder *holder,
                     int64_t wait_ms)
{
    struct asked *asked = user;
    asked->count++;
    asked->pid = hf_holder_pid(holder);
    asked->wait_ms = wait_ms;
    return asked->may;
}

static void test_break_asks(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *holder = open_mode(HF_THREAD_NONE);
    struct hf_client *breaker = open_client();
    struct hf_lock *held = take(holder, name, 4000);
    struct asked asked = {.may = false};
    struct hf_error error = {0};
    assert_int_equal(hf_client_break_wait(breaker, name, strlen(name), may_wait,
                                          &asked, &error),
                     HF_BUSY);
    assert_int_equal(asked.count, 1);
    assert_int_equal(asked.pid, getpid());
    assert_in_range((unsigned long)asked.wait_ms, 1, 4042);
    assert_true(strstr(error.text, "held by ") == error.text);
    assert_int_equal(hf_lock_extend(held, 0, NULL), HF_OK);
    asked.may = true;
    int64_t began_ms = now_ms();
    assert_int_equal(hf_client_break_wait(breaker, name, strlen(name), may_wait,
                                          &asked, &error),
                     HF_OK);
    assert_int_equal(asked.count, 2);
    assert_in_range((unsigned long)(now_ms() - began_ms), 0,
                    (unsigned long)asked.wait_ms + 8000);
    assert_false(hf_lock_valid_for(held, 0));
    assert_free(breaker, name);
    assert_int_equal(hf_client_break_wait(breaker, name, strlen(name), may_wait,
                                          &asked, &error),
                     HF_OK);
    assert_int_equal(asked.count, 2); /* for a free name may_wait() is not
                                         called */
    assert_int_equal(hf_lock_release(held), HF_LOST);
    hf_client_close(holder);
    hf_client_close(breaker);
}

static bool close_client(void *user, const struct hf_holder *holder,
                         int64_t wait_ms)
{
    (void)holder;
    (void)wait_ms;
    hf_client_close(user);
    return true;
}

static void test_break_closed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *holder = open_mode(HF_THREAD_NONE);
    struct hf_client *breaker = open_client();
    struct hf_lock *held = take(holder, name, 20000);
    assert_int_equal(hf_client_break_wait(breaker, name, strlen(name),
                                          close_client, breaker, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_lock_extend(held, 0, NULL), HF_OK); /* given back */
    assert_int_equal(hf_lock_release(held), HF_OK);
    hf_client_close(holder);
}

/* After the release no client holds the name, although it is reserved. */
static void test_break_what_has_ended(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    int64_t left_ms = -7;
    assert_int_equal(hf_lock_release_reserved(lock, 3600000), HF_OK);
    assert_int_equal(try_take(client, name, NULL), HF_BUSY);
    int64_t began_ms = now_ms();
    assert_int_equal(
        hf_client_break(client, name, strlen(name), false, &left_ms, NULL),
        HF_OK);
    assert_true(now_ms() - began_ms < PATIENCE_MS);
    assert_int_equal(left_ms, 0);
    assert_free(client, name);
    hf_client_close(client);
}

/* ---- The store --------------------------------------------------------- */

struct findings {
    struct hf_client *client;
    int count;
    int node; /* of the last node */
};

/* Findings arrive node by node, those about all nodes last. The callback may
 * ask the client about the node. */
static void on_finding(void *user, const struct hf_finding *finding)
{
    struct findings *findings = user;
    struct hf_node *about;
    int node = hf_finding_node(finding);
    const char *text = hf_finding_text(finding);
    assert_true(hf_finding_severity(finding) <= HF_FINDING_ERROR);
    assert_true(strlen(text) > 0);
    assert_null(strchr(text, '\n'));
    assert_true(node >= findings->node || node == -1);
    assert_int_equal(hf_client_node(findings->client, node, &about),
                     node < 0 ? HF_INVALID : HF_OK);
    assert_true(node < 0 || strlen(hf_node_address(about)) > 0);
    hf_node_free(about);
    findings->node = node;
    findings->count++;
}

/* In a callback with a finding: from then on all calls fail. */
static void close_it(void *user, const struct hf_finding *finding)
{
    struct findings *findings = user;
    struct hf_info *info;
    (void)finding;
    hf_client_close(findings->client);
    assert_int_equal(hf_client_inspect(findings->client, "a", 1, &info, NULL),
                     HF_INVALID);
    findings->count++;
}

static void test_closed_by_a_finding(void **state)
{
    (void)state;
    struct hf_error error = {0};
    struct findings findings = {open_client(), 0, -1};
    assert_int_equal(
        hf_client_diagnose(findings.client, close_it, &findings, &error),
        HF_CANCELLED);
    assert_int_equal(error.status, HF_CANCELLED);
    assert_int_equal(findings.count, 1);
}

static void test_examine_and_init(void **state)
{
    (void)state;
    struct hf_error error = {0};
    struct hf_client *client = open_client();
    struct findings findings = {client, 0, -1};
    if (hf_client_diagnose(client, on_finding, &findings, &error) != HF_OK) {
        fail_msg("examine: %s", error.text);
    }
    assert_true(findings.count > 0);
    struct hf_lock *lock =
        world_is_local() ? take(client, fresh_name(), LEASE_MS) : NULL;
    /* Only root, with a group, can make a folder a shared store:
     * conformance/local_users tests that. The store works on anyway. */
    if (hf_client_init_nodes(client, 0, NULL, NULL, &error) != HF_OK &&
        !world_is_local()) {
        fail_msg("init: %s", error.text);
    }
    assert_true(lock == NULL || hf_lock_extend(lock, 0, NULL) == HF_OK);
    assert_true(lock == NULL || is_released(lock));
    assert_int_equal(try_take(client, fresh_name(), &error), HF_OK);
    hf_client_close(client);
}

static void test_nodes(void **state)
{
    (void)state;
    struct hf_node *node;
    struct hf_client *client = open_client();
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    for (int i = 0; i < hf_client_nodes(client); i++) {
        assert_int_equal(hf_client_node(client, i, &node), HF_OK);
        assert_true(strlen(hf_node_address(node)) > 0);
        assert_true(hf_node_health(node) == HF_NODE_UP ||
                    hf_node_health(node) == HF_NODE_CONNECTING);
        hf_node_free(node);
    }
    assert_int_equal(hf_client_node(client, 99, &node), HF_INVALID);
    assert_null(node);
    assert_non_null(strchr(hf_client_url(client), ':'));
    hf_client_close(client);
}

static void test_open_refuses(void **state)
{
    (void)state;
    struct hf_client *client = (struct hf_client *)1;
    struct hf_error error;
    struct hf_client_options options;
    assert_int_equal(hf_client_open("redis://a,b", NULL, &client, &error),
                     HF_CONFIG);
    assert_null(client);
    assert_int_equal(hf_client_open("gopher://a", NULL, &client, &error),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_client_open("redis://a?prefx=b", NULL, &client, &error),
                     HF_INVALID);
    assert_non_null(strstr(error.text, "prefix"));
    hf_client_options_init(&options);
    options.size = 3;
    assert_int_equal(hf_client_open("redis://a", &options, &client, &error),
                     HF_INVALID);
    assert_int_equal(hf_client_open("redis://a", NULL, NULL, &error),
                     HF_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_refuses),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_inspect_ended),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_long_pattern),
        cmocka_unit_test(test_break_waits),
        cmocka_unit_test(test_break_now),
        cmocka_unit_test(test_break_what_is_free),
        cmocka_unit_test(test_break_interrupted),
        cmocka_unit_test(test_break_asks),
        cmocka_unit_test(test_break_closed),
        cmocka_unit_test(test_break_what_has_ended),
        cmocka_unit_test(test_closed_by_a_finding),
        cmocka_unit_test(test_examine_and_init),
        cmocka_unit_test(test_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
