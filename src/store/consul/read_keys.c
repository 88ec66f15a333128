/* SPDX-License-Identifier: Apache-2.0 */
/* READING KEYS
 *
 * A READ of n keys is as many transactions as it needs: each has
 * HF_CONSUL_OPERATIONS_MAX operations at most, and follows the reply to the one
 * before. A key that was not found leaves its entry empty.
 *
 * Notes are collected in one text, which may move as it grows. So until all are
 * read an entry has the position of its note in place of a pointer to it. */
#include "store/consul/consul.h"

#include "base/assert.h"

#include <jansson.h>
#include <string.h>

/** Which of the keys it is. @return `n`: none. */
static size_t find_key(const struct hf_consul_job *job, const char *key)
{
    const char *at = job->keys.bytes;
    size_t i = 0;
    while (i < job->n && (i < job->at || strcmp(at, key) != 0)) {
        at += strlen(at) + 1;
        i++;
    }
    HF_ASSERT((size_t)(at - job->keys.bytes) <= job->keys.len);
    return i;
}

static bool take_key(struct hf_consul *consul, struct hf_consul_job *job,
                     const json_t *kv)
{
    const char *key = json_string_value(json_object_get(kv, "Key"));
    size_t i = key == NULL ? job->n : find_key(job, key);
    if (i == job->n) {
        return key != NULL; /* it only begins so */
    }
    struct hf_wire_entry *entry = &job->entries[i];
    *entry = (struct hf_wire_entry){.born_ttl_s = 1}; /* it is ours */
    if (!hf_consul_state_read(kv, consul->list.arena, entry)) {
        return true;
    }
    entry->entry.number = hf_consul_number(kv, "CreateIndex");
    entry->version = hf_consul_number(kv, "ModifyIndex");
    if (entry->note.len > 0) {
        size_t at = job->notes.len;
        hf_wire_text_add(&job->notes, entry->note.data, entry->note.len);
        entry->version = at; /* until all are read */
    }
    return entry->entry.number != 0 && !job->notes.has_failed;
}

bool hf_consul_read_take(struct hf_consul *consul, struct hf_consul_job *job,
                         const json_t *body, size_t body_len,
                         struct hf_instant now)
{
    const json_t *results = json_object_get(body, "Results");
    HF_ASSERT(job->kind == HF_CONSUL_READ && job->at < job->n);
    if (!hf_consul_list_begin(&consul->list, 0, body_len)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *kv = json_object_get(json_array_get(results, i), "KV");
        if (!take_key(consul, job, kv)) {
            return false;
        }
    }
    job->at += HF_CONSUL_OPERATIONS_MAX;
    job->reply.entries = job->entries;
    job->reply.n_entries = job->n;
    return job->at >= job->n || hf_consul_ask_read(consul, job, job->at, now);
}

void hf_consul_read_end(struct hf_consul_job *job)
{
    for (size_t i = 0; i < job->n; i++) {
        struct hf_wire_entry *entry = &job->entries[i];
        if (entry->note.len > 0) {
            HF_ASSERT(job->notes.has_failed ||
                      entry->version + entry->note.len <= job->notes.len);
            entry->note.data = job->notes.bytes + entry->version;
        }
    }
}
