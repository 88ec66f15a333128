/* SPDX-License-Identifier: Apache-2.0 */
#include "exit_code.h"

int cli_exit_code(enum hf_status status)
{
    switch (status) {
    case HF_OK:
        return CLI_EXIT_OK;
    case HF_BUSY:
        return CLI_EXIT_BUSY;
    case HF_LOST:
        return CLI_EXIT_LOST;
    case HF_UNKNOWN:
    case HF_UNAVAILABLE:
    case HF_QUARANTINED:
        return CLI_EXIT_UNREACHABLE;
    case HF_DENIED:
        return CLI_EXIT_DENIED;
    case HF_INVALID:
        return CLI_EXIT_USAGE;
    case HF_CONFIG:
    case HF_UNSUPPORTED:
        return CLI_EXIT_CONFIG;
    case HF_CANCELLED:
    case HF_NO_MEMORY:
    case HF_INTERNAL:
        break;
    }
    return CLI_EXIT_INTERNAL;
}
