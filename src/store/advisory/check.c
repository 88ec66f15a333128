/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A SESSION, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * PN-1 to PN-4 (store/postgres/node_check.c) are of its connection.
 *
 * Cost: no round trip, and no loop. */
#include "store/advisory/advisory.h"

#include "base/assert.h"

/* AD-1: the connection is closed exactly between two sessions, or it broke when
 *       it was started. It is open exactly from the greeting to the end.
 * AD-2: a greeting waits for a reply, and an error of it is kept only until it
 *       ends.
 * AD-3: the session votes while it is READY, and for one turn after its end,
 *       when each CONFIRM is refused.
 * AD-4: only a session that is READY holds or tries locks. A seat that outlived
 *       its session would confirm a lock that the server has freed.
 * AD-5: the timer fires at the latest when something is due. */
void hf_advisory_check(const struct hf_advisory *store)
{
    const struct hf_pg_connection *connection = &store->connection;
    bool is_closed = hf_pg_connection_is_closed(connection);
    bool is_ready = store->session.phase == HF_SESSION_READY;
    bool is_greeting = store->session.phase == HF_SESSION_GREETING ||
                       store->session.phase == HF_SESSION_SETTING;
    bool is_between = store->session.phase == HF_SESSION_WAITING ||
                      store->session.phase >= HF_SESSION_ENDING;
    HF_ASSERT(is_closed == is_between || connection->link.is_broken);
    HF_ASSERT(connection->link.is_open == (is_greeting || is_ready) ||
              connection->link.is_broken);
    if (is_greeting) {
        HF_ASSERT(connection->count > 0 || connection->link.is_broken);
    } else {
        HF_ASSERT(store->session.refusal == HF_OK);
    }
    HF_ASSERT((store->session.standing.status == HF_NODE_STATUS_VOTING) ==
              (is_ready || store->session.phase == HF_SESSION_ENDED));
    HF_ASSERT(is_ready || store->n_seats == 0);
    HF_ASSERT(!hf_instant_before(hf_advisory_session_due(store),
                                 connection->link.timer.at));
}
