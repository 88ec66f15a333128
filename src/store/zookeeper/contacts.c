/* SPDX-License-Identifier: Apache-2.0 */
/* THE CONTACTS OF A SESSION THAT ITS LEADER KNOWS
 *
 * The leader ends a session one timeout after the last contact that it has
 * heard of. It hears of a contact with another server up to half a tick after
 * that server had it, and of a renewal no sooner, though the renewal is a write
 * that it has agreed to itself. If that server loses the leader just then, the
 * leader counts from the contact before.
 *
 *   contact sent ──▶ answered ──▶ half a tick ──▶ heard     renewal sent
 *     t                                                        S
 *
 * So a renewal counts only if the last contact whose answer came `heard` before
 * S was sent `heard` + `each` before S, or later. With a contact in half of
 * each `each` it was, unless the client paused, or an answer came late. Then
 * only a new connection helps, of which the leader hears at once.
 *
 * Cost: no request of its own (handle.c makes the contacts); a pass over the
 * HF_ZK_CONTACTS_KEPT latest ones for each renewal. */
#include "store/zookeeper/contacts.h"

void hf_zk_contacts_begin(struct hf_zk_contacts *contacts, struct hf_instant at)
{
    *contacts = (struct hf_zk_contacts){.began = at};
}

void hf_zk_contacts_add(struct hf_zk_contacts *contacts, struct hf_instant sent,
                        struct hf_instant answered)
{
    unsigned at = contacts->n++ % HF_ZK_CONTACTS_KEPT;
    contacts->sent[at] = sent;
    contacts->answered[at] = answered;
}

bool hf_zk_contacts_suffice(const struct hf_zk_contacts *contacts,
                            struct hf_instant sent, struct hf_span heard,
                            struct hf_span each)
{
    struct hf_instant known = contacts->began;
    struct hf_instant limit = hf_instant_sub(sent, heard);
    for (unsigned i = 0; i < HF_ZK_CONTACTS_KEPT && i < contacts->n; i++) {
        if (!hf_instant_before(limit, contacts->answered[i])) {
            known = hf_instant_max(known, contacts->sent[i]);
        }
    }
    return !hf_instant_before(known, hf_instant_sub(limit, each));
}
