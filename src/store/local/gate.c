/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: one robust mutex for readers and writers alike, and another for the
 * values' file.
 *
 * LMDB has a lock of its own, but waits for it without a timeout: one stopped
 * process would block all others past every deadline. And its table of readers
 * is keyed by pid, while two containers that share the folder both have a
 * pid 1. The gate waits for a stopped process for at most node_timeout. One
 * mutex for all costs little: a transaction takes less than a microsecond and
 * makes no system call. A kill inside it leaves the old state intact, since
 * LMDB writes to new pages and switches to them last. The kernel unlocks the
 * mutex of a dead process (EOWNERDEAD), and nothing needs repair.
 *
 * The mutex has list pointers, which the kernel and the C library follow: a
 * process that may write the file can attack the others. So owner and mode are
 * checked when the file is opened (folder.h), and SECURITY.md lists the attacks
 * that members of a shared folder can make. LMDB's offsets in the other file
 * have the same power, so a gate without pointers would not reduce the trust
 * that is needed; and fcntl locks cost two system calls a transaction, which
 * makes it three times as long. They are taken only where they are needed:
 *
 * Several pid namespaces. The word of a robust mutex is its owner's thread id,
 * as counted in the owner's pid namespace. If a waiter dies, the kernel
 * compares that word with the waiter's id, as counted in the waiter's
 * namespace. If both are process 2 of their containers, it takes the mutex from
 * a live owner. So a mutex is for one namespace, whose ids are unique: that of
 * the process that made the page. The first process of another one marks the
 * page as mixed, inside the mutex. From then on all processes lock a byte of
 * this file instead (F_OFD_SETLK): no pid is in that lock, and it ends with the
 * descriptor. It is polled, since no call waits for it with a timeout. One
 * moment remains, that of the mark: a process of the second namespace may be
 * killed within a trylock, or a waiter of the first one while the second has
 * the mutex, and have the owner's id.
 * A forked child has a copy of the descriptor. If it does not exec, and its
 * parent is killed inside, the byte stays locked until the child ends, too.
 *
 * Stop signals are not blocked inside. That would take two system calls around
 * each transaction of some hundred nanoseconds, and could not block SIGSTOP, a
 * debugger or a cgroup freezer. The error message names the stopped process.
 *
 * Reboots. A lease is counted on CLOCK_BOOTTIME and ends with the boot, so the
 * contents of another boot are void. Each process keeps a shared flock on the
 * gate while it has it open. A process that finds contents of another boot
 * takes the exclusive flock and writes empty contents in place. It never
 * unlinks a file: one path that leads to two files over time would be two
 * locks. Fences after the boot are above all earlier ones (floor_least),
 * whatever the clock says.
 *
 * Containers that hide the boot id (systemd-nspawn and LXC mount another file
 * over it). Two ids of the kernel's own differ only after a boot. If one of the
 * two is hidden, it is not known whether there was one, and the flock shows
 * only processes: a lease may live without one. After a boot the clock of
 * leases begins at 0. So if it is before the last write (leases_seen), there
 * was a boot; and at the end of the last lease (leases_until) nothing is left
 * that another grant could harm. In between, the contents are kept, and opening
 * fails. Marks of --once and reservations are not protected: they may last for
 * days.
 *
 * Cost: a transaction locks and unlocks the mutex, without a system call while
 * no other process is inside; in a mixed folder it makes two. Opening: open,
 * flock, fstat, mmap, and reads of the boot id and of the clock's offset. */
#include "store/local/gate.h"

#include "base/assert.h"
#include "base/fail.h"
#include "io/clock.h"
#include "io/signal_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static const char magic[HF_GATE_MAGIC_SIZE] = {'h', 'f', 'g',  'a',
                                               't', 'e', '\r', '\n'};

/* Version of the page and of the records; others are refused. 1 had no queues,
 * 2 no checksums, 3 an inode in place of the clock's offset, and no mark of
 * mixed pid namespaces. */
#define VERSION 4

/* The unit that mmap() maps: one page on every machine with pages of 4 KiB,
 * part of one elsewhere. */
#define PAGE_BYTES 4096
_Static_assert(sizeof(struct hf_gate_page) <= PAGE_BYTES, "it is one page");

/* How long another process may take to set the files up: a disk that is busy,
 * or has to spin up, takes seconds. On such a disk 2 s were too short for 200
 * processes that started together. */
#define SETUP_MS_MAX 20000

/* How long to wait for processes that use complete contents with another boot
 * id: they are not setting up, so they rarely end soon. */
#define OTHERS_MS_MAX 2000

/* ---- This boot --------------------------------------------------------- */

/** @param is_hidden  the file is not the kernel's own. */
static bool read_boot(char boot[HF_GATE_BOOT_MAX], bool *is_hidden)
{
    struct statfs about;
    int fd = open(HF_GATE_BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    memset(boot, 0, HF_GATE_BOOT_MAX);
    ssize_t len = read(fd, boot, HF_GATE_BOOT_MAX - 1);
    *is_hidden = fstatfs(fd, &about) != 0 || about.f_type != PROC_SUPER_MAGIC;
    close(fd);
    return len >= 36;
}

/* ---- The file ---------------------------------------------------------- */

/** Open the gate; in a private folder, make it if it is missing. The first
 * open() is without O_CREAT: in sticky folders the kernel refuses that flag for
 * files of other users. fchmod() sets the bits that the umask removed.
 * @return a descriptor, or -1 with errno. */
static int open_or_make(const char *path, const struct hf_folder *folder)
{
    int flags = hf_folder_open_flags(folder);
    mode_t mode = hf_folder_file_mode(folder);
    int fd = open(path, flags & ~O_CREAT);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT) != 0) {
        fd = open(path, flags | O_EXCL, mode);
        if (fd >= 0) {
            fchmod(fd, mode);
        } else if (errno == EEXIST) {
            fd = open(path, flags & ~O_CREAT);
        }
    }
    return fd;
}

/** Wait a millisecond for another process. @return 0; EWOULDBLOCK: `most` has
 * passed since `since`; ECANCELED: the client's token was triggered. */
static int nap(const struct hf_gate *gate, struct hf_instant since,
               struct hf_span most)
{
    const struct timespec step = {.tv_nsec = 1000000};
    const struct hf_store_env *env = gate->env;
    if (env != NULL && env->is_cancelled != NULL &&
        env->is_cancelled(env->client)) {
        return ECANCELED;
    }
    if (hf_instant_until(since, hf_clock_now()).ns >= most.ns) {
        return EWOULDBLOCK;
    }
    nanosleep(&step, NULL);
    return 0;
}

/** flock() with a timeout. @return 0, or an errno; see nap(). */
static int lock_file(const struct hf_gate *gate, int operation)
{
    int number = 0;
    while (number == 0 && flock(gate->fd, operation | LOCK_NB) != 0) {
        number = errno == EWOULDBLOCK || errno == EINTR
                     ? nap(gate, gate->since, hf_span_ms(SETUP_MS_MAX))
                     : errno;
    }
    return number;
}

static enum hf_status fail_cancelled(struct hf_error *error)
{
    return hf_fail(error, HF_CANCELLED, "cancelled");
}

static enum hf_status map_page(struct hf_gate *gate, bool is_allocated,
                               struct hf_error *error)
{
    /* Allocate the page on disk, or a full disk could raise SIGBUS later. */
    int number = 0;
    if (!is_allocated) {
        struct hf_signal_hold hold;
        hf_signal_hold_growth(&hold);
        number = posix_fallocate(gate->fd, 0, PAGE_BYTES);
        hf_signal_hold_end(&hold);
    }
    if (number != 0) {
        return hf_folder_fail(gate->gate_path, number, "write", error);
    }
    gate->page =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gate->fd, 0);
    if (gate->page == MAP_FAILED) {
        gate->page = NULL;
        return hf_folder_fail(gate->gate_path, errno, "map", error);
    }
    return HF_OK;
}

/* ---- Setting up -------------------------------------------------------- */

static bool is_blank(const struct hf_gate_page *page)
{
    static const char nothing[sizeof(page->magic)];
    return memcmp(page->magic, nothing, sizeof(nothing)) == 0;
}

static bool is_ours(const struct hf_gate_page *page)
{
    HF_ASSERT(page != NULL);
    return memcmp(page->magic, magic, sizeof(magic)) == 0;
}

static bool is_of_boot(const struct hf_gate_page *page, const char *boot)
{
    return is_ours(page) &&
           __atomic_load_n(&page->is_ready, __ATOMIC_ACQUIRE) &&
           memcmp(page->boot, boot, HF_GATE_BOOT_MAX) == 0;
}

/* Refuse to overwrite a page of another program, or a locks' file without its
 * gate. */
static enum hf_status check_foreign(const struct hf_gate *gate,
                                    struct hf_error *error)
{
    struct stat about;
    if (is_ours(gate->page)) {
        return HF_OK;
    }
    if (!is_blank(gate->page)) {
        return hf_fail(
            error, HF_CONFIG,
            "%s is not a file of Holdfast's, or is damaged: stop all "
            "users of the folder, then remove it",
            gate->gate_path);
    }
    if (stat(gate->data_path, &about) == 0 && about.st_size > 0) {
        return hf_fail(
            error, HF_CONFIG,
            "%s is there without its %s: it is another program's, or "
            "the gate was removed; stop all users of the folder, "
            "then remove it",
            gate->data_path, strrchr(gate->gate_path, '/') + 1);
    }
    return HF_OK;
}

static bool is_of_other_boot(const struct hf_gate_page *page, const char *boot)
{
    return is_ours(page) &&
           __atomic_load_n(&page->is_ready, __ATOMIC_ACQUIRE) &&
           memcmp(page->boot, boot, HF_GATE_BOOT_MAX) != 0;
}

/* The clock of leases, and the page's newest write before it was read. */
struct sample {
    struct hf_instant seen, now;
};

static struct sample sample_clock(const struct hf_gate_page *page)
{
    struct sample sample = {.seen = page->leases_seen};
    sample.now = hf_clock_now();
    return sample;
}

/* Our clock may be that of another time namespace than the page's. */
static struct hf_instant by_clock_of(const struct hf_gate_page *page,
                                     const struct hf_gate *gate,
                                     struct hf_instant at)
{
    return hf_instant_add(hf_instant_sub(at, gate->clock_offset),
                          page->clock_offset);
}

/** Refuse to end a lease that may be of this boot.
 * @param before  was taken before the exclusive flock: a process that stops
 *                between that and is_ready would look like one that uses the
 *                contents. A write since then shows that there was no boot. */
static enum hf_status check_leases(const struct hf_gate *gate, const char *boot,
                                   struct sample before, struct hf_error *error)
{
    const struct hf_gate_page *page = gate->page;
    struct hf_instant now = by_clock_of(page, gate, before.now);
    bool is_hidden = gate->is_boot_hidden || page->is_boot_hidden != 0;
    bool was_booted = page->leases_seen.ns == before.seen.ns &&
                      hf_instant_before(now, before.seen);
    if (!is_hidden || !is_of_other_boot(page, boot) || was_booted ||
        !hf_instant_before(now, page->leases_until)) {
        return HF_OK;
    }
    int64_t left_ms =
        hf_span_ms_ceil(hf_instant_until(now, page->leases_until));
    return hf_fail(error, HF_UNAVAILABLE,
                   "%s was written with another boot id, and its last lease "
                   "may live for %" PRId64 " s more: a container that hides "
                   "the machine's boot id needs a folder of its own",
                   gate->gate_path, (left_ms + 999) / 1000);
}

/* Write empty contents. The caller has the exclusive flock: no process uses
 * them. */
static enum hf_status renew(struct hf_gate *gate, const char *boot,
                            hf_gate_renew_fn *make, struct hf_error *error)
{
    struct hf_gate_page *page = gate->page;
    enum hf_status status = check_foreign(gate, error);
    if (status != HF_OK) {
        return status;
    }
    bool was_ours =
        is_ours(page) && page->version >= 1 && page->version <= VERSION;
    uint64_t granted_max = was_ours ? page->granted_max : 0;
    if (is_blank(page)) {
        page->fence_base = gate->fence_base;
    }
    __atomic_store_n(&page->is_ready, 0, __ATOMIC_RELEASE);
    memcpy(page->magic, magic, sizeof(magic));
    uint64_t map_bytes = 0;
    status = make(gate->folder, gate->data_path, &map_bytes, error);
    if (status == HF_OK) {
        status = hf_gate_mutex_init(&page->mutex, error);
    }
    if (status != HF_OK) {
        return status;
    }
    page->version = VERSION;
    page->mutex_size = sizeof(page->mutex);
    page->sweep_len = 0;
    memcpy(page->boot, boot, HF_GATE_BOOT_MAX);
    page->is_boot_hidden = gate->is_boot_hidden ? 1 : 0;
    page->clock_offset = gate->clock_offset;
    page->map_bytes = map_bytes;
    page->granted_max = granted_max;
    page->floor_least = granted_max == 0 ? 0 : granted_max + 1;
    page->table_txn = 0;
    page->table_committing = 0;
    page->n_writes = 0;
    page->n_entries = 0;
    page->queue_last = 0;
    page->ticket_last = 0;
    page->holder_pid = 0;
    page->pid_space = gate->pid_space;
    page->locks_door = (struct hf_gate_door){0};
    page->values_door = (struct hf_gate_door){0};
    page->leases_seen = (struct hf_instant){0};
    page->leases_until = (struct hf_instant){0};
    memset(page->values.boot, 0, sizeof(page->values.boot));
    __atomic_store_n(&page->is_ready, 1, __ATOMIC_RELEASE);
    return HF_OK;
}

static enum hf_status fail_in_use(const struct hf_gate *gate, const char *boot,
                                  struct hf_error *error)
{
    if (is_of_other_boot(gate->page, boot)) {
        return hf_fail(error, HF_CONFIG,
                       "%s is in use by processes with another boot id: a "
                       "container that hides the machine's own, or another "
                       "machine; give each a folder of its own",
                       gate->gate_path);
    }
    return hf_fail(error, HF_UNAVAILABLE,
                   "%s is being set up by a process that does not get on (is "
                   "it stopped?)",
                   gate->gate_path);
}

/** Wait until the contents are of this boot, or we have the exclusive flock.
 * @return 0, or an errno; see nap(). */
static int await_set_up(const struct hf_gate *gate, const char *boot)
{
    struct hf_instant since = hf_clock_now();
    int number = 0;
    while (number == 0 && !is_of_boot(gate->page, boot) &&
           flock(gate->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return errno;
        }
        number = is_of_other_boot(gate->page, boot)
                     ? nap(gate, since, hf_span_ms(OTHERS_MS_MAX))
                     : nap(gate, gate->since, hf_span_ms(SETUP_MS_MAX));
    }
    return number;
}

/* Take the exclusive flock and renew the contents, unless another process has
 * done it in between. Returns with the shared flock. */
static enum hf_status set_up(struct hf_gate *gate, const char *boot,
                             hf_gate_renew_fn *make, struct hf_error *error)
{
    struct sample before = sample_clock(gate->page);
    flock(gate->fd, LOCK_UN);
    int number = await_set_up(gate, boot);
    if (number == 0 && !is_of_boot(gate->page, boot)) {
        enum hf_status status = check_leases(gate, boot, before, error);
        if (status == HF_OK) {
            status = renew(gate, boot, make, error);
        }
        if (status != HF_OK) {
            return status;
        }
    }
    number = number == 0 ? lock_file(gate, LOCK_SH) : number;
    if (number == ECANCELED) {
        return fail_cancelled(error);
    }
    return number == 0 && is_of_boot(gate->page, boot)
               ? HF_OK
               : fail_in_use(gate, boot, error);
}

/* ---- Opening ----------------------------------------------------------- */

static enum hf_status check_page(const struct hf_gate *gate,
                                 struct hf_error *error)
{
    const struct hf_gate_page *page = gate->page;
    if (page->version != VERSION || page->mutex_size != sizeof(page->mutex)) {
        return hf_fail(
            error, HF_CONFIG,
            "%s is in use by another version of Holdfast, or one for "
            "another C library: stop its users, then remove it and "
            "%s",
            gate->gate_path, gate->data_path);
    }
    if (page->clock_offset.ns != gate->clock_offset.ns) {
        return hf_fail(error, HF_CONFIG,
                       "%s is in use in another time namespace, whose clock is "
                       "not ours: give each a folder of its own",
                       gate->gate_path);
    }
    if (page->fence_base != gate->fence_base) {
        return hf_fail(error, HF_CONFIG,
                       "%s belongs to a store with fence_base=%" PRIu64
                       ", this client says %" PRIu64
                       ": all clients of a store must say the same",
                       gate->gate_path, page->fence_base, gate->fence_base);
    }
    return HF_OK;
}

/* A file of /proc cannot be read: because /proc is missing, or because the
 * limit on descriptors was reached; or it is about another clock. */
static enum hf_status fail_boot(int number, struct hf_error *error)
{
    if (number == EMFILE || number == ENFILE) {
        return hf_folder_fail(HF_GATE_BOOT_FILE, number, "open", error);
    }
    if (number == EXDEV) {
        return hf_fail(error, HF_CONFIG,
                       "the clock of this process cannot be identified, since "
                       "its children are in another time namespace "
                       "(unshare(CLONE_NEWTIME)): use the embedded store in a "
                       "child");
    }
    return hf_fail(error, HF_CONFIG,
                   "cannot read " HF_GATE_BOOT_FILE
                   " and the time namespace (%s): the "
                   "embedded store needs /proc",
                   hf_errno_text(number));
}

static enum hf_status map_file(struct hf_gate *gate,
                               char boot[HF_GATE_BOOT_MAX],
                               struct hf_error *error)
{
    struct stat about;
    if (!read_boot(boot, &gate->is_boot_hidden)) {
        return fail_boot(errno, error);
    }
    int number = hf_clock_offset(&gate->clock_offset);
    if (number != 0) {
        return fail_boot(number, error);
    }
    if (fstat(gate->fd, &about) != 0) {
        return hf_folder_fail(gate->gate_path, errno, "use", error);
    }
    if (about.st_size != 0 && about.st_size != PAGE_BYTES) {
        return hf_fail(
            error, HF_CONFIG,
            "%s is not a file of Holdfast's, or is damaged: stop all "
            "users of the folder, then remove it",
            gate->gate_path);
    }
    return map_page(gate, about.st_size > 0 && about.st_blocks > 0, error);
}

/* Check owner and mode before the page is read: other users could have written
 * it. */
static enum hf_status check_file(const struct hf_gate *gate,
                                 struct hf_error *error)
{
    struct stat about;
    return fstat(gate->fd, &about) == 0
               ? hf_folder_check_file(gate->folder, gate->gate_path, &about,
                                      error)
               : hf_folder_fail(gate->gate_path, errno, "use", error);
}

static enum hf_status lock_shared(const struct hf_gate *gate,
                                  struct hf_error *error)
{
    int number = lock_file(gate, LOCK_SH);
    if (number == ECANCELED) {
        return fail_cancelled(error);
    }
    if (number == EWOULDBLOCK) {
        return hf_fail(error, HF_UNAVAILABLE,
                       "%s is being set up by a process that does not get on "
                       "(is it stopped?)",
                       gate->gate_path);
    }
    return number == 0 ? HF_OK
                       : hf_folder_fail(gate->gate_path, number, "lock", error);
}

/* The shared flock is for contents that are used: if they are of another boot,
 * a process that only looks at them, and is stopped, does not keep others from
 * emptying them. */
static enum hf_status lock_and_open(struct hf_gate *gate,
                                    hf_gate_renew_fn *make,
                                    struct hf_error *error)
{
    char boot[HF_GATE_BOOT_MAX];
    enum hf_status status = check_file(gate, error);
    if (status == HF_OK) {
        status = map_file(gate, boot, error);
    }
    if (status == HF_OK && is_of_boot(gate->page, boot)) {
        status = lock_shared(gate, error);
    }
    if (status == HF_OK && !is_of_boot(gate->page, boot)) {
        status = set_up(gate, boot, make, error);
    }
    return status == HF_OK ? check_page(gate, error) : status;
}

enum hf_status hf_gate_open(struct hf_gate *gate,
                            const struct hf_folder *folder,
                            struct hf_span patience, uint64_t fence_base,
                            hf_gate_renew_fn *make, struct hf_error *error)
{
    gate->page = NULL;
    gate->folder = folder;
    gate->since = hf_clock_now();
    gate->pid = getpid();
    gate->inside = HF_GATE_OUTSIDE;
    gate->values_inside = HF_GATE_OUTSIDE;
    gate->has_values = false;
    gate->patience = patience;
    gate->fence_base = fence_base;
    snprintf(gate->gate_path, sizeof(gate->gate_path), "%s/locks.gate",
             folder->path);
    snprintf(gate->data_path, sizeof(gate->data_path), "%s/locks.mdb",
             folder->path);
    gate->fd = open_or_make(gate->gate_path, folder);
    if (gate->fd < 0) {
        return hf_folder_fail_file(folder, gate->gate_path, errno, error);
    }
    enum hf_status status = lock_and_open(gate, make, error);
    if (status != HF_OK) {
        hf_gate_close(gate);
    }
    return status;
}

void hf_gate_close(struct hf_gate *gate)
{
    if (gate->page != NULL) {
        munmap(gate->page, PAGE_BYTES);
        gate->page = NULL;
    }
    if (gate->fd >= 0) {
        close(gate->fd);
        gate->fd = -1;
    }
}

bool hf_gate_is_intact(const struct hf_gate *gate)
{
    struct stat about;
    return fstat(gate->fd, &about) == 0 && about.st_nlink == 1 &&
           about.st_size == PAGE_BYTES;
}
