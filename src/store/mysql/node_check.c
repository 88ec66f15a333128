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
static void check_queue(const struct hf_my_node *node)
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

/* MN-3: the node is WAITING exactly while its connection is closed, and its
 *       handshake has begun exactly if the connection is open.
 * MN-4: a handshake waits for a reply. Else no event would end it but its
 *       deadline. An error of it is kept only until its end. */
static void check_phase(const struct hf_my_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    bool is_closed = hf_mysql_connection_is_closed(connection);
    bool has_begun = node->phase >= HF_MY_GREETING;
    bool is_over = node->phase == HF_MY_READY;
    HF_ASSERT((node->phase == HF_MY_WAITING) == is_closed ||
              connection->link.is_broken);
    HF_ASSERT(connection->link.is_open == has_begun);
    if (has_begun && !is_over) {
        HF_ASSERT(node->n_queued > 0 || connection->link.is_broken);
    } else {
        HF_ASSERT(node->greet_fault == HF_OK);
    }
}

/* MN-5: the node votes or is in quarantine exactly if its handshake is done.
 * MN-6: the fault that the client sees fits the status: none if it votes, and a
 *       quarantine has an end. A node that is down has another reason than a
 *       quarantine. */
static void check_status(const struct hf_my_node *node)
{
    bool is_voting = node->standing.status == HF_NODE_STATUS_VOTING;
    bool is_repairing = node->standing.status == HF_NODE_STATUS_REPAIRING;
    bool has_until = node->admission.quarantined_until.ns != HF_LONG_AGO.ns;
    HF_ASSERT((is_voting || is_repairing) == (node->phase == HF_MY_READY));
    if (is_voting) {
        HF_ASSERT(node->standing.fault == HF_OK && !has_until);
    } else if (is_repairing) {
        HF_ASSERT(node->standing.fault == HF_QUARANTINED && has_until);
    } else if (node->standing.status == HF_NODE_STATUS_DOWN) {
        HF_ASSERT(node->standing.fault != HF_OK &&
                  node->standing.fault != HF_QUARANTINED);
    }
}

/* MN-7: the state of one session ends with it: the schema that this client has
 *       made, and the examination.
 * MN-8: the timer fires at the latest when something is due. One that fires too
 *       early is set again. */
void hf_my_node_check(const struct hf_my_node *node)
{
    bool is_open = node->connection.link.is_open;
    check_queue(node);
    check_phase(node);
    check_status(node);
    HF_ASSERT(is_open || !node->has_installed);
    HF_ASSERT(is_open || !node->is_examined);
    HF_ASSERT(!hf_instant_before(hf_my_node_due(node),
                                 node->connection.link.timer.at));
}
