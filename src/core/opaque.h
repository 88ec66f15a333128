/* SPDX-License-Identifier: Apache-2.0 */
/* The structs that the public header leaves opaque: the library's reports on
 * holders, queues and nodes. Callers read them with the functions in
 * client/opaque.c, so members may be added and moved freely. */
#ifndef HF_CORE_OPAQUE_H
#define HF_CORE_OPAQUE_H

#include "base/text_size.h"

#include <holdfast/holdfast.h>

/* Of a holder's texts, in bytes with the NUL. A host has 64 in Linux, or the
 * longest part of an owner that can be one; a longer label is cut when it is
 * written. */
#define HF_HOLDER_HOST_MAX 72
#define HF_HOLDER_LABEL_MAX 128

struct hf_holder {
    enum hf_kind kind;
    char owner[HF_OWNER_TEXT_MAX];   /* the owner as stored, printable */
    char host[HF_HOLDER_HOST_MAX];   /* empty for foreign holders */
    int64_t pid;                     /* 0 if unknown */
    int64_t since_s;                 /* Unix time of its attempt; 0 unknown */
    char label[HF_HOLDER_LABEL_MAX]; /* empty if none */
    int64_t remaining_ms;            /* -1: a key without expiry */
    uint64_t fence;                  /* the counter; 0 unknown */
    uint32_t sharers;                /* SHARED: how many; else 0 */
    uint32_t permits; /* SHARED: the size of the semaphore; 0: readers */
};

struct hf_waiting {
    struct hf_holder holder; /* NONE if no node named one */
    uint32_t ahead;
    size_t name_len;
    char name[]; /* a NUL follows it */
};

struct hf_node {
    char address[HF_TEXT_ADDRESS]; /* without password */
    enum hf_health health;
    char reason[HF_TEXT_REASON]; /* why not UP; empty otherwise */
    int64_t quarantine_left_ms;  /* 0 unless quarantined */
    int64_t rtt_us;              /* smoothed round trip; 0 unknown */
};

struct hf_info {
    int n_nodes;
    struct hf_holder holder; /* of a majority; NONE if free or split */
    bool split;              /* held, but by no holder at a majority */
    uint32_t waiting;        /* the most that wait at one node */
    struct {
        bool answered;
        struct hf_holder holder;
        uint32_t waiting;
    } nodes[HF_NODES_MAX];
};

struct hf_queue_entry {
    int node;
    bool waits; /* false: holds */
    enum hf_mode mode;
    uint32_t permits;     /* size of the semaphore, or 0 */
    struct hf_holder who; /* remaining_ms: of the lease, or of the place */
    int64_t since_ms;     /* waits: Unix time of the ticket; else 0 */
};

struct hf_finding {
    enum hf_severity severity;
    int node; /* or -1 */
    const char *text;
};

#endif
