/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A SESSION, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * Cost: no round trip, and no loop. */
#include "store/named/named.h"

#include "base/assert.h"

/* NL-1: the connection is closed exactly between two sessions, or it broke when
 *       it was started. It is open exactly from the greeting to the end.
 * NL-2: a greeting waits for a reply, and an error of it is kept only until it
 *       ends.
 * NL-3: the session votes while it is READY, and for one turn after its end,
 *       when each CONFIRM is refused.
 * NL-4: only a session that is READY holds locks or has requests. A seat that
 *       outlived its session would confirm a lock that the server has freed.
 * NL-5: while READY, statements are under way exactly while a batch of the
 *       queue is not answered.
 * NL-6: the timer fires at the latest when something is due. */
void hf_named_check(const struct hf_named *store)
{
    const struct hf_mysql_connection *connection = &store->connection;
    bool is_closed = hf_mysql_connection_is_closed(connection);
    bool is_ready = store->session.phase == HF_SESSION_READY;
    bool is_busy = hf_mysql_connection_is_busy(connection);
    bool is_greeting = store->session.phase == HF_SESSION_GREETING ||
                       store->session.phase == HF_SESSION_SETTING;
    bool is_between = store->session.phase == HF_SESSION_WAITING ||
                      store->session.phase >= HF_SESSION_ENDING;
    HF_ASSERT(is_closed == is_between || connection->link.is_broken);
    HF_ASSERT(connection->link.is_open == (is_greeting || is_ready) ||
              connection->link.is_broken);
    HF_ASSERT(is_greeting ? is_busy || connection->link.is_broken
                          : store->session.refusal == HF_OK);
    HF_ASSERT((store->session.standing.status == HF_NODE_STATUS_VOTING) ==
              (is_ready || store->session.phase == HF_SESSION_ENDED));
    HF_ASSERT(is_ready || (store->n_seats == 0 && store->first == NULL));
    if (is_ready && !connection->link.is_broken) {
        HF_ASSERT(is_busy == (store->n_batch > 0));
        HF_ASSERT(!is_busy || store->first != NULL);
    }
    HF_ASSERT(!hf_instant_before(hf_named_session_due(store),
                                 connection->link.timer.at));
}
