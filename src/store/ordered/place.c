/* SPDX-License-Identifier: Apache-2.0 */
/* HEARTBEATS OF A SEAT THAT WAITS BEHIND MANY
 *
 * A heartbeat is a CREATE unless the entry exists, whose reply lists the name
 * (entry.c). With 500 waiters and a heartbeat each 2 s that is 250 lists of 500
 * entries a second, which keep a server of etcd or Consul busy. So of a long
 * queue only some heartbeats list: the longer the queue, the fewer, so that it
 * is HF_ORDERED_LISTED_EACH entries a heartbeat on average. Each of the others
 * reads two entries: our own, and the one that we wait for. As long as these
 * two stand nothing has changed but `ahead`, which is as old as the last list.
 *
 * Without a watch, or when either has changed: CREATE, which also makes a lost
 * entry again. Short queues are listed each time.
 *
 * Cost: one round trip, as a list; two if an entry has changed. A heap block
 * for each waiter far back. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

#include <stdlib.h>

struct hf_ordered_place {
    uint64_t version;        /* of its own entry, as it was listed */
    uint64_t before_version; /* of the entry that it waits for */
    uint32_t ahead;
    uint32_t reads; /* since it was listed */
    size_t id_len;
    char id[]; /* of the entry that it waits for */
};

void hf_ordered_place_free(struct hf_ordered_seat *seat)
{
    free(seat->place);
    seat->place = NULL;
}

/* The next heartbeat lists, if there is no memory. */
void hf_ordered_place_keep(struct hf_ordered *store,
                           struct hf_ordered_seat *seat,
                           const struct hf_wire_entry *own,
                           const struct hf_wire_entry *before, uint32_t ahead)
{
    HF_ASSERT(before->entry.number <= own->entry.number);
    hf_ordered_place_free(seat);
    if (!store->wire_ops->reads_by_id || ahead < store->listed_each) {
        return;
    }
    struct hf_ordered_place *place = malloc(sizeof(*place) + before->id.len);
    if (place != NULL) {
        *place = (struct hf_ordered_place){.version = own->version,
                                           .before_version = before->version,
                                           .ahead = ahead,
                                           .id_len = before->id.len};
        memcpy(place->id, before->id.data, before->id.len);
        seat->place = place;
    }
}

static bool must_list(const struct hf_ordered *store,
                      const struct hf_ordered_seat *seat)
{
    const struct hf_ordered_place *place = seat->place;
    return place == NULL || seat->name->watch == NULL || seat->is_unsure ||
           (place->reads + 1) * store->listed_each > place->ahead;
}

bool hf_ordered_place_read(struct hf_ordered *store,
                           struct hf_ordered_seat *seat, hf_wire_done_fn *done,
                           struct hf_instant now)
{
    if (must_list(store, seat)) {
        return false;
    }
    struct hf_ordered_place *place = seat->place;
    struct hf_wire_key keys[2];
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, done, seat->session, NULL, seat);
    if (call == NULL) {
        return false;
    }
    HF_ASSERT(seat->state == HF_ORDERED_WAITING && seat->number != 0);
    keys[0] = hf_ordered_key(seat);
    keys[0].version = place->version;
    keys[1] = (struct hf_wire_key){.name = keys[0].name,
                                   .id = {place->id, place->id_len},
                                   .version = place->before_version};
    place->reads++;
    if (!store->wire_ops->read(store->wire, keys, 2, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
    return true;
}

bool hf_ordered_place_stands(const struct hf_ordered_seat *seat,
                             const struct hf_wire_reply *reply)
{
    if (reply->is_unchanged || reply->n_entries < 2) {
        return reply->is_unchanged;
    }
    const struct hf_wire_entry *own = &reply->entries[0];
    /* With a note it was broken, and is not ours any more (wire.h). */
    return own->entry.number == seat->number && own->note.len == 0 &&
           reply->entries[1].entry.number == seat->behind;
}

/* As answer_queued() in entry.c, without the holder. `sent` is that of the
 * session's renewal, not of the READ: the entry lives no longer than the
 * session. */
void hf_ordered_place_answer(struct hf_ordered *store,
                             struct hf_ordered_seat *seat)
{
    HF_ASSERT(seat->place != NULL && seat->behind <= seat->number);
    struct hf_answer answer = {.verdict = HF_VERDICT_QUEUED,
                               .sent = seat->session->renewed,
                               .counter = hf_ordered_below(seat),
                               .ticket = seat->number,
                               .ahead = seat->place->ahead,
                               .left_ms = -1,
                               .is_as_before = true,
                               .is_unwatched = seat->name->watch == NULL};
    hf_ordered_answer_with(store, seat, HF_VERB_ACQUIRE, &answer);
}
