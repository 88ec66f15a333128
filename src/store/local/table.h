/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their records, on LMDB. A process must be inside the gate to open,
 * read, write, grow or sweep the table.
 *
 *     hf_table_begin(table)
 *     hf_table_get(table, &key, &record)
 *     hf_table_put(table, &key, &record)              only if it changed
 *     hf_table_commit(table) or hf_table_abort(table)
 *
 * Functions return 0 or an LMDB or system error number, which hf_table_text()
 * explains. HF_TABLE_FULL from put or commit: abort, hf_table_grow(), and begin
 * again. */
#ifndef HF_STORE_LOCAL_TABLE_H
#define HF_STORE_LOCAL_TABLE_H

#include "store/local/gate.h"
#include "store/local/record.h"
#include "store/store.h"
#include "store/url.h"

#include <lmdb.h>
#include <stdint.h>

#define HF_TABLE_FULL MDB_MAP_FULL

/* Greatest size of the file; 100,000 names take some 40 MiB. */
#define HF_TABLE_BYTES_MAX (UINT64_C(4) << 30)

struct hf_table {
    MDB_env *env;     /* NULL: closed by a failure; the next begin opens it */
    MDB_txn *mdb_txn; /* NULL: no transaction is open */
    MDB_dbi names;
    uint64_t map_bytes;         /* that this process has mapped last */
    struct hf_folder_file file; /* that is mapped */
    struct hf_gate *gate;
};

/* Inside the gate. */
enum hf_status hf_table_open(struct hf_table *table, struct hf_gate *gate,
                             struct hf_error *error);

/* Unmap the file. No transaction may be under way. */
void hf_table_close(struct hf_table *table);

/* Open an LMDB file. @p map_bytes 0: the size that it says. */
int hf_table_env_open(const char *path, unsigned flags, mode_t mode,
                      uint64_t map_bytes, MDB_env **out);

/** Map another size; @p map_bytes 0: the size that the file says. No
 * transaction may be under way. @return 0; or an error: the environment is
 * closed, and *env is NULL. */
int hf_table_env_resize(MDB_env **env, uint64_t map_bytes);

/* Make the file empty; a hf_gate_renew_fn. */
enum hf_status hf_table_renew(const struct hf_folder *folder,
                              const char *data_path, uint64_t *map_bytes,
                              struct hf_error *error);

/* The mapped file is still in its place (hf_folder_find_file()), and as long as
 * the map. */
bool hf_table_is_intact(const struct hf_table *table);

/** Begin a transaction that writes, in the gate; first undo the commit of a
 * process that was killed in it, and follow a file that another process has
 * made longer, or that was closed. @return 0, or an error: none has begun. */
int hf_table_begin(struct hf_table *table);

/** End the transaction: it is there for all processes at once. @return 0, or an
 * error: nothing has changed. MDB_MAP_FULL: hf_table_grow(), and repeat it. */
int hf_table_commit(struct hf_table *table);

/* End the transaction, if there is one: nothing has changed. */
void hf_table_abort(struct hf_table *table);

/** Double the file, in the gate and without a transaction, after one that found
 * it full. @return 0; EOVERFLOW: it is as long as it may be; or an error. */
int hf_table_grow(struct hf_table *table);

/* Bytes of the whole text that follows a record whose key is cut: the URL's
 * prefix and the name. */
#define HF_TABLE_TEXT_MAX (HF_URL_PREFIX_MAX + HF_NAME_MAX)

/* The LMDB key of a name under a prefix. names.c */
struct hf_table_key {
    unsigned char bytes[HF_GATE_KEY_MAX];
    size_t len;
    const char *prefix; /* borrowed */
    size_t prefix_len;
    const void *name; /* borrowed */
    size_t name_len;
    bool is_cut; /* `bytes` has only the beginning and a digest */
};

/* The key of a name: as it is, or, of a long one, cut with a hash; @p prefix
 * and @p name are borrowed. */
void hf_table_key_init(struct hf_table_key *key, const char *prefix,
                       const void *name, size_t name_len);

/** @return MDB_NOTFOUND: the name has no record. */
int hf_table_get(struct hf_table *table, const struct hf_table_key *key,
                 struct hf_record *out);

/** Write the record of a name, in a transaction. @return 0, or an error. */
int hf_table_put(struct hf_table *table, const struct hf_table_key *key,
                 const struct hf_record *record);

/** Called with each name. @return false to stop. */
typedef bool hf_table_each_fn(void *user, const void *name, size_t name_len,
                              const struct hf_record *record);

/* A walk over all names of a prefix, in steps; each step enters the gate anew.
 */
struct hf_table_walk {
    const char *prefix; /* borrowed */
    size_t prefix_len;
    unsigned char at[HF_GATE_KEY_MAX]; /* last key seen */
    size_t at_len;                     /* 0: before the first */
    bool is_over;
};

/* Visit at most @p most records. */
int hf_table_walk(struct hf_table *table, struct hf_table_walk *walk,
                  unsigned most, hf_table_each_fn *each, void *user);

/* Move a cursor to the first name after @p at (at_len 0: to the first), or to
 * the next one. */
int hf_table_seek(MDB_cursor *cursor, const unsigned char *at, size_t at_len,
                  MDB_val *key, MDB_val *value);

/** The next name after the cursor's. @return 0; MDB_NOTFOUND: there is none; or
 * an error. */
int hf_table_next(MDB_cursor *cursor, MDB_val *key, MDB_val *value);

/* Remove idle names among the next @p most, and expired entries. In a
 * transaction of its own. sweep.c */
int hf_table_sweep(struct hf_table *table, unsigned most, struct hf_span keep,
                   const struct hf_clock_sample *now);

/** The file is full and cannot grow: remove idle names before fence_keep has
 * passed. Fences stay in order, since no later grant has a counter below a
 * removed one (floor_least). No transaction may be open.
 * @return true: something was removed; try again. sweep.c */
bool hf_table_make_room(struct hf_table *table,
                        const struct hf_clock_sample *now);

/* The status and the text for an error number. */
enum hf_status hf_table_text(const struct hf_table *table, int number,
                             char *text, size_t size);

#endif
