/* SPDX-License-Identifier: Apache-2.0 */
/* FENCES OF ONE NAME. Acquisitions can only be linearized in the order of their
 * fences, so the oracle need not search for an order. C1: is the fence new? C2,
 * E1: is it greater than the greatest fence that had completed at a given
 * moment? Moments are counted in completions. An acquisition costs two binary
 * searches; no entry is ever removed. Source: the fenced mutex of Porcupine and
 * Jepsen, with the order known. */
#include "oracle/chain.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Series ------------------------------------------------------------ */

/* How many keys are below `key`. */
static size_t below(const struct sim_series *series, uint64_t key)
{
    size_t low = 0;
    size_t high = series->n;
    if (high > 0 && series->pairs[high - 1].key < key) {
        return high;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (series->pairs[mid].key < key) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void sim_series_add(struct sim_series *series, uint64_t key, uint64_t value)
{
    if (series->n == series->cap) {
        series->cap = series->cap == 0 ? 64 : 2 * series->cap;
        series->pairs =
            realloc(series->pairs, series->cap * sizeof(series->pairs[0]));
        HF_ASSERT(series->pairs != NULL);
    }
    size_t at = below(series, key);
    memmove(&series->pairs[at + 1], &series->pairs[at],
            (series->n - at) * sizeof(series->pairs[0]));
    series->pairs[at] = (struct sim_pair){key, value};
    series->n++;
}

uint64_t sim_series_at(const struct sim_series *series, uint64_t key)
{
    size_t n = key == UINT64_MAX ? series->n : below(series, key + 1);
    return n == 0 ? 0 : series->pairs[n - 1].value;
}

const struct sim_pair *sim_series_from(const struct sim_series *series,
                                       uint64_t key)
{
    size_t at = below(series, key);
    return at == series->n ? NULL : &series->pairs[at];
}

/* ---- Chains ------------------------------------------------------------ */

static struct sim_chain *new_chain(const char *name, size_t len)
{
    struct sim_chain *chain = calloc(1, sizeof(*chain));
    HF_ASSERT(chain != NULL && len < sizeof(chain->text));
    memcpy(chain->text, name, len);
    chain->lock_len = (size_t)snprintf(chain->lock, sizeof(chain->lock),
                                       "lock:%s", chain->text);
    chain->is_slot = len > 1;
    return chain;
}

void sim_chain_free(struct sim_chain *chain)
{
    if (chain != NULL) {
        free(chain->fences.pairs);
        free(chain->tops.pairs);
        free(chain->writer_tops.pairs);
        free(chain->moves.pairs);
        free(chain);
    }
}

/* `name` is "a" or "a#2". */
struct sim_chain *sim_oracle_chain(struct sim_oracle *oracle, const char *name,
                                   size_t len)
{
    int idx = len > 0 ? name[0] - 'a' : -1;
    long slot = -1;
    if (len > 2 && name[1] == '#') {
        slot = strtol(name + 2, NULL, 10);
    }
    if (idx < 0 || idx >= SIM_NAMES_MAX || slot >= SIM_SLOTS_MAX ||
        (len > 1 && slot < 0)) {
        return NULL;
    }
    struct sim_chain **chain = &oracle->chains[idx][slot + 1];
    if (*chain == NULL) {
        *chain = new_chain(name, len);
    }
    return *chain;
}

/* ---- C1, C2 ------------------------------------------------------------ */

static uint64_t last_value(const struct sim_series *series)
{
    return series->n == 0 ? 0 : series->pairs[series->n - 1].value;
}

static void check_unique(struct sim_oracle *oracle, const struct sim_live *live,
                         const struct sim_part *part)
{
    const struct sim_chain *chain = part->chain;
    bool is_shared = part->lock->is_shared;
    const struct sim_pair *same = sim_series_from(&chain->fences, part->fence);
    for (; same != NULL && same < chain->fences.pairs + chain->fences.n &&
           same->key == part->fence;
         same++) {
        if (!is_shared || (same->value & 1) == 0) {
            sim_oracle_breach(oracle, SIM_C1,
                              "p%d and p%d both completed \"%s\" with fence "
                              "%" PRIu64,
                              (int)(same->value >> 1) + 1, live->process + 1,
                              chain->text, part->fence);
            return;
        }
    }
}

void sim_chain_completed(struct sim_oracle *oracle, const struct sim_live *live,
                         const struct sim_part *part)
{
    struct sim_chain *chain = part->chain;
    bool is_shared = part->lock->is_shared;
    uint64_t before = sim_series_at(&chain->tops, live->n_done);
    check_unique(oracle, live, part);
    if (part->fence <= before) {
        sim_oracle_breach(oracle, SIM_C2,
                          "p%d completed \"%s\" with fence %" PRIu64
                          ", but fence %" PRIu64
                          " had completed before it began at %.3f ms",
                          live->process + 1, chain->text, part->fence, before,
                          (double)live->begun_ns / 1e6);
    }
    sim_series_add(&chain->fences, part->fence,
                   (uint64_t)live->process << 1 | is_shared);
    if (part->fence > last_value(&chain->tops)) {
        sim_series_add(&chain->tops, oracle->n_done, part->fence);
    }
    if (!is_shared && part->fence > last_value(&chain->writer_tops)) {
        sim_series_add(&chain->writer_tops, oracle->n_done, part->fence);
    }
}

/* ---- E1 ---------------------------------------------------------------- */

/* No time passes during one look, so a newly confirmed round is the round that
 * was in flight at the look before. */
void sim_part_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part)
{
    const struct hf_lease *lease = hf_lock_lease_const(part->lock);
    if (hf_lease_phase(lease) != HF_PHASE_HOLDING) {
        return;
    }
    if (hf_lease_confirmed(lease).ns > part->confirmed_ns) {
        const struct sim_chain *chain = part->chain;
        uint64_t before = sim_series_at(
            part->lock->is_shared ? &chain->writer_tops : &chain->tops,
            part->n_round_done);
        oracle->verdict.n_renewals++;
        part->confirmed_ns = hf_lease_confirmed(lease).ns;
        if (before > part->fence) {
            sim_oracle_breach(oracle, SIM_E1,
                              "p%d renewed \"%s\" with fence %" PRIu64
                              " though fence %" PRIu64
                              " had completed before that renewal began",
                              live->process + 1, chain->text, part->fence,
                              before);
        }
    }
    if (hf_lease_round_at(lease).ns != part->round_at_ns) {
        part->round_at_ns = hf_lease_round_at(lease).ns;
        part->n_round_done = oracle->n_done;
    }
}
