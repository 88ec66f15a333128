/* SPDX-License-Identifier: Apache-2.0 */
/* When a renewal counts: with contacts of which the leader has heard, not after
 * a pause, and not while their answers are late. */
/* library: store-zookeeper-objects */
#include "store/zookeeper/contacts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a session of 12 s. */
#define HEARD_MS 3000
#define EACH_MS 1000

static struct hf_zk_contacts contacts;

static struct hf_instant at(int64_t ms)
{
    return hf_instant_add((struct hf_instant){0}, hf_span_ms(ms));
}

static bool suffice(int64_t sent_ms)
{
    return hf_zk_contacts_suffice(&contacts, at(sent_ms), hf_span_ms(HEARD_MS),
                                  hf_span_ms(EACH_MS));
}

/* A contact each half second, whose answers take so long. */
static void contact(int64_t from_ms, int64_t to_ms, int64_t takes_ms)
{
    for (int64_t ms = from_ms; ms <= to_ms; ms += EACH_MS / 2) {
        hf_zk_contacts_add(&contacts, at(ms), at(ms + takes_ms));
    }
}

static void a_new_connection_suffices_for_a_third(void **state)
{
    (void)state;
    hf_zk_contacts_begin(&contacts, at(100000));
    assert_true(suffice(100001));
    assert_true(suffice(104000));
    assert_false(suffice(104001));
}

static void contacts_suffice(void **state)
{
    (void)state;
    hf_zk_contacts_begin(&contacts, at(0));
    for (int64_t ms = 500; ms < 100000; ms += 500) {
        hf_zk_contacts_add(&contacts, at(ms), at(ms + 400));
        assert_true(suffice(ms + 401));
        assert_true(suffice(ms + 499));
    }
}

/* The leader may not have heard of the one after the pause. */
static void after_a_pause_they_do_not(void **state)
{
    (void)state;
    hf_zk_contacts_begin(&contacts, at(0));
    contact(500, 50000, 1);
    assert_true(suffice(54000));
    assert_false(suffice(54002));
    contact(58000, 60500, 1);
    assert_false(suffice(60900));
    contact(61000, 61000, 1);
    assert_true(suffice(61001));
}

static void late_answers_do_not(void **state)
{
    (void)state;
    hf_zk_contacts_begin(&contacts, at(0));
    contact(500, 50000, 1500);
    assert_false(suffice(51501));
    hf_zk_contacts_begin(&contacts, at(51400)); /* it connects again */
    assert_true(suffice(51501));
}

/* The other server may not have told the leader. */
static void contacts_of_another_connection_do_not_count(void **state)
{
    (void)state;
    hf_zk_contacts_begin(&contacts, at(0));
    contact(500, 50000, 1);
    hf_zk_contacts_begin(&contacts, at(40000));
    assert_false(suffice(50100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_connection_suffices_for_a_third),
        cmocka_unit_test(contacts_suffice),
        cmocka_unit_test(after_a_pause_they_do_not),
        cmocka_unit_test(late_answers_do_not),
        cmocka_unit_test(contacts_of_another_connection_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
