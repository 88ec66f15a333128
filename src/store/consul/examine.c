/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `holdfast doctor`: the agent, and whether its keys may be
 * used.
 *
 *   GET agent/self ──▶ who it is; 403: not for this token, which needs no more
 *   PUT txn: check-index that no key has, delete ──▶ 409: it might
 *
 * Consul checks the rights of all operations of a transaction before it does
 * any. So one whose condition is never true tells of the right to write, and
 * writes nothing. */
#include "base/fail.h"
#include "store/consul/consul.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void describe(struct hf_consul *consul)
{
    char text[400];
    snprintf(text, sizeof(text),
             "Consul %s, by %s of %u endpoint%s, %s TLS, %s", consul->shown,
             hf_endpoints_shown(&consul->node), consul->node.n,
             consul->node.n == 1 ? "" : "s",
             consul->node.tls == NULL ? "without" : "over",
             consul->headers == NULL ? "without a token" : "with a token");
    hf_jobs_find(&consul->node.ordered.jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_find(
        &consul->node.ordered.jobs, HF_FINDING_OK,
        "an entry lives as long as its session: the ttl, 10 s at least; the "
        "leader ends it up to twice that after its client's death");
    if (consul->is_client) {
        hf_jobs_find(
            &consul->node.ordered.jobs, HF_FINDING_OK,
            "this agent is a client: when it leaves the cluster, as it does "
            "on SIGTERM by default, Consul ends its sessions at once, before "
            "their holders know; name servers, or set leave_on_terminate to "
            "false");
    }
    if (consul->node.n == 1) {
        hf_jobs_find(
            &consul->node.ordered.jobs, HF_FINDING_OK,
            "one endpoint is named: of a cluster, name several, so that the "
            "next one is used when it fails");
    }
}

static bool ask_probe(struct hf_consul *consul, struct hf_instant now)
{
    struct hf_wire_text *path = hf_consul_path(consul, "txn");
    struct hf_wire_text key = {0};
    hf_consul_path_query(consul, path, "");
    hf_consul_key_folder(&key, consul->prefix, (struct hf_bytes){"", 0});
    hf_wire_text_say(&consul->body,
                     "[{\"KV\":{\"Verb\":\"check-index\",\"Index\":1,"
                     "\"Key\":\"");
    hf_wire_text_add(&consul->body, key.bytes, key.len);
    hf_wire_text_say(&consul->body,
                     "\"}},{\"KV\":{\"Verb\":\"delete\",\"Key\":\"");
    hf_wire_text_add(&consul->body, key.bytes, key.len);
    hf_wire_text_say(&consul->body, "\"}}]");
    consul->body.has_failed |= key.has_failed;
    hf_wire_text_free(&key);
    return hf_consul_ask(consul, HF_CONSUL_ASK_PROBE, "PUT", NULL, now);
}

void hf_consul_examine(struct hf_consul *consul, struct hf_instant now)
{
    hf_consul_path(consul, "agent/self");
    consul->node.ordered.is_probing =
        hf_consul_ask(consul, HF_CONSUL_ASK_SELF, "GET", NULL, now);
    if (!consul->node.ordered.is_probing) {
        hf_jobs_end(&consul->node.ordered.jobs, HF_NO_MEMORY, "out of memory");
    }
}

static void take_self(struct hf_consul *consul, const json_t *body)
{
    const json_t *config = json_object_get(body, "Config");
    const char *version = json_string_value(json_object_get(config, "Version"));
    const char *dc = json_string_value(json_object_get(config, "Datacenter"));
    const char *node = json_string_value(json_object_get(config, "NodeName"));
    consul->is_client = json_is_false(json_object_get(config, "Server"));
    if (version == NULL) {
        snprintf(consul->shown, sizeof(consul->shown),
                 "of a version that this token may not read");
    } else {
        snprintf(consul->shown, sizeof(consul->shown),
                 "%.30s, datacenter %.60s, node %.60s", version,
                 dc == NULL ? "?" : dc, node == NULL ? "?" : node);
    }
    hf_make_plain(consul->shown);
}

static bool is_over(const struct hf_wire_reply *reply)
{
    return reply->outcome == HF_WIRE_DONE || reply->outcome == HF_WIRE_ERROR;
}

void hf_consul_examined(struct hf_consul *consul, enum hf_consul_step step,
                        const struct json_t *body,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now)
{
    if (!is_over(reply)) {
        hf_endpoints_fail(&consul->node, reply->fault, consul->node.why);
        /* Another connection asks again. */
        consul->node.ordered.is_probing = false;
        return;
    }
    if (step == HF_CONSUL_ASK_SELF) {
        take_self(consul, reply->outcome == HF_WIRE_DONE ? body : NULL);
        if (!ask_probe(consul, now)) {
            consul->node.ordered.is_probing = false;
            hf_jobs_end(&consul->node.ordered.jobs, HF_NO_MEMORY,
                        "out of memory");
        }
        return;
    }
    consul->node.ordered.is_probing = false;
    describe(consul);
    if (reply->outcome == HF_WIRE_ERROR) {
        hf_jobs_find(&consul->node.ordered.jobs, HF_FINDING_ERROR, "%s",
                     consul->node.why);
    }
    hf_jobs_end(&consul->node.ordered.jobs, HF_OK, NULL);
}
