/* SPDX-License-Identifier: Apache-2.0 */
/* KEYS THAT AN UNDO MAY STILL DELETE
 *
 *   create ──▶ undo, whose reply is lost
 *       ──▶ [connected again] create: it exists and is the first ──▶ held?
 *       ──▶ undone
 *
 * An UNDO names the version that it deletes, so it does nothing to a key that
 * was created anew. But as long as the same key is there, one that was lost may
 * be executed yet, and must not be taken for an entry that holds. Such a key is
 * undone once more, on the connection at hand, before anything else.
 *
 * One that was not sent leaves its key in doubt, too: an earlier one may have
 * been.
 *
 * Cost: one block on the heap for each undo, until its reply; if that is lost,
 * it stays until the store closes, or costs one undo more. They are searched
 * one by one, when a create finds its key there. */
#include "store/consul/consul.h"

#include <stdlib.h>
#include <string.h>

static bool is_key(const struct hf_consul_doubt *doubt,
                   const struct hf_wire_text *key)
{
    return doubt->len == key->len &&
           memcmp(doubt->key, key->bytes, key->len) == 0;
}

bool hf_consul_doubt_add(struct hf_consul *consul,
                         const struct hf_consul_job *job)
{
    const struct hf_wire_text *key = &job->keys;
    if (hf_consul_doubt_has(consul, job)) {
        return true;
    }
    struct hf_consul_doubt *doubt = malloc(sizeof(*doubt) + key->len);
    if (doubt == NULL) {
        return false;
    }
    doubt->len = key->len;
    memcpy(doubt->key, key->bytes, key->len);
    doubt->next = consul->doubts;
    consul->doubts = doubt;
    return true;
}

void hf_consul_doubt_remove(struct hf_consul *consul,
                            const struct hf_consul_job *job)
{
    struct hf_consul_doubt **at = &consul->doubts;
    while (*at != NULL && !is_key(*at, &job->keys)) {
        at = &(*at)->next;
    }
    struct hf_consul_doubt *doubt = *at;
    if (doubt != NULL) {
        *at = doubt->next;
        free(doubt);
    }
}

bool hf_consul_doubt_has(const struct hf_consul *consul,
                         const struct hf_consul_job *job)
{
    const struct hf_consul_doubt *doubt = consul->doubts;
    while (doubt != NULL && !is_key(doubt, &job->keys)) {
        doubt = doubt->next;
    }
    return doubt != NULL;
}

void hf_consul_doubts_free(struct hf_consul *consul)
{
    while (consul->doubts != NULL) {
        struct hf_consul_doubt *doubt = consul->doubts;
        consul->doubts = doubt->next;
        free(doubt);
    }
}
