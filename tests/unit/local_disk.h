/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails, for one file of a program. The functions by which LMDB and
 * the store write the values' file are defined here. They record what a power
 * cut would leave of it: the synced writes, and of the rest none, or the odd or
 * the even ones. */
#ifndef HF_TESTS_LOCAL_DISK_H
#define HF_TESTS_LOCAL_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault { NONE, KILL, STOP, FULL, BAD_SYNC, BAD_META };

/* A write that is not synced yet. */
struct write {
    off_t at;
    size_t len;
    char *data;
};

static struct disk {
    char path[100]; /* of the values' file; "": record nothing */
    int image;      /* -1, or the file as a power cut would leave it */
    unsigned early; /* these unsynced writes reach the disk: 0 none, 1 odd, 2
                       even ones */
    enum fault fault;
    unsigned at;      /* KILL, STOP: before which step */
    unsigned n_steps; /* calls that change the file */
    unsigned n_syncs; /* of the file */
    unsigned n_folder_syncs;
    struct write writes[400];
    unsigned n_writes;
} disk;

static bool is_values(int fd)
{
    struct stat file, values;
    return disk.path[0] != '\0' && fstat(fd, &file) == 0 &&
           stat(disk.path, &values) == 0 && file.st_ino == values.st_ino &&
           file.st_dev == values.st_dev;
}

static bool is_synced_fd(int fd)
{
    return (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
}

static void apply(const struct write *one)
{
    if (disk.image >= 0 &&
        syscall(SYS_pwrite64, disk.image, one->data, one->len, one->at) < 0) {
        abort();
    }
}

static void step(void)
{
    if (++disk.n_steps == disk.at) {
        if (disk.fault == KILL) {
            kill(getpid(), SIGKILL);
        } else if (disk.fault == STOP) {
            kill(getpid(), SIGSTOP);
        }
    }
}

static void record(int fd, const void *data, size_t len, off_t at)
{
    struct write one = {.at = at, .len = len, .data = malloc(len)};
    if (one.data == NULL || disk.n_writes == 400) {
        abort();
    }
    memcpy(one.data, data, len);
    bool is_early = disk.early != 0 && disk.n_writes % 2 == disk.early - 1;
    if (is_synced_fd(fd) || is_early) {
        apply(&one);
    }
    disk.writes[disk.n_writes++] = one;
}

/** @return false with errno: it fails. */
static bool may_write(int fd, const void *data, size_t len, off_t at)
{
    struct stat about;
    bool is_beyond = fstat(fd, &about) == 0 && at + (off_t)len > about.st_size;
    step();
    if (disk.fault == BAD_META && is_synced_fd(fd)) {
        errno = EIO;
        return false;
    }
    if (disk.fault == FULL && is_beyond) {
        errno = ENOSPC;
        return false;
    }
    record(fd, data, len, at);
    return true;
}

#define SHOWN __attribute__((visibility("default")))

SHOWN ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (is_values(fd) && !may_write(fd, data, len, at)) {
        return -1;
    }
    return syscall(SYS_pwrite64, fd, data, len, at);
}

SHOWN ssize_t writev(int fd, const struct iovec *parts, int count)
{
    off_t at = is_values(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
    for (int i = 0; at >= 0 && i < count; i++) {
        if (!may_write(fd, parts[i].iov_base, parts[i].iov_len, at)) {
            return -1;
        }
        at += (off_t)parts[i].iov_len;
    }
    return syscall(SYS_writev, fd, parts, count);
}

SHOWN int fdatasync(int fd)
{
    if (is_values(fd)) {
        step();
        if (disk.fault == BAD_SYNC) {
            errno = EIO;
            return -1;
        }
        for (unsigned i = 0; i < disk.n_writes; i++) {
            apply(&disk.writes[i]);
            free(disk.writes[i].data);
        }
        disk.n_writes = 0;
        disk.n_syncs++;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

SHOWN int fsync(int fd)
{
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
        disk.n_folder_syncs++;
    }
    return (int)syscall(SYS_fsync, fd);
}

SHOWN int posix_fallocate(int fd, off_t at, off_t len)
{
    if (is_values(fd)) {
        step();
        if (disk.fault == FULL) {
            return ENOSPC;
        }
    }
    return syscall(SYS_fallocate, fd, 0, at, len) == 0 ? 0 : errno;
}

static void disk_begin(const char *folder, enum fault fault, unsigned at)
{
    memset(&disk, 0, sizeof(disk));
    disk.image = -1;
    disk.fault = fault;
    disk.at = at;
    snprintf(disk.path, sizeof(disk.path), "%s/values.mdb", folder);
}

static void disk_end(void)
{
    for (unsigned i = 0; i < disk.n_writes; i++) {
        free(disk.writes[i].data);
    }
    memset(&disk, 0, sizeof(disk));
}

#endif
