/* SPDX-License-Identifier: Apache-2.0 */
/* THE HANDSHAKE, AND WHICH CLUSTER IT IS
 *
 * The handshake asks which server is the leader, which needs no rights.
 *
 * Consul does not name its cluster. But its numbers only rise: a create whose
 * number is not above all that a leader has shown before it is one of another
 * cluster, or of one that was set back. Then all is lost, and nothing is
 * granted any more.
 *
 * Cost: one round trip for each connection; none for the check, since the
 * numbers are in the replies. */
#include "store/consul/consul.h"

#include <jansson.h>
#include <stdio.h>

static const char *const kept[] = {"X-Consul-Index", NULL};
const struct hf_http_limits hf_consul_limits = {
    kept,
    HF_ENDPOINTS_HEAD_MAX,
    HF_ENDPOINTS_BODY_MAX,
    HF_ENDPOINTS_OUTPUT_MAX,
    HF_CONSUL_SCHEME,
    "http_max_conns_per_client reached? "};

/* ---- Connecting ---------------------------------------------------------- */

static void on_opened(struct hf_endpoints *node, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of(node);
    enum hf_status fault;
    if (!hf_consul_token_use(consul, &fault)) {
        hf_endpoints_fail(node, fault, node->why);
        return;
    }
    node->phase = HF_ENDPOINTS_GREETING;
    if (!hf_consul_ask_leader(consul, now)) {
        hf_endpoints_fail(node, HF_NO_MEMORY, "out of memory");
    }
}

void hf_consul_node_greeted(struct hf_consul *consul, const struct json_t *body,
                            enum hf_status fault, struct hf_instant now)
{
    if (consul->node.phase == HF_ENDPOINTS_FOREIGN) {
        return;
    }
    if (body == NULL) {
        hf_endpoints_fail(&consul->node, fault, consul->node.why);
        return;
    }
    if (!json_is_string(body)) {
        hf_endpoints_fail(&consul->node, HF_UNAVAILABLE,
                          "is no agent of Consul");
        return;
    }
    if (json_string_length(body) == 0) {
        hf_endpoints_fail(&consul->node, HF_UNAVAILABLE, "has no leader");
        return;
    }
    hf_endpoints_ready(&consul->node, now);
}

void hf_consul_node_foreign(struct hf_consul *consul, uint64_t number,
                            uint64_t newest, struct hf_instant now)
{
    snprintf(consul->node.why, sizeof(consul->node.why),
             "is another cluster than before, or was set back: its index is "
             "%llu after %llu, so fences would begin anew. Open another "
             "client, once nothing uses the old fences",
             (unsigned long long)number, (unsigned long long)newest);
    hf_endpoints_foreign(&consul->node, now);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_endpoints *node,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    hf_consul_take(hf_consul_of(node), request, reply, now);
}

static void on_lost(struct hf_endpoints *node,
                    const struct hf_http_pending *request, bool is_unsent,
                    struct hf_instant now)
{
    hf_consul_take_lost(hf_consul_of(node), request, is_unsent, now);
}

static void on_examine(struct hf_endpoints *node, struct hf_instant now)
{
    hf_consul_examine(hf_consul_of(node), now);
}

const struct hf_endpoints_ops hf_consul_endpoints = {
    .size = sizeof(struct hf_consul),
    .store = &hf_store_consul,
    .wire = &hf_consul_wire,
    .set_up = hf_consul_set_up,
    .fini = hf_consul_fini,
    .limits = &hf_consul_limits,
    .opened = on_opened,
    .replied = on_replied,
    .lost = on_lost,
    .examine = on_examine,
    .visit = hf_consul_visit,
    .judge = hf_consul_judge,
    .watch_fini = hf_consul_watch_fini,
};
