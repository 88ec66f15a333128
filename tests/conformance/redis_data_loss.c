/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that lose their data, and servers that are refused as nodes:
 * identity, marker and quarantine, with real servers that are killed, flushed
 * and restarted. */
#include "redis_world.h"

static void rig_finding(void *user, enum hf_severity severity, int node,
                        const char *text)
{
    static const char *const names[] = {"fit", "warning", "unfit"};
    struct rig *rig = user;
    size_t len = strlen(rig->findings);
    rig->n_findings++;
    snprintf(rig->findings + len, sizeof(rig->findings) - len, "%d %s %s\n",
             node, names[severity], text);
}

static void rig_done(void *user, unsigned node, enum hf_status status,
                     const char *reason)
{
    struct rig *rig = user;
    (void)node;
    rig->n_done++;
    rig->done = status;
    snprintf(rig->done_reason, sizeof(rig->done_reason), "%s", reason);
}

static enum hf_status rig_job(struct rig *rig, enum hf_job job)
{
    struct hf_job_sink sink = {rig, rig_finding, rig_done};
    rig->n_done = 0;
    rig->findings[0] = '\0';
    for (unsigned i = 0; i < rig->url.n_endpoints; i++) {
        hf_store_redis.job(rig->store, i, job, &sink);
    }
    rig_until(rig, rig->n_done == rig->url.n_endpoints, PATIENCE_MS);
    return rig->n_done == rig->url.n_endpoints ? rig->done : HF_UNKNOWN;
}

static void rig_strict(struct rig *rig, unsigned n, struct server *servers,
                       int64_t max_ttl_ms)
{
    rig_init(rig, n, servers);
    rig->url.quarantine = true;
    rig->url.max_ttl_ms = max_ttl_ms;
    rig_start(rig, NULL);
}

#define until_status(rig, node, wanted)                                        \
    (__extension__({                                                           \
        rig_until((rig), (rig)->status[node] == (wanted), PATIENCE_MS);        \
        (rig)->status[node] == (wanted);                                       \
    }))

static void test_new_server(struct server *server)
{
    struct rig rig;
    struct rig late;
    rig_strict(&rig, 1, server, 60000);
    ok(until_status(&rig, 0, HF_NODE_STATUS_REPAIRING) &&
           rig.fault[0] == HF_QUARANTINED &&
           strstr(rig.reason[0], "shows no trace of Holdfast") != NULL &&
           strstr(rig.reason[0], "doctor --init") == NULL,
       "a server just started has no vote: %s", rig.reason[0]);
    struct said said = acquire(&rig, "a", "o", 0);
    ok(said.verdict == HF_VERDICT_UNSENT && said.fault == HF_QUARANTINED,
       "it is not asked to grant");
    said = inspect(&rig, "a");
    ok(said.verdict == HF_VERDICT_OK, "but may be looked at");
    struct hf_node node;
    hf_store_redis.describe(rig.store, 0, hf_clock_now(), &node);
    ok(node.health == HF_NODE_QUARANTINED && node.quarantine_left_ms > 50000 &&
           node.quarantine_left_ms <= 60000,
       "described so, with the time left");

    rig_strict(&late, 1, server, 60000);
    ok(until_status(&late, 0, HF_NODE_STATUS_REPAIRING),
       "a client that comes later reads it in the marker");
    ok(rig_job(&rig, HF_JOB_INIT) == HF_OK && rig_votes(&rig, 0),
       "declared new, it votes at once");
    ok(until_status(&late, 0, HF_NODE_STATUS_VOTING),
       "and the waiting client sees that too");
    ok(acquire(&late, "a", "o", 0).verdict == HF_VERDICT_OK, "and acquires");
    ok(confirm(&rig, "a", "o", 1, false).verdict == HF_VERDICT_OK,
       "both go on without another greeting");
    rig_close(&late);
    rig_strict(&late, 1, server, 60000);
    ok(rig_votes(&late, 0) && late.n_resets[0] == 0,
       "the next client finds it trusted");
    rig_close(&late);
    rig_close(&rig);
}

static void test_mismatch(struct server *server)
{
    struct rig rig;
    rig_strict(&rig, 1, server, 30000);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_CONFIG &&
           strstr(rig.reason[0], "max_ttl=1m, this client says 30s"),
       "another max_ttl: %s", rig.reason[0]);
    ok(acquire(&rig, "m", "o", 0).fault == HF_CONFIG, "asks are refused so");
    ok(rig_job(&rig, HF_JOB_INIT) == HF_CONFIG,
       "not declared by INIT alone: %s", rig.done_reason);
    ok(rig_job(&rig, HF_JOB_LOOK) != HF_OK &&
           strstr(rig.findings, "max_ttl=1m") != NULL,
       "LOOK reports the other shape");
    ok(rig_job(&rig, HF_JOB_INIT) == HF_OK && rig_votes(&rig, 0),
       "and then INIT makes it the store's");
    ok(rig_job(&rig, HF_JOB_INIT) == HF_OK, "and can be repeated");
    rig_close(&rig);

    struct server three[3] = {*server, *server, *server};
    server_start(&three[1], NULL);
    server_start(&three[2], NULL);
    rig_strict(&rig, 3, three, 30000);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_CONFIG &&
           strstr(rig.reason[0], "store of 1") != NULL,
       "another number of nodes: %s", rig.reason[0]);
    rig_close(&rig);
    rig_strict(&rig, 1, server, 60000);
    rig_job(&rig, HF_JOB_LOOK);
    ok(rig_job(&rig, HF_JOB_INIT) == HF_OK, "set back");
    rig_close(&rig);
    server_remove(&three[1]);
    server_remove(&three[2]);
}

static void test_flush(struct server *server)
{
    struct rig rig;
    rig_strict(&rig, 1, server, 60000);
    rig_votes(&rig, 0);
    uint64_t t = acquire(&rig, "f", "o", 0).counter;
    told(server, "FLUSHALL");
    struct said said = confirm(&rig, "f", "o", t, true);
    ok(said.verdict == HF_VERDICT_ERROR &&
           rig.status[0] != HF_NODE_STATUS_VOTING,
       "FLUSHALL under a holder is seen: %s", said.reason);
    ok(until_status(&rig, 0, HF_NODE_STATUS_REPAIRING) && rig.n_resets[0] == 1,
       "votes from before are void, and it has none for a while: %s",
       rig.reason[0]);
    said = confirm(&rig, "f", "o", t, true);
    ok(said.verdict == HF_VERDICT_OK || said.floor > t,
       "meanwhile a holder repairs its key");
    rig_job(&rig, HF_JOB_INIT);
    rig_votes(&rig, 0);
    told(server, "FLUSHALL");
    said = acquire(&rig, "f", "p", 0);
    ok(said.verdict == HF_VERDICT_ERROR &&
           strcmp(told(server, "EXISTS lock:f"), "0") == 0,
       "nor is anything granted after it: %s", said.reason);
    until_status(&rig, 0, HF_NODE_STATUS_REPAIRING);
    rig_job(&rig, HF_JOB_INIT);
    rig_close(&rig);
}

/* All read the marker before the first has written it: one writes, and the
 * others read it again. */
static void test_race(void)
{
    enum { N = 5 };
    struct server server;
    struct rig rigs[N];
    server_start(&server, NULL);
    kill(server.pid, SIGSTOP);
    for (unsigned i = 0; i < N; i++) {
        rig_strict(&rigs[i], 1, &server, 60000);
        for (int turn = 0; turn < 5; turn++) {
            rig_turn(&rigs[i], 5);
        }
    }
    kill(server.pid, SIGCONT);
    unsigned agreed = 0;
    for (unsigned i = 0; i < N; i++) {
        until_status(&rigs[i], 0, HF_NODE_STATUS_REPAIRING);
    }
    for (unsigned i = 0; i < N; i++) {
        struct said said = confirm(&rigs[i], "race", "o", 1, false);
        agreed += said.verdict == HF_VERDICT_REFUSED ? 1 : 0;
        rig_close(&rigs[i]);
    }
    ok(agreed == N,
       "%u clients that meet a new server at once agree on its "
       "marker",
       agreed);
    server_remove(&server);
}

static void test_restart_empty(struct server *server)
{
    struct rig rig;
    rig_strict(&rig, 1, server, 60000);
    rig_votes(&rig, 0);
    acquire(&rig, "g", "o", 0);
    server_kill(server);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN),
       "a killed server is away: %s", rig.reason[0]);
    server_run(server, NULL);
    ok(until_status(&rig, 0, HF_NODE_STATUS_REPAIRING) && rig.n_resets[0] == 1,
       "back without its memory, it has no vote: %s", rig.reason[0]);
    rig_job(&rig, HF_JOB_INIT);
    rig_close(&rig);
}

static void run_aof(struct server *server, const char *fsync)
{
    server_run(server, "--appendonly", "yes", "--appendfsync", fsync, NULL);
}

static void test_durable(void)
{
    struct server server;
    struct rig rig;
    server_name(&server);
    run_aof(&server, "always");
    rig_strict(&rig, 1, &server, 60000);
    rig_job(&rig, HF_JOB_INIT);
    rig_votes(&rig, 0);
    uint64_t t = acquire(&rig, "d", "o", 0).counter;
    server_kill(&server);
    rig_until(&rig, rig.status[0] != HF_NODE_STATUS_VOTING, PATIENCE_MS);
    run_aof(&server, "always");
    ok(rig_votes(&rig, 0) && rig.n_resets[0] == 0,
       "appendfsync always, before and after: no quarantine");
    struct said said = confirm(&rig, "d", "o", t, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t,
       "and the lock is still held");

    told(&server, "CONFIG SET appendfsync everysec");
    rig_close(&rig);
    rig_strict(&rig, 1, &server, 60000);
    rig_votes(&rig, 0); /* writes to the marker that the server is not durable
                           now */
    server_kill(&server);
    rig_until(&rig, rig.status[0] != HF_NODE_STATUS_VOTING, PATIENCE_MS);
    run_aof(&server, "always");
    ok(until_status(&rig, 0, HF_NODE_STATUS_REPAIRING),
       "everysec before, always after: quarantine");
    rig_close(&rig);
    server_remove(&server);
}

static void test_off(struct server *server)
{
    struct rig rig;
    rig_open(&rig, server);
    uint64_t t = acquire(&rig, "q", "o", 0).counter;
    told(server, "FLUSHALL");
    confirm(&rig, "q", "o", t, true);
    ok(rig_votes(&rig, 0) && rig.n_resets[0] == 1,
       "quarantine=off: flushed, it votes on, but old votes are void");
    rig_close(&rig);
}

static void test_ineligible(struct server *server)
{
    struct rig rig;
    struct server three[3];
    server_start(&three[0], NULL);
    server_start(&three[1], NULL);
    three[2] = three[0];
    rig_strict(&rig, 3, three, 60000);
    rig_until(&rig, rig.fault[0] == HF_CONFIG || rig.fault[2] == HF_CONFIG,
              PATIENCE_MS);
    unsigned twin = rig.fault[0] == HF_CONFIG ? 0 : 2;
    ok(rig.fault[twin] == HF_CONFIG &&
           strstr(rig.reason[twin], "same server") != NULL &&
           strstr(rig.reason[twin], three[0].path) != NULL,
       "the same server twice: %s", rig.reason[twin]);
    rig_close(&rig);
    server_remove(&three[1]);

    struct server cluster;
    char bus[8];
    snprintf(bus, sizeof(bus), "%u", free_port());
    server_name(&cluster);
    server_run(&cluster, "--cluster-enabled", "yes", "--cluster-port", bus,
               NULL);
    rig_strict(&rig, 1, &cluster, 60000);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_CONFIG &&
           strstr(rig.reason[0], "Cluster member") != NULL,
       "a Cluster member: %s", rig.reason[0]);
    ok(rig_job(&rig, HF_JOB_INIT) == HF_CONFIG, "which --init does not change");
    rig_close(&rig);
    server_remove(&cluster);

    told(&three[0], "FLUSHALL");
    rig_open(&rig, &three[0]);
    told(&three[0], "REPLICAOF 127.0.0.1 1");
    struct said said = acquire(&rig, "r", "o", 0);
    ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_UNAVAILABLE &&
           strstr(said.reason, "READONLY") != NULL,
       "a server that became a replica: %s", said.reason);
    ok(until_status(&rig, 0, HF_NODE_STATUS_DOWN) &&
           rig.fault[0] == HF_CONFIG &&
           strstr(rig.reason[0], "replica of 127.0.0.1:1") != NULL,
       "is refused: %s", rig.reason[0]);
    told(&three[0], "REPLICAOF NO ONE");
    ok(rig_votes(&rig, 0), "and taken again when it is a primary again");
    rig_close(&rig);
    server_remove(&three[0]);
    (void)server;
}

/* Counters are lowered only on a node that has no vote. */
static void test_lower(void)
{
    static const char *const ahead = "9000000000000000";
    struct server server;
    struct rig rig;
    server_start(&server, NULL);
    rig_strict(&rig, 1, &server, 60000);
    rig_job(&rig, HF_JOB_INIT);
    ok(rig_job(&rig, HF_JOB_COUNT) == HF_OK, "no counter is ahead");
    told(&server, "SET hf:{lock:x}:fence %s PX 60000", ahead);
    ok(rig_job(&rig, HF_JOB_COUNT) == HF_BUSY, "one is");
    ok(rig_job(&rig, HF_JOB_LOWER) == HF_BUSY &&
           strcmp(told(&server, "GET hf:{lock:x}:fence"), ahead) == 0,
       "a node that votes keeps it: %s", rig.done_reason);
    ok(rig_job(&rig, HF_JOB_QUARANTINE) == HF_OK &&
           until_status(&rig, 0, HF_NODE_STATUS_REPAIRING) &&
           rig.n_resets[0] == 1,
       "declared to have lost data: no vote, and old votes are void");
    ok(rig_job(&rig, HF_JOB_LOWER) == HF_OK &&
           strcmp(told(&server, "GET hf:{lock:x}:fence"), ahead) < 0 &&
           rig_job(&rig, HF_JOB_COUNT) == HF_OK,
       "then it is set back");
    rig_close(&rig);
    server_remove(&server);
}

static void test_examine(struct server *server)
{
    struct rig rig;
    rig_strict(&rig, 1, server, 60000);
    rig_job(&rig, HF_JOB_INIT);
    ok(rig_job(&rig, HF_JOB_EXAMINE) == HF_OK && rig.n_findings >= 2 &&
           strstr(rig.findings, "unfit") == NULL,
       "a plain server is fit");
    ok(strcmp(told(server, "KEYS lock:holdfast-doctor*"), "(nil)") == 0,
       "the examination leaves no lock");
    told(server, "CONFIG SET maxmemory 100mb");
    told(server, "CONFIG SET maxmemory-policy allkeys-lru");
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "unfit evicts keys") != NULL,
       "one that evicts: %.60s", strstr(rig.findings, "unfit"));
    told(server, "CONFIG SET maxmemory-policy noeviction");
    told(server, "CONFIG SET maxmemory 1");
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "unfit a lock could not be taken") != NULL,
       "one that is full");
    told(server, "CONFIG SET maxmemory 0");
    rig_close(&rig);
    server_kill(server);
    rig_strict(&rig, 1, server, 60000);
    ok(rig_job(&rig, HF_JOB_EXAMINE) == HF_UNAVAILABLE &&
           rig.done_reason[0] != '\0',
       "one that is away: %s", rig.done_reason);
    rig_close(&rig);
    server_run(server, NULL);
}

static void test_examine_replicas(struct server *server)
{
    struct server replica;
    struct rig rig;
    server_start(&replica, NULL);
    char port[8] = "";
    for (unsigned at = 21000; port[0] == '\0' && at < 21100; at++) {
        if (strcmp(told(server, "CONFIG SET port %u", at), "OK") == 0) {
            snprintf(port, sizeof(port), "%u", at);
        }
    }
    told(server, "CONFIG SET repl-diskless-sync-delay 0");
    told(&replica, "REPLICAOF 127.0.0.1 %s", port);
    for (int i = 0; i < 1000; i++) {
        if (strstr(told(server, "INFO replication"), "state=online") != NULL) {
            break;
        }
        usleep(5000);
    }
    rig_strict(&rig, 1, server, 60000);
    rig_job(&rig, HF_JOB_INIT);
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "warning has replicas") != NULL,
       "replicas without min-replicas-to-write");
    told(server, "CONFIG SET min-replicas-to-write 1");
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "has replicas") == NULL, "and with");
    told(server, "CONFIG SET min-replicas-max-lag 0");
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "but min-replicas-max-lag is 0") != NULL,
       "a lag of 0 switches it off");
    told(server, "CONFIG SET min-replicas-max-lag 10");
    rig_close(&rig);
    told(server, "ACL SETUSER default -config");
    rig_strict(&rig, 1, server, 60000);
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "does not let us ask for maxmemory") != NULL &&
           strstr(rig.findings, "has replicas") == NULL,
       "a user without CONFIG is not shown what could not be read");
    rig_close(&rig);
    told(server, "ACL SETUSER default +config");
    told(server, "CONFIG SET min-replicas-to-write 0");
    server_remove(&replica);
}

/* An hour ahead, by the clock shim that the build made. */
static void test_examine_clocks(struct server *server)
{
    char shim[300];
    char offset[120];
    const char *build = getenv("HF_BUILD");
    struct server three[3] = {*server};
    struct rig rig;
    snprintf(shim, sizeof(shim), "%s/tests/lib/clock_shim.so",
             build == NULL ? "build" : build);
    if (access(shim, R_OK) != 0) {
        return;
    }
    server_start(&three[1], NULL);
    server_name(&three[2]);
    snprintf(offset, sizeof(offset), "%s/offset", three[2].dir);
    FILE *file = fopen(offset, "w");
    /* one minute more, since the servers are not asked at one instant */
    int64_t hour = INT64_C(3660000000000);
    fwrite(&hour, sizeof(hour), 1, file);
    fclose(file);
    setenv("CLOCKSHIM", offset, 1);
    setenv("LD_PRELOAD", shim, 1);
    server_run(&three[2], NULL);
    unsetenv("LD_PRELOAD");
    rig_strict(&rig, 3, three, 60000);
    rig_job(&rig, HF_JOB_INIT);
    rig_job(&rig, HF_JOB_EXAMINE);
    ok(strstr(rig.findings, "2 warning its clock is 36") != NULL &&
           strstr(rig.findings, "ahead of") != NULL,
       "a clock an hour ahead: %.100s",
       strstr(rig.findings, "2 warning its clock"));
    rig_close(&rig);
    server_remove(&three[1]);
    server_remove(&three[2]);
}

int main(void)
{
    struct server server;
    struct server short_lived;
    struct rig timed;
    server_start(&short_lived, NULL);
    rig_strict(&timed, 1, &short_lived, 5000);
    until_status(&timed, 0, HF_NODE_STATUS_REPAIRING);
    struct hf_instant began = hf_clock_now();

    server_start(&server, NULL);
    test_new_server(&server);
    test_mismatch(&server);
    test_flush(&server);
    test_race();
    test_restart_empty(&server);
    test_durable();
    test_off(&server);
    test_ineligible(&server);
    test_lower();
    test_examine(&server);
    test_examine_replicas(&server);
    test_examine_clocks(&server);
    server_remove(&server);

    rig_until(&timed, timed.status[0] == HF_NODE_STATUS_VOTING,
              2 * PATIENCE_MS);
    int64_t took_ms = hf_span_ms_floor(hf_instant_until(began, hf_clock_now()));
    ok(timed.status[0] == HF_NODE_STATUS_VOTING && took_ms >= 9000,
       "a quarantine ends by itself, after 10 s at least: %lld",
       (long long)took_ms);
    ok(acquire(&timed, "t", "o", 0).verdict == HF_VERDICT_OK, "and it grants");
    rig_close(&timed);
    server_remove(&short_lived);
    return tap_done();
}
