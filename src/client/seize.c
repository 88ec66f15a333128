/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a name with BREAK, and giving it back.
 *
 *   IDLE -> TAKING -> TAKEN -> RETURNING -> OVER
 *
 * The query that gives back has its room reserved before BREAK is sent, so it
 * cannot run out of memory. It may be repeated: a node gives the name back only
 * while the breaker has it.
 *
 * If the break is cancelled before all nodes have replied to BREAK, the name is
 * given back when they have, or at the timeout. At a node that did not reply,
 * the breaker's entry stays until the lease expires.
 *
 * Cost: one round trip to all nodes at once to take the name, and one more to
 * give it back. Its memory is allocated before the first BREAK. */
#include "client/seize.h"

#include "client/fork.h"
#include "client/holder.h"

#include "base/assert.h"
#include "core/owner.h"
#include "io/clock.h"

#include <stdlib.h>
#include <string.h>

static const char break_label[] = "break";

/* Retries of giving back, for requests that were lost or ran out of memory. */
#define REPEATS_MAX 3

static struct hf_seizure *seizure_of(struct hf_op *op)
{
    return (struct hf_seizure *)(void *)op;
}

/* ---- The holders in the replies ---------------------------------------- */

static void note_rival(struct hf_seizure *seizure,
                       const struct hf_answer *answer)
{
    struct hf_holder_hint *rival = &seizure->rival;
    size_t len = answer->owner == NULL ? 0 : answer->owner_len;
    rival->is_known = true;
    rival->kind = answer->holder_kind;
    rival->node = answer->node;
    rival->left_ms = answer->left_ms;
    rival->counter = 0;
    rival->read_at = seizure->op.client->now;
    rival->len = len < sizeof(rival->owner) ? len : sizeof(rival->owner);
    memcpy(rival->owner, len == 0 ? "" : answer->owner, rival->len);
}

/* Keep the owner that the node replaced, for giving back. Not for a group of
 * sharers. A node does not replace what does not fit, or is of another type. */
static void note_text(struct hf_seizure *seizure,
                      const struct hf_answer *answer)
{
    size_t len = answer->owner == NULL ? 0 : answer->owner_len;
    if (len < HF_SEIZED_TEXT_MAX && answer->holder_kind == HF_HOLDER_FOREIGN) {
        char *text = seizure->texts[answer->node];
        memcpy(text, len == 0 ? "" : answer->owner, len);
        seizure->replaced[answer->node] = (struct hf_bytes){text, len};
    }
}

/* Whether it may be the lock of another library, by the rule of break.lua. */
static bool is_long(const struct hf_answer *answer)
{
    const char *text = answer->owner;
    size_t len = answer->owner_len;
    return answer->sharers == 0 && text != NULL &&
           (!hf_owner_is_ours(text, len) ||
            (len > HF_LONG_MARK_LEN &&
             memcmp(text + len - HF_LONG_MARK_LEN, HF_LONG_MARK,
                    HF_LONG_MARK_LEN) == 0));
}

static bool on_taken(struct hf_broadcast *query, const struct hf_answer *answer)
{
    struct hf_seizure *seizure = query->user;
    struct hf_holder holder;
    uint16_t bit = (uint16_t)(1U << answer->node);
    hf_holder_read(query->op.client, answer, &holder);
    seizure->replied |= bit;
    seizure->voting |= (uint16_t)(bit & query->op.client->nodes.voting);
    seizure->counter =
        answer->counter > seizure->counter ? answer->counter : seizure->counter;
    if (holder.kind == HF_HOLDER_NONE || holder.kind == HF_HOLDER_ENDED) {
        return false;
    }
    seizure->is_endless |= answer->left_ms < 0;
    seizure->is_refused |= answer->verdict == HF_VERDICT_REFUSED;
    seizure->has_long |= is_long(answer);
    note_text(seizure, answer);
    if (!seizure->rival.is_known || answer->left_ms < 0 ||
        answer->left_ms > seizure->left_ms) {
        note_rival(seizure, answer);
    }
    seizure->left_ms =
        answer->left_ms > seizure->left_ms ? answer->left_ms : seizure->left_ms;
    return false;
}

/* ---- Taking ------------------------------------------------------------ */

static void write_owner(struct hf_seizure *seizure)
{
    struct hf_client *client = seizure->op.client;
    uint8_t id[HF_OWNER_ID_LEN];
    hf_client_entropy(client, id, sizeof(id));
    seizure->owner_len =
        hf_owner_emit(seizure->owner, id, client->host, client->pid,
                      hf_clock_wall_s(), break_label);
    HF_ASSERT(seizure->owner_len + HF_LONG_MARK_LEN <= sizeof(seizure->owner));
    memcpy(seizure->owner + seizure->owner_len, HF_LONG_MARK, HF_LONG_MARK_LEN);
}

static void init_query(struct hf_seizure *seizure, struct hf_broadcast *query,
                       hf_broadcast_fn *on_reply)
{
    hf_broadcast_init(query, seizure->op.client, HF_VERB_BREAK, seizure->name,
                      seizure->name_len);
    query->op.parent = &seizure->op;
    query->op.is_cleanup = true;
    query->owner = seizure->owner;
    query->owner_len = seizure->owner_len;
    query->on_reply = on_reply;
    query->user = seizure;
}

static bool on_back(struct hf_broadcast *query, const struct hf_answer *answer)
{
    (void)query;
    (void)answer;
    return false;
}

bool hf_seizure_begin(struct hf_seizure *seizure, bool frees_now,
                      struct hf_op *parent)
{
    HF_ASSERT(seizure->stage == HF_SEIZURE_IDLE);
    init_query(seizure, &seizure->take, on_taken);
    init_query(seizure, &seizure->back, on_back);
    seizure->take.frees_now = frees_now;
    if (!hf_op_reserve(&seizure->back.op)) {
        return false;
    }
    seizure->stage = HF_SEIZURE_TAKING;
    seizure->op.n_children = 2; /* one ends below */
    seizure->op.parent = parent;
    parent->n_children++;
    if (!hf_broadcast_begin(&seizure->take)) {
        parent->n_children--;
        seizure->stage = HF_SEIZURE_IDLE;
        return false;
    }
    hf_op_end_child(&seizure->op);
    return true;
}

/* ---- Giving back ------------------------------------------------------- */

static void begin_back(struct hf_seizure *seizure)
{
    struct hf_broadcast *back = &seizure->back;
    HF_ASSERT(seizure->stage == HF_SEIZURE_TAKEN && seizure->gives_back);
    back->back = seizure->replaced;
    back->repeats = REPEATS_MAX;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        back->asked |= (uint16_t)(seizure->replaced[i].len == 0 ? 1U << i : 0);
    }
    bool has_some = seizure->replied & (uint16_t)~back->asked;
    seizure->stage = HF_SEIZURE_RETURNING;
    seizure->op.n_children = has_some ? 2 : 1; /* one ends below */
    if (has_some) {
        bool has_room = hf_broadcast_begin(back);
        HF_ASSERT(has_room); /* it was reserved */
    }
    hf_op_end_child(&seizure->op);
}

void hf_seizure_give_back(struct hf_seizure *seizure, struct hf_op *parent)
{
    HF_ASSERT(!seizure->gives_back);
    seizure->gives_back = true;
    seizure->op.parent = parent;
    if (parent != NULL) {
        parent->n_children++;
    }
    if (seizure->stage == HF_SEIZURE_TAKEN) {
        begin_back(seizure);
    }
}

static void free_seizure(struct hf_seizure *seizure)
{
    if (seizure->take.op.client != NULL && !seizure->take.op.is_done) {
        hf_op_unlist(&seizure->take.op);
    }
    if (seizure->back.op.client != NULL && !seizure->back.op.is_done) {
        hf_op_unlist(&seizure->back.op);
    }
    hf_ops_remove(&seizure->op.client->seizures, &seizure->op);
    free(seizure);
}

/* Without a parent the break is over, and nothing else frees the seizure. */
static void on_children_done(struct hf_op *op)
{
    struct hf_seizure *seizure = seizure_of(op);
    struct hf_op *parent = op->parent;
    if (seizure->stage == HF_SEIZURE_TAKING) {
        seizure->stage = HF_SEIZURE_TAKEN;
        if (seizure->gives_back) {
            begin_back(seizure);
            return;
        }
    } else {
        HF_ASSERT(seizure->stage == HF_SEIZURE_RETURNING);
        seizure->stage = HF_SEIZURE_OVER;
    }
    op->parent = NULL;
    if (parent != NULL) {
        hf_op_end_child(parent);
    } else {
        free_seizure(seizure);
    }
}

/* ---- Begin and end ----------------------------------------------------- */

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_SEIZURE,
    .children_done = on_children_done,
};

struct hf_seizure *hf_seizure_new(struct hf_client *client, const void *name,
                                  size_t name_len)
{
    struct hf_seizure *seizure = calloc(1, sizeof(*seizure) + name_len);
    if (seizure == NULL) {
        return NULL;
    }
    hf_op_init(&seizure->op, client, &handlers);
    hf_ops_append(&client->seizures, &seizure->op);
    memcpy(seizure->name, name, name_len);
    seizure->name_len = name_len;
    write_owner(seizure);
    return seizure;
}

void hf_seizure_close(struct hf_seizure *seizure)
{
    if (seizure == NULL) {
        return;
    }
    seizure->op.parent = NULL;
    if (seizure->stage == HF_SEIZURE_IDLE ||
        seizure->stage == HF_SEIZURE_OVER || seizure->take.frees_now) {
        free_seizure(seizure);
    } else if (!seizure->gives_back) {
        hf_seizure_give_back(seizure, NULL);
    }
}

void hf_seizures_free(struct hf_client *client)
{
    struct hf_op *op = NULL;
    while ((op = client->seizures.first) != NULL) {
        hf_ops_remove(&client->seizures, op);
        free(seizure_of(op));
    }
}
