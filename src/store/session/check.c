/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A SESSION, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * Cost: no round trip, and no loop. */
#include "store/session/session.h"

#include "base/assert.h"

/* SE-1: the connection is closed exactly between two sessions, or it broke when
 *       it was started. It is open exactly from the handshake to the end.
 * SE-2: a handshake waits for a reply, and an error of it is kept only until it
 *       ends.
 * SE-3: the session votes while it is READY, and for one turn after its end,
 *       when each CONFIRM is refused.
 * SE-4: only a session that is READY holds or tries locks. A seat that outlived
 *       its session would confirm a lock that the server has freed.
 * SE-5: the timer fires at the latest when something is due. */
void hf_session_check(const struct hf_session *session, bool is_closed,
                      bool is_asked)
{
    const struct hf_sql_link *link = session->link;
    bool is_ready = session->phase == HF_SESSION_READY;
    bool is_greeting = session->phase == HF_SESSION_GREETING ||
                       session->phase == HF_SESSION_SETTING;
    bool is_between = session->phase == HF_SESSION_WAITING ||
                      session->phase >= HF_SESSION_ENDING;
    HF_ASSERT(is_closed == is_between || link->is_broken);
    HF_ASSERT(link->is_open == (is_greeting || is_ready) || link->is_broken);
    HF_ASSERT(!is_greeting || is_asked || link->is_broken);
    HF_ASSERT(is_greeting || session->refusal == HF_OK);
    HF_ASSERT((session->standing.status == HF_NODE_STATUS_VOTING) ==
              (is_ready || session->phase == HF_SESSION_ENDED));
    HF_ASSERT(is_ready || session->n_seats == 0);
    HF_ASSERT(!hf_instant_before(hf_session_due(session), link->timer.at));
}
