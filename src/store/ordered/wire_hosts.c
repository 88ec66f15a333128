/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ordered/wire_hosts.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hf_status read_host(struct hf_wire_host *out, struct hf_piece at,
                                uint16_t port, const char *usage,
                                struct hf_error *error)
{
    struct hf_piece host;
    out->port = port;
    if (!hf_piece_host(at, &host, &out->port) || host.len == 0) {
        return hf_fail(error, HF_INVALID, "%s", usage);
    }
    enum hf_status status =
        hf_piece_decode(host, "the host", &out->host, error);
    if (status == HF_OK) {
        bool is_ipv6 = strchr(out->host, ':') != NULL;
        snprintf(out->shown, sizeof(out->shown),
                 is_ipv6 ? "[%.100s]:%u" : "%.100s:%u", out->host,
                 (unsigned)out->port);
        hf_make_plain(out->shown);
    }
    return status;
}

enum hf_status hf_wire_hosts_read(struct hf_wire_host hosts[HF_WIRE_HOSTS_MAX],
                                  unsigned *n, struct hf_piece list,
                                  uint16_t port, const char *usage,
                                  struct hf_error *error)
{
    enum hf_status status = HF_OK;
    bool has_more = true;
    *n = 0;
    while (status == HF_OK && has_more) {
        if (*n == HF_WIRE_HOSTS_MAX) {
            return hf_fail(error, HF_INVALID, "%s", usage);
        }
        status = read_host(&hosts[*n], hf_piece_cut(&list, ',', &has_more),
                           port, usage, error);
        *n += status == HF_OK;
    }
    return status;
}

void hf_wire_hosts_free(struct hf_wire_host *hosts, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        free(hosts[i].host);
    }
}
