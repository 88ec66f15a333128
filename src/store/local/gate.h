/* SPDX-License-Identifier: Apache-2.0 */
/* One page of memory that all processes of the machine share: the mutex around
 * the locks' file, and what must be known before that is opened.
 *
 *     hf_gate_open(…)          the contents are of this boot; if they were
 *                              not, they have just been made anew
 *     hf_gate_enter(…)         alone, until hf_gate_leave()
 *     hf_gate_leave(…)
 *     hf_gate_close(…) */
#ifndef HF_STORE_LOCAL_GATE_H
#define HF_STORE_LOCAL_GATE_H

#include "base/time.h"
#include "store/local/folder.h"

#include <holdfast/holdfast.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define HF_GATE_KEY_MAX 511
#define HF_GATE_BOOT_MAX 40

/* The page. All but the first three fields is written inside the gate. */
struct hf_gate_page {
    char magic[8];
    uint32_t version;
    uint32_t mutex_size; /* another C library's mutex is another mutex */
    uint32_t is_ready;   /* written last */
    uint32_t sweep_len;
    char boot[HF_GATE_BOOT_MAX];
    uint64_t time_space;  /* inode of the time namespace */
    uint64_t map_bytes;   /* size of the locks' file, all of it on disk */
    uint64_t granted_max; /* greatest counter of any name, ever */
    uint64_t floor_least; /* no grant below it: above all that was
                             forgotten, by sweeping or by a boot */
    uint64_t n_writes;
    uint64_t n_entries; /* tells a busy gate from a stuck one */
    int64_t holder_pid; /* the process that is, or was last, inside */
    uint64_t holder_space;
    _Alignas(64) pthread_mutex_t mutex;
    unsigned char sweep_key[HF_GATE_KEY_MAX + 1];
    /* Since version 2. What is above stays where it is: the next boot reads
     * granted_max from the page of an older version too. */
    uint64_t queue_last;  /* number of the newest queue */
    uint64_t ticket_last; /* newest ticket given here */
};

struct hf_gate {
    struct hf_gate_page *page;
    const struct hf_folder *folder; /* borrowed */
    int fd;
    int64_t pid;
    uint64_t pid_space;
    uint64_t time_space;
    struct hf_span patience; /* node_timeout */
    char gate_path[HF_FOLDER_MAX + 16];
    char data_path[HF_FOLDER_MAX + 16];
};

/* Make the locks' file anew, empty. Called by hf_gate_open() when the contents
 * are not of this boot and no process can have them open.
 * @param map_bytes  its size, out. */
typedef enum hf_status
hf_gate_renew_fn(const struct hf_folder *folder, const char *data_path,
                 uint64_t *map_bytes, struct hf_error *error);

/* @return HF_OK, and the gate is to be closed; else it is not open. */
enum hf_status hf_gate_open(struct hf_gate *gate,
                            const struct hf_folder *folder,
                            struct hf_span patience, hf_gate_renew_fn *make,
                            struct hf_error *error);

void hf_gate_close(struct hf_gate *gate);

/* @return HF_OK; HF_UNAVAILABLE - a process inside did not leave: it is stopped
 *         (node_timeout), or the machine is overloaded (ten times that);
 *         HF_CONFIG. On failure @p text says why (not in which folder),
 *         and we are not inside. */
enum hf_status hf_gate_enter(struct hf_gate *gate, char *text, size_t size);
void hf_gate_leave(struct hf_gate *gate);

/* The file has its name and its length still: what is mapped is what others
 * open, and touching it is no SIGBUS. */
bool hf_gate_is_intact(const struct hf_gate *gate);

#endif
