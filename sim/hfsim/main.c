/* SPDX-License-Identifier: Apache-2.0 */
/* hfsim: run one story or many, and report the rules that they break. */
#include "hfsim/options.h"

#include "hfsim/batch.h"
#include "hfsim/report.h"
#include "hfsim/shrink.h"
#include "hfsim/sinks.h"
#include "world/run_story.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 0: no rule was broken, or the expected one; 1: otherwise; 64: usage. */
enum { EXIT_WELL = 0, EXIT_BROKEN = 1, EXIT_USAGE = 64 };

static bool write_file(const char *path, const struct sim_story *story)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (out == NULL) {
        perror(path);
        return false;
    }
    sim_story_write(story, out);
    return out == stdout || fclose(out) == 0;
}

static bool draw_file(const char *path, const struct sim_picture *picture,
                      const struct sim_story *story, const char *title)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (out == NULL) {
        perror(path);
        return false;
    }
    sim_picture_draw(picture, story, title, out);
    return out == stdout || fclose(out) == 0;
}

/* ---- One story ----------------------------------------------------------- */

static void shrink(const struct sim_options *options, struct sim_story *story,
                   enum sim_rule rule)
{
    unsigned runs = sim_shrink(story, rule);
    if (runs == 0) {
        printf("it does not break alone: nothing to shrink\n");
        return;
    }
    printf("\nshrunk in %u runs to %zu turns and %zu faults:\n\n", runs,
           story->n_turns, story->n_faults);
    sim_story_write(story, stdout);
    if (options->write != NULL) {
        write_file(options->write, story);
    }
    if (rule != SIM_RULES) {
        struct sim_verdict verdict;
        struct sim_listener listener = {.text = stdout};
        printf("\n");
        sim_run(story, sim_listen, &listener, &verdict);
    }
}

static int run_one(const struct sim_options *options, struct sim_story *story,
                   const char *what, const char *title, int expected)
{
    struct sim_verdict verdict;
    struct sim_listener listener = {
        .text = options->traces ? stdout : NULL,
        .picture = options->svg != NULL ? sim_picture_new() : NULL,
    };
    if (options->write != NULL && !options->shrinks &&
        !write_file(options->write, story)) {
        return EXIT_BROKEN;
    }
    sim_run(story, sim_listen, &listener, &verdict);
    sim_report_one(what, story, &verdict, listener.digest);
    bool is_drawn = options->svg == NULL ||
                    draw_file(options->svg, listener.picture, story, title);
    sim_picture_free(listener.picture);
    bool is_expected = sim_is_expected(&verdict, expected);
    if (verdict.is_broken && (!is_expected || options->shrinks)) {
        sim_report_replay(what, options);
        shrink(options, story, verdict.rule);
    }
    if (!is_expected && expected != SIM_EXPECT_WELL) {
        printf("%s: %s was to break, and did not\n", what,
               sim_rule_name((enum sim_rule)expected));
    }
    return is_expected && is_drawn ? EXIT_WELL : EXIT_BROKEN;
}

static int run_seed(const struct sim_options *options)
{
    struct sim_story story;
    char what[64];
    char title[80];
    sim_story_draw(&story, options->first, options->regime);
    snprintf(what, sizeof(what), "seed %" PRIu64, options->first);
    snprintf(title, sizeof(title), "Seed %" PRIu64 " (%s)", options->first,
             sim_regime_name(story.regime));
    int status = run_one(options, &story, what, title, options->expected);
    sim_story_fini(&story);
    return status;
}

static int run_text(const struct sim_options *options, const char *what,
                    const char *text)
{
    struct sim_story story;
    char why[256];
    if (!sim_story_read(&story, text, why, sizeof(why))) {
        fprintf(stderr, "hfsim: %s: %s\n", what, why);
        return EXIT_USAGE;
    }
    char *title = sim_story_title(text);
    int expected = options->expected != SIM_EXPECT_WELL ? options->expected
                                                        : sim_expected_of(text);
    int status =
        run_one(options, &story, what, title == NULL ? what : title, expected);
    free(title);
    sim_story_fini(&story);
    return status;
}

static int run_scenario(const struct sim_options *options)
{
    return run_text(options, options->scenario->name, options->scenario->text);
}

static int run_file(const struct sim_options *options, const char *path)
{
    char *text = sim_read_whole(path);
    if (text == NULL) {
        return EXIT_USAGE;
    }
    int status = run_text(options, path, text);
    free(text);
    return status;
}

/* ---- Many ---------------------------------------------------------------- */

static int run_batch(const struct sim_options *options)
{
    struct sim_batch batch = {
        .first = options->first,
        .last = options->last,
        .regime = options->regime,
        .n_jobs = options->n_jobs,
        .limit_s = options->limit_s,
        .goes_on = options->is_outside,
        .is_listening = options->is_rare || sim_report_lists_rare(options),
    };
    struct sim_tally tally;
    sim_batch_run(&batch, &tally);
    sim_report_tally(&tally, options);
    if (options->is_outside) {
        return sim_report_outside(&tally) && !tally.has_failed ? EXIT_WELL
                                                               : EXIT_BROKEN;
    }
    if (!tally.has_failed) {
        bool is_missing = sim_report_missing(&tally, options->is_rare);
        return options->expected == SIM_EXPECT_WELL && !is_missing
                   ? EXIT_WELL
                   : EXIT_BROKEN;
    }
    if (options->expected != SIM_EXPECT_WELL && tally.failed.signal == 0 &&
        sim_is_expected(&tally.failed.verdict, options->expected)) {
        return EXIT_WELL;
    }
    sim_report_failed(&tally.failed, options);
    if (!options->is_terse) {
        struct sim_story story;
        sim_story_draw(&story, tally.failed.seed, options->regime);
        shrink(options, &story,
               tally.failed.signal != 0 ? SIM_RULES
                                        : tally.failed.verdict.rule);
        sim_story_fini(&story);
    }
    return EXIT_BROKEN;
}

int main(int argc, char **argv)
{
    struct sim_options options;
    if (!sim_options_read(&options, argc, argv)) {
        return EXIT_USAGE;
    }
    if (options.is_done) {
        return EXIT_WELL;
    }
    if (options.scenario != NULL) {
        return run_scenario(&options);
    }
    if (options.n_files > 0) {
        int status = EXIT_WELL;
        for (int i = 0; i < options.n_files && status != EXIT_USAGE; i++) {
            int one = run_file(&options, options.files[i]);
            status = one > status ? one : status;
        }
        return status;
    }
    return options.is_many ? run_batch(&options) : run_seed(&options);
}
