/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper, by its C client: a wire of store/ordered.
 *
 *     RESOLVING ──▶ OPENING ◀──▶ READY ──▶ FOREIGN, for good
 *         ▲            │                   (another ensemble)
 *         └── a retry ─┘
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

#include <zookeeper/zookeeper.h>

struct hf_zk_handle;
struct hf_zk_op;
struct hf_zk_watch;

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
    struct hf_instant retry_at; /* of the look-ups; of one that is under way:
                                   when it is given up */
    struct hf_span look_up_timeout;     /* of the next one */
    struct hf_instant looked_up;        /* when the last ones had ended */
    bool has_unfound;                   /* a name was not found, so far */
    char unfound_why[HF_TEXT_SENTENCE]; /* "": all names were found */
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

/* The store's struct, which store/ordered passes back as the wire. */
static inline struct hf_zk *hf_zk_of_wire(struct hf_wire *wire)
{
    return (struct hf_zk *)(void *)wire;
}

/* The calls of store/ordered (wire.h), and the operations for the client
 * (store.h). */
extern const struct hf_wire_ops hf_zk_wire;
extern const struct hf_store_ops hf_store_zookeeper;

/* The rights of each node that is made: of the login alone, or of all. */
const struct ACL_vector *hf_zk_acl(const struct hf_zk *zk);

/* ---- target.c ------------------------------------------------------------ */

/** Read the URL. hf_zk_target_fini() frees what it leaves, also if it fails.
 * @return as open(). */
enum hf_status hf_zk_target_read(struct hf_zk *zk, const struct hf_url *url,
                                 struct hf_error *error);

/* Free what was read, and erase the logins. */
void hf_zk_target_fini(struct hf_zk *zk);

/* The login of the next handle, of the URL or of the program, in `login`. */
void hf_zk_target_login(struct hf_zk *zk);

/* The numeric addresses of all servers, for the library, in `hosts`, which
 * stays as it is if there is no memory, or no address. */
void hf_zk_target_list(struct hf_zk *zk);

/* ---- node.c -------------------------------------------------------------- */

/* Begin to connect: look up the servers. From here on the timer drives the
 * store. */
void hf_zk_node_open(struct hf_zk *zk, struct hf_instant now);

/** Close all handles, and free the watches; calls under way are not done.
 * @param is_forked  true in a forked child: send nothing to the servers. */
void hf_zk_node_close(struct hf_zk *zk, bool is_forked);

/* The client was idle, and read no event: its connections may be lost. Look at
 * them now. */
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

/* ---- examine.c ----------------------------------------------------------- */

/* The store is READY and has a job: report its findings, and end the jobs. If
 * it is not, nothing happens. */
void hf_zk_examine(struct hf_zk *zk, struct hf_instant now);

#endif
