/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel tokens: before a call, in a queue, from a signal handler, twice; in a
 * request and in a client's options. A release ignores them, and no name stays
 * held. */
#include "client_tokens.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>

/* ---- Before the call --------------------------------------------------- */

static void never(void *user, struct hf_lock *lock, enum hf_status status,
                  const struct hf_error *error)
{
    (void)user;
    (void)lock;
    fail_msg("called back: %s: %s", hf_status_name(status), error->text);
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    (void)user;
    (void)name;
    (void)name_len;
    (void)info;
    fail_msg("a name is listed");
    return true;
}

static bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    (void)user;
    (void)entry;
    fail_msg("an entry is listed");
    return true;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    (void)user;
    fail_msg("found: %s", hf_finding_text(finding));
}

struct before {
    struct hf_client *client;
    struct hf_client *other;
    char name[80];   /* a free name */
    char held[80];   /* held by `lock` */
    char handed[80]; /* detached as `text` */
    struct hf_lock *lock;
    char text[HF_OWNER_TEXT_MAX];
};

static void before_setup(struct before *before, struct hf_cancel *cancel,
                         bool is_of_client)
{
    before->client = open_with(is_of_client ? cancel : NULL, HF_THREAD_AUTO);
    before->other = open_client();
    snprintf(before->name, sizeof(before->name), "%s", fresh_name());
    snprintf(before->held, sizeof(before->held), "%s", fresh_name());
    snprintf(before->handed, sizeof(before->handed), "%s", fresh_name());
    before->lock = take(before->client, before->held, LEASE_MS);
    struct hf_lock *handed = take(before->client, before->handed, LEASE_MS);
    assert_int_equal(hf_lock_detach(handed, before->text), HF_OK);
    assert_int_equal(hf_lock_mark(before->lock, LEASE_MS, NULL), HF_OK);
}

static void before_teardown(struct before *before)
{
    assert_free(before->other, before->name);
    assert_free(before->other, before->held);
    assert_free(before->other, before->handed);
    hf_client_close(before->client);
    hf_client_close(before->other);
}

/* Each call is refused with an error, and has done nothing. */
static void refuse_requests(struct before *before, struct hf_cancel *cancel)
{
    struct hf_request request = want(before->name, LEASE_MS, HF_WAIT_FOREVER);
    struct hf_lock *lock = before->lock;
    struct hf_op *op = NULL;
    struct hf_error error = {0};
    request.cancel = cancel;
    assert_int_equal(hf_lock_acquire(before->client, &request, &lock, &error),
                     HF_CANCELLED);
    assert_null(lock);
    assert_int_equal(error.status, HF_CANCELLED);
    assert_string_equal(error.text, "cancelled");
    assert_int_equal(
        hf_op_start_acquire(before->client, &request, never, NULL, &op, &error),
        HF_CANCELLED);
    assert_null(op);
    struct hf_name more = {before->handed, strlen(before->handed),
                           HF_EXCLUSIVE};
    request.more = &more;
    request.n_more = 1;
    assert_int_equal(hf_lock_acquire(before->client, &request, &lock, &error),
                     HF_CANCELLED);
    request.n_more = 0;
    request.name = before->handed;
    request.name_len = strlen(before->handed);
    assert_int_equal(
        hf_lock_adopt(before->client, &request, before->text, &lock, &error),
        HF_CANCELLED);
    assert_null(lock);
}

static void refuse_calls(struct before *before)
{
    struct hf_client *client = before->client;
    const char *name = before->held;
    size_t len = strlen(name);
    struct hf_info *info = NULL;
    int64_t ms = 0;
    char text[HF_OWNER_TEXT_MAX];
    assert_int_equal(hf_lock_extend(before->lock, 1000, NULL), HF_CANCELLED);
    assert_int_equal(hf_lock_add_process(before->lock, getpid()), HF_CANCELLED);
    assert_int_equal(hf_lock_detach(before->lock, text), HF_CANCELLED);
    assert_string_equal(text, "");
    assert_int_equal(hf_lock_mark(before->lock, 1000, NULL), HF_CANCELLED);
    assert_int_equal(hf_client_marked(client, name, len, &ms, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_client_inspect(client, name, len, &info, NULL),
                     HF_CANCELLED);
    assert_null(info);
    assert_int_equal(hf_client_queue(client, name, len, on_entry, NULL, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_client_list(client, NULL, on_name, NULL, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_client_break(client, name, len, true, &ms, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_client_diagnose(client, on_finding, NULL, NULL),
                     HF_CANCELLED);
    assert_int_equal(hf_client_init_nodes(client, 0, on_finding, NULL, NULL),
                     HF_CANCELLED);
    assert_int_equal(
        hf_client_quarantine_node(client, 0, on_finding, NULL, NULL),
        HF_CANCELLED);
}

/* The lock is still held and marked; and all locks can be released. */
static void give_back(struct before *before)
{
    int64_t left_ms = 0;
    const char *held = before->held;
    struct hf_error error = {0};
    assert_int_equal(try_take(before->other, held, NULL), HF_BUSY);
    assert_int_equal(try_take(before->other, before->handed, NULL), HF_BUSY);
    assert_true(hf_lock_remaining_ms(before->lock) > LEASE_MS / 2);
    assert_int_equal(
        hf_client_marked(before->other, held, strlen(held), &left_ms, NULL),
        HF_OK);
    assert_true(left_ms > 0);
    assert_int_equal(hf_lock_unmark(before->lock, &error), HF_OK);
    assert_int_equal(
        hf_client_marked(before->other, held, strlen(held), &left_ms, NULL),
        HF_OK);
    assert_int_equal(left_ms, 0);
    assert_int_equal(hf_lock_release(before->lock), HF_OK);
    assert_int_equal(hf_owner_release(before->client, before->handed,
                                      strlen(before->handed), before->text,
                                      &error),
                     HF_OK);
}

static void test_before_each_call(void **state)
{
    (void)state;
    struct before before;
    struct hf_cancel *cancel = new_token();
    before_setup(&before, cancel, true);
    hf_cancel_trigger(cancel);
    assert_true(hf_cancel_is_triggered(cancel));
    refuse_requests(&before, NULL);
    refuse_calls(&before);
    give_back(&before);
    before_teardown(&before);
    hf_cancel_free(cancel);
}

/* Only a request with the token is refused, each time. */
static void test_before_a_request(void **state)
{
    (void)state;
    struct before before;
    struct hf_cancel *cancel = new_token();
    before_setup(&before, cancel, false);
    hf_cancel_trigger(cancel);
    hf_cancel_trigger(cancel);
    refuse_requests(&before, cancel);
    refuse_requests(&before, cancel);
    assert_int_equal(hf_lock_extend(before.lock, 0, NULL), HF_OK);
    assert_free(before.client, before.name);
    let_go(take(before.client, before.name, LEASE_MS));
    give_back(&before);
    before_teardown(&before);
    hf_cancel_free(cancel);
}

static void test_before_opening(void **state)
{
    (void)state;
    struct hf_cancel *cancel = new_token();
    struct hf_client *client = NULL;
    hf_cancel_trigger(cancel);
    assert_int_equal(try_open(cancel, HF_THREAD_AUTO, &client), HF_CANCELLED);
    assert_null(client);
    hf_cancel_free(cancel);
}

static void test_without_token(void **state)
{
    (void)state;
    struct hf_error error = {0};
    hf_cancel_trigger(NULL);
    assert_false(hf_cancel_is_triggered(NULL));
    hf_cancel_free(NULL);
    assert_int_equal(hf_cancel_new(NULL, &error), HF_INVALID);
    assert_true(error.text[0] != '\0');
}

/* ---- In a wait --------------------------------------------------------- */

struct wait {
    struct hf_client *client;
    struct hf_request request;
    pthread_t thread;
    enum hf_status status;
    struct hf_lock *lock;
    struct hf_error error;
};

static void *wait_for(void *user)
{
    struct wait *wait = user;
    wait->status = hf_lock_acquire(wait->client, &wait->request, &wait->lock,
                                   &wait->error);
    return NULL;
}

static void wait_start(struct wait *wait)
{
    wait->status = HF_INTERNAL;
    assert_int_equal(pthread_create(&wait->thread, NULL, wait_for, wait), 0);
}

static void wait_end(struct wait *wait, enum hf_status status)
{
    assert_int_equal(pthread_join(wait->thread, NULL), 0);
    assert_int_equal(wait->status, status);
    assert_true((status == HF_OK) == (wait->lock != NULL));
    assert_true(status == HF_OK || wait->error.text[0] != '\0');
}

/* While it waits for a name, for the second of two, for a permit. */
static void test_in_a_queue(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    for (int i = 0; i < 3; i++) {
        char name[80];
        char waited[90];
        snprintf(name, sizeof(name), "%s", fresh_name());
        snprintf(waited, sizeof(waited), i == 2 ? "%s#0" : "%s", name);
        struct hf_cancel *cancel = new_token();
        struct hf_request held = want(name, LEASE_MS, PATIENCE_MS);
        struct hf_lock *lock = NULL;
        held.permits = i == 2 ? 1 : 0;
        assert_int_equal(hf_lock_acquire(other, &held, &lock, NULL), HF_OK);
        struct hf_name more = {name, strlen(name), HF_EXCLUSIVE};
        struct wait wait = {.client = client};
        wait.request =
            want(i == 1 ? "a first" : name, LEASE_MS, HF_WAIT_FOREVER);
        wait.request.more = i == 1 ? &more : NULL;
        wait.request.n_more = i == 1 ? 1 : 0;
        wait.request.permits = held.permits;
        wait.request.cancel = cancel;
        wait_start(&wait);
        await_waiting(other, waited, 1);
        hf_cancel_trigger(cancel);
        wait_end(&wait, HF_CANCELLED);
        await_waiting(other, waited, 0); /* its place is dropped */
        assert_int_equal(hf_lock_release(lock), HF_OK);
        assert_free(other, waited);
        assert_free(other, "a first");
        hf_cancel_free(cancel);
    }
    hf_client_close(client);
    hf_client_close(other);
}

/* Several calls wait on one client, and one of them reads for all. Each is
 * ended by its own token, in either order, and no other is. */
static void test_one_of_several_waits(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    for (int turn = 0; turn < 2; turn++) {
        struct wait waits[3];
        struct hf_cancel *cancels[3];
        struct hf_lock *locks[3];
        char names[3][80];
        for (int i = 0; i < 3; i++) {
            snprintf(names[i], sizeof(names[i]), "%s", fresh_name());
            cancels[i] = new_token();
            locks[i] = take(other, names[i], LEASE_MS);
            waits[i] = (struct wait){.client = client};
            waits[i].request = want(names[i], LEASE_MS, HF_WAIT_FOREVER);
            waits[i].request.cancel = cancels[i];
            wait_start(&waits[i]);
            await_waiting(other, names[i], 1);
        }
        int first = turn == 0 ? 0 : 2;
        hf_cancel_trigger(cancels[first]);
        wait_end(&waits[first], HF_CANCELLED);
        hf_cancel_trigger(cancels[1]);
        wait_end(&waits[1], HF_CANCELLED);
        int last = 2 - first;
        assert_int_equal(count_waiting(other, names[last]), 1);
        assert_int_equal(hf_lock_release(locks[last]), HF_OK);
        wait_end(&waits[last], HF_OK);
        assert_int_equal(hf_lock_release(waits[last].lock), HF_OK);
        for (int i = 0; i < 3; i++) {
            if (i != last) {
                assert_int_equal(hf_lock_release(locks[i]), HF_OK);
            }
            assert_free(other, names[i]);
            hf_cancel_free(cancels[i]);
        }
    }
    hf_client_close(client);
    hf_client_close(other);
}

/* One token, two clients, and calls of each. */
static void test_a_token_of_two_clients(void **state)
{
    (void)state;
    struct hf_client *other = open_client();
    struct hf_cancel *cancel = new_token();
    struct wait waits[4];
    struct hf_client *clients[2];
    char name[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    struct hf_lock *lock = take(other, name, LEASE_MS);
    for (int i = 0; i < 2; i++) {
        clients[i] = open_with(cancel, HF_THREAD_AUTO);
    }
    for (int i = 0; i < 4; i++) {
        waits[i] = (struct wait){.client = clients[i % 2]};
        waits[i].request = want(name, LEASE_MS, HF_WAIT_FOREVER);
        wait_start(&waits[i]);
    }
    await_waiting(other, name, 4);
    hf_cancel_trigger(cancel);
    for (int i = 0; i < 4; i++) {
        wait_end(&waits[i], HF_CANCELLED);
    }
    await_waiting(other, name, 0);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(clients[0]);
    hf_client_close(clients[1]);
    hf_cancel_free(cancel);
    hf_client_close(other);
}

/* A break waits for the end of a lease. */
static void *break_it(void *user)
{
    struct wait *wait = user;
    wait->status =
        hf_client_break(wait->client, wait->request.name,
                        wait->request.name_len, false, NULL, &wait->error);
    return NULL;
}

static void test_in_a_break(void **state)
{
    (void)state;
    enum { TTL_MS = 6000 }; /* a break in progress is undone */
    struct hf_cancel *cancel = new_token();
    struct hf_client *client = open_with(cancel, HF_THREAD_AUTO);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(other, name, TTL_MS);
    struct wait wait = {.client = client, .status = HF_INTERNAL};
    wait.request = want(name, TTL_MS, 0);
    int64_t began_ms = now_ms();
    assert_int_equal(pthread_create(&wait.thread, NULL, break_it, &wait), 0);
    while (hf_lock_state(lock) != HF_STATE_LOST) {
        assert_true(now_ms() - began_ms < PATIENCE_MS);
        /* a store that cannot break says so at once */
        assert_int_equal(pthread_tryjoin_np(wait.thread, NULL), EBUSY);
        assert_true(hf_lock_extend(lock, 0, NULL) != HF_INVALID);
        pause_ms(2);
    }
    hf_cancel_trigger(cancel);
    wait_end(&wait, HF_CANCELLED);
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    assert_free(other, name);
    hf_client_close(client);
    hf_client_close(other);
    hf_cancel_free(cancel);
}

/* ---- From a signal handler --------------------------------------------- */

static struct hf_cancel *volatile signalled;

static void on_signal(int number)
{
    (void)number;
    hf_cancel_trigger(signalled);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

/* At each step of a call, also just before it: no trigger is lost. */
static void test_from_a_signal_handler(void **state)
{
    (void)state;
    enum { TURNS = 150, STEP_US = 10 };
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    char name[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    struct hf_lock *held = take(other, name, LEASE_MS);
    handle(SIGALRM, on_signal);
    for (int i = 0; i < TURNS; i++) {
        struct hf_cancel *cancel = new_token();
        struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
        struct itimerval timer = {.it_value = {.tv_usec = 1 + i * STEP_US}};
        struct hf_lock *lock = NULL;
        request.cancel = cancel;
        signalled = cancel;
        setitimer(ITIMER_REAL, &timer, NULL);
        assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL),
                         HF_CANCELLED);
        assert_null(lock);
        assert_true(hf_cancel_is_triggered(cancel));
        signalled = NULL;
        hf_cancel_free(cancel);
    }
    handle(SIGALRM, SIG_DFL);
    await_waiting(other, name, 0);
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(other, name);
    hf_client_close(client);
    hf_client_close(other);
}

/* Another process sets the embedded store up, and takes long. */
static void test_in_opening(void **state)
{
    (void)state;
    char folder[200];
    char path[220];
    char url[220];
    const char *tmp = getenv("TMPDIR");
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    if (!world_is_local()) {
        return; /* no other store waits in its open() */
    }
    snprintf(folder, sizeof(folder), "%s/hf-opening.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/locks.gate", folder);
    snprintf(url, sizeof(url), "local://%s", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (int kind = LOCK_SH; kind != 0; kind = kind == LOCK_SH ? LOCK_EX : 0) {
        struct itimerval timer = {.it_value = {.tv_usec = 100000}};
        assert_int_equal(flock(fd, kind), 0);
        hf_client_options_init(&options);
        options.cancel = new_token();
        signalled = options.cancel;
        handle(SIGALRM, on_signal);
        setitimer(ITIMER_REAL, &timer, NULL);
        assert_int_equal(hf_client_open(url, &options, &client, &error),
                         HF_CANCELLED);
        assert_null(client);
        assert_string_equal(error.text, "cancelled");
        handle(SIGALRM, SIG_DFL);
        signalled = NULL;
        hf_cancel_free(options.cancel);
    }
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A program: SIGTERM ends its wait, and it releases its locks. */
static int program(const char *waited, const char *mine, bool is_early)
{
    struct hf_client *client = NULL;
    struct hf_cancel *cancel = NULL;
    struct hf_lock *own = NULL;
    struct hf_lock *lock = NULL;
    struct hf_request request = want(mine, LEASE_MS, PATIENCE_MS);
    if (hf_cancel_new(&cancel, NULL) != HF_OK ||
        try_open(cancel, HF_THREAD_NONE, &client) != HF_OK ||
        hf_lock_acquire(client, &request, &own, NULL) != HF_OK) {
        return 2;
    }
    signalled = cancel;
    handle(SIGTERM, on_signal);
    if (is_early) {
        raise(SIGTERM);
    }
    request = want(waited, LEASE_MS, HF_WAIT_FOREVER);
    if (hf_lock_acquire(client, &request, &lock, NULL) != HF_CANCELLED) {
        return 3;
    }
    if (hf_lock_release(own) != HF_OK) {
        return 4;
    }
    hf_client_close(client);
    signalled = NULL;
    hf_cancel_free(cancel);
    return 0;
}

static void test_sigterm_ends_a_program(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char waited[80];
        char mine[80];
        int status = 0;
        snprintf(waited, sizeof(waited), "%s", fresh_name());
        snprintf(mine, sizeof(mine), "%s", fresh_name());
        struct hf_client *other = open_mode(HF_THREAD_NONE);
        struct hf_lock *held = take(other, waited, LEASE_MS);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            _exit(program(waited, mine, i == 1));
        }
        if (i == 0) {
            await_waiting(other, waited, 1);
            assert_int_equal(kill(pid, SIGTERM), 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(hf_lock_release(held), HF_OK);
        assert_free(other, waited);
        assert_free(other, mine);
        hf_client_close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_token),
        cmocka_unit_test(test_before_opening),
        cmocka_unit_test(test_before_each_call),
        cmocka_unit_test(test_before_a_request),
        cmocka_unit_test(test_in_a_queue),
        cmocka_unit_test(test_one_of_several_waits),
        cmocka_unit_test(test_a_token_of_two_clients),
        cmocka_unit_test(test_in_a_break),
        cmocka_unit_test(test_from_a_signal_handler),
        cmocka_unit_test(test_in_opening),
        cmocka_unit_test(test_sigterm_ends_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
