/* SPDX-License-Identifier: Apache-2.0 */
#include "hfsim/batch.h"

#include "hfsim/sinks.h"
#include "story/story.h"
#include "world/run_story.h"

#include "base/assert.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Memory shared by all workers. Seeds are handed out in order: when one fails,
 * all smaller ones are running or done. */
struct board {
    atomic_uint_fast64_t next;
    atomic_bool stops;
    atomic_uint_fast64_t at[SIM_JOBS_MAX]; /* the seed that each worker runs */
};

_Static_assert(sizeof(struct sim_outcome) <= PIPE_BUF,
               "written to a pipe in one piece");

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    HF_ASSERT(clock_gettime(clock, &now) == 0);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- A worker ------------------------------------------------------------ */

static void run_seed(const struct sim_batch *plan, struct sim_outcome *out)
{
    struct sim_story story;
    struct sim_listener listener = {0};
    sim_story_draw(&story, out->seed, plan->regime);
    out->regime = story.regime;
    sim_run(&story, plan->is_listening ? sim_listen : NULL, &listener,
            &out->verdict);
    out->rares = listener.rares;
    sim_story_fini(&story);
}

static void work(const struct sim_batch *plan, struct board *board,
                 unsigned job, int out)
{
    int64_t until_ns =
        plan->limit_s > 0 ? now_ns(CLOCK_MONOTONIC) + plan->limit_s * 1000000000
                          : INT64_MAX;
    while (!atomic_load(&board->stops) && now_ns(CLOCK_MONOTONIC) < until_ns) {
        struct sim_outcome outcome;
        memset(&outcome, 0, sizeof(outcome));
        outcome.seed = atomic_fetch_add(&board->next, 1);
        if (outcome.seed > plan->last) {
            break;
        }
        atomic_store(&board->at[job], outcome.seed + 1);
        run_seed(plan, &outcome);
        if (outcome.verdict.is_broken && !plan->goes_on) {
            atomic_store(&board->stops, true);
        }
        while (write(out, &outcome, sizeof(outcome)) < 0 && errno == EINTR) {
        }
    }
    atomic_store(&board->at[job], 0);
}

/* ---- The sum ------------------------------------------------------------- */

static void fail(struct sim_tally *tally, const struct sim_outcome *outcome)
{
    if (!tally->has_failed || outcome->seed < tally->failed.seed) {
        tally->has_failed = true;
        tally->failed = *outcome;
    }
}

static void add_counters(struct sim_verdict *sum,
                         const struct sim_verdict *verdict)
{
    sum->n_grants += verdict->n_grants;
    sum->n_begun += verdict->n_begun;
    sum->n_given_up += verdict->n_given_up;
    sum->n_renewals += verdict->n_renewals;
    sum->n_pushes += verdict->n_pushes;
    sum->n_adoptions += verdict->n_adoptions;
    sum->n_losses += verdict->n_losses;
    sum->n_writes += verdict->n_writes;
    sum->n_refused += verdict->n_refused;
    sum->n_unguarded_lost += verdict->n_unguarded_lost;
    sum->n_waits += verdict->n_waits;
    for (int rule = 0; rule < SIM_RULES; rule++) {
        sum->n_breaches[rule] += verdict->n_breaches[rule];
    }
}

static void add(struct sim_tally *tally, const struct sim_outcome *outcome)
{
    tally->n_seeds++;
    tally->n_tried[outcome->regime]++;
    tally->n_grants[outcome->regime] += outcome->verdict.n_grants;
    add_counters(&tally->sum, &outcome->verdict);
    for (int rule = 0; rule < SIM_RULES; rule++) {
        tally->n_broken[rule][outcome->regime] +=
            outcome->verdict.n_breaches[rule] > 0;
    }
    for (int rare = 0; rare < SIM_RARES; rare++) {
        tally->n_rare[rare] += outcome->rares.n_seen[rare];
    }
    if (outcome->verdict.is_broken) {
        tally->is_unkept[outcome->verdict.rule][outcome->regime] = true;
        fail(tally, outcome);
    }
}

static void collect(int in, struct sim_tally *tally)
{
    struct sim_outcome outcome;
    for (;;) {
        ssize_t n = read(in, &outcome, sizeof(outcome));
        if (n == (ssize_t)sizeof(outcome)) {
            add(tally, &outcome);
        } else if (n >= 0 || errno != EINTR) {
            return;
        }
    }
}

/* Wait for the workers. If a signal has killed one, report its seed. */
static void reap(const pid_t *pids, unsigned n, struct board *board,
                 struct sim_tally *tally)
{
    for (unsigned i = 0; i < n; i++) {
        int status;
        struct sim_outcome outcome;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR) {
        }
        uint64_t at = atomic_load(&board->at[i]);
        if (WIFSIGNALED(status) || (WIFEXITED(status) && at > 0)) {
            memset(&outcome, 0, sizeof(outcome));
            outcome.seed = at - 1;
            outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 255;
            fail(tally, &outcome);
        }
    }
}

/* Start a worker, which must not write the parent's unflushed output. */
static pid_t start(const struct sim_batch *plan, struct board *board,
                   unsigned job, const int ends[2])
{
    fflush(NULL);
    pid_t pid = fork();
    HF_ASSERT(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        work(plan, board, job, ends[1]);
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

void sim_batch_run(const struct sim_batch *plan, struct sim_tally *tally)
{
    int ends[2];
    pid_t pids[SIM_JOBS_MAX] = {0};
    unsigned jobs = plan->n_jobs < SIM_JOBS_MAX ? plan->n_jobs : SIM_JOBS_MAX;
    struct board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
             /* cppcheck-suppress invalidFunctionArg; no file */
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HF_ASSERT(board != MAP_FAILED && pipe(ends) == 0);
    atomic_store(&board->next, plan->first);
    memset(tally, 0, sizeof(*tally));
    for (unsigned i = 0; i < jobs; i++) {
        pids[i] = start(plan, board, i, ends);
    }
    close(ends[1]);
    collect(ends[0], tally);
    close(ends[0]);
    reap(pids, jobs, board, tally);
    struct rusage usage;
    HF_ASSERT(getrusage(RUSAGE_CHILDREN, &usage) == 0);
    tally->cpu_ns =
        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
        (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    munmap(board, sizeof(*board));
}
