/* SPDX-License-Identifier: Apache-2.0 */
/* SHOW VARIABLES, and not SELECT @@wsrep_on: a server that does not know a
 * variable has no row for it, where SELECT would fail. Cost: none for locks
 * that are rows, since the statement is sent with others of the handshake; a
 * round trip at each connect for named locks. */
#include "store/mysql/cluster.h"

#include <mysql.h>
#include <string.h>
#include <strings.h>

/* The name, and ON or OFF, if the server was built for Galera; the name, and a
 * group or nothing, if it has the plugin of MySQL's groups. */
const char hf_mysql_cluster_sql[] =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
    " ('wsrep_on', 'group_replication_group_name')";

enum hf_mysql_cluster hf_mysql_cluster_of(const struct hf_mysql_reply *reply)
{
    if (reply->rows == NULL) {
        return HF_MYSQL_NO_CLUSTER;
    }
    mysql_data_seek(reply->rows, 0); /* its first row may have been fetched */
    MYSQL_ROW row = mysql_fetch_row(reply->rows);
    if (row == NULL || row[0] == NULL || row[1] == NULL) {
        return HF_MYSQL_NO_CLUSTER;
    }
    if (strncasecmp(row[0], "wsrep", 5) == 0) {
        return strcasecmp(row[1], "ON") == 0 ? HF_MYSQL_GALERA
                                             : HF_MYSQL_NO_CLUSTER;
    }
    return row[1][0] != '\0' ? HF_MYSQL_GROUP : HF_MYSQL_NO_CLUSTER;
}
