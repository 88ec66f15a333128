/* SPDX-License-Identifier: Apache-2.0 */
/* How long a name stays locked after a failure, through libholdfast.
 *
 *   recovery --url URL --job killed [--name NAME] [--ttl MS] [--after MS]
 *   recovery --url URL --job server [--name NAME] [--ttl MS] [--seconds S]
 *
 *   killed   a process holds the lock, this one waits for it. The holder is
 *            killed (SIGKILL) --after its grant; the time until this one holds
 *   server   two processes acquire and release the lock in turns for S
 *            seconds, in which the caller kills a server: the longest time
 *            between two grants. A call that fails is repeated
 *
 * A time is in milliseconds. */
#include "contenders.h"

#include <holdfast/holdfast.h>

#define TAKERS 2

/* Between two calls, after one has failed. */
#define AGAIN_NS 5000000

struct job {
    const char *url;
    const char *name;
    int ttl_ms;
};

struct shared {
    sem_t held;                 /* by the process that is killed */
    _Atomic int64_t killed_ns;  /* then */
    _Atomic int64_t granted_ns; /* the last grant, of any taker; 0: none yet */
    _Atomic int64_t gap_ns;     /* the longest between two */
    _Atomic uint32_t n_grants;
    _Atomic uint32_t n_failed;
};

static struct hf_client *client_open(const struct job *job)
{
    struct hf_client *client;
    struct hf_error error;
    if (hf_client_open(job->url, NULL, &client, &error) != HF_OK) {
        die_text("open", error.text);
    }
    return client;
}

static enum hf_status acquire(const struct job *job, struct hf_client *client,
                              struct hf_lock **lock, struct hf_error *error)
{
    struct hf_request request;
    hf_request_init(&request, job->name);
    request.ttl_ms = job->ttl_ms;
    request.wait_ms = PATIENCE_S * 1000;
    return hf_lock_acquire(client, &request, lock, error);
}

static struct hf_lock *must_acquire(const struct job *job,
                                    struct hf_client *client)
{
    struct hf_lock *lock;
    struct hf_error error;
    if (acquire(job, client, &lock, &error) != HF_OK) {
        die_text("acquire", error.text);
    }
    return lock;
}

/* @return in a child: 0. */
static pid_t must_fork(pid_t parent)
{
    pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        child_settle(parent);
    }
    return pid;
}

/* ---- A holder that is killed ------------------------------------------- */

static void kill_later(struct shared *shared, pid_t holder, int64_t after_ns)
{
    pause_ns(after_ns);
    atomic_store(&shared->killed_ns, now_ns());
    if (kill(holder, SIGKILL) != 0) {
        die("kill");
    }
}

static void run_killed(const struct job *job, struct shared *shared,
                       int64_t after_ns)
{
    pid_t parent = getpid();
    pid_t pids[2] = {must_fork(parent), 0};
    if (pids[0] == 0) {
        struct hf_client *client = client_open(job);
        (void)must_acquire(job, client);
        (void)sem_post(&shared->held);
        for (;;) {
            pause(); /* the client's thread renews */
        }
    }
    if (!sem_take(&shared->held, PATIENCE_S)) {
        die_text("killed", "the holder was never granted the lock");
    }
    pids[1] = must_fork(parent);
    if (pids[1] == 0) {
        kill_later(shared, pids[0], after_ns);
        _exit(0);
    }
    struct hf_client *client = client_open(job);
    struct hf_lock *lock = must_acquire(job, client);
    int64_t granted = now_ns();
    int64_t killed = atomic_load(&shared->killed_ns);
    if (killed == 0) {
        die_text("killed", "was granted before the holder was killed");
    }
    (void)printf("job=killed ms=%.1f\n", (double)(granted - killed) / 1e6);
    (void)children_reap(pids, 2);
    (void)hf_lock_release(lock);
    hf_client_close(client);
}

/* ---- A server that is killed ------------------------------------------- */

/* Both takers report; the order of two grants is that of the lock. */
static void note_grant(struct shared *shared, int64_t now)
{
    int64_t before = atomic_exchange(&shared->granted_ns, now);
    int64_t gap = before == 0 ? 0 : now - before;
    if (gap > atomic_load(&shared->gap_ns)) {
        atomic_store(&shared->gap_ns, gap);
    }
    atomic_fetch_add(&shared->n_grants, 1);
}

static void take_turns(const struct job *job, struct shared *shared,
                       int64_t end_ns)
{
    struct hf_client *client = client_open(job);
    while (now_ns() < end_ns) {
        struct hf_lock *lock;
        struct hf_error error;
        if (acquire(job, client, &lock, &error) == HF_OK) {
            note_grant(shared, now_ns());
            pause_ns(1000000);
            atomic_fetch_add(&shared->n_failed, hf_lock_release(lock) != HF_OK);
        } else {
            atomic_fetch_add(&shared->n_failed, 1);
            pause_ns(AGAIN_NS);
        }
    }
    hf_client_close(client);
}

static void run_server(const struct job *job, struct shared *shared,
                       int64_t length_ns)
{
    pid_t parent = getpid();
    pid_t pids[TAKERS];
    int64_t end_ns = now_ns() + length_ns;
    for (int i = 0; i < TAKERS; i++) {
        pids[i] = must_fork(parent);
        if (pids[i] == 0) {
            take_turns(job, shared, end_ns);
            exit(0);
        }
    }
    if (!children_reap(pids, TAKERS)) {
        die_text("server", "a taker has failed");
    }
    if (now_ns() - atomic_load(&shared->granted_ns) > length_ns / 2) {
        die_text("server", "no grant in the second half");
    }
    (void)printf("job=server ms=%.1f grants=%u failed=%u\n",
                 (double)atomic_load(&shared->gap_ns) / 1e6,
                 atomic_load(&shared->n_grants),
                 atomic_load(&shared->n_failed));
}

int main(int argc, char **argv)
{
    struct job job = {.url = arg_text(argc, argv, "--url", "local:"),
                      .name = arg_text(argc, argv, "--name", "recovery"),
                      .ttl_ms = arg_int(argc, argv, "--ttl", 10000)};
    const char *what = arg_text(argc, argv, "--job", "killed");
    struct shared *shared = map_shared(sizeof(*shared));
    (void)sem_init(&shared->held, 1, 0);
    if (strcmp(what, "killed") == 0) {
        run_killed(&job, shared,
                   arg_int(argc, argv, "--after", 1000) * INT64_C(1000000));
    } else if (strcmp(what, "server") == 0) {
        run_server(&job, shared,
                   (int64_t)(arg_double(argc, argv, "--seconds", 10) * 1e9));
    } else {
        die_text("job", what);
    }
    return 0;
}
