/* SPDX-License-Identifier: Apache-2.0 */
/* Records in an LMDB file that all processes map.
 *
 * The file is never synced: its contents end with the boot, and the kernel
 * keeps the writes of a killed process to the map. With MDB_WRITEMAP a
 * transaction takes 0.6 us, while writing pages by system calls takes 4. But a
 * mapped page without disk space raises SIGBUS. So the whole file is allocated
 * before it is mapped; when it is full, posix_fallocate() doubles it first, and
 * a full disk is an error number. MDB_NOLOCK, since the gate is the lock.
 *
 * Cost: no system call in a transaction. Opening takes an lstat(), a fcntl()
 * and a readlink() besides those of LMDB. Growing takes one posix_fallocate(),
 * the four calls that hold its signal, and a new map each time that the size
 * doubles; other processes look with fstat(), and map the new size with their
 * next transaction.
 *
 * LMDB 0.9 unmaps the old size before it maps the new one. If that fails, the
 * next transaction would read the address of the old map. So the environment is
 * closed, and the next transaction opens it again. A process that has lost its
 * way to the file meanwhile, such as after chroot(), must be restarted.
 *
 * A killed writer: LMDB changes no page that the last commit refers to. It
 * commits by writing the older of two meta pages, and the one with the greater
 * number counts. In memory the compiler decides in which order: Debian's 0.9.24
 * for x86-64 writes the number before the root of the records. A writer that
 * was killed between the two instructions would leave the records of the last
 * commit but one, and a list of free pages of which some are in use. So the
 * gate's page says which commit has begun, and the next process undoes one that
 * has not ended, complete or not: its writer has told the result to no one. A
 * library of 0.1 notes nothing: its commit next after such a kill would be
 * undone, too (CHANGELOG.md).
 *
 * A copy that is put back over the file (a restored backup, `cp`) would be
 * taken for the present: locks that were granted since would be free. LMDB
 * numbers its transactions, and the gate's page has the number of the last one.
 */
#include "store/local/table.h"

#include "base/assert.h"
#include "base/fail.h"
#include "io/signal_hold.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

/* The map has whole pages: 4 KiB, or a multiple of that. */
#define MAP_UNIT_BYTES 4096

/* Initial size, for some 2,000 names. */
#define BYTES_FIRST (UINT64_C(1) << 20)

#define ENV_FLAGS                                                              \
    (MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOMETASYNC | MDB_NOTLS |     \
     MDB_WRITEMAP | MDB_NOMEMINIT)

/* LMDB's meta page, as in lmdb.h's versions 0.9: MDB_page, then MDB_meta. The
 * first two pages of the file are one each; a transaction writes that of its
 * number modulo 2. */
struct meta_page {
    size_t page_number;
    uint16_t page_words[4];
    uint32_t magic;
    uint32_t version;
    void *address;
    size_t map_bytes;
    struct {
        uint32_t page_bytes;
        uint16_t flags, depth;
        size_t sizes[4];
        size_t root;
    } trees[2]; /* free pages; records */
    size_t last_page;
    size_t txn;
};

_Static_assert(sizeof(void *) != 8 || offsetof(struct meta_page, txn) == 144,
               "it is LMDB's");

/* mdb.c: MDB_MAGIC, MDB_DATA_VERSION. */
#define META_MAGIC 0xBEEFC0DEU
#define META_VERSION 1

/* Of a begin: the file is an older copy. No function of LMDB returns it. */
#define OLDER ESTALE
#define OLDER_TEXT "was replaced by an older copy: " HF_FOLDER_REMOVE_LOCKS

/* ---- Opening ----------------------------------------------------------- */

static enum hf_status fail_lmdb(const char *path, int number,
                                struct hf_error *error)
{
    if (number == OLDER) {
        return hf_fail(error, HF_CONFIG, "%s " OLDER_TEXT, path);
    }
    if (number > 0) {
        return hf_folder_fail(path, number, "open", error);
    }
    return hf_fail(error, HF_CONFIG,
                   "%s is not Holdfast's, or is damaged (LMDB: "
                   "%s): " HF_FOLDER_REMOVE_LOCKS,
                   path, mdb_strerror(number));
}

/* mmap(), of locked memory beyond its limit: EAGAIN. */
static int no_memory(int number)
{
    return number == EAGAIN ? ENOMEM : number;
}

int hf_table_env_open(const char *path, unsigned flags, mode_t mode,
                      uint64_t map_bytes, MDB_env **out)
{
    MDB_env *env;
    int number = mdb_env_create(&env);
    if (number != 0) {
        return number;
    }
    number = map_bytes > 0 ? mdb_env_set_mapsize(env, map_bytes) : 0;
    if (number == 0) {
        number = mdb_env_open(env, path, flags, mode);
    }
    int fd = -1;
    if (number == 0) {
        number = mdb_env_get_fd(env, &fd);
    }
    /* LMDB 0.9 has no flag for close-on-exec. */
    if (number == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        number = errno;
    }
    if (number != 0) {
        mdb_env_close(env);
        return no_memory(number);
    }
    *out = env;
    return 0;
}

int hf_table_env_resize(MDB_env **env, uint64_t map_bytes)
{
    int number = mdb_env_set_mapsize(*env, map_bytes);
    if (number != 0) {
        mdb_env_close(*env);
        *env = NULL;
    }
    return no_memory(number);
}

/* On btrfs, rewriting a page allocates new space, and the disk may be full. A
 * file without copy-on-write keeps its space. Other file systems refuse the
 * flag, which does no harm. */
static void forbid_copies(int fd)
{
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

static int make_empty(int fd, mode_t mode)
{
    if (ftruncate(fd, 0) != 0) {
        return errno;
    }
    fchmod(fd, mode); /* fails on a file of another user: its mode is set */
    forbid_copies(fd);
    /* Check for disk space before LMDB writes. */
    int number = posix_fallocate(fd, 0, (off_t)BYTES_FIRST);
    if (number == 0) {
        number = ftruncate(fd, 0) == 0 ? 0 : errno;
    }
    return number;
}

/* Owner and mode are checked before the file is emptied: it may be another
 * user's. */
static enum hf_status make_file(const struct hf_folder *folder,
                                const char *path, struct hf_error *error)
{
    struct stat about;
    mode_t mode = hf_folder_file_mode(folder);
    int fd = open(path, hf_folder_open_flags(folder), mode);
    if (fd < 0) {
        return hf_folder_fail_file(folder, path, errno, error);
    }
    enum hf_status status =
        fstat(fd, &about) == 0
            ? hf_folder_check_file(folder, path, &about, error)
            : hf_folder_fail(path, errno, "use", error);
    if (status == HF_OK) {
        int number = make_empty(fd, mode);
        status =
            number == 0 ? HF_OK : hf_folder_fail(path, number, "make", error);
    }
    close(fd);
    return status;
}

/* By the process that has the exclusive flock, and with the space allocated:
 * the first write of another one would need both. */
static int write_empty(const char *path, mode_t mode)
{
    MDB_env *env = NULL;
    MDB_txn *txn;
    MDB_dbi names;
    int fd;
    int number = hf_table_env_open(path, ENV_FLAGS, mode, BYTES_FIRST, &env);
    if (number == 0) {
        number = mdb_env_get_fd(env, &fd);
    }
    if (number == 0) {
        number = posix_fallocate(fd, 0, (off_t)BYTES_FIRST);
    }
    if (number == 0) {
        number = mdb_txn_begin(env, NULL, 0, &txn);
    }
    if (number == 0) {
        number = mdb_dbi_open(txn, NULL, 0, &names);
        mdb_txn_abort(txn);
    }
    if (env != NULL) {
        mdb_env_close(env);
    }
    return number;
}

static enum hf_status renew(const struct hf_folder *folder,
                            const char *data_path, uint64_t *map_bytes,
                            struct hf_error *error)
{
    enum hf_status status = make_file(folder, data_path, error);
    if (status != HF_OK) {
        return status;
    }
    *map_bytes = BYTES_FIRST;
    int number = write_empty(data_path, hf_folder_file_mode(folder));
    return number == 0 ? HF_OK : fail_lmdb(data_path, number, error);
}

enum hf_status hf_table_renew(const struct hf_folder *folder,
                              const char *data_path, uint64_t *map_bytes,
                              struct hf_error *error)
{
    struct hf_signal_hold hold;
    hf_signal_hold_growth(&hold);
    enum hf_status status = renew(folder, data_path, map_bytes, error);
    hf_signal_hold_end(&hold);
    return status;
}

/* Check owner, mode and length. LMDB itself would extend a short file, and read
 * zeros. */
static enum hf_status check_file(const struct hf_gate *gate, struct stat *about,
                                 struct hf_error *error)
{
    uint64_t need = gate->page->map_bytes;
    if (lstat(gate->data_path, about) != 0) {
        if (errno != ENOENT) {
            return hf_folder_fail(gate->data_path, errno, "open", error);
        }
        return hf_fail(
            error, HF_CONFIG,
            "%s has been removed while it was in use: stop all users "
            "of the folder, then remove %s too",
            gate->data_path, gate->gate_path);
    }
    enum hf_status status =
        hf_folder_check_file(gate->folder, gate->data_path, about, error);
    if (status != HF_OK) {
        return status;
    }
    if (need < BYTES_FIRST || need > HF_TABLE_BYTES_MAX ||
        need % MAP_UNIT_BYTES != 0 || about->st_size < (off_t)need) {
        return hf_fail(error, HF_CONFIG,
                       "%s is damaged: it has %lld bytes of %" PRIu64
                       "; " HF_FOLDER_REMOVE_LOCKS,
                       gate->data_path, (long long)about->st_size, need);
    }
    return HF_OK;
}

/* The number of the last transaction that is known; 0: of none. */
static uint64_t last_txn(const struct hf_gate_page *page)
{
    bool is_of_boot =
        memcmp(page->table_boot, page->boot, HF_GATE_BOOT_MAX) == 0;
    return is_of_boot ? page->table_txn : 0;
}

/* A kill between the two leaves a lower number, which refuses nothing, or one
 * that does not count yet. */
static void note_txn(struct hf_gate_page *page, uint64_t number)
{
    page->table_txn = number;
    if (memcmp(page->table_boot, page->boot, HF_GATE_BOOT_MAX) != 0) {
        memcpy(page->table_boot, page->boot, HF_GATE_BOOT_MAX);
    }
}

/* Map the size in the gate's page, which was checked. */
static int open_env(struct hf_table *table)
{
    const struct hf_gate *gate = table->gate;
    table->map_bytes = gate->page->map_bytes;
    int number = hf_table_env_open(gate->data_path, ENV_FLAGS, 0600,
                                   table->map_bytes, &table->env);
    if (number != 0) {
        return number;
    }
    mdb_env_get_fd(table->env, &table->file.fd);
    hf_folder_note_file(&table->file);
    number = mdb_txn_begin(table->env, NULL, MDB_RDONLY, &table->mdb_txn);
    if (number == 0) {
        bool is_older = mdb_txn_id(table->mdb_txn) < last_txn(gate->page);
        number = mdb_dbi_open(table->mdb_txn, NULL, 0, &table->names);
        number = number == 0 && is_older ? OLDER : number;
        hf_table_abort(table);
    }
    if (number != 0) {
        hf_table_close(table);
    }
    return number;
}

enum hf_status hf_table_open(struct hf_table *table, struct hf_gate *gate,
                             struct hf_error *error)
{
    struct stat about;
    table->env = NULL;
    table->mdb_txn = NULL;
    table->gate = gate;
    enum hf_status status = check_file(gate, &about, error);
    if (status != HF_OK) {
        return status;
    }
    table->file.dev = about.st_dev;
    table->file.ino = about.st_ino;
    int number = open_env(table);
    return number == 0 ? HF_OK : fail_lmdb(gate->data_path, number, error);
}

bool hf_table_is_intact(const struct hf_table *table)
{
    struct stat about;
    return hf_folder_find_file(table->gate->folder, table->gate->data_path,
                               &table->file, &about) &&
           about.st_size >= (off_t)table->map_bytes;
}

void hf_table_close(struct hf_table *table)
{
    if (table->env != NULL) {
        mdb_env_close(table->env);
        table->env = NULL;
        table->file.fd = -1;
    }
}

/* ---- Transactions ------------------------------------------------------ */

static int reopen(struct hf_table *table)
{
    struct hf_standard_fds standard;
    hf_standard_fds_cover(&standard);
    int number = open_env(table);
    hf_standard_fds_uncover(&standard);
    return number;
}

static int resize(struct hf_table *table, uint64_t map_bytes)
{
    int number = hf_table_env_resize(&table->env, map_bytes);
    if (number == 0) {
        table->map_bytes = map_bytes;
    } else {
        table->file.fd = -1;
    }
    return number;
}

/* Map the size in the gate's page: another process has grown the file, the page
 * is damaged, or nothing is mapped, after a failure. The file may be gone since
 * the last look, and LMDB would make it. */
static int follow(struct hf_table *table)
{
    const struct hf_gate *gate = table->gate;
    uint64_t map_bytes = gate->page->map_bytes;
    struct stat about;
    if (!hf_folder_find_file(gate->folder, gate->data_path, &table->file,
                             &about)) {
        return ENOENT;
    }
    if (map_bytes < table->map_bytes || map_bytes > HF_TABLE_BYTES_MAX ||
        map_bytes % MAP_UNIT_BYTES != 0 || about.st_size < (off_t)map_bytes) {
        return MDB_CORRUPTED;
    }
    return table->env == NULL ? reopen(table) : resize(table, map_bytes);
}

/* Make the transaction's meta page count no more: that of the one before does,
 * whose pages are unchanged. */
static int drop_meta(const struct hf_table *table, uint64_t txn)
{
    MDB_stat about;
    int number = mdb_env_stat(table->env, &about);
    if (number != 0) {
        return number;
    }
    size_t size = (size_t)2 * about.ms_psize;
    char *pages =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, table->file.fd, 0);
    if (pages == MAP_FAILED) {
        return ENOMEM; /* also of locked memory: EAGAIN */
    }
    struct meta_page *meta =
        (void *)(pages + (txn % 2 == 0 ? 0 : about.ms_psize));
    bool is_known = meta->magic == META_MAGIC &&
                    meta->version == META_VERSION && meta->txn == txn;
    if (is_known) {
        __atomic_store_n(&meta->txn, 0, __ATOMIC_RELEASE);
    }
    munmap(pages, size);
    return is_known ? 0 : MDB_CORRUPTED;
}

/* A process was killed in a commit. If it has not written its number, nothing
 * was committed. */
static int undo_commit(struct hf_table *table)
{
    struct hf_gate_page *page = table->gate->page;
    MDB_envinfo info;
    int number = mdb_env_info(table->env, &info);
    bool is_written = info.me_last_txnid == page->table_committing &&
                      last_txn(page) < page->table_committing;
    if (number == 0 && is_written) {
        number = drop_meta(table, page->table_committing);
    }
    if (number == 0) {
        page->table_committing = 0;
    }
    return number;
}

int hf_table_begin(struct hf_table *table)
{
    const struct hf_gate_page *page = table->gate->page;
    HF_ASSERT(table->mdb_txn == NULL);
    int number = table->env == NULL ? follow(table) : 0;
    if (number == 0 && page->table_committing != 0) {
        number = undo_commit(table);
    }
    if (number == 0 && page->map_bytes != table->map_bytes) {
        number = follow(table);
    }
    if (number == 0) {
        number = mdb_txn_begin(table->env, NULL, 0, &table->mdb_txn);
    }
    if (number == 0 && mdb_txn_id(table->mdb_txn) <= last_txn(page)) {
        hf_table_abort(table);
        return OLDER;
    }
    return number;
}

/* Killed before the note, the commit is undone; after it, it counts. */
int hf_table_commit(struct hf_table *table)
{
    MDB_txn *txn = table->mdb_txn;
    struct hf_gate_page *page = table->gate->page;
    MDB_envinfo info;
    HF_ASSERT(txn != NULL);
    table->mdb_txn = NULL;
    page->table_committing = mdb_txn_id(txn);
    int number = mdb_txn_commit(txn);
    if (number == 0) { /* one that has written nothing has no number */
        mdb_env_info(table->env, &info);
        note_txn(page, info.me_last_txnid);
    }
    page->table_committing = 0;
    return number;
}

void hf_table_abort(struct hf_table *table)
{
    if (table->mdb_txn != NULL) {
        mdb_txn_abort(table->mdb_txn);
        table->mdb_txn = NULL;
    }
}

/* The file first, then our map, then the gate's page: after a kill in between
 * the file is only longer than the page says. */
int hf_table_grow(struct hf_table *table)
{
    uint64_t old_bytes = table->map_bytes;
    uint64_t new_bytes = old_bytes * 2;
    HF_ASSERT(table->env != NULL && table->mdb_txn == NULL);
    if (new_bytes > HF_TABLE_BYTES_MAX) {
        return EOVERFLOW;
    }
    struct hf_signal_hold hold;
    hf_signal_hold_growth(&hold);
    int number = posix_fallocate(table->file.fd, (off_t)old_bytes,
                                 (off_t)(new_bytes - old_bytes));
    hf_signal_hold_end(&hold);
    if (number == 0) {
        number = resize(table, new_bytes);
    }
    if (number == 0) {
        table->gate->page->map_bytes = new_bytes;
    }
    return number;
}

enum hf_status hf_table_text(const struct hf_table *table, int number,
                             char *text, size_t size)
{
    if (number == ENOSPC || number == EDQUOT) {
        snprintf(text, size,
                 "locks.mdb cannot grow beyond %" PRIu64
                 " MiB: the disk is full",
                 table->map_bytes >> 20);
        return HF_UNAVAILABLE;
    }
    if (number == EFBIG) {
        snprintf(text, size,
                 "locks.mdb cannot grow beyond %" PRIu64
                 " MiB: the limit on the size of files is reached (ulimit -f)",
                 table->map_bytes >> 20);
        return HF_UNAVAILABLE;
    }
    if (number == EOVERFLOW || number == MDB_MAP_FULL) {
        snprintf(text, size,
                 "locks.mdb is full: it has its greatest size, %" PRIu64 " MiB",
                 table->map_bytes >> 20);
        return HF_UNAVAILABLE;
    }
    if (number == OLDER) {
        snprintf(text, size, "locks.mdb " OLDER_TEXT);
        return HF_CONFIG;
    }
    if (number == EEXIST) {
        snprintf(text, size, "two owners begin with the same 32 bytes");
        return HF_CONFIG;
    }
    if (number == ENOMEM) {
        snprintf(text, size, "out of memory");
        return HF_NO_MEMORY;
    }
    if (number > 0) {
        snprintf(text, size, "cannot use locks.mdb: %s", hf_errno_text(number));
        return HF_UNAVAILABLE;
    }
    snprintf(text, size,
             "locks.mdb is damaged (LMDB: %s): " HF_FOLDER_REMOVE_LOCKS,
             mdb_strerror(number));
    return HF_CONFIG;
}
