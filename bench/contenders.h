/* SPDX-License-Identifier: Apache-2.0 */
/* Contending processes that acquire and release one lock, and a log of all
 * grants in shared memory.
 *
 *     ask ──▶ wait ──▶ hold ──▶ release ──▶ rest ──▶ ask …
 *
 * A struct crowd_side implements the lock; everything else is the same for both
 * sides of a comparison. Every client is a process with its own connections, as
 * in production.
 *
 * Hand-over is the time from a holder's call of give() to the return of the
 * next holder from take(), if the next holder called take() before. (Otherwise
 * no client was waiting.) A grant that begins before the previous one was
 * released is an overlap. */
#ifndef HF_BENCH_CONTENDERS_H
#define HF_BENCH_CONTENDERS_H

#include "commands.h"
#include "measure.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MAX 512
#define GRANTS_MAX (1U << 19) /* 20 s at 25,000 grants a second */
#define PATIENCE_S 60         /* more than any wait in a correct queue */

struct crowd_side {
    const char *label;
    /* In the client's own process. @return the argument of take and give. */
    void *(*open)(int index, void *arg);
    void (*take)(void *client);
    void (*give)(void *client);
    void (*close)(void *client);
    void *arg;
};

struct crowd_plan {
    int n_clients;
    int64_t hold_ns;
    int64_t rest_ns;
    double warm_s;
    double seconds;
    const char *servers; /* addresses whose commands are counted, or NULL */
    const char *ping;    /* address as the clients see it, or NULL */
    const char *pids;    /* of the servers, or NULL */
    const char *count;   /* a command that prints the requests that servers had,
                            where they count no Redis commands, or NULL */
};

struct grant {
    int64_t asked_ns;
    int64_t held_ns;
    int64_t given_ns;
    int32_t client;
};

struct crowd {
    sem_t ready;
    sem_t start;
    _Atomic bool stop;
    _Atomic uint32_t n_grants;
    struct grant grants[GRANTS_MAX];
};

/* ---- One client -------------------------------------------------------- */

static inline void pause_ns(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    if (ns > 0) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    }
}

/* The process dies with its parent. Its sleeps are exact: the default timer
 * slack of 50 us is off. */
static inline void child_settle(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    if (getppid() != parent) {
        _exit(1);
    }
}

static inline void
crowd_turn(struct crowd *crowd, const struct crowd_plan *plan,
           const struct crowd_side *side, int index, void *client)
{
    int64_t asked = now_ns();
    side->take(client);
    int64_t held = now_ns();
    uint32_t at = atomic_fetch_add(&crowd->n_grants, 1);
    if (at >= GRANTS_MAX) {
        die_text(side->label, "more grants than the log has room for");
    }
    struct grant *grant = &crowd->grants[at];
    grant->client = index;
    grant->asked_ns = asked;
    grant->held_ns = held;
    pause_ns(plan->hold_ns);
    grant->given_ns = now_ns();
    side->give(client);
    pause_ns(plan->rest_ns);
}

static inline void crowd_client(struct crowd *crowd,
                                const struct crowd_plan *plan,
                                const struct crowd_side *side, int index)
{
    void *client = side->open(index, side->arg);
    (void)sem_post(&crowd->ready);
    while (sem_wait(&crowd->start) != 0) {
    }
    while (!atomic_load(&crowd->stop)) {
        crowd_turn(crowd, plan, side, index, client);
    }
    side->close(client);
}

/* ---- All of them ------------------------------------------------------- */

static inline void *map_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        die("mmap");
    }
    return memory;
}

static inline bool sem_take(sem_t *sem, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (sem_timedwait(sem, &until) != 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static inline void children_kill(const pid_t *pids, int n)
{
    for (int i = 0; i < n; i++) {
        if (pids[i] > 0) {
            (void)kill(pids[i], SIGKILL);
            (void)waitpid(pids[i], NULL, 0);
        }
    }
}

/* Wait for all processes to exit. @return false: some failed, or hang. */
static inline bool children_reap(pid_t *pids, int n)
{
    int64_t until = now_ns() + PATIENCE_S * INT64_C(1000000000);
    int left = n;
    bool all_well = true;
    while (left > 0 && all_well && now_ns() < until) {
        for (int i = 0; i < n; i++) {
            int status;
            if (pids[i] > 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
                pids[i] = 0;
                left--;
                all_well = all_well && status == 0;
            }
        }
        pause_ns(1000000);
    }
    children_kill(pids, n);
    return left == 0 && all_well;
}

static inline int64_t children_cpu_ns(const pid_t *pids, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        clockid_t id;
        if (clock_getcpuclockid(pids[i], &id) == 0) {
            sum += clock_ns(id);
        }
    }
    return sum;
}

/* The grants between two instants of the run. */
struct crowd_window {
    int64_t start_ns;
    int64_t end_ns;
    int64_t client_cpu_ns;
    int64_t server_cpu_ns;
    double rtt_us;
    struct command_count commands;
};

static inline void crowd_watch(struct crowd *crowd,
                               const struct crowd_plan *plan, const pid_t *pids,
                               struct crowd_window *window)
{
    struct cpu cpu;
    struct commands commands;
    cpu_init(&cpu, plan->pids);
    commands_open(&commands, plan->servers);
    for (int i = 0; i < plan->n_clients; i++) {
        (void)sem_post(&crowd->start);
    }
    pause_ns((int64_t)(plan->warm_s * 1e9));
    commands_reset(&commands);
    window->client_cpu_ns = -children_cpu_ns(pids, plan->n_clients);
    window->server_cpu_ns = -cpu_servers(&cpu);
    double requests = count_requests(plan->count);
    window->start_ns = now_ns();
    pause_ns((int64_t)(plan->seconds * 1e9));
    window->end_ns = now_ns();
    window->server_cpu_ns += cpu_servers(&cpu);
    window->client_cpu_ns += children_cpu_ns(pids, plan->n_clients);
    window->commands = commands_read(&commands);
    if (plan->count != NULL) {
        window->commands.sent =
            (int64_t)(count_requests(plan->count) - requests);
    }
    commands_close(&commands);
}

static inline struct crowd *crowd_new(void)
{
    struct crowd *crowd = map_shared(sizeof(*crowd));
    if (sem_init(&crowd->ready, 1, 0) != 0 ||
        sem_init(&crowd->start, 1, 0) != 0) {
        die("sem_init");
    }
    return crowd;
}

static inline bool crowd_start(struct crowd *crowd,
                               const struct crowd_plan *plan,
                               const struct crowd_side *side, pid_t *pids)
{
    pid_t parent = getpid();
    for (int i = 0; i < plan->n_clients; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            child_settle(parent);
            crowd_client(crowd, plan, side, i);
            exit(0);
        }
        if (pids[i] < 0) {
            die("fork");
        }
    }
    for (int i = 0; i < plan->n_clients; i++) {
        if (!sem_take(&crowd->ready, PATIENCE_S)) {
            return false;
        }
    }
    return true;
}

/* ---- Results ----------------------------------------------------------- */

struct crowd_figures {
    struct samples handover;
    struct samples hold;
    struct samples wait;
    uint32_t turns[CLIENTS_MAX];
    uint32_t n_grants;
    uint32_t overlaps;
    int64_t longest_wait_ns; /* samples end at 4.29 s */
    int64_t longest_gap_ns;
};

static inline bool window_has(const struct crowd_window *w, int64_t ns)
{
    return ns >= w->start_ns && ns < w->end_ns;
}

/* One grant and the one before it. */
static inline void
figures_count(struct crowd_figures *f, const struct crowd_window *w,
              const struct grant *last, const struct grant *grant)
{
    int64_t wait = grant->held_ns - grant->asked_ns;
    int64_t gap = grant->held_ns - last->held_ns;
    if (window_has(w, grant->asked_ns)) { /* even if granted after the end */
        samples_add(&f->wait, wait);
        f->longest_wait_ns =
            wait > f->longest_wait_ns ? wait : f->longest_wait_ns;
    }
    f->overlaps += grant->held_ns < last->given_ns;
    if (!window_has(w, grant->held_ns)) {
        return;
    }
    f->n_grants++;
    f->turns[grant->client]++;
    f->longest_gap_ns = gap > f->longest_gap_ns ? gap : f->longest_gap_ns;
    samples_add(&f->hold, grant->given_ns - grant->held_ns);
    if (grant->asked_ns < last->given_ns) {
        samples_add(&f->handover, grant->held_ns - last->given_ns);
    }
}

static inline void figures_collect(struct crowd_figures *f,
                                   const struct crowd *crowd,
                                   const struct crowd_window *w)
{
    memset(f, 0, sizeof(*f));
    samples_init(&f->handover);
    samples_init(&f->hold);
    samples_init(&f->wait);
    for (uint32_t i = 1; i < atomic_load(&crowd->n_grants); i++) {
        figures_count(f, w, &crowd->grants[i - 1], &crowd->grants[i]);
    }
    samples_sort(&f->handover);
    samples_sort(&f->hold);
    samples_sort(&f->wait);
}

static inline void figures_drop(struct crowd_figures *f)
{
    samples_fini(&f->handover);
    samples_fini(&f->hold);
    samples_fini(&f->wait);
}

/* Most grants by least: 1 is fair. 9999 if a client had no grant. */
static inline double figures_unfairness(const struct crowd_figures *f, int n)
{
    uint32_t most = 0;
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < n; i++) {
        most = f->turns[i] > most ? f->turns[i] : most;
        least = f->turns[i] < least ? f->turns[i] : least;
    }
    return least == 0 ? 9999 : (double)most / least;
}

static inline void crowd_report(const struct crowd_figures *f,
                                const struct crowd_plan *plan,
                                const struct crowd_window *w, const char *label)
{
    double n = f->n_grants > 0 ? f->n_grants : 1;
    double hand50 = samples_at(&f->handover, 0.5);
    double bound_us =
        2.0 * plan->n_clients * (samples_at(&f->hold, 0.5) + hand50);
    (void)printf(
        "job=%s clients=%d rate=%.0f hand50=%.1f hand99=%.1f handovers=%zu "
        "rtt=%.1f over_rtt=%.1f wait50=%.2f wait99=%.2f longest=%.2f "
        "of_bound=%.3f unfair=%.3f gap=%.2f sent=%.3f all=%.2f client=%.1f "
        "server=%.1f grants=%u overlaps=%u\n",
        label, plan->n_clients,
        f->n_grants / ((double)(w->end_ns - w->start_ns) / 1e9), hand50,
        samples_at(&f->handover, 0.99), f->handover.seen, w->rtt_us,
        hand50 - w->rtt_us, samples_at(&f->wait, 0.5) / 1e3,
        samples_at(&f->wait, 0.99) / 1e3, (double)f->longest_wait_ns / 1e6,
        (double)f->longest_wait_ns / 1e3 / bound_us,
        figures_unfairness(f, plan->n_clients), (double)f->longest_gap_ns / 1e6,
        (double)w->commands.sent / n, (double)w->commands.all / n,
        (double)w->client_cpu_ns / 1e3 / n, (double)w->server_cpu_ns / 1e3 / n,
        f->n_grants, f->overlaps);
    (void)fflush(stdout);
}

/* Options of both sides; times in milliseconds. */
static inline void crowd_parse(struct crowd_plan *plan, int argc, char **argv)
{
    plan->n_clients = arg_int(argc, argv, "--clients", 10);
    plan->hold_ns = (int64_t)(arg_double(argc, argv, "--hold", 1) * 1e6);
    plan->rest_ns = (int64_t)(arg_double(argc, argv, "--rest", 10) * 1e6);
    plan->warm_s = arg_double(argc, argv, "--warm", 0.3);
    plan->seconds = arg_double(argc, argv, "--seconds", 1);
    plan->servers = arg_text(argc, argv, "--servers", NULL);
    plan->ping = arg_text(argc, argv, "--ping", NULL);
    plan->pids = arg_text(argc, argv, "--pids", NULL);
    plan->count = arg_text(argc, argv, "--count", NULL);
    if (plan->n_clients < 1 || plan->n_clients > CLIENTS_MAX) {
        die_text("usage", "--clients 1..512");
    }
}

/* Run all processes and print a line. @return the program's exit code. */
static inline int crowd_run(const struct crowd_plan *plan,
                            const struct crowd_side *side)
{
    pid_t pids[CLIENTS_MAX] = {0};
    struct crowd *crowd = crowd_new();
    struct crowd_window window = {.rtt_us = ping_us(plan->ping)};
    struct crowd_figures figures;
    bool all_well = crowd_start(crowd, plan, side, pids);
    if (all_well) {
        crowd_watch(crowd, plan, pids, &window);
        atomic_store(&crowd->stop, true);
        all_well = children_reap(pids, plan->n_clients);
    }
    children_kill(pids, plan->n_clients);
    if (!all_well) {
        die_text(side->label, "a client failed, or was not served");
    }
    figures_collect(&figures, crowd, &window);
    crowd_report(&figures, plan, &window, side->label);
    uint32_t overlaps = figures.overlaps;
    figures_drop(&figures);
    (void)munmap(crowd, sizeof(*crowd));
    if (overlaps > 0) {
        die_text(side->label, "two held it at once");
    }
    return 0;
}

#endif
