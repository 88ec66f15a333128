/* SPDX-License-Identifier: Apache-2.0 */
/* Reports are opaque and freed by the caller, so each field is read once with
 * its function. A text that is longer than here is cut, and ends with NUL. A
 * node that could not be reported, for lack of memory, reads as down: shown,
 * and never counted as healthy. */
#include "snapshot.h"

#include <string.h>

/* A text that does not fit is truncated. */
static void copy(char *to, size_t room, const char *from)
{
    size_t len = strnlen(from, room - 1);
    memcpy(to, from, len);
    to[len] = '\0';
}

void cli_holder_read(struct cli_holder *out, const struct hf_holder *holder)
{
    out->kind = hf_holder_kind(holder);
    copy(out->owner, sizeof(out->owner), hf_holder_owner(holder));
    copy(out->host, sizeof(out->host), hf_holder_host(holder));
    out->pid = hf_holder_pid(holder);
    out->since_s = hf_holder_since_s(holder);
    copy(out->label, sizeof(out->label), hf_holder_label(holder));
    out->remaining_ms = hf_holder_remaining_ms(holder);
    out->fence = hf_holder_fence(holder);
    out->sharers = hf_holder_sharers(holder);
    out->permits = hf_holder_permits(holder);
}

void cli_info_read(struct cli_info *out, const struct hf_info *info)
{
    memset(out, 0, sizeof(*out));
    out->n_nodes = hf_info_nodes(info);
    out->n_nodes = out->n_nodes < HF_NODES_MAX ? out->n_nodes : HF_NODES_MAX;
    cli_holder_read(&out->holder, hf_info_holder(info));
    out->split = hf_info_is_split(info);
    out->waiting = hf_info_waiting(info);
    for (int i = 0; i < out->n_nodes; i++) {
        out->nodes[i].answered = hf_info_node_answered(info, i);
        cli_holder_read(&out->nodes[i].holder, hf_info_node_holder(info, i));
        out->nodes[i].waiting = hf_info_node_waiting(info, i);
    }
}

void cli_queue_entry_read(struct cli_queue_entry *out,
                          const struct hf_queue_entry *entry)
{
    memset(out, 0, sizeof(*out));
    out->node = hf_queue_entry_node(entry);
    out->waits = hf_queue_entry_is_waiting(entry);
    out->mode = hf_queue_entry_mode(entry);
    out->permits = hf_queue_entry_permits(entry);
    cli_holder_read(&out->holder, hf_queue_entry_holder(entry));
    out->since_ms = hf_queue_entry_since_ms(entry);
}

enum hf_status cli_inspect(struct hf_client *client, const void *name,
                           size_t name_len, struct cli_info *out,
                           struct hf_error *error)
{
    struct hf_info *info = NULL;
    enum hf_status status =
        hf_client_inspect(client, name, name_len, &info, error);
    cli_info_read(out, info);
    hf_info_free(info);
    return status;
}

void cli_node(struct hf_client *client, int idx, struct cli_node *out)
{
    struct hf_node *node = NULL;
    if (hf_client_node(client, idx, &node) != HF_OK) {
        node = NULL; /* out of memory: reads as down */
    }
    memset(out, 0, sizeof(*out));
    copy(out->address, sizeof(out->address), hf_node_address(node));
    out->health = hf_node_health(node);
    copy(out->reason, sizeof(out->reason), hf_node_reason(node));
    out->quarantine_left_ms = hf_node_quarantine_left_ms(node);
    out->rtt_us = hf_node_rtt_us(node);
    hf_node_free(node);
}

bool cli_waiting(struct hf_op *op, struct cli_waiting *out)
{
    struct hf_waiting *waiting = NULL;
    if (!hf_op_waiting(op, &waiting)) {
        return false;
    }
    size_t len;
    const char *name = hf_waiting_name(waiting, &len);
    cli_holder_read(&out->holder, hf_waiting_holder(waiting));
    out->ahead = hf_waiting_ahead(waiting);
    out->name_len = len < HF_NAME_MAX ? len : HF_NAME_MAX;
    memcpy(out->name, name, out->name_len);
    out->name[out->name_len] = '\0';
    hf_waiting_free(waiting);
    return true;
}
