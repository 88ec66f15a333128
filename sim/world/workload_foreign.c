/* SPDX-License-Identifier: Apache-2.0 */
/* CLIENTS OF OTHER LIBRARIES: the plain Redlock of redsync, node-redlock and
 * others, on the keys that Holdfast uses.
 *
 *   SET key text NX PX ttl   to all nodes
 *   a majority, in time      it holds for ttl - 1% - 2 ms from before the SET
 *   else, and at its end     it deletes its own text at all nodes
 *
 * The story's faults delay or drop each message; each command is executed
 * whole. There are no connections that could break. */
#include "world/workload.h"

#include "world/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 5 /* of a turn; then it ends, as a library gives up */

static const char delete_own[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then "
    "return redis.call('DEL', KEYS[1]) end return 0";

struct message {
    struct sim_lane *lane;
    struct sim_node *node;
    unsigned n_starts, attempt;
    int name;
    char key[8];
    char text[SIM_FOREIGN_TEXT];
    int64_t ttl_ms; /* 0: delete it */
    bool is_granted;
};

static int64_t now_of(const struct sim_lane *lane)
{
    return lane->process->world->now_ns;
}

/* ---- Delays -------------------------------------------------------------- */

/* @return when it arrives; -1: never. */
static int64_t arrival_ns(struct message *message, int64_t blocked_ns)
{
    struct sim_process *process = message->lane->process;
    const struct sim_story *story = process->world->story;
    int64_t at_ns = process->world->now_ns + story->delay_ns +
                    sim_draw_below(&process->path, 2 * story->jitter_ns + 1);
    if (blocked_ns > process->world->now_ns) {
        bool is_lost = (sim_draw(&process->path) & 1) == 0;
        return is_lost ? -1 : blocked_ns + at_ns - process->world->now_ns;
    }
    return at_ns;
}

static struct sim_passage *passage_of(const struct message *message)
{
    struct sim_process *process = message->lane->process;
    return &process->world->passages[process->index][message->node->index];
}

/* ---- Back at the process ------------------------------------------------- */

static void hold(struct sim_lane *lane)
{
    struct sim_foreign *foreign = &lane->foreign;
    foreign->is_asking = false;
    foreign->is_holding = true;
    struct sim_oracle *oracle = lane->process->world->oracle;
    int name = sim_turn_first_name(lane->turn);
    if (!sim_break_voids(oracle, name, foreign->asked_ns)) {
        sim_foreign_held(oracle, lane->process->index, lane->index, name,
                         foreign->until_ns);
    }
    sim_lane_note(lane, SIM_NOTE_CALLED, "SET NX: held");
    lane->end_ns = now_of(lane) + lane->turn->hold_ns;
    lane->due_ns =
        lane->end_ns < foreign->until_ns ? lane->end_ns : foreign->until_ns;
}

static void on_answer(struct sim_world *world, void *object, uint64_t arg)
{
    struct message *message = object;
    struct sim_lane *lane = message->lane;
    struct sim_process *process = lane->process;
    struct sim_foreign *foreign = &lane->foreign;
    if (process->is_alive && process->resumes_ns > world->now_ns) {
        sim_world_at(world, process->resumes_ns, on_answer, message, arg);
        return;
    }
    if (process->is_alive && process->n_starts == message->n_starts &&
        lane->phase == SIM_LANE_FOREIGN && foreign->is_asking &&
        foreign->attempt == message->attempt) {
        foreign->n_answered++;
        foreign->n_granted += message->is_granted;
        if (foreign->n_granted > world->story->n_nodes / 2 &&
            foreign->until_ns > world->now_ns) {
            hold(lane);
        } else if (foreign->n_answered == world->story->n_nodes) {
            lane->due_ns = world->now_ns;
        }
        sim_process_rouse(process);
    }
    sim_world_forget(world, message);
}

/* ---- At the node --------------------------------------------------------- */

static void execute(struct message *message)
{
    struct sim_world *world = message->lane->process->world;
    struct sim_node *node = message->node;
    int name = message->name;
    char command[320];
    char ttl[24];
    char reply[32];
    int len;
    snprintf(ttl, sizeof(ttl), "%" PRId64, message->ttl_ms);
    if (message->ttl_ms > 0) {
        len = snprintf(command, sizeof(command),
                       "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n"
                       "$2\r\nNX\r\n$2\r\nPX\r\n$%zu\r\n%s\r\n",
                       strlen(message->key), message->key,
                       strlen(message->text), message->text, strlen(ttl), ttl);
    } else {
        len = snprintf(command, sizeof(command),
                       "*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n"
                       "$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                       sizeof(delete_own) - 1, delete_own, strlen(message->key),
                       message->key, strlen(message->text), message->text);
    }
    sim_node_ask(node, command, (size_t)len, reply, sizeof(reply));
    message->is_granted = strncmp(reply, "+OK", 3) == 0;
    if (message->is_granted) {
        int64_t until_ms =
            sim_node_wall(node, world->now_ns) / SIM_MS + message->ttl_ms;
        sim_foreign_set(world->oracle, node->index, name, message->text,
                        until_ms);
    } else if (strncmp(reply, ":1", 2) == 0) {
        sim_foreign_deleted(world->oracle, node->index, name);
    }
}

static void on_arrival(struct sim_world *world, void *object, uint64_t arg)
{
    struct message *message = object;
    struct sim_node *node = message->node;
    if (node->is_up && node->resumes_ns > world->now_ns) {
        sim_world_at(world, node->resumes_ns, on_arrival, message, arg);
        return;
    }
    int64_t back_ns = -1;
    if (node->is_up) {
        execute(message);
        back_ns = arrival_ns(message, passage_of(message)->down_ns);
    }
    if (back_ns < 0) {
        sim_world_forget(world, message);
    } else {
        sim_world_at(world, back_ns, on_answer, message, 0);
    }
}

static void send(struct sim_lane *lane, int node, int64_t ttl_ms)
{
    struct sim_process *process = lane->process;
    struct sim_world *world = process->world;
    struct message *message = sim_world_keep(world, sizeof(*message));
    *message = (struct message){.lane = lane,
                                .node = &world->nodes[node],
                                .n_starts = process->n_starts,
                                .attempt = lane->foreign.attempt,
                                .name = sim_turn_first_name(lane->turn),
                                .ttl_ms = ttl_ms};
    snprintf(message->key, sizeof(message->key), "lock:%c",
             'a' + sim_turn_first_name(lane->turn));
    snprintf(message->text, sizeof(message->text), "plain-p%d.%d-%u",
             process->index + 1, lane->index + 1, lane->foreign.attempt);
    int64_t at_ns = arrival_ns(message, passage_of(message)->up_ns);
    if (at_ns < 0) {
        sim_world_forget(world, message);
    } else {
        sim_world_at(world, at_ns, on_arrival, message, 0);
    }
}

static void send_all(struct sim_lane *lane, int64_t ttl_ms)
{
    for (unsigned i = 0; i < lane->process->world->story->n_nodes; i++) {
        send(lane, (int)i, ttl_ms);
    }
}

/* ---- Turns --------------------------------------------------------------- */

static void ask(struct sim_lane *lane)
{
    struct sim_foreign *foreign = &lane->foreign;
    int64_t ttl_ms = lane->turn->ttl_ms;
    int64_t valid_ns = ttl_ms * SIM_MS - ttl_ms * SIM_MS / 100 - 2 * SIM_MS;
    struct hf_instant from = sim_process_clock(lane->process, now_of(lane));
    foreign->attempt++;
    foreign->n_tries++;
    foreign->n_answered = foreign->n_granted = 0;
    foreign->is_asking = true;
    foreign->asked_ns = now_of(lane);
    foreign->until_ns = sim_process_when(
        lane->process, (struct hf_instant){from.ns + valid_ns});
    lane->due_ns = now_of(lane) + ttl_ms * SIM_MS / 10;
    send_all(lane, ttl_ms);
}

void sim_foreign_begin(struct sim_lane *lane)
{
    if (lane->process->world->is_calm) {
        sim_lane_rest(lane);
        return;
    }
    lane->phase = SIM_LANE_FOREIGN;
    lane->foreign = (struct sim_foreign){.attempt = lane->foreign.attempt};
    ask(lane);
}

static void end(struct sim_lane *lane)
{
    sim_foreign_ended(lane->process->world->oracle, lane->process->index,
                      lane->index);
    send_all(lane, 0);
    sim_lane_rest(lane);
}

/* The lane's timer is due: retry, release, or end the turn. */
void sim_foreign_go_on(struct sim_lane *lane)
{
    struct sim_foreign *foreign = &lane->foreign;
    bool goes_on = !lane->process->world->is_calm && lane->turn->wait_ms != 0 &&
                   foreign->n_tries < TRIES_MAX;
    if (foreign->is_holding || !goes_on) {
        end(lane);
    } else if (foreign->is_asking) {
        foreign->is_asking = false;
        send_all(lane, 0);
        lane->due_ns =
            now_of(lane) + sim_draw_below(&lane->process->path,
                                          lane->turn->ttl_ms * SIM_MS / 2 + 1);
    } else {
        ask(lane);
    }
}
