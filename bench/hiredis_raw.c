/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts of src/store/redis through hiredis, as a program would call them
 * without the library: it composes each request from its arguments, sends it,
 * and waits for the reply.
 *
 *   hiredis_raw --node ADDRESS --pids P[,...] [--scripts DIR] [--seconds S]
 *
 * bench/raw copies requests that were formatted before; this client formats
 * each, as the library must: the owner and the counter are new each time. It
 * has no deadline, no reconnection, no lease and no thread. */
#include "dialect.h"
#include "measure.h"
#include "wire.h"

#include <hiredis/hiredis.h>

#define NAME "hir-000-000"
#define LOCK_KEY "lock:" NAME
#define SIDE_KEY(end) "hf:{" LOCK_KEY "}:" end

struct locker {
    redisContext *redis;
    struct dialect_scripts scripts;
    char marker[64];
    char owner[128];
    uint64_t turn;
    struct figures figures;
};

/* Seven keys after the hash and their number; five arguments. */
enum { ARGC = 3 + 7 + 5 };

static int64_t call(struct locker *l, const char *hash, const char *counter,
                    const char *const *rest)
{
    const char *argv[ARGC] = {"EVALSHA",
                              hash,
                              "7",
                              LOCK_KEY,
                              SIDE_KEY("fence"),
                              SIDE_KEY("queue"),
                              SIDE_KEY("waiters"),
                              SIDE_KEY("holders"),
                              SIDE_KEY("votes"),
                              "hf:node",
                              l->owner,
                              counter,
                              rest[0],
                              rest[1],
                              rest[2]};
    size_t lens[ARGC];
    for (int i = 0; i < ARGC; i++) {
        lens[i] = strlen(argv[i]);
    }
    redisReply *reply = redisCommandArgv(l->redis, ARGC, argv, lens);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        die_text("hiredis", reply == NULL ? l->redis->errstr : reply->str);
    }
    int64_t number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return number;
}

static int64_t acquire(struct locker *l)
{
    const char *rest[] = {"0", l->marker, KEEP_MS};
    (void)snprintf(l->owner, sizeof(l->owner),
                   "%032llx:bench-host:12345:1763640000",
                   (unsigned long long)++l->turn);
    return call(l, l->scripts.acquire, LEASE_MS, rest);
}

static int64_t release(struct locker *l, int64_t held_at)
{
    const char *rest[] = {"0", KEEP_MS, l->marker};
    char counter[COUNTER_DIGITS + 8];
    (void)snprintf(counter, sizeof(counter), "%016lld", (long long)held_at);
    return call(l, l->scripts.release, counter, rest);
}

static void run(struct locker *l, double seconds)
{
    int64_t now = now_ns();
    int64_t end = now + (int64_t)(seconds * 1e9);
    figures_reset(&l->figures);
    while (now < end) {
        int64_t started = now;
        int64_t counter = acquire(l);
        int64_t held = now_ns();
        l->figures.failed += counter <= 0 || release(l, counter) <= 0;
        now = now_ns();
        figures_add(&l->figures, started, held, now);
    }
}

static redisContext *connect_to(const char *address)
{
    const char *colon = strrchr(address, ':');
    char host[64] = "";
    redisContext *redis;
    if (address[0] == '/') {
        redis = redisConnectUnix(address);
    } else if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
        die_text("not HOST:PORT", address);
    } else {
        memcpy(host, address, (size_t)(colon - address));
        redis = redisConnect(host, atoi(colon + 1));
    }
    if (redis == NULL || redis->err != 0) {
        die_text("hiredis", redis == NULL ? "no memory" : redis->errstr);
    }
    return redis;
}

int main(int argc, char **argv)
{
    struct locker locker = {.turn = (uint64_t)now_ns()};
    struct cpu cpu;
    struct wire wire;
    const char *node = arg_text(argc, argv, "--node", "");
    double seconds = arg_double(argc, argv, "--seconds", 1);
    locker.scripts.dir =
        arg_text(argc, argv, "--scripts", "build/generated/lua");
    wire_open(&wire, node);
    dialect_load(DIALECT_SCRIPTS, &locker.scripts, &wire, locker.marker);
    wire_close(&wire);
    locker.redis = connect_to(node);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    figures_init(&locker.figures);
    run(&locker, seconds / 10); /* warm up */
    cpu_start(&cpu);
    run(&locker, seconds);
    cpu_stop(&cpu);
    figures_print(&locker.figures, &cpu, "hiredis");
    figures_fini(&locker.figures);
    redisFree(locker.redis);
    return 0;
}
