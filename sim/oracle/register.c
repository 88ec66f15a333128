/* SPDX-License-Identifier: Apache-2.0 */
/* THE PROTECTED STORE, with a guard and without. The guarded register accepts a
 * request if its fence is not below the newest fence that it has seen: then no
 * write of an earlier holder comes between the read and the write of a later
 * one. An update is lost if the written value is not the stored value plus one.
 */
#include "oracle/state.h"

#include <inttypes.h>

/* @return false: the guard refuses the request. */
static bool pass(struct sim_oracle *oracle, int name, uint64_t fence,
                 bool is_guarded)
{
    if (!is_guarded) {
        return true;
    }
    if (fence < oracle->newest[name]) {
        oracle->verdict.n_refused++;
        return false;
    }
    oracle->newest[name] = fence;
    return true;
}

bool sim_register_read(struct sim_oracle *oracle, int name, uint64_t fence,
                       bool is_guarded, uint64_t *value)
{
    if (!pass(oracle, name, fence, is_guarded)) {
        return false;
    }
    *value = oracle->registers[name][is_guarded].value;
    return true;
}

uint64_t sim_register_newest(const struct sim_oracle *oracle, int name)
{
    return oracle->newest[name];
}

/* The number of acknowledged updates that the value does not contain. */
static uint64_t lost(const struct sim_register *reg)
{
    return reg->n_writes - reg->value;
}

bool sim_register_write(struct sim_oracle *oracle, int name, uint64_t fence,
                        bool is_guarded, uint64_t value)
{
    struct sim_register *reg = &oracle->registers[name][is_guarded];
    if (!pass(oracle, name, fence, is_guarded)) {
        return false;
    }
    uint64_t before = lost(reg);
    uint64_t found = reg->value;
    reg->value = value;
    reg->n_writes++;
    if (!is_guarded) {
        oracle->verdict.n_unguarded_lost += lost(reg) - before;
        return true;
    }
    oracle->verdict.n_writes++;
    if (value != found + 1) {
        sim_oracle_breach(oracle, SIM_GUARD,
                          "the guarded \"%c\" took %" PRIu64 " over %" PRIu64
                          " with fence %" PRIu64 ": an update is lost",
                          'a' + name, value, found, fence);
    }
    return true;
}
