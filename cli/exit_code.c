/* SPDX-License-Identifier: Apache-2.0 */
/* A status's class gives the exit code. Scripts branch on how a command ended
 * and on missing rights, so that these have a code each. */
#include "exit_code.h"

static int outcome_code(enum hf_status status)
{
    if (status == HF_BUSY) {
        return CLI_EXIT_BUSY;
    }
    if (status == HF_LOST) {
        return CLI_EXIT_LOST;
    }
    return status == HF_OK ? CLI_EXIT_OK : CLI_EXIT_INTERNAL;
}

int cli_exit_code(enum hf_status status)
{
    switch (hf_status_class(status)) {
    case HF_CLASS_OUTCOME:
        return outcome_code(status);
    case HF_CLASS_RETRY:
        return CLI_EXIT_UNREACHABLE;
    case HF_CLASS_CONFIG:
        return status == HF_DENIED ? CLI_EXIT_DENIED : CLI_EXIT_CONFIG;
    case HF_CLASS_CALLER:
        return CLI_EXIT_USAGE;
    case HF_CLASS_FATAL:
        break;
    }
    return CLI_EXIT_INTERNAL;
}
