/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle expects what docs/guarantees.md guarantees: its table is read, and
 * compared cell by cell. */
#include "oracle/oracle.h"
#include "oracle/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "Later": only after the leases from before the data loss have ended. */
enum promise { NO, LATER, YES };

/* The columns of the table, after "what happens". */
static const enum sim_rule columns[] = {SIM_C1, SIM_C2, SIM_C3,
                                        SIM_E1, SIM_C4, SIM_LIVE};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* How the rows of a regime begin; if there are two, the worse cell counts. */
static const char *const rows[SIM_REGIMES][2] = {
    [SIM_CALM] = {"nothing"},
    [SIM_NETWORK] = {"messages late, lost, twice"},
    [SIM_RATES] = {"clocks set wrong, at one rate"},
    [SIM_RESTART_DURABLE] = {"durable servers crash and restart"},
    [SIM_AMNESIA] = {"a server comes back empty or with older data, or a "
                     "lagging replica"},
    [SIM_FLOOR_ALONE] = {"the same with `quarantine=off`"},
    [SIM_WILD_CLOCKS] = {"clocks do anything"},
    [SIM_AMNESIA_WILD] =
        {"a server comes back empty, quarantine, and its clock "
         "is set wrong",
         "clocks do anything"},
    [SIM_FAILOVER] = {"failover to a replica"},
    [SIM_EVICT] = {"lock keys deleted or evicted"},
    [SIM_FLUSH] = {"FLUSHALL"},
    [SIM_BOOT_CLOCKS] = {"a server comes back empty, quarantine, and its clock "
                         "is set wrong"},
    [SIM_LOCAL] = {"nothing"}, /* all data are kept, whichever process dies */
};

/* ---- The document ------------------------------------------------------ */

static char *read_document(void)
{
    const char *source = getenv("HF_SOURCE");
    char path[4096];
    if (source == NULL) {
        fail_msg("HF_SOURCE is not set: tests/run does that");
    }
    snprintf(path, sizeof(path), "%s/docs/guarantees.md", source);
    FILE *in = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    assert_non_null(in);
    assert_true(getdelim(&text, &size, '\0', in) > 0);
    fclose(in);
    return text;
}

/* @return the only row that begins so. */
static const char *row_of(const char *document, const char *begins)
{
    char start[200];
    snprintf(start, sizeof(start), "\n| %s", begins);
    const char *row = strstr(document, start);
    if (row == NULL || strstr(row + 1, start) != NULL) {
        fail_msg("docs/guarantees.md: not one row \"%s\"", begins);
    }
    return row + 1;
}

static enum promise read_cell(const char *cell, size_t len)
{
    static const struct {
        const char *words;
        enum promise promise;
    } readings[] = {{"[**no**]", NO}, {"[yes", YES},   {"[after", YES},
                    {"[with ", YES},  {"[if ", LATER}, {"[the same]", LATER}};
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        size_t n = strlen(readings[i].words);
        if (len > n && memcmp(cell, readings[i].words, n) == 0) {
            return readings[i].promise;
        }
    }
    fail_msg("docs/guarantees.md: \"%.*s\" is neither yes nor no", (int)len,
             cell);
    return NO;
}

static enum promise documented(const char *document, enum sim_regime regime,
                               size_t column)
{
    enum promise worst = YES;
    for (size_t i = 0; i < 2 && rows[regime][i] != NULL; i++) {
        const char *cell = row_of(document, rows[regime][i]);
        for (size_t j = 0; j <= column + 1; j++) {
            cell = strchr(cell, '|') + 1;
        }
        cell += strspn(cell, " ");
        enum promise promise = read_cell(cell, strcspn(cell, "|\n"));
        worst = promise < worst ? promise : worst;
    }
    return worst;
}

/* ---- The judge --------------------------------------------------------- */

/* For a world with one node: right after its data were lost, and long after.
 * FOREIGN is not promised right after it: another library knows no quarantine.
 */
static enum promise judged(enum sim_rule rule, enum sim_regime regime)
{
    struct sim_story story = {.regime = regime,
                              .n_nodes = 1,
                              .has_quarantine = true,
                              .max_ttl_ms = 1000};
    struct sim_world world = {.story = &story, .now_ns = 1};
    struct sim_oracle *oracle = sim_oracle_new(&world);
    bool is_at_first = sim_oracle_promises(oracle, rule);
    sim_oracle_node_forgot(oracle, 0);
    bool is_at_once = sim_oracle_promises(oracle, rule);
    world.now_ns += oracle->later_ns + 1;
    bool is_later = sim_oracle_promises(oracle, rule);
    sim_oracle_free(oracle);
    assert_int_equal(is_at_first, sim_rule_is_promised(rule, regime));
    assert_int_equal(is_later, sim_rule_is_promised(rule, regime));
    return is_at_once ? YES : is_later ? LATER : NO;
}

static void compare(enum sim_rule rule, enum sim_regime regime,
                    enum promise promised)
{
    static const char *const words[] = {"not", "later", "always"};
    enum promise found = judged(rule, regime);
    if (found != promised) {
        fail_msg("%s in %s: promised %s, judged %s", sim_rule_name(rule),
                 sim_regime_name(regime), words[promised], words[found]);
    }
}

static void test_the_table(void **state)
{
    (void)state;
    char *document = read_document();
    for (int regime = 0; regime < SIM_REGIMES; regime++) {
        for (size_t i = 0; i < COLUMNS; i++) {
            compare(columns[i], (enum sim_regime)regime,
                    documented(document, (enum sim_regime)regime, i));
        }
    }
    free(document);
}

/* "Two more promises ride on these": GUARD on C1, PERMITS on C4. If C1 holds
 * only later, two clients with one fence from before may still renew and
 * write. */
static void test_what_rides_on_it(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_REGIMES; i++) {
        enum sim_regime regime = (enum sim_regime)i;
        compare(SIM_PERMITS, regime, judged(SIM_C4, regime));
        compare(SIM_GUARD, regime, judged(SIM_C1, regime) == YES ? YES : NO);
    }
}

/* For --once, --min-hold, break and plain locks. A mark needs exclusion and
 * order; a break and a plain client have no protection from lost data. */
static void test_what_one_kind_of_turn_has(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_REGIMES; i++) {
        enum sim_regime regime = (enum sim_regime)i;
        bool is_ordered =
            judged(SIM_C4, regime) == YES && judged(SIM_C2, regime) == YES;
        bool is_local = regime == SIM_LOCAL;
        bool is_kept = is_ordered && regime <= SIM_RESTART_DURABLE;
        compare(SIM_PERIOD, regime, is_ordered ? YES : NO);
        compare(SIM_RESERVE, regime, is_ordered ? YES : NO);
        compare(SIM_BREAK, regime, is_kept || is_local ? YES : NO);
        compare(SIM_FOREIGN, regime, is_kept ? LATER : NO);
        compare(SIM_READ, regime, regime == SIM_FAILOVER ? NO : YES);
    }
}

/* Order needs that nothing breaks, and one clock. Leases that a clock has made
 * long are left at the end. Of answers parts are left out by regime, where they
 * are judged (oracle/answer_judge.c). */
static void test_what_is_not_in_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_REGIMES; i++) {
        enum sim_regime regime = (enum sim_regime)i;
        bool is_wild = regime == SIM_WILD_CLOCKS ||
                       regime == SIM_AMNESIA_WILD || regime == SIM_BOOT_CLOCKS;
        bool is_in_order = regime == SIM_CALM || regime == SIM_LOCAL;
        compare(SIM_FIFO, regime, is_in_order ? YES : NO);
        compare(SIM_RESIDUE, regime, is_wild ? NO : YES);
        compare(SIM_ONCE, regime, YES);
        compare(SIM_ANSWER, regime, YES);
        compare(SIM_PROMPT, regime, YES);
        compare(SIM_RISK, regime, YES);
        /* An embedded store is one. */
        compare(SIM_SPREAD, regime, regime == SIM_LOCAL ? NO : YES);
    }
}

/* ---- Guarantees that a story excludes ---------------------------------- */

static bool promises(const struct sim_story *story, enum sim_rule rule)
{
    struct sim_world world = {.story = story};
    struct sim_oracle *oracle = sim_oracle_new(&world);
    bool is_promised = sim_oracle_promises(oracle, rule);
    sim_oracle_free(oracle);
    return is_promised;
}

static void test_order_needs_equal_clocks(void **state)
{
    (void)state;
    struct sim_story story = {.regime = SIM_CALM, .n_nodes = 3};
    assert_true(promises(&story, SIM_FIFO));
    story.node_wall_ns[2] = 1;
    assert_false(promises(&story, SIM_FIFO));
    assert_true(promises(&story, SIM_C1));
}

static void test_without_quarantine(void **state)
{
    (void)state;
    for (int rule = 0; rule < SIM_RULES; rule++) {
        struct sim_story story = {.regime = SIM_AMNESIA, .n_nodes = 1};
        bool needs_no_memory = rule == SIM_LIVE || rule == SIM_RESIDUE ||
                               rule == SIM_ONCE || rule == SIM_ANSWER ||
                               rule == SIM_READ || rule >= SIM_PROMPT;
        assert_int_equal(promises(&story, (enum sim_rule)rule),
                         needs_no_memory);
        story.regime = SIM_NETWORK; /* if it need not be kept in the regime */
        assert_int_equal(promises(&story, (enum sim_rule)rule),
                         rule != SIM_FIFO);
    }
}

/* If a clock goes an hour ahead and comes back, counters end, too. */
static void test_counters_that_expired(void **state)
{
    (void)state;
    const int64_t keep_ns = INT64_C(3600000000000);
    struct sim_fault jumps[] = {
        {.kind = SIM_FAULT_NODE_CLOCK, .amount = keep_ns / 2},
        {.kind = SIM_FAULT_NODE_CLOCK, .amount = -keep_ns / 2}};
    struct sim_story story = {.regime = SIM_WILD_CLOCKS,
                              .n_nodes = 3,
                              .faults = jumps,
                              .n_faults = 2};
    assert_false(promises(&story, SIM_C1));
    assert_false(promises(&story, SIM_GUARD));
    assert_true(promises(&story, SIM_LIVE));
    jumps[1].amount++;
    assert_true(promises(&story, SIM_C1));
    assert_true(promises(&story, SIM_GUARD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_what_rides_on_it),
        cmocka_unit_test(test_what_one_kind_of_turn_has),
        cmocka_unit_test(test_what_is_not_in_the_table),
        cmocka_unit_test(test_order_needs_equal_clocks),
        cmocka_unit_test(test_without_quarantine),
        cmocka_unit_test(test_counters_that_expired),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
