/* SPDX-License-Identifier: Apache-2.0 */
/* library: PkgConfig::libpq */
/* The raw limit of waiting on PostgreSQL: processes in a ring, each of which
 * wakes the next one with NOTIFY.
 *
 *   postgres_wake --conninfo TEXT [--write 1] [options of contenders.h]
 *
 * A turn is a wake-up and one statement: the process that gives calls
 * pg_notify() for the next one's channel, and the one that takes hears it and
 * asks the server once. No lock: the order is fixed. A commit that only
 * notifies does not wait for the disk; with --write the statement that gives
 * also changes a row, and does. */
#include "contenders.h"

#include <libpq-fe.h>
#include <poll.h>

static const char give[] = "SELECT pg_notify($1, '')";
static const char give_and_write[] =
    "WITH w AS (UPDATE bench_turn SET n = n + 1 RETURNING n) "
    "SELECT pg_notify($1, '') FROM w";

struct ring {
    const char *conninfo;
    const char *give;
    int n;
};

struct turn {
    PGconn *pq;
    const char *give;
    const char *next[1]; /* the argument of `give` */
    char channel[32];
    bool is_first; /* has its turn at the beginning */
};

static void run(struct turn *turn, const char *sql, int n)
{
    PGresult *result = PQexecParams(turn->pq, sql, n, NULL,
                                    n == 0 ? NULL : turn->next, NULL, NULL, 1);
    if (PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK) {
        die_text(sql, PQerrorMessage(turn->pq));
    }
    PQclear(result);
}

static void *turn_open(int index, void *arg)
{
    const struct ring *ring = arg;
    struct turn *turn = must_alloc(1, sizeof(*turn));
    char listen[48];
    turn->pq = PQconnectdb(ring->conninfo);
    if (PQstatus(turn->pq) != CONNECTION_OK) {
        die_text(ring->conninfo, PQerrorMessage(turn->pq));
    }
    (void)snprintf(listen, sizeof(listen), "LISTEN turn_%d", index);
    run(turn, listen, 0);
    turn->give = ring->give;
    (void)snprintf(turn->channel, sizeof(turn->channel), "turn_%d",
                   (index + 1) % ring->n);
    turn->next[0] = turn->channel;
    turn->is_first = index == 0;
    return turn;
}

static void turn_await(struct turn *turn)
{
    PGnotify *notify;
    while ((notify = PQnotifies(turn->pq)) == NULL) {
        struct pollfd fd = {.fd = PQsocket(turn->pq), .events = POLLIN};
        if (poll(&fd, 1, PATIENCE_S * 1000) != 1 ||
            PQconsumeInput(turn->pq) == 0) {
            die_text("no turn", PQerrorMessage(turn->pq));
        }
    }
    PQfreemem(notify);
}

static void turn_take(void *client)
{
    struct turn *turn = client;
    if (!turn->is_first) {
        turn_await(turn);
    }
    turn->is_first = false;
    run(turn, "SELECT 1", 0);
}

static void turn_give(void *client)
{
    struct turn *turn = client;
    run(turn, turn->give, 1);
}

static void turn_close(void *client)
{
    struct turn *turn = client;
    PQfinish(turn->pq);
    free(turn);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan;
    struct ring ring = {.conninfo = arg_text(argc, argv, "--conninfo", ""),
                        .give = give};
    struct crowd_side side = {.label = "wake",
                              .open = turn_open,
                              .take = turn_take,
                              .give = turn_give,
                              .close = turn_close,
                              .arg = &ring};
    crowd_parse(&plan, argc, argv);
    ring.n = plan.n_clients;
    if (arg_int(argc, argv, "--write", 0) != 0) {
        ring.give = give_and_write;
    }
    return crowd_run(&plan, &side);
}
