/* SPDX-License-Identifier: Apache-2.0 */
/* Bad arguments: a call without an object, with half of its arguments, or in a
 * child process returns an error and does nothing. */
#include "client_world.h"

static struct hf_error error;

/* The error has the status, and a text. */
static void assert_invalid(enum hf_status status)
{
    assert_int_equal(status, HF_INVALID);
    assert_int_equal(error.status, HF_INVALID);
    assert_true(error.text[0] != '\0');
    memset(&error, 0, sizeof(error));
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    (void)user;
    (void)name;
    (void)name_len;
    (void)info;
    fail_msg("told of a name");
    return false;
}

static bool on_place(void *user, const struct hf_queue_entry *place)
{
    (void)user;
    (void)place;
    fail_msg("told of a place");
    return false;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    (void)user;
    fail_msg("found: %s", hf_finding_text(finding));
}

static void on_end(void *user, struct hf_lock *lock, enum hf_status status,
                   const struct hf_error *why)
{
    (void)user;
    (void)lock;
    (void)why;
    fail_msg("ended: %s", hf_status_name(status));
}

/* ---- Words ------------------------------------------------------------- */

static void test_each_status_has_words(void **state)
{
    (void)state;
#define CHECK(symbol, class_of, text)                                          \
    assert_string_equal(hf_status_name(symbol), #symbol);                      \
    assert_string_equal(hf_status_text(symbol), text);                         \
    assert_int_equal(hf_status_class(symbol), class_of);
    HF_STATUS_MAP(CHECK)
#undef CHECK
    assert_string_equal(hf_status_name((enum hf_status)99), "HF_?");
    assert_string_equal(hf_status_text((enum hf_status)99), "unknown status");
    assert_int_equal(hf_status_class((enum hf_status)99), HF_CLASS_FATAL);
}

/* ---- No client, or one that is not ours -------------------------------- */

/* Each call on `client` is refused: it is NULL, or belongs to the parent. */
static void client_is_refused(struct hf_client *client)
{
    const char *owner = "00112233445566778899aabbccddeeff:h:1:2@7";
    struct hf_request request = want("door", 1000, 0);
    struct hf_lock *lock = (struct hf_lock *)&request;
    struct hf_op *op = (struct hf_op *)&request;
    enum hf_state news = HF_STATE_HELD;
    struct hf_info *info = (struct hf_info *)&request;
    int64_t until_ms = 0;
    assert_invalid(hf_lock_acquire(client, &request, &lock, &error));
    assert_null(lock);
    assert_invalid(
        hf_op_start_acquire(client, &request, on_end, NULL, &op, &error));
    assert_null(op);
    assert_invalid(hf_lock_adopt(client, &request, owner, &lock, &error));
    assert_invalid(hf_owner_release(client, "door", 4, owner, &error));
    assert_invalid(hf_client_inspect(client, "door", 4, &info, &error));
    assert_null(info);
    assert_invalid(hf_client_queue(client, "door", 4, on_place, NULL, &error));
    assert_invalid(hf_client_list(client, NULL, on_name, NULL, &error));
    assert_invalid(
        hf_client_break(client, "door", 4, false, &until_ms, &error));
    assert_invalid(hf_client_diagnose(client, on_finding, NULL, &error));
    assert_invalid(hf_client_init_nodes(client, 0, NULL, NULL, &error));
    assert_null(hf_client_next_event(client, &news));
    assert_int_equal(hf_client_fd(client), -1);
    hf_client_process(client);
    hf_client_interrupt(client);
}

static void test_no_client(void **state)
{
    (void)state;
    struct hf_node *node = (struct hf_node *)&error;
    client_is_refused(NULL);
    hf_client_close(NULL);
    assert_int_equal(hf_client_nodes(NULL), 0);
    assert_string_equal(hf_client_url(NULL), "");
    assert_int_equal(hf_client_node(NULL, 0, &node), HF_INVALID);
    assert_null(node);
    assert_int_equal(hf_client_node(NULL, 0, NULL), HF_INVALID);
}

static void test_no_place_for_what_comes(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_request request = want("door", 1000, 0);
    struct hf_op *op = NULL;
    struct hf_lock *lock = NULL;
    const char *owner = "00112233445566778899aabbccddeeff:h:1:2@7";
    assert_invalid(hf_client_open(world_url(), NULL, NULL, &error));
    assert_invalid(hf_lock_acquire(client, &request, NULL, &error));
    assert_invalid(hf_lock_acquire(client, NULL, &lock, &error));
    assert_invalid(
        hf_op_start_acquire(client, &request, NULL, NULL, &op, &error));
    assert_invalid(hf_lock_adopt(client, &request, owner, NULL, &error));
    assert_invalid(hf_client_inspect(client, "door", 4, NULL, &error));
    assert_invalid(hf_client_queue(client, "door", 4, NULL, NULL, &error));
    assert_invalid(hf_client_list(client, NULL, NULL, NULL, &error));
    assert_invalid(hf_client_diagnose(client, NULL, NULL, &error));
    assert_null(hf_client_next_event(client, NULL));
    assert_int_equal(hf_client_node(client, 0, NULL), HF_INVALID);
    assert_invalid(hf_client_marked(client, "door", 4, NULL, &error));
    lock = take(client, fresh_name(), LEASE_MS);
    hf_lock_owner(lock, NULL);
    hf_lock_owner_at(lock, 0, NULL);
    assert_int_equal(hf_lock_detach(lock, NULL), HF_INVALID);
    assert_int_equal(hf_lock_release(lock), HF_OK); /* still held */
    hf_request_init(NULL, "door");
    hf_client_options_init(NULL);
    hf_client_close(client);
}

/* A reservation longer than allowed is refused, and the lock is still held. */
static void test_reserved_for_ages(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    const int64_t wrong[] = {-1, INT64_MIN, HF_RESERVE_MS_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(hf_lock_release_reserved(lock, wrong[i]), HF_INVALID);
        assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    }
    assert_int_equal(hf_lock_release_reserved(lock, HF_RESERVE_MS_MAX), HF_OK);
    struct hf_info *info = inspect(client, name);
    const struct hf_holder *holder = hf_info_holder(info);
    assert_int_equal(hf_holder_kind(holder), HF_HOLDER_ENDED);
    assert_in_range((uint64_t)hf_holder_remaining_ms(holder),
                    (uint64_t)(HF_RESERVE_MS_MAX - PATIENCE_MS),
                    (uint64_t)HF_RESERVE_MS_MAX);
    hf_info_free(info);
    hf_client_close(client);
}

/* Two handles of one client exclude each other as those of two clients do. */
static void test_same_name_twice(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    struct hf_lock *again = NULL;
    struct hf_request request = want(name, LEASE_MS, 200);
    assert_int_equal(hf_lock_acquire(client, &request, &again, &error),
                     HF_BUSY);
    assert_null(again);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* ---- The library ------------------------------------------------------- */

static void test_version(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof(text), "%d.%d.%d", HF_VERSION_NUMBER / 10000,
             HF_VERSION_NUMBER / 100 % 100, HF_VERSION_NUMBER % 100);
    assert_string_equal(text, hf_version());
    assert_string_equal(HF_VERSION_TEXT, hf_version());
#if HF_VERSION_NUMBER < 100
    fail_msg("it cannot be asked for by the preprocessor");
#endif
}

/* With files that cannot be used, TLS is refused because of them, and not
 * because of its module. */
static void test_has_tls(void **state)
{
    (void)state;
    struct hf_client *client = NULL;
    enum hf_status status = hf_client_open(
        "rediss://127.0.0.1:1/?tls_ca=/nonexistent", NULL, &client, &error);
    assert_int_not_equal(status, HF_OK);
    assert_int_equal(hf_has_tls(),
                     strstr(error.text, "TLS cannot be loaded") == NULL);
}

static void test_no_name(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    static const char long_name[HF_NAME_MAX + 1];
    struct hf_info *info;
    const struct {
        const void *name;
        size_t len;
    } bad[] = {{NULL, 4}, {"door", 0}, {long_name, sizeof(long_name)}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const void *name = bad[i].name;
        size_t len = bad[i].len;
        assert_invalid(hf_client_inspect(client, name, len, &info, &error));
        assert_invalid(
            hf_client_queue(client, name, len, on_place, NULL, &error));
        assert_invalid(hf_client_break(client, name, len, false, NULL, &error));
        assert_invalid(hf_owner_release(
            client, name, len, "00112233445566778899aabbccddeeff:h:1:2@7",
            &error));
    }
    hf_client_close(client);
}

/* ---- Too much of it ---------------------------------------------------- */

/* Cut for display, and never within a character. */
static void test_long_labels_and_names(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    char label[300];
    char name[200];
    for (size_t ahead = 0; ahead < 3; ahead++) {
        memset(label, 0, sizeof(label));
        memset(name, 0, sizeof(name));
        memset(label, 'l', ahead);
        snprintf(name, sizeof(name), "%.*s%d", (int)ahead, "nnn", getpid());
        for (size_t i = strlen(label); i + 2 < sizeof(label); i += 2) {
            memcpy(label + i, "\xc3\xa9", 2);
        }
        for (size_t i = strlen(name); i + 2 < sizeof(name); i += 2) {
            memcpy(name + i, "\xc3\xa9", 2);
        }
        struct hf_request request = want(name, 5000, 0);
        struct hf_lock *lock = NULL;
        request.label = label;
        assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                         HF_OK);
        /* A name given twice in one request: the error shows it, cut or
         * whole. */
        struct hf_name same = {name, strlen(name), HF_EXCLUSIVE};
        struct hf_lock *none = NULL;
        request.more = &same;
        request.n_more = 1;
        assert_invalid(hf_lock_acquire(other, &request, &none, &error));
        assert_int_equal(hf_lock_release(lock), HF_OK);
    }
    hf_client_close(other);
    hf_client_close(client);
}

static void test_what_no_option_says(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = NULL;
    struct hf_client *none = NULL;
    struct hf_request request = want("door", 1000, 0);
    request.liveness = (enum hf_liveness)99;
    assert_invalid(hf_lock_acquire(client, &request, &lock, &error));
    request = want("door", 1000, 0);
    request.mode = (enum hf_mode)99;
    assert_invalid(hf_lock_acquire(client, &request, &lock, &error));
    request = want("door", 1, 0);
    assert_invalid(hf_lock_acquire(client, &request, &lock, &error));
    struct {
        struct hf_client_options known;
        char later[8]; /* options of a later version */
    } options = {.later = ""};
    hf_client_options_init(&options.known);
    options.known.size = sizeof(options);
    assert_int_equal(hf_client_open(world_url(), &options.known, &none, &error),
                     HF_OK);
    hf_client_close(none);
    options.later[3] = 1;
    assert_int_equal(hf_client_open(world_url(), &options.known, &none, &error),
                     HF_UNSUPPORTED);
    options.later[3] = 0;
    options.known.thread = (enum hf_thread_mode)99;
    assert_invalid(hf_client_open(world_url(), &options.known, &none, &error));
    hf_client_close(client);
}

/* A lock may have a limited number of processes, and each must be a valid
 * pid. */
static void test_too_many_processes(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_request request = want(fresh_name(), 5000, 0);
    struct hf_name second = {"door-2", 6, HF_EXCLUSIVE};
    struct hf_lock *lock = NULL;
    request.more = &second;
    request.n_more = 1;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error), HF_OK);
    enum hf_status status = HF_OK;
    for (int i = 0; i < 100 && status == HF_OK; i++) {
        status = hf_lock_add_process(lock, getppid());
    }
    /* Servers see no processes: only the end of the lease frees the lock. */
    assert_int_equal(status, world_is_local() ? HF_INVALID : HF_OK);
    assert_int_equal(hf_lock_add_process(lock, -1), HF_INVALID);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* ---- No lock, or one that is not ours ---------------------------------- */

static void lock_is_refused(struct hf_lock *lock)
{
    char owner[HF_OWNER_TEXT_MAX] = "";
    assert_false(hf_lock_valid_for(lock, 0));
    assert_int_equal(hf_lock_remaining_ms(lock), 0);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    assert_int_equal(hf_lock_extend(lock, 1000, NULL), HF_INVALID);
    assert_int_equal(hf_lock_mark(lock, 1000, NULL), HF_INVALID);
    assert_int_equal(hf_lock_unmark(lock, NULL), HF_INVALID);
    assert_int_equal(hf_lock_add_process(lock, getpid()), HF_INVALID);
    assert_int_equal(hf_lock_detach(lock, owner), HF_INVALID);
}

static void test_no_lock(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX] = "";
    size_t len = 1;
    lock_is_refused(NULL);
    assert_int_equal(hf_lock_fence(NULL), 0);
    assert_null(hf_lock_user(NULL));
    assert_null(hf_lock_name(NULL, &len));
    assert_int_equal(len, 0);
    assert_int_equal(hf_lock_count(NULL), 0);
    assert_null(hf_lock_name_at(NULL, 0, NULL));
    assert_int_equal(hf_lock_fence_at(NULL, 0), 0);
    assert_int_equal(hf_lock_slot(NULL), -1);
    hf_lock_owner(NULL, owner);
    hf_lock_owner_at(NULL, 0, owner);
    assert_string_equal(owner, "");
    assert_int_equal(hf_lock_release(NULL), HF_OK);
    assert_int_equal(hf_lock_release_reserved(NULL, 100), HF_OK);
    hf_op_start_release(NULL, NULL, NULL);
    hf_op_cancel(NULL);
    assert_false(hf_op_waiting(NULL, NULL));
}

/* ---- Sizes ------------------------------------------------------------- */

/* Structs of a later version, with members that this version does not know. */
struct grown_options {
    struct hf_client_options known;
    uint64_t later;
    uint64_t behind;
};

struct grown_request {
    struct hf_request known;
    uint64_t later;
    uint64_t behind;
};

struct grown_name {
    struct hf_name known;
    uint64_t later;
};

static const uint64_t untouched = UINT64_C(0xa5a5a5a5a5a5a5a5);

static void test_size_of_options(void **state)
{
    (void)state;
    struct hf_client *client;
    struct grown_options grown = {.later = untouched, .behind = untouched};
    hf_client_options_init(&grown.known);
    assert_int_equal(grown.known.size, sizeof(grown.known));
    assert_true(grown.later == untouched);
    size_t size = offsetof(struct grown_options, behind);
    hf_client_options_init_sized(&grown.known, size);
    assert_int_equal(grown.known.size, size);
    assert_true(grown.later == 0 && grown.behind == untouched);
    assert_int_equal(hf_client_open(world_url(), &grown.known, &client, &error),
                     HF_OK);
    hf_client_close(client);
    grown.later = 1;
    assert_int_equal(hf_client_open(world_url(), &grown.known, &client, &error),
                     HF_UNSUPPORTED);
    size = offsetof(struct hf_client_options, is_for_setup); /* 0.1.0 */
    grown.known.is_for_setup = true;
    hf_client_options_init_sized(&grown.known, size);
    assert_true(grown.known.is_for_setup); /* past the caller's size: not
                                              written */
    assert_int_equal(hf_client_open(world_url(), &grown.known, &client, &error),
                     HF_OK);
    hf_client_close(client);
    grown.known.size--;
    assert_invalid(hf_client_open(world_url(), &grown.known, &client, &error));
}

static void test_size_of_request(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = NULL;
    struct grown_request grown = {.later = untouched, .behind = untouched};
    hf_request_init(&grown.known, "door");
    assert_int_equal(grown.known.size, sizeof(grown.known));
    assert_true(grown.later == untouched);
    size_t size = offsetof(struct grown_request, behind);
    hf_request_init_sized(&grown.known, size, sizeof(struct hf_name),
                          fresh_name());
    assert_int_equal(grown.known.size, size);
    assert_true(grown.later == 0 && grown.behind == untouched);
    assert_int_equal(hf_lock_acquire(client, &grown.known, &lock, &error),
                     HF_OK);
    hf_lock_release(lock);
    grown.later = 1;
    assert_int_equal(hf_lock_acquire(client, &grown.known, &lock, &error),
                     HF_UNSUPPORTED);
    hf_client_close(client);
}

static void test_size_of_names(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = NULL;
    struct grown_name names[2] = {{.known = {"size-b", 6, HF_EXCLUSIVE}},
                                  {.known = {"size-a", 6, HF_EXCLUSIVE}}};
    struct hf_request request = want("size-c", LEASE_MS, 0);
    size_t len;
    assert_int_equal(request.more_size, sizeof(struct hf_name));
    request.more = &names[0].known;
    request.n_more = 2;
    request.more_size = sizeof(names[0]);
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error), HF_OK);
    assert_string_equal(hf_lock_name_at(lock, 1, &len), "size-b");
    assert_string_equal(hf_lock_name_at(lock, 2, &len), "size-a");
    hf_lock_release(lock);
    names[1].later = 1;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_UNSUPPORTED);
    request.more_size = sizeof(struct hf_name) - 1;
    assert_invalid(hf_lock_acquire(client, &request, &lock, &error));
    hf_client_close(client);
}

/* A struct that is NULL reads as empty. */
static void test_no_report(void **state)
{
    size_t len = 1;
    (void)state;
    assert_int_equal(hf_holder_kind(NULL), HF_HOLDER_NONE);
    assert_string_equal(hf_holder_owner(NULL), "");
    assert_string_equal(hf_holder_host(NULL), "");
    assert_string_equal(hf_holder_label(NULL), "");
    assert_int_equal(hf_holder_pid(NULL), 0);
    assert_int_equal(hf_holder_since_s(NULL), 0);
    assert_int_equal(hf_holder_remaining_ms(NULL), 0);
    assert_int_equal(hf_holder_fence(NULL), 0);
    assert_int_equal(hf_holder_sharers(NULL), 0);
    assert_int_equal(hf_holder_permits(NULL), 0);
    assert_int_equal(hf_holder_kind(hf_waiting_holder(NULL)), HF_HOLDER_NONE);
    assert_int_equal(hf_waiting_ahead(NULL), 0);
    assert_string_equal(hf_waiting_name(NULL, &len), "");
    assert_int_equal(len, 0);
    assert_int_equal(hf_holder_kind(hf_info_holder(NULL)), HF_HOLDER_NONE);
    assert_false(hf_info_is_split(NULL));
    assert_int_equal(hf_info_waiting(NULL), 0);
    assert_int_equal(hf_info_nodes(NULL), 0);
    assert_false(hf_info_node_answered(NULL, 0));
    assert_string_equal(hf_holder_owner(hf_info_node_holder(NULL, 0)), "");
    assert_int_equal(hf_info_node_waiting(NULL, 0), 0);
    assert_int_equal(hf_queue_entry_node(NULL), -1);
    assert_false(hf_queue_entry_is_waiting(NULL));
    assert_int_equal(hf_queue_entry_mode(NULL), HF_EXCLUSIVE);
    assert_int_equal(hf_queue_entry_permits(NULL), 0);
    assert_string_equal(hf_holder_host(hf_queue_entry_holder(NULL)), "");
    assert_int_equal(hf_queue_entry_since_ms(NULL), 0);
    assert_string_equal(hf_node_address(NULL), "");
    assert_int_equal(hf_node_health(NULL), HF_NODE_DOWN);
    assert_string_equal(hf_node_reason(NULL), "");
    assert_int_equal(hf_node_quarantine_left_ms(NULL), 0);
    assert_int_equal(hf_node_rtt_us(NULL), 0);
    assert_int_equal(hf_finding_severity(NULL), HF_FINDING_OK);
    assert_int_equal(hf_finding_node(NULL), -1);
    assert_string_equal(hf_finding_text(NULL), "");
    hf_waiting_free(NULL);
    hf_info_free(NULL);
    hf_node_free(NULL);
}

/* ---- In a child -------------------------------------------------------- */

/* In the child: the parent's handles are refused, closing them does nothing,
 * and a client of the child works. */
static void be_a_child(struct hf_client *client, struct hf_lock *lock,
                       struct hf_op *op)
{
    struct hf_waiting *waiting;
    client_is_refused(client);
    lock_is_refused(lock);
    assert_false(hf_op_waiting(op, &waiting));
    assert_null(waiting);
    hf_op_cancel(op);
    assert_int_equal(hf_lock_release(lock), HF_INVALID);
    hf_client_close(client);
    struct hf_client *own = open_client();
    assert_int_equal(try_take(own, "door-of-a-child", NULL), HF_OK);
    hf_client_close(own);
}

static void in_a_child(enum hf_thread_mode mode)
{
    struct hf_client *client = open_mode(mode);
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, 5000);
    struct hf_request request = want(name, 5000, HF_WAIT_FOREVER);
    struct hf_op *op = NULL;
    assert_int_equal(
        hf_op_start_acquire(client, &request, on_end, NULL, &op, &error),
        HF_OK);
    pid_t child = fork_while_others_sleep();
    if (child == 0) {
        be_a_child(client, lock, op);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hf_op_cancel(op);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_free(client, name);
    hf_client_close(client);
}

static void test_in_a_child(void **state)
{
    (void)state;
    in_a_child(HF_THREAD_NONE);
}

static void test_in_a_child_of_threads(void **state)
{
    (void)state;
    in_a_child(HF_THREAD_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_status_has_words),
        cmocka_unit_test(test_no_client),
        cmocka_unit_test(test_no_place_for_what_comes),
        cmocka_unit_test(test_reserved_for_ages),
        cmocka_unit_test(test_same_name_twice),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_has_tls),
        cmocka_unit_test(test_no_name),
        cmocka_unit_test(test_long_labels_and_names),
        cmocka_unit_test(test_what_no_option_says),
        cmocka_unit_test(test_too_many_processes),
        cmocka_unit_test(test_no_lock),
        cmocka_unit_test(test_no_report),
        cmocka_unit_test(test_size_of_options),
        cmocka_unit_test(test_size_of_request),
        cmocka_unit_test(test_size_of_names),
        cmocka_unit_test(test_in_a_child),
        cmocka_unit_test(test_in_a_child_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
