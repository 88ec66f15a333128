/* SPDX-License-Identifier: Apache-2.0 */
/* The deadline is computed before the lock is detached, and what is left of it
 * after: whatever takes time in between only shortens what is printed. If
 * stdout cannot be written, a fresh lock is released at once: its owner text,
 * the only key to it, would be lost, and the name would stay held for the ttl.
 *
 * An owner text of HOLDFAST_OWNER that an outer `holdfast run` has set is
 * refused: that run renews and releases its lock itself. */
#include "owner_text.h"

#include "clocks.h"
#include "env.h"
#include "exit_code.h"
#include "message.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_owner_text_given(const struct cli_args *args)
{
    const char *owner =
        args->owner != NULL ? args->owner : getenv("HOLDFAST_OWNER");
    if (owner == NULL || owner[0] == '\0') {
        (void)cli_message(CLI_EXIT_USAGE, args->name,
                          "whose? put what acquire printed into "
                          "HOLDFAST_OWNER, or give --owner OWNER@FENCE");
        return NULL;
    }
    if (args->owner == NULL && cli_env_is_of(args->name, owner)) {
        (void)cli_message(CLI_EXIT_USAGE, args->name,
                          "held by the `holdfast run` that this command runs "
                          "under, which renews it and releases it when the "
                          "command has ended");
        return NULL;
    }
    return owner;
}

int cli_owner_text_fail(enum hf_status status, const struct cli_args *args,
                        const struct hf_error *error)
{
    return status == HF_LOST
               ? cli_message(CLI_EXIT_LOST, args->name,
                             "not held by this owner any more (released, run "
                             "out or broken)")
               : cli_store_fail(status, args->name, error);
}

static void print(struct cli_out *out, const struct cli_args *args,
                  const char *owner, uint64_t fence, int64_t left_ms)
{
    cli_out_init(out, STDOUT_FILENO);
    if (!args->is_json) {
        cli_out_text(out, owner);
        cli_out_text(out, " ");
        cli_out_uint(out, fence);
        cli_out_text(out, " ");
        cli_out_seconds(out, left_ms);
        cli_out_text(out, "\n");
        return;
    }
    cli_out_json_open(out);
    cli_out_json_text(out, "name", args->name);
    cli_out_json_text(out, "owner", owner);
    cli_out_json_fence(out, fence);
    cli_out_json_int(out, "deadline_ms", cli_time_wall_ms() + left_ms);
    cli_out_json_int(out, "remaining_ms", left_ms);
    cli_out_json_close(out);
}

int cli_owner_text_print(struct hf_client *client, struct hf_lock *lock,
                         const struct cli_args *args, bool is_extended)
{
    char owner[HF_OWNER_TEXT_MAX];
    struct cli_out out;
    uint64_t fence = hf_lock_fence(lock);
    struct hf_instant now = cli_time_now(); /* first: a pause must only shorten
                                               the lease */
    struct hf_instant end =
        hf_instant_add(now, hf_span_ms(hf_lock_remaining_ms(lock)));
    enum hf_status status = hf_lock_detach(lock, owner); /* takes time */
    int64_t left_ms = hf_span_ms_floor(hf_instant_until(cli_time_now(), end));
    if (status == HF_UNSUPPORTED) {
        (void)hf_lock_release(lock);
        return cli_message(cli_exit_code(status), args->name,
                           "in this store a lock ends with the process that "
                           "acquired it: use holdfast run, or --while-pid");
    }
    if (status != HF_OK || left_ms <= 0) {
        return cli_message(CLI_EXIT_LOST, args->name,
                           "the lease was over before it could be printed");
    }
    print(&out, args, owner, fence, left_ms);
    if (cli_out_flush(&out)) {
        return 0;
    }
    if (is_extended) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "extended, but stdout",
                                 out.error);
    }
    enum hf_status ignored =
        hf_owner_release(client, args->name, strlen(args->name), owner, NULL);
    (void)ignored; /* else it ends with its lease */
    return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

int cli_owner_text_show(struct hf_lock *lock, int64_t ttl_ms,
                        const struct cli_args *args)
{
    char text[HF_OWNER_TEXT_MAX];
    struct cli_out out, owner;
    hf_lock_owner(lock, text);
    size_t len = strlen(text);
    cli_out_init_text(&owner, text + len, sizeof(text) - len);
    cli_out_text(&owner, "/");
    cli_out_int(&owner, ttl_ms);
    print(&out, args, text, hf_lock_fence(lock), hf_lock_remaining_ms(lock));
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}
