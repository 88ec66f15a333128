/* SPDX-License-Identifier: Apache-2.0 */
/* A node's status and the reason for it, as the store last reported them to its
 * client.
 *
 *     hf_standing_init(&standing);                     the store opens
 *     hf_standing_set(&standing, &env, node, …);       as often as it changes
 *     fault = hf_standing_cause(&standing, &reason);   for the answer UNSENT
 *     hf_standing_check(&standing, is_ready, has_until);
 *
 * Threads: with the client's mutex; the client is called from inside
 * hf_standing_set(). Owner: reasons are copied; the one that is returned is
 * part of `standing`, or static. Nothing fails. */
#ifndef HF_STORE_STANDING_H
#define HF_STORE_STANDING_H

#include "store/store.h"

/* An address, and a line of a server's own words. */
#define HF_STANDING_REASON_MAX HF_TEXT_REASON

struct hf_standing {
    enum hf_node_status status;
    enum hf_status fault; /* HF_OK: none */
    char reason[HF_STANDING_REASON_MAX];
};

/* CONNECTING, before anything is reported. */
void hf_standing_init(struct hf_standing *standing);

/* Take the new status, and report it to the client if it or its reason has
 * changed. `is_reset`: the server lost its data, so earlier votes are void;
 * this is always reported. */
void hf_standing_set(struct hf_standing *standing,
                     const struct hf_store_env *env, unsigned node,
                     enum hf_node_status status, bool is_reset,
                     enum hf_status fault, const char *reason);

/** Why no request can be sent to a node that takes none. @return never HF_OK,
 * and never HF_QUARANTINED: a node in quarantine takes requests. */
enum hf_status hf_standing_cause(const struct hf_standing *standing,
                                 const char **reason);

/* Assert the invariants of a node that may be in quarantine, between two events
 * of the loop: it votes or is in quarantine exactly if it `is_ready`, its
 * handshake is done. The fault that the client gets fits the status: none if it
 * votes, and a quarantine `has_until`, an end. A node that is down has another
 * reason than a quarantine. */
void hf_standing_check(const struct hf_standing *standing, bool is_ready,
                       bool has_until);

#endif
