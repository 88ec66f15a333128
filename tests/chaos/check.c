/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of histories.
 *
 *     check [-b SECONDS] [-r REPORT] GROUP=FOLDER... [~GROUP=FOLDER...]
 *
 * Judges the histories in the folders, a line for each promise that begins
 * with "ok - " or "not ok - ", and writes a report. Folders of one GROUP are
 * added up. Groups with ~ are reported, not judged: other libraries.
 *
 *     -b   after a heal every client acquires within this (20 s)
 *
 * Ends with 1 if a promise was broken, or nothing was ever acquired. */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_MAX 8 /* of one command: a rig has one, a comparison a few */

static const char *const finding_texts[] = {
#define FINDING_TEXT(symbol, text) text,
    FINDING_MAP(FINDING_TEXT)
#undef FINDING_TEXT
};

static struct group groups[GROUPS_MAX];
static size_t n_groups;

static struct group *group_named(const char *name, size_t len, bool is_judged)
{
    for (size_t i = 0; i < n_groups; i++) {
        if (strlen(groups[i].name) == len &&
            strncmp(groups[i].name, name, len) == 0) {
            return &groups[i];
        }
    }
    if (n_groups == GROUPS_MAX || len >= sizeof(groups[0].name)) {
        fprintf(stderr, "check: too many groups, or too long a name\n");
        exit(64);
    }
    struct group *group = &groups[n_groups++];
    memcpy(group->name, name, len);
    group->is_judged = is_judged;
    return group;
}

static void add_folder(const char *argument, int64_t bound_ns)
{
    bool is_judged = argument[0] != '~';
    const char *name = argument + !is_judged;
    const char *equals = strchr(name, '=');
    if (equals == NULL) {
        fprintf(stderr, "check: %s is not GROUP=FOLDER\n", argument);
        exit(64);
    }
    struct group *group = group_named(name, (size_t)(equals - name), is_judged);
    struct history history;
    struct verdict verdict;
    FILE *quiet = is_judged ? stdout : fopen("/dev/null", "w");
    history_read(&history, equals + 1);
    judge(&history, bound_ns, &verdict, quiet != NULL ? quiet : stdout);
    group_add(group, &history, &verdict);
    judge_free(&verdict);
    history_free(&history);
    if (!is_judged && quiet != NULL) {
        fclose(quiet);
    }
}

/* The number of broken promises. */
static int tell(const struct group *group)
{
    size_t held = group->sum.n_outcomes[OUTCOME_HELD];
    int broken = held == 0;
    printf("%s - %s: locks are acquired (%zu), in %zu rounds with %zu faults\n",
           held > 0 ? "ok" : "not ok", group->name, held, group->n_rounds,
           group->n_faults);
    for (int i = 0; i < N_FINDINGS; i++) {
        size_t count = group->sum.inside[i];
        printf("%s - %s: %s", count == 0 ? "ok" : "not ok", group->name,
               finding_texts[i]);
        if (count > 0) {
            printf(": %zu do", count);
            broken++;
        }
        if (group->sum.excused[i] > 0) {
            printf(" (where it is not promised: %zu)", group->sum.excused[i]);
        }
        printf("\n");
    }
    return broken;
}

static void write_report(const char *path)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (out == NULL) {
        perror(path);
        exit(1);
    }
    report_write(out, groups, n_groups);
    if (out != stdout) {
        fclose(out);
    }
}

int main(int argc, char **argv)
{
    int64_t bound_ns = INT64_C(20000000000);
    const char *report = NULL;
    int option;
    while ((option = getopt(argc, argv, "b:r:")) != -1) {
        switch (option) {
        case 'b':
            bound_ns = strtoll(optarg, NULL, 10) * 1000000000;
            break;
        case 'r':
            report = optarg;
            break;
        default:
            return 64;
        }
    }
    if (optind == argc) {
        fprintf(stderr, "usage: check [-b S] [-r REPORT] GROUP=FOLDER...\n");
        return 64;
    }
    for (int i = optind; i < argc; i++) {
        add_folder(argv[i], bound_ns);
    }
    int broken = 0;
    for (size_t i = 0; i < n_groups; i++) {
        broken += groups[i].is_judged ? tell(&groups[i]) : 0;
    }
    if (report != NULL) {
        write_report(report);
    }
    for (size_t i = 0; i < n_groups; i++) {
        group_free(&groups[i]);
    }
    return broken > 0;
}
