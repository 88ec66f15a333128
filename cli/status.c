/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include "clocks.h"
#include "message.h"
#include "out.h"

static void begin(struct cli_out *out, struct cli_status *status,
                  const char *event)
{
    cli_out_init_brief(out, status->fd);
    if (status->is_cut) {
        cli_out_text(out, "\n");
    }
    cli_out_json_open(out);
    cli_out_json_text(out, "event", event);
    cli_out_json_text(out, "name", status->name);
}

/* A pipe with room takes a page. With very long names a line is longer. */
static void end(struct cli_out *out, struct cli_status *status)
{
    cli_out_json_close(out);
    status->is_cut = !cli_out_flush(out);
}

void cli_status_say(struct cli_status *status, const char *event)
{
    struct cli_out out;
    if (status->fd < 0 || !cli_message_fits(status->fd)) {
        return;
    }
    begin(&out, status, event);
    end(&out, status);
}

void cli_status_ahead(struct cli_status *status, uint32_t ahead)
{
    struct cli_out out;
    if (status->fd < 0 || !cli_message_fits(status->fd)) {
        return;
    }
    begin(&out, status, "waiting");
    cli_out_json_int(&out, "ahead", ahead);
    end(&out, status);
}

/* Of several names: the fence of each, in the order of the request. */
static void put_fences(struct cli_out *out, const struct hf_lock *lock)
{
    size_t n = hf_lock_count(lock);
    cli_out_json_fence(out, hf_lock_fence(lock));
    if (n == 1) {
        return;
    }
    cli_out_json_key(out, "fences");
    for (size_t i = 0; i < n; i++) {
        cli_out_text(out, i == 0 ? "[" : ",");
        cli_out_uint(out, hf_lock_fence_at(lock, i));
    }
    cli_out_text(out, "]");
}

void cli_status_lock(struct cli_status *status, const char *event,
                     const struct hf_lock *lock)
{
    struct cli_out out;
    char owner[HF_OWNER_TEXT_MAX];
    if (status->fd < 0 || !cli_message_fits(status->fd)) {
        return;
    }
    int64_t left_ms = hf_lock_remaining_ms(lock);
    hf_lock_owner(lock, owner);
    begin(&out, status, event);
    put_fences(&out, lock);
    if (hf_lock_slot(lock) >= 0) {
        cli_out_json_int(&out, "slot", hf_lock_slot(lock));
    }
    cli_out_json_text(&out, "owner", owner);
    cli_out_json_int(&out, "deadline_ms", cli_time_wall_ms() + left_ms);
    cli_out_json_int(&out, "remaining_ms", left_ms);
    end(&out, status);
}
