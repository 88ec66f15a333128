/* SPDX-License-Identifier: Apache-2.0 */
/* A page that all processes of the machine map: a mutex around the locks' file,
 * and the values that are needed before that file is opened.
 *
 *     hf_gate_open(…)          makes empty files if they are of another boot
 *     hf_gate_enter(…)         locks the mutex
 *     hf_gate_leave(…)         unlocks it
 *     hf_gate_close(…)
 *
 * A second mutex is for the values' file: a write to disk, which takes
 * milliseconds, must not delay other processes' locks. If processes of several
 * pid namespaces share the folder, locks on two bytes of the file replace the
 * mutexes (gate.c). */
#ifndef HF_STORE_LOCAL_GATE_H
#define HF_STORE_LOCAL_GATE_H

#include "base/time.h"
#include "store/local/folder.h"
#include "store/store.h"

#include <holdfast/holdfast.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The id of this boot. A container may have a file of its own there. */
#define HF_GATE_BOOT_FILE "/proc/sys/kernel/random/boot_id"

/* Bytes: the longest key that LMDB stores. */
#define HF_GATE_KEY_MAX 511

/* Bytes, NUL included: a boot id has 36. */
#define HF_GATE_BOOT_MAX 40

/* The part of the page for the values' file. A library without values leaves it
 * as it is, also after a boot: so it says itself of which boot it is. */
struct hf_gate_values {
    char boot[HF_GATE_BOOT_MAX]; /* in which the mutex was made */
    uint64_t n_entries;          /* as in hf_gate_page, like the next two */
    int64_t holder_pid;
    uint64_t holder_space;
    uint32_t is_unsynced; /* readable data may not be on the disk yet */
    uint32_t sweep_len;
    unsigned char sweep_key[HF_GATE_KEY_MAX + 1];
    _Alignas(64) pthread_mutex_t mutex;
};

/* Of either mutex. */
struct hf_gate_door {
    uint32_t is_mixed;    /* the lock of a byte replaces the mutex. Set inside
                             it, and until the boot ends */
    uint32_t is_occupied; /* a process is inside, or has died inside */
};

/* Bytes by which a page is recognized. */
#define HF_GATE_MAGIC_SIZE 8

/* The page. hf_gate_open() initializes it under the exclusive flock; afterwards
 * fields change only inside the gate. */
struct hf_gate_page {
    char magic[HF_GATE_MAGIC_SIZE];
    uint32_t version;
    uint32_t mutex_size; /* C libraries differ in their mutexes */
    uint32_t is_ready;   /* set after all other fields */
    uint32_t sweep_len;
    char boot[HF_GATE_BOOT_MAX];
    struct hf_span clock_offset; /* of all its users: hf_clock_offset() */

    uint64_t map_bytes;   /* size of the locks' file; allocated on disk */
    uint64_t granted_max; /* greatest counter of any name, ever */
    uint64_t floor_least; /* least counter of a grant: above those of records
                             that were swept or ended with a boot */
    uint64_t n_writes;
    uint64_t n_entries; /* if it moves, the gate is busy and not stuck */
    int64_t holder_pid; /* the process that entered last */
    uint64_t holder_space;
    _Alignas(64) pthread_mutex_t mutex;
    unsigned char sweep_key[HF_GATE_KEY_MAX + 1];
    /* Since version 2. Fields above keep their offsets: after a boot,
     * granted_max is read from a page of an older version too. */
    uint64_t queue_last;  /* number of the newest queue */
    uint64_t ticket_last; /* newest ticket of any queue */
    struct hf_gate_values values;
    uint64_t fence_base; /* of the client that made the page; 0 in older ones.
                            It outlives the boot */
    /* The values' file that has held values, so that it is not taken for a new
     * one if it is cut; 0: none, or not known. They outlive the boot. */
    uint64_t values_ino;
    uint64_t values_birth;
    /* Number of the locks' last transaction in boot table_boot. A file with a
     * lower one is an older copy that was put back. An older library, which
     * empties the file after a boot, leaves both as they are. */
    uint64_t table_txn;
    char table_boot[HF_GATE_BOOT_MAX];
    uint64_t table_committing; /* of a transaction whose commit has begun; 0 */
    /* Since version 4. */
    uint64_t pid_space; /* whose processes use the mutexes; 0: not known */
    struct hf_gate_door locks_door, values_door;
    /* The newest write of a lock, and the latest end of a lease that was ever
     * granted or extended: leases only, no marks and no reservations. */
    struct hf_instant leases_seen, leases_until;
    uint32_t is_boot_hidden; /* `boot` is of a container that hides the
                                machine's own */
};

/* How a client is inside. */
enum hf_gate_way {
    HF_GATE_OUTSIDE,
    HF_GATE_BY_MUTEX,
    HF_GATE_BY_FILE /* a lock on a byte of the gate's file */
};

struct hf_gate {
    struct hf_gate_page *page;
    const struct hf_folder *folder; /* borrowed */
    const struct hf_store_env *env; /* borrowed; set before hf_gate_open(): its
                                       is_cancelled ends the wait. NULL: none */
    struct hf_instant since;        /* hf_gate_open() */
    int fd;
    int64_t pid;
    uint64_t pid_space; /* ours; set before hf_gate_open(). 0: not known */
    struct hf_span clock_offset;
    bool is_boot_hidden;     /* our boot id is not the kernel's */
    struct hf_span patience; /* node_timeout */
    uint64_t fence_base;     /* the client's; a page of another is refused */
    /* The count of entries, plus 1, at which this client last waited in vain
     * for the mutex; 0: it has not. enter.c */
    uint64_t stuck_at, values_stuck_at;
    enum hf_gate_way inside, values_inside;
    bool has_values; /* the mutex for values is known to be made */
    char gate_path[HF_FOLDER_MAX + 16];
    char data_path[HF_FOLDER_MAX + 16];
};

/** Make the locks' file empty. hf_gate_open() calls it if the contents are not
 * of this boot, under the exclusive flock: no process has the file open.
 * @param map_bytes  its size, out. */
typedef enum hf_status
hf_gate_renew_fn(const struct hf_folder *folder, const char *data_path,
                 uint64_t *map_bytes, struct hf_error *error);

/** Waits at most 20 s for another process that sets the files up.
 * @param fence_base  must be the same for all clients of the folder.
 * @return HF_OK: the caller must close the gate; else it is not open. */
enum hf_status hf_gate_open(struct hf_gate *gate,
                            const struct hf_folder *folder,
                            struct hf_span patience, uint64_t fence_base,
                            hf_gate_renew_fn *make, struct hf_error *error);

/* Unmap and close the file; others keep theirs. Nothing, if it is not open. */
void hf_gate_close(struct hf_gate *gate);

/* Make a robust mutex between processes. enter.c */
enum hf_status hf_gate_mutex_init(pthread_mutex_t *mutex,
                                  struct hf_error *error);

/** Lock the mutex, or the byte that replaces it. One thread at a time: the
 * client's mutex sees to that. enter.c
 * @return HF_OK; HF_UNAVAILABLE: the process inside is stopped (reported after
 *         node_timeout), or the machine is overloaded (after ten times that;
 *         both at once if this client has waited for that process before);
 *         HF_CONFIG: the gate is damaged. On failure @p text has the reason
 *         without the folder, and the mutex is not locked. */
enum hf_status hf_gate_enter(struct hf_gate *gate, char *text, size_t size);

/* Unlock it, in the thread that has entered. Before any wait, and before pushes
 * are sent. */
void hf_gate_leave(struct hf_gate *gate);

/** The same for the values' file, and at least 0.2 s in place of node_timeout.
 * The locks' mutex is not locked. */
enum hf_status hf_gate_enter_values(struct hf_gate *gate, char *text,
                                    size_t size);

/* Leave the values' file, in the thread that has entered. */
void hf_gate_leave_values(struct hf_gate *gate);

/* The mapped file still has one link and its length: it was not removed, and
 * access to the page does not raise SIGBUS. */
bool hf_gate_is_intact(const struct hf_gate *gate);

#endif
