/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store, in process.
 *
 *   local --url local:///DIR [--processes N] [--same] [--seconds S]
 *   local --flock FILE ...                  the same with flock(2), to compare
 *
 * Each process acquires and releases as fast as it can: a name of its own, or
 * (--same) one name for all, for which they wait. "share" is the number of
 * grants of the process with the fewest, divided by the average: 1 is fair, 0
 * is starved. "longest" is the longest time that any process had no grant. */
#include "measure.h"

#include <fcntl.h>
#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 16

/* The results of one process, in shared memory. */
struct result {
    int64_t cycles;
    int64_t cpu_ns;
    double p50;
    double p99;
    double longest;
};

struct job {
    const char *url;
    const char *flock; /* instead of url */
    bool same;
    int64_t start;
    int64_t end;
};

static void wait_for_start(const struct job *job)
{
    while (now_ns() < job->start) {
        (void)usleep(200);
    }
}

static void result_fill(struct result *r, struct samples *s, int64_t cpu_ns)
{
    samples_sort(s);
    r->cycles = (int64_t)s->seen;
    r->cpu_ns = cpu_ns;
    r->p50 = samples_at(s, 0.5);
    r->p99 = samples_at(s, 0.99);
    r->longest = samples_at(s, 1.0);
}

static void holdfast_cycle(struct hf_client *client,
                           const struct hf_request *request)
{
    struct hf_error error;
    struct hf_lock *lock;
    if (hf_lock_acquire(client, request, &lock, &error) != HF_OK) {
        die_text("acquire", error.text);
    }
    if (hf_lock_release(lock) != HF_OK) {
        die_text("release", "not confirmed");
    }
}

static void run_holdfast(const struct job *job, int index, struct samples *s)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_error error;
    char name[32];
    if (hf_client_open(job->url, NULL, &client, &error) != HF_OK) {
        die_text("open", error.text);
    }
    (void)snprintf(name, sizeof(name), "local-%03d", job->same ? 0 : index);
    hf_request_init(&request, name);
    request.wait_ms = HF_WAIT_FOREVER;
    wait_for_start(job);
    for (int64_t now = now_ns(); now < job->end;) {
        holdfast_cycle(client, &request);
        int64_t then = now_ns();
        samples_add(s, then - now);
        now = then;
    }
    hf_client_close(client);
}

static void run_flock(const struct job *job, int index, struct samples *s)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s-%d", job->flock,
                   job->same ? 0 : index);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        die(path);
    }
    wait_for_start(job);
    for (int64_t now = now_ns(); now < job->end;) {
        if (flock(fd, LOCK_EX) != 0 || flock(fd, LOCK_UN) != 0) {
            die("flock");
        }
        int64_t then = now_ns();
        samples_add(s, then - now);
        now = then;
    }
    (void)close(fd);
}

static void child_run(const struct job *job, int index, struct result *result)
{
    struct samples samples;
    samples_init(&samples);
    if (job->flock != NULL) {
        run_flock(job, index, &samples);
    } else {
        run_holdfast(job, index, &samples);
    }
    result_fill(result, &samples, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    samples_fini(&samples);
}

static void report(const struct job *job, const struct result *results, int n)
{
    int64_t sum = 0;
    int64_t cpu_ns = 0;
    int64_t least = INT64_MAX;
    struct result worst = {0};
    for (int i = 0; i < n; i++) {
        const struct result *r = &results[i];
        sum += r->cycles;
        cpu_ns += r->cpu_ns;
        least = r->cycles < least ? r->cycles : least;
        worst.p50 = r->p50 > worst.p50 ? r->p50 : worst.p50;
        worst.p99 = r->p99 > worst.p99 ? r->p99 : worst.p99;
        worst.longest = r->longest > worst.longest ? r->longest : worst.longest;
    }
    (void)printf("job=%s processes=%d same=%d rate=%.0f p50=%.2f p99=%.2f "
                 "longest=%.0f share=%.3f client=%.3f\n",
                 job->flock != NULL ? "flock" : "local", n, job->same,
                 (double)sum / ((double)(job->end - job->start) / 1e9),
                 worst.p50, worst.p99, worst.longest,
                 (double)least * n / (double)(sum > 0 ? sum : 1),
                 (double)cpu_ns / 1e3 / (double)(sum > 0 ? sum : 1));
}

static bool has_flag(int argc, char **argv, const char *flag)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], flag) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    int n = arg_int(argc, argv, "--processes", 1);
    struct job job = {.url = arg_text(argc, argv, "--url", "local:"),
                      .flock = arg_text(argc, argv, "--flock", NULL),
                      .same = has_flag(argc, argv, "--same")};
    struct result *results =
        mmap(NULL, PROCESSES_MAX * sizeof(*results), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED || n < 1 || n > PROCESSES_MAX) {
        die_text("usage", "local --processes 1..16");
    }
    job.start = now_ns() + 100000000; /* all processes have started by then */
    job.end =
        job.start + (int64_t)(arg_double(argc, argv, "--seconds", 1) * 1e9);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child_run(&job, i, &results[i]);
            exit(0);
        }
        if (pid < 0) {
            die("fork");
        }
    }
    int failed = 0;
    int status;
    while (wait(&status) > 0) {
        failed += status != 0;
    }
    if (failed == 0) {
        report(&job, results, n);
    }
    return failed != 0;
}
