/* SPDX-License-Identifier: Apache-2.0 */
/* Each change is reported to the client once: which nodes it asks, and the
 * reason in its errors, depend on these reports. One that changes nothing is
 * left out, else each failed attempt to connect would be a line of the log;
 * only is_reset always counts, since it voids votes. Status and fault must fit
 * each other (asserted): a node that votes has no fault, and a quarantine is
 * the fault of nodes in quarantine alone. */
#include "store/standing.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

void hf_standing_init(struct hf_standing *standing)
{
    *standing = (struct hf_standing){.status = HF_NODE_STATUS_CONNECTING,
                                     .fault = HF_UNAVAILABLE,
                                     .reason = "connecting"};
}

void hf_standing_set(struct hf_standing *standing,
                     const struct hf_store_env *env, unsigned node,
                     enum hf_node_status status, bool is_reset,
                     enum hf_status fault, const char *reason)
{
    HF_ASSERT(status != HF_NODE_STATUS_REPAIRING || fault == HF_QUARANTINED);
    HF_ASSERT(status != HF_NODE_STATUS_VOTING || fault == HF_OK);
    HF_ASSERT(status != HF_NODE_STATUS_DOWN ||
              (fault != HF_OK && fault != HF_QUARANTINED));
    bool is_same = standing->status == status && standing->fault == fault &&
                   strcmp(standing->reason, reason) == 0;
    standing->status = status;
    standing->fault = fault;
    if (reason != standing->reason) {
        snprintf(standing->reason, sizeof(standing->reason), "%s", reason);
    }
    if (!is_same || is_reset) {
        env->status(env->client, node, status, is_reset, fault,
                    standing->reason);
    }
}

enum hf_status hf_standing_cause(const struct hf_standing *standing,
                                 const char **reason)
{
    bool is_other =
        standing->fault == HF_OK || standing->fault == HF_QUARANTINED;
    *reason = standing->reason[0] != '\0' ? standing->reason
                                          : "its identity is not known";
    return is_other ? HF_UNAVAILABLE : standing->fault;
}

void hf_standing_check(const struct hf_standing *standing, bool is_ready,
                       bool has_until)
{
    bool is_voting = standing->status == HF_NODE_STATUS_VOTING;
    bool is_repairing = standing->status == HF_NODE_STATUS_REPAIRING;
    HF_ASSERT((is_voting || is_repairing) == is_ready);
    if (is_voting) {
        HF_ASSERT(standing->fault == HF_OK && !has_until);
    } else if (is_repairing) {
        HF_ASSERT(standing->fault == HF_QUARANTINED && has_until);
    } else if (standing->status == HF_NODE_STATUS_DOWN) {
        HF_ASSERT(standing->fault != HF_OK &&
                  standing->fault != HF_QUARANTINED);
    }
}
