/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_sim_redis */
/* The number of scripts that the simulated server executes per second and core.
 *
 *     sim_redis [SECONDS]       a cycle is acquire.lua and release.lua */
#include "redis/redis.h"

#include "store/redis/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OWNER "0123456789abcdef0123456789abcdef"

struct rig {
    struct sim_lua *lua;
    struct sim_redis *redis;
    struct sim_session *session;
    int64_t wall_us;
    char request[1024];
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t make(char *to, size_t size, size_t argc, const char **argv)
{
    size_t len = (size_t)snprintf(to, size, "*%zu\r\n", argc);
    for (size_t i = 0; i < argc; i++) {
        len += (size_t)snprintf(to + len, size - len, "$%zu\r\n%s\r\n",
                                strlen(argv[i]), argv[i]);
    }
    return len;
}

/* EVALSHA of `script` with the seven keys of one name. */
static size_t make_script(char *to, size_t size, const struct hf_script *script,
                          size_t n, const char **args)
{
    const char *argv[24] = {"EVALSHA",
                            script->sha1,
                            "7",
                            "lock:job",
                            "hf:{lock:job}:fence",
                            "hf:{lock:job}:queue",
                            "hf:{lock:job}:waiters",
                            "hf:{lock:job}:holders",
                            "hf:{lock:job}:votes",
                            "hf:node"};
    memcpy(argv + 10, args, n * sizeof(*args));
    return make(to, size, 10 + n, argv);
}

/* Execute a request; its reply must begin as expected. */
static void ask(struct rig *rig, const char *request, size_t len, char expected)
{
    const char *reply;
    sim_redis_set_clock(rig->redis, rig->wall_us += 50);
    sim_redis_feed(rig->session, request, len);
    size_t n = sim_session_take(rig->session, &reply);
    if (n == 0 || reply[0] != expected) {
        fprintf(stderr, "unexpected: %.*s\n", (int)n, reply);
        exit(1);
    }
}

static void load(struct rig *rig, const struct hf_script *script)
{
    size_t size = script->len + 256;
    char *request = malloc(size);
    if (request == NULL) {
        exit(1);
    }
    size_t len = make(request, size, 3,
                      (const char *[]){"SCRIPT", "LOAD", script->text});
    ask(rig, request, len, '$');
    free(request);
}

static void open_rig(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->lua = sim_lua_new();
    rig->redis = sim_redis_new(rig->lua, NULL);
    rig->session = sim_redis_connect(rig->redis, NULL);
    rig->wall_us = INT64_C(1795000000000000);
    load(rig, &hf_script_acquire);
    load(rig, &hf_script_release);
    char request[128];
    size_t len = make(request, sizeof(request), 4,
                      (const char *[]){"HSET", "hf:node", "v", "m"});
    ask(rig, request, len, ':');
}

static uint64_t cycles_in(struct rig *rig, double seconds)
{
    char take[1024];
    char give[1024];
    size_t take_len =
        make_script(take, sizeof(take), &hf_script_acquire, 5,
                    (const char *[]){OWNER, "10000", "0", "m", "3600000"});
    size_t give_len =
        make_script(give, sizeof(give), &hf_script_release, 5,
                    (const char *[]){OWNER, "0", "0", "3600000", "m"});
    uint64_t cycles = 0;
    for (double end = cpu_s() + seconds; cpu_s() < end;) {
        for (int i = 0; i < 1000; i++, cycles++) {
            ask(rig, take, take_len, ':');
            ask(rig, give, give_len, ':');
        }
    }
    return cycles;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    struct rig rig;
    open_rig(&rig);
    double start = cpu_s();
    uint64_t cycles = cycles_in(&rig, seconds);
    double took = cpu_s() - start;
    printf("%.0f scripts a second (%" PRIu64 " cycles of acquire and release "
           "in %.2f s)\n",
           2 * (double)cycles / took, cycles, took);
    sim_redis_free(rig.redis);
    sim_lua_free(rig.lua);
    return 0;
}
