/* SPDX-License-Identifier: Apache-2.0 */
/* Calls other than acquisitions: --once, as the command does it
 * (cli/run/keeper_once.c), breaks, and reads. These calls block; one that may
 * block for long starts only while no other lane of its process is in a turn.
 */
#include "world/workload.h"

#include "client/lock.h"

#include <holdfast/holdfast.h>
#include <stdio.h>

/* Half of the longest time of a world, in milliseconds. */
#define BREAK_MS_MAX INT64_C(1800000)

static struct sim_oracle *oracle_of(const struct sim_lane *lane)
{
    return lane->process->world->oracle;
}

static void note_call(struct sim_lane *lane, const char *what,
                      enum hf_status status)
{
    char text[96];
    snprintf(text, sizeof(text), "%s: %s", what, hf_status_text(status));
    sim_lane_note(lane, SIM_NOTE_CALLED, text);
}

/* ---- --once -------------------------------------------------------------- */

bool sim_lane_check_marked(struct sim_lane *lane)
{
    struct hf_client *client = lane->process->client;
    int process = lane->process->index;
    struct hf_error error;
    for (int i = 0; i < SIM_NAMES_MAX; i++) {
        char name = (char)('a' + i);
        int64_t left_ms = 0;
        if ((lane->turn->names >> i & 1) == 0) {
            continue;
        }
        sim_once_look_begins(oracle_of(lane), process);
        enum hf_status status =
            hf_client_marked(client, &name, 1, &left_ms, &error);
        sim_once_looked(oracle_of(lane), process, i,
                        status == HF_OK ? left_ms : 0);
        if (status != HF_OK || left_ms > 0) {
            return true;
        }
    }
    return false;
}

bool sim_lane_mark(struct sim_lane *lane)
{
    struct hf_error error;
    sim_once_mark_begins(oracle_of(lane), lane->number, lane->turn->period_ms);
    enum hf_status status =
        hf_lock_mark(lane->lock, lane->turn->period_ms, &error);
    sim_once_marked(oracle_of(lane), lane->number, status);
    note_call(lane, "mark", status);
    lane->is_marked = status == HF_OK;
    return lane->is_marked;
}

void sim_lane_withdraw(struct sim_lane *lane)
{
    struct hf_error error;
    sim_once_unmark_begins(oracle_of(lane), lane->number);
    enum hf_status status = hf_lock_unmark(lane->lock, &error);
    sim_once_unmarked(oracle_of(lane), lane->number, status);
    note_call(lane, "withdraw", status);
}

/* ---- --min-hold ---------------------------------------------------------- */

void sim_lane_reserve(struct sim_lane *lane)
{
    struct hf_lock *lock = lane->lock;
    uint64_t number = lane->number;
    sim_reserve_begins(oracle_of(lane), number, lane->turn->reserve_ms);
    sim_oracle_ended(oracle_of(lane), number);
    lane->number = 0;
    lane->lock = NULL;
    lane->phase = SIM_LANE_CALLING;
    sim_reserved(oracle_of(lane), number,
                 hf_lock_release_reserved(lock, lane->turn->reserve_ms));
    sim_lane_rest(lane);
}

/* ---- Breaking ------------------------------------------------------------ */

struct breaking {
    const struct sim_story *story;
    struct sim_turn turn;
};

/* A lock of another library may have been met: unlike a lease of Holdfast it
 * has no limit, and at a server whose clock was set back it lasts for years.
 * The holder that a break names need not be that one. */
static bool is_limited(const struct breaking *breaking)
{
    for (size_t i = 0; i < breaking->story->n_turns; i++) {
        const struct sim_turn *turn = &breaking->story->turns[i];
        if (turn->kind == SIM_TURN_FOREIGN &&
            (turn->names & breaking->turn.names) != 0) {
            return false;
        }
    }
    return true;
}

/* A break whose wait would be longer is given up, and returns the name. */
static bool may_wait(void *user, const struct hf_holder *holder,
                     int64_t wait_ms)
{
    const struct breaking *breaking = user;
    int64_t most_ms = breaking->turn.wait_ms;
    (void)holder;
    return most_ms < 0 ? wait_ms <= BREAK_MS_MAX || is_limited(breaking)
                       : wait_ms <= most_ms;
}

static void break_name(struct sim_lane *lane, bool now)
{
    int process = lane->process->index;
    int name = sim_turn_first_name(lane->turn);
    char text = (char)('a' + name);
    int64_t held_until_ms = 0;
    struct hf_error error;
    struct hf_client *client = lane->process->client;
    struct breaking breaking = {lane->process->world->story, *lane->turn};
    sim_once_break_begins(oracle_of(lane), process, name);
    sim_break_begins(oracle_of(lane), process, name);
    enum hf_status status =
        now ? hf_client_break(client, &text, 1, true, &held_until_ms, &error)
            : hf_client_break_wait(client, &text, 1, may_wait, &breaking,
                                   &error);
    sim_break_ended(oracle_of(lane), process, now, status, held_until_ms);
    note_call(lane, now ? "break now" : "break", status);
}

/* ---- Looking ------------------------------------------------------------- */

struct sight {
    struct sim_oracle *oracle;
    int process;
    int name;
};

static void see(const struct sight *sight, int name,
                const struct hf_holder *holder, bool waits)
{
    sim_read_returned(sight->oracle, sight->process, name, holder, waits);
}

static void see_info(const struct sight *sight, int name,
                     const struct hf_info *info)
{
    see(sight, name, &info->holder, false);
    for (int i = 0; i < info->n_nodes; i++) {
        if (info->nodes[i].answered) {
            see(sight, name, &info->nodes[i].holder, false);
        }
    }
}

static bool on_place(void *user, const struct hf_queue_entry *place)
{
    const struct sight *sight = user;
    see(sight, sight->name, &place->who, place->waits);
    return true;
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    const struct sight *sight = user;
    int index = name_len > 0 ? *(const char *)name - 'a' : -1;
    if (index < 0 || index >= SIM_NAMES_MAX) {
        sim_oracle_breach(sight->oracle, SIM_READ,
                          "p%d was shown a name for which no client asked",
                          sight->process + 1);
        return false;
    }
    see_info(sight, index, info);
    return true;
}

static void look(struct sim_lane *lane)
{
    struct hf_client *client = lane->process->client;
    struct sight sight = {oracle_of(lane), lane->process->index,
                          sim_turn_first_name(lane->turn)};
    char text = (char)('a' + sight.name);
    struct hf_info *info;
    struct hf_error error;
    enum hf_status status = hf_client_inspect(client, &text, 1, &info, &error);
    if (status == HF_OK) {
        see_info(&sight, sight.name, info);
        hf_info_free(info);
        status = hf_client_queue(client, &text, 1, on_place, &sight, &error);
    }
    if (status == HF_OK) {
        status = hf_client_list(client, NULL, on_name, &sight, &error);
    }
    note_call(lane, "look", status);
}

void sim_lane_call(struct sim_lane *lane)
{
    bool is_break = lane->turn->kind == SIM_TURN_BREAK ||
                    lane->turn->kind == SIM_TURN_BREAK_NOW;
    if (lane->turn->kind == SIM_TURN_FOREIGN) {
        sim_foreign_begin(lane);
        return;
    }
    lane->phase = SIM_LANE_CALLING;
    lane->due_ns = SIM_NEVER;
    if (is_break && !lane->process->world->is_calm && sim_lane_is_alone(lane)) {
        sim_process_open(lane->process);
        break_name(lane, lane->turn->kind == SIM_TURN_BREAK_NOW);
    } else if (!is_break) {
        sim_process_open(lane->process);
        look(lane);
    }
    sim_lane_rest(lane);
}
