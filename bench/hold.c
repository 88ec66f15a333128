/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of holding many locks: one client acquires all of them, then only
 * renews them, and is measured while it does.
 *
 *   hold --url URL --pids P[,...] [--locks N] [--ttl MS] [--seconds S]
 *        [--nodes N] [--thread auto|none] [--watch 1] --count COMMAND
 *
 * Memory is the growth of the resident set from the first hundred locks to the
 * last, per lock, less the bytes of its name; so fixed buffers do not count.
 * CPU is that of the whole process while it holds, divided by the number of
 * renewals. Servers report how many scripts or requests they had; a renewal is
 * one on each node, where requests do not carry many. */
#include "measure.h"

#include <holdfast/holdfast.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#define NAME_LEN 12
#define IN_FLIGHT 64
#define FIRST 100

struct bench {
    struct hf_client *client;
    struct hf_lock **locks;
    int n_locks;
    int next;
    int n_held;
    int goal;
    int ttl_ms;
    bool own_loop; /* renewed from here, not by the library's thread */
    bool watch;    /* print the progress every second, on stderr */
};

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error);

static void acquire_next(struct bench *b)
{
    char name[NAME_LEN + 1];
    struct hf_request request;
    struct hf_error error;
    (void)snprintf(name, sizeof(name), "held-%07d", b->next++);
    hf_request_init(&request, name);
    request.ttl_ms = b->ttl_ms;
    request.wait_ms = 20000; /* a loaded server may not reply in time */
    if (hf_op_start_acquire(b->client, &request, on_acquired, b, NULL,
                            &error) != HF_OK) {
        die_text("start", error.text);
    }
}

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct bench *b = user;
    if (status != HF_OK) {
        die_text("acquire", error->text);
    }
    b->locks[b->n_held++] = lock;
    if (b->next < b->goal) {
        acquire_next(b);
    }
}

static void process_for(struct bench *b, int ms)
{
    struct pollfd fd = {.fd = hf_client_fd(b->client), .events = POLLIN};
    if (poll(&fd, 1, ms) > 0) {
        hf_client_process(b->client);
    }
}

static void acquire_up_to(struct bench *b, int goal)
{
    b->goal = goal;
    for (int i = 0; i < IN_FLIGHT && b->next < goal; i++) {
        acquire_next(b);
    }
    while (b->n_held < goal) {
        process_for(b, 5000);
    }
}

static void tell(struct bench *b)
{
    int states[4] = {0};
    struct hf_node *node = NULL;
    for (int i = 0; i < b->n_held; i++) {
        states[hf_lock_state(b->locks[i])]++;
    }
    if (hf_client_node(b->client, 0, &node) != HF_OK) {
        node = NULL; /* out of memory: reads as down */
    }
    (void)fprintf(stderr,
                  "held %d at risk %d lost %d; node 0: state %d, round trip "
                  "%lld us %s\n",
                  states[HF_STATE_HELD], states[HF_STATE_AT_RISK],
                  states[HF_STATE_LOST], (int)hf_node_health(node),
                  (long long)hf_node_rtt_us(node), hf_node_reason(node));
    hf_node_free(node);
}

static void hold_for(struct bench *b, double seconds)
{
    int64_t end = now_ns() + (int64_t)(seconds * 1e9);
    for (;;) {
        int64_t left = end - now_ns();
        if (left <= 0) {
            return;
        }
        if (b->watch) {
            tell(b);
        }
        left = left < 1000000000 ? left : 1000000000;
        if (b->own_loop) {
            process_for(b, (int)(left / 1000000) + 1);
        } else {
            (void)usleep((useconds_t)(left / 1000) + 1);
        }
    }
}

static int count_lost(const struct bench *b)
{
    int lost = 0;
    for (int i = 0; i < b->n_held; i++) {
        lost += hf_lock_state(b->locks[i]) == HF_STATE_LOST;
    }
    return lost;
}

static long resident_bytes(void)
{
    long size = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) {
        die("statm");
    }
    (void)fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void report(const struct bench *b, const struct cpu *cpu, double scripts,
                   int nodes, long grown)
{
    double renewals = scripts / nodes;
    double wall_s = (double)cpu->wall_ns / 1e9;
    (void)printf(
        "job=hold locks=%d renewals=%.0f period=%.2f per_third=%.1f "
        "us_per_renewal=%.3f core_percent=%.2f server_us=%.3f bytes=%.0f "
        "rss_mb=%.1f lost=%d\n",
        b->n_held, renewals, b->n_held * wall_s / renewals,
        renewals * b->ttl_ms / 3e3 / wall_s,
        (double)cpu->client_ns / 1e3 / renewals,
        100.0 * (double)cpu->client_ns / (double)cpu->wall_ns,
        (double)cpu->server_ns / 1e3 / renewals,
        (double)grown / (b->n_held - FIRST) - NAME_LEN,
        (double)resident_bytes() / 1e6, count_lost(b));
}

static void client_open(struct bench *b, int argc, char **argv)
{
    struct hf_client_options options;
    struct hf_error error;
    b->own_loop = strcmp(arg_text(argc, argv, "--thread", "auto"), "none") == 0;
    hf_client_options_init(&options);
    options.thread = b->own_loop ? HF_THREAD_NONE : HF_THREAD_AUTO;
    b->watch = arg_int(argc, argv, "--watch", 0) != 0;
    if (hf_client_open(arg_text(argc, argv, "--url", NULL), &options,
                       &b->client, &error) != HF_OK) {
        die_text("open", error.text);
    }
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct cpu cpu;
    const char *count = arg_text(argc, argv, "--count", NULL);
    b.n_locks = arg_int(argc, argv, "--locks", 100000);
    b.ttl_ms = arg_int(argc, argv, "--ttl", 10000);
    b.locks = must_alloc((size_t)b.n_locks, sizeof(*b.locks));
    memset(b.locks, 1, (size_t)b.n_locks * sizeof(*b.locks)); /* resident */
    client_open(&b, argc, argv);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    acquire_up_to(&b, FIRST);
    long before = resident_bytes();
    acquire_up_to(&b, b.n_locks);
    hold_for(&b, b.ttl_ms / 2e3); /* until every lock was renewed once */
    long grown = resident_bytes() - before;
    double scripts = count_requests(count);
    cpu_start(&cpu);
    hold_for(&b, arg_double(argc, argv, "--seconds", 10));
    cpu_stop(&cpu);
    scripts = count_requests(count) - scripts;
    report(&b, &cpu, scripts, arg_int(argc, argv, "--nodes", 1), grown);
    (void)fflush(stdout);
    hf_client_close(b.client);
    free(b.locks);
    return 0;
}
