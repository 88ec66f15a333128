/* SPDX-License-Identifier: Apache-2.0 */
/* library: PkgConfig::libmariadb */
/* The raw limit on MariaDB: a bare libmariadb client, one connection.
 *
 *   mariadb_raw --socket PATH [--dialect procedures|table] [--seconds S]
 *               [--pids PID]
 *
 *   procedures  those of the schema, with the library's arguments and text
 *   table       a lock as two statements on a table, in the manner of ShedLock:
 *               no fence, no queue */
#include "mariadb.h"

#define OWNER "bench:0123456789abcdef0123456789abcdef"

/* Room for a statement with the marker, in hex. */
#define STATEMENT_ROOM 4096

struct bench {
    MYSQL *sql;
    bool is_table;
    char marker[1024]; /* in hex, as the name and the owner */
    char name[64], owner[128];
    unsigned n; /* cycles: each has an owner of its own */
};

static void hex(char *out, const char *text)
{
    (void)mysql_hex_string(out, text, strlen(text));
}

static void set_up(struct bench *b)
{
    char row[2][1024];
    hex(b->name, "raw-0");
    hex(b->owner, OWNER);
    if (b->is_table) {
        maria_run(b->sql, "CREATE DATABASE IF NOT EXISTS bench", row);
        maria_run(b->sql,
                  "CREATE TABLE IF NOT EXISTS bench.shedlock (name VARCHAR(64) "
                  "PRIMARY KEY, lock_until TIMESTAMP(3) NOT NULL, locked_at "
                  "TIMESTAMP(3) NOT NULL, locked_by VARCHAR(255) NOT NULL)",
                  row);
        return;
    }
    maria_run(b->sql,
              "SELECT HEX(content) FROM holdfast.node WHERE field = 'v'", row);
    if (row[0][0] == '\0') {
        die_text("no marker", "run holdfast doctor --init");
    }
    memcpy(b->marker, row[0], sizeof(b->marker));
}

static void put_acquire(const struct bench *b, char *out)
{
    if (b->is_table) {
        (void)snprintf(
            out, STATEMENT_ROOM,
            "INSERT INTO bench.shedlock VALUES (x'%s', NOW(3) + INTERVAL 10 "
            "SECOND, NOW(3), '" OWNER "') ON DUPLICATE KEY UPDATE locked_by = "
            "IF(lock_until <= NOW(3), VALUES(locked_by), locked_by), "
            "lock_until "
            "= IF(locked_by = VALUES(locked_by), VALUES(lock_until), "
            "lock_until) RETURNING locked_by = '" OWNER "', 1",
            b->name);
        return;
    }
    (void)snprintf(out, STATEMENT_ROOM,
                   "CALL holdfast.acquire(x'%s',x'%s',10000,0,x'%s',3600000,"
                   "x'78',0,6000,0,0)",
                   b->name, b->owner, b->marker);
}

static void put_release(const struct bench *b, const char *counter, char *out)
{
    if (b->is_table) {
        (void)snprintf(out, STATEMENT_ROOM,
                       "DELETE FROM bench.shedlock WHERE name = x'%s' AND "
                       "locked_by = '" OWNER "' RETURNING 1, 1",
                       b->name);
        return;
    }
    (void)snprintf(out, STATEMENT_ROOM,
                   "CALL holdfast.release(x'%s',x'%s',%s,0,3600000,x'%s')",
                   b->name, b->owner, counter, b->marker);
}

/* The first column is 1: it was done. */
static void run_cycle(struct bench *b, struct figures *figures)
{
    char statement[STATEMENT_ROOM];
    char row[2][1024];
    int64_t started = now_ns();
    (void)snprintf(row[0], sizeof(row[0]), "%08x:bench:0123456789abcdef0123456",
                   ++b->n);
    hex(b->owner, row[0]);
    put_acquire(b, statement);
    maria_run(b->sql, statement, row);
    bool is_held = strcmp(row[0], "1") == 0;
    int64_t held = now_ns();
    put_release(b, row[1], statement);
    maria_run(b->sql, statement, row);
    figures->failed += !is_held || strcmp(row[0], "1") != 0;
    figures_add(figures, started, held, now_ns());
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct figures figures;
    struct cpu cpu;
    const char *dialect = arg_text(argc, argv, "--dialect", "procedures");
    b.is_table = strcmp(dialect, "table") == 0;
    b.sql = maria_open(arg_text(argc, argv, "--socket", ""));
    set_up(&b);
    figures_init(&figures);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    cpu_start(&cpu);
    int64_t end =
        now_ns() + (int64_t)(arg_double(argc, argv, "--seconds", 1) * 1e9);
    while (now_ns() < end) {
        run_cycle(&b, &figures);
    }
    cpu_stop(&cpu);
    figures_print(&figures, &cpu, dialect);
    figures_fini(&figures);
    mysql_close(b.sql);
    return 0;
}
