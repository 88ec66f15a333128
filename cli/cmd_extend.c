/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast extend: adopt a lock, which renews it, and hand it on again. */
#include "cmd.h"

#include "acquire.h"
#include "exit_code.h"
#include "opts_wait.h"
#include "owner_text.h"
#include "signals.h"
#include "store.h"

static const struct cli_opt opts[] = {
    CLI_OPT_OWNER,
    CLI_OPT_TTL,
    CLI_OPT_NAME,
    {.name = NULL},
};

static int extend(struct cli_args *args, struct hf_client *client,
                  const char *owner)
{
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error = {.text = ""};
    cli_acquire_request(&request, args);
    int code = cli_acquire_ttl(&request, client, args);
    if (code != 0) {
        return code;
    }
    request.ttl_ms = args->ttl_ms != CLI_UNSET ? args->ttl_ms : 0; /* its own */
    request.liveness = HF_LIVENESS_LEASE;
    enum hf_status status =
        hf_lock_adopt(client, &request, owner, &lock, &error);
    return status == HF_OK ? cli_owner_text_print(client, lock, args, true)
                           : cli_owner_text_fail(status, args, &error);
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    const char *owner = cli_owner_text_given(args);
    if (owner == NULL) {
        return CLI_EXIT_USAGE;
    }
    cli_signals_block_pipe();
    int code = cli_store_find(args, &client);
    if (code == 0) {
        code = extend(args, client, owner);
        hf_client_close(client);
    }
    return code;
}

const struct cli_cmd cli_cmd_extend = {
    .name = "extend",
    .usage = "NAME [--owner OWNER@FENCE] [--ttl DUR]",
    .summary = "renew a lock of acquire",
    .text = "Succeeds if a majority of the nodes still has the owner: a lost "
            "lock is not\nacquired again (exit 76). Without --ttl the lock's "
            "ttl stays the same. Prints a\nline as acquire does. If that fails "
            "(exit 70), the lock is extended all the\nsame.\n",
    .opts = opts,
    .takes_name = true,
    .run = run,
};
