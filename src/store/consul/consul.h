/* SPDX-License-Identifier: Apache-2.0 */
/* Consul, by its HTTP API: a wire of store/ordered, on endpoints in turn
 * (store/endpoints).
 *
 * A session is a Consul session (Behavior=delete, no lock delay, no checks), an
 * entry a key that it has locked, its number the key's CreateIndex:
 *
 *     PREFIX NAME / SESSION-MODE TTL-OWNER
 *     lock:nightly/b20e3b52-9ddc-4a9d-0447-3d86739ec2ca-x30-9f…
 *
 * A key stays as long as its entry, and so does its CreateIndex. It may be
 * unlocked and locked by another session in one transaction; its value then has
 * the ttl of that, and the note. A key without a session is no entry.
 *
 * `consul lock NAME` writes NAME/.lock, and holds by that key alone. Here it is
 * an exclusive entry of "consul-lock:SESSION", in order of its ModifyIndex:
 * ours wait for it, and it does not wait for ours.
 *
 * The mark of a name is a key beside its folder, which no session has locked:
 *
 *     PREFIX NAME ~once             lock:nightly~once
 *
 *     target.c    the URL
 *     token.c     where the token comes from
 *     key.c       names, owners and sessions as keys
 *     key_list.c  lists of keys as entries
 *     calls.c     calls to jobs, and their first requests
 *     mark.c      marks: calls, requests and replies
 *     requests.c  paths and bodies
 *     replies.c   replies to jobs, and their next requests
 *     read_keys.c those of a READ
 *     refusals.c  replies that are refusals
 *     doubts.c    keys that an UNDO may still delete
 *     node.c      the handshake, how another cluster is known
 *     watch.c     watches
 *     examine.c   findings of `holdfast doctor`
 *     store.c     the entry points for the client; the table of operations */
#ifndef HF_CONSUL_CONSUL_H
#define HF_CONSUL_CONSUL_H

#include "store/endpoints/endpoints.h"
#include "store/ordered/wire_text.h"

/* A session's id as a text, without its NUL. */
#define HF_CONSUL_SESSION_LEN 36

/* Seconds: no session of Consul has a shorter ttl, unless its setting
 * session_ttl_min is lowered. */
#define HF_CONSUL_TTL_S_MIN 10

/* The most operations in one transaction of Consul. */
#define HF_CONSUL_OPERATIONS_MAX 64

struct json_t;

/* ---- key.c --------------------------------------------------------------- */

/* The escape is injective. It leaves no '/' in a name, no byte that a path
 * would escape, and no name that begins with a dot. */
void hf_consul_key_folder(struct hf_wire_text *text, const char *prefix,
                          struct hf_bytes name);

/* "PREFIX NAME/SESSION-…": the key of an entry, as it was created. */
void hf_consul_key_entry(struct hf_wire_text *text, const char *prefix,
                         const struct hf_wire_key *key);

/* A prefix, as keys begin: '/' stays. */
void hf_consul_key_prefix(struct hf_wire_text *text, const char *prefix);

/** Read the part of a key after its folder: ours, or any other text, which is
 * an exclusive entry. Unescapes in place. */
void hf_consul_key_read(char *rest, size_t len, struct hf_wire_entry *out);

/** Unescape a name in place. @return the length; SIZE_MAX: it is not written as
 * ours are, and may have changed. */
size_t hf_consul_name_read(char *name, size_t len);

/* A session as Consul writes it, with a NUL. */
void hf_consul_session_show(const uint8_t session[HF_SESSION_ID_LEN],
                            char out[HF_CONSUL_SESSION_LEN + 1]);

/** @param text  HF_CONSUL_SESSION_LEN bytes. @return false: it is none. */
bool hf_consul_session_read(const char *text, uint8_t out[HF_SESSION_ID_LEN]);

/* ---- key_list.c ---------------------------------------------------------- */

struct hf_consul_list {
    struct hf_wire_entry *entries;
    size_t n;
    size_t entries_cap;
    char *arena; /* their texts */
    size_t arena_cap;
    size_t arena_len;
};

/* Free the list; its entries and their texts are in it. */
void hf_consul_list_fini(struct hf_consul_list *list);

/** Begin a list of at most `n` keys from a body of `body_len` bytes.
 * @return false: no memory. */
bool hf_consul_list_begin(struct hf_consul_list *list, size_t n,
                          size_t body_len);

/** Add a key, with its name, if it has a session. @param prefix  as keys begin.
 * @return false: it is none of Consul's. */
bool hf_consul_list_add(struct hf_consul_list *list, const char *prefix,
                        const struct json_t *kv);

/** The names of an array of keys and folders, each once in each of both.
 * @param marks_only  of marks alone. @return false: no memory. */
bool hf_consul_list_names(struct hf_consul_list *list, const char *prefix,
                          const struct json_t *keys, bool marks_only,
                          size_t body_len);

/** All keys of an array. @param is_wrapped  as {"KV":{…}}, of a transaction.
 * @param from  the first of them. @return false: it is no list of keys, or no
 * memory. */
bool hf_consul_list_read(struct hf_consul_list *list, const char *prefix,
                         const struct json_t *array, size_t from,
                         bool is_wrapped, size_t body_len);

/** The session and the value of one key, into the entry of an own one.
 * @param room  for its value, which is borrowed. @return false: it has no
 * session. */
bool hf_consul_state_read(const struct json_t *kv, char *room,
                          struct hf_wire_entry *out);

/** The body of a reply, whatever keys of other programs are in it.
 * @return NULL: it is no JSON. */
struct json_t *hf_consul_json(const struct hf_http_reply *http);

/** @return the number of this name in an object; 0 if it is negative, above
 * HF_FENCE_MAX, no whole one, or not there. */
uint64_t hf_consul_number(const struct json_t *object, const char *name);

/* ---- The store ----------------------------------------------------------- */

/* The call of hf_consul_wire that a job carries out. */
enum hf_consul_job_kind {
    HF_CONSUL_OPEN,
    HF_CONSUL_RENEW,
    HF_CONSUL_CLOSE,
    HF_CONSUL_OWNED,
    HF_CONSUL_CREATE,
    HF_CONSUL_LIST,
    HF_CONSUL_READ,
    HF_CONSUL_REPLACE,
    HF_CONSUL_SCAN,
    HF_CONSUL_REMOVE,
    HF_CONSUL_MARK_READ,
    HF_CONSUL_MARK_WRITE,
    HF_CONSUL_MARKS,
    HF_CONSUL_VALUE_READ,
    HF_CONSUL_VALUE_WRITE
};

/* Requests. A job has one, or several. */
enum hf_consul_step {
    HF_CONSUL_ASK_LEADER, /* the handshake: no job */
    HF_CONSUL_ASK_SELF,   /* EXAMINE: no job */
    HF_CONSUL_ASK_PROBE,  /* the same */
    HF_CONSUL_ASK_PROBE_SESSION,
    HF_CONSUL_ASK_PROBE_VALUES,
    HF_CONSUL_ASK_OPEN,
    HF_CONSUL_ASK_INFO,
    HF_CONSUL_ASK_RENEW,
    HF_CONSUL_ASK_CLOSE,
    HF_CONSUL_ASK_LIST,
    HF_CONSUL_ASK_OWNED,
    HF_CONSUL_ASK_CREATE,
    HF_CONSUL_ASK_UNDO,
    HF_CONSUL_ASK_READ,
    HF_CONSUL_ASK_REPLACE,
    HF_CONSUL_ASK_SCAN,
    HF_CONSUL_ASK_REMOVE,
    HF_CONSUL_ASK_MARK,
    HF_CONSUL_ASK_MARK_WRITE
};

/* A call under way. */
struct hf_consul_job {
    struct hf_consul_job *next, *before;
    struct hf_wire_call *call; /* NULL: nothing waits for it */
    enum hf_consul_job_kind kind;
    unsigned pending;       /* requests without a reply */
    enum hf_wire_when when; /* CREATE */
    uint64_t newest;        /* the same: the newest index before it */
    bool is_withdrawn;      /* the same: a REMOVE of its key came after it */
    bool has_created;       /* the same: a failure leaves its key */
    uint64_t version;       /* the same: of the key that is undone */
    bool is_before;         /* the same: a list precedes it */
    bool has_session;       /* RENEW: as was read before it */
    bool is_refused;        /* the same: the leader knows no such session */
    struct hf_wire_reply reply;         /* as far as it is known */
    uint8_t session[HF_SESSION_ID_LEN]; /* OWNED, CREATE */
    struct hf_wire_text folder;         /* CREATE, LIST */
    struct hf_wire_text keys;           /* CREATE, REMOVE: one; READ: `n`, each
                                           with a NUL */
    size_t n;
    size_t at;                     /* READ: the first that was not read */
    struct hf_wire_entry *entries; /* READ: `n`; until the end `version` is
                                      where the note is in `notes` */
    struct hf_wire_text notes;     /* of these */
};

/* A key that an UNDO may delete: it is under way, or was lost. */
struct hf_consul_doubt {
    struct hf_consul_doubt *next;
    size_t len;
    char key[];
};

struct hf_consul_watch {
    struct hf_endpoints_watch base; /* first */
    uint64_t index;  /* of the last reply, or of the list before the watch */
    uint64_t number; /* of the one entry; 0: of all of the name */
    struct hf_wire_text folder; /* its key, or the folder of the name */
    struct hf_wire_text path;   /* of the request */
    uint64_t *known;            /* numbers of the last list */
    size_t n_known, known_cap;
    bool has_known;
};

struct hf_consul {
    struct hf_endpoints node; /* first */
    struct hf_consul_job *list_of_jobs;
    struct hf_consul_doubt *doubts;
    const struct hf_consul_job *delivering; /* its reply is being delivered */
    char *token;                /* NULL: none, or the program supplies it */
    char *headers;              /* of each request; NULL: no token */
    char *datacenter;           /* NULL: the agent's */
    int64_t ttl_min_s;          /* of sessions */
    char *prefix;               /* as keys begin */
    uint64_t newest;            /* the greatest index that a leader has shown */
    struct hf_wire_text path;   /* of the request that is being written */
    struct hf_wire_text body;   /* the same */
    struct hf_consul_list list; /* of the reply that is being read */
    struct hf_consul_list heard; /* the same, of watches */
    char leader[HF_TEXT_PHRASE]; /* as the endpoint in use names it, for a tour
                                  */
    char shown[HF_TEXT_REASON];  /* the agent, as EXAMINE has found it */
    int64_t shown_min_ms; /* the same: its shortest session; 0: unknown */
    bool is_client;       /* the agent is no server */
};

/* The store's struct, which begins with @p node. */
static inline struct hf_consul *hf_consul_of(struct hf_endpoints *node)
{
    return (struct hf_consul *)(void *)node;
}

/* The store's struct, which store/ordered passes back as the wire. */
static inline struct hf_consul *hf_consul_of_wire(struct hf_wire *wire)
{
    return (struct hf_consul *)(void *)wire;
}

/* ---- target.c, token.c --------------------------------------------------- */

/** Read the URL. hf_consul_target_fini() frees what it leaves, also if it
 * fails. @return as open(). */
enum hf_status hf_consul_target_read(struct hf_consul *consul,
                                     const struct hf_url *url,
                                     struct hf_error *error);

/* Free what was read, and erase the token. */
void hf_consul_target_fini(struct hf_consul *consul);

/* The scheme of URLs without TLS, for messages; with it an 's' follows. */
#define HF_CONSUL_SCHEME "consul"

/** Of the URL, a file, or the environment. @param of_url  NULL: none there. */
enum hf_status hf_consul_token_find(struct hf_consul *consul,
                                    const struct hf_url *url,
                                    const char *of_url, const char *file,
                                    struct hf_error *error);

/** Before the first request of a connection. @return false: see `why`. */
bool hf_consul_token_use(struct hf_consul *consul, enum hf_status *fault);

/* ---- calls.c ------------------------------------------------------------- */

/* The calls of store/ordered, as wire.h says of each. */
extern const struct hf_wire_ops hf_consul_wire;

/** @return NULL: no memory. */
struct hf_consul_job *hf_consul_job_new(struct hf_consul *consul,
                                        enum hf_consul_job_kind kind,
                                        struct hf_wire_call *call);

/* Take the job out of the list and free it. Its call is done already, or the
 * store closes. */
void hf_consul_job_free(struct hf_consul *consul, struct hf_consul_job *job);

/** @return true: it is under way; else it is freed. */
bool hf_consul_job_start(struct hf_consul *consul, struct hf_consul_job *job,
                         bool is_asked);

/* The beginning of the keys of values, before the prefix. */
#define HF_CONSUL_VALUE_ROOT "~value/"

/* ---- mark.c -------------------------------------------------------------- */

/** "PREFIX NAME~once" without the prefix: the length of NAME, as it is escaped.
 * @return 0: it is no mark's key. */
size_t hf_consul_mark_name(const char *key, size_t len);

/* Of hf_consul_wire, as wire.h says of each. */
hf_wire_mark_read_fn hf_consul_call_mark_read;
hf_wire_mark_write_fn hf_consul_call_mark_write;
hf_wire_mark_read_fn hf_consul_call_value_read;
hf_wire_mark_write_fn hf_consul_call_value_write;
hf_wire_marks_fn hf_consul_call_marks;

/** The reply to ASK_MARK. @param body  of status 404: anything.
 * @return false: it cannot be read. */
bool hf_consul_mark_take(struct hf_consul *consul, struct hf_consul_job *job,
                         const struct json_t *body,
                         const struct hf_http_reply *http);

/* ---- requests.c ---------------------------------------------------------- */

/** Send a request with the store's path and body. @return false: not
 * READY, or no memory. */
bool hf_consul_ask(struct hf_consul *consul, enum hf_consul_step step,
                   const char *method, struct hf_consul_job *job,
                   struct hf_instant now);

/* A transaction: begun, its operations each with the text after the key, and
 * asked for. */
void hf_consul_txn_begin(struct hf_consul *consul, const char *query);

/** Begin an operation of the transaction. @param verb  as Consul names it. */
void hf_consul_txn_add(struct hf_consul *consul, const char *verb,
                       struct hf_bytes key);

/* The index that the operation compares the key's with; right after
 * hf_consul_txn_add(). */
void hf_consul_txn_index(struct hf_consul *consul, uint64_t index);

/* The value that the operation writes. */
void hf_consul_txn_value(struct hf_consul *consul, struct hf_bytes value);
void hf_consul_txn_end(struct hf_consul *consul); /* of an operation */

/** Send the transaction, which has an operation at least. @return false: not
 * READY, or no memory. */
bool hf_consul_txn_ask(struct hf_consul *consul, enum hf_consul_step step,
                       struct hf_consul_job *job, struct hf_instant now);

/* "/v1/" and more; the query is begun with '?'. */
struct hf_wire_text *hf_consul_path(struct hf_consul *consul, const char *path);

/** Append a query; of all requests: the datacenter. */
void hf_consul_path_query(const struct hf_consul *consul,
                          struct hf_wire_text *path, const char *query);

/** Ask which server is the leader: the handshake. */
bool hf_consul_ask_leader(struct hf_consul *consul, struct hf_instant now);

/** @param step  OPEN or PROBE_SESSION. */
bool hf_consul_ask_open(struct hf_consul *consul, enum hf_consul_step step,
                        struct hf_consul_job *job, int64_t ttl_s,
                        struct hf_instant now);

/* INFO, RENEW, CLOSE. */
bool hf_consul_ask_session(struct hf_consul *consul, enum hf_consul_step step,
                           const uint8_t *session, struct hf_consul_job *job,
                           struct hf_instant now);

/* The keys of the job's folder, from the leader. */
bool hf_consul_ask_list(struct hf_consul *consul, struct hf_consul_job *job,
                        struct hf_instant now);

/* OWNED, SCAN, MARKS: all keys. */
bool hf_consul_ask_all(struct hf_consul *consul, enum hf_consul_step step,
                       struct hf_consul_job *job, struct hf_instant now);

/* Lock the job's key, if it does not exist, and list its folder, in one
 * transaction. */
bool hf_consul_ask_create(struct hf_consul *consul, struct hf_consul_job *job,
                          struct hf_instant now);

/* The key, if it has still the job's version. */
bool hf_consul_ask_undo(struct hf_consul *consul, struct hf_consul_job *job,
                        struct hf_instant now);

/** @param under  NULL: whatever session it is under. */
bool hf_consul_ask_remove(struct hf_consul *consul, const uint8_t *under,
                          struct hf_consul_job *job, struct hf_instant now);

/** The keys from `from` on, as many as one transaction has. */
bool hf_consul_ask_read(struct hf_consul *consul, struct hf_consul_job *job,
                        size_t from, struct hf_instant now);

/* Change or delete the job's key, if it has the version still. */
bool hf_consul_ask_replace(struct hf_consul *consul, struct hf_consul_job *job,
                           const struct hf_wire_change *change,
                           struct hf_instant now);

/* ---- doubts.c ------------------------------------------------------------ */

/** The job's UNDO is about to be asked for. @return false: no memory. */
bool hf_consul_doubt_add(struct hf_consul *consul,
                         const struct hf_consul_job *job);

/* It was executed, or never will be. */
void hf_consul_doubt_remove(struct hf_consul *consul,
                            const struct hf_consul_job *job);

/** May an UNDO still delete the job's key? */
bool hf_consul_doubt_has(const struct hf_consul *consul,
                         const struct hf_consul_job *job);

/* Free all: the store closes. */
void hf_consul_doubts_free(struct hf_consul *consul);

/* ---- replies.c, refusals.c ----------------------------------------------- */

/* A status that the step does not expect: ERROR or LOST, explained in `why`. */
void hf_consul_refused(struct hf_consul *consul,
                       const struct hf_http_reply *http,
                       struct hf_wire_reply *reply);

/** The same, for want of rights. @param what  in Consul's words. */
void hf_consul_denied(struct hf_consul *consul, const char *what,
                      struct hf_wire_reply *reply);

/* Read the reply to a request, and say that its job is done when it is. */
void hf_consul_take(struct hf_consul *consul,
                    const struct hf_http_pending *request,
                    const struct hf_http_reply *http, struct hf_instant now);

/* The request has no reply. */
void hf_consul_take_lost(struct hf_consul *consul,
                         const struct hf_http_pending *request, bool is_unsent,
                         struct hf_instant now);

/** The index of a reply, from its header; 0: none. */
uint64_t hf_consul_index(const struct hf_http_reply *http);

/* ---- read_keys.c --------------------------------------------------------- */

/** The reply to a request of a READ; the next one is sent.
 * @return false: it cannot be read, or no memory. */
bool hf_consul_read_take(struct hf_consul *consul, struct hf_consul_job *job,
                         const struct json_t *body, size_t body_len,
                         struct hf_instant now);

/* All are read: the texts of notes stay where they are from now on. */
void hf_consul_read_end(struct hf_consul_job *job);

/* ---- node.c -------------------------------------------------------------- */

/* Of each connection, also of a watch's. */
extern const struct hf_http_limits hf_consul_limits;

/* What store/endpoints asks of this store: to log in, to read replies. */
extern const struct hf_endpoints_ops hf_consul_endpoints;

/** The reply to the handshake. @param body  NULL: it failed with @p fault, as
 * said in `why`. */
void hf_consul_node_greeted(struct hf_consul *consul, const struct json_t *body,
                            enum hf_status fault, struct hf_instant now);

/* Its numbers have gone backwards: it is another cluster, and all is lost. */
void hf_consul_node_foreign(struct hf_consul *consul, uint64_t number,
                            uint64_t newest, struct hf_instant now);

/* ---- watch.c ------------------------------------------------------------- */

/* Of hf_consul_wire, and of hf_consul_endpoints. */
hf_wire_watch_fn hf_consul_watch;
hf_endpoints_watch_fn hf_consul_watch_fini;

/* ---- examine.c ----------------------------------------------------------- */

/* The node is READY: report its version, and end the jobs. */
void hf_consul_examine(struct hf_consul *consul, struct hf_instant now);

/* The reply to a request of that. */
void hf_consul_examined(struct hf_consul *consul, enum hf_consul_step step,
                        const struct json_t *body,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now);

/* Of hf_consul_endpoints: examine the other endpoints. */
hf_endpoints_visit_fn hf_consul_visit;
hf_endpoints_judge_fn hf_consul_judge;

/* ---- store.c ------------------------------------------------------------- */

/* The operations for the client, as store.h says of each. */
extern const struct hf_store_ops hf_store_consul;

/* Of hf_consul_endpoints, as endpoints.h says of each. */
hf_endpoints_set_up_fn hf_consul_set_up;
hf_endpoints_fini_fn hf_consul_fini;

#endif
