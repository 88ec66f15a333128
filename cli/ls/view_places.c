/* SPDX-License-Identifier: Apache-2.0 */
#include "ls/view_places.h"

#include "format.h"
#include "timefmt.h"

#include <stdlib.h>
#include <string.h>

/* '#', the digits of any unsigned, a NUL. */
#define SLOT_ROOM 12

void cli_places_init(struct cli_places *places)
{
    *places = (struct cli_places){.list = NULL};
}

void cli_places_fini(struct cli_places *places)
{
    free(places->list);
    cli_places_init(places);
}

/* ---- Reading the store ------------------------------------------------- */

static bool reserve(struct cli_places *places)
{
    if (places->count < places->capacity) {
        return true;
    }
    size_t capacity = places->capacity == 0 ? 16 : 2 * places->capacity;
    struct cli_place *list = realloc(places->list, capacity * sizeof(*list));
    if (list == NULL) {
        return false;
    }
    places->list = list;
    places->capacity = capacity;
    return true;
}

/* Nodes come one after the other, and each one's waiters in order. */
static uint32_t count_ahead(const struct cli_places *places,
                            const struct cli_queue_entry *at)
{
    const struct cli_place *last =
        places->count > 0 ? &places->list[places->count - 1] : NULL;
    return last != NULL && last->at.waits && last->slot == places->slot &&
                   last->at.node == at->node
               ? last->ahead + 1
               : 0;
}

static bool on_place(void *user, const struct hf_queue_entry *entry)
{
    struct cli_places *places = user;
    struct cli_place place = {.slot = places->slot};
    const struct cli_queue_entry *at = &place.at;
    if (!reserve(places)) {
        places->is_short = true;
        return false;
    }
    cli_queue_entry_read(&place.at, entry);
    place.ahead = at->waits ? count_ahead(places, at) : 0;
    places->list[places->count++] = place;
    if (places->slot == CLI_NO_SLOT && !at->waits &&
        at->permits > places->permits) {
        places->permits = at->permits;
    }
    return true;
}

static enum hf_status look_at(struct cli_places *places,
                              struct hf_client *client, const char *name,
                              size_t name_len, struct hf_error *error)
{
    enum hf_status status =
        hf_client_queue(client, name, name_len, on_place, places, error);
    if (status == HF_OK && places->is_short) {
        cli_format_error(error, HF_NO_MEMORY);
        return HF_NO_MEMORY;
    }
    return status;
}

enum hf_status cli_places_look(struct cli_places *places,
                               struct hf_client *client, const void *name,
                               size_t name_len, struct hf_error *error)
{
    char text[HF_NAME_MAX + SLOT_ROOM];
    struct cli_out slot;
    places->slot = CLI_NO_SLOT;
    enum hf_status status = look_at(places, client, name, name_len, error);
    for (uint32_t i = 0; status == HF_OK && i < places->permits; i++) {
        places->slot = (int)i;
        cli_out_init_text(&slot, text, sizeof(text));
        cli_out_bytes(&slot, name, name_len);
        cli_out_text(&slot, "#");
        cli_out_int(&slot, i);
        status = look_at(places, client, text, slot.len, error);
    }
    return status;
}

/* ---- Selection --------------------------------------------------------- */

int cli_places_queue(const struct cli_places *places, int node)
{
    const struct cli_place *longest = NULL;
    for (size_t i = 0; i < places->count; i++) {
        const struct cli_place *place = &places->list[i];
        if (place->at.node == node && place->at.waits &&
            place->slot != CLI_NO_SLOT &&
            (longest == NULL || place->ahead > longest->ahead)) {
            longest = place;
        }
    }
    return longest == NULL ? CLI_NO_SLOT : longest->slot;
}

bool cli_place_is_shown(const struct cli_places *places,
                        const struct cli_place *place, int queue)
{
    if (place->at.waits) {
        return place->slot == CLI_NO_SLOT || place->slot == queue;
    }
    return places->permits == 0 || place->slot != CLI_NO_SLOT;
}

/* ---- Nodes that agree -------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct cli_place *a = *(const struct cli_place *const *)left;
    const struct cli_place *b = *(const struct cli_place *const *)right;
    int64_t order = (int64_t)a->slot - b->slot;
    order = order != 0 ? order : (int64_t)a->at.waits - b->at.waits;
    order = order != 0 ? order : (int64_t)a->ahead - b->ahead;
    return order != 0 ? (order > 0) - (order < 0)
                      : strcmp(a->at.who.owner, b->at.who.owner);
}

/* The places of a node, sorted. @return how many. */
static size_t collect(const struct cli_places *places, int node,
                      const struct cli_place **out)
{
    size_t count = 0;
    for (size_t i = 0; i < places->count; i++) {
        if (places->list[i].at.node == node) {
            out[count++] = &places->list[i];
        }
    }
    qsort(out, count, sizeof(struct cli_place *), compare);
    return count;
}

bool cli_places_agree(const struct cli_places *places, int a, int b)
{
    const struct cli_place **sorted =
        calloc(places->count + 1, sizeof(struct cli_place *));
    if (sorted == NULL) {
        return false; /* each for itself is right, too */
    }
    size_t n_a = collect(places, a, sorted);
    size_t n_b = collect(places, b, sorted + n_a);
    bool agree = n_a == n_b;
    for (size_t i = 0; agree && i < n_a; i++) {
        const struct cli_place *left = sorted[i];
        const struct cli_place *right = sorted[n_a + i];
        agree = compare(&left, &right) == 0 &&
                left->at.who.kind == right->at.who.kind;
    }
    free(sorted);
    return agree;
}

/* ---- Text -------------------------------------------------------------- */

static void put_label(struct cli_out *out, const struct cli_holder *who)
{
    if (who->label[0] != '\0') {
        cli_out_text(out, " (");
        (void)cli_out_shown(out, who->label, strlen(who->label));
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

void cli_place_text(struct cli_out *out, const struct cli_place *place)
{
    const struct cli_holder *who = &place->at.who;
    if (who->host[0] == '\0') {
        cli_out_text(out, "another kind of client");
    } else {
        (void)cli_out_shown(out, who->host, strlen(who->host));
        cli_out_text(out, " pid ");
        cli_out_int(out, who->pid);
    }
    if (!place->at.waits) {
        if (who->since_s > 0) {
            cli_out_text(out, " since ");
            cli_time_text(out, who->since_s);
        }
        put_label(out, who);
        cli_out_text(out, who->kind == HF_HOLDER_ENDED ? ", ended" : "");
        cli_format_frees(out, who);
        return;
    }
    if (place->slot == CLI_NO_SLOT) { /* of a slot it is clear */
        cli_out_text(out, ", ");
        put_mode(out, &place->at);
        cli_out_text(out, ",");
    }
    cli_out_text(out, " waiting since ");
    cli_time_text(out, place->at.since_ms / 1000);
    put_label(out, who);
}

/* ---- JSON -------------------------------------------------------------- */

static void place_json(struct cli_out *out, const struct cli_place *place)
{
    const struct cli_queue_entry *at = &place->at;
    cli_out_json_open(out);
    cli_format_identity_json(out, &at->who);
    cli_out_json_text(out, "mode",
                      at->mode == HF_SHARED ? "shared" : "exclusive");
    if (at->permits > 0) {
        cli_out_json_int(out, "permits", at->permits);
    }
    if (at->waits) {
        cli_out_json_int(out, "waiting_since_ms", at->since_ms);
        cli_out_json_int(out, "ahead", place->ahead);
    }
    cli_format_remaining_json(out, at->who.remaining_ms);
    cli_out_text(out, "}");
}

static void list_json(struct cli_out *out, const struct cli_places *places,
                      int node, int slot, bool waits)
{
    bool is_first = true;
    cli_out_text(out, "[");
    for (size_t i = 0; i < places->count; i++) {
        const struct cli_place *place = &places->list[i];
        if (place->at.node == node && place->slot == slot &&
            place->at.waits == waits) {
            cli_out_text(out, is_first ? "" : ",");
            place_json(out, place);
            is_first = false;
        }
    }
    cli_out_text(out, "]");
    out->has_one = true; /* of the object around it */
}

void cli_places_json(struct cli_out *out, const struct cli_places *places,
                     int node, int slot)
{
    cli_out_json_key(out, "holders");
    list_json(out, places, node, slot, false);
    cli_out_json_key(out, "queue");
    list_json(out, places, node, slot, true);
}
