/* SPDX-License-Identifier: Apache-2.0 */
/* THE HANDSHAKE, AND WHICH CLUSTER IT IS
 *
 * Where there is a login (login.c), it comes first.
 *
 * The handshake asks for the status, which needs no rights: version, leader,
 * and the cluster. A lease of one cluster means nothing to another, and its
 * revisions begin anew: if the cluster changes under a live client, all is
 * lost, and nothing is granted any more.
 *
 * A cluster that lost its data, or got older ones, may keep its id. Then an
 * entry is created at a revision that was seen before, and it is as above.
 *
 * Cost: one round trip for each connection, after that of a login. */
#include "store/etcd/etcd.h"

#include <jansson.h>
#include <stdio.h>

/* ---- Connecting ---------------------------------------------------------- */

void hf_etcd_node_greet(struct hf_etcd *etcd, struct hf_instant now)
{
    etcd->node.phase = HF_ENDPOINTS_GREETING;
    if (!hf_etcd_greet(etcd, now)) {
        hf_endpoints_fail(&etcd->node, HF_NO_MEMORY, "out of memory");
    }
}

static void on_opened(struct hf_endpoints *node, struct hf_instant now)
{
    struct hf_etcd *etcd = hf_etcd_of(node);
    etcd->term = 0;
    if (hf_etcd_login_is_set(etcd)) {
        node->phase = HF_ENDPOINTS_LOGGING_IN;
        hf_etcd_login_ask(etcd, now);
    } else {
        hf_etcd_node_greet(etcd, now);
    }
}

void hf_etcd_node_greeted(struct hf_etcd *etcd, const struct json_t *body,
                          enum hf_status fault, struct hf_instant now)
{
    if (etcd->node.phase == HF_ENDPOINTS_FOREIGN) {
        return;
    }
    const char *version = json_string_value(json_object_get(body, "version"));
    if (body == NULL) {
        hf_endpoints_fail(&etcd->node, fault, etcd->node.why);
        return;
    }
    if (hf_etcd_number(body, "leader") == 0) {
        hf_endpoints_fail(&etcd->node, HF_UNAVAILABLE, "has no leader");
        return;
    }
    snprintf(etcd->version, sizeof(etcd->version), "%s",
             version == NULL ? "?" : version);
    hf_endpoints_ready(&etcd->node, now);
    hf_etcd_watches_resume(etcd, now);
}

bool hf_etcd_node_check_cluster(struct hf_etcd *etcd,
                                const struct json_t *header,
                                struct hf_instant now)
{
    uint64_t cluster = hf_etcd_number(header, "cluster_id");
    if (cluster == 0 || etcd->cluster == 0 || cluster == etcd->cluster) {
        etcd->cluster = cluster == 0 ? etcd->cluster : cluster;
        return true;
    }
    snprintf(etcd->node.why, sizeof(etcd->node.why),
             "is of another cluster (%llx) than before (%llx): its fences "
             "would begin anew. Open another client, once nothing uses the "
             "old cluster's fences",
             (unsigned long long)cluster, (unsigned long long)etcd->cluster);
    hf_endpoints_foreign(&etcd->node, now);
    return false;
}

bool hf_etcd_node_check_revision(struct hf_etcd *etcd, uint64_t revision,
                                 bool is_new, struct hf_instant now)
{
    if (!is_new || revision > etcd->newest) {
        etcd->newest = etcd->newest < revision ? revision : etcd->newest;
        return true;
    }
    snprintf(etcd->node.why, sizeof(etcd->node.why),
             "was set back, or lost its data: its revision is %llu after %llu, "
             "so fences would begin anew. Open another client, once nothing "
             "uses the old fences",
             (unsigned long long)revision, (unsigned long long)etcd->newest);
    hf_endpoints_foreign(&etcd->node, now);
    return false;
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_endpoints *node,
                       const struct hf_http_pending *request,
                       const struct hf_http_reply *reply, struct hf_instant now)
{
    hf_etcd_take(hf_etcd_of(node), request, reply, now);
}

static void on_lost(struct hf_endpoints *node,
                    const struct hf_http_pending *request, bool is_unsent,
                    struct hf_instant now)
{
    struct hf_wire_call *call = request->user;
    struct hf_wire_reply reply = {
        .outcome = is_unsent ? HF_WIRE_UNSENT : HF_WIRE_LOST,
        .sent = request->sent,
        .fault = HF_UNAVAILABLE,
        .reason = node->http.reason,
    };
    if (request->cookie != HF_ETCD_GREET && call != NULL &&
        call->done != NULL) {
        call->done(call, &reply, now);
    }
}

static void on_closed(struct hf_endpoints *node, struct hf_instant now)
{
    (void)now;
    hf_etcd_login_reset(hf_etcd_of(node));
}

static void on_examine(struct hf_endpoints *node, struct hf_instant now)
{
    hf_etcd_examine(hf_etcd_of(node), now);
}

static const char *const kept[] = {NULL};
static const struct hf_http_limits limits = {kept,
                                             HF_ENDPOINTS_HEAD_MAX,
                                             HF_ENDPOINTS_BODY_MAX,
                                             HF_ENDPOINTS_OUTPUT_MAX,
                                             HF_ETCD_SCHEME,
                                             NULL};

const struct hf_endpoints_ops hf_etcd_endpoints = {
    .size = sizeof(struct hf_etcd),
    .store = &hf_store_etcd,
    .wire = &hf_etcd_wire,
    .set_up = hf_etcd_set_up,
    .fini = hf_etcd_fini,
    .limits = &limits,
    .opened = on_opened,
    .replied = on_replied,
    .lost = on_lost,
    .closed = on_closed,
    .examine = on_examine,
    .visit = hf_etcd_visit,
    .judge = hf_etcd_judge,
    .watch_fini = hf_etcd_watch_fini,
};
