/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that is detached after its deadline, which nothing has noticed yet:
 * its client has no thread, or the process stood still. */
#include "client_world.h"

static void on_text(void *user, const char *text, enum hf_status status,
                    const struct hf_error *error)
{
    (void)error;
    assert_null(text);
    *(enum hf_status *)user = status;
}

/* Lost before the call, which is the first to see it: nothing ran meanwhile. */
static void test_given_when_lost(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_client *client = open_mode(HF_THREAD_NONE);
        struct hf_lock *lock = take(client, fresh_name(), 400);
        char owner[HF_OWNER_TEXT_MAX];
        enum hf_status status = HF_OK;
        while (hf_lock_valid_for(lock, 0)) {
            pause_ms(1);
        }
        if (i == 0) {
            status = hf_lock_detach(lock, owner);
            assert_string_equal(owner, "");
        } else {
            assert_int_equal(
                hf_op_start_detach(lock, on_text, &status, NULL, NULL), HF_OK);
            hf_client_process(client);
        }
        assert_int_equal(status, HF_LOST);
        hf_client_close(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_when_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
