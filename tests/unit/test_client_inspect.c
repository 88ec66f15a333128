/* SPDX-License-Identifier: Apache-2.0 */
/* What several nodes report of one holder: its fence is the greatest counter,
 * and the time since then is that of this counter. A node may be behind. */
#include "client/client.h"
#include "client/inspect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define NODES 3 /* two agree, a majority, and one is behind */

static void node_has(struct hf_info *info, int node, uint64_t fence,
                     int64_t since_s)
{
    struct hf_holder *holder = &info->nodes[node].holder;
    info->nodes[node].answered = true;
    holder->kind = HF_HOLDER_HOLDFAST;
    holder->fence = fence;
    holder->since_s = since_s;
    holder->remaining_ms = 5000;
    snprintf(holder->owner, sizeof(holder->owner), "one owner");
}

static void test_since_is_of_the_fence(void **state)
{
    static struct hf_client client;
    struct hf_info info = {.n_nodes = NODES};
    struct hf_broadcast query = {.user = &info, .op.client = &client};
    (void)state;
    client.nodes.quorum = 2;
    node_has(&info, 0, 1004, 1000);
    node_has(&info, 1, 1008, 1004);
    node_has(&info, 2, 1008, 1004);
    hf_inspect_merge(&query);
    assert_int_equal(info.holder.fence, 1008);
    assert_int_equal(info.holder.since_s, 1004);
}

/* A node in quarantine may have lost the holder, so its "free" proves nothing.
 */
static void test_quarantined_nodes_free_nothing(void **state)
{
    static struct hf_client client;
    struct hf_info info = {.n_nodes = NODES};
    struct hf_broadcast query = {.user = &info, .op.client = &client};
    (void)state;
    client.nodes.quorum = 2;
    info.nodes[0].answered = true;
    info.nodes[1].answered = true;
    node_has(&info, 2, 1008, 1004);
    hf_inspect_merge(&query);
    assert_false(info.split);
    assert_int_equal(info.holder.kind, HF_HOLDER_NONE);
    client.nodes.repairing = 1U << 1;
    hf_inspect_merge(&query);
    assert_true(info.split);
    node_has(&info, 1, 1008, 1004); /* repaired by its holder */
    hf_inspect_merge(&query);
    assert_int_equal(info.holder.kind, HF_HOLDER_HOLDFAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_since_is_of_the_fence),
        cmocka_unit_test(test_quarantined_nodes_free_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
