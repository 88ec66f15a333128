/* SPDX-License-Identifier: Apache-2.0 */
#include "world/spin.h"

#include "base/assert.h"
#include "base/decimal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The most events at one time; 800 seeds reach 409 at most. */
#define EVENTS_MAX 20000

/* The last events of these are counted by process and node. */
#define SAMPLE 1000

/* Clock reads of a process between two sleeps: 12 at most in 800 seeds. */
#define READS_MAX 100000

/* CPU seconds of one world, which usually takes some hundredths of one. */
#define CPU_S_MAX 120

static const struct sim_world *current;

static struct {
    int64_t at_ns;
    uint64_t events;
    unsigned processes[SIM_PROCESSES_MAX];
    unsigned nodes[SIM_NODES_MAX];
} seen;

/* ---- A step without end ------------------------------------------------ */

/* Uses only functions that are safe in a signal handler. */
static void on_timer(int signal)
{
    static const char head[] = "hfsim: a livelock: one step uses CPU without "
                               "end, at (ns) ";
    char digits[HF_DECIMAL_MAX + 1];
    char *end = digits + sizeof(digits);
    int64_t ns = current == NULL ? 0 : current->now_ns;
    *--end = '\n';
    char *first = hf_decimal_before(end, (uint64_t)ns);
    ssize_t written = write(STDERR_FILENO, head, sizeof(head) - 1);
    written += write(STDERR_FILENO, first, (size_t)(end + 1 - first));
    (void)written;
    raise(signal); /* the default action now: the batch reports the seed */
}

static void set_timer(time_t seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    HF_ASSERT(setitimer(ITIMER_VIRTUAL, &timer, NULL) == 0);
}

void sim_spin_begin(const struct sim_world *world)
{
    struct sigaction action = {.sa_handler = on_timer,
                               .sa_flags = (int)SA_RESETHAND};
    HF_ASSERT(sigaction(SIGVTALRM, &action, NULL) == 0);
    memset(&seen, 0, sizeof(seen));
    seen.at_ns = -1;
    current = world;
    set_timer(CPU_S_MAX);
}

void sim_spin_end(void)
{
    set_timer(0);
    current = NULL;
}

/* ---- Events without end ------------------------------------------------ */

static void count(const struct sim_world *world, const void *object)
{
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        seen.processes[i] += object == &world->processes[i];
    }
    for (unsigned i = 0; i < SIM_NODES_MAX; i++) {
        seen.nodes[i] += object == &world->nodes[i];
    }
    for (const struct sim_link *link = world->links; link != NULL;
         link = link->next) {
        if (link == object) {
            seen.processes[link->peer]++;
            seen.nodes[link->node->index]++;
        }
    }
}

static unsigned most(const unsigned counts[], unsigned n)
{
    unsigned best = 0;
    for (unsigned i = 1; i < n; i++) {
        best = counts[i] > counts[best] ? i : best;
    }
    return best;
}

static void tell(struct sim_world *world)
{
    unsigned p = most(seen.processes, SIM_PROCESSES_MAX);
    unsigned n = most(seen.nodes, SIM_NODES_MAX);
    sim_oracle_breach(world->oracle, SIM_LIVE,
                      "time stands still at %.6f ms: %" PRIu64
                      " events; of the last %d p%u has %u and n%u has %u",
                      (double)world->now_ns / 1e6, seen.events, SAMPLE, p + 1,
                      seen.processes[p], n + 1, seen.nodes[n]);
}

bool sim_spin_event(struct sim_world *world, const struct sim_event *event)
{
    if (event->at_ns != seen.at_ns) {
        seen.at_ns = event->at_ns;
        seen.events = 0;
    }
    if (++seen.events > EVENTS_MAX - SAMPLE) {
        count(world, event->object);
    }
    if (seen.events < EVENTS_MAX) {
        return false;
    }
    tell(world);
    return true;
}

/* ---- A process that never sleeps --------------------------------------- */

bool sim_spin_clock(struct sim_process *process)
{
    if (++process->n_reads < READS_MAX) {
        return false;
    }
    process->n_reads = 0;
    sim_oracle_breach(process->world->oracle, SIM_LIVE,
                      "time stands still at %.6f ms: p%d has read its clock "
                      "%d times and does not sleep",
                      (double)process->world->now_ns / 1e6, process->index + 1,
                      READS_MAX);
    return true;
}
