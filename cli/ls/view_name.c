/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that agree share one line, so a healthy store of five nodes is as
 * short as one. They are compared by what decides (owner, mode, queue), not by
 * the ends of leases, which always differ by some milliseconds.
 *
 * JSON has every node, also those that agree: a program compares them itself.
 */
#include "ls/view_name.h"

#include "format.h"
#include "ls/view_entries.h"
#include "store.h"
#include "text_size.h"
#include "width.h"

#include <string.h>
#include <unistd.h>

/* Columns of a node's address, after the indentation; its state begins behind
 * them. The longest IPv4 address with port has 21, "nodes 1, 3, 5 of 5" 18. */
#define AT_NODE 26

/* Columns up to the end of a waiter's number, or of a permit's: the indentation
 * of a folded line, and 5 for "9999.". A longer one moves its line. */
#define AT_ENTRY 9

/* Columns by which a folded line is indented: 2 more than the line that it
 * continues. */
#define INDENT 4

/* Room for a name of control characters, and a sentence. */
#define LINE_ROOM (4 * HF_NAME_MAX + 4096)

struct shown {
    struct cli_out *out;
    const char *name;
    struct hf_client *client;
    size_t width;
    struct cli_info info;
    struct cli_node nodes[HF_NODES_MAX];
    struct cli_entries entries;
    struct cli_out line; /* under way, in `text` */
    char text[LINE_ROOM];
};

static void put_fence(struct cli_out *out, uint64_t fence)
{
    if (fence > 0) {
        cli_out_text(out, ", fence ");
        cli_out_uint(out, fence);
    }
}

/* ---- For people -------------------------------------------------------- */

static struct cli_out *begin_line(struct shown *shown)
{
    cli_out_init_text(&shown->line, shown->text, sizeof(shown->text));
    return &shown->line;
}

/* `indent`: of the folded rest of the line. */
static void end_line(struct shown *shown, size_t indent)
{
    cli_width_fold(shown->out, shown->text, indent, shown->width);
    cli_out_text(shown->out, "\n");
}

/* As the rows of a semaphore's slots count its waiters, see view.c. */
static uint32_t count_waiting(const struct cli_info *info)
{
    const struct cli_holder *holder = &info->holder;
    return holder->permits > 0 && holder->sharers > holder->permits
               ? info->waiting + holder->sharers - holder->permits
               : info->waiting;
}

static void put_whole(struct shown *shown)
{
    struct cli_out *out = begin_line(shown);
    const struct cli_info *info = &shown->info;
    uint32_t waiting = count_waiting(info);
    (void)cli_out_shown(out, shown->name, strlen(shown->name));
    cli_out_text(out, ": ");
    if (info->split) {
        cli_out_text(out,
                     "split: held at some nodes, by no owner at a majority");
    } else {
        cli_format_holder(out, &info->holder);
    }
    put_fence(out, info->holder.fence);
    if (waiting > 0) {
        cli_out_text(out, ", ");
        cli_out_int(out, waiting);
        cli_out_text(out, " waiting");
    }
    end_line(shown, INDENT);
}

static void put_silent(struct cli_out *out, const struct cli_node *node)
{
    cli_out_text(out, cli_format_node_state(node->health));
    if (node->reason[0] != '\0') {
        cli_out_text(out, ": ");
        cli_out_plain(out, node->reason);
    }
}

/* "gpu#0 ", or the number in the queue, in a column. */
static void put_entry_head(struct cli_out *out, const struct cli_entry *entry)
{
    char text[HF_TEXT_WORD];
    struct cli_out head;
    cli_out_init_text(&head, text, sizeof(text));
    if (entry->at.waits) {
        cli_out_int(&head, (int64_t)entry->ahead + 1);
        cli_out_text(&head, ".");
    } else if (entry->slot != CLI_NO_SLOT) {
        cli_out_text(&head, "#");
        cli_out_int(&head, entry->slot);
    } else {
        cli_out_text(&head, "-");
    }
    cli_out_pad(out, head.len < AT_ENTRY ? AT_ENTRY - head.len : 1);
    cli_out_bytes(out, text, head.len);
    cli_out_text(out, " ");
}

static void put_some(struct shown *shown, int node, bool waits)
{
    const struct cli_entries *entries = &shown->entries;
    int queue = cli_entries_queue(entries, node);
    for (size_t i = 0; i < entries->count; i++) {
        const struct cli_entry *entry = &entries->list[i];
        if (entry->at.node == node && entry->at.waits == waits &&
            cli_entry_is_shown(entries, entry, queue)) {
            struct cli_out *out = begin_line(shown);
            put_entry_head(out, entry);
            cli_entry_text(out, entry);
            end_line(shown, AT_ENTRY + 1);
        }
    }
}

/* An exclusive holder is on the node's own line. */
static void put_entries(struct shown *shown, int node)
{
    if (shown->info.nodes[node].holder.kind == HF_HOLDER_SHARED) {
        put_some(shown, node, false);
    }
    put_some(shown, node, true);
}

/* ---- Nodes that agree, in one line ------------------------------------- */

/* Nodes may agree though their fences differ: a group has another fence at each
 * node, and after a release some nodes may have an older one. */
static bool is_same_holder(const struct cli_holder *a,
                           const struct cli_holder *b)
{
    if (a->kind != b->kind || strcmp(a->owner, b->owner) != 0 ||
        a->sharers != b->sharers || a->permits != b->permits) {
        return false;
    }
    return a->fence == b->fence || a->kind == HF_HOLDER_NONE ||
           a->kind == HF_HOLDER_SHARED;
}

static bool nodes_agree(const struct shown *shown, int a, int b)
{
    const struct cli_node *one = &shown->nodes[a];
    const struct cli_node *other = &shown->nodes[b];
    bool has_answered = shown->info.nodes[a].answered;
    if (has_answered != shown->info.nodes[b].answered) {
        return false;
    }
    if (!has_answered) {
        return one->health == other->health &&
               strcmp(one->reason, other->reason) == 0;
    }
    return (one->health == HF_NODE_QUARANTINED) ==
               (other->health == HF_NODE_QUARANTINED) &&
           is_same_holder(&shown->info.nodes[a].holder,
                          &shown->info.nodes[b].holder) &&
           cli_entries_agree(&shown->entries, a, b);
}

/* As bits. 0: an earlier node agrees with `idx`, whose line has said it. */
static unsigned group_of(const struct shown *shown, int idx)
{
    unsigned group = 1U << idx;
    for (int i = 0; i < shown->info.n_nodes; i++) {
        if (i != idx && nodes_agree(shown, i, idx)) {
            if (i < idx) {
                return 0;
            }
            group |= 1U << i;
        }
    }
    return group;
}

/* "nodes 1-3, 5" */
static void put_ranges(struct cli_out *out, unsigned group, int first,
                       int n_nodes)
{
    const char *between = "nodes ";
    for (int i = first; i < n_nodes; i++) {
        if ((group >> i & 1) == 0) {
            continue;
        }
        int end = i;
        while ((group >> (end + 1) & 1) != 0) {
            end++;
        }
        cli_out_text(out, between);
        cli_out_int(out, i + 1);
        cli_out_text(out, end > i + 1 ? "-" : end > i ? ", " : "");
        if (end > i) {
            cli_out_int(out, end + 1);
        }
        between = ", ";
        i = end;
    }
}

/* "nodes 1-3, 5 of 5", counted as the URL names them; of one its address. */
static void put_group(struct cli_out *out, const struct shown *shown,
                      unsigned group, int idx)
{
    int n_nodes = shown->info.n_nodes;
    if (group == 1U << idx) {
        const char *address = shown->nodes[idx].address;
        (void)cli_out_shown(out, address, strlen(address));
        return;
    }
    if (group == (1U << n_nodes) - 1) {
        cli_out_text(out, "all ");
        cli_out_int(out, n_nodes);
        cli_out_text(out, " nodes");
        return;
    }
    put_ranges(out, group, idx, n_nodes);
    cli_out_text(out, " of ");
    cli_out_int(out, n_nodes);
}

static void put_nodes(struct shown *shown, unsigned group, int idx)
{
    const struct cli_holder *holder = &shown->info.nodes[idx].holder;
    struct cli_out *out = begin_line(shown);
    cli_out_text(out, "  ");
    put_group(out, shown, group, idx);
    size_t used = cli_width_of(shown->text) - 2;
    cli_out_pad(out, used < AT_NODE ? AT_NODE - used : 1);
    if (shown->info.nodes[idx].answered) {
        cli_format_holder(out, holder);
        put_fence(out, holder->fence);
        cli_out_text(out, shown->nodes[idx].health == HF_NODE_QUARANTINED
                              ? " (quarantined: does not count)"
                              : "");
    } else {
        put_silent(out, &shown->nodes[idx]);
    }
    end_line(shown, INDENT);
    put_entries(shown, idx);
}

static void put_all(struct shown *shown)
{
    put_whole(shown);
    for (int i = 0; i < shown->info.n_nodes; i++) {
        unsigned group = group_of(shown, i);
        if (group != 0) {
            put_nodes(shown, group, i);
        }
    }
}

/* ---- For programs ------------------------------------------------------ */

static void node_slots_json(const struct shown *shown, int node)
{
    struct cli_out *out = shown->out;
    cli_out_json_key(out, "slots");
    for (uint32_t i = 0; i < shown->entries.permits; i++) {
        cli_out_text(out, i == 0 ? "[" : ",");
        cli_out_json_open(out);
        cli_out_json_int(out, "slot", i);
        cli_entries_json(out, &shown->entries, node, (int)i);
        cli_out_text(out, "}");
    }
    cli_out_text(out, "]");
}

static void node_json(const struct shown *shown, int idx)
{
    struct cli_out *out = shown->out;
    const struct cli_node *node = &shown->nodes[idx];
    cli_out_json_open(out);
    cli_out_json_text(out, "address", node->address);
    cli_out_json_text(out, "node", cli_format_node_state(node->health));
    if (node->reason[0] != '\0') {
        cli_out_json_text(out, "reason", node->reason);
    }
    cli_out_json_bool(out, "answered", shown->info.nodes[idx].answered);
    if (shown->info.nodes[idx].answered) {
        cli_format_holder_json(out, &shown->info.nodes[idx].holder, false);
        cli_out_json_int(out, "waiting", shown->info.nodes[idx].waiting);
        cli_entries_json(out, &shown->entries, idx, CLI_NO_SLOT);
        if (shown->entries.permits > 0) {
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
    cli_format_holder_json(out, &shown->info.holder, shown->info.split);
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
    shown = (struct shown){
        .out = out,
        .name = name,
        .client = client,
        .width = cli_width(STDOUT_FILENO),
    };
    cli_entries_init(&shown.entries);
    enum hf_status status =
        cli_inspect(client, name, strlen(name), &shown.info, &error);
    if (status == HF_OK) {
        status = cli_entries_look(&shown.entries, client, name, strlen(name),
                                  &error);
    }
    for (int i = 0; i < shown.info.n_nodes; i++) {
        cli_node(client, i, &shown.nodes[i]);
    }
    if (status == HF_OK && is_json) {
        put_json(&shown);
    } else if (status == HF_OK) {
        put_all(&shown);
    }
    cli_entries_fini(&shown.entries);
    return status == HF_OK ? 0 : cli_store_fail(status, name, &error);
}
