/* SPDX-License-Identifier: Apache-2.0 */
/* STRANGERS
 *
 * While a session is doubtful, each renewal also lists all its entries. Those
 * of no seat were created after their release; they are removed, by owner: a
 * number is not known of an entry that is still being created. Only while they
 * are this session's: one that was reserved since is another one's. One that
 * was broken is removed when its owner must have stopped.
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
