/* SPDX-License-Identifier: Apache-2.0 */
/* SHOW VARIABLES, and not SELECT @@wsrep_on: a server that does not know a
 * variable has no row for it, where SELECT would fail. Cost: none for locks
 * that are rows, since the statement is sent with others of the handshake; a
 * round trip at each connect for named locks. */
#include "store/mysql/cluster.h"

#include <mysql.h>
#include <string.h>
#include <strings.h>

/* wsrep_on is known to a server that was built for Galera, the group's name to
 * one that has the plugin of MySQL's groups. */
const char hf_mysql_cluster_sql[] =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on',"
    " 'group_replication_group_name', 'innodb_read_only')";

static enum hf_mysql_cluster kind_of(const char *name, const char *value)
{
    if (strncasecmp(name, "group", 5) == 0) {
        return value[0] != '\0' ? HF_MYSQL_GROUP : HF_MYSQL_NO_CLUSTER;
    }
    if (strcasecmp(value, "ON") != 0) {
        return HF_MYSQL_NO_CLUSTER;
    }
    return strncasecmp(name, "wsrep", 5) == 0 ? HF_MYSQL_GALERA
                                              : HF_MYSQL_READER;
}

enum hf_mysql_cluster hf_mysql_cluster_of(const struct hf_mysql_reply *reply)
{
    enum hf_mysql_cluster kind = HF_MYSQL_NO_CLUSTER;
    MYSQL_ROW row;
    if (reply->rows == NULL) {
        return kind;
    }
    mysql_data_seek(reply->rows, 0); /* its first row may have been fetched */
    while (kind == HF_MYSQL_NO_CLUSTER &&
           (row = mysql_fetch_row(reply->rows)) != NULL) {
        if (row[0] != NULL && row[1] != NULL) {
            kind = kind_of(row[0], row[1]);
        }
    }
    return kind;
}
