/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of a store that is asked by HTTP, and its endpoints in turn:
 * the part that etcd and Consul share below their wires.
 *
 *     WAITING ─▶ OPENING ─▶ [LOGGING_IN ─▶] GREETING ─▶ READY ─▶ BREAKING
 *        ▲          │              │            │          │         │
 *        └──────────┴──────────────┴────────────┴──────────┴─────────┘
 *                                                      the next endpoint
 *
 *     hf_endpoints_open()          set_up() fills `list`; connects
 *     opened() → hf_endpoints_ready(), or hf_endpoints_fail()
 *     hf_endpoints_close()         fini()
 *
 * One connection has all calls, in order. Each watch has another one. All go to
 * one endpoint, until it fails.
 *
 *     endpoints.c  the connection, the endpoints in turn
 *     watch.c      watches: their connections
 *     tour.c       the other endpoints, for doctor */
#ifndef HF_ENDPOINTS_ENDPOINTS_H
#define HF_ENDPOINTS_ENDPOINTS_H

#include "io/http.h"
#include "store/ordered/ordered.h"
#include "store/ordered/wire_hosts.h"
#include "store/reconnect.h"

/* Bytes. A list of 10,000 waiters has about 4 MB; the head of a reply has 300
 * bytes. Requests: 10,000 renewals at once have 5 MB. */
#define HF_ENDPOINTS_BODY_MAX (32 * 1024 * 1024)
#define HF_ENDPOINTS_HEAD_MAX (16 * 1024)
#define HF_ENDPOINTS_OUTPUT_MAX (64 * 1024 * 1024)

enum hf_endpoints_phase {
    HF_ENDPOINTS_WAITING,
    HF_ENDPOINTS_OPENING,
    HF_ENDPOINTS_LOGGING_IN,
    HF_ENDPOINTS_GREETING,
    HF_ENDPOINTS_READY,
    HF_ENDPOINTS_BREAKING, /* until the loop reports the lost requests */
    HF_ENDPOINTS_FOREIGN   /* another cluster: for good */
};

struct hf_endpoints;
struct hf_endpoints_watch;

/** Read the URL: at least the endpoints, into `list`. The list is freed by
 * `fini`, also if this fails. @return as open(). */
typedef enum hf_status hf_endpoints_set_up_fn(struct hf_endpoints *node,
                                              const struct hf_url *url,
                                              struct hf_error *error);

/* Free the other fields of the store's struct. */
typedef void hf_endpoints_fini_fn(struct hf_endpoints *node);

/* The connection is open: log in, or begin the handshake. Or it is closed. Or
 * examine the server for `holdfast doctor`, which ends the jobs. */
typedef void hf_endpoints_fn(struct hf_endpoints *node, struct hf_instant now);

/* A request was answered. */
typedef void hf_endpoints_reply_fn(struct hf_endpoints *node,
                                   const struct hf_http_pending *request,
                                   const struct hf_http_reply *reply,
                                   struct hf_instant now);

/* The request has no reply: hf_http_lost_fn. */
typedef void hf_endpoints_lost_fn(struct hf_endpoints *node,
                                  const struct hf_http_pending *request,
                                  bool is_unsent, struct hf_instant now);

/** For doctor: what any endpoint is asked, to compare it with that in use. Its
 * texts are borrowed until it is sent. @return false: no memory. */
typedef bool hf_endpoints_visit_fn(struct hf_endpoints *node,
                                   struct hf_http_request *out);

/** The answer to that: is it of the same cluster, and does it serve?
 * @param out  what is wrong, as a predicate of the endpoint.
 * @return HF_FINDING_OK: nothing is. */
typedef enum hf_severity
hf_endpoints_judge_fn(struct hf_endpoints *node,
                      const struct hf_http_reply *reply, char *out,
                      size_t size);

/* Free the other fields of the store's struct. */
typedef void hf_endpoints_watch_fn(struct hf_endpoints_watch *watch);

/* The store's own part. */
struct hf_endpoints_ops {
    size_t size; /* of its struct, which begins with hf_endpoints */
    const struct hf_store_ops *store;
    const struct hf_wire_ops *wire;
    hf_endpoints_set_up_fn *set_up;
    hf_endpoints_fini_fn *fini;
    const struct hf_http_limits *limits;
    hf_endpoints_fn *opened;
    hf_endpoints_reply_fn *replied;
    hf_endpoints_lost_fn *lost;
    hf_endpoints_fn *closed; /* NULL: nothing */
    hf_endpoints_fn *examine;
    hf_endpoints_visit_fn *visit;
    hf_endpoints_judge_fn *judge;
    hf_endpoints_watch_fn *watch_fini;
};

/* Of tour.c. */
struct hf_endpoints_tour {
    struct hf_http http;       /* first */
    struct hf_endpoints *node; /* NULL: there was none yet */
    const void *user;          /* of the job's sink, which it is for */
    unsigned first, at;
    bool has_found; /* the endpoint was judged */
};

struct hf_endpoints {
    struct hf_ordered ordered; /* first */
    const struct hf_endpoints_ops *ops;
    struct hf_http http;
    struct hf_timer timer; /* reconnects; frees watches; serves jobs */
    struct hf_endpoints_watch *watches;
    struct hf_endpoints_tour tour;
    enum hf_endpoints_phase phase;
    struct hf_reconnect reconnect;
    uint64_t seed;
    struct hf_tls *tls; /* NULL: plain */
    struct hf_wire_host list[HF_WIRE_HOSTS_MAX];
    unsigned n;
    unsigned at;     /* the endpoint in use */
    unsigned turn;   /* of the addresses of each: see endpoints.c */
    unsigned failed; /* endpoints that failed since one served */
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    enum hf_status fault; /* of the connection that breaks */
    char why[HF_TEXT_REASON];
};

/* The wire that store/ordered passes back is the node itself. */
static inline struct hf_endpoints *hf_endpoints_of_wire(struct hf_wire *wire)
{
    return (struct hf_endpoints *)(void *)wire;
}

/** @param at  `node->at` is the endpoint in use. */
struct hf_socket_target hf_endpoints_target(const struct hf_endpoints *node,
                                            unsigned at);

/* The address of the endpoint in use, as messages show it. */
static inline const char *hf_endpoints_shown(const struct hf_endpoints *node)
{
    return node->list[node->at].shown;
}

/* The handshake was answered: it serves. */
void hf_endpoints_ready(struct hf_endpoints *node, struct hf_instant now);

/** The endpoint does not serve: break the connection, and go to the next. */
void hf_endpoints_fail(struct hf_endpoints *node, enum hf_status fault,
                       const char *why);

/* It is another cluster than before, as said in `why`: all is lost. */
void hf_endpoints_foreign(struct hf_endpoints *node, struct hf_instant now);

/* Before a request: a connection that was idle may have been closed. */
void hf_endpoints_look(struct hf_endpoints *node, struct hf_instant now);

/** The table's operation, but for @p ops, which are borrowed. The URL is one
 * with TLS if its scheme is the second of the store's. */
enum hf_status hf_endpoints_open(const struct hf_endpoints_ops *ops,
                                 const struct hf_url *url,
                                 const struct hf_store_env *env,
                                 struct hf_store **out, struct hf_error *error);

/* ---- Operations of each table -------------------------------------------- */

/* As store.h says of each. */
hf_store_close_fn hf_endpoints_close;
hf_store_resume_fn hf_endpoints_resume;
hf_store_describe_fn hf_endpoints_describe;
hf_store_job_fn hf_endpoints_job;

/* ---- tour.c -------------------------------------------------------------- */

/* The endpoint in use is examined: look at the others, then end the jobs. */
void hf_endpoints_tour_begin(struct hf_endpoints *node, struct hf_instant now);

/** Close the connection of a tour, if one was begun. @param is_forked  true in
 * a forked child: send nothing to the server. */
void hf_endpoints_tour_fini(struct hf_endpoints *node, bool is_forked);

/* ---- watch.c ------------------------------------------------------------- */

/* A store's watch begins with this. */
struct hf_endpoints_watch {
    struct hf_http http; /* first */
    struct hf_endpoints_watch *next;
    struct hf_endpoints *node;
    void *user;
    bool is_dropped; /* unwatched: freed when no callback runs */
};

/** The store's struct of @p size, all else in it zero; its connection is
 * CLOSED. @param events  with the three functions below.
 * @return NULL: no memory, or too many. */
void *hf_endpoints_watch_new(struct hf_endpoints *node, size_t size, void *user,
                             const struct hf_http_events *events,
                             const struct hf_http_limits *limits);

/** Keep it, if its request could be asked; else it is freed.
 * @return is_asked. */
bool hf_endpoints_watch_keep(struct hf_endpoints_watch *watch, bool is_asked,
                             struct hf_wire_watch **out);

/* Report that it has failed, once. It is freed by the timer. */
void hf_endpoints_watch_fail(struct hf_endpoints_watch *watch,
                             struct hf_instant now);

/* For the events of a watch: when it opens nothing is to be done; when it is
 * lost, or has closed, the watch has failed. */
hf_http_fn hf_endpoints_watch_opened;
hf_http_lost_fn hf_endpoints_watch_lost;
hf_http_fn hf_endpoints_watch_closed;

/* Of the table of calls. */
void hf_endpoints_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch);

/* Free those that were dropped; all: the store closes. */
void hf_endpoints_watches_free(struct hf_endpoints *node, bool all,
                               bool is_forked);

#endif
