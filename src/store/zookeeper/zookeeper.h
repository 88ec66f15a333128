/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper, by its C client: a wire of store/ordered.
 *
 *     RESOLVING ─▶ CONNECTING ─▶ READY ─▶ (lost) CONNECTING │ FOREIGN
 *
 * A session of the machine is a session of ZooKeeper, with a handle of the
 * client library, so a connection, of its own. One more handle, the main one,
 * has all that no session owns: lists, watches, changes of others' entries. The
 * library does no I/O by itself: the loop drives it (handle.c).
 *
 * An entry is an ephemeral sequential node, below a container node of its name:
 *
 *     BASE NAME / SESSION-MODE TTL-OWNER-lock-SEQUENCE
 *     /lock:nightly/694d7f1c2a3b4c05-x30-9f…-lock-0000000007
 *
 * All but the note is in the name, so that one request lists them. The note is
 * the node's data. An ephemeral node stays with its session: an entry never
 * changes its session here.
 *
 * Its number is the czxid of the container plus its sequence (key.c).
 *
 * The mark of a name is a persistent node beside its container:
 *
 *     BASE NAME %once               /lock:nightly%once
 *
 * The value of a name is a persistent node in a folder of values:
 *
 *     BASE %values / NAME           /lock:%values/nightly
 *
 * Curator's InterProcessMutex ("…-lock-SEQUENCE") and kazoo's Lock
 * ("…__lock__SEQUENCE") hold in order of the sequence. Theirs are exclusive
 * entries. kazoo respects ours with extra_lock_patterns=["-lock-"].
 *
 *     target.c   the URL
 *     key.c      names and owners as nodes, numbers
 *     handle.c   a handle of the library on the loop
 *     contacts.c contacts of a session that its leader knows
 *     op.c       calls as several requests: their life, errors
 *     list.c     sync, children, and the notes of those that hold
 *     session.c  open, renew, close, owned
 *     create.c   create, with its containers
 *     change.c   read, replace, remove
 *     mark.c     marks, and the clock by which they are judged
 *     value.c    values
 *     scan.c     names
 *     watch.c    watches
 *     node.c     the main handle, the status of the node
 *     examine.c  findings of `holdfast doctor`
 *     store.c    the entry points for the client; the table of operations */
#ifndef HF_ZOOKEEPER_ZOOKEEPER_H
#define HF_ZOOKEEPER_ZOOKEEPER_H

#include "io/loop.h"
#include "io/resolve.h"
#include "store/ordered/ordered.h"
#include "store/ordered/wire_hosts.h"

#include <sys/types.h>
#include <zookeeper/zookeeper.h>

struct hf_zk;

/* ---- key.c --------------------------------------------------------------- */

/** "BASE NAME", the container of a name. @return NULL: no memory. */
char *hf_zk_key_folder(const char *base, struct hf_bytes name);

/** The name of an entry's node, without its sequence. @return NULL: no memory.
 */
char *hf_zk_key_entry(const struct hf_wire_key *key);

/** "FOLDER/NODE". @return NULL: no memory. */
char *hf_zk_key_join(const char *folder, const char *node);

/** The sequence that a node's name ends with, and the part before it.
 * @return false: it has none, so it is no contender. */
bool hf_zk_key_sequence(const char *node, uint32_t *sequence, size_t *len);

/* The number of an entry: key.c. */
uint64_t hf_zk_number(int64_t container_czxid, uint32_t sequence);

/** May the next entry have the same sequence? Then none is granted by it. */
static inline bool hf_zk_key_is_last(uint32_t sequence)
{
    return sequence >= INT32_MAX;
}

/** Read the name of a node: ours, or any other text, which is an exclusive
 * entry. @param copy  a copy of it, which is unescaped in place. */
void hf_zk_key_read(char *copy, struct hf_wire_entry *out);

/** A name of the container's last part, unescaped in place.
 * @return its length; SIZE_MAX: it is none of ours. */
size_t hf_zk_key_name(char *text);

/* ---- contacts.c ---------------------------------------------------------- */

/* As many as a third of a timeout has, and some more. */
#define HF_ZK_CONTACTS_KEPT 12

/* Of one connection. */
struct hf_zk_contacts {
    struct hf_instant began; /* no later than the connection */
    struct hf_instant sent[HF_ZK_CONTACTS_KEPT];
    struct hf_instant answered[HF_ZK_CONTACTS_KEPT];
    unsigned n; /* that there were */
};

void hf_zk_contacts_begin(struct hf_zk_contacts *contacts,
                          struct hf_instant at);
void hf_zk_contacts_add(struct hf_zk_contacts *contacts, struct hf_instant sent,
                        struct hf_instant answered);

/** Does a renewal count from its sending? @param heard  so long after an answer
 * the leader has heard of its contact. @param each  time between contacts. */
bool hf_zk_contacts_suffice(const struct hf_zk_contacts *contacts,
                            struct hf_instant sent, struct hf_span heard,
                            struct hf_span each);

/* ---- handle.c ------------------------------------------------------------ */

enum hf_zk_life {
    HF_ZK_CONNECTING,
    HF_ZK_CONNECTED,
    HF_ZK_EXPIRED /* its session has ended; or its login was refused */
};

struct hf_zk_op;
struct hf_zk_record;

/* A power of two: 10,000 entries of a session are found fast. */
#define HF_ZK_BUCKETS 4096

struct hf_zk_handle {
    struct hf_watch watch;
    struct hf_timer timer;
    struct hf_zk *zk;
    struct hf_zk_handle *next;
    zhandle_t *library; /* NULL: closed */
    bool is_main;
    bool is_watched; /* its descriptor is in the loop */
    bool wants_output;
    bool has_failed;   /* an attempt, or a connection: to be reported */
    bool ends_session; /* when the store is closed */
    bool is_over;      /* to be closed by its timer */
    ino_t socket;      /* of the descriptor: numbers are used again */
    enum hf_zk_life life;
    enum hf_zk_life told;      /* as the owner has dealt with it */
    unsigned failed;           /* attempts to connect since it was connected */
    struct hf_instant give_up; /* CONNECTING: when this attempt ends */
    struct hf_instant pause_until; /* each server has failed */
    struct hf_instant opened_at;   /* this attempt, or connection */
    struct hf_instant contact_at;  /* of the one that is not answered; else
                                      HF_NEVER */
    struct hf_instant touched;     /* the last contact */
    struct hf_zk_contacts contacts;
    struct hf_instant used; /* sessions: the last renewal, or OPEN */
    struct hf_span timeout; /* as negotiated */
    struct hf_zk_op *first_op, *last_op; /* under way */
    struct hf_zk_record *records[HF_ZK_BUCKETS];
    int64_t id;               /* of the session */
    char *node;               /* sessions: its own node */
    struct hf_zk_op *opening; /* sessions: OPEN */
    struct hf_span wanted;    /* the timeout that was asked for */
    char why[HF_TEXT_SENTENCE];
};

/** Begin to connect. @return NULL: no memory, or too many. */
struct hf_zk_handle *hf_zk_handle_new(struct hf_zk *zk, struct hf_span timeout,
                                      bool is_main, struct hf_instant now);

/** Close the library's handle: not from inside a callback of it. Its calls are
 * done, as LOST. @param ends_session  else only the descriptor is closed. */
void hf_zk_handle_free(struct hf_zk_handle *handle, bool ends_session);

/* The same in a forked child, which shares the loop with its parent. */
void hf_zk_handle_free_forked(struct hf_zk_handle *handle);

/* Requests were made: the loop writes the rest of them. */
static inline void hf_zk_handle_wake(struct hf_zk_handle *handle)
{
    hf_timer_set(&handle->timer, HF_LONG_AGO);
}

/* Read, write, connect, as is due. */
void hf_zk_handle_step(struct hf_zk_handle *handle, struct hf_instant now);

/* Its connection is of no use: the library takes the next server. */
void hf_zk_handle_break(struct hf_zk_handle *handle, const char *why);

/* Would a renewal count that is sent now? */
bool hf_zk_handle_may_renew(const struct hf_zk_handle *handle,
                            struct hf_instant now);

/* Did the server shorten the timeout? */
static inline bool hf_zk_handle_is_capped(const struct hf_zk_handle *handle)
{
    return handle->timeout.ns < handle->wanted.ns;
}

/** The handle of a session. @return NULL: it has ended. */
struct hf_zk_handle *hf_zk_handle_of(struct hf_zk *zk,
                                     const uint8_t session[HF_SESSION_ID_LEN]);

/* ---- op.c: a call, as requests that follow each other -------------------- */

/* An entry that this session has, or may have. */
struct hf_zk_record {
    struct hf_zk_record *next;
    char *folder;
    char *text;      /* its name without the sequence */
    char *node;      /* its name; NULL: not known yet */
    uint64_t number; /* if that is known */
    bool is_unsure;  /* a create, or a remove, is not answered */
    bool was_lost;   /* a create was lost: it may come as long as the session
                        lives */
};

struct hf_zk_item {
    struct hf_zk_op *op;
    char *node; /* its name */
    char *copy; /* unescaped: the entry has parts of it */
    uint32_t sequence;
    bool is_gone;
    bool is_own; /* it has the name of this op's entry */
    int32_t version;
    char *note; /* its data; NULL: none */
    size_t note_len;
};

/* One of the entries of a READ, an OWNED or a SCAN. */
struct hf_zk_want {
    struct hf_zk_op *op;
    char *folder, *text;
    char *copy, *name; /* unescaped */
    uint64_t number;   /* 0: it is not there */
    uint64_t czxid;    /* READ */
    size_t name_len;
    bool is_mark; /* SCAN: the node of a mark, not a container */
    char *note;
    size_t note_len;
};

/* The next step of an operation, in the thread that dispatches the loop. Its
 * requests, if it had any, have all ended, the first error of them in `rc`. It
 * makes the next requests, or finishes the operation. */
typedef void hf_zk_step_fn(struct hf_zk_op *op, struct hf_instant now);

struct hf_zk_op {
    struct hf_zk_op *next, *before; /* of its handle */
    struct hf_zk_handle *handle;    /* NULL: it has ended */
    struct hf_zk *zk;
    struct hf_wire_call *call; /* NULL: none waits */
    hf_zk_step_fn *step;       /* when no request is under way */
    unsigned pending;          /* requests under way */
    int rc;                    /* the first error of these */
    bool has_failed;           /* no memory */
    bool may_be_done;          /* something was asked for that changes the
                                  store */
    struct hf_instant asked;   /* the last request */
    struct hf_wire_reply reply;
    char why[HF_TEXT_SENTENCE];
    char *folder; /* the container's path */
    char *text;   /* the entry's name, without its sequence */
    /* the list */
    bool has_folder;
    int64_t czxid, pzxid;
    struct hf_zk_item *items;
    size_t n_items;
    struct hf_wire_entry *entries; /* of the reply */
    int64_t ttl_ms;                /* OPEN: that was asked for */
    /* CREATE, REMOVE */
    enum hf_wire_when when;
    enum hf_mode mode;
    uint16_t permits;
    int create_rc, remove_rc;
    unsigned rounds;
    bool has_note;
    bool is_create;
    bool is_withdrawn; /* CREATE: a REMOVE came after it: create nothing */
    bool is_alone;     /* EXAMINE: its server is of no ensemble */
    bool is_last;      /* CREATE: its own entry has the last sequence */
    hf_zk_step_fn *after_folder;
    unsigned made_rounds;
    size_t made_at; /* of the container's path: the part being created */
    /* READ, OWNED, SCAN */
    struct hf_zk_want *wants;
    size_t n_wants;
    bool has_more;
    bool marks_only; /* SCAN */
    /* MARK_READ, VALUE_READ */
    char *mark; /* NULL: there is none */
    size_t mark_len;
    zoo_op_result_t results[3]; /* of a transaction */
    struct Stat clock;
};

/** @return NULL: no memory. */
struct hf_zk_op *hf_zk_op_new(struct hf_zk_handle *handle,
                              struct hf_wire_call *call, struct hf_instant now);

/** The op of a call in a session. @return NULL: no memory, or not connected; or
 * the session has ended, and the call is done from the loop, as GONE.
 * @param is_over  whether that is so. */
struct hf_zk_op *hf_zk_op_of(struct hf_zk *zk, const uint8_t *session,
                             struct hf_wire_call *call, bool *is_over,
                             struct hf_instant now);

/** Count a request that was made. @param rc  of the library's function.
 * @return true: accepted. */
bool hf_zk_op_asked(struct hf_zk_op *op, int rc);

/* A request was answered; when it was the last one, the next step follows. */
void hf_zk_op_answered(struct hf_zk_op *op, int rc);

/** The requests of a call were made. @return false: none was, and it is freed.
 */
bool hf_zk_op_begin(struct hf_zk_op *op, hf_zk_step_fn *step);

/* Further requests were made, from inside of a callback; if none was, the next
 * step follows at once. */
void hf_zk_op_await(struct hf_zk_op *op, hf_zk_step_fn *step,
                    struct hf_instant now);

/* Reply, and free it. */
void hf_zk_op_done(struct hf_zk_op *op, struct hf_instant now);

/* The same, for an error of the library. */
void hf_zk_op_fail(struct hf_zk_op *op, int rc, struct hf_instant now);

/** @return a constant; of an error of the library. */
const char *hf_zk_op_reason(int rc);

/* Of a server since 3.7; the library has no name for it. */
#define HF_ZK_QUOTA_EXCEEDED (-125)

void hf_zk_op_fail_memory(struct hf_zk_op *op, struct hf_instant now);

/** A call that needs no request: done from the loop. @return false: no memory.
 */
bool hf_zk_op_over(struct hf_zk *zk, struct hf_wire_call *call,
                   enum hf_wire_outcome outcome, struct hf_instant now);

/** A call that is refused: done from the loop, as an ERROR.
 * @param reason  a constant. */
bool hf_zk_op_refuse(struct hf_zk *zk, struct hf_wire_call *call,
                     const char *reason, struct hf_instant now);

/* Free it, without a reply: the store closes. */
void hf_zk_op_free(struct hf_zk_op *op);

/* Answers that have nothing but an error. */
void hf_zk_on_void(int rc, const void *data);
void hf_zk_on_stat(int rc, const struct Stat *stat, const void *data);

/* The data of a mark, or of a value; none if its node does not exist. */
void hf_zk_on_data(int rc, const char *value, int len, const struct Stat *stat,
                   const void *data);

/** Put it into the reply. @return false: it could not be read, and the op has
 * failed. */
bool hf_zk_op_take_data(struct hf_zk_op *op, struct hf_instant now);

/* The versions of a value. */
void hf_zk_op_take_stat(struct hf_zk_op *op, const struct Stat *stat);

const struct ACL_vector *hf_zk_acl(const struct hf_zk *zk);

/* ---- Records: op.c ------------------------------------------------------- */

struct hf_zk_record *hf_zk_record_find(struct hf_zk_handle *handle,
                                       const char *folder, const char *text);

/** The record, made if there is none. @return NULL: no memory. */
struct hf_zk_record *hf_zk_record_need(struct hf_zk_handle *handle,
                                       const char *folder, const char *text);

/* Its entry is gone. It stays on record if a lost create may yet make it. */
void hf_zk_record_drop(struct hf_zk_handle *handle, const char *folder,
                       const char *text);
void hf_zk_records_free(struct hf_zk_handle *handle);

/* ---- list.c -------------------------------------------------------------- */

/** Ask for the items of the op, in order of their sequences.
 * @param is_synced  after a sync with the leader. */
void hf_zk_list(struct hf_zk_op *op, bool is_synced);

/* A list is there: read the notes of those that hold, then `then`. */
void hf_zk_list_notes(struct hf_zk_op *op, hf_zk_step_fn *then,
                      struct hf_instant now);

/* The step after hf_zk_list(): read the notes, then reply with the entries. */
void hf_zk_list_reply_with_notes(struct hf_zk_op *op, struct hf_instant now);

/** The op's own entry. @return NULL: it is not listed. */
struct hf_zk_item *hf_zk_list_own(struct hf_zk_op *op);

/** May it hold beside all entries before it? */
bool hf_zk_list_may_hold(struct hf_zk_op *op, enum hf_mode mode,
                         uint16_t permits);

/* Reply with the items as entries. */
void hf_zk_list_reply(struct hf_zk_op *op, struct hf_instant now);
void hf_zk_list_reset(struct hf_zk_op *op);

bool hf_zk_call_list(struct hf_wire *wire, struct hf_bytes name,
                     struct hf_wire_call *call, struct hf_instant now);

/* ---- session.c, create.c, change.c, scan.c ------------------------------- */

bool hf_zk_call_open(struct hf_wire *wire, int64_t ttl_s,
                     struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_renew(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_close(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_owned(struct hf_wire *wire, const uint8_t *session,
                      struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_create(struct hf_wire *wire, const struct hf_wire_key *key,
                       enum hf_wire_when when, uint64_t revision,
                       struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_read(struct hf_wire *wire, const struct hf_wire_key *keys,
                     size_t n, struct hf_wire_call *call,
                     struct hf_instant now);
bool hf_zk_call_replace(struct hf_wire *wire,
                        const struct hf_wire_change *change,
                        struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_remove(struct hf_wire *wire, const struct hf_wire_key *key,
                       struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_scan(struct hf_wire *wire, struct hf_bytes from,
                     struct hf_wire_call *call, struct hf_instant now);

/* The names of all marks. */
bool hf_zk_call_marks(struct hf_wire *wire, struct hf_wire_call *call,
                      struct hf_instant now);

/** Has nothing renewed it for long? */
bool hf_zk_session_is_unused(const struct hf_zk_handle *handle,
                             struct hf_instant now);

/* A session's handle has connected, or cannot: go on with its OPEN. It may be
 * freed. */
void hf_zk_session_changed(struct hf_zk_handle *handle, struct hf_instant now);

/** Create the container of op->folder, and the nodes above it; then
 * op->after_folder. */
void hf_zk_create_folder(struct hf_zk_op *op, struct hf_instant now);

/* ---- value.c ------------------------------------------------------------- */

bool hf_zk_call_value_read(struct hf_wire *wire, struct hf_bytes name,
                           struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_value_write(struct hf_wire *wire,
                            const struct hf_wire_mark *value,
                            struct hf_wire_call *call, struct hf_instant now);

/* ---- mark.c -------------------------------------------------------------- */

/** Cut the ending off the name of a mark's node. @return false: it is none. */
bool hf_zk_mark_cut(char *text);

bool hf_zk_call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                          struct hf_wire_call *call, struct hf_instant now);
bool hf_zk_call_mark_write(struct hf_wire *wire,
                           const struct hf_wire_mark *mark,
                           struct hf_wire_call *call, struct hf_instant now);

/* ---- watch.c ------------------------------------------------------------- */

struct hf_zk_watch {
    struct hf_zk_watch *next;
    struct hf_zk *zk;
    void *user;
    char *path;          /* of the container, or of the one node */
    uint64_t number;     /* of that; 0: of the container */
    uint64_t revision;   /* of the last list */
    uint32_t *sequences; /* sorted; of that list */
    size_t n_sequences;
    bool has_list;
    bool is_dropped; /* unwatched: freed when the library has let go of it */
    bool is_failed;  /* to be reported from the loop */
    bool is_set;     /* the library will call its watcher */
    unsigned asking; /* lists under way */
    bool must_ask;   /* once more, when that is there */
    int64_t czxid;   /* of the container of that list */
};

bool hf_zk_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                 void *user, struct hf_instant now, struct hf_wire_watch **out);
void hf_zk_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch);

/* The main session has ended: its handle is freed next. */
void hf_zk_watches_fail(struct hf_zk *zk);

/* From the loop: report those that have failed. */
void hf_zk_watches_tell(struct hf_zk *zk, struct hf_instant now);
void hf_zk_watches_free(struct hf_zk *zk, bool all);

/* ---- The store ----------------------------------------------------------- */

enum hf_zk_phase {
    HF_ZK_RESOLVING,
    HF_ZK_OPENING, /* the main handle connects */
    HF_ZK_READY,
    HF_ZK_FOREIGN /* another ensemble: for good */
};

struct hf_zk {
    struct hf_ordered ordered; /* first */
    struct hf_timer timer;     /* work that is not done inside callbacks */
    struct hf_instant now;     /* of the event that the loop reports: the
                                  library's callbacks do not get it */
    enum hf_zk_phase phase;
    struct hf_wire_host servers[HF_WIRE_HOSTS_MAX];
    struct hf_addresses addresses[HF_WIRE_HOSTS_MAX]; /* of each */
    unsigned n_servers;
    struct hf_resolve *resolve; /* of the server `resolving`; NULL: none */
    struct hf_watch resolve_watch;
    unsigned resolving;
    struct hf_instant retry_at;
    char *hosts; /* numeric, for the library; NULL: not known yet */
    unsigned n_addresses;
    char *chroot; /* "/a/b", or "" */
    char *base;   /* CHROOT/PREFIX: the beginning of the path of each name */
    struct hf_wire_login url_login;
    char *login; /* "USER:PASSWORD"; NULL: none */
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    struct hf_zk_handle *main; /* NULL: none; else the first of `handles` too */
    struct hf_zk_handle *handles;
    struct hf_zk_op *over; /* done from the loop, as GONE, by their `call` */
    struct hf_zk_watch *watches;
    int64_t newest; /* the greatest zxid seen */
    bool is_closing;
    char why[HF_TEXT_REASON];
    char *position;    /* of the next page of a SCAN */
    zoo_op_t probe[2]; /* of EXAMINE */
    zoo_op_result_t probed[2];
};

static inline struct hf_zk *hf_zk_of_wire(struct hf_wire *wire)
{
    return (struct hf_zk *)(void *)wire;
}

extern const struct hf_wire_ops hf_zk_wire;
extern const struct hf_store_ops hf_store_zookeeper;

/* ---- target.c ------------------------------------------------------------ */

enum hf_status hf_zk_target_read(struct hf_zk *zk, const struct hf_url *url,
                                 struct hf_error *error);
void hf_zk_target_fini(struct hf_zk *zk);

/* The login of the next handle, of the URL or of the program, in `login`. */
void hf_zk_target_login(struct hf_zk *zk);

/** The numeric addresses of all servers, for the library, in `hosts`.
 * @return false: no memory. */
bool hf_zk_target_list(struct hf_zk *zk);

/* ---- node.c -------------------------------------------------------------- */

void hf_zk_node_open(struct hf_zk *zk, struct hf_instant now);
void hf_zk_node_close(struct hf_zk *zk, bool forked);
void hf_zk_node_resume(struct hf_zk *zk, struct hf_instant now);

/* The life of a handle has changed, or an attempt to connect has failed. From
 * its timer: nothing of the library is on the stack. */
void hf_zk_node_changed(struct hf_zk_handle *handle, struct hf_instant now);

/* A zxid was seen. */
static inline void hf_zk_note_zxid(struct hf_zk *zk, int64_t zxid)
{
    zk->newest = zxid > zk->newest ? zxid : zk->newest;
}

/** The zxid of a write. @param before  the greatest that was seen when it was
 * asked for. @return false: it went backwards. */
bool hf_zk_node_check_zxid(struct hf_zk *zk, int64_t before, int64_t zxid,
                           struct hf_instant now);

/* Connected, and usable for calls. */
static inline bool hf_zk_is_ready(const struct hf_zk *zk)
{
    return zk->phase == HF_ZK_READY && zk->main != NULL &&
           zk->main->life == HF_ZK_CONNECTED;
}

/* ---- examine.c ----------------------------------------------------------- */

void hf_zk_examine(struct hf_zk *zk, struct hf_instant now);

#endif
