/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of names. ZooKeeper's are reported once, without saying what has
 * changed: a watch of ours lists again, and compares (watch.c). */
#ifndef HF_ZOOKEEPER_WATCH_H
#define HF_ZOOKEEPER_WATCH_H

#include "store/ordered/wire.h"

struct hf_zk;

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

/* Of hf_zk_wire, as wire.h says of each. */
hf_wire_watch_fn hf_zk_watch;
hf_wire_unwatch_fn hf_zk_unwatch;

/* The main session has ended: its handle is freed next. */
void hf_zk_watches_fail(struct hf_zk *zk);

/* From the loop: report those that have failed. */
void hf_zk_watches_tell(struct hf_zk *zk, struct hf_instant now);

/** Free those that are dropped, and that the library will not call any more.
 * @param all  without regard to that: its handles are closed. */
void hf_zk_watches_free(struct hf_zk *zk, bool all);

#endif
