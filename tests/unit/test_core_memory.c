/* SPDX-License-Identifier: Apache-2.0 */
/* What a server remembers, in the cases between restarted and untouched
 * (core/quarantine.h). */
#include "core/quarantine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MAX_TTL_MS 60000
#define NODES 3
#define NOW_MS 1000
#define HOUR_MS 3600000

/* A server that restarted a second ago, its marker, and a client that knew it;
 * each test changes what it is about. */
struct scene {
    struct hf_identity identity;
    struct hf_marker marker;
    struct hf_acquaintance known;
};

static struct scene restarted(void)
{
    return (struct scene){
        .identity = {.run_id = "run2",
                     .replid = "repl1",
                     .uptime_ms = 1000,
                     .time_ms = 5000000},
        .marker = {.exists = true,
                   .value = "v1",
                   .run_id = "run1",
                   .replid = "repl1",
                   .max_ttl_ms = MAX_TTL_MS,
                   .nodes = NODES},
        .known = {.has_met = true, .value = "v1", .until = {INT64_MIN}},
    };
}

static struct hf_instant at_ms(int64_t ms)
{
    return (struct hf_instant){ms * 1000000};
}

static struct hf_judgement judge(const struct scene *scene)
{
    struct hf_judgement out;
    hf_quarantine_judge(&scene->identity, &scene->marker, &scene->known,
                        MAX_TTL_MS, NODES, true, at_ms(NOW_MS), &out);
    return out;
}

static void ids_of_other_lengths_differ(void **state)
{
    (void)state;
    struct scene scene = restarted();
    snprintf(scene.identity.run_id, HF_SERVER_ID_MAX, "run11");
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
}

/* Up for longer than every lease of before, and an hour: nothing is left that
 * it may have forgotten. What it forgot is void all the same. */
static void up_for_long_it_votes(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.identity.uptime_ms = MAX_TTL_MS + HOUR_MS;
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
    scene.identity.uptime_ms++;
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    assert_true(judge(&scene).forgot);
    assert_true(judge(&scene).write);
}

/* Whoever has never met it has no votes there that could be void: it is a node
 * like one that has just connected, and a held lock comes to it at once. */
static void strangers_have_nothing_to_forget(void **state)
{
    (void)state;
    struct scene scene = restarted();
    assert_true(judge(&scene).forgot);
    scene.known = (struct hf_acquaintance){.until = {INT64_MIN}};
    assert_false(judge(&scene).forgot);
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
    scene.marker.exists = false;
    assert_false(judge(&scene).forgot);
}

/* All was on disk, but another server's disk. */
static void durable_and_promoted_is_not_durable(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.marker.fsync_always = true;
    scene.identity.knows_fsync = true;
    scene.identity.fsync_always = true;
    scene.identity.has_replid2 = true;
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    snprintf(scene.identity.replid, HF_SERVER_ID_MAX, "repl2");
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
}

/* A server that may not be asked whether it syncs is not believed to. */
static void unknown_durability_is_none(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.marker.fsync_always = true;
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
}

/* The marker says how it was; when that changes, it is written anew, and
 * nobody else need notice. */
static void durability_that_changed_is_written_down(void **state)
{
    (void)state;
    struct scene scene = restarted();
    snprintf(scene.identity.run_id, HF_SERVER_ID_MAX, "run1");
    assert_false(judge(&scene).write);
    scene.identity.knows_fsync = true;
    scene.identity.fsync_always = true;
    struct hf_judgement out = judge(&scene);
    assert_true(out.write);
    assert_true(out.marker.fsync_always);
    assert_string_equal(out.marker.value, "v1");
    assert_false(out.forgot);
}

/* Another client saw an earlier loss: its quarantine is over by now, or it has
 * been set further ahead than a new one would be. */
static void quarantine_of_another_client(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.known.has_met = false;
    snprintf(scene.identity.run_id, HF_SERVER_ID_MAX, "run1");
    scene.marker.until_ms = scene.identity.time_ms;
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    scene.marker.until_ms = scene.identity.time_ms + 1;
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);

    snprintf(scene.identity.run_id, HF_SERVER_ID_MAX, "run2");
    scene.marker.until_ms = scene.identity.time_ms + 2 * MAX_TTL_MS;
    struct hf_judgement out = judge(&scene);
    assert_int_equal(out.marker.until_ms, scene.marker.until_ms);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
}

/* Gone under us, in the first span of its life: a loss, whatever its age. */
static void flushed_by_somebody(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.marker.exists = false;
    scene.identity.uptime_ms = MAX_TTL_MS + HOUR_MS + 1;
    struct hf_judgement out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_true(out.forgot);
    assert_string_equal(out.marker.value, "");
}

/* ---- The marker -------------------------------------------------------- */

static void each_field_of_a_new_marker(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.marker = (struct hf_marker){0};
    scene.known.has_met = false;
    scene.identity.knows_fsync = scene.identity.fsync_always = true;
    struct hf_judgement out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
    assert_true(out.write);
    assert_true(out.marker.exists);
    assert_string_equal(out.marker.value, "");
    assert_string_equal(out.marker.run_id, "run2");
    assert_string_equal(out.marker.replid, "repl1");
    assert_int_equal(out.marker.until_ms, scene.identity.time_ms + MAX_TTL_MS);
    assert_int_equal(out.marker.max_ttl_ms, MAX_TTL_MS);
    assert_int_equal(out.marker.nodes, NODES);
    assert_true(out.marker.fsync_always);
    scene.identity.knows_fsync = false; /* then it is not to be relied on */
    assert_false(judge(&scene).marker.fsync_always);
}

/* Nothing was lost: a server as its marker says, to a client that is new. */
static struct scene untouched(void)
{
    struct scene scene = restarted();
    snprintf(scene.identity.run_id, HF_SERVER_ID_MAX, "run1");
    scene.known = (struct hf_acquaintance){0};
    return scene;
}

/* The end of a quarantine, as another client wrote it, by the server's clock.
 */
static void the_end_that_the_marker_tells(void **state)
{
    (void)state;
    struct scene scene = untouched();
    const int64_t now_ms = scene.identity.time_ms;
    const struct {
        int64_t until_ms;
        int64_t left_ms; /* on our clock; 0: it votes */
    } cases[] = {{0, 0},
                 {now_ms - 1, 0},
                 {now_ms, 0},
                 {now_ms + 1, 1},
                 {now_ms + MAX_TTL_MS / 2, MAX_TTL_MS / 2},
                 {now_ms + HOUR_MS, MAX_TTL_MS}}; /* its clock jumped */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scene.marker.until_ms = cases[i].until_ms;
        struct hf_judgement out = judge(&scene);
        bool votes = cases[i].left_ms == 0;
        assert_int_equal(out.trust,
                         votes ? HF_TRUST_VOTES : HF_TRUST_QUARANTINE);
        assert_int_equal(out.until.ns,
                         votes ? HF_LONG_AGO.ns
                               : at_ms(NOW_MS + cases[i].left_ms).ns);
        assert_string_equal(out.marker.value, "v1");
        assert_false(out.write);
        assert_false(out.forgot);
    }
}

static void a_quarantine_that_ends_now_is_over(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.known = (struct hf_acquaintance){.has_met = true, .value = "v1"};
    scene.known.until = at_ms(NOW_MS);
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    scene.known.until = at_ms(NOW_MS + 1);
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
}

/* Nobody's fault, and no vote either. */
static void other_settings_have_no_end(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.marker.max_ttl_ms = 1;
    struct hf_judgement out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_MISMATCH);
    assert_int_equal(out.until.ns, HF_LONG_AGO.ns);
    assert_false(out.write);
    assert_false(out.forgot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_other_lengths_differ),
        cmocka_unit_test(up_for_long_it_votes),
        cmocka_unit_test(strangers_have_nothing_to_forget),
        cmocka_unit_test(durable_and_promoted_is_not_durable),
        cmocka_unit_test(unknown_durability_is_none),
        cmocka_unit_test(durability_that_changed_is_written_down),
        cmocka_unit_test(quarantine_of_another_client),
        cmocka_unit_test(flushed_by_somebody),
        cmocka_unit_test(each_field_of_a_new_marker),
        cmocka_unit_test(the_end_that_the_marker_tells),
        cmocka_unit_test(a_quarantine_that_ends_now_is_over),
        cmocka_unit_test(other_settings_have_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
