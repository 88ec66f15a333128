/* SPDX-License-Identifier: Apache-2.0 */
/* FIFO: THE ORDER OF GRANTS. With one node, fences are in the order in which it
 * granted a name. Two waiters that were in its queue at the same time must have
 * fences in the order of their first requests there. Not checked:
 *
 *   - two first requests within 2 us: their tickets may be equal;
 *   - a waiter that could have missed its grant (docs/waiting.md: "the first
 *     wait of a process"): it has sent no request since its process receives
 *     pushes;
 *   - unfair requests, and permits, which come from several queues.
 *
 * With several nodes whose clocks are equal, the order is that of the tickets.
 * A waiter is "sure" when every node has given it a place: from then on no node
 * may grant the name to a later ticket. (A counter that was raised may belong
 * to an earlier grant.) If clocks differ, the order is that of the callbacks
 * "queued", and inversions are only counted. Each acquisition is compared with
 * the SIM_RECENT before it. */
#include "oracle/order.h"

#include "oracle/chain.h"
#include "oracle/ground_truth.h"

#include "redis/redis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments from 1 on. */
#define ARG(n) (9 + (n))

/* First requests that are this far apart have different tickets. */
#define TIE_NS 2000

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

/* A place counts once all nodes have it, and push to its process: before that a
 * later waiter may rightly be served first. */
static bool is_sure(const struct sim_oracle *oracle,
                    const struct sim_place *place, const char *text, size_t len)
{
    unsigned all = (1U << oracle->world->story->n_nodes) - 1;
    int idx = sim_owner_process(text, len);
    return place->nodes == all && idx >= 0 && oracle->listens_ns[idx] > 0 &&
           oracle->listens_ns[idx] <= oracle->world->now_ns;
}

static void note_place(struct sim_oracle *oracle, struct sim_chain *chain,
                       const char *text, size_t len, uint64_t order,
                       unsigned node)
{
    int64_t now_ns = oracle->world->now_ns;
    uint64_t owner = sim_owner_digest(text, len);
    struct sim_place *place = place_of(chain, owner);
    if (place == NULL) {
        place = &chain->places[chain->n_places++ % SIM_RECENT];
        *place =
            (struct sim_place){.owner = owner, .order = order, .at_ns = now_ns};
    }
    place->nodes |= node < SIM_NODES_MAX ? (uint8_t)(1U << node) : 0;
    if (place->sure_ns == 0 && is_sure(oracle, place, text, len)) {
        place->sure_ns = now_ns;
    }
}

/* With one node, the order in which it executed the first requests; with
 * several, the ticket, which is the same at all nodes. 0: no ticket. */
static uint64_t order_of(struct sim_oracle *oracle, const struct sim_run *run)
{
    if (oracle->world->story->n_nodes == 1) {
        return ++oracle->n_arrivals;
    }
    return run->argc > ARG(9) ? strtoull(run->argv[ARG(9)].data, NULL, 10) : 0;
}

void sim_oracle_place(struct sim_oracle *oracle, const char *name, size_t len,
                      const char *owner, size_t owner_len, bool is_queued)
{
    struct sim_chain *chain = sim_oracle_chain(oracle, name, len);
    if (!chain->is_slot) {
        note_place(oracle, chain, owner, owner_len, ++oracle->n_arrivals,
                   is_queued ? 0 : SIM_NODES_MAX);
    }
}

void sim_order_asked(struct sim_oracle *oracle, struct sim_chain *chain,
                     int node, const struct sim_run *run)
{
    bool is_fair = ARG(7) >= run->argc || run->argv[ARG(7)].data[0] != '1';
    if (!sim_order_is_total(oracle->world->story) || chain->is_slot ||
        !is_fair || strcmp(run->script, "acquire") != 0 ||
        run->argc <= ARG(1)) {
        return;
    }
    enum answer answer = answer_of(run);
    uint64_t order = answer == REFUSED ? 0 : order_of(oracle, run);
    const struct sim_arg *who = &run->argv[ARG(1)];
    if (order > 0 && (answer == QUEUED || oracle->world->story->n_nodes == 1)) {
        note_place(oracle, chain, who->data, who->len, order,
                   answer == QUEUED ? (unsigned)node : SIM_NODES_MAX);
    }
}

/* If all clocks are equal, tickets are in the order of the requests to a
 * majority. */
bool sim_order_is_total(const struct sim_story *story)
{
    for (unsigned i = 1; i < story->n_nodes; i++) {
        if (story->node_wall_ns[i] != story->node_wall_ns[0] ||
            story->node_rate_ppm[i] != story->node_rate_ppm[0]) {
            return false;
        }
    }
    return true;
}

void sim_order_moved(struct sim_oracle *oracle, struct sim_chain *chain,
                     uint64_t counter, const struct sim_run *run)
{
    const struct sim_pair *move = sim_series_from(&chain->moves, counter);
    bool is_raise = run != NULL && strcmp(run->script, "confirm") == 0 &&
                    oracle->world->story->n_nodes > 1;
    if (sim_order_is_total(oracle->world->story) &&
        (move == NULL || move->key != counter)) {
        sim_series_add(&chain->moves, counter,
                       is_raise ? 0 : (uint64_t)oracle->world->now_ns);
    }
}

/* ---- Served ------------------------------------------------------------ */

/* When a node was first seen with this fence or a later one. */
static int64_t granted_ns(const struct sim_chain *chain, uint64_t fence)
{
    const struct sim_pair *move = sim_series_from(&chain->moves, fence);
    return move == NULL ? -1 : (int64_t)move->value;
}

/* `late` has the earlier place and the greater fence. That is no breach if both
 * asked at about the same time, or if the other one was served before the place
 * of `late` counted. */
static bool
is_inverted(const struct sim_oracle *oracle, const struct sim_chain *chain,
            const struct sim_served *late, const struct sim_served *early)
{
    const struct sim_story *story = oracle->world->story;
    if (!sim_order_is_total(story)) {
        return true;
    }
    int64_t at_ns = granted_ns(chain, early->fence);
    bool is_apart = story->n_nodes > 1 ? early->order > late->order
                                       : early->at_ns - late->at_ns >= TIE_NS;
    return is_apart && late->sure_ns > 0 && at_ns >= late->sure_ns;
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
    if (sim_order_is_total(oracle->world->story)) {
        char owner[HF_OWNER_MAX];
        size_t len = hf_lock_emit_owner(part->lock, owner);
        const struct sim_place *place =
            place_of(part->chain, sim_owner_digest(owner, len));
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
