/* SPDX-License-Identifier: Apache-2.0 */
/* --once: one command in a period.
 *
 *     look      read the mark: if there is one, the command does not run
 *     acquire   the lock, as without --once
 *     mark      write the mark at a majority, before the command starts
 *     run
 *     unmark    if no command was started, or it failed with --on-fail release
 *     release
 *
 * If the command, the keeper or the machine dies after the mark was written,
 * the mark stays.
 *
 * Cost: in a period that has begun, one round trip to look, and no acquisition.
 * Else three round trips more than a run without --once (client/mark.c). */
#include "run/keeper.h"

#include "base/assert.h"
#include "exit_code.h"
#include "message.h"

#include <string.h>

static bool check_unmarked(struct cli_keeper *keeper, struct cli_acquire *take)
{
    const struct cli_args *args = keeper->args;
    HF_ASSERT(args->n_names > 0);
    for (size_t i = 0; i < args->n_names; i++) {
        int64_t left_ms = 0;
        take->outcome =
            hf_client_marked(keeper->client, args->names[i].name,
                             args->names[i].name_len, &left_ms, &take->error);
        if (take->outcome == HF_OK && left_ms > 0) {
            take->outcome = HF_BUSY;
        }
        if (take->outcome != HF_OK) {
            return false;
        }
    }
    return true;
}

bool cli_keeper_mark(struct cli_keeper *keeper, struct cli_acquire *take)
{
    HF_ASSERT(keeper->lock != NULL && keeper->child.pid == 0);
    take->outcome =
        hf_lock_mark(keeper->lock, keeper->args->once_ms, &take->error);
    if (take->outcome == HF_OK) {
        return true;
    }
    (void)hf_lock_release(keeper->lock);
    keeper->lock = NULL;
    return false;
}

/* A name can be reserved where a lock can be handed on. Nothing is handed on
 * here: the text is no owner's, which is looked at last. */
static enum hf_status try_to_hand_on(struct cli_keeper *keeper,
                                     struct hf_error *error)
{
    struct hf_request request;
    struct hf_lock *none;
    hf_request_init(&request, NULL);
    request.name = keeper->args->names[0].name;
    request.name_len = keeper->args->names[0].name_len;
    return hf_lock_adopt(keeper->client, &request, "", &none, error);
}

/* A store without marks cannot reserve a name after its release, either, and
 * neither can one that ends locks with their client's session: better reported
 * before the command than after it. */
static bool can_reserve(struct cli_keeper *keeper, struct cli_acquire *take)
{
    int64_t left_ms = 0;
    const struct cli_args *args = keeper->args;
    if (args->min_hold_ms == CLI_UNSET ||
        (hf_client_marked(keeper->client, args->names[0].name,
                          args->names[0].name_len, &left_ms,
                          &take->error) != HF_UNSUPPORTED &&
         try_to_hand_on(keeper, &take->error) != HF_UNSUPPORTED)) {
        return true;
    }
    take->outcome = HF_UNSUPPORTED;
    return false;
}

bool cli_keeper_may_begin(struct cli_keeper *keeper, struct cli_acquire *take)
{
    bool is_once = keeper->args->once_ms != CLI_UNSET;
    return is_once ? check_unmarked(keeper, take) : can_reserve(keeper, take);
}

static bool has_failed(const struct cli_keeper *keeper)
{
    return keeper->why != CLI_WHY_NONE ||
           cli_child_code(&keeper->child) != CLI_EXIT_OK;
}

static void say_kept(const struct cli_keeper *keeper,
                     const struct hf_error *error)
{
    struct cli_out out;
    cli_message_begin(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    cli_out_text(&out, ": the period of --once may stand although ");
    cli_out_text(&out, "no command has succeeded in it: ");
    cli_out_plain(&out, error->text);
    cli_out_text(&out, "; holdfast break ends it");
    (void)cli_message_end(&out, 0);
}

void cli_keeper_unmark(struct cli_keeper *keeper, bool has_run)
{
    struct hf_error error;
    const struct cli_args *args = keeper->args;
    bool is_left =
        !has_run || (args->on_fail == CLI_FAIL_RELEASE && has_failed(keeper));
    if (args->once_ms == CLI_UNSET || !is_left) {
        return;
    }
    HF_ASSERT(keeper->lock != NULL); /* the mark is withdrawn while it is held
                                      */
    if (hf_lock_unmark(keeper->lock, &error) != HF_OK) {
        say_kept(keeper, &error);
    }
}
