/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "store/advisory/advisory.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const struct hf_advisory_key *key)
{
    uint64_t mixed = key->bits * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 32) % HF_ADVISORY_BUCKETS;
}

static struct hf_advisory_seat *skip(struct hf_advisory_seat *seat,
                                     const struct hf_advisory_key *key)
{
    while (seat != NULL && !hf_advisory_key_is(seat->key, *key)) {
        seat = seat->next;
    }
    return seat;
}

struct hf_advisory_seat *
hf_advisory_seat_first(struct hf_advisory *store,
                       const struct hf_advisory_key *key)
{
    return skip(store->seats[bucket_of(key)], key);
}

struct hf_advisory_seat *
hf_advisory_seat_next(struct hf_advisory_seat *seat,
                      const struct hf_advisory_key *key)
{
    return skip(seat->next, key);
}

/* With a fixed key, names that differ have one key. */
struct hf_advisory_seat *
hf_advisory_seat_find(struct hf_advisory *store,
                      const struct hf_advisory_key *key,
                      const struct hf_ask *ask)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_first(store, key);
    while (seat != NULL &&
           (seat->owner_len != ask->owner_len ||
            memcmp(seat->owner, ask->owner, ask->owner_len) != 0 ||
            seat->name_len != ask->name_len ||
            memcmp(seat->name, ask->name, ask->name_len) != 0)) {
        seat = hf_advisory_seat_next(seat, key);
    }
    return seat;
}

bool hf_advisory_seat_is_sole(struct hf_advisory *store,
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
    HF_ASSERT(ask->owner_len <= HF_OWNER_MAX);
    HF_ASSERT(hf_session_is_ready(&store->session)); /* SE-4 */
    HF_ASSERT(hf_advisory_seat_find(store, key, ask) == NULL);
    struct hf_advisory_seat *seat = calloc(1, sizeof(*seat) + ask->name_len);
    if (seat == NULL) {
        return NULL;
    }
    size_t at = bucket_of(key);
    seat->next = store->seats[at];
    store->seats[at] = seat;
    store->session.n_seats++;
    seat->key = *key;
    seat->is_shared = ask->is_shared;
    seat->owner_len = ask->owner_len;
    memcpy(seat->owner, ask->owner, ask->owner_len);
    seat->name_len = ask->name_len;
    memcpy(seat->name, ask->name, ask->name_len);
    return seat;
}

void hf_advisory_seat_remove(struct hf_advisory *store,
                             struct hf_advisory_seat *seat)
{
    struct hf_advisory_seat **at = &store->seats[bucket_of(&seat->key)];
    while (*at != seat) {
        HF_ASSERT(*at != NULL); /* it is in its bucket */
        at = &(*at)->next;
    }
    HF_ASSERT(store->session.n_seats > 0);
    *at = seat->next;
    store->session.n_seats--;
    free(seat);
}

void hf_advisory_seats_clear(struct hf_advisory *store)
{
    for (size_t i = 0; i < HF_ADVISORY_BUCKETS; i++) {
        struct hf_advisory_seat *next;
        for (struct hf_advisory_seat *seat = store->seats[i]; seat != NULL;
             seat = next) {
            next = seat->next;
            free(seat);
        }
        store->seats[i] = NULL;
    }
    store->session.n_seats = 0;
}
