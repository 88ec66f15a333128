/* SPDX-License-Identifier: Apache-2.0 */
/* Accessors of the opaque structs. Programs do not know their layout, so the
 * structs may grow. NULL is treated as an empty struct, and a node out of range
 * as one that did not reply. */
#include "core/opaque.h"

#include <stdlib.h>

static const struct hf_holder no_holder = {.kind = HF_HOLDER_NONE};

static const struct hf_holder *holder_or_none(const struct hf_holder *holder)
{
    return holder == NULL ? &no_holder : holder;
}

/* ---- A holder ---------------------------------------------------------- */

enum hf_kind hf_holder_kind(const struct hf_holder *holder)
{
    return holder_or_none(holder)->kind;
}

const char *hf_holder_owner(const struct hf_holder *holder)
{
    return holder_or_none(holder)->owner;
}

const char *hf_holder_host(const struct hf_holder *holder)
{
    return holder_or_none(holder)->host;
}

int64_t hf_holder_pid(const struct hf_holder *holder)
{
    return holder_or_none(holder)->pid;
}

int64_t hf_holder_since_s(const struct hf_holder *holder)
{
    return holder_or_none(holder)->since_s;
}

const char *hf_holder_label(const struct hf_holder *holder)
{
    return holder_or_none(holder)->label;
}

int64_t hf_holder_remaining_ms(const struct hf_holder *holder)
{
    return holder_or_none(holder)->remaining_ms;
}

uint64_t hf_holder_fence(const struct hf_holder *holder)
{
    return holder_or_none(holder)->fence;
}

uint32_t hf_holder_sharers(const struct hf_holder *holder)
{
    return holder_or_none(holder)->sharers;
}

uint32_t hf_holder_permits(const struct hf_holder *holder)
{
    return holder_or_none(holder)->permits;
}

/* ---- A waiter ---------------------------------------------------------- */

const struct hf_holder *hf_waiting_holder(const struct hf_waiting *waiting)
{
    return waiting == NULL ? &no_holder : &waiting->holder;
}

uint32_t hf_waiting_ahead(const struct hf_waiting *waiting)
{
    return waiting == NULL ? 0 : waiting->ahead;
}

const void *hf_waiting_name(const struct hf_waiting *waiting, size_t *name_len)
{
    if (name_len != NULL) {
        *name_len = waiting == NULL ? 0 : waiting->name_len;
    }
    return waiting == NULL ? "" : waiting->name;
}

void hf_waiting_free(struct hf_waiting *waiting)
{
    free(waiting);
}

/* ---- A name ------------------------------------------------------------ */

static bool has_node(const struct hf_info *info, int idx)
{
    return info != NULL && idx >= 0 && idx < info->n_nodes;
}

const struct hf_holder *hf_info_holder(const struct hf_info *info)
{
    return info == NULL ? &no_holder : &info->holder;
}

bool hf_info_is_split(const struct hf_info *info)
{
    return info != NULL && info->split;
}

uint32_t hf_info_waiting(const struct hf_info *info)
{
    return info == NULL ? 0 : info->waiting;
}

int hf_info_nodes(const struct hf_info *info)
{
    return info == NULL ? 0 : info->n_nodes;
}

bool hf_info_node_answered(const struct hf_info *info, int idx)
{
    return has_node(info, idx) && info->nodes[idx].answered;
}

const struct hf_holder *hf_info_node_holder(const struct hf_info *info, int idx)
{
    return has_node(info, idx) ? &info->nodes[idx].holder : &no_holder;
}

uint32_t hf_info_node_waiting(const struct hf_info *info, int idx)
{
    return has_node(info, idx) ? info->nodes[idx].waiting : 0;
}

void hf_info_free(struct hf_info *info)
{
    free(info);
}

/* ---- A place in a queue ------------------------------------------------ */

int hf_queue_entry_node(const struct hf_queue_entry *entry)
{
    return entry == NULL ? -1 : entry->node;
}

bool hf_queue_entry_is_waiting(const struct hf_queue_entry *entry)
{
    return entry != NULL && entry->waits;
}

enum hf_mode hf_queue_entry_mode(const struct hf_queue_entry *entry)
{
    return entry == NULL ? HF_EXCLUSIVE : entry->mode;
}

uint32_t hf_queue_entry_permits(const struct hf_queue_entry *entry)
{
    return entry == NULL ? 0 : entry->permits;
}

const struct hf_holder *
hf_queue_entry_holder(const struct hf_queue_entry *entry)
{
    return entry == NULL ? &no_holder : &entry->who;
}

int64_t hf_queue_entry_since_ms(const struct hf_queue_entry *entry)
{
    return entry == NULL ? 0 : entry->since_ms;
}

/* ---- A node ------------------------------------------------------------ */

const char *hf_node_address(const struct hf_node *node)
{
    return node == NULL ? "" : node->address;
}

enum hf_health hf_node_health(const struct hf_node *node)
{
    return node == NULL ? HF_NODE_DOWN : node->health;
}

const char *hf_node_reason(const struct hf_node *node)
{
    return node == NULL ? "" : node->reason;
}

int64_t hf_node_quarantine_left_ms(const struct hf_node *node)
{
    return node == NULL ? 0 : node->quarantine_left_ms;
}

int64_t hf_node_rtt_us(const struct hf_node *node)
{
    return node == NULL ? 0 : node->rtt_us;
}

void hf_node_free(struct hf_node *node)
{
    free(node);
}

/* ---- A finding --------------------------------------------------------- */

enum hf_severity hf_finding_severity(const struct hf_finding *finding)
{
    return finding == NULL ? HF_FINDING_OK : finding->severity;
}

int hf_finding_node(const struct hf_finding *finding)
{
    return finding == NULL ? -1 : finding->node;
}

const char *hf_finding_text(const struct hf_finding *finding)
{
    return finding == NULL ? "" : finding->text;
}
