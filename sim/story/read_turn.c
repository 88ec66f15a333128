/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a turn of a story, in the format of write.c: a process, its lane, and
 * words in any order. A word that is missing leaves the default, so that a
 * story that was written by hand is short. */
#include "story/reader.h"

#include "core/limits.h"

#include <string.h>

static bool read_names(struct sim_reader *reader, uint8_t *names)
{
    char *word = sim_reader_need(reader, "name");
    if (word == NULL) {
        return false;
    }
    *names = 0;
    for (const char *at = word; *at != '\0'; at += at[1] == ',' ? 2 : 1) {
        if (*at < 'a' || *at >= 'a' + SIM_NAMES_MAX ||
            (at[1] != '\0' && at[1] != ',')) {
            return sim_reader_fail(
                reader, "name: \"%.40s\" (write a,b; there are a to %c)", word,
                (char)('a' + SIM_NAMES_MAX - 1));
        }
        *names |= (uint8_t)(1U << (*at - 'a'));
    }
    return true;
}

static bool read_wait(struct sim_reader *reader, int64_t *wait_ms)
{
    size_t blanks = strspn(reader->rest, SIM_BLANKS);
    const char *word = reader->rest + blanks;
    size_t len = strcspn(word, SIM_BLANKS);
    bool is_forever = len == 7 && memcmp(word, "forever", 7) == 0;
    bool is_none = len == 4 && memcmp(word, "none", 4) == 0;
    if (!is_forever && !is_none) {
        return sim_reader_ms(reader, "wait", wait_ms);
    }
    *wait_ms = is_forever ? -1 : 0;
    reader->rest += blanks + len;
    return true;
}

static bool read_small(struct sim_reader *reader, const char *what,
                       int64_t most, uint8_t *number)
{
    int64_t value;
    if (!sim_reader_number(reader, what, "", 1, most, &value)) {
        return false;
    }
    *number = (uint8_t)value;
    return true;
}

/* @return false: the word is no flag, and the turn is unchanged. */
static bool read_flag(struct sim_turn *turn, const char *word)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"shared", &turn->is_shared},     {"unfair", &turn->is_unfair},
        {"blocking", &turn->is_blocking}, {"hands-on", &turn->hands_on},
        {"forsakes", &turn->forsakes},    {"withdraws", &turn->withdraws}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

/* @return false: the word is no kind of turn. */
static bool read_kind(struct sim_turn *turn, const char *word)
{
    for (int kind = SIM_TURN_LOCK + 1; kind < SIM_TURN_KINDS; kind++) {
        if (strcmp(word, sim_turn_name((enum sim_turn_kind)kind)) == 0) {
            turn->kind = (uint8_t)kind;
            return true;
        }
    }
    return false;
}

static bool read_turn_word(struct sim_reader *reader, struct sim_turn *turn,
                           const char *word)
{
    if (strcmp(word, "name") == 0) {
        return read_names(reader, &turn->names);
    }
    if (strcmp(word, "think") == 0) {
        return sim_reader_time(reader, word, 0, &turn->think_ns);
    }
    if (strcmp(word, "wait") == 0) {
        return read_wait(reader, &turn->wait_ms);
    }
    if (strcmp(word, "ttl") == 0) {
        return sim_reader_ms(reader, word, &turn->ttl_ms);
    }
    if (strcmp(word, "hold") == 0) {
        return sim_reader_time(reader, word, 0, &turn->hold_ns);
    }
    if (strcmp(word, "cancel") == 0) {
        return sim_reader_time(reader, word, 1, &turn->cancel_ns);
    }
    if (strcmp(word, "permits") == 0) {
        return read_small(reader, word, SIM_SLOTS_MAX, &turn->n_permits);
    }
    if (strcmp(word, "writes") == 0) {
        return read_small(reader, word, UINT8_MAX, &turn->n_writes);
    }
    if (strcmp(word, "extends") == 0) {
        return read_small(reader, word, UINT8_MAX, &turn->n_extends);
    }
    if (strcmp(word, "once") == 0) {
        return sim_reader_ms(reader, word, &turn->period_ms);
    }
    if (strcmp(word, "reserve") == 0) {
        return sim_reader_ms(reader, word, &turn->reserve_ms);
    }
    return read_flag(turn, word) || read_kind(turn, word) ||
           sim_reader_fail(reader, "a turn has no \"%.40s\"", word);
}

static bool read_lane(struct sim_reader *reader, struct sim_turn *turn)
{
    char *word = sim_reader_need(reader, "whose turn it is");
    if (word == NULL) {
        return false;
    }
    char *lane = strchr(word, '.');
    if (lane != NULL) {
        *lane++ = '\0';
        if (lane[0] < '1' || lane[0] > '0' + SIM_LANES_MAX || lane[1] != '\0') {
            return sim_reader_fail(reader, "lane \"%.40s\" is not from 1 to %d",
                                   lane, SIM_LANES_MAX);
        }
        turn->lane = (uint8_t)(lane[0] - '1');
    }
    int process = sim_reader_who(reader, word, 'p');
    if (process < 0) {
        return sim_reader_fail_who(reader, word);
    }
    turn->process = (uint8_t)process;
    return true;
}

/* A turn that the library would refuse is an error in the story. */
static bool check_turn(const struct sim_reader *reader,
                       const struct sim_turn *turn)
{
    bool is_many = (turn->names & (turn->names - 1)) != 0;
    if (turn->ttl_ms < HF_TTL_MS_MIN) {
        return sim_reader_fail(reader, "the shortest ttl is %dms",
                               HF_TTL_MS_MIN);
    }
    if (turn->n_permits > 0 && (is_many || turn->is_shared)) {
        return sim_reader_fail(reader, "permits are for one name, not shared");
    }
    if (turn->hands_on && (is_many || turn->n_permits > 0)) {
        return sim_reader_fail(
            reader, "only one name without permits can be handed on");
    }
    if ((turn->period_ms > 0 || turn->reserve_ms > 0) &&
        (turn->n_permits > 0 || turn->is_shared || turn->hands_on)) {
        return sim_reader_fail(reader, "once and reserve are for names that "
                                       "are held alone, and not handed on");
    }
    if (turn->kind != SIM_TURN_LOCK && is_many) {
        return sim_reader_fail(reader, "%s is for one name",
                               sim_turn_name((enum sim_turn_kind)turn->kind));
    }
    return true;
}

bool sim_reader_turn(struct sim_reader *reader)
{
    struct sim_turn turn = {.names = 1, .wait_ms = -1, .ttl_ms = 2000};
    if (!read_lane(reader, &turn)) {
        return false;
    }
    for (char *word; (word = sim_reader_word(reader)) != NULL;) {
        if (!read_turn_word(reader, &turn, word)) {
            return false;
        }
    }
    if (!check_turn(reader, &turn)) {
        return false;
    }
    sim_story_add_turn(reader->story, &turn);
    return true;
}
