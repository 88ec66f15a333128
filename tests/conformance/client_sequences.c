/* SPDX-License-Identifier: Apache-2.0 */
/* Random sequences of public calls, in one to four threads, on clients with and
 * without a thread, from callbacks too.
 *
 *   client_sequences [FIRST N [STEPS]]
 *
 * Without arguments a few seeds, as a test. HF_TEST_VERBOSE=1 prints each call,
 * HF_TEST_FAULTY=1 expects that servers fail meanwhile. A seed draws the same
 * calls; how threads meet is not repeatable. */
#include "sequence_clients.h"

/* ---- Forks --------------------------------------------------------------- */

#if defined(__SANITIZE_THREAD__)
#define IS_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_TSAN true
#endif
#endif
#ifndef IS_TSAN
#define IS_TSAN false
#endif
#if defined(__SANITIZE_ADDRESS__)
#define IS_ASAN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_ASAN true
#endif
#endif
#ifndef IS_ASAN
#define IS_ASAN false
#endif
#define IS_SANITIZED (IS_ASAN || IS_TSAN)

/* In the child, which uses neither stdio nor the mutex of the world: another
 * thread may have had them. @return 0, or the number of what was wrong. */
static int child_uses(void)
{
    for (struct held *at = world.held; at != NULL; at = at->next) {
        if (!at->is_used && (hf_lock_state(at->lock) != HF_STATE_LOST ||
                             hf_lock_release(at->lock) != HF_INVALID)) {
            return 2;
        }
    }
    for (int i = 0; i < BOXES; i++) {
        struct box *box = &world.boxes[i];
        struct hf_request request = want("child", 1000, 0);
        struct hf_lock *lock;
        if (!box_is_open(box)) {
            continue;
        }
        if (hf_lock_acquire(box->client, &request, &lock, NULL) != HF_INVALID ||
            hf_client_fd(box->client) >= 0) {
            return 3;
        }
        hf_client_process(box->client);
        hf_client_close(box->client);
    }
    return 0;
}

static void do_fork(void)
{
    if (self()->nest > 0 || (IS_SANITIZED && world.threads > 1)) {
        return;
    }
    calls("fork");
    lock_world();
    pid_t child = IS_SANITIZED ? fork_while_others_sleep() : fork();
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        _exit(child_uses());
    }
    unlock_world();
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) {
        wrong("the child ended with %d", status);
    }
    count("fork", HF_OK);
}

/* Only time ends a lease: without it no call would find its lock lost. */
static void do_pause(void)
{
    calls("a pause");
    pause_ms(draw(self()->nest > 0 ? 10 : 60)); /* sleeps: a drawn step */
}

/* ---- Steps --------------------------------------------------------------- */

struct step {
    unsigned weight;
    void (*of_client)(struct box *box);
    void (*of_lock)(struct held *held);
    void (*other)(void);
};

static const struct step steps[] = {
    {60, do_acquire, NULL, NULL},
    {50, do_start_acquire, NULL, NULL},
    {15, do_adopt, NULL, NULL},
    {15, do_start_adopt, NULL, NULL},
    {8, do_owner_release, NULL, NULL},
    {20, NULL, do_release, NULL},
    {12, NULL, do_release_reserved, NULL},
    {15, NULL, do_start_release, NULL},
    {10, NULL, do_start_release_reserved, NULL},
    {20, NULL, do_extend, NULL},
    {20, NULL, do_start_extend, NULL},
    {15, NULL, do_detach, NULL},
    {15, NULL, do_start_detach, NULL},
    {8, NULL, do_add_process, NULL},
    {12, NULL, do_mark, NULL},
    {20, NULL, do_ask, NULL},
    {6, NULL, do_bad, NULL},
    {12, do_inspect, NULL, NULL},
    {12, do_queue, NULL, NULL},
    {8, do_list, NULL, NULL},
    {8, do_marked, NULL, NULL},
    {10, do_break, NULL, NULL},
    {40, do_start_look, NULL, NULL},
    {30, do_cancel, NULL, NULL},
    {90, do_process, NULL, NULL},
    {15, do_next_event, NULL, NULL},
    {8, do_interrupt, NULL, NULL},
    {6, do_trigger, NULL, NULL},
    {5, do_node, NULL, NULL},
    {2, do_admin, NULL, NULL},
    {12, do_value_put, NULL, NULL},
    {12, do_value_update, NULL, NULL},
    {40, NULL, NULL, do_open},
    {10, NULL, NULL, do_pause},
    {12, NULL, NULL, do_close},
    {15, NULL, NULL, do_fork},
};

static const struct step *draw_step(void)
{
    const size_t n = sizeof(steps) / sizeof(steps[0]);
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += steps[i].weight;
    }
    unsigned drawn = draw(sum);
    size_t at = 0;
    while (drawn >= steps[at].weight) {
        drawn -= steps[at++].weight;
    }
    return &steps[at];
}

static void one_step(void)
{
    const struct step *step = draw_step();
    bool is_value =
        step->of_client == do_value_put || step->of_client == do_value_update;
    if (step->other != NULL) {
        step->other();
    } else if (step->of_lock != NULL) {
        struct held *held = held_claim(NULL);
        if (held != NULL) {
            step->of_lock(held);
        }
    } else if (world.has_values || !is_value) {
        struct box *box = box_enter_any();
        if (box != NULL) {
            step->of_client(box);
            box_leave(box);
        }
    }
}

/* The client in whose callback this is. */
static void close_outer(void)
{
    struct box *box = &world.boxes[draw(BOXES)];
    if (box_is_outer(box)) {
        box_close(box);
    }
}

static void nested_step(void)
{
    struct actor *actor = self();
    const char *call = atomic_load(&actor->call);
    if (actor->nest < 2 && draw(3) == 0) {
        actor->nest++;
        if (draw(6) == 0) {
            close_outer();
        } else {
            one_step();
        }
        actor->nest--;
    }
    atomic_store(&actor->call, call);
}

/* ---- A sequence ---------------------------------------------------------- */

static int steps_of_thread = 40;

static void *act(void *arg)
{
    self_is = arg;
    for (int i = 0; i < steps_of_thread; i++) {
        self_is->step = i;
        one_step();
    }
    return NULL;
}

static void check_deadline(void)
{
    lock_world();
    int64_t deadline_ms = world.deadline_ms;
    unlock_world();
    if (deadline_ms == 0 || now_ms() < deadline_ms) {
        return;
    }
    for (int i = 0; i < world.threads; i++) {
        const char *call = atomic_load(&world.actors[i].call);
        printf("# thread %d: %s\n", i, call == NULL ? "" : call);
    }
    wrong("a hang");
}

static void *watch(void *arg)
{
    for (;;) {
        tokens_trigger();
        check_deadline();
        pause_ms(1);
    }
    return arg;
}

static int entries_of(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    closedir(folder);
    return n;
}

static void await_entries(const char *path, int n)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (entries_of(path) > n) {
        if (now_ms() > end_ms) {
            wrong("%d entries in %s, not %d", entries_of(path), path, n);
        }
        pause_ms(1);
    }
}

static void world_begin(uint64_t seed)
{
    lock_world();
    world.seed = seed;
    world.threads = 1 + (int)(mix(seed) % ACTORS);
    world.deadline_ms = now_ms() + SEQUENCE_MS;
    world.n_garbage = 0;
    atomic_store(&world.is_ending, false);
    world.version = 0;
    world.updates = world.unsure = 0;
    for (int i = 0; i < NAMES; i++) {
        struct known *known = &world.names[i];
        *known = (struct known){.is_broken = i > MORE && i <= MORE + 2,
                                .permits = i > MORE + 2 ? (unsigned)i - 3 : 0};
        snprintf(known->text, sizeof(known->text), "s%d-%llu-%d", (int)getpid(),
                 (unsigned long long)seed, i);
    }
    for (int i = 0; i < BOXES; i++) {
        world.boxes[i].client = NULL;
        atomic_store(&world.boxes[i].is_closing, true);
    }
    for (int i = 0; i < ACTORS; i++) {
        memset(&world.actors[i], 0, sizeof(world.actors[i]));
        world.actors[i].idx = i;
        world.actors[i].random = mix(seed * 64 + (uint64_t)i);
    }
    unlock_world();
}

static bool box_is_busy(const struct box *box)
{
    lock_world();
    bool is_busy = box->client != NULL || box->users != 0;
    unlock_world();
    return is_busy;
}

/* Some end by themselves, and closing the clients ends the others. */
static void end_clients(void)
{
    int64_t end_ms = now_ms() + draw(2) * 100;
    while (now_ms() < end_ms) {
        struct box *box = &world.boxes[draw(BOXES)];
        if (box_enter(box)) {
            do_process(box);
            box_leave(box);
        }
    }
    atomic_store(&world.is_ending, true);
    for (int i = 0; i < BOXES; i++) {
        struct box *box = &world.boxes[i];
        /* A callback in the library's thread may be in a call on it. */
        while (box_is_busy(box)) {
            box_close(box);
        }
    }
}

/* The library's threads have ended, and so has each operation. */
static void check_ops(void)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (int i = 0; i < BOXES; i++) {
        for (;;) {
            lock_world();
            int left = world.boxes[i].ops;
            unlock_world();
            if (left == 0) {
                break;
            }
            if (now_ms() > end_ms) {
                wrong("%d operations have not ended", left);
            }
            pause_ms(1);
        }
    }
    while (ops != NULL) {
        struct op *next = ops->next;
        free(ops);
        ops = next;
    }
    for (int i = 0; i < world.n_garbage; i++) {
        hf_cancel_free(world.garbage[i]);
    }
}

/* Nothing is left of the clients that were closed. */
static void check_left(void)
{
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_value *value = NULL;
    char name[64];
    for (struct loose *at = loose_take(); at != NULL; at = loose_take()) {
        const char *text = world.names[at->wish.names[0]].text;
        calls("hf_owner_release");
        enum hf_status status =
            hf_owner_release(client, text, strlen(text), at->text, NULL);
        count("hf_owner_release", status);
        free(at);
    }
    for (int i = 0; i < NAMES && !world.is_faulty; i++) {
        calls(world.names[i].text);
        assert_free(client, world.names[i].text);
    }
    value_name(name, "count");
    if (world.has_values && !world.is_faulty &&
        hf_value_get(client, name, strlen(name), &value, NULL) == HF_OK) {
        const char *text = hf_value_data(value, NULL);
        unsigned long number = text == NULL ? 0 : strtoul(text, NULL, 10);
        if (number < world.updates || number > world.updates + world.unsure) {
            wrong("%lu updates, not %lu to %lu", number, world.updates,
                  world.updates + world.unsure);
        }
        hf_value_free(value);
    }
    hf_client_close(client);
}

static void run_sequence(uint64_t seed)
{
    pthread_t threads[ACTORS];
    int n_threads = entries_of("/proc/self/task");
    int n_fds = entries_of("/proc/self/fd");
    world_begin(seed);
    for (int i = 1; i < world.threads; i++) {
        pthread_create(&threads[i], NULL, act, &world.actors[i]);
    }
    (void)act(&world.actors[0]);
    for (int i = 1; i < world.threads; i++) {
        pthread_join(threads[i], NULL);
    }
    calls("the end");
    end_clients();
    await_entries("/proc/self/task", n_threads);
    check_ops();
    check_left();
    if (!IS_TSAN) { /* which starts a program of its own, with pipes */
        await_entries("/proc/self/fd", n_fds);
    }
}

static void report(void)
{
    for (int i = 0; i < CALLS && world.tallies[i].call != NULL; i++) {
        printf("# %s:", world.tallies[i].call);
        for (int j = 0; j <= HF_INTERNAL; j++) {
            if (world.tallies[i].count[j] != 0) {
                printf(" %lu %s", world.tallies[i].count[j],
                       hf_status_name((enum hf_status)j));
            }
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
    pthread_mutexattr_t recursive;
    pthread_t watcher;
    unsigned capabilities = 0;
    printf("1..1\n");
    fflush(stdout);
    steps_of_thread = argc > 3 ? atoi(argv[3]) : steps_of_thread;
    world.is_verbose = getenv("HF_TEST_VERBOSE") != NULL;
    world.is_faulty = getenv("HF_TEST_FAULTY") != NULL;
    world.has_values =
        strchr(world_url(), ' ') == NULL &&
        hf_store_capabilities(world_url(), &capabilities, NULL) == HF_OK &&
        (capabilities & HF_CAP_VALUES) != 0;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < BOXES; i++) {
        pthread_mutex_init(&world.boxes[i].loop, &recursive);
    }
    pthread_create(&watcher, NULL, watch, NULL);
    for (uint64_t seed = first; seed < first + n; seed++) {
        run_sequence(seed);
    }
    report();
    printf("ok 1 - %llu sequences from seed %llu\n", (unsigned long long)n,
           (unsigned long long)first);
    return 0;
}
