/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a server is one of several that serve the same clients: row locks and
 * named locks are of each server alone. */
#ifndef HF_MYSQL_CLUSTER_H
#define HF_MYSQL_CLUSTER_H

#include "store/mysql/connection.h"

enum hf_mysql_cluster {
    HF_MYSQL_NO_CLUSTER,
    HF_MYSQL_GALERA, /* wsrep_on */
    HF_MYSQL_GROUP,  /* Group Replication of MySQL */
    HF_MYSQL_READER  /* innodb_read_only: a reader of Amazon Aurora, which
                        leaves read_only off */
};

/* A statement: a row for each variable that the server knows, which
 * hf_mysql_cluster_of() reads. */
extern const char hf_mysql_cluster_sql[];

/** @return the kind of cluster by the rows of the reply, also if the first was
 * read before; without a row: none. */
enum hf_mysql_cluster hf_mysql_cluster_of(const struct hf_mysql_reply *reply);

#endif
