/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of bench/raw through libholdfast, on one client.
 *
 *   ours --url URL --pids P[,...] [--mode blocking|events]
 *        [--threads N] [--inflight N] [--seconds S] [--count COMMAND]
 *
 *   blocking  N threads that each acquire and release a name of their own
 *   events    one thread, N operations in flight, in the user's own poll loop
 */
#include "measure.h"

#include <holdfast/holdfast.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LEASE_MS 10000

struct locker {
    struct bench *bench;
    pthread_t thread;
    char name[32];
    struct hf_request request;
    struct figures figures;
    int64_t started;
    int64_t held;
};

struct bench {
    struct hf_client *client;
    struct locker *lockers;
    int n;
    bool events;
    int64_t end;
    int n_running;
};

/* ---- Blocking ---------------------------------------------------------- */

static void *blocking_run(void *arg)
{
    struct locker *l = arg;
    struct hf_error error;
    int64_t now = now_ns();
    while (now < l->bench->end) {
        struct hf_lock *lock;
        l->started = now;
        if (hf_lock_acquire(l->bench->client, &l->request, &lock, &error) !=
            HF_OK) {
            die_text("acquire", error.text);
        }
        l->held = now_ns();
        l->figures.failed += hf_lock_release(lock) != HF_OK;
        now = now_ns();
        figures_add(&l->figures, l->started, l->held, now);
    }
    return NULL;
}

static void blocking_run_all(struct bench *b)
{
    if (b->n == 1) {
        (void)blocking_run(&b->lockers[0]);
        return;
    }
    for (int i = 0; i < b->n; i++) {
        if (pthread_create(&b->lockers[i].thread, NULL, blocking_run,
                           &b->lockers[i]) != 0) {
            die("pthread_create");
        }
    }
    for (int i = 0; i < b->n; i++) {
        (void)pthread_join(b->lockers[i].thread, NULL);
    }
}

/* ---- Events ------------------------------------------------------------ */

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error);

static void events_start(struct locker *l, int64_t now)
{
    struct hf_error error;
    l->started = now;
    if (hf_op_start_acquire(l->bench->client, &l->request, on_acquired, l, NULL,
                            &error) != HF_OK) {
        die_text("start", error.text);
    }
}

static void on_released(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct locker *l = user;
    int64_t now = now_ns();
    (void)lock;
    (void)error;
    l->figures.failed += status != HF_OK;
    figures_add(&l->figures, l->started, l->held, now);
    if (now < l->bench->end) {
        events_start(l, now);
    } else {
        l->bench->n_running--;
    }
}

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct locker *l = user;
    if (status != HF_OK) {
        die_text("acquire", error->text);
    }
    l->held = now_ns();
    hf_op_start_release(lock, on_released, l);
}

static void events_run_all(struct bench *b)
{
    struct pollfd fd = {.fd = hf_client_fd(b->client), .events = POLLIN};
    int64_t now = now_ns();
    for (int i = 0; i < b->n; i++) {
        events_start(&b->lockers[i], now);
    }
    b->n_running = b->n;
    while (b->n_running > 0) {
        if (poll(&fd, 1, 5000) <= 0) {
            die_text("ours", "nothing happened for 5 s");
        }
        hf_client_process(b->client);
    }
}

/* ---- All --------------------------------------------------------------- */

static void bench_run(struct bench *b, double seconds)
{
    for (int i = 0; i < b->n; i++) {
        figures_reset(&b->lockers[i].figures);
    }
    b->end = now_ns() + (int64_t)(seconds * 1e9);
    if (b->events) {
        events_run_all(b);
    } else {
        blocking_run_all(b);
    }
}

static void bench_open(struct bench *b, const char *url)
{
    struct hf_client_options options;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = b->events ? HF_THREAD_NONE : HF_THREAD_AUTO;
    if (hf_client_open(url, &options, &b->client, &error) != HF_OK) {
        die_text("open", error.text);
    }
    b->lockers = must_alloc((size_t)b->n, sizeof(*b->lockers));
    for (int i = 0; i < b->n; i++) {
        struct locker *l = &b->lockers[i];
        l->bench = b;
        (void)snprintf(l->name, sizeof(l->name), "our-%03d-%03d", 0, i);
        hf_request_init(&l->request, l->name);
        l->request.ttl_ms = LEASE_MS;
        l->request.wait_ms = 5000;
        figures_init(&l->figures);
    }
}

static void bench_close(struct bench *b)
{
    for (int i = 0; i < b->n; i++) {
        figures_fini(&b->lockers[i].figures);
    }
    free(b->lockers);
    hf_client_close(b->client);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct cpu cpu;
    const char *mode = arg_text(argc, argv, "--mode", "blocking");
    double seconds = arg_double(argc, argv, "--seconds", 1);
    bench.events = strcmp(mode, "events") == 0;
    bench.n = arg_int(argc, argv, bench.events ? "--inflight" : "--threads", 1);
    bench_open(&bench, arg_text(argc, argv, "--url", NULL));
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    cpu.count = arg_text(argc, argv, "--count", NULL);
    bench_run(&bench, seconds / 10); /* warm up */
    cpu_start(&cpu);
    bench_run(&bench, seconds);
    cpu_stop(&cpu);
    for (int i = 1; i < bench.n; i++) {
        figures_merge(&bench.lockers[0].figures, &bench.lockers[i].figures);
    }
    figures_print(&bench.lockers[0].figures, &cpu, mode);
    bench_close(&bench);
    return 0;
}
