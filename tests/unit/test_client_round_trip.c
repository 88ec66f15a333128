/* SPDX-License-Identifier: Apache-2.0 */
/* The round trip that a client measures of a node. A reply that was read late,
 * since the program did not run the client in between, does not show that the
 * round trip has grown: it may only lower the measure. */
#include "client/answer.h"
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MS INT64_C(1000000) /* in ns */

static char folder[200];

static int opens(void **state)
{
    char url[256];
    struct hf_client *client = NULL;
    struct hf_client_options options;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/hf-round-trip.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(url, sizeof(url), "local://%s", folder);
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    assert_int_equal(hf_client_open(url, &options, &client, NULL), HF_OK);
    *state = client;
    return 0;
}

static int closes(void **state)
{
    char text[256];
    hf_client_close(*state);
    snprintf(text, sizeof(text), "rm -rf '%s'", folder);
    return system(text); /* NOLINT(cert-env33-c): our folder */
}

/* The reply, read now, to a request that was sent `ms` ago. Since `read_ms` ago
 * the client reads replies as they arrive. */
static void replies(struct hf_client *client, int64_t ms, int64_t read_ms)
{
    struct hf_answer answer = {.verb = HF_VERB_CONFIRM,
                               .verdict = HF_VERDICT_OK};
    answer.sent = hf_instant_sub(client->now, hf_span_ms(ms));
    client->reading_since = hf_instant_sub(client->now, hf_span_ms(read_ms));
    client->n_pending++;
    hf_client_on_answer(client, &answer);
}

static void test_a_late_reading_is_no_longer_trip(void **state)
{
    struct hf_client *client = *state;
    const int64_t *rtt_ns = &client->nodes.rtt[0].ns;
    client->nodes.rtt[0].ns = 8 * MS;
    replies(client, 800, 0);
    assert_int_equal(*rtt_ns, 8 * MS);
    replies(client, 800, 1000); /* read as it arrived: the trip took so long */
    assert_int_equal(*rtt_ns, (7 * 8 + 800) * MS / 8);
}

static void test_a_late_reading_may_lower_it(void **state)
{
    struct hf_client *client = *state;
    client->nodes.rtt[0].ns = 80 * MS;
    replies(client, 8, 0);
    assert_int_equal(client->nodes.rtt[0].ns, (7 * 80 + 8) * MS / 8);
}

/* Else a node with a round trip above node_timeout could never vote. */
static void test_the_first_measure_counts(void **state)
{
    struct hf_client *client = *state;
    client->nodes.rtt[0].ns = 0;
    replies(client, 800, 0);
    assert_int_equal(client->nodes.rtt[0].ns, 800 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_late_reading_is_no_longer_trip,
                                        opens, closes),
        cmocka_unit_test_setup_teardown(test_a_late_reading_may_lower_it, opens,
                                        closes),
        cmocka_unit_test_setup_teardown(test_the_first_measure_counts, opens,
                                        closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
