/* SPDX-License-Identifier: Apache-2.0 */
/* A lock as ordered entries: the machine between store.h and a wire. It knows
 * no server, does no I/O, and gets the time from its callers.
 *
 *     hf_ordered_init(&ordered, ops, wire, wire_ops, env)
 *     hf_ordered_up() / down()        the wire has a server, or none
 *     hf_ordered_ask() / flush()      requests of the client
 *     hf_ordered_ended() / unwatched()  news of watches
 *     hf_ordered_close()
 *
 * The sequence is the one of model/ordered.c, whose rules model/RULES.md lists:
 *
 *   a session    lives for its ttl after each renewal. One for each ttl of a
 *                client; it is what all locks of that ttl have in common
 *   a seat       an attempt: its entry in the store, from the ACQUIRE until no
 *                request can create it any more
 *   a name       the seats of one name, and the watch that they share
 *
 * A renewal proves nothing by itself. It is the first half of a proof: when it
 * was answered, a read that is sent after that must show the entry. A lock is
 * held for its ttl from the sending of the renewal.
 *
 * A session is shared by all locks of its ttl. A lock that leaves this client,
 * or came from another one, or outgrows its session, has a session of its own.
 *
 *     store.c          operations of a store's table; jobs of `holdfast doctor`
 *     ask.c            verbs to calls
 *     session.c        sessions: opened, renewed, gone, closed
 *     proof.c          what a renewal proves, and the reads after it
 *     strangers.c      entries of a session that no seat has
 *     entry.c          what a list says of a seat; answers to ACQUIRE
 *     place.c          heartbeats of a seat that waits behind many
 *     answer.c         answers
 *     release.c        RELEASE, also of an entry that may not exist yet
 *     watch.c          what a waiter waits for, and a holder may lose; pushes
 *     inspect.c        INSPECT and QUEUE
 *     scan.c           SCAN
 *     task.c           list, then replace: what is done with entries of others
 *     break.c          BREAK, and its undoing
 *     release_owner.c  RELEASE by an owner's text, and reservations
 *     move.c           CONFIRM of an entry that goes to a session of its own
 *     mark.c           MARK: a text beside the entries; mark_text.c: that text
 *     sweep.c          marks that are over, where no session removes them
 *     value.c          GET and PUT: a text apart from the entries
 *     seats.c          the tables
 *     check.c          the invariants between two events
 *     wire_*.c         what wires have in common: texts, keys, hosts of URLs */
#ifndef HF_ORDERED_ORDERED_H
#define HF_ORDERED_ORDERED_H

#include "store/jobs.h"
#include "store/ordered/wire.h"
#include "store/standing.h"

#include <string.h>

/* A power of two: 10,000 names are found fast. */
#define HF_ORDERED_BUCKETS 4096

/* Bytes after the owner of a break (client/seize.h), and before that of a
 * reservation. */
#define HF_ORDERED_MARK_MAX 16
#define HF_ORDERED_NOTE_MAX (HF_OWNER_MAX + HF_ORDERED_MARK_MAX)

/* Milliseconds of hf_store_ops: a server is silent for one second by default
 * before the next one is asked, which may connect, and elect a leader. */
#define HF_ORDERED_FAILOVER_MS 2500

enum hf_ordered_state {
    HF_ORDERED_ASKING,  /* its entry may or may not exist */
    HF_ORDERED_WAITING, /* it had an entry behind others */
    HF_ORDERED_HELD,    /* a list has shown that its entry holds */
    HF_ORDERED_LEAVING  /* released; its entry may still exist */
};

/* A request of the client, not answered yet. */
struct hf_ordered_request {
    bool is_pending;
    uint64_t cookie;
    struct hf_instant asked;
};

struct hf_ordered_place; /* place.c */

/* Lists of seats are linked by a member of their own: a seat is at most in one
 * of each. */
struct hf_ordered_seat {
    struct hf_ordered_seat *next; /* of its name */
    struct hf_ordered_seat *next_asking;
    struct hf_ordered_seat *next_proving;
    struct hf_ordered_name *name;
    struct hf_ordered_session *session; /* NULL: it has no entry */
    enum hf_ordered_state state;
    enum hf_mode mode;
    uint16_t permits; /* shared: the terms */
    bool waits;       /* ACQUIRE with a place in the queue */
    bool was_queued;  /* the client was told: it will RELEASE */
    bool is_unsure;   /* a CREATE was lost: its entry may come yet */
    bool is_asking;   /* in its session's list */
    bool is_proving;
    bool must_push;
    bool must_doubt; /* HELD: its entry may have ended */
    bool is_broken;  /* LEAVING: its entry has a note, and blocks others until
                        its owner has stopped */
    bool is_moving;  /* to another session */
    bool may_have_moved; /* the reply to that was lost */
    bool leaves;      /* the client detaches it when this CONFIRM is answered */
    unsigned calls;   /* under way */
    unsigned rounds;  /* of a shared try */
    uint64_t number;  /* of its entry; 0: not known */
    uint64_t version; /* of its entry when it was proven last; 0: not known */
    uint64_t proves;  /* number in its CONFIRM */
    uint64_t behind;  /* WAITING: number of the entry that it waits for: of
                         another program it may be its own number */
    struct hf_ordered_place *place; /* WAITING; NULL: each heartbeat lists */
    int64_t ttl_ms;
    struct hf_instant left_at;       /* LEAVING: since when */
    uint8_t born[HF_SESSION_ID_LEN]; /* of its entry: hf_wire_entry */
    int64_t born_ttl_s;
    struct hf_ordered_request acquire, confirm, release;
    uint64_t cookie; /* of the last ACQUIRE or CONFIRM: of a push */
    size_t owner_len;
    char owner[HF_OWNER_MAX];
};

struct hf_ordered_name {
    struct hf_ordered_name *next; /* in its bucket */
    struct hf_ordered_seat *seats;
    struct hf_wire_watch *watch; /* NULL: none */
    uint64_t watched; /* number of the one entry that it is for; 0: of all */
    struct hf_instant watched_at;
    uint64_t seen;  /* the last end that a watch has reported */
    unsigned calls; /* under way */
    bool is_listing;
    bool must_list; /* again, when the list under way is there */
    size_t len;
    char bytes[];
};

enum hf_ordered_phase {
    HF_ORDERED_OPENING,
    HF_ORDERED_OPEN,
    HF_ORDERED_GONE /* until no seat and no call refers to it */
};

struct hf_ordered_session {
    struct hf_ordered_session *next;
    enum hf_ordered_phase phase;
    uint8_t id[HF_SESSION_ID_LEN];
    int64_t ttl_s;             /* as asked for */
    int64_t ttl_ms;            /* as the server decided */
    struct hf_instant renewed; /* sending of the last renewal that was answered;
                                  OPENING: none */
    uint64_t term;             /* of that renewal */
    struct hf_ordered_seat *asking;  /* ACQUIREs for the next renewal */
    struct hf_ordered_seat *proving; /* CONFIRMs for the next renewal */
    bool is_own;      /* of one lock: it is never shared, and ends by itself */
    bool is_doubtful; /* a CREATE, or a REMOVE, was lost: there may be an entry
                         that no seat has, or will be */
    unsigned calls;
    size_t n_seats;
};

/* Where a SCAN goes on: its cursor is the number. */
#define HF_ORDERED_SCANS 8
struct hf_ordered_scan {
    uint64_t number; /* 0: none */
    size_t len;
    char *from;
};

struct hf_ordered {
    struct hf_store base; /* first */
    struct hf_store_env env;
    struct hf_wire *wire;
    const struct hf_wire_ops *wire_ops;
    struct hf_standing standing;
    struct hf_span rtt; /* the wire measures it */
    struct hf_jobs jobs;
    bool is_probing;               /* EXAMINE waits for a reply */
    struct hf_ordered_call *calls; /* under way, to free them */
    struct hf_ordered_task *tasks; /* the same */
    struct hf_ordered_session *sessions;
    size_t n_seats;
    unsigned n_watches;
    struct hf_ordered_name *names[HF_ORDERED_BUCKETS];
    struct hf_seat *listed; /* of the answer to a QUEUE */
    size_t listed_cap;
    struct hf_entry *judged; /* a list, as the rule reads it */
    size_t judged_cap;
    struct hf_bytes *scanned; /* names of the answer to a SCAN */
    size_t scanned_cap;
    uint64_t scans_begun;
    struct hf_ordered_scan *scans;  /* HF_ORDERED_SCANS; NULL: none yet */
    struct hf_ordered_sweep *sweep; /* under way; NULL: none */
    int64_t sweep_after_ms;         /* HF_ORDERED_SWEEP_AFTER_MS */
    uint32_t listed_each;           /* HF_ORDERED_LISTED_EACH */
    uint32_t read_most;             /* entries in one READ: HF_WIRE_READ_MAX, or
                                       as few as the server takes */
    struct hf_wire_call closing;    /* never done */
};

/* A call to the wire. Which of its members are used says its `done`. */
struct hf_ordered_call {
    struct hf_wire_call wire; /* first */
    struct hf_ordered_call *next, *before;
    struct hf_ordered *store;
    struct hf_ordered_session *session;
    struct hf_ordered_name *name;
    struct hf_ordered_seat *seat;
    struct hf_instant renewed; /* READ: sending of the renewal before it */
    uint64_t term;             /* READ: of that renewal */
    enum hf_verb verb;
    uint64_t cookie;
    struct hf_ordered_seat *seats; /* CONFIRMs, linked by next_proving */
    struct hf_ordered_task *task;
};

/* ---- The owner's part ---------------------------------------------------- */

/** Begin without a server. @param ops  of the client.
 * @param wire_ops  borrowed, as @p wire is: both outlive the store. */
void hf_ordered_init(struct hf_ordered *store, const struct hf_store_ops *ops,
                     struct hf_wire *wire, const struct hf_wire_ops *wire_ops,
                     const struct hf_store_env *env);

/* Close the sessions that hold nothing, without waiting for it; not in a forked
 * child. The wire is closed next, and frees its watches. */
void hf_ordered_close(struct hf_ordered *store, struct hf_instant now);

/* Free all calls, tasks, names and sessions, without an answer. After the wire
 * was closed: it may do a call until then. */
void hf_ordered_fini(struct hf_ordered *store);

/* The wire has a server that executes calls. */
void hf_ordered_up(struct hf_ordered *store, struct hf_instant now);

/** The wire has no such server. @param is_connecting  it will soon know. */
void hf_ordered_down(struct hf_ordered *store, bool is_connecting,
                     enum hf_status fault, const char *reason);

/* Another cluster: nothing that was held is. */
void hf_ordered_lose_all(struct hf_ordered *store, const char *reason,
                         struct hf_instant now);

/* Begin a request of the client. It is answered once, before this returns or
 * from the loop, but not if the store closes. */
void hf_ordered_ask(struct hf_ordered *store, const struct hf_ask *ask,
                    struct hf_instant now);

/* Make the calls that requests wait for, such as the renewals of their
 * sessions, and free sessions that are over. After the requests of a turn of
 * the loop. */
void hf_ordered_flush(struct hf_ordered *store, struct hf_instant now);

/** An entry of the name has ended, at or before @p revision; 0: that is not
 * known. @p number  0: it is not known which, or whether. */
void hf_ordered_ended(struct hf_ordered *store, void *user, uint64_t number,
                      uint64_t revision, struct hf_instant now);

/* The wire answers GONE for this session from now on: its holders are told at
 * once. Not from inside of a call. */
void hf_ordered_session_ended(struct hf_ordered *store,
                              const uint8_t id[HF_SESSION_ID_LEN]);

/** A watch has failed, and is freed. @param user  as it was given to the wire:
 * the name. Its waiters list once more, and watch again. */
void hf_ordered_unwatched(struct hf_ordered *store, void *user,
                          struct hf_instant now);

/* ---- store.c ------------------------------------------------------------- */

/* Operations of each store's table, as store.h says of each. The first two
 * assert the invariants. */
hf_store_ask_fn hf_ordered_store_ask;
hf_store_flush_fn hf_ordered_store_flush;
hf_store_job_cancel_fn hf_ordered_store_job_cancel;

/** Fill in @p out. @param address  of the server in use. */
void hf_ordered_describe(const struct hf_ordered *store, const char *address,
                         struct hf_node *out);

/** The server answers: end the jobs that need nothing of it, from the loop.
 * @return true: examine it now. */
bool hf_ordered_jobs_serve(struct hf_ordered *store);

/* Must the wire serve them, or end them, as soon as it can? */
static inline bool hf_ordered_jobs_are_due(const struct hf_ordered *store)
{
    return store->jobs.pending != 0 && !store->is_probing;
}

/* ---- seats.c ------------------------------------------------------------- */

/** @return the name, if this client has a lock or a waiter of it; else NULL. */
struct hf_ordered_name *hf_ordered_name_find(const struct hf_ordered *store,
                                             const void *name, size_t len);

/** @return NULL: none. */
struct hf_ordered_seat *hf_ordered_seat_find(const struct hf_ordered *store,
                                             const struct hf_ask *ask);

/** The seat, with its name. @return NULL: no memory. */
struct hf_ordered_seat *hf_ordered_seat_add(struct hf_ordered *store,
                                            const struct hf_ask *ask);

/** The digits of an owner; zeros: it has none. */
void hf_ordered_attempt(struct hf_bytes owner, uint8_t out[HF_OWNER_ID_LEN]);

/* Remove the seat, unless a request or a call refers to it. */
void hf_ordered_seat_drop(struct hf_ordered *store,
                          struct hf_ordered_seat *seat);

/* The seat gives up its entry: it never existed, or is gone. */
void hf_ordered_seat_detach(struct hf_ordered_seat *seat);

/* Its entry has a note, and stays until its owner must have stopped. */
void hf_ordered_seat_broken(struct hf_ordered_seat *seat,
                            struct hf_instant now);

/* The key of the seat's entry, which must be in a session. It borrows the
 * seat's texts. */
struct hf_wire_key hf_ordered_key(const struct hf_ordered_seat *seat);

/* The text of its holder: the note, if it has one. */
static inline struct hf_bytes
hf_ordered_holder(const struct hf_wire_entry *entry)
{
    return entry->note.len > 0 ? entry->note : entry->owner;
}

/* Whether both have the same bytes. */
static inline bool hf_ordered_is_text(struct hf_bytes text, const void *bytes,
                                      size_t len)
{
    return text.len == len && (len == 0 || memcmp(text.data, bytes, len) == 0);
}

/** A call with these, counted in each of them. @return NULL: no memory. */
struct hf_ordered_call *
hf_ordered_call_new(struct hf_ordered *store, hf_wire_done_fn *done,
                    struct hf_ordered_session *session,
                    struct hf_ordered_name *name, struct hf_ordered_seat *seat);

/* Free it; what it counted in may be freed next. */
void hf_ordered_call_free(struct hf_ordered_call *call);

/* The call was not accepted: done, as UNSENT. */
void hf_ordered_call_fail(struct hf_ordered_call *call, struct hf_instant now);

/* Free a name that has no seat and no call. */
void hf_ordered_name_drop(struct hf_ordered *store,
                          struct hf_ordered_name *name);

/* ---- session.c ----------------------------------------------------------- */

/** The session for a lease, opened if there is none. @return NULL: no memory.
 */
struct hf_ordered_session *hf_ordered_session_for(struct hf_ordered *store,
                                                  int64_t ttl_ms,
                                                  struct hf_instant now);

/** One that is never shared. @return NULL: no memory. */
struct hf_ordered_session *hf_ordered_session_own(struct hf_ordered *store,
                                                  int64_t ttl_ms);

/** The reply to OPEN. @return false: it has failed; *why is the reason. */
bool hf_ordered_session_opened(struct hf_ordered_session *session,
                               const struct hf_wire_reply *reply,
                               struct hf_wire_reply *why);

/* It has ended, with all its entries. */
void hf_ordered_session_gone(struct hf_ordered_session *session);

/* Was the renewal of @p term executed by the leader of the reply? */
static inline bool hf_ordered_is_of_term(uint64_t term,
                                         const struct hf_wire_reply *reply)
{
    return term == HF_WIRE_TERM_ANY || (term != 0 && term == reply->term);
}

/* Have the seat's request wait for the next renewal. */
void hf_ordered_session_asks(struct hf_ordered_seat *seat);

/* Have its CONFIRM be proven by the next renewal of its session. */
void hf_ordered_session_proves(struct hf_ordered_seat *seat);

/* Take it out of both lists: its request was answered, or its session is gone.
 */
void hf_ordered_seat_unlist(struct hf_ordered_seat *seat);

/* ---- proof.c ------------------------------------------------------------- */

/* A renewal was answered: read the entries of its CONFIRMs, or refuse them. */
void hf_ordered_prove(struct hf_ordered_call *renewal,
                      const struct hf_wire_reply *reply, struct hf_instant now);

/* ---- strangers.c -------------------------------------------------------- */

/* Remove the session's entries that no seat has. */
void hf_ordered_drop_strangers(struct hf_ordered *store,
                               struct hf_ordered_session *session,
                               struct hf_instant now);

/* ---- entry.c ------------------------------------------------------------- */

/* Its session is renewed, or being renewed on the same connection: create. */
void hf_ordered_entry_create(struct hf_ordered *store,
                             struct hf_ordered_seat *seat,
                             struct hf_instant now);

/** The seat's entry in a list. @return NULL: it is not there. */
const struct hf_wire_entry *
hf_ordered_entry_own(const struct hf_ordered_seat *seat,
                     const struct hf_wire_reply *reply);

/** The counter for a waiter: a grant is above it, at its own number. */
static inline uint64_t hf_ordered_below(const struct hf_ordered_seat *seat)
{
    return seat->behind < seat->number ? seat->behind : seat->number - 1;
}

/** The rule of core/entry_rule.h. Sharers of other terms exclude ours.
 * @param own  NULL: it is UNPROVEN. @return false: no memory; UNPROVEN, too. */
bool hf_ordered_entry_judge(struct hf_ordered *store,
                            const struct hf_wire_reply *reply,
                            const struct hf_wire_entry *own,
                            struct hf_entry_rank *out);

/* ---- place.c ------------------------------------------------------------- */

/* Entries that a heartbeat lists, on average, however many wait. */
#define HF_ORDERED_LISTED_EACH 128

/* A list has shown that the seat waits behind @p before, with @p ahead before
 * it in all. */
void hf_ordered_place_keep(struct hf_ordered *store,
                           struct hf_ordered_seat *seat,
                           const struct hf_wire_entry *own,
                           const struct hf_wire_entry *before, uint32_t ahead);

/* The seat waits no more: its next heartbeat lists. */
void hf_ordered_place_free(struct hf_ordered_seat *seat);

/** A heartbeat. @return false: list. Else its own entry and the one before it
 * are read, for @p done. */
bool hf_ordered_place_read(struct hf_ordered *store,
                           struct hf_ordered_seat *seat, hf_wire_done_fn *done,
                           struct hf_instant now);

/** The reply. @return has neither of the two changed? */
bool hf_ordered_place_stands(const struct hf_ordered_seat *seat,
                             const struct hf_wire_reply *reply);

/* Answer the ACQUIRE: queued, as before. */
void hf_ordered_place_answer(struct hf_ordered *store,
                             struct hf_ordered_seat *seat);

/* ---- answer.c ------------------------------------------------------------ */

/* Answer a request of the seat: cookie and verb are filled in. Before that the
 * seat is dropped, if it has no entry and the client will not RELEASE it. */
void hf_ordered_answer_with(struct hf_ordered *store,
                            struct hf_ordered_seat *seat, enum hf_verb verb,
                            struct hf_answer *answer);

/* What the client is told of a request whose reply is not DONE: UNSENT, nothing
 * was changed; UNKNOWN, it may be executed yet; ERROR, refused. */
enum hf_verdict hf_ordered_answer_verdict(const struct hf_wire_reply *reply);

/* The same: not decided, or not ours. */
void hf_ordered_answer_fault(struct hf_ordered *store,
                             struct hf_ordered_seat *seat, enum hf_verb verb,
                             enum hf_verdict verdict, enum hf_status fault,
                             const char *reason);

/* Refuse the request: not ours. Without a counter or a holder. */
void hf_ordered_answer_refusal(struct hf_ordered *store,
                               struct hf_ordered_seat *seat, enum hf_verb verb);

/* Answer a request that no seat has. */
void hf_ordered_answer_plain(struct hf_ordered *store, const struct hf_ask *ask,
                             enum hf_verdict verdict, enum hf_status fault,
                             const char *reason, struct hf_instant now);

/* Answer the seat's request, for a call that was not done. */
void hf_ordered_answer_undone(struct hf_ordered *store,
                              struct hf_ordered_seat *seat, enum hf_verb verb,
                              const struct hf_wire_reply *reply);

/* ---- release.c ----------------------------------------------------------- */

/* Remove the entry of the seat, which has no request but this one from now on.
 * Answered at once if there is no entry. */
void hf_ordered_release(struct hf_ordered *store, struct hf_ordered_seat *seat,
                        const struct hf_ask *ask, struct hf_instant now);

/* The seat's entry is removed by another request: those of its requests that
 * were not sent are answered, and it is dropped after the others. */
void hf_ordered_withdraw(struct hf_ordered *store,
                         struct hf_ordered_seat *seat);

/* ---- watch.c ------------------------------------------------------------- */

/* A list of the name, for all its waiters. */
void hf_ordered_list(struct hf_ordered *store, struct hf_ordered_name *name,
                     struct hf_instant now);

/** A list has shown of one seat whether it waits: watch for ends after that
 * what the waiters of its name wait for. Without a waiter or a holder: stop to
 * watch the name. @param reply  NULL: there is no list; the seat is leaving. */
void hf_ordered_watch(struct hf_ordered *store,
                      const struct hf_ordered_seat *judged,
                      const struct hf_wire_reply *reply, struct hf_instant now);

/** A lock of the name was proven at @p revision: watch it for its end, if there
 * are few watches. */
void hf_ordered_watch_held(struct hf_ordered *store,
                           struct hf_ordered_name *name, uint64_t revision,
                           struct hf_instant now);

/* Drop the watch of the name, if it has one. */
void hf_ordered_unwatch(struct hf_ordered *store, struct hf_ordered_name *name);

/* ---- inspect.c ----------------------------------------------------------- */

/* Begin an INSPECT or a QUEUE: list the name, and answer what is held. */
void hf_ordered_inspect(struct hf_ordered *store, const struct hf_ask *ask,
                        struct hf_instant now);

/** Entries in order of their numbers. @return how many of the first hold. */
size_t hf_ordered_inspect_sort(const struct hf_wire_reply *reply);

/* ---- scan.c -------------------------------------------------------------- */

/* Begin a SCAN, or go on with one: its counter is that of the last page, and 0
 * of the first. */
void hf_ordered_scan(struct hf_ordered *store, const struct hf_ask *ask,
                     struct hf_instant now);

/* Free the places at which SCANs go on: the store closes. */
void hf_ordered_scans_free(struct hf_ordered *store);

/* ---- break.c, release_owner.c, move.c ------------------------------------ */

/* Begin a BREAK, or the undoing of one: list the name, and put the note of the
 * breaker on what holds it. */
void hf_ordered_break(struct hf_ordered *store, const struct hf_ask *ask,
                      struct hf_instant now);

/** RELEASE by an owner's text, or a reservation. @param seat  NULL: none. */
void hf_ordered_release_handed(struct hf_ordered *store,
                               struct hf_ordered_seat *seat,
                               const struct hf_ask *ask, struct hf_instant now);

/* Prove a pending CONFIRM of the seat in a session of its own. */
void hf_ordered_move(struct hf_ordered *store, struct hf_ordered_seat *seat,
                     uint64_t counter, int64_t ttl_ms, struct hf_instant now);

/* ---- mark.c -------------------------------------------------------------- */

/** MARK: merge a mark with the one that the name has, or only read that. A wire
 * without marks refuses to write, and finds none. */
void hf_ordered_mark(struct hf_ordered *store, const struct hf_ask *ask,
                     struct hf_instant now);

/* ---- sweep.c ------------------------------------------------------------- */

/* So long after their end marks are removed, in milliseconds: a day. A clock
 * that is wrong by less removes no mark that lasts yet. */
#define HF_ORDERED_SWEEP_AFTER_MS INT64_C(86400000)

/** A mark was made where there was none: remove some that are over.
 * @param seed  which of them are looked at. */
void hf_ordered_sweep(struct hf_ordered *store, uint64_t seed,
                      struct hf_instant now);

/* Free a sweep that is under way: the store closes. */
void hf_ordered_sweep_free(struct hf_ordered *store);

/* ---- value.c ------------------------------------------------------------- */

/* GET and PUT of a value, of a wire that has values. */
void hf_ordered_value(struct hf_ordered *store, const struct hf_ask *ask,
                      struct hf_instant now);

/* ---- check.c ------------------------------------------------------------- */

/* Assert OE-1 to OE-4, which hold between two events. */
void hf_ordered_check(const struct hf_ordered *store);

#endif
