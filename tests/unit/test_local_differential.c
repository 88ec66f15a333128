/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_sim_redis */
/* link: -Wl,--wrap=clock_gettime,--wrap=hf_local_value */
/* link: -Wl,--wrap=hf_txn_install,--wrap=hf_txn_bound,--wrap=hf_txn_vacate */
/* link: -Wl,--wrap=hf_txn_keep_sharer,--wrap=hf_txn_prolong */
/* link: -Wl,--wrap=hf_txn_leave,--wrap=hf_txn_admits,--wrap=hf_txn_serve */
/* link: -Wl,--wrap=hf_entries_head,--wrap=hf_entries_ahead */
/* link: -Wl,--wrap=hf_txn_dequeue,--wrap=hf_txn_enqueue */
/* link: -Wl,--wrap=hf_txn_find_earlier,--wrap=hf_txn_acquire */
/* link: -Wl,--wrap=hf_txn_confirm,--wrap=hf_txn_yield */
/* link: -Wl,--wrap=hf_txn_break,--wrap=hf_txn_mark */
/* The rules of the embedded store against the shipped Lua scripts: see
 * ../differential/suite.h. Rules are broken in src/store/local, too: each time
 * a difference must be found.
 *
 *     test_local_differential [- [SEED [SEQUENCES]]] */
#include "local_node.h"
#include "local_planted.h"

#include "../differential/suite.h"

static void local_plant(const struct planted *planted)
{
    broken_rule = planted->script == NULL ? planted->rule : "";
}

static const struct node_ops local_ops = {
    .is_embedded = true,
    .open = local_open,
    .close = local_close,
    .reset = local_reset,
    .set_clock = local_set_clock,
    .sweep = local_sweep,
    .ask = local_ask,
    .look = local_look,
    .rows = local_n_rows,
    .text = local_text,
    .listen = local_listen,
    .hear = local_hear,
    .plant = local_plant,
};

static const struct planted in_local[] = {
    {.rule = RISES},      {.rule = BOUNDED},     {.rule = OWN_COUNTER},
    {.rule = NO_SHORTER}, {.rule = LAST_SHARER}, {.rule = APART},
    {.rule = FIFO},       {.rule = HANDS_OVER},  {.rule = LEAVES},
    {.rule = TICKET},     {.rule = EARLIER},     {.rule = AHEAD_OF},
    {.rule = FORGETS},    {.rule = NO_FLOOR},    {.rule = NO_RAISE},
    {.rule = NO_TAKE},    {.rule = NAMES_GRANT}, {.rule = KEEPS},
    {.rule = OLDER},      {.rule = COMPARED},    {.rule = ONCE},
};

/* Differences that the test does not compare, or does not ask for. */
static const char *const may_differ[] = {
    "clock: leases run by CLOCK_BOOTTIME in ns; here it is the wall clock in "
    "whole ms",
    "clock: a lock or a mark is over in the ms of its end; in Redis after it",
    "clock: tickets are unique; those of the scripts are the node's time, and "
    "no time is answered with a grant",
    "liveness: a waiter that has ended is known by its socket, not by a "
    "channel: here all listen, and none polls",
    "one node: there is no marker, no session to end, and no counter to be set "
    "back (ahead)",
    "idle names: a counter, or the version of a deleted value, is forgotten by "
    "a sweep, not by expiry: here none is",
    "sharers: their number is only in the list; a sharer is no last owner",
    "an owner has one mode, and a lease of max_ttl at most; YIELD is never "
    "unfair",
    "break: a name is returned only to the exclusive holder from which it was "
    "taken, and after a breaker that kept it to the end of the lease that "
    "holder does not take it back at the same counter",
    NULL};

int main(int argc, char **argv)
{
    static const struct suite local = {.name = "local_differential",
                                       .ops = &local_ops,
                                       .in_sql = in_local,
                                       .n_rules = COUNT(in_local),
                                       .may_differ = may_differ,
                                       .sequences = 40};
    return suite_main(&local, argc, argv);
}
