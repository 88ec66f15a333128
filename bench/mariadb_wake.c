/* SPDX-License-Identifier: Apache-2.0 */
/* library: PkgConfig::libmariadb */
/* The raw limit of waiting on MariaDB, which has no message from one session to
 * another: GET_LOCK() and RELEASE_LOCK(), the only wait that the server itself
 * ends.
 *
 *   mariadb_wake --socket PATH [options of contenders.h] */
#include "contenders.h"
#include "mariadb.h"

static void must_run(MYSQL *sql, const char *statement)
{
    char row[2][1024];
    maria_run(sql, statement, row);
    if (strcmp(row[0], "1") != 0) {
        die_text(statement, "refused");
    }
}

static void *client_open(int index, void *arg)
{
    (void)index;
    return maria_open(arg);
}

static void client_take(void *client)
{
    must_run(client, "SELECT GET_LOCK('bench', 60)");
}

static void client_give(void *client)
{
    must_run(client, "SELECT RELEASE_LOCK('bench')");
}

static void client_close(void *client)
{
    mysql_close(client);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan;
    struct crowd_side side = {
        .label = "wake",
        .open = client_open,
        .take = client_take,
        .give = client_give,
        .close = client_close,
        .arg = (void *)(uintptr_t)arg_text(argc, argv, "--socket", "")};
    crowd_parse(&plan, argc, argv);
    return crowd_run(&plan, &side);
}
