/* SPDX-License-Identifier: Apache-2.0 */
/* The tables: names, their seats, and calls under way. A seat, a session and a
 * name live as long as a call refers to them.
 *
 * Cost: O(1) to find a name among 10,000, in HF_ORDERED_BUCKETS lists; the
 * seats of one name are searched one by one. One allocation for each. */
#include "store/ordered/ordered.h"

#include "base/assert.h"
#include "core/owner.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a: names are not chosen by an enemy of their own client. */
static size_t bucket_of(const void *name, size_t len)
{
    const unsigned char *bytes = name;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return (size_t)(hash ^ hash >> 32) & (HF_ORDERED_BUCKETS - 1);
}

/* ---- Names --------------------------------------------------------------- */

struct hf_ordered_name *hf_ordered_name_find(const struct hf_ordered *store,
                                             const void *name, size_t len)
{
    struct hf_ordered_name *found = store->names[bucket_of(name, len)];
    while (found != NULL &&
           (found->len != len || memcmp(found->bytes, name, len) != 0)) {
        found = found->next;
    }
    return found;
}

static struct hf_ordered_name *name_add(struct hf_ordered *store,
                                        const void *name, size_t len)
{
    struct hf_ordered_name *added = calloc(1, sizeof(*added) + len);
    if (added != NULL) {
        struct hf_ordered_name **bucket = &store->names[bucket_of(name, len)];
        added->len = len;
        memcpy(added->bytes, name, len);
        added->watched_at = HF_LONG_AGO;
        added->next = *bucket;
        *bucket = added;
    }
    return added;
}

void hf_ordered_name_drop(struct hf_ordered *store,
                          struct hf_ordered_name *name)
{
    if (name->seats != NULL || name->calls > 0) {
        return;
    }
    struct hf_ordered_name **at =
        &store->names[bucket_of(name->bytes, name->len)];
    while (*at != name) {
        HF_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = name->next;
    hf_ordered_unwatch(store, name);
    free(name);
}

/* ---- Seats --------------------------------------------------------------- */

static int digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                        : -1;
}

void hf_ordered_attempt(struct hf_bytes owner, uint8_t out[HF_OWNER_ID_LEN])
{
    const unsigned char *text = owner.data;
    memset(out, 0, HF_OWNER_ID_LEN);
    if (!hf_owner_is_ours(owner.data, owner.len)) {
        return;
    }
    for (size_t i = 0; i < HF_OWNER_ID_LEN; i++) {
        int high = digit(text[2 * i]);
        int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            memset(out, 0, HF_OWNER_ID_LEN);
            return;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
}

struct hf_ordered_seat *hf_ordered_seat_find(const struct hf_ordered *store,
                                             const struct hf_ask *ask)
{
    struct hf_ordered_name *name =
        hf_ordered_name_find(store, ask->name, ask->name_len);
    struct hf_ordered_seat *seat = name == NULL ? NULL : name->seats;
    while (seat != NULL &&
           (seat->owner_len != ask->owner_len ||
            memcmp(seat->owner, ask->owner, ask->owner_len) != 0)) {
        seat = seat->next;
    }
    return seat;
}

struct hf_ordered_seat *hf_ordered_seat_add(struct hf_ordered *store,
                                            const struct hf_ask *ask)
{
    HF_ASSERT(ask->owner_len <= HF_OWNER_MAX);
    struct hf_ordered_seat *seat = calloc(1, sizeof(*seat));
    struct hf_ordered_name *name =
        hf_ordered_name_find(store, ask->name, ask->name_len);
    if (seat != NULL && name == NULL) {
        name = name_add(store, ask->name, ask->name_len);
    }
    if (seat == NULL || name == NULL) {
        free(seat);
        return NULL;
    }
    seat->name = name;
    seat->mode = ask->is_shared ? HF_SHARED : HF_EXCLUSIVE;
    seat->permits = ask->is_shared ? ask->permits : 0;
    seat->waits = ask->queue_ms > 0;
    seat->ttl_ms = ask->ttl_ms;
    seat->owner_len = ask->owner_len;
    memcpy(seat->owner, ask->owner, ask->owner_len);
    seat->next = name->seats;
    name->seats = seat;
    store->n_seats++;
    return seat;
}

void hf_ordered_seat_detach(struct hf_ordered_seat *seat)
{
    if (seat->session != NULL) {
        hf_ordered_seat_unlist(seat);
        HF_ASSERT(seat->session->n_seats > 0);
        seat->session->n_seats--;
        seat->session = NULL;
    }
    hf_ordered_place_free(seat);
    seat->number = 0;
    seat->version = 0;
    seat->is_broken = false;
    seat->behind = 0;
    seat->must_push = false;
}

void hf_ordered_seat_broken(struct hf_ordered_seat *seat, struct hf_instant now)
{
    seat->state = HF_ORDERED_LEAVING;
    seat->left_at = now;
    seat->is_broken = true;
    seat->session->is_doubtful = true;
}

void hf_ordered_seat_drop(struct hf_ordered *store,
                          struct hf_ordered_seat *seat)
{
    if (seat->calls > 0 || seat->is_moving || seat->acquire.is_pending ||
        seat->confirm.is_pending || seat->release.is_pending) {
        return;
    }
    struct hf_ordered_name *name = seat->name;
    struct hf_ordered_seat **at = &name->seats;
    HF_ASSERT(store->n_seats > 0);
    while (*at != seat) {
        HF_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = seat->next;
    hf_ordered_seat_detach(seat);
    free(seat);
    store->n_seats--;
    hf_ordered_name_drop(store, name);
}

struct hf_wire_key hf_ordered_key(const struct hf_ordered_seat *seat)
{
    HF_ASSERT(seat->session != NULL);
    return (struct hf_wire_key){
        .name = {seat->name->bytes, seat->name->len},
        .session = seat->born,
        .owner = {seat->owner, seat->owner_len},
        .mode = seat->mode,
        .permits = seat->permits,
        .ttl_s = seat->born_ttl_s,
    };
}

/* ---- Calls --------------------------------------------------------------- */

struct hf_ordered_call *
hf_ordered_call_new(struct hf_ordered *store, hf_wire_done_fn *done,
                    struct hf_ordered_session *session,
                    struct hf_ordered_name *name, struct hf_ordered_seat *seat)
{
    struct hf_ordered_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        return NULL;
    }
    call->wire.done = done;
    call->store = store;
    call->session = session;
    call->name = name;
    call->seat = seat;
    if (session != NULL) {
        session->calls++;
    }
    if (name != NULL) {
        name->calls++;
    }
    if (seat != NULL) {
        seat->calls++;
    }
    call->next = store->calls;
    if (call->next != NULL) {
        call->next->before = call;
    }
    store->calls = call;
    return call;
}

void hf_ordered_call_free(struct hf_ordered_call *call)
{
    struct hf_ordered *store = call->store;
    HF_ASSERT(call->before != NULL ? call->before->next == call
                                   : store->calls == call);
    if (call->before != NULL) {
        call->before->next = call->next;
    } else {
        store->calls = call->next;
    }
    if (call->next != NULL) {
        call->next->before = call->before;
    }
    if (call->session != NULL) {
        HF_ASSERT(call->session->calls > 0);
        call->session->calls--;
    }
    if (call->name != NULL) {
        HF_ASSERT(call->name->calls > 0);
        call->name->calls--;
    }
    if (call->seat != NULL) {
        HF_ASSERT(call->seat->calls > 0);
        call->seat->calls--;
    }
    free(call);
}

void hf_ordered_call_fail(struct hf_ordered_call *call, struct hf_instant now)
{
    const struct hf_ordered *store = call->store;
    struct hf_wire_reply reply = {
        .outcome = HF_WIRE_UNSENT,
        .sent = now,
        .fault = store->standing.fault == HF_OK ? HF_UNAVAILABLE
                                                : store->standing.fault,
        .reason = store->standing.fault == HF_OK ? "no connection, or no memory"
                                                 : store->standing.reason,
    };
    call->wire.done(&call->wire, &reply, now);
}
