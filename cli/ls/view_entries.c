/* SPDX-License-Identifier: Apache-2.0 */
/* A semaphore of n permits is its own name, shared by its holders, and n names
 * of slots: it is read with one request for each. Slots are read after the
 * name, which tells how many there are; a holder that comes or goes in between
 * may be missing or be there twice.
 *
 * The list grows by doubling. If memory runs out nothing is shown: half a
 * queue would look like a short one. */
#include "ls/view_entries.h"

#include "format.h"
#include "timefmt.h"

#include <stdlib.h>
#include <string.h>

/* '#', the digits of any unsigned, a NUL. */
#define SLOT_ROOM 12

void cli_entries_init(struct cli_entries *entries)
{
    *entries = (struct cli_entries){.list = NULL};
}

void cli_entries_fini(struct cli_entries *entries)
{
    free(entries->list);
    cli_entries_init(entries);
}

/* ---- Reading the store ------------------------------------------------- */

static bool reserve(struct cli_entries *entries)
{
    if (entries->count < entries->capacity) {
        return true;
    }
    size_t capacity = entries->capacity == 0 ? 16 : 2 * entries->capacity;
    struct cli_entry *list = realloc(entries->list, capacity * sizeof(*list));
    if (list == NULL) {
        return false;
    }
    entries->list = list;
    entries->capacity = capacity;
    return true;
}

/* The library reports waiters node by node and in order, but not their number:
 * the entry before decides whether the count goes on. */
static uint32_t count_ahead(const struct cli_entries *entries,
                            const struct cli_queue_entry *at)
{
    const struct cli_entry *last =
        entries->count > 0 ? &entries->list[entries->count - 1] : NULL;
    return last != NULL && last->at.waits && last->slot == entries->slot &&
                   last->at.node == at->node
               ? last->ahead + 1
               : 0;
}

static bool on_entry(void *user, const struct hf_queue_entry *from)
{
    struct cli_entries *entries = user;
    struct cli_entry entry = {.slot = entries->slot};
    const struct cli_queue_entry *at = &entry.at;
    if (!reserve(entries)) {
        entries->is_short = true;
        return false;
    }
    cli_queue_entry_read(&entry.at, from);
    entry.ahead = at->waits ? count_ahead(entries, at) : 0;
    entries->list[entries->count++] = entry;
    if (entries->slot == CLI_NO_SLOT && !at->waits &&
        at->permits > entries->permits) {
        entries->permits = at->permits;
    }
    return true;
}

static enum hf_status look_at(struct cli_entries *entries,
                              struct hf_client *client, const char *name,
                              size_t name_len, struct hf_error *error)
{
    enum hf_status status =
        hf_client_queue(client, name, name_len, on_entry, entries, error);
    if (status == HF_OK && entries->is_short) {
        cli_format_error(error, HF_NO_MEMORY);
        return HF_NO_MEMORY;
    }
    return status;
}

enum hf_status cli_entries_look(struct cli_entries *entries,
                                struct hf_client *client, const void *name,
                                size_t name_len, struct hf_error *error)
{
    char text[HF_NAME_MAX + SLOT_ROOM];
    struct cli_out slot;
    entries->slot = CLI_NO_SLOT;
    enum hf_status status = look_at(entries, client, name, name_len, error);
    for (uint32_t i = 0; status == HF_OK && i < entries->permits; i++) {
        entries->slot = (int)i;
        cli_out_init_text(&slot, text, sizeof(text));
        cli_out_bytes(&slot, name, name_len);
        cli_out_text(&slot, "#");
        cli_out_int(&slot, i);
        status = look_at(entries, client, text, slot.len, error);
    }
    return status;
}

/* ---- Selection --------------------------------------------------------- */

int cli_entries_queue(const struct cli_entries *entries, int node)
{
    const struct cli_entry *longest = NULL;
    for (size_t i = 0; i < entries->count; i++) {
        const struct cli_entry *entry = &entries->list[i];
        if (entry->at.node == node && entry->at.waits &&
            entry->slot != CLI_NO_SLOT &&
            (longest == NULL || entry->ahead > longest->ahead)) {
            longest = entry;
        }
    }
    return longest == NULL ? CLI_NO_SLOT : longest->slot;
}

bool cli_entry_is_shown(const struct cli_entries *entries,
                        const struct cli_entry *entry, int queue)
{
    if (entry->at.waits) {
        return entry->slot == CLI_NO_SLOT || entry->slot == queue;
    }
    return entries->permits == 0 || entry->slot != CLI_NO_SLOT;
}

/* ---- Nodes that agree -------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct cli_entry *a = *(const struct cli_entry *const *)left;
    const struct cli_entry *b = *(const struct cli_entry *const *)right;
    int64_t order = (int64_t)a->slot - b->slot;
    order = order != 0 ? order : (int64_t)a->at.waits - b->at.waits;
    order = order != 0 ? order : (int64_t)a->ahead - b->ahead;
    return order != 0 ? (order > 0) - (order < 0)
                      : strcmp(a->at.holder.owner, b->at.holder.owner);
}

/* Sorted, so that two nodes with the same entries in another order agree. */
static size_t collect(const struct cli_entries *entries, int node,
                      const struct cli_entry **out)
{
    size_t count = 0;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->list[i].at.node == node) {
            out[count++] = &entries->list[i];
        }
    }
    qsort(out, count, sizeof(struct cli_entry *), compare);
    return count;
}

bool cli_entries_agree(const struct cli_entries *entries, int a, int b)
{
    const struct cli_entry **sorted =
        calloc(entries->count + 1, sizeof(struct cli_entry *));
    if (sorted == NULL) {
        return false; /* each for itself is right, too */
    }
    size_t n_a = collect(entries, a, sorted);
    size_t n_b = collect(entries, b, sorted + n_a);
    bool agree = n_a == n_b;
    for (size_t i = 0; agree && i < n_a; i++) {
        const struct cli_entry *left = sorted[i];
        const struct cli_entry *right = sorted[n_a + i];
        agree = compare(&left, &right) == 0 &&
                left->at.holder.kind == right->at.holder.kind;
    }
    free(sorted);
    return agree;
}

/* ---- Text -------------------------------------------------------------- */

static void put_label(struct cli_out *out, const struct cli_holder *holder)
{
    if (holder->label[0] != '\0') {
        cli_out_text(out, " (");
        (void)cli_out_shown(out, holder->label, strlen(holder->label));
        cli_out_text(out, ")");
    }
}

static void put_mode(struct cli_out *out, const struct cli_queue_entry *at)
{
    if (at->permits > 0) {
        cli_out_text(out, "a permit of ");
        cli_out_int(out, at->permits);
        return;
    }
    cli_out_text(out, at->mode == HF_SHARED ? "shared" : "exclusive");
}

void cli_entry_text(struct cli_out *out, const struct cli_entry *entry)
{
    const struct cli_holder *holder = &entry->at.holder;
    if (holder->host[0] == '\0') {
        cli_out_text(out, "another kind of client");
    } else {
        (void)cli_out_shown(out, holder->host, strlen(holder->host));
        cli_out_text(out, " pid ");
        cli_out_int(out, holder->pid);
    }
    if (!entry->at.waits) {
        if (holder->since_s > 0) {
            cli_out_text(out, " since ");
            cli_time_text(out, holder->since_s);
        }
        put_label(out, holder);
        cli_out_text(out, holder->kind == HF_HOLDER_ENDED ? ", ended" : "");
        cli_format_frees(out, holder);
        return;
    }
    if (entry->slot == CLI_NO_SLOT) { /* of a slot it is clear */
        cli_out_text(out, ", ");
        put_mode(out, &entry->at);
        cli_out_text(out, ",");
    }
    cli_out_text(out, " waiting since ");
    cli_time_text(out, entry->at.since_ms / 1000);
    put_label(out, holder);
}

/* ---- JSON -------------------------------------------------------------- */

static void entry_json(struct cli_out *out, const struct cli_entry *entry)
{
    const struct cli_queue_entry *at = &entry->at;
    cli_out_json_open(out);
    cli_format_identity_json(out, &at->holder);
    cli_out_json_text(out, "mode",
                      at->mode == HF_SHARED ? "shared" : "exclusive");
    if (at->permits > 0) {
        cli_out_json_int(out, "permits", at->permits);
    }
    if (at->waits) {
        cli_out_json_int(out, "waiting_since_ms", at->since_ms);
        cli_out_json_int(out, "ahead", entry->ahead);
    }
    cli_format_remaining_json(out, at->holder.remaining_ms);
    cli_out_text(out, "}");
}

static void list_json(struct cli_out *out, const struct cli_entries *entries,
                      int node, int slot, bool waits)
{
    bool is_first = true;
    cli_out_text(out, "[");
    for (size_t i = 0; i < entries->count; i++) {
        const struct cli_entry *entry = &entries->list[i];
        if (entry->at.node == node && entry->slot == slot &&
            entry->at.waits == waits) {
            cli_out_text(out, is_first ? "" : ",");
            entry_json(out, entry);
            is_first = false;
        }
    }
    cli_out_text(out, "]");
    out->has_one = true; /* of the object around it */
}

void cli_entries_json(struct cli_out *out, const struct cli_entries *entries,
                      int node, int slot)
{
    cli_out_json_key(out, "holders");
    list_json(out, entries, node, slot, false);
    cli_out_json_key(out, "queue");
    list_json(out, entries, node, slot, true);
}
