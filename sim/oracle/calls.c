/* SPDX-License-Identifier: Apache-2.0 */
/* RESERVE: a name that was released with a reservation is not granted before
 * the reservation ends, if a majority has confirmed the release and no break,
 * of either kind, has reached a node since the release began: no holder
 * believes in a reservation, so a break that waits frees the name too. A
 * reservation longer than the longest lease may be lost with a node's data.
 *
 * BREAK: when a break that waits has returned HF_OK, no process that held the
 * name when the break began believes that it still holds it. A break that does
 * not wait returns the longest time for which such a process may believe it.
 * Exclusion stays promised if the break waits. If it does not, exclusion ends
 * for the owners that the break found, when the first node executes it. */
#include "oracle/calls.h"

#include "redis/redis.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments from 1 on. */
#define LOCK_KEY 3
#define ARG(n) (9 + (n))

#define PREFIX "lock:"
#define PREFIX_LEN (sizeof(PREFIX) - 1) /* bytes, without the NUL */

/* The drift of two clocks during `span_ns`, plus the precision of an expiry: 1%
 * and 2 ms, independent of the library's own allowance. */
static int64_t apart_ns(int64_t span_ns)
{
    return span_ns / 100 + 2 * SIM_MS;
}

struct sim_calls *sim_calls_of(struct sim_oracle *oracle)
{
    if (oracle->calls == NULL) {
        oracle->calls = calloc(1, sizeof(*oracle->calls));
        HF_ASSERT(oracle->calls != NULL);
    }
    return oracle->calls;
}

void sim_calls_free(struct sim_calls *calls)
{
    for (int i = 0; calls != NULL && i < SIM_NAMES_MAX; i++) {
        free(calls->owners[i].digests);
    }
    free(calls);
}

int sim_run_name(const struct sim_run *run)
{
    if (run->argc <= LOCK_KEY || run->argv[LOCK_KEY].len <= PREFIX_LEN ||
        memcmp(run->argv[LOCK_KEY].data, PREFIX, PREFIX_LEN) != 0) {
        return -1;
    }
    int name = run->argv[LOCK_KEY].data[PREFIX_LEN] - 'a';
    return name >= 0 && name < SIM_NAMES_MAX ? name : -1;
}

static const struct sim_live *live_of(const struct sim_oracle *oracle,
                                      uint64_t turn)
{
    HF_ASSERT(turn > 0 && turn <= oracle->n_records);
    return oracle->records[turn - 1].live;
}

static int name_of(const struct sim_part *part)
{
    return part->chain->text[0] - 'a';
}

/* ---- RESERVE ------------------------------------------------------------- */

void sim_reserve_begins(struct sim_oracle *oracle, uint64_t turn,
                        int64_t reserve_ms)
{
    struct sim_calls *calls = sim_calls_of(oracle);
    const struct sim_live *live = live_of(oracle, turn);
    int64_t span_ns = reserve_ms * SIM_MS;
    calls->releasing[live->process].turn = turn;
    calls->releasing[live->process].begun_ns = oracle->world->now_ns;
    calls->releasing[live->process].until_ns =
        oracle->world->now_ns + span_ns - apart_ns(span_ns);
    for (unsigned i = 0; i < live->n_parts; i++) {
        int name = name_of(&live->parts[i]);
        calls->reserved[name].until_ns = 0;
        calls->reserved[name].fence = live->parts[i].fence;
        calls->reserved[name].process = live->process;
    }
}

void sim_reserved(struct sim_oracle *oracle, uint64_t turn,
                  enum hf_status status)
{
    struct sim_calls *calls = sim_calls_of(oracle);
    const struct sim_record *record = &oracle->records[turn - 1];
    int process = record->turn->process;
    if (calls->releasing[process].turn != turn || status != HF_OK) {
        return;
    }
    for (int name = 0; name < SIM_NAMES_MAX; name++) {
        if ((record->turn->names >> name & 1) != 0 &&
            calls->reserved[name].process == process &&
            calls->asked_free_ns[name] <= calls->releasing[process].begun_ns) {
            calls->reserved[name].until_ns = calls->releasing[process].until_ns;
        }
    }
}

static void check_reserved(struct sim_oracle *oracle,
                           const struct sim_live *live,
                           const struct sim_part *part)
{
    const struct sim_calls *calls = oracle->calls;
    int name = name_of(part);
    int64_t until_ns = calls->reserved[name].until_ns;
    if (until_ns > oracle->world->now_ns &&
        part->fence > calls->reserved[name].fence) { /* granted since */
        sim_oracle_breach(
            oracle, SIM_RESERVE,
            "p%d got \"%s\" with fence %" PRIu64 ", which p%d had "
            "reserved until %.3f ms",
            live->process + 1, part->chain->text, part->fence,
            calls->reserved[name].process + 1, (double)until_ns / 1e6);
    }
}

void sim_calls_held(struct sim_oracle *oracle, const struct sim_live *live)
{
    for (unsigned i = 0; oracle->calls != NULL && i < live->n_parts; i++) {
        check_reserved(oracle, live, &live->parts[i]);
    }
}

/* ---- BREAK --------------------------------------------------------------- */

static const struct sim_part *part_of(const struct sim_live *live, int name)
{
    for (unsigned i = 0; i < live->n_parts && live->is_holding; i++) {
        if (name_of(&live->parts[i]) == name &&
            !live->parts[i].chain->is_slot) {
            return &live->parts[i];
        }
    }
    return NULL;
}

void sim_break_begins(struct sim_oracle *oracle, int process, int name)
{
    struct sim_calls *calls = sim_calls_of(oracle);
    calls->reserved[name].until_ns = 0;
    calls->breaking[process].name = name;
    calls->breaking[process].begun_ns = oracle->world->now_ns;
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        calls->breaking[process].turns[i] =
            part_of(live, name) != NULL ? live->turn : 0;
    }
}

static void check_limit(struct sim_oracle *oracle, const struct sim_live *live,
                        unsigned at)
{
    const struct sim_calls *calls = oracle->calls;
    const struct sim_part *part = part_of(live, calls->limits[at].name);
    int64_t limit_ns = calls->limits[at].until_ns;
    int64_t now_ns = oracle->world->now_ns;
    int64_t least_ns = limit_ns < now_ns ? now_ns : limit_ns;
    if (part != NULL && sim_part_until(oracle, live, part) > least_ns) {
        sim_oracle_breach(oracle, SIM_BREAK,
                          "\"%s\" was broken, but p%d believes until %.3f ms "
                          "that it holds it with fence %" PRIu64
                          ", not until %.3f ms at most",
                          part->chain->text, live->process + 1,
                          (double)sim_part_until(oracle, live, part) / 1e6,
                          part->fence, (double)limit_ns / 1e6);
    }
}

/* The number of nodes at which a break without a wait took the part since
 * `since_ns`. The break must be called by process `by`, if that is not -1. */
static unsigned broken_at(const struct sim_oracle *oracle,
                          const struct sim_part *part, int by, int64_t since_ns)
{
    char owner[HF_OWNER_MAX];
    unsigned nodes = 0;
    if (oracle->calls == NULL) {
        return 0;
    }
    const struct sim_broken *broken = &oracle->calls->broken[name_of(part)];
    uint64_t digest =
        sim_owner_digest(owner, hf_lock_emit_owner(part->lock, owner));
    unsigned n = broken->n < SIM_RECENT ? broken->n : SIM_RECENT;
    for (unsigned i = 0; i < n; i++) {
        nodes += broken->owners[i] == digest &&
                 (by < 0 || broken->by[i] == by) &&
                 broken->at_ns[i] >= since_ns;
    }
    return nodes;
}

bool sim_break_voids(const struct sim_oracle *oracle, int name,
                     int64_t since_ns)
{
    return oracle->calls != NULL && oracle->calls->freed_ns[name] > 0 &&
           oracle->calls->freed_ns[name] >= since_ns;
}

bool sim_break_excuses(const struct sim_oracle *oracle,
                       const struct sim_part *part)
{
    return broken_at(oracle, part, -1, 0) > 0;
}

/* If another break had taken the part before, the result covers only the rest
 * of that lease, and does not apply. */
static bool is_judged(const struct sim_oracle *oracle, int process,
                      const struct sim_part *part, bool now)
{
    int64_t begun_ns = oracle->calls->breaking[process].begun_ns;
    if (part == NULL) {
        return false;
    }
    return now ? broken_at(oracle, part, process, begun_ns) >
                     oracle->world->story->n_nodes / 2
               : broken_at(oracle, part, -1, 0) == 0;
}

void sim_break_ended(struct sim_oracle *oracle, int process, bool now,
                     enum hf_status status, int64_t held_until_ms)
{
    struct sim_calls *calls = sim_calls_of(oracle);
    int name = calls->breaking[process].name;
    int64_t held_ns = now ? held_until_ms * SIM_MS : 0;
    if (status != HF_OK || held_until_ms < 0) {
        return;
    }
    held_ns += now ? apart_ns(held_ns) : 0;
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        if (live->turn == 0 ||
            live->turn != calls->breaking[process].turns[i] ||
            !is_judged(oracle, process, part_of(live, name), now)) {
            continue;
        }
        calls->limits[i].turn = live->turn;
        calls->limits[i].name = name;
        calls->limits[i].until_ns = oracle->world->now_ns + held_ns;
        check_limit(oracle, live, i);
    }
}

void sim_break_look(struct sim_oracle *oracle, const struct sim_live *live)
{
    unsigned at = (unsigned)(live - oracle->live);
    if (oracle->calls != NULL && oracle->calls->limits[at].turn == live->turn) {
        check_limit(oracle, live, at);
    }
}

static void add_broken(struct sim_broken *broken, uint64_t owner, int by,
                       int64_t at_ns)
{
    unsigned at = broken->n++ % SIM_RECENT;
    broken->owners[at] = owner;
    broken->by[at] = by;
    broken->at_ns[at] = at_ns;
}

/* The owner that a break replaced, according to its reply; "": none. */
static const char *replaced_by(const struct sim_run *run, size_t *len)
{
    const char *text = memchr(run->reply, '$', run->reply_len);
    const char *owner = text == NULL ? NULL : strchr(text, '\n');
    if (run->reply[0] != '*' || owner == NULL) {
        *len = 0;
        return "";
    }
    *len = run->reply_len - (size_t)(owner + 1 - run->reply);
    return owner + 1;
}

/* A break that waits keeps the name for the rest of the broken holder's lease,
 * since that holder still believes that it holds the name. */
static void note_kept(struct sim_broken *broken, const struct sim_run *run)
{
    size_t len;
    const char *owner = replaced_by(run, &len);
    unsigned at = broken->n_kept++ % SIM_RECENT;
    broken->kept[at].by =
        sim_owner_digest(run->argv[ARG(1)].data, run->argv[ARG(1)].len);
    broken->kept[at].from = sim_owner_digest(owner, len);
}

/* If the broken owner is a break that waits, the holder for whose lease it
 * waits is broken too. */
static void add_with_kept(struct sim_broken *broken, uint64_t owner, int by,
                          int64_t at_ns)
{
    add_broken(broken, owner, by, at_ns);
    unsigned n = broken->n_kept < SIM_RECENT ? broken->n_kept : SIM_RECENT;
    for (unsigned i = 0; i < n; i++) {
        if (broken->kept[i].by == owner && broken->kept[i].from != 0 &&
            broken->kept[i].from != owner) {
            add_broken(broken, broken->kept[i].from, by, at_ns);
        }
    }
}

/* The reply to the break of a group names no owner: all its sharers, and all
 * holders of a permit, count as broken. */
static void note_broken(struct sim_oracle *oracle, int name, int by,
                        const struct sim_run *run)
{
    struct sim_broken *broken = &sim_calls_of(oracle)->broken[name];
    int64_t now_ns = oracle->world->now_ns;
    size_t left;
    sim_foreign_broken(oracle, name);
    const char *owner = replaced_by(run, &left);
    uint64_t digest = sim_owner_digest(owner, left);
    if (digest != 0) {
        add_with_kept(broken, digest, by, now_ns);
        return;
    }
    bool is_group = left > 7 && memcmp(owner, "shared:", 7) == 0;
    for (unsigned i = 0; is_group && i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        const struct sim_part *part = part_of(live, name);
        if (part != NULL && part->lock->is_shared) {
            char own[HF_OWNER_MAX];
            size_t len = hf_lock_emit_owner(part->lock, own);
            add_broken(broken, sim_owner_digest(own, len), by, now_ns);
        }
    }
}

/* ---- Scripts at nodes ---------------------------------------------------- */

void sim_calls_script(struct sim_oracle *oracle, const struct sim_link *link,
                      const struct sim_run *run)
{
    int name = sim_run_name(run);
    if (name >= 0 && strcmp(run->script, "break") == 0 && run->argc > ARG(2)) {
        struct sim_calls *calls = sim_calls_of(oracle);
        calls->reserved[name].until_ns = 0;
        calls->asked_free_ns[name] = oracle->world->now_ns;
        if (run->argv[ARG(2)].data[0] == '1') {
            note_broken(oracle, name, link->peer, run);
            calls->freed_ns[name] = oracle->world->now_ns;
        } else {
            note_kept(&calls->broken[name], run);
        }
    }
    sim_read_script(oracle, run, link->node->index);
    sim_foreign_script(oracle, run, link->node->index);
}

void sim_calls_forgot(struct sim_oracle *oracle, int node)
{
    if (oracle->calls != NULL) {
        sim_foreign_forgot(oracle, node);
    }
}
