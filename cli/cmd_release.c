/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast release: release a lock of holdfast acquire. */
#include "cmd.h"

#include "exit_code.h"
#include "opts_wait.h"
#include "owner_text.h"
#include "run/while_pid.h"
#include "store.h"

#include <string.h>

static const struct cli_opt opts[] = {
    CLI_OPT_OWNER,
    CLI_OPT_NAME,
    {.name = NULL},
};

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct hf_error error = {.text = ""};
    const char *owner = cli_owner_text_given(args);
    if (owner == NULL) {
        return CLI_EXIT_USAGE;
    }
    int kept = cli_while_release(owner, args->name);
    if (kept >= 0) {
        return kept == HF_OK
                   ? 0
                   : cli_owner_text_fail((enum hf_status)kept, args, &error);
    }
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    enum hf_status status =
        hf_owner_release(client, args->name, strlen(args->name), owner, &error);
    hf_client_close(client);
    return status == HF_OK ? 0 : cli_owner_text_fail(status, args, &error);
}

const struct cli_cmd cli_cmd_release = {
    .name = "release",
    .usage = "NAME [--owner OWNER@FENCE]",
    .summary = "release a lock of acquire",
    .text = "Exit 76 if the owner no longer held the lock.\n",
    .opts = opts,
    .takes_name = true,
    .run = run,
};
