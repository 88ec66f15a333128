/* SPDX-License-Identifier: Apache-2.0 */
/* Between core and the connections: what a lease learns about a node reaches
 * the client's view of the nodes, which the next lease uses. */
#include "world/run_story.h"
#include "world/trace.h"
#include "world/world.h"

#include "client/client.h"
#include "core/nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S INT64_C(1000000000) /* in ns, as notes have it */
#define THREE_TURNS                                                            \
    "turn p1 think 100ms hold 200ms\n"                                         \
    "turn p1 think 100ms hold 200ms\n"                                         \
    "turn p1 think 100ms hold 200ms\n"

static const char stopped[] =
    "nodes 3\n"
    "processes 1\n"
    "regime network\n"
    "max_ttl 2s\n"
    "delay 200us\n"
    "jitter 50us\n"
    "calm 5.5s\n" THREE_TURNS THREE_TURNS THREE_TURNS THREE_TURNS THREE_TURNS
        THREE_TURNS "at 1s stop n3 for 3s\n";

struct seen {
    unsigned quick, slow, again; /* releases before, under, after the stop */
};

/* Three timeouts of 50 ms, each of a request of its own. */
static void look(void *user, const struct sim_note *note)
{
    struct seen *seen = user;
    if (note->kind != SIM_NOTE_RELEASED) {
        return;
    }
    const struct hf_client *client = sim_process_running()->client;
    bool is_slow = hf_nodes_is_slow(&client->nodes, 2);
    if (note->at_ns < 1 * S) {
        assert_false(is_slow);
        seen->quick++;
    } else if (note->at_ns > 2 * S && note->at_ns < 4 * S) {
        assert_true(is_slow);
        seen->slow++;
    } else if (note->at_ns > 5 * S) {
        assert_false(is_slow);
        seen->again++;
    }
}

static void test_a_node_that_stands_still_is_slow_until_it_answers(void **state)
{
    (void)state;
    struct sim_story story;
    struct sim_verdict verdict;
    struct seen seen = {0};
    char why[200];
    if (!sim_story_read(&story, stopped, why, sizeof(why))) {
        fail_msg("%s", why);
    }
    sim_run(&story, look, &seen, &verdict);
    sim_story_fini(&story);
    assert_true(seen.quick >= 2 && seen.slow >= 4 && seen.again >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_node_that_stands_still_is_slow_until_it_answers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
