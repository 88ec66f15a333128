/* SPDX-License-Identifier: Apache-2.0 */
/* May a server vote? Its marker, the operator's job, and the next step of
 * the store. core/quarantine.h has tests of its own. */
#include "store/admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW_MS 1000000 /* of each decision: all markers are older */
/* Of the store; a shape with another one is a mismatch. */
#define MAX_TTL_MS 60000

static const struct hf_shape shape = {MAX_TTL_MS, 3, 3600000, 5000};

static struct hf_instant at_ms(int64_t ms)
{
    return hf_instant_add((struct hf_instant){0}, hf_span_ms(ms));
}

static void set(char out[HF_SERVER_ID_MAX], const char *text)
{
    snprintf(out, HF_SERVER_ID_MAX, "%s", text);
}

/* ---- The table --------------------------------------------------------- */

/* The server's marker. */
enum marker {
    NONE,         /* new, restarted empty, or emptied */
    WHOLE,        /* of this server, all locks are there */
    OLD_FORMAT,   /* the same, but of an older format, without fence_keep */
    WATCHED,      /* another client watches it since just now */
    OTHER_SERVER, /* the server was restarted since */
    MISMATCHED    /* another max_ttl */
};

/* The operator's job, and its result. */
enum asked {
    NOTHING,
    LOOK,
    INIT,
    INIT_SEEN, /* after a survey that has shown this marker */
    INIT_DONE, /* its marker was written */
    QUARANTINE,
    QUARANTINE_DONE,
    LOOK_AND_INIT
};

enum vote { UNDECIDED, VOTES, NO_VOTE };

struct row {
    enum marker marker;
    bool strict;
    enum asked asked;
    int next;       /* enum hf_admission_next */
    enum vote vote; /* of an OPEN node */
    bool is_whole;  /* of the marker to WRITE */
};

enum { SURVEY = HF_ADMISSION_SURVEY, REFUSE = HF_ADMISSION_REFUSE };
enum { WRITE = HF_ADMISSION_WRITE, OPEN = HF_ADMISSION_ACCEPT };
enum { OFF = false, ON = true };

static const struct row rows[] = {
    /* No job: the marker decides. */
    {NONE, ON, NOTHING, WRITE, UNDECIDED, false},
    {WHOLE, ON, NOTHING, OPEN, VOTES, false},
    {OLD_FORMAT, ON, NOTHING, WRITE, UNDECIDED, true},
    {WATCHED, ON, NOTHING, OPEN, NO_VOTE, false},
    {OTHER_SERVER, ON, NOTHING, WRITE, UNDECIDED, false},
    {MISMATCHED, ON, NOTHING, REFUSE, UNDECIDED, false},
    /* quarantine=off writes the marker all the same: others rely on it. */
    {NONE, OFF, NOTHING, WRITE, UNDECIDED, false},
    {WHOLE, OFF, NOTHING, OPEN, VOTES, false},
    {WATCHED, OFF, NOTHING, OPEN, VOTES, false},
    {OTHER_SERVER, OFF, NOTHING, WRITE, UNDECIDED, false},
    {MISMATCHED, OFF, NOTHING, REFUSE, UNDECIDED, false},
    /* A survey comes first, whatever was found. */
    {NONE, ON, LOOK, SURVEY, UNDECIDED, false},
    {WHOLE, ON, LOOK, SURVEY, UNDECIDED, false},
    {MISMATCHED, ON, LOOK, SURVEY, UNDECIDED, false},
    {NONE, ON, LOOK_AND_INIT, SURVEY, UNDECIDED, false},
    /* INIT: the server has all locks. */
    {NONE, ON, INIT, WRITE, UNDECIDED, true},
    {NONE, OFF, INIT, WRITE, UNDECIDED, true},
    {WATCHED, ON, INIT, WRITE, UNDECIDED, true},
    {WATCHED, OFF, INIT, WRITE, UNDECIDED, true}, /* for strict clients */
    {OTHER_SERVER, ON, INIT, WRITE, UNDECIDED, true},
    {OLD_FORMAT, ON, INIT, WRITE, UNDECIDED, true},
    {WHOLE, ON, INIT, OPEN, VOTES, false}, /* nothing to declare */
    {MISMATCHED, ON, INIT, REFUSE, UNDECIDED, false},
    {MISMATCHED, ON, INIT_SEEN, WRITE, UNDECIDED, true},
    {WHOLE, ON, INIT_DONE, OPEN, VOTES, false},
    {WATCHED, ON, INIT_DONE, OPEN, NO_VOTE, false}, /* declared lost since */
    {MISMATCHED, ON, INIT_DONE, REFUSE, UNDECIDED, false},
    /* QUARANTINE: the server has lost locks. */
    {NONE, ON, QUARANTINE, WRITE, UNDECIDED, false},
    {WHOLE, ON, QUARANTINE, WRITE, UNDECIDED, false},
    {WHOLE, OFF, QUARANTINE, WRITE, UNDECIDED, false},
    {WATCHED, ON, QUARANTINE_DONE, OPEN, NO_VOTE, false},
    {MISMATCHED, ON, QUARANTINE, REFUSE, UNDECIDED, false},
};

static unsigned jobs_of(enum asked asked)
{
    static const unsigned jobs[] = {
        [NOTHING] = 0,
        [LOOK] = 1U << HF_JOB_LOOK,
        [INIT] = 1U << HF_JOB_INIT,
        [INIT_SEEN] = 1U << HF_JOB_INIT,
        [INIT_DONE] = 1U << HF_JOB_INIT,
        [QUARANTINE] = 1U << HF_JOB_QUARANTINE,
        [QUARANTINE_DONE] = 1U << HF_JOB_QUARANTINE,
        [LOOK_AND_INIT] = 1U << HF_JOB_LOOK | 1U << HF_JOB_INIT,
    };
    return jobs[asked];
}

static void read_marker(struct hf_admission *admission, enum marker kind)
{
    struct hf_marker *marker = &admission->marker;
    hf_admission_begin(admission);
    set(admission->identity.run_id, "run1");
    set(admission->identity.replid, "repl1");
    if (kind == NONE) {
        return;
    }
    *marker = (struct hf_marker){.exists = true, .shape = shape};
    set(marker->value, "v1");
    set(marker->run_id, kind == OTHER_SERVER ? "run0" : "run1");
    set(marker->replid, "repl1");
    marker->is_whole = kind != WATCHED;
    marker->has_entry = kind == WATCHED;
    marker->entry = at_ms(kind == WATCHED ? NOW_MS - 1 : 0);
    marker->shape.max_ttl_ms += kind == MISMATCHED;
    if (kind == OLD_FORMAT) {
        marker->shape.fence_keep_ms = 0;
    }
}

static void open_with(struct hf_admission *admission, enum marker kind,
                      bool strict)
{
    hf_admission_init(admission, &shape, "at:host", strict);
    read_marker(admission, kind);
    hf_admission_read(admission);
}

static void each_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct hf_admission admission;
        open_with(&admission, row->marker, row->strict);
        set(admission.looked_at, row->asked == INIT_SEEN ? "v1" : "v0");
        admission.is_declared =
            row->asked == INIT_DONE || row->asked == QUARANTINE_DONE;
        enum hf_admission_next next =
            hf_admission_decide(&admission, jobs_of(row->asked), at_ms(NOW_MS));
        if ((int)next != row->next) {
            fail_msg("row %zu: %d, not %d", i, next, row->next);
        }
        if (next == HF_ADMISSION_ACCEPT &&
            hf_admission_accept(&admission) != (row->vote == NO_VOTE)) {
            fail_msg("row %zu: the vote", i);
        }
        if (row->vote == VOTES &&
            admission.quarantined_until.ns != HF_LONG_AGO.ns) {
            fail_msg("row %zu: until", i);
        }
        if (next == HF_ADMISSION_WRITE &&
            admission.ruling.marker.is_whole != row->is_whole) {
            fail_msg("row %zu: whole", i);
        }
    }
}

/* ---- Surveys ----------------------------------------------------------- */

/* In the order in which a job needs them, and each remembers its marker. */
static void surveys_in_order(void **state)
{
    (void)state;
    static const enum hf_job order[] = {HF_JOB_LOOK, HF_JOB_COUNT,
                                        HF_JOB_LOWER};
    unsigned jobs = 1U << HF_JOB_INIT | 1U << HF_JOB_LOOK | 1U << HF_JOB_COUNT |
                    1U << HF_JOB_LOWER;
    struct hf_admission admission;
    open_with(&admission, MISMATCHED, true);
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_int_equal(hf_admission_decide(&admission, jobs, at_ms(NOW_MS)),
                         HF_ADMISSION_SURVEY);
        assert_int_equal(admission.surveying, order[i]);
        assert_string_equal(admission.looked_at, "v1");
        jobs &= ~(1U << order[i]);
    }
    assert_int_equal(hf_admission_decide(&admission, jobs, at_ms(NOW_MS)),
                     HF_ADMISSION_WRITE);
}

/* A marker of another store that was written after the survey stays. */
static void init_replaces_only_what_was_shown(void **state)
{
    (void)state;
    struct hf_admission admission;
    open_with(&admission, MISMATCHED, true);
    hf_admission_decide(&admission, 1U << HF_JOB_LOOK, at_ms(NOW_MS));
    read_marker(&admission, MISMATCHED);
    set(admission.marker.value, "v2");
    hf_admission_read(&admission);
    assert_int_equal(
        hf_admission_decide(&admission, 1U << HF_JOB_INIT, at_ms(NOW_MS)),
        HF_ADMISSION_REFUSE);
    assert_false(admission.is_declared);
}

/* ---- Declarations ------------------------------------------------------ */

static enum hf_admission_next write_as(struct hf_admission *admission,
                                       const char *value, unsigned jobs,
                                       int64_t now_ms)
{
    struct hf_marker *marker = &admission->ruling.marker;
    if (marker->value[0] == '\0') {
        set(marker->value, value);
    }
    hf_admission_wrote(admission);
    return hf_admission_decide(admission, jobs, at_ms(now_ms));
}

static void init_lets_the_server_vote(void **state)
{
    (void)state;
    struct hf_admission admission;
    unsigned jobs = 1U << HF_JOB_INIT;
    open_with(&admission, NONE, true);
    assert_int_equal(hf_admission_decide(&admission, jobs, at_ms(NOW_MS)),
                     HF_ADMISSION_WRITE);
    assert_true(admission.is_declared);
    assert_true(admission.has_declared);
    assert_int_equal(write_as(&admission, "v2", jobs, NOW_MS + 1),
                     HF_ADMISSION_ACCEPT);
    assert_false(hf_admission_accept(&admission));
    assert_string_equal(admission.known.value, "v2");
    assert_string_equal(admission.known.run_id, "run1");
}

static void init_of_a_server_that_votes_writes_nothing(void **state)
{
    (void)state;
    struct hf_admission admission;
    open_with(&admission, WHOLE, true);
    admission.has_declared = true; /* by an earlier job */
    assert_int_equal(
        hf_admission_decide(&admission, 1U << HF_JOB_INIT, at_ms(NOW_MS)),
        HF_ADMISSION_ACCEPT);
    assert_true(admission.is_declared);
    assert_false(admission.has_declared);
}

static void a_declared_quarantine_begins_with_its_marker(void **state)
{
    (void)state;
    struct hf_admission admission;
    unsigned jobs = 1U << HF_JOB_QUARANTINE;
    open_with(&admission, WHOLE, true);
    admission.suspicion = HF_SUSPECT_EMPTIED; /* of an earlier quarantine */
    assert_int_equal(hf_admission_decide(&admission, jobs, at_ms(NOW_MS)),
                     HF_ADMISSION_WRITE);
    /* The second write is the entry of our host. */
    assert_int_equal(write_as(&admission, "v2", jobs, NOW_MS + 7),
                     HF_ADMISSION_WRITE);
    assert_true(admission.ruling.marker.has_entry);
    assert_int_equal(write_as(&admission, "", jobs, NOW_MS + 9),
                     HF_ADMISSION_ACCEPT);
    assert_true(hf_admission_accept(&admission));
    assert_int_equal(admission.suspicion, HF_SUSPECT_WATCHED);
    assert_int_equal(admission.quarantined_until.ns,
                     at_ms(NOW_MS + 7 + MAX_TTL_MS).ns);
}

/* ---- A quarantine ------------------------------------------------------ */

/* Watch the server until its quarantine ends. */
static void assert_watched(struct hf_admission *admission,
                           enum hf_suspicion suspicion)
{
    assert_int_equal(hf_admission_decide(admission, 0, at_ms(NOW_MS)),
                     HF_ADMISSION_WRITE);
    assert_int_equal(write_as(admission, "v2", 0, NOW_MS), HF_ADMISSION_WRITE);
    assert_int_equal(write_as(admission, "", 0, NOW_MS), HF_ADMISSION_ACCEPT);
    assert_true(hf_admission_accept(admission));
    assert_int_equal(admission->suspicion, suspicion);
    assert_int_equal(admission->quarantined_until.ns,
                     at_ms(NOW_MS + MAX_TTL_MS).ns);
    struct hf_marker marker = admission->marker;
    hf_admission_begin(admission); /* the handshake at its end */
    set(admission->identity.run_id, "run1");
    set(admission->identity.replid, "repl1");
    admission->marker = marker;
    hf_admission_read(admission);
    assert_int_equal(admission->suspicion, suspicion);
    assert_int_equal(
        hf_admission_decide(admission, 0, at_ms(NOW_MS + MAX_TTL_MS - 1)),
        HF_ADMISSION_ACCEPT);
    assert_true(hf_admission_accept(admission));
    assert_int_equal(
        hf_admission_decide(admission, 0, at_ms(NOW_MS + MAX_TTL_MS)),
        HF_ADMISSION_WRITE);
    assert_true(admission->ruling.marker.is_whole);
    assert_int_equal(write_as(admission, "", 0, NOW_MS + MAX_TTL_MS),
                     HF_ADMISSION_ACCEPT);
    assert_false(hf_admission_accept(admission));
    assert_true(admission->quarantined_until.ns == HF_LONG_AGO.ns);
}

/* Its cause stays known while the marker keeps its value. */
static void a_quarantine_keeps_its_cause(void **state)
{
    (void)state;
    struct hf_admission admission;
    open_with(&admission, NONE, true);
    assert_watched(&admission, HF_SUSPECT_NO_TRACE);
    open_with(&admission, OTHER_SERVER, true);
    assert_watched(&admission, HF_SUSPECT_REPLACED);
    open_with(&admission, WHOLE, true);
    assert_int_equal(hf_admission_decide(&admission, 0, at_ms(NOW_MS)),
                     HF_ADMISSION_ACCEPT);
    hf_admission_accept(&admission);
    read_marker(&admission, NONE); /* flushed */
    hf_admission_read(&admission);
    assert_watched(&admission, HF_SUSPECT_EMPTIED);
    /* Another client's marker: its cause is not known here. */
    read_marker(&admission, WATCHED);
    hf_admission_read(&admission);
    assert_int_equal(admission.suspicion, HF_SUSPECT_WATCHED);
}

/* A host whose clock has no name writes no entry: one write. */
static void a_host_without_a_clock_watches_by_itself(void **state)
{
    (void)state;
    struct hf_admission admission;
    open_with(&admission, NONE, true);
    admission.host = "";
    assert_int_equal(hf_admission_decide(&admission, 0, at_ms(NOW_MS)),
                     HF_ADMISSION_WRITE);
    assert_int_equal(write_as(&admission, "v2", 0, NOW_MS),
                     HF_ADMISSION_ACCEPT);
    assert_true(hf_admission_accept(&admission));
}

/* ---- A handshake ------------------------------------------------------- */

static void a_handshake_begins_with_nothing(void **state)
{
    (void)state;
    static const struct hf_identity unknown;
    static const struct hf_marker none;
    struct hf_admission admission;
    open_with(&admission, WHOLE, true);
    assert_true(admission.quarantined_until.ns == HF_LONG_AGO.ns);
    hf_admission_decide(&admission, 0, at_ms(NOW_MS));
    hf_admission_accept(&admission);
    hf_admission_begin(&admission);
    assert_memory_equal(&admission.identity, &unknown, sizeof(unknown));
    assert_memory_equal(&admission.marker, &none, sizeof(none));
    assert_true(admission.known.has_met); /* that stays */
}

/* INIT with a smaller fence_base than the marker's is refused, also after a
 * survey that has shown this marker; with a greater one it is not. */
static void init_never_lowers_the_base(void **state)
{
    (void)state;
    for (int more = -1; more <= 1; more += 2) {
        struct hf_admission admission;
        open_with(&admission, WHOLE, true);
        admission.marker.shape.fence_base = shape.fence_base + more;
        set(admission.looked_at, "v1");
        assert_int_equal(
            hf_admission_decide(&admission, jobs_of(NOTHING), at_ms(NOW_MS)),
            REFUSE);
        assert_int_equal(
            hf_admission_decide(&admission, jobs_of(INIT), at_ms(NOW_MS)),
            more > 0 ? REFUSE : WRITE);
        if (more < 0) {
            assert_int_equal(admission.ruling.marker.shape.fence_base, 5000);
        }
    }
}

/* ---- Texts ------------------------------------------------------------- */

static void assert_mismatch(struct hf_shape its, const char *text)
{
    struct hf_admission admission;
    char out[240];
    hf_admission_init(&admission, &shape, "", true);
    admission.marker.shape = its;
    hf_admission_mismatch_text(&admission, out, sizeof(out));
    assert_string_equal(out, text);
}

static void texts(void **state)
{
    (void)state;
    assert_mismatch((struct hf_shape){MAX_TTL_MS, 5, 3600000, 5000},
                    "belongs to a store of 5 servers, this client's URL names "
                    "3: name all of them (max_ttl=1m)");
    assert_mismatch((struct hf_shape){MAX_TTL_MS, 1, 3600000, 5000},
                    "belongs to a store of 1 server, this client's URL names "
                    "3: name those of that store alone (max_ttl=1m)");
    assert_mismatch((struct hf_shape){30000, 3, 3600000, 5000},
                    "belongs to a store with max_ttl=30s, this client says 1m: "
                    "all clients of a store must say the same");
    assert_mismatch((struct hf_shape){MAX_TTL_MS, 3, 7200000, 5000},
                    "belongs to a store with fence_keep=2h, this client says "
                    "1h: all clients of a store must say the same");
    assert_mismatch((struct hf_shape){MAX_TTL_MS, 3, 3600000, 5001},
                    "belongs to a store with fence_base=5001, this client says "
                    "5000: all clients of a store must say the same");
    assert_mismatch((struct hf_shape){MAX_TTL_MS, 3, 0, 0},
                    "belongs to a store with fence_base=0, this client says "
                    "5000: all clients of a store must say the same");
    static const char *const causes[] = {"a", "b", "c", "d"};
    struct hf_admission admission;
    char out[200];
    hf_admission_init(&admission, &shape, "at:host", true);
    admission.suspicion = HF_SUSPECT_REPLACED;
    hf_admission_quarantine_text(&admission, causes, out, sizeof(out));
    assert_string_equal(out, "c: locks from before may still be held");
    admission.host = "";
    hf_admission_quarantine_text(&admission, causes, out, sizeof(out));
    assert_string_equal(
        out, "c: locks from before may still be held (/proc is hidden: each "
             "client must watch it that long itself)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row),
        cmocka_unit_test(surveys_in_order),
        cmocka_unit_test(init_replaces_only_what_was_shown),
        cmocka_unit_test(init_lets_the_server_vote),
        cmocka_unit_test(init_of_a_server_that_votes_writes_nothing),
        cmocka_unit_test(a_declared_quarantine_begins_with_its_marker),
        cmocka_unit_test(a_quarantine_keeps_its_cause),
        cmocka_unit_test(a_host_without_a_clock_watches_by_itself),
        cmocka_unit_test(a_handshake_begins_with_nothing),
        cmocka_unit_test(init_never_lowers_the_base),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
