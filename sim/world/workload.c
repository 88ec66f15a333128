/* SPDX-License-Identifier: Apache-2.0 */
/* The workload: a turn waits its think time, acquires, works and releases. Each
 * lane of a process runs its turns one after another. The work is to read and
 * write registers with the lock's fence, if the lock is still valid. */
#include "world/workload.h"

#include "base/assert.h"
#include "client/lock.h"
#include "client/lock_group.h"

#include <holdfast/holdfast.h>
#include <stdio.h>
#include <string.h>

/* After the last fault no turn works for longer than this: the bound of LIVE
 * counts it for each turn that is served first (oracle/oracle.h). */
#define CALM_WORK_NS INT64_C(20000000)

/* The delay between the callback LOST and the lane's next step. */
#define HABIT_NS INT64_C(1000000)

static int64_t now_of(const struct sim_lane *lane)
{
    return lane->process->world->now_ns;
}

/* ---- Notes ------------------------------------------------------------- */

/* The earliest deadline of the lane's locks, by the clock of its process. A
 * trace must not change the run, so this does not call hf_lock_remaining_ms(),
 * which reads the clock. */
static int64_t deadline_of(const struct sim_lane *lane)
{
    int64_t deadline_ns = INT64_MAX;
    for (const struct hf_lock *one = lane->lock; one != NULL;
         one = hf_lock_group_next(one)) {
        int64_t ns = atomic_load(&one->deadline_ns);
        deadline_ns = ns < deadline_ns ? ns : deadline_ns;
    }
    return deadline_ns;
}

void sim_lane_note(struct sim_lane *lane, enum sim_note_kind kind,
                   const char *text)
{
    struct sim_process *process = lane->process;
    if (process->world->trace == NULL) {
        return;
    }
    struct sim_note is = {
        .kind = kind,
        .process = process->index,
        .lane = lane->index,
        .node = -1,
        .other = -1,
        .name = sim_turn_first_name(lane->turn),
        .is_shared = lane->turn->is_shared,
        .text = text,
    };
    if (lane->lock != NULL) {
        is.fence = sim_lane_fence(lane);
        lane->noted_ns = deadline_of(lane);
        is.until_ns =
            sim_process_when(process, (struct hf_instant){lane->noted_ns});
    }
    sim_world_note(process->world, is);
}

static void note_renewal(struct sim_lane *lane)
{
    if (lane->phase == SIM_LANE_WORKING && deadline_of(lane) > lane->noted_ns) {
        sim_lane_note(lane, SIM_NOTE_RENEWED, NULL);
    }
}

static void note_begin(struct sim_lane *lane)
{
    const struct sim_turn *turn = lane->turn;
    char names[SIM_NAMES_MAX + 1] = "";
    char text[80];
    size_t n = 0;
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        if ((turn->names & 1U << i) != 0) {
            names[n++] = (char)('a' + i);
        }
    }
    names[n] = '\0';
    snprintf(text, sizeof(text), "%s%s%s%s", names,
             turn->is_shared ? " shared" : "",
             turn->n_permits > 0 ? " a permit" : "",
             turn->wait_ms == 0 ? " if free" : "");
    sim_lane_note(lane, SIM_NOTE_BEGIN, text);
}

/* ---- Beginning --------------------------------------------------------- */

void sim_lane_rest(struct sim_lane *lane)
{
    lane->phase = SIM_LANE_THINKING;
    lane->turn = NULL;
    lane->op = NULL;
    lane->lock = NULL;
    lane->number = 0;
    lane->was_given = false;
    lane->is_marked = false;
    lane->due_ns = now_of(lane);
}

static void end_belief(struct sim_lane *lane)
{
    sim_oracle_ended(lane->process->world->oracle, lane->number);
    lane->number = 0;
}

static void work(struct sim_lane *lane)
{
    const struct sim_turn *turn = lane->turn;
    bool is_calm = lane->process->world->is_calm;
    int64_t hold_ns =
        is_calm && turn->hold_ns > CALM_WORK_NS ? CALM_WORK_NS : turn->hold_ns;
    bool may_write = !turn->is_shared && turn->n_permits == 0;
    lane->phase = SIM_LANE_WORKING;
    lane->n_writes = may_write ? 2U * turn->n_writes : 0;
    lane->n_extends = turn->n_extends;
    lane->n_steps = lane->n_writes + lane->n_extends + 1;
    lane->end_ns = now_of(lane) + hold_ns;
    lane->due_ns = now_of(lane) + hold_ns / lane->n_steps;
    lane->has_read[0] = lane->has_read[1] = false;
    lane->n_sent[0] = lane->n_sent[1] = 0;
    lane->is_at_risk = false;
    if (turn->forsakes && !is_calm) {
        lane->end_ns = SIM_NEVER;
    }
}

static void asked(struct sim_lane *lane, struct hf_lock *lock,
                  enum hf_status status, const struct hf_error *error)
{
    struct sim_world *world = lane->process->world;
    lane->op = NULL;
    lane->lock = lock;
    sim_oracle_answered(world->oracle, lane, status, lock);
    if (status == HF_OK) {
        sim_oracle_held(world->oracle, lane->number, lock);
        sim_lane_note(lane, SIM_NOTE_HELD, NULL);
        if (lane->turn->period_ms > 0) {
            lane->phase = SIM_LANE_MARKING; /* not from inside a callback */
            lane->due_ns = now_of(lane);
        } else {
            work(lane);
        }
    } else {
        sim_oracle_given_up(world->oracle, lane->number);
        sim_lane_note(lane, SIM_NOTE_GIVEN_UP, error->text);
        sim_lane_rest(lane);
    }
}

static void on_asked(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    struct sim_lane *lane = user;
    if (lane->phase != SIM_LANE_ASKING || lane->op == NULL) {
        sim_oracle_breach(lane->process->world->oracle, SIM_ONCE,
                          "p%d was answered what it had not asked",
                          lane->process->index + 1);
        return;
    }
    asked(lane, lock, status, error);
}

/* If another lane of the process has, or may acquire, a lock, a blocking call
 * may wait for its own process: an error of the program, which is not tested.
 */
bool sim_lane_is_alone(const struct sim_lane *lane)
{
    const struct sim_process *process = lane->process;
    for (unsigned i = 0; i < process->n_lanes; i++) {
        const struct sim_lane *other = &process->lanes[i];
        if (other != lane && other->phase != SIM_LANE_THINKING) {
            return false;
        }
    }
    return true;
}

static void begin(struct sim_lane *lane)
{
    struct sim_world *world = lane->process->world;
    const struct sim_turn *turn = lane->turn;
    struct hf_request request;
    struct hf_name names[SIM_NAMES_MAX];
    if (turn->kind != SIM_TURN_LOCK) {
        sim_lane_call(lane);
        return;
    }
    hf_request_init(&request, NULL);
    request.ttl_ms = turn->ttl_ms;
    request.wait_ms = world->is_calm ? HF_WAIT_FOREVER : turn->wait_ms;
    request.mode = turn->is_shared ? HF_SHARED : HF_EXCLUSIVE;
    request.permits = turn->n_permits;
    request.unfair = turn->is_unfair;
    request.user = lane;
    sim_lane_ask_for(lane, &request, names);
    lane->phase = SIM_LANE_ASKING;
    lane->was_queued = false;
    lane->due_ns = turn->cancel_ns > 0 && !world->is_calm
                       ? now_of(lane) + turn->cancel_ns
                       : SIM_NEVER;
    lane->begun_ns = now_of(lane);
    lane->number = sim_oracle_begin(world->oracle, turn);
    note_begin(lane);
    sim_process_open(lane->process);
    struct hf_error error;
    if (turn->period_ms > 0 && sim_lane_check_marked(lane)) {
        sim_oracle_given_up(world->oracle, lane->number);
        sim_lane_note(lane, SIM_NOTE_GIVEN_UP, "marked, or unknown");
        sim_lane_rest(lane);
        return;
    }
    sim_oracle_calls(world->oracle, lane,
                     &(struct sim_user_call){.kind = SIM_CALL_ACQUIRE,
                                             .span_ms = request.wait_ms});
    if (lane->turn->is_blocking && sim_lane_is_alone(lane)) {
        struct hf_lock *lock = NULL;
        enum hf_status status =
            hf_lock_acquire(lane->process->client, &request, &lock, &error);
        asked(lane, lock, status, &error);
        return;
    }
    enum hf_status status = hf_op_start_acquire(
        lane->process->client, &request, on_asked, lane, &lane->op, &error);
    if (status != HF_OK) {
        asked(lane, NULL, status, &error);
    }
}

/* ---- Working ----------------------------------------------------------- */

/* Both ways alternately: to a longer lease than the lock has, and to a shorter
 * one. */
static void extend(struct sim_lane *lane)
{
    const struct sim_story *story = lane->process->world->story;
    int64_t ttl_ms = lane->turn->ttl_ms;
    for (size_t i = 0; i < story->n_turns && lane->n_extends % 2 == 0; i++) {
        int64_t other_ms = story->turns[i].ttl_ms;
        ttl_ms = ttl_ms < other_ms ? other_ms : ttl_ms;
    }
    struct sim_oracle *oracle = lane->process->world->oracle;
    struct sim_user_call call = {
        .kind = SIM_CALL_EXTEND, .lock = lane->lock, .span_ms = ttl_ms};
    struct hf_error error;
    sim_oracle_calls(oracle, lane, &call);
    enum hf_status status = hf_lock_extend(lane->lock, ttl_ms, &error);
    sim_oracle_answered(oracle, lane, status, lane->lock);
}

static void work_step(struct sim_lane *lane)
{
    if (lane->n_writes > 0) {
        sim_lane_write(lane);
    } else if (lane->n_extends > 0) {
        lane->n_extends--;
        extend(lane);
    }
    int64_t left_ns = lane->end_ns - now_of(lane);
    unsigned steps = lane->n_writes + lane->n_extends + 1;
    if (lane->end_ns == SIM_NEVER) {
        lane->due_ns = now_of(lane) + 2 * lane->turn->ttl_ms * SIM_MS;
    } else {
        lane->due_ns = now_of(lane) + (left_ns > 0 ? left_ns / steps : 0);
    }
}

/* ---- Release and hand-over --------------------------------------------- */

static void returned(struct sim_lane *lane, enum hf_status status)
{
    sim_oracle_answered(lane->process->world->oracle, lane, status, NULL);
    sim_lane_rest(lane);
}

static void on_returned(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct sim_lane *lane = user;
    (void)lock;
    (void)error;
    if (lane->phase != SIM_LANE_RETURNING) {
        sim_oracle_breach(lane->process->world->oracle, SIM_ONCE,
                          "p%d was told twice of one release",
                          lane->process->index + 1);
        return;
    }
    returned(lane, status);
}

static void return_lock(struct sim_lane *lane)
{
    struct hf_lock *lock = lane->lock;
    lane->lock = NULL;
    lane->phase = SIM_LANE_RETURNING;
    lane->due_ns = SIM_NEVER;
    if (lane->turn->is_blocking) {
        returned(lane, hf_lock_release(lock));
    } else {
        hf_op_start_release(lock, on_returned, lane);
    }
}

static void give_back(struct sim_lane *lane)
{
    struct hf_lock *lock = lane->lock;
    if (lane->is_marked && lane->turn->withdraws) {
        sim_lane_withdraw(lane);
    }
    sim_lane_note(lane, SIM_NOTE_RELEASED, NULL);
    if (lane->turn->reserve_ms > 0 && !lane->process->world->is_calm) {
        sim_lane_reserve(lane);
        return;
    }
    sim_oracle_released(lane->process->world->oracle, lane->number);
    end_belief(lane);
    sim_oracle_calls(
        lane->process->world->oracle, lane,
        &(struct sim_user_call){.kind = SIM_CALL_RELEASE, .lock = lock});
    return_lock(lane);
}

/* Hand the lock on to another process. Not while a write is in flight: its
 * fence would be that of the process that adopts the lock. @return false: no
 * process can adopt it. */
static bool hand_on(struct sim_lane *lane)
{
    struct sim_world *world = lane->process->world;
    unsigned next =
        ((unsigned)lane->process->index + 1) % world->story->n_processes;
    struct sim_process *to = &world->processes[next];
    if (to == lane->process || !to->is_alive || to->parcel.is_full ||
        hf_lock_count(lane->lock) > 1 || lane->turn->n_permits > 0 ||
        lane->n_sent[0] + lane->n_sent[1] > 0) {
        return false;
    }
    struct sim_parcel parcel = {
        .is_full = true, .turn = lane->turn, .number = lane->number};
    end_belief(lane);
    enum hf_status status = hf_lock_detach(lane->lock, parcel.text);
    if (status != HF_OK && status != HF_LOST) {
        return_lock(lane); /* the store was not reached: it is still ours */
        return true;
    }
    if (status == HF_LOST) {
        sim_lane_rest(lane); /* the handle is consumed */
        return true;
    }
    to->parcel = parcel;
    sim_world_note(world,
                   (struct sim_note){.kind = SIM_NOTE_GIVEN,
                                     .process = lane->process->index,
                                     .lane = lane->index,
                                     .node = -1,
                                     .other = to->index,
                                     .name = sim_turn_first_name(lane->turn)});
    sim_lane_rest(lane);
    sim_process_wake(to);
    return true;
}

/* A lane has one turn at a time: only a free one adopts. */
static bool take_on(struct sim_lane *lane)
{
    struct sim_process *process = lane->process;
    struct sim_oracle *oracle = process->world->oracle;
    struct sim_parcel parcel = process->parcel;
    if (!parcel.is_full || lane->turn != NULL) {
        return false;
    }
    char name[2] = {(char)('a' + sim_turn_first_name(parcel.turn)), '\0'};
    struct hf_request request;
    struct hf_error error;
    struct hf_lock *lock;
    process->parcel.is_full = false;
    hf_request_init(&request, name);
    request.ttl_ms = parcel.turn->ttl_ms;
    request.mode = parcel.turn->is_shared ? HF_SHARED : HF_EXCLUSIVE;
    request.user = lane;
    lane->turn = parcel.turn;
    lane->was_given = true;
    lane->phase = SIM_LANE_ASKING;
    lane->begun_ns = now_of(lane);
    lane->number = sim_oracle_begin(oracle, parcel.turn);
    sim_oracle_calls(
        oracle, lane,
        &(struct sim_user_call){.kind = SIM_CALL_ADOPT, .text = parcel.text});
    sim_process_open(process);
    enum hf_status status =
        hf_lock_adopt(process->client, &request, parcel.text, &lock, &error);
    sim_oracle_answered(oracle, lane, status, lock);
    if (status == HF_OK) {
        lane->lock = lock;
        sim_oracle_adopted(oracle, lane->number, parcel.number, lock);
        sim_lane_note(lane, SIM_NOTE_ADOPTED, NULL);
        work(lane);
        lane->end_ns = lane->end_ns == SIM_NEVER ? now_of(lane) : lane->end_ns;
    } else {
        sim_oracle_given_up(oracle, lane->number);
        sim_lane_note(lane, SIM_NOTE_GIVEN_UP, error.text);
        sim_lane_rest(lane);
    }
    return true;
}

/* ---- Turn by turn ------------------------------------------------------ */

/* Choose the lane's next turn. After the last fault each lane runs one more, to
 * check that it is served. */
static bool next_turn(struct sim_lane *lane)
{
    const struct sim_story *story = lane->process->world->story;
    bool is_calm = lane->process->world->is_calm;
    if (is_calm && lane->is_last) {
        return false;
    }
    for (; lane->next < story->n_turns; lane->next++) {
        const struct sim_turn *turn = &story->turns[lane->next];
        if (turn->process == lane->process->index &&
            turn->lane == lane->index) {
            lane->next++;
            lane->turn = turn;
            lane->due_ns = now_of(lane) + (is_calm ? 0 : turn->think_ns);
            lane->is_last = is_calm;
            return true;
        }
    }
    return false;
}

static void found_lost(struct sim_lane *lane)
{
    sim_lane_note(lane, SIM_NOTE_LOST, NULL);
    give_back(lane);
}

static void cancel(struct sim_lane *lane)
{
    sim_oracle_given_up(lane->process->world->oracle, lane->number);
    sim_oracle_uncalled(lane->process->world->oracle, lane);
    lane->number = 0; /* the process may be killed in the next call */
    hf_op_cancel(lane->op);
    sim_lane_note(lane, SIM_NOTE_GIVEN_UP, "cancelled");
    sim_lane_rest(lane);
}

static void look_at_queue(struct sim_lane *lane)
{
    struct hf_waiting *waiting;
    if (lane->phase == SIM_LANE_ASKING && lane->op != NULL &&
        !lane->was_queued && hf_op_waiting(lane->op, &waiting)) {
        hf_waiting_free(waiting);
        lane->was_queued = true;
        sim_oracle_queued(lane->process->world->oracle, lane->number);
    }
}

/* As with `run --once`: no command starts without its mark. */
static void mark(struct sim_lane *lane)
{
    if (sim_lane_mark(lane)) {
        work(lane);
    } else {
        give_back(lane);
    }
}

static void go_on(struct sim_lane *lane)
{
    bool is_calm = lane->process->world->is_calm;
    bool was_writing = sim_lane_is_writing(lane);
    if (was_writing) {
        work_step(lane);
    }
    if (hf_lock_state(lane->lock) == HF_STATE_LOST) {
        found_lost(lane);
    } else if (was_writing) {
        return;
    } else if (lane->end_ns > now_of(lane)) {
        work_step(lane);
    } else if (!lane->turn->hands_on || lane->was_given || is_calm ||
               !hand_on(lane)) {
        give_back(lane);
    }
}

/* @return false: nothing to do now. */
static bool step(struct sim_lane *lane)
{
    int64_t now_ns = now_of(lane);
    if (take_on(lane) || (lane->turn == NULL && next_turn(lane))) {
        return true;
    }
    if (lane->turn == NULL) {
        return false;
    }
    bool is_calm = lane->process->world->is_calm;
    if (lane->phase == SIM_LANE_WORKING && is_calm &&
        lane->end_ns > now_ns + CALM_WORK_NS) {
        lane->end_ns = lane->due_ns = now_ns;
    }
    look_at_queue(lane);
    if (lane->due_ns > now_ns) {
        return false;
    }
    switch (lane->phase) {
    case SIM_LANE_THINKING:
        begin(lane);
        return true;
    case SIM_LANE_ASKING:
        cancel(lane);
        return true;
    case SIM_LANE_WORKING:
        go_on(lane);
        return true;
    case SIM_LANE_MARKING:
        mark(lane);
        return true;
    case SIM_LANE_FOREIGN:
        sim_foreign_go_on(lane);
        return true;
    case SIM_LANE_RETURNING:
    case SIM_LANE_CALLING:
        return false;
    }
    return false;
}

static bool step_noted(struct sim_lane *lane)
{
    struct sim_process *process = lane->process;
    process->stepping = lane;
    process->stepped_ns = process->world->now_ns;
    bool has_stepped = step(lane);
    if (process->stepped_ns < process->world->now_ns) {
        process->blocked_ns = process->world->now_ns;
    }
    process->stepping = NULL;
    return has_stepped;
}

int64_t sim_lanes_run(struct sim_process *process)
{
    int64_t next_ns = SIM_NEVER;
    for (unsigned i = 0; i < process->n_lanes; i++) {
        struct sim_lane *lane = &process->lanes[i];
        note_renewal(lane);
        while (step_noted(lane)) {
        }
        if (lane->turn != NULL && lane->due_ns < next_ns) {
            next_ns = lane->due_ns;
        }
    }
    return next_ns;
}

/* A lock that is no longer the lane's may report once more: that is ignored. */
void sim_lanes_changed(struct sim_process *process, struct hf_lock *lock,
                       int state)
{
    struct sim_lane *lane = hf_lock_user(lock);
    (void)process;
    if (lane->lock != lock) {
        return;
    }
    if (state == HF_STATE_AT_RISK && !lane->is_at_risk) {
        sim_lane_note(lane, SIM_NOTE_AT_RISK, NULL);
    }
    lane->is_at_risk = state == HF_STATE_AT_RISK;
    if (state == HF_STATE_LOST && !sim_lane_is_writing(lane)) {
        lane->due_ns = now_of(lane) + HABIT_NS;
    }
}
