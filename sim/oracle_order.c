/* SPDX-License-Identifier: Apache-2.0 */
/* WHO IS SERVED FIRST. With one node, fences are the order in which it gave a
 * name away. Two who stood in its queue at the same time must have fences in
 * the order in which it first heard of them. Not claimed:
 *
 *   - of two first heard within 2 us: their tickets may be equal;
 *   - against who was not sure to hear of his grant (docs/waiting.md: "the
 *     first wait of a process"): sure is who has asked since his process
 *     listened;
 *   - of the unfair, and of permits, which come from several queues.
 *
 * With several nodes the order is that of being told "queued", and inversions
 * are only counted. Each one served is compared with the few before him. */
#include "oracle_state.h"

#include "redis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments from 1 on. */
#define ARG(n) (9 + (n))

/* Less than two tickets are surely apart. */
#define TIE_NS 2000

/* 32 hex digits, all random. */
static uint64_t digest(const char *owner, size_t len)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + sizeof(sum) <= len && at < 32; at += sizeof(sum)) {
        uint64_t word;
        memcpy(&word, owner + at, sizeof(word));
        sum = sim_mix(sum ^ word);
    }
    return sum | 1;
}

/* "<32 hex digits>:p2:…" is p2's. @return -1: nobody's that we know. */
static int process_of(const char *owner, size_t len)
{
    int idx =
        len > 35 && owner[32] == ':' && owner[33] == 'p' ? owner[34] - '1' : -1;
    return idx < SIM_PROCESSES_MAX ? idx : -1;
}

static struct sim_place *place_of(struct sim_chain *chain, uint64_t owner)
{
    unsigned n = chain->n_places < SIM_RECENT ? chain->n_places : SIM_RECENT;
    for (unsigned i = 0; i < n; i++) {
        if (chain->places[i].owner == owner) {
            return &chain->places[i];
        }
    }
    return NULL;
}

enum answer { REFUSED, QUEUED, YOURS };

/* ":c", "*8 :1 …", "*10 :2 …", "*… :0 …", ":-1", "-ERR …" */
static enum answer answer_of(const struct sim_run *run)
{
    const char *reply = run->reply;
    if (reply[0] == ':') {
        return reply[1] == '-' ? REFUSED : YOURS;
    }
    const char *next = memchr(reply, '\n', run->reply_len);
    if (reply[0] != '*' || next == NULL || next[1] != ':') {
        return REFUSED;
    }
    return next[2] == '1' ? YOURS : next[2] == '2' ? QUEUED : REFUSED;
}

static void note_place(struct sim_oracle *oracle, struct sim_chain *chain,
                       const struct sim_arg *who, bool is_queued)
{
    int64_t now_ns = oracle->world->now_ns;
    uint64_t owner = digest(who->data, who->len);
    struct sim_place *place = place_of(chain, owner);
    if (place == NULL) {
        place = &chain->places[chain->n_places++ % SIM_RECENT];
        *place = (struct sim_place){
            .owner = owner, .order = ++oracle->arrivals, .at_ns = now_ns};
    }
    int idx = process_of(who->data, who->len);
    bool is_sure = is_queued && idx >= 0 && oracle->listens_ns[idx] > 0 &&
                   oracle->listens_ns[idx] <= now_ns;
    if (is_sure && place->sure_ns == 0) {
        place->sure_ns = now_ns;
    }
}

void sim_order_asked(struct sim_oracle *oracle, struct sim_chain *chain,
                     const struct sim_run *run)
{
    bool is_fair = ARG(7) >= run->argc || run->argv[ARG(7)].data[0] != '1';
    if (oracle->world->story->n_nodes > 1 || chain->is_slot || !is_fair ||
        strcmp(run->script, "acquire") != 0 || run->argc <= ARG(1)) {
        return;
    }
    enum answer answer = answer_of(run);
    if (answer != REFUSED) {
        note_place(oracle, chain, &run->argv[ARG(1)], answer == QUEUED);
    }
}

/* ---- Served ------------------------------------------------------------ */

/* When the only node moved the counter there. */
static int64_t granted_ns(const struct sim_chain *chain, uint64_t fence)
{
    const struct sim_pair *move = sim_series_from(&chain->moves, fence);
    return move == NULL ? -1 : (int64_t)move->value;
}

/* `late` came first, and was served after `early`: was he passed over? */
static bool
is_inverted(const struct sim_oracle *oracle, const struct sim_chain *chain,
            const struct sim_served *late, const struct sim_served *early)
{
    if (oracle->world->story->n_nodes > 1) {
        return true;
    }
    int64_t at_ns = granted_ns(chain, early->fence);
    return early->at_ns - late->at_ns >= TIE_NS && late->sure_ns > 0 &&
           at_ns >= late->sure_ns;
}

static void compare(struct sim_oracle *oracle, const struct sim_chain *chain,
                    const struct sim_served *a, const struct sim_served *b)
{
    const struct sim_served *late = a->order < b->order ? a : b;
    const struct sim_served *early = late == a ? b : a;
    if (late->fence > early->fence && is_inverted(oracle, chain, late, early)) {
        sim_oracle_breach(oracle, SIM_FIFO,
                          "p%d was queued for \"%s\" at %.3f ms, p%d at %.3f "
                          "ms, but the later one got fence %" PRIu64
                          ", the earlier one %" PRIu64,
                          late->process + 1, chain->text,
                          (double)late->at_ns / 1e6, early->process + 1,
                          (double)early->at_ns / 1e6, early->fence,
                          late->fence);
    }
}

static bool describe(struct sim_oracle *oracle, const struct sim_live *live,
                     const struct sim_part *part, struct sim_served *out)
{
    *out = (struct sim_served){.order = live->queue,
                               .fence = part->fence,
                               .at_ns = live->begun_ns,
                               .process = live->process};
    if (oracle->world->story->n_nodes == 1) {
        char owner[HF_OWNER_MAX];
        size_t len = hf_lock_emit_owner(part->lock, owner);
        const struct sim_place *place =
            place_of(part->chain, digest(owner, len));
        out->order = place == NULL ? 0 : place->order;
        out->at_ns = place == NULL ? 0 : place->at_ns;
        out->sure_ns = place == NULL ? 0 : place->sure_ns;
    }
    return out->order > 0;
}

void sim_order_served(struct sim_oracle *oracle, const struct sim_live *live,
                      const struct sim_part *part)
{
    struct sim_chain *chain = part->chain;
    struct sim_served served;
    if (chain->is_slot || part->lock->permits > 0 || part->lock->is_unfair ||
        !describe(oracle, live, part, &served)) {
        return;
    }
    unsigned n = chain->n_served < SIM_RECENT ? chain->n_served : SIM_RECENT;
    for (unsigned i = 0; i < n; i++) {
        compare(oracle, chain, &served, &chain->served[i]);
    }
    chain->served[chain->n_served++ % SIM_RECENT] = served;
}
