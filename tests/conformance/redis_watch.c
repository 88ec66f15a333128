/* SPDX-License-Identifier: Apache-2.0 */
/* The marker with several writers: hosts that watch, scripts that arrive late,
 * data of an older life, and declarations by the operator. */
#include "redis_world.h"

#include "store/redis/scripts.h"

static void rig_finding(void *user, enum hf_severity severity, int node,
                        const char *text)
{
    (void)user;
    (void)severity;
    (void)node;
    (void)text;
}

static void rig_done(void *user, unsigned node, enum hf_status status,
                     const char *reason)
{
    struct rig *rig = user;
    (void)node;
    (void)reason;
    rig->n_done++;
    rig->done = status;
}

static enum hf_status rig_job(struct rig *rig, enum hf_job job)
{
    struct hf_job_sink sink = {rig, rig_finding, rig_done};
    rig->n_done = 0;
    hf_store_redis.job(rig->store, 0, job, &sink);
    rig_until(rig, rig->n_done == 1, PATIENCE_MS);
    return rig->n_done == 1 ? rig->done : HF_UNKNOWN;
}

static void rig_strict(struct rig *rig, struct server *server)
{
    rig_init(rig, 1, server);
    rig->url.quarantine = true;
    rig_start(rig, NULL);
}

static bool until_status(struct rig *rig, enum hf_node_status wanted)
{
    rig_until(rig, rig->status[0] == wanted, PATIENCE_MS);
    return rig->status[0] == wanted;
}

/* This host's field, as the library writes it. */
static const char *host(void)
{
    static char field[HF_CLOCK_NAME_MAX + 3];
    char name[HF_CLOCK_NAME_MAX];
    snprintf(field, sizeof(field), "at:%s",
             hf_clock_name(name) ? name : "nothing");
    return field;
}

static int64_t boot_ms(void)
{
    return hf_clock_now().ns / 1000000;
}

static void see_since(struct server *server, int64_t ms)
{
    told(server, "HSET hf:node %s %lld", host(), (long long)ms);
}

/* ---- The script -------------------------------------------------------- */

static const char *mark(struct server *server, const char *old,
                        const char *value, const char *whole, const char *field,
                        const char *at)
{
    return told(server, "EVAL %s 1 hf:node %s %s %s %s %s run_id r durable 0",
                hf_script_marker.text, old, value, whole, field, at);
}

static void test_script(struct server *server)
{
    told(server, "FLUSHALL");
    ok(strcmp(mark(server, "v1", "v1", "0", "at:a", "1"), "0") == 0 &&
           strcmp(told(server, "EXISTS hf:node"), "0") == 0,
       "an entry for a value that is gone is not written");
    mark(server, "", "v1", "0", "", "0");
    ok(strcmp(mark(server, "", "v2", "0", "", "0"), "0") == 0,
       "of two that found none one writes");
    ok(strcmp(mark(server, "v1", "v1", "0", "at:a", "5"), "1") == 0 &&
           strcmp(told(server, "HGET hf:node at:a"), "5") == 0,
       "an entry for the value that is there is");
    mark(server, "v1", "v1", "0", "at:a", "1");
    ok(strcmp(told(server, "HGET hf:node at:a"), "5") == 0,
       "and is never replaced");
    mark(server, "v1", "v1", "0", "", "0");
    ok(strcmp(told(server, "HGET hf:node at:a"), "5") == 0,
       "nor deleted by a client without an entry");
    mark(server, "v1", "v1", "1", "", "0");
    ok(strcmp(told(server, "HGET hf:node whole"), "1") == 0 &&
           strcmp(told(server, "HEXISTS hf:node at:a"), "0") == 0,
       "whole, it needs no hosts");
    mark(server, "v1", "v1", "0", "", "0");
    ok(strcmp(told(server, "HGET hf:node whole"), "1") == 0,
       "whole is not taken back under one value");
    mark(server, "v1", "v2", "0", "", "0");
    ok(strcmp(told(server, "HEXISTS hf:node whole"), "0") == 0,
       "another value begins anew");
    char field[16];
    for (int i = 0; i < 200; i++) {
        snprintf(field, sizeof(field), "at:%d", i);
        mark(server, "v2", "v2", "0", field, "7");
    }
    ok(strcmp(told(server, "HLEN hf:node"), "67") == 0 &&
           strcmp(told(server, "HEXISTS hf:node at:199"), "1") == 0,
       "64 hosts at most, with the last one");
    told(server, "FLUSHALL");
}

/* ---- Watching ------------------------------------------------------------ */

static void test_host(struct server *server)
{
    struct rig rig;
    struct rig peer;
    told(server, "FLUSHALL");
    rig_strict(&rig, server);
    until_status(&rig, HF_NODE_STATUS_REPAIRING);
    int64_t at = strtoll(told(server, "HGET hf:node %s", host()), NULL, 10);
    ok(at > boot_ms() - 5000 && at <= boot_ms() + 1,
       "the first sight is written, by this host's clock");
    rig_strict(&peer, server);
    until_status(&peer, HF_NODE_STATUS_REPAIRING);
    ok(strtoll(told(server, "HGET hf:node %s", host()), NULL, 10) == at,
       "another client of this host leaves it");
    rig_close(&peer);

    see_since(server, boot_ms() - 57000);
    rig_strict(&peer, server);
    until_status(&peer, HF_NODE_STATUS_REPAIRING);
    struct hf_instant before = hf_clock_now();
    ok(strcmp(told(server, "HEXISTS hf:node whole"), "0") == 0,
       "57 of 60 s: not yet");
    ok(until_status(&peer, HF_NODE_STATUS_VOTING) &&
           hf_instant_until(before, hf_clock_now()).ns < INT64_C(15000000000),
       "then it ends for a client that waits, not 60 s after it came");
    ok(strcmp(told(server, "HGET hf:node whole"), "1") == 0,
       "and is written for all");
    ok(until_status(&rig, HF_NODE_STATUS_VOTING) && rig.n_resets[0] == 0,
       "the first client, which has 60 s of its own, reads it");
    ok(acquire(&peer, "w", "o", 0).verdict == HF_VERDICT_OK, "it grants");
    rig_close(&peer);
    rig_close(&rig);
}

static void test_other_clocks(struct server *server)
{
    struct rig rig;
    told(server, "FLUSHALL");
    rig_strict(&rig, server);
    until_status(&rig, HF_NODE_STATUS_REPAIRING);
    rig_close(&rig);
    told(server, "HDEL hf:node %s", host());
    told(server, "HSET hf:node at:00000000-0000/time:[1] 1");
    rig_strict(&rig, server);
    ok(until_status(&rig, HF_NODE_STATUS_REPAIRING) &&
           strcmp(told(server, "HEXISTS hf:node whole"), "0") == 0,
       "another host's clock says nothing here");
    rig_close(&rig);
    see_since(server, boot_ms() + 100000000);
    rig_strict(&rig, server);
    ok(until_status(&rig, HF_NODE_STATUS_REPAIRING),
       "nor does an entry ahead of the clock");
    rig_close(&rig);
    told(server, "DEL hf:node");
    told(server, "HSET hf:node v old run_id r replid p until_ms 0 "
                 "max_ttl_ms 60000 nodes 1 fsync_always 1");
    rig_strict(&rig, server);
    ok(until_status(&rig, HF_NODE_STATUS_REPAIRING),
       "a marker of an older format is replaced: %s", rig.reason[0]);
    rig_close(&rig);
}

/* ---- Settings ------------------------------------------------------------ */

static void test_fence_keep(struct server *server)
{
    struct rig rig;
    told(server, "FLUSHALL");
    rig_strict(&rig, server);
    rig_job(&rig, HF_JOB_INIT);
    rig_close(&rig);
    ok(strcmp(told(server, "HGET hf:node fence_keep_ms"), "3600000") == 0,
       "--init writes fence_keep");
    rig_init(&rig, 1, server);
    rig.url.quarantine = true;
    rig.url.fence_keep_ms = 7200000;
    rig_start(&rig, NULL);
    ok(until_status(&rig, HF_NODE_STATUS_DOWN) && rig.fault[0] == HF_CONFIG &&
           strstr(rig.reason[0], "says 2h") &&
           strstr(rig.reason[0], "fence_keep=1h"),
       "another one is refused: %s", rig.reason[0]);
    rig_close(&rig);
}

/* ---- Data of an older life ----------------------------------------------- */

static void copy(const struct server *server, const char *from, const char *to)
{
    char command[400];
    snprintf(command, sizeof(command),
             "rm -rf '%s/%s' && cp -a '%s/%s' '%s/%s'", server->dir, to,
             server->dir, from, server->dir, to);
    if (system(command) != 0) {
        exit(1);
    }
}

static void run_durable(struct server *server)
{
    server_run(server, "--appendonly", "yes", "--appendfsync", "always",
               "--appenddirname", "aof", NULL);
}

static void test_restored(void)
{
    struct server server;
    struct rig rig;
    server_name(&server);
    run_durable(&server);
    rig_strict(&rig, &server);
    rig_job(&rig, HF_JOB_INIT);
    rig_votes(&rig, 0);
    copy(&server, "aof", "backup");
    server_kill(&server);
    rig_until(&rig, rig.status[0] != HF_NODE_STATUS_VOTING, PATIENCE_MS);
    run_durable(&server);
    ok(rig_votes(&rig, 0) && rig.n_resets[0] == 0,
       "a durable restart: it votes on");
    acquire(&rig, "d", "o", 0);
    server_kill(&server);
    rig_until(&rig, rig.status[0] != HF_NODE_STATUS_VOTING, PATIENCE_MS);
    copy(&server, "backup", "aof");
    run_durable(&server);
    ok(until_status(&rig, HF_NODE_STATUS_REPAIRING) && rig.n_resets[0] == 1,
       "a backup, to a client that knew a later life: %s", rig.reason[0]);
    rig_close(&rig);

    server_kill(&server);
    copy(&server, "backup", "aof");
    run_durable(&server);
    rig_strict(&rig, &server);
    ok(rig_votes(&rig, 0), "to a newcomer nothing shows it (docs/caveats.md)");
    struct rig peer;
    rig_strict(&peer, &server);
    rig_votes(&peer, 0);
    ok(rig_job(&rig, HF_JOB_QUARANTINE) == HF_OK &&
           until_status(&rig, HF_NODE_STATUS_REPAIRING),
       "so the operator declares it: %s", rig.reason[0]);
    ok(strcmp(told(&server, "HEXISTS hf:node whole"), "0") == 0 &&
           strcmp(told(&server, "HEXISTS hf:node %s", host()), "1") == 0,
       "it is watched anew, and this host has begun");
    struct said said = acquire(&peer, "d", "p", 0);
    ok(said.verdict == HF_VERDICT_ERROR &&
           until_status(&peer, HF_NODE_STATUS_REPAIRING) &&
           peer.n_resets[0] == 1,
       "a client that is connected grants nothing any more");
    ok(rig_job(&rig, HF_JOB_QUARANTINE) == HF_OK, "it can be repeated");
    ok(rig_job(&rig, HF_JOB_INIT) == HF_OK && rig_votes(&rig, 0),
       "and taken back");
    rig_close(&peer);
    rig_close(&rig);
    server_remove(&server);
}

int main(void)
{
    struct server server;
    server_start(&server, NULL);
    test_script(&server);
    test_host(&server);
    test_other_clocks(&server);
    test_fence_keep(&server);
    test_restored();
    server_remove(&server);
    return tap_done();
}
