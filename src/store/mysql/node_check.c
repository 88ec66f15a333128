/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF THE NODE, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * Between two events of the loop all of these hold, whatever the server has
 * replied. Inside an event they need not, so they are not checked in ask(),
 * which a callback may call.
 *
 * Cost: no round trip, and no loop: a few comparisons for each event. */
#include "store/mysql/node.h"

#include "base/assert.h"

/* MN-1: statements are under way exactly while a batch of the queue is not
 *       answered, and the batch is a part of the queue.
 * MN-2: only an open connection has a queue. When it is closed, each request
 *       has been answered. */
static void check_queue(const struct hf_mysql_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    HF_ASSERT(node->n_batch <= node->n_queued);
    HF_ASSERT((node->n_queued == 0) == (node->first == NULL));
    HF_ASSERT(connection->link.is_open || node->n_queued == 0);
    if (connection->link.is_open && !connection->link.is_broken) {
        HF_ASSERT(hf_mysql_connection_is_busy(connection) ==
                  (node->n_batch > 0));
    }
}

/* MN-3: the node is WAITING exactly while its connection is closed. */
void hf_mysql_node_check(const struct hf_mysql_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    bool is_closed = hf_mysql_connection_is_closed(connection);
    check_queue(node);
    HF_ASSERT((node->base.phase == HF_SQL_WAITING) == is_closed ||
              connection->link.is_broken);
    hf_sql_node_check(&node->base, node->n_queued > 0, hf_mysql_node_due(node));
}
