/* SPDX-License-Identifier: Apache-2.0 */
/* FILES: a folder with the two files of the store, and the files of /proc that
 * it reads.
 *
 * Each file is anonymous memory with a descriptor of its own. Opening the file
 * opens that memory again, so that locks, maps, lengths and modes are the
 * kernel's own. A file of /proc is written when it is opened. Other files are
 * the simulator's; paths of LMDB are redirected to the memory. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* There is one namespace of each kind: this is the inode number that Linux
 * gives to the first one of processes (PROC_PID_INIT_INO). */
#define SPACE_INO 4026531836U

static const char *const names[SIM_FILES] = {
    [SIM_FILE_GATE] = SIM_FOLDER "/locks.gate",
    [SIM_FILE_DATA] = SIM_FOLDER "/locks.mdb",
};

/* NULL: the path is the real kernel's, as those of our own descriptors are. */
static struct sim_task *task_at(const char *path)
{
    static const char own[] = "/proc/self/fd/";
    bool is_ours = strncmp(path, SIM_FOLDER, sizeof(SIM_FOLDER) - 1) == 0 ||
                   (strncmp(path, "/proc/", 6) == 0 &&
                    strncmp(path, own, sizeof(own) - 1) != 0);
    return is_ours ? sim_task_running() : NULL;
}

static int file_at(const char *path)
{
    int i = 0;
    while (i < SIM_FILES && strcmp(path, names[i]) != 0) {
        i++;
    }
    return i;
}

static int fail(int number)
{
    errno = number;
    return -1;
}

/* ---- Descriptors ------------------------------------------------------- */

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);

static int own(struct sim_task *task, int fd)
{
    int at = 0;
    HF_ASSERT(fd > 0);
    while (task->fds[at] != 0) {
        at++;
        HF_ASSERT(at < SIM_FDS_MAX);
    }
    task->fds[at] = fd;
    return fd;
}

/* Open the memory of a descriptor again, with its own flock() and offset. */
static int reopen(int fd, int flags)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return __real_open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

int __wrap_close(int fd);
int __wrap_close(int fd)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL && sim_box_close(task, fd)) {
        return 0;
    }
    for (int i = 0; task != NULL && i < SIM_FDS_MAX; i++) {
        if (task->fds[i] == fd) {
            task->fds[i] = 0;
        }
    }
    return __real_close(fd);
}

/* ---- The folder -------------------------------------------------------- */

static int open_file(struct sim_task *task, int file, int flags, mode_t mode)
{
    struct sim_machine *machine = task->machine;
    int *fd = &machine->files[file];
    if (!machine->has_folder || (*fd < 0 && (flags & O_CREAT) == 0)) {
        return fail(ENOENT);
    }
    if (*fd >= 0 && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
        return fail(EEXIST);
    }
    if (*fd < 0) {
        *fd = memfd_create("hfsim", MFD_CLOEXEC);
        HF_ASSERT(*fd >= 0 && fchmod(*fd, mode) == 0);
    }
    return own(task, reopen(*fd, flags));
}

/* "12 (p1) S 1 …": proc(5). */
static void print_stat(const struct sim_task *task, char *out, size_t size)
{
    const struct sim_process *process = task->process;
    bool is_stopped = process->resumes_ns > process->world->now_ns;
    snprintf(out, size,
             "%d (p%d) %c 1 %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0\n",
             task->pid, process->index + 1,
             task->is_zombie ? 'Z'
             : is_stopped    ? 'T'
                             : 'R',
             task->pid, task->pid, (unsigned long long)task->start_ticks);
}

/* @return the process of "/proc/PID/stat"; -1: it is another path. */
static int64_t stat_pid(const char *path)
{
    static const char folder[] = "/proc/";
    if (strncmp(path, folder, sizeof(folder) - 1) != 0) {
        return -1;
    }
    char *end;
    int64_t pid = strtoll(path + sizeof(folder) - 1, &end, 10);
    return strcmp(end, "/stat") == 0 ? pid : -1;
}

static int open_proc(struct sim_task *task, const char *path)
{
    char text[256] = "";
    int64_t pid = stat_pid(path);
    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
        snprintf(text, sizeof(text), "00000000-0000-4000-8000-%012u\n",
                 sim_process_boot(task->process) + 1);
    } else if (pid >= 0) {
        const struct sim_task *other = sim_task_find(task->machine, pid);
        if (other != NULL) {
            print_stat(other, text, sizeof(text));
        }
    }
    if (text[0] == '\0') {
        return fail(ENOENT);
    }
    int fd = memfd_create("proc", MFD_CLOEXEC);
    size_t len = strlen(text);
    HF_ASSERT(fd >= 0 && pwrite(fd, text, len, 0) == (ssize_t)len);
    return own(task, fd);
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    struct sim_task *task = task_at(path);
    if (task == NULL) {
        return __real_open(path, flags, mode);
    }
    if (!sim_task_call(task)) {
        return fail(EIO);
    }
    int file = file_at(path);
    return file < SIM_FILES ? open_file(task, file, flags, mode)
                            : open_proc(task, path);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    struct sim_task *task = task_at(path);
    if (task == NULL) {
        return __real_mkdir(path, mode);
    }
    if (!sim_task_call(task)) {
        return fail(EIO);
    }
    if (task->machine->has_folder) {
        return fail(EEXIST);
    }
    task->machine->has_folder = true;
    return 0;
}

/* ---- stat() ------------------------------------------------------------ */

int __real_fstat(int fd, struct stat *out);

/* Like fstat(), but anonymous memory gets the link count of a named file. */
static int look(int fd, struct stat *out)
{
    int failed = __real_fstat(fd, out);
    out->st_nlink = 1;
    return failed;
}

int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out)
{
    return sim_task_running() != NULL ? look(fd, out) : __real_fstat(fd, out);
}

static int look_at(struct sim_task *task, const char *path, struct stat *out)
{
    int file = file_at(path);
    memset(out, 0, sizeof(*out));
    if (!sim_task_call(task)) {
        return fail(EIO);
    }
    if (strncmp(path, "/proc/thread-self/ns/", 21) == 0) {
        out->st_ino = SPACE_INO;
        return 0;
    }
    if (file < SIM_FILES && task->machine->files[file] >= 0) {
        return look(task->machine->files[file], out);
    }
    if (strcmp(path, SIM_FOLDER) != 0 || !task->machine->has_folder) {
        return fail(ENOENT);
    }
    out->st_mode = S_IFDIR | 0700;
    out->st_uid = geteuid();
    out->st_gid = getegid();
    return 0;
}

int __real_stat(const char *path, struct stat *out);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_stat(const char *path, struct stat *out)
{
    struct sim_task *task = task_at(path);
    return task == NULL ? __real_stat(path, out) : look_at(task, path, out);
}

int __real_lstat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out)
{
    struct sim_task *task = task_at(path);
    return task == NULL ? __real_lstat(path, out) : look_at(task, path, out);
}

int __real_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out)
{
    if (task_at(path) == NULL) {
        return __real_statfs(path, out);
    }
    memset(out, 0, sizeof(*out));
    out->f_type = TMPFS_MAGIC;
    return 0;
}

ssize_t __real_readlink(const char *path, char *out, size_t size);
ssize_t __wrap_readlink(const char *path, char *out, size_t size);
ssize_t __wrap_readlink(const char *path, char *out, size_t size)
{
    char text[24];
    struct sim_task *task = task_at(path);
    if (task == NULL) {
        return __real_readlink(path, out, size);
    }
    if (strcmp(path, "/proc/self") != 0) {
        return fail(ENOENT);
    }
    size_t len = (size_t)snprintf(text, sizeof(text), "%d", task->pid);
    len = len < size ? len : size;
    memcpy(out, text, len);
    return (ssize_t)len;
}

/* ---- Calls that may fail, or stop or end their process ------------------ */

int __real_flock(int fd, int kind);
int __wrap_flock(int fd, int kind);
int __wrap_flock(int fd, int kind)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL && !sim_task_call(task)) {
        return fail(EIO);
    }
    return __real_flock(fd, kind);
}

int __real_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_posix_fallocate(int fd, off_t at, off_t len)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL && !sim_task_call(task)) {
        return EIO;
    }
    if (task != NULL && task->machine->is_full) {
        return ENOSPC;
    }
    return __real_posix_fallocate(fd, at, len);
}

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_kill(pid, number);
    }
    HF_ASSERT(pid > 0 && number == 0);
    if (!sim_task_call(task)) {
        return fail(EPERM);
    }
    return sim_task_find(task->machine, pid) != NULL ? 0 : fail(ESRCH);
}

void sim_machine_set_full(struct sim_machine *machine, bool is_full)
{
    machine->is_full = is_full;
}

/* ---- LMDB -------------------------------------------------------------- */

int __real_mdb_env_open(MDB_env *env, const char *path, unsigned flags,
                        mdb_mode_t mode);
int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned flags,
                        mdb_mode_t mode);
int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned flags,
                        mdb_mode_t mode)
{
    char memory[32];
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_mdb_env_open(env, path, flags, mode);
    }
    int file = file_at(path);
    if (!sim_task_call(task)) {
        return EIO;
    }
    if (file == SIM_FILES || task->machine->files[file] < 0) {
        return ENOENT;
    }
    snprintf(memory, sizeof(memory), "/proc/self/fd/%d",
             task->machine->files[file]);
    return __real_mdb_env_open(env, memory, flags, mode);
}
