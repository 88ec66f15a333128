/* SPDX-License-Identifier: Apache-2.0 */
/* The wire of a store that agrees by consensus: few primitives, all that
 * store/ordered/ knows of a server. etcd, Consul and ZooKeeper have one
 * each, tests/ordered has a simulated one.
 *
 *     machine ── open, renew, create, list, … (call) ──▶ wire
 *     machine ◀── call->done(call, reply) ─────────────  wire
 *     machine ◀── hf_ordered_up() / down() ────────────  wire
 *     machine ◀── hf_ordered_ended() / unwatched() ────  wire
 *
 * What a wire must keep:
 * - A call that was accepted is done exactly once, from the loop, unless the
 *   wire is closed. A primitive that returns false accepted nothing.
 * - While one connection lasts, the server executes calls in the order in which
 *   they were made. After it breaks, a call that was LOST may still be executed
 *   at any later time.
 * - Each reply is linearizable: it has all that was executed before the call
 *   was made. RENEW need not be, which is why it proves nothing by itself: it
 *   may be answered by a leader that was replaced before, without knowing it.
 * - `sent` is read before the first byte is given to the network. */
#ifndef HF_ORDERED_WIRE_H
#define HF_ORDERED_WIRE_H

#include "base/time.h"
#include "core/entry_rule.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_wire; /* the store's own; it is passed back to it */
struct hf_wire_watch;

/* A renewal of term A and a reply of term A that was asked for after it: no
 * leader came between them, so the renewal was executed by the leader. A new
 * leader gives each session its whole ttl again, so one that came after the
 * renewal was sent does no harm. A wire whose renewals go through the log has
 * one term. */
#define HF_WIRE_TERM_ANY UINT64_MAX

/* The most entries in one READ: etcd refuses a transaction of more operations
 * (its --max-txn-ops) by default. */
#define HF_WIRE_READ_MAX 128

/* Which entry: what the client knows before the store has given it a number.
 * All borrowed for the call. */
struct hf_wire_key {
    struct hf_bytes name;
    const uint8_t *session; /* HF_SESSION_ID_LEN bytes: of its creation */
    struct hf_bytes owner;
    enum hf_mode mode;
    uint16_t permits; /* shared: the terms; else 0 */
    int64_t ttl_s; /* of that session: others see how long it may outlive us */
    const uint8_t *under; /* REMOVE: only if it is under this session now; NULL:
                             in any case */
    uint64_t version; /* READ: of the entry when it was read or listed last; 0:
                         not known */
    struct hf_bytes id; /* READ: another's entry, as it was listed, in place of
                           session to ttl_s; len 0: by these */
};

/* An entry in a reply. */
struct hf_wire_entry {
    struct hf_entry entry; /* READ: number 0: there is none. OWNED: no number.
                              Its session is the one that it is under now */
    struct hf_bytes owner; /* of an entry of another program: any text */
    struct hf_bytes name;  /* OWNED, SCAN, MARKS */
    int64_t ttl_s;         /* of its session now; 0: not known */
    uint16_t permits;      /* shared: the terms */
    struct hf_bytes note;  /* a text in place of its owner: its owner holds it
                              no more. len 0: none */
    struct hf_bytes id;    /* LIST, CREATE: for REPLACE, and for a watch */
    uint64_t version;      /* the same: changes with each REPLACE. READ, if
                              that has no revision: the revision of the last
                              change of what a watch of the name sees of it */
    uint8_t born[HF_SESSION_ID_LEN]; /* the session, and the ttl of that, */
    int64_t born_ttl_s;              /* under which it was created */
};

/* What REPLACE makes of an entry that was listed. All borrowed for the call. */
struct hf_wire_change {
    struct hf_bytes name;
    struct hf_bytes id;
    uint64_t version;
    const uint8_t *session; /* NULL: remove it */
    int64_t ttl_s;          /* of that session */
    struct hf_bytes note;
};

/* The mark, or the value, of a name that MARK_WRITE or VALUE_WRITE makes. All
 * borrowed for the call. */
struct hf_wire_mark {
    struct hf_bytes name;
    uint64_t version;       /* of what it replaces; 0: there is none */
    const uint8_t *session; /* live; the mark is removed with it. NULL: a value,
                               or of a wire with MARKS */
    struct hf_bytes text;   /* len 0: remove it */
};

enum hf_wire_outcome {
    HF_WIRE_DONE,   /* executed */
    HF_WIRE_GONE,   /* there is no such session, and will be none: its entries
                       are gone, and nothing was created */
    HF_WIRE_UNSENT, /* the server has not seen it */
    HF_WIRE_LOST,   /* it may have been executed, or may be later */
    HF_WIRE_ERROR   /* refused: nothing has changed */
};

struct hf_wire_reply {
    enum hf_wire_outcome outcome;
    struct hf_instant sent;
    uint8_t session[HF_SESSION_ID_LEN]; /* OPEN */
    int64_t ttl_ms; /* OPEN: as the server decided; it may be longer */
    uint64_t term;  /* OPEN: HF_WIRE_TERM_ANY. CREATE, LIST, READ, REPLACE: the
                       term of the leader that executed it. RENEW: of the last
                       of these on its connection, before it; 0: none */
    bool is_too_long;     /* READ, ERROR: the server takes fewer keys at once */
    bool is_unchanged;    /* READ of keys that all have a version: each entry is
                             as it was then, and none is in the reply */
    bool has_changed;     /* CREATE: created; REPLACE, MARK_WRITE, VALUE_WRITE:
                             done; REMOVE: there was one without a note */
    struct hf_bytes mark; /* MARK_READ, VALUE_READ; data NULL: there is none */
    uint64_t version;     /* the same, and a VALUE_WRITE that was done: for the
                             next write; 0: there is none */
    int64_t clock_ms;     /* MARK_READ: Unix time by the server, when it has
                             read or later; 0: not known. It shows whole steps:
                             the time is less than */
    int64_t clock_step_ms;         /* one step later */
    struct hf_bytes next;          /* SCAN: of the next page; len 0: none */
    uint64_t revision;             /* CREATE, LIST, READ: the moment of it; READ
                                      may have none: 0. VALUE_READ, VALUE_WRITE:
                                      the moment of the value's last write */
    struct hf_wire_entry *entries; /* CREATE, LIST: live entries of the name, in
                                      any order; READ: as asked; OWNED; MARKS;
                                      SCAN: a page of names. Borrowed until
                                      `done` returns */
    size_t n_entries;
    size_t n_unlisted; /* CREATE: how many more there are (hf_wire_create_fn) */
    enum hf_status fault; /* UNSENT, LOST, ERROR */
    const char *reason;   /* the same; borrowed */
};

/* Unset all but the failure, if it is one: a wire may have read a part. */
static inline void hf_wire_reply_settle(struct hf_wire_reply *reply)
{
    if (reply->outcome != HF_WIRE_DONE) {
        *reply = (struct hf_wire_reply){.outcome = reply->outcome,
                                        .sent = reply->sent,
                                        .is_too_long = reply->is_too_long,
                                        .fault = reply->fault,
                                        .reason = reply->reason};
    }
}

struct hf_wire_call;

/* The call is done, once. It may free its owner, make new calls, and drop
 * watches; it must not close the wire. In the thread that dispatches the
 * loop. */
typedef void hf_wire_done_fn(struct hf_wire_call *call,
                             const struct hf_wire_reply *reply,
                             struct hf_instant now);

/* A call under way; embedded in its owner, which keeps it until `done`. */
struct hf_wire_call {
    hf_wire_done_fn *done;
    uint64_t until; /* LIST: those of a greater number need not be listed; 0:
                       all are */
    uint64_t note;  /* of the wire */
};

/* When CREATE creates its entry. In each case the reply has the list, with the
 * new entry if there is one. A repeated CREATE never makes a second entry. A
 * wire that cannot compare may create IF_FREE and IF_SINCE in any case, and
 * remove the entry before it replies, unless it holds at once. */
enum hf_wire_when {
    HF_WIRE_UNLESS_OWN, /* it does not exist yet */
    HF_WIRE_IF_FREE,    /* the name has no entry */
    HF_WIRE_IF_SINCE    /* no entry of the name is newer than `revision` */
};

/* Open a session that lives for `ttl_s` after each renewal. */
typedef bool hf_wire_open_fn(struct hf_wire *wire, int64_t ttl_s,
                             struct hf_wire_call *call, struct hf_instant now);

/* Renew a session, close it with all its entries, or list all its entries. LOST
 * renewal: it proves nothing. */
typedef bool hf_wire_session_fn(struct hf_wire *wire, const uint8_t *session,
                                struct hf_wire_call *call,
                                struct hf_instant now);

/* Create an entry of a live session, and list. LOST: it may be created as long
 * as the session lives. Of an exclusive one that was created UNLESS_OWN, a wire
 * may list three: the first of all, the one before it, and it. */
typedef bool
hf_wire_create_fn(struct hf_wire *wire, const struct hf_wire_key *key,
                  enum hf_wire_when when, uint64_t revision,
                  struct hf_wire_call *call, struct hf_instant now);

/* All live entries of a name, at one moment. */
typedef bool hf_wire_list_fn(struct hf_wire *wire, struct hf_bytes name,
                             struct hf_wire_call *call, struct hf_instant now);

/* Up to HF_WIRE_READ_MAX entries, at one moment. If all keys have a version, a
 * wire may compare these alone: then a reply without entries says whether each
 * is unchanged. */
typedef bool hf_wire_read_fn(struct hf_wire *wire,
                             const struct hf_wire_key *keys, size_t n,
                             struct hf_wire_call *call, struct hf_instant now);

/* Put an entry under a live session, with a note, or remove it: all but its
 * number may change. Nothing is done if it has changed since `version`. LOST:
 * it may be done as long as it has not, and the session lives. */
typedef bool
hf_wire_replace_fn(struct hf_wire *wire, const struct hf_wire_change *change,
                   struct hf_wire_call *call, struct hf_instant now);

/** A page of names that have entries, each once in all pages. @param from  the
 * last page's `next`; len 0: the first page. */
typedef bool hf_wire_scan_fn(struct hf_wire *wire, struct hf_bytes from,
                             struct hf_wire_call *call, struct hf_instant now);

/* Remove an entry, by session and owner. LOST: it may still be removed. */
typedef bool
hf_wire_remove_fn(struct hf_wire *wire, const struct hf_wire_key *key,
                  struct hf_wire_call *call, struct hf_instant now);

/* What a watch reports the ends of. All borrowed for the call. */
struct hf_wire_watched {
    struct hf_bytes name;
    struct hf_bytes id; /* of one entry, as it was listed; len 0: of all */
    uint64_t number;    /* the same: of that entry; else 0 */
    uint64_t revision;  /* of that list: ends after it */
};

/** Report each end, also one that was before the watch stood, by
 * hf_ordered_ended(user) with the number of the entry, or 0, from inside of
 * which the watch may be dropped; and once hf_ordered_unwatched(user), when the
 * watch has failed and is freed. A watch of one entry may report others too. It
 * is dropped when that one was reported by its number.
 * @return false: no memory, or too many, and *out is NULL. */
typedef bool
hf_wire_watch_fn(struct hf_wire *wire, const struct hf_wire_watched *scope,
                 void *user, struct hf_instant now, struct hf_wire_watch **out);

/* Drop a watch: it reports nothing more. */
typedef void hf_wire_unwatch_fn(struct hf_wire *wire,
                                struct hf_wire_watch *watch);

/* Read the text of a name's mark, its version, and the server's clock. A mark
 * is no entry: LIST and WATCH do not show it, and SCAN names its name, once
 * more if the name has entries. */
typedef bool hf_wire_mark_read_fn(struct hf_wire *wire, struct hf_bytes name,
                                  struct hf_wire_call *call,
                                  struct hf_instant now);

/* Make or replace it, if it has the version that was read. LOST: it may be done
 * as long as it has. */
typedef bool
hf_wire_mark_write_fn(struct hf_wire *wire, const struct hf_wire_mark *mark,
                      struct hf_wire_call *call, struct hf_instant now);

/* The names of all marks. A wire that has this keeps a mark until it is
 * removed: no session ends it. */
typedef bool hf_wire_marks_fn(struct hf_wire *wire, struct hf_wire_call *call,
                              struct hf_instant now);

/* Values are read and written as marks are, but lie apart from all of these: no
 * other call shows them, and no session ends them. Of one name the revision of
 * a later write is greater, also if the value was removed in between. The same
 * is true of the version, unless the wire keeps tombstones. */
struct hf_wire_ops {
    hf_wire_open_fn *open;
    hf_wire_session_fn *renew;
    hf_wire_session_fn *close;
    hf_wire_session_fn *owned;
    hf_wire_create_fn *create;
    hf_wire_list_fn *list;
    hf_wire_read_fn *read;
    hf_wire_replace_fn *replace;
    hf_wire_scan_fn *scan;
    hf_wire_remove_fn *remove;
    hf_wire_watch_fn *watch;
    hf_wire_unwatch_fn *unwatch;
    hf_wire_mark_read_fn *mark_read; /* NULL, both: there are no marks */
    hf_wire_mark_write_fn *mark_write;
    hf_wire_marks_fn *marks; /* NULL: a mark is removed with its session */
    hf_wire_mark_read_fn *value_read; /* NULL, both: there are no values */
    hf_wire_mark_write_fn *value_write;
    bool keeps_tombstones; /* a value must not be removed: the next would have
                              the versions of earlier ones */
    bool reads_by_id;      /* READ takes keys with an id */
};

#endif
