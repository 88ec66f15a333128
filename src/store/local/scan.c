/* SPDX-License-Identifier: Apache-2.0 */
/* SCAN lists the names that are taken, or have a mark. It reads 256 records
 * each time it enters the gate, so that no request waits for a whole listing. A
 * name that is taken throughout the scan is listed; one that changes may be.
 *
 * Cost: one entry of the gate for each 256 records of the prefix, taken or not;
 * nothing is written. The names that are listed are on the heap until the
 * reply. */
#include "base/glob.h"
#include "store/local/local.h"

#include <stdlib.h>
#include <string.h>

/* 256 records are some 30 us inside the gate. */
#define RECORDS_AT_ONCE 256

struct scan {
    const struct hf_ask *ask;
    struct hf_instant now;
    bool has_memory;
    char *bytes; /* the names, without separators */
    size_t used, room;
    size_t *lengths;
    size_t count, capacity;
};

static bool make_room(struct scan *scan, size_t len)
{
    if (scan->room - scan->used < len) {
        size_t room = scan->room * 2 + len + 4096;
        char *bytes = realloc(scan->bytes, room);
        if (bytes == NULL) {
            return false;
        }
        scan->bytes = bytes;
        scan->room = room;
    }
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity * 2 + 256;
        size_t *lengths = realloc(scan->lengths, capacity * sizeof(*lengths));
        if (lengths == NULL) {
            return false;
        }
        scan->lengths = lengths;
        scan->capacity = capacity;
    }
    return true;
}

static bool txn(void *user, const void *name, size_t name_len,
                const struct hf_record *record)
{
    struct scan *scan = user;
    const struct hf_ask *ask = scan->ask;
    bool is_shown = hf_record_is_taken(record, scan->now) ||
                    hf_record_is_marked(record, scan->now);
    if (!is_shown ||
        (ask->name_len > 0 &&
         !hf_glob_match(ask->name, ask->name_len, name, name_len))) {
        return true;
    }
    scan->has_memory = make_room(scan, name_len);
    if (!scan->has_memory) {
        return false;
    }
    memcpy(scan->bytes + scan->used, name, name_len);
    scan->used += name_len;
    scan->lengths[scan->count++] = name_len;
    return true;
}

/* Inside the gate for some records only: other processes wait for it. */
static enum hf_status walk_some(struct hf_local *local,
                                struct hf_table_walk *walk, struct scan *scan,
                                char *reason, size_t size)
{
    struct hf_clock_sample now;
    enum hf_status fault = hf_gate_enter(&local->gate, reason, size);
    if (fault != HF_OK) {
        return fault;
    }
    hf_local_moment(local, &now);
    scan->now = now.instant;
    int number = hf_table_begin(&local->table);
    if (number == 0) {
        number = hf_table_walk(&local->table, walk, RECORDS_AT_ONCE, txn, scan);
    }
    hf_table_abort(&local->table);
    hf_gate_leave(&local->gate);
    return number == 0 ? HF_OK
                       : hf_table_text(&local->table, number, reason, size);
}

static struct hf_bytes *name_views(const struct scan *scan)
{
    struct hf_bytes *names = malloc((scan->count + 1) * sizeof(*names));
    size_t at = 0;
    for (size_t i = 0; names != NULL && i < scan->count; i++) {
        names[i] = (struct hf_bytes){scan->bytes + at, scan->lengths[i]};
        at += scan->lengths[i];
    }
    return names;
}

void hf_local_scan(struct hf_local *local, const struct hf_ask *ask,
                   struct hf_instant now)
{
    struct scan scan = {.ask = ask, .has_memory = true};
    struct hf_table_walk walk = {.prefix = local->prefix,
                                 .prefix_len = strlen(local->prefix)};
    struct hf_bytes *names = NULL;
    char reason[HF_REASON_MAX];
    enum hf_status fault = HF_OK;
    while (fault == HF_OK && !walk.is_over) {
        fault = walk_some(local, &walk, &scan, reason, sizeof(reason));
    }
    if (fault == HF_OK) {
        names = scan.has_memory ? name_views(&scan) : NULL;
    }
    if (fault != HF_OK) {
        hf_local_answer_fault(local, ask, now, fault, reason);
    } else if (names == NULL) {
        hf_local_answer_fault(local, ask, now, HF_NO_MEMORY, "out of memory");
    } else {
        struct hf_answer answer = {
            .cookie = ask->cookie,
            .verb = ask->verb,
            .node = ask->node,
            .verdict = HF_VERDICT_OK,
            .sent = now,
            .names = names,
            .n_names = scan.count,
        };
        local->env.answer(local->env.client, &answer);
    }
    free(names);
    free(scan.bytes);
    free(scan.lengths);
}
