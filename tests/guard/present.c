/* SPDX-License-Identifier: Apache-2.0 */
/* Present a fence as a program does, and judge the error:
 *
 *   present postgres|sqlite|redis SERVER NAME FENCE [SHA]
 *
 * SERVER is a conninfo, a file, or a socket. Prints "passed", "stale GIVEN
 * SEEN", or the error. */
#include <holdfast/guard.h>

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int judge(bool has_passed, const char *message)
{
    uint64_t given = 0;
    uint64_t seen = 0;
    if (has_passed) {
        puts("passed");
    } else if (hf_guard_is_stale(message, &given, &seen)) {
        printf("stale %" PRIu64 " %" PRIu64 "\n", given, seen);
    } else {
        printf("%s\n", message);
    }
    return 0;
}

static int present_postgres(char **words)
{
    const char *const values[] = {words[1], words[2]};
    PGconn *conn = PQconnectdb(words[0]);
    PGresult *result =
        PQexecParams(conn, HF_GUARD_POSTGRES, 2, NULL, values, NULL, NULL, 0);
    int code = judge(PQresultStatus(result) == PGRES_TUPLES_OK,
                     PQresultErrorMessage(result));
    PQclear(result);
    PQfinish(conn);
    return code;
}

static int present_sqlite(char **words)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open(words[0], &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, HF_GUARD_SQLITE, -1, &statement, NULL) ==
            SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, words[1], -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, strtoll(words[2], NULL, 10));
    }
    bool has_passed = sqlite3_step(statement) == SQLITE_DONE;
    int code = judge(has_passed, sqlite3_errmsg(db));
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return code;
}

static int present_redis(char **words)
{
    redisContext *redis = redisConnectUnix(words[0]);
    redisReply *reply = redisCommand(redis, "EVALSHA %s 1 balance:7 %s %s GET",
                                     words[3], words[1], words[2]);
    int code = 1;
    if (reply != NULL) {
        code = judge(reply->type != REDIS_REPLY_ERROR, reply->str);
        freeReplyObject(reply);
    }
    redisFree(redis);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        return 64;
    }
    if (strcmp(argv[1], "postgres") == 0) {
        return present_postgres(argv + 2);
    }
    if (strcmp(argv[1], "sqlite") == 0) {
        return present_sqlite(argv + 2);
    }
    return argc > 5 ? present_redis(argv + 2) : 64;
}
