/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES THAT ARE REFUSALS
 *
 * An error has the code of gRPC in its body, and a text:
 *
 *   GONE      "requested lease not found"
 *   UNSENT    the token has expired: nothing done, and login.c gets another
 *   ERROR     the request was refused, and nothing done
 *   LOST      all others: a member without a leader, a proposal that timed out.
 *             It may be executed yet. The endpoint is left for the next one */
#include "base/fail.h"
#include "store/etcd/etcd.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { /* codes of gRPC after which nothing was done */
       CODE_INVALID = 3,
       CODE_DENIED = 7,
       CODE_EXHAUSTED = 8,
       CODE_PRECONDITION = 9,
       CODE_UNAUTHENTICATED = 16
};

/* No error of etcd's: of a proxy, or of another server. */
static void take_foreign(struct hf_etcd *etcd, const struct hf_http_reply *http,
                         struct hf_wire_reply *reply)
{
    snprintf(etcd->node.why, sizeof(etcd->node.why),
             "answers with HTTP status %u%s: is it etcd 3.4 or later?",
             http->status, http->status == 200 ? " and no JSON" : "");
    reply->outcome = HF_WIRE_LOST;
    if (hf_etcd_login_note_certificate(etcd, http->body)) {
        reply->outcome = HF_WIRE_ERROR;
        reply->fault = HF_DENIED;
    }
}

/* By the code of gRPC. A request that was refused was not executed. */
static void judge_code(uint64_t code, bool wants_user,
                       struct hf_wire_reply *reply)
{
    switch (code) {
    case CODE_INVALID:
        reply->outcome = HF_WIRE_ERROR;
        reply->fault = wants_user ? HF_DENIED : HF_UNAVAILABLE;
        break;
    case CODE_DENIED:
    case CODE_UNAUTHENTICATED:
        reply->outcome = HF_WIRE_ERROR;
        reply->fault = HF_DENIED;
        break;
    case CODE_EXHAUSTED:
    case CODE_PRECONDITION:
        reply->outcome = HF_WIRE_ERROR;
        break;
    default:
        reply->outcome = HF_WIRE_LOST;
        break;
    }
}

void hf_etcd_refused(struct hf_etcd *etcd, const struct json_t *body,
                     const struct hf_http_reply *http,
                     struct hf_wire_reply *reply)
{
    const char *text = json_string_value(json_object_get(body, "message"));
    if (text == NULL || text[0] == '\0') {
        text = json_string_value(json_object_get(body, "error"));
    }
    reply->reason = etcd->node.why;
    reply->fault = HF_UNAVAILABLE;
    if (text == NULL || text[0] == '\0') {
        take_foreign(etcd, http, reply);
        return;
    }
    snprintf(etcd->node.why, sizeof(etcd->node.why), "%s", text);
    hf_error_make_plain(etcd->node.why);
    if (strstr(text, "requested lease not found") != NULL) {
        reply->outcome = HF_WIRE_GONE;
        return;
    }
    if (hf_etcd_login_is_expired(etcd, text)) {
        reply->outcome = HF_WIRE_UNSENT;
        return;
    }
    reply->is_too_long = hf_etcd_call_note_too_long(etcd, text);
    hf_etcd_login_explain(etcd);
    judge_code(hf_etcd_number(body, "code"),
               strstr(text, "user name is empty") != NULL, reply);
}
