/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "store/named/named.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static size_t bucket_of(const struct hf_named_key *key)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < key->len; i++) {
        hash = (hash ^ (unsigned char)key->text[i]) * UINT32_C(16777619);
    }
    return hash % HF_NAMED_BUCKETS;
}

struct hf_named_request *hf_named_seat_find(const struct hf_named *store,
                                            const struct hf_named_key *key)
{
    struct hf_named_request *seat = store->seats[bucket_of(key)];
    while (seat != NULL && !hf_named_key_is(&seat->key, key)) {
        seat = seat->next;
    }
    return seat;
}

bool hf_named_seat_is_of(const struct hf_named_request *seat,
                         const struct hf_named_request *request)
{
    return seat->owner_len == request->owner_len &&
           memcmp(seat->owner, request->owner, seat->owner_len) == 0 &&
           seat->name_len == request->name_len &&
           memcmp(seat->name, request->name, seat->name_len) == 0;
}

void hf_named_seat_add(struct hf_named *store, struct hf_named_request *seat)
{
    HF_ASSERT(hf_session_is_ready(&store->session)); /* SE-4 */
    HF_ASSERT(hf_named_seat_find(store, &seat->key) == NULL);
    size_t at = bucket_of(&seat->key);
    seat->counter = ++store->session.counter;
    seat->next = store->seats[at];
    store->seats[at] = seat;
    store->session.n_seats++;
}

void hf_named_seat_remove(struct hf_named *store, struct hf_named_request *seat)
{
    struct hf_named_request **at = &store->seats[bucket_of(&seat->key)];
    while (*at != seat) {
        HF_ASSERT(*at != NULL); /* it is in its bucket */
        at = &(*at)->next;
    }
    HF_ASSERT(store->session.n_seats > 0);
    *at = seat->next;
    store->session.n_seats--;
    free(seat);
}

void hf_named_seats_clear(struct hf_named *store)
{
    for (size_t i = 0; i < HF_NAMED_BUCKETS; i++) {
        struct hf_named_request *next;
        for (struct hf_named_request *seat = store->seats[i]; seat != NULL;
             seat = next) {
            next = seat->next;
            free(seat);
        }
        store->seats[i] = NULL;
    }
    store->session.n_seats = 0;
}
