/* SPDX-License-Identifier: Apache-2.0 */
/* The events of struct hf_nodes, each as one call. */
#ifndef UNIT_NODES_H
#define UNIT_NODES_H

#include "core/nodes.h"

static inline void nodes_set(struct hf_nodes *nodes, unsigned node,
                             enum hf_node_status status)
{
    struct hf_nodes_event event = {
        .kind = HF_NODES_EV_STATUS, .node = (uint8_t)node, .status = status};
    hf_nodes_step(nodes, &event);
}

static inline void nodes_listen(struct hf_nodes *nodes, unsigned node,
                                bool is_listening)
{
    struct hf_nodes_event event = {.kind = HF_NODES_EV_LISTEN,
                                   .node = (uint8_t)node,
                                   .is_listening = is_listening};
    hf_nodes_step(nodes, &event);
}

static inline void nodes_reply(struct hf_nodes *nodes, unsigned node,
                               struct hf_span took)
{
    struct hf_nodes_event event = {
        .kind = HF_NODES_EV_REPLY, .node = (uint8_t)node, .took = took};
    hf_nodes_step(nodes, &event);
}

static inline void nodes_miss(struct hf_nodes *nodes, unsigned node,
                              struct hf_instant now)
{
    struct hf_nodes_event event = {
        .kind = HF_NODES_EV_MISS, .node = (uint8_t)node, .now = now};
    hf_nodes_step(nodes, &event);
}

#endif
