/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A NODE, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * Between two events of the loop all of these hold, whatever the server has
 * replied. Inside an event they need not: lose() closes the connection first,
 * and answers its requests then. So they are checked where the loop enters the
 * store (connection.c), and not in ask(), which a callback may call.
 *
 * Timers are in RN-3 and RN-11. The loop clears a timer before it fires, so an
 * event of a timer is checked at its end only.
 *
 * Cost: no round trip, and no loop: a few comparisons for each event. */
#include "store/redis/node.h"

#include "base/assert.h"

static bool is_closed(const struct hf_redis_connection *connection)
{
    return connection->socket.state == HF_SOCKET_CLOSED;
}

/* RN-1: bytes are written in order, and no byte is kept without a request.
 *       begin and sent tell UNSENT from UNKNOWN when the connection is lost.
 * RN-2: a request is pending only on an open connection. A closed one owes
 *       nothing, so each of its requests has been answered. */
static void check_requests(const struct hf_redis_connection *connection)
{
    const struct hf_redis_wire *wire = &connection->wire;
    HF_ASSERT(wire->begin <= wire->sent && wire->sent <= wire->end);
    HF_ASSERT(wire->end <= wire->cap);
    HF_ASSERT((wire->count == 0) == (wire->begin == wire->end));
    HF_ASSERT(wire->count <= wire->ring_cap);
    HF_ASSERT(connection->is_open || wire->count == 0);
}

/* RN-3: a connection that is broken is not closed yet, and its timer is due, so
 *       that its owner closes it. An open one has a socket that was open: the
 *       failure of a socket is noticed in its event. */
static void check_connection(const struct hf_redis_connection *connection)
{
    enum hf_socket_state state = connection->socket.state;
    if (connection->is_broken) {
        HF_ASSERT(!is_closed(connection));
        HF_ASSERT(connection->fault != HF_OK);
        HF_ASSERT(connection->timer.at.ns == HF_LONG_AGO.ns);
    }
    if (connection->is_open) {
        HF_ASSERT(state == HF_SOCKET_OPEN || state == HF_SOCKET_FAILED);
    }
    check_requests(connection);
}

/* RN-4: a node is WAITING exactly while its connection is closed, and its
 *       handshake has begun exactly if the connection is open.
 * RN-5: a handshake waits for a reply. Else no event would end it but its
 *       deadline.
 * RN-6: an error of the handshake is kept only during the handshake. It would
 *       be reported as the cause of a later loss. */
static void check_phase(const struct hf_redis_node *node)
{
    const struct hf_redis_connection *connection = &node->connection;
    bool has_begun = node->phase >= HF_REDIS_GREETING;
    bool is_over = node->phase == HF_REDIS_READY;
    HF_ASSERT((node->phase == HF_REDIS_WAITING) == is_closed(connection));
    HF_ASSERT(connection->is_open == has_begun);
    if (has_begun && !is_over) {
        HF_ASSERT(connection->wire.count > 0 || connection->is_broken);
    } else {
        HF_ASSERT(node->greet_fault == HF_OK);
    }
}

/* RN-7: a node votes or is in quarantine exactly if its handshake is done.
 * RN-8: the fault that the client gets fits the status. */
static void check_status(const struct hf_redis_node *node)
{
    bool has_until = node->admission.quarantined_until.ns != HF_LONG_AGO.ns;
    hf_standing_check(&node->standing, node->phase == HF_REDIS_READY,
                      has_until);
}

/* RN-9: a survey runs exactly in its phase, and an examination that waits for
 *       the second connection is under way. */
static void check_jobs(const struct hf_redis_node *node)
{
    HF_ASSERT(node->survey.is_under_way == (node->phase == HF_REDIS_SURVEYING));
    HF_ASSERT(!node->examination.awaits_push || node->examination.is_under_way);
}

/* RN-10: the second connection is there only while the first is open: pushes
 *        are of the server that the first has identified. It listens, or has
 *        asked to, exactly if it is open. */
static void check_listener(const struct hf_redis_node *node)
{
    const struct hf_redis_listener *listener = &node->listener;
    const struct hf_redis_connection *connection = &listener->connection;
    bool is_off = listener->phase == HF_REDIS_OFF;
    HF_ASSERT(is_off == is_closed(connection));
    HF_ASSERT(is_off || node->connection.is_open);
    HF_ASSERT(connection->is_open == (listener->phase >= HF_REDIS_SUBSCRIBING));
    if (listener->phase == HF_REDIS_SUBSCRIBING) {
        HF_ASSERT(connection->wire.count > 0 || connection->is_broken);
    }
}

/* RN-11: each timer fires at the latest when something is due. One that fires
 *        too early is set again. */
static bool is_timed(const struct hf_redis_connection *connection,
                     struct hf_instant due)
{
    return !hf_instant_before(due, connection->timer.at);
}

void hf_redis_node_check(const struct hf_redis_node *node)
{
    check_connection(&node->connection);
    check_connection(&node->listener.connection);
    check_phase(node);
    check_status(node);
    check_jobs(node);
    check_listener(node);
    HF_ASSERT(is_timed(&node->connection, hf_redis_node_due(node)));
    HF_ASSERT(is_timed(&node->listener.connection,
                       hf_redis_listen_due(&node->listener)));
}
