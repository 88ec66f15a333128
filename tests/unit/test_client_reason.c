/* SPDX-License-Identifier: Apache-2.0 */
/* The reason that a client gives for a node without a vote: one that refuses
 * for good is named by that, and not by the requests that ended with it. */
#include "client/answer.h"
#include "client/client.h"
#include "client/op.h"
#include "client/unavailable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[200];

static void report(struct hf_client *client, enum hf_node_status status,
                   enum hf_status fault, const char *reason)
{
    hf_client_on_status(client, 0, status, false, fault, reason);
}

/* The answer to a request that was not sent: its lock no longer exists. */
static void answer(struct hf_client *client, const char *reason)
{
    struct hf_answer unsent = {.verb = HF_VERB_ACQUIRE,
                               .verdict = HF_VERDICT_UNSENT,
                               .fault = HF_UNAVAILABLE,
                               .reason = reason};
    client->n_pending++;
    hf_client_on_answer(client, &unsent);
}

/* The client of a store in a folder of its own. */
static int begin(void **state)
{
    char text[256];
    struct hf_client *client = NULL;
    struct hf_client_options options;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/hf-reason.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "local://%s", folder);
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    assert_int_equal(hf_client_open(text, &options, &client, NULL), HF_OK);
    *state = client;
    return 0;
}

static int end(void **state)
{
    char text[256];
    hf_client_close(*state);
    snprintf(text, sizeof(text), "rm -rf '%s'", folder);
    return system(text); /* NOLINT(cert-env33-c): our folder */
}

static void test_a_refusal_stays(void **state)
{
    struct hf_client *client = *state;

    report(client, HF_NODE_STATUS_DOWN, HF_CONFIG, "another cluster");
    answer(client, "its session has ended");
    assert_string_equal(client->peers[0].reason, "another cluster");
    assert_int_equal(client->peers[0].fault, HF_CONFIG);

    report(client, HF_NODE_STATUS_DOWN, HF_UNAVAILABLE, "no connection");
    answer(client, "out of memory");
    assert_string_equal(client->peers[0].reason, "out of memory");
}

/* A node has the first of two names at another fence, and confirms the second.
 */
static void test_another_fence_stays(void **state)
{
    struct hf_client *client = *state;
    static const struct hf_op_handlers extend = {.kind = HF_OP_EXTEND};
    struct hf_op op;
    struct hf_answer yours = {
        .verb = HF_VERB_CONFIRM, .verdict = HF_VERDICT_OK, .counter = 7};
    hf_op_init(&op, client, &extend);
    hf_op_note(&op, &yours, 6);
    hf_op_note(&op, &yours, 7);
    assert_int_equal(hf_unavailable_write(&op), HF_UNAVAILABLE);
    assert_non_null(strstr(op.error.text, "has it with another fence"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_refusal_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_another_fence_stays, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
