/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `holdfast doctor`: the server, the connection, and whether
 * the keys may be used.
 *
 * etcd checks the rights of all requests of a transaction, whatever its
 * comparison says. So one whose comparison is never true tells of the right to
 * write, and writes nothing.
 *
 * Cost: one round trip, and the tour of the endpoints (endpoints/tour.c). */
#include "base/fail.h"
#include "store/etcd/etcd.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below the prefix, as locks are; no name is empty, so it is none. */
#define PROBE_NAME ""

/* Its leader, when it stood still, revokes leases that another one has renewed
 * meanwhile: https://github.com/etcd-io/etcd/issues/15247, fixed in 3.4.31 and
 * 3.5.13. It finds expired leases by its wall clock:
 * https://github.com/etcd-io/etcd/issues/12291, fixed in 3.5. */
static void describe_version(struct hf_etcd *etcd)
{
    char *end;
    unsigned long major = strtoul(etcd->version, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    unsigned long patch = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    if (major == 3 && (minor < 4 || (minor == 4 && patch < 31) ||
                       (minor == 5 && patch < 13))) {
        hf_jobs_report(
            &etcd->node.ordered.jobs,
            etcd->node.n > 1 ? HF_FINDING_WARNING : HF_FINDING_OK,
            "in a cluster, this version may revoke leases that were renewed, "
            "when a leader stood still (etcd issue 15247): a waiter is then "
            "granted the lock up to a third of the ttl before its holder is "
            "told. The fence tells them apart. Fixed in 3.4.31, 3.5.13 and "
            "3.6");
    }
    if (major == 3 && minor < 5) {
        hf_jobs_report(
            &etcd->node.ordered.jobs, HF_FINDING_OK,
            "if the leader's wall clock is set back, this version frees the "
            "locks of dead holders later by as much (etcd issue 12291), or "
            "once that member was restarted. Fixed in 3.5");
    }
}

static void describe(struct hf_etcd *etcd)
{
    char text[HF_TEXT_ADVICE];
    bool has_login = etcd->headers != NULL;
    snprintf(text, sizeof(text),
             "etcd %s, cluster %llx, by %s of %u endpoint%s, %s TLS, %s%s",
             etcd->version, (unsigned long long)etcd->cluster,
             hf_endpoints_shown(&etcd->node), etcd->node.n,
             etcd->node.n == 1 ? "" : "s",
             etcd->node.tls == NULL ? "without" : "over",
             has_login ? "as user " : "without a login",
             has_login ? etcd->user_shown : "");
    hf_jobs_report(&etcd->node.ordered.jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_report(
        &etcd->node.ordered.jobs, HF_FINDING_OK,
        "an entry lives as long as its lease, whole seconds, at least two by "
        "default; a new leader extends all leases");
    describe_version(etcd);
    if (etcd->node.n == 1) {
        hf_jobs_report(
            &etcd->node.ordered.jobs, HF_FINDING_OK,
            "one endpoint is named: of a cluster, name all members, so that "
            "the next one is used when it fails");
    }
}

/* create_revision is never negative. */
static void write_probe(struct hf_etcd *etcd)
{
    struct hf_wire_text *body = &etcd->body;
    struct hf_wire_text key = {0};
    hf_etcd_key_folder(&key, etcd->prefix, (struct hf_bytes){PROBE_NAME, 0});
    body->len = 0;
    body->has_failed = key.has_failed;
    hf_wire_text_say(body, "{\"compare\":[{\"target\":\"CREATE\",\"key\":\"");
    hf_wire_text_base64(body, key.bytes, key.len);
    hf_wire_text_say(body, "\",\"create_revision\":\"-1\"}],"
                           "\"success\":[{\"request_put\":{\"key\":\"");
    hf_wire_text_base64(body, key.bytes, key.len);
    hf_wire_text_say(body, "\"}}]}");
    hf_wire_text_fini(&key);
}

void hf_etcd_examine(struct hf_etcd *etcd, struct hf_instant now)
{
    write_probe(etcd);
    struct hf_http_request request = {
        .method = "POST",
        .path = "/v3/kv/txn",
        .headers = hf_etcd_headers(etcd),
        .body = etcd->body.bytes,
        .body_len = etcd->body.len,
        .timeout = etcd->node.connect_timeout,
        .cookie = HF_ETCD_PROBE,
    };
    etcd->node.ordered.is_probing =
        !etcd->body.has_failed && hf_http_ask(&etcd->node.http, &request, now);
    if (!etcd->node.ordered.is_probing) {
        hf_jobs_finish(&etcd->node.ordered.jobs, HF_NO_MEMORY, "out of memory");
    }
}

void hf_etcd_examined(struct hf_etcd *etcd, const struct hf_wire_reply *reply,
                      struct hf_instant now)
{
    etcd->node.ordered.is_probing = false;
    if (reply->outcome == HF_WIRE_DONE || reply->outcome == HF_WIRE_ERROR) {
        describe(etcd);
        if (reply->outcome == HF_WIRE_ERROR) {
            hf_jobs_report(&etcd->node.ordered.jobs, HF_FINDING_ERROR, "%s",
                           etcd->node.why);
        }
        hf_endpoints_tour_begin(&etcd->node, now);
    } /* else: another connection, or another login, asks again */
}

/* ---- The other endpoints ------------------------------------------------- */

/* Without the token, which is of one member. */
bool hf_etcd_visit(struct hf_endpoints *node, struct hf_http_request *out)
{
    (void)node;
    *out = (struct hf_http_request){
        .method = "POST",
        .path = HF_ETCD_STATUS_PATH,
        .headers = HF_ETCD_HEADERS_PLAIN,
        .body = "{}",
        .body_len = 2,
    };
    return true;
}

static enum hf_severity judge(const struct hf_etcd *etcd, const json_t *body,
                              unsigned status, char *out, size_t size)
{
    const json_t *header = json_object_get(body, "header");
    uint64_t cluster = hf_etcd_number(header, "cluster_id");
    if (cluster == 0) {
        snprintf(out, size, "answers with HTTP status %u: is it etcd?", status);
        return HF_FINDING_WARNING;
    }
    if (cluster != etcd->cluster) {
        snprintf(out, size,
                 "is of another cluster (%llx): clients that use it are "
                 "granted locks that are held here. Name one cluster's members",
                 (unsigned long long)cluster);
        return HF_FINDING_ERROR;
    }
    if (json_is_true(json_object_get(body, "isLearner"))) {
        snprintf(out, size, "is a learner, which serves no client");
        return HF_FINDING_WARNING;
    }
    if (hf_etcd_number(body, "leader") == 0) {
        snprintf(out, size, "has no leader");
        return HF_FINDING_WARNING;
    }
    return HF_FINDING_OK;
}

enum hf_severity hf_etcd_judge(struct hf_endpoints *node,
                               const struct hf_http_reply *reply, char *out,
                               size_t size)
{
    json_t *body = json_loadb(reply->body, reply->body_len, 0, NULL);
    enum hf_severity severity =
        judge(hf_etcd_of(node), body, reply->status, out, size);
    json_decref(body);
    return severity;
}
