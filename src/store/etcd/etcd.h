/* SPDX-License-Identifier: Apache-2.0 */
/* etcd, by the JSON gateway of its v3 API: a wire of store/ordered, on
 * endpoints in turn (store/endpoints). A login comes before the handshake, and
 * again when its token has expired.
 *
 * A session is a lease, an entry a key of that lease, its number the key's
 * create_revision:
 *
 *     PREFIX NAME / LEASE-MODE TTL-OWNER lock:nightly/694d7f1c2a3b4c05-x30-9f…
 *
 * A key stays as long as its entry, and so does its create_revision. If it is
 * put again, its lease may be another one, and its value has the ttl of that,
 * and the note.
 *
 * The mark of a name is a key beside its folder, of a lease of its own; its
 * value is another one, of no lease:
 *
 *     PREFIX NAME #once             lock:nightly#once
 *     PREFIX NAME #value            lock:nightly#value
 *
 * `etcdctl lock` and concurrency.Mutex of Go write NAME/LEASE and hold in order
 * of create_revision, so each excludes the other. Theirs are exclusive entries.
 *
 *     target.c   the URL
 *     key.c      names and owners as keys
 *     login.c    user and password to a token, and to another one
 *     calls.c    calls to requests
 *     replies.c  replies to calls
 *     refusals.c replies that are refusals
 *     node.c     the handshake, how another cluster is known
 *     watch.c    watches
 *     examine.c  findings of `holdfast doctor`
 *     store.c    the entry points for the client; the table of operations */
#ifndef HF_ETCD_ETCD_H
#define HF_ETCD_ETCD_H

#include "store/endpoints/endpoints.h"
#include "store/ordered/wire_text.h"

/* ---- key.c --------------------------------------------------------------- */

/* "PREFIX NAME/". The escape is injective, and leaves no '/' in a name, so that
 * no name's keys are below another name. */
void hf_etcd_key_folder(struct hf_wire_text *text, const char *prefix,
                        struct hf_bytes name);

/* "PREFIX NAME/SESSION" and the rest: the key of an entry, as it was created.
 */
void hf_etcd_key_entry(struct hf_wire_text *text, const char *prefix,
                       const struct hf_wire_key *key);

/* "PREFIX NAME#once": the key of its mark, which is in no folder. */
void hf_etcd_key_mark(struct hf_wire_text *text, const char *prefix,
                      struct hf_bytes name);

/* "PREFIX NAME#value": the key of its value, which is in no folder either. */
void hf_etcd_key_value(struct hf_wire_text *text, const char *prefix,
                       struct hf_bytes name);

/** Read the part of a key after its folder: ours, or any other text, which is
 * an exclusive entry. Unescapes in place. */
void hf_etcd_key_read(char *rest, size_t len, struct hf_wire_entry *out);

/** Cut a whole key. @return false: it is not below the prefix, or its name is
 * not written as ours are: no lock of Holdfast's is there. */
bool hf_etcd_key_cut(const char *prefix, char *key, size_t len,
                     struct hf_wire_entry *out);

/** The same for the key of a mark, of which only the name is read. */
bool hf_etcd_key_cut_mark(const char *prefix, char *key, size_t len,
                          struct hf_wire_entry *out);

/* ---- The store ----------------------------------------------------------- */

struct hf_etcd_watch {
    struct hf_endpoints_watch base; /* first */
    uint64_t revision;
    struct hf_wire_text line; /* a message of the stream, until its newline */
    struct hf_wire_text body; /* of the request */
    bool waits_for_login;     /* its token was refused: closed until READY */
};

struct hf_etcd {
    struct hf_endpoints node; /* first */
    struct hf_wire_login login;
    char *headers; /* of each request once logged in; NULL: plain ones */
    char user_shown[HF_TEXT_NAME];
    unsigned n_expired; /* tokens that were refused since one was accepted */
    char *prefix;
    uint64_t cluster; /* 0: not known yet */
    uint64_t newest;  /* the greatest revision that a reply has shown */
    uint64_t term;    /* of the last reply on this connection that was agreed
                         by a majority; 0: none */
    char version[HF_TEXT_WORD];
    struct hf_wire_text body; /* of the request that is being written */
    char *arena;              /* of the reply that is being read */
    size_t arena_cap;
    struct hf_wire_entry *entries;
    size_t entries_cap;
    struct hf_wire_text position; /* of the next page of a SCAN */
};

/* The store's struct, which begins with @p node. */
static inline struct hf_etcd *hf_etcd_of(struct hf_endpoints *node)
{
    return (struct hf_etcd *)(void *)node;
}

/* The store's struct, which store/ordered passes back as the wire. */
static inline struct hf_etcd *hf_etcd_of_wire(struct hf_wire *wire)
{
    return (struct hf_etcd *)(void *)wire;
}

/* ---- target.c ------------------------------------------------------------ */

/** Read the URL. hf_etcd_target_fini() frees what it leaves, also if it fails.
 * @return as open(). */
enum hf_status hf_etcd_target_read(struct hf_etcd *etcd,
                                   const struct hf_url *url,
                                   struct hf_error *error);

/* Free what was read, and erase the login. */
void hf_etcd_target_fini(struct hf_etcd *etcd);

/* The scheme of URLs without TLS, for messages; with it an 's' follows. */
#define HF_ETCD_SCHEME "etcd"

/* ---- calls.c ------------------------------------------------------------- */

/* The cookie of a request: which reply it waits for. */
enum hf_etcd_request_kind {
    HF_ETCD_LOG_IN,
    HF_ETCD_GREET,
    HF_ETCD_PROBE,
    HF_ETCD_OPEN,
    HF_ETCD_RENEW,
    HF_ETCD_CLOSE,
    HF_ETCD_OWNED,
    HF_ETCD_CREATE,
    HF_ETCD_LIST,
    HF_ETCD_READ,
    HF_ETCD_REPLACE,
    HF_ETCD_SCAN,
    HF_ETCD_REMOVE,
    HF_ETCD_MARK_READ,
    HF_ETCD_MARK_WRITE,
    HF_ETCD_VALUE_READ,
    HF_ETCD_VALUE_WRITE
};

/* The calls of store/ordered, as wire.h says of each. */
extern const struct hf_wire_ops hf_etcd_wire;

/* The request for version, leader and cluster. */
#define HF_ETCD_STATUS_PATH "/v3/maintenance/status"

/** Ask for the server's version and cluster. @return false: no memory. */
bool hf_etcd_greet(struct hf_etcd *etcd, struct hf_instant now);

/** Does the server refuse a transaction of so many operations? Then it is
 * explained in `why`. @param text  of its reply, or NULL. */
bool hf_etcd_call_note_too_long(struct hf_etcd *etcd, const char *text);

/* ---- login.c ------------------------------------------------------------- */

struct json_t;

/* Headers of a request; with the token, if there is one. */
#define HF_ETCD_HEADERS_PLAIN "Content-Type: application/json\r\n"

/* The headers of each request, borrowed until the next login. */
static inline const char *hf_etcd_headers(const struct hf_etcd *etcd)
{
    return etcd->headers != NULL ? etcd->headers : HF_ETCD_HEADERS_PLAIN;
}

/** Is there one, of the URL or of the program? */
bool hf_etcd_login_is_set(const struct hf_etcd *etcd);

/* The connection is open, and LOGGING_IN: ask for a token. */
void hf_etcd_login_ask(struct hf_etcd *etcd, struct hf_instant now);

/** The reply to that. @param body  NULL: it was refused, as `why` says. */
void hf_etcd_login_take(struct hf_etcd *etcd, const struct json_t *body,
                        struct hf_instant now);

/** Does the server refuse the token? Then nothing was executed.
 * @param text  of its reply, or NULL. */
bool hf_etcd_login_is_expired(const struct hf_etcd *etcd, const char *text);

/* A request, or a watch, was refused so: log in again, on this connection. */
void hf_etcd_login_renew(struct hf_etcd *etcd, struct hf_instant now);

/* A refusal for want of a login, or of rights, in `why`: add the remedy. */
void hf_etcd_login_explain(struct hf_etcd *etcd);

/** Is a reply that is no JSON a refusal of the client's certificate? Then it is
 * explained in `why`. */
bool hf_etcd_login_note_certificate(struct hf_etcd *etcd, const char *body);

/* Wipe the token. */
void hf_etcd_login_reset(struct hf_etcd *etcd);

/* ---- replies.c ----------------------------------------------------------- */

/* Read the reply to a call, or to the handshake, and say that it is done. */
void hf_etcd_take(struct hf_etcd *etcd, const struct hf_http_pending *request,
                  const struct hf_http_reply *http, struct hf_instant now);

/** A number, which JSON has as a string; 0: absent. */
uint64_t hf_etcd_number(const struct json_t *object, const char *name);

/* ---- refusals.c ---------------------------------------------------------- */

/** Fill @p reply, with the reason in `why`. @param body  the error's members,
 * or NULL: the reply has no JSON. */
void hf_etcd_refused(struct hf_etcd *etcd, const struct json_t *body,
                     const struct hf_http_reply *http,
                     struct hf_wire_reply *reply);

/* ---- node.c -------------------------------------------------------------- */

/* What store/endpoints asks of this store: to log in, to read replies. */
extern const struct hf_endpoints_ops hf_etcd_endpoints;

/** The reply to the handshake. @param body  NULL: it failed with @p fault, as
 * said in `why`. */
void hf_etcd_node_greeted(struct hf_etcd *etcd, const struct json_t *body,
                          enum hf_status fault, struct hf_instant now);

/* There is a token, or none is needed. */
void hf_etcd_node_greet(struct hf_etcd *etcd, struct hf_instant now);

/** Each reply names its cluster. @return false: it is another one than before,
 * and all is lost. */
bool hf_etcd_node_check_cluster(struct hf_etcd *etcd, const struct json_t *body,
                                struct hf_instant now);

/** The revisions of a cluster rise. @param is_new  a key was created at this
 * one, after all that was shown. @return false: it was set back, and all is
 * lost. */
bool hf_etcd_node_check_revision(struct hf_etcd *etcd, uint64_t revision,
                                 bool is_new, struct hf_instant now);

/* ---- watch.c ------------------------------------------------------------- */

/* Of hf_etcd_wire, and of hf_etcd_endpoints. */
hf_wire_watch_fn hf_etcd_watch;
hf_endpoints_watch_fn hf_etcd_watch_fini;

/* There is a new token: watches that wait for one begin again, where they were.
 */
void hf_etcd_watches_resume(struct hf_etcd *etcd, struct hf_instant now);

/* ---- examine.c ----------------------------------------------------------- */

/* The node is READY: report its version, and end the jobs. */
void hf_etcd_examine(struct hf_etcd *etcd, struct hf_instant now);

/* The reply to the probe of that. */
void hf_etcd_examined(struct hf_etcd *etcd, const struct hf_wire_reply *reply,
                      struct hf_instant now);

/* Of hf_etcd_endpoints: examine the other endpoints. */
hf_endpoints_visit_fn hf_etcd_visit;
hf_endpoints_judge_fn hf_etcd_judge;

/* ---- store.c ------------------------------------------------------------- */

/* The operations for the client, as store.h says of each. */
extern const struct hf_store_ops hf_store_etcd;

/* Of hf_etcd_endpoints, as endpoints.h says of each. */
hf_endpoints_set_up_fn hf_etcd_set_up;
hf_endpoints_fini_fn hf_etcd_fini;

#endif
