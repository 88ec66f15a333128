/* SPDX-License-Identifier: Apache-2.0 */
/* The client's internals. One mutex guards all of it except the fields that
 * lock.h lists. A function that reads or changes guarded data must be called
 * with the mutex held, unless its comment says otherwise.
 *
 *     hf_client_enter()  a public call begins (enter.h)
 *     hf_client_step()   an event for a lease → core → store->ops->ask()
 *     hf_client_wait()   wait for the end: wait.h says which thread reads
 *     hf_client_leave()  flush, arm the timer, return
 *
 * A store may call its callbacks during ask() and flush(). They only queue
 * their data; hf_client_settle() processes it (deferred.h). */
#ifndef HF_CLIENT_CLIENT_H
#define HF_CLIENT_CLIENT_H

#include "client/item.h"
#include "core/lease.h"
#include "core/nodes.h"
#include "io/alarm.h"
#include "io/loop.h"
#include "store/store.h"
#include "store/url.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct hf_page;   /* fork.c */
struct hf_reader; /* notify.h */
struct hf_waiter; /* wait.c */

/* Bytes of a host's name that go into owners: all of it on Linux, where
 * HOST_NAME_MAX is 64. HF_OWNER_MAX includes it. */
#define HF_HOST_MAX 64

/* The last error of a node. */
struct hf_peer {
    enum hf_status fault;  /* HF_OK: no error */
    enum hf_status config; /* HF_CONFIG: down because it cannot be used as
                              configured; else HF_OK */
    char reason[HF_TEXT_REASON];
};

/* A reply that is queued because the store is on the stack. */
struct hf_queued_event {
    uint64_t cookie;
    struct hf_event event;
};

/* A list of operations (hf_ops_append()); empty if zeroed. */
struct hf_ops {
    struct hf_op *first;
    struct hf_op *last;
};

/* A thread that runs a user's callback; on that thread's stack. */
struct hf_caller {
    pthread_t thread;
    int cancel_state; /* before the call: mutex.h */
    struct hf_caller *next;
};

/* The queue of on_state callbacks (notify.h). */
struct hf_notifier {
    uint32_t first; /* queue of changed locks, by index */
    uint32_t last;
    bool is_notifying; /* a thread runs the callbacks */
    struct hf_reader *readers;
    struct hf_lock *held; /* released, but read; freed after that */
};

struct hf_client {
    pthread_mutex_t mutex;
    int cancel_state; /* of the thread that has the mutex: mutex.h */
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

    struct hf_item_table items;
    struct hf_timer_heap heap;
    struct hf_ops ops;         /* in progress */
    struct hf_ops seizures;    /* of breaks (seize.h) */
    struct hf_ops finished;    /* hf_client_process() runs their callbacks */
    struct hf_bundle *bundles; /* those with a finished or lost member */
    uint32_t events_first;     /* locks with a changed state, by index */
    uint32_t events_last;
    uint32_t calls_first; /* released locks, for hf_client_process() */
    uint32_t calls_last;
    struct hf_notifier notifier;

    unsigned in_store;          /* depth of ask() and flush() */
    bool is_dirty;              /* requests queued since the last flush */
    bool has_reply;             /* a query has a reply (broadcast.c) */
    uint8_t news[HF_NODES_MAX]; /* enum hf_node_status, of those in `changed` */
    uint16_t changed;           /* nodes: new status, not delivered yet */
    uint16_t reset;             /* … and they lost their data */
    uint16_t quarantined;       /* nodes: log when the quarantine ends */
    uint16_t push_changed; /* nodes: push connection changed, not delivered */
    uint16_t listens;      /* nodes with a push connection, per the store */
    uint32_t n_pending;    /* requests without a reply */
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
    unsigned interrupts_before; /* the call of the thread that has the mutex:
                                   mutex.h */

    /* timer.c, thread.c */
    struct hf_alarm alarm;
    pthread_t thread;
    bool has_thread;
    bool is_stopping;

    /* event_loop.c */
    int loop_fd; /* -1 until hf_client_fd() */
    int done_fd;
    bool is_done_signalled;
    bool is_processing;
    bool is_blocking; /* a call blocks in a callback of `processor` */
    pthread_t processor;

    /* close.c */
    struct hf_caller *callers;
    bool is_closing; /* a callback in thread `closer` closed the client, and
                        the closing starts when it returns. Also in a forked
                        child, when the callback that forked has returned */
    bool is_ending;  /* closing: pending callbacks run, and no call begins */
    pthread_t closer;
    bool is_torn; /* a forked child: the parent was changing it */
};

/* check.c: assert CL-7 to CL-9, when the mutex is released. */
void hf_client_check(const struct hf_client *client);

/* A node has changed, and its event is not delivered to the leases yet. Later
 * replies are queued: a lease gets events in the order of arrival. */
static inline bool hf_client_has_news(const struct hf_client *client)
{
    return client->changed != 0 || client->push_changed != 0;
}

/* When to stop waiting for the other nodes, once a majority has replied. */
static inline struct hf_instant
hf_client_patience(const struct hf_client *client, struct hf_span ttl)
{
    return hf_instant_add(client->now, hf_nodes_patience(&client->nodes, ttl));
}

#endif
