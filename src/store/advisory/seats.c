/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH OF OUR OWNERS HAS WHICH KEY
 *
 * PostgreSQL excludes sessions, not owners: it grants a session the same key
 * again and again, and counts (PostgreSQL's manual, "Advisory Locks"). All
 * owners of a client share its session, so they exclude each other here, by
 * seats with the same key. Sharers of a key have a seat each, and with key= in
 * the URL names that differ have one key: hence the search by key first, then
 * by owner and name.
 *
 * Cost: no round trip; the seats of one bucket. */
#include "base/assert.h"
#include "store/advisory/advisory.h"

static uint32_t hash_of(const struct hf_advisory_key *key)
{
    return (uint32_t)(key->bits * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct hf_advisory_seat *skip(struct hf_session_seat *at,
                                     const struct hf_advisory_key *key)
{
    struct hf_advisory_seat *seat = (struct hf_advisory_seat *)(void *)at;
    while (seat != NULL && !hf_advisory_key_is(seat->key, *key)) {
        seat = (struct hf_advisory_seat *)(void *)seat->seat.next;
    }
    return seat;
}

struct hf_advisory_seat *
hf_advisory_seat_first(const struct hf_advisory *store,
                       const struct hf_advisory_key *key)
{
    return skip(hf_session_seat_first(&store->session, hash_of(key)), key);
}

struct hf_advisory_seat *
hf_advisory_seat_next(struct hf_advisory_seat *seat,
                      const struct hf_advisory_key *key)
{
    return skip(seat->seat.next, key);
}

/* With a fixed key, names that differ have one key. */
struct hf_advisory_seat *
hf_advisory_seat_find(struct hf_advisory *store,
                      const struct hf_advisory_key *key,
                      const struct hf_ask *ask)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_first(store, key);
    while (
        seat != NULL &&
        (!hf_session_seat_has_owner(&seat->seat, ask->owner, ask->owner_len) ||
         !hf_session_seat_has_name(&seat->seat, ask->name, ask->name_len))) {
        seat = hf_advisory_seat_next(seat, key);
    }
    return seat;
}

bool hf_advisory_seat_is_sole(const struct hf_advisory *store,
                              const struct hf_advisory_seat *seat)
{
    struct hf_advisory_seat *other = hf_advisory_seat_first(store, &seat->key);
    while (other != NULL &&
           (other == seat || other->state == HF_ADVISORY_LEAVING)) {
        other = hf_advisory_seat_next(other, &seat->key);
    }
    return other == NULL;
}

struct hf_advisory_seat *hf_advisory_seat_add(struct hf_advisory *store,
                                              const struct hf_advisory_key *key,
                                              const struct hf_ask *ask)
{
    HF_ASSERT(hf_advisory_seat_find(store, key, ask) == NULL);
    struct hf_advisory_seat *seat = hf_session_seat_new(sizeof(*seat), ask);
    if (seat != NULL) {
        seat->key = *key;
        seat->is_shared = ask->is_shared;
        hf_session_seat_add(&store->session, &seat->seat, hash_of(key));
    }
    return seat;
}
