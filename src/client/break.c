/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a name from its holder.
 *
 *   look at the mark that --once left
 *   BREAK to all nodes: the breaker replaces the holder, its expiry stays
 *   wait until the last of the leases that were found is over
 *   withdraw the mark, or the name would not be free for --once
 *   RELEASE to those that have answered: the counter moves on, the name is free
 *
 * The holder cannot renew any more, and believes to hold until its own
 * deadline, which is before the expiry that the nodes keep: so the name is
 * granted to no client before the holder has stopped. With `now` the name is
 * freed at once and two may run until then; the fence has moved on either way.
 * A name that was released and is only kept taken is freed at once, too.
 *
 * If the break is given up, the nodes that have answered give the name back.
 * The holder is owner at the same counter again, and renews, unless a renewal
 * was refused by a majority meanwhile. Those who share are not given back.
 *
 * A client never believes to hold for longer than max_ttl from now, on which
 * all clients of a store agree. What names more has a clock that was set back
 * since: a node cuts it.
 *
 * A node in quarantine may have lost a lease. If too few others answer, the
 * break waits for the longest lease that there can be.
 *
 * A node that did not answer in time may execute BREAK later, and take the name
 * from a holder to which it was granted meanwhile. A RELEASE behind that would
 * free it while that holder believes to hold it; so what BREAK leaves there
 * ends by itself, with the lease that it found.
 *
 * Only the mark that was seen before BREAK is withdrawn: where the name was
 * free, another run may have begun since. */
#include "client/inspect.h"
#include "client/look.h"
#include "client/mark.h"

#include "base/fail.h"
#include "core/owner.h"
#include "core/validity.h"
#include "io/clock.h"

#include <string.h>

static const char break_label[] = "break";

/* What break.lua writes behind the breaker's owner, over what may be the lock
 * of another library. */
static const char long_mark[] = "-foreign";
#define LONG_MARK_LEN (sizeof(long_mark) - 1)

/* A node says no more of a text. */
#define SAID_MAX 512

struct found {
    struct hf_rival rival; /* whose lease is the longest */
    int64_t left_ms;       /* its */
    bool is_endless;
    bool is_refused;
    bool has_long; /* some node may have written long_mark */
    uint64_t counter;
    uint16_t heard;  /* nodes that have answered */
    uint16_t voting; /* … and that vote */
    unsigned interrupts;
    struct hf_bytes back[HF_NODES_MAX]; /* what was replaced there */
    char text[HF_NODES_MAX][SAID_MAX];
};

struct breaking {
    struct hf_client *client;
    struct hf_order order; /* the name, and the breaker */
    bool now;
    hf_break_fn *may_wait; /* or NULL */
    void *user;
    struct hf_mark mark;
    struct found found;
    char owner[HF_OWNER_MAX + LONG_MARK_LEN];
};

static void note_rival(struct found *found, const struct hf_client *client,
                       const struct hf_answer *answer)
{
    struct hf_rival *rival = &found->rival;
    size_t len = answer->owner == NULL ? 0 : answer->owner_len;
    rival->is_known = true;
    rival->kind = answer->kind;
    rival->node = answer->node;
    rival->left_ms = answer->left_ms;
    rival->counter = 0;
    rival->heard = client->now;
    rival->len = len < sizeof(rival->owner) ? len : sizeof(rival->owner);
    memcpy(rival->owner, len == 0 ? "" : answer->owner, rival->len);
}

/* One that was cut cannot be given back, nor a group or a key of another
 * type. */
static void note_text(struct found *found, const struct hf_answer *answer)
{
    size_t len = answer->owner == NULL ? 0 : answer->owner_len;
    if (len < SAID_MAX && answer->kind == HF_HOLDER_FOREIGN) {
        char *text = found->text[answer->node];
        memcpy(text, len == 0 ? "" : answer->owner, len);
        found->back[answer->node] = (struct hf_bytes){text, len};
    }
}

/* Whether it may be the lock of another library, as break.lua says. */
static bool is_long(const struct hf_answer *answer)
{
    const char *text = answer->owner;
    size_t len = answer->owner_len;
    return answer->sharers == 0 && text != NULL &&
           (!hf_owner_is_ours(text, len) ||
            (len > LONG_MARK_LEN && memcmp(text + len - LONG_MARK_LEN,
                                           long_mark, LONG_MARK_LEN) == 0));
}

static bool on_answer(struct hf_look *look, const struct hf_answer *answer)
{
    struct found *found = look->user;
    struct hf_client *client = look->op.client;
    struct hf_holder holder;
    uint16_t bit = (uint16_t)(1U << answer->node);
    hf_holder_read(answer, &holder);
    found->heard |= bit;
    found->voting |= (uint16_t)(bit & client->nodes.voting);
    found->counter =
        answer->counter > found->counter ? answer->counter : found->counter;
    if (holder.kind == HF_HOLDER_NONE || holder.kind == HF_HOLDER_ENDED) {
        return false;
    }
    found->is_endless |= answer->left_ms < 0;
    found->is_refused |= answer->verdict == HF_VERDICT_REFUSED;
    found->has_long |= is_long(answer);
    note_text(found, answer);
    if (!found->rival.is_known || answer->left_ms < 0 ||
        answer->left_ms > found->left_ms) {
        note_rival(found, client, answer);
    }
    found->left_ms =
        answer->left_ms > found->left_ms ? answer->left_ms : found->left_ms;
    return false;
}

static size_t write_owner(struct hf_client *client, char *out)
{
    uint8_t id[HF_OWNER_ID_LEN];
    hf_client_entropy(client, id, sizeof(id));
    return hf_owner_emit(out, id, client->host, client->pid, hf_clock_wall_s(),
                         break_label);
}

/* ---- Its steps --------------------------------------------------------- */

static void begin_look(struct breaking *breaking, struct hf_look *look)
{
    const struct hf_order *order = &breaking->order;
    hf_look_init(look, breaking->client, HF_VERB_BREAK, order->name,
                 order->name_len);
    look->now = breaking->now;
    look->owner = order->text;
    look->owner_len = order->text_len;
    look->heard = on_answer;
    look->user = &breaking->found;
}

static enum hf_status take(struct breaking *breaking, struct hf_error *error)
{
    struct hf_look look;
    struct found *found = &breaking->found;
    const struct hf_client *client = breaking->client;
    begin_look(breaking, &look);
    found->interrupts = look.op.interrupts;
    if (!hf_look_begin(&look)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&look.op, error);
    int64_t most_ms = client->url->max_ttl_ms;
    if (__builtin_popcount(found->voting) < client->nodes.quorum &&
        found->left_ms < most_ms) {
        found->left_ms = most_ms;
    }
    return status;
}

static bool on_back(struct hf_look *look, const struct hf_answer *answer)
{
    (void)look;
    (void)answer;
    return false;
}

/* At nodes that do not answer the breaker is left, until the lease is over. */
static void give_back(struct breaking *breaking)
{
    struct hf_look look;
    begin_look(breaking, &look);
    look.op.is_cleanup = true;
    look.heard = on_back;
    look.back = breaking->found.back;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        look.asked |=
            (uint16_t)(breaking->found.back[i].len == 0 ? 1U << i : 0);
    }
    if (look.asked != UINT16_MAX && hf_look_begin(&look)) {
        (void)hf_op_await(&look.op, NULL);
    }
}

/* The old lease is over when its expiry has passed, on the slowest of the
 * clocks that are within drift of ours. */
static struct hf_span span_of(const struct found *found)
{
    struct hf_span left = hf_span_ms(found->left_ms);
    return (struct hf_span){left.ns + hf_drift(left).ns};
}

/* The mutex is let go meanwhile. */
static enum hf_status ask_whether(struct breaking *breaking,
                                  struct hf_error *error)
{
    struct hf_client *client = breaking->client;
    const struct found *found = &breaking->found;
    char text[512];
    struct hf_holder holder;
    struct hf_caller self;
    hf_rival_holder(&found->rival, client->now, &holder);
    int64_t left_ms = hf_span_ms_ceil(span_of(found));
    hf_client_let_out(client, &self);
    bool may = breaking->may_wait(breaking->user, &holder, left_ms);
    hf_client_take_in(client, &self);
    if (client->is_closing) {
        return hf_fail(error, HF_CANCELLED, "the client was closed");
    }
    if (!may && !found->rival.is_known) {
        return hf_fail(error, HF_BUSY,
                       "a server in quarantine may have lost its lease");
    }
    if (!may) {
        hf_rival_write(&found->rival, client->now, text, sizeof(text));
        return hf_fail(error, HF_BUSY, "%s", text);
    }
    return HF_OK;
}

static enum hf_status wait_out(struct breaking *breaking,
                               struct hf_error *error)
{
    struct hf_op op;
    struct hf_client *client = breaking->client;
    struct hf_instant end =
        hf_instant_add(client->now, span_of(&breaking->found));
    if (breaking->may_wait != NULL) {
        enum hf_status status = ask_whether(breaking, error);
        if (status != HF_OK) {
            return status;
        }
    }
    hf_op_init(&op, client, HF_OP_PAUSE);
    op.interrupts = breaking->found.interrupts;
    if (!hf_op_list(&op)) {
        return hf_fail_memory(error);
    }
    hf_heap_set(&client->heap, &op.item, end);
    return hf_op_await(&op, error);
}

static enum hf_status release(struct breaking *breaking, struct hf_error *error)
{
    struct hf_order order = breaking->order;
    uint16_t spared = (uint16_t)~breaking->found.heard;
    uint64_t counter = breaking->found.counter;
    enum hf_status status = HF_OK;
    if (breaking->found.has_long) {
        order.text_len += LONG_MARK_LEN;
        status =
            hf_owner_disown(breaking->client, &order, counter, spared, error);
    }
    if (status == HF_OK || status == HF_LOST) {
        status = hf_owner_disown(breaking->client, &breaking->order, counter,
                                 spared, error);
    }
    return status == HF_LOST ? HF_OK : status;
}

static enum hf_status keep_until_over(struct breaking *breaking,
                                      struct hf_error *error)
{
    if (breaking->found.is_refused) {
        return hf_fail(error, HF_BUSY,
                       "held by another kind of client, without expiry: "
                       "only with --now");
    }
    return breaking->found.left_ms > 0 ? wait_out(breaking, error) : HF_OK;
}

static enum hf_status break_name(struct breaking *breaking,
                                 int64_t *held_until_ms, struct hf_error *error)
{
    struct hf_client *client = breaking->client;
    const struct hf_order *order = &breaking->order;
    enum hf_status status = hf_mark_find(client, order->name, order->name_len,
                                         &breaking->mark, error);
    if (status != HF_OK) {
        return status;
    }
    status = take(breaking, error);
    *held_until_ms = breaking->found.is_endless ? -1 : breaking->found.left_ms;
    if (!breaking->now) {
        status = status == HF_OK ? keep_until_over(breaking, error) : status;
        if (status != HF_OK) {
            give_back(breaking);
            return status;
        }
        *held_until_ms = 0;
    }
    if (status == HF_OK) {
        status = hf_mark_withdraw(client, order->name, order->name_len,
                                  &breaking->mark, error);
    }
    if (breaking->now) {
        return status;
    }
    enum hf_status freed = release(breaking, status == HF_OK ? error : NULL);
    return status == HF_OK ? freed : status;
}

static enum hf_status run(struct breaking *breaking, struct hf_client *client,
                          const void *name, size_t name_len,
                          int64_t *held_until_ms, struct hf_error *error)
{
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(name, name_len, error);
    if (status == HF_OK) {
        size_t len = write_owner(client, breaking->owner);
        memcpy(breaking->owner + len, long_mark, LONG_MARK_LEN);
        breaking->client = client;
        breaking->order = (struct hf_order){
            .name = name,
            .name_len = name_len,
            .text = breaking->owner,
            .text_len = len,
            .is_owner = true,
            .is_lasting = true,
            .ttl_ms = client->url->max_ttl_ms,
        };
        status = break_name(breaking, held_until_ms, error);
    }
    hf_client_leave(client);
    return status;
}

enum hf_status hf_client_break(struct hf_client *client, const void *name,
                               size_t name_len, bool now,
                               int64_t *held_until_ms, struct hf_error *error)
{
    struct breaking breaking;
    int64_t left_ms = 0;
    memset(&breaking, 0, sizeof(breaking));
    breaking.now = now;
    enum hf_status status =
        run(&breaking, client, name, name_len, &left_ms, error);
    if (held_until_ms != NULL) {
        *held_until_ms = left_ms;
    }
    return status;
}

enum hf_status hf_client_break_wait(struct hf_client *client, const void *name,
                                    size_t name_len, hf_break_fn *may_wait,
                                    void *user, struct hf_error *error)
{
    struct breaking breaking;
    int64_t left_ms = 0;
    memset(&breaking, 0, sizeof(breaking));
    breaking.may_wait = may_wait;
    breaking.user = user;
    return run(&breaking, client, name, name_len, &left_ms, error);
}
