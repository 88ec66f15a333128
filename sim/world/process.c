/* SPDX-License-Identifier: Apache-2.0 */
/* A process: one client of the shipped library, and the loop around it that
 * every user of hf_client_process() writes. It is a fiber, so that it can also
 * block, and be paused in the middle of a call. */
#include "local/machine.h"
#include "world/fiber.h"
#include "world/workload.h"

#include "base/assert.h"
#include "client/close.h"
#include "client/timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 ms to start a program, and 20 ms before it retries to open a store: short
 * beside a lease, so that starts fall into all phases of one. */
#define EXEC_NS INT64_C(1000000)
#define OPEN_AGAIN_NS INT64_C(20000000)

static struct sim_process *running;

struct sim_process *sim_process_running(void)
{
    return running;
}

/* ---- Sleeping and waking ----------------------------------------------- */

static void on_wake(struct sim_world *world, void *object, uint64_t arg);

static void plan_wake(struct sim_process *process)
{
    int64_t at_ns = process->wakes_ns;
    if (at_ns == SIM_NEVER) {
        process->wake_order = 0;
        return;
    }
    if (at_ns < process->resumes_ns) {
        at_ns = process->resumes_ns;
    }
    if (at_ns < process->world->now_ns) {
        at_ns = process->world->now_ns;
    }
    process->wake_order = sim_world_at(process->world, at_ns, on_wake, process,
                                       process->world->order + 1);
}

static void enter(struct sim_process *process)
{
    running = process;
    process->n_reads = 0;
    bool goes_on = sim_fiber_enter(process->fiber);
    running = NULL;
    if (!goes_on) {
        sim_fiber_free(process->fiber);
        process->fiber = NULL;
    }
}

static void on_wake(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_process *process = object;
    if (arg != process->wake_order || process->fiber == NULL) {
        return; /* another event has woken it, or it has ended */
    }
    if (world->now_ns < process->resumes_ns) {
        plan_wake(process);
        return;
    }
    process->wake_order = 0;
    enter(process);
}

void sim_process_sleep(struct sim_process *process, int64_t until_ns,
                       bool for_input)
{
    HF_ASSERT(process == running);
    sim_oracle_look(process->world->oracle, process->index);
    process->wakes_ns = until_ns;
    process->wants_input = for_input;
    if (for_input && process->is_ready) {
        process->wakes_ns = process->world->now_ns;
    }
    plan_wake(process);
    sim_fiber_yield(process->fiber);
    process->wants_input = false;
}

void sim_process_wake(struct sim_process *process)
{
    process->is_ready = true;
    if (process->wants_input && process->wakes_ns > process->world->now_ns) {
        process->wakes_ns = process->world->now_ns;
        plan_wake(process);
    }
}

void sim_process_go_on(struct sim_process *process)
{
    process->wakes_ns = process->world->now_ns;
    plan_wake(process);
}

void sim_process_rouse(struct sim_process *process)
{
    if (process->is_alive && process->wants_input) {
        process->wakes_ns = process->world->now_ns;
        plan_wake(process);
    }
}

void sim_process_pause(struct sim_process *process, int64_t until_ns)
{
    if (process->is_alive && until_ns > process->resumes_ns) {
        process->resumes_ns = until_ns;
        if (process->stood_ns < until_ns) { /* also for a pause in a call */
            process->stood_ns = until_ns;
        }
        sim_world_note(process->world,
                       (struct sim_note){.kind = SIM_NOTE_PAUSED,
                                         .process = process->index,
                                         .node = -1,
                                         .until_ns = until_ns});
    }
}

/* ---- From start to end ------------------------------------------------- */

static void write_url(const struct sim_world *world, char *out, size_t size)
{
    const struct sim_story *story = world->story;
    if (story->is_local) {
        snprintf(out, size, SIM_MACHINE_URL "?node_timeout=%" PRId64 "ms",
                 story->node_timeout_ms);
        return;
    }
    size_t at = (size_t)snprintf(out, size, "redis://");
    for (unsigned i = 0; i < story->n_nodes; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s10.0.0.%u",
                               i > 0 ? "," : "", i + 1);
    }
    snprintf(out + at, size - at,
             "?max_ttl=%" PRId64 "ms&node_timeout=%" PRId64 "ms&quarantine=%s",
             story->max_ttl_ms, story->node_timeout_ms,
             story->has_quarantine ? "strict" : "off");
}

static void on_state(void *user, struct hf_lock *lock, enum hf_state state)
{
    sim_lanes_changed(user, lock, (int)state);
}

static bool try_open(struct sim_process *process)
{
    char url[256];
    struct hf_client_options options;
    struct hf_error error;
    struct hf_client *client = NULL;
    write_url(process->world, url, sizeof(url));
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    options.on_state = on_state;
    options.state_user = process;
    process->is_opening = true;
    enum hf_status status = hf_client_open(url, &options, &client, &error);
    process->is_opening = false;
    if (sim_machine_has_disowned(process)) {
        hf_client_close(client);
        sim_process_sleep(process, SIM_NEVER, false); /* dead */
    }
    if (status != HF_OK &&
        !(process->world->story->is_local && status == HF_UNAVAILABLE)) {
        fprintf(stderr, "hfsim: %s: %s\n", url, error.text);
        abort();
    }
    process->client = client;
    return status == HF_OK;
}

/* Another process, a full disk, or a lease of before a boot may prevent the
 * embedded store from opening: retry, as a user would. */
void sim_process_open(struct sim_process *process)
{
    while (process->client == NULL && !process->world->is_ending &&
           !try_open(process)) {
        sim_process_sleep(process, process->world->now_ns + OPEN_AGAIN_NS,
                          false);
    }
}

/* The time when the library must run again: at once if callbacks are pending,
 * for which its descriptor would be readable (client/event_loop.c). */
static int64_t due(const struct sim_process *process)
{
    const struct hf_client *client = process->client;
    if (client == NULL) {
        return SIM_NEVER;
    }
    if (client->finished.first != NULL || client->calls_first != HF_NOWHERE) {
        return process->world->now_ns;
    }
    struct hf_instant at = hf_client_due(process->client);
    return at.ns == HF_NEVER.ns ? SIM_NEVER : sim_process_when(process, at);
}

static void note_node_statuses(struct sim_process *process)
{
    static const char *const texts[] = {
        [HF_NODE_STATUS_CONNECTING] = "not known yet",
        [HF_NODE_STATUS_VOTING] = "votes",
        [HF_NODE_STATUS_REPAIRING] = "quarantined",
        [HF_NODE_STATUS_DOWN] = "down",
    };
    for (unsigned i = 0; i < process->world->story->n_nodes; i++) {
        enum hf_node_status status =
            hf_nodes_status(&process->client->nodes, i);
        if (process->node_statuses[i] != status) {
            process->node_statuses[i] = (uint8_t)status;
            sim_world_note(process->world,
                           (struct sim_note){.kind = SIM_NOTE_NODE_STATUS,
                                             .process = process->index,
                                             .node = (int)i,
                                             .text = texts[status]});
        }
    }
}

static void close_client(struct sim_process *process)
{
    hf_client_close(process->client);
    process->client = NULL;
    memset(process->node_statuses, HF_NODE_STATUS_CONNECTING,
           sizeof(process->node_statuses));
}

/* A command opens a client for one turn only, and keeps nothing for the
 * next. */
static bool is_brief(const struct sim_process *process)
{
    return (process->world->story->brief >> process->index & 1) != 0;
}

static void live(void *user)
{
    struct sim_process *process = user;
    if (process->world->machine != NULL) {
        sim_process_sleep(process, process->world->now_ns + EXEC_NS, false);
    }
    if (!is_brief(process)) {
        sim_process_open(process);
    }
    while (!process->world->is_ending) {
        if (process->client != NULL) {
            hf_client_process(process->client);
            note_node_statuses(process);
        } else {
            process->is_ready = false; /* there is no loop to handle it */
        }
        int64_t lanes_ns = sim_lanes_run(process);
        if (is_brief(process) && process->client != NULL &&
            sim_lanes_are_idle(process)) {
            close_client(process);
            continue; /* closing takes time */
        }
        int64_t client_ns = due(process);
        sim_process_sleep(process, client_ns < lanes_ns ? client_ns : lanes_ns,
                          true);
    }
    close_client(process);
    process->is_alive = false;
    sim_machine_ended(process);
}

void sim_process_start(struct sim_process *process)
{
    uint64_t stream = UINT64_C(0x7000) + (uint64_t)process->index;
    process->n_starts++;
    memset(process->node_statuses, HF_NODE_STATUS_CONNECTING,
           sizeof(process->node_statuses));
    process->random = sim_random_of(process->world->story->seed,
                                    stream << 16 | process->n_starts);
    process->is_alive = true;
    process->is_ready = false;
    process->pauses_midway = false;
    process->wants_input = false;
    process->is_opening = false;
    process->resumes_ns = 0;
    sim_machine_started(process);
    process->fiber = sim_fiber_new(live, process);
    process->wakes_ns = process->world->now_ns;
    plan_wake(process);
    sim_world_note(process->world, (struct sim_note){.kind = SIM_NOTE_STARTED,
                                                     .process = process->index,
                                                     .node = -1});
}

void sim_process_revive(struct sim_process *process)
{
    if (!process->is_alive && !process->world->is_ending &&
        sim_process_host_is_up(process)) {
        sim_process_start(process);
    }
}

static void on_revive(struct sim_world *world, void *object, uint64_t arg)
{
    (void)world;
    (void)arg;
    sim_process_revive(object);
}

void sim_process_revive_later(struct sim_process *process, int64_t at_ns)
{
    sim_world_at(process->world, at_ns, on_revive, process, 0);
}

/* kill -9: the memory of the process is lost, and the kernel closes its
 * connections. The library takes itself for the child of a fork, where the
 * kernel has wiped a page (client/fork.c): it sends nothing. */
void sim_process_crash(struct sim_process *process)
{
    if (!process->is_alive) {
        return;
    }
    sim_lanes_crash(process);
    if (process->is_opening && process->world->machine != NULL) {
        sim_machine_disown(process);
        enter(process);
    }
    process->is_alive = false;
    process->wake_order = 0;
    if (process->client != NULL) {
        memset(process->client->page, 0, sizeof(uint32_t));
        hf_client_free(process->client); /* also amid a call */
        process->client = NULL;
    }
    sim_fiber_free(process->fiber); /* calls that blocked were on its stack */
    process->fiber = NULL;
    sim_machine_ended(process);
    sim_world_note(process->world, (struct sim_note){.kind = SIM_NOTE_CRASHED,
                                                     .process = process->index,
                                                     .node = -1});
}
