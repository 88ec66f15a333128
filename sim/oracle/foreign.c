/* SPDX-License-Identifier: Apache-2.0 */
/* FOREIGN: clients of the plain format (SET NX PX and compare-and-delete, at a
 * majority) and those of Holdfast exclude each other on one key, as long as
 * nodes keep their data: a plain client knows no quarantine. No script except
 * BREAK deletes a plain lock before its expiry. */
#include "oracle/calls.h"

#include "redis/redis.h"
#include "world/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void sim_foreign_set(struct sim_oracle *oracle, int node, int name,
                     const char *text, int64_t until_ms)
{
    struct sim_foreign_key *key = &sim_calls_of(oracle)->keys[node][name];
    snprintf(key->text, sizeof(key->text), "%s", text);
    key->until_ms = until_ms;
}

void sim_foreign_deleted(struct sim_oracle *oracle, int node, int name)
{
    sim_calls_of(oracle)->keys[node][name].text[0] = '\0';
}

void sim_foreign_forgot(struct sim_oracle *oracle, int node)
{
    for (int name = 0; name < SIM_NAMES_MAX; name++) {
        sim_foreign_deleted(oracle, node, name);
    }
}

void sim_foreign_script(struct sim_oracle *oracle, const struct sim_run *run,
                        int node)
{
    int name = sim_run_name(run);
    if (oracle->calls == NULL || name < 0) {
        return;
    }
    struct sim_foreign_key *key = &oracle->calls->keys[node][name];
    const struct sim_node *at = &oracle->world->nodes[node];
    if (key->text[0] == '\0') {
        return;
    }
    int64_t now_ms = sim_node_wall(at, oracle->world->now_ns) / SIM_MS;
    char lock[] = {'l', 'o', 'c', 'k', ':', (char)('a' + name)};
    size_t len;
    const char *text = sim_redis_get(at->redis, lock, sizeof(lock), &len);
    bool is_there = text != NULL && len == strlen(key->text) &&
                    memcmp(text, key->text, len) == 0;
    if (strcmp(run->script, "break") == 0 || now_ms + 1 >= key->until_ms) {
        key->text[0] = is_there ? key->text[0] : '\0';
    } else if (!is_there) {
        sim_oracle_breach(oracle, SIM_FOREIGN,
                          "%s took \"%c\" at n%d from another library's %s "
                          "before its expiry",
                          run->script, 'a' + name, node + 1, key->text);
    }
}

/* ---- Beliefs ------------------------------------------------------------- */

static void tell(struct sim_oracle *oracle, int name, int foreign,
                 const struct sim_live *live, const struct sim_part *part)
{
    sim_oracle_breach(oracle, SIM_FOREIGN,
                      "p%d with another library and p%d with fence %" PRIu64
                      " both believe that they hold \"%c\"",
                      foreign + 1, live->process + 1, part->fence, 'a' + name);
}

static bool is_of(const struct sim_part *part, int name)
{
    return !part->chain->is_slot && part->chain->text[0] == 'a' + name;
}

/* Only compared with holders of Holdfast: no promise covers two clients of
 * other libraries. */
void sim_foreign_held(struct sim_oracle *oracle, int process, int lane,
                      int name, int64_t until_ns)
{
    struct sim_calls *calls = sim_calls_of(oracle);
    calls->beliefs[process][lane] =
        (struct sim_foreign_belief){true, name, until_ns};
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        for (unsigned j = 0; live->is_holding && j < live->n_parts; j++) {
            if (is_of(&live->parts[j], name) &&
                sim_part_until(oracle, live, &live->parts[j]) >
                    oracle->world->now_ns &&
                !sim_break_excuses(oracle, &live->parts[j])) {
                tell(oracle, name, process, live, &live->parts[j]);
            }
        }
    }
}

void sim_foreign_ended(struct sim_oracle *oracle, int process, int lane)
{
    sim_calls_of(oracle)->beliefs[process][lane].is_on = false;
}

/* A break that does not wait ends the beliefs of plain clients at once. */
void sim_foreign_broken(struct sim_oracle *oracle, int name)
{
    for (int p = 0; p < SIM_PROCESSES_MAX; p++) {
        for (int lane = 0; lane < SIM_LANES_MAX; lane++) {
            struct sim_foreign_belief *belief =
                &sim_calls_of(oracle)->beliefs[p][lane];
            belief->is_on = belief->is_on && belief->name != name;
        }
    }
}

void sim_foreign_check(struct sim_oracle *oracle, const struct sim_live *live,
                       const struct sim_part *part)
{
    for (int p = 0; oracle->calls != NULL && p < SIM_PROCESSES_MAX; p++) {
        for (int lane = 0; lane < SIM_LANES_MAX; lane++) {
            const struct sim_foreign_belief *belief =
                &oracle->calls->beliefs[p][lane];
            if (belief->is_on && is_of(part, belief->name) &&
                !sim_break_excuses(oracle, part) &&
                belief->until_ns > oracle->world->now_ns) {
                tell(oracle, belief->name, p, live, part);
            }
        }
    }
}
