/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a name from its holder.
 *
 *   MARK: what --once left is withdrawn, or the name would not be free for it
 *   BREAK to all nodes: the holder is replaced by us, its expiry stays
 *   wait until the last of the leases that were found is over
 *   RELEASE to those that have answered: counters are aligned, the name is free
 *
 * A client never believes to hold for longer than max_ttl from now, on which
 * all clients of a store agree. What names more has a clock that was set back
 * since: that is not waited for.
 *
 * A node that did not answer in time may execute BREAK later, and take the name
 * from a holder to which it was granted meanwhile. A RELEASE behind that would
 * free it while that holder believes to hold it; so what BREAK leaves there
 * ends by itself, with the lease that it found.
 *
 * The holder cannot renew any more, and believes to hold until its own
 * deadline, which is before the expiry that the nodes keep: so nobody is
 * granted the name before it has stopped. With `now` the name is freed at once
 * and two may run until then; the fence has moved on either way. */
#include "client/look.h"
#include "client/mark.h"

#include "base/fail.h"
#include "core/owner.h"
#include "core/validity.h"
#include "io/clock.h"

#include <string.h>

static const char break_label[] = "break";

struct found {
    int64_t left_ms; /* the longest */
    bool is_endless;
    bool is_refused;
    uint64_t counter;
    uint16_t heard; /* nodes that have answered */
    unsigned interrupts;
};

/* One of our kind: a holder, or a group. A break keeps whatever expiry it
 * found, also that of another kind of client. */
static bool keeps_to_max_ttl(const struct hf_answer *answer)
{
    struct hf_holder holder;
    if (answer->sharers > 0) {
        return true;
    }
    hf_owner_describe(answer->owner, answer->owner_len, &holder);
    return holder.kind == HF_HOLDER_HOLDFAST &&
           strcmp(holder.label, break_label) != 0;
}

static int64_t left_ms_of(const struct hf_client *client,
                          const struct hf_answer *answer)
{
    int64_t most_ms = client->url->max_ttl_ms;
    return answer->left_ms > most_ms && keeps_to_max_ttl(answer)
               ? most_ms
               : answer->left_ms;
}

static bool on_answer(struct hf_look *look, const struct hf_answer *answer)
{
    struct found *found = look->user;
    int64_t left_ms = left_ms_of(look->op.client, answer);
    found->heard |= (uint16_t)(1U << answer->node);
    found->is_endless |= answer->left_ms < 0;
    found->is_refused |= answer->verdict == HF_VERDICT_REFUSED;
    if (left_ms > found->left_ms) {
        found->left_ms = left_ms;
    }
    if (answer->counter > found->counter) {
        found->counter = answer->counter;
    }
    return false;
}

static size_t write_owner(struct hf_client *client, char out[HF_OWNER_MAX])
{
    uint8_t id[HF_OWNER_ID_LEN];
    hf_client_entropy(client, id, sizeof(id));
    return hf_owner_emit(out, id, client->host, client->pid, hf_clock_wall_s(),
                         break_label);
}

/* `interrupts`: as it was when the whole call began. */
static enum hf_status pause_for(struct hf_client *client, struct hf_span span,
                                unsigned interrupts, struct hf_error *error)
{
    struct hf_op op;
    hf_op_init(&op, client, HF_OP_PAUSE);
    op.interrupts = interrupts;
    if (!hf_op_list(&op)) {
        return hf_fail_memory(error);
    }
    hf_heap_set(&client->heap, &op.item, hf_instant_add(client->now, span));
    return hf_op_await(&op, error);
}

/* The old lease is over when its expiry has passed, on the slowest of the
 * clocks that are within drift of ours. */
static enum hf_status
wait_out(struct hf_client *client, const struct hf_order *order,
         const struct found *found, struct hf_error *error)
{
    if (found->left_ms > 0) {
        struct hf_span left = hf_span_ms(found->left_ms);
        struct hf_span total = {left.ns + hf_drift(left).ns};
        enum hf_status status =
            pause_for(client, total, found->interrupts, error);
        if (status != HF_OK) {
            return status;
        }
    }
    uint16_t spared = (uint16_t)~found->heard;
    enum hf_status status =
        hf_owner_disown(client, order, found->counter, spared, error);
    bool is_free = status == HF_OK || status == HF_LOST;
    return is_free ? HF_OK : status;
}

static enum hf_status break_name(struct hf_client *client,
                                 const struct hf_order *order, bool now,
                                 int64_t *held_until_ms, struct hf_error *error)
{
    struct hf_look look;
    struct found found = {0};
    hf_look_init(&look, client, HF_VERB_BREAK, order->name, order->name_len);
    look.now = now;
    look.owner = order->text;
    look.owner_len = order->text_len;
    look.heard = on_answer;
    look.user = &found;
    if (!hf_look_begin(&look)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&look.op, error);
    if (status != HF_OK) {
        return status;
    }
    found.interrupts = look.op.interrupts;
    *held_until_ms = found.is_endless ? -1 : found.left_ms;
    if (now) {
        return HF_OK;
    }
    if (found.is_refused) {
        return hf_fail(error, HF_BUSY,
                       "held by another kind of client, without expiry: "
                       "only with --now");
    }
    status = wait_out(client, order, &found, error);
    *held_until_ms = status == HF_OK ? 0 : *held_until_ms;
    return status;
}

enum hf_status hf_client_break(struct hf_client *client, const void *name,
                               size_t name_len, bool now,
                               int64_t *held_until_ms, struct hf_error *error)
{
    char owner[HF_OWNER_MAX];
    int64_t left_ms = 0;
    enum hf_status status = hf_client_enter(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(name, name_len, error);
    if (status == HF_OK) {
        status = hf_mark_clear(client, name, name_len, error);
    }
    if (status == HF_OK) {
        struct hf_order order = {
            .name = name,
            .name_len = name_len,
            .text = owner,
            .text_len = write_owner(client, owner),
            .is_owner = true,
            .is_lasting = true,
            .ttl_ms = client->url->max_ttl_ms,
        };
        status = break_name(client, &order, now, &left_ms, error);
    }
    if (held_until_ms != NULL) {
        *held_until_ms = left_ms;
    }
    hf_client_leave(client);
    return status;
}
