/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH OF OUR OWNERS HAS WHICH NAME
 *
 * GET_LOCK() excludes sessions, not owners: a session gets a name that it has
 * again, and must then release it twice (MySQL's manual, "Locking Functions").
 * All owners of a client share its session, so a name has one seat at most
 * (asserted), and its owner is compared here. GET_LOCK() has no shared mode.
 *
 * Cost: no round trip; the seats of one bucket. */
#include "base/assert.h"
#include "store/named/named.h"

/* FNV-1a. */
static uint32_t hash_of(const struct hf_named_key *key)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < key->len; i++) {
        hash = (hash ^ (unsigned char)key->text[i]) * UINT32_C(16777619);
    }
    return hash;
}

static struct hf_named_request *request_of(struct hf_session_seat *seat)
{
    return (struct hf_named_request *)(void *)seat;
}

struct hf_named_request *hf_named_seat_find(const struct hf_named *store,
                                            const struct hf_named_key *key)
{
    struct hf_session_seat *at =
        hf_session_seat_first(&store->session, hash_of(key));
    while (at != NULL && !hf_named_key_is(&request_of(at)->key, key)) {
        at = at->next;
    }
    return request_of(at);
}

bool hf_named_seat_is_of(const struct hf_named_request *seat,
                         const struct hf_named_request *request)
{
    const struct hf_session_seat *of = &request->seat;
    return hf_session_seat_has_owner(&seat->seat, of->owner, of->owner_len) &&
           hf_session_seat_has_name(&seat->seat, of->name, of->name_len);
}

void hf_named_seat_add(struct hf_named *store, struct hf_named_request *seat)
{
    HF_ASSERT(hf_named_seat_find(store, &seat->key) == NULL);
    seat->seat.counter = ++store->session.counter;
    hf_session_seat_add(&store->session, &seat->seat, hash_of(&seat->key));
}
