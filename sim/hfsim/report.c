/* SPDX-License-Identifier: Apache-2.0 */
#include "hfsim/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void print_breaches(const struct sim_verdict *verdict)
{
    const char *before = ", outside promises: ";
    for (int rule = 0; rule < SIM_RULES; rule++) {
        if (verdict->n_breaches[rule] > 0) {
            printf("%s%s %" PRIu64, before, sim_rule_name((enum sim_rule)rule),
                   verdict->n_breaches[rule]);
            before = ", ";
        }
    }
}

/* The text begins with the rule. */
static void print_broken(const char *what, const struct sim_verdict *verdict)
{
    printf("%s, at %.6f s: %s\n", what, seconds(verdict->at_ns), verdict->text);
}

void sim_report_one(const char *what, const struct sim_story *story,
                    const struct sim_verdict *verdict, uint64_t digest)
{
    if (verdict->is_broken) {
        print_broken(what, verdict);
    }
    printf("%s: %s, %u nodes, %u processes: %" PRIu64 " of %" PRIu64
           " acquisitions, %" PRIu64 " renewals, %" PRIu64
           " handed over, %" PRIu64 " lost, %" PRIu64 " stale writes refused",
           what, sim_regime_name(story->regime), story->n_nodes,
           story->n_processes, verdict->n_grants, verdict->n_begun,
           verdict->n_renewals, verdict->n_pushes, verdict->n_losses,
           verdict->n_refused);
    if (!verdict->is_broken) {
        print_breaches(verdict);
    }
    printf("; digest %016" PRIx64 "\n", digest);
}

void sim_report_replay(const char *what, const struct sim_options *options)
{
    if (strncmp(what, "seed ", 5) == 0) {
        printf("replay: hfsim --seed %s", what + 5);
        if (options->regime >= 0) {
            printf(" --regime %s",
                   sim_regime_name((enum sim_regime)options->regime));
        }
        printf(" --trace\n");
    }
}

/* No rule was checked in a state that no seed has reached. */
static bool print_unreached(const struct sim_tally *tally)
{
    bool is_any = false;
    for (int rare = 0; rare < SIM_RARES; rare++) {
        if (tally->n_rare[rare] == 0) {
            printf("never reached: %s\n", sim_rare_name((enum sim_rare)rare));
            is_any = true;
        }
    }
    return is_any;
}

bool sim_report_missing(const struct sim_tally *tally, bool is_rare)
{
    bool is_any = false;
    if (tally->n_seeds == 0) {
        printf("no seed was run\n");
        return true;
    }
    for (int regime = 0; regime < SIM_REGIMES; regime++) {
        if (tally->n_tried[regime] > 0 && tally->n_grants[regime] == 0) {
            printf("no acquisition in %" PRIu64 " seeds of %s: nothing was "
                   "tested there\n",
                   tally->n_tried[regime],
                   sim_regime_name((enum sim_regime)regime));
            is_any = true;
        }
    }
    return (is_rare && print_unreached(tally)) || is_any;
}

bool sim_report_lists_rare(const struct sim_options *options)
{
    return !options->is_terse && !options->is_bench;
}

void sim_report_tally(const struct sim_tally *tally,
                      const struct sim_options *options)
{
    const struct sim_verdict *sum = &tally->sum;
    double cpu_s = seconds(tally->cpu_ns);
    printf("%" PRIu64 " seeds, %" PRIu64 " acquisitions in %.1f s of CPU "
           "(%.0f a second), %" PRIu64 " handed over, %" PRIu64
           " lost, %" PRIu64 " stale writes refused",
           tally->n_seeds, sum->n_grants, cpu_s,
           cpu_s > 0 ? (double)sum->n_grants / cpu_s : 0, sum->n_pushes,
           sum->n_losses, sum->n_refused);
    if (!tally->has_failed) {
        print_breaches(sum);
    }
    printf("\n");
    if (sim_report_lists_rare(options) && !options->is_rare &&
        !tally->has_failed) {
        (void)print_unreached(tally);
    }
}

void sim_report_failed(const struct sim_outcome *outcome,
                       const struct sim_options *options)
{
    char what[64];
    snprintf(what, sizeof(what), "seed %" PRIu64, outcome->seed);
    if (outcome->signal != 0) {
        printf("%s: crashed (%s)\n", what, strsignal(outcome->signal));
    } else {
        print_broken(what, &outcome->verdict);
    }
    sim_report_replay(what, options);
}

static void print_outside(const struct sim_tally *tally, enum sim_regime regime)
{
    printf("%-20s %6" PRIu64, sim_regime_name(regime), tally->n_tried[regime]);
    for (int rule = 0; rule < SIM_RULES; rule++) {
        bool is_promised = sim_rule_is_promised((enum sim_rule)rule, regime);
        if (is_promised && tally->n_broken[rule][regime] == 0) {
            printf(" %7s", "-");
        } else {
            printf(" %6" PRIu64 "%s", tally->n_broken[rule][regime],
                   tally->is_unkept[rule][regime] ? "!" : " ");
        }
    }
    printf("\n");
}

/* A rule that no regime without the promise breaks could be promised there,
 * too; or its check finds nothing. */
static bool is_unchecked(const struct sim_tally *tally, enum sim_rule rule)
{
    bool is_open = false, is_broken = false;
    for (int regime = 0; regime < SIM_REGIMES; regime++) {
        is_open =
            is_open || !sim_rule_is_promised(rule, (enum sim_regime)regime);
        is_broken = is_broken || tally->n_broken[rule][regime] > 0;
    }
    return is_open && !is_broken;
}

bool sim_report_outside(const struct sim_tally *tally)
{
    bool is_checked = true;
    printf("\nSeeds of each regime in which a rule was broken; \"-\": it is "
           "promised there, \"!\": although\n%-20s %6s",
           "", "seeds");
    for (int rule = 0; rule < SIM_RULES; rule++) {
        printf(" %7s", sim_rule_name((enum sim_rule)rule));
    }
    printf("\n");
    for (int regime = 0; regime < SIM_REGIMES; regime++) {
        print_outside(tally, (enum sim_regime)regime);
    }
    for (int rule = 0; rule < SIM_RULES; rule++) {
        if (is_unchecked(tally, (enum sim_rule)rule)) {
            printf("%s was never broken, though it is not promised "
                   "everywhere\n",
                   sim_rule_name((enum sim_rule)rule));
            is_checked = false;
        }
    }
    return is_checked;
}
