/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the holder of a lock in messages. */
#include "client/holder_hint.h"

#include "client/holder.h"

#include "core/owner.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void write_clock(int64_t since_s, char out[HF_TEXT_SHORT])
{
    time_t at = (time_t)since_s;
    struct tm broken;
    out[0] = '\0';
    if (since_s > 0 && localtime_r(&at, &broken) != NULL) {
        strftime(out, 16, "%H:%M:%S", &broken);
    }
}

/* "db3 pid 4711 since 02:00:04 (label)" */
static void write_process(const struct hf_holder *holder, char *out, size_t len)
{
    char since[HF_TEXT_SHORT];
    write_clock(holder->since_s, since);
    bool has_label = holder->label[0] != '\0';
    snprintf(out, len, "%s pid %lld%s%s%s%s%s",
             holder->host[0] != '\0' ? holder->host : "?",
             (long long)holder->pid, since[0] != '\0' ? " since " : "", since,
             has_label ? " (" : "", holder->label, has_label ? ")" : "");
}

/* A server refuses a free name while it has waiters. */
static bool is_free(const struct hf_holder *holder)
{
    return holder->kind == HF_HOLDER_NONE && holder->remaining_ms >= 0;
}

static void write_holder(const struct hf_holder *holder, char *out, size_t len)
{
    char process[HF_TEXT_ADVICE];
    write_process(holder, process, sizeof(process));
    switch (holder->kind) {
    case HF_HOLDER_HOLDFAST:
        snprintf(out, len, "held by %s", process);
        break;
    case HF_HOLDER_ENDED:
        snprintf(out, len, "kept taken after its end by %s", process);
        break;
    case HF_HOLDER_FOREIGN:
        snprintf(out, len, "held by another kind of client (%.80s)",
                 holder->owner);
        break;
    case HF_HOLDER_TYPE:
        snprintf(out, len,
                 "held by another kind of client (its key has another type)");
        break;
    case HF_HOLDER_SHARED:
        snprintf(out, len, "held by others who share it");
        break;
    case HF_HOLDER_NONE:
        snprintf(out, len, "%s",
                 is_free(holder) ? "free, but others wait for it"
                                 : "held by another owner");
        break;
    }
}

static void write_left(const struct hf_holder *holder, char *out, size_t len)
{
    int64_t left_ms = holder->remaining_ms;
    if (is_free(holder)) {
        return;
    }
    if (left_ms < 0) {
        snprintf(out, len, ", without expiry");
        return;
    }
    snprintf(out, len, ", %s in %lld.%lld s",
             holder->kind == HF_HOLDER_ENDED ? "free" : "lease ends",
             (long long)left_ms / 1000, (long long)left_ms % 1000 / 100);
}

void hf_holder_hint_holder(const struct hf_holder_hint *rival,
                           struct hf_instant now, struct hf_holder *out)
{
    memset(out, 0, sizeof(*out));
    if (!rival->is_known) {
        return;
    }
    out->kind = rival->kind;
    if (rival->len > 0) {
        hf_owner_describe(rival->owner, rival->len, out);
    }
    if (rival->kind == HF_HOLDER_TYPE || rival->kind == HF_HOLDER_SHARED) {
        out->kind = rival->kind;
    }
    hf_holder_set_since(out, rival->counter);
    int64_t passed_ms = hf_span_ms_floor(hf_instant_until(rival->read_at, now));
    out->remaining_ms = rival->left_ms < 0 ? -1
                        : rival->left_ms < passed_ms
                            ? 0
                            : rival->left_ms - passed_ms;
}

void hf_holder_hint_write(const struct hf_holder_hint *rival,
                          struct hf_instant now, char *out, size_t len)
{
    if (!rival->is_known) {
        snprintf(out, len, "%s", hf_status_text(HF_BUSY));
        return;
    }
    struct hf_holder holder;
    hf_holder_hint_holder(rival, now, &holder);
    write_holder(&holder, out, len);
    size_t used = strlen(out);
    write_left(&holder, out + used, len - used);
}
