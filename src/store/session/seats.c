/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of a session, in a table of lists by the hash of the server's key:
 * not of the name, since with key= in the URL all names have one key. The
 * table is part of the store, so it never grows and a new seat cannot fail
 * halfway. A seat is one allocation: the store's struct, and the name behind
 * it.
 *
 * Seats exist only while the session is READY (SE-4): its end has freed all of
 * its locks on the server, so their seats go together.
 *
 * Cost: O(1) with 4096 buckets and some thousands of locks; one allocation
 * each. */
#include "base/assert.h"
#include "store/session/session.h"

#include <stdlib.h>
#include <string.h>

void *hf_session_seat_new(size_t size, const struct hf_ask *ask)
{
    HF_ASSERT(ask->owner_len <= HF_OWNER_MAX);
    struct hf_session_seat *seat = calloc(1, size + ask->name_len);
    if (seat == NULL) {
        return NULL;
    }
    char *name = (char *)seat + size;
    seat->owner_len = ask->owner_len;
    seat->name_len = ask->name_len;
    seat->name = name;
    if (ask->owner_len > 0) {
        memcpy(seat->owner, ask->owner, ask->owner_len);
    }
    memcpy(name, ask->name, ask->name_len);
    return seat;
}

bool hf_session_seat_has_name(const struct hf_session_seat *seat,
                              const void *name, size_t name_len)
{
    return seat->name_len == name_len &&
           memcmp(seat->name, name, name_len) == 0;
}

bool hf_session_seat_has_owner(const struct hf_session_seat *seat,
                               const void *owner, size_t owner_len)
{
    return seat->owner_len == owner_len &&
           (owner_len == 0 || memcmp(seat->owner, owner, owner_len) == 0);
}

/* ---- The table ----------------------------------------------------------- */

struct hf_session_seat *hf_session_seat_first(const struct hf_session *session,
                                              uint32_t hash)
{
    return session->seats[hash % HF_SESSION_BUCKETS];
}

void hf_session_seat_add(struct hf_session *session,
                         struct hf_session_seat *seat, uint32_t hash)
{
    HF_ASSERT(hf_session_is_ready(session)); /* SE-4 */
    seat->bucket = hash % HF_SESSION_BUCKETS;
    seat->next = session->seats[seat->bucket];
    session->seats[seat->bucket] = seat;
    session->n_seats++;
}

void hf_session_seat_free(struct hf_session *session,
                          struct hf_session_seat *seat)
{
    struct hf_session_seat **at = &session->seats[seat->bucket];
    while (*at != seat) {
        HF_ASSERT(*at != NULL); /* it is in its bucket */
        at = &(*at)->next;
    }
    HF_ASSERT(session->n_seats > 0);
    *at = seat->next;
    session->n_seats--;
    free(seat);
}

void hf_session_seats_free(struct hf_session *session)
{
    for (size_t i = 0; i < HF_SESSION_BUCKETS; i++) {
        struct hf_session_seat *next;
        for (struct hf_session_seat *seat = session->seats[i]; seat != NULL;
             seat = next) {
            next = seat->next;
            free(seat);
        }
        session->seats[i] = NULL;
    }
    session->n_seats = 0;
}
