/* SPDX-License-Identifier: Apache-2.0 */
/* The log of an outage, a hand-over and a quarantine, line by line: each with
 * its level and the name of the lock or node. Started by client_log.t.sh:
 * HF_TEST_URL and HF_PID are one server. */
#include "client_world.h"

static void stop(void)
{
    assert_int_equal(kill((pid_t)atoi(getenv("HF_PID")), SIGSTOP), 0);
}

static void go_on(void)
{
    assert_int_equal(kill((pid_t)atoi(getenv("HF_PID")), SIGCONT), 0);
}

static int go_on_again(void **state)
{
    (void)state;
    go_on();
    return 0;
}

enum { LINES = 400 };

struct journal {
    pthread_mutex_t mutex;
    int n;
    int next; /* lines before this were checked */
    enum hf_log_level levels[LINES];
    char lines[LINES][300];
};

static void on_line(void *user, enum hf_log_level level, const char *text)
{
    struct journal *journal = user;
    pthread_mutex_lock(&journal->mutex);
    if (journal->n < LINES) {
        journal->levels[journal->n] = level;
        snprintf(journal->lines[journal->n++], sizeof(journal->lines[0]),
                 "%.299s", text);
    }
    pthread_mutex_unlock(&journal->mutex);
}

static struct hf_client *open_with(const char *url, enum hf_thread_mode mode,
                                   struct journal *journal)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    memset(journal, 0, sizeof(*journal));
    pthread_mutex_init(&journal->mutex, NULL);
    hf_client_options_init(&options);
    options.thread = mode;
    options.log = on_line;
    options.log_user = journal;
    assert_int_equal(hf_client_open(url, &options, &client, NULL), HF_OK);
    return client;
}

static struct hf_client *open_logged(const char *url, struct journal *journal)
{
    return open_with(url, HF_THREAD_AUTO, journal);
}

/* After the last line found there is one of this level that begins with
 * `subject`, the name of a lock or node, and continues with `text`. */
static bool is_logged(struct journal *journal, enum hf_log_level level,
                      const char *subject, const char *text)
{
    bool is_found = false;
    pthread_mutex_lock(&journal->mutex);
    for (int i = journal->next; i < journal->n && !is_found; i++) {
        const char *line = journal->lines[i];
        size_t len = strlen(subject);
        is_found = journal->levels[i] == level &&
                   strncmp(line, subject, len) == 0 &&
                   strncmp(line + len, ": ", 2) == 0 &&
                   strncmp(line + len + 2, text, strlen(text)) == 0;
        journal->next = is_found ? i + 1 : journal->next;
    }
    pthread_mutex_unlock(&journal->mutex);
    return is_found;
}

static void assert_logged(struct journal *journal, enum hf_log_level level,
                          const char *subject, const char *text)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_logged(journal, level, subject, text)) {
        if (now_ms() > end_ms) {
            for (int i = 0; i < journal->n; i++) {
                print_message("%d %s\n", (int)journal->levels[i],
                              journal->lines[i]);
            }
            fail_msg("not logged: %d %s: %s", (int)level, subject, text);
        }
        pause_ms(2);
    }
}

/* The name of the node in lines of the log. */
static const char *one_address(struct hf_client *client)
{
    static char address[200];
    struct hf_node *node = NULL;
    assert_int_equal(hf_client_node(client, 0, &node), HF_OK);
    snprintf(address, sizeof(address), "%s", hf_node_address(node));
    hf_node_free(node);
    return address;
}

/* A request is late after three round trips, if that is the longer: with a
 * first reply that took 170 ms, later than the lock is at risk. */
static void await_quick(struct hf_client *client)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (int64_t rtt_us = INT64_MAX; rtt_us > 50000;) {
        struct hf_node *node;
        hf_info_free(inspect(client, "quick"));
        assert_int_equal(hf_client_node(client, 0, &node), HF_OK);
        rtt_us = hf_node_rtt_us(node);
        hf_node_free(node);
        assert_true(now_ms() < end_ms);
    }
}

static void test_outage_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    struct hf_client *client = open_logged(world_url(), &journal);
    const char *name = fresh_name();
    const char *address = one_address(client);
    struct hf_lock *lock = take(client, name, 3000);
    assert_logged(&journal, HF_LOG_INFO, name, "asking for a lease of 3000 ms");
    assert_logged(&journal, HF_LOG_INFO, address, "connected");
    assert_logged(&journal, HF_LOG_DEBUG, name, "acquire to ");
    assert_logged(&journal, HF_LOG_DEBUG, name, "acquire at ");
    assert_logged(&journal, HF_LOG_INFO, name, "held, fence ");
    await_quick(client);
    stop();
    assert_logged(&journal, HF_LOG_DEBUG, name, "renew to ");
    assert_logged(&journal, HF_LOG_INFO, name, "renewal late: no answer from ");
    assert_logged(&journal, HF_LOG_WARN, name,
                  "at risk: renewal not confirmed");
    go_on();
    assert_logged(&journal, HF_LOG_INFO, name, "held again");
    stop();
    assert_logged(&journal, HF_LOG_WARN, name,
                  "at risk: renewal not confirmed");
    assert_logged(&journal, HF_LOG_ERROR, name, "lost: not renewed in time");
    go_on();
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    lock = take(client, name, LEASE_MS);
    assert_logged(&journal, HF_LOG_INFO, name, "held");
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_logged(&journal, HF_LOG_INFO, name, "released");
    hf_client_close(client);
}

static void assert_no_line_has(struct journal *journal, const char *text)
{
    pthread_mutex_lock(&journal->mutex);
    for (int i = 0; i < journal->n; i++) {
        if (strstr(journal->lines[i], text) != NULL) {
            fail_msg("logged: %s", journal->lines[i]);
        }
    }
    pthread_mutex_unlock(&journal->mutex);
}

/* A lease so short that it ends before the server counts as slow. */
static void test_outage_of_a_short_lease_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    struct hf_client *client = open_logged(world_url(), &journal);
    const char *name = fresh_name();
    char text[260];
    snprintf(text, sizeof(text), "lost: not renewed in time: %.200s: no answer",
             one_address(client));
    await_quick(client);
    struct hf_lock *lock = take(client, name, 1000);
    stop();
    assert_logged(&journal, HF_LOG_INFO, name, "renewal late: no answer from ");
    assert_logged(&journal, HF_LOG_ERROR, name, text);
    assert_no_line_has(&journal, "this process was stopped");
    go_on();
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    hf_client_close(client);
}

/* No server is to blame: as after a SIGSTOP of the program, or a suspend. */
static void test_own_delay_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    struct hf_client *client = open_with(world_url(), HF_THREAD_NONE, &journal);
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, 1000);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (hf_lock_state(lock) != HF_STATE_LOST) {
        assert_true(now_ms() < end_ms);
        pause_ms(10);
    }
    assert_logged(&journal, HF_LOG_ERROR, name,
                  "lost: not renewed in time: this process was stopped");
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    hf_client_close(client);
}

struct waiting {
    struct hf_client *client;
    const char *name;
    enum hf_status status;
    struct hf_lock *lock;
};

static void *wait_for_it(void *arg)
{
    struct waiting *waiting = arg;
    struct hf_request request = want(waiting->name, LEASE_MS, PATIENCE_MS);
    waiting->status =
        hf_lock_acquire(waiting->client, &request, &waiting->lock, NULL);
    return NULL;
}

static void test_hand_over_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    struct hf_client *client = open_logged(world_url(), &journal);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct hf_lock *held = take(other, name, LEASE_MS);
    struct waiting waiting = {.client = client, .name = name};
    assert_int_equal(try_take(client, name, NULL), HF_BUSY);
    assert_logged(&journal, HF_LOG_INFO, name, "not acquired: held by ");
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, &waiting);
    assert_logged(&journal, HF_LOG_INFO, name, "waiting, 0 ahead: held by ");
    assert_int_equal(hf_lock_release(held), HF_OK);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.status, HF_OK);
    assert_logged(&journal, HF_LOG_INFO, name, "held, handed over, fence ");
    let_go(waiting.lock);
    held = take(client, name, 2000);
    break_now(other, name);
    assert_logged(&journal, HF_LOG_ERROR, name, "lost: a majority no longer");
    assert_int_equal(hf_lock_release(held), HF_LOST);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_quarantine_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    char url[300];
    snprintf(url, sizeof(url), "%.*s?node_timeout=500ms",
             (int)strcspn(world_url(), "?"), world_url());
    struct hf_client *client = open_logged(url, &journal);
    const char *name = fresh_name();
    const char *address = one_address(client);
    struct hf_request request = want(name, 5000, 0);
    struct hf_lock *lock = NULL;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL),
                     HF_QUARANTINED);
    assert_logged(&journal, HF_LOG_WARN, address, "in quarantine: ");
    assert_logged(&journal, HF_LOG_INFO, name, "not acquired: ");
    assert_int_equal(hf_client_init_nodes(client, 0, NULL, NULL, NULL), HF_OK);
    assert_int_equal(try_take(client, name, NULL), HF_OK);
    assert_logged(&journal, HF_LOG_INFO, address, "quarantine is over");
    assert_logged(&journal, HF_LOG_INFO, name, "held");
    hf_client_close(client);
}

static void test_lost_node_is_logged(void **state)
{
    (void)state;
    static struct journal journal;
    struct hf_client *client =
        open_logged("redis://127.0.0.1:1?quarantine=off", &journal);
    const char *name = fresh_name();
    const char *address = one_address(client);
    assert_int_equal(try_once(client, name, NULL), HF_UNAVAILABLE);
    assert_logged(&journal, HF_LOG_WARN, address, "lost: ");
    assert_logged(&journal, HF_LOG_INFO, name, "not acquired: ");
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_outage_is_logged, go_on_again),
        cmocka_unit_test_teardown(test_outage_of_a_short_lease_is_logged,
                                  go_on_again),
        cmocka_unit_test(test_own_delay_is_logged),
        cmocka_unit_test(test_hand_over_is_logged),
        cmocka_unit_test(test_quarantine_is_logged),
        cmocka_unit_test(test_lost_node_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
