/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of the wire are made of: requests that follow each other
 * (op.c), the records of entries that a session may have (op.c), and the list
 * of a name's entries (list.c).
 *
 *     op = hf_zk_op_new(…), or hf_zk_op_of(…) in a session
 *     hf_zk_op_asked(op, zoo_a…(…))       each request that is made
 *     return hf_zk_op_begin(op, step)     the call is accepted
 *     ... step(op): hf_zk_op_asked(), hf_zk_op_await(op, next step)
 *     hf_zk_op_done(op), or _fail()       the last step: the call is done
 *
 * Owner: the handle, until it is done. */
#ifndef HF_ZOOKEEPER_OP_PARTS_H
#define HF_ZOOKEEPER_OP_PARTS_H

#include "base/text_size.h"
#include "store/ordered/wire.h"

#include <zookeeper/zookeeper.h>

struct hf_zk;
struct hf_zk_handle;

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

/* The same for want of memory: LOST if a change may have been made, else
 * UNSENT. */
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

/** Put the data of the mark or of the value into the reply.
 * @return false: it could not be read, and the op has failed. */
bool hf_zk_op_take_data(struct hf_zk_op *op, struct hf_instant now);

/* Put the versions of a value into the reply. */
void hf_zk_op_take_stat(struct hf_zk_op *op, const struct Stat *stat);

/* ---- Records ------------------------------------------------------------- */

/** @return the record of the entry; NULL: there is none. */
struct hf_zk_record *hf_zk_record_find(struct hf_zk_handle *handle,
                                       const char *folder, const char *text);

/** The record, made if there is none. @return NULL: no memory. */
struct hf_zk_record *hf_zk_record_need(struct hf_zk_handle *handle,
                                       const char *folder, const char *text);

/* Its entry is gone. It stays on record if a lost create may yet make it. */
void hf_zk_record_drop(struct hf_zk_handle *handle, const char *folder,
                       const char *text);

/* Free all: the session has ended. */
void hf_zk_records_free(struct hf_zk_handle *handle);

/* ---- list.c: sync, the children of a container, notes of those that hold --
 */

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

/* Free the list, to read it again, or with the op. */
void hf_zk_list_reset(struct hf_zk_op *op);

#endif
