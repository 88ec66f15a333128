/* SPDX-License-Identifier: Apache-2.0 */
#include "hfsim/coverage.h"

#include <stdlib.h>
#include <string.h>

const char *sim_rare_name(enum sim_rare rare)
{
    static const char *const names[SIM_RARES] = {
        [SIM_RARE_SECOND_ROUND] = "a node is raised to a majority's counter",
        [SIM_RARE_RAISE_PASSED] = "a raise finds a greater counter",
        [SIM_RARE_RAISE_REFUSED] = "a raise finds another owner, or none",
        [SIM_RARE_BELOW_FLOOR] = "a raise is below the floor",
        [SIM_RARE_ASKED_AGAIN] = "an owner acquires what it has already",
        [SIM_RARE_GHOST] = "a grant whose answer is lost",
        [SIM_RARE_TAKEN_BACK] = "a renewal takes back a free name",
        [SIM_RARE_BELOW_HIGHEST] = "held below the highest counter heard",
        [SIM_RARE_HAND_OVER] = "handed over by a push",
        [SIM_RARE_DEAD_WAITER] = "handed over to a process that is gone",
        [SIM_RARE_LOST_GRANT] = "a push that never arrives",
        [SIM_RARE_YIELD] = "a grant is yielded",
        [SIM_RARE_YIELD_IN_VAIN] = "a yield does not lead back to the queue",
        [SIM_RARE_QUARANTINE] = "a node is quarantined",
        [SIM_RARE_STRANGER] = "a node is not who it was",
        [SIM_RARE_FULL] = "a node has no memory left",
        [SIM_RARE_AT_RISK] = "a lock is at risk",
        [SIM_RARE_LOST] = "a lock is lost",
        [SIM_RARE_ADOPTED] = "a lock is adopted",
        [SIM_RARE_STALE_WRITE] = "a stale write is refused",
        [SIM_RARE_STARTED_ONCE] = "a command starts once in a period",
        [SIM_RARE_MARKED_MEANWHILE] = "a mark is found by its next holder",
        [SIM_RARE_WITHDRAWN] = "a mark is withdrawn",
        [SIM_RARE_BROKEN] = "a lock is broken in order",
        [SIM_RARE_PLAIN] = "another library's lock is held",
    };
    return names[rare];
}

static bool begins(const char *text, const char *word)
{
    return text != NULL && strncmp(text, word, strlen(word)) == 0;
}

/* A note's text and result end with the counter. 0: it has none. */
static uint64_t last_number(const char *text)
{
    const char *blank = strrchr(text, ' ');
    return blank == NULL ? 0 : strtoull(blank, NULL, 10);
}

static void on_raise(struct sim_rares *rares, const struct sim_note *note)
{
    uint64_t wanted = last_number(note->text);
    uint64_t got = last_number(note->result);
    rares->n_seen[SIM_RARE_SECOND_ROUND]++;
    if (!begins(note->result, "yours")) {
        rares->n_seen[SIM_RARE_RAISE_REFUSED]++;
    } else if (got > wanted) {
        rares->n_seen[SIM_RARE_RAISE_PASSED]++;
    } else if (got < wanted) {
        rares->n_seen[SIM_RARE_BELOW_FLOOR]++;
    }
}

/* The node's owner before this reply decides which rare state it is. */
static void on_yours(struct sim_rares *rares, const struct sim_note *note,
                     int8_t *owner)
{
    uint64_t *highest = &rares->highest[note->process][note->name];
    uint64_t counter = last_number(note->result);
    bool was_his = *owner == note->process + 1;
    if (begins(note->text, "acquire")) {
        rares->n_seen[SIM_RARE_ASKED_AGAIN] += was_his;
        rares->n_seen[SIM_RARE_GHOST] += note->until_ns < 0;
    } else if (begins(note->text, "renew")) {
        rares->n_seen[SIM_RARE_TAKEN_BACK] += !was_his;
    }
    *highest = counter > *highest ? counter : *highest;
    *owner = (int8_t)(note->process + 1);
}

static void on_asked(struct sim_rares *rares, const struct sim_note *note)
{
    if (note->name < 0 || note->name >= SIM_NAMES_MAX || note->text == NULL ||
        note->result == NULL) {
        return;
    }
    int8_t *owner = &rares->owner[note->node][note->name];
    if (begins(note->text, "raise")) {
        on_raise(rares, note);
    } else if (begins(note->text, "yield")) {
        rares->n_seen[SIM_RARE_YIELD]++;
        rares->n_seen[SIM_RARE_YIELD_IN_VAIN] +=
            !begins(note->result, "queued");
    }
    if (begins(note->result, "yours")) {
        on_yours(rares, note, owner);
    } else if (begins(note->result, "free")) {
        *owner = 0;
    } else if (begins(note->result, "not the server")) {
        rares->n_seen[SIM_RARE_STRANGER]++;
    } else if (begins(note->result, "OOM")) {
        rares->n_seen[SIM_RARE_FULL]++;
    }
}

static void on_pushed(struct sim_rares *rares, const struct sim_note *note)
{
    rares->n_seen[SIM_RARE_HAND_OVER]++;
    rares->n_seen[SIM_RARE_DEAD_WAITER] += rares->is_gone[note->process];
    rares->n_seen[SIM_RARE_LOST_GRANT] += note->until_ns < 0;
}

static void on_held(struct sim_rares *rares, const struct sim_note *note)
{
    uint64_t *highest = &rares->highest[note->process][note->name];
    rares->n_seen[SIM_RARE_BELOW_HIGHEST] += note->fence < *highest;
    *highest = 0;
}

static void on_given_up(struct sim_rares *rares, const struct sim_note *note)
{
    rares->highest[note->process][note->name] = 0;
}

static void on_node_status(struct sim_rares *rares, const struct sim_note *note)
{
    rares->n_seen[SIM_RARE_QUARANTINE] += begins(note->text, "quarantine");
}

static void on_node_up(struct sim_rares *rares, const struct sim_note *note)
{
    memset(rares->owner[note->node], 0, sizeof(rares->owner[note->node]));
}

static void on_crashed(struct sim_rares *rares, const struct sim_note *note)
{
    rares->is_gone[note->process] = true;
}

static void on_started(struct sim_rares *rares, const struct sim_note *note)
{
    rares->is_gone[note->process] = false;
}

static void on_at_risk(struct sim_rares *rares, const struct sim_note *note)
{
    (void)note;
    rares->n_seen[SIM_RARE_AT_RISK]++;
}

static void on_lost(struct sim_rares *rares, const struct sim_note *note)
{
    (void)note;
    rares->n_seen[SIM_RARE_LOST]++;
}

static void on_adopted(struct sim_rares *rares, const struct sim_note *note)
{
    (void)note;
    rares->n_seen[SIM_RARE_ADOPTED]++;
}

static void on_refused(struct sim_rares *rares, const struct sim_note *note)
{
    (void)note;
    rares->n_seen[SIM_RARE_STALE_WRITE]++;
}

static void on_called(struct sim_rares *rares, const struct sim_note *note)
{
    static const struct {
        const char *text;
        enum sim_rare rare;
    } calls[] = {{"mark: ok", SIM_RARE_STARTED_ONCE},
                 {"mark: held", SIM_RARE_MARKED_MEANWHILE},
                 {"withdraw: ok", SIM_RARE_WITHDRAWN},
                 {"break: ok", SIM_RARE_BROKEN},
                 {"SET NX: held", SIM_RARE_PLAIN}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        rares->n_seen[calls[i].rare] += begins(note->text, calls[i].text);
    }
}

void sim_rares_note(struct sim_rares *rares, const struct sim_note *note)
{
    static void (*const on[SIM_NOTE_CALLED + 1])(
        struct sim_rares * rares, const struct sim_note *note) = {
        [SIM_NOTE_ASKED] = on_asked,
        [SIM_NOTE_PUSHED] = on_pushed,
        [SIM_NOTE_HELD] = on_held,
        [SIM_NOTE_GIVEN_UP] = on_given_up,
        [SIM_NOTE_NODE_STATUS] = on_node_status,
        [SIM_NOTE_NODE_UP] = on_node_up,
        [SIM_NOTE_CRASHED] = on_crashed,
        [SIM_NOTE_STARTED] = on_started,
        [SIM_NOTE_AT_RISK] = on_at_risk,
        [SIM_NOTE_LOST] = on_lost,
        [SIM_NOTE_ADOPTED] = on_adopted,
        [SIM_NOTE_REFUSED] = on_refused,
        [SIM_NOTE_CALLED] = on_called,
    };
    if (on[note->kind] != NULL) {
        on[note->kind](rares, note);
    }
}
