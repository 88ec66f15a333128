/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in queues, on the store in HF_TEST_URL: order, hand-over, cancel,
 * death. Many clients are in one process, run by one loop. A client that is
 * killed or stopped has a process of its own. */
#include "client_cast.h"

/* The first holds `name`; the others wait for it, in this order. */
static void line_up(const char *name, struct actor *const *actors, int n)
{
    ask(actors[0], name);
    await(actors[0]);
    for (int i = 1; i < n; i++) {
        ask(actors[i], name);
        await_queued(actors[i], name, i);
    }
}

#define LINE_UP(name, ...)                                                     \
    line_up(name, (struct actor *[]){__VA_ARGS__},                             \
            sizeof((struct actor *[]){__VA_ARGS__}) / sizeof(struct actor *))

/* ---- Order ------------------------------------------------------------- */

static void test_first_come_first_served(void **state)
{
    (void)state;
    const char *name = fresh_name();
    enum { N = 8 };
    struct actor *actors[N];
    for (int i = 0; i < N; i++) {
        actors[i] = enter();
    }
    line_up(name, actors, N);
    uint64_t fence = 0;
    for (int i = 0; i < N; i++) {
        await(actors[i]);
        assert_int_equal(actors[i]->turn, i);
        assert_true(hf_lock_fence(actors[i]->lock) > fence);
        fence = hf_lock_fence(actors[i]->lock);
        give_back(actors[i]);
    }
    await_unused(name);
}

static void test_try_does_not_overtake(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *waiter = enter();
    struct actor *other = enter();
    LINE_UP(name, holder, waiter);
    ask(other, "another name"); /* by then it is connected */
    await(other);
    give_back(other);
    struct hf_request request = want(name, 10000, 0);
    give_back(holder);
    ask_with(other, &request);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!other->is_done && now_ms() < end_ms) {
        turn_for(5);
    }
    assert_true(other->is_done);
    assert_int_equal(other->status, HF_BUSY);
    await(waiter);
    give_back(waiter);
    await_unused(name);
}

/* A hand-over takes far less than a heartbeat: the grant is pushed, not
 * polled. */
static void test_handed_over_without_a_beat(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *a = enter();
    struct actor *b = enter();
    LINE_UP(name, a, b);
    int64_t began_ms = now_ms();
    for (int i = 0; i < 50; i++) {
        struct actor *from = i % 2 == 0 ? a : b;
        struct actor *to = i % 2 == 0 ? b : a;
        give_back(from);
        await(to);
        ask(from, name);
        await_queued(from, name, 1);
    }
    /* By heartbeats it would take 100 s. */
    assert_true(now_ms() - began_ms < 50000);
    hf_op_cancel(b->op);
    give_back(a);
    await_unused(name);
}

/* ---- Giving up --------------------------------------------------------- */

static void test_cancelled_waiter_is_skipped(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *head = enter();
    struct actor *middle = enter();
    struct actor *last = enter();
    LINE_UP(name, holder, head, middle, last);
    hf_op_cancel(middle->op);
    middle->op = NULL;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (places(name) != 2 && now_ms() < end_ms) {
        turn_for(2);
    }
    assert_int_equal(places(name), 2);
    give_back(holder);
    await(head);
    give_back(head);
    await(last);
    give_back(last);
    await_unused(name);
}

/* The grant is in flight to a client that gives up at that moment. The next one
 * gets it at once, not when the claim has expired (6 s). */
static void test_grant_to_a_waiter_that_gives_up(void **state)
{
    (void)state;
    struct actor *holder = enter();
    struct actor *fickle = enter();
    struct actor *next = enter();
    int64_t began_ms = now_ms();
    for (int i = 0; i < 30; i++) {
        const char *name = fresh_name();
        LINE_UP(name, holder, fickle, next);
        hf_op_start_release(holder->lock, NULL, NULL);
        hf_client_process(holder->client); /* the others have not read yet */
        hf_op_cancel(fickle->op);
        fickle->op = NULL;
        await(next);
        give_back(next);
        await_unused(name);
    }
    assert_true(now_ms() - began_ms < 30 * CLAIM_MS / 2);
}

static void test_closing_leaves_the_queue(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *last = enter();
    struct actor gone = {.client = open_mode(HF_THREAD_NONE)};
    ask(holder, name);
    await(holder);
    ask_with(&gone, &(struct hf_request){.size = sizeof(struct hf_request),
                                         .name = name,
                                         .name_len = strlen(name),
                                         .ttl_ms = 10000,
                                         .wait_ms = HF_WAIT_FOREVER});
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end_ms) {
        hf_client_process(gone.client);
        turn_for(1);
    }
    ask(last, name);
    await_queued(last, name, 2);
    hf_client_close(gone.client);
    give_back(holder);
    int64_t began_ms = now_ms();
    await(last);
    assert_true(now_ms() - began_ms < CLAIM_MS - 500);
    give_back(last);
    await_unused(name);
}

static void test_wait_that_ends(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *waiter = enter();
    struct hf_request request = want(name, 10000, 300);
    ask(holder, name);
    await(holder);
    ask_with(waiter, &request);
    int64_t began_ms = now_ms();
    while (!waiter->is_done && now_ms() - began_ms < PATIENCE_MS) {
        turn_for(5);
    }
    assert_int_equal(waiter->status, HF_BUSY);
    assert_true(now_ms() - began_ms >= 250);
    assert_non_null(strstr(waiter->error, "held by"));
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (places(name) != 0 && now_ms() < end_ms) {
        turn_for(2);
    }
    assert_int_equal(places(name), 0);
    give_back(holder);
    await_unused(name);
}

/* ---- Dying ------------------------------------------------------------- */

/* A process that waits for `name`, and reports when it is queued and when it
 * holds the lock. */
struct child {
    pid_t pid;
    int said; /* 'q': queued, 'h': held */
};

static void child_main(const char *name, int64_t ttl_ms, int said)
{
    cast.n = 0;
    struct actor *actor = enter();
    struct hf_request request = want(name, ttl_ms, HF_WAIT_FOREVER);
    bool has_said = false;
    alarm(60);
    ask_with(actor, &request);
    for (;;) {
        turn_for(50);
        if (is_queued(actor) && !has_said) {
            has_said = write(said, "q", 1) == 1;
        }
        if (actor->is_done && actor->status == HF_OK) {
            bool is_held = hf_lock_valid_for(actor->lock, 0);
            (void)!write(said, is_held ? "h" : "x", 1);
            give_back(actor);
            linger(200);
            hf_client_close(actor->client);
            _exit(0);
        }
    }
}

static struct child fork_waiter(const char *name, int64_t ttl_ms)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        child_main(name, ttl_ms, ends[1]);
    }
    close(ends[1]);
    return (struct child){pid, ends[0]};
}

static char await_word(const struct child *child, int64_t for_ms)
{
    char word = '-';
    int64_t end_ms = now_ms() + for_ms;
    fcntl(child->said, F_SETFL, O_NONBLOCK);
    while (read(child->said, &word, 1) != 1 && now_ms() < end_ms) {
        turn_for(5);
    }
    return word;
}

static void end_child(const struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->said);
}

static void test_killed_head_is_skipped(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *next = enter();
    ask(holder, name);
    await(holder);
    struct child head = fork_waiter(name, 10000);
    assert_int_equal(await_word(&head, PATIENCE_MS), 'q');
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end_ms) {
        turn_for(1);
    }
    ask(next, name);
    await_queued(next, name, 2);
    end_child(&head);
    give_back(holder);
    int64_t began_ms = now_ms();
    await(next);
    /* The head has no live connection: it is skipped at once, not after 6 s. */
    assert_true(now_ms() - began_ms < CLAIM_MS - 500);
    give_back(next);
    await_unused(name);
}

/* But not inside the gate of the embedded store: that would stop all others. */
static void stop_waiter(pid_t pid, struct hf_client *client, const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    struct count count = {0};
    assert_int_equal(kill(pid, SIGSTOP), 0);
    while (hf_client_queue(client, name, strlen(name), count_place, &count,
                           NULL) != HF_OK) {
        assert_true(now_ms() < end_ms);
        assert_int_equal(kill(pid, SIGCONT), 0);
        turn_for(1);
        assert_int_equal(kill(pid, SIGSTOP), 0);
    }
}

static void test_stopped_head_is_overtaken_and_comes_back(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *next = enter();
    ask(holder, name);
    await(holder);
    /* Its claim lasts as long as its lease, 1 s. */
    struct child head = fork_waiter(name, 1000);
    assert_int_equal(await_word(&head, PATIENCE_MS), 'q');
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end_ms) {
        turn_for(1);
    }
    ask(next, name);
    await_queued(next, name, 2);
    stop_waiter(head.pid, next->client, name);
    give_back(holder);
    int64_t began_ms = now_ms();
    await(next);
    assert_true(now_ms() - began_ms < CLAIM_MS - 500);
    assert_int_equal(kill(head.pid, SIGCONT), 0);
    /* It learns that its grant has expired, and waits again. */
    assert_int_equal(await_word(&head, 500), '-');
    assert_true(hf_lock_valid_for(next->lock, 0));
    give_back(next);
    assert_int_equal(await_word(&head, PATIENCE_MS), 'h');
    end_child(&head);
    await_unused(name);
}

static void hold_main(const char *name, int said)
{
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, name, 4000);
    alarm(60);
    (void)!write(said, lock != NULL ? "h" : "x", 1);
    for (;;) {
        pause();
    }
}

/* The embedded store notices the end of the process. On a server the lease must
 * expire; the next waiter gets the lock no later than that. */
static void test_killed_holder_is_followed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    int ends[2];
    struct actor *waiter = enter();
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        hold_main(name, ends[1]);
    }
    close(ends[1]);
    struct child holder = {pid, ends[0]};
    assert_int_equal(await_word(&holder, PATIENCE_MS), 'h');
    ask(waiter, name);
    await_queued(waiter, name, 1);
    int64_t began_ms = now_ms();
    end_child(&holder);
    await(waiter);
    int64_t took_ms = now_ms() - began_ms;
    print_message("# followed after %lld ms\n", (long long)took_ms);
    assert_true(took_ms < (world_is_local() ? 3900 : 8000));
    give_back(waiter);
    await_unused(name);
}

/* A detached lock is not renewed: it ends as if its holder had died. */
static void test_dead_holder_is_followed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *waiter = enter();
    char text[HF_OWNER_TEXT_MAX];
    struct hf_request request = want(name, 700, HF_WAIT_FOREVER);
    request.liveness = HF_LIVENESS_LEASE;
    int64_t began_ms = now_ms();
    ask_with(holder, &request);
    await(holder);
    assert_int_equal(hf_lock_detach(holder->lock, text), HF_OK);
    ask(waiter, name);
    await(waiter);
    int64_t took_ms = now_ms() - began_ms;
    assert_true(took_ms >= 690);
    assert_true(took_ms < CLAIM_MS - 500);
    give_back(waiter);
    await_unused(name);
}

/* ---- Many -------------------------------------------------------------- */

/* Each contender asks again as soon as it has released. Every one gets the
 * lock, no two hold it at once, and no gap is longer than a few round trips. */
static void test_contenders_take_turns(void **state)
{
    (void)state;
    enum { N = 10, GRANTS = 300 };
    const char *name = fresh_name();
    int served[N] = {0};
    int64_t longest_ms = 0;
    int64_t last_ms = now_ms();
    for (int i = 0; i < N; i++) {
        ask(enter(), name);
    }
    for (int grants = 0; grants < GRANTS;) {
        if (now_ms() - last_ms > PATIENCE_MS) {
            fail_msg("stuck after %d grants", grants);
        }
        turn_for(50);
        int holder = -1;
        for (int i = 0; i < N; i++) {
            if (cast.actors[i].is_done) {
                assert_int_equal(cast.actors[i].status, HF_OK);
                assert_int_equal(holder, -1); /* the holds do not overlap */
                holder = i;
            }
        }
        if (holder < 0) {
            continue;
        }
        struct actor *actor = &cast.actors[holder];
        int64_t gap_ms = now_ms() - last_ms;
        longest_ms = gap_ms > longest_ms ? gap_ms : longest_ms;
        last_ms = now_ms();
        served[holder]++;
        grants++;
        give_back(actor);
        ask(actor, name);
    }
    for (int i = 0; i < N; i++) {
        print_message("# %d: %d grants\n", i, served[i]);
        assert_true(served[i] > 0);
        hf_op_cancel(cast.actors[i].op); /* NULL where it has been served */
        if (cast.actors[i].is_done) {
            give_back(&cast.actors[i]);
        }
    }
    print_message("# longest gap %lld ms\n", (long long)longest_ms);
    assert_true(longest_ms < CLAIM_MS - 500);
    await_unused(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first_come_first_served),
        TEST(test_try_does_not_overtake),
        TEST(test_handed_over_without_a_beat),
        TEST(test_cancelled_waiter_is_skipped),
        TEST(test_grant_to_a_waiter_that_gives_up),
        TEST(test_closing_leaves_the_queue),
        TEST(test_wait_that_ends),
        TEST(test_killed_head_is_skipped),
        TEST(test_stopped_head_is_overtaken_and_comes_back),
        TEST(test_killed_holder_is_followed),
        TEST(test_dead_holder_is_followed),
        TEST(test_contenders_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
