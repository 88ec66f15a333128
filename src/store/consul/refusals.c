/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES THAT ARE REFUSALS
 *
 * Consul has a status, and a line of text. A status of 500 may be anything: a
 * request that a server could not forward, an entry of the log that was not
 * confirmed, a node that is not in the catalog, or a setting that the leader
 * does not allow. All but the last two may be executed yet. A page of HTML, or
 * a status of 200 without JSON, is a proxy's or another server's. */
#include "base/fail.h"
#include "store/consul/consul.h"

#include <stdio.h>
#include <string.h>

enum {
    STATUS_OK = 200,
    STATUS_BAD = 400,
    STATUS_UNAUTHORIZED = 401,
    STATUS_DENIED = 403,
    STATUS_TOO_LARGE = 413
};

void hf_consul_denied(struct hf_consul *consul, const char *what,
                      struct hf_wire_reply *reply)
{
    char why[HF_TEXT_CLAUSE];
    snprintf(why, sizeof(why), "%.90s", what);
    snprintf(consul->node.why, sizeof(consul->node.why),
             consul->headers == NULL
                 ? "%.60s: no token; set CONSUL_HTTP_TOKEN, or token_file"
                 : "%.60s: the token needs key_prefix \"%.40s\" and "
                   "session_prefix \"\" with policy write; for values "
                   "key_prefix \"" HF_CONSUL_VALUE_ROOT "%.40s\"",
             why, consul->prefix, consul->prefix);
    hf_error_make_plain(consul->node.why);
    reply->outcome = HF_WIRE_ERROR;
    reply->fault = HF_DENIED;
    reply->reason = consul->node.why;
}

/** A refusal of a request, of which nothing was done. */
static bool judge_refusal(struct hf_consul *consul, unsigned status,
                          struct hf_wire_reply *reply)
{
    bool is_denied = status == STATUS_DENIED || status == STATUS_UNAUTHORIZED;
    bool is_ttl = strstr(consul->node.why, "Session TTL") != NULL;
    bool is_node =
        strstr(consul->node.why, "Missing node registration") != NULL;
    reply->outcome = HF_WIRE_ERROR;
    if (is_denied) {
        hf_consul_denied(consul, consul->node.why, reply);
        return true;
    }
    if (is_node && consul->datacenter == NULL) {
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "is on a node that is not registered (yet): its agent enters "
                 "it into Consul's catalog by itself, in minutes");
        return false;
    }
    if (is_node) {
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "is an agent of another datacenter than %.60s: a session "
                 "belongs to its agent's, so name an agent there",
                 consul->datacenter);
    }
    reply->fault = HF_CONFIG;
    return is_ttl || is_node || status == STATUS_BAD ||
           status == STATUS_TOO_LARGE;
}

void hf_consul_refused(struct hf_consul *consul,
                       const struct hf_http_reply *http,
                       struct hf_wire_reply *reply)
{
    const char *text = http->body + strspn(http->body, " \t\r\n");
    if (http->status == STATUS_OK || *text == '\0' || *text == '<') {
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "answers with HTTP status %u%s: is it Consul?", http->status,
                 http->status == STATUS_OK ? " and no JSON" : "");
    } else {
        snprintf(consul->node.why, sizeof(consul->node.why), "%.150s", text);
    }
    consul->node.why[strcspn(consul->node.why, "\r\n")] = '\0';
    hf_error_make_plain(consul->node.why);
    reply->reason = consul->node.why;
    if (!judge_refusal(consul, http->status, reply)) {
        reply->outcome = HF_WIRE_LOST;
        reply->fault = HF_UNAVAILABLE;
    }
}
