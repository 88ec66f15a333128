/* SPDX-License-Identifier: Apache-2.0 */
/* Values (GET and PUT) in an LMDB file of their own, values.mdb. A process must
 * have entered with hf_gate_enter_values() for all but hf_values_close().
 *
 *     hf_values_open(values, …)               before each request
 *     hf_values_make_room(values, len)        before a write
 *     hf_values_begin(values, flags, &txn)
 *     hf_values_commit(values, txn, …) or mdb_txn_abort(txn)
 *
 * Functions that return an int return 0 or an LMDB or system error number,
 * which hf_values_fail() explains. MDB_MAP_FULL: abort, hf_values_grow(), and
 * begin again. */
#ifndef HF_STORE_LOCAL_VALUES_FILE_H
#define HF_STORE_LOCAL_VALUES_FILE_H

#include "store/local/gate.h"

#include <lmdb.h>
#include <stdbool.h>

struct hf_values {
    struct hf_gate *gate; /* borrowed */
    MDB_env *env;         /* NULL: not open */
    MDB_dbi dbi;
    struct hf_folder_file file; /* the open one */
    uint64_t birth;             /* when it was made; 0: not known */
    bool was_open;              /* once since the store was opened */
};

/** Open or make the file, unless it is open. It is opened again if the path
 * leads to another file. A value that a reader gets is on the disk.
 * @return HF_OK, or a status with a text. */
enum hf_status hf_values_open(struct hf_values *values, struct hf_gate *gate,
                              struct hf_error *error);

/* Unmap the file, if it is open. No transaction may be under way. */
void hf_values_close(struct hf_values *values);

/** @param flags  MDB_RDONLY, or 0. @return 0, or an error: none has begun, and
 * the file may be closed. */
int hf_values_begin(struct hf_values *values, unsigned flags, MDB_txn **out);

/** Write to the disk and sync it. On failure nothing was written, or
 * *is_unknown is set; the file is closed, except for MDB_MAP_FULL. */
int hf_values_commit(struct hf_values *values, MDB_txn *txn, bool *is_unknown);

/** Allocate disk space for a write of @p len bytes. A write may succeed
 * without, in pages that are free. */
int hf_values_make_room(struct hf_values *values, size_t len);

/** Double the map. @return 0; MDB_MAP_FULL: it has its greatest size; or an
 * error: the file is closed. */
int hf_values_grow(struct hf_values *values);

/* The status and the text for an error number. */
enum hf_status hf_values_fail(int number, struct hf_error *error);

#endif
