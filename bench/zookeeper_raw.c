/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_zookeeper */
/* The raw limit on ZooKeeper: the C client, one session.
 *
 *   zookeeper_raw --address HOST:PORT [--requests all|minimum] [--seconds S]
 *                 [--pids P[,...]] [--count COMMAND]
 *
 *   all      what the library sends: a write of the session, a create and a
 *            list at once; then a read of the node and its deletion at once
 *   minimum  the least that the recipe can do: a create and a list at once,
 *            then the deletion */
#include "zookeeper.h"

#include <unistd.h>

#define FOLDER "/bench-raw"
#define NODE "/bench-session"

struct bench {
    struct zk zk;
    struct figures figures;
    bool is_minimum;
};

static void acquire(struct bench *b, unsigned long long cycle)
{
    char path[200];
    struct zk *zk = &b->zk;
    (void)snprintf(path, sizeof(path),
                   FOLDER "/24a6a216664f4706-x10-%032llx:vm:%010d-lock-", cycle,
                   getpid());
    if (!b->is_minimum) {
        zk_asked(zk, zoo_aset(zk->library, NODE, "", 0, -1, zk_on_stat, zk));
    }
    zk_create(zk, path, ZOO_EPHEMERAL | ZOO_SEQUENCE);
    zk_asked(zk, zoo_aget_children2(zk->library, FOLDER, 0, zk_on_list, zk));
    zk_await(zk);
}

static void release(struct bench *b)
{
    struct zk *zk = &b->zk;
    if (!b->is_minimum) {
        zk_asked(zk, zoo_aget(zk->library, zk->path, 0, zk_on_data, zk));
    }
    zk_asked(zk, zoo_adelete(zk->library, zk->path, -1, zk_on_void, zk));
    zk_await(zk);
}

static void run_until(struct bench *b, int64_t end)
{
    static unsigned long long cycle;
    int64_t now = now_ns();
    while (now < end) {
        int64_t started = now;
        acquire(b, cycle++);
        int64_t held = now_ns();
        release(b);
        now = now_ns();
        figures_add(&b->figures, started, held, now);
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct cpu cpu;
    const char *requests = arg_text(argc, argv, "--requests", "all");
    int64_t span_ns = (int64_t)(arg_double(argc, argv, "--seconds", 1) * 1e9);
    b.is_minimum = strcmp(requests, "minimum") == 0;
    zk_open(&b.zk, arg_text(argc, argv, "--address", ""));
    zk_create(&b.zk, FOLDER, 0);
    zk_create(&b.zk, NODE, ZOO_EPHEMERAL);
    zk_await(&b.zk);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    cpu.count = arg_text(argc, argv, "--count", NULL);
    figures_init(&b.figures);
    run_until(&b, now_ns() + span_ns / 10); /* warm up */
    figures_reset(&b.figures);
    cpu_start(&cpu);
    run_until(&b, now_ns() + span_ns);
    cpu_stop(&cpu);
    b.figures.failed = b.zk.failed;
    figures_print(&b.figures, &cpu, requests);
    figures_fini(&b.figures);
    zk_close(&b.zk);
    return 0;
}
