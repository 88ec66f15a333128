/* SPDX-License-Identifier: Apache-2.0 */
/* A bare libmariadb client: one connection, blocking calls. */
#ifndef HF_BENCH_MARIADB_H
#define HF_BENCH_MARIADB_H

#include "measure.h"

#include <mysql.h>
#include <stdbool.h>

/* Through the unix socket, as root. */
static inline MYSQL *maria_open(const char *socket)
{
    MYSQL *sql = mysql_init(NULL);
    if (sql != NULL) {
        mysql_options(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    }
    if (sql == NULL ||
        mysql_real_connect(sql, "localhost", "root", NULL, NULL, 0, socket,
                           CLIENT_MULTI_RESULTS) == NULL) {
        die_text(socket, sql == NULL ? "no memory" : mysql_error(sql));
    }
    return sql;
}

/* Run a statement to its end. The first two columns of its row, if it has one,
 * go to `out`: texts, "" if NULL. */
static inline void maria_run(MYSQL *sql, const char *statement,
                             char out[2][1024])
{
    int left = mysql_real_query(sql, statement, strlen(statement));
    out[0][0] = out[1][0] = '\0';
    while (left == 0) {
        MYSQL_RES *rows = mysql_store_result(sql);
        MYSQL_ROW row = rows == NULL ? NULL : mysql_fetch_row(rows);
        for (unsigned i = 0; row != NULL && i < mysql_num_fields(rows) && i < 2;
             i++) {
            (void)snprintf(out[i], 1024, "%s", row[i] == NULL ? "" : row[i]);
        }
        mysql_free_result(rows);
        left = mysql_next_result(sql);
    }
    if (left > 0 || mysql_errno(sql) != 0) {
        die_text(statement, mysql_error(sql));
    }
}

#endif
