/* SPDX-License-Identifier: Apache-2.0 */
#include "view_name.h"

#include "show.h"
#include "store.h"
#include "view_places.h"

#include <string.h>

/* Where what a node says begins, and the number of one who waits ends. */
#define AT_NODE 26
#define AT_PLACE 9

struct shown {
    struct cli_out *out;
    const char *name;
    struct hf_client *client;
    struct cli_info info;
    struct cli_places places;
};

static void put_fence(struct cli_out *out, uint64_t fence)
{
    if (fence > 0) {
        cli_out_text(out, ", fence ");
        cli_out_fence(out, fence);
    }
}

/* ---- For people -------------------------------------------------------- */

/* As the rows of a semaphore's slots count its waiters, see view.c. */
static uint32_t count_waiting(const struct cli_info *info)
{
    const struct cli_holder *holder = &info->holder;
    return holder->permits > 0 && holder->sharers > holder->permits
               ? info->waiting + holder->sharers - holder->permits
               : info->waiting;
}

static void put_whole(const struct shown *shown)
{
    struct cli_out *out = shown->out;
    const struct cli_info *info = &shown->info;
    uint32_t waiting = count_waiting(info);
    (void)cli_out_shown(out, shown->name, strlen(shown->name));
    cli_out_text(out, ": ");
    if (info->split) {
        cli_out_text(out, "split: held at some nodes, by nobody at a majority");
    } else {
        cli_show_holder(out, &info->holder);
    }
    put_fence(out, info->holder.fence);
    if (waiting > 0) {
        cli_out_text(out, ", ");
        cli_out_int(out, waiting);
        cli_out_text(out, " waiting");
    }
    cli_out_text(out, "\n");
}

/* What is known of a node that did not say who holds the name. */
static void put_silent(struct cli_out *out, const struct cli_node *node)
{
    cli_out_text(out, cli_show_node_state(node->health));
    if (node->reason[0] != '\0') {
        cli_out_text(out, ": ");
        cli_out_plain(out, node->reason);
    }
}

/* "gpu#0 ", or the number in the queue, in a column. */
static void put_place_head(const struct shown *shown,
                           const struct cli_place *place)
{
    char text[32];
    struct cli_out head;
    cli_out_init_text(&head, text, sizeof(text));
    if (place->at.waits) {
        cli_out_int(&head, (int64_t)place->ahead + 1);
        cli_out_text(&head, ".");
    } else if (place->slot != CLI_NO_SLOT) {
        cli_out_text(&head, "#");
        cli_out_int(&head, place->slot);
    } else {
        cli_out_text(&head, "-");
    }
    cli_out_pad(shown->out, head.len < AT_PLACE ? AT_PLACE - head.len : 1);
    cli_out_bytes(shown->out, text, head.len);
    cli_out_text(shown->out, " ");
}

static void put_some(const struct shown *shown, int node, bool waits)
{
    const struct cli_places *places = &shown->places;
    int queue = cli_places_queue(places, node);
    for (size_t i = 0; i < places->count; i++) {
        const struct cli_place *place = &places->list[i];
        if (place->at.node == node && place->at.waits == waits &&
            cli_place_is_shown(places, place, queue)) {
            put_place_head(shown, place);
            cli_place_text(shown->out, place);
            cli_out_text(shown->out, "\n");
        }
    }
}

/* An exclusive holder stands on the node's own line. */
static void put_places(const struct shown *shown, int node)
{
    if (shown->info.nodes[node].holder.kind == HF_HOLDER_SHARED) {
        put_some(shown, node, false);
    }
    put_some(shown, node, true);
}

static void put_node(const struct shown *shown, int idx)
{
    struct cli_out *out = shown->out;
    struct cli_node node;
    cli_node(shown->client, idx, &node);
    cli_out_text(out, "  ");
    size_t used = cli_out_shown(out, node.address, strlen(node.address));
    cli_out_pad(out, used < AT_NODE ? AT_NODE - used : 1);
    if (shown->info.nodes[idx].answered) {
        cli_show_holder(out, &shown->info.nodes[idx].holder);
        put_fence(out, shown->info.nodes[idx].holder.fence);
        cli_out_text(out, node.health == HF_NODE_QUARANTINED
                              ? " (quarantined: does not count)"
                              : "");
    } else {
        put_silent(out, &node);
    }
    cli_out_text(out, "\n");
    put_places(shown, idx);
}

/* ---- For programs ------------------------------------------------------ */

static void node_slots_json(const struct shown *shown, int node)
{
    struct cli_out *out = shown->out;
    cli_out_json_key(out, "slots");
    for (uint32_t i = 0; i < shown->places.permits; i++) {
        cli_out_text(out, i == 0 ? "[" : ",");
        cli_out_json_open(out);
        cli_out_json_int(out, "slot", i);
        cli_places_json(out, &shown->places, node, (int)i);
        cli_out_text(out, "}");
    }
    cli_out_text(out, "]");
}

static void node_json(const struct shown *shown, int idx)
{
    struct cli_out *out = shown->out;
    struct cli_node node;
    cli_node(shown->client, idx, &node);
    cli_out_json_open(out);
    cli_out_json_text(out, "address", node.address);
    cli_out_json_text(out, "node", cli_show_node_state(node.health));
    if (node.reason[0] != '\0') {
        cli_out_json_text(out, "reason", node.reason);
    }
    cli_out_json_bool(out, "answered", shown->info.nodes[idx].answered);
    if (shown->info.nodes[idx].answered) {
        cli_show_holder_json(out, &shown->info.nodes[idx].holder, false);
        cli_out_json_int(out, "waiting", shown->info.nodes[idx].waiting);
        cli_places_json(out, &shown->places, idx, CLI_NO_SLOT);
        if (shown->places.permits > 0) {
            node_slots_json(shown, idx);
        }
    }
    cli_out_text(out, "}");
}

static void put_json(const struct shown *shown)
{
    struct cli_out *out = shown->out;
    cli_out_json_open(out);
    cli_out_json_text(out, "name", shown->name);
    cli_show_holder_json(out, &shown->info.holder, shown->info.split);
    cli_out_json_int(out, "waiting", count_waiting(&shown->info));
    cli_out_json_key(out, "nodes");
    for (int i = 0; i < shown->info.n_nodes; i++) {
        cli_out_text(out, i == 0 ? "[" : ",");
        node_json(shown, i);
    }
    cli_out_text(out, "]");
    cli_out_json_close(out);
}

int cli_view_name(struct cli_out *out, struct hf_client *client,
                  const char *name, bool is_json)
{
    static struct shown shown; /* some kilobytes of holders */
    struct hf_error error = {.text = ""};
    shown = (struct shown){.out = out, .name = name, .client = client};
    cli_places_init(&shown.places);
    enum hf_status status =
        cli_inspect(client, name, strlen(name), &shown.info, &error);
    if (status == HF_OK) {
        status =
            cli_places_look(&shown.places, client, name, strlen(name), &error);
    }
    if (status == HF_OK && is_json) {
        put_json(&shown);
    } else if (status == HF_OK) {
        put_whole(&shown);
        for (int i = 0; i < shown.info.n_nodes; i++) {
            put_node(&shown, i);
        }
    }
    cli_places_fini(&shown.places);
    return status == HF_OK ? 0 : cli_store_fail(status, name, &error);
}
