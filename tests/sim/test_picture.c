/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures and logs of forged events: each must contain what happened, and
 * nothing else. */
#include "world/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000) /* in ns, as notes have it */

/* ---- A story: the pause past the lease ----------------------------------- */

static const struct sim_fault pause = {.at_ns = 1200 * MS,
                                       .kind = SIM_FAULT_PAUSE,
                                       .process = 0,
                                       .node = -1,
                                       .span_ns = 3000 * MS};

#define ASKED(who, sent_ms, verb, said, kept_ms)                               \
    {                                                                          \
        .kind = SIM_NOTE_ASKED, .at_ns = (sent_ms + 20) * MS, .process = who,  \
        .lane = -1, .node = 0, .other = -1, .sent_ns = (sent_ms)*MS,           \
        .until_ns = (sent_ms + 40) * MS, .lease_ns = (kept_ms)*MS,             \
        .text = verb, .result = said                                           \
    }

#define DID(what, who, ms, number, until_ms)                                   \
    {                                                                          \
        .kind = SIM_NOTE_##what, .at_ns = (ms)*MS, .process = who, .node = -1, \
        .other = -1, .fence = number, .until_ns = (until_ms)*MS                \
    }

static const struct sim_note paused[] = {
    DID(BEGIN, 0, 200, 0, 0),
    ASKED(0, 200, "acquire", "yours 7", 2000),
    DID(HELD, 0, 240, 7, 2178),
    DID(WRITE, 0, 500, 7, 0),
    DID(BEGIN, 1, 700, 0, 0),
    ASKED(1, 700, "acquire or queue", "queued", 0),
    ASKED(0, 850, "renew 7", "yours 7", 2000),
    DID(RENEWED, 0, 890, 7, 2828),
    {.kind = SIM_NOTE_FAULT,
     .at_ns = 1200 * MS,
     .node = -1,
     .until_ns = 4200 * MS,
     .fault = &pause},
    {.kind = SIM_NOTE_PAUSED,
     .at_ns = 1200 * MS,
     .process = 0,
     .node = -1,
     .until_ns = 4200 * MS},
    {.kind = SIM_NOTE_PUSHED,
     .at_ns = 2870 * MS,
     .process = 1,
     .node = 0,
     .counter = 8,
     .until_ns = 2890 * MS,
     .lease_ns = 2000 * MS},
    DID(HELD, 1, 2890, 8, 4700),
    DID(WRITE, 1, 3300, 8, 0),
    ASKED(1, 3500, "renew 8", "yours 8", 2000),
    DID(RENEWED, 1, 3540, 8, 5478),
    DID(LOST, 0, 4200, 7, 0),
    {.kind = SIM_NOTE_REFUSED,
     .at_ns = 4230 * MS,
     .process = 0,
     .node = -1,
     .fence = 7,
     .counter = 8},
    DID(RELEASED, 1, 4700, 8, 0),
    ASKED(1, 4700, "release", "free", 0),
};

/* The same without the event that excludes the second one. */
static const struct sim_note overlap[] = {
    DID(BEGIN, 0, 0, 0, 0),       DID(HELD, 0, 10, 7, 2000),
    DID(BEGIN, 1, 100, 0, 0),     DID(HELD, 1, 110, 9, 2100),
    DID(RELEASED, 0, 1000, 7, 0), DID(RELEASED, 1, 1500, 9, 0),
};

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

/* ---- Drawing ------------------------------------------------------------- */

static char *draw_story(const struct sim_story *story,
                        const struct sim_note *notes, size_t n,
                        const char *title)
{
    struct sim_picture *picture = sim_picture_new();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) {
        sim_picture_note(picture, &notes[i]);
    }
    sim_picture_draw(picture, story, title, out);
    fclose(out);
    sim_picture_free(picture);
    return text;
}

static char *draw(const struct sim_note *notes, size_t n, const char *title)
{
    struct sim_story story = {.n_nodes = 1, .n_processes = 2};
    return draw_story(&story, notes, n, title);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what)) {
        n++;
    }
    return n;
}

static void test_pause_past_the_lease(void **state)
{
    (void)state;
    char *svg = draw(paused, COUNT(paused), "Title\nCaption");
    assert_non_null(strstr(svg, ">Title</text>"));
    assert_non_null(strstr(svg, ">Caption</text>"));
    assert_non_null(strstr(svg, "p1 stands still"));
    assert_int_equal(count(svg, "refused: #1 &lt; #2"), 1);
    assert_int_equal(count(svg, "class=\"bar c1\""), 1);
    assert_int_equal(count(svg, "class=\"bar c2\""), 1);
    assert_non_null(strstr(svg, "class=\"beyond\"")); /* asleep after its end */
    assert_non_null(strstr(svg, "class=\"push s2\""));
    assert_null(strstr(svg, "class=\"both\"")); /* nor in the legend */
    assert_null(strstr(svg, "two holders at once"));
    free(svg);
}

static void test_two_holders_are_seen(void **state)
{
    (void)state;
    char *svg = draw(overlap, COUNT(overlap), "Title");
    assert_int_equal(count(svg, "class=\"both\""), 2); /* and the legend */
    assert_non_null(strstr(svg, "overlaps of holders: 1"));
    free(svg);
}

/* A broken promise is said under the title, and its moment marked. */
static void test_violation(void **state)
{
    struct sim_note notes[COUNT(overlap) + 1];
    (void)state;
    memcpy(notes, overlap, sizeof(overlap));
    notes[COUNT(overlap)] = (struct sim_note){.kind = SIM_NOTE_VIOLATION,
                                              .at_ns = 1600 * MS,
                                              .process = -1,
                                              .node = -1,
                                              .text = "C4: both of them"};
    char *svg = draw(notes, COUNT(notes), "Title");
    assert_int_equal(count(svg, ">C4: both of them<"), 1);
    assert_int_equal(count(svg, "class=\"edge\""), 3);
    free(svg);
}

/* Holders of one permit each do not exclude each other. */
static void test_permits_do_not_overlap(void **state)
{
    struct sim_turn turn = {.names = 1, .n_permits = 2};
    struct sim_story story = {
        .n_nodes = 1, .n_processes = 2, .turns = &turn, .n_turns = 1};
    (void)state;
    char *svg = draw_story(&story, overlap, COUNT(overlap), "Title");
    assert_null(strstr(svg, "class=\"both\""));
    free(svg);
}

static void test_sharers_do_not_overlap(void **state)
{
    struct sim_note notes[COUNT(overlap)];
    (void)state;
    memcpy(notes, overlap, sizeof(notes));
    for (size_t i = 0; i < COUNT(notes); i++) {
        notes[i].is_shared = true;
    }
    char *svg = draw(notes, COUNT(notes), "Title");
    assert_null(strstr(svg, "class=\"both\""));
    free(svg);
}

static void test_same_notes_same_bytes(void **state)
{
    (void)state;
    char *one = draw(paused, COUNT(paused), "Title");
    char *other = draw(paused, COUNT(paused), "Title");
    assert_string_equal(one, other);
    free(one);
    free(other);
}

static void test_titles_are_escaped(void **state)
{
    (void)state;
    char *svg = draw(overlap, COUNT(overlap), "a<b & \"c\"\n1 < 2");
    assert_non_null(strstr(svg, "a&lt;b &amp; &quot;c&quot;"));
    assert_non_null(strstr(svg, "1 &lt; 2"));
    free(svg);
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    char *svg = draw(NULL, 0, "Title");
    assert_non_null(strstr(svg, "</svg>"));
    free(svg);
}

/* Where the first bar of this class ends, in pixels. */
static int end_of(const char *svg, const char *classes)
{
    char end[40];
    snprintf(end, sizeof(end), "class=\"%s\"", classes);
    for (const char *at = strstr(svg, "<rect x"); at != NULL;
         at = strstr(at + 1, "<rect x")) {
        int x, width;
        if (sscanf(at, "<rect x=\"%d.%*d\" y=\"%*d.%*d\" width=\"%d", &x,
                   &width) == 2 &&
            strstr(at, end) != NULL && strstr(at, end) < strchr(at, '\n')) {
            return x + width;
        }
    }
    return -1;
}

/* What a server did not execute, for want of the script, is drawn, and gives
 * nothing back. */
static void test_unknown_script(void **state)
{
    static const struct sim_note notes[] = {
        DID(BEGIN, 0, 200, 0, 0),
        ASKED(0, 200, "acquire", "yours 7", 2000),
        DID(HELD, 0, 240, 7, 2178),
        DID(RELEASED, 0, 500, 7, 0),
        ASKED(0, 500, "release", "NOSCRIPT", 0),
        ASKED(0, 1100, "release", "free", 0),
        DID(HELD, 1, 1300, 8, 3000),
        DID(RELEASED, 1, 2000, 8, 0),
    };
    (void)state;
    char *svg = draw(notes, COUNT(notes), "Title");
    assert_int_equal(count(svg, ">NOSCRIPT</text>"), 1);
    assert_int_equal(count(svg, ">release</text>"), 1);
    assert_int_equal(count(svg, "class=\"ask s1\""), 5); /* legend: 2 */
    /* until the second request */
    assert_true(end_of(svg, "kept c1 s1") > end_of(svg, "bar c1") + 100);
    free(svg);
}

/* Too many messages to be told apart are left out, and it is said. */
static void test_many_messages(void **state)
{
    static struct sim_note notes[2000];
    (void)state;
    for (size_t i = 0; i < COUNT(notes); i++) {
        notes[i] =
            (struct sim_note)ASKED(0, (int64_t)i * 10, "renew", "yours 7", 100);
    }
    char *svg = draw(notes, COUNT(notes), "Title");
    assert_null(strstr(svg, "class=\"ask s1\""));
    assert_non_null(strstr(svg, "2000 messages are left out"));
    free(svg);
}

/* ---- Lines --------------------------------------------------------------- */

static void test_lines(void **state)
{
    static const char *const lines =
        "[    200.000] p1     acquire\n"
        "[    220.000] n1     yours 7    p1 acquire a, sent 200.000, back "
        "240.000\n"
        "[    240.000] p1     held       a fence 7, until 2178.000\n"
        "[    500.000] p1     writes     a fence 7\n";
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < 4; i++) {
        sim_trace_text(out, &paused[i]);
    }
    fclose(out);
    assert_string_equal(text, lines);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pause_past_the_lease),
        cmocka_unit_test(test_two_holders_are_seen),
        cmocka_unit_test(test_violation),
        cmocka_unit_test(test_permits_do_not_overlap),
        cmocka_unit_test(test_sharers_do_not_overlap),
        cmocka_unit_test(test_same_notes_same_bytes),
        cmocka_unit_test(test_titles_are_escaped),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_unknown_script),
        cmocka_unit_test(test_many_messages),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
