/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in queues, on whatever store HF_TEST_URL names: order, hand-over,
 * cancelling, dying, sharing. Many clients in one process, run by one loop;
 * whoever must be killed or stopped is a process of its own. */
#include "client_world.h"

#define ACTORS_MAX 24

/* Longer than anything here takes, shorter than a test run waits. */
#define PATIENCE_MS 20000

struct actor {
    struct hf_client *client;
    struct hf_op *op;
    struct hf_lock *lock;
    enum hf_status status;
    bool is_done;
    int turn; /* how many were done before */
    char error[200];
};

struct cast {
    struct actor actors[ACTORS_MAX];
    int n;
    int turns;
};

static struct cast cast;

static int open_cast(void **state)
{
    (void)state;
    memset(&cast, 0, sizeof(cast));
    return 0;
}

static struct actor *enter(void)
{
    assert_true(cast.n < ACTORS_MAX);
    struct actor *actor = &cast.actors[cast.n++];
    actor->client = open_mode(HF_THREAD_NONE);
    return actor;
}

static int close_cast(void **state)
{
    (void)state;
    for (int i = 0; i < cast.n; i++) {
        hf_client_close(cast.actors[i].client);
    }
    cast.n = 0;
    return 0;
}

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct actor *actor = user;
    actor->lock = lock;
    actor->status = status;
    actor->op = NULL;
    actor->is_done = true;
    actor->turn = cast.turns++;
    snprintf(actor->error, sizeof(actor->error), "%.199s", error->text);
}

/* One turn of the loop for all. */
static void turn_for(int64_t ms)
{
    struct pollfd fds[ACTORS_MAX];
    for (int i = 0; i < cast.n; i++) {
        fds[i] = (struct pollfd){.fd = hf_client_fd(cast.actors[i].client),
                                 .events = POLLIN};
    }
    poll(fds, (nfds_t)cast.n, ms < 0 ? 0 : (int)ms);
    for (int i = 0; i < cast.n; i++) {
        hf_client_process(cast.actors[i].client);
    }
}

static void ask_with(struct actor *actor, const struct hf_request *request)
{
    struct hf_error error;
    actor->is_done = false;
    actor->lock = NULL;
    assert_int_equal(hf_op_start_acquire(actor->client, request, on_done, actor,
                                         &actor->op, &error),
                     HF_OK);
}

static void ask(struct actor *actor, const char *name)
{
    struct hf_request request = want(name, 10000, HF_WAIT_FOREVER);
    ask_with(actor, &request);
}

static void ask_shared(struct actor *actor, const char *name)
{
    struct hf_request request = want(name, 10000, HF_WAIT_FOREVER);
    request.mode = HF_SHARED;
    ask_with(actor, &request);
}

static bool is_queued(struct actor *actor)
{
    struct hf_waiting waiting;
    return !actor->is_done && hf_op_waiting(actor->op, &waiting);
}

/* It has its place at every node: places are asked for one by one. */
static int places(const char *name);

static void await_queued(struct actor *actor, const char *name, int waiting)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (!is_queued(actor) || places(name) < waiting) {
        if (now_ms() > end) {
            fail_msg("not queued: %d of %d places (%s)", places(name), waiting,
                     actor->error);
        }
        turn_for(5);
    }
}

static void await(struct actor *actor)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (!actor->is_done) {
        if (now_ms() > end) {
            fail_msg("actor %d was not served", (int)(actor - cast.actors));
        }
        turn_for(20);
    }
    if (actor->status != HF_OK) {
        fail_msg("%s: %s", hf_status_name(actor->status), actor->error);
    }
}

static void linger(int64_t ms)
{
    int64_t end = now_ms() + ms;
    while (now_ms() < end) {
        turn_for(end - now_ms());
    }
}

static void give_back(struct actor *actor)
{
    hf_op_start_release(actor->lock, NULL, NULL);
    actor->lock = NULL;
    turn_for(0);
}

/* ---- What the nodes say ------------------------------------------------ */

struct count {
    int waiting[HF_NODES_MAX];
    int holding[HF_NODES_MAX];
};

static bool count_place(void *user, const struct hf_place *place)
{
    struct count *count = user;
    count->waiting[place->node] += place->waits;
    count->holding[place->node] += !place->waits;
    return true;
}

static struct count look(const char *name)
{
    static struct hf_client *watcher;
    struct count count = {0};
    struct hf_error error;
    if (watcher == NULL) {
        watcher = open_client();
    }
    if (hf_client_roster(watcher, name, strlen(name), count_place, &count,
                         &error) != HF_OK) {
        fail_msg("roster: %s", error.text);
    }
    return count;
}

static int n_nodes(void)
{
    return cast.n > 0 ? hf_client_nodes(cast.actors[0].client) : 1;
}

/* The fewest that wait at one node. */
static int places(const char *name)
{
    struct count count = look(name);
    int least = count.waiting[0];
    for (int i = 1; i < n_nodes(); i++) {
        least = count.waiting[i] < least ? count.waiting[i] : least;
    }
    return least;
}

static void await_nobody(const char *name)
{
    int64_t end = now_ms() + PATIENCE_MS;
    for (;;) {
        struct count count = look(name);
        int left = 0;
        for (int i = 0; i < HF_NODES_MAX; i++) {
            left += count.waiting[i] + count.holding[i];
        }
        if (left == 0) {
            return;
        }
        if (now_ms() > end) {
            fail_msg("%d are still there", left);
        }
        turn_for(2);
    }
}

/* ---- Order ------------------------------------------------------------- */

static void test_first_come_first_served(void **state)
{
    (void)state;
    const char *name = fresh_name();
    enum { N = 8 };
    struct actor *actors[N];
    for (int i = 0; i < N; i++) {
        actors[i] = enter();
        ask(actors[i], name);
        if (i == 0) {
            await(actors[0]);
        } else {
            await_queued(actors[i], name, i);
        }
    }
    uint64_t fence = 0;
    for (int i = 0; i < N; i++) {
        await(actors[i]);
        assert_int_equal(actors[i]->turn, i);
        assert_true(hf_lock_fence(actors[i]->lock) > fence);
        fence = hf_lock_fence(actors[i]->lock);
        give_back(actors[i]);
    }
    await_nobody(name);
}

static void test_try_does_not_overtake(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *waiter = enter();
    struct actor *other = enter();
    ask(holder, name);
    await(holder);
    ask(waiter, name);
    await_queued(waiter, name, 1);
    struct hf_request request = want(name, 10000, 0);
    give_back(holder);
    ask_with(other, &request);
    int64_t end = now_ms() + PATIENCE_MS;
    while (!other->is_done && now_ms() < end) {
        turn_for(5);
    }
    assert_true(other->is_done);
    assert_int_equal(other->status, HF_BUSY);
    await(waiter);
    give_back(waiter);
    await_nobody(name);
}

/* A hand-over takes far less than a heartbeat: nobody has to look. */
static void test_handed_over_without_a_beat(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *a = enter();
    struct actor *b = enter();
    ask(a, name);
    await(a);
    ask(b, name);
    await_queued(b, name, 1);
    int64_t began = now_ms();
    for (int i = 0; i < 50; i++) {
        struct actor *from = i % 2 == 0 ? a : b;
        struct actor *to = i % 2 == 0 ? b : a;
        give_back(from);
        await(to);
        ask(from, name);
        await_queued(from, name, 1);
    }
    /* By heartbeats it would be 100 s. */
    assert_true(now_ms() - began < 15000);
    hf_op_cancel(b->op);
    give_back(a);
    await_nobody(name);
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
    ask(holder, name);
    await(holder);
    ask(head, name);
    await_queued(head, name, 1);
    ask(middle, name);
    await_queued(middle, name, 2);
    ask(last, name);
    await_queued(last, name, 3);
    hf_op_cancel(middle->op);
    middle->op = NULL;
    int64_t end = now_ms() + PATIENCE_MS;
    while (look(name).waiting[0] != 2 && now_ms() < end) {
        turn_for(2);
    }
    assert_int_equal(look(name).waiting[0], 2);
    give_back(holder);
    await(head);
    give_back(head);
    await(last);
    give_back(last);
    await_nobody(name);
}

/* The grant is on its way to a client that gives up at that moment: the next
 * one gets it at once, not when a claim has run out (6 s). */
static void test_grant_to_one_who_gives_up(void **state)
{
    (void)state;
    struct actor *holder = enter();
    struct actor *fickle = enter();
    struct actor *next = enter();
    int64_t began = now_ms();
    for (int i = 0; i < 30; i++) {
        const char *name = fresh_name();
        ask(holder, name);
        await(holder);
        ask(fickle, name);
        await_queued(fickle, name, 1);
        ask(next, name);
        await_queued(next, name, 2);
        hf_op_start_release(holder->lock, NULL, NULL);
        hf_client_process(holder->client); /* the others have not read yet */
        hf_op_cancel(fickle->op);
        fickle->op = NULL;
        await(next);
        give_back(next);
        await_nobody(name);
    }
    assert_true(now_ms() - began < 15000);
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
    int64_t end = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end) {
        hf_client_process(gone.client);
        turn_for(1);
    }
    ask(last, name);
    await_queued(last, name, 2);
    hf_client_close(gone.client);
    give_back(holder);
    int64_t began = now_ms();
    await(last);
    assert_true(now_ms() - began < 3000);
    give_back(last);
    await_nobody(name);
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
    int64_t began = now_ms();
    while (!waiter->is_done && now_ms() - began < PATIENCE_MS) {
        turn_for(5);
    }
    assert_int_equal(waiter->status, HF_BUSY);
    assert_true(now_ms() - began >= 250);
    assert_non_null(strstr(waiter->error, "held by"));
    int64_t end = now_ms() + PATIENCE_MS;
    while (look(name).waiting[0] != 0 && now_ms() < end) {
        turn_for(2);
    }
    assert_int_equal(look(name).waiting[0], 0);
    give_back(holder);
    await_nobody(name);
}

/* ---- Dying ------------------------------------------------------------- */

/* A process that waits for `name`, and says when it has a place and when it
 * has the lock. */
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
            bool is_held = hf_lock_covers(actor->lock, 0);
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
    int64_t end = now_ms() + for_ms;
    fcntl(child->said, F_SETFL, O_NONBLOCK);
    while (read(child->said, &word, 1) != 1 && now_ms() < end) {
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
    int64_t end = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end) {
        turn_for(1);
    }
    ask(next, name);
    await_queued(next, name, 2);
    end_child(&head);
    give_back(holder);
    int64_t began = now_ms();
    await(next);
    /* Nobody received the grant: skipped at once, not after its 6 s. */
    assert_true(now_ms() - began < 3000);
    give_back(next);
    await_nobody(name);
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
    int64_t end = now_ms() + PATIENCE_MS;
    while (places(name) < 1 && now_ms() < end) {
        turn_for(1);
    }
    ask(next, name);
    await_queued(next, name, 2);
    assert_int_equal(kill(head.pid, SIGSTOP), 0);
    give_back(holder);
    int64_t began = now_ms();
    await(next);
    assert_true(now_ms() - began < 6000);
    assert_int_equal(kill(head.pid, SIGCONT), 0);
    /* It finds out that its grant is over, and waits on. */
    assert_int_equal(await_word(&head, 500), '-');
    assert_true(hf_lock_covers(next->lock, 0));
    give_back(next);
    assert_int_equal(await_word(&head, PATIENCE_MS), 'h');
    end_child(&head);
    await_nobody(name);
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

/* The embedded store sees it end; a server's lease has to run out, and it is
 * followed no later than that. */
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
    int64_t began = now_ms();
    end_child(&holder);
    await(waiter);
    int64_t took = now_ms() - began;
    print_message("# followed after %lld ms\n", (long long)took);
    assert_true(took < (world_is_local() ? 1500 : 4500));
    give_back(waiter);
    await_nobody(name);
}

/* Nobody renews a lock that was handed on: as if its holder had died. */
static void test_dead_holder_is_followed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct actor *holder = enter();
    struct actor *waiter = enter();
    char text[HF_OWNER_TEXT_MAX];
    struct hf_request request = want(name, 700, HF_WAIT_FOREVER);
    request.life = HF_LIFE_LEASE;
    ask_with(holder, &request);
    await(holder);
    int64_t began = now_ms();
    assert_int_equal(hf_lock_give(holder->lock, text), HF_OK);
    ask(waiter, name);
    await(waiter);
    int64_t took = now_ms() - began;
    assert_true(took >= 600);
    assert_true(took < 1900); /* less than the next heartbeat, at 2 s */
    give_back(waiter);
    await_nobody(name);
}

/* ---- Together ---------------------------------------------------------- */

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
    ask_shared(third, name); /* behind the writer, though it could join */
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
    await(fourth); /* admitted together: the third has not given back */
    assert_true(hf_lock_fence(third->lock) > fence);
    assert_true(hf_lock_fence(fourth->lock) > fence);
    give_back(third);
    give_back(fourth);
    await_nobody(name);
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
    int64_t end = now_ms() + PATIENCE_MS;
    int reads = 0;
    for (int i = 0; !writer->is_done && now_ms() < end; i = (i + 1) % READERS) {
        if (readers[i]->is_done) {
            give_back(readers[i]);
            ask_shared(readers[i], name); /* again at once */
            reads++;
        }
        turn_for(1);
    }
    assert_true(writer->is_done);
    assert_true(reads <= 2 * READERS); /* those before it, and no more */
    for (int i = 0; i < READERS; i++) {
        assert_false(readers[i]->is_done);
    }
    give_back(writer);
    for (int i = 0; i < READERS; i++) {
        await(readers[i]);
        give_back(readers[i]);
    }
    await_nobody(name);
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
    await_nobody(name);
}

/* ---- Many -------------------------------------------------------------- */

/* All ask again at once, for as long as it takes: nobody is left out, nobody
 * overlaps, and no gap is longer than a few round trips. */
static void test_contenders_take_turns(void **state)
{
    (void)state;
    enum { N = 10, GRANTS = 300 };
    const char *name = fresh_name();
    int served[N] = {0};
    int64_t longest = 0;
    int64_t last = now_ms();
    for (int i = 0; i < N; i++) {
        ask(enter(), name);
    }
    for (int grants = 0; grants < GRANTS;) {
        if (now_ms() - last > PATIENCE_MS) {
            fail_msg("stuck after %d grants", grants);
        }
        turn_for(50);
        int holder = -1;
        for (int i = 0; i < N; i++) {
            if (cast.actors[i].is_done) {
                assert_int_equal(cast.actors[i].status, HF_OK);
                assert_int_equal(holder, -1); /* they do not overlap */
                holder = i;
            }
        }
        if (holder < 0) {
            continue;
        }
        struct actor *actor = &cast.actors[holder];
        int64_t gap = now_ms() - last;
        longest = gap > longest ? gap : longest;
        last = now_ms();
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
    print_message("# longest gap %lld ms\n", (long long)longest);
    assert_true(longest < 3000);
    await_nobody(name);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_cast, close_cast)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first_come_first_served),
        TEST(test_try_does_not_overtake),
        TEST(test_handed_over_without_a_beat),
        TEST(test_cancelled_waiter_is_skipped),
        TEST(test_grant_to_one_who_gives_up),
        TEST(test_closing_leaves_the_queue),
        TEST(test_wait_that_ends),
        TEST(test_killed_head_is_skipped),
        TEST(test_stopped_head_is_overtaken_and_comes_back),
        TEST(test_killed_holder_is_followed),
        TEST(test_dead_holder_is_followed),
        TEST(test_readers_and_a_writer),
        TEST(test_writer_under_a_stream_of_readers),
        TEST(test_cancelled_writer_lets_readers_in),
        TEST(test_contenders_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
