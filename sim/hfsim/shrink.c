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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds of a trial, which usually takes hundredths of one: a story that loops
 * must not stop the shrinking. */
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
    shrinker->n_runs++;
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
    if (strays > shrinker->n_strays || !still_breaks(shrinker, trial)) {
        sim_story_fini(trial);
        return false;
    }
    sim_story_fini(&shrinker->best);
    shrinker->best = *trial;
    shrinker->n_strays = strays;
    shrinker->has_cut = true;
    return true;
}

/* ---- Lists --------------------------------------------------------------- */

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
        bool has_strays = sim_story_strays(&trial) > shrinker->n_strays;
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

/* Try the run without N of its items, from AT on. @return whether it still
 * fails, and so was kept. */
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

/* The processes behind it move down by one, in turns and faults. */
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

/* How a detail is made simple. Each returns false if it is simple already. */
enum simplify {
    CLEAR,    /* any integer: zero */
    SET,      /* an int64_t: to `value` */
    HALVE,    /* an int64_t: a span, to the millisecond; below one, to zero */
    ROUND,    /* an int64_t: no trailing digits: 1.234567 s is 1.23 s */
    ONE_NAME, /* a mask of 8 bits: one bit is left */
    CLEAR_BIT /* a mask of 8 bits: without bit `i` */
};

/* A member of a turn, a fault or a story. */
struct detail {
    enum simplify how;
    size_t at;   /* offset in its struct */
    size_t size; /* of one element, in bytes */
    size_t n;    /* elements of an array, or bits of a mask; else 1 */
    int64_t value;
};
#define DETAIL(how, type, member)                                              \
    {                                                                          \
        how, offsetof(struct type, member),                                    \
            sizeof(((struct type *)0)->member), 1, 0                           \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EACH(type, member, n)                                                  \
    {                                                                          \
        CLEAR, offsetof(struct type, member),                                  \
            sizeof(((struct type *)0)->member[0]), n, 0                        \
    }

/* In the order in which they are tried: first what takes most away. */
static const struct detail turn_details[] = {
    DETAIL(CLEAR, sim_turn, is_shared),
    DETAIL(CLEAR, sim_turn, is_unfair),
    DETAIL(CLEAR, sim_turn, is_blocking),
    DETAIL(CLEAR, sim_turn, hands_on),
    DETAIL(CLEAR, sim_turn, forsakes),
    DETAIL(CLEAR, sim_turn, n_permits),
    DETAIL(CLEAR, sim_turn, n_writes),
    DETAIL(CLEAR, sim_turn, n_extends),
    DETAIL(CLEAR, sim_turn, think_ns),
    {SET, offsetof(struct sim_turn, wait_ms), sizeof(int64_t), 1, -1},
    DETAIL(CLEAR, sim_turn, cancel_ns),
    DETAIL(CLEAR, sim_turn, hold_ns),
    DETAIL(CLEAR, sim_turn, lane),
    DETAIL(HALVE, sim_turn, hold_ns),
    DETAIL(HALVE, sim_turn, think_ns),
    DETAIL(ROUND, sim_turn, hold_ns),
    DETAIL(ROUND, sim_turn, think_ns),
    DETAIL(ONE_NAME, sim_turn, names),
    DETAIL(CLEAR, sim_turn, kind),
    DETAIL(CLEAR, sim_turn, period_ms),
    DETAIL(CLEAR, sim_turn, reserve_ms),
    DETAIL(CLEAR, sim_turn, withdraws),
};
_Static_assert(SIM_TURN_LOCK == 0, "the simplest kind of a turn is zero");

static const struct detail fault_details[] = {
    DETAIL(HALVE, sim_fault, span_ns),
    DETAIL(ROUND, sim_fault, span_ns),
    DETAIL(ROUND, sim_fault, at_ns),
    DETAIL(ROUND, sim_fault, amount),
};

static const struct detail story_details[] = {
    DETAIL(CLEAR, sim_story, late_ppm),
    DETAIL(CLEAR, sim_story, shatter_ppm),
    DETAIL(CLEAR, sim_story, jitter_ns),
    {SET, offsetof(struct sim_story, delay_ns), sizeof(int64_t), 1, 200000},
    DETAIL(ROUND, sim_story, calm_ns),
    DETAIL(HALVE, sim_story, calm_ns),
    EACH(sim_story, rate_ppm, SIM_PROCESSES_MAX),
    EACH(sim_story, node_rate_ppm, SIM_NODES_MAX),
    EACH(sim_story, node_wall_ns, SIM_NODES_MAX),
    EACH(sim_story, host_of, SIM_PROCESSES_MAX),
    {CLEAR_BIT, offsetof(struct sim_story, brief), 1, SIM_PROCESSES_MAX, 0},
};

static bool clear(void *member, size_t size)
{
    static const uint8_t zero[sizeof(int64_t)];
    HF_ASSERT(size <= sizeof(zero));
    bool was_set = memcmp(member, zero, size) != 0;
    memset(member, 0, size);
    return was_set;
}

static bool set(int64_t *member, int64_t value)
{
    bool was_another = *member != value;
    *member = value;
    return was_another;
}

static bool halve(int64_t *span)
{
    return set(span, *span / 2 / SIM_MS * SIM_MS);
}

static bool round_off(int64_t *span)
{
    int64_t unit = 1;
    while (unit * 1000 <= *span) {
        unit *= 10;
    }
    return set(span, *span / unit * unit);
}

static bool keep_bits(uint8_t *mask, unsigned bits)
{
    uint8_t kept = (uint8_t)(*mask & bits);
    bool was_another = *mask != kept;
    *mask = kept;
    return was_another;
}

/* Simplify element `i` of a member. @return false: it is simple. */
static bool simplify(void *base, const struct detail *detail, size_t i)
{
    uint8_t *members = (uint8_t *)base + detail->at;
    void *member = members + i * detail->size;
    switch (detail->how) {
    case CLEAR:
        return clear(member, detail->size);
    case SET:
        return set(member, detail->value);
    case HALVE:
        return halve(member);
    case ROUND:
        return round_off(member);
    case ONE_NAME:
        return keep_bits(members, (unsigned)(*members & -*members));
    case CLEAR_BIT:
        return keep_bits(members, ~(1U << i));
    default:
        return false;
    }
}

/* The struct that has the details: of a story, one of its faults or turns. */
typedef void *find_fn(struct sim_story *story, size_t at);

static void *find_story(struct sim_story *story, size_t at)
{
    (void)at;
    return story;
}

static void *find_fault(struct sim_story *story, size_t at)
{
    return &story->faults[at];
}

static void *find_turn(struct sim_story *story, size_t at)
{
    return &story->turns[at];
}

static void try_simple(struct sim_shrinker *shrinker, find_fn *find, size_t at,
                       const struct detail *detail, size_t i)
{
    struct sim_story trial;
    sim_story_copy(&trial, &shrinker->best);
    if (simplify(find(&trial, at), detail, i)) {
        sim_shrink_keep(shrinker, &trial);
    } else {
        sim_story_fini(&trial);
    }
}

static void make_simple(struct sim_shrinker *shrinker, size_t n, find_fn *find,
                        const struct detail *details, size_t n_details)
{
    for (size_t at = 0; at < n; at++) {
        for (const struct detail *detail = details;
             detail < details + n_details; detail++) {
            for (size_t i = 0; i < detail->n; i++) {
                try_simple(shrinker, find, at, detail, i);
            }
        }
    }
}

unsigned sim_shrink(struct sim_story *story, enum sim_rule rule)
{
    struct sim_shrinker shrinker = {
        .best = *story, .rule = rule, .n_strays = sim_story_strays(story)};
    if (!still_breaks(&shrinker, story)) {
        return 0;
    }
    do {
        shrinker.has_cut = false;
        thin(&shrinker, &shrinker.best.n_faults, cut_faults);
        thin(&shrinker, &shrinker.best.n_turns, cut_turns);
        cut_crowd(&shrinker);
        make_simple(&shrinker, 1, find_story, story_details,
                    COUNT(story_details));
        make_simple(&shrinker, shrinker.best.n_faults, find_fault,
                    fault_details, COUNT(fault_details));
        make_simple(&shrinker, shrinker.best.n_turns, find_turn, turn_details,
                    COUNT(turn_details));
        sim_shrink_time(&shrinker);
    } while (shrinker.has_cut);
    *story = shrinker.best;
    return shrinker.n_runs;
}
