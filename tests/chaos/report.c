/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Adding up ----------------------------------------------------------- */

static struct tally *tally_of(struct group *group, const struct fault *fault)
{
    for (size_t i = 0; i < group->n_tallies; i++) {
        if (strcmp(group->tallies[i].name, fault->name) == 0) {
            return &group->tallies[i];
        }
    }
    struct tally *grown =
        realloc(group->tallies, (group->n_tallies + 1) * sizeof(*grown));
    if (grown == NULL) {
        perror("check");
        exit(1);
    }
    group->tallies = grown;
    struct tally *tally = &grown[group->n_tallies++];
    memset(tally, 0, sizeof(*tally));
    memcpy(tally->name, fault->name, sizeof(tally->name));
    tally->keeps_exclusion = fault->keeps_exclusion;
    tally->keeps_order = fault->keeps_order;
    return tally;
}

static void sample(int64_t **samples, size_t n, int64_t value)
{
    int64_t *grown = realloc(*samples, (n + 1) * sizeof(*grown));
    if (grown == NULL) {
        perror("check");
        exit(1);
    }
    grown[n] = value;
    *samples = grown;
}

/* If a round has several faults, its findings count for all of them; or, if
 * some are outside the assumptions of a guarantee, only for those. */
static bool is_ascribed(const struct history *history,
                        const struct fault *fault)
{
    bool all_keep = true;
    for (size_t i = 0; i < history->n_faults; i++) {
        const struct fault *other = &history->faults[i];
        all_keep = all_keep &&
                   (other->epoch != fault->epoch || other->keeps_exclusion);
    }
    return all_keep || !fault->keeps_exclusion;
}

static void tally_add(struct tally *tally, const struct round *round)
{
    tally->n_held += round->n_held;
    tally->n_overlaps += round->n_overlaps;
    tally->n_refused += round->n_refused;
    tally->n_lost_unguarded += round->n_lost_unguarded;
    if (round->has_healed) {
        sample(&tally->stalls, tally->n_samples, round->stall);
        sample(&tally->nexts, tally->n_samples, round->next);
        sample(&tally->alls, tally->n_samples, round->all);
        tally->n_samples++;
    }
}

static void verdict_add(struct verdict *sum, const struct verdict *verdict)
{
    for (int i = 0; i < N_FINDINGS; i++) {
        sum->inside[i] += verdict->inside[i];
        sum->excused[i] += verdict->excused[i];
    }
    for (int i = 0; i < 2; i++) {
        int64_t longest = verdict->longest_overlap[i];
        int64_t *so_far = &sum->longest_overlap[i];
        *so_far = longest > *so_far ? longest : *so_far;
    }
    for (int i = 0; i < 5; i++) {
        sum->n_outcomes[i] += verdict->n_outcomes[i];
    }
    sum->n_told_lost += verdict->n_told_lost;
    sum->n_refused += verdict->n_refused;
    sum->n_lost_unguarded += verdict->n_lost_unguarded;
    sum->n_writes_unguarded += verdict->n_writes_unguarded;
    sum->has_fences = sum->has_fences || verdict->has_fences;
}

void group_add(struct group *group, const struct history *history,
               const struct verdict *verdict)
{
    group->n_histories++;
    group->n_rounds += history->n_heals;
    group->n_faults += history->n_faults;
    group->duration +=
        history->stop != NEVER ? history->stop - history->begin : 0;
    verdict_add(&group->sum, verdict);
    struct fault none = {
        .name = "(none)", .keeps_exclusion = true, .keeps_order = true};
    for (size_t i = 0; i < history->n_heals; i++) { /* rounds without faults */
        int epoch = history->heals[i].epoch;
        bool is_peace = (size_t)epoch < verdict->n_rounds;
        for (size_t j = 0; j < history->n_faults; j++) {
            is_peace = is_peace && history->faults[j].epoch != epoch;
        }
        if (is_peace) {
            struct tally *tally = tally_of(group, &none);
            tally->n_times++;
            tally_add(tally, &verdict->rounds[epoch]);
        }
    }
    for (size_t i = 0; i < history->n_faults; i++) {
        const struct fault *fault = &history->faults[i];
        struct tally *tally = tally_of(group, fault);
        tally->n_times++;
        if (fault->epoch >= 0 && (size_t)fault->epoch < verdict->n_rounds &&
            is_ascribed(history, fault)) {
            tally_add(tally, &verdict->rounds[fault->epoch]);
        }
    }
}

void group_free(struct group *group)
{
    for (size_t i = 0; i < group->n_tallies; i++) {
        free(group->tallies[i].stalls);
        free(group->tallies[i].nexts);
        free(group->tallies[i].alls);
    }
    free(group->tallies);
}

/* ---- One column for each group ------------------------------------------- */

static void row(FILE *out, const char *what, const struct group *groups,
                size_t n, size_t (*value)(const struct group *))
{
    fprintf(out, "| %s |", what);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, " %zu |", value(&groups[i]));
    }
    fprintf(out, "\n");
}

static size_t seconds_of(const struct group *group)
{
    return (size_t)(group->duration / 1000000000);
}

static size_t rounds_of(const struct group *group)
{
    return group->n_rounds;
}

static size_t faults_of(const struct group *group)
{
    return group->n_faults;
}

static size_t attempts_of(const struct group *group)
{
    size_t sum = 0;
    for (int i = 0; i < 5; i++) {
        sum += group->sum.n_outcomes[i];
    }
    return sum;
}

static size_t held_of(const struct group *group)
{
    return group->sum.n_outcomes[OUTCOME_HELD];
}

static size_t unknown_of(const struct group *group)
{
    return group->sum.n_outcomes[OUTCOME_UNKNOWN];
}

static size_t told_lost_of(const struct group *group)
{
    return group->sum.n_told_lost;
}

static size_t writes_of(const struct group *group)
{
    return group->sum.n_writes_unguarded;
}

static size_t lost_unguarded_of(const struct group *group)
{
    return group->sum.n_lost_unguarded;
}

static size_t refused_of(const struct group *group)
{
    return group->sum.n_refused;
}

static size_t stuck_of(const struct group *group)
{
    return group->sum.inside[FINDING_STUCK];
}

static void row_overlaps(FILE *out, const char *what,
                         const struct group *groups, size_t n, bool is_excused)
{
    fprintf(out, "| %s |", what);
    for (size_t i = 0; i < n; i++) {
        const struct verdict *sum = &groups[i].sum;
        size_t count = is_excused ? sum->excused[FINDING_OVERLAP]
                                  : sum->inside[FINDING_OVERLAP];
        double longest = (double)sum->longest_overlap[is_excused] / 1e6;
        if (count == 0) {
            fprintf(out, " 0 |");
        } else {
            fprintf(out, " %zu (longest %.0f ms) |", count, longest);
        }
    }
    fprintf(out, "\n");
}

static void row_fences(FILE *out, const char *what, const struct group *groups,
                       size_t n, enum finding kind, bool is_excused)
{
    fprintf(out, "| %s |", what);
    for (size_t i = 0; i < n; i++) {
        const struct verdict *sum = &groups[i].sum;
        if (sum->has_fences) {
            fprintf(out, " %zu |",
                    is_excused ? sum->excused[kind] : sum->inside[kind]);
        } else {
            fprintf(out, " no fences |");
        }
    }
    fprintf(out, "\n");
}

static void write_summary(FILE *out, const struct group *groups, size_t n)
{
    fprintf(out, "| |");
    for (size_t i = 0; i < n; i++) {
        fprintf(out, " %s |", groups[i].name);
    }
    fprintf(out, "\n| --- |");
    for (size_t i = 0; i < n; i++) {
        fprintf(out, " ---: |");
    }
    fprintf(out, "\n");
    row(out, "seconds", groups, n, seconds_of);
    row(out, "rounds", groups, n, rounds_of);
    row(out, "faults injected", groups, n, faults_of);
    row(out, "attempts to acquire", groups, n, attempts_of);
    row(out, "acquisitions", groups, n, held_of);
    row(out, "killed while at it: unknown", groups, n, unknown_of);
    row(out, "locks of which the holder was told that they are lost", groups, n,
        told_lost_of);
    row_overlaps(out,
                 "**two believed at once, where that is promised not to "
                 "happen**",
                 groups, n, false);
    row_overlaps(out, "two believed at once, under the other faults", groups, n,
                 true);
    row_fences(out, "**one fence for two**", groups, n, FINDING_TWICE, false);
    row_fences(out, "**fences that did not rise**", groups, n, FINDING_ORDER,
               false);
    row_fences(out, "either, where order is not promised", groups, n,
               FINDING_ORDER, true);
    row_fences(out, "**updates lost in the guarded register**", groups, n,
               FINDING_LOST, false);
    row(out, "reads and writes that the fence refused", groups, n, refused_of);
    row(out, "writes to the unguarded register", groups, n, writes_of);
    row(out, "updates lost in the unguarded register", groups, n,
        lost_unguarded_of);
    row(out, "**clients that were not back in time after a heal**", groups, n,
        stuck_of);
}

/* ---- One row for each fault ---------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void write_span(FILE *out, int64_t *samples, size_t n)
{
    if (n == 0) {
        fprintf(out, " - |");
        return;
    }
    qsort(samples, n, sizeof(*samples), by_value);
    double median = (double)samples[(n - 1) / 2] / 1e9;
    double most = (double)samples[n - 1] / 1e9;
    if (n == 1) {
        fprintf(out, " %.2f |", most);
    } else {
        fprintf(out, " %.2f, %.2f |", median, most);
    }
}

static const char *promise_of(const struct tally *tally)
{
    if (tally->keeps_exclusion) {
        return "both";
    }
    return tally->keeps_order ? "order" : "none";
}

static int by_name(const void *a, const void *b)
{
    const struct tally *left = a;
    const struct tally *right = b;
    int left_rank = left->keeps_exclusion * 2 + left->keeps_order;
    int right_rank = right->keeps_exclusion * 2 + right->keeps_order;
    return left_rank != right_rank ? right_rank - left_rank
                                   : strcmp(left->name, right->name);
}

static void write_faults(FILE *out, const struct group *group)
{
    fprintf(out, "\n### %s: fault by fault\n\n", group->name);
    fprintf(out, "| fault | promised | times | acquisitions | two at once | "
                 "refused by the fence | lost, unguarded | longest pause (s) | "
                 "next acquisition after the heal (s) | all clients (s) |\n"
                 "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | "
                 "---: | ---: |\n");
    qsort(group->tallies, group->n_tallies, sizeof(*group->tallies), by_name);
    for (size_t i = 0; i < group->n_tallies; i++) {
        const struct tally *tally = &group->tallies[i];
        fprintf(out, "| %s | %s | %zu | %zu | %zu | %zu | %zu |", tally->name,
                promise_of(tally), tally->n_times, tally->n_held,
                tally->n_overlaps, tally->n_refused, tally->n_lost_unguarded);
        write_span(out, tally->stalls, tally->n_samples);
        write_span(out, tally->nexts, tally->n_samples);
        write_span(out, tally->alls, tally->n_samples);
        fprintf(out, "\n");
    }
}

void report_write(FILE *out, const struct group *groups, size_t n)
{
    write_summary(out, groups, n);
    for (size_t i = 0; i < n; i++) {
        write_faults(out, &groups[i]);
    }
}
