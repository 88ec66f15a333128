/* SPDX-License-Identifier: Apache-2.0 */
/* SHRINKING
 *
 * A cut is kept if the shorter story still breaks the same rule. A round tries
 * these cuts in turn; rounds repeat until one has cut nothing:
 *   - faults, then turns, by halves, quarters … one by one (ddmin); the other
 *     turns of a lane keep their times, if possible;
 *   - whole processes and nodes, the last first;
 *   - the fields of a turn or a fault: each detail removed, each span halved;
 *   - the world: delays, rates and wall clocks set to their simplest values;
 *   - time: faults and turns after a gap move earlier (shrink_time.c).
 * A cut story never deviates from its regime more than the original did
 * (story/regime.c): otherwise it might break the rule where it is not promised.
 * Each part of the world draws from a counted stream of its own, so a cut does
 * not change the other draws. Each trial runs in a process of its own, since it
 * may crash, or never end.
 *
 * Cost: a fork and a run for each trial, which has TRIAL_S at most. With t
 * turns and f faults a round has up to 4 (t + f) trials of lists, one for each
 * process and one for the nodes, 22 t + 4 f + 40 of details, and those of time.
 */
#include "hfsim/shrink.h"

#include "hfsim/shrink_parts.h"
#include "world/run_story.h"
#include "world/world.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The longest time of a trial, in seconds. */
#define TRIAL_S 20

/* Exit statuses of a trial. */
enum { EXIT_WELL = 0, EXIT_RULE = 100 };

static void try_story(const struct sim_story *story)
{
    struct sim_verdict verdict;
    alarm(TRIAL_S);
    if (freopen("/dev/null", "w", stderr) == NULL) {
        _exit(EXIT_WELL);
    }
    sim_run(story, NULL, NULL, &verdict);
    _exit(verdict.is_broken ? EXIT_RULE + (int)verdict.rule : EXIT_WELL);
}

static bool still_breaks(struct sim_shrinker *shrinker,
                         const struct sim_story *story)
{
    int status;
    shrinker->runs++;
    fflush(NULL);
    pid_t pid = fork();
    HF_ASSERT(pid >= 0);
    if (pid == 0) {
        try_story(story);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (shrinker->rule == SIM_RULES) {
        return WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM;
    }
    return WIFEXITED(status) &&
           WEXITSTATUS(status) == EXIT_RULE + (int)shrinker->rule;
}

bool sim_shrink_keep(struct sim_shrinker *shrinker, struct sim_story *trial)
{
    unsigned strays = sim_story_strays(trial);
    if (strays > shrinker->strays || !still_breaks(shrinker, trial)) {
        sim_story_fini(trial);
        return false;
    }
    sim_story_fini(&shrinker->best);
    shrinker->best = *trial;
    shrinker->strays = strays;
    shrinker->has_cut = true;
    return true;
}

/* ---- Lists --------------------------------------------------------------- */

/* Remove `n` items from `at` on. */
static void cut_out(void *list, size_t *length, size_t size, size_t at,
                    size_t n)
{
    char *items = list;
    memmove(items + at * size, items + (at + n) * size,
            (*length - at - n) * size);
    *length -= n;
}

/* Add the time of turns that are removed to the think time of the lane's next
 * turn. */
static void keep_time(struct sim_story *story, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++) {
        const struct sim_turn *gone = &story->turns[i];
        for (size_t k = at + n; k < story->n_turns; k++) {
            struct sim_turn *next = &story->turns[k];
            if (next->process == gone->process && next->lane == gone->lane) {
                next->think_ns += gone->think_ns + gone->hold_ns;
                break;
            }
        }
    }
}

static bool cut_turns(struct sim_shrinker *shrinker, size_t at, size_t n)
{
    for (int keeps_time = 1; keeps_time >= 0; keeps_time--) {
        struct sim_story trial;
        sim_story_copy(&trial, &shrinker->best);
        if (keeps_time) {
            keep_time(&trial, at, n);
        }
        cut_out(trial.turns, &trial.n_turns, sizeof(*trial.turns), at, n);
        if (sim_shrink_keep(shrinker, &trial)) {
            return true;
        }
    }
    return false;
}

/* Also remove the faults that are beyond the regime since others were removed:
 * a clock that is no longer set right, a loss at a server that always syncs. */
static void cut_strays(struct sim_story *story)
{
    for (size_t i = story->n_faults; i-- > 0;) {
        if (!sim_fault_is_within(story, &story->faults[i])) {
            cut_out(story->faults, &story->n_faults, sizeof(*story->faults), i,
                    1);
            i = story->n_faults; /* this may put others beyond the regime */
        }
    }
}

static bool cut_faults(struct sim_shrinker *shrinker, size_t at, size_t n)
{
    for (int cuts_strays = 0; cuts_strays <= 1; cuts_strays++) {
        struct sim_story trial;
        sim_story_copy(&trial, &shrinker->best);
        cut_out(trial.faults, &trial.n_faults, sizeof(*trial.faults), at, n);
        bool has_strays = sim_story_strays(&trial) > shrinker->strays;
        if (cuts_strays && has_strays) {
            cut_strays(&trial);
        }
        if (sim_shrink_keep(shrinker, &trial)) {
            return true;
        }
        if (!has_strays) {
            return false;
        }
    }
    return false;
}

typedef bool cut_fn(struct sim_shrinker *shrinker, size_t at, size_t n);

static void thin(struct sim_shrinker *shrinker, const size_t *length,
                 cut_fn *cut)
{
    for (size_t n = *length; n > 0; n /= 2) {
        for (size_t end = *length; end > 0;) {
            size_t at = end > n ? end - n : 0;
            cut(shrinker, at, end - at);
            end = at < *length ? at : *length;
        }
    }
}

/* ---- Processes and nodes ------------------------------------------------- */

static bool concerns(const struct sim_fault *fault, int process, int node)
{
    return (process >= 0 && fault->process == process) ||
           (node >= 0 && fault->node == node);
}

/* Remove a process with its turns and faults. */
static void cut_process(struct sim_shrinker *shrinker, int process)
{
    struct sim_story trial;
    sim_story_copy(&trial, &shrinker->best);
    trial.n_turns = trial.n_faults = 0;
    for (size_t i = 0; i < shrinker->best.n_turns; i++) {
        struct sim_turn turn = shrinker->best.turns[i];
        if (turn.process != process) {
            turn.process = (uint8_t)(turn.process - (turn.process > process));
            trial.turns[trial.n_turns++] = turn;
        }
    }
    for (size_t i = 0; i < shrinker->best.n_faults; i++) {
        struct sim_fault fault = shrinker->best.faults[i];
        if (!concerns(&fault, process, -1)) {
            uint32_t low = (UINT32_C(1) << process) - 1;
            uint32_t others = fault.mask & 0xffff;
            fault.mask = (fault.mask & 0xffff0000U) | (others & low) |
                         (others >> 1 & ~low & 0xffff);
            fault.process -= fault.process > process;
            trial.faults[trial.n_faults++] = fault;
        }
    }
    for (int i = process; i + 1 < SIM_PROCESSES_MAX; i++) {
        trial.rate_ppm[i] = trial.rate_ppm[i + 1];
        trial.host_of[i] = trial.host_of[i + 1];
    }
    for (int i = 0; i < SIM_PROCESSES_MAX; i++) {
        int host = trial.host_of[i];
        trial.host_of[i] =
            (uint8_t)(host == process + 1 ? 0 : host - (host > process + 1));
    }
    unsigned low = (1U << process) - 1;
    trial.brief = (uint8_t)((trial.brief & low) | (trial.brief >> 1 & ~low));
    trial.n_processes--;
    sim_shrink_keep(shrinker, &trial);
}

/* Remove two nodes at once: their number stays odd. */
static void cut_nodes(struct sim_shrinker *shrinker)
{
    struct sim_story trial;
    sim_story_copy(&trial, &shrinker->best);
    trial.n_nodes -= 2;
    trial.n_faults = 0;
    for (size_t i = 0; i < shrinker->best.n_faults; i++) {
        struct sim_fault fault = shrinker->best.faults[i];
        if (fault.node < (int)trial.n_nodes) {
            fault.mask &= 0xffff | ((UINT32_C(1) << trial.n_nodes) - 1) << 16;
            trial.faults[trial.n_faults++] = fault;
        }
    }
    sim_shrink_keep(shrinker, &trial);
}

static void cut_crowd(struct sim_shrinker *shrinker)
{
    for (int i = (int)shrinker->best.n_processes - 1;
         i >= 0 && shrinker->best.n_processes > 1; i--) {
        cut_process(shrinker, i);
    }
    if (shrinker->best.n_nodes > 1) {
        cut_nodes(shrinker);
    }
}

/* ---- Details ------------------------------------------------------------- */

/* Simplify a detail of one turn, fault or story. @return false: it is simple.
 */
typedef bool plain_fn(struct sim_story *story, size_t at, int detail);

#define PLAIN(field, value)                                                    \
    do {                                                                       \
        if ((field) == (value)) {                                              \
            return false;                                                      \
        }                                                                      \
        (field) = (value);                                                     \
        return true;                                                           \
    } while (0)

/* Halve a span, to the millisecond; below one, to zero. */
static bool halve(int64_t *span)
{
    int64_t half = *span / 2 / SIM_MS * SIM_MS;
    PLAIN(*span, half);
}

/* No trailing digits: 1.234567 s is 1.23 s. */
static bool round_off(int64_t *span)
{
    int64_t unit = 1;
    while (unit * 1000 <= *span) {
        unit *= 10;
    }
    PLAIN(*span, *span / unit * unit);
}

static bool plain_turn(struct sim_story *story, size_t at, int detail)
{
    struct sim_turn *turn = &story->turns[at];
    switch (detail) {
    case 0:
        PLAIN(turn->is_shared, false);
    case 1:
        PLAIN(turn->is_unfair, false);
    case 2:
        PLAIN(turn->is_blocking, false);
    case 3:
        PLAIN(turn->hands_on, false);
    case 4:
        PLAIN(turn->forsakes, false);
    case 5:
        PLAIN(turn->permits, 0);
    case 6:
        PLAIN(turn->writes, 0);
    case 7:
        PLAIN(turn->extends, 0);
    case 8:
        PLAIN(turn->think_ns, 0);
    case 9:
        PLAIN(turn->wait_ms, -1);
    case 10:
        PLAIN(turn->cancel_ns, 0);
    case 11:
        PLAIN(turn->hold_ns, 0);
    case 12:
        PLAIN(turn->lane, 0);
    case 13:
        return halve(&turn->hold_ns);
    case 14:
        return halve(&turn->think_ns);
    case 15:
        return round_off(&turn->hold_ns);
    case 16:
        return round_off(&turn->think_ns);
    case 17: /* one name less */
        PLAIN(turn->names, (uint8_t)(turn->names & -turn->names));
    case 18:
        PLAIN(turn->kind, SIM_TURN_LOCK);
    case 19:
        PLAIN(turn->period_ms, 0);
    case 20:
        PLAIN(turn->reserve_ms, 0);
    case 21:
        PLAIN(turn->withdraws, false);
    default:
        return false;
    }
}
/* The number of cases above. */
#define TURN_DETAILS 22

static bool plain_fault(struct sim_story *story, size_t at, int detail)
{
    struct sim_fault *fault = &story->faults[at];
    switch (detail) {
    case 0:
        return halve(&fault->span_ns);
    case 1:
        return round_off(&fault->span_ns);
    case 2:
        return round_off(&fault->at_ns);
    case 3:
        return fault->amount > 0 && round_off(&fault->amount);
    default:
        return false;
    }
}
/* The number of cases above. */
#define FAULT_DETAILS 4

static bool plain_story(struct sim_story *story, size_t at, int detail)
{
    (void)at;
    switch (detail) {
    case 0:
        PLAIN(story->late_ppm, 0);
    case 1:
        PLAIN(story->shatter_ppm, 0);
    case 2:
        PLAIN(story->jitter_ns, 0);
    case 3:
        PLAIN(story->delay_ns, 200000);
    case 4:
        return round_off(&story->calm_ns);
    case 5:
        return halve(&story->calm_ns);
    default:
        break;
    }
    int i = detail - 6;
    if (i < SIM_PROCESSES_MAX) {
        PLAIN(story->rate_ppm[i], 0);
    }
    i -= SIM_PROCESSES_MAX;
    if (i < SIM_NODES_MAX) {
        PLAIN(story->node_rate_ppm[i], 0);
    }
    i -= SIM_NODES_MAX;
    if (i < SIM_NODES_MAX) {
        PLAIN(story->node_wall_ns[i], 0);
    }
    i -= SIM_NODES_MAX;
    if (i < SIM_PROCESSES_MAX) {
        PLAIN(story->host_of[i], 0);
    }
    i -= SIM_PROCESSES_MAX;
    PLAIN(story->brief, (uint8_t)(story->brief & ~(1U << i)));
}
/* The cases above, and one for each number in the arrays of a story. */
#define STORY_DETAILS (6 + 3 * SIM_PROCESSES_MAX + 2 * SIM_NODES_MAX)

static void make_plain(struct sim_shrinker *shrinker, size_t n, int details,
                       plain_fn *plain)
{
    for (size_t at = 0; at < n; at++) {
        for (int detail = 0; detail < details; detail++) {
            struct sim_story trial;
            sim_story_copy(&trial, &shrinker->best);
            if (plain(&trial, at, detail)) {
                sim_shrink_keep(shrinker, &trial);
            } else {
                sim_story_fini(&trial);
            }
        }
    }
}

unsigned sim_shrink(struct sim_story *story, enum sim_rule rule)
{
    struct sim_shrinker shrinker = {
        .best = *story, .rule = rule, .strays = sim_story_strays(story)};
    if (!still_breaks(&shrinker, story)) {
        return 0;
    }
    do {
        shrinker.has_cut = false;
        thin(&shrinker, &shrinker.best.n_faults, cut_faults);
        thin(&shrinker, &shrinker.best.n_turns, cut_turns);
        cut_crowd(&shrinker);
        make_plain(&shrinker, 1, STORY_DETAILS, plain_story);
        make_plain(&shrinker, shrinker.best.n_faults, FAULT_DETAILS,
                   plain_fault);
        make_plain(&shrinker, shrinker.best.n_turns, TURN_DETAILS, plain_turn);
        sim_shrink_time(&shrinker);
    } while (shrinker.has_cut);
    *story = shrinker.best;
    return shrinker.runs;
}
