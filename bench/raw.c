/* SPDX-License-Identifier: Apache-2.0 */
/* The raw limit: a bare client that acquires and releases locks over
 * non-blocking sockets, and does nothing else. Holdfast is compared with it in
 * the same run.
 *
 *   raw --nodes A[,B,C,D,E] --pids P[,...] --dialect plain|scripts
 *       [--scripts DIR] [--inflight N] [--threads N] [--seconds S]
 *
 *   plain    SET NX PX, and compare-and-delete by EVALSHA: no fence
 *   scripts  the scripts of src/store/redis, with the same keys and arguments
 *
 * Each thread has its own connections and N lockers, each with its own name,
 * all in flight at once. An operation is sent to all nodes. The locker
 * continues at a majority, as in Redlock, and later replies are dropped. A
 * release follows its acquire on each connection, so a slow node executes both
 * in order. Requests are formatted once: per operation the 32 digits of the
 * owner and the 16 of the counter are written into a copy.
 *
 * Cost: per operation and node one request and one reply; one send, one poll
 * and one recv for all that are ready together. */
#include "dialect.h"
#include "measure.h"
#include "wire.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

/* Most unanswered requests of a node; at that many the locker waits for it. A
 * power of two. */
#define OWED_MAX (1U << 15)

enum phase { PHASE_ACQUIRE, PHASE_RELEASE };

struct locker {
    struct template acquire[SERVERS_MAX]; /* per node: markers differ */
    struct template release[SERVERS_MAX];
    uint32_t seq; /* of the operation in flight */
    uint8_t phase;
    uint8_t votes;
    uint8_t answers;
    bool running;
    char owner[OWNER_DIGITS];
    uint64_t counter;
    int64_t started;
    int64_t held;
};

struct owed {
    uint32_t locker;
    uint32_t seq;
};

struct node {
    struct wire wire;
    struct owed *owed; /* ring of the requests without a reply */
    uint32_t head;
    uint32_t tail;
};

struct worker {
    pthread_t thread;
    int index;
    int n_nodes;
    int quorum;
    int n_lockers;
    struct node nodes[SERVERS_MAX];
    struct locker *lockers;
    enum dialect dialect;
    uint64_t random;
    struct figures figures;
    bool stopping;
    int n_running;
};

struct setup {
    char *nodes[SERVERS_MAX];
    int n_nodes;
    int n_lockers;
    int n_threads;
    double seconds;
    enum dialect dialect;
    struct dialect_scripts scripts;
    char markers[SERVERS_MAX][64];
};

/* ---- Asking ------------------------------------------------------------ */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void owner_draw(struct worker *w, struct locker *l)
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < OWNER_DIGITS; i += 16) {
        uint64_t r = random_next(&w->random);
        for (int k = 0; k < 16; k++) {
            l->owner[i + k] = hex[(r >> (4 * k)) & 15];
        }
    }
}

static void ask_all(struct worker *w, uint32_t index)
{
    struct locker *l = &w->lockers[index];
    bool acquires = l->phase == PHASE_ACQUIRE;
    l->seq++;
    l->votes = 0;
    l->answers = 0;
    for (int i = 0; i < w->n_nodes; i++) {
        struct node *node = &w->nodes[i];
        struct template *t = acquires ? &l->acquire[i] : &l->release[i];
        template_fill(t, l->owner, acquires ? 0 : l->counter);
        if (node->head - node->tail >= OWED_MAX) {
            die_text("raw", "a node owes too much");
        }
        node->owed[node->head++ & (OWED_MAX - 1)] =
            (struct owed){.locker = index, .seq = l->seq};
        wire_put(&node->wire, t->bytes, t->len);
    }
}

static void acquire_start(struct worker *w, uint32_t index, int64_t now)
{
    struct locker *l = &w->lockers[index];
    l->phase = PHASE_ACQUIRE;
    l->counter = 0;
    l->started = now;
    owner_draw(w, l);
    ask_all(w, index);
}

/* ---- Counting ---------------------------------------------------------- */

static void operation_end(struct worker *w, uint32_t index, bool won)
{
    struct locker *l = &w->lockers[index];
    int64_t now = now_ns();
    w->figures.failed += !won;
    if (l->phase == PHASE_ACQUIRE) {
        l->held = now;
        l->phase = PHASE_RELEASE;
        ask_all(w, index);
        return;
    }
    figures_add(&w->figures, l->started, l->held, now);
    if (w->stopping) {
        l->running = false;
        w->n_running--;
        return;
    }
    acquire_start(w, index, now);
}

static void reply_count(struct worker *w, struct node *node, struct reply *r)
{
    struct owed owed = node->owed[node->tail++ & (OWED_MAX - 1)];
    struct locker *l = &w->lockers[owed.locker];
    bool yes = dialect_is_yes(w->dialect, l->phase == PHASE_ACQUIRE, r);
    if (owed.seq != l->seq || !l->running) {
        return; /* a reply after the majority */
    }
    l->votes = (uint8_t)(l->votes + yes);
    l->answers++;
    uint64_t counter = dialect_counter(w->dialect, r);
    if (l->phase == PHASE_ACQUIRE && counter > l->counter) {
        l->counter = counter;
    }
    if (l->votes >= w->quorum) {
        operation_end(w, owed.locker, true);
    } else if (l->answers - l->votes > w->n_nodes - w->quorum) {
        operation_end(w, owed.locker, false);
    }
}

static void node_read(struct worker *w, struct node *node)
{
    wire_fill(&node->wire);
    size_t at = 0;
    while (at < node->wire.in_len) {
        struct reply r = {0};
        size_t used =
            reply_read(&r, node->wire.in + at, node->wire.in_len - at);
        if (used == 0) {
            break;
        }
        if (r.type == '-') {
            die_text("server", node->wire.in + at);
        }
        at += used;
        reply_count(w, node, &r);
    }
    wire_consume(&node->wire, at);
}

/* ---- The loop ---------------------------------------------------------- */

static void turn(struct worker *w)
{
    struct pollfd polls[SERVERS_MAX];
    for (int i = 0; i < w->n_nodes; i++) {
        struct wire *wire = &w->nodes[i].wire;
        if (wire->out_len > 0) {
            wire_flush(wire);
        }
        polls[i].fd = wire->fd;
        polls[i].events =
            (short)(wire->out_len > 0 ? POLLIN | POLLOUT : POLLIN);
    }
    if (poll(polls, (nfds_t)w->n_nodes, 5000) <= 0) {
        die_text("raw", "no reply in 5 s");
    }
    for (int i = 0; i < w->n_nodes; i++) {
        if (polls[i].revents & POLLIN) {
            node_read(w, &w->nodes[i]);
        }
    }
}

static void run_until(struct worker *w, int64_t end)
{
    int64_t now = now_ns();
    for (int i = 0; i < w->n_lockers; i++) {
        if (!w->lockers[i].running) {
            w->lockers[i].running = true;
            w->n_running++;
            acquire_start(w, (uint32_t)i, now);
        }
    }
    /* The clock is read per turn only when a batch of replies was handled. */
    while (now_ns() < end) {
        turn(w);
    }
}

static void drain(struct worker *w)
{
    w->stopping = true;
    while (w->n_running > 0) {
        turn(w);
    }
    w->stopping = false;
}

/* ---- Set-up ------------------------------------------------------------ */

static void node_open(struct worker *w, const struct setup *setup, int index)
{
    struct node *node = &w->nodes[index];
    wire_open(&node->wire, setup->nodes[index]);
    node->owed = must_alloc(OWED_MAX, sizeof(*node->owed));
}

static void locker_init(struct locker *l, const struct setup *setup,
                        const char *name)
{
    for (int i = 0; i < setup->n_nodes; i++) {
        dialect_prepare(setup->dialect, &setup->scripts, name,
                        setup->markers[i], &l->acquire[i], &l->release[i]);
    }
}

static void locker_fini(struct locker *l, int n_nodes)
{
    for (int i = 0; i < n_nodes; i++) {
        template_fini(&l->acquire[i]);
        template_fini(&l->release[i]);
    }
}

static void worker_init(struct worker *w, const struct setup *setup, int index)
{
    w->index = index;
    w->n_nodes = setup->n_nodes;
    w->quorum = setup->n_nodes / 2 + 1;
    w->n_lockers = setup->n_lockers;
    w->dialect = setup->dialect;
    w->random = (uint64_t)now_ns() ^ ((uint64_t)index << 48) ^
                UINT64_C(0x9e3779b97f4a7c15);
    w->lockers = must_alloc((size_t)w->n_lockers, sizeof(*w->lockers));
    figures_init(&w->figures);
    for (int i = 0; i < w->n_nodes; i++) {
        node_open(w, setup, i);
    }
    for (int i = 0; i < w->n_lockers; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "raw-%03d-%03d", index, i);
        locker_init(&w->lockers[i], setup, name);
    }
}

static void worker_fini(struct worker *w)
{
    for (int i = 0; i < w->n_nodes; i++) {
        wire_close(&w->nodes[i].wire);
        free(w->nodes[i].owed);
    }
    for (int i = 0; i < w->n_lockers; i++) {
        locker_fini(&w->lockers[i], w->n_nodes);
    }
    free(w->lockers);
    figures_fini(&w->figures);
}

static void scripts_load(struct setup *setup)
{
    for (int i = 0; i < setup->n_nodes; i++) {
        struct wire wire;
        wire_open(&wire, setup->nodes[i]);
        dialect_load(setup->dialect, &setup->scripts, &wire, setup->markers[i]);
        wire_close(&wire);
    }
}

static void setup_parse(struct setup *setup, int argc, char **argv)
{
    char *list = strdup(arg_text(argc, argv, "--nodes", ""));
    for (char *p = strtok(list, ","); p != NULL; p = strtok(NULL, ",")) {
        setup->nodes[setup->n_nodes++] = p;
    }
    if (setup->n_nodes == 0) {
        die_text("usage", "raw --nodes HOST:PORT,... --pids PID,...");
    }
    setup->n_lockers = arg_int(argc, argv, "--inflight", 1);
    setup->n_threads = arg_int(argc, argv, "--threads", 1);
    setup->seconds = arg_double(argc, argv, "--seconds", 1);
    setup->dialect = dialect_find(arg_text(argc, argv, "--dialect", "plain"));
    setup->scripts.dir =
        arg_text(argc, argv, "--scripts", "build/generated/lua");
}

/* ---- Threads ----------------------------------------------------------- */

static double run_seconds;

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    run_until(w, now_ns() + (int64_t)(run_seconds * 1e9));
    drain(w);
    return NULL;
}

static void run_all(struct worker *workers, int n, double seconds)
{
    run_seconds = seconds;
    if (n == 1) {
        (void)worker_run(&workers[0]);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) !=
            0) {
            die("pthread_create");
        }
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
}

int main(int argc, char **argv)
{
    struct setup setup = {0};
    struct cpu cpu;
    setup_parse(&setup, argc, argv);
    cpu_init(&cpu, arg_text(argc, argv, "--pids", NULL));
    scripts_load(&setup);
    struct worker *workers =
        must_alloc((size_t)setup.n_threads, sizeof(*workers));
    for (int i = 0; i < setup.n_threads; i++) {
        worker_init(&workers[i], &setup, i);
    }
    run_all(workers, setup.n_threads, setup.seconds / 10); /* warm up */
    for (int i = 0; i < setup.n_threads; i++) {
        figures_reset(&workers[i].figures);
    }
    cpu_start(&cpu);
    run_all(workers, setup.n_threads, setup.seconds);
    cpu_stop(&cpu);
    for (int i = 1; i < setup.n_threads; i++) {
        figures_merge(&workers[0].figures, &workers[i].figures);
    }
    figures_print(&workers[0].figures, &cpu,
                  setup.dialect == DIALECT_PLAIN ? "plain" : "scripts");
    for (int i = 0; i < setup.n_threads; i++) {
        worker_fini(&workers[i]);
    }
    free(workers);
    free(setup.nodes[0]);
    return 0;
}
