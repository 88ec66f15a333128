/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF THE QUEUE, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * SE-1 to SE-5 (store/session/check.c) are of its session.
 *
 * Cost: no round trip, and no loop. */
#include "store/named/named.h"

#include "base/assert.h"

/* NL-1: only a session that is READY has requests.
 * NL-2: while READY, statements are under way exactly while a batch of the
 *       queue is not answered. */
void hf_named_check(const struct hf_named *store)
{
    const struct hf_mysql_connection *connection = &store->connection;
    bool is_busy = hf_mysql_connection_is_busy(connection);
    hf_session_check(&store->session, hf_mysql_connection_is_closed(connection),
                     is_busy);
    HF_ASSERT(store->session.phase == HF_SESSION_READY || store->first == NULL);
    if (hf_session_is_ready(&store->session)) {
        HF_ASSERT(is_busy == (store->n_batch > 0));
        HF_ASSERT(!is_busy || store->first != NULL);
    }
}
