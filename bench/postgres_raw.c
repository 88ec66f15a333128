/* SPDX-License-Identifier: Apache-2.0 */
/* library: PkgConfig::libpq */
/* The raw limit on PostgreSQL: a bare libpq client, one connection.
 *
 *   postgres_raw --conninfo TEXT [--dialect functions|table] [--inflight N]
 *                [--seconds S]
 *
 *   functions  the functions of the schema, with the library's arguments
 *   table      a lock as two statements on a table, in the manner of ShedLock:
 *              no fence, no queue
 *
 * One in flight is a blocking call; more are a pipeline. */
#include "measure.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdbool.h>

#define INFLIGHT_MAX 256
#define OWNER "bench:0123456789abcdef0123456789abcdef"
#define LEASE_MS "10000"
#define KEEP_MS "3600000"

struct slot {
    char name[32];
    char fence[24];
    bool is_held;
    int64_t started;
    int64_t held;
};

struct bench {
    PGconn *pq;
    bool is_table;
    char marker[200];
    struct figures figures;
    struct slot slots[INFLIGHT_MAX];
    int n;
    int64_t end;
};

static _Noreturn void die_pq(const PGconn *pq, const char *what)
{
    die_text(what, PQerrorMessage(pq));
}

static PGresult *run(const struct bench *b, const char *sql)
{
    PGresult *result = PQexec(b->pq, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK) {
        die_pq(b->pq, sql);
    }
    return result;
}

static void prepare(const struct bench *b, const char *name, const char *sql)
{
    PGresult *result = PQprepare(b->pq, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        die_pq(b->pq, sql);
    }
    PQclear(result);
}

static void set_up_table(const struct bench *b)
{
    PQclear(run(b, "CREATE TABLE IF NOT EXISTS bench_lock (name text PRIMARY "
                   "KEY, lock_until timestamptz NOT NULL, locked_at "
                   "timestamptz NOT NULL, locked_by text NOT NULL)"));
    prepare(b, "acquire",
            "INSERT INTO bench_lock VALUES ($1, clock_timestamp() + $2::int8 "
            "* interval '1 ms', clock_timestamp(), $3) ON CONFLICT (name) DO "
            "UPDATE SET lock_until = excluded.lock_until, locked_at = "
            "excluded.locked_at, locked_by = excluded.locked_by WHERE "
            "bench_lock.lock_until <= clock_timestamp() RETURNING 1, 1");
    prepare(b, "release",
            "DELETE FROM bench_lock WHERE name = $1 AND locked_by = $2 "
            "RETURNING 1, 1");
}

static void set_up_functions(struct bench *b)
{
    PGresult *result =
        run(b, "SELECT content FROM holdfast.node WHERE field = 'v'");
    if (PQntuples(result) != 1) {
        die_text("no marker", "run holdfast doctor --init");
    }
    (void)snprintf(b->marker, sizeof(b->marker), "%s",
                   PQgetvalue(result, 0, 0));
    PQclear(result);
    prepare(b, "acquire",
            "SELECT * FROM holdfast.acquire($1, $2, $3, $4, $5, $6, $7, $8, "
            "$9, $10, $11, $12, $13, true)");
    prepare(b, "release",
            "SELECT * FROM holdfast.release($1, $2, $3, $4, $5, $6, true)");
}

/* ---- One request -------------------------------------------------------- */

struct words {
    const char *name;
    const char *of[13];
    int n;
};

static struct words next_words(const struct bench *b, const struct slot *slot)
{
    const char *name = slot->name;
    if (b->is_table) {
        return slot->is_held
                   ? (struct words){"release", {name, OWNER}, 2}
                   : (struct words){"acquire", {name, LEASE_MS, OWNER}, 3};
    }
    if (slot->is_held) {
        return (struct words){
            "release", {name, OWNER, slot->fence, "0", KEEP_MS, b->marker}, 6};
    }
    return (struct words){"acquire",
                          {name, OWNER, LEASE_MS, "0", b->marker, KEEP_MS, "x",
                           "f", "0", "0", "", "0", "0"},
                          13};
}

/* The first column is 1: it was done. */
static void take(struct bench *b, struct slot *slot, const PGresult *result)
{
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        die_pq(b->pq, "request");
    }
    bool is_done =
        PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "1") == 0;
    int64_t now = now_ns();
    b->figures.failed += !is_done;
    if (slot->is_held) {
        figures_add(&b->figures, slot->started, slot->held, now);
    } else {
        slot->held = now;
        (void)snprintf(slot->fence, sizeof(slot->fence), "%s",
                       is_done ? PQgetvalue(result, 0, 1) : "0");
    }
    slot->is_held = !slot->is_held;
    if (!slot->is_held) {
        slot->started = now;
    }
}

static void run_one(struct bench *b)
{
    struct slot *slot = &b->slots[0];
    slot->started = now_ns();
    while (slot->is_held || slot->started < b->end) {
        struct words words = next_words(b, slot);
        PGresult *result =
            PQexecPrepared(b->pq, words.name, words.n, words.of, NULL, NULL, 0);
        take(b, slot, result);
        PQclear(result);
    }
}

/* ---- A pipeline --------------------------------------------------------- */

static void send_next(const struct bench *b, const struct slot *slot)
{
    struct words words = next_words(b, slot);
    if (!PQsendQueryPrepared(b->pq, words.name, words.n, words.of, NULL, NULL,
                             0) ||
        !PQpipelineSync(b->pq)) {
        die_pq(b->pq, "send");
    }
}

static void wait_for_input(const struct bench *b)
{
    struct pollfd fd = {.fd = PQsocket(b->pq), .events = POLLIN};
    int left = PQflush(b->pq);
    if (left < 0) {
        die_pq(b->pq, "flush");
    }
    fd.events |= left > 0 ? POLLOUT : 0;
    if (poll(&fd, 1, -1) < 0 || !PQconsumeInput(b->pq)) {
        die_pq(b->pq, "read");
    }
}

/* Requests are answered in their order: slots take turns, for ever. */
static void run_pipeline(struct bench *b)
{
    int order[INFLIGHT_MAX];
    int head = 0;
    int count = b->n;
    if (!PQenterPipelineMode(b->pq) || PQsetnonblocking(b->pq, 1) != 0) {
        die_pq(b->pq, "pipeline");
    }
    for (int i = 0; i < b->n; i++) {
        b->slots[i].started = now_ns();
        order[i] = i;
        send_next(b, &b->slots[i]);
    }
    while (count > 0) {
        if (PQisBusy(b->pq)) {
            wait_for_input(b);
            continue;
        }
        PGresult *result = PQgetResult(b->pq);
        if (result == NULL) {
            continue;
        }
        struct slot *slot = &b->slots[order[head]];
        if (PQresultStatus(result) != PGRES_PIPELINE_SYNC) {
            take(b, slot, result);
        } else {
            int at = order[head];
            head = (head + 1) % b->n;
            count--;
            if (slot->is_held || slot->started < b->end) {
                order[(head + count) % b->n] = at;
                count++;
                send_next(b, slot);
            }
        }
        PQclear(result);
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct cpu cpu;
    b.is_table =
        strcmp(arg_text(argc, argv, "--dialect", "functions"), "table") == 0;
    b.n = arg_int(argc, argv, "--inflight", 1);
    if (b.n < 1 || b.n > INFLIGHT_MAX) {
        die_text("--inflight", "must be 1 to 256");
    }
    b.pq = PQconnectdb(arg_text(argc, argv, "--conninfo", ""));
    if (PQstatus(b.pq) != CONNECTION_OK) {
        die_pq(b.pq, "connect");
    }
    if (b.is_table) {
        set_up_table(&b);
    } else {
        set_up_functions(&b);
    }
    for (int i = 0; i < b.n; i++) {
        (void)snprintf(b.slots[i].name, sizeof(b.slots[i].name), "raw-%d", i);
    }
    figures_init(&b.figures);
    cpu_init(&cpu, NULL);
    cpu_start(&cpu);
    b.end = now_ns() + (int64_t)(arg_double(argc, argv, "--seconds", 1) * 1e9);
    if (b.n == 1) {
        run_one(&b);
    } else {
        run_pipeline(&b);
    }
    cpu_stop(&cpu);
    figures_print(&b.figures, &cpu, b.is_table ? "table" : "functions");
    figures_fini(&b.figures);
    PQfinish(b.pq);
    return 0;
}
