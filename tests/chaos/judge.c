/* SPDX-License-Identifier: Apache-2.0 */
/* All findings follow from times that clients observed: "A was over before B
 * began" means that A's reply was read before B's call was made, on one clock.
 * So a finding did happen, whatever the machine's load.
 *
 * Fences: "unique, and greater than all that were complete before" has one
 * candidate order, by fence; two sorted passes decide it (no search). */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Findings of a kind that are printed: a fault causes many. */
#define TOLD_MAX 10

struct judging {
    const struct history *history;
    struct verdict *verdict;
    int64_t bound_ns;
    FILE *out;
    const struct hold **held; /* HELD attempts, by lock, then by `ok` */
    size_t n_held;
};

static void *room(size_t n, size_t size)
{
    void *array = calloc(n + 1, size);
    if (array == NULL) {
        perror("check");
        exit(1);
    }
    return array;
}

static struct round *round_of(struct judging *judging, uint32_t lock)
{
    int epoch = judging->history->locks[lock].epoch;
    return epoch >= 0 && (size_t)epoch < judging->verdict->n_rounds
               ? &judging->verdict->rounds[epoch]
               : NULL;
}

/* Whether there was a fault, from the first use of the name until T, under
 * which this is not guaranteed. */
static bool is_excused(const struct history *history, uint32_t lock, int64_t t,
                       enum finding kind)
{
    if (kind == FINDING_STALE || kind == FINDING_STUCK ||
        kind == FINDING_MALFORMED) {
        return false;
    }
    bool is_exclusion = kind == FINDING_OVERLAP || kind == FINDING_PERMITS;
    for (size_t i = 0; i < history->n_faults; i++) {
        const struct fault *fault = &history->faults[i];
        bool keeps = is_exclusion ? fault->keeps_exclusion : fault->keeps_order;
        if (!keeps && fault->on <= t &&
            fault->off >= history->locks[lock].first) {
            return true;
        }
    }
    return false;
}

/* Record a finding. @return true: it breaks a guarantee, and may be printed. */
static bool found(struct judging *judging, enum finding kind, uint32_t lock,
                  int64_t t)
{
    if (is_excused(judging->history, lock, t, kind)) {
        judging->verdict->excused[kind]++;
        return false;
    }
    return ++judging->verdict->inside[kind] <= TOLD_MAX;
}

static double seconds(const struct judging *judging, int64_t t)
{
    return (double)(t - judging->history->begin) / 1e9;
}

static void tell(struct judging *judging, const char *what,
                 const struct hold *hold)
{
    const struct history *history = judging->history;
    fprintf(judging->out,
            "#   %s %s %s#%u %c: begin %.6f, ok %.6f, until %.6f%s, fence "
            "%" PRIu64 "\n",
            what, history->locks[hold->lock].text,
            history->clients[hold->client].name, hold->attempt, hold->mode,
            seconds(judging, hold->begin), seconds(judging, hold->ok),
            seconds(judging, hold->until), hold->is_lost ? " (lost)" : "",
            hold->fence);
}

static void tell_both(struct judging *judging, const char *what,
                      const struct hold *first, const struct hold *second)
{
    fprintf(judging->out, "# %s:\n", what);
    tell(judging, "first ", first);
    tell(judging, "second", second);
}

/* ---- Exclusion ----------------------------------------------------------- */

static void check_overlap(struct judging *judging, const struct hold *first,
                          const struct hold *second)
{
    if (first == NULL || first->until <= second->ok ||
        second->until <= second->ok) {
        return;
    }
    int64_t end = first->until < second->until ? first->until : second->until;
    bool told = found(judging, FINDING_OVERLAP, second->lock, second->ok);
    bool is_out =
        is_excused(judging->history, second->lock, second->ok, FINDING_OVERLAP);
    int64_t *longest = &judging->verdict->longest_overlap[is_out];
    *longest = end - second->ok > *longest ? end - second->ok : *longest;
    struct round *round = round_of(judging, second->lock);
    if (round != NULL) {
        round->n_overlaps++;
    }
    if (told) {
        tell_both(judging, "two held at once", first, second);
    }
}

static void check_exclusion(struct judging *judging)
{
    const struct hold *alone = NULL; /* the hold with the latest end so far */
    const struct hold *sharer = NULL;
    for (size_t i = 0; i < judging->n_held; i++) {
        const struct hold *hold = judging->held[i];
        if (i == 0 || judging->held[i - 1]->lock != hold->lock) {
            alone = sharer = NULL;
        }
        check_overlap(judging, alone, hold);
        if (hold->mode != 's') {
            check_overlap(judging, sharer, hold);
        }
        if (hold->mode == 'p' && hold->slot >= (int)hold->limit &&
            found(judging, FINDING_PERMITS, hold->lock, hold->ok)) {
            tell(judging, "a permit too many", hold);
        }
        const struct hold **last = hold->mode == 's' ? &sharer : &alone;
        *last = *last == NULL || hold->until > (*last)->until ? hold : *last;
    }
}

/* ---- Fences -------------------------------------------------------------- */

static int by_lock_and_fence(const void *a, const void *b)
{
    const struct hold *left = *(const struct hold *const *)a;
    const struct hold *right = *(const struct hold *const *)b;
    if (left->lock != right->lock) {
        return left->lock < right->lock ? -1 : 1;
    }
    if (left->fence != right->fence) {
        return left->fence < right->fence ? -1 : 1;
    }
    return (left->mode == 's') - (right->mode == 's');
}

/* Sharers may have equal fences, but not equal to that of an exclusive
 * holder. */
static void check_unique(struct judging *judging)
{
    const struct hold **sorted = room(judging->n_held, sizeof(*sorted));
    memcpy(sorted, judging->held, judging->n_held * sizeof(*sorted));
    qsort(sorted, judging->n_held, sizeof(*sorted), by_lock_and_fence);
    for (size_t i = 1; i < judging->n_held; i++) {
        const struct hold *first = sorted[i - 1];
        const struct hold *second = sorted[i];
        int64_t t = first->ok > second->ok ? first->ok : second->ok;
        if (first->lock == second->lock && first->fence == second->fence &&
            first->mode != 's' &&
            found(judging, FINDING_TWICE, second->lock, t)) {
            tell_both(judging, "one fence for two", first, second);
        }
    }
    free(sorted);
}

static int by_lock_and_begin(const void *a, const void *b)
{
    const struct hold *left = *(const struct hold *const *)a;
    const struct hold *right = *(const struct hold *const *)b;
    if (left->lock != right->lock) {
        return left->lock < right->lock ? -1 : 1;
    }
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* A sharer's fence is above that of each exclusive holder before it. */
static void check_order(struct judging *judging)
{
    const struct hold **begun = room(judging->n_held, sizeof(*begun));
    memcpy(begun, judging->held, judging->n_held * sizeof(*begun));
    qsort(begun, judging->n_held, sizeof(*begun), by_lock_and_begin);
    const struct hold *top = NULL;
    const struct hold *top_alone = NULL;
    size_t done = 0;
    for (size_t i = 0; i < judging->n_held; i++) {
        const struct hold *hold = begun[i];
        if (i == 0 || begun[i - 1]->lock != hold->lock) {
            top = top_alone = NULL;
            done = i; /* both arrays are sorted by lock first */
        }
        for (; done < judging->n_held &&
               judging->held[done]->lock == hold->lock &&
               judging->held[done]->ok < hold->begin;
             done++) {
            const struct hold *before = judging->held[done];
            if (top == NULL || before->fence > top->fence) {
                top = before;
            }
            if (before->mode != 's' &&
                (top_alone == NULL || before->fence > top_alone->fence)) {
                top_alone = before;
            }
        }
        const struct hold *above = hold->mode == 's' ? top_alone : top;
        if (above != NULL && hold->fence <= above->fence &&
            found(judging, FINDING_ORDER, hold->lock, hold->ok)) {
            tell_both(judging, "a fence that did not rise", above, hold);
        }
    }
    free(begun);
}

/* ---- Registers ----------------------------------------------------------- */

struct content { /* of a register */
    uint64_t fence;
    int64_t value;
};

static void check_access(struct judging *judging, const struct access *access,
                         struct content *content)
{
    const char *name = judging->history->locks[access->lock].text;
    struct verdict *verdict = judging->verdict;
    struct round *round = round_of(judging, access->lock);
    if (!access->is_accepted) {
        verdict->n_refused++;
        if (round != NULL) {
            round->n_refused++;
        }
        return;
    }
    if (access->is_guarded && access->fence < content->fence &&
        found(judging, FINDING_STALE, access->lock, access->t)) {
        fprintf(judging->out,
                "# %s: fence %" PRIu64 " was taken after %" PRIu64 "\n", name,
                access->fence, content->fence);
    }
    content->fence =
        access->fence > content->fence ? access->fence : content->fence;
    if (!access->writes) {
        return;
    }
    bool loses = access->base != content->value;
    content->value = access->value;
    verdict->n_writes_unguarded += !access->is_guarded;
    if (loses && !access->is_guarded) {
        verdict->n_lost_unguarded++;
        if (round != NULL) {
            round->n_lost_unguarded++;
        }
    } else if (loses && found(judging, FINDING_LOST, access->lock, access->t)) {
        fprintf(judging->out, "# %s: an update was lost at %.6f\n", name,
                seconds(judging, access->t));
    }
}

static void check_registers(struct judging *judging)
{
    const struct history *history = judging->history;
    struct content *guarded = room(history->n_locks, sizeof(*guarded));
    struct content *unguarded = room(history->n_locks, sizeof(*unguarded));
    for (size_t i = 0; i < history->n_accesses; i++) {
        const struct access *access = &history->accesses[i];
        struct content *contents = access->is_guarded ? guarded : unguarded;
        check_access(judging, access, &contents[access->lock]);
    }
    free(guarded);
    free(unguarded);
}

/* ---- Liveness ------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* The heal before T, if the next fault is after T; else n_heals. */
static size_t heal_before(const struct history *history, int64_t t)
{
    size_t low = 0;
    size_t high = history->n_heals;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (history->heals[middle].t < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_within = low > 0 && t < history->heals[low - 1].next;
    return is_within ? low - 1 : history->n_heals;
}

/* For each heal and client: its first acquisition before the next fault. */
static int64_t *find_firsts(const struct judging *judging)
{
    const struct history *history = judging->history;
    size_t n = history->n_heals * history->n_clients;
    int64_t *firsts = room(n, sizeof(*firsts));
    for (size_t i = 0; i < n; i++) {
        firsts[i] = NEVER;
    }
    for (size_t i = 0; i < judging->n_held; i++) {
        const struct hold *hold = judging->held[i];
        size_t heal = heal_before(history, hold->ok);
        if (heal < history->n_heals) {
            int64_t *first = &firsts[heal * history->n_clients + hold->client];
            *first = hold->ok < *first ? hold->ok : *first;
        }
    }
    return firsts;
}

static int64_t longest_gap(const int64_t *times, size_t n, int64_t from,
                           int64_t to)
{
    int64_t longest = 0;
    int64_t last = from;
    for (size_t i = 0; i < n && times[i] <= to; i++) {
        if (times[i] > from) {
            longest = times[i] - last > longest ? times[i] - last : longest;
            last = times[i];
        }
    }
    return to - last > longest ? to - last : longest;
}

static void note_round(struct judging *judging, const struct heal *heal,
                       int64_t next, int64_t all, const int64_t *times,
                       size_t n_times)
{
    const struct history *history = judging->history;
    if (heal->epoch < 0 || (size_t)heal->epoch >= judging->verdict->n_rounds) {
        return;
    }
    int64_t on = heal->t;
    for (size_t i = 0; i < history->n_faults; i++) {
        const struct fault *fault = &history->faults[i];
        on = fault->epoch == heal->epoch && fault->on < on ? fault->on : on;
    }
    struct round *round = &judging->verdict->rounds[heal->epoch];
    round->has_healed = true;
    round->next = next - heal->t;
    round->all = all - heal->t;
    round->stall = longest_gap(times, n_times, on, next);
}

/* `firsts` are those of this heal, by client. */
static void check_heal(struct judging *judging, const struct heal *heal,
                       const int64_t *firsts, const int64_t *times,
                       size_t n_times)
{
    const struct history *history = judging->history;
    int64_t next = heal->next;
    int64_t all = heal->t;
    for (uint32_t i = 0; i < history->n_clients; i++) {
        const struct client *client = &history->clients[i];
        if (client->up > heal->t || client->down < heal->next) {
            continue;
        }
        int64_t first = firsts[i];
        if (first == NEVER || first - heal->t > judging->bound_ns) {
            if (++judging->verdict->inside[FINDING_STUCK] <= TOLD_MAX) {
                fprintf(judging->out,
                        "# %s was not back after the heal at %.6f, round %d\n",
                        client->name, seconds(judging, heal->t), heal->epoch);
            }
            first = heal->next;
        }
        next = first < next ? first : next;
        all = first > all ? first : all;
    }
    note_round(judging, heal, next, all, times, n_times);
}

static void check_liveness(struct judging *judging)
{
    const struct history *history = judging->history;
    int64_t *times = room(judging->n_held, sizeof(*times));
    for (size_t i = 0; i < judging->n_held; i++) {
        times[i] = judging->held[i]->ok;
    }
    qsort(times, judging->n_held, sizeof(*times), by_time);
    int64_t *firsts = find_firsts(judging);
    for (size_t i = 0; i < history->n_heals; i++) {
        check_heal(judging, &history->heals[i], &firsts[i * history->n_clients],
                   times, judging->n_held);
    }
    free(firsts);
    free(times);
}

/* ---- All of it ----------------------------------------------------------- */

static int by_lock_and_ok(const void *a, const void *b)
{
    const struct hold *left = *(const struct hold *const *)a;
    const struct hold *right = *(const struct hold *const *)b;
    if (left->lock != right->lock) {
        return left->lock < right->lock ? -1 : 1;
    }
    return left->ok < right->ok ? -1 : left->ok > right->ok;
}

static void collect(struct judging *judging)
{
    const struct history *history = judging->history;
    struct verdict *verdict = judging->verdict;
    judging->held = room(history->n_holds, sizeof(*judging->held));
    for (size_t i = 0; i < history->n_locks; i++) {
        size_t needed = (size_t)(history->locks[i].epoch + 1);
        verdict->n_rounds =
            needed > verdict->n_rounds ? needed : verdict->n_rounds;
    }
    verdict->rounds = room(verdict->n_rounds, sizeof(*verdict->rounds));
    for (size_t i = 0; i < history->n_holds; i++) {
        const struct hold *hold = &history->holds[i];
        verdict->n_outcomes[hold->outcome]++;
        verdict->n_told_lost += hold->is_lost;
        if (hold->outcome == OUTCOME_HELD) {
            struct round *round = round_of(judging, hold->lock);
            judging->held[judging->n_held++] = hold;
            verdict->has_fences = verdict->has_fences || hold->fence != 0;
            if (round != NULL) {
                round->n_held++;
            }
        }
    }
    qsort(judging->held, judging->n_held, sizeof(*judging->held),
          by_lock_and_ok);
}

void judge(const struct history *history, int64_t bound_ns,
           struct verdict *verdict, FILE *out)
{
    struct judging judging = {.history = history,
                              .verdict = verdict,
                              .bound_ns = bound_ns,
                              .out = out};
    memset(verdict, 0, sizeof(*verdict));
    verdict->inside[FINDING_MALFORMED] = history->n_bad_lines;
    collect(&judging);
    check_exclusion(&judging);
    if (verdict->has_fences) {
        check_unique(&judging);
        check_order(&judging);
    }
    check_registers(&judging);
    check_liveness(&judging);
    free(judging.held);
}

void judge_free(struct verdict *verdict)
{
    free(verdict->rounds);
}
