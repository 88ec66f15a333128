/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement for all bench programs: a monotonic clock, CPU time of the
 * process and of the servers, and samples with their percentiles. A program
 * prints one line of key=value pairs per measurement; bench/run compares them.
 * Times are microseconds. */
#ifndef HF_BENCH_MEASURE_H
#define HF_BENCH_MEASURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* Most servers, threads and samples of one measurement. Two million samples
 * are ten seconds of the fastest job; later ones are counted, but not kept. */
#define SERVERS_MAX 9
#define THREADS_MAX 256
#define SAMPLES_MAX (2U << 20)

static inline _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static inline _Noreturn void die_text(const char *what, const char *text)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, text);
    exit(1);
}

static inline void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        die("calloc");
    }
    return memory;
}

static inline int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0) {
        return 0; /* the CPU clock of a killed server cannot be read */
    }
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- Samples ----------------------------------------------------------- */

struct samples {
    uint32_t *ns; /* capped at 4.29 s each */
    size_t n;     /* kept */
    size_t seen;
};

static inline void samples_init(struct samples *s)
{
    s->ns = must_alloc(SAMPLES_MAX, sizeof(*s->ns));
    s->n = 0;
    s->seen = 0;
}

static inline void samples_fini(struct samples *s)
{
    free(s->ns);
}

static inline void samples_add(struct samples *s, int64_t ns)
{
    s->seen++;
    if (s->n < SAMPLES_MAX) {
        s->ns[s->n++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
    }
}

static inline void samples_reset(struct samples *s)
{
    s->n = 0;
    s->seen = 0;
}

static inline void samples_merge(struct samples *into, const struct samples *s)
{
    for (size_t i = 0; i < s->n; i++) {
        samples_add(into, s->ns[i]);
    }
    into->seen += s->seen - s->n;
}

static inline int samples_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static inline void samples_sort(struct samples *s)
{
    qsort(s->ns, s->n, sizeof(*s->ns), samples_compare);
}

/* In microseconds; samples must be sorted. share 1.0 is the longest. */
static inline double samples_at(const struct samples *s, double share)
{
    if (s->n == 0) {
        return 0;
    }
    size_t at = (size_t)(share * (double)(s->n - 1));
    return s->ns[at] / 1e3;
}

/* ---- Requests ---------------------------------------------------------- */

/* The requests that the servers have had so far: `command` prints their sum.
 * @return 0 without a command. */
static inline double count_requests(const char *command)
{
    double sum = 0;
    FILE *pipe = command == NULL ? NULL : popen(command, "r");
    if (command == NULL) {
        return 0;
    }
    if (pipe == NULL || fscanf(pipe, "%lf", &sum) != 1) {
        die_text("--count must print a number", command);
    }
    (void)pclose(pipe);
    return sum;
}

/* ---- CPU time ---------------------------------------------------------- */

struct cpu {
    clockid_t servers[SERVERS_MAX];
    int n_servers;
    int64_t client_ns;
    int64_t server_ns;
    int64_t wall_ns;
    const char *count; /* of requests, or NULL */
    double requests;
};

/* `pids` is a comma-separated list; the CPU clock of another process counts
 * all its threads and is exact to the nanosecond. */
static inline void cpu_init(struct cpu *cpu, const char *pids)
{
    memset(cpu, 0, sizeof(*cpu));
    while (pids != NULL && *pids != '\0' && cpu->n_servers < SERVERS_MAX) {
        char *end;
        long pid = strtol(pids, &end, 10);
        if (clock_getcpuclockid((pid_t)pid, &cpu->servers[cpu->n_servers]) !=
            0) {
            die_text("no such server", pids);
        }
        cpu->n_servers++;
        pids = *end == ',' ? end + 1 : end;
    }
}

static inline int64_t cpu_servers(const struct cpu *cpu)
{
    int64_t sum = 0;
    for (int i = 0; i < cpu->n_servers; i++) {
        sum += clock_ns(cpu->servers[i]);
    }
    return sum;
}

static inline void cpu_start(struct cpu *cpu)
{
    cpu->requests = count_requests(cpu->count);
    cpu->client_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    cpu->server_ns = cpu_servers(cpu);
    cpu->wall_ns = now_ns();
}

/* Set the fields to the difference since cpu_start(). */
static inline void cpu_stop(struct cpu *cpu)
{
    cpu->wall_ns = now_ns() - cpu->wall_ns;
    cpu->server_ns = cpu_servers(cpu) - cpu->server_ns;
    cpu->client_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu->client_ns;
    cpu->requests = count_requests(cpu->count) - cpu->requests;
}

/* ---- One job's figures ------------------------------------------------- */

/* Samples of acquire and of release. */
struct figures {
    struct samples acquire, release, cycle;
    int64_t failed;
};

static inline void figures_init(struct figures *f)
{
    samples_init(&f->acquire);
    samples_init(&f->release);
    samples_init(&f->cycle);
    f->failed = 0;
}

static inline void figures_fini(struct figures *f)
{
    samples_fini(&f->acquire);
    samples_fini(&f->release);
    samples_fini(&f->cycle);
}

static inline void figures_reset(struct figures *f)
{
    samples_reset(&f->acquire);
    samples_reset(&f->release);
    samples_reset(&f->cycle);
    f->failed = 0;
}

static inline void figures_add(struct figures *f, int64_t start, int64_t held,
                               int64_t end)
{
    samples_add(&f->acquire, held - start);
    samples_add(&f->release, end - held);
    samples_add(&f->cycle, end - start);
}

static inline void figures_merge(struct figures *into, const struct figures *f)
{
    samples_merge(&into->acquire, &f->acquire);
    samples_merge(&into->release, &f->release);
    samples_merge(&into->cycle, &f->cycle);
    into->failed += f->failed;
}

static inline void figures_print(struct figures *f, const struct cpu *cpu,
                                 const char *label)
{
    samples_sort(&f->acquire);
    samples_sort(&f->release);
    samples_sort(&f->cycle);
    double cycles = f->cycle.seen > 0 ? (double)f->cycle.seen : 1;
    (void)printf(
        "job=%s p50=%.2f p99=%.2f max=%.0f acq50=%.2f acq99=%.2f acqmax=%.0f "
        "rel50=%.2f rel99=%.2f relmax=%.0f rate=%.0f client=%.3f server=%.3f "
        "requests=%.3f cycles=%zu failed=%lld\n",
        label, samples_at(&f->cycle, 0.5), samples_at(&f->cycle, 0.99),
        samples_at(&f->cycle, 1.0), samples_at(&f->acquire, 0.5),
        samples_at(&f->acquire, 0.99), samples_at(&f->acquire, 1.0),
        samples_at(&f->release, 0.5), samples_at(&f->release, 0.99),
        samples_at(&f->release, 1.0),
        (double)f->cycle.seen / ((double)cpu->wall_ns / 1e9),
        (double)cpu->client_ns / 1e3 / cycles,
        (double)cpu->server_ns / 1e3 / cycles, cpu->requests / cycles,
        f->cycle.seen, (long long)f->failed);
    (void)fflush(stdout);
}

/* ---- Arguments --------------------------------------------------------- */

/* The value of `--name value` in argv, or `fallback`. */
static inline const char *arg_text(int argc, char **argv, const char *name,
                                   const char *fallback)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return argv[i + 1];
        }
    }
    return fallback;
}

static inline int arg_int(int argc, char **argv, const char *name, int fallback)
{
    const char *text = arg_text(argc, argv, name, NULL);
    return text == NULL ? fallback : atoi(text);
}

static inline double arg_double(int argc, char **argv, const char *name,
                                double fallback)
{
    const char *text = arg_text(argc, argv, name, NULL);
    return text == NULL ? fallback : atof(text);
}

#endif
