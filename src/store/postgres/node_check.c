/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A CONNECTION AND OF THE NODE, ASSERTED WHEN THE LOOP ENTERS AND
 * LEAVES THEM
 *
 * Between two events of the loop all of these hold, whatever the server has
 * replied. Inside an event they need not, so they are not checked in ask(),
 * which a callback may call. PN-1 to PN-4 are of the connection alone: that of
 * the advisory locks has them too.
 *
 * Timers are in PN-2 and SN-6. The loop clears a timer before it fires, so an
 * event of a timer is checked at its end only.
 *
 * Cost: no round trip, and no loop: a few comparisons for each event. */
#include "store/postgres/node.h"

#include "base/assert.h"

/* PN-1: the ring has room for all pending requests, and its size is a power of
 * two. Results are kept only for the oldest request. PN-2: a connection that is
 * broken is due at once, so that its owner closes it. PN-3: a request is
 * pending, a statement is prepared and bytes wait in libpq only on an open
 * connection. When it is closed, each request has been answered. PN-4: the loop
 * watches a connection that is not closed, or it is broken: else it would hear
 * nothing before its deadline. */
void hf_pg_connection_check(const struct hf_pg_connection *connection)
{
    bool is_closed = hf_pg_connection_is_closed(connection);
    HF_ASSERT(connection->count <= connection->ring_cap);
    HF_ASSERT((connection->ring_cap & (connection->ring_cap - 1)) == 0);
    if (connection->count == 0) {
        HF_ASSERT(connection->rows == NULL && connection->error == NULL);
    }
    if (connection->link.is_broken) {
        HF_ASSERT(connection->link.fault != HF_OK);
        HF_ASSERT(connection->link.timer.at.ns == HF_LONG_AGO.ns);
    }
    if (!connection->link.is_open) {
        HF_ASSERT(connection->count == 0);
        HF_ASSERT(connection->prepared == 0 && !connection->is_dirty);
    }
    HF_ASSERT(!connection->link.is_open || connection->pq != NULL);
    HF_ASSERT(is_closed || connection->link.watch.fd >= 0 ||
              connection->link.is_broken);
    HF_ASSERT(!is_closed || connection->link.watch.fd < 0);
}

/* PN-5: the node is WAITING exactly while its connection is closed.
 * PN-6: the state of a session ends with it: LISTEN, and batches that are not
 *       answered. */
void hf_pg_node_check(const struct hf_pg_node *node)
{
    const struct hf_pg_connection *connection = &node->connection;
    bool is_closed = hf_pg_connection_is_closed(connection);
    bool is_open = connection->link.is_open;
    HF_ASSERT((node->base.phase == HF_SQL_WAITING) == is_closed);
    HF_ASSERT(is_open || node->listening == HF_PG_LISTEN_OFF);
    HF_ASSERT(is_open || node->sent == NULL);
    hf_sql_node_check(&node->base, connection->count > 0, hf_pg_node_due(node));
}
