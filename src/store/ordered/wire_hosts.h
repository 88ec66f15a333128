/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a wire, as its URL names them: HOST[:PORT],HOST,… */
#ifndef HF_ORDERED_WIRE_HOSTS_H
#define HF_ORDERED_WIRE_HOSTS_H

#include "store/url_parts.h"

/* As many as the URL parser allows servers; clusters have three or five. */
#define HF_WIRE_HOSTS_MAX HF_NODES_MAX

struct hf_wire_host {
    char *host;
    uint16_t port;
    char shown[128]; /* HOST:PORT */
};

/** Read a list. @param port  of a host without one. @param usage  the message
 * if it is malformed, or too long.
 * @return HF_OK; HF_INVALID; HF_NO_MEMORY. `*n` hosts are to be freed then. */
enum hf_status hf_wire_hosts_read(struct hf_wire_host hosts[HF_WIRE_HOSTS_MAX],
                                  unsigned *n, struct hf_piece list,
                                  uint16_t port, const char *usage,
                                  struct hf_error *error);
void hf_wire_hosts_free(struct hf_wire_host *hosts, unsigned n);

#endif
