/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Whether a server has lost its data: the table of core/quarantine.c, line by
 * line. */
#include "core/quarantine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TTL_MS 60000 /* of the store: how long a quarantine lasts */
#define NOW_MS 1000000   /* of each verdict: all markers are older */

static const struct hf_shape shape = {MAX_TTL_MS, 3, 3600000, 7};

/* A server that agrees with its marker, which is whole, and a new client. Each
 * test changes one part. */
struct scene {
    struct hf_identity identity;
    struct hf_marker marker;
    struct hf_known_server known;
    bool has_no_clock_name;
    bool is_off;
};

static void set(char id[HF_SERVER_ID_MAX], const char *text)
{
    snprintf(id, HF_SERVER_ID_MAX, "%s", text);
}

static struct scene untouched(void)
{
    return (struct scene){
        .identity = {.run_id = "run1", .replid = "repl1"},
        .marker = {.exists = true,
                   .value = "v1",
                   .run_id = "run1",
                   .replid = "repl1",
                   .is_whole = true,
                   .shape = shape},
    };
}

static struct scene restarted(void)
{
    struct scene scene = untouched();
    set(scene.identity.run_id, "run2");
    return scene;
}

/* Durable when the marker was written, and now. */
static struct scene restarted_durable(void)
{
    struct scene scene = restarted();
    scene.marker.is_durable = true;
    scene.identity.knows_durability = scene.identity.is_durable = true;
    return scene;
}

static struct scene watched(void)
{
    struct scene scene = untouched();
    scene.marker.is_whole = false;
    return scene;
}

static struct hf_instant at_ms(int64_t ms)
{
    return (struct hf_instant){ms * 1000000};
}

static void meet(struct scene *scene, int64_t since_ms)
{
    scene->known = (struct hf_known_server){
        .has_met = true, .value = "v1", .run_id = "run1"};
    scene->known.since = at_ms(since_ms);
}

static struct hf_quarantine_ruling judge(const struct scene *scene)
{
    struct hf_quarantine_input in = {
        .identity = &scene->identity,
        .marker = &scene->marker,
        .known = &scene->known,
        .shape = &shape,
        .strict = !scene->is_off,
        .on_host = !scene->has_no_clock_name,
        .now = at_ms(NOW_MS),
    };
    struct hf_quarantine_ruling out;
    hf_quarantine_judge(&in, &out);
    return out;
}

/* A new value: not whole, without an entry, and no lock granted under it. */
static void assert_watched_anew(const struct scene *scene,
                                enum hf_suspicion suspicion)
{
    struct hf_quarantine_ruling out = judge(scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.suspicion, suspicion);
    assert_int_equal(out.since.ns, at_ms(NOW_MS).ns);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
    assert_true(out.must_write);
    assert_string_equal(out.marker.value, "");
    assert_string_equal(out.marker.run_id, scene->identity.run_id);
    assert_string_equal(out.marker.replid, scene->identity.replid);
    assert_false(out.marker.is_whole);
    assert_false(out.marker.has_entry);
    assert_int_equal(out.is_reset, scene->known.has_met);
}

/* ---- Servers that still have their data ---------------------------------- */

static void the_same_server_votes(void **state)
{
    (void)state;
    struct scene scene = untouched();
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.must_write);
    assert_false(out.is_reset);
    meet(&scene, 1);
    out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.must_write);
    assert_false(out.is_reset);
    assert_int_equal(out.since.ns, at_ms(1).ns);
}

static void a_restart_is_watched_anew(void **state)
{
    (void)state;
    struct scene scene = restarted();
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    meet(&scene, 1);
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    set(scene.identity.run_id, "run11"); /* a longer id differs */
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* SWAPDB: the marker is that of another database of the same server. */
static void exchanged_databases_are_watched_anew(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.identity.database = 1;
    scene.marker.database = 2;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    assert_int_equal(judge(&scene).marker.database, 1);
    scene = restarted_durable();
    scene.identity.database = 1;
    scene.marker.database = 2;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    scene.marker.database = 1;
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    assert_int_equal(judge(&scene).marker.database, 1);
}

/* One that was written before markers named their database. */
static void a_marker_of_no_database_is_completed(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.identity.database = 3;
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.must_write);
    assert_string_equal(out.marker.value, "v1");
    assert_int_equal(out.marker.database, 3);
    scene.identity.database = 0; /* a store whose servers have one */
    scene.marker.database = 3;
    out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.must_write);
}

static void no_marker_is_watched_anew(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.marker = (struct hf_marker){0};
    assert_watched_anew(&scene, HF_SUSPECT_NO_TRACE);
    meet(&scene, 1); /* the marker was deleted while the client knew it */
    assert_watched_anew(&scene, HF_SUSPECT_EMPTIED);
    set(scene.identity.run_id, "run2");
    assert_watched_anew(&scene, HF_SUSPECT_NO_TRACE);
    /* Durability does not help: the marker was not on the disk. */
    scene.identity.knows_durability = scene.identity.is_durable = true;
    assert_watched_anew(&scene, HF_SUSPECT_NO_TRACE);
}

static void a_promotion_in_place_is_watched_anew(void **state)
{
    (void)state;
    struct scene scene = untouched();
    meet(&scene, 1);
    set(scene.identity.replid, "repl2"); /* its first replica was attached */
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.is_reset);
    assert_true(out.must_write); /* so that a later promotion is noticed */
    assert_string_equal(out.marker.replid, "repl2");
    assert_string_equal(out.marker.value, "v1");
    assert_true(out.marker.is_whole);
    scene.identity.has_replid2 = true;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* The old primary never restarted, and has its address back. */
static void an_old_primary_names_itself(void **state)
{
    (void)state;
    struct scene scene = untouched();
    meet(&scene, 1);
    set(scene.known.value, "v2"); /* of the other server, which had the address
                                     in between */
    set(scene.known.run_id, "run2");
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.is_reset);
}

static void a_declared_server_votes_at_once(void **state)
{
    (void)state;
    struct scene scene = restarted();
    hf_quarantine_declare(&scene.identity, &shape, true, &scene.marker);
    set(scene.marker.value, "v2");
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    assert_false(judge(&scene).is_reset);
    meet(&scene, 1);
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    assert_true(judge(&scene).is_reset); /* votes under the old marker are void
                                          */
}

static void declared_lost_it_is_watched_anew(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    hf_quarantine_declare(&scene.identity, &shape, false, &scene.marker);
    set(scene.marker.value, "v2");
    meet(&scene, 1);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
    assert_true(out.is_reset);
}

/* ---- Durable ------------------------------------------------------------- */

static void a_durable_restart_votes(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    meet(&scene, 1);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.is_reset);
    assert_true(out.must_write);
    assert_string_equal(out.marker.value, "v1");
    assert_string_equal(out.marker.run_id, "run2");
    assert_true(out.marker.is_whole);
    assert_true(out.marker.is_durable);
}

static void durable_is_then_and_now(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    scene.marker.is_durable = false;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    scene = restarted_durable();
    scene.identity.is_durable = false;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    scene = restarted_durable();
    scene.identity.knows_durability = false;
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* The data were on disk, but on that of another server. */
static void durable_and_promoted_is_not_durable(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    scene.identity.has_replid2 = true;
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    set(scene.identity.replid, "repl2");
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* The client knows a later run id than the marker names: the data are older
 * than the last ones that it read. */
static void an_older_life_is_not_durable(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    meet(&scene, 1);
    set(scene.known.run_id, "run1b");
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* A restart in quarantine neither ends the quarantine nor restarts it. */
static void a_durable_restart_goes_on_watching(void **state)
{
    (void)state;
    struct scene scene = restarted_durable();
    scene.marker.is_whole = false;
    scene.marker.has_entry = true;
    scene.marker.entry = at_ms(NOW_MS - 20000);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS - 20000).ns);
    assert_true(out.must_write);
    assert_string_equal(out.marker.value, "v1");
    assert_false(out.marker.is_whole);
}

static void durability_that_changed_is_written_down(void **state)
{
    (void)state;
    struct scene scene = untouched();
    scene.identity.knows_durability = scene.identity.is_durable = true;
    struct hf_quarantine_ruling out = judge(&scene);
    assert_true(out.must_write);
    assert_true(out.marker.is_durable);
    assert_string_equal(out.marker.value, "v1");
    assert_false(out.is_reset);
    scene.marker.is_durable = true;
    assert_false(judge(&scene).must_write);
    scene.identity.is_durable = false;
    assert_true(judge(&scene).must_write);
    assert_false(judge(&scene).marker.is_durable);
    /* A client without the right to read the settings leaves the marker as it
     * is. */
    scene.identity.knows_durability = false;
    assert_false(judge(&scene).must_write);
}

/* ---- Watching ------------------------------------------------------------ */

static void the_first_sight_is_written_for_the_host(void **state)
{
    (void)state;
    struct scene scene = watched();
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.suspicion, HF_SUSPECT_WATCHED);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
    assert_true(out.must_write);
    assert_true(out.marker.has_entry);
    assert_int_equal(out.marker.entry.ns, at_ms(NOW_MS).ns);
    assert_string_equal(out.marker.value, "v1");
    assert_false(out.marker.is_whole);
    /* a client that saw the value earlier writes the time at which it did */
    meet(&scene, NOW_MS - 5);
    assert_int_equal(judge(&scene).marker.entry.ns, at_ms(NOW_MS - 5).ns);
    /* a host without a name gets no entry */
    scene.has_no_clock_name = true;
    out = judge(&scene);
    assert_false(out.must_write);
    assert_false(out.marker.has_entry);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS - 5).ns);
}

static void a_span_later_it_is_whole(void **state)
{
    (void)state;
    struct scene scene = watched();
    scene.marker.has_entry = true;
    scene.marker.entry = at_ms(NOW_MS - MAX_TTL_MS + 1);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + 1).ns);
    assert_false(out.must_write);
    scene.marker.entry = at_ms(NOW_MS - MAX_TTL_MS);
    out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.must_write);
    assert_true(out.marker.is_whole);
    assert_string_equal(out.marker.value, "v1");
    assert_false(out.is_reset);
}

/* The memory of a client that stays open counts like an entry, and needs no
 * /proc. */
static void a_client_that_stays_can_watch_alone(void **state)
{
    (void)state;
    struct scene scene = watched();
    scene.has_no_clock_name = true;
    meet(&scene, NOW_MS - MAX_TTL_MS + 1);
    assert_int_equal(judge(&scene).trust, HF_TRUST_QUARANTINE);
    meet(&scene, NOW_MS - MAX_TTL_MS);
    assert_int_equal(judge(&scene).trust, HF_TRUST_VOTES);
    assert_true(judge(&scene).marker.is_whole);
    /* but only for the value that the client saw */
    set(scene.marker.value, "v2");
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
    assert_true(out.is_reset);
}

/* The host's clock started again at zero: an entry from before has no age. */
static void an_entry_ahead_of_the_clock_is_none(void **state)
{
    (void)state;
    struct scene scene = watched();
    scene.marker.has_entry = true;
    scene.marker.entry = at_ms(NOW_MS + 5000);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(NOW_MS + MAX_TTL_MS).ns);
}

/* An old entry proves nothing about another identity. */
static void entries_are_of_one_identity(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.marker.is_whole = false;
    scene.marker.has_entry = true;
    scene.marker.entry = at_ms(0);
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
}

/* ---- Settings ------------------------------------------------------------ */

static void other_settings_are_refused(void **state)
{
    (void)state;
    struct scene scene = restarted();
    meet(&scene, 1);
    const struct hf_shape others[] = {
        {MAX_TTL_MS + 1, 3, 3600000, 7}, {MAX_TTL_MS, 5, 3600000, 7},
        {MAX_TTL_MS, 3, 3600001, 7},     {MAX_TTL_MS, 3, 3600000, 8},
        {MAX_TTL_MS, 3, 3600000, 0},     {MAX_TTL_MS, 3, 0, 0}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        scene.marker.shape = others[i];
        struct hf_quarantine_ruling out = judge(&scene);
        assert_int_equal(out.trust, HF_TRUST_MISMATCH);
        assert_false(out.must_write);
        assert_false(out.is_reset);
    }
}

/* A marker from a version without fence_keep: not refused, and completed, even
 * if no other field changes. */
static void an_older_marker_is_completed(void **state)
{
    (void)state;
    struct scene scene = untouched();
    assert_false(judge(&scene).must_write);
    scene.marker.shape.fence_keep_ms = 0;
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.must_write);
    assert_int_equal(out.marker.shape.fence_keep_ms, 3600000);
}

static void quarantine_off_votes_but_marks(void **state)
{
    (void)state;
    struct scene scene = restarted();
    scene.is_off = true;
    meet(&scene, 1);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.must_write);
    assert_true(out.is_reset);
    assert_false(out.marker.is_whole);
    /* without the right to ask for the identity, the marker is trusted */
    scene.identity = (struct hf_identity){0};
    out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_false(out.must_write);
    assert_false(out.is_reset);
}

/* The client writes "whole" for all hosts: no entry, and no end of a
 * quarantine. */
static void a_watch_that_is_over_writes_no_entry(void **state)
{
    (void)state;
    struct scene scene = watched();
    meet(&scene, NOW_MS - MAX_TTL_MS);
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.marker.is_whole);
    assert_false(out.marker.has_entry);
    assert_int_equal(out.until.ns, HF_LONG_AGO.ns);
}

/* An id of one character is not an empty id. */
static void a_short_run_id_is_compared_and_written(void **state)
{
    (void)state;
    struct scene scene = restarted();
    set(scene.identity.run_id, "1");
    assert_watched_anew(&scene, HF_SUSPECT_REPLACED);
    scene = restarted_durable();
    set(scene.identity.run_id, "1");
    struct hf_quarantine_ruling out = judge(&scene);
    assert_int_equal(out.trust, HF_TRUST_VOTES);
    assert_true(out.must_write);
    assert_string_equal(out.marker.run_id, "1");
}

/* All fields are set, whatever the memory contained. Durable only if the server
 * is known to be. */
static void a_declared_marker_says_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct scene scene = untouched();
        struct hf_marker out;
        memset(&out, 0xff, sizeof(out));
        scene.identity.knows_durability = (i & 1) != 0;
        scene.identity.is_durable = (i & 2) != 0;
        hf_quarantine_declare(&scene.identity, &shape, true, &out);
        assert_true(out.exists);
        assert_true(out.is_whole);
        assert_int_equal(out.is_durable, i == 3);
        assert_int_equal(out.has_entry, false);
        assert_int_equal(out.entry.ns, 0);
        assert_string_equal(out.value, "");
        assert_string_equal(out.run_id, "run1");
        assert_memory_equal(&out.shape, &shape, sizeof(shape));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_server_votes),
        cmocka_unit_test(a_restart_is_watched_anew),
        cmocka_unit_test(exchanged_databases_are_watched_anew),
        cmocka_unit_test(a_marker_of_no_database_is_completed),
        cmocka_unit_test(no_marker_is_watched_anew),
        cmocka_unit_test(a_promotion_in_place_is_watched_anew),
        cmocka_unit_test(an_old_primary_names_itself),
        cmocka_unit_test(a_declared_server_votes_at_once),
        cmocka_unit_test(declared_lost_it_is_watched_anew),
        cmocka_unit_test(a_durable_restart_votes),
        cmocka_unit_test(durable_is_then_and_now),
        cmocka_unit_test(durable_and_promoted_is_not_durable),
        cmocka_unit_test(an_older_life_is_not_durable),
        cmocka_unit_test(a_durable_restart_goes_on_watching),
        cmocka_unit_test(durability_that_changed_is_written_down),
        cmocka_unit_test(the_first_sight_is_written_for_the_host),
        cmocka_unit_test(a_span_later_it_is_whole),
        cmocka_unit_test(a_client_that_stays_can_watch_alone),
        cmocka_unit_test(an_entry_ahead_of_the_clock_is_none),
        cmocka_unit_test(entries_are_of_one_identity),
        cmocka_unit_test(other_settings_are_refused),
        cmocka_unit_test(an_older_marker_is_completed),
        cmocka_unit_test(quarantine_off_votes_but_marks),
        cmocka_unit_test(a_watch_that_is_over_writes_no_entry),
        cmocka_unit_test(a_short_run_id_is_compared_and_written),
        cmocka_unit_test(a_declared_marker_says_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
