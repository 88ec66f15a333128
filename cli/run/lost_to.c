/* SPDX-License-Identifier: Apache-2.0 */
/* Asked once, when a lock was lost and its command still has time: a message
 * that names the next holder saves the search for it. It is a hint, never a
 * proof: the store may have changed since. Of several names, or a semaphore,
 * nothing is asked.
 *
 * Cost: one round trip, for which the keeper waits, 0.9 s at most; none if less
 * than LOOK_LEFT_MS is left. */
#include "run/lost_to.h"

#include "base/assert.h"
#include "timefmt.h"

#include <string.h>

/* Milliseconds. With less time left there is no look: its request takes 0.9 s
 * at most (client/broadcast.c), and must not delay what follows. */
#define LOOK_LEFT_MS 1500

static bool is_ours(const char *owner, const struct cli_holder *holder)
{
    size_t len = strlen(holder->owner);
    return strncmp(owner, holder->owner, len) == 0 && owner[len] == '@';
}

void cli_lost_look(struct cli_lost *lost, struct hf_client *client,
                   struct hf_lock *lock, const struct cli_args *args,
                   int64_t left_ms)
{
    struct cli_info info;
    struct hf_error error;
    char owner[HF_OWNER_TEXT_MAX];
    HF_ASSERT(args->n_names > 0);
    lost->by.kind = HF_HOLDER_NONE;
    if (left_ms < LOOK_LEFT_MS || args->n_names != 1 ||
        args->permits != CLI_UNSET ||
        cli_inspect(client, args->names[0].name, args->names[0].name_len, &info,
                    &error) != HF_OK) {
        return;
    }
    hf_lock_owner(lock, owner);
    if (info.holder.kind == HF_HOLDER_HOLDFAST &&
        !is_ours(owner, &info.holder)) {
        lost->by = info.holder;
    }
}

/* The label of the owner that a break writes while it waits; "-foreign" follows
 * if it may have replaced another library's key. */
static bool is_break(const struct cli_holder *holder)
{
    return strcmp(holder->label, "break") == 0 ||
           strcmp(holder->label, "break-foreign") == 0;
}

void cli_lost_put(struct cli_out *out, const struct cli_lost *lost)
{
    const struct cli_holder *by = &lost->by;
    bool is_known = by->kind == HF_HOLDER_HOLDFAST;
    if (is_known && is_break(by)) {
        cli_out_text(out, "broken by `holdfast break` on ");
        (void)cli_out_shown(out, by->host, strlen(by->host));
        cli_out_text(out, " (pid ");
        cli_out_int(out, by->pid);
        cli_out_text(out, ") at ");
        cli_time_text(out, by->since_s);
        return;
    }
    cli_out_text(out, "the lock was broken, or the store lost it");
    if (is_known) {
        cli_out_text(out, "; ");
        (void)cli_out_shown(out, by->host, strlen(by->host));
        cli_out_text(out, " pid ");
        cli_out_int(out, by->pid);
        cli_out_text(out, " has it now");
    }
}
