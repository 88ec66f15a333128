/* SPDX-License-Identifier: Apache-2.0 */
/* The latency of a caller when some of five servers stop or die.
 *
 *   faults --url URL --victims PID,PID --fault stop|kill [--seconds S]
 *
 * One client, one caller, three phases of S seconds: all healthy, the first
 * victim down, both down. Per phase it prints a line with the latency of
 * acquire and release (the first of each separately, since it includes the
 * detection), the bytes that the kernel buffers for peers that do not read, and
 * the growth of the process. Stopped victims are continued at the end. */
#include "measure.h"

#include <dirent.h>
#include <holdfast/holdfast.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEASE_MS 10000

struct bench {
    struct hf_client *client;
    struct figures figures;
    double first_acquire;
    double first_release;
    long queued;
    long rss_kb;
};

/* Bytes that were sent but not acknowledged, over all sockets of this process.
 */
static long bytes_queued(void)
{
    long sum = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        die("/proc/self/fd");
    }
    for (struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
        int bytes = 0;
        if (d->d_name[0] != '.' &&
            ioctl(atoi(d->d_name), SIOCOUTQ, &bytes) == 0) {
            sum += bytes;
        }
    }
    (void)closedir(dir);
    return sum;
}

static long resident_kb(void)
{
    long size = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) {
        die("statm");
    }
    (void)fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(struct bench *b, const struct hf_request *request)
{
    struct hf_error error;
    struct hf_lock *lock;
    int64_t start = now_ns();
    if (hf_lock_acquire(b->client, request, &lock, &error) != HF_OK) {
        die_text("acquire", error.text);
    }
    int64_t held = now_ns();
    b->figures.failed += hf_lock_release(lock) != HF_OK;
    int64_t end = now_ns();
    if (b->figures.cycle.seen == 0) {
        b->first_acquire = (double)(held - start) / 1e3;
        b->first_release = (double)(end - held) / 1e3;
    }
    figures_add(&b->figures, start, held, end);
}

static void phase_run(struct bench *b, double seconds)
{
    struct hf_request request;
    int64_t look = now_ns();
    int64_t end = look + (int64_t)(seconds * 1e9);
    figures_reset(&b->figures);
    hf_request_init(&request, "faults-000");
    request.ttl_ms = LEASE_MS;
    request.wait_ms = 20000;
    b->queued = 0;
    for (int64_t now = look; now < end; now = now_ns()) {
        cycle(b, &request);
        if (now >= look) { /* outside the samples, every 10 ms */
            long queued = bytes_queued();
            b->queued = queued > b->queued ? queued : b->queued;
            look = now + 10000000;
        }
    }
    b->rss_kb = resident_kb();
}

static void phase_print(struct bench *b, const char *label, int down)
{
    struct figures *f = &b->figures;
    samples_sort(&f->acquire);
    samples_sort(&f->release);
    (void)printf("job=%s down=%d acq50=%.2f acq99=%.2f acqmax=%.0f acq1=%.0f "
                 "rel50=%.2f rel99=%.2f relmax=%.0f rel1=%.0f cycles=%zu "
                 "failed=%lld queued=%ld rss_kb=%ld\n",
                 label, down, samples_at(&f->acquire, 0.5),
                 samples_at(&f->acquire, 0.99), samples_at(&f->acquire, 1.0),
                 b->first_acquire, samples_at(&f->release, 0.5),
                 samples_at(&f->release, 0.99), samples_at(&f->release, 1.0),
                 b->first_release, f->cycle.seen, (long long)f->failed,
                 b->queued, b->rss_kb);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct hf_error error;
    const char *label = arg_text(argc, argv, "--fault", "stop");
    int signal_number = strcmp(label, "kill") == 0 ? SIGKILL : SIGSTOP;
    double seconds = arg_double(argc, argv, "--seconds", 1);
    pid_t victims[2];
    if (sscanf(arg_text(argc, argv, "--victims", ""), "%d,%d", &victims[0],
               &victims[1]) != 2) {
        die_text("usage", "faults --victims PID,PID");
    }
    if (hf_client_open(arg_text(argc, argv, "--url", NULL), NULL, &b.client,
                       &error) != HF_OK) {
        die_text("open", error.text);
    }
    figures_init(&b.figures);
    phase_run(&b, seconds / 10); /* warm up */
    for (int down = 0; down <= 2; down++) {
        if (down > 0 && kill(victims[down - 1], signal_number) != 0) {
            die("kill");
        }
        phase_run(&b, seconds);
        phase_print(&b, label, down);
    }
    for (int i = 0; i < 2 && signal_number == SIGSTOP; i++) {
        (void)kill(victims[i], SIGCONT);
    }
    hf_client_close(b.client);
    figures_fini(&b.figures);
    return 0;
}
