/* SPDX-License-Identifier: Apache-2.0 */
/* The client's internals. One mutex guards all of it except the fields that
 * lock.h lists.
 *
 *     public call            hf_client_enter()
 *       an event for a lease hf_client_step() → core → store->ops->ask()
 *       wait for its end     hf_client_wait()  (wait.c: which thread reads)
 *     return                 hf_client_leave() (flush, arm the timer)
 *
 * A store may call its callbacks during ask() and flush(). They only queue
 * their data; hf_client_settle() processes it. */
#ifndef HF_CLIENT_CLIENT_H
#define HF_CLIENT_CLIENT_H

#include "client/item.h"
#include "client/notify.h"
#include "core/lease.h"
#include "core/nodes.h"
#include "io/loop.h"
#include "store/store.h"
#include "store/url.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct hf_page;   /* fork.c */
struct hf_waiter; /* wait.c */

/* Bytes of a host's name that go into owners: all of it on Linux, where
 * HOST_NAME_MAX is 64. HF_OWNER_MAX includes it. */
#define HF_HOST_MAX 64

/* The last error of a node. */
struct hf_peer {
    enum hf_status fault;  /* HF_OK: no error */
    enum hf_status config; /* HF_CONFIG: down because it cannot be used as
                              configured; else HF_OK */
    char reason[200];
};

/* A reply that is queued because the store is on the stack. */
struct hf_queued_event {
    uint64_t cookie;
    struct hf_event event;
};

struct hf_ops {
    struct hf_op *first;
    struct hf_op *last;
};

/* A thread that runs a user's callback; on that thread's stack. */
struct hf_caller {
    pthread_t thread;
    struct hf_caller *next;
};

struct hf_client {
    pthread_mutex_t mutex;
    struct hf_page *page;
    pid_t pid;
    char host[HF_HOST_MAX + 1];
    struct hf_client_options options;

    struct hf_url *url;
    struct hf_loop *loop;
    struct hf_store *store;
    struct hf_nodes nodes;
    struct hf_peer peers[HF_NODES_MAX];
    bool has_reached;      /* a majority was reachable at least once */
    struct hf_instant now; /* last clock reading; never decreases */
    uint64_t random;       /* for jitter, not for owner ids */

    struct hf_item_table slots;
    struct hf_timer_heap heap;
    struct hf_ops ops;         /* in progress */
    struct hf_ops seizures;    /* of breaks (seize.h) */
    struct hf_ops finished;    /* hf_client_process() runs their callbacks */
    struct hf_bundle *bundles; /* those with a finished or lost member */
    uint32_t events_first;     /* locks with a changed state, by slot */
    uint32_t events_last;
    uint32_t calls_first; /* released locks, for hf_client_process() */
    uint32_t calls_last;
    struct hf_teller teller; /* queue of on_state */

    unsigned in_store;          /* depth of ask() and flush() */
    bool is_dirty;              /* requests queued since the last flush */
    bool has_heard;             /* a query has a reply (broadcast.c) */
    uint8_t news[HF_NODES_MAX]; /* enum hf_node_status, of those in `changed` */
    uint16_t changed;           /* nodes: new status, not delivered yet */
    uint16_t forgot;            /* … and they lost their data */
    uint16_t quarantined;       /* nodes: log when the quarantine ends */
    uint16_t heard_from; /* nodes: push connection changed, not delivered */
    uint16_t listens;    /* nodes with a push connection, per the store */
    uint32_t n_pending;  /* requests without a reply */
    uint64_t n_answers;
    struct hf_queued_event *inbox;
    size_t inbox_count, inbox_capacity;

    /* wait.c */
    bool is_polling; /* a thread is in hf_loop_wait() without the mutex */
    struct hf_instant poll_until;
    struct hf_instant reading_since; /* replies to requests sent before this
                                        are read late: not a round trip */
    struct hf_waiter *waiters;
    struct hf_watch poke; /* an eventfd: wakes the thread that polls */
    atomic_uint interrupts;

    /* timer.c, thread.c */
    int timer_fd; /* -1: not opened yet */
    struct hf_instant armed;
    pthread_t thread;
    bool has_thread;
    bool is_stopping;

    /* process.c */
    int loop_fd; /* -1 until hf_client_fd() */
    int done_fd;
    bool is_done_signalled;
    bool is_processing;
    bool is_blocking; /* a call blocks in a callback of `processor` */
    pthread_t processor;

    /* close.c */
    struct hf_caller *callers;
    bool is_closing; /* a callback in thread `closer` closed the client, and
                        the closing starts when it returns */
    bool is_ending;  /* closing: pending callbacks run, and no call begins */
    pthread_t closer;
};

/* ---- client.c ---------------------------------------------------------- */

/** Begin a public call: take the mutex, read the clock.
 * @return HF_OK; HF_INVALID with a text: no client, a client of the parent
 * process, or one that is being closed. */
enum hf_status hf_client_enter(struct hf_client *client,
                               struct hf_error *error);

/** The same for a call that a cancel token can end. @return as above, or
 * HF_CANCELLED: the client's token was triggered. (cancel.c) */
enum hf_status hf_client_begin(struct hf_client *client,
                               struct hf_error *error);

/** For what a store without HF_CAP_RECORDS cannot do. @return HF_OK;
 * HF_UNSUPPORTED: @p lacked ends the text. (request.c) */
enum hf_status hf_client_need_records(const struct hf_client *client,
                                      const char *lacked,
                                      struct hf_error *error);
#define HF_NOT_HANDED_ON                                                       \
    "only the process that acquired it can extend or release it"

/** End a public call: settle, run on_state if it is due, set the timer, release
 * the mutex. @return true: a callback closed the client, and it is freed. */
bool hf_client_leave(struct hf_client *client);

void hf_client_tick(struct hf_client *client);

/* A node has changed, and its event is not delivered to the leases yet. Later
 * replies are queued: a lease gets events in the order of arrival. */
static inline bool hf_client_has_news(const struct hf_client *client)
{
    return client->changed != 0 || client->heard_from != 0;
}

/* When to stop waiting for the other nodes, once a majority has replied. */
static inline struct hf_instant
hf_client_patience(const struct hf_client *client, struct hf_span ttl)
{
    return hf_instant_add(client->now, hf_nodes_patience(&client->nodes, ttl));
}

/* Assert what holds when the mutex is released. (check.c) */
void hf_client_check(const struct hf_client *client);

/* ---- fork.c: what a fork must not copy --------------------------------- */

bool hf_page_open(struct hf_client *client);
void hf_page_close(struct hf_client *client);
bool hf_client_is_forked(const struct hf_client *client);

/* Kernel entropy, drawn 256 bytes at a time. */
void hf_client_entropy(struct hf_client *client, void *out, size_t len);

/* A pseudo-random number, for jitter. */
uint64_t hf_client_random(struct hf_client *client);

/* ---- step.c, answer.c, deferred.c --------------------------------------- */

/* Pass one event to the lock's lease and carry out the effects. May free the
 * lock. */
void hf_client_step(struct hf_client *client, struct hf_lock *lock,
                    const struct hf_event *event);

/* The same for an event that has only a kind. */
void hf_client_signal(struct hf_client *client, struct hf_lock *lock,
                      enum hf_event_kind kind);

/* Pass one request to the store. */
void hf_client_ask(struct hf_client *client, const struct hf_ask *ask);

/* The store's callbacks. */
void hf_client_on_answer(void *user, const struct hf_answer *answer);
void hf_client_on_status(void *user, unsigned node, enum hf_node_status status,
                         bool forgot, enum hf_status fault, const char *reason);

void hf_client_on_push(void *user, unsigned node, uint64_t cookie,
                       uint64_t counter);
void hf_client_on_listen(void *user, unsigned node, bool is_listening);

/* login.c: the store's callback if the options have one. */
void hf_client_on_login(void *user, struct hf_login *login);

/** Queue a reply for hf_client_settle(). @return false: out of memory, and the
 * reply is dropped, which is as safe as a reply lost in the network. */
bool hf_client_enqueue_event(struct hf_client *client, uint64_t cookie,
                             const struct hf_event *event);

/* Process the queues and flush, until they are empty. Runs no timer. */
void hf_client_settle(struct hf_client *client);

/* Called when a call begins. An idle client runs no timers, and so does not
 * reconnect. Connects the nodes whose reconnect is overdue. */
void hf_client_resume(struct hf_client *client);

/* Process the I/O events that hf_loop_wait() returned, then due timers, and
 * settle after each. */
void hf_client_dispatch(struct hf_client *client);

/* Poll for I/O without waiting, and dispatch it. If another thread is polling,
 * only settle: that thread reads. */
void hf_client_poll(struct hf_client *client);

/* ---- timer.c, thread.c ------------------------------------------------- */

/* When the next timer is due; HF_NEVER while the client is idle. */
struct hf_instant hf_client_due(const struct hf_client *client);

/* Set the timer to the next due time if that is earlier than its present one.
 */
void hf_client_arm(struct hf_client *client);

/* Set the timer to `at`; clears an expiry that was not read. */
void hf_client_set_timer(struct hf_client *client, struct hf_instant at);

/** Open the timer if there is none. @return false: no descriptor. */
bool hf_client_open_timer(struct hf_client *client);

/** Start the library's thread, unless it runs or the options exclude it.
 * @return HF_OK or HF_NO_MEMORY. */
enum hf_status hf_client_start_thread(struct hf_client *client,
                                      struct hf_error *error);
void hf_client_stop_thread(struct hf_client *client);

/* ---- events.c, process.c ----------------------------------------------- */

/* Queue the changed state of a lock whose handle the user has. */
void hf_client_notify(struct hf_client *client, struct hf_lock *lock);

/* Remove a lock from the queues of changed states. */
void hf_client_cancel_notify(struct hf_client *client, struct hf_lock *lock);

/* Callbacks are queued for hf_client_process(): make hf_client_fd() readable.
 */
void hf_client_schedule_callback(struct hf_client *client);

/* True if this thread is inside hf_client_process(), which flushes at its end.
 */
bool hf_client_is_deferring(const struct hf_client *client);

/* wait.c: the polling thread was poked. */
void hf_client_on_poke(struct hf_watch *watch, uint32_t events,
                       struct hf_instant now);

/* ---- close.c ----------------------------------------------------------- */

/* Free a client, also one that is only partly opened. */
void hf_client_free(struct hf_client *client);

/* Release the mutex before a user's callback, which may call any function, and
 * take it again. */
void hf_client_let_out(struct hf_client *client, struct hf_caller *self);
void hf_client_take_in(struct hf_client *client, struct hf_caller *self);

/* A callback in this thread has closed the client and has returned. */
bool hf_client_is_to_end(const struct hf_client *client);

/* Run all pending callbacks, release all locks, and free the client. */
void hf_client_end(struct hf_client *client);

/* Write a line to the user's log. */
void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
