/* SPDX-License-Identifier: Apache-2.0 */
/* The values' file. Unlike locks.mdb it outlives the boot, so each write is
 * synced: LMDB writes new pages, syncs them, and writes one of two meta pages
 * through a descriptor with O_DSYNC. Until then the last commit is intact, on
 * the disk and in memory. So a kill or a power cut at any moment leaves the
 * value before or after the write.
 *
 * Without MDB_WRITEMAP: pages are written by system calls, so that a full disk
 * is an error and not a SIGBUS, and pages that are not synced yet are not in
 * the map. LMDB reports a short write as EIO; so space is allocated before.
 *
 * The commit of a killed process may be in memory and not on the disk. The
 * next process syncs it before it replies, so that no value is read that a
 * power cut takes back (`is_unsynced`).
 *
 * Before each request it is checked whether the file was removed, replaced or
 * cut: a page that it lacks would raise SIGBUS.
 *
 * Cost: an lstat() and an fstat() for each request while the file is open, and
 * one fstat() more for a write; space is allocated once in 1 MiB. */
#include "store/local/values_file.h"

#include "base/fail.h"
#include "io/standard_fds.h"
#include "store/local/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "values.mdb"
#define ENV_FLAGS (MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS)

/* Bytes: a folder, and the name of a file in it. */
#define PATH_SIZE (HF_FOLDER_MAX + 16)

/* The file grows by at least 1 MiB, so that few writes pay for it. */
#define GROW_BYTES (UINT64_C(1) << 20)

/* Space besides the value itself: the pages of the tree above it and LMDB's
 * list of free pages, 0.25 MiB. */
#define SLACK_BYTES (UINT64_C(1) << 18)

/* Greatest size of the file: as that of the locks. */
#define BYTES_MAX HF_TABLE_BYTES_MAX

#define RESTORE                                                                \
    "restore it from a backup, or remove it, which deletes all values"

enum hf_status hf_values_fail(int number, struct hf_error *error)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return hf_fail(error, HF_UNAVAILABLE,
                       FILE_NAME " cannot grow: the disk is full");
    case EFBIG:
        return hf_fail(error, HF_UNAVAILABLE,
                       FILE_NAME " cannot grow: the limit on the size of files "
                                 "is reached (ulimit -f)");
    case MDB_MAP_FULL:
        return hf_fail(error, HF_UNAVAILABLE,
                       FILE_NAME " is full: it has its greatest size, %" PRIu64
                                 " MiB",
                       BYTES_MAX >> 20);
    case ENOMEM:
        return hf_fail_memory(error);
    case MDB_KEYEXIST:
        return hf_fail(error, HF_CONFIG,
                       "another name has a value with the same digest");
    default:
        break;
    }
    if (number > 0) {
        return hf_fail(error, HF_UNAVAILABLE, "cannot use " FILE_NAME ": %s",
                       hf_errno_text(number));
    }
    return hf_fail(error, HF_CONFIG,
                   FILE_NAME
                   " is not Holdfast's, or is damaged (LMDB: %s): " RESTORE,
                   mdb_strerror(number));
}

/* ---- Opening ----------------------------------------------------------- */

static void set_path(const struct hf_gate *gate, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/" FILE_NAME, gate->folder->path);
}

/* Without it a power cut may take the new file's entry. EINVAL: the file system
 * has no fsync() of folders. */
static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int number = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return number;
}

static int sync_disk(struct hf_values *values)
{
    if (syncfs(values->file.fd) != 0) {
        return errno;
    }
    values->gate->page->values.is_unsynced = 0;
    return 0;
}

/* Sync the file and its entry, and the folders above, which may be new too:
 * also those that were ours before setuid(), and cannot be opened any more. */
static int sync_all(struct hf_values *values)
{
    char path[PATH_SIZE];
    int number = mdb_env_sync(values->env, 1);
    if (number == 0 && hf_folder_is_elsewhere(values->gate->folder)) {
        return sync_disk(values); /* the paths do not lead there */
    }
    set_path(values->gate, path);
    for (char *end = strrchr(path, '/'); number == 0 && end != NULL;
         end = strrchr(path, '/')) {
        *end = '\0';
        number = sync_folder(path[0] == '\0' ? "/" : path);
    }
    if (number == EACCES) {
        return sync_disk(values);
    }
    if (number == 0) {
        values->gate->page->values.is_unsynced = 0;
    }
    return number;
}

/* LMDB's two first pages, the metas: where each has its magic number, and the
 * number of the last page that is used, which is 1 in a file without values. */
#define META_MAGIC_AT 16
#define META_LAST_AT 136

/* A file without values was just made, by a process that may have been killed,
 * or by `doctor --init`. One that was cut to two pages names later ones.
 * One page does not show it. */
static bool is_new(int fd, off_t size)
{
    const uint32_t magic = 0xbeefc0de;
    off_t page = (off_t)sysconf(_SC_PAGESIZE);
    for (off_t at = 0; at < size; at += page) {
        unsigned char head[META_LAST_AT + sizeof(size_t)] = {0};
        size_t last = 0;
        if (size > 2 * page || pread(fd, head, sizeof(head), at) < 0) {
            return false;
        }
        bool is_zero = head[0] == 0 && memcmp(head, head + 1, 31) == 0;
        memcpy(&last, head + META_LAST_AT, sizeof(last));
        if (!is_zero && (last != 1 || memcmp(head + META_MAGIC_AT, &magic,
                                             sizeof(magic)) != 0)) {
            return false;
        }
    }
    return true;
}

/** Find the file, or make it in a private folder. @return a descriptor, or -1
 * with errno. */
static int find_file(struct hf_values *values, const char *path)
{
    const struct hf_folder *folder = values->gate->folder;
    int flags = hf_folder_open_flags(folder);
    mode_t mode = hf_folder_file_mode(folder);
    int fd = open(path, flags & ~O_CREAT);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT) != 0) {
        fd = open(path, flags | O_EXCL, mode);
        if (fd >= 0) {
            fchmod(fd, mode); /* the bits that the umask removed */
        }
    }
    return fd;
}

static enum hf_status fail_cut(struct hf_error *error)
{
    return hf_fail(error, HF_CONFIG,
                   FILE_NAME " is damaged: it was cut; " RESTORE);
}

/* Of a file that was removed and made anew the inode may be the same. Not each
 * file system records when it was made. */
static uint64_t birth_of(int fd)
{
    struct statx about;
    bool is_known = statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &about) == 0 &&
                    (about.stx_mask & STATX_BTIME) != 0;
    return is_known ? (uint64_t)about.stx_btime.tv_sec << 32 |
                          about.stx_btime.tv_nsec
                    : 0;
}

static bool has_held_values(const struct hf_values *values)
{
    const struct hf_gate_page *page = values->gate->page;
    return values->birth != 0 && page->values_birth == values->birth &&
           page->values_ino == values->file.ino;
}

/* The last page that is used only rises. */
static void remember_values(const struct hf_values *values)
{
    MDB_envinfo info;
    struct hf_gate_page *page = values->gate->page;
    mdb_env_info(values->env, &info);
    if (info.me_last_pgno > 1 && !has_held_values(values)) {
        page->values_ino = values->file.ino;
        page->values_birth = values->birth;
    }
}

static enum hf_status check_file(struct hf_values *values, const char *path,
                                 int fd, struct hf_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return hf_folder_fail(path, errno, "use", error);
    }
    enum hf_status status =
        hf_folder_check_file(values->gate->folder, path, &about, error);
    if (status != HF_OK) {
        return status;
    }
    values->file.dev = about.st_dev;
    values->file.ino = about.st_ino;
    values->birth = birth_of(fd);
    if (!is_new(fd, about.st_size)) {
        return HF_OK;
    }
    if (has_held_values(values)) {
        return fail_cut(error);
    }
    values->gate->page->values.is_unsynced = 1;
    return ftruncate(fd, 0) == 0 ? HF_OK
                                 : hf_folder_fail(path, errno, "make", error);
}

static enum hf_status open_env(struct hf_values *values, const char *path,
                               struct hf_error *error)
{
    MDB_txn *txn;
    int number = hf_table_env_open(path, ENV_FLAGS, 0600, 0, &values->env);
    if (number != 0) {
        values->env = NULL;
        return hf_values_fail(number, error);
    }
    mdb_env_get_fd(values->env, &values->file.fd);
    hf_folder_note_file(&values->file);
    number = mdb_txn_begin(values->env, NULL, MDB_RDONLY, &txn);
    if (number == 0) {
        number = mdb_dbi_open(txn, NULL, 0, &values->dbi);
        mdb_txn_abort(txn);
    }
    if (number != 0) {
        hf_values_close(values);
        return hf_values_fail(number, error);
    }
    values->was_open = true;
    return HF_OK;
}

static enum hf_status open_file(struct hf_values *values, const char *path,
                                struct hf_error *error)
{
    int fd = find_file(values, path);
    if (fd < 0) {
        return hf_folder_fail_file(values->gate->folder, path, errno, error);
    }
    struct hf_standard_fds standard;
    enum hf_status status = check_file(values, path, fd, error);
    close(fd);
    hf_standard_fds_cover(&standard); /* a put may be the first to open it */
    if (status == HF_OK) {
        status = open_env(values, path, error);
    }
    hf_standard_fds_uncover(&standard);
    return status;
}

static uint64_t used_bytes(const struct hf_values *values)
{
    MDB_envinfo info;
    MDB_stat about;
    mdb_env_info(values->env, &info);
    mdb_env_stat(values->env, &about);
    return ((uint64_t)info.me_last_pgno + 1) * about.ms_psize;
}

/* A page that the file does not have would raise SIGBUS when it is read. */
static enum hf_status check_length(const struct hf_values *values,
                                   struct hf_error *error)
{
    struct stat about;
    int fd = -1;
    mdb_env_get_fd(values->env, &fd);
    if (fstat(fd, &about) != 0) {
        return hf_values_fail(errno, error);
    }
    return about.st_size >= 2 * (off_t)sysconf(_SC_PAGESIZE) &&
                   (uint64_t)about.st_size >= used_bytes(values)
               ? HF_OK
               : fail_cut(error);
}

#define ELSEWHERE                                                              \
    "this process has another root folder or mount namespace than when it "    \
    "opened the store"

/* At the path there may be the file of another store, which has a mutex of its
 * own. */
static enum hf_status fail_elsewhere(bool was_open, struct hf_error *error)
{
    return was_open
               ? hf_fail(error, HF_CONFIG,
                         FILE_NAME
                         " was removed, replaced or closed after a failure, "
                         "and cannot be opened again: " ELSEWHERE
                         "; restart the program")
               : hf_fail(error, HF_CONFIG,
                         "cannot open " FILE_NAME ": " ELSEWHERE
                         "; read a value before the change");
}

static bool is_at(const struct hf_values *values, const char *path)
{
    struct stat about;
    return values->env != NULL &&
           hf_folder_find_file(values->gate->folder, path, &values->file,
                               &about);
}

enum hf_status hf_values_open(struct hf_values *values, struct hf_gate *gate,
                              struct hf_error *error)
{
    char path[PATH_SIZE];
    enum hf_status status = HF_OK;
    values->gate = gate;
    set_path(gate, path);
    if (!is_at(values, path)) {
        hf_values_close(values);
        status = hf_folder_is_elsewhere(gate->folder)
                     ? fail_elsewhere(values->was_open, error)
                     : open_file(values, path, error);
    }
    if (status == HF_OK) {
        status = check_length(values, error);
    }
    if (status == HF_OK) {
        remember_values(values);
    }
    if (status == HF_OK && gate->page->values.is_unsynced != 0) {
        int number = sync_all(values);
        status = number == 0 ? HF_OK : hf_values_fail(number, error);
    }
    if (status != HF_OK) {
        hf_values_close(values);
    }
    return status;
}

void hf_values_close(struct hf_values *values)
{
    if (values->env != NULL) {
        mdb_env_close(values->env);
        values->env = NULL;
    }
}

/* ---- Transactions ------------------------------------------------------ */

int hf_values_begin(struct hf_values *values, unsigned flags, MDB_txn **out)
{
    int number = mdb_txn_begin(values->env, NULL, flags, out);
    if (number == MDB_MAP_RESIZED) { /* another process has grown the file */
        number = hf_table_env_resize(&values->env, 0);
        if (number == 0) {
            number = mdb_txn_begin(values->env, NULL, flags, out);
        }
    }
    return number;
}

int hf_values_commit(struct hf_values *values, MDB_txn *txn, bool *is_unknown)
{
    MDB_txn *probe;
    int number = mdb_txn_commit(txn);
    if (number == 0) {
        remember_values(values);
    }
    if (number == 0 || number == MDB_MAP_FULL) {
        return number;
    }
    /* LMDB panics if the meta page may have been written. */
    int state = mdb_txn_begin(values->env, NULL, MDB_RDONLY, &probe);
    if (state == 0) {
        mdb_txn_abort(probe);
    }
    *is_unknown = state != 0;
    if (*is_unknown) {
        values->gate->page->values.is_unsynced = 1;
    }
    hf_values_close(values);
    return number;
}

int hf_values_make_room(struct hf_values *values, size_t len)
{
    struct stat about;
    uint64_t need = used_bytes(values) + len + SLACK_BYTES;
    int fd = -1;
    mdb_env_get_fd(values->env, &fd);
    if (fstat(fd, &about) != 0) {
        return errno;
    }
    uint64_t size = (uint64_t)about.st_size;
    if (need <= size) {
        return 0;
    }
    uint64_t more = need - size > GROW_BYTES ? need - size : GROW_BYTES;
    return posix_fallocate(fd, (off_t)size, (off_t)more);
}

int hf_values_grow(struct hf_values *values)
{
    MDB_envinfo info;
    mdb_env_info(values->env, &info);
    uint64_t bytes = 2 * (uint64_t)info.me_mapsize;
    return bytes > BYTES_MAX ? MDB_MAP_FULL
                             : hf_table_env_resize(&values->env, bytes);
}
