/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF THE NODE, ASSERTED WHEN THE LOOP ENTERS AND LEAVES IT
 *
 * Between two events of the loop all of these hold, whatever the server has
 * replied. Inside an event they need not, so they are not checked in ask(),
 * which a callback may call. Each store has more of its own (node_check.c).
 *
 * Cost: no round trip, and no loop: a few comparisons for each event. */
#include "store/sql/sql.h"

#include "base/assert.h"

/* SN-1: the handshake has begun exactly if the connection is open.
 * SN-2: a handshake waits for a reply. Else no event would end it but its
 *       deadline. An error of it is kept only until its end. */
static void check_phase(const struct hf_sql_node *node, bool is_asked)
{
    const struct hf_sql_link *link = node->link;
    bool has_begun = node->phase >= HF_SQL_GREETING;
    bool is_over = node->phase == HF_SQL_READY;
    HF_ASSERT(link->is_open == has_begun);
    if (has_begun && !is_over) {
        HF_ASSERT(is_asked || link->is_broken);
    } else {
        HF_ASSERT(node->greet_fault == HF_OK);
    }
}

/* SN-3: the node votes or is in quarantine exactly if its handshake is done.
 * SN-4: the fault that the client gets fits the status. */
static void check_status(const struct hf_sql_node *node)
{
    bool has_until = node->admission.quarantined_until.ns != HF_LONG_AGO.ns;
    hf_standing_check(&node->standing, node->phase == HF_SQL_READY, has_until);
}

/* SN-5: the state of a session ends with it: the schema that this client has
 *       made, and the examination.
 * SN-6: the timer fires at the latest when something is due. One that fires too
 *       early is set again. */
void hf_sql_node_check(const struct hf_sql_node *node, bool is_asked,
                       struct hf_instant due)
{
    check_phase(node, is_asked);
    check_status(node);
    HF_ASSERT(node->link->is_open || !node->has_installed);
    HF_ASSERT(node->link->is_open || !node->is_examined);
    HF_ASSERT(!hf_instant_before(due, node->link->timer.at));
}
