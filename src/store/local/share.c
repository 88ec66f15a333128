/* SPDX-License-Identifier: Apache-2.0 */
/* Making a shared folder: `doctor --init`, run by root.
 *
 *     root:GROUP 2750 FOLDER          only members may enter
 *     root:GROUP 0660 locks.gate      members may write, but not remove or
 *     root:GROUP 0660 locks.mdb       replace, since root owns the folder
 *     root:GROUP 0660 values.mdb
 *
 * The files get their mode before the group gets access to the folder. A file
 * that other users could write is refused: its contents may be an attack on the
 * next process that maps it. */
#include "base/fail.h"
#include "store/local/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define GROUP "holdfast"

/* Bytes for the names of all members: 1 MiB is above every directory service,
 * and stops the search in one that always returns ERANGE. */
#define GROUP_BYTES_MAX (1 << 20)

static const char *const files[] = {"locks.gate", "locks.mdb", "values.mdb"};
#define FILES (sizeof(files) / sizeof(files[0]))

struct share {
    const char *path;
    int fd; /* of the folder */
    struct stat about;
    gid_t gid;
    struct hf_error *error;
};

/* ---- The group --------------------------------------------------------- */

static enum hf_status find_group(struct share *share)
{
    struct group entry;
    struct group *found = NULL;
    int number = ERANGE;
    for (size_t size = 4096; number == ERANGE && size <= GROUP_BYTES_MAX;
         size *= 4) {
        char *text = malloc(size); /* the names of all members */
        if (text == NULL) {
            return hf_fail_memory(share->error);
        }
        number = getgrnam_r(GROUP, &entry, text, size, &found);
        share->gid = found != NULL ? found->gr_gid : 0;
        free(text);
    }
    if (found != NULL) {
        return HF_OK;
    }
    return hf_fail(share->error, HF_CONFIG,
                   "there is no group " GROUP ", whose members are to share "
                   "%s: groupadd --system " GROUP
                   ", add users to it with usermod -aG " GROUP " USER, then "
                   "run this again",
                   share->path);
}

static bool has_shape(const struct share *share)
{
    return (share->about.st_mode & 07777) == HF_FOLDER_SHARED_MODE;
}

/* Called before the folder is made, so that none is made without a group. */
static enum hf_status find_gid(struct share *share)
{
    bool is_there = stat(share->path, &share->about) == 0;
    if (is_there && has_shape(share)) {
        share->gid = share->about.st_gid;
        return HF_OK;
    }
    return find_group(share);
}

/* ---- The folder -------------------------------------------------------- */

static enum hf_status fail(const struct share *share, const char *doing)
{
    return hf_folder_fail(share->path, errno, doing, share->error);
}

static enum hf_status open_folder(struct share *share)
{
    if (mkdir(share->path, 0700) != 0 && errno != EEXIST) {
        return fail(share, "make the folder");
    }
    share->fd = open(share->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (share->fd < 0 || fstat(share->fd, &share->about) != 0) {
        return fail(share, "open the folder");
    }
    if (share->about.st_uid != 0) {
        return hf_fail(share->error, HF_CONFIG,
                       "%s belongs to user %u, who could replace its files: "
                       "a shared store needs a folder of root's",
                       share->path, (unsigned)share->about.st_uid);
    }
    return HF_OK;
}

static bool is_ours(const char *name)
{
    bool is_known = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    for (unsigned i = 0; i < FILES; i++) {
        is_known |= strcmp(name, files[i]) == 0;
    }
    return is_known;
}

/* Refuse a folder with other files: -u local:///etc must not change /etc. */
static enum hf_status check_contents(const struct share *share)
{
    DIR *folder = opendir(share->path);
    const struct dirent *entry;
    if (folder == NULL) {
        return fail(share, "read the folder");
    }
    do {
        /* cppcheck-suppress readdirCalled; no other thread has the stream */
        entry = readdir(folder);
    } while (entry != NULL && is_ours(entry->d_name));
    enum hf_status status =
        entry == NULL ? HF_OK
                      : hf_fail(share->error, HF_CONFIG,
                                "%s holds other files (%.64s): a shared store "
                                "needs a folder of its own",
                                share->path, entry->d_name);
    closedir(folder);
    return status;
}

/* ---- The files --------------------------------------------------------- */

static enum hf_status check_file(const struct share *share, const char *name,
                                 int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return hf_folder_fail(name, errno, "use", share->error);
    }
    if (!S_ISREG(about.st_mode) || about.st_uid != 0 || about.st_nlink != 1 ||
        (about.st_mode & S_IWOTH) != 0) {
        return hf_fail(share->error, HF_CONFIG,
                       "%s/%s may have been written by any user (owner %u, "
                       "mode %04o): %s; then run this again",
                       share->path, name, (unsigned)about.st_uid,
                       (unsigned)about.st_mode & 07777, hf_folder_remedy(name));
    }
    bool is_right =
        about.st_gid == share->gid && (about.st_mode & 07777) == 0660;
    if (is_right) {
        return HF_OK;
    }
    /* Processes that have the file open rely on its present owner and mode. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return hf_fail(share->error, HF_CONFIG,
                       "%s is in use: stop all users of the folder, then run "
                       "this again",
                       share->path);
    }
    return fchown(fd, 0, share->gid) == 0 && fchmod(fd, 0660) == 0
               ? HF_OK
               : hf_folder_fail(name, errno, "change", share->error);
}

static enum hf_status make_file(const struct share *share, const char *name)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = openat(share->fd, name, flags, 0600);
    if (fd < 0) {
        return hf_folder_fail(name, errno, "make", share->error);
    }
    enum hf_status status = check_file(share, name, fd);
    close(fd);
    return status;
}

static enum hf_status make_all(struct share *share)
{
    enum hf_status status = hf_folder_check_fs(share->path, share->error);
    for (unsigned i = 0; i < FILES && status == HF_OK; i++) {
        status = make_file(share, files[i]);
    }
    if (status != HF_OK || has_shape(share)) {
        return status;
    }
    return fchown(share->fd, 0, share->gid) == 0 &&
                   fchmod(share->fd, HF_FOLDER_SHARED_MODE) == 0
               ? HF_OK
               : fail(share, "change");
}

enum hf_status hf_folder_share(const char *path, struct hf_error *error)
{
    struct share share = {.path = path, .fd = -1, .error = error};
    struct hf_folder folder;
    if (geteuid() != 0) {
        return hf_fail(error, HF_DENIED,
                       "only root can make a store that several users share: "
                       "sudo holdfast doctor --init -u local://%s (a folder of "
                       "your own needs no --init)",
                       path);
    }
    enum hf_status status = find_gid(&share);
    if (status == HF_OK) {
        status = open_folder(&share);
    }
    if (status == HF_OK) {
        status = check_contents(&share);
    }
    if (status == HF_OK) {
        status = make_all(&share);
    }
    if (share.fd >= 0) {
        close(share.fd);
    }
    return status == HF_OK ? hf_folder_open(path, &folder, error) : status;
}
