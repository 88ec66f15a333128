/* SPDX-License-Identifier: Apache-2.0 */
/* The reason that a client gives for a node without a vote: one that refuses
 * for good is named by that, and not by the requests that ended with it. */
#include "client/answer.h"
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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

static void test_a_refusal_stays(void **state)
{
    char folder[200];
    char text[256];
    struct hf_client *client = NULL;
    struct hf_client_options options;
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof(folder), "%s/hf-reason.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "local://%s", folder);
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    assert_int_equal(hf_client_open(text, &options, &client, NULL), HF_OK);

    report(client, HF_NODE_STATUS_DOWN, HF_CONFIG, "another cluster");
    answer(client, "its session has ended");
    assert_string_equal(client->peers[0].reason, "another cluster");
    assert_int_equal(client->peers[0].fault, HF_CONFIG);

    report(client, HF_NODE_STATUS_DOWN, HF_UNAVAILABLE, "no connection");
    answer(client, "out of memory");
    assert_string_equal(client->peers[0].reason, "out of memory");

    hf_client_close(client);
    snprintf(text, sizeof(text), "rm -rf '%s'", folder);
    assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c): our folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_refusal_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
