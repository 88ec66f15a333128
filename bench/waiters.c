/* SPDX-License-Identifier: Apache-2.0 */
/* Many waiters of one name: the cost of each, and the order in which they are
 * granted the lock.
 *
 *   waiters --url URL --pids P[,...] --servers ADDRESS[,...] --mode MODE
 *           [--count N] [--seconds S]
 *
 *   turns      N operations of one client in one thread wait behind a holder.
 *              Then each holder releases at once and acquires again, so that
 *              N - 1 always wait: the cost of a grant, in total, with a queue
 *              of that length
 *   idle       N operations of one client wait for S seconds for a holder that
 *              does not release: the cost of a waiter, in requests per second
 *              and node
 *   processes  N processes enqueue one after the other, each when the one
 *              before it is listed as a waiter; then each is granted the lock
 *              once
 *
 * "wrong" counts grants to a waiter although one with an earlier ticket waited.
 * "moved" counts waiters whose ticket is later than that of a later waiter:
 * their first request timed out, and was repeated. */
#include "contenders.h"

#include <holdfast/holdfast.h>
#include <poll.h>

#define PROCESSES_MAX 1000

/* `idle` uses the default lease, since the heartbeat interval depends on it. */
#define NAME "waiters"

#define SETTLE_NS 500000000

struct job {
    const char *url;
    const char *mode;
    int n;
    double seconds;
    struct cpu cpu;
    struct commands commands;
};

struct bench;

struct waiter {
    struct bench *bench;
    struct hf_op *op;
    int index;
};

struct bench {
    struct job *job;
    struct hf_client *client;
    struct waiter *waiters;
    int *order; /* ring: waiters in the order of their requests */
    int first;
    int n_asking;
    int n_seen; /* listed as waiting */
    int64_t grants;
    int64_t wrong;
    int64_t moved;
    int64_t failed;
    bool stopping;
};

static void request_init(struct hf_request *request)
{
    hf_request_init(request, NAME);
    request->wait_ms = PATIENCE_S * 1000;
}

static struct hf_client *client_open(const char *url, enum hf_thread_mode mode)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = mode;
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        die_text("open", error.text);
    }
    return client;
}

static struct hf_lock *must_acquire(struct hf_client *client)
{
    struct hf_request request;
    struct hf_error error;
    struct hf_lock *lock;
    request_init(&request);
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        die_text("acquire", error.text);
    }
    return lock;
}

/* The number of waiters that the servers report. */
static uint32_t count_waiting(struct hf_client *client)
{
    struct hf_info *info;
    struct hf_error error;
    if (hf_client_inspect(client, NAME, strlen(NAME), &info, &error) != HF_OK) {
        die_text("inspect", error.text);
    }
    uint32_t waiting = hf_info_waiting(info);
    hf_info_free(info);
    return waiting;
}

static void await_waiting(struct hf_client *client, uint32_t n)
{
    int64_t until = now_ns() + PATIENCE_S * INT64_C(1000000000);
    while (count_waiting(client) != n) {
        if (now_ns() > until) {
            die_text("waiters", "the queue never had the expected length");
        }
        pause_ns(200000);
    }
}

/* ---- Operations -------------------------------------------------------- */

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error);

static void ask(struct waiter *w)
{
    struct bench *b = w->bench;
    struct hf_request request;
    struct hf_error error;
    char label[16];
    (void)snprintf(label, sizeof(label), "%d", w->index);
    request_init(&request);
    request.label = label;
    b->order[(b->first + b->n_asking++) % b->job->n] = w->index;
    if (hf_op_start_acquire(b->client, &request, on_acquired, w, &w->op,
                            &error) != HF_OK) {
        die_text("start", error.text);
    }
}

/* Remove a waiter that was granted the lock from the order. @return true if it
 * was the first. */
static bool order_take(struct bench *b, int index)
{
    int n = b->job->n;
    int at = 0;
    while (b->order[(b->first + at) % n] != index) {
        at++;
    }
    bool was_next = at == 0;
    for (; at > 0; at--) {
        b->order[(b->first + at) % n] = b->order[(b->first + at - 1) % n];
    }
    b->first = (b->first + 1) % n;
    b->n_asking--;
    return was_next;
}

static void on_released(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct waiter *w = user;
    (void)lock;
    (void)error;
    w->bench->failed += status != HF_OK;
    if (!w->bench->stopping) {
        ask(w);
    }
}

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct waiter *w = user;
    struct bench *b = w->bench;
    if (status != HF_OK) {
        die_text("acquire", error->text);
    }
    w->op = NULL;
    b->grants++;
    b->wrong += !order_take(b, w->index);
    hf_op_start_release(lock, on_released, w);
}

static void bench_open(struct bench *b, struct job *job)
{
    memset(b, 0, sizeof(*b));
    b->job = job;
    b->client = client_open(job->url, HF_THREAD_NONE);
    b->waiters = must_alloc((size_t)job->n, sizeof(*b->waiters));
    b->order = must_alloc((size_t)job->n, sizeof(*b->order));
    for (int i = 0; i < job->n; i++) {
        b->waiters[i] = (struct waiter){.bench = b, .index = i};
    }
}

/* Cancel all remaining waits: that must leave no place in a queue. */
static void bench_close(struct bench *b)
{
    b->stopping = true;
    for (int i = 0; i < b->job->n; i++) {
        hf_op_cancel(b->waiters[i].op);
    }
    hf_client_close(b->client);
    free(b->waiters);
    free(b->order);
}

static void process_until(struct bench *b, int64_t end)
{
    struct pollfd fd = {.fd = hf_client_fd(b->client), .events = POLLIN};
    for (int64_t now = now_ns(); now < end; now = now_ns()) {
        if (poll(&fd, 1, (int)((end - now) / 1000000) + 1) > 0) {
            hf_client_process(b->client);
        }
    }
}

/* ---- Enqueueing -------------------------------------------------------- */

static bool all_wait(const struct bench *b)
{
    struct hf_waiting *waiting;
    for (int i = 0; i < b->job->n; i++) {
        if (!hf_op_waiting(b->waiters[i].op, &waiting)) {
            return false;
        }
        hf_waiting_free(waiting);
    }
    return true;
}

static bool all_served(const struct bench *b)
{
    return b->grants >= b->job->n;
}

static void await(struct bench *b, bool (*is_so)(const struct bench *b),
                  const char *otherwise)
{
    int64_t until = now_ns() + PATIENCE_S * INT64_C(1000000000);
    while (!is_so(b)) {
        if (now_ns() > until) {
            die_text(b->job->mode, otherwise);
        }
        process_until(b, now_ns() + 1000000);
    }
}

static bool seat_read(void *user, const struct hf_queue_entry *place)
{
    struct bench *b = user;
    if (hf_queue_entry_node(place) == 0 && hf_queue_entry_is_waiting(place) &&
        b->n_seen < b->job->n) {
        int index = atoi(hf_holder_label(hf_queue_entry_holder(place)));
        b->moved += b->n_seen > 0 && index < b->order[b->n_seen - 1];
        b->order[b->n_seen++] = index;
    }
    return true;
}

/* Sort the order by tickets. */
static void order_read(struct bench *b)
{
    struct hf_error error;
    b->n_seen = 0;
    if (hf_client_queue(b->client, NAME, strlen(NAME), seat_read, b, &error) !=
        HF_OK) {
        die_text("list", error.text);
    }
    if (b->n_seen != b->job->n) {
        die_text("list", "not every waiter is in it once");
    }
    b->first = 0;
}

static void queue_up(struct bench *b, struct job *job)
{
    bench_open(b, job);
    (void)count_waiting(b->client); /* opens its connections */
    for (int i = 0; i < job->n; i++) {
        ask(&b->waiters[i]);
    }
    await(b, all_wait, "not all wait");
}

static struct command_count measure(struct bench *b)
{
    struct job *job = b->job;
    b->grants = 0;
    commands_reset(&job->commands);
    cpu_start(&job->cpu);
    process_until(b, now_ns() + (int64_t)(job->seconds * 1e9));
    cpu_stop(&job->cpu);
    return commands_read(&job->commands);
}

static void turns_run(struct job *job)
{
    struct bench b;
    struct hf_client *other = client_open(job->url, HF_THREAD_AUTO);
    struct hf_lock *lock = must_acquire(other);
    queue_up(&b, job);
    order_read(&b);
    (void)hf_lock_release(lock);
    await(&b, all_served, "not all were granted it");
    struct command_count count = measure(&b);
    double n = b.grants > 0 ? (double)b.grants : 1;
    (void)printf(
        "job=turns waiters=%d grant_us=%.2f client=%.2f server=%.2f "
        "sent=%.3f all=%.2f grants=%lld wrong=%lld moved=%lld failed=%lld ",
        job->n, (double)job->cpu.wall_ns / 1e3 / n,
        (double)job->cpu.client_ns / 1e3 / n,
        (double)job->cpu.server_ns / 1e3 / n, (double)count.sent / n,
        (double)count.all / n, (long long)b.grants, (long long)b.wrong,
        (long long)b.moved, (long long)b.failed);
    bench_close(&b);
    (void)printf("left=%u\n", count_waiting(other));
    hf_client_close(other);
}

static void idle_run(struct job *job)
{
    struct bench b;
    struct hf_client *other = client_open(job->url, HF_THREAD_AUTO);
    struct hf_lock *lock = must_acquire(other);
    queue_up(&b, job);
    /* Requests beyond the majority may still be in flight: they are no part of
     * waiting. */
    process_until(&b, now_ns() + SETTLE_NS);
    struct command_count count = measure(&b);
    double waited = job->n * (double)job->cpu.wall_ns / 1e9;
    (void)printf(
        "job=idle waiters=%d sent_per_s=%.3f client_us_per_s=%.2f "
        "server_us_per_s=%.2f grants=%lld ",
        job->n, (double)count.sent / waited / hf_client_nodes(b.client),
        (double)job->cpu.client_ns / 1e3 / waited,
        (double)job->cpu.server_ns / 1e3 / waited, (long long)b.grants);
    bench_close(&b);
    (void)printf("left=%u\n", count_waiting(other));
    (void)hf_lock_release(lock);
    hf_client_close(other);
}

/* ---- Processes --------------------------------------------------------- */

struct parade {
    sem_t turns[PROCESSES_MAX]; /* posted when the process may enqueue */
    sem_t ready;
    _Atomic int n_served;
    int served[PROCESSES_MAX];
    int64_t served_ns[PROCESSES_MAX];
};

static void parade_join(struct parade *p, const char *url, int index)
{
    struct hf_client *client = client_open(url, HF_THREAD_AUTO);
    (void)sem_post(&p->ready);
    if (!sem_take(&p->turns[index], PATIENCE_S)) {
        die_text("processes", "never had its turn to ask");
    }
    struct hf_lock *lock = must_acquire(client);
    int at = atomic_fetch_add(&p->n_served, 1);
    p->served[at] = index;
    p->served_ns[at] = now_ns();
    if (hf_lock_release(lock) != HF_OK) {
        die_text("release", "not confirmed");
    }
    hf_client_close(client);
}

static void parade_start(struct parade *p, const struct job *job, pid_t *pids)
{
    pid_t parent = getpid();
    (void)sem_init(&p->ready, 1, 0);
    for (int i = 0; i < job->n; i++) {
        (void)sem_init(&p->turns[i], 1, 0);
    }
    for (int i = 0; i < job->n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            child_settle(parent);
            parade_join(p, job->url, i);
            exit(0);
        }
        if (pids[i] < 0) {
            die("fork");
        }
    }
    for (int i = 0; i < job->n; i++) {
        if (!sem_take(&p->ready, PATIENCE_S)) {
            die_text("processes", "one did not start");
        }
    }
}

static void processes_run(struct job *job)
{
    pid_t pids[PROCESSES_MAX] = {0};
    struct parade *p = map_shared(sizeof(*p));
    parade_start(p, job, pids);
    struct hf_client *client = client_open(job->url, HF_THREAD_AUTO);
    struct hf_lock *lock = must_acquire(client);
    for (int i = 0; i < job->n; i++) {
        (void)sem_post(&p->turns[i]);
        await_waiting(client, (uint32_t)i + 1);
    }
    int64_t start = now_ns();
    (void)hf_lock_release(lock);
    bool all_well = children_reap(pids, job->n);
    int n = atomic_load(&p->n_served);
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        wrong += p->served[i] != i;
    }
    (void)printf("job=processes waiters=%d served=%d wrong=%d hand_us=%.1f "
                 "left=%u\n",
                 job->n, n, wrong,
                 n > 0 ? (double)(p->served_ns[n - 1] - start) / 1e3 / n : 0,
                 count_waiting(client));
    hf_client_close(client);
    if (!all_well) {
        die_text("processes", "one failed, or was not served");
    }
}

int main(int argc, char **argv)
{
    struct job job = {
        .url = arg_text(argc, argv, "--url", "local:"),
        .mode = arg_text(argc, argv, "--mode", "turns"),
        .n = arg_int(argc, argv, "--count", 100),
        .seconds = arg_double(argc, argv, "--seconds", 1),
    };
    if (job.n < 1 || job.n > PROCESSES_MAX) {
        die_text("usage", "waiters --count 1..1000");
    }
    cpu_init(&job.cpu, arg_text(argc, argv, "--pids", NULL));
    commands_open(&job.commands, arg_text(argc, argv, "--servers", NULL));
    if (strcmp(job.mode, "turns") == 0) {
        turns_run(&job);
    } else if (strcmp(job.mode, "idle") == 0) {
        idle_run(&job);
    } else if (strcmp(job.mode, "processes") == 0) {
        processes_run(&job);
    } else {
        die_text("usage", "waiters --mode turns|idle|processes");
    }
    commands_close(&job.commands);
    return 0;
}
