/* SPDX-License-Identifier: Apache-2.0 */
/* Contacts of a session that its leader knows: the proof that a renewal was
 * executed by the leader, which a reply of the connected server alone is not.
 * contacts.c says why. */
#ifndef HF_ZOOKEEPER_CONTACTS_H
#define HF_ZOOKEEPER_CONTACTS_H

#include "base/time.h"

#include <stdbool.h>

/* As many as a third of a timeout has, and some more. */
#define HF_ZK_CONTACTS_KEPT 12

/* Of one connection. */
struct hf_zk_contacts {
    struct hf_instant began; /* no later than the connection */
    struct hf_instant sent[HF_ZK_CONTACTS_KEPT];
    struct hf_instant answered[HF_ZK_CONTACTS_KEPT];
    unsigned n; /* that there were */
};

/** A connection begins: those of the last one count no more. @param at  no
 * later than it. */
void hf_zk_contacts_begin(struct hf_zk_contacts *contacts,
                          struct hf_instant at);

/* The server has answered a contact, and will report it to the leader. */
void hf_zk_contacts_add(struct hf_zk_contacts *contacts, struct hf_instant sent,
                        struct hf_instant answered);

/** Does a renewal count from its sending? @param heard  so long after an answer
 * the leader has heard of its contact. @param each  time between contacts. */
bool hf_zk_contacts_suffice(const struct hf_zk_contacts *contacts,
                            struct hf_instant sent, struct hf_span heard,
                            struct hf_span each);

#endif
