/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast ls: who holds what; an exact name, node by node. */
#include "cmd.h"

#include "duration.h"
#include "exit_code.h"
#include "message.h"
#include "show.h"
#include "store.h"
#include "when.h"

#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "follow", .kind = CLI_OPT_LATER},
    {.name = "name",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, name),
     .meta = "NAME",
     .help = "this very name, whatever characters it has"},
    {.name = NULL},
};

/* Columns of the table; what is longer pushes the rest to the right. */
enum {
    AT_NAME = 28,
    AT_HOLDER = 26,
    AT_SINCE = 10,
    AT_LEFT = 10,
    AT_FENCE = 18
};

struct listing {
    struct cli_out out;
    bool is_json;
    bool has_header;
};

/* Pad what was written since the line had `before` more bytes of room. */
static void cell(struct cli_out *out, size_t used, size_t width)
{
    cli_out_pad(out, used < width ? width - used : 1);
}

static void text_cell(struct cli_out *out, const char *text, size_t width)
{
    cell(out, cli_out_shown(out, text, strlen(text)), width);
}

static void header(struct cli_out *out)
{
    text_cell(out, "NAME", AT_NAME);
    text_cell(out, "HOLDER", AT_HOLDER);
    text_cell(out, "SINCE", AT_SINCE);
    text_cell(out, "LEFT", AT_LEFT);
    text_cell(out, "FENCE", AT_FENCE);
    cli_out_text(out, "LABEL\n");
}

static void holder_cell(struct cli_out *out, const struct hf_info *info)
{
    char text[128];
    struct cli_out cell_out;
    const struct hf_holder *holder = &info->holder;
    cli_out_init_text(&cell_out, text, sizeof(text));
    if (info->split) {
        cli_out_text(&cell_out, "(split vote)");
    } else if (holder->kind == HF_HOLDER_FOREIGN ||
               holder->kind == HF_HOLDER_TYPE) {
        cli_out_text(&cell_out, "(another kind of client)");
    } else {
        cli_out_text(&cell_out, holder->host);
        cli_out_text(&cell_out, " ");
        cli_out_int(&cell_out, holder->pid);
        cli_out_text(&cell_out,
                     holder->kind == HF_HOLDER_ENDED ? " (ended)" : "");
    }
    text_cell(out, text, AT_HOLDER);
}

static void time_cells(struct cli_out *out, const struct hf_holder *holder)
{
    char text[CLI_DURATION_TEXT];
    struct cli_out cell_out;
    cli_out_init_text(&cell_out, text, sizeof(text));
    if (holder->since_s > 0) {
        cli_when_text(&cell_out, holder->since_s);
    } else {
        cli_out_text(&cell_out, "-");
    }
    text_cell(out, text, AT_SINCE);
    text_cell(out,
              holder->remaining_ms < 0
                  ? "no expiry"
                  : cli_duration_text(holder->remaining_ms, text),
              AT_LEFT);
    cli_out_init_text(&cell_out, text, sizeof(text));
    if (holder->fence > 0) {
        cli_out_fence(&cell_out, holder->fence);
    } else {
        cli_out_text(&cell_out, "-");
    }
    text_cell(out, text, AT_FENCE);
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct listing *listing = user;
    struct cli_out *out = &listing->out;
    if (listing->is_json) {
        cli_out_json_open(out);
        cli_out_json_bytes(out, "name", name, name_len);
        cli_show_holder_json(out, &info->holder, info->split);
        cli_out_json_close(out);
        return out->error == 0;
    }
    if (!listing->has_header) {
        header(out);
        listing->has_header = true;
    }
    cell(out, cli_out_shown(out, name, name_len), AT_NAME);
    holder_cell(out, info);
    time_cells(out, &info->holder);
    (void)cli_out_shown(out, info->holder.label, strlen(info->holder.label));
    cli_out_text(out, "\n");
    return out->error == 0;
}

static int list(struct hf_client *client, const struct cli_args *args,
                struct cli_out **out)
{
    static struct listing listing;
    struct hf_error error = {.text = ""};
    cli_out_init(&listing.out, STDOUT_FILENO);
    listing.is_json = args->is_json;
    *out = &listing.out;
    enum hf_status status =
        hf_client_list(client, args->n_words > 0 ? args->words[0] : NULL,
                       on_name, &listing, &error);
    return status == HF_OK ? 0 : cli_store_fail(status, "ls", &error);
}

/* What is known of a node that did not say who holds the name. */
static void show_silent(struct cli_out *out, const struct hf_node *node)
{
    cli_out_text(out, cli_show_node_state(node->state));
    if (node->reason[0] != '\0') {
        cli_out_text(out, ": ");
        cli_out_text(out, node->reason);
    }
}

static void show_nodes(struct cli_out *out, struct hf_client *client,
                       const struct hf_info *info)
{
    struct hf_node node;
    for (int i = 0; i < info->n_nodes; i++) {
        hf_client_node(client, i, &node);
        cli_out_text(out, "  ");
        text_cell(out, node.address, AT_NAME - 2);
        if (info->nodes[i].answered) {
            cli_show_holder(out, &info->nodes[i].holder);
            if (info->nodes[i].holder.fence > 0) {
                cli_out_text(out, ", fence ");
                cli_out_fence(out, info->nodes[i].holder.fence);
            }
            cli_out_text(out, node.state == HF_NODE_QUARANTINED
                                  ? " (quarantined: does not count)"
                                  : "");
        } else {
            show_silent(out, &node);
        }
        cli_out_text(out, "\n");
    }
}

static void show_nodes_json(struct cli_out *out, struct hf_client *client,
                            const struct hf_info *info)
{
    struct hf_node node;
    cli_out_json_key(out, "nodes");
    for (int i = 0; i < info->n_nodes; i++) {
        hf_client_node(client, i, &node);
        cli_out_text(out, i == 0 ? "[" : ",");
        cli_out_json_open(out);
        cli_out_json_text(out, "address", node.address);
        cli_out_json_text(out, "node", cli_show_node_state(node.state));
        if (node.reason[0] != '\0') {
            cli_out_json_text(out, "reason", node.reason);
        }
        cli_out_json_bool(out, "answered", info->nodes[i].answered);
        if (info->nodes[i].answered) {
            cli_show_holder_json(out, &info->nodes[i].holder, false);
        }
        cli_out_text(out, "}");
    }
    cli_out_text(out, "]");
}

static int inspect(struct hf_client *client, const char *name, bool is_json,
                   struct cli_out *out)
{
    struct hf_info info;
    struct hf_error error = {.text = ""};
    enum hf_status status =
        hf_client_inspect(client, name, strlen(name), &info, &error);
    if (status != HF_OK) {
        return cli_store_fail(status, name, &error);
    }
    if (is_json) {
        cli_out_json_open(out);
        cli_out_json_text(out, "name", name);
        cli_show_holder_json(out, &info.holder, info.split);
        show_nodes_json(out, client, &info);
        cli_out_json_close(out);
        return 0;
    }
    (void)cli_out_shown(out, name, strlen(name));
    cli_out_text(out, ": ");
    if (info.split) {
        cli_out_text(out, "split: held at some nodes, by nobody at a majority");
    } else {
        cli_show_holder(out, &info.holder);
    }
    if (info.holder.fence > 0) {
        cli_out_text(out, ", fence ");
        cli_out_fence(out, info.holder.fence);
    }
    cli_out_text(out, "\n");
    show_nodes(out, client, &info);
    return 0;
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct cli_out own;
    struct cli_out *out = &own;
    const char *name = args->name;
    if (name == NULL && args->n_words > 0 &&
        strpbrk(args->words[0], "*?[\\") == NULL) {
        name = args->words[0];
    }
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    cli_out_init(&own, STDOUT_FILENO);
    code = name != NULL ? inspect(client, name, args->is_json, out)
                        : list(client, args, &out);
    if (!cli_out_flush(out)) {
        code = cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out->error);
    }
    hf_client_close(client);
    return code;
}

const struct cli_cmd cli_cmd_ls = {
    .name = "ls",
    .usage = "[PATTERN]",
    .summary = "who holds what, since when, fence, remaining",
    .text =
        "PATTERN has *, ?, [a-z] and \\ as in a shell. An exact NAME is shown\n"
        "node by node.\n",
    .opts = opts,
    .words_max = 1,
    .run = run,
};
