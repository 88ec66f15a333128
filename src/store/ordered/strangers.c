/* SPDX-License-Identifier: Apache-2.0 */
/* STRANGERS: ENTRIES THAT ARE IN A SESSION OF OURS AND THAT NO LOCK HAS
 *
 * A CREATE whose reply was lost may be executed later, when its lock has been
 * released already. The entry would block all others for as long as the session
 * is renewed, and only this client knows that it is not in use. So while a
 * session is doubtful, each renewal of it also lists its entries, and removes
 * those that no seat has, or whose seat has been released.
 *
 * Safe: an entry is removed by the session and the owner of its creation, since
 * an entry that is still being created has no known number, and only while it
 * is under this session (`under`): a reservation may have moved it to another
 * one. The entry of a lock that was broken stays until its ttl has passed since
 * the release: its owner must have stopped by then.
 *
 * Cost: nothing as long as no request was lost. From then on one list of all
 * entries of that session with each of its renewals, and one remove for each
 * stranger. No caller waits for them. */
#include "store/ordered/ordered.h"

static void on_cleaned(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    (void)reply;
    (void)now;
    hf_ordered_call_free((struct hf_ordered_call *)(void *)wire_call);
}

static bool is_left(const struct hf_ordered_seat *seat, struct hf_instant now)
{
    struct hf_instant stopped =
        hf_instant_add(seat->left_at, hf_span_ms(seat->ttl_ms));
    return seat->state == HF_ORDERED_LEAVING && !seat->release.is_pending &&
           !seat->is_moving &&
           (!seat->is_broken || hf_instant_before(stopped, now));
}

static bool is_stranger(const struct hf_ordered *store,
                        const struct hf_ordered_session *session,
                        const struct hf_wire_entry *entry,
                        struct hf_instant now)
{
    struct hf_ask ask = {.name = entry->name.data,
                         .name_len = entry->name.len,
                         .owner = entry->owner.data,
                         .owner_len = entry->owner.len};
    const struct hf_ordered_seat *seat = hf_ordered_seat_find(store, &ask);
    return seat == NULL || seat->session != session || is_left(seat, now);
}

static void
remove_stranger(struct hf_ordered *store, struct hf_ordered_session *session,
                const struct hf_wire_entry *entry, struct hf_instant now)
{
    struct hf_wire_key key = {.name = entry->name,
                              .session = entry->born,
                              .owner = entry->owner,
                              .mode = entry->entry.mode,
                              .permits = entry->permits,
                              .ttl_s = entry->born_ttl_s,
                              .under = session->id};
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_cleaned, session, NULL, NULL);
    if (call != NULL &&
        !store->wire_ops->remove(store->wire, &key, &call->wire, now)) {
        hf_ordered_call_free(call);
    }
}

static void on_owned(struct hf_wire_call *wire_call,
                     const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    for (size_t i = 0; reply->outcome == HF_WIRE_DONE && i < reply->n_entries;
         i++) {
        if (is_stranger(call->store, call->session, &reply->entries[i], now)) {
            remove_stranger(call->store, call->session, &reply->entries[i],
                            now);
        }
    }
    hf_ordered_call_free(call);
}

void hf_ordered_drop_strangers(struct hf_ordered *store,
                               struct hf_ordered_session *session,
                               struct hf_instant now)
{
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_owned, session, NULL, NULL);
    if (call != NULL &&
        !store->wire_ops->owned(store->wire, session->id, &call->wire, now)) {
        hf_ordered_call_free(call);
    }
}
