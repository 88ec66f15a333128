/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the library's opaque reports, which can be kept, put into tables,
 * and built from rows.
 *
 *     struct cli_info info;
 *     struct cli_node node;
 *     status = cli_inspect(client, name, strlen(name), &info, &error);
 *     for (int i = 0; status == HF_OK && i < info.n_nodes; i++) {
 *         cli_node(client, i, &node);
 *         … node.address, info.nodes[i].holder.owner …
 *     }
 *
 * The _read functions copy a report that the caller keeps, such as the argument
 * of a callback; the others get the report, copy and free it. NULL reads as an
 * empty report.
 *
 * Owner: the caller; a copy has no pointers, so it is assigned freely and never
 * freed. Texts end with NUL; a longer one is cut. Blocks: cli_inspect(), as
 * hf_client_inspect() does; the others never. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "text_size.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of hf_holder_*(). */
struct cli_holder {
    enum hf_kind kind;
    char owner[HF_OWNER_TEXT_MAX];
    char host[CLI_HOST_MAX];
    int64_t pid;
    int64_t since_s;
    char label[CLI_LABEL_MAX];
    int64_t remaining_ms;
    uint64_t fence;
    uint32_t sharers;
    uint32_t permits;
};

/* The values of hf_node_*(). */
struct cli_node {
    char address[HF_TEXT_ADDRESS];
    enum hf_health health;
    char reason[HF_TEXT_REASON];
    int64_t quarantine_left_ms;
    int64_t rtt_us;
};

/* The values of hf_info_*(). */
struct cli_info {
    int n_nodes;
    struct cli_holder holder;
    bool split;
    uint32_t waiting;
    struct {
        bool answered;
        struct cli_holder holder;
        uint32_t waiting;
    } nodes[HF_NODES_MAX];
};

/* The values of hf_queue_entry_*(). */
struct cli_queue_entry {
    int node;
    bool waits;
    enum hf_mode mode;
    uint32_t permits;
    struct cli_holder holder;
    int64_t since_ms;
};

/* The values of hf_waiting_*(). */
struct cli_waiting {
    struct cli_holder holder;
    uint32_t ahead;
    size_t name_len;
    char name[HF_NAME_MAX + 1];
};

/* Copies of what the library's opaque structs say: these end with the
 * callback, or the next call, that gave them. */
void cli_holder_read(struct cli_holder *out, const struct hf_holder *holder);
void cli_info_read(struct cli_info *out, const struct hf_info *info);
void cli_queue_entry_read(struct cli_queue_entry *out,
                          const struct hf_queue_entry *entry);

/* hf_client_inspect(), and a copy of its result. */
enum hf_status cli_inspect(struct hf_client *client, const void *name,
                           size_t name_len, struct cli_info *out,
                           struct hf_error *error);

/* hf_client_node(); a node without a report is down. */
void cli_node(struct hf_client *client, int idx, struct cli_node *out);

/* hf_op_waiting(). */
bool cli_waiting(struct hf_op *op, struct cli_waiting *out);

#endif
