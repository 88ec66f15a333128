/* SPDX-License-Identifier: Apache-2.0 */
/* The one wording of a holder and of a node, for ls, ls NAME and the line of a
 * waiter. Hosts, labels and owners come from a server, so each is escaped
 * where it is printed. In JSON a host, a label or a fence that is not known is
 * left out, and a lease without an end is null, not 0. */
#include "format.h"

#include "clocks.h"
#include "timefmt.h"

#include <string.h>

static const char *state_text(enum hf_kind kind)
{
    switch (kind) {
    case HF_HOLDER_NONE:
        return "free";
    case HF_HOLDER_HOLDFAST:
        return "held";
    case HF_HOLDER_ENDED:
        return "ended";
    case HF_HOLDER_FOREIGN:
        return "foreign";
    case HF_HOLDER_TYPE:
        return "foreign-type";
    case HF_HOLDER_SHARED:
        return "shared";
    }
    return "unknown";
}

void cli_format_left(struct cli_out *out, int64_t remaining_ms)
{
    char text[CLI_DURATION_TEXT];
    if (remaining_ms < 0) {
        cli_out_text(out, "no expiry");
        return;
    }
    cli_out_text(out, cli_duration_text(remaining_ms, text));
    cli_out_text(out, " left");
}

/* A refused request learns that a group holds the name, and not of how many
 * sharers it is: then there is no number. */
static void show_group(struct cli_out *out, const struct cli_holder *holder)
{
    if (holder->permits == 0) {
        cli_out_text(out, "held by ");
        if (holder->sharers > 0) {
            cli_out_int(out, holder->sharers);
            cli_out_text(out, " ");
        }
        cli_out_text(out, holder->sharers == 1 ? "reader" : "readers");
        return;
    }
    if (holder->sharers == 0) {
        cli_out_text(out, "held as a semaphore of ");
        cli_out_int(out, holder->permits);
        return;
    }
    /* Waiters for a permit are counted as sharers too. */
    cli_out_int(out, holder->sharers < holder->permits ? holder->sharers
                                                       : holder->permits);
    cli_out_text(out, " of ");
    cli_out_int(out, holder->permits);
    cli_out_text(out, " permits held");
}

void cli_format_who(struct cli_out *out, const struct cli_holder *holder)
{
    switch (holder->kind) {
    case HF_HOLDER_NONE:
        cli_out_text(out, "free");
        return;
    case HF_HOLDER_HOLDFAST:
        cli_out_text(out, "held by ");
        break;
    case HF_HOLDER_ENDED:
        cli_out_text(out, "ended, and kept taken, by ");
        break;
    case HF_HOLDER_FOREIGN:
        cli_out_text(out, "held by another kind of client (value ");
        (void)cli_out_shown(out, holder->owner, strlen(holder->owner));
        cli_out_text(out, ")");
        return;
    case HF_HOLDER_TYPE:
        cli_out_text(out, "held by another kind of client (not a plain key)");
        return;
    case HF_HOLDER_SHARED:
        show_group(out, holder);
        return;
    }
    (void)cli_out_shown(out, holder->host, strlen(holder->host));
    cli_out_text(out, " pid ");
    cli_out_int(out, holder->pid);
}

void cli_format_since(struct cli_out *out, const struct cli_holder *holder)
{
    if (holder->kind != HF_HOLDER_NONE && holder->since_s > 0) {
        cli_out_text(out, " since ");
        cli_time_text(out, holder->since_s);
    }
}

void cli_format_held(struct cli_out *out, const struct cli_holder *holder)
{
    cli_format_who(out, holder);
    cli_format_since(out, holder);
    if (holder->kind != HF_HOLDER_NONE && holder->label[0] != '\0') {
        cli_out_text(out, " (");
        (void)cli_out_shown(out, holder->label, strlen(holder->label));
        cli_out_text(out, ")");
    }
}

void cli_format_end(struct cli_out *out, const struct cli_holder *holder)
{
    cli_time_text(out,
                  (cli_time_wall_ms() + holder->remaining_ms + 999) / 1000);
}

void cli_format_frees(struct cli_out *out, const struct cli_holder *holder)
{
    if (holder->kind == HF_HOLDER_NONE) {
        return;
    }
    if (holder->remaining_ms < 0) {
        cli_out_text(out, ", has no expiry");
        return;
    }
    cli_out_text(out, ", frees by ");
    cli_format_end(out, holder);
}

void cli_format_holder(struct cli_out *out, const struct cli_holder *holder)
{
    cli_format_held(out, holder);
    cli_format_frees(out, holder);
}

void cli_format_holder_json(struct cli_out *out,
                            const struct cli_holder *holder, bool split)
{
    cli_out_json_text(out, "state", split ? "split" : state_text(holder->kind));
    if (holder->fence > 0) {
        cli_out_json_fence(out, holder->fence);
    }
    if (holder->kind == HF_HOLDER_NONE) {
        return;
    }
    cli_format_identity_json(out, holder);
    if (holder->kind == HF_HOLDER_SHARED) {
        cli_out_json_int(out, "sharers", holder->sharers);
        cli_out_json_int(out, "permits", holder->permits);
    }
    cli_format_remaining_json(out, holder->remaining_ms);
}

void cli_format_identity_json(struct cli_out *out,
                              const struct cli_holder *holder)
{
    cli_out_json_text(out, "owner", holder->owner);
    if (holder->host[0] != '\0') {
        cli_out_json_text(out, "host", holder->host);
        cli_out_json_int(out, "pid", holder->pid);
        cli_out_json_int(out, "since", holder->since_s);
    }
    if (holder->label[0] != '\0') {
        cli_out_json_text(out, "label", holder->label);
    }
}

void cli_format_remaining_json(struct cli_out *out, int64_t remaining_ms)
{
    cli_out_json_key(out, "remaining_ms");
    if (remaining_ms < 0) {
        cli_out_text(out, "null");
    } else {
        cli_out_int(out, remaining_ms);
    }
}

const char *cli_format_node_state(enum hf_health state)
{
    switch (state) {
    case HF_NODE_CONNECTING:
        return "connecting";
    case HF_NODE_UP:
        return "up";
    case HF_NODE_QUARANTINED:
        return "quarantined";
    case HF_NODE_DOWN:
        return "down";
    }
    return "unknown";
}

void cli_format_error(struct hf_error *error, enum hf_status status)
{
    struct cli_out out;
    error->status = status;
    error->node = -1;
    cli_out_init_text(&out, error->text, sizeof(error->text));
    cli_out_text(&out, hf_status_text(status));
}
