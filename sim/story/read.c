/* SPDX-License-Identifier: Apache-2.0 */
/* Reads stories in the format of write.c. */
#include "story/reader.h"

#include "core/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- The head ------------------------------------------------------------ */

static bool read_count(struct sim_reader *reader, const char *what,
                       int64_t most, unsigned *out)
{
    int64_t number;
    if (!sim_reader_number(reader, what, "", 1, most, &number)) {
        return false;
    }
    *out = (unsigned)number;
    return true;
}

static bool read_nodes(struct sim_reader *reader)
{
    return read_count(reader, "nodes", SIM_NODES_MAX,
                      &reader->story->n_nodes) &&
           (reader->story->n_nodes % 2 == 1 ||
            sim_reader_fail(reader, "nodes: 1, 3 or 5"));
}

static bool read_store(struct sim_reader *reader)
{
    char *word = sim_reader_need(reader, "which store");
    if (word == NULL) {
        return false;
    }
    reader->story->is_local = strcmp(word, "local") == 0;
    reader->story->n_nodes = 1;
    return reader->story->is_local ||
           sim_reader_fail(reader, "store: \"%.40s\" is not \"local\"", word);
}

static bool read_processes(struct sim_reader *reader)
{
    return read_count(reader, "processes", SIM_PROCESSES_MAX,
                      &reader->story->n_processes);
}

static bool read_seed(struct sim_reader *reader)
{
    char *word = sim_reader_need(reader, "seed");
    char *end;
    if (word == NULL) {
        return false;
    }
    reader->story->seed = strtoull(word, &end, 10);
    return (end != word && *end == '\0') ||
           sim_reader_fail(reader, "seed: \"%.40s\" is not a number", word);
}

static bool read_regime(struct sim_reader *reader)
{
    char *word = sim_reader_need(reader, "regime");
    if (word == NULL) {
        return false;
    }
    for (int i = 0; i < SIM_REGIMES; i++) {
        if (strcmp(word, sim_regime_name((enum sim_regime)i)) == 0) {
            reader->story->regime = (enum sim_regime)i;
            return true;
        }
    }
    return sim_reader_fail(reader, "\"%.40s\" is no regime", word);
}

static bool read_max_ttl(struct sim_reader *reader)
{
    return sim_reader_ms(reader, "max_ttl", &reader->story->max_ttl_ms);
}

static bool read_node_timeout(struct sim_reader *reader)
{
    return sim_reader_ms(reader, "node_timeout",
                         &reader->story->node_timeout_ms);
}

static bool read_switch(struct sim_reader *reader, bool *is_on)
{
    char *word = sim_reader_need(reader, "on or off");
    if (word == NULL) {
        return false;
    }
    *is_on = strcmp(word, "on") == 0;
    return *is_on || strcmp(word, "off") == 0 ||
           sim_reader_fail(reader, "\"%.40s\" is neither on nor off", word);
}

static bool read_quarantine(struct sim_reader *reader)
{
    return read_switch(reader, &reader->story->has_quarantine);
}

static bool read_queues(struct sim_reader *reader)
{
    return read_switch(reader, &reader->story->queues);
}

static bool read_delay(struct sim_reader *reader)
{
    return sim_reader_time(reader, "delay", 0, &reader->story->delay_ns);
}

static bool read_jitter(struct sim_reader *reader)
{
    return sim_reader_time(reader, "jitter", 0, &reader->story->jitter_ns);
}

static bool read_calm(struct sim_reader *reader)
{
    return sim_reader_time(reader, "calm", 0, &reader->story->calm_ns);
}

static bool read_ppm(struct sim_reader *reader, const char *what, unsigned *ppm)
{
    int64_t number;
    if (!sim_reader_number(reader, what, "ppm", 0, 1000000, &number)) {
        return false;
    }
    *ppm = (unsigned)number;
    return true;
}

static bool read_late(struct sim_reader *reader)
{
    if (!read_ppm(reader, "late", &reader->story->late_ppm)) {
        return false;
    }
    char *word = sim_reader_need(reader, "late: by how much");
    return word != NULL &&
           (strcmp(word, "by") == 0 ||
            sim_reader_fail(reader, "late: \"%.40s\" is not \"by\"", word)) &&
           sim_reader_time(reader, "late by", 0, &reader->story->late_ns);
}

static bool read_shatter(struct sim_reader *reader)
{
    return read_ppm(reader, "shatter", &reader->story->shatter_ppm);
}

/* @return the index of the process in the next word; -1: it names none. */
static int read_process(struct sim_reader *reader, const char *what)
{
    char *word = sim_reader_need(reader, what);
    int process = word == NULL ? -1 : sim_reader_who(reader, word, 'p');
    if (word != NULL && process < 0) {
        sim_reader_fail_who(reader, word);
    }
    return process;
}

static bool read_host(struct sim_reader *reader)
{
    int process = read_process(reader, "host: of which process");
    int other = process < 0 ? -1 : read_process(reader, "host: whose");
    if (other < 0) {
        return false;
    }
    if (other == process || reader->story->host_of[other] != 0) {
        return sim_reader_fail(reader, "p%d has no host of its own", other + 1);
    }
    reader->story->host_of[process] = (uint8_t)(other + 1);
    return true;
}

static bool read_brief(struct sim_reader *reader)
{
    int process = read_process(reader, "brief: which process");
    if (process >= 0) {
        reader->story->brief |= (uint8_t)(1U << process);
    }
    return process >= 0;
}

static bool read_rate(struct sim_reader *reader)
{
    char *word = sim_reader_need(reader, "whose clock");
    if (word == NULL) {
        return false;
    }
    int process = sim_reader_who(reader, word, 'p');
    int node = sim_reader_who(reader, word, 'n');
    if (process < 0 && node < 0) {
        return sim_reader_fail_who(reader, word);
    }
    int64_t ppm;
    if (!sim_reader_number(reader, "rate", "ppm", -900000, 900000, &ppm)) {
        return false;
    }
    *(process >= 0 ? &reader->story->rate_ppm[process]
                   : &reader->story->node_rate_ppm[node]) = (int)ppm;
    return true;
}

static bool read_wall(struct sim_reader *reader)
{
    char *word = sim_reader_need(reader, "whose wall clock");
    if (word == NULL) {
        return false;
    }
    int node = sim_reader_who(reader, word, 'n');
    return node < 0 ? sim_reader_fail_who(reader, word)
                    : sim_reader_time(reader, "wall", INT64_MIN,
                                      &reader->story->node_wall_ns[node]);
}

/* ---- The whole ----------------------------------------------------------- */

static bool read_line(struct sim_reader *reader)
{
    static const struct {
        const char *name;
        bool (*read)(struct sim_reader *reader);
    } kinds[] = {
        {"nodes", read_nodes},
        {"store", read_store},
        {"processes", read_processes},
        {"seed", read_seed},
        {"regime", read_regime},
        {"max_ttl", read_max_ttl},
        {"node_timeout", read_node_timeout},
        {"quarantine", read_quarantine},
        {"queues", read_queues},
        {"delay", read_delay},
        {"jitter", read_jitter},
        {"late", read_late},
        {"shatter", read_shatter},
        {"host", read_host},
        {"brief", read_brief},
        {"rate", read_rate},
        {"wall", read_wall},
        {"calm", read_calm},
        {"turn", sim_reader_turn},
        {"at", sim_reader_fault},
    };
    char *word = sim_reader_word(reader);
    if (word == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(word, kinds[i].name) == 0) {
            if (!kinds[i].read(reader)) {
                return false;
            }
            word = sim_reader_word(reader);
            return word == NULL ||
                   sim_reader_fail(reader, "\"%.40s\" is too much", word);
        }
    }
    return sim_reader_fail(reader, "no line begins with \"%.40s\"", word);
}

/* Complete and check the story, once all lines are read. */
static bool complete(struct sim_reader *reader)
{
    struct sim_story *story = reader->story;
    int64_t longest_ms = 0;
    reader->line = 0;
    if (story->n_nodes == 0 || story->n_processes == 0) {
        return sim_reader_fail(reader, "\"%s\" is not told",
                               story->n_nodes == 0 ? "nodes" : "processes");
    }
    for (size_t i = 0; i < story->n_turns; i++) {
        longest_ms = story->turns[i].ttl_ms > longest_ms
                         ? story->turns[i].ttl_ms
                         : longest_ms;
    }
    if (story->max_ttl_ms == 0) {
        story->max_ttl_ms = longest_ms > 0 ? longest_ms : HF_MAX_TTL_MS_DEFAULT;
    }
    return longest_ms <= story->max_ttl_ms ||
           sim_reader_fail(reader, "a ttl is longer than max_ttl");
}

static bool read_lines(struct sim_story *story, FILE *in, char *why,
                       size_t size)
{
    char line[512];
    struct sim_reader reader = {.story = story, .why = why, .size = size};
    *story = (struct sim_story){.seed = 1,
                                .regime = SIM_NETWORK,
                                .node_timeout_ms = HF_NODE_TIMEOUT_MS_DEFAULT,
                                .delay_ns = 200000,
                                .jitter_ns = 100000,
                                .queues = true,
                                .has_quarantine = true};
    bool is_well = true;
    while (is_well && fgets(line, sizeof(line), in) != NULL) {
        reader.line++;
        reader.rest = line;
        is_well = strchr(line, '\n') != NULL || feof(in)
                      ? true
                      : sim_reader_fail(&reader, "is too long");
        line[strcspn(line, "#")] = '\0';
        is_well = is_well && read_line(&reader);
    }
    is_well = is_well && complete(&reader);
    if (!is_well) {
        sim_story_fini(story);
    }
    return is_well;
}

bool sim_story_read(struct sim_story *story, const char *text, char *why,
                    size_t size)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    if (in == NULL) {
        snprintf(why, size, "empty");
        return false;
    }
    bool is_well = read_lines(story, in, why, size);
    fclose(in);
    return is_well;
}
