/* SPDX-License-Identifier: Apache-2.0 */
/* Fences and counters. A node counts; a user sees a fence: the counter plus the
 * `fence_base` of the URL, by which the fences of a store that counts from a
 * smaller number are above those of the store that was used before. The base is
 * added when a fence is handed out, and subtracted when an owner's text comes
 * back: in these functions alone. Nodes, core and marks know counters only.
 *
 * All clients of a store have the same base, since its marker keeps it
 * (core/quarantine.h; in the embedded store the gate's page). */
#ifndef HF_CLIENT_FENCE_H
#define HF_CLIENT_FENCE_H

#include "client/client.h"

/* The fence of a counter; 0, which is none, stays 0. */
uint64_t hf_fence_of(const struct hf_client *client, uint64_t counter);

/** The counter of a fence that this store has handed out.
 * @return 0: it has not, since the fence is not above fence_base. */
uint64_t hf_fence_counter(const struct hf_client *client, uint64_t fence);

/* The greatest counter with a fence of 53 bits (HF_FENCE_MAX). A grant above it
 * does not count. */
uint64_t hf_fence_counter_max(const struct hf_client *client);

/** At opening: @return HF_OK, or HF_UNSUPPORTED if there is a base, but the
 * store has no fences. */
enum hf_status hf_fence_check(const struct hf_client *client,
                              struct hf_error *error);

#endif
