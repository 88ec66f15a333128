/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* 200 processes contend for one name, while some of them are killed at random
 * and replaced. Each holder appends to a log from when to when it held the lock
 * with a valid lease, by the clock of the machine, and its fence: these times
 * must not overlap, and fences must increase. A holder that did not run until
 * its lease was over claims nothing.
 *
 *     contenders [SECONDS]      a third of them on each store */
#include "redis_world.h"

#include <holdfast/holdfast.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#define CROWD 200 /* processes: many more than a machine has processors */
/* Servers of the larger store: a majority, three, is not all but one. */
#define NODES 5

/* How long without an argument: a third of it on each store, which is some
 * sixty kills. Sanitized processes get half of it, since the start of 200 takes
 * most of a core. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SECONDS 15 /* sanitized */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SECONDS 15 /* sanitized */
#endif
#endif
#ifndef SECONDS
#define SECONDS 30 /* else */
#endif

/* Short, since a killed holder blocks the others for so long. Of 200 it is
 * rarely the holder that is killed. */
#define TTL_MS 4000

/* Time between two kills. */
#define KILL_EVERY_MS 150

/* The last rounds: each living process gets the lock once more. */
#define LAST_MS 60000

struct crowd {
    const char *title;
    const char *url;
    char log[200];
    char *failure; /* of one that failed, shared by all; empty: none */
    int stop[2];   /* readable when it must end */
    pid_t pids[CROWD];
    unsigned kills;
    unsigned failures;
};

static int64_t now_ms(void)
{
    return hf_clock_now().ns / 1000000;
}

/* ---- One of them ------------------------------------------------------- */

enum { FINE, FAILED = 10 };

/* Bytes of a failure: a word, and 150 of an error. */
#define FAILURE_MAX 200

static bool is_stopped(const struct crowd *crowd)
{
    struct pollfd fd = {.fd = crowd->stop[0], .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

static int fail(const struct crowd *crowd, const char *what,
                const struct hf_error *error)
{
    snprintf(crowd->failure, FAILURE_MAX, "%s: %.150s", what,
             error != NULL ? error->text : strerror(errno));
    return FAILED;
}

/* The times are of moments after which the lease was seen to be valid. */
static int hold(const struct crowd *crowd, struct hf_lock *lock, int log)
{
    char line[80];
    int64_t from_ns = hf_clock_now().ns;
    if (!hf_lock_valid_for(lock, 0)) {
        return FINE;
    }
    usleep(500); /* sleeps: how long a lock is held */
    int64_t to_ns = hf_clock_now().ns;
    if (!hf_lock_valid_for(lock, 0)) {
        return FINE;
    }
    int len =
        snprintf(line, sizeof(line), "%lld %lld %llu\n", (long long)from_ns,
                 (long long)to_ns, (unsigned long long)hf_lock_fence(lock));
    return write(log, line, (size_t)len) == len ? FINE
                                                : fail(crowd, "log", NULL);
}

/* Continues until it is stopped, and then once more. */
static int live(const struct crowd *crowd)
{
    struct hf_client *client;
    struct hf_error error;
    struct hf_request request;
    int log = open(crowd->log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (hf_client_open(crowd->url, NULL, &client, &error) != HF_OK) {
        return fail(crowd, "open", &error);
    }
    hf_request_init(&request, "crowd");
    request.ttl_ms = TTL_MS;
    request.wait_ms = HF_WAIT_FOREVER;
    for (bool is_last = false; !is_last;) {
        struct hf_lock *lock;
        is_last = is_stopped(crowd);
        enum hf_status status =
            hf_lock_acquire(client, &request, &lock, &error);
        if (status != HF_OK) {
            return fail(crowd, "acquire", &error);
        }
        int came = hold(crowd, lock, log);
        hf_lock_release(lock);
        if (came != FINE) {
            return came;
        }
    }
    hf_client_close(client);
    return FINE;
}

static pid_t start_one(const struct crowd *crowd)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(crowd->stop[1]);
        _exit(live(crowd));
    }
    return pid;
}

/* ---- All of them ------------------------------------------------------- */

static void end_one(struct crowd *crowd, int status, const char *when)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == FINE) {
        return;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        return; /* killed by the test */
    }
    crowd->failures++;
    printf("# %s: one ended with status %x: %s\n", when, status,
           crowd->failure);
}

static void kill_some(struct crowd *crowd, int64_t until_ms)
{
    unsigned random = 4711;
    while (now_ms() < until_ms) {
        int status = 0;
        usleep(KILL_EVERY_MS * 1000); /* sleeps: how often one is killed */
        random = random * 1103515245 + 12345;
        pid_t *victim = &crowd->pids[(random >> 8) % CROWD];
        kill(*victim, SIGKILL);
        waitpid(*victim, &status, 0);
        end_one(crowd, status, "meanwhile");
        *victim = start_one(crowd);
        crowd->kills++;
    }
}

/* @return how many still waited when their time was over. */
static unsigned stop_all(struct crowd *crowd)
{
    unsigned left = CROWD;
    int64_t end_ms = now_ms() + LAST_MS;
    close(crowd->stop[1]);
    while (left > 0 && now_ms() < end_ms) {
        for (unsigned i = 0; i < CROWD; i++) {
            int status = 0;
            if (crowd->pids[i] != 0 &&
                waitpid(crowd->pids[i], &status, WNOHANG) > 0) {
                end_one(crowd, status, "at the end");
                crowd->pids[i] = 0;
                left--;
            }
        }
        usleep(10000);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        if (crowd->pids[i] != 0) {
            kill(crowd->pids[i], SIGKILL);
            waitpid(crowd->pids[i], NULL, 0);
        }
    }
    return left;
}

struct held {
    long long from;
    long long to;
    unsigned long long fence;
};

static int by_time(const void *a, const void *b)
{
    const struct held *x = a;
    const struct held *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

struct history {
    size_t n;
    size_t overlaps;
    size_t steps_back; /* of the fence */
    bool is_whole;     /* the log was read to its end */
};

static struct history read_log(const struct crowd *crowd)
{
    struct history history = {0};
    struct held *all = NULL;
    struct held next;
    FILE *file = fopen(crowd->log, "r");
    if (file == NULL) {
        return history;
    }
    while (fscanf(file, "%lld %lld %llu", &next.from, &next.to, &next.fence) ==
           3) {
        if (history.n % 4096 == 0) {
            all = realloc(all, (history.n + 4096) * sizeof(all[0]));
        }
        all[history.n++] = next;
    }
    history.is_whole = feof(file) != 0;
    fclose(file);
    if (history.n == 0) {
        return history;
    }
    qsort(all, history.n, sizeof(all[0]), by_time);
    for (size_t i = 1; i < history.n; i++) {
        history.overlaps += all[i].from < all[i - 1].to;
        history.steps_back += all[i].fence <= all[i - 1].fence;
    }
    free(all);
    return history;
}

static void make_file(char out[200], const char *dir, const char *name)
{
    snprintf(out, 200, "%.150s/%s", dir, name);
    close(open(out, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600));
}

static void run(const char *title, const char *url, const char *dir,
                int64_t for_ms)
{
    struct crowd crowd = {.title = title, .url = url};
    crowd.failure = mmap(NULL, FAILURE_MAX, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_file(crowd.log, dir, "log");
    if (crowd.failure == MAP_FAILED || pipe2(crowd.stop, O_CLOEXEC) != 0) {
        exit(1);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        crowd.pids[i] = start_one(&crowd);
    }
    kill_some(&crowd, now_ms() + for_ms);
    unsigned left = stop_all(&crowd);
    struct history history = read_log(&crowd);
    ok(history.overlaps == 0, "%s: no two holders at once, %zu overlaps", title,
       history.overlaps);
    ok(crowd.failures == 0, "%s: no process failed, %u did%s%s", title,
       crowd.failures, crowd.failures > 0 ? ": " : "", crowd.failure);
    ok(left == 0, "%s: every process was served, %u were not", title, left);
    ok(history.is_whole && history.n > CROWD && history.steps_back == 0,
       "%s: fences rose in all of %zu grants, %zu did not, %u were killed",
       title, history.n, history.steps_back, crowd.kills);
    close(crowd.stop[0]);
    munmap(crowd.failure, FAILURE_MAX);
}

static bool are_clean(struct server *servers, unsigned n)
{
    static const char *const keys[] = {"lock:crowd", "hf:{lock:crowd}:queue",
                                       "hf:{lock:crowd}:waiters"};
    for (int64_t end_ms = now_ms() + 30000; now_ms() < end_ms; usleep(20000)) {
        long long left = 0;
        for (unsigned i = 0; i < n; i++) {
            for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
                left += told_number(&servers[i], "EXISTS", keys[k]);
            }
        }
        if (left == 0) {
            return true;
        }
    }
    return false;
}

static const char *urls_of(const struct server *servers, unsigned n)
{
    static char urls[2000];
    urls[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        size_t len = strlen(urls);
        /* 200 processes on two cores: a reply may be slow. */
        snprintf(urls + len, sizeof(urls) - len,
                 "%sredis+unix://%s?quarantine=off&node_timeout=5s&"
                 "connect_timeout=30s",
                 i > 0 ? " " : "", servers[i].path);
    }
    return urls;
}

static bool count_one(void *user, const struct hf_queue_entry *place)
{
    (void)place;
    ++*(unsigned *)user;
    return true;
}

static unsigned local_places(const char *url)
{
    struct hf_client *client;
    unsigned count = 0;
    enum hf_status status = hf_client_open(url, NULL, &client, NULL);
    if (status == HF_OK) {
        status = hf_client_queue(client, "crowd", 5, count_one, &count, NULL);
    }
    hf_client_close(client);
    return status == HF_OK ? count : 1000;
}

/* The processes that were killed last have leases of 4 s. */
static bool are_gone(const char *url)
{
    int64_t end_ms = now_ms() + 20000;
    while (local_places(url) != 0 && now_ms() < end_ms) {
        usleep(10000);
    }
    return local_places(url) == 0;
}

int main(int argc, char **argv)
{
    static struct server servers[1 + NODES]; /* a store of one, and of five */
    int64_t for_ms = (argc > 1 ? atoi(argv[1]) : SECONDS) * INT64_C(1000) / 3;
    char url[200];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i <= NODES; i++) {
        server_start(&servers[i], NULL);
    }
    snprintf(url, sizeof(url), "local://%s?node_timeout=3s", servers[0].dir);
    run("embedded", url, servers[0].dir, for_ms);
    ok(are_gone(url), "embedded: no holder or waiter is left");
    run("one server", urls_of(servers, 1), servers[0].dir, for_ms);
    ok(are_clean(servers, 1), "one server: no key is left but the fence");
    run("five servers", urls_of(servers + 1, NODES), servers[0].dir, for_ms);
    ok(are_clean(servers + 1, NODES), "five servers: no key is left");
    for (unsigned i = 0; i <= NODES; i++) {
        server_remove(&servers[i]);
    }
    return tap_done();
}
